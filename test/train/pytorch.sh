#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Training steps, loss curves and inference agree with PyTorch's (pytorch_compare.py says what and how closely).
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/pytorch_compare.py" "$@" || fail "dlx and PyTorch differ"
pass
