#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-climate: the same bytes for any number of threads, snapshots by their number alone, fields and labels that are as the
# man page says (climate_values.py labels them again by itself), what it refuses; the demo. In
# its long form: of every class the U-Net's intersection over union is 0.2 above the linear baseline's, or above 0.95.
. "${DLX_SOURCE:?}/test/lib.sh"
climate=$DLX_BUILD/dlx-climate
[ -x "$climate" ] || lacks libkissfft-dev

expect 0 "$climate" -n 6 --height 96 --width 144 -j 1 -o one.dlx
says out 'one.dlx: 6 snapshots of 96 x 144 points'
expect 0 "$climate" -n 6 --height 96 --width 144 -j 4 --quiet -o four.dlx
cmp one.dlx four.dlx || fail "another number of threads makes other snapshots"
expect 0 "$climate" -n 2 --first 4 --height 96 --width 144 -q -o last.dlx
expect 0 "$climate" -n 6 --height 96 --width 144 --seed 2 -q -o other.dlx
cmp -s one.dlx other.dlx && fail "another seed makes the same snapshots"
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	/usr/bin/python3 "$DLX_SOURCE/test/cli/climate_values.py" one.dlx last.dlx || fail "snapshots are not as they should be"
fi
expect 0 "$inspect" --verify one.dlx
says out 'PRECT'
says out 'atmospheric river'

expect 64 "$climate" -n 1
says err 'no --output given'
expect 64 "$climate" --width 145 -o none.dlx
says err '145 is odd'
expect 64 "$climate" --threshold 0 -o none.dlx
says err 'above 0'
expect 64 "$climate" -o none.dlx more
says err "unexpected argument 'more'"
expect 73 "$climate" -n 1 --height 16 --width 16 -o missing/none.dlx
[ ! -e none.dlx ] || fail "a refused command leaves a file"

# The demo, of a few snapshots; the long form is all of it.
ln -s "$DLX_SOURCE/configs" configs
outcome() {
	awk '/^(background|tropical cyclone|atmospheric river) / && $NF ~ /^[0-9.]+$/ && $(NF - 1) ~ /^[0-9.]+$/ {
		n++; bad += big && !($NF >= $(NF - 1) + 0.2 || $NF >= 0.95) } END { exit n != 3 || bad }' big="$1" out ||
		fail "the outcome: $(cat out)"
}
if big; then
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_climate.sh" "$DLX_BUILD"
	outcome 1
else
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_climate.sh" "$DLX_BUILD" 4 2 --quiet --set train.epochs=1
	outcome 0
fi
[ "$(find runs/climate/predictions -name '*.png' | wc -l)" -ge 2 ] || fail "no pictures"
pass
