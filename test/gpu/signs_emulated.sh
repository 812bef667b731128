#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The signs of activations after additions, as bits: a run has the bits of one whose gradients read the activations, in every type, where
# activations are windows at any offset, under a limit of memory, and over ranks that normalise together.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data

# network NAME OFFSET [GAMMA]: four norms after which something is added; what is added first is of about GAMMA. The second activation is a
# window after OFFSET other channels, the third norm has no plain convolution before it, whose statistics it would go by, and the last
# activation has 12 channels.
network() {
	cat >"$1.yaml" <<-END
		run: {name: $1, seed: 3}
		model:
		  family: layers
		  layers:
		    - conv2d: {filters: 16, kernel: 3, padding: same, bias: false}
		    - batch_norm: {name: stem, gamma_init: ${3:-1}}
		    - conv2d: {filters: 16, kernel: 3, padding: same, bias: false}
		    - batch_norm: {gamma_init: ${3:-1}}
		    - add: {inputs: [stem, previous]}
		    - relu: {name: one}
		    - conv2d: {filters: 16, kernel: 1, bias: false}
		    - batch_norm
		    - add: {inputs: [one, previous]}
		    - relu: {name: two}
		    - conv2d: {filters: $2, kernel: 3, padding: same, inputs: one, name: beside}
		    - concat: {inputs: [beside, two]}
		    - conv2d: {filters: 24, kernel: 3, padding: same, bias: false, name: three}
		    - conv2d: {filters: 24, kernel: 3, padding: same, groups: 3, bias: false}
		    - batch_norm
		    - add: {inputs: [three, previous]}
		    - relu
		    - conv2d: {filters: 12, kernel: 1, bias: false, name: four}
		    - conv2d: {filters: 12, kernel: 1, bias: false}
		    - batch_norm
		    - add: {inputs: [four, previous]}
		    - relu
		    - conv2d: {filters: 4, kernel: 1}
		data: {train: data/coads-train.dlx, transforms: [{crop: {size: [10, 14]}}, {normalize: {method: standard, mask: validity}}]}
		loss: softmax_cross_entropy
		optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
		train: {steps: 3, batch_size: 2}
		checkpoint: {every: null}
		report: {progress: none}
	END
}
ranks=
small() {
	capped $ranks "$emulated" --device=cuda "$@"
}
# nodes OP: how many of them are in the plan.
nodes() {
	awk -v op="$1" '$3 == op { n++ } END { print n + 0 }' out
}
# signs NAME APPLY WHOLE OPTION...: both ways; expects this many norms that make signs, by given statistics and by their own, and three
# gradients that read them.
signs() {
	name=$1 apply=$2 whole=$3
	shift 3
	for bits in no yes; do
		[ $bits = yes ] && skipped=nothing || skipped=signs
		export DLX_DEBUG="$(debug skip=$skipped)"
		expect 0 small --plan "$@"
		[ $bits = yes ] && expected="$apply $whole 3" || expected="0 0 0"
		found="$(nodes batch_norm_apply_signs) $(nodes batch_norm_signs) $(nodes batch_norm_grad_signs)"
		[ "$found" = "$expected" ] || { cat out; fail "$name, signs=$bits: nodes $found, expected $expected"; }
		expect 0 small --quiet --set run.dir="runs/$name-$bits" "$@"
	done
	[ "$(newest_state "runs/$name-yes")" = "$(newest_state "runs/$name-no")" ] || fail "$name: other bits"
}

# A pack of 16 bytes, of 8 and of 2 (4 in float32) is what a thread reads at once of windows at these offsets; fp16 is as large as bf16.
for offset in 8 12 13; do
	network at-$offset $offset
	for t in f32 bf16; do
		signs $t-at-$offset 2 1 --set precision.compute=$t at-$offset.yaml
	done
done
signs fp16-at-8 2 1 --set precision.compute=fp16 at-8.yaml

# What is stored as 0 in fp16 is not above zero, though it was before it was rounded. Norms of it do not divide by next to nothing.
network under 8 1e-8
sed 's/- batch_norm$/- batch_norm: {eps: 1}/' under.yaml >tiny.yaml
signs tiny 2 1 --set precision.compute=fp16 tiny.yaml

# In less memory signs and activations are made again together, or activations alone. One step shows it: a captured step is launched above.
sed 's/size: \[10, 14\]/size: [40, 56]/' at-8.yaml >large.yaml
steps=train.steps=$(form 1 3)
signs large 2 1 --set precision.compute=bf16 --set "$steps" large.yaml
signs limit 3 1 --set precision.compute=bf16 --set "$steps" --set train.memory.limit=1500KiB large.yaml
[ "$(newest_state "runs/limit-yes")" = "$(newest_state "runs/large-yes")" ] || fail "made again, other bits"

# By the statistics of two ranks all norms are whole.
several_ranks
export DLX_EMULATE_GPUS=0,1
ranks='mpiexec -n 2'
for t in f32 bf16; do
	signs ranks-$t 0 3 --set precision.compute=$t --set parallel.sync_batch_norm=true --set train.batch_size=1 at-12.yaml
done
pass
