#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Loss scaling: a power of two changes no bit of the trained weights, with accumulation, clipping and a
# trust ratio too; a step that overflows changes nothing, is counted, and does not count for Adam; a
# resumed run ends with the same bits.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" "$@" "$config"
}
# weights DIR SETTING...: of that run, trained, in DIR.safetensors
weights() {
	dir=$1
	shift
	run "$dir" "$@"
	expect 0 "$train" --set run.dir="$dir" "$@" --export "$dir.safetensors" "$config"
}
same() {
	cmp -s "$1.safetensors" "$2.safetensors" || fail "$1 and $2 differ: $3"
}

n=0
for recipe in 'optimizer.momentum=0.9' 'optimizer={type: lamb, learning_rate: 0.01}' 'train.accumulate=2' \
	'train.clip_norm=0.5'; do
	n=$((n + 1))
	weights "runs/plain$n" --set "$recipe" --set train.steps=4
	for scale in '{type: static, scale: 1024}' '{type: dynamic, every: 2}' logmax; do
		weights "runs/scaled$n" --set "$recipe" --set train.steps=4 --set "precision.loss_scale=$scale"
		same "runs/plain$n" "runs/scaled$n" "$recipe, $scale"
		rm -r "runs/scaled$n"
	done
done
grep -q '"loss_scale"' runs/plain1/metrics.jsonl && fail "a run without loss scaling reports one"

# A loss of 10^9 and more, times 2^99: overflows, and still does times 2^79. The steps left out leave no
# trace: the first that is made is the first. Batches of the whole set in its order and no random numbers,
# so all steps are equal.
whole() {
	dir=$1
	shift
	weights "$dir" --set data.shuffle=false --set train.batch_size=8 --set model.dropout=0 \
		--set 'data.transforms=[{normalize: {method: standard, mask: validity}}]' \
		--set model.batch_norm=none \
		--set 'loss={type: softmax_cross_entropy, reduction: sum, scale: 1.0e+12}' --set 'optimizer={type: adam, learning_rate: 0.01}' "$@"
}
huge='precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}'
whole runs/once --set train.steps=1
whole runs/huge --set train.steps=10 --set "$huge"
skipped=$(sed -n 's/.*"type": "step".*"skipped": \([0-9]*\).*/\1/p' runs/huge/metrics.jsonl | tail -1)
[ "${skipped:-0}" -ge 1 ] || fail "no step was left out"
[ "$skipped" -lt 9 ] || fail "the scale did not come down"
whole runs/first --set train.steps=$((skipped + 1)) --set "$huge"
same runs/once runs/first "$skipped steps that overflowed left something behind"

whole runs/stop --set train.steps=2 --set "$huge"
whole runs/stop --set train.steps=10 --set "$huge" --resume
[ "$(newest_state runs/huge)" = "$(newest_state runs/stop)" ] || fail "resumed: other bits"

# Steps left out are no divergence, unless there is no other: a scale that stays too large ends the run, and so does a loss
# that is not finite. Neither leaves a checkpoint of it. Samples are small, since steps are many and size has no part in it.
diverges() {
	dir=$1
	text=$2
	shift 2
	expect 76 "$train" --set run.dir="$dir" --set data.shuffle=false --set train.batch_size=8 --set model.dropout=0 \
		--set 'data.transforms=[{crop: {size: [20, 28]}}, {normalize: {method: standard, mask: validity}}]' \
		--set model.batch_norm=none --set train.validate.epochs=0 --set train.steps=80 "$@" "$config"
	says err "$text"
	[ -z "$(ls "$dir/checkpoints/versions" 2>/dev/null)" ] || fail "$dir: what diverged was saved"
}
diverges runs/vain 'gradients are not finite in each of 50 steps' --set 'precision.loss_scale={type: static, scale: 1.0e+30}' \
	--set 'loss={type: softmax_cross_entropy, reduction: sum, scale: 1.0e+12}'
diverges runs/least 'at a loss scale of 1e+29 that falls no further' \
	--set 'precision.loss_scale={type: dynamic, start: 1.0e+30, most: 1.0e+30, least: 1.0e+29}' \
	--set 'loss={type: softmax_cross_entropy, reduction: sum, scale: 1.0e+12}'
diverges runs/wild 'dlx-train: the loss is not finite' --set optimizer.learning_rate=1e6

expect 78 "$train" --check --set 'precision.loss_scale={type: dynamic, start: 2, most: 1}' "$config"
says err "the scale must start between 'least' and 'most'"
pass
