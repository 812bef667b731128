#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions from files that are no records: arrays, pictures, NetCDF and HDF5, with whatever axes they have; what is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy
export PYTHONDONTWRITEBYTECODE=1 PYTHONPATH="$DLX_SOURCE/test/cli"
mkdir temporary
export TMPDIR="$PWD/temporary"
built_with TIFF libtiff-dev

"$python3" - <<'END' || fail "no data"
import numpy as np
from pictures import png, tiff
from tfrecord import example, frame
from zarr_files import array

rng = np.random.default_rng(1)
x = rng.integers(0, 256, (6, 12, 16, 3)).astype(np.uint8)
np.save("last.npy", x)
np.save("first.npy", np.moveaxis(x, -1, 1))
np.save("y.npy", (x.sum(-1) // 300).astype(np.uint8))
np.save("one.npy", x[0])
np.save("odd.npy", x[..., :2])
array("store.zarr", x, (4, 5, 16, 3), 3, "zstd")
open("records.tfrecord", "wb").write(b"".join(frame(example({"x": v.tobytes()})) for v in x))
np.save("square.npy", x[:, :3, :5])
np.savez("named.npz", blue=x[..., 2], red=x[..., 0], other=x[..., 0], green=x[..., 1])
np.savez("part.npz", red=x[..., 0], green=x[..., 1])
np.savez("two.npz", a=x, b=x)
grey = rng.integers(0, 256, (4, 12, 16)).astype(np.uint8)
np.save("grey.npy", grey)
np.save("grey-y.npy", (grey // 128).astype(np.uint8))
np.save("grey-one.npy", grey[2])
np.save("nan.npy", np.where(grey > 200, np.nan, grey.astype(np.float32)))
np.save("empty.npy", grey[:0])
for i in range(6):
    png(f"p{i}.png", 16, 12, x[i].ravel().tolist(), 3)
    tiff(f"p{i}.tif", 16, 12, [x[i].ravel().tolist()], 3)
for i in range(4):
    png(f"grey{i}.png", 16, 12, grey[i].ravel().tolist())
tiff("pages.tif", 16, 12, [g.ravel().tolist() for g in grey])
tiff("place.tif", 16, 12, [grey[0].ravel().tolist()], says=[{
    33550: [10.0, 10.0, 0.0], 33922: [0.0, 0.0, 0.0, 500.0, 1000.0, 0.0],
    34735: [1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633, 3076, 0, 1, 9001]}])
np.save("features.npy", grey[0])
np.save("signals.npy", grey)
png("small.png", 12, 10, x[0, :10, :12].ravel().tolist(), 3)
png("deep.png", 16, 12, (grey[0].astype(int) * 257).ravel().tolist(), 1, 16)
END
expect 0 "$convert" -q -i last.npy -t y.npy --channel-names red,green,blue --class-names low,mid,high -o colour.dlx
expect 0 "$convert" -q -i grey.npy -t grey-y.npy --class-names low,high -o grey.dlx
for name in colour grey; do
	[ $name = colour ] && classes=3 || classes=2
	cat >$name.yaml <<END
run: {name: $name, dir: $name}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: $classes, kernel: 1}}]}
data: {train: $name.dlx, transforms: [cast, {normalize: standard}]}
loss: softmax_cross_entropy
train: {steps: 3, batch_size: 3}
checkpoint: {every: null}
report: {progress: none}
END
	expect 0 "$train" $name.yaml
	expect 0 "$train" --predict $name.dlx -o ref-$name.npy $name.yaml
done

# equal NETWORK FILE...: predictions of the files are those of the record with the same samples.
equal() {
	network=$1
	shift
	expect 0 "$train" --predict "$@" -o got.npy $network.yaml
	cmp "ref-$network.npy" got.npy || fail "other predictions of $*"
	[ -z "$(ls "$TMPDIR")" ] || fail "left something of $*: $(ls "$TMPDIR")"
}
equal colour last.npy
says err "'last.npy': the first axis counts samples, 3 channels (the last axis) of 12x16"
equal colour first.npy
equal colour store.zarr
equal colour 'records.tfrecord:x[u8,12,16,3]'
equal colour named.npz
says err 'channels: red, green, blue'
expect 66 "$train" --predict part.npz -o got.npy colour.yaml
says err "'dlx-convert -i FILE -i FILE -o RECORD' joins those of several files"
equal colour two.npz:a
expect 0 "$train" --predict named.npz:other,blue,green -o got.npy colour.yaml
says err 'channels: other as red, blue as green, green as blue'
equal colour p?.png
equal colour 'p?.png'
[ "$(grep -c '3 channels' err)" -eq 1 ] || fail "says the same of each file"
equal colour p0.png --predict 'p[1-3].png' p4.png p5.png
equal colour 'p{[01],2}.png' 'p{3,4,5}.png'
equal grey grey.npy
equal grey grey?.png
equal colour 'p?.tif'
equal grey pages.tif
says err 'the first axis counts samples'
expect 0 "$train" --predict colour.yaml last.npy -o got.npy
cmp ref-colour.npy got.npy || fail "the config as --predict's value"
expect 0 "$train" --predict one.npy -o one-got.npy colour.yaml
expect 0 "$train" --predict p0.png -o p-got.npy colour.yaml
cmp one-got.npy p-got.npy || fail "an array of one sample is not its picture"
expect 0 "$train" --predict grey-one.npy -o one-got.npy grey.yaml
says out '1 predictions'
expect 0 "$train" --predict p0.png p1.png -o pictures colour.yaml
[ "$(ls pictures | tr '\n' ' ')" = "classes.csv legend.svg p0.png p1.png " ] || fail "other pictures: $(ls pictures)"

begin "numbers in place of names"
# Two files of one name, several samples in a file, a picture that would replace an input.
mkdir again
cp p1.png again/p0.png
expect 0 "$train" --predict p0.png again/p0.png -o doubles colour.yaml
[ "$(ls doubles | tr '\n' ' ')" = "000000.png 000001.png classes.csv legend.svg " ] || fail "two of one name: $(ls doubles)"
expect 0 "$train" --predict last.npy -o several colour.yaml
[ -e several/000000.png ] || fail "one file of several samples: $(ls several)"
cp p0.png before.png
expect 0 "$train" --predict p0.png p2.png -o . colour.yaml
cmp p0.png before.png || fail "an input was written over"
cmp 000000.png pictures/p0.png || fail "no numbers next to the inputs"

begin "pictures of several sizes"
expect 0 "$train" --predict p0.png small.png p1.png p2.png -o sizes colour.yaml
says out '4 predictions in sizes'
expect 0 "$convert" -i '[ps][0m]*.png' -o sizes.dlx
says out 'and 1 other size'
expect 0 "$train" --predict small.png -o small colour.yaml
expect 0 "$train" --predict p?.png -o all colour.yaml
for one in all/p0 small/small all/p1 all/p2; do
	cmp "sizes/${one#*/}.png" "$one.png" || fail "picture $one of several sizes"
done
[ "$(find sizes -name '*.png' | wc -l)" -eq 4 ] || fail "$(ls sizes)"
expect 65 "$train" --predict p0.png small.png -o x.npy colour.yaml
says err 'have several sizes'
[ -z "$(ls "$TMPDIR")" ] || fail "several sizes left something: $(ls "$TMPDIR")"
has_ranks && {
	expect 0 on_ranks 2 "$train" --predict p?.png -o got.npy colour.yaml
	cmp ref-colour.npy got.npy || fail "two ranks predict something else"
	expect 0 on_ranks 2 "$train" --predict p0.png small.png p1.png p2.png -o two-sizes colour.yaml
	diff -r sizes two-sizes || fail "two ranks predict other pictures"
	[ -z "$(ls "$TMPDIR")" ] || fail "two ranks left something: $(ls "$TMPDIR")"
}

begin "the folder for temporary files may have any name"
mkdir 'any[1]*?'
TMPDIR="$PWD/any[1]*?" expect 0 "$train" --predict p?.png -o any.npy colour.yaml
cmp ref-colour.npy any.npy || fail "another folder, other predictions"
[ -z "$(ls 'any[1]*?')" ] || fail "left something: $(ls 'any[1]*?')"

begin "a signal while a file is read ends both programs and leaves nothing"
"$python3" -c 'import numpy as np
np.save("big.npy", np.random.default_rng(2).integers(0, 256, (20000, 64, 64, 3)).astype(np.uint8))'
for _ in 1 2 3 4 5 6 7 8; do
	"$train" --predict big.npy -o big-got.npy colour.yaml >out 2>err &
	pid=$!
	await sh -c 'ls "$TMPDIR"/dlx-*/samples-*'
	stop $pid
	[ $status -eq 143 ] || fail "not ended by the signal"
	await sh -c '[ -z "$(ls "$TMPDIR")" ]'
done

begin "a signal to all ranks"
# The launcher gives a signal to all ranks, and kills those that are left when the first of them has ended. A rank that waits for
# one that stands still ends all.
has_ranks && {
	# on_two: two ranks in the background, which have begun to read; their numbers in rank.*
	on_two() {
		rm -f rank.*
		capped mpiexec -n 2 sh -c 'echo $$ >rank.$PMI_RANK; exec "$@"' sh "$train" --predict big.npy -o big-got.npy \
			--set parallel.timeout=3 colour.yaml >out 2>err </dev/null &
		pid=$!
		await sh -c 'ls "$TMPDIR"/dlx-*/samples-*'
	}
	for sig in TERM TERM TERM TERM INT INT INT INT; do
		on_two
		kill -s $sig $(cat rank.0 rank.1)      # the second may be gone by then
		ends $pid
		[ -z "$(ls "$TMPDIR")" ] || fail "SIG$sig, and two ranks left $(ls "$TMPDIR")"
	done
	on_two
	send STOP "$(cat rank.1)"
	ends $pid
	says err 'stopped) is missing'
	[ -z "$(ls "$TMPDIR")" ] || fail "a rank that waited for another left $(ls "$TMPDIR")"
}
[ ! -e big-got.npy ] || fail "an output in spite of a signal"
rm big.npy

begin "missing values are filled as dlx-convert fills them, with a message"
expect 0 "$train" --predict nan.npy -o got.npy grey.yaml
says err 'missing input values became 0'
if grep -q validity-mask err; then fail 'an option that dlx-train does not have'; fi

begin "refused"
# refuses STATUS TEXT ARGUMENT...
refuses() {
	wanted=$1
	text=$2
	shift 2
	expect "$wanted" "$train" --predict "$@" -o bad.npy
	says err "$text"
	[ ! -e bad.npy ] || fail "an output in spite of: $text"
	[ -z "$(ls "$TMPDIR")" ] || fail "left something: $(ls "$TMPDIR")"
}
refuses 65 "'odd.npy' is 6x12x16x2, which is none that fits; the network takes samples of 3 channels (red, green, blue) of 12 x 16" odd.npy colour.yaml
refuses 65 "'square.npy' is 6x3x5x3; the network takes samples of 3 channels (red, green, blue) of 12 x 16; it can be read as 6 samples of \
5x3, channels first (--input-layout first), or as 6 samples of 3x5, channels last (--input-layout last)" square.npy colour.yaml
expect 0 "$train" --predict square.npy --input-layout last -o got.npy colour.yaml
says err '3 channels (the last axis) of 3x5'
refuses 64 "has 2 variables; name those wanted, as in two.npz:NAME,NAME; it has: a, b" two.npz colour.yaml
refuses 65 'which is none that fits' grey0.png colour.yaml
refuses 65 'an axis of no extent' empty.npy grey.yaml
refuses 66 "'missing.png'" missing.png grey.yaml
refuses 64 'record files and others cannot be mixed' p0.png colour.dlx colour.yaml
refuses 64 "'--input-layout' is for files that are no records" colour.dlx --input-layout last colour.yaml
echo 'no such thing' >junk
refuses 65 'neither its name nor its first bytes tell the format' junk colour.yaml
head -c 300 p0.png >cut.png
refuses 65 'png: ' cut.png colour.yaml
refuses 65 "'grey1.png' has values of type u8, but 'deep.png' of u16: predict them apart" deep.png grey1.png grey.yaml
expect 0 "$train" --predict deep.png -o got.npy grey.yaml
says err 'has values of type u16, the network was trained on u8'
expect 64 "$train" --evaluate --input-layout last grey.yaml

begin "height and width of a picture are places: neither samples nor channels, whatever the network takes"
for name in features signals; do
	expect 0 "$convert" -q -i $name.npy --input-layout first -o $name.dlx
	expect 0 "$convert" -q --like $name.dlx -i $name.npy -o again.dlx
	expect 65 "$convert" -q --like $name.dlx -i grey0.png -o bad.dlx
	says err "'grey0.png' is 12x16, which is none that fits"
done

begin "the place of a GeoTIFF is written to its prediction"
expect 0 "$train" --predict place.tif -o place.nc grey.yaml
expect 0 "$convert" -q -i place.nc:prediction --input-layout first -o back.dlx
"$python3" - <<'END' || fail "a prediction of a GeoTIFF has another place"
import dlxrecord
d = dlxrecord.read("back.dlx")[0]
y, x = d["axes"][1:]
assert y["name"] == "y" and y["values"] == [995 - 10 * k for k in range(12)], y
assert x["name"] == "x" and x["values"] == [505 + 10 * k for k in range(16)], x
assert all(a["attributes"]["units"] == "m" for a in (x, y)), (x, y)
assert "EPSG:32633" in str(d["grid_mapping"]) and "transverse_mercator" in str(d["grid_mapping"]), d["grid_mapping"]
END

begin "a table has one reading, square or not, whole or one line of it"
"$python3" - <<'END' || fail "no table"
import numpy as np
t = np.random.default_rng(2).random((20, 5), dtype=np.float32)
np.save("table.npy", t)
np.save("class.npy", (t.sum(1) > 2.5).astype(np.uint8))
np.save("rows.npy", t[:5])
np.save("row.npy", t[0])
END
expect 0 "$convert" -q -i table.npy -t class.npy -o table.dlx
sed 's/^model:.*/model: {family: layers, layers: [{dense: 8}, relu, {dense: 2}]}/; s/^run:.*/run: {name: table, dir: table}/; s/^data:.*/data: {train: table.dlx}/' \
	grey.yaml >table.yaml
expect 0 "$train" table.yaml
expect 0 "$train" --predict table.dlx -o want.npy table.yaml
expect 0 "$train" --predict table.npy -o got.npy table.yaml
says err "'table.npy': the first axis counts samples, 5 channels (the second axis)"
cmp want.npy got.npy || fail "other predictions of a table"
for layout in first last; do
	expect 0 "$train" --predict table.npy --input-layout $layout -o got.npy table.yaml
	cmp want.npy got.npy || fail "other predictions of a table with --input-layout $layout"
done
expect 0 "$train" --predict rows.npy -o rows-got.npy table.yaml
expect 0 "$train" --predict row.npy -o row-got.npy table.yaml
"$python3" -c "import numpy as np
want = np.load('want.npy')
assert (np.load('rows-got.npy') == want[:5]).all() and (np.load('row-got.npy') == want[:1]).all()" || fail 'other predictions of rows'
pass
