#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Evaluation with the GPU backend, its device code run on the host, where the norms, adds and ReLUs after convolutions are fused into
# them: loss and metrics of a trained network are the CPU's.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
coads_data
cat >net.yaml <<'END'
run: {name: net, dir: runs/net, seed: 4}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same, name: a}
    - batch_norm
    - relu: {name: first}
    - conv2d: {filters: 8, kernel: 3, padding: same, bias: false}
    - batch_norm: {name: second}
    - add: {inputs: [second, first]}
    - leaky_relu: {slope: 0.1}
    - conv2d: {filters: 8, kernel: 1, name: third}
    - batch_norm
    - conv2d: {filters: 8, kernel: 1}
    - relu
    - conv2d: {filters: 4, kernel: 1}
data:
  train: data/coads-train.dlx
  validation: data/coads-validation.dlx
  transforms: [{crop: {size: [12, 14]}}, {normalize: {method: standard, mask: validity}}]
loss: softmax_cross_entropy
metrics: [accuracy, mean_iou, top_2, mean_f1]
optimizer: {type: sgd, learning_rate: 0.05}
train: {steps: 5, batch_size: 4}
checkpoint: {every: null}
END
expect 0 "$train" --device=cpu net.yaml
# last NAME FILE: the number of this name in the last line
last() {
	tail -n 1 "$2" | sed "s/.*\"$1\": *\([-0-9.e]*\).*/\1/"
}
expect 0 "$train" --device=cpu --evaluate net.yaml
cp out on_cpu
for t in f32 bf16 fp16; do
	[ "$t" = f32 ] && far=1e-4 || far=2e-2
	expect 0 "$emulated" --device=cuda --evaluate --set "precision.compute=$t" --set precision.allow_emulation=true net.yaml
	for name in loss accuracy mean_iou top_2 mean_f1; do
		echo "$(last $name on_cpu) $(last $name out) $far" |
			awk '{ d = $1 - $2; far = $3 * ($1 > 1 ? $1 : 1); exit !($1 > 0 && d <= far && -d <= far) }' ||
			fail "the GPU's $name in $t is $(last $name out), the CPU's $(last $name on_cpu)"
	done
done
pass
