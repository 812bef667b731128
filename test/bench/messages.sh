#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The times of messages between ranks can be measured. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
expect 0 "$DLX_BUILD/test/bench/message_times" 20
grep -q '^cache line, one way: bare .* ns, message .* ns: .* times$' out || fail 'no line for a cache line'
grep -q '^4 MiB at depth 2, .* GB/s, stream .* GB/s: ' out || fail 'no line for a stream'
pass
