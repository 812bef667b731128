#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Sums beside a step over real ranks: all types, odd sizes, random delays, several hosts (pretended), 64 ranks; one that is
# lost ends the others in time, with one report.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/comm/lib.sh"

for n in 2 3 4 8; do
	ok $n "$ranks" reduce 6 1
done
ok 3 "$ranks" reduce 6 0
ok 1 "$ranks" reduce 6 1
# Hosts of 2 and 2, of 3 and 1, of 1 each, of 2, 2 and 1.
ok 4 env DLX_RANKS_PER_HOST=2 "$ranks" reduce 12 1
ok 4 env DLX_RANKS_PER_HOST=2 "$ranks" reduce 6 0
ok 4 env DLX_RANKS_PER_HOST=3 "$ranks" reduce 6 1
ok 3 env DLX_RANKS_PER_HOST=1 "$ranks" reduce 6 1
ok 5 env DLX_RANKS_PER_HOST=2 "$ranks" reduce 6 1
# The order of a sum, whatever the hosts; 3 and 5 ranks on one.
for n in 3 4 5 8; do
	ok $n "$ranks" order
done
for hosts in 1 2 4; do
	ok 8 env DLX_RANKS_PER_HOST=$hosts "$ranks" order
done
ok 3 "$ranks" large
ok 4 env DLX_RANKS_PER_HOST=2 "$ranks" large
ok 2 "$ranks" cost
ok 4 env DLX_RANKS_PER_HOST=3 "$ranks" cost
ok 64 "$ranks" reduce 10 1

# Parts of the ranks: inside a host, over two, and over hosts that do not end where parts do.
ok 4 "$ranks" part 2 6
ok 6 "$ranks" part 3 6
ok 4 env DLX_RANKS_PER_HOST=2 "$ranks" part 2 6
ok 4 env DLX_RANKS_PER_HOST=1 "$ranks" part 2 6
ok 6 env DLX_RANKS_PER_HOST=2 "$ranks" part 3 6
ok 2 "$ranks" part 1 3

lost lost stop 6
reported "is not complete after " "the sum of 'dense' (group 7 of 7, start 3)" ', stopped) has not started it' \
	"the last it did was 'dense' " '; ranks 0, 2 of host '
lost lost sleep 6
reported 'is not complete after ' ', runs) has not started it'
lost lost kill 4
# Signals at any moment, to any rank: all end within the second that is declared and a few more.
for i in 1 2 3 4 5 6; do
	rm -f pid.*
	timeout 60 mpiexec -n 3 "$ranks" endless >out 2>err &
	job=$!
	until [ -s pid.0 ] && [ -s pid.1 ] && [ -s pid.2 ]; do sleep 0.1; done
	sleep "0.$((i * 7 % 10))"
	begin=$(date +%s)
	signal=$(echo STOP KILL TERM | cut -d' ' -f$((i % 3 + 1)))
	kill "-$signal" "$(cat pid.$((i % 2)))"
	wait $job && fail "SIG$signal went unnoticed"
	took=$(($(date +%s) - begin))
	[ $took -le 6 ] || fail "it took $took s after SIG$signal"
done
# Of several hosts the one whose rank it is tells it; if it is the whole host, the first of the others.
export DLX_RANKS_PER_HOST=2
lost lost stop 7 4
reported 'is not complete after ' '-0, process ' ', stopped) has not started it'
export DLX_RANKS_PER_HOST=1
lost lost stop 8
reported 'is not complete after ' 'no rank of this host is missing, but ranks of others; rank 0 of host '
pass
