#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Steps of the zoo at small sizes under limits of memory: loss and gradients are those of a step without a limit, bit for bit, and the
# limit is kept. A limit that cannot be met is refused with one that can.
. "${DLX_SOURCE:?}/test/lib.sh"
DLX_DEBUG=$(debug trials=no) # none of it is about time

# Bytes of the step in ./plan.
peak() {
	sed -n 's/.*"peak": \([0-9]*\), "arena".*/\1/p' plan
}

# step DIR OPTIONS...: one step of made-up data.
step() {
	dir=$1
	shift
	"$train" --quiet --dump-step "$dir" --synthetic "$@"
}

# least OPTIONS...: MiB of the smallest step.
least() {
	expect 78 step refused --set train.memory.limit=1 "$@"
	says err 'however much is computed again'
	sed -n 's/.*it needs about \([0-9]*\) MiB.*/\1/p' err
}

# same CONFIG SIZE MORE OPTIONS...: with room for nearly nothing, and for MORE MiB more.
same() {
	config=$DLX_SOURCE/configs/$1.yaml
	size=$2
	more=$3
	shift 3
	set -- --set "model.input.size=[$size]" --set train.batch_size=2 "$@" "$config"
	rm -rf plain
	expect 0 step plain "$@"
	[ -s plain/gradients.safetensors ] || fail "no gradients of $config"
	floor=$(least "$@")
	for room in 1 "$more"; do
		rm -rf again
		limit=$((floor + room))
		expect 0 step again --set train.memory.limit="${limit}MiB" "$@"
		diff -r plain again || fail "$config in $limit MiB: not the same bits"
		expect 0 "$train" --plan=json --set train.memory.limit="${limit}MiB" "$@"
		cp out plan
		[ "$(peak)" -le $((limit * 1048576)) ] || fail "$config: a plan of $(peak) bytes for $limit MiB"
	done
}

same tiramisu-sc18 32,64 8
same tiramisu-fc-densenet56 32,32 4 --set train.accumulate=2
same tiramisu-fc-densenet56 32,32 4 $(compute_bf16 "$DLX_SOURCE/configs/tiramisu-fc-densenet56.yaml")
same deepcam-mlperf 32,64 8
same unet3d-lits 16,16,16 16
same cosmoflow-mlperf 32,32,32 4

# Training: the same weights, running statistics and moments.
coads_data
sed 's/crop: {size: .*}/crop: {size: [45, 62], validation: centre}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
expect 0 "$train" --quiet --set train.steps=3 --set run.dir=plain-run tiny.yaml
expect 0 "$train" --plan=json tiny.yaml
cp out plan
plain=$(peak)
expect 78 "$train" --set train.memory.limit=1KiB tiny.yaml
limit=$(sed -n "s/.*'train.memory: {limit: \([0-9]*\)KiB}' is the least .*/\1/p" err)
limit=$((limit * 1024))
[ "$limit" -lt "$plain" ] || fail "the least of $plain bytes are $limit"
expect 0 "$train" --quiet --set train.steps=3 --set run.dir=again-run --set train.memory.limit=$limit tiny.yaml
[ "$(newest_state plain-run)" = "$(newest_state again-run)" ] || fail 'training under a limit ends in other weights'
expect 0 "$train" --plan=json --set train.memory.limit=$limit tiny.yaml
cp out plan
[ "$(peak)" -le "$limit" ] || fail "a plan of $(peak) bytes for $limit"

expect 78 "$train" --check --set train.memory.limit=1KiB tiny.yaml
says err "cannot do with 0.000977 MiB: however much is computed again"
says err "make 'train.memory.limit' larger"
expect 78 "$train" --check --set train.memory.limit=much tiny.yaml
pass
