#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions from data without a target, and the forms they are written in: logits, probabilities, classes, as arrays and as tables.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
"$python3" "$DLX_SOURCE/test/train/trained_on.py" make || fail "no arrays"
expect 0 "$convert" -i x.npy -t y.npy --class-names 'sea,water,land' -o x.dlx
expect 0 "$convert" -i x.npy -o bare.dlx
expect 0 "$inspect" --verify bare.dlx
says out 'target     none'
expect 64 "$convert" -i x.npy --ignore 255 -o bad.dlx
says err '--ignore is for a target, but no --target is given'
cat >config.yaml <<'END'
run: {name: forms, dir: run}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - relu
    - global_average
    - dense: {units: 3}
data: {train: x.dlx, transforms: [cast, {normalize: standard}]}
loss: softmax_cross_entropy
train: {steps: 5, batch_size: 5}
checkpoint: {every: null}
report: {progress: none}
END
expect 0 "$train" config.yaml
for wrong in --set=data.train=bare.dlx --set=data.validation=bare.dlx; do
	expect 65 "$train" --check "$wrong" config.yaml
	says err "'bare.dlx' has no target: it can only be predicted from"
done

begin "the forms of labels"
# as FILE OPTION...: predictions of the set without a target
as() {
	out_name=$1
	shift
	expect 0 "$train" --predict bare.dlx -o "$out_name" "$@" config.yaml
}
expect 0 "$train" --predict x.dlx -o with.npy config.yaml
as plain.npy
cmp with.npy plain.npy || fail "a prediction depends on the target"
as logits.npy --as=logits
cmp plain.npy logits.npy || fail "logits are not the default"
as shares.npy --as probabilities
as classes.npy --as classes
as table.csv
as shares.csv --as probabilities
cmp table.csv shares.csv || fail "probabilities are not the default of tables"
as classes.csv --as classes
as logits.csv --as logits
as plain.npz
as classes.npz --as classes
for form in plain classes; do
	"$python3" -c 'import sys, zipfile
z = zipfile.ZipFile(sys.argv[1] + ".npz")
assert z.testzip() is None and z.namelist() == ["prediction.npy"]
assert z.read("prediction.npy") == open(sys.argv[1] + ".npy", "rb").read()' $form || fail "$form.npz is not $form.npy in an archive"
done
expect 0 "$convert" -i plain.npz -o again.dlx
as again.npz
cmp plain.npz again.npz || fail "the same predictions are other bytes"
PYTHONPATH=$DLX_SOURCE/test/train "$python3" - <<'END' || fail "see above"
import csv
import math
import struct

from npy_read import read

names = ["sea", "water", "land"]
shape, logits = read("plain.npy")
assert shape == (12, 3), shape
shape, shares = read("shares.npy")
assert shape == (12, 3), shape
shape, classes = read("classes.npy")
assert shape == (12,), shape
rows = {name: list(csv.reader(open(f"{name}.csv"))) for name in ("table", "classes", "logits")}
assert rows["table"][0] == ["sample", "class"] + names
assert rows["classes"][0] == ["sample", "class"]
assert rows["logits"][0] == ["sample"] + names
for s in range(12):
    v = logits[3 * s : 3 * s + 3]
    e = [math.exp(x - max(v)) for x in v]
    for c in range(3):
        assert abs(shares[3 * s + c] - e[c] / sum(e)) < 1e-6
        assert struct.pack("f", float(rows["table"][1 + s][2 + c])) == struct.pack("f", shares[3 * s + c])
        assert struct.pack("f", float(rows["logits"][1 + s][1 + c])) == struct.pack("f", v[c])
    assert classes[s] == v.index(max(v))
    assert rows["table"][1 + s][:2] == rows["classes"][1 + s] == [str(s), names[classes[s]]]
END
has_ranks && {
	expect 0 on_ranks 2 "$train" --predict bare.dlx -o ranks.csv config.yaml
	cmp table.csv ranks.csv || fail "two ranks write another table"
}
as classes.nc --as classes
command -v ncdump >/dev/null && {
	expect 0 ncdump -h classes.nc
	says out 'int prediction(sample)'
	says out 'prediction:classes = "sea, water, land"'
}

expect 64 "$train" --predict bare.dlx -o x.npy --as=class config.yaml
says err "'--as': expected logits, probabilities or classes"
expect 64 "$train" --evaluate --as=classes config.yaml
says err "'--as' goes with '--predict'"

begin "fields have no classes, and maps are no lines of a table"
expect 0 "$convert" -i scaled.npy -t scaled.npy -o field.dlx
sed 's/run}/fields}/; s/x.dlx/field.dlx/; s/softmax_cross_entropy/mse/; /relu/d; /global/d; /dense/d; s/filters: 4/filters: 2/' config.yaml >fields.yaml
expect 0 "$train" fields.yaml
expect 64 "$train" --predict field.dlx -o x.npy --as=classes fields.yaml
says err "'--as=classes' is for networks of classes; with the loss 'mse' the output is a field"
expect 64 "$train" --predict field.dlx -o x.csv fields.yaml
says err "an output of shape 2x6x6 for each sample is no line of a table"

begin "outputs that are not finite are reported, whole or in tiles"
PYTHONPATH=$DLX_SOURCE/test/train "$python3" - <<'END' || fail "no sources"
from npy_read import read

shape, values = read("scaled.npy")
data = bytearray(open("scaled.npy", "rb").read())
each = 4 * len(values) // shape[0]
for sample in 2, 7:
    at = len(data) - (shape[0] - sample) * each
    data[at:at + 4] = b"\0\0\xc0\x7f"
open("nan.npy", "wb").write(data)
END
expect 0 "$convert" -q --fill nan --like field.dlx -i nan.npy -o nan.dlx
for tile in 6 5; do
	expect 0 "$train" --quiet --predict nan.dlx -o x.npy --tile $tile fields.yaml
	says err "warning: 'x.npy': 2 samples, the first of which is 2, with outputs of the network that are not finite"
done
expect 0 "$train" --quiet --predict nan.dlx -o x.npy fields.yaml
says err "warning: 'x.npy': 2 samples, the first of which is 2, with outputs of the network that are not finite"
expect 0 "$train" --quiet --predict field.dlx -o x.npy fields.yaml
[ ! -s err ] || fail "a warning about outputs that are finite"
pass
