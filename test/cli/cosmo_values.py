# SPDX-License-Identifier: BSD-3-Clause
"""The records of cosmo.sh: universes 0 to 4, universes 3 and 4 made apart, and 0 to 4 in cubes of half the side."""
import sys

import numpy as np

import dlxrecord

_, whole, of = dlxrecord.read(sys.argv[1])
_, last, of_last = dlxrecord.read(sys.argv[2])
_, cubes, of_cubes = dlxrecord.read(sys.argv[3])

assert whole.shape == (5, 4, 16, 16, 16) and whole.dtype == np.int16 and of.shape == (5, 4)
assert (whole.sum(axis=(2, 3, 4), dtype=np.int64) == 16 ** 3).all(), "particles are lost"
assert (np.abs(of) <= 1).all() and len(np.unique(of)) == 20
assert (whole[3:] == last).all() and (of[3:] == of_last).all()
assert cubes.shape == (40, 4, 8, 8, 8)
for i in range(40):
    u, x, y, z = i // 8, i // 4 % 2 * 8, i // 2 % 2 * 8, i % 2 * 8
    assert (cubes[i] == whole[u, :, x:x + 8, y:y + 8, z:z + 8]).all(), i
    assert (of_cubes[i] == of[u]).all()
spread = whole.var(axis=(2, 3, 4), dtype=np.float64)
assert (np.diff(spread, axis=1) < 0).all(), "matter has gathered more at a higher redshift"
