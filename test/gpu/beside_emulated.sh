#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A GPU has its next step before the host knows what came of the last one: lines, checkpoints, evaluations and what a run ends with are
# those of a run that waits for each node (CUDA_LAUNCH_BLOCKING=1).
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .

small() {
	capped "$emulated" --device=cuda --set 'data.transforms=[{crop: {size: [10, 14]}}, {normalize: {method: standard, mask: validity}}]' \
		--set train.batch_size=1 --set precision.allow_emulation=true "$@" tiny.yaml
}
# What does not depend on the clock.
lines() {
	grep -E '"type": *"(step|validation)"' "runs/$1/metrics.jsonl" |
		sed -E 's/"(time|seconds|samples_per_second)": *[^,}]*,?//g'
}
both() {
	name=$1
	shift
	expect 0 small --set "run.dir=runs/$name" "$@"
	CUDA_LAUNCH_BLOCKING=1 expect 0 small --set "run.dir=runs/$name-waits" "$@"
	lines "$name" >a
	lines "$name-waits" >b
	[ "$(grep -c '"step"' a)" -ge 7 ] || fail "$name: not a line for each step: $(cat a)"
	cmp a b || fail "$name: the runs' lines differ: $(diff a b | head -4)"
	[ "$(ls "runs/$name/checkpoints/versions" | wc -l)" -eq "$(ls "runs/$name-waits/checkpoints/versions" | wc -l)" ] ||
		fail "$name: the runs have not as many checkpoints"
	[ "$(newest_state "runs/$name")" = "$(newest_state "runs/$name-waits")" ] || fail "$name: the runs end with other bits"
}
both plain --set train.steps=9
for host in slow fast; do
	export DLX_EMULATE_HOST=$host
	both $host --set train.steps=9 --set 'schedule={type: constant, warmup: {steps: 8}}'
done
unset DLX_EMULATE_HOST
both due --set train.steps=9 --set train.validate.steps=3 --set checkpoint.every.steps=4 --set checkpoint.keep.last=9
# Epochs of four samples, two of which make a step and the last makes one alone.
both epochs --set train.steps=8 --set train.accumulate=2 --set train.batch_size=3 --set train.validate.epochs=1
both scaled --set train.steps=9 --set precision.compute=fp16 --set 'precision.loss_scale={type: dynamic, start: 1048576}'
grep -q '"skipped": *[1-9]' a || fail "no step was left out"

# Steps that are left out by a node of the plan: the host learns of it when the next step is under way.
both outliers --set train.steps=9 --set train.on_nonfinite=skip --set 'train.skip_outliers={gradient: 0.5, window: 2}'
grep -q '"skipped": *[1-9]' a || fail "no step was left out as an outlier"
grep -o '"skipped", .*' runs/outliers/metrics.jsonl >skipped
grep -o '"skipped", .*' runs/outliers-waits/metrics.jsonl | cmp - skipped || fail "other steps were left out"
expect 0 small --device=cuda --replay 0..last --set run.dir=runs/outliers --set train.steps=9 --set train.on_nonfinite=skip \
	--set 'train.skip_outliers={gradient: 0.5, window: 2}'

# With weights that went wild every step is left out; where no step is ahead each is looked into, too.
both skip --set train.steps=9 --set train.on_nonfinite=skip --set optimizer.learning_rate=1000000 --set model.batch_norm=none
grep -q '"skipped": *[3-9]' a || fail "no step was left out as not finite"
grep -q '"nonfinite", "step".*"found": true' runs/skip-waits/metrics.jsonl || fail "not looked into"

# A line that cannot be written ends the run, whose state is saved with the step that was under way.
DLX_DEBUG=$(debug fault=append:5) expect 74 small --set run.dir=runs/line --set train.steps=9 --set report.tensorboard=false
says err 'continue with --resume'
expect 0 small --set run.dir=runs/line --set train.steps=9 --set report.tensorboard=false --resume
says out 'resuming from checkpoint'
[ "$(newest_state runs/line)" = "$(newest_state runs/plain)" ] || fail "a run that could not write a line goes on with other bits"

# What goes wrong in a step is said of that step, and no checkpoint has it.
wild="--set optimizer.learning_rate=1000000 --set model.batch_norm=none --set train.steps=9 --set checkpoint.every.steps=1"
# shellcheck disable=SC2086
expect 76 small --set run.dir=runs/wild $wild
grep -o 'the loss is not finite.*at step [0-9]*' err >a
says err 'the first values that are not finite are made by'
says err ' of the training set'
grep -h '"nonfinite"' runs/wild/metrics.jsonl >found
# shellcheck disable=SC2086
CUDA_LAUNCH_BLOCKING=1 expect 76 small --set run.dir=runs/wild-waits $wild
grep -o 'the loss is not finite.*at step [0-9]*' err >b
grep -h '"nonfinite"' runs/wild-waits/metrics.jsonl | sed 's/"from": "[^"]*"//' >found-waits
sed 's/"from": "[^"]*"//' found | cmp - found-waits || fail "with a step ahead it is found elsewhere: $(cat found found-waits)"
[ -s a ] && cmp a b || fail "the loss is not finite at different steps: $(cat a b)"
# shellcheck disable=SC2086
expect 76 small --set run.dir=runs/wilder --set optimizer.learning_rate=1000000 --set model.batch_norm=none --set train.steps=9 --set checkpoint.every=null
grep -o 'the loss is not finite.*at step [0-9]*' err >b
cmp a b || fail "with a step ahead the loss is not finite at another step: $(cat a b)"
[ -z "$(ls runs/wilder/checkpoints/versions 2>/dev/null)" ] || fail "what is not finite was saved"
pass
