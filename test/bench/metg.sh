#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-bench metg can be compared with programs that have the same graphs. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
programs=dlx,openmp
! has_ranks || programs=$programs,mpi
expect 0 capped "$python3" "$DLX_SOURCE/test/bench/metg" --build "$DLX_BUILD" --turns 1 --runs 1 --steps 200 --graphs stencil --programs $programs
for program in $(echo $programs | tr , ' '); do
	grep -qE "^stencil +$program +METG\(50 %\) +([0-9.]+|nan) us" out || { cat out; fail "no line for $program"; }
done
expect 0 capped "$python3" "$DLX_SOURCE/test/bench/metg" --build "$DLX_BUILD" --turns 1 --imbalance --programs openmp
grep -qE '^imbalance 2, four graphs dlx-steal efficiency [0-9.]+ ' out || { cat out; fail "no line for stealing"; }
pass
