#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The samples of convolutions, with every code that can compute them.
. "${DLX_SOURCE:?}/test/lib.sh"
for code in dnn direct; do
	DLX_CONV=$code "$DLX_BUILD/test/optest/optest" conv conv_grad_input conv_grad_weight >out ||
		fail "with DLX_CONV=$code: $(cat out)"
done
pass
