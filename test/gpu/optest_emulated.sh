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
# Windows of single pixels as matrix products, dilated ones as dense ones. All other samples are made as they were above.
# by WAY HAVING OP...
by() {
	rm -f launches
	way=$1 having=$2
	shift 2
	DLX_EMULATE_LAUNCHES=$PWD/launches DLX_DEBUG=$(debug "way=$way") "$optest" --device=cuda --having="$having" "$@" >out ||
		{ cat out; fail "convolutions by way=$way differ from the reference"; }
	! grep -q '^0 passed' out || fail "no sample has '$having'"
}
following="conv_relu conv_add conv_statistics conv_grad_input_sum conv_grad_input_relu"
# shellcheck disable=SC2086
by product x1x1! conv $following conv_grad_input
by product 'kernel: 1' conv_grad_weight
# shellcheck disable=SC2086
by phases dilation: conv $following conv_grad_input conv_grad_weight
grep -q '^(\?phases' launches || fail "no dilated convolution is made of its phases"
export DLX_DEBUG=$(debug skip=depthwise)
for type in f32 bf16 fp16; do
	"$conv_checks" $type conv '2x12x9x10 12x1x3x3! 12! ; groups: 12, stride: 2, pad_lo: 1, pad_hi: 1' ||
		fail "cuDNN's depthwise convolution with a bias differs from the reference in $type"
done
pass
