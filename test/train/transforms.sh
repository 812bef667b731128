#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Transforms from arrays to predictions: the batches of a step against plain Python, training with each of them, what is random in training
# alone, the same bits with any number of threads, and the errors that data gives.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
python=$python3
arrays=$DLX_SOURCE/test/train/transforms.py
"$python" "$arrays" make || fail "no arrays"
for set in x:y:train low:low-y:low; do
	x=${set%%:*} y=${set#*:}
	expect 0 "$convert" -i "$x.npy" --input-layout first -t "${y%:*}.npy" --channel-names a,b,c,d --class-names p,q,r -o "${y#*:}.dlx"
done
cat >config.yaml <<'END'
run: {name: transforms, dir: runs/transforms}
model:
  family: layers
  layers:
    - conv3d: {filters: 3, kernel: 3, padding: same}
data: {train: train.dlx, validation: train.dlx, shuffle: false}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.001}
train: {steps: 3, batch_size: 4}
checkpoint: {every: null}
report: {progress: none, every: 1}
END

# with TRANSFORMS COMMAND...
with() {
	transforms=$1
	shift
	"$train" "$@" --set "data.transforms=$transforms" config.yaml
}

# batch CASE TRANSFORMS: a step's batch is as Python has it, and some steps of training come to a loss.
begin "each transform"
batch() {
	rm -rf runs dump
	expect 0 with "$2" --quiet --dump-step dump
	"$python" "$arrays" check dump "$1" || fail "$2"
	expect 0 with "$2" --quiet
	grep -q '"loss": *[0-9]' runs/transforms/metrics.jsonl || {
		cat runs/transforms/metrics.jsonl
		fail "$2: no loss"
	}
}
batch none '[]'
batch mean '[{normalize_sample: mean}]'
batch mean_sample '[{normalize_sample: {method: mean, per: sample}}]'
batch standard '[{normalize_sample: standard}]'
batch standard_sample '[{normalize_sample: {method: standard, per: sample}}]'
batch stem '[sqrt, {normalize_sample: {method: standard, per: sample}}]'
batch range '[{normalize_sample: min_max}]'
batch sqrt '[sqrt]'
batch some '[{channels: [d, 0]}]'
batch some_min_max '[{channels: [d, a]}, {normalize: min_max}]'
batch some_min_max '[{normalize: min_max}, {channels: [3, 0]}]'
batch symmetry '[symmetry]'
batch symmetry '[{symmetry: {reflections: false}}]'
batch symmetry '[rotate90]'
batch symmetry '[{rotate90: width}]'
batch rotate '[{rotate: {degrees: [25, 25], fill: 3, target: 2}}]'
batch noise '[{noise: 0.25}]'

begin "the plan, predictions and evaluations have the chosen channels"
some='[{channels: [d, a]}, {normalize: min_max}]'
expect 0 with "$some" --plan=json
says out '"parameters": 165,'               # 3 filters of 2 x 27 weights and a bias
expect 78 with "$some" --check --set model.input.channels=4
says err "the transforms leave 2 channels, but 'model.input' has 4"
rm -rf runs
expect 0 with "$some" --quiet
expect 0 with "$some" --evaluate
expect 0 with "$some" --predict train.dlx -o some.npy
expect 0 with '[{channels: [d, a]}, {normalize: min_max}, symmetry]' --predict train.dlx -o still.npy
cmp some.npy still.npy || fail "a prediction depends on a random transform"
expect 0 with '[{channels: [a, d]}, {normalize: min_max}]' --predict train.dlx -o other.npy
cmp -s some.npy other.npy && fail "a prediction does not depend on the order of its channels"

begin "validation and prediction have a list of their own"
rm -rf runs
other='data.validation_transforms=[{normalize: min_max}, {channels: [d, a]}]'
expect 0 with '[{channels: [d, a]}, {normalize: min_max}, {noise: 9}]' --check --set "$other"
says out 'training   whole samples of 4 x 4 x 4; channels, normalize, noise'
says out 'validation whole samples of 4 x 4 x 4; normalize, channels'
expect 0 with "$some" --quiet
expect 0 with "$some" --predict train.dlx -o some.npy
expect 0 with "$some" --evaluate
grep '^{' out >some.json
expect 0 with '[{channels: [a, b]}, {noise: 5}]' --predict train.dlx -o own.npy --set "$other"
cmp some.npy own.npy || fail "a prediction does not see validation_transforms"
says err "was trained with other 'data.validation_transforms'"
expect 0 with '[{channels: [a, b]}, {noise: 5}]' --evaluate --set "$other"
grep '^{' out >own.json
cmp some.json own.json || fail "an evaluation does not see validation_transforms"
expect 0 with "$some" --predict train.dlx -o none.npy --set 'data.validation_transforms=[{channels: [d, a]}]'
cmp -s some.npy none.npy && fail "validation_transforms are those of training"
rm -rf runs
expect 0 with "$some" --quiet --set "$other"
expect 0 with '[{channels: [a, b]}]' --predict train.dlx -o own.npy --set "$other"
grep 'was trained with other' err && fail "the list that prediction needs is not the one that is kept"
expect 78 with '[{channels: [d, a]}]' --check --set 'data.validation_transforms=[{channels: d}]' --set model.input.channels=2
says err "the transforms leave 1 channels, but 'model.input' has 2"
expect 65 with '[{channels: [d, a]}]' --check --set 'data.validation_transforms=[{channels: d}]'
says err 'does not fit the training data'

begin "windows in validation alone"
expect 0 with '[]' --check --set 'data.validation_transforms=[{crop: 2}]'
says out 'validation windows of 2 x 2 x 2, in the centre of 4 x 4 x 4'
expect 0 with '[]' --set run.dir=runs/windows --quiet --set 'data.validation_transforms=[{crop: 2}]'
expect 0 with '[{crop: 2}]' --set run.dir=runs/whole --quiet --set 'data.validation_transforms=[]'

begin "decode threads, and an interruption, change no bit"
random='[{normalize_sample: standard}, symmetry, {sqrt: {negative: zero}}, {rotate: {degrees: 15, target: same, outside: edge}},
{zoom: {scale: 1.2, target: same, outside: edge, probability: 0.5}}, {elastic: {magnitude: 0.3, spacing: 2, target: 0}}, rotate90,
{brightness: {shift: 0.1, per: channel}}, {contrast: 0.2}, {noise: 0.1}, {channels: [c, b]}]'
for threads in 1 4; do
	expect 0 with "$random" --quiet --set run.dir=runs/threads-$threads --set data.threads=$threads --set data.shuffle=true --set train.steps=6
done
expect 0 with "$random" --quiet --set run.dir=runs/stopped --set data.shuffle=true --set train.steps=2
expect 0 with "$random" --quiet --set run.dir=runs/stopped --set data.shuffle=true --set train.steps=6 --resume
for run in threads-4 stopped; do
	[ "$(newest_state runs/threads-1)" = "$(newest_state runs/$run)" ] || fail "$run: other bits"
done

begin "labels outside need a value, which these data have none of"
expect 78 with '[{rotate: 15}]' --check
says err "class labels outside the field need an ignore value, and the data records none"
expect 78 with '[{rotate: 15, zoom: 2}]' --check
expect 78 with '[{elastic: {magnitude: 3, outside: mirror}}]' --check
says err "'outside'"

begin "what is found when a sample is read"
rm -rf runs
expect 0 with '[sqrt]' --quiet
expect 65 with '[sqrt]' --evaluate --set data.validation=low.dlx
says err "sqrt of -0.25 in channel 2 at (1, 2, 3)"
says err "'low.dlx', sample 1"
expect 0 with '[{sqrt: {negative: zero}}]' --evaluate --set data.validation=low.dlx
expect 78 with '[sqrt]' --check --set data.train=low.dlx
says err "sqrt needs values from 0; channel 2 'c' goes down to -0.25"
pass
