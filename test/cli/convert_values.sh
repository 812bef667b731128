#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The values dlx-convert writes, from every format, against NumPy; and the climatology of the demo.
python=${PYTHON:-/usr/bin/python3}
$python -c 'import numpy' 2>/dev/null || { echo "skipped: no $python with numpy"; exit 77; }
here=$DLX_SOURCE/test/cli
dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
export PYTHONDONTWRITEBYTECODE=1

"$DLX_BUILD/test/cli/make_sources" "$dir" || exit 1
$python "$here/check_formats.py" "$DLX_BUILD/dlx-convert" "$dir" || { echo "check_formats.py failed"; exit 1; }
grep -q '^#define HAVE_TIFF 1' "$DLX_BUILD/config.h" && tiff=tiff
$python "$here/check_pictures.py" "$DLX_BUILD/dlx-convert" "$dir" ${tiff:-} || { echo "check_pictures.py failed"; exit 1; }
$python "$here/check_axes.py" "$DLX_BUILD/dlx-convert" "$dir" || { echo "check_axes.py failed"; exit 1; }

coads=${COADS:-/usr/share/ferret-vis/data/coads_climatology.cdf}
[ -r "$coads" ] || { echo "note: no $coads (ferret-datasets); its part is left out"; exit 0; }
months() {
	"$DLX_BUILD/dlx-convert" --quiet --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask \
		--target "$coads:SST" --classes 10,20,27 --ignore 255 --samples "$1" -o "$dir/coads.dlx" || exit 1
	shift
	$python "$here/check_coads.py" "$coads" "$dir/coads.dlx" "$@" || { echo "months $*: wrong values"; exit 1; }
}
months '!1,4,7,10' 0 2 3 5 6 8 9 11
months 1,4,7,10 1 4 7 10
