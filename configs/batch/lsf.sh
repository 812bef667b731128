#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-train under LSF:
#
#     bsub -env "all, CONFIG=model.yaml" < configs/batch/lsf.sh
#     bsub -J "dlx[1-4]" -env "all, CONFIG=model.yaml" < configs/batch/lsf.sh     one run for each seed 1 to 4
#
# LSF does not tell a job when it ends, so this script does, from the limit below; dlx-train saves before that and exits with status 75,
# for which the job is queued again (the queue may need REQUEUE_EXIT_VALUES to be allowed) and goes on where it was. Jobs that lost
# their host are started again because of -r. --resume starts from the beginning where there is nothing to go on from.
#BSUB -J dlx
#BSUB -n 1
#BSUB -W 60
#BSUB -r
#BSUB -Q "75"
#BSUB -o dlx-%J_%I.out
minutes=60                       # as in -W above

config=${CONFIG:?set CONFIG: bsub -env "all, CONFIG=model.yaml" < lsf.sh}
DLX_JOB_END=$(($(date +%s) + 60 * minutes))
export DLX_JOB_END
set --
if [ "${LSB_JOBINDEX:-0}" -gt 0 ]; then
	name=$(basename "$config" .yaml)-$LSB_JOBINDEX
	set -- --set "run.name=$name" --set "run.seed=$LSB_JOBINDEX"
fi
# The shell makes room, so that LSF's signals reach dlx-train.
exec dlx-train --resume "$@" "$config"
