#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Convolutions as the real cuDNN plans them for a GPU that is only described; where cuDNN is installed.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -x "${DLX_BUILD:?}/test/gpu/cudnn_plans" ] || skip "dlx was built without CUDA"
"$DLX_BUILD/test/gpu/cudnn_plans" >plans.txt 2>&1
case $? in
0) pass ;;
77) skip "$(tail -n 1 plans.txt)" ;;
*) tail -n 20 plans.txt; fail "cuDNN refuses a query" ;;
esac
