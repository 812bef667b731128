#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The families of the zoo at small widths agree with PyTorch's (zoo_compare.py says what and how closely). The big form has more
# steps, and a run of each network.
# limit: 15 minutes
. "${DLX_SOURCE:?}/test/lib.sh"
find_python
OMP_NUM_THREADS=2 "$python" "$DLX_SOURCE/test/train/zoo/zoo_compare.py" "$@" || fail "dlx and PyTorch differ"
pass
