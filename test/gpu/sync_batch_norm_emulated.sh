#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Batch normalisation by the batches of several ranks with an emulated GPU each: 1, 2 and 4 ranks train as one rank with the same
# global batch does on a CPU, whatever order streams and events leave open; with groups of ranks, batches that are uneven or absent,
# micro-batches, late gradients, under a limit of memory and in 16 bits. Then a rank that never comes to such a sum.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
several_ranks
export DLX_EMULATE_GPUS=0,1,2,3
base="--set train.batch_size=null --set train.validate.epochs=0 --set train.steps=2 --set parallel.grouping=count:2"
crop='data.transforms=[{crop: {size: [10, 14]}}, {normalize: {method: standard, mask: validity}}]'
sync=parallel.sync_batch_norm

# run N DEVICE DIR SETTING...: two steps of a small crop, and the weights as DIR.safetensors
run() {
	n=$1
	device=$2
	dir=$3
	shift 3
	program=$train
	[ "$device" = cuda ] && program=$emulated
	expect 0 on_ranks "$n" "$program" --quiet --device="$device" --set run.dir="$dir" $base --set "$crop" "$@" "$config"
	expect 0 "$train" --set run.dir="$dir" $base --set "$crop" "$@" --export "$dir.safetensors" "$config"
}
close() {
	weights_close "$1.safetensors" "$2.safetensors" "$3" || fail "other weights: $*"
}
# equal TOLERANCE NAME COUNTS SETTING...: as one CPU rank
equal() {
	tolerance=$1
	name=$2
	counts=$3
	shift 3
	run 1 cpu runs/$name "$@"
	for n in $counts; do
		run "$n" cuda runs/$name-$n --set $sync=true "$@"
		close runs/$name runs/$name-$n "$tolerance"
	done
}
equal 5e-5 four "$(form "2 4" "1 2 4")" --set train.global_batch_size=4
DLX_EMULATE_ORDER=early run 2 cuda runs/four-early --set $sync=true --set train.global_batch_size=4
[ "$(newest_state runs/four-early)" = "$(newest_state runs/four-2)" ] || fail "another order of streams: other bits"
# Eight samples an epoch: of six and of two, of which one rank of three has none; and gradients that come a step late.
equal 5e-5 late "3" --set train.steps=3 --set train.global_batch_size=6 --set parallel.gradient_lag=1 --set parallel.grouping=size:4KiB
equal 1e-3 micro "2" --set train.global_batch_size=2 --set train.accumulate=3
equal 0.1 half "2" --set train.global_batch_size=4 --set precision.compute=bf16 --set precision.allow_emulation=true

# Without it ranks have something else.
run 2 cuda runs/local --set train.global_batch_size=4
weights_close runs/four.safetensors runs/local.safetensors 1e-3 >/dev/null 2>&1 &&
	fail "it changes nothing"

# Groups of two of four ranks are two ranks with twice the batch.
set -- --set train.global_batch_size=4
run 4 cuda runs/pairs "$@" --set $sync=2
run 2 cpu runs/two "$@"
close runs/two runs/pairs 1e-3

# What is computed again goes by the statistics that are there: the same bits, and no further message.
set -- "$@" --set train.global_batch_size=8 --set $sync=true --set "data.transforms=[{crop: {size: [20, 28], validation: centre}}]"
expect 78 "$emulated" --device=cuda --plan --ranks=2 $base "$@" --set train.memory.limit=1KiB "$config"
least=$(least_limit)
for limit in null $least; do
	expect 0 "$emulated" --device=cuda --plan --ranks=2 $base "$@" --set train.memory.limit=$limit "$config"
	cp out "plan-$limit"
	says out "batch norm    statistics of all 2 ranks: 10 sums more"
	run 2 cuda "runs/limit-$limit" "$@" --set train.memory.limit=$limit
done
grep -q ' batch_norm_apply ' "plan-$least" || fail "the limit of $least has nothing run again"
[ "$(newest_state runs/limit-null)" = "$(newest_state "runs/limit-$least")" ] || fail "run again, other bits"

# A rank whose statistics never come is reported once, with what waits for them, though sums of gradients wait, too.
lost_rank hang:14 --set run.dir=runs/hang $base --set "$crop" --set $sync=true --set train.global_batch_size=4
says err " is not complete after $patience"
[ "$(grep -c 'is not complete after' err)" = 1 ] || fail "not one report: $(cat err)"
pass
