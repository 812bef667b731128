#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Samples of several sizes with the GPU backend, its device code run on the host: a recorded graph for each size gives the CPU's losses,
# and those of one rank on two, whose short batches are launched eagerly.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
digits s16 16 11 1000 --channel-names x
digits s24 24 9 1000 --channel-names x
cat >sizes.yaml <<'END'
run: {name: sizes, dir: runs/sizes, seed: 3}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 2, kernel: 1}
data:
  train: [s16.dlx, s24.dlx]
  transforms: [{cast: 100}]
loss: {type: softmax_cross_entropy}
metrics: [accuracy]
optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
schedule: {type: constant}
train: {epochs: 4, global_batch_size: 2}
checkpoint: {every: null}
report: {progress: lines, every: 1}
END
losses() {
	sed -n 's/.*"type": "step".*"loss": \([^,]*\),.*/\1/p' "runs/$1/metrics.jsonl"
}
# equal NAME: the losses of that run are the CPU's.
equal() {
	losses "$1" >"$1.losses"
	paste cpu.losses "$1.losses" | awk '{ d = $1 - $2; if (d < 0) d = -d; if (!(d <= 1e-4 * $1)) { print NR, $0; bad = 1 } }
		END { exit bad || NR != 44 }' || fail "the losses of $1 are others"
}
expect 0 "$train" --device=cpu --set run.dir=runs/cpu sizes.yaml
losses cpu >cpu.losses
expect 0 "$emulated" --device=cuda --set run.dir=runs/gpu sizes.yaml
says out 'batches of one size each: 24 x 24 (9 samples, 5 batches); 16 x 16 (11 samples, 6 batches)'
equal gpu
expect 0 "$emulated" --device=cuda --set run.dir=runs/resumed --set train.steps=17 sizes.yaml
expect 0 "$emulated" --device=cuda --set run.dir=runs/resumed --resume sizes.yaml
losses resumed | cmp - gpu.losses || fail "the losses of a resumed run are others"
if "$emulated" --version | grep -q NCCL && has_ranks; then
	export DLX_EMULATE_GPUS=0,1
	expect 0 on_ranks 2 "$emulated" --device=cuda --set run.dir=runs/two sizes.yaml
	equal two
fi
pass
