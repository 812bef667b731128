#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-train under PBS Professional, OpenPBS and Torque:
#
#     qsub -v CONFIG=model.yaml configs/batch/pbs.sh
#     qsub -J 1-4 -v CONFIG=model.yaml configs/batch/pbs.sh     one run for each seed 1 to 4 (Torque: -t)
#
# PBS does not tell a job when it ends, so this script does, from the limit below; dlx-train saves before that and exits with status 75,
# and the script submits itself again, by the path in SCRIPT if it is another one, to go on. Jobs that lost their host are started
# again because of -r y. --resume starts from the beginning where there is nothing to go on from.
#PBS -N dlx
#PBS -l select=1:ncpus=4
#PBS -l walltime=01:00:00
#PBS -r y
#PBS -j oe
seconds=3600                     # as walltime above

config=${CONFIG:?set CONFIG: qsub -v CONFIG=model.yaml pbs.sh}
cd "${PBS_O_WORKDIR:-.}" || exit 66
DLX_JOB_END=$(($(date +%s) + ${PBS_WALLTIME:-$seconds}))
export DLX_JOB_END
set --
element=${ELEMENT:-${PBS_ARRAY_INDEX:-${PBS_ARRAYID:-}}}
if [ -n "$element" ]; then
	name=$(basename "$config" .yaml)-$element
	set -- --set "run.name=$name" --set "run.seed=$element"
fi
# PBS signals the job's processes one by one, this script among them.
trap : TERM USR1

dlx-train --resume "$@" "$config" &
run=$!
wait $run
status=$?
while kill -0 $run 2>/dev/null; do
	wait $run
	status=$?
done
if [ $status -eq 75 ]; then
	echo "stopped with its state saved; queued again"
	script=${SCRIPT:-configs/batch/pbs.sh}
	qsub -v "CONFIG=$config,ELEMENT=$element,SCRIPT=$script" "$script"
fi
exit $status
