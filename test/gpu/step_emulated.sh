#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Whole training steps of small networks with the GPU backend, its device code run on the host: loss, outputs, gradients and the
# parameters after the update against the CPU's. Then a training run, whose steps are one recording replayed, stopped and resumed.
. "${DLX_SOURCE:?}/test/lib.sh"
emulated=$DLX_BUILD/test/gpu/train_emulated
compare=$DLX_BUILD/test/gpu/compare_steps
[ -x "$emulated" ] || skip "dlx was built without CUDA"
ln -s "$DLX_SOURCE"/test/train/*.yaml "$DLX_SOURCE"/test/train/zoo/*.yaml .

# step NAME INPUT CLASSES: the CPU's step and the GPU's
step() {
	for device in cpu cuda; do
		program=$train
		[ $device = cuda ] && program=$emulated
		expect 0 "$program" --device=$device --synthetic --dump-step="$1-$device" --set "model.input=$2" \
			--set "model.classes=$3" --set train.batch_size=2 "$1.yaml"
	done
	"$compare" -t 2e-3 "$1-cpu" "$1-cuda" || fail "the GPU's step of $1 is another one"
}
step tiny '{channels: 2, size: [12, 16]}' 3
step tiramisu-small '{channels: 4, size: [8, 12]}' 3
step deepcam-mlperf-small '{channels: 4, size: [32, 32]}' 3
step deeplabv3+-sc18-small '{channels: 4, size: [32, 32]}' 3
step unet3d-lits-small '{channels: 1, size: [16, 16, 16]}' 3
step cosmoflow-mlperf-small '{channels: 4, size: [32, 32, 32]}' 4
"$compare" -t 1e-9 tiny-cpu deepcam-mlperf-small-cpu && fail "two different steps count as one"

[ -r "$coads" ] || pass
coads_data
run() {
	dir=$1
	shift
	expect 0 "$emulated" --device=cuda --set run.dir="$dir" --set 'data.transforms=[{crop: {size: [10, 14]}}]' \
		--set train.batch_size=2 --set train.accumulate=2 --set train.clip_norm=1.0 "$@" tiny.yaml
}
run whole --set train.steps=3
run stop --set train.steps=1
run stop --set train.steps=3 --resume
[ "$(newest_state whole)" = "$(newest_state stop)" ] || fail "stopped and resumed: other bits than the whole run"
pass
