#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions keep what their files say of axes: names, coordinates, attributes, in netCDF and HDF5, whole and in tiles, from a
# file itself, from a record that was made of it, and from several.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
"$DLX_BUILD/test/cli/make_sources" . || exit 99
expect 0 "$convert" -q -i places.nc:field -t places.nc:event -o x.dlx --class-names 'calm,very windy'
cat >config.yaml <<'END'
run: {name: axes, dir: run}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: 2, kernel: 1}}]}
data: {train: x.dlx, transforms: [cast, {normalize: standard}]}
loss: softmax_cross_entropy
train: {steps: 3, batch_size: 2}
checkpoint: {every: null}
report: {progress: none}
END
expect 0 "$train" config.yaml

# axes_of FILE.dlx: what the record says of axes, attributes in the order of their names.
axes_of() {
	"$python3" -c 'import json, struct, sys
data = open(sys.argv[1], "rb").read()
d, i = struct.unpack("<2Q", data[-72:-56])
print(json.dumps(json.loads(data[d:i])["axes"], sort_keys=True, indent=1))' "$1" >"$1.axes" || fail "no axes in $1"
}
# keeps OUTPUT OPTION...: a prediction with the axes of x.dlx, which read back are the same.
axes_of x.dlx
keeps() {
	output=$1
	shift
	expect 0 "$train" -o "$output" "$@" config.yaml
	expect 0 "$convert" -q -i "$output:prediction" --input-layout ${layout:-first} -o back.dlx
	axes_of back.dlx
	cmp x.dlx.axes back.dlx.axes || { diff x.dlx.axes back.dlx.axes; fail "other axes in $output: $*"; }
}
keeps a.nc --predict places.nc:field
keeps b.nc --predict x.dlx
cmp a.nc b.nc || fail "a record loses something"
keeps c.h5 --predict places.nc:field
cmp a.nc c.h5 || fail "HDF5 is not netCDF-4"
keeps d.h5 --predict x.dlx --tile 32 --as probabilities
layout=stack
keeps e.nc --predict x.dlx --as classes
keeps f.hdf5 --predict x.dlx --as classes --tile 32
layout=first
# A file that was predicted is HDF5 with dimension scales, whose axes are reported too.
expect 0 "$convert" -q -i c.h5:prediction --input-layout first --samples 1 -o one.dlx
axes_of one.dlx
"$python3" -c 'import json
all, one = (json.load(open(name + ".dlx.axes")) for name in ("x", "one"))
all[0]["values"] = all[0]["values"][1:2]
assert all == one' || fail "--samples chooses other coordinates"
# Samples of several files follow each other.
expect 0 "$convert" -q -i places.nc:field --samples 0 -o first.dlx
expect 0 "$convert" -q -i places.nc:field --samples '!0' -o rest.dlx
keeps g.nc --predict first.dlx rest.dlx
# Next to samples of another size, too: pictures of a grid whose latitudes rise have north on top.
"$python3" - <<'END' || fail "no arrays"
import struct
for name, code, data in ("small", "<f4", struct.pack("<60f", *range(60))), ("small-event", "<i4", struct.pack("<60i", *[i // 30 for i in range(60)])):
    head = repr({"descr": code, "fortran_order": False, "shape": (2, 6, 5)}).ljust(117) + "\n"
    open(name + ".npy", "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)
END
expect 0 "$convert" -q -i small.npy -t small-event.npy --input-layout stack --class-names 'calm,very windy' -o small.dlx
expect 0 "$train" --predict x.dlx -o pictures config.yaml
expect 0 "$train" --predict x.dlx small.dlx -o both config.yaml
for one in pictures/*; do
	cmp "$one" "both/${one#*/}" || fail "$one next to another size"
done
[ "$(ls both | wc -l)" -eq "$(($(ls pictures | wc -l) + 2))" ] || fail "$(ls both)"
# Files that are joined, and files of other places: those keep no more than names.
expect 65 "$convert" -q -i 'places*.nc:field' --concatenate -o joined.dlx
says err "other places: lon "
expect 0 "$convert" -q -i 'places*.nc:field' --concatenate --match index -o joined.dlx
axes_of joined.dlx
"$python3" -c 'import json
x, joined = (json.load(open(name + ".dlx.axes")) for name in ("x", "joined"))
assert joined[0]["values"] == 2 * x[0]["values"] and joined[0]["attributes"] == x[0]["attributes"], joined[0]
assert joined[1] == x[1] and joined[2] == {"name": "lon"}, joined[2]' || fail "the axes of two files"
# A field without the axis of samples is that of each, whatever the order of the variables.
expect 0 "$convert" -q -i year-0.nc:orography,tas -t year-0.nc:tas -o year.dlx
sed 's/name: axes, dir: run/name: year, dir: year/; s/x.dlx/year.dlx/; s/softmax_cross_entropy/mse/; s/filters: 2/filters: 1/' config.yaml >year.yaml
expect 0 "$train" year.yaml
expect 0 "$train" --predict year.dlx -o year-record.npy year.yaml
expect 0 "$train" --predict year-0.nc:tas,orography -o year-file.npy year.yaml
cmp year-record.npy year-file.npy || fail "a static field"
expect 0 "$train" --predict year-0.nc year-1.nc -o years.nc year.yaml
says out '24 predictions'
command -v ncdump >/dev/null && {
	expect 0 ncdump e.nc
	says out 'prediction:flag_values = 0, 1 ;'
	says out 'prediction:flag_meanings = "calm very_windy" ;'
	says out 'time:units = "days since 2000-01-01" ;'
	expect 0 ncdump a.nc
	says out 'channel = "calm", "very windy" ;'
}
pass
