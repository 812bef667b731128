#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The rates of reading records can be measured, of each kind of data at two levels. None is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
cd "$work" || exit 99
expect 0 "$DLX_BUILD/test/bench/record_times" . 1 0
[ "$(grep -c 'level [13]: .* GB/s, stored' out)" -eq 8 ] || fail 'not a line for each kind and level'
[ "$(ls ./*.dlx 2>/dev/null)" ] && fail 'files are left'
expect 64 "$DLX_BUILD/test/bench/record_times"
pass
