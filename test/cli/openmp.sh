#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Threads spin briefly unless the user says how long, and the second start that takes keeps the command line.
. "${DLX_SOURCE:?}/test/lib.sh"
unset GOMP_SPINCOUNT OMP_WAIT_POLICY
export OMP_DISPLAY_ENV=verbose
expect 0 "$train" --version
says out 'dlx-train'
grep -q GOMP_SPINCOUNT err || skip "not libgomp, or a build without OpenMP"
says err "GOMP_SPINCOUNT = '5000'"
expect 0 env GOMP_SPINCOUNT=70 "$train" --version
says err "GOMP_SPINCOUNT = '70'"
expect 0 env OMP_WAIT_POLICY=passive "$train" --version
says err "OMP_WAIT_POLICY = 'PASSIVE'"
# How many: the job's share, unless OMP_NUM_THREADS says.
config=$DLX_SOURCE/configs/coads-linear.yaml
given="--set=model.input={channels: 4, size: [8, 8]}"
unset OMP_DISPLAY_ENV OMP_NUM_THREADS
expect 0 env SLURM_CPUS_PER_TASK=1 "$train" --check "$given" --set model.classes=4 --set data.train=none.dlx "$config"
says out ', 1 thread, '
expect 0 env SLURM_CPUS_PER_TASK=1 OMP_NUM_THREADS=3 "$train" --check "$given" --set model.classes=4 --set data.train=none.dlx "$config"
says out ', 3 threads, '
export OMP_DISPLAY_ENV=verbose
expect 0 env OMP_WAIT_POLICY=passive "$train" --version
if grep -q 5000 err; then fail "what the user said about waiting was overridden"; fi
pass
