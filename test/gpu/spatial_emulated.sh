#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples that are cut over ranks with an emulated GPU each: 2, 3 and 4 ranks train, validate and predict as a CPU rank with whole samples
# does, whatever order streams and events leave open; several teams; memory as planned. Then a rank whose rows never come.
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
# One sample at a time, whose rows are joined where they are computed.
single="--set train.global_batch_size=1 --set data.transforms.0.crop.size=[16,16]"
run 1 cpu null runs/single $single
run 2 cuda '[2,1]' runs/rows $single
close runs/single runs/rows 5e-5
run 2 cuda '[2,1]' runs/half --set precision.compute=bf16 --set precision.allow_emulation=true
close runs/one runs/half 0.1

for ranks in 1 2; do
	device=cpu program=$train cut=null
	[ $ranks = 1 ] || { device=cuda program=$emulated cut='[1,2]'; }
	expect 0 on_ranks $ranks "$program" --device=$device --set run.dir=runs/one $base --set "$crop" --set "parallel.spatial=$cut" \
		--predict data/coads-validation.dlx -o "predicted-$ranks.npy" "$config"
done
npy_close predicted-1.npy predicted-2.npy 1e-4 || fail "other predictions"

# A rank whose rows never come is reported once.
lost_rank hang:11 --set run.dir=runs/hang $base --set "$crop" --set 'parallel.spatial=[2,1]'
says err "the message 'conv_init: row "
says err " is not complete after $patience"
[ "$(grep -c 'is not complete after' err)" = 1 ] || fail "not one report: $(cat err)"
pass
