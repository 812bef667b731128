#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Sums next to a step over real ranks: all types, odd sizes, random delays, several hosts (pretended), 16 ranks, or 64; one that is
# lost ends the others, with one report.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/comm/lib.sh"
steps=$(form 3 6)

for n in $(form "2 3 8" "2 3 4 8"); do
	ok "$n" "$ranks" reduce "$steps" 1
done
ok 3 "$ranks" reduce "$steps" 0
ok 1 "$ranks" reduce "$steps" 1
# Hosts of 2 and 2, of 3 and 1, of 1 each, of 2, 2 and 1.
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" reduce "$(form 4 12)" 1
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" reduce "$steps" 0
ok 4 env DLX_DEBUG="$(debug ranks_per_host=3)" "$ranks" reduce "$steps" 1
ok 3 env DLX_DEBUG="$(debug ranks_per_host=1)" "$ranks" reduce "$steps" 1
ok 5 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" reduce "$steps" 1
# The order of a sum, whatever the hosts; 3 and 5 ranks on one.
for n in $(form "3 5" "3 4 5 8"); do
	ok "$n" "$ranks" order
done
for hosts in $(form 2 "1 2 4"); do
	ok 8 env DLX_DEBUG="$(debug ranks_per_host=$hosts)" "$ranks" order
done
ok 3 "$ranks" large
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" large
ok 2 "$ranks" cost
ok 4 env DLX_DEBUG="$(debug ranks_per_host=3)" "$ranks" cost
ok "$(form 16 64)" "$ranks" reduce "$(form 3 10)" 1

# Parts of the ranks: inside a host, over two, and over hosts that do not end where parts do.
ok 4 "$ranks" part 2 "$steps"
ok 6 "$ranks" part 3 "$steps"
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" part 2 "$steps"
ok 4 env DLX_DEBUG="$(debug ranks_per_host=1)" "$ranks" part 2 "$steps"
ok 6 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" part 3 "$steps"
ok 2 "$ranks" part 1 "$steps"
# Parts whose ranks are not neighbours.
ok 4 "$ranks" part 2 "$steps" 2
ok 6 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" part 2 "$steps" 3
ok 6 env DLX_DEBUG="$(debug ranks_per_host=4)" "$ranks" part 3 "$steps" 2

lost lost stop
reported "is not complete after " "the sum of 'dense' (group 7 of 7, start 3)" ', stopped) has not started it' \
	"the last it did was 'dense' " '; ranks 0, 2 of host '
lost lost sleep
reported 'is not complete after ' ', runs) has not started it'
lost lost kill
# Signals at any moment, to any rank: all end.
# shellcheck disable=SC2046
signalled 2 $(form "1 2 3" "$(seq 30)")
# Of several hosts, the one whose rank is lost reports it; if a whole host is lost, the first of the others does.
DLX_DEBUG=$(debug ranks_per_host=2)
lost lost stop 4
reported 'is not complete after ' '-0, process ' ', stopped) has not started it'
DLX_DEBUG=$(debug ranks_per_host=1)
lost lost stop
reported 'is not complete after ' 'no rank of this host is missing, but ranks of others; rank 0 of host '
pass
