#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The emulation of a GPU notices kernels and launches that only work by chance.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -x "${DLX_BUILD:?}/test/gpu/emulator" ] || skip "dlx was built without CUDA"
"${DLX_BUILD:?}/test/gpu/emulator" || fail "the emulation lets pass what a GPU does not"
pass
