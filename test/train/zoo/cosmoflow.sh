#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The cosmoflow networks agree with PyTorch's (pytorch_cosmoflow.py), and predict vectors.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/zoo/pytorch_cosmoflow.py" "$@" || fail "dlx and PyTorch differ"
pass
