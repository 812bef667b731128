# SPDX-License-Identifier: BSD-3-Clause
"""The records of stem.sh: samples 0 to 4, samples 3 and 4 made apart, and 0 to 4 with the detector's pixels as channels.
Or, with --targets RECORD NPY: writes a record's targets."""
import sys

import numpy as np

import dlxrecord

if sys.argv[1] == "--targets":
    np.save(sys.argv[3], dlxrecord.read(sys.argv[2])[2].astype(np.float32))
    sys.exit()
if sys.argv[1] == "--dose":      # ELECTRONS, the record without noise, those with it in both orders of axes
    dose = float(sys.argv[2])
    (_, still, of), (_, noisy, of_noisy), (_, turned, _) = (dlxrecord.read(p) for p in sys.argv[3:])
    assert (of == of_noisy).all() and (turned.reshape(5, 25, 64).transpose(0, 2, 1) == noisy.reshape(5, 64, 25)).all()
    # 17 x 17 wave numbers by 1/8 angstrom on 5 x 5 pixels; those of at most 20 mrad share the dose
    edge = np.arange(6) * 17 // 5
    modes = np.outer(np.diff(edge), np.diff(edge))
    k = np.arange(-8, 9)
    beams = (np.hypot(*np.meshgrid(k, k)) * 0.0370144 / 8 <= 0.020).sum()
    one = beams / (dose * modes)
    counts = noisy / one
    assert np.abs(counts - counts.round()).max() < 1e-3 and len(np.unique(counts.round())) > 30
    expected = still / one
    z = (counts - expected) / np.sqrt(expected)
    z = z[expected > 1]
    assert z.size > 500 and abs(z.mean()) < 5 / z.size ** 0.5 and abs(z.var() - 1) < 0.2, (z.mean(), z.var())
    # the others go beyond the detector
    assert 0.5 * dose < counts.sum(axis=(2, 3)).mean() < 1.05 * dose, counts.sum(axis=(2, 3)).mean()
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
