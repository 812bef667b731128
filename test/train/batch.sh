#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The scripts of configs/batch with stand-ins for the schedulers' commands: stopped by a signal they queue the job again, started again
# they finish it with the bits of an uninterrupted run; elements of an array are runs of their own.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
scripts=$DLX_SOURCE/configs/batch
! command -v shellcheck >/dev/null || shellcheck "$scripts"/*.sh || fail "shellcheck"
sed -e 's/dir: runs\/tiny, //' -e 's/steps: 9/steps: 40/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
expect 0 "$train" --set run.dir=runs/whole tiny.yaml
whole=$(newest_state runs/whole)
expect 0 "$train" --set run.dir=runs/whole-2 --set run.seed=2 tiny.yaml
second=$(newest_state runs/whole-2)

mkdir bin
cat >bin/dlx-train <<X
#!/bin/sh
echo \$\$ >pid
exec "$train" "\$@"
X
printf '#!/bin/sh\nexec "$@"\n' >bin/srun
for c in scontrol qsub squeue; do
	printf '#!/bin/sh\necho %s "$@" >>asked\n' $c >bin/$c
done
chmod +x bin/*
PATH=$PWD/bin:$PATH
export PATH

# stopped RUN COMMAND...: runs it, with a signal to dlx-train after some steps.
stopped() {
	run=$1
	shift
	rm -f pid asked
	"$@" >out 2>err &
	job=$!
	tries=0
	until grep -q '"step": 5,' "$run/metrics.jsonl" 2>/dev/null; do
		kill -0 $job 2>/dev/null || { cat out err; fail "ended before step 5: $*"; }
		tries=$((tries + 1))
		[ $tries -lt 2000 ] || fail "never reached step 5: $*"
		sleep 0.01
	done
	kill -s USR1 "$(cat pid)"
	wait $job
	status=$?
	[ $status -eq 75 ] || { cat out err; fail "status $status instead of 75: $*"; }
}
finished() {
	run=$1
	want=$2
	shift 2
	expect 0 "$@"
	says out 'resuming from checkpoint'
	[ "$(newest_state "$run")" = "$want" ] || fail "other bits than the whole run: $*"
	rm -rf "$run"
}

slurm="env SLURM_JOB_ID=17 sh $scripts/slurm.sh tiny.yaml"
stopped runs/tiny $slurm
says asked 'scontrol requeue 17'
says asked 'squeue -h -j 17'
grep -q '"scheduler": "slurm", "job": "17", "restarts": 0' runs/tiny/metrics.jsonl || fail 'the start line does not name the job'
finished runs/tiny "$whole" $slurm
slurm="env SLURM_JOB_ID=18 SLURM_ARRAY_TASK_ID=2 sh $scripts/slurm.sh tiny.yaml --set report.tensorboard=false"
stopped runs/tiny-2 $slurm
finished runs/tiny-2 "$second" $slurm

# LSF queues again by the status.
lsf="env CONFIG=tiny.yaml LSB_JOBID=3 LSB_JOBINDEX=0 sh $scripts/lsf.sh"
stopped runs/tiny $lsf
says out 'the job ends in'
finished runs/tiny "$whole" $lsf
lsf="env CONFIG=tiny.yaml LSB_JOBID=3 LSB_JOBINDEX=2 sh $scripts/lsf.sh"
stopped runs/tiny-2 $lsf
finished runs/tiny-2 "$second" $lsf

pbs="env CONFIG=tiny.yaml PBS_JOBID=5.host PBS_O_WORKDIR=$PWD sh $scripts/pbs.sh"
stopped runs/tiny $pbs
says asked 'qsub -v CONFIG=tiny.yaml,ELEMENT=,SCRIPT=configs/batch/pbs.sh configs/batch/pbs.sh'
finished runs/tiny "$whole" $pbs
pbs="env CONFIG=tiny.yaml PBS_JOBID=5[2].host PBS_ARRAY_INDEX=2 PBS_O_WORKDIR=$PWD sh $scripts/pbs.sh"
stopped runs/tiny-2 $pbs
says asked 'ELEMENT=2,'
finished runs/tiny-2 "$second" env ELEMENT=2 CONFIG=tiny.yaml PBS_JOBID=6.host PBS_O_WORKDIR="$PWD" sh "$scripts/pbs.sh"
pass
