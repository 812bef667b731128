#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions keep their place on the earth: coordinates on several axes and grid mappings go from files into records and from there
# into predictions, as far as these are of the same places.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
# keeps SAYS RECORD: what the record says of places.
keeps() {
	"$python3" "$DLX_SOURCE/test/cli/places.py" "$1" "$2" || fail "$2 does not keep the places: $1"
}
"$python3" "$DLX_SOURCE/test/cli/places.py" make || exit 99
expect 0 "$convert" -q -i curved.nc:q -t curved.nc:w -o curved.dlx
keeps curved curved.dlx
expect 0 "$inspect" curved.dlx
says out '  axes       time 0.25 ... 3.25 days since 2001-01-01 in the calendar 360_day (4 of them)'
says out '             LAT on y, x'
says out '             across on x, y'
says out '             grid mapping lambert'
cat >config.yaml <<'END'
run: {name: places, dir: run}
model: {family: layers, layers: [{conv2d: {filters: 1, kernel: 1}}]}
data: {train: curved.dlx}
loss: mse
train: {steps: 1, batch_size: 2}
checkpoint: {every: null}
report: {progress: none}
END
expect 0 "$train" config.yaml

# back OUTPUT SAYS OPTION...: a prediction, as a file of its own, says this.
back() {
	output=$1 says=$2
	shift 2
	expect 0 "$train" -o "$output" "$@"
	expect 0 "$convert" -q -i "$output:prediction" --input-layout first -o back.dlx
	keeps "$says" back.dlx
}
back a.nc curved --predict curved.nc:q config.yaml
back b.nc curved --predict curved.dlx config.yaml
cmp a.nc b.nc || fail "a record loses something"
back c.h5 curved --predict curved.dlx --tile 3 config.yaml
# Which samples, in how many files.
expect 0 "$convert" -q -i curved.nc:q --samples 1,3 -o some.dlx
keeps some some.dlx
cp curved.nc curved-again.nc
expect 0 "$convert" -q -i 'curved*.nc:q' --concatenate -o twice.dlx
keeps twice twice.dlx
expect 0 "$convert" -q -i curved.nc:r -o parts.dlx
keeps parts parts.dlx
expect 0 "$train" -o two.nc --predict curved.nc:q curved-again.nc:q config.yaml
expect 0 "$convert" -q -i two.nc:prediction --input-layout first -o two.dlx
keeps twice two.dlx
# A reference system by its number becomes a grid mapping.
back utm.h5 utm --predict utm.nc:q config.yaml
# Of a window of the data nothing is said that is true of all of it.
sed 's/curved.dlx/curved.dlx, transforms: [{crop: {size: [3, 5], validation: centre}}]/; s/name: places, dir: run/name: window, dir: window/' \
	config.yaml >window.yaml
expect 0 "$train" window.yaml
expect 0 "$train" --predict curved.dlx -o window.nc window.yaml
says err 'other extents than the data: it is written without the coordinates LAT, lon, moving, across'
expect 0 "$convert" -q -i window.nc:prediction --input-layout first -o window.dlx
keeps bare window.dlx
pass
