#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The 3D U-Net agrees with PyTorch's (pytorch_unet3d.py).
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/zoo/pytorch_unet3d.py" "$@" || fail "dlx and PyTorch differ"
pass
