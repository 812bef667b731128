#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The samples of convolutions are too small for most codes to be chosen. Here each code computes every sample it takes, on two
# threads, in the long form on one, too.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
for code in dnn direct winograd depthwise product; do
	for threads in $(form 2 '1 2'); do
		OMP_NUM_THREADS=$threads DLX_DEBUG=$(debug conv=$code) "$DLX_BUILD/test/optest/optest" --kernels \
			conv conv_grad_input conv_grad_input_add conv_grad_weight >out ||
			fail "with conv=$code on $threads threads: $(cat out)"
	done
done
pass
