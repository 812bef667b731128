#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Validation losses and metrics of label losses against NumPy's from the predicted logits, whatever the batch size.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/metrics.py" || fail "see above"
pass
