#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# parallel.reproducible: one global batch gives the same bits on any number of ranks: weights, running statistics, moments, losses and
# metrics, whatever the optimizer, precision, lag, grouping, hosts and threads; also where a run goes on on another number, and where
# the last step of an epoch has fewer leaves than ranks. What cannot be so is refused.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
coads_data
export OMP_NUM_THREADS=1
sed 's/crop: {size: .*}/crop: {size: [20, 28]}/' "$DLX_SOURCE/test/train/tiny.yaml" >tiny.yaml
config=tiny.yaml

# run RANKS DIR SETTING...: on $config.
run() {
	n=$1
	dir=$2
	shift 2
	expect 0 on_ranks "$n" "$train" --quiet --set parallel.reproducible=true --set run.dir="$dir" \
		--set train.validate.epochs=0 "$@" "$config"
}

# equal NAME SETTING...: on the numbers of ranks in $counts.
equal() {
	name=$1
	shift
	first=
	for n in $counts; do
		run "$n" "runs/$name-$n" --set train.steps=4 "$@"
		[ "$first" ] && same_run "$first" "runs/$name-$n"
		first=${first:-runs/$name-$n}
	done
}

begin "eight samples in an epoch"
eight="--set train.global_batch_size=8 --set train.batch_size=1"
counts="1 2 4 8"
equal base $eight
first_losses=$(losses_of runs/base-1)
[ "$(echo "$first_losses" | sort -u | wc -l)" -eq 5 ] || fail "not four losses and a validation: $first_losses"
counts=$(form "1 4" "1 2 4")
equal augment $eight --set 'data.transforms=[{normalize: {method: standard, mask: validity}}, {rotate: 15}, {elastic: 1.5},
{crop: {size: [20, 28]}}, {contrast: 0.2}, {brightness: {shift: 0.1, per: channel}}, {noise: 0.05}]' --set data.mixup=0.4
equal adam $eight --set 'optimizer={type: adam, learning_rate: 0.003}' --set parallel.gradient_lag=1 --set parallel.grouping=none \
	--set train.clip_norm=0.3
equal lamb $eight --set 'optimizer={type: lamb, learning_rate: 0.01}' --set parallel.grouping=size:4KiB \
	$(compute_bf16 "$config") --set precision.loss_scale=dynamic
equal dice $eight --set 'loss={type: dice_cross_entropy, class_weights: inverse_frequency}'

begin "micro-batches of three, two of them and a short one of two; two of the global batches in a step"
equal lars --set train.global_batch_size=6 --set train.batch_size=3 --set train.accumulate=2 --set parallel.grouping=count:2 \
	--set 'optimizer={type: sgd, learning_rate: 0.05, momentum: 0.9, trust: {type: lars, eta: 0.02}}' --set parallel.gradient_lag=1

begin "the last step has one micro-batch and a part of another; the other ranks have none"
equal absent --set train.global_batch_size=20 --set train.batch_size=5 \
	--set 'optimizer={type: rmsprop, learning_rate: 0.002, average: {decay: 0.9}}'

begin "steps of six micro-batches and of two"
counts=$(form "1 3" "1 3 6")
equal six --set train.global_batch_size=6 --set train.batch_size=1

begin "hosts, each of two ranks, and of one"
for hosts in 1 2; do
	DLX_DEBUG=$(debug ranks_per_host=$hosts)
	run 4 runs/hosts-$hosts --set train.steps=4 $eight
	DLX_DEBUG=$(debug ranks_per_host=0)
	same_run runs/base-1 runs/hosts-$hosts
done

begin "other numbers of threads"
OMP_NUM_THREADS=3 run 1 runs/threads --set train.steps=4 $eight
same_run runs/base-1 runs/threads
expect 0 on_ranks 1 env OMP_NUM_THREADS=2 "$train" --quiet --set parallel.reproducible=true --set run.dir=runs/uneven \
	--set train.validate.epochs=0 --set train.steps=4 $eight "$config" : -n 1 env OMP_NUM_THREADS=1 "$train" --quiet \
	--set parallel.reproducible=true --set run.dir=runs/uneven --set train.validate.epochs=0 --set train.steps=4 $eight "$config"
same_run runs/base-1 runs/uneven

begin "two ranks, then four, then one"
for lag in $(form 1 "0 1"); do
	set -- $eight --set parallel.gradient_lag=$lag
	run 2 runs/moved-$lag --set train.steps=1 "$@"
	run 4 runs/moved-$lag --set train.steps=3 "$@" --resume
	run 1 runs/moved-$lag --set train.steps=4 "$@" --resume
done
! big || [ "$(newest_state runs/moved-0)" = "$(newest_state runs/base-1)" ] || fail "2, 4, 1 ranks: not the bits of one"
run 1 runs/lag-1 --set train.steps=4 $eight --set parallel.gradient_lag=1
[ "$(newest_state runs/moved-1)" = "$(newest_state runs/lag-1)" ] || fail "2, 4, 1 ranks with a lag: not the bits of one"

begin "the bits are those of this order, not of any"
expect 0 "$train" --quiet --set run.dir=runs/plain --set train.validate.epochs=0 --set train.steps=4 --set train.batch_size=1 \
	--set train.accumulate=8 "$config"
[ "$(newest_state runs/plain)" != "$(newest_state runs/base-1)" ] || fail "reproducible changes nothing"

begin "the same metrics by --evaluate"
expect 0 "$train" --set parallel.reproducible=true --set run.dir=runs/base-1 $eight --evaluate "$config"
cp out evaluate.1
expect 0 on_ranks 4 "$train" --set parallel.reproducible=true --set run.dir=runs/base-1 $eight --evaluate "$config"
sed 's/"seconds": [^,}]*//' evaluate.1 >one
sed 's/"seconds": [^,}]*//' out >four
cmp one four || fail "--evaluate on 4 ranks: other digits"

begin "refused"
# refused RANKS STATUS TEXT SETTING...
refused() {
	n=$1
	status=$2
	text=$3
	shift 3
	expect "$status" on_ranks "$n" "$train" --quiet --set parallel.reproducible=true --set run.dir=runs/refused "$@" "$config"
	says err "$text"
}
refused 3 78 "a step of 8 micro-batches of 1 samples cannot be summed in one order by 3 ranks; expected 1, 2, 4 or 8" $eight
refused 2 78 "expected 1, 3 or 6" --set train.global_batch_size=6 --set train.batch_size=1
refused 2 78 "a power of two of micro-batches in a step, not 3" --set train.batch_size=1 --set train.accumulate=3
refused 1 78 "cannot be cut into micro-batches of 3" --set train.global_batch_size=8 --set train.batch_size=3
refused 1 78 "give their 'batch_size' too" --set train.global_batch_size=8 --set train.batch_size=null
refused 1 78 "gradients travel in f32" $eight --set precision.wire=bf16
DLX_DEBUG=$(debug ranks_per_host=3) refused 4 78 "each host must have the same number, a power of two" $eight
pass
