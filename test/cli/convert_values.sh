#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The values dlx-convert writes, from every format, against NumPy; and the climatology of the demo.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
here=$DLX_SOURCE/test/cli

"$DLX_BUILD/test/cli/make_sources" . || fail "no sources"
"$python3" "$here/check_formats.py" "$convert" . || fail "check_formats.py"
built_with TIFF libtiff-dev
"$python3" "$here/check_pictures.py" "$convert" . tiff || fail "check_pictures.py"
"$python3" "$here/check_missing.py" "$convert" . || fail "check_missing.py"
"$python3" "$here/check_axes.py" "$convert" . || fail "check_axes.py"
"$python3" "$here/check_csv.py" "$convert" . || fail "check_csv.py"
mkdir meet right
"$python3" "$here/check_right.py" "$convert" right || fail "check_right.py"
"$python3" "$here/check_meet.py" "$convert" meet || fail "check_meet.py"

find_coads
months() {
	expect 0 "$convert" --quiet --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask \
		--target "$coads:SST" --classes 10,20,27 --ignore 255 --samples "$1" -o coads.dlx
	shift
	"$python3" "$here/check_coads.py" "$coads" coads.dlx "$@" || fail "months $*: wrong values"
}
months '!1,4,7,10' 0 2 3 5 6 8 9 11
months 1,4,7,10 1 4 7 10
pass
