# SPDX-License-Identifier: BSD-3-Clause
"""Which axis dlx-convert takes for channels: check_axes.py DLX-CONVERT DIR, where DIR has axes.nc of make_sources."""
import subprocess
import sys

import numpy as np

import dlxrecord

program, folder = sys.argv[1:]
rng = np.random.default_rng(5)


def run(status, *args):
    p = subprocess.run([program, *args, "-o", "out.dlx"], cwd=folder, capture_output=True, text=True)
    if p.returncode != status:
        sys.exit(f"{args}: status {p.returncode} instead of {status}\n{p.stdout}{p.stderr}")
    return p.stderr


def array(name, *shape, labels=False):
    v = rng.integers(0, 3, shape).astype("u1") if labels else rng.normal(size=shape).astype("f4")
    np.save(f"{folder}/{name}.npy", v)
    return v


def decided(want, says, *args):
    """want: the input of all samples, channels first."""
    text = run(0, *args)
    if says not in text:
        sys.exit(f"{args}: does not say '{says}' but\n{text}")
    _, have, _ = dlxrecord.read(folder + "/out.dlx")
    if have.shape != want.shape or not np.array_equal(have, want):
        sys.exit(f"{args}: {have.shape} instead of {want.shape}")


def refused(*args, **given):
    text = run(65, *args)
    for part in given["says"]:
        if part not in text:
            sys.exit(f"{args}: does not say '{part}' but\n{text}")


one = array("one", 4, labels=True)
# Pictures by the length of an axis, at either end.
last, first = array("last", 4, 32, 30, 3), array("first", 4, 3, 32, 30)
decided(last.transpose(0, 3, 1, 2), "input 'last': 3 channels (the last axis) of 32 x 30, by its length", "-i", "last.npy", "-t", "one.npy")
decided(first, "input 'first': 3 channels (the first axis) of 32 x 30, by its length", "-i", "first.npy", "-t", "one.npy")
volume = array("four", 4, 9, 8, 7, 2)
decided(volume.transpose(0, 4, 1, 2, 3), "2 channels (the last axis) of 9 x 8 x 7", "-i", "four.npy", "-t", "one.npy")

# A series of channels may be meant where samples are read as pictures of one channel, unless something says that they are.
series, each = array("series", 4, 3, 50), array("each", 4, labels=True)
decided(series[:, None], "input 'series': 4 samples of 1 channel of 3 x 50; '--input-layout first' if the second axis is channels",
        "-i", "series.npy", "-t", "each.npy")
map_ = array("map", 4, 3, 50, labels=True)
for args in ("-t", "map.npy"), ("-t", "each.npy", "--input-layout", "stack"), ("-t", "each.npy", "--input-layout", "first"):
    text = run(0, "-i", "series.npy", *args)
    assert "input 'series'" not in text, text

# By the target's shape: a volume with labels at every point is one channel; so are fields for fields.
cube, points = array("cube", 4, 8, 12, 10), array("points", 4, 8, 12, 10, labels=True)
decided(cube[:, None], "1 channel of 8 x 12 x 10, by the target's shape", "-i", "cube.npy", "-t", "points.npy")
plane = array("plane", 4, 12, 10, labels=True)
decided(cube, "8 channels (the first axis) of 12 x 10, by the target's shape", "-i", "cube.npy", "-t", "plane.npy")
left = array("left", 4, 8, 12, labels=True)
decided(cube.transpose(0, 3, 1, 2), "10 channels (the last axis) of 8 x 12, by the target's shape", "-i", "cube.npy", "-t", "left.npy")
text = run(0, "-i", "first.npy", "-t", "last.npy")
assert "target 'last': 3 channels (the last axis) of 32 x 30, by the input's shape" in text, text
assert "input 'first'" in text, text

# An axis of one extent is places where the input has it, and one channel of labels where it has not.
for inputs, labels, want in (((2, 1, 5, 6), (1, 5, 6), (1, 5, 6)), ((2, 5, 6), (1, 5, 6), (5, 6)), ((2, 9), (1, 9), (9,)),
                             ((2, 1, 1, 1), (1, 1, 1), (1, 1, 1)), ((2, 1, 9), (1, 9), (1, 9)), ((2, 9), (1,), ())):
    array("thin", 4, *inputs)
    thin = array("thin-labels", 4, *labels, labels=True)
    run(0, "-i", "thin.npy", "--input-layout", "first", "-t", "thin-labels.npy")
    _, _, have = dlxrecord.read(folder + "/out.dlx")
    assert have.shape == (4, *want) and np.array_equal(have, thin.reshape(4, *want)), (inputs, labels, have.shape)

# What is left open is requested, with the readings and the options.
refused("-i", "cube.npy", "-t", "one.npy",
      says=["a sample is 8x12x10", "8 channels (the first axis) of 12 x 10 (--input-layout first)",
            "10 channels (the last axis) of 8 x 12 (--input-layout last)", "1 channel of 8 x 12 x 10 (--input-layout stack)"])
decided(cube, "", "-i", "cube.npy", "-t", "one.npy", "--input-layout", "first")
array("small", 4, 3, 12, 4)
refused("-i", "small.npy", "-t", "one.npy", says=["--input-layout last"])
array("wide", 4, 9, 8, 7, 6)
refused("-i", "wide.npy", "-t", "one.npy", says=["9 channels (the first axis) of 8 x 7 x 6", "6 channels (the last axis) of 9 x 8 x 7"])

# By the names of axes, which NetCDF has.
decided(np.arange(2 * 5 * 6 * 7, dtype="f4").reshape(2, 1, 5, 6, 7), "1 channel of 5 x 6 x 7, by the names of the axes",
        "-i", "axes.nc:levels", "-t", "axes.nc:one")
decided(np.arange(2 * 5 * 6 * 7, dtype="f4").reshape(2, 5, 6, 7), "5 channels (the first axis) of 6 x 7, by the names of the axes",
        "-i", "axes.nc:bands", "-t", "axes.nc:one")
decided(np.arange(2 * 5 * 6 * 7, dtype="f4").reshape(2, 1, 5, 6, 7), "by the names of the axes", "-i", "axes.nc:marked", "-t", "axes.nc:one")
# Months of a file are channels where the target says so, else requested.
decided(np.arange(2 * 12 * 12, dtype="f4").reshape(2, 12, 3, 4), "12 channels (the first axis) of 3 x 4, by the target's shape",
        "-i", "year-*.nc:tas", "-t", "year-*.nc:event")
refused("-i", "year-*.nc:tas", "-t", "year-*.nc:tas",
      says=["12 samples of each file (--concatenate)", "12 channels (the first axis) of 3 x 4 (--input-layout first)"])
months = np.arange(2 * 12 * 12, dtype="f4").reshape(24, 1, 3, 4)
decided(months, "", "-i", "year-*.nc:tas", "-t", "year-*.nc:tas", "--concatenate")

# A static field next to fields of time: one without that axis, one of a single time.
static = np.broadcast_to(np.arange(12, dtype="f4").reshape(1, 1, 3, 4), (24, 1, 3, 4))
both = np.concatenate([months, static, static], axis=1)
decided(both, "input 'orography' is the same in each of 24 samples", "-i", "year-*.nc:tas", "-i", "year-0.nc:orography,mask",
        "-t", "year-*.nc:tas", "--concatenate")
