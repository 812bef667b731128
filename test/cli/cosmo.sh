#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-cosmo: the same bytes for any number of threads, universes by their number alone, cubes that are cut from them, and what
# it refuses; a network trains on the record. (test/unit/test_cosmo has the physics.) The long form is the demo: the correlations
# of omega_m and sigma_8 with the truth are at least 0.9.
. "${DLX_SOURCE:?}/test/lib.sh"
cosmo=$DLX_BUILD/dlx-cosmo
[ -x "$cosmo" ] || skip "this build has no dlx-cosmo: KissFFT is missing"

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

mkdir data
mv one.dlx data/universes-train.dlx
mv other.dlx data/universes-validation.dlx
expect 0 "$train" --quiet "$DLX_SOURCE/configs/demo/universes.yaml" \
	--set train.epochs=1 --set train.batch_size=5 --set train.validate.epochs=1
says runs/universes/metrics.jsonl '"r2_by_output": ['
big || exit 0
rm -rf runs data
ln -s "$DLX_SOURCE/configs" configs
expect 0 "$DLX_SOURCE/data-tools/demo_cosmo.sh" "$DLX_BUILD"
awk '/^(omega_m|sigma_8) / { n++; bad += !($2 >= 0.9) } END { exit n != 2 || bad }' out || fail "correlations below 0.9: $(cat out)"
