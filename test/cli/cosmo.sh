#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-cosmo: the same bytes for any number of threads, universes by their number alone, cubes that are cut from them, and what
# it refuses; the demo. (test/unit/test_cosmo has the physics.) In its long form the correlations of omega_m and sigma_8 with the
# truth are at least 0.9.
. "${DLX_SOURCE:?}/test/lib.sh"
cosmo=$DLX_BUILD/dlx-cosmo
[ -x "$cosmo" ] || lacks libkissfft-dev

expect 0 "$cosmo" -n 5 --size 16 --cell 8 -j 1 -o one.dlx
says out 'one.dlx: 5 universes of 128 Mpc a side, 5 samples of 16 x 16 x 16 cells at 4 redshifts'
expect 0 "$cosmo" -n 5 --size 16 --cell 8 -j 4 --quiet -o four.dlx
cmp one.dlx four.dlx || fail "another number of threads makes other universes"
expect 0 "$cosmo" -n 5 --size 16 --cell 8 --seed 2 -q -o other.dlx
cmp -s one.dlx other.dlx && fail "another seed makes the same universes"

# values FILE: every value of a record of 16 x 16 x 16 cells, a sample a line.
values() {
	/usr/bin/python3 "$DLX_SOURCE/test/cli/cosmo_values.py" "$@"
}
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	expect 0 "$cosmo" -n 2 --first 3 --size 16 --cell 8 -q -o last.dlx
	expect 0 "$cosmo" -n 5 --size 16 --cube 8 --cell 8 -q -o cubes.dlx
	values one.dlx last.dlx cubes.dlx || fail "universes, or cubes of them, are not those that they should be"
fi
expect 0 "$inspect" --verify one.dlx
says out 'z=1.5'
says out 'sigma_8'

expect 64 "$cosmo" -n 1
says err 'no --output given'
expect 64 "$cosmo" --size 17 -o none.dlx
says err '17 is odd'
expect 64 "$cosmo" --size 16 --cube 6 -o none.dlx
says err 'not cut into cubes of 6'
expect 64 "$cosmo" --cell 0 -o none.dlx
says err 'above 0'
expect 64 "$cosmo" -o none.dlx more
says err "unexpected argument 'more'"
expect 73 "$cosmo" -n 1 --size 8 -o missing/none.dlx
[ ! -e none.dlx ] || fail "a refused command leaves a file"

# The demo, of a few universes; the long form is all of it.
ln -s "$DLX_SOURCE/configs" configs
outcome() {
	sed -n '/^== outcome/,$p' out >outcome
	awk '/^(omega_m|sigma_8|n_s|h_0) / && $3 > 0 { n++; bad += /^(o|s)/ && !($2 >= least) } END { exit n != 4 || bad }' least="$1" outcome ||
		fail "the outcome: $(cat outcome)"
}
if big; then
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_cosmo.sh" "$DLX_BUILD"
	outcome 0.9
else
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_cosmo.sh" "$DLX_BUILD" 4 3 --quiet --set train.epochs=1 --set train.batch_size=4
	outcome 0
fi
[ "$(find runs/universes/universes -name '*.png' | wc -l)" -ge 3 ] || fail "no pictures"
pass
