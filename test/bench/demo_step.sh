#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of the demo network's step with PyTorch runs and prints its lines. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
[ -f "$coads" ] || skip "no COADS climatology (package ferret-datasets)"
find_python
expect 0 "$python" "$DLX_SOURCE/test/bench/demo_step" --repetitions 1 --steps 1 --threads 1
says out 'samples/s'
says out 'x peak memory of PyTorch channels-last'
pass
