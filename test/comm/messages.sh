#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Messages next to sums over real ranks: of all sizes, within a host and over several (pretended), in teams; a rank that is lost
# ends the others, with one report that follows those that wait for each other.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/comm/lib.sh"
ranks=$DLX_BUILD/test/comm/messages
rounds=$(form 40 1000)

for n in $(form "2 3" "2 3 4 8"); do
	ok "$n" "$ranks" pass "$rounds" 1
done
# Hosts of 1 each, of 2 and 1, of 2 and 2 with teams over both, and inside each.
ok 2 env DLX_DEBUG="$(debug ranks_per_host=1)" "$ranks" pass "$rounds" 1
ok 3 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" pass "$rounds" 1
ok 4 env DLX_DEBUG="$(debug ranks_per_host=2)" "$ranks" pass "$rounds" 2
ok 4 "$ranks" pass "$rounds" 2
# Held back for the time of a modelled link.
ok 2 env DLX_DEBUG="$(debug link=1e-4:1e9)" "$ranks" pass 3 1
ok 2 env DLX_DEBUG="$(debug ranks_per_host=1,link=1e-4:1e9)" "$ranks" pass 3 1

# Whichever rank is the first to be too late reports: rank 0 waits for room, the others for messages.
lost lost stop 4
reported 'a message has not come after ' " waits for " " rank 1 (process " ', stopped)'
lost lost sleep 4
reported 'a message has not come after ' " waits for " " rank 1 (process " ', runs)'
lost lost kill 4
# The launcher does not see the end of a process that a shell started.
ended capped mpiexec -n 4 sh -c '"$@" & wait $! || sleep 60' sh "$ranks" lost kill >out 2>err </dev/null
reported 'a message has not come after ' " waits for " " rank 1 (process " ', ended)'
# Signals at any moment, to any rank: all end.
# shellcheck disable=SC2046
signalled 3 $(form "1 2 3" "$(seq 100)")
DLX_DEBUG=$(debug ranks_per_host=1)
lost lost stop 3
says err 'a message has not come after '
pass
