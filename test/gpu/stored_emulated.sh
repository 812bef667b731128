#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batches that travel to the GPU as they are stored and are cast and normalised there: losses, metrics, weights and predictions
# are those of a run whose loader does it, to the last bit; with micro-batches, ranks, a short last batch, and stopped and resumed.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
find_coads
mkdir data

cat >net.yaml <<'END'
run: {name: net, dir: runs/net, seed: 4}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - batch_norm
    - relu
    - conv2d: {filters: 4, kernel: 1}
data:
  train: data/f32-train.dlx
  validation: data/f32-validation.dlx
  transforms:
    - normalize: {method: standard, mask: validity}
    - flip: [height, width]
    - crop: {size: [64, 66]}
loss: softmax_cross_entropy
metrics: [accuracy, mean_iou]
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 4, batch_size: 3}
checkpoint: {every: null}
END

# gpu TYPE DIR OPTION...: a run, or whatever the options ask for
gpu() {
	type=$1
	dir=$2
	shift 2
	expect 0 capped "$emulated" --device=cuda --set run.dir="$dir" --set "data.train=data/$type-train.dlx" \
		--set "data.validation=data/$type-validation.dlx" --set precision.allow_emulation=true "$@" net.yaml
}
number() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" out | head -n 1
}

for stored in f32 i16 f16; do
	records $stored $stored --validity-mask
	for compute in f32 bf16 fp16; do
		case $stored-$compute in f16-f32 | f32-fp16 | i16-fp16) continue ;; esac
		gpu $stored "runs/$stored-$compute" --set precision.compute=$compute
		DLX_DEBUG=$(debug input=host)
		gpu $stored "runs/$stored-$compute-host" --set precision.compute=$compute
		DLX_DEBUG=$(debug input=stored)
		same_run "runs/$stored-$compute" "runs/$stored-$compute-host"
	done
done

# What is computed between points or is random is the loader's in training, and the GPU's batches of validation are stored ones.
varied='data.transforms=[{normalize: {method: standard, mask: validity}}, {rotate: 10}, {noise: 0.1}, {crop: {size: [64, 66]}}]'
gpu i16 runs/varied --set "$varied" --set train.validate.epochs=0
gpu i16 runs/varied-own --set "$varied" --set train.validate.epochs=0 --set 'data.validation_transforms=[{normalize: {method: standard, mask: validity}}]'
DLX_DEBUG=$(debug input=host)
gpu i16 runs/varied-host --set "$varied" --set train.validate.epochs=0
DLX_DEBUG=$(debug input=stored)
same_run runs/varied runs/varied-host
same_run runs/varied runs/varied-own
gpu i16 runs/blended --set data.mixup=0.4
DLX_DEBUG=$(debug input=host) gpu i16 runs/blended-host --set data.mixup=0.4
same_run runs/blended runs/blended-host
gpu i16 runs/none --check --set "$varied"
says out 'travels as f32; targets as u8'

# What is said of it; neither a cast nor a reorder of the input is left.
gpu i16 runs/none --check --set precision.compute=bf16
says out 'travels as i16, cast to bf16 and normalised on the GPU; targets as u8'
gpu f32 runs/none --check
says out 'travels as f32, normalised on the GPU; targets as u8'
gpu f32 runs/none --check --set 'data.transforms=[{log1p: WSPD}]'
says out 'travels as f32; targets as u8'
DLX_DEBUG=$(debug input=host) gpu i16 runs/none --check
grep -q 'travels' out && fail "the loader is to do it, and the GPU does"
"$train" --device=cpu --check --set data.train=data/i16-train.dlx --set data.validation=null net.yaml >out 2>err || fail "no plan"
grep -q 'travels' out && fail "nothing travels on a CPU"
gpu i16 runs/none --plan --dump=sched --set precision.compute=bf16
[ "$(grep -c ' normalize_input{' out)" = 1 ] || fail "the input is not normalised once"
grep -q ' reorder{.* 3x5x64x66' out && fail "the input is turned once more"

# Less memory of both machines, planned to the byte.
gpu i16 runs/none --plan=json --set train.batch_size=2
less=$(number run) host=$(number host)
DLX_EMULATE_COUNT=$PWD/count gpu i16 runs/counted --set train.batch_size=2
[ "$(sed -n 's/most //p' count)" = "$less" ] || fail "planned $less bytes, took $(cat count)"
says count 'late 0'
DLX_DEBUG=$(debug input=host) gpu i16 runs/none --plan=json --set train.batch_size=2
[ "$less" -lt "$(number run)" ] || fail "$less bytes of the GPU are not less than $(number run)"
[ "$host" -lt "$(number host)" ] || fail "$host bytes of the host are not less than $(number host)"

# Micro-batches, in every order that streams and events leave open; stopped and resumed.
gpu i16 runs/whole --set train.accumulate=2 --set train.batch_size=2
for order in $(form early "early 1 2"); do
	DLX_EMULATE_ORDER=$order gpu i16 "runs/order-$order" --set train.accumulate=2 --set train.batch_size=2
	same_run runs/whole "runs/order-$order"
done
gpu i16 runs/stop --set train.accumulate=2 --set train.batch_size=2 --set train.steps=2
DLX_DEBUG=$(debug input=host) gpu i16 runs/stop --set train.accumulate=2 --set train.batch_size=2 --resume
[ "$(newest_state runs/whole)" = "$(newest_state runs/stop)" ] || fail "stopped and resumed on the host: other bits"

# Predictions and their pictures; a step that is dumped is one of what the network reads.
gpu i16 runs/i16-f32 --predict data/i16-validation.dlx -o stored.npy
gpu i16 runs/i16-f32 --predict data/i16-validation.dlx -o stored
DLX_DEBUG=$(debug input=host) gpu i16 runs/i16-f32 --predict data/i16-validation.dlx -o host.npy
DLX_DEBUG=$(debug input=host) gpu i16 runs/i16-f32 --predict data/i16-validation.dlx -o host
cmp stored.npy host.npy || fail "other predictions"
diff -r stored host || fail "other pictures"
gpu i16 runs/none --dump-step=stored-step
DLX_DEBUG=$(debug input=host) gpu i16 runs/none --dump-step=host-step
cmp stored-step/inputs.safetensors host-step/inputs.safetensors || fail "the inputs of a dumped step are other ones"

# Validation data of another type than the training data.
expect 0 "$emulated" --device=cuda --evaluate --set run.dir=runs/i16-f32 --set data.train=data/i16-train.dlx \
	--set data.validation=data/f32-validation.dlx net.yaml
cp out mixed
DLX_DEBUG=$(debug input=host) expect 0 "$emulated" --device=cuda --evaluate --set run.dir=runs/i16-f32 --set data.train=data/i16-train.dlx \
	--set data.validation=data/f32-validation.dlx net.yaml
grep -v seconds mixed >a
grep -v seconds out | cmp - a || fail "another evaluation of data of another type"

# Ranks that are to show in no bit cut batches into leaves.
if "$emulated" --version | grep -q NCCL && has_ranks; then
	for n in 1 2; do
		expect 0 on_ranks $n sh -c 'export DLX_EMULATE_GPUS=$PMI_RANK; exec "$@"' sh "$emulated" --quiet \
			--device=cuda --set parallel.reproducible=true --set run.dir=runs/ranks-$n \
			--set data.train=data/i16-train.dlx --set data.validation=data/i16-validation.dlx --set train.steps=2 \
			--set train.batch_size=1 --set train.accumulate=$((4 / n)) net.yaml
	done
	same_run runs/ranks-1 runs/ranks-2
fi
pass
