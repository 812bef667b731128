#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The samples of convolutions are too small for most codes to be chosen. Here each code computes every sample it takes on one thread,
# and every fourth on two, in the long form all on two, too.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
for code in dnn direct winograd depthwise product; do
	for threads in 1 2; do
		share=1/1
		[ $threads = 1 ] || share=$(form 1/4 1/1)
		OMP_NUM_THREADS=$threads DLX_DEBUG=$(debug conv=$code) "$DLX_BUILD/test/optest/optest" --kernels --shard=$share \
			conv conv_grad_input conv_grad_input_add conv_grad_weight >out ||
			fail "with conv=$code on $threads threads: $(cat out)"
	done
done
pass
