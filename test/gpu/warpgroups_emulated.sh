#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The kernels by products of warpgroups, which are taken only where they are asked for: for gradients from few channels to many
# (cuda/k_broad.cu) all widths of its blocks, and for few outputs (cuda/k_stacked.cu); channels that fill no block, tiles over all borders,
# what follows them, and windows of a dense network's buffer.
. "${DLX_SOURCE:?}/test/lib.sh"
. "$DLX_SOURCE/test/gpu/lib.sh"
optest=$DLX_BUILD/test/gpu/optest_emulated
export DLX_EMULATE_LAUNCHES=$PWD/launches
# runs KERNEL OP SAMPLE: the kernel makes it in 16 bits, as the reference does.
runs() {
	kernel=$1
	shift
	rm -f launches
	DLX_DEBUG=$(debug warpgroups=yes way=ours) "$optest" --device=cuda --kernels --sample="$2" "$1" >out || { cat out; fail "$1 '$2' differs"; }
	grep -q "^(\\?$kernel" launches || { cat launches; fail "$1 '$2' is made by other kernels"; }
}
# Emulated, the width of a block depends on the channels: 64, 80, 96, 112 and 128 for 40 to 72.
for channels in 40 48 56 64 72; do
	runs broad conv_grad_input_sum "2x32x9x17 32x${channels}x3x3! - 2x${channels}x9x17 ; pad_lo: 1, pad_hi: 1, input_size: [9, 17]"
done
for channels in 40 48 56 64; do
	runs broad conv_grad_input_sum "1x32x7x9 32x${channels}x5x5! - 1x${channels}x7x9 ; pad_lo: 2, pad_hi: 2, input_size: [7, 9]"
done
# One to four chunks of dy's channels, the last of them half full; several blocks; one pixel; paddings that differ.
runs broad conv_grad_input "1x16x8x8 16x136x3x3! ; pad_lo: 1, pad_hi: 1, input_size: 8"
runs broad conv_grad_input "1x24x9x5 24x136x5x5! ; pad_lo: [1, 3], pad_hi: [3, 0], input_size: [9, 6]"
runs broad conv_grad_input "1x40x1x1 40x64x3x3! ; pad_lo: 1, pad_hi: 1, input_size: 1"
runs broad conv_grad_input "2x64x4x9 64x72x3x3! ; input_size: [6, 11]"
# ReLU's mask, with and without what is added.
runs broad conv_grad_input_relu "1x32x9x10 32x72x3x3! - 1x72x9x10 1x72x9x10:away; pad_lo: 1, pad_hi: 1, input_size: [9, 10]"
runs broad conv_grad_input_relu "1x48x9x10 48x64x5x5! - - 1x64x9x10:away; pad_lo: 2, pad_hi: 2, input_size: [9, 10]"

# Few outputs: one block of them and two, one to five chunks of channels, several tiles, the last of them cut on all sides.
runs stacked conv "1x16x13x66 32x16x3x3! 32! ; pad_lo: 1, pad_hi: 1"
runs stacked conv "1x72x5x9 24x72x5x5! ; pad_lo: 2, pad_hi: 2"
runs stacked conv "1x40x7x6 64x40x3x3! ; pad_lo: [0, 1], pad_hi: [2, 0]"
runs stacked conv "1x24x26x3 32x24x5x5! 32! ; pad_lo: [4, 3], pad_hi: [1, 2]"
runs stacked conv_relu "1x32x13x5 32x32x5x5! 32! 1x32x13x5; pad_lo: 2, pad_hi: 2, slope: 0.5"
runs stacked conv_add "1x16x1x1 24x16x3x3! - 1x24x1x1; pad_lo: 1, pad_hi: 1"

# An older or a newer GPU has not the instructions.
for arch in 80 100; do
	rm -f launches
	DLX_EMULATE_ARCH=$arch DLX_DEBUG=$(debug warpgroups=yes) "$optest" --device=cuda --kernels conv_grad_input_sum || fail "compute capability $arch"
	! grep -q -E '^\(?(broad|stacked)' launches || { cat launches; fail "compute capability $arch runs them"; }
done

# Layers that are concatenated: dy is a window, and sums are where they are.
coads_data
cat >dense.yaml <<-END
	run: {name: dense, seed: 3}
	model:
	  family: layers
	  layers:
	    - conv2d: {filters: 48, kernel: 3, padding: same, name: stem}
	    - conv2d: {filters: 24, kernel: 3, padding: same, name: c0}
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
	DLX_DEBUG=$(debug "warpgroups=$1,way=ours") expect 0 capped "$emulated" --device=cuda --quiet --synthetic --dump-step "step-$1" \
		--set model.input.channels=4 --set 'model.input.size=[16,20]' --set model.classes=4 dense.yaml
}
rm -f launches
step yes
for kernel in broad stacked; do
	grep -q "^(\\?$kernel" launches || { cat launches; fail "a dense network does not take '$kernel'"; }
done
step no
"$DLX_BUILD/test/gpu/compare_steps" -a -t 2e-2 step-no step-yes >out || { cat out; fail "a step of a dense network differs"; }
pass
