#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Parameters with learning_rate_factor 0 are frozen: they keep their bits and have no moments, so that versions share their chunks.
# Runs are resumed with the same bits, and parameters may be frozen, or trained again, on the way.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
groups="optimizer.groups=[{match: 'conv_output*', learning_rate_factor: 1}, {match: '*', learning_rate_factor: 0}]"

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" --set checkpoint.every.steps=1 --set checkpoint.keep.last=20 "$@" tiny.yaml
}

# version RUN STEP: what its manifest says of tensors but statistics, a line each: name, use, contents.
version() {
	sed -n 's/.*"name": "\([^"]*\)".*"use": "\([^"]*\)", "chunks": \(.*\)}.*/\1 \2 \3/p' "$1"/checkpoints/versions/*0"$2"-*.json |
		grep -v 'running_'
}

for optimizer in '{type: adam, learning_rate: 0.01}' '{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 1.0e-4}' \
	'{type: rmsprop, momentum: 0.9, learning_rate: 0.001}'; do
	rm -rf runs
	set -- --set "optimizer=$optimizer" --set train.clip_norm=1.0
	run runs/frozen "$@" --set "$groups" --set train.steps=4
	version runs/frozen 1 | grep ' weight ' >first
	version runs/frozen 4 | grep ' weight ' >last
	[ "$(wc -l <first)" -gt 10 ] || fail "few weights in a version"
	diff first last >changed
	[ "$(grep -c '^>' changed)" -eq 1 ] && grep -q '^> conv_output.weight' changed || { cat changed; fail "$optimizer: what is frozen changes"; }
	version runs/frozen 4 | grep -v ' weight ' >moments
	grep -q '^conv_output.weight\.' moments || { cat moments; fail "$optimizer: no moments of what is trained"; }
	grep -v '^conv_output' moments && fail "$optimizer: moments of what is frozen"

	# Stopped and resumed.
	run runs/stopped "$@" --set "$groups" --set train.steps=2
	run runs/stopped "$@" --set "$groups" --set train.steps=4 --resume
	[ "$(newest_state runs/frozen)" = "$(newest_state runs/stopped)" ] || fail "$optimizer: resumed: other bits"

	# Trained from now on, with moments from zero; and frozen again.
	run runs/stopped "$@" --set train.steps=6 --resume
	version runs/stopped 6 | grep -q '^conv_init.weight\.' || fail "$optimizer: no moments of what is trained again"
	version runs/stopped 6 | grep ' weight ' | diff last - | grep -q '^> conv_init.weight' || fail "$optimizer: not trained again"
	run runs/stopped "$@" --set "$groups" --set train.steps=7 --resume
	version runs/stopped 7 | grep -q '^conv_init.weight\.' && fail "$optimizer: moments of what is frozen again"
done

# Nothing sums, clips or accumulates a gradient of what is frozen.
expect 0 "$train" --plan=json --ranks=2 --set "$groups" --set train.accumulate=2 --set train.clip_norm=1 --set train.batch_size=1 tiny.yaml
says out '"trainable_parameters": 96, "tensors": 1}'
[ "$(grep -o '"tensors": \[[^]]*\]' out)" = '"tensors": ["conv_output.weight"]' ] || fail "gradients of what is frozen are summed"
says out conv_output.weight.gradient_sum
! grep -o 'conv_init.weight.gradient_sum' out || fail "gradients of what is frozen are accumulated"

# All of it: a run that changes nothing but running statistics.
run runs/all --set "optimizer.groups=[{match: '*', learning_rate_factor: 0}]" --set train.steps=3
[ "$(version runs/all 1 | grep ' weight ')" = "$(version runs/all 3 | grep ' weight ')" ] || fail "a frozen network changes"

for setting in train.clip_norm=1 precision.loss_scale=dynamic precision.loss_scale=logmax train.on_nonfinite=skip \
	train.skip_outliers.gradient=4; do
	expect 0 "$train" --check --set "optimizer.groups=[{match: '*', learning_rate_factor: 0}]" --set "$setting" tiny.yaml
done
# What has no parameters is refused as before.
expect 78 "$train" --check --set 'model={family: layers, layers: [relu]}' \
	--set 'data.transforms=[{channels: [0, 1, 2, 3]}, {crop: {size: [20, 28]}}, {normalize: standard}]' tiny.yaml
says err 'the loss depends on no parameter of the model'

# With ranks, lagged gradients, a loss scale and bf16: what is frozen stays so.
if has_ranks; then
	expect 0 on_ranks 2 "$train" --quiet --set run.dir=runs/ranks --set "$groups" --set train.steps=3 --set parallel.gradient_lag=1 \
		--set train.batch_size=1 --set train.accumulate=2 $(compute_bf16 tiny.yaml) \
		--set precision.loss_scale=dynamic --set checkpoint.every.steps=1 --set checkpoint.keep.last=9 tiny.yaml
	version runs/ranks 1 | grep ' weight ' >first
	version runs/ranks 3 | grep ' weight ' | diff first - >changed
	[ "$(grep -c '^>' changed)" -eq 1 ] && grep -q '^> conv_output.weight' changed || { cat changed; fail "ranks: what is frozen changes"; }
fi

# Another optimizer's moments are missing as before.
expect 78 "$train" --set run.dir=runs/all --set 'optimizer={type: adam, learning_rate: 0.01}' --set train.steps=5 --resume tiny.yaml
says err 'has no tensor'

# A ratio of a layer counts all of its parameters, and averages are of all.
run runs/average --set "$groups" --set optimizer.average.decay=0.9 --set train.steps=2
version runs/average 2 | grep -q '^conv_init.weight.average' || fail "no average of what is frozen"

# Averages change nothing of the training, also where gradients of what is frozen, which they need, are next to the others.
for setting in train.clip_norm=0.01 'train.skip_outliers={gradient: 0.5, window: 2}'; do
	rm -rf runs
	run runs/plain --set "$groups" --set "$setting" --set train.steps=5
	run runs/average --set "$groups" --set "$setting" --set train.steps=5 --set optimizer.average.decay=0.9
	[ "$(version runs/plain 5 | grep ' weight ')" = "$(version runs/average 5 | grep ' weight ')" ] ||
		fail "$setting: other weights with averages of what is frozen"
done
pass
