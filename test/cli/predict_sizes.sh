#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions from records whose samples have several sizes: each is as if it were alone, in the order of the samples, as pictures,
# tables and arrays of vectors, on two ranks too; one array of fields of several sizes is an error that says what to do.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
find_numpy
"$python3" - <<'END' || fail "no data"
import numpy as np

r = np.random.default_rng(4)
for k, (h, w) in enumerate(((12, 16), (9, 20), (12, 16), (16, 8), (9, 20), (12, 16), (11, 13))):
    x = r.normal(size=(2, h, w)).astype(np.float32)
    np.save(f"x{k}.npy", x)
    np.save(f"y{k}.npy", (x[0] > 0).astype(np.uint8))
    np.save(f"label{k}.npy", np.array([k % 2], np.uint8))
    # a file of one sample
    np.save(f"x-one{k}.npy", x[None])
    np.save(f"y-one{k}.npy", (x[:1] > 0).astype(np.uint8))
    np.save(f"label-one{k}.npy", np.array([k % 2], np.uint8))
END
# record NAME PATTERN OPTION...: NAME.dlx with a map as the target, NAME-label.dlx with a label.
record() {
	name=$1
	pattern=$2
	expect 0 "$convert" -q --input-layout first -i "x$pattern.npy" -t "y$pattern.npy" --class-names low,high -o "$name.dlx"
	expect 0 "$convert" -q --input-layout first -i "x$pattern.npy" -t "label$pattern.npy" --labels --target-layout none \
		--class-names low,high -o "$name-label.dlx"
}
record first '[0-3]'
record second '[4-6]'
for k in 0 1 2 3 4 5 6; do
	record "one$k" -one$k
done
cat >maps.yaml <<'END'
run: {name: maps, dir: maps}
model: {family: layers, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: 2, kernel: 1}}]}
data: {train: first.dlx, transforms: [{normalize: standard}]}
loss: softmax_cross_entropy
train: {steps: 3, batch_size: 2}
checkpoint: {every: null}
report: {progress: none}
END
sed 's/maps/labels/; s/first/first-label/; s/maps/labels/; s/{conv2d: {filters: 2, kernel: 1}}/global_average, {dense: {units: 2}}/' \
	maps.yaml >labels.yaml
expect 0 "$train" maps.yaml
expect 0 "$train" labels.yaml

begin "pictures"
expect 0 "$train" --predict first.dlx second.dlx -o pictures maps.yaml
says out '7 predictions in pictures'
[ "$(find pictures -name '*.png' | wc -l)" -eq 7 ] || fail "$(ls pictures)"
for k in 0 1 2 3 4 5 6; do
	expect 0 "$train" --predict one$k.dlx -o one maps.yaml
	cmp one/000000.png pictures/00000$k.png || fail "picture $k of several sizes"
done

begin "the order is that of the arguments, with records of one size between"
expect 0 "$train" --predict one6.dlx first.dlx one4.dlx one5.dlx -o other maps.yaml
says out '7 predictions in other'
for pair in 0:6 1:0 2:1 3:2 4:3 5:4 6:5; do
	cmp other/00000${pair%:*}.png pictures/00000${pair#*:}.png || fail "picture ${pair%:*} of another order"
done

begin "one array of fields has one size, in tiles too"
refused() {
	expect 65 "$train" "$@" maps.yaml
	says err 'the samples to predict from have several sizes'
	says err "'-o FOLDER'"
	[ -z "$(ls | grep '^no\.')" ] || fail "an output is left: $(ls no.*)"
}
for form in npy npz nc h5 csv; do
	refused --predict first.dlx -o no.$form
done
refused --predict one0.dlx first.dlx -o no.npy
refused --predict first.dlx --tile 8 -o no.npy

begin "records that differ in more than the size are refused"
expect 65 "$train" --predict first.dlx one1-label.dlx -o no maps.yaml
says err 'where files differ in more than the size of samples, predict each by itself'
centre='data.transforms=[{crop: {size: 8, validation: centre}}, {normalize: standard}]'
expect 0 "$train" --set "$centre" --set run.dir=centre maps.yaml
expect 0 "$train" --set "$centre" --set run.dir=centre --predict first.dlx second.dlx -o centre.npy maps.yaml
says centre.npy "'shape': (7, 2, 8, 8,)"
expect 0 "$train" --set "$centre" --set run.dir=centre --predict second.dlx -o centres maps.yaml
[ "$(find centres -name '*.png' | wc -l)" -eq 3 ] || fail "$(ls centres)"
expect 0 "$train" --predict one0.dlx one2.dlx one5.dlx -o whole.npy maps.yaml
expect 0 "$train" --predict one0.dlx one2.dlx one5.dlx --tile 8 -o tiles.npy maps.yaml
cmp whole.npy tiles.npy || fail "tiles are not the whole"

begin "vectors: a line or a row for each sample, whatever its size"
expect 73 "$train" --predict first-label.dlx -o nowhere/x.npy labels.yaml
for form in csv npy npz nc; do
	expect 0 "$train" --predict first-label.dlx second-label.dlx -o all.$form labels.yaml
	says out "7 predictions in all.$form"
done
expect 0 "$train" --predict first-label.dlx second-label.dlx --as classes -o classes.npy labels.yaml
for k in 0 1 2 3 4 5 6; do
	expect 0 "$train" --predict one$k-label.dlx -o one$k-got.csv labels.yaml
	expect 0 "$train" --predict one$k-label.dlx -o one$k-got.npy labels.yaml
done
"$python3" - <<'END' || fail "other vectors"
import csv
import numpy as np

a = np.load("all.npy")
rows = list(csv.reader(open("all.csv")))
assert a.shape == (7, 2) and len(rows) == 8, (a.shape, rows)
assert len(set(a[:, 0])) == 7, a
assert (np.load("all.npz")["prediction"] == a).all()
assert (np.load("classes.npy") == a.argmax(1)).all()
for k in range(7):
    np.testing.assert_allclose(a[k], np.load(f"one{k}-got.npy")[0], rtol=1e-5, atol=1e-6)
    one = list(csv.reader(open(f"one{k}-got.csv")))
    assert one[0] == rows[0] and rows[1 + k][:2] == [str(k), one[1][1]], (one, rows[1 + k])
    np.testing.assert_allclose([float(v) for v in rows[1 + k][2:]], [float(v) for v in one[1][2:]], rtol=1e-5, atol=1e-6)
END
for form in nc npy; do
	[ $form = nc ] && name=all.nc:prediction || name=all.npy
	expect 0 "$convert" -q -i $name --input-layout first -o $form.dlx
	"$inspect" --json $form.dlx | tr ',' '\n' | grep -E '"(mean|std|min|max)"' >$form.txt
done
[ -s nc.txt ] && cmp nc.txt npy.txt || fail "other vectors in netCDF"
expect 0 "$train" --evaluate --set data.validation=second.dlx maps.yaml
expect 0 "$train" --export weights.safetensors maps.yaml

if has_ranks; then
	expect 0 on_ranks 2 "$train" --predict first.dlx second.dlx -o two maps.yaml
	diff -r pictures two || fail "two ranks draw other pictures"
	expect 0 on_ranks 2 "$train" --predict first-label.dlx second-label.dlx -o two.npy labels.yaml
	"$python3" -c 'import numpy as np
np.testing.assert_allclose(np.load("two.npy"), np.load("all.npy"), rtol=1e-5, atol=1e-6)' || fail "two ranks give other vectors"
	expect 65 on_ranks 2 "$train" --predict first.dlx -o no.npy maps.yaml
	says err 'have several sizes'
fi
pass
