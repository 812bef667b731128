#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Predictions of several classes at once, as logits, probabilities and flags, in arrays, tables and tiles; of values by name.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
"$python3" - <<'END' || fail "no arrays"
import random
import struct

random.seed(3)


def write(name, shape):
    n = 1
    for d in shape:
        n *= d
    head = repr({"descr": "<f4", "fortran_order": False, "shape": shape}).ljust(117) + "\n"
    draw = (lambda: random.gauss(0, 1)) if name[0] == "x" else (lambda: float(random.random() < 0.4))
    with open(name + ".npy", "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{n}f", *[draw() for _ in range(n)]))


write("x", (6, 2, 48, 40))
write("flags", (6, 3))
for part in "ice", "snow", "fog":
    write(part, (6, 48, 40))
END
expect 0 "$convert" -i x.npy -t flags.npy --input-layout first -o whole.dlx
expect 0 "$convert" -i x.npy -t ice.npy -t snow.npy -t fog.npy --input-layout first -o points.dlx
cat >points.yaml <<'END'
run: {name: points, dir: run-points}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same, activation: relu}
    - conv2d: {filters: 3, kernel: 3, padding: same}
data: {train: points.dlx}
loss: binary_cross_entropy
train: {steps: 5, batch_size: 3}
checkpoint: {every: null}
report: {progress: none}
END
sed 's/points/whole/g; s/  *- conv2d: {filters: 3, .*/    - global_average\n    - dense: {units: 3}/' points.yaml >whole.yaml
for form in points whole; do
	expect 0 "$train" $form.yaml
	for as in logits probabilities classes; do
		expect 0 "$train" --predict $form.dlx --as $as -o $form-$as.npy $form.yaml
	done
done
for as in probabilities classes; do
	expect 0 "$train" --predict points.dlx --as $as --tile 32 -o tiles.npy points.yaml
	cmp tiles.npy points-$as.npy || fail "--as $as in tiles"
done
for as in logits probabilities classes; do
	expect 0 "$train" --predict whole.dlx --as $as -o $as.csv whole.yaml
done
expect 0 "$train" --predict whole.dlx -o table.csv whole.yaml
cmp table.csv probabilities.csv || fail "probabilities are not the default of tables"
PYTHONPATH=$DLX_SOURCE/test/train "$python3" - <<'END' || fail "see above"
import csv
import math

from npy_read import read

for form, shape in ("points", (6, 3, 48, 40)), ("whole", (6, 3)):
    (s, v), (t, p), (u, k) = (read(f"{form}-{a}.npy") for a in ("logits", "probabilities", "classes"))
    assert s == t == u == shape, (s, t, u)
    assert form == "whole" or (min(v) < 0 < max(v) and set(k) == {0, 1})
    assert all(abs(1 / (1 + math.exp(-x)) - y) < 1e-6 for x, y in zip(v, p))
    assert all((x > 0) == z for x, z in zip(v, k))
for name, values in ("logits", v), ("probabilities", p), ("classes", k):
    rows = list(csv.reader(open(name + ".csv")))
    assert rows[0] == ["sample"] + [f"flags[{c}]" for c in range(3)], rows[0]
    for i in range(6):
        assert rows[1 + i][0] == str(i)
        for c in range(3):
            assert rows[1 + i][1 + c] == f"{values[3 * i + c]:.9g}", (name, rows[1 + i])
END
# values: columns are called as the targets are
options='--set loss=mse --set run.dir=run-values'
# shellcheck disable=SC2086
{
	expect 0 "$train" $options whole.yaml
	expect 0 "$train" $options --predict whole.dlx -o values.csv whole.yaml
	expect 0 "$train" $options --predict whole.dlx -o values.nc whole.yaml
}
[ "$(head -n 1 values.csv)" = 'sample,flags[0],flags[1],flags[2]' ] || fail "columns of a table of values"
command -v ncdump >/dev/null && {
	expect 0 ncdump -v channel values.nc
	says out 'channel = "flags[0]", "flags[1]", "flags[2]"'
	expect 0 "$train" --predict points.dlx --as classes -o flags.nc points.yaml
	expect 0 ncdump -v channel flags.nc
	says out 'int prediction(sample, channel, height, width)'
	says out 'channel = "ice", "snow", "fog"'
	expect 0 "$train" --predict points.dlx --as probabilities --tile 32 -o shares.h5 points.yaml
	expect 0 ncdump -h shares.h5
	says out 'float prediction(sample, channel, height, width)'
}
expect 64 "$train" --predict points.dlx --as classes -o pictures points.yaml
says err "'--as' is for files of numbers"
pass
