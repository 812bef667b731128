#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Exit statuses and messages of dlx-train for mistakes a user makes.
. "${DLX_SOURCE:?}/test/lib.sh"
config=$DLX_SOURCE/test/train/tiny.yaml

begin "the command line"

expect 64 "$train"
says err 'no config file'
expect 64 "$train" --chekc x.yaml
says err "did you mean '--check'"
: >nothing.yaml
expect 78 "$train" --check nothing.yaml
says err 'nothing.yaml:1:1: the config is empty'
[ "$(grep -c '^dlx-train: ' err)" -eq 1 ] || fail "more than one message about an empty config"
expect 64 "$train" --plan=xml "$config"
says err 'text, json, dot or svg'
expect 64 "$train" a.yaml b.yaml
says err 'two config files'
expect 64 "$train" --evaluate --check a.yaml
expect 64 "$train" --evaluate --plan=json a.yaml
says err "'--plan' cannot be combined with another command"
expect 64 "$train" --set
says err "option '--set' needs a value: KEY=VALUE"
expect 64 "$train" --set= a.yaml
says err "option '--set' has an empty value"
expect 64 "$train" --check=x a.yaml
says err "option '--check' takes no value"
expect 64 "$train" -check a.yaml
says err "unknown option '-check'; did you mean '--check'?"
for steps in 0 1000001 3x; do
	expect 64 "$train" --bench=$steps a.yaml
	says err "option '--bench': '$steps' is no whole number from 1 to 1000000"
done
for ranks in 0 2x 3y x4 1000x1001; do
	expect 64 "$train" --plan --ranks=$ranks a.yaml
	says err "'--ranks $ranks': expected a number from 1 to 1000000, or hosts x ranks"
done
expect 66 "$train" --check -- --check
says err "'--check'"
expect 64 "$train" --predict x.dlx "$config"
says err "'-o OUT'"
expect 66 "$train" nothere.yaml
says err 'nothere.yaml'
expect 66 "$train" --check "$config"
says err 'data/coads-train.dlx'

begin "a config and its data"
coads_data
expect 0 "$train" --check "$config"
says out 'no mistakes found'
expect 69 "$train" --device cuda "$config"
says err "'cuda'"
expect 78 "$train" --set model.growht=3 "$config"
says err "did you mean 'growth'"
says err '--set'
expect 78 "$train" --set train.batch_size=many "$config"

expect 64 "$train" --plan --dump=folt "$config"
says err 'there is no such pass'
expect 78 "$train" --set run.dir=runs/none --set train.steps=0 "$config"
says err 'how long to train'
[ ! -e runs/none ] || fail "a run that cannot be has a folder"
expect 0 "$train" --check --set train.steps=0 "$config"
says out "to train it needs 'train.epochs'"

begin "headers that do not fit are found before training: labels that are no class, labels for a loss of fields"
expect 65 "$train" --check --set model.classes=3 "$config"
says err "'data/coads-train.dlx' has the label 3, but the network's classes are 0..2"
expect 65 "$train" --check --set model.classes=3 --set loss.ignore=3 --set data.validation=null "$config"
says err "'data/coads-train.dlx' has the label 255, but the network's classes are 0..2"
expect 65 "$train" --check --set loss=mse --set 'metrics=[mse]' "$config"
says err 'targets are class labels (u8 90x180)'

begin "every mistake at once, sorted by line, each with the line and a caret"
cat >bad.yaml <<'Y'
run: {name: bad}
model:
  family: layers
  layers:
    - conv2d: {fliters: 4, kernel: 3}
loss: {type: mse}
data: {train: data/coads-train.dlx}
train: {epochs: -1, batch_size: 2}
optimizer: {type: sgd, learning_rat: 0.1}
Y
expect 78 "$train" bad.yaml
says err "bad.yaml:5:16: unknown key 'fliters' in 'conv2d'; did you mean 'filters'?"
says err '~~~~'
says err 'bad.yaml:8:17:'
says err "did you mean 'learning_rate'"
grep -o 'bad.yaml:[0-9]*' err | sort -c -t: -k2n || fail "errors are not sorted by line"

begin "command lines as other programs have them"
usage() {
	text=$1
	shift
	expect 64 "$train" "$@" "$config"
	says err "$text"
}
usage 'as one word: --set train.steps=3' --set train.steps 3
usage 'as one word: --set train.steps=3' --set train.steps = 3
usage 'as one word: --set train.steps=VALUE' --set train.steps
usage "unknown option '--epochs'; did you mean 'train.epochs'? (--set KEY=VALUE sets a key)" --epochs 3
usage "did you mean 'train.batch_size'?" --batch-size=8
usage "did you mean 'optimizer.learning_rate'?" --lr 0.1
usage "did you mean 'data.threads'?" --num-workers 4
usage 'start as many with mpiexec or srun' --gpus 4
usage "it is 'precision: {compute: bf16}'" --amp
usage "--evaluate --set data.validation=FILE" --test
usage 'the config stands without an option' --config
usage "the value of '--resume' follows a '=': --resume=last" --resume last

begin "without a GPU, a dlx without CUDA prints nothing about CUDA"
expect 0 "$train" --check --device auto "$config"
if ! "$train" --version | grep -q cuda && [ ! -e /proc/driver/nvidia/version ]; then
	! grep "'device: auto'" out err || fail 'the CPU is given a reason'
fi

begin "items of lists in --set"
cat >layers.yaml <<'END'
model: {family: layers, input: {channels: 1, size: [8, 8]}, layers: [{conv2d: {filters: 2, kernel: 1}}, relu]}
data: {train: data/coads-train.dlx}
loss: mse
train: {steps: 1}
END
bad_item() {
	expect 78 "$train" --check --set "$1" layers.yaml
	says err "$2"
}
bad_item 'model.layers[0].filters=0' "'filters'"
bad_item 'model.layers[0].filter=8' "unknown key 'filter' in 'conv2d'; did you mean 'filters'?"
bad_item 'model.layers[2].filters=8' "index 2 is past the end: 'model.layers' has 2 items, model.layers[0] to model.layers[1]"
bad_item 'model.layers[1].slope=8' "set 'model.layers[1]' as a whole: --set 'model.layers[1]={...}'"
bad_item 'model.layer[0].filters=8' "'model.layer' is not in the config; did you mean 'model.layers'?"
bad_item 'model[0]=8' "'model' is a map, no list: it has no item 0; its keys follow a dot: --set model.KEY=VALUE"
bad_item 'model.layers[0.filters=8' "'[' without a ']'"
bad_item 'train.epohcs=8' "unknown key 'epohcs' in 'train'; did you mean 'epochs'?"

begin "help of keys"
expect 0 "$train" --help-config=optimizer.learning_rate
says out 'type: adam, lamb'
for key in conv2d model.layers.layers.conv2d; do
	expect 0 "$train" "--help-config=$key"
	says out '- conv2d  (convolution over height and width)'
	mv out "out.$key"
	expect 0 "$train" --help-config "$key"
	cmp out "out.$key" || fail "--help-config $key differs from --help-config=$key"
done
expect 0 "$train" --help-config
[ "$(wc -l <out)" -lt 60 ] || fail "the overview is no page: $(wc -l <out) lines"
says out 'conv1d, conv2d, conv3d'
says out 'epochs, steps, batch_size'
expect 0 "$train" --help-config all
[ "$(wc -l <out)" -gt 500 ] || fail "--help-config=all has $(wc -l <out) lines"
expect 0 "$train" --help-config model.family
says out 'family: resnet'
expect 64 "$train" --help-config conv2d dense
says err "'--help-config' takes one key; 'dense' is a second one"
expect 64 "$train" --help-config convd2
says err "there is no config key 'convd2'; did you mean 'conv2d'?"
expect 64 "$train" --help-config filters
says err 'it is a key of: cosmoflow'
expect 64 "$train" --help-config=lr
says err "there is no config key 'lr'; did you mean 'optimizer.learning_rate'?"
expect 64 "$train" --help-config=batch_size
says err "did you mean 'train.batch_size'?"

begin "damaged data"
head -c 5000 data/coads-train.dlx >data/short.dlx
expect 65 "$train" --set data.train=data/short.dlx "$config"
says err 'data/short.dlx'
echo hello >data/foreign.dlx
expect 65 "$train" --set data.train=data/foreign.dlx "$config"
says err 'data/foreign.dlx'

# Sets of four samples that are all zero, with sides of 16 and of 8 points.
zeros side16 16
zeros side8 8
printf '\0\0\010\002\0\0\0\004\0\0\0\010' >line.idx
head -c 32 /dev/zero >>line.idx
expect 0 "$convert" -q -f idx --input line.idx --target line.idx --class-names none,some -o line.dlx
tiny() { "$train" --set data.train=side16.dlx --set data.transforms=[] --set train.steps=1 "$@" "$config"; }

begin "a second set whose samples are of another size is evaluated in that size; one with other axes is refused"
expect 0 tiny --set data.validation=side8.dlx --set run.dir=runs/sizes
expect 65 tiny --set data.validation=line.dlx
says err "--set:4:17: 'line.dlx' has 8 input channels, the training set has 1"
expect 0 tiny --set data.validation=side16.dlx --set run.dir=runs/zeros
expect 65 tiny --set run.dir=runs/zeros --set data.validation=null --predict line.dlx -o out.npy
says err "'line.dlx' has 8 input channels, the training set has 1"

begin "the limit that is broken is named"
expect 78 tiny --set data.validation=null --set train.clip_norm=1.0e+31 --plan
says err "'clip_norm' is out of range: 1.0e+31, must be a number of at most 1e+30"

begin "more output channels than the data has names for"
expect 0 tiny --set data.validation=side16.dlx --set run.dir=runs/classes --set model.classes=4
says out 'class 3'

begin "less data than one batch"
expect 0 tiny --set data.validation=null --set train.batch_size=5 --plan
says out '4 training samples, 1 batches an epoch'
says err 'a batch of 5 samples is more than the 4 that an epoch of training has'
expect 78 tiny --set data.validation=null --set train.batch_size=5 --set data.keep_short_batch=false --plan
says err ':18: 4 samples do not fill a batch of 5'
# Batches for which there is no memory, on no machine with this limit.
(
	ulimit -v 16000000
	expect 69 tiny --set train.batch_size=16777216 --check
	says err ':18: no memory for 3 batches of 16777216 samples'
	says err "make 'train.batch_size' or 'data.prefetch' smaller"
) || fail
expect 0 tiny --set data.validation=null --set train.batch_size=5 --set 'data.transforms=[{crop: {size: 8, per_sample: 3}}]' --plan
says out '4 training samples, 3 windows of each, 3 batches an epoch'
! grep -q 'more than the' err || fail "12 windows are more than a batch of 5"
expect 78 tiny --set data.validation=null --set train.batch_size=5 --set data.keep_short_batch=false --plan

begin "a run that ended before its first checkpoint"
# A run that ended before its first checkpoint: its weights are the initial ones, unless a checkpoint is requested.
mkdir -p runs/begun/checkpoints
expect 0 tiny --set data.validation=null --set run.dir=runs/begun --export begun.safetensors
expect 66 tiny --set data.validation=null --set run.dir=runs/begun --resume --export begun.safetensors
says err 'train first'

begin "a folder that cannot be made"
expect 73 "$train" --set run.dir=/proc/nowhere/run "$config"
pass
