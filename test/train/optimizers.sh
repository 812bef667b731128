#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Curves of every optimizer agree with their formulas (optimizers.py).
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=$(form 1 2) "$python" "$DLX_SOURCE/test/train/optimizers.py" || fail "an optimizer is not what its formula says"
pass
