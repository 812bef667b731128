#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Losses and their gradients are PyTorch's, over a whole batch and over a set in batches of any size (losses.py).
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/losses.py" || fail "see above"
pass
