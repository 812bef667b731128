#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The scripts of configs/batch with stand-ins for the schedulers' commands: stopped by a signal they queue the job again, started again
# they finish it with the bits of an uninterrupted run; elements of an array are runs of their own.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
scripts=$DLX_SOURCE/configs/batch
! command -v shellcheck >/dev/null || shellcheck "$scripts"/*.sh || fail "shellcheck"
sed -e 's/dir: runs\/tiny, //' -e 's/steps: 9/steps: 1000000/' "$DLX_SOURCE/test/train/tiny.yaml" >endless.yaml

mkdir bin
cat >bin/dlx-train <<X
#!/bin/sh
echo \$\$ >pid
exec "$train" "\$@"
X
printf '#!/bin/sh\nexec "$@"\n' >bin/srun
for c in scontrol qsub squeue; do
	printf '#!/bin/sh\necho %s "$@" >>called\n' $c >bin/$c
done
chmod +x bin/*
PATH=$PWD/bin:$PATH
export PATH

# stopped RUN COMMAND...: runs it, with a signal to dlx-train after some steps.
stopped() {
	run=$1
	shift
	rm -f pid called
	cp endless.yaml tiny.yaml
	"$@" >out 2>err &
	job=$!
	reached "$run/metrics.jsonl" '"step": 5,' $job
	send USR1 "$(cat pid)"
	ends $job
	[ $status -eq 75 ] || { cat out err; fail "status $status instead of 75: $*"; }
}
# finished RUN SEED COMMAND...: runs it again, for some more steps, as a whole run has them.
finished() {
	run=$1
	seed=$2
	shift 2
	sed "s/steps: 1000000/steps: $(($(steps_of "$run") + 5))/" endless.yaml >tiny.yaml
	expect 0 "$@"
	says out 'resuming from checkpoint'
	expect 0 "$train" --set run.dir=runs/whole --set run.seed="$seed" tiny.yaml
	[ "$(newest_state "$run")" = "$(newest_state runs/whole)" ] || fail "other bits than the whole run: $*"
	rm -rf "$run" runs/whole
}

slurm="env SLURM_JOB_ID=17 sh $scripts/slurm.sh tiny.yaml"
stopped runs/tiny $slurm
says called 'scontrol requeue 17'
says called 'squeue -h -j 17'
grep -q '"scheduler": "slurm", "job": "17", "restarts": 0' runs/tiny/metrics.jsonl || fail 'the start line does not name the job'
finished runs/tiny 3 $slurm
slurm="env SLURM_JOB_ID=18 SLURM_ARRAY_TASK_ID=2 sh $scripts/slurm.sh tiny.yaml --set report.tensorboard=false"
stopped runs/tiny-2 $slurm
finished runs/tiny-2 2 $slurm

# LSF queues again by the status.
lsf="env CONFIG=tiny.yaml LSB_JOBID=3 LSB_JOBINDEX=0 sh $scripts/lsf.sh"
stopped runs/tiny $lsf
says out 'the job ends in'
finished runs/tiny 3 $lsf
lsf="env CONFIG=tiny.yaml LSB_JOBID=3 LSB_JOBINDEX=2 sh $scripts/lsf.sh"
stopped runs/tiny-2 $lsf
finished runs/tiny-2 2 $lsf

pbs="env CONFIG=tiny.yaml PBS_JOBID=5.host PBS_O_WORKDIR=$PWD sh $scripts/pbs.sh"
stopped runs/tiny $pbs
says called 'qsub -v CONFIG=tiny.yaml,ELEMENT=,SCRIPT=configs/batch/pbs.sh configs/batch/pbs.sh'
finished runs/tiny 3 $pbs
pbs="env CONFIG=tiny.yaml PBS_JOBID=5[2].host PBS_ARRAY_INDEX=2 PBS_O_WORKDIR=$PWD sh $scripts/pbs.sh"
stopped runs/tiny-2 $pbs
says called 'ELEMENT=2,'
finished runs/tiny-2 2 env ELEMENT=2 CONFIG=tiny.yaml PBS_JOBID=6.host PBS_O_WORKDIR="$PWD" sh "$scripts/pbs.sh"
pass
