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
# Processors of each task, which is a rank: on CPUs those of a socket, with a GPU its share of the node's.
#SBATCH --cpus-per-task=4
#SBATCH --time=01:00:00
# A line that begins with ##SBATCH is off; one '#' less makes it count.
# On GPUs: one for each task, with as many tasks a node as it has GPUs, and 'device: cuda' in the config.
##SBATCH --ntasks-per-node=4
##SBATCH --gpus-per-task=1
# On several nodes, or with several tasks a node, the tasks train one network; without MPI they would be runs of their own.
##SBATCH --nodes=2
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --output=%x-%A_%a.out
mpi=pmi2                         # what dlx-train's MPI library (--version) starts with: pmi2 or pmix; see srun --mpi=list

config=${1:?usage: sbatch slurm.sh CONFIG [OPTION...]}
shift
# The step gets Slurm's signals too, and needs this script to wait for it.
trap : TERM USR1
if [ -n "${SLURM_ARRAY_TASK_ID:-}" ]; then
	name=$(basename "$config" .yaml)-$SLURM_ARRAY_TASK_ID
	set -- --set "run.name=$name" --set "run.seed=$SLURM_ARRAY_TASK_ID" "$@"
fi

# srun does not take over the processors of a task by itself since Slurm 22.05.
SRUN_CPUS_PER_TASK=${SLURM_CPUS_PER_TASK:-1}
export SRUN_CPUS_PER_TASK
if [ "${SLURM_NTASKS:-1}" -gt 1 ]; then
	SLURM_MPI_TYPE=${SLURM_MPI_TYPE:-$mpi}
	export SLURM_MPI_TYPE
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
