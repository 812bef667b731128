#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# The comparison of cut with whole samples runs, and prints its lines. No time is judged.
. "${DLX_SOURCE:?}/test/lib.sh"
find_mpiexec
find_python3
expect 0 capped "$python3" "$DLX_SOURCE/test/bench/partition" --build "$DLX_BUILD" --size 16 --steps 2 --turns 1
for name in convolutions unet3d; do
	grep -qE "^$name +1 x 1 +[0-9.]+ ms +2 x 1 +[0-9.]+ ms +of it [0-9.]+ +cost" out || { cat out; fail "no line of $name"; }
done
pass
