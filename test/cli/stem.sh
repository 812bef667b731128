#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# dlx-stem: the same bytes for any number of threads, samples by their number alone, both orders of axes, what it refuses, the
# examples of its page; the demo and the network of stacks. (test/unit/test_stem has the physics.) In its long form 95 % of the
# columns of atoms in crystals that were not trained on are found within half an angstrom, in stacks 65 %.
. "${DLX_SOURCE:?}/test/lib.sh"
stem=$DLX_BUILD/dlx-stem
[ -x "$stem" ] || lacks libkissfft-dev

small='--map 16 --margin 8 --thickest 24 --detector 5'
# shellcheck disable=SC2086
make() {
	expect 0 "$stem" $small "$@"
}
make -n 5 -j 1 -o one.dlx
says out 'one.dlx: 5 scans of 8 x 8 positions, patterns of 5 x 5 pixels, potentials of 16 x 16 points (4 angstrom a side), 29 crystals'
make -n 5 -j 4 --quiet -o four.dlx
cmp one.dlx four.dlx || fail "another number of threads makes other samples"
make -n 5 --seed 2 -q -o other.dlx
cmp -s one.dlx other.dlx && fail "another seed makes the same samples"
make -n 2 --first 3 -q -o last.dlx
make -n 5 --channels detector -q -o detector.dlx
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	/usr/bin/python3 "$DLX_SOURCE/test/cli/stem_values.py" one.dlx last.dlx detector.dlx || fail "samples are not those that they should be"
fi

begin "counted electrons"
make -n 5 -j 1 --dose 1000 -q -o dose.dlx
make -n 5 -j 4 --dose 1000 -q -o again.dlx
cmp dose.dlx again.dlx || fail "another number of threads counts other electrons"
make -n 5 --dose 1000 --channels detector -q -o dose-detector.dlx
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	/usr/bin/python3 "$DLX_SOURCE/test/cli/stem_values.py" --dose 1000 one.dlx dose.dlx dose-detector.dlx || fail "not the counts of a dose"
fi

begin "crystals by name, or all others; --verify checks all hashes"
make -n 3 --crystals Si,Au -q -o named.dlx
expect 0 "$inspect" --index named.dlx
grep -q '(Si)' out && grep -q '(Au)' out || fail "not both crystals in three samples: $(cat out)"
grep -E '\((Al|Ni|Cu|Ag|Pt|Pb|Fe|MoS2)\)' out && fail "a crystal that was not named"
make -n 2 --crystals '!Si,Au' -o others.dlx
says out '27 crystals'
expect 0 "$inspect" --verify one.dlx
says out 'f32 64x5x5'
says out 'f32 1x16x16'

begin "the command in the file has each number in its fewest digits, and makes the same file"
make -n 2 --crystals Si,Au --pixel 0.2 --spherical 0.0013 -q -o words.dlx
expect 0 "$inspect" words.dlx
says out "--crystals 'Si,Au' --channels positions --map 16 --margin 8 --pixel 0.2 --step 2"
says out '--spherical 0.0013 --thinnest 20 --thickest 24 --slice 2 --tilt 5 --blur 0.3 --dose 0'
sed -n 's/^ *made by *dlx-stem /"$stem" -q -o again.dlx /p' out >words.sh
. ./words.sh
cmp words.dlx again.dlx || fail "the command in a file makes another file: $(cat words.sh)"

begin "refused"
# refused TEXT OPTION...: with status 64
refused() {
	text=$1
	shift
	expect 64 "$stem" -o none.dlx "$@"
	says err "$text"
}
expect 64 "$stem" -n 1
says err 'no --output given'
refused "no crystal 'Unobtainium'" --crystals Si,Unobtainium
refused "no crystal ''" --crystals Si,
refused 'not divided by 5' --map 16 --step 5
refused 'the largest angle' --angle 60
refused 'the largest angle' --semiangle 60
refused 'fewer than 100 pixels' --detector 100
refused '--thinnest: 50 is above --thickest' --thinnest 50 --thickest 40
refused '--pixel: 0 is not' --pixel 0
refused '--dose: -1 is not' --dose=-1
refused '--kilovolts: nan is not' --kilovolts nan
refused "unexpected argument 'more'" more
# shellcheck disable=SC2086
expect 73 "$stem" $small -n 1 -o missing/none.dlx
[ ! -e none.dlx ] || fail "a refused command leaves a file"

begin "the demo"
ln -s "$DLX_SOURCE/configs" configs
outcome() {
	awk '$1 == "all" { n++; bad += !($3 > 20 && $4 >= least && $6 >= 0) } END { exit n != 1 || bad }' least="$1" out ||
		fail "the outcome: $(cat out)"
}
stacks() {
	expect 0 "$train" --quiet --predict data/stacks-validation.dlx -o stacks.npy configs/demo/stem-stacks.yaml
	expect 0 "$DLX_BUILD/data-tools/stem_columns" data/stacks-validation.dlx stacks.npy 0.25
}
mkdir data
if big; then
	sed -n 's/^\$ //p' "$DLX_SOURCE/man/dlx-stem.1" >page.sh
	[ "$(wc -l <page.sh)" -eq 10 ] || fail "dlx-stem.1 has lost its examples"
	PATH=$DLX_BUILD:$PATH sh -exc '. ./page.sh' >log 2>&1 || fail "an example of dlx-stem(1): $(cat log)"
	stacks
	outcome 65
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_stem.sh" "$DLX_BUILD"
	outcome 95
else
	expect 0 "$DLX_SOURCE/data-tools/demo/demo_stem.sh" "$DLX_BUILD" 4 6 --quiet --set train.epochs=1 --set train.batch_size=4
	outcome 0
	view='--map 32 --margin 8 --thickest 40 --step 4 --detector 16 --quiet'
	# shellcheck disable=SC2086
	for set in train:0 validation:6; do
		expect 0 "$stem" -n 6 --first "${set#*:}" $view -o "data/stacks-${set%:*}.dlx"
	done
	expect 0 "$train" --quiet --set train.epochs=1 --set train.batch_size=2 configs/demo/stem-stacks.yaml
	stacks
	outcome 0
fi
[ "$(find runs/stem/predictions -name '*.png' | wc -l)" -ge 6 ] || fail "no pictures"

begin "columns that the truth has are found in it, all and nothing else"
columns=$DLX_BUILD/data-tools/stem_columns
if /usr/bin/python3 -c 'import numpy' 2>/dev/null; then
	/usr/bin/python3 "$DLX_SOURCE/test/cli/stem_values.py" --targets data/stem-validation.dlx true.npy
	expect 0 "$columns" data/stem-validation.dlx true.npy 0.25
	outcome 100
fi
expect 65 "$columns" data/stem-validation.dlx data/stem-train.dlx 0.25
expect 65 "$columns" runs/stem/predictions.npy runs/stem/predictions.npy 0.25
expect 64 "$columns" data/stem-validation.dlx
pass
