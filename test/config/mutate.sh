#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Every key of every example config and of those in losses, mutated, is refused on its line (mutate.c).
. "${DLX_SOURCE:?}/test/lib.sh"
"$DLX_BUILD/test/config/mutate" "$DLX_SOURCE"/configs/*.yaml "$DLX_SOURCE"/test/config/losses/*.yaml "$DLX_SOURCE"/test/train/*.yaml || fail "see above"
pass
