#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The samples of convolutions are too small for any code but the first to be chosen. Here each code computes every sample it
# takes, on one thread and on two.
. "${DLX_SOURCE:?}/test/lib.sh"

grep -q avx512dq /proc/cpuinfo || skip "this CPU has no AVX-512"
for threads in 1 2; do
	OMP_NUM_THREADS=$threads DLX_CONV=winograd "$DLX_BUILD/test/optest/optest" conv conv_grad_input conv_grad_weight >out ||
		{ cat out; fail "winograd, $threads threads"; }
done
pass
