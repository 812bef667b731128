#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# data.mixup: the blended batch of a step and its loss against plain Python, with labels that are ignored, weights of classes and fields;
# the same bits with any number of threads and after an interruption; validation and prediction see samples as they are.
. "${DLX_SOURCE:?}/test/lib.sh"
export PYTHONDONTWRITEBYTECODE=1
find_python3
arrays=$DLX_SOURCE/test/train/mixup.py
"$python3" "$arrays" make || fail "no arrays"
expect 0 "$convert" -i x.npy --input-layout first -t y.npy --ignore 9 --class-names p,q,r -o labels.dlx
expect 0 "$convert" -i x.npy --input-layout first -t v.npy -o fields.dlx
cat >config.yaml <<'END'
run: {name: mixup, dir: runs/mixup}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 3, kernel: 1}
data: {train: labels.dlx, validation: labels.dlx, mixup: 0.7}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 4, batch_size: 4}
checkpoint: {every: null}
report: {progress: none, every: 1}
END

# step CASE OPTION...
step() {
	case=$1
	shift
	rm -rf dump
	expect 0 "$train" --quiet --dump-step dump "$@" config.yaml
	"$python3" "$arrays" check dump "$case" || fail "mixup: $case"
}
step labels
step labels --set data.mixup=2 --set run.seed=5
step weights --set 'loss={type: softmax_cross_entropy, class_weights: [1, 2, 5]}'
step mse --set data.train=fields.dlx --set data.validation=null --set loss=mse
step scaled --set data.train=fields.dlx --set data.validation=null --set loss=mse \
	--set 'data.target_transforms=[{normalize: {method: standard, mean: 50, std: 0.25}}]'

# Bits; two micro-batches and a short batch among the steps.
for threads in 1 4; do
	expect 0 "$train" --quiet --set run.dir=runs/threads-$threads --set data.threads=$threads --set train.steps=6 config.yaml
done
expect 0 "$train" --quiet --set run.dir=runs/stopped --set train.steps=3 config.yaml
expect 0 "$train" --quiet --set run.dir=runs/stopped --set train.steps=6 --resume config.yaml
for run in threads-4 stopped; do
	[ "$(newest_state runs/threads-1)" = "$(newest_state runs/$run)" ] || fail "$run: other bits"
done
expect 0 "$train" --quiet --set run.dir=runs/alone --set data.mixup=null --set train.steps=6 config.yaml
[ "$(newest_state runs/threads-1)" != "$(newest_state runs/alone)" ] || fail "mixup changes nothing"
expect 0 "$train" --quiet --set run.dir=runs/micro --set train.accumulate=2 --set train.batch_size=2 config.yaml

# Only training is blended.
expect 0 "$train" --evaluate --set run.dir=runs/alone config.yaml
grep '^{' out >blended.json
expect 0 "$train" --evaluate --set run.dir=runs/alone --set data.mixup=null config.yaml
grep '^{' out | cmp - blended.json || fail "an evaluation is blended"
expect 0 "$train" --check config.yaml
says out 'training   whole samples of 4 x 4; mixup'
expect 78 "$train" --check --set data.mixup=9 config.yaml
says err "'alpha'"
pass
