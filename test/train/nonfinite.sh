#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A loss that is not finite: the run makes the steps since the last checkpoint again and names the op, its line, the values, the
# sample and the rank, on the screen and in metrics.jsonl, whatever step is to blame and whether or not there is a checkpoint.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

# Sample 7 has a value whose square is no float; the targets of `field` have one that is none.
"$python3" - <<'P' || fail 'no sources'
import numpy as np
r = np.random.default_rng(1)
for k in range(12):
    x = r.standard_normal((2, 6, 7)).astype(np.float32)
    y = r.standard_normal((1, 6, 7)).astype(np.float32)
    np.save("good-%02d.npy" % k, x)
    np.save("huge-%02d.npy" % k, x * np.float32(1e34))
    np.save("vast-%02d.npy" % k, np.sign(x) * np.float32(3e38))
    np.save("zero-%02d.npy" % k, 0 * y)
    if k == 7:
        x[1, 2, 3] = 3e38
        y[0, 4, 5] = np.nan
    np.save("x-%02d.npy" % k, x)
    if k == 7:
        x[1, 2, 3] = np.nan
    np.save("gaps-%02d.npy" % k, x)
    np.save("field-%02d.npy" % k, y)
    np.save("y-%02d.npy" % k, r.integers(0, 3, (6, 7), dtype=np.uint8))
P
expect 0 "$convert" -q -i 'x-*.npy' -t 'y-*.npy' --input-layout first -o bad.dlx
expect 0 "$convert" -q -i 'good-*.npy' -t 'y-*.npy' --input-layout first -o good.dlx
expect 0 "$convert" -q -i 'vast-*.npy' -t 'y-*.npy' --input-layout first -o vast.dlx
expect 0 "$convert" -q -i 'good-*.npy' -t 'field-*.npy' --fill nan --input-layout first --target-layout first -o field.dlx
expect 0 "$convert" -q -i 'gaps-*.npy' -t 'y-*.npy' --fill nan --input-layout first -o gaps.dlx
expect 0 "$convert" -q -i 'good-*.npy' -t 'field-*.npy' --fill inf --input-layout first --target-layout first -o infinite.dlx
expect 0 "$convert" -q -i 'huge-*.npy' -t 'zero-*.npy' --input-layout first --target-layout first -o huge.dlx
cat >net.yaml <<'E'
run: {name: net, dir: runs/net, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same, name: first}
    - batch_norm: {name: middle}
    - relu: {}
    - conv2d: {filters: 3, kernel: 1, name: last}
data: {train: bad.dlx}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
train: {steps: 9, batch_size: 2}
checkpoint: {every: {steps: 2}}
report: {progress: lines, every: 1}
E

# line RUN: its last line of that type
line() {
	grep '"type": "nonfinite"' "$1/metrics.jsonl" | tail -1
}
# has RUN TEXT...
has() {
	has_run=$1
	shift
	for text; do
		line "$has_run" | grep -qF -e "$text" || { line "$has_run"; fail "$has_run: the line has not: $text"; }
	done
}
whole() {
	"$python3" -c 'import json, sys; [json.loads(l) for l in open(sys.argv[1])]' "$1/metrics.jsonl" || fail "$1: no JSON"
}

begin "from a checkpoint and from the beginning: the same finding"
expect 76 "$train" net.yaml
says err "made by 'batch_norm' of layer 'middle' (net.yaml:6:7) in the forward part"
says err "7 'x-07.npy'"
says err 'the largest magnitude of what it read is'
says err ', of sample 7'
says err "a smaller learning rate, a warm-up or 'train.clip_norm' may help, or the data has such values"
has runs/net '"step": 3, "seen": 3, "from": "000000000002-' '"found": true' '"place": "net.yaml:6:7"' '"largest_sample": 7' \
	'{"index": 7, "window": 0, "key": "x-07.npy"}' '"value": "nan"'
whole runs/net
[ "$(steps_of runs/net)" = 2 ] || fail "a state that is not finite was saved"
expect 76 "$train" --set run.dir=runs/begin --set checkpoint.every=null net.yaml
has runs/begin '"step": 3, "seen": 3, "from": null'
[ "$(line runs/begin | sed 's/.*"found"//')" = "$(line runs/net | sed 's/.*"found"//')" ] || fail "another finding from the beginning"

begin "resumed from the checkpoint, it is found again; the run that had it once has one line of it"
expect 76 "$train" --resume net.yaml
[ "$(grep -c '"type": "nonfinite"' runs/net/metrics.jsonl)" = 1 ] || fail "the line of a step that was made again is left"

begin "in micro-batches, one of which has the sample"
expect 76 "$train" --set run.dir=runs/micro --set train.batch_size=1 --set train.accumulate=3 net.yaml
has runs/micro '"index": 7, "window": 0, "key": "x-07.npy"' '"micro_batch": '
line runs/micro | grep -q '"samples": \[{"index": 7[^{]*$' || { line runs/micro; fail "other samples than the one"; }

begin "an update that is not finite"
# Inputs of 1e34 and a rate of 1e6: the loss of the first step is finite, and so is its gradient, but not what the update makes of
# it. It is seen a step later, and the checkpoint in between is passed over.
cat >huge.yaml <<'E'
run: {name: huge, dir: runs/huge, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 1, kernel: 1, name: only}
data: {train: huge.dlx}
loss: l1
metrics: []
optimizer: {type: sgd, learning_rate: 1.0e+6}
train: {steps: 9, batch_size: 2}
checkpoint: {every: {steps: 1}}
report: {progress: lines, every: 1}
E
expect 76 "$train" huge.yaml
says err 'it began at step 1'
says err "the first values that are not finite are made by 'sgd' of layer"
has runs/huge '"step": 1, "seen": 2, "from": null' '"of": "output"' '"phase": "update"' '"attributed": false'

begin "a kernel that is wrong"
# A kernel that is wrong: it is named with what its inputs give in float64, also where it writes over one of them, and there is no
# advice for rate and data.
cat >res.yaml <<'E'
run: {name: res, dir: runs/res, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same, name: first}
    - relu: {name: one}
    - conv2d: {filters: 4, kernel: 3, padding: same, name: second}
    - relu: {name: two}
    - add: {inputs: [one, two], name: sum}
    - conv2d: {filters: 3, kernel: 1, name: last}
data: {train: good.dlx}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 9, batch_size: 2}
report: {progress: lines, every: 1}
E
for op in conv_grad_weight conv_grad_input_add; do
	expect 0 env DLX_DEBUG="$(debug conv=dnn)" "$train" --plan res.yaml
	node=$(sed -n "s/^ *\([0-9]*\)  backward  *$op .*/\1/p" out | head -1)
	expect 76 env DLX_DEBUG="$(debug conv=dnn,fault=kernel:"$node")" "$train" --set run.dir=runs/$op res.yaml
	says err "made by '$op' of layer"
	says err 'a wrong kernel made them, neither the rate nor the data'
	says err 'DLX_DEBUG=isa=avx2 takes other kernels; please report this with the sample: '"$op"' 2x'
	has runs/$op '"kernel": "wrong", "implementation": "' '"op_sample": "2x'
	whole runs/$op
	grep -q 'may help' err && { cat err; fail "$op: advice for a wrong kernel"; }
done

begin "sums of a convolution that are too large for float32 are no fault of its kernel"
expect 76 "$train" --set run.dir=runs/vast --set data.train=vast.dlx net.yaml
says err "made by 'conv' of layer 'first'"
says err 'may help, or the data has such values'
has runs/vast '"kernel": "right"'

begin "values of the data"
# The data have it: an input that is NaN, and a target that is infinite. Targets that are NaN, which the loss leaves out, are no
# finding.
expect 76 "$train" --set run.dir=runs/input --set data.train=gaps.dlx net.yaml
has runs/input '"of": "data"' '"tensor": "input"' '"index": 7' '"at": [' ', 1, 2, 3], "value": "nan"}]'
says err "the data have values that are not finite, in 'input'"
sed 's/filters: 3, kernel: 1/filters: 1, kernel: 1/' net.yaml >field.yaml
set -- --set 'metrics=[]' --set train.steps=6 --set 'loss={type: mse, mask: nan}'
expect 76 "$train" --set run.dir=runs/target --set data.train=infinite.dlx "$@" field.yaml
has runs/target '"of": "data"' '"tensor": "target"' '"index": 7' '"at": [' ', 0, 4, 5], "value": "inf"}]'
expect 76 "$train" --set run.dir=runs/both --set data.train=field.dlx "$@" --set optimizer.learning_rate=1e6 \
	--set train.steps=200 field.yaml
has runs/both '"of": "output"'
says err 'may help, or the data has such values'
expect 0 "$train" --set run.dir=runs/gaps --set data.train=field.dlx "$@" field.yaml

begin "two ranks: the one that has the sample is named, whichever it is, and the error is printed once"
if has_ranks; then
	for seed in 3 4 5 6; do
		expect 76 on_ranks 2 "$train" --set run.dir=runs/ranks$seed --set run.seed=$seed --set train.batch_size=1 \
			--set data.train=gaps.dlx net.yaml
		has runs/ranks$seed '"samples": [{"index": 7, "window": 0, "key": "gaps-07.npy"}]'
		[ "$(grep -c 'is not finite' err)" = 1 ] || { cat err; fail "reported more than once"; }
		rank=$(line runs/ranks$seed | sed 's/.*"rank": \([0-9]\).*/\1/')
		says err "on rank $rank (host "
		ranks="${ranks:-} $rank"
	done
	case $ranks in
	*0*1* | *1*0*) ;;
	*) fail "always the same rank: $ranks" ;;
	esac
fi
pass
