# SPDX-License-Identifier: BSD-3-Clause
"""check_zarr.py DLX-CONVERT DIR [blosc]: Zarr stores, written here, against NumPy."""
import shutil
import struct
import sys

import numpy as np

from converted import converter
from zarr_files import array, group, put, sharded, zipped

program, folder = sys.argv[1:3]
convert = converter(program, folder)
rng = np.random.default_rng(7)
packers = [None, "gzip", "zlib", "zstd"] + sys.argv[3:]


def same(name, got, want):
    if got.shape != want.shape or not np.array_equal(got, want, equal_nan=got.dtype.kind == "f"):
        sys.exit(f"{name}: got {got.shape} {got.dtype}\n{got}\nexpected {want.shape} {want.dtype}\n{want}")


# each packer, version, order, type and byte order; chunks that are cut at the edges; one that is missing
types = ["<f4", ">f4", "<f8", "<i2", ">u2", "|u1", "<i8", "<u4", ">u4", "<f2", "|b1", ">i8"]
for i, dtype in enumerate(types):
    for k, packer in enumerate(packers):
        for version in (2, 3):
            values = rng.integers(0, 200, (7, 2, 5, 3)).astype(dtype)
            values[3:6, :, 4:] = 1
            order = ("C", "F", [2, 0, 3, 1])[(i + k) % 3] if version == 3 else "CF"[(i + k) % 2]
            order = [3, 2, 1, 0] if version == 3 and order == "F" else order
            shutil.rmtree(folder + "/v.zarr", ignore_errors=True)
            array(folder + "/v.zarr", values, (3, 2, 4, 3), version, packer if version == 2 or packer != "zlib" else None,
                  order, fill=True if dtype == "|b1" else 1, separator="./"[(i + k) // 2 % 2], missing=[(1, 0, 1, 0)])
            _, a, _ = convert("-i", "v.zarr", "--input-layout", "first", "--dtype", "i64")
            same(f"version {version} {dtype} {packer} {order}", a, values.astype("i8"))

# shards: each place of the index, with and without its checksum; packers; chunks and shards that are missing, and chunks beyond the
# array; a shard for each kind of place, rows and parts of rows of them; in a ZIP file too
x = rng.integers(0, 200, (7, 5, 9)).astype("<i4")
for i, (location, summed, big) in enumerate((a, b, c) for a in ("start", "end") for b in (True, False) for c in (False, True)):
    for packer in packers:
        if packer == "zlib":
            continue
        shutil.rmtree(folder + "/v.zarr", ignore_errors=True)
        values = x.astype(x.dtype.newbyteorder(">")) if i % 3 == 1 else x
        sharded(folder + "/v.zarr", values, (4, 4, 6), (2, 4, 3), packer, location, summed, big, missing=[(0, 1, 2), (3, 0, 0)],
                missing_shards=[(1, 1, 0)])
        want = x.copy()
        want[0:2, 4:, 6:9] = want[6:, :4, :3] = want[4:, 4:, :6] = 1
        name = f"shards {location} {summed} {big} {packer}"
        same(name, convert("-i", "v.zarr", "--input-layout", "stack")[1][:, 0], want)
        same(name, convert("-i", "v.zarr", "--input-layout", "stack", "--samples", "5,2")[1][:, 0], want[[2, 5]])
        zipped(folder + "/v.zarr", folder + "/v.zarr.zip", packed=i % 2)
        same(name + " zip", convert("-i", "v.zarr.zip", "--input-layout", "stack")[1][:, 0], want)

# fill values that JSON has no number for
for version, fill in ((2, "NaN"), (3, "NaN"), (3, "0x7fc00000"), (3, "-Infinity")):
    shutil.rmtree(folder + "/v.zarr")
    values = rng.normal(size=(4, 6)).astype("f4")
    array(folder + "/v.zarr", values, (2, 6), version, fill=fill, missing=[(1, 0)])
    values[2:] = np.nan
    _, a, _ = convert("-i", "v.zarr", "--fill", "nan")
    same(f"fill value {fill}", a, values)

# integers without a sign by an attribute, as xarray writes what NetCDF has
for version in (2, 3):
    for dtype in "|i1", "<i2", "<i4":
        shutil.rmtree(folder + "/v.zarr")
        values = np.array([[1, -2, 3], [-100, 5, -1]], dtype)
        array(folder + "/v.zarr", values, (1, 3), version, fill=0, attributes={"_Unsigned": "true", "_FillValue": -1})
        _, a, _ = convert("-i", "v.zarr", "--fill", "7")
        want = values.astype("i8") % 2 ** (8 * values.itemsize)
        want[1, 2] = 7
        same(f"version {version} {dtype} unsigned", a.astype("i8"), want)

# groups: variables by path, coordinates and attributes of axes, packed values, missing ones
x = rng.normal(size=(6, 4, 5)).astype("f4")
packed = rng.integers(1, 100, (6, 4, 5)).astype("<i2")
for version in (2, 3):
    g = f"{folder}/g{version}.zarr"
    group(g, version)
    group(g + "/deep", version)
    axes = ["time", "lat", "lon"]
    array(g + "/t", x, (2, 4, 5), version, axes=axes, fill="NaN" if version == 2 else 0.0, attributes=None if version == 2 else
          {"_FillValue": "AAAAAAAA+H8="})
    array(g + "/deep/p", packed, (6, 2, 2), version, axes=axes, fill=None if version == 2 else 0,
          attributes={"scale_factor": 0.5, "add_offset": 10, "missing_value": [7, 9], "text": "a \"NaN\" \\ in it"})
    array(g + "/time", np.arange(6.0), (4,), version, axes=["time"], attributes={"units": "days since 2000-01-01", "axis": "T"})
    array(g + "/lat", np.array([10, 5, 0, -5], "<i4"), (4,), version, axes=["lat"], attributes={"units": "degrees_north", "odd": [1, 2]})
    put(g + "/deep/notes.txt", b"not an array")
    text, a, _ = convert("-i", g.split("/")[-1] + ":t,deep/p", "--fill", "-1")
    want = np.where((packed == 7) | (packed == 9), -1, packed * 0.5 + 10)
    same("group", a, np.stack([x, want], axis=1).astype("f4"))
    assert text["input"]["channels"] == ["t", "deep/p"]
    time, lat, lon = text["axes"]
    assert time["values"] == list(range(6)) and time["attributes"] == {"units": "days since 2000-01-01", "axis": "T"}
    assert lat["values"] == [10, 5, 0, -5] and lat["attributes"] == {"units": "degrees_north", "odd": [1, 2]}, lat
    assert lon["name"] == "lon" and "values" not in lon
    # an array of a group by its own path, with a slash after it, and the only one that is no coordinate
    same("path", convert("-i", g.split("/")[-1] + "/t/", "-t", g.split("/")[-1] + ":t", "--input-layout", "stack",
                         "--target-layout", "stack")[1][:, 0], x)
    # the same in a ZIP file, and where the store's folder is in it
    for below, path, dense in ("", "g.zarr.zip", False), ("g.zarr/", "g.zip", True), ("", "zipped.zarr", True):
        zipped(g, folder + "/" + path, below, dense)
        text, a, _ = convert("-i", f"{path}:{below}t,{below}deep/p", "--fill", "-1")
        same("group in a ZIP file", a, np.stack([x, want], axis=1).astype("f4"))
        assert text["axes"][0]["values"] == list(range(6)) and text["axes"][1]["attributes"]["odd"] == [1, 2]
    shutil.rmtree(g + "/deep")
    zipped(g, folder + "/g.zip")
    same("the only one in a ZIP file", convert("-i", "g.zip")[1][:, 0], x)
    same("the only one", convert("-i", g.split("/")[-1])[1][:, 0], x)
# a store a sample, and rows of several stores
for i in range(6):
    array(f"{folder}/s{i}.zarr", x[i], (4, 2), 2 + i % 2, packers[i % len(packers)] if i % 2 == 0 else None, fill=0)
same("a store a sample", convert("-i", "s?.zarr")[1][:, 0], x)
same("rows of stores", convert("-i", "s?.zarr", "--concatenate")[1], x.reshape(24, 5))
