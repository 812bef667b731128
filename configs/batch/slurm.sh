#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-train under Slurm:
#
#     sbatch configs/batch/slurm.sh model.yaml
#     sbatch --array=1-4 configs/batch/slurm.sh model.yaml      one run for each seed 1 to 4
#
# dlx-train learns from Slurm how long the job may run, saves before it ends and exits with status 75; then the job is queued again
# and goes on where it was. Preempted jobs are queued again by Slurm itself. --resume starts from the beginning where there is
# nothing to go on from.
#SBATCH --job-name=dlx
#SBATCH --nodes=1
#SBATCH --ntasks-per-node=1
#SBATCH --time=01:00:00
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.out

config=${1:?usage: sbatch slurm.sh CONFIG [OPTION...]}
shift
# The step gets Slurm's signals too, and needs this script to wait for it.
trap : TERM USR1
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
	name=$(basename "$config" .yaml)-$SLURM_ARRAY_TASK_ID
	set -- --set "run.name=$name" --set "run.seed=$SLURM_ARRAY_TASK_ID" "$@"
fi

srun dlx-train --resume "$@" "$config" &
step=$!
wait $step
status=$?
# A signal ends the waiting, not the step.
while kill -0 $step 2>/dev/null; do
	wait $step
	status=$?
done
if [ $status -eq 75 ]; then
	echo "stopped with its state saved; queued again"
	scontrol requeue "$SLURM_JOB_ID"
fi
exit $status
