#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Labels that are no class are named with sample and place, at conversion and in training, whatever integer they are;
# a batch whose labels are all ignored weighs nothing, and data of which none counts is an error.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
"$python" - <<'P' || fail "no arrays"
import numpy as np
rng = np.random.default_rng(1)
np.save("x.npy", rng.standard_normal((8, 3, 8, 8)).astype("f4"))
y = rng.integers(0, 3, (8, 8, 8)).astype("i8")
np.save("good.npy", y)
np.save("none.npy", np.full_like(y, 255))
np.save("one.npy", np.ones_like(y))
half = y.copy()
half[:4] = 255
np.save("half.npy", half)
for v in -1, 2**31, 2**32, 2**62:
    w = y.copy()
    w[5, 2, 3] = v
    np.save("bad%d.npy" % v, w)
    np.save("float%d.npy" % v, w.astype("f8"))
P
cat >config.yaml <<'Y'
run: {name: labels}
model: {family: layers, classes: 3, layers: [{conv2d: {filters: 3, kernel: 1}}]}
data: {train: good.dlx, shuffle: false}
loss: {type: softmax_cross_entropy}
metrics: [accuracy]
train: {epochs: 2, batch_size: 2}
checkpoint: {every: null}
report: {progress: lines, every: 1, tensorboard: false}
Y
record() { expect 0 "$convert" -i x.npy -t "$1.npy" --ignore "${2:-255}" -o "$1.dlx"; }
train_on() { rm -rf runs; expect "$1" "$train" --set "data.train=$2.dlx" config.yaml; }

for v in -1 2147483648 4294967296 4611686018427387904; do
	for kind in bad float; do
		expect 65 "$convert" -i x.npy -t "$kind$v.npy" --labels --ignore 255 -o x.dlx
		says err "sample 5 of the target has the label $v at (2, 3)"
	done
done
# As the record's ignored value it may be there, but another one that the loss has makes it a label again.
record bad-1 -1
train_on 0 bad-1
rm -rf runs
expect 65 "$train" --set data.train=bad-1.dlx --set loss.ignore=7 config.yaml
says err "'bad-1.dlx' has the label -1, but the network's classes are 0..2"
expect 64 "$convert" -i x.npy -t bad2147483648.npy --ignore 2147483648 -o x.dlx

record good
record half
record none
record one
train_on 0 half
[ "$(grep -c '"type": "step"' runs/labels/metrics.jsonl)" -eq 8 ] || fail "not eight steps"
grep -q 'null' runs/labels/metrics.jsonl && grep '"step"' runs/labels/metrics.jsonl | grep -q 'null' && fail "a loss is not finite"
expect 65 "$train" --check --set data.train=none.dlx config.yaml
says err 'nothing counts'
train_on 65 none
says err 'nothing counts'
[ ! -e runs ] || fail "a run of data that teach nothing has begun"
expect 65 "$train" --set data.validation=none.dlx config.yaml
says err 'nothing counts'

# What only the weights of classes say is found after an epoch, or at the end of a shorter run.
weighted() {
	rm -rf runs
	status=$1
	shift
	expect "$status" "$train" --set data.train=one.dlx --set 'loss.class_weights=[1, 0, 1]' "$@" config.yaml
}
weighted 0
says err 'the loss was 0 in all of 4 steps'
weighted 65 --set train.accumulate=2
says err 'nothing has counted in 2 steps'
weighted 65 --set train.accumulate=2 --set train.epochs=0 --set train.steps=1
says err 'nothing has counted in 1 steps'
rm -rf runs
expect 65 "$train" --set data.validation=one.dlx --set 'loss.class_weights=[1, 0, 1]' config.yaml
says err 'nothing counts in the data to evaluate on'
pass
