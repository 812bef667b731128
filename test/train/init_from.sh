#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Weights from files that dlx did not write: what loads, what is refused and in which words, what is skipped.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/init_from.py" || fail "see above"
pass
