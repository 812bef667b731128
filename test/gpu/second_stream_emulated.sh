#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gradients to weights and updates of a four_steps step run on a second stream, next to the other kernels: whatever the order in which streams
# do what nothing orders, the run has the bits of one with all kernels in line.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
four_steps_data
# planned LEAST MOST OPTION...: how many nodes of a step are aside.
planned() {
	least=$1 most=$2
	shift 2
	expect 0 four_steps --plan --dump=second_stream "$@"
	n=$(grep -c ' aside until ' out)
	[ "$n" -ge "$least" ] && [ "$n" -le "$most" ] || fail "$n nodes are aside with $*, not $least to $most"
}
# equal NAME OPTION...: in line, and in three orders.
equal() {
	name=$1
	shift
	DLX_DEBUG=$(debug skip=second_stream) expect 0 four_steps --set run.dir="runs/$name" "$@"
	for order in late early 7; do
		DLX_EMULATE_ORDER=$order expect 0 four_steps --set run.dir="runs/$name-$order" "$@"
		same_run "runs/$name" "runs/$name-$order"
	done
}
planned 8 20
for o in momentum adam rmsprop clip larc accumulated scaled average; do
	case $o in
	momentum) set -- --set 'optimizer={type: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.01}' ;;
	adam) set -- --set 'optimizer={type: adam, learning_rate: 0.003}' --set precision.compute=f32 ;;
	rmsprop) set -- --set 'optimizer={type: rmsprop, learning_rate: 0.003, momentum: 0.9}' ;;
	clip) set -- --set train.clip_norm=0.1 ;;
	larc) set -- --set 'optimizer={type: sgd, trust: larc, learning_rate: 0.05}' ;;
	accumulated) set -- --set train.accumulate=2 ;;
	scaled) set -- --set precision.compute=fp16 --set 'precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}' ;;
	average) set -- --set 'optimizer={type: adam, learning_rate: 0.003, average: {decay: 0.9}}' --set checkpoint.every.steps=1 ;;
	esac
	planned 2 20 "$@"
	equal $o "$@"
done

# Not in a large step, under a memory limit, on a CPU, or in a plan to evaluate.
planned 0 0 --set model.growth=400 --set model.initial_filters=800 --set 'data.transforms=[{crop: {size: [90, 180]}}]'
planned 0 0 --set 'train.memory={limit: 1GiB}'
DLX_DEBUG=$(debug skip=second_stream) planned 0 0
planned 0 0 --device=cpu --set precision.allow_emulation=true

several_ranks
export DLX_EMULATE_GPUS=0,1
ranks='mpiexec -n 2'
planned 2 20
equal ranks
pass
