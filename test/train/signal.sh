#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# SIGTERM, SIGINT and SIGUSR1 save and exit 75; resuming then gives the bits of an uninterrupted run. SIGKILL at any moment leaves
# a run that resumes.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
steps=60

expect 0 "$train" --set run.dir=runs/whole --set train.steps=$steps "$config"
want=$(newest_state runs/whole)

# interrupted RUN SIGNAL TEXT: trains until metrics.jsonl has TEXT, then sends SIGNAL.
interrupted() {
	"$train" --set run.dir="$1" --set train.steps=$steps --set checkpoint.every.steps=7 --resume "$config" >out 2>err &
	pid=$!
	tries=0
	until grep -qF -e "$3" "$1/metrics.jsonl" 2>/dev/null; do
		kill -0 $pid 2>/dev/null || { cat out err; fail "ended before $3"; }
		tries=$((tries + 1))
		[ $tries -lt 2000 ] || fail "never reached $3"
		sleep 0.01
	done
	kill -s "$2" $pid
	wait $pid
	status=$?
}

for sig in TERM INT USR1; do
	interrupted runs/$sig $sig '"step": 5,'
	[ $status -eq 75 ] || { cat out err; fail "SIG$sig: exit status $status instead of 75"; }
	says out '--resume'
	expect 0 "$train" --set run.dir=runs/$sig --set train.steps=$steps --resume "$config"
	[ "$(newest_state runs/$sig)" = "$want" ] || fail "SIG$sig and resume: other bits than the whole run"
done

# Writing happens in the background and may take a while on a busy disk.
interrupted runs/KILL KILL '"type": "checkpoint"'
expect 0 "$train" --set run.dir=runs/KILL --set train.steps=$steps --resume "$config"
says out 'resuming from checkpoint'
[ "$(newest_state runs/KILL)" = "$want" ] || fail "SIGKILL and resume: other bits than the whole run"
# Lines written after the resumed step are there once.
[ "$(grep -c '"type": "step", "step": 9,' runs/KILL/metrics.jsonl)" -eq 1 ] || fail "metrics.jsonl repeats steps"
pass
