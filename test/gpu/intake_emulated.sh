#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The next batch travels from where the loader has put it to where the first nodes of a step have read this one: losses, metrics and weights
# are those of runs that keep two places for a batch (DLX_DEBUG=skip=intake), in every order that streams and events leave open, and the plan
# has one batch less.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cp "$DLX_SOURCE/test/train/tiny.yaml" .
crop='data.transforms=[{crop: {size: [10, 14], validation: centre}}]'

# small DIR OPTION...: eight samples an epoch; a later --set goes before an earlier one.
small() {
	dir=$1
	shift
	expect 0 capped "$emulated" --device=cuda --set "$crop" --set train.batch_size=2 \
		--set train.steps=6 --set precision.allow_emulation=true --set run.dir="runs/$dir" "$@" tiny.yaml
}
# equal NAME OPTION...: both ways, the first one in several orders too; leaves the runs' folders.
equal() {
	name=$1
	shift
	DLX_DEBUG=$(debug skip=intake)
	small "$name-two" "$@"
	DLX_DEBUG=$(debug skip=nothing)
	small "$name" "$@"
	same_run "runs/$name-two" "runs/$name"
	for order in early 1 $(form "" "2 3 4 5"); do
		DLX_EMULATE_ORDER=$order small "$name-$order" "$@"
		same_run "runs/$name-two" "runs/$name-$order"
	done
}
number() {
	sed -n "s/.*\"$1\": \([0-9]*\).*/\1/p" out | head -n 1
}

equal plain
# Where one batch is ahead, its place is decoded to as soon as the loop requests the next.
equal ahead --set data.prefetch=1
for host in slow fast; do
	DLX_EMULATE_HOST=$host DLX_EMULATE_ORDER=early small "plain-$host"
	same_run runs/plain-two "runs/plain-$host"
done
# Node by node, as with an error that is looked for, and with the spans of a trace.
CUDA_LAUNCH_BLOCKING=1 small plain-waits
same_run runs/plain-two runs/plain-waits
small plain-trace --trace trace.json
same_run runs/plain-two runs/plain-trace

# Copies of weights, which are made again after a checkpoint that is loaded, come before the intake and are no part of it.
equal bf16 --set precision.compute=bf16 --set train.validate.steps=2 --set checkpoint.every.steps=2
small bf16-stopped --set precision.compute=bf16 --set train.validate.steps=2 --set checkpoint.every.steps=2 --set train.steps=3
small bf16-stopped --set precision.compute=bf16 --set train.validate.steps=2 --set checkpoint.every.steps=2 --resume
[ "$(newest_state runs/bf16-two)" = "$(newest_state runs/bf16-stopped)" ] || fail "stopped and resumed: other bits"
# Micro-batches: forward and backward are a graph of their own. Of three samples in a batch the last of an epoch is short, with a plan and
# a place of its own.
equal micro --set train.accumulate=2 --set data.mixup=0.4
equal short --set train.batch_size=3 --set train.steps=7
# Batches of validation take the same way, while the next one of training is on its way.
equal validated --set train.validate.steps=2 --set data.prefetch=1
equal validated-short --set train.batch_size=3 --set train.validate.steps=3
grep -q '"type": "validation"' runs/validated/metrics.jsonl || fail "no validation"
# Under a limit what the intake makes is kept, since the batch is gone when it would be made again.
(small none --plan --set train.memory.limit=1KiB) >/dev/null
limit=$(least_limit)
equal limit --set train.memory.limit="$limit"
# planned_nodes LIMIT
planned_nodes() {
	small none --plan --set train.memory.limit="$1"
	sed -n 's/^plan  *\([0-9]*\) nodes.*/\1/p' out
}
[ "$(planned_nodes "$limit")" -gt "$(planned_nodes null)" ] || fail "the limit of $limit has nothing run again"
# Steps that are looked into go back to batches that were there before.
equal skip --set train.on_nonfinite=skip --set optimizer.learning_rate=1000000 --set model.batch_norm=none

# plan WORD: the bytes of inputs and of the whole run, with the word of DLX_DEBUG.
plan() {
	DLX_DEBUG=$(debug "$1") small none --plan=json
	inputs=$(number inputs) all=$(number run)
}
plan skip=intake
two=$inputs two_all=$all
plan skip=nothing
batch=$((2 * 5 * 10 * 14 * 4))
[ $((two - inputs)) = $batch ] || fail "inputs have $inputs bytes, and $two with two places for a batch of $batch"
# The plan of a short batch, too.
[ $((two_all - all)) -ge $batch ] || fail "the run has $all bytes, and $two_all with two places for batches"
small counted
DLX_EMULATE_COUNT=$PWD/count small counted-more
[ "$(sed -n 's/most //p' count)" = "$all" ] || fail "planned $all bytes, took $(cat count)"
says count 'late 0'

# The loader's batches are in pinned memory, which is less than one batch more in all, and which the loader of a network that is only planned
# does without.
pinned() {
	small pinned --set 'data.transforms=[{crop: {size: [40, 60]}}]' --set data.validation=null --set data.keep_short_batch=false \
		--set data.prefetch=2 "$@"
}
batch=$((2 * (5 + 1) * 40 * 60 * 4))
for n in 2 3; do
	DLX_EMULATE_COUNT=$PWD/count pinned --set data.prefetch=$n --set "run.dir=runs/pinned-$n"
	[ $n = 2 ] || before=$host
	host=$(sed -n 's/host //p' count)
done
[ $((host - before)) = $batch ] || fail "a batch ahead has $((host - before)) bytes of pinned memory, and not $batch"
[ "$host" -ge $((4 * batch)) ] && [ "$host" -lt $((5 * batch)) ] || fail "$host bytes of pinned memory for 4 batches of $batch"
# Those of validation are in such memory, too, with no copy next to them.
DLX_EMULATE_COUNT=$PWD/count pinned --set 'data.transforms=[{crop: {size: [40, 60], validation: centre}}]' --set run.dir=runs/pinned-both \
	--set data.validation=data/coads-validation.dlx --set train.validate.steps=3
more=$(($(sed -n 's/host //p' count) - before))
[ $more -ge $((3 * batch)) ] && [ $more -lt $((4 * batch)) ] || fail "$more bytes of pinned memory for validation, and not 3 batches of $batch"
pinned --plan=json
[ "$(number host)" -ge $((3 * batch)) ] || fail "planned $(number host) bytes of the host for 3 batches of $batch"
DLX_EMULATE_PINNED=$((2 * batch)) pinned --plan=json
DLX_EMULATE_PINNED=$((2 * batch)) expect 69 capped "$emulated" --device=cuda --set "$crop" --set data.prefetch=64 --set run.dir=runs/none tiny.yaml
says err 'no pinned memory for 65 batches of '
says err "make 'train.batch_size' or 'data.prefetch' smaller"

# A batch that the network reads as it is, is read by the gradients too: it has two places.
cat >direct.yaml <<'YAML'
run: {name: direct, seed: 3}
model:
  family: layers
  layers:
    - flatten
    - dense: 4
data: {train: none.dlx, validation: null}
loss: softmax_cross_entropy
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 1, batch_size: 2}
YAML
for how in nothing intake; do
	DLX_DEBUG=$(debug skip=$how) expect 0 "$emulated" --device=cuda --plan=json --set 'model.input={channels: 3, size: [8, 8]}' \
		--set model.classes=4 direct.yaml
	[ "$(number inputs)" = "${direct:=$(number inputs)}" ] || fail "a batch that is read late has one place"
done

# Ranks, whose sums are in the captured step, and that show in no bit.
if "$emulated" --version | grep -q NCCL && has_ranks; then
	ranks() {
		expect 0 on_ranks 2 sh -c 'export DLX_EMULATE_GPUS=$PMI_RANK; exec "$@"' sh "$emulated" --quiet --device=cuda \
			--set "$crop" --set train.batch_size=1 --set train.steps=5 "$@" tiny.yaml
	}
	for how in intake nothing; do
		DLX_DEBUG=$(debug skip=$how)
		for order in late early; do
			export DLX_EMULATE_ORDER=$order
			ranks --set run.dir=runs/ranks-$how-$order
			ranks --set run.dir=runs/tree-$how-$order --set parallel.reproducible=true --set train.accumulate=2
			same_run runs/ranks-intake-late runs/ranks-$how-$order
			same_run runs/tree-intake-late runs/tree-$how-$order
		done
	done
fi
pass
