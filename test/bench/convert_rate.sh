#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The write rate of dlx-convert can be measured against the disk's. None is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
expect 0 capped "$python3" "$DLX_SOURCE/test/bench/convert_rate" "$convert" . 16 1 -l 1
[ "$(grep -c 'disk .* MB/s  dlx-convert .* MB/s raw .* a core, stored in' out)" -eq 4 ] || { cat out; fail 'not a line for each kind'; }
[ ! -e convert-rate.npy ] && [ ! -e convert-rate.dlx ] || fail 'files are left'
pass
