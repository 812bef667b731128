#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batches that the loader rounds to the 16 bits in which the network reads them: losses, metrics, weights, predictions and their pictures are
# those of a run that casts on the GPU, to the last bit. Networks that read more of them get more.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
find_coads
mkdir data

records f32 f32 --validity-mask
records i16 i16 --validity-mask
# The whole fields of validation, 90 by 180, are padded for the pool.
cat >net.yaml <<'END'
run: {name: net, dir: runs/net, seed: 4}
model:
  family: layers
  layers:
    - conv2d: {filters: 4, kernel: 3, padding: same}
    - batch_norm
    - relu
    - max_pool: 4
    - conv2d: {filters: 4, kernel: 1}
    - resize: {factor: 4}
data:
  train: data/f32-train.dlx
  validation: data/f32-validation.dlx
  transforms:
    - normalize: {method: standard, mask: validity}
    - flip: [height, width]
    - crop: {size: [64, 68]}
loss: softmax_cross_entropy
metrics: [accuracy, mean_iou]
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 4, batch_size: 3, validate: {steps: 2}}
precision: {compute: bf16}
checkpoint: {every: null}
END
cat >read.yaml <<'END'
run: {name: read, seed: 4}
model:
  family: layers
  layers:
    - batch_norm
    - conv2d: {filters: 4, kernel: 3, padding: same}
data: {train: data/f32-train.dlx, transforms: [{log1p: WSPD}, {crop: {size: [64, 68]}}]}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 3, batch_size: 2}
precision: {compute: bf16}
checkpoint: {every: null}
END

# gpu CONFIG DIR OPTION...: a run, or whatever the options ask for; host: one whose GPU casts
gpu() {
	yaml=$1.yaml
	dir=$2
	shift 2
	expect 0 capped "$emulated" --device=cuda --set run.dir="runs/$dir" --set precision.allow_emulation=true "$@" "$yaml"
}
host() {
	DLX_DEBUG=$(debug input=host) gpu "$@"
}
# both NAME CONFIG OPTION...: the same run either way
both() {
	name=$1
	config=$2
	shift 2
	gpu "$config" "$name" "$@"
	host "$config" "$name-host" "$@"
	same_run "runs/$name" "runs/$name-host"
}
# comes CONFIG HOW OPTION...: what --check says of the way
comes() {
	config=$1
	how=$2
	shift 2
	gpu "$config" none --check "$@"
	says out "travels as $how; targets as u8"
}

# Rounded as they come in, between moves, and at the end of all transforms.
both bf16 net
both fp16 net --set precision.compute=fp16
for chain in '{crop: {size: [64, 68]}}' '{normalize: {method: standard, mask: null}}, {roll: width}, {crop: {size: [64, 68]}}' \
	'{log1p: WSPD}, {normalize: {method: min_max, mask: null}}, {rotate: 10}, {noise: 0.1}, {crop: {size: [64, 68]}}'; do
	for stored in f32 i16; do
		[ $stored = i16 ] && case $chain in *log1p*) ;; *) continue ;; esac
		set -- --set "data.transforms=[$chain]" --set data.train=data/$stored-train.dlx --set data.validation=data/$stored-validation.dlx
		both "chain-$stored" net "$@"
		comes net 'bf16, rounded by the host' "$@"
		rm -r "runs/chain-$stored" "runs/chain-$stored-host"
	done
done
comes net 'bf16, rounded by the host'
comes net 'f16, rounded by the host' --set precision.compute=fp16
comes net 'f32, normalised on the GPU' --set precision.compute=f32
comes net 'i16, cast to bf16 and normalised on the GPU' --set data.train=data/i16-train.dlx
comes net f32 --set data.mixup=0.3
both blended net --set data.mixup=0.3

# Neither a cast of the batch is left nor float32 of it, nor of the zeros around it.
gpu net none --plan --dump=sched
grep -q 'input %0 input 3x5x64x68 bf16' out || fail "the batch has another type"
[ "$(grep -c '(%0 ' out)" = 1 ] || fail "the batch is read more than once"
grep -q ' reorder{} (%0 input 3x5x64x68 bf16 plain)' out || fail "the batch is not turned as it is"

# A first layer that reads float32 gets it, in a branch too; what leads to a convolution and only copies does not.
both read read
for first in batch_norm 'average_pool: {kernel: 3, stride: 1, pad_lo: 1, pad_hi: 1}' sigmoid; do
	comes read f32 --set "model.layers=[{$first}, {conv2d: {filters: 4, kernel: 3, padding: same}}]"
done
comes read f32 --set 'model.layers=[{conv2d: {filters: 5, kernel: 3, padding: same}}, {multiply: {inputs: [previous, input]}}]' --set 'model.classes=5'
comes read 'bf16, rounded by the host' --set 'model.layers=[{pad: {before: [0, 0, 1, 1], after: [0, 0, 1, 1]}}, {conv2d: {filters: 4, kernel: 3}}]'

# Less memory of both machines than with float32, planned to the byte.
number() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" out | head -n 1
}
gpu net none --plan=json --set train.batch_size=2
less=$(number run) host=$(number host)
DLX_EMULATE_COUNT=$PWD/count gpu net counted --set train.batch_size=2
[ "$(sed -n 's/most //p' count)" = "$less" ] || fail "planned $less bytes, took $(cat count)"
says count 'late 0'
host net none --plan=json --set train.batch_size=2
[ "$less" -lt "$(number run)" ] || fail "$less bytes of the GPU are not less than $(number run)"
[ "$host" -lt "$(number host)" ] || fail "$host bytes of the host are not less than $(number host)"

# Micro-batches, in every order that streams and events leave open; stopped and resumed by the other way.
set -- --set train.accumulate=2 --set train.batch_size=2
both whole net "$@"
for order in $(form early "early 1 2"); do
	DLX_EMULATE_ORDER=$order gpu net "order-$order" "$@"
	same_run runs/whole "runs/order-$order"
done
gpu net stop "$@" --set train.steps=2
host net stop "$@" --resume
[ "$(newest_state runs/whole)" = "$(newest_state runs/stop)" ] || fail "stopped and resumed on the host: other bits"

# Predictions of whole fields, of tiles and their pictures; evaluation; a step that is dumped is one of what the network reads.
for out in npy pictures; do
	[ $out = npy ] && suffix=.npy || suffix=
	gpu net bf16 --predict data/f32-validation.dlx -o "rounded$suffix"
	host net bf16 --predict data/f32-validation.dlx -o "host$suffix"
	diff -r "rounded$suffix" "host$suffix" || fail "other predictions: $out"
done
gpu net bf16 --predict data/f32-validation.dlx --tile=48 -o tiles.npy
host net bf16 --predict data/f32-validation.dlx --tile=48 -o host-tiles.npy
cmp tiles.npy host-tiles.npy || fail "other predictions of tiles"
gpu net bf16 --evaluate
grep -v seconds out >a
host net bf16 --evaluate
grep -v seconds out | cmp - a || fail "another evaluation"
gpu net none --dump-step=rounded-step
host net none --dump-step=host-step
cmp rounded-step/inputs.safetensors host-step/inputs.safetensors || fail "the inputs of a dumped step are other ones"

# Samples of several sizes, trained on and validated whole.
for side in 020 030; do
	printf "\\0\\0\\010\\003\\0\\0\\0\\011\\0\\0\\0\\$side\\0\\0\\0\\$side" | tee s$side.idx >s$side-labels.idx
	seq 1000 99999 | tr -d '\n' | head -c 5184 >>s$side.idx
	seq 1000 99999 | tr -d '\n' | tr 0123456789 '\000\001\000\001\000\000\001\001\001\000' | head -c 5184 >>s$side-labels.idx
	expect 0 "$convert" -q -f idx --input s$side.idx --target s$side-labels.idx --channel-names x --class-names none,some,more,all --dtype f32 -o s$side.dlx
done
both sizes net --set 'data.train=[s020.dlx, s030.dlx]' --set 'data.validation=[s020.dlx, s030.dlx]' --set 'data.transforms=[{normalize: standard}]' \
	--set train.batch_size=2 --set train.steps=9
for way in stored host; do
	DLX_DEBUG=$(debug input=$way) expect 0 capped "$emulated" --device=cuda --predict s020.dlx s030.dlx -o $way-sizes runs/sizes
done
diff -r stored-sizes host-sizes || fail "other predictions of samples of several sizes"
gpu net none --check --set 'data.train=[s020.dlx, s030.dlx]' --set data.validation=null --set data.transforms=null
says out 'travels as bf16, rounded by the host'

# Values that are not finite; the bits of NaNs are a matter of test/unit/test_stored.
{
	printf '\223NUMPY\1\0v\0%-117s\n' "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 16, 16), }"
	for i in $(seq 16); do
		printf '\0\0\200\77\1\0\300\377\0\0\200\177\3\0\240\177\0\200\177\107\0\0\0\60'
		head -c 40 /dev/zero
	done
} >values.npy
expect 0 "$convert" -q --input values.npy --channel-names x -o values.dlx
expect 0 capped "$emulated" --device=cuda --predict values.dlx -o rounded-values.npy runs/sizes
DLX_DEBUG=$(debug input=host) expect 0 capped "$emulated" --device=cuda --predict values.dlx -o host-values.npy runs/sizes
cmp rounded-values.npy host-values.npy || fail "other predictions of what is not finite"

# What is finite in float32 and not in fp16 is laid to the rounding.
expect 76 capped "$emulated" --device=cuda --quiet --set run.dir=runs/beyond --set precision.compute=fp16 \
	--set 'data.transforms=[{cast: 1.0e-6}, {crop: {size: [64, 68]}}]' net.yaml
says err "the data have values that are not finite once the host has rounded them to f16, in 'input'"
grep -q '"rounded": "f16"' runs/beyond/metrics.jsonl || fail "not in the evidence"

# Without data, and with data that is made up, batches come as those of float32 data; a step that is dumped read float32.
nothing() {
	expect 0 capped "$emulated" --device=cuda --set data.train=none.dlx --set data.validation=null --set data.transforms=[] \
		--set 'model.input={channels: 2, size: [12, 16]}' --set model.classes=3 --set train.batch_size=2 \
		--set precision.allow_emulation=true "$@" tiny.yaml
}
cp "$DLX_SOURCE/test/train/tiny.yaml" .
for type in bf16 fp16; do
	nothing --plan --dump=sched --set precision.compute=$type
	grep ' cast{.*(%0 input ' out && fail "a made-up batch in $type is cast"
	grep -q ' reorder{} (%0 input ' out || fail "a made-up batch in $type is not read"
	nothing --synthetic --bench=2 --set precision.compute=$type
done
nothing --plan --dump=sched --set precision.compute=bf16 --set data.mixup=0.3
grep -q ' cast{.*(%0 input ' out || fail "a made-up batch that is blended is taken for rounded"
nothing --check --set precision.compute=bf16
says out 'travels as bf16, rounded by the host'
nothing --check
grep 'travels' out && fail "a batch of float32 is rounded"

# Ranks that are to show in no bit cut batches into leaves; others have batches of their own, of which two sums have one order.
if "$emulated" --version | grep -q NCCL && has_ranks; then
	# ranks N NAME OPTION...
	ranks() {
		n=$1
		name=$2
		shift 2
		expect 0 on_ranks $n sh -c 'export DLX_EMULATE_GPUS=$PMI_RANK; exec "$@"' sh "$emulated" --quiet --device=cuda \
			--set run.dir="runs/$name" "$@" net.yaml
	}
	for n in 1 2; do
		ranks $n ranks-$n --set parallel.reproducible=true --set train.steps=2 --set train.batch_size=1 \
			--set train.accumulate=$((4 / n))
	done
	same_run runs/ranks-1 runs/ranks-2
	for way in stored host; do
		DLX_DEBUG=$(debug input=$way)
		ranks 2 ranks-$way --set train.batch_size=2 --set parallel.sync_batch_norm=true
	done
	same_run runs/ranks-host runs/ranks-stored
fi
pass
