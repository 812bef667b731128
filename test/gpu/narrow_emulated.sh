#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gradients of weights that cuDNN makes in 16 bits stay so until the update, where all that read them can: updates, norms, sums over
# micro-batches, the largest magnitude. The run has the bits of one that casts each of them; over ranks, which add float32, they are cast.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
four_steps_data
# casts FILE: kernels that cast one tensor.
casts() {
	awk '/^\(?cast/ { n += $2 } END { print n + 0 }' "$1"
}
# narrow NAME OPTION...: both ways; $fewer: casts that are not made.
narrow() {
	name=$1
	shift
	DLX_DEBUG=$(debug skip=narrow) DLX_EMULATE_LAUNCHES=$PWD/$name.wide expect 0 four_steps --set run.dir="runs/$name-wide" "$@"
	DLX_EMULATE_LAUNCHES=$PWD/$name.narrow expect 0 four_steps --set run.dir="runs/$name" "$@"
	[ "$(newest_state "runs/$name")" = "$(newest_state "runs/$name-wide")" ] || fail "$name: other bits"
	fewer=$(($(casts "$name.wide") - $(casts "$name.narrow")))
}
# It has two convolutions; the first run of a plan launches kernels, the second is recorded, which launches them, too.
for o in sgd momentum adam rmsprop clip larc lamb accumulated scaled; do
	case $o in
	sgd) set -- --set 'optimizer={type: sgd, learning_rate: 0.05}' ;;
	momentum) set -- --set 'optimizer={type: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true, weight_decay: 0.01}' ;;
	adam) set -- --set 'optimizer={type: adam, learning_rate: 0.003, average: {decay: 0.9}}' ;;
	rmsprop) set -- --set 'optimizer={type: rmsprop, learning_rate: 0.003, momentum: 0.9}' ;;
	clip) set -- --set train.clip_norm=0.1 ;;
	larc) set -- --set 'optimizer={type: sgd, trust: larc, learning_rate: 0.05}' ;;
	lamb) set -- --set 'optimizer={type: lamb, learning_rate: 0.003}' ;;
	accumulated) set -- --set train.accumulate=2 ;;
	scaled) set -- --set precision.compute=fp16 --set 'precision.loss_scale={type: dynamic, start: 6.338253001141147e+29, most: 1.0e+30, factor: 65536}' ;;
	esac
	narrow $o "$@"
	[ "$fewer" -gt 0 ] || { cat $o.narrow; fail "$o: no cast less"; }
done
several_ranks
export DLX_EMULATE_GPUS=0,1
ranks='mpiexec -n 2'
narrow ranks
[ "$fewer" -eq 0 ] || fail "over ranks $fewer casts are not made"
pass
