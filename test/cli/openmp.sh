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
# What no thread could be started with is refused before any is; a smaller team is one that the device knows of.
tried() {
	tried_status=$1
	shift
	expect "$tried_status" env "$@" "$train" --check "$given" --set model.classes=4 --set data.train=none.dlx "$config"
}
for n in 100000 0 -1 many 2x 99999999999999999999; do
	tried 64 OMP_NUM_THREADS="$n"
	says err "OMP_NUM_THREADS is '$n'; expected the number of threads that compute, from 1 to"
done
tried 64 OMP_STACKSIZE=16k
says err "OMP_STACKSIZE is '16k'; expected 256K or more"
tried 0 OMP_STACKSIZE=1048576B OMP_NUM_THREADS=3,2
says out ', 3 threads, '
tried 0 OMP_NUM_THREADS=3 OMP_THREAD_LIMIT=2
says out ', 2 threads, '
tried 0 OMP_NUM_THREADS=3 OMP_MAX_ACTIVE_LEVELS=0
says out ', 1 thread, '
for n in 100000 -1 1e99 99999999999999999999; do tried 0 SLURM_CPUS_PER_TASK="$n" OMPI_COMM_WORLD_SIZE="$n" PMI_SIZE="$n"; done
# A step of fewer threads than OMP_NUM_THREADS ends.
expect 0 capped env OMP_NUM_THREADS=3 OMP_THREAD_LIMIT=1 "$train" --quiet --bench=1 --synthetic "$given" --set model.classes=4 "$config"
export OMP_DISPLAY_ENV=verbose
expect 0 env OMP_WAIT_POLICY=passive "$train" --version
if grep -q 5000 err; then fail "what the user said about waiting was overridden"; fi
pass
