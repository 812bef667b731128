#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Several numbers of ranks with the same global batch: the same losses, parameters and optimizer's states (which are of the
# gradients) to the rounding of float32, for each optimizer, precision, lag and grouping. What travels or is computed in 16 bits is
# rounded once more on the way, and may differ by that. A network of two convolutions, one batch of all eight samples. In its long form
# each on 2, 3, 4 and 8 ranks.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
export OMP_NUM_THREADS=1
cat >net.yaml <<'END'
run: {name: net, seed: 5}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 4, kernel: 3, padding: same}
data:
  train: data/coads-train.dlx
  transforms:
    - crop: {size: [24, 32]}
    - normalize: {method: standard, mask: validity}
loss: {type: softmax_cross_entropy}
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 4, global_batch_size: 24}
checkpoint: {every: null}
report: {every: 1, tensorboard: false}
END

cat >close.py <<'END'
import json
import struct
import sys


def tensors(run):
    out = {}
    with open(run + "/weights.safetensors", "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    for name, t in json.loads(data[8 : 8 + size]).items():
        if name != "__metadata__" and t["dtype"] == "F32":
            begin, end = t["data_offsets"]
            out[name] = struct.unpack("<%df" % ((end - begin) // 4), data[8 + size + begin : 8 + size + end])
    return out


def losses(run):
    lines = map(json.loads, open(run + "/metrics.jsonl"))
    return [line["loss"] for line in lines if line["type"] == "step"]


name, tolerance = sys.argv[1], float(sys.argv[2])
first, rest = sys.argv[3], sys.argv[4:]
want, worst = tensors(first), 0
assert len(want) >= 4 and len(losses(first)) == 4, (first, len(want))
for run in rest:
    have = tensors(run)
    assert have.keys() == want.keys(), have.keys() ^ want.keys()
    for key, values in want.items():
        largest = max(max(map(abs, values)), 1e-6)
        error = max(abs(a - b) for a, b in zip(values, have[key])) / largest
        worst = max(worst, error)
        if not error <= tolerance:
            sys.exit("%s: %s of %s differs from %s by %.3g of its largest value" % (name, key, run, first, error))
    for a, b in zip(losses(first), losses(run)):
        if not abs(a - b) <= tolerance * abs(a):
            sys.exit("%s: losses of %s and %s: %r, %r" % (name, first, run, a, b))
print("%s: %.2g" % (name, worst))
END

# equal NAME TOLERANCE SETTING...: on the ranks of $counts, against one.
equal() {
	what=$1
	tolerance=$2
	shift 2
	set -- --quiet "$@" net.yaml
	expect 0 "$train" --set run.dir=runs/"$what"-1 "$@"
	for n in $counts; do
		expect 0 on_ranks "$n" "$train" --set run.dir=runs/"$what"-"$n" "$@"
	done
	for n in 1 $counts; do
		expect 0 "$train" --set run.dir=runs/"$what"-"$n" --export runs/"$what"-"$n"/weights.safetensors "$@"
	done
	# shellcheck disable=SC2046
	"$python3" close.py "$what" "$tolerance" runs/"$what"-1 $(for n in $counts; do echo runs/"$what"-"$n"; done) ||
		fail "$what: ranks differ"
}
counts="2 3 4 8"
equal sgd 2e-5 --set parallel.grouping=none --set 'optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 1.0e-3}' \
	--set train.clip_norm=0.5
counts=$(form 3 "2 3 4 8")
equal adamw 2e-5 --set parallel.gradient_lag=1 \
	--set 'optimizer={type: adam, learning_rate: 0.003, eps: 1.0e-3, weight_decay: 0.01, decoupled: true, average: 0.9}'
counts=$(form 2 "2 3 4 8")
equal lamb 2e-5 --set parallel.grouping=count:2 --set 'optimizer={type: lamb, learning_rate: 0.003, eps: 1.0e-3, weight_decay: 0.01}'
counts=$(form 4 "2 3 4 8")
equal rmsprop 2e-5 --set parallel.grouping=size:1KiB --set 'optimizer={type: rmsprop, learning_rate: 0.003, eps: 1.0e-3, trust: larc}'
equal lars 2e-5 --set 'optimizer={type: sgd, learning_rate: 1, momentum: 0.9, trust: {type: lars, eta: 0.01}}'
counts=$(form 3 "3 8")
equal wire-bf16 2e-2 --set precision.wire=bf16 --set 'optimizer={type: adam, learning_rate: 0.003, eps: 1.0e-3}'
equal wire-fp16 5e-3 --set precision.wire=fp16 --set precision.loss_scale=dynamic --set parallel.gradient_lag=1 \
	--set 'optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9}'
equal compute-bf16 5e-3 $(compute_bf16 net.yaml) \
	--set 'optimizer={type: sgd, learning_rate: 0.1, momentum: 0.9}'
pass
