#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples of several sizes in one record: pictures with their targets, arrays with a label each, keys; a network trains on
# windows of them, is validated with the whole ones, and what does not fit is an error that names the file.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
cd "$work" || exit 99

"$python3" - <<'P' || fail 'no sources'
import numpy as np
r = np.random.default_rng(1)
for k, (h, w) in enumerate(((12, 16), (9, 20), (12, 16), (16, 8))):
    np.save("x-%d.npy" % k, r.random((2, h, w), dtype=np.float32))
    np.save("y-%d.npy" % k, r.integers(0, 3, (h, w), dtype=np.uint8))
    np.save("last-%d.npy" % k, np.moveaxis(np.load("x-%d.npy" % k), 0, 2).copy())
    np.save("static-%d.npy" % k, np.array([k % 2], np.uint8))
np.save("bad-0.npy", np.load("y-0.npy"))
for k in (1, 2, 3):
    np.save("bad-%d.npy" % k, np.zeros((9, 19), np.uint8))
    np.save("three-%d.npy" % k, np.zeros((3, 9, 20), np.float32))
    np.save("flat-%d.npy" % k, np.zeros((9, 20), np.float32))
    np.save("wide-%d.npy" % k, np.zeros((2, 9, 20), np.float64))
for name in "three", "flat", "wide":
    np.save(name + "-0.npy", np.load("x-0.npy"))
P
expect 0 "$convert" -i 'x-*.npy' -t 'y-*.npy' --input-layout first -o all.dlx
says out 'input   f32 2x12x16 and 2 other sizes'
expect 0 "$inspect" --verify all.dlx
says out '2 samples, input 2x12x16, target 12x16'
says out '1 sample, input 2x9x20, target 9x20'
says out 'x-3.npy'
expect 0 "$convert" -q -i 'last-*.npy' -t 'y-*.npy' --input-layout last -v -o last.dlx
expect 0 "$convert" -q -i 'x-*.npy' -t 'static-*.npy' --labels --target-layout none --input-layout first -o labels.dlx
PYTHONPATH=$DLX_SOURCE/test/cli "$python3" - <<'P' || fail 'other values'
import dlxrecord, numpy as np
text, x, y = dlxrecord.read("all.dlx")
assert text["keys"] == ["x-%d.npy" % k for k in range(4)], text["keys"]
assert [s["samples"] for s in text["sizes"]] == [2, 1, 1]
_, last, _ = dlxrecord.read("last.dlx")
_, _, labels = dlxrecord.read("labels.dlx")
assert labels.tolist() == [0, 1, 0, 1] and labels.shape == (4,), labels
for k in range(4):
    want = np.load("x-%d.npy" % k)
    assert (x[k] == want).all() and (y[k] == np.load("y-%d.npy" % k)).all()
    assert (last[k][:2] == want).all() and (last[k][2] == 1).all()
P

# refused before anything is left: a target of another size, other channels, other axes, another type
refused() {
	expect 65 "$convert" -q --input-layout first -o no.dlx "$@"
	[ ! -e no.dlx ] || fail "a record was left: $*"
}
refused -i 'x-*.npy' -t 'bad-*.npy'
says err "the target 'bad-1.npy' is 9x19, but the input is 2x9x20"
refused -i 'three-*.npy' -t 'y-[0-3].npy'
says err "'three-1.npy' is 3x9x20"
refused -i 'flat-*.npy' -t 'y-[0-3].npy'
says err "'flat-1.npy': a sample of 'flat-0' is 9x20, but 2x12x16"
refused -i 'wide-*.npy' -t 'y-[0-3].npy'
says err "'wide-1.npy': 'wide-0' is f64, but f32"
refused -i 'x-*.npy' -i 'y-*.npy' -t 'bad-*.npy' --input-layout stack

# trained on, validated, drawn
cat >sizes.yaml <<'END'
run: {name: sizes, seed: 1}
model: {family: layers, layers: [{conv2d: {filters: 3, kernel: 3, padding: same}}]}
data: {train: all.dlx, validation: all.dlx, transforms: [{crop: {size: 8}}]}
loss: softmax_cross_entropy
train: {epochs: 1, batch_size: 2, validate: {epochs: 1}}
report: {progress: none}
END
expect 0 "$train" sizes.yaml
expect 0 "$train" --evaluate sizes.yaml
expect 0 "$inspect" --png maps all.dlx
[ -s maps/sample-00003.png ] || fail 'no picture of the last sample'
pass
