# SPDX-License-Identifier: BSD-3-Clause
"""check_coads.py COADS.cdf FILE.dlx MONTH...: the record against an independent computation with NumPy."""
import sys

import numpy as np

import dlxrecord

source, record = sys.argv[1:3]
months = [int(m) for m in sys.argv[3:]]
text, x, t = dlxrecord.read(record)
v = dlxrecord.netcdf(source)
names = ["WSPD", "UWND", "VWND", "SLP"]
fields = np.stack([v[n][months] for n in names], axis=1).astype(np.float32)
missing = fields == np.float32(-1e34)
valid = ~missing.any(axis=1)
sst = v["SST"][months].astype(np.float32)
labels = np.digitize(sst, [10, 20, 27])
labels[sst == np.float32(-1e34)] = 255

assert text["input"]["channels"] == names + ["validity"], text["input"]["channels"]
assert x.shape == (len(months), 5, 90, 180) and t.shape == (len(months), 90, 180)
assert np.array_equal(x[:, :4], np.where(missing, np.float32(0), fields))
assert np.array_equal(x[:, 4], valid.astype(np.float32))
assert np.array_equal(t, labels.astype(np.uint8))
for c, s in enumerate(text["input"]["statistics"][:4]):
    values = fields[:, c][valid].astype(np.float64)
    assert s["count"] == values.size
    assert s["min"] == values.min() and s["max"] == values.max()
    assert abs(s["mean"] - values.mean()) < 1e-9 and abs(s["std"] - values.std()) < 1e-9
assert text["target"]["class_counts"] == [int((labels == k).sum()) for k in range(4)]
assert text["target"]["ignored"] == int((labels == 255).sum())
