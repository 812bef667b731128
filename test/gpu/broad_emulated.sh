#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernel for gradients from few channels to many (cuda/k_broad.cu), which is taken only where it is asked for: all widths of its blocks,
# channels that fill none of them, tiles over all borders, what follows it, and windows of a dense network's buffer.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
optest=$DLX_BUILD/test/gpu/optest_emulated
export DLX_EMULATE_LAUNCHES=$PWD/launches
# runs OP SAMPLE: the kernel makes it in 16 bits, as the reference does.
runs() {
	rm -f launches
	DLX_DEBUG=$(debug broad=yes way=ours) "$optest" --device=cuda --kernels --sample="$2" "$1" >out || { cat out; fail "$1 '$2' differs"; }
	grep -q '^(\?broad' launches || { cat launches; fail "$1 '$2' is made by other kernels"; }
}
# Emulated, the width of a block depends on the channels: 64, 80, 96, 112 and 128 for 40 to 72.
for channels in 40 48 56 64 72; do
	runs conv_grad_input_sum "2x32x9x17 32x${channels}x3x3! - 2x${channels}x9x17 ; pad_lo: 1, pad_hi: 1, input_size: [9, 17]"
done
for channels in 40 48 56 64; do
	runs conv_grad_input_sum "1x32x7x9 32x${channels}x5x5! - 1x${channels}x7x9 ; pad_lo: 2, pad_hi: 2, input_size: [7, 9]"
done
# One to four chunks of dy's channels, the last of them half full; several blocks; one pixel; paddings that differ.
runs conv_grad_input "1x16x8x8 16x136x3x3! ; pad_lo: 1, pad_hi: 1, input_size: 8"
runs conv_grad_input "1x24x11x5 24x200x5x5! ; pad_lo: [1, 3], pad_hi: [3, 0], input_size: [11, 6]"
runs conv_grad_input "1x40x1x1 40x64x3x3! ; pad_lo: 1, pad_hi: 1, input_size: 1"
runs conv_grad_input "3x64x6x10 64x80x3x3! ; input_size: [8, 12]"
# ReLU's mask, with and without what is added.
runs conv_grad_input_relu "1x32x9x10 32x72x3x3! - 1x72x9x10 1x72x9x10:away; pad_lo: 1, pad_hi: 1, input_size: [9, 10]"
runs conv_grad_input_relu "1x48x9x10 48x64x5x5! - - 1x64x9x10:away; pad_lo: 2, pad_hi: 2, input_size: [9, 10]"

# An older or a newer GPU has not the instructions.
for arch in 80 100; do
	rm -f launches
	DLX_EMULATE_ARCH=$arch DLX_DEBUG=$(debug broad=yes) "$optest" --device=cuda --kernels conv_grad_input_sum || fail "compute capability $arch"
	! grep -q '^(\?broad' launches || { cat launches; fail "compute capability $arch runs it"; }
done

# Layers that are concatenated: dy is a window, and sums are where they are.
coads_data
cat >dense.yaml <<-END
	run: {name: dense, seed: 3}
	model:
	  family: layers
	  layers:
	    - conv2d: {filters: 48, kernel: 3, padding: same, name: stem}
	    - conv2d: {filters: 16, kernel: 3, padding: same, name: c0}
	    - concat: {inputs: [stem, c0], name: one}
	    - relu
	    - conv2d: {filters: 16, kernel: 5, padding: same, name: c1}
	    - concat: {inputs: [one, c1], name: two}
	    - conv2d: {filters: 16, kernel: 3, padding: same, name: c2}
	    - concat: {inputs: [two, c2]}
	    - conv2d: {filters: 4, kernel: 1}
	data: {train: data/coads-train.dlx, transforms: [{crop: {size: [16, 20]}}, {normalize: {method: standard, mask: validity}}]}
	loss: softmax_cross_entropy
	optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9}
	precision: {compute: bf16}
	train: {steps: 2, batch_size: 2}
	report: {progress: none}
END
step() {
	DLX_DEBUG=$(debug "broad=$1,way=ours") expect 0 capped "$emulated" --device=cuda --quiet --synthetic --dump-step "step-$1" \
		--set model.input.channels=4 --set 'model.input.size=[16,20]' --set model.classes=4 dense.yaml
}
rm -f launches
step yes
grep -q '^(\?broad' launches || { cat launches; fail "a dense network does not take it"; }
step no
"$DLX_BUILD/test/gpu/compare_steps" -a -t 2e-2 step-no step-yes >out || { cat out; fail "a step of a dense network differs"; }
pass
