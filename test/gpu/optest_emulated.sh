#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every op with a kernel for the GPU, its device code run on the host, against the reference.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
[ -x "${DLX_BUILD:?}/test/gpu/optest_emulated" ] || skip "dlx was built without CUDA"
# The references are small: threads would spin more than they compute.
export OMP_NUM_THREADS=1
optest=$DLX_BUILD/test/gpu/optest_emulated conv_checks=$DLX_BUILD/test/gpu/conv_checks_emulated
"$optest" --device=cuda "$@" || fail "GPU kernels differ from the reference"
[ $# -eq 0 ] || pass

# Where dlx has kernels cuDNN's convolutions, and depthwise ones with their bias in one graph of cuDNN's.
DLX_DEBUG=$(debug way=parts) "$optest" --device=cuda conv conv_grad_input conv_grad_weight ||
	fail "cuDNN's convolutions differ from the reference"
# Depthwise ones are dlx's own where something follows them, too.
rm -f launches
DLX_EMULATE_LAUNCHES=$PWD/launches "$optest" --device=cuda conv_add conv_grad_input_sum || fail "depthwise convolutions with a sum differ"
grep -q depthwise launches || { cat launches; fail "cuDNN makes a depthwise convolution with a sum"; }
# Statistics of a mean of 3000 deviations, which float32 sums of squares from zero do not have.
"$conv_checks" f32 conv_statistics '2x36x20x30 36x36x1x1!' 3000 || fail "statistics far from zero differ from those in float64"
export DLX_DEBUG=$(debug skip=depthwise)
for type in f32 bf16 fp16; do
	"$conv_checks" $type conv '2x12x9x10 12x1x3x3! 12! ; groups: 12, stride: 2, pad_lo: 1, pad_hi: 1' ||
		fail "cuDNN's depthwise convolution with a bias differs from the reference in $type"
done
pass
