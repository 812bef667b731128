#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# SIGTERM, SIGINT, SIGUSR1 and SIGHUP save and exit 75; resuming then gives the bits of an uninterrupted run. SIGKILL at any moment leaves
# a run that resumes.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
config=tiny.yaml
steps=60
# A shell that is run by nohup leaves SIGHUP ignored.
heard=
env --default-signal=HUP true 2>/dev/null && heard='env --default-signal=HUP'

expect 0 "$train" --set run.dir=runs/whole --set train.steps=$steps "$config"
want=$(newest_state runs/whole)

# interrupted RUN SIGNAL TEXT: trains, as long as it may, until metrics.jsonl has TEXT, then sends SIGNAL.
interrupted() {
	$heard "$train" --set run.dir="$1" --set train.steps=1000000 --set checkpoint.every.steps=7 "$config" >out 2>err &
	pid=$!
	reached "$1/metrics.jsonl" "$3" $pid
	stop $pid "$2"
}
# resumed RUN: ends as a whole run of as many steps does.
resumed() {
	end=$(($(steps_of "$1") + 5))
	expect 0 "$train" --set run.dir="$1" --set train.steps=$end --resume "$config"
	says out 'resuming from checkpoint'
	rm -rf runs/as-many
	expect 0 "$train" --set run.dir=runs/as-many --set train.steps=$end "$config"
	[ "$(newest_state "$1")" = "$(newest_state runs/as-many)" ] || fail "$1, stopped and resumed: other bits than a whole run"
}

begin "each signal, and a resume"
for sig in TERM INT USR1 HUP; do
	interrupted runs/$sig $sig '"step": 5,'
	[ $status -eq 75 ] || { cat out err; fail "SIG$sig: exit status $status instead of 75"; }
	says out '--resume'
	resumed runs/$sig
done

begin "the end of a batch job"
# The end of a batch job, which the environment or the scheduler reports, is such a signal: a quarter of the time before it, where there
# is little. A signal that follows is the first one still.
mkdir -p bin
printf '#!/bin/sh\n[ "$*" = "-h -j 9 -o %%L" ] && echo 0:06\n' >bin/squeue
chmod +x bin/squeue
for how in given queried; do
	case $how in
	given) SLURM_JOB_ID=9 DLX_JOB_END=$(($(date +%s) + 6)) ;;
	queried) SLURM_JOB_ID=9 DLX_JOB_END= ;;
	esac
	export SLURM_JOB_ID DLX_JOB_END
	OMP_NUM_THREADS=1 PATH=$PWD/bin:$PATH expect 75 capped "$train" --set run.dir=runs/$how --set train.steps=1000000000 "$config"
	unset SLURM_JOB_ID DLX_JOB_END
	says out "before the job's time is up"
	says out 'the job ends in'
done

begin "one thread receives signals, without handlers"
# Signals are taken by one thread, which computes nothing, and there are no handlers: one that ran on the stack of a thread that
# computes would overwrite memory in the midst of a matrix product. Those of the C library itself have numbers from 32 on.
ulimit -c 0
"$train" --set run.dir=runs/held --set train.steps=1000000 "$config" >out 2>err &
pid=$!
reached runs/held/metrics.jsonl '"step": 5,' $pid
# has THREAD FIELD SIGNAL...: whether each of them is in the field's mask.
has() {
	mask=$(sed -n "s/^$2:.*\(........\)$/0x\1/p" "/proc/$pid/task/$1/status")
	shift 2
	for number; do
		[ $((mask >> (number - 1) & 1)) -eq 1 ] || return 1
	done
}
taking=0
for task in /proc/$pid/task/*; do
	task=${task##*/}
	has "$task" SigBlk 1 2 3 10 12 14 15 20 26 27 29 || taking=$((taking + 1))
	for number in 1 2 3 6 7 8 10 11 12 14 15 20 26 27 29; do
		has "$task" SigCgt $number && fail "there is a handler of signal $number"
	done
done
[ $taking -eq 1 ] || fail "$taking threads take signals"

begin "other signals have their usual meaning"
stop $pid PROF
[ $status -gt 128 ] || fail "SIGPROF does not end it"

begin "the second request ends the process at once"
# The second request ends the process at once: the first is not answered while the process is stopped.
"$train" --set run.dir=runs/twice --set train.steps=1000000 "$config" >out 2>err &
pid=$!
reached runs/twice/metrics.jsonl '"step": 5,' $pid
for sig in STOP INT TERM CONT; do
	send $sig $pid
done
ends $pid
[ $status -gt 128 ] || fail "a second request: exit status $status"

begin "ignored signals"
# nohup ignores SIGHUP; it stays ignored. Scripts start programs in the background with SIGINT ignored; it is taken.
sh -c 'trap "" HUP; exec "$0" "$@"' "$train" --set run.dir=runs/nohup --set train.steps=1000000 "$config" >out 2>err &
pid=$!
reached runs/nohup/metrics.jsonl '"step": 5,' $pid
send HUP $pid
goes_on() {
	[ "$(tail -n 1 runs/nohup/metrics.jsonl)" != "$step" ] && [ "$(wc -l <runs/nohup/metrics.jsonl)" -gt 50 ]
}
step=$(tail -n 1 runs/nohup/metrics.jsonl)
awaits $pid goes_on
stop $pid INT
[ $status -eq 75 ] || { cat out err; fail "nohup: SIGINT did not stop it"; }

begin "programs that are started take signals as usual: the scheduler's, which prints its mask in place of an answer"
printf '#!/bin/sh\nsed -n "s/^Sig[BI][a-z]*:.*/&/p" /proc/self/status >"$MASK"\n' >bin/squeue
SLURM_JOB_ID=9 DLX_JOB_END= MASK=$PWD/mask PATH=$PWD/bin:$PATH expect 0 "$train" --set run.dir=runs/queries --set train.steps=2 "$config"
[ "$(grep -c '^SigBlk:.0*$' mask)" -eq 1 ] || { cat mask; fail "a child has signals blocked"; }

begin "a time that is none is reported"
DLX_JOB_END='in an hour' expect 0 "$train" --quiet --set run.dir=runs/soon --set train.steps=2 "$config"
says err "DLX_JOB_END is 'in an hour', not the seconds since 1970"

begin "a signal ends a validation, which is made up for"
validation=data/coads-validation.dlx
many=$validation
for i in 1 2 3 4 5; do many=$many,$many; done
"$train" --device reference --set run.dir=runs/validate --set train.steps=2 --set train.validate.steps=1 \
	--set "data.validation=[$many]" "$config" >out 2>err &
pid=$!
reached runs/validate/metrics.jsonl '"step": 1,' $pid
cp runs/validate/config.yaml config.before
"$train" --set run.dir=runs/validate --set train.steps=5 "$config" >out2 2>err2
[ $? -eq 69 ] || { cat out2 err2; fail "a second process in the run's folder: not 69"; }
cmp -s runs/validate/config.yaml config.before || fail "a second process overwrote the run's config.yaml"
stop $pid
[ $status -eq 75 ] || { cat out err; fail "SIGTERM while validating: not 75"; }
grep -q '"validation"' runs/validate/metrics.jsonl && fail "SIGTERM waited for the validation"

begin "stopped again in the validation that is made up for, it makes no step"
"$train" --device reference --set run.dir=runs/validate --set train.steps=2 --set train.validate.steps=1 \
	--set "data.validation=[$many]" --resume "$config" >out 2>err &
pid=$!
reached out 'resuming from checkpoint' $pid
stop $pid
[ $status -eq 75 ] || { cat out err; fail "SIGTERM in the validation that is made up for: not 75"; }
grep -q '"type": "step", "step": 2,' runs/validate/metrics.jsonl && fail "a step before the validation was made up for"
expect 0 "$train" --device reference --set run.dir=runs/validate --set train.steps=2 --set train.validate.steps=1 \
	--resume "$config"
grep -q '"validation", "step": 1,' runs/validate/metrics.jsonl || fail "the validation of step 1 was not made up for"

begin "progress that no process reads"
mkfifo pipe
exec 3<>pipe 4>pipe 3<&-
"$train" --set run.dir=runs/pipe --set train.steps=$steps "$config" >&4 2>err
status=$?
exec 4>&-
[ $status -eq 74 ] || { cat err; fail "closed pipe: exit status $status instead of 74"; }
[ "$(newest_state runs/pipe)" = "$want" ] || fail "closed pipe: other bits than the whole run"

begin "resuming what is complete saves nothing"
before=$(ls runs/whole/checkpoints)
expect 0 "$train" --set run.dir=runs/whole --set train.steps=$steps --resume "$config"
[ "$(ls runs/whole/checkpoints)" = "$before" ] || fail "resuming a complete run saved it again"

# Writing happens in the background and may take a while on a busy disk.
interrupted runs/KILL KILL '"type": "checkpoint"'
resumed runs/KILL
# Lines written after the resumed step are there once.
[ -z "$(sed -n 's/.*"type": "step", "step": \([0-9]*\),.*/\1/p' runs/KILL/metrics.jsonl | sort | uniq -d)" ] || fail "metrics.jsonl repeats steps"
grep -q '"type": "step"' runs/KILL/metrics.jsonl || fail "metrics.jsonl has no steps"
pass
