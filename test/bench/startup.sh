#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The times of planning and starting can be measured. No time is judged, but the number of nodes is.
. "${DLX_SOURCE:?}/test/lib.sh"
expect 0 "$DLX_SOURCE/test/bench/startup" "$DLX_BUILD" 1
grep -q 'plan tiramisu-sc18 .* nodes' out || fail 'no line for tiramisu'
grep -q 'empty step .* ns a node' out || fail 'no line for the executor'
nodes=$(sed -n 's/^plan 10,000 nodes.*; \([0-9]*\) nodes$/\1/p' out)
[ "$nodes" -ge 9000 ] || fail "a chain of $nodes nodes, not of about 10,000"
expect 64 "$DLX_BUILD/test/bench/startup_times" faster
pass
