# SPDX-License-Identifier: BSD-3-Clause
"""by_h5py.py DLX-CONVERT FOLDER: files that h5py and zarr write, against what they read of them."""

import itertools
import os
import shutil
import warnings

import h5py
import numcodecs
import numpy as np
import zarr

from made import begin, end, fault, reads, reads_or_refuses, refused, run

begin()
warnings.filterwarnings("ignore")
rng = np.random.default_rng(5)
SHAPE = (6, 10, 9)
CODES = "i1 u1 i2 u2 i4 u4 i8 f2 f4 f8 >i2 >u4 >i8 >f2 >f4 >f8 ?".split()


def draw(code, shape=SHAPE):
    kind = np.dtype(code)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(kind)
    return rng.integers(0, 2 if kind.kind == "b" else min(np.iinfo(kind).max, 2**23), shape).astype(kind)


def library(name="v", path="a.h5"):
    with h5py.File(path) as f:
        return f[name][()]


def check(name, variable="v", *args, may_refuse=False):
    want = library(variable)[:, None].astype("f8")
    if may_refuse:
        if not reads_or_refuses(name, want, "-i", "a.h5:" + variable, "--dtype", "f64", *args):
            print("refused:", name, run("-i", "a.h5:" + variable, *args)[1].strip()[:200])
    else:
        reads(name, want, "-i", "a.h5:" + variable, "--dtype", "f64", *args)


# Types, filters, chunks, and versions of the format.
for code, how, lib in itertools.product(
    CODES,
    (
        {},
        {"chunks": (2, 4, 5)},
        {"chunks": True, "compression": "gzip"},
        {"chunks": (6, 3, 3), "compression": "lzf"},
        {"shuffle": True, "compression": 9},
        {"fletcher32": True},
        {"maxshape": (None, None, 9)},
        {"scaleoffset": 0},
        {"compression": "szip"},
    ),
    (None, ("earliest", "v108"), ("v108", "v110"), ("latest", "latest")),
):
    if "scaleoffset" in how and (code in "?" or "f" in code):
        continue
    try:
        with h5py.File("a.h5", "w", libver=lib) as f:
            f.create_dataset("v", data=draw(code), **how)
    except Exception as error:
        if lib is None:
            print("not written", code, how, str(error)[:90])
        continue
    check(f"{code} {how} {lib}", may_refuse="lzf" in str(how) or lib == ("latest", "latest"))
with h5py.File("a.h5", "w", userblock_size=512, track_order=True) as f:
    f.create_dataset("g/v", data=draw("f4"))
    f["soft"], f["hard"] = h5py.SoftLink("/g/v"), f["g/v"]
for name in "g/v", "soft", "hard":
    check(name, name)
with h5py.File("b.h5", "w") as f:
    f["out"] = h5py.ExternalLink("a.h5", "/g/v")
want = library("out", "b.h5")
if not reads_or_refuses("an external link", want[:, None], "-i", "b.h5:out"):
    print("refused: external link", run("-i", "b.h5:out")[1].strip()[:200])

# What is not written: fill values, parts.
for code, fill in itertools.product(("i2", "f4", "u1", "f8"), (None, 3)):
    with h5py.File("a.h5", "w") as f:
        v = f.create_dataset("v", SHAPE, code, chunks=(2, 5, 9), fillvalue=fill)
        v[:2] = draw(code, (2, 10, 9))
        v[5, 5:] = draw(code, (5, 9))
    check(f"never written {code} {fill}")

# Storage in other files, virtual sets, parts of others.
with h5py.File("a.h5", "w") as f:
    v = f.create_dataset("v", SHAPE, "f4", external=[("raw.bin", 0, 4 * 540)])
    v[:] = draw("f4")
check("external storage", may_refuse=True)
for k in range(3):
    with h5py.File(f"part{k}.h5", "w") as f:
        f["v"] = draw("i4", (2, 10, 9))
for order in (0, 1, 2), (2, 0, 1):
    layout = h5py.VirtualLayout(SHAPE, "i4")
    for k, n in enumerate(order):
        layout[2 * k : 2 * k + 2] = h5py.VirtualSource(f"part{n}.h5", "v", (2, 10, 9))
    with h5py.File("a.h5", "w", libver=("v108", "v110")) as f:
        f.create_virtual_dataset("v", layout, fillvalue=-1)
    check(f"virtual {order}")
layout = h5py.VirtualLayout((6, 5, 9), "f4")
for k in range(3):
    layout[k::3] = h5py.VirtualSource(f"part{k}.h5", "v", (2, 10, 9))[:, ::2]
with h5py.File("a.h5", "w", libver=("v108", "v110")) as f:
    f.create_virtual_dataset("v", layout)
check("virtual, with steps")

# Types that are no numbers, and those that nearly are.
kinds = h5py.enum_dtype({"a": 0, "b": 1, "c": 5}, "i2")
with h5py.File("a.h5", "w") as f:
    f["complex"], f["text"], f["bytes"] = np.zeros((6, 2), "c8"), ["a"] * 6, np.zeros(6, "S4")
    f["pairs"], f["opaque"] = np.zeros(6, [("a", "f4"), ("b", "i4")]), np.zeros(6, "V4")
    f["vectors"] = np.zeros((6,), np.dtype(("f4", (3,))))
    f.create_dataset("lists", (6,), h5py.vlen_dtype("i4"))
    f.create_dataset("kinds", data=rng.integers(0, 3, SHAPE), dtype=kinds)
    f["empty"], f["scalar"] = h5py.Empty("f4"), 3.5
    f.create_dataset("none", (0, 3), "f4", maxshape=(None, 3))
    f["v"] = draw("f4")
    f["ref"] = f["v"].ref
for name in "complex", "text", "bytes", "pairs", "opaque", "lists", "empty", "scalar", "none", "ref":
    refused(name, "", "-i", "a.h5:" + name)
refused("a group", "", "-i", "a.h5:/")
check("an enumeration", "kinds")
# Attributes, of each type that numbers have.
for code, missing in itertools.product(
    ("f4", "i2", "u1", "f2"), (np.float64(7), np.int32(7), np.array([7.0]), np.array([7, 5], "i8"), np.float16(7))
):
    v = draw(code)
    v[0, 0] = 7
    with h5py.File("a.h5", "w") as f:
        f["v"] = v
        f["v"].attrs["missing_value"] = missing
    want = np.where(np.isin(v, np.atleast_1d(missing)), np.nan, v.astype("f8"))[:, None]
    reads(f"missing_value {missing!r} of {code}", want, "-i", "a.h5:v", "--fill", "nan", "--dtype", "f64")

# Zarr: versions, chunks, shards, codecs, orders, types.
for version, code, form in itertools.product((2, 3), CODES + ["u8"], range(9)):
    shutil.rmtree("a.zarr", ignore_errors=True)
    how = [
        {},
        {"chunks": (2, 4, 5)},
        {"chunks": (2, 5, 3), "shards": (4, 10, 9)},
        {"compressors": None},
        {"order": "F"},
        {"fill_value": 3 if code != "?" else True},
        {"chunks": (6, 10, 9), "compressors": zarr.codecs.GzipCodec() if version == 3 else numcodecs.GZip()},
        {"compressors": zarr.codecs.BloscCodec(cname="lz4", shuffle="bitshuffle") if version == 3 else numcodecs.Blosc("zstd", 5, 2)},
        (
            {"chunks": (1, 10, 9), "chunk_key_encoding": {"name": "v2", "separator": "."}}
            if version == 3
            else {"chunk_key_encoding": {"name": "v2", "separator": "/"}}
        ),
    ][form]
    try:
        z = zarr.create_array("a.zarr", shape=SHAPE, dtype=code, zarr_format=version, **how)
    except Exception as error:
        if code == "f4":
            print("not written", version, how, str(error)[:90])
        continue
    z[:4], z[5, 3:] = draw(code, (4, 10, 9)), draw(code, (7, 9))
    want = z[:]
    name = f"zarr {version} {code} {how}"
    if not reads_or_refuses(name, want[:, None].astype("f8"), "-i", "a.zarr", "--input-layout", "stack", "--dtype", "f64"):
        text = run("-i", "a.zarr", "--input-layout", "stack")[1].strip()
        if code == "f4" or "i64" not in text:
            print("refused:", name, text[:200])
for version in 2, 3:
    if os.path.exists("a.zarr.zip"):
        os.remove("a.zarr.zip")
    with zarr.storage.ZipStore("a.zarr.zip", mode="w") as store:
        g = zarr.create_group(store, zarr_format=version)
        v = draw("f4")
        g.create_array("deep/v", data=v, chunks=(2, 4, 5))
    reads(f"zarr {version} in a ZIP file", v[:, None], "-i", "a.zarr.zip:deep/v", "--input-layout", "stack")
    shutil.rmtree("a.zarr", ignore_errors=True)
    g = zarr.create_group("a.zarr", zarr_format=version)
    g.create_array("size é", data=v, chunks=(2, 4, 5), attributes={"units": "m", "größe": [1, None, 'x"y']})
    reads(f"zarr {version}, a name", v[:, None], "-i", "a.zarr:size é", "--input-layout", "stack")
    z = g["size é"]
    z.resize((8, 10, 9))
    reads(f"zarr {version}, made larger", z[:][:, None], "-i", "a.zarr:size é", "--input-layout", "stack")
    z.resize((3, 7, 9))
    reads(f"zarr {version}, made smaller", z[:][:, None], "-i", "a.zarr:size é", "--input-layout", "stack")
# Codecs that dlx has not are refused.
for filters in ([numcodecs.Delta("f4")], [numcodecs.FixedScaleOffset(0, 10, "f4", "i2")], [numcodecs.Shuffle(4)], [numcodecs.Quantize(3, "f4")]):
    shutil.rmtree("a.zarr", ignore_errors=True)
    z = zarr.create_array("a.zarr", shape=SHAPE, dtype="f4", zarr_format=2, filters=filters)
    z[:] = draw("f4")
    if not reads_or_refuses(f"zarr filter {filters}", z[:][:, None], "-i", "a.zarr", "--input-layout", "stack"):
        print("refused: filter", filters, run("-i", "a.zarr")[1].strip()[:160])
for codec in ("LZ4", "BZ2", "Zlib", "LZMA"):
    shutil.rmtree("a.zarr", ignore_errors=True)
    z = zarr.create_array("a.zarr", shape=SHAPE, dtype="f4", zarr_format=2, compressors=getattr(numcodecs, codec)())
    z[:] = draw("f4")
    if not reads_or_refuses(f"zarr codec {codec}", z[:][:, None], "-i", "a.zarr", "--input-layout", "stack"):
        print("refused: codec", codec, run("-i", "a.zarr")[1].strip()[:160])
end()
