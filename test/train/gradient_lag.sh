#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# parallel.gradient_lag: the update of a step uses the gradient of the step before, the first step makes none; micro-batches
# make one mean by what counts in them. Stopped and resumed: the same bits.
. "${DLX_SOURCE:?}/test/lib.sh"
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
plain="--set model.batch_norm=none --set model.dropout=0"

run() {
	dir=$1
	shift
	expect 0 "$train" --set run.dir="$dir" $plain "$@" "$config"
	expect 0 "$train" --set run.dir="$dir" $plain "$@" --export "$dir.safetensors" "$config"
}

# same A B: parameters agree to rounding. Arguments after: those must differ by more.
same() {
	/usr/bin/env python3 "$DLX_SOURCE/test/train/weights_close.py" "$@" || fail "weights: $*"
}

sgd='optimizer={type: sgd, learning_rate: 0.05}'
run runs/one --set "$sgd" --set train.steps=1
run runs/late-none --set "$sgd" --set train.steps=1 --set parallel.gradient_lag=1
expect 0 "$train" --set run.dir=runs/none $plain --export runs/none.safetensors "$config"
run runs/late --set "$sgd" --set train.steps=2 --set parallel.gradient_lag=1
same runs/late-none.safetensors runs/none.safetensors 0
same runs/late.safetensors runs/one.safetensors 1e-6
cmp -s runs/late.safetensors runs/none.safetensors && fail "the second step made no update"

# Adam counts the updates it makes, so that its first is corrected as the first.
adam='optimizer={type: adam, learning_rate: 0.01}'
run runs/adam-one --set "$adam" --set train.steps=1
run runs/adam-late --set "$adam" --set train.steps=2 --set parallel.gradient_lag=1
same runs/adam-late.safetensors runs/adam-one.safetensors 1e-5

# Resumed, with everything that has a state of its own.
late="--set parallel.gradient_lag=1 --set train.accumulate=2 --set train.clip_norm=1.0 --set precision.loss_scale=dynamic"
run runs/whole $late --set train.steps=5
run runs/stopped $late --set train.steps=3
expect 0 "$train" --set run.dir=runs/stopped $plain $late --set train.steps=5 --resume "$config"
[ "$(newest_state runs/whole)" = "$(newest_state runs/stopped)" ] || fail "resumed: other bits"

# Two micro-batches of three are a batch of six, although their valid cells differ in number. Sums of another order differ by
# 3e-6 of the largest value on a processor without AVX-512.
run runs/six --set train.batch_size=6 --set train.steps=2
run runs/three --set train.accumulate=2 --set train.steps=2
same runs/six.safetensors runs/three.safetensors 2e-5
pass
