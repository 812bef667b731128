#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every op with a kernel for the GPU, its device code run on the host, against the reference.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -x "${DLX_BUILD:?}/test/gpu/optest_emulated" ] || skip "dlx was built without CUDA"
# The references are small: threads would spin more than they compute.
OMP_NUM_THREADS=1 "$DLX_BUILD/test/gpu/optest_emulated" --device=cuda "$@" || fail "GPU kernels differ from the reference"
[ $# -gt 0 ] || DLX_DEBUG=$(debug depthwise=no) OMP_NUM_THREADS=1 "$DLX_BUILD/test/gpu/optest_emulated" --device=cuda \
	conv conv_grad_input conv_grad_weight || fail "cuDNN's depthwise convolutions differ from the reference"
pass
