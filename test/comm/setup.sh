#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Ranks meet, agree and miss each other: set-up collectives under mpiexec, on hosts that are pretended.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/comm/lib.sh"

expect 0 "$ranks" setup-is-not-for-one
ok 1 "$ranks" one
for n in $(form "2 3 8" "2 3 4 8"); do
	ok "$n" "$ranks" setup
done
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" setup 0,0,1,1
ok 4 env DLX_DEBUG="$(debug ranks_per_host=3)" "$ranks" setup 0,0,0,1
ok 3 env DLX_DEBUG="$(debug ranks_per_host=1)" "$ranks" setup 0,1,2

lost absent stop
reported 's in the size of the plan: rank 1 (host ' ', stopped) is missing' '; ranks 0, 2 of host '
lost absent sleep
reported 'timed out after ' ', runs) is missing' "last seen at 'the start'"
# Here mpiexec may be the first to notice.
lost absent kill
DLX_DEBUG=$(debug ranks_per_host=2)
lost absent stop 4
reported 'timed out after ' ', stopped) is missing' '; rank 0 of host '

DLX_DEBUG=$(debug ranks_per_host=0)

# A rank that never joins.
DLX_DEBUG=$(debug join_timeout=2) ended capped mpiexec -n 2 sh -c '[ "$PMI_RANK" = 1 ] && kill -STOP $$; exec "$0" setup' "$ranks" >out 2>err </dev/null
says err 'a rank is missing in MPI_Init; the others have waited 2.0 s; rank 1 (process '
says err ' and stopped'

# A rank that runs another program: the message has its name, if no shell stands between.
DLX_DEBUG=$(debug join_timeout=2) ended capped mpiexec -n 1 "$ranks" setup : -n 1 sleep 1000 : -n 1 true >out 2>err </dev/null
says err '; rank 1 (process '
says err "sleep'; 1 of the 3 ranks of this host has ended"
DLX_DEBUG=$(debug join_timeout=2) ended capped mpiexec -n 1 sh -c '"$0" setup; exit' "$ranks" : -n 1 sleep 1000 >out 2>err </dev/null
grep -q 'MPI_Init; the others have waited 2.0 s$' err || { cat err; fail "more is said than is known"; }

expect 1 env SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=2 "$ranks" setup
says err "add '--mpi=pmi2'"
pass
