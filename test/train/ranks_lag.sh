#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Gradients that are one step late on several ranks: the parameters of one rank with the same global batch; stopped and resumed
# the same bits, also where sums travel in 16 bits and a checkpoint is made while they do.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
coads_data
config=$DLX_SOURCE/test/train/tiny.yaml
export OMP_NUM_THREADS=1

# run RANKS DIR SETTING...
run() {
	n=$1
	dir=$2
	shift 2
	expect 0 on_ranks "$n" "$train" --quiet --set parallel.gradient_lag=1 --set run.dir="$dir" "$@" "$config"
}

for n in 1 $(form 3 "2 3"); do
	run $n runs/on-$n --set model.batch_norm=none --set train.clip_norm=0.5 --set train.global_batch_size=6 \
		--set train.batch_size=null
	expect 0 "$train" --set parallel.gradient_lag=1 --set run.dir=runs/on-$n --set model.batch_norm=none \
		--export runs/on-$n.safetensors "$config"
	weights_close runs/on-$n.safetensors runs/on-1.safetensors 5e-6 ||
		fail "$n ranks are not one"
done

for wire in $(form "f32 fp16" "f32 bf16 fp16"); do
	set -- --set train.batch_size=1 --set precision.wire=$wire --set precision.loss_scale=dynamic --set train.accumulate=2
	run 2 runs/whole-$wire "$@" --set train.steps=5
	run 2 runs/often-$wire "$@" --set train.steps=5 --set checkpoint.every.steps=1
	run 2 runs/stopped-$wire "$@" --set train.steps=3
	expect 0 on_ranks 2 "$train" --quiet --set parallel.gradient_lag=1 --set run.dir=runs/stopped-$wire "$@" \
		--set train.steps=5 --resume "$config"
	want=$(newest_state runs/whole-$wire)
	[ "$(newest_state runs/often-$wire)" = "$want" ] || fail "$wire: checkpoints change the bits"
	[ "$(newest_state runs/stopped-$wire)" = "$want" ] || fail "$wire, resumed: other bits"
done
pass
