#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Steps that are left out because their loss or gradient is not finite, or an outlier: they leave no trace in weights and moments,
# are counted equally after a resume and on two ranks, and are reported; too many in a row end the run.
. "${DLX_SOURCE:?}/test/lib.sh"
find_numpy
OMP_NUM_THREADS=1
export OMP_NUM_THREADS

# Of twelve samples number 11 has a NaN, or values that are far too large; of `none` all are NaN.
"$python3" - <<'P' || fail 'no sources'
import numpy as np
r = np.random.default_rng(1)
for k in range(12):
    x = r.standard_normal((2, 6, 7)).astype(np.float32)
    np.save("y-%02d.npy" % k, r.integers(0, 3, (6, 7), dtype=np.uint8))
    np.save("good-%02d.npy" % k, x)
    np.save("far-%02d.npy" % k, x * np.float32(100 if k == 11 else 1))
    if k == 11:
        x[1, 2, 3] = np.nan
    np.save("gaps-%02d.npy" % k, x)
    x[:, 0, 0] = np.nan
    np.save("none-%02d.npy" % k, x)
P
for set in good far gaps none; do
	expect 0 "$convert" -q -i "$set-*.npy" -t 'y-*.npy' --fill nan --input-layout first -o $set.dlx
done
cat >net.yaml <<'E'
run: {name: net, dir: runs/net, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same, name: first}
    - batch_norm: {name: middle}
    - relu: {}
    - conv2d: {filters: 3, kernel: 1, name: last}
data: {train: gaps.dlx, shuffle: false}
loss: softmax_cross_entropy
optimizer: {type: adam, learning_rate: 0.05, average: {decay: 0.9}}
train: {steps: 20, batch_size: 2, on_nonfinite: skip}
checkpoint: {every: null}
report: {progress: lines, every: 1}
E
run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" net.yaml
}
# skipped RUN WHY: the steps that were
skipped() {
	sed -n 's/.*"type": "skipped", "step": \([0-9]*\), "why": "'"$2"'".*/\1/p' "$1/metrics.jsonl" | tr '\n' ' '
}
skips() {
	[ "$(skipped "$1" "$2")" = "$3" ] || { grep '"skipped", ' "$1/metrics.jsonl"; fail "$1: skipped $(skipped "$1" "$2"), not $3"; }
}

begin "each epoch's last step is left out"
# Each epoch's last step is left out; what the sixth step leaves is what the fifth did, but for the count.
run runs/whole
skips runs/whole nonfinite '6 12 18 '
says out '3 steps were left out: 3 not finite, 0 outliers'
says out "in sample 11 'gaps-11.npy' of the training set"
grep -q '"type": "nonfinite", "step": 6, "seen": 6, "found": true, "of": "data"' runs/whole/metrics.jsonl || fail "not looked into"
"$python3" -c 'import json; [json.loads(l) for l in open("runs/whole/metrics.jsonl")]' || fail "no JSON"
for steps in 5 6; do
	run runs/part$steps --set train.steps=$steps
	for weights in last average; do
		expect 0 "$train" --set run.dir=runs/part$steps --export part$steps-$weights --weights=$weights net.yaml
	done
done
for weights in last average; do
	cmp -s part5-$weights part6-$weights || fail "the step that was left out left something behind"
done
for at in $(form 9 "7 9 12"); do
	run runs/at$at --set train.steps=$at
	run runs/at$at --resume
	same_run runs/whole runs/at$at
	skips runs/at$at nonfinite '6 12 18 '
done
expect 0 "$train" --replay 0..last net.yaml --set run.dir=runs/whole

begin "in micro-batches, summed in one order or as a tree; with loss scaling, clipping"
for setting in train.accumulate=3 parallel.reproducible=true precision.loss_scale=dynamic train.clip_norm=0.5; do
	run runs/set --set $setting
	grep -q '"skipped": [1-9]' runs/set/metrics.jsonl || fail "$setting: nothing was left out"
	grep '"type": "step", "step": 19,' runs/set/metrics.jsonl | grep -q '"loss": [0-9]' || fail "$setting: the loss stays null"
	rm -r runs/set
done

begin "a run that stops can resume with skip, and one that skips without"
expect 76 "$train" --set run.dir=runs/on --set train.on_nonfinite=stop --set checkpoint.every.steps=2 net.yaml
run runs/on --resume
skips runs/on nonfinite '6 12 18 '
expect 76 "$train" --set run.dir=runs/on --set train.on_nonfinite=stop --set train.steps=30 --resume net.yaml

begin "all steps are left out"
expect 76 "$train" --set run.dir=runs/none --set data.train=none.dlx --set train.steps=80 net.yaml
says err '50 steps in a row up to step 50 were left out'
says err "in 'input'"
grep -c '"type": "nonfinite"' runs/none/metrics.jsonl | grep -qx 9 || fail "looked into more than eight, and the end"

begin "outliers by the gradient or the loss, once there are enough steps to compare with"
outliers() {
	run runs/far --set data.train=far.dlx --set train.on_nonfinite=stop --set model.layers='[{conv2d: {filters: 3, kernel: 1}}]' "$@"
}
outliers
[ -z "$(skipped runs/far outlier)" ] || fail "outliers are left out by default"
grep -q '"skipped"' runs/far/metrics.jsonl && fail "a run that leaves out nothing counts it"
rm -r runs/far
for of in loss gradient; do
	outliers --set train.skip_outliers.$of=8 --set train.skip_outliers.window=5
	skips runs/far outlier '6 12 18 '
	says out '3 steps were left out: 0 not finite, 3 outliers'
	mv runs/far runs/far-$of
	outliers --set train.skip_outliers.$of=8 --set train.skip_outliers.window=5 --set train.steps=9
	outliers --set train.skip_outliers.$of=8 --set train.skip_outliers.window=5 --resume
	same_run runs/far-$of runs/far
	rm -r runs/far
	outliers --set train.skip_outliers.$of=8 --set train.skip_outliers.window=6
	case $(skipped runs/far outlier) in
	6\ *) fail "left out before there are enough steps to compare with" ;;
	esac
	rm -r runs/far
done

expect 78 "$train" --check --set parallel.gradient_lag=1 net.yaml
says err "choose one"
expect 78 "$train" --check --set train.on_nonfinite=go net.yaml

begin "two ranks leave out the same steps and stay equal, also if one rank alone has the sample"
if has_ranks; then
	both() {
		dir=$1
		shift
		expect 0 on_ranks 2 "$train" --set run.dir="$dir" --set train.batch_size=1 --set checkpoint.every.steps=1 "$@" net.yaml
	}
	both runs/ranks
	skips runs/ranks nonfinite '6 12 18 '
	both runs/ranks-stop --set train.steps=8
	both runs/ranks-stop --resume
	same_run runs/ranks runs/ranks-stop
	both runs/ranks-far --set data.train=far.dlx --set train.skip_outliers.gradient=8 --set train.skip_outliers.window=5 \
		--set model.layers='[{conv2d: {filters: 3, kernel: 1}}]'
	skips runs/ranks-far outlier '6 12 18 '
fi
pass
