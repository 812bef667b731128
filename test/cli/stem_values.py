# SPDX-License-Identifier: BSD-3-Clause
"""The records of stem.sh: samples 0 to 4, samples 3 and 4 made apart, and 0 to 4 with the detector's pixels as channels.
Or, with --targets RECORD NPY: writes a record's targets."""
import sys

import numpy as np

import dlxrecord

if sys.argv[1] == "--targets":
    np.save(sys.argv[3], dlxrecord.read(sys.argv[2])[2].astype(np.float32))
    sys.exit()
_, scans, of = dlxrecord.read(sys.argv[1])
_, last, of_last = dlxrecord.read(sys.argv[2])
_, turned, of_turned = dlxrecord.read(sys.argv[3])

assert scans.shape == (5, 64, 5, 5) and scans.dtype == np.float32 and of.shape == (5, 1, 16, 16)
assert (scans[3:] == last).all() and (of[3:] == of_last).all()
assert turned.shape == (5, 25, 8, 8) and (of_turned == of).all()
assert (turned.reshape(5, 25, 64).transpose(0, 2, 1) == scans.reshape(5, 64, 25)).all()
assert (scans >= 0).all() and (scans[:, :, 2, 2] > 0.05).all() and (scans[:, :, 0, 0] < 0.5).all()
assert len(np.unique(of.mean(axis=(1, 2, 3)))) == 5
assert (of.min(axis=(1, 2, 3)) > -1).all() and (of.mean(axis=(1, 2, 3)) > 3).all() and (of.mean(axis=(1, 2, 3)) < 60).all()
