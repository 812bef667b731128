#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks meet, agree and miss each other: set-up collectives under mpiexec, on hosts that are pretended.
. "${DLX_SOURCE:?}/test/lib.sh"
command -v mpiexec >/dev/null || skip "no mpiexec"
"$train" --version | grep -q '^ranks: MPICH' || skip "dlx-train was built without MPICH, whose mpiexec this test takes"
ranks=$DLX_BUILD/test/comm/ranks

# ok N COMMAND...: N ranks, and the word of the first.
ok() {
	n=$1
	shift
	expect 0 timeout 120 mpiexec -n "$n" "$@"
	says out ok
}

expect 0 "$ranks" setup-is-not-for-one
ok 1 "$ranks" one
for n in 2 3 4 8; do
	ok $n "$ranks" setup
done
ok 4 env DLX_RANKS_PER_HOST=2 "$ranks" setup 0,0,1,1
ok 4 env DLX_RANKS_PER_HOST=3 "$ranks" setup 0,0,0,1
ok 3 env DLX_RANKS_PER_HOST=1 "$ranks" setup 0,1,2

# absent HOW SECONDS: rank 1 does not come; all end by then.
absent() {
	begin=$(date +%s)
	timeout 60 mpiexec -disable-auto-cleanup -n 3 "$ranks" absent "$1" >out 2>err && fail "all is well without rank 1 ($1)"
	took=$(($(date +%s) - begin))
	[ "$took" -le "$2" ] || fail "it took $took s to see that rank 1 is missing ($1)"
}
# reported TEXT...: by one rank.
reported() {
	for text in "$@"; do
		says err "$text"
	done
	[ "$(grep -c 'do not meet' err)" = 1 ] || fail "not one report: $(cat err)"
}
absent stop 6
reported 'the ranks do not meet for the size of the plan: rank 1 (host ' ', stopped) is missing' '; ranks 0, 2 of host '
absent sleep 6
reported ', runs) is missing' "last seen at 'the start'"
# Here mpiexec may be the first to notice.
absent kill 4

expect 1 env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$ranks" setup
says err "add '--mpi=pmi2'"
pass
