#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples that are cut over ranks with an emulated GPU each: 2, 3 and 4 ranks train, validate and predict as a CPU rank with whole samples
# does, whatever order streams and events leave open; several teams; memory as planned; with norms, averages and a loss that are sums over
# a sample's points, too. Then a rank whose rows never come.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
several_ranks
export DLX_EMULATE_GPUS=0,1,2,3
base="--set train.batch_size=null --set train.steps=2 --set parallel.grouping=count:2 --set train.global_batch_size=4"
crop='data.transforms=[{crop: {size: [12, 14], validation: centre}}, {normalize: {method: standard, mask: validity}}]'

# run RANKS DEVICE CUT DIR SETTING...: and the weights as DIR.safetensors
run() {
	n=$1
	device=$2
	cut=$3
	dir=$4
	shift 4
	program=$train
	[ "$device" = cuda ] && program=$emulated
	expect 0 on_ranks "$n" "$program" --quiet --device="$device" --set run.dir="$dir" $base --set "$crop" "$@" --set "parallel.spatial=$cut" "$config"
	expect 0 "$train" --set run.dir="$dir" $base --set "$crop" "$@" --export "$dir.safetensors" "$config"
}
close() {
	weights_close "$1.safetensors" "$2.safetensors" "$3" || fail "other weights: $*"
}
run 1 cpu null runs/one
for grid in $(form '2:[2,1] 3:[1,3]' '2:[2,1] 3:[1,3] 4:[2,2]'); do
	run "${grid%%:*}" cuda "${grid#*:}" "runs/cut-${grid%%:*}"
	close runs/one "runs/cut-${grid%%:*}" 5e-5
done
DLX_EMULATE_ORDER=early run 2 cuda '[2,1]' runs/early
[ "$(newest_state runs/early)" = "$(newest_state runs/cut-2)" ] || fail "another order of streams: other bits"
run 2 cpu null runs/two
run 4 cuda '[1,2]' runs/teams
close runs/two runs/teams 1e-3
run 4 cuda '[1,2]' runs/synced --set parallel.sync_batch_norm=true
close runs/one runs/synced 5e-5
# One sample at a time, whose rows are joined where they are computed.
single="--set train.global_batch_size=1 --set data.transforms.0.crop.size=[16,16]"
run 1 cpu null runs/single $single
run 2 cuda '[2,1]' runs/rows $single
close runs/single runs/rows 5e-5
run 2 cuda '[2,1]' runs/half --set precision.compute=bf16 --set precision.allow_emulation=true
close runs/one runs/half 0.1

# The sums over a sample's points: group and instance norm, a global average, and Dice.
cat >norms.yaml <<END
run: {dir: runs/norms, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same, bias: false}
    - group_norm: 2
    - relu: {name: body}
    - global_average: {keep: true}
    - resize: {size: [12, 14]}
    - multiply: [body, previous]
    - conv2d: {filters: 8, kernel: 3, padding: same, bias: false}
    - instance_norm: {affine: true}
    - layer_norm
    - relu
    - conv2d: {filters: 4, kernel: 1}
data: {train: data/coads-train.dlx, validation: data/coads-validation.dlx}
loss: {type: dice_cross_entropy}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05}
checkpoint: {every: null}
END
plain=$config
config=norms.yaml
run 1 cpu null runs/norms
for grid in $(form '2:[2,1] 3:[1,3]' '2:[2,1] 3:[1,3] 4:[2,2]'); do
	run "${grid%%:*}" cuda "${grid#*:}" "runs/norms-${grid%%:*}"
	close runs/norms "runs/norms-${grid%%:*}" 5e-5
done
run 2 cuda '[2,1]' runs/norms-half --set precision.compute=bf16 --set precision.allow_emulation=true
close runs/norms runs/norms-half 0.1

# predict DIR: with the weights of a run, by whole samples and by samples that are cut.
predict() {
	for ranks in 1 2; do
		device=cpu program=$train cut=null
		[ $ranks = 1 ] || { device=cuda program=$emulated cut='[1,2]'; }
		expect 0 on_ranks $ranks "$program" --device=$device --set run.dir="$1" $base --set "$crop" --set "parallel.spatial=$cut" \
			--predict data/coads-validation.dlx -o "predicted-$ranks.npy" "$config"
	done
	npy_close predicted-1.npy predicted-2.npy 1e-4 || fail "other predictions: $1"
}
predict runs/norms
config=$plain
predict runs/one

# A rank whose rows never come is reported once.
lost_rank hang:11 --set run.dir=runs/hang $base --set "$crop" --set 'parallel.spatial=[2,1]'
says err "the message 'conv_init: row "
says err " is not complete after $patience"
[ "$(grep -c 'is not complete after' err)" = 1 ] || fail "not one report: $(cat err)"
pass
