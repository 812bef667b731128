# SPDX-License-Identifier: BSD-3-Clause
"""The records of climate.sh: snapshots 0 to 5, and 4 and 5 made apart. Rivers are labelled again, from the formula."""
import sys

import numpy as np

import dlxrecord

NAMES = "TMQ U850 V850 UBOT VBOT QREFHT PS PSL T200 T500 PRECT TS TREFHT Z1000 Z200 ZBOT".split()
# What such values lie between on the earth, generously; PRECT in m/s.
RANGES = {"TMQ": (0, 110), "U850": (-90, 90), "V850": (-90, 90), "UBOT": (-80, 80), "VBOT": (-80, 80), "QREFHT": (0, 0.035),
          "PS": (48000, 108000), "PSL": (88000, 108000), "T200": (185, 250), "T500": (205, 290), "PRECT": (0, 3e-5),
          "TS": (190, 335), "TREFHT": (190, 330), "Z1000": (-1200, 700), "Z200": (9500, 13200), "ZBOT": (40, 80)}
RADIUS = 6371.0


def distance(lat, lon, lat2, lon2):
    a, b = np.sin(np.radians(lat2 - lat) / 2), np.sin(np.radians(lon2 - lon) / 2)
    return 2 * RADIUS * np.arcsin(np.sqrt(a * a + np.cos(np.radians(lat)) * np.cos(np.radians(lat2)) * b * b))


def regions(mask):
    """Lists of (row, column) that are connected by sides, across the first and the last column too."""
    left = mask.copy()
    h, w = mask.shape
    for start in zip(*np.nonzero(mask)):
        if not left[start]:
            continue
        left[start] = False
        todo, found = [start], []
        while todo:
            r, c = todo.pop()
            found.append((r, c))
            for p in ((r + 1, c), (r - 1, c), (r, (c + 1) % w), (r, (c - 1) % w)):
                if 0 <= p[0] < h and left[p]:
                    left[p] = False
                    todo.append(p)
        yield start, np.array(found)


def rivers(tmq):
    h, w = tmq.shape
    lat, lon = -90 + (np.arange(h) + 0.5) * 180 / h, (np.arange(w) + 0.5) * 360 / w
    out = np.zeros(tmq.shape, bool)
    cell = (2 * np.pi * RADIUS / w) * (np.pi * RADIUS / h) * np.cos(np.radians(lat))
    for start, at in regions(tmq * (1 - np.exp(-lat ** 2 / (2 * 19 ** 2)))[:, None] > 24):
        east = (lon[at[:, 1]] - lon[start[1]] + 180) % 360 - 180
        length = distance(lat[at[:, 0]].min(), east.min(), lat[at[:, 0]].max(), min(east.max(), east.min() + 180))
        if length > 1500 and cell[at[:, 0]].sum() < 1000 * length:
            out[at[:, 0], at[:, 1]] = True
    return out


text, x, y = dlxrecord.read(sys.argv[1])
_, last, last_y = dlxrecord.read(sys.argv[2])
assert x.shape == (6, 16, 96, 144) and y.shape == (6, 96, 144) and y.dtype == np.uint8
assert (x[4:] == last).all() and (y[4:] == last_y).all()
v = {n: x[:, i].astype(float) for i, n in enumerate(NAMES)}
for n, (low, high) in RANGES.items():
    assert low <= v[n].min() and v[n].max() <= high, (n, v[n].min(), v[n].max())
assert (v["PS"] <= v["PSL"] + 1).all(), "pressure below the ground"
for i in range(6):
    again = rivers(v["TMQ"][i])
    differ = (again & (y[i] == 0)) | (~again & (y[i] == 2))
    assert not differ.any(), (i, differ.sum())
assert 0.0001 < (y == 1).mean() < 0.004 and 0.003 < (y == 2).mean() < 0.04
# A cyclone's pressure is low, its middle warm and its wind turns: its points against those of the same latitudes.
cyclone, zone = y == 1, (y == 0) & (np.arange(96)[None, :, None] > 24) & (np.arange(96)[None, :, None] < 72)
assert v["PSL"][cyclone].mean() < v["PSL"][zone].mean() - 300
assert np.hypot(v["U850"], v["V850"])[cyclone].mean() > 2 * np.hypot(v["U850"], v["V850"])[zone].mean()
