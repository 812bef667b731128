# SPDX-License-Identifier: BSD-3-Clause
"""check_formats.py DLX-CONVERT DIR: every source format and option of dlx-convert against NumPy. DIR holds what
make_sources wrote; NumPy and IDX files are made here."""
import gzip
import os
import shutil
import struct
import subprocess
import sys

import numpy as np

from converted import converter

program, folder = sys.argv[1:]
convert = converter(program, folder)
rng = np.random.default_rng(3)


def same(name, got, want):
    want = np.asarray(want)
    if got.shape != want.shape or not np.array_equal(got, want, equal_nan=got.dtype.kind == "f"):
        sys.exit(f"{name}: got {got.shape} {got.dtype}\n{got}\nexpected {want.shape}\n{want}")


t, y, x = np.meshgrid(np.arange(4), np.arange(3), np.arange(5), indexing="ij")
value = (100 * t + 10 * y + x).astype(np.float32)
present = x > 0
kind = (t + y) % 3
with_mask = np.stack([np.where(present, value, 0), -value, present], axis=1)

for source in ("grid.nc", "grid4.nc"):
    text, a, b = convert("-i", source + ":temp,wind", "--validity-mask", "-t", source + ":kind")
    same(source, a, with_mask)
    same(source, b, kind)
    assert text["input"]["channels"] == ["temp", "wind", "validity"] and text["input"]["mask"] == 2
    assert text["input"]["statistics"][0]["count"] == present.sum()
    assert text["target"]["class_counts"] == [int((kind == k).sum()) for k in range(3)]
    text, a, b = convert("-i", source + ":packed", "--fill", "-1", "-t", source + ":temp", "--samples", "!0,2")
    same("packed", a, np.where(present, value * 0.5 + 10, -1)[[1, 3], None])
    same("field target", b, np.where(present, value, -1)[[1, 3], None])
    assert text["target"]["statistics"][0]["count"] == 30

# integers without a sign by NetCDF's attribute, with a missing value; floats that nothing has written
shutil.copy(folder + "/unsigned4.nc", folder + "/unsigned.h5")
count = np.arange(20).reshape(4, 5)
for source in "unsigned.nc", "unsigned4.nc", "unsigned.h5":
    for name, times, dtype in ("b", 1, "u1"), ("s", 257, "u2"), ("i", 0x1010101, "i8"):
        text, a, b = convert("-i", f"{source}:{name}", "--fill", "3", "--input-layout", "first")
        same(f"{source} {name}", a, np.where(count == 19, 3, count * 13 * times))
        assert a.dtype == dtype
lacks = (count == 6) | (count == 2)
for source in "unsigned.nc", "unsigned4.nc":
    same("not written", convert("-i", source + ":f", "--fill", "-1")[1], np.where(lacks | (count % 5 == 4), -1, count))
same("several values", convert("-i", "unsigned.h5:f", "--fill", "-1")[1][:, :4], np.where(lacks, -1, count)[:, :4])
# several files say nothing on the library's own, whatever thread opens them
for i in range(3):
    shutil.copy(folder + "/grid4.nc", f"{folder}/part{i}.nc")
said = subprocess.run([program, "-q", "-i", "part?.nc:wind", "--concatenate", "-o", "out.dlx"], cwd=folder,
                      check=True, stderr=subprocess.PIPE, text=True).stderr
if said:
    sys.exit(f"several files: {said}")

text, a, b = convert("-i", "grid.h5:fields/temp,fields/wind", "-m", "-999", "-v", "-t", "grid.h5:labels",
                     "--class-names", "a,b,c")
same("hdf5", a, with_mask)
same("hdf5 labels", b, kind)
assert text["target"]["class_names"] == ["a", "b", "c"] and text["target"]["dtype"] == "u8"
text, a, b = convert("-i", "grid.h5:fields/wind", "-t", "grid.h5:kinds")
same("hdf5 enumeration", b, kind)
assert text["target"]["dtype"] == "i16"
same("virtual", convert("-i", "virtual.h5:cube", "--input-layout", "last")[1], convert("-i", "grid.h5:cube", "--input-layout", "last")[1])
text, a, b = convert("-i", "grid.h5:cube", "--input-layout", "last", "-t", "grid.h5:cube", "--samples=1:3",
                     "--target-layout", "first")
same("channels last", a, np.stack([value, 1000 + value], axis=1)[1:3])
same("channels first", b, np.stack([value, 1000 + value], axis=-1)[1:3])
text, a, b = convert("-i", "sample-*.h5:temp", "-t", "sample-*.h5:label", "--fill", "nan", "-m", "-999")
same("a file a sample", a, np.where(present, value, np.nan)[:, None])
same("a file a sample", b, kind)
assert text["input"]["statistics"][0]["count"] == present.sum()
text, a, b = convert("-i", "grid.nc:temp", "-t", "grid.nc:wind", "-c", "-200,-100,-13", "--ignore", "-1")
same("classes", b, np.digitize(-value, [-200, -100, -13]))
assert text["target"]["dtype"] == "i32" and text["target"]["ignore"] == -1
text, a, b = convert("-i", "grid.nc:wind", "-t", "grid.nc:temp", "-c", "10,200", "--ignore", "255")
same("missing classes", b, np.where(present, np.digitize(value, [10, 200]), 255))
assert text["target"]["ignored"] == (~present).sum()

# NumPy
for dtype in ("<f4", ">f4", "<f8", "<f2", "|i1", "|u1", "<i2", ">u2", "<i4", ">i8", "<u4", ">u4", "?"):
    v = rng.integers(0, 100, (6, 2, 3, 4)).astype(dtype)
    np.save(folder + "/v.npy", v)
    _, a, b = convert("-i", "v.npy", "-t", "v.npy", "--labels", "--target-dtype", "i64", "--input-layout", "first")
    same("npy " + dtype, a, v.astype(a.dtype))
    same("npy labels " + dtype, b, v.astype(np.int64))
# Fortran's order, and the long integers of Python 2
for dtype in "<f4", ">i2", "<u4", "<f8":
    v = rng.integers(0, 100, (6, 2, 3, 4)).astype(dtype)
    np.save(folder + "/v.npy", np.asfortranarray(v))
    np.savez_compressed(folder + "/v.npz", v=np.asfortranarray(v), one=np.asfortranarray(v[:, 0, 0, 0]))
    for source in "v.npy", "v.npz:v":
        same("Fortran " + dtype, convert("-i", source, "--input-layout", "first", "--dtype", "f64")[1], v)
        same("Fortran " + dtype, convert("-i", source, "--input-layout", "first", "--dtype", "f64", "--samples", "4")[1], v[4:5])
    same("Fortran " + dtype, convert("-i", "v.npz:one", "--dtype", "f64")[1], v[:, 0, 0, :1])
with open(folder + "/v.npy", "rb") as f:
    data = f.read()
with open(folder + "/v.npy", "wb") as f:
    f.write(data[:128].replace(b"(6, 2, 3, 4), }    ", b"(6L, 2L, 3L, 4L), }") + data[128:])
assert b"4L" in open(folder + "/v.npy", "rb").read()
same("Python 2", convert("-i", "v.npy", "--input-layout", "first", "--dtype", "f64")[1], v)
# a sample that is read in pieces
v = rng.integers(0, 255, (2, 3, 1500, 2000)).astype("u1")
np.save(folder + "/v.npy", np.asfortranarray(v))
same("Fortran in pieces", convert("-i", "v.npy", "--input-layout", "first")[1], v)
# statistics of whole numbers are exact sums, also of more than are added at once, and of the largest ones alone
for dtype in "u1", "i1", "u2", "i2", "i4":
    most = np.iinfo(dtype)
    v = rng.integers(most.min, most.max, (2, 3, 300, 500), dtype=dtype, endpoint=True)
    v[:, 1], v[:, 2] = most.min, most.max
    np.save(folder + "/v.npy", v)
    text, a, b = convert("-i", "v.npy", "--input-layout", "first")
    same("npy " + dtype, a, v)
    for c, s in enumerate(text["input"]["statistics"]):
        x = v[:, c].astype("f8")
        assert (s["count"], s["min"], s["max"]) == (x.size, x.min(), x.max()), (dtype, c, s)
        assert abs(s["mean"] - x.mean()) <= 1e-12 * abs(x).max() and abs(s["std"] - x.std()) <= 1e-9 * abs(x).max(), (dtype, c, s)
        assert s["std"] == 0 or c == 0 or dtype == "i4", (dtype, c, s)
v = rng.integers(0, 100, (6, 2, 3, 4)).astype("?")
np.save(folder + "/v.npy", v)
np.save(folder + "/x.npy", rng.normal(size=(6, 3)))
for save in (np.savez, np.savez_compressed):
    v, w = rng.normal(size=(6, 4, 5)).astype("f4"), rng.normal(size=(6, 4, 5)).astype("f4")
    n = rng.integers(0, 4, (6, 1))
    save(folder + "/z.npz", first=v, second=w, labels=n)
    text, a, b = convert("-i", "z.npz:first,second", "-t", "z.npz:labels", "--channel-names", "p,q")
    same(save.__name__, a, np.stack([v, w], axis=1))
    same(save.__name__, b, n[:, 0])
    assert text["input"]["channels"] == ["p", "q"] and text["target"]["shape"] == []
text, a, b = convert("-i", "x.npy", "-t", "x.npy", "--dtype", "f64")
same("vectors", a, np.load(folder + "/x.npy"))
same("vectors", b, np.load(folder + "/x.npy").astype("f4"))
text, a, b = convert("-i", "v.npy", "-i", "v.npy", "-t", "x.npy", "--input-layout", "first")
assert text["input"]["shape"] == [4, 3, 4]
np.save(folder + "/part-0.npy", v[:2])
np.save(folder + "/part-1.npy", v[2:])
text, a, b = convert("-i", "part-?.npy", "-t", "part-?.npy", "--concatenate", "--samples", "-1,1:3")
same("concatenated", a, v[[1, 2, 5], None])
same("concatenated", b, v[[1, 2, 5], None])

# IDX
images, digits = rng.integers(0, 255, (7, 4, 5)).astype("u1"), rng.integers(0, 10, 7).astype("u1")
plain = struct.pack(">BBBBIII", 0, 0, 8, 3, 7, 4, 5) + images.tobytes()
with open(folder + "/train-images-idx3-ubyte", "wb") as f:
    f.write(plain)
with gzip.open(folder + "/train-labels-idx1-ubyte.gz", "wb") as f:
    f.write(struct.pack(">BBBBI", 0, 0, 8, 1, 7) + digits.tobytes())
text, a, b = convert("-i", "train-images-idx3-ubyte", "-t", "train-labels-idx1-ubyte.gz")
same("idx", a, images[:, None])
same("idx labels", b, digits)
floats = rng.normal(size=(7, 3)).astype(">f4")
with open(folder + "/floats.idx", "wb") as f:
    f.write(struct.pack(">BBBBII", 0, 0, 13, 2, 7, 3) + floats.tobytes())
text, a, b = convert("-i", "floats.idx", "-t", "train-labels-idx1-ubyte.gz")
same("idx floats", a, floats)

# a sample of more than 8 MiB in a compressed file is read in pieces, of as many places as it has channels
for channels in 3, 300:
    v = rng.integers(0, 255, (2, channels, 9 * 300 // channels, 4000)).astype("u1")
    with gzip.open(folder + "/wide.idx.gz", "wb", 1) as f:
        f.write(struct.pack(">BBBBIIII", 0, 0, 8, 4, *v.shape) + v.tobytes())
    np.savez_compressed(folder + "/wide.npz", a=v, u4=v[:, :1, :, :1000].astype(">u4"))
    for source in "wide.idx.gz", "wide.npz:a":
        same(source, convert("-i", source, "--input-layout", "first")[1], v)
        same(source, convert("-i", source, "--input-layout", "first", "--samples", "1")[1], v[1:])
    same("u4", convert("-i", "wide.npz:u4", "--input-layout", "first", "--dtype", "u8")[1], v[:, :1, :, :1000])

# the same values at every level; level 0 compresses nothing
smooth = np.round(np.sin(np.arange(2 * 3 * 512 * 512) / 999) * 100).reshape(2, 3, 512, 512)
classes = (smooth[:, 0] > 0).astype("u1")
np.savez(folder + "/levels.npz", x=smooth.astype("f4"), y=classes)
size = {}
for level in "0", "1", "3", "19":
    text, a, b = convert("-i", "levels.npz:x", "-t", "levels.npz:y", "--input-layout", "first", "--level", level)
    same("level " + level, a, smooth.astype("f4"))
    same("labels of level " + level, b, classes)
    size[level] = os.path.getsize(folder + "/out.dlx")
if not size["0"] > smooth.size * 4 + classes.size > 4 * size["1"]:
    sys.exit(f"bytes by level: {size}")
