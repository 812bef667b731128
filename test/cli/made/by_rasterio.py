# SPDX-License-Identifier: BSD-3-Clause
"""by_rasterio.py DLX-CONVERT FOLDER: GeoTIFF files that rasterio (GDAL) writes, against what it reads of them."""

import glob
import itertools
import os
import warnings

import numpy as np
import rasterio
from rasterio.enums import Resampling
from rasterio.transform import Affine, from_origin

from made import begin, end, fault, reads, reads_or_refuses, refused, run

begin()
warnings.filterwarnings("ignore")
rng = np.random.default_rng(2)
H, W = 37, 43
HERE = from_origin(500000, 4649000, 30, 20)
CODES = {"uint8": "u1", "int8": "i1", "uint16": "u2", "int16": "i2", "uint32": "u4", "int32": "i4", "float32": "f4", "float64": "f8"}


def draw(bands, code):
    kind = np.dtype(CODES[code])
    if kind.kind == "f":
        return rng.normal(size=(bands, H, W)).astype(kind)
    most = np.iinfo(kind)
    return rng.integers(max(most.min, -(2**23)), min(most.max, 2**23), (bands, H, W), dtype=kind, endpoint=True)


def write(path, v, nodata=None, scales=None, offsets=None, mask=None, internal=True, before=None, **profile):
    for old in glob.glob(path + "*"):
        os.remove(old)
    kind = {
        "driver": "GTiff",
        "count": len(v),
        "height": v.shape[1],
        "width": v.shape[2],
        "dtype": v.dtype.name,
        "transform": HERE,
        "crs": "EPSG:32633",
    }
    with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=internal), rasterio.open(path, "w", nodata=nodata, **kind | profile) as f:
        if before:
            before(f)
        f.write(v)
        if scales:
            f.scales = scales
        if offsets:
            f.offsets = offsets
        if mask is not None:
            f.write_mask(mask)


def library(path):
    """(1, bands, height, width) of doubles, with NaN for what is missing."""
    with rasterio.open(path) as f:
        v = f.read(masked=True).astype("f8")
        v = v * np.array(f.scales)[:, None, None] + np.array(f.offsets)[:, None, None]
        return v.filled(np.nan)[None]


def check(name, path="a.tif", near=1e-6, **more):
    return reads(name, library(path), "-i", path, "--fill", "nan", "--dtype", "f64", *bands(path), near=near, **more)


def bands(path):
    with rasterio.open(path) as f:
        return ["--input-layout", "last"] if f.count > 4 else []


# Types, bands, and how they lie in the file.
for code, n in itertools.product(CODES, (1, 2, 3, 5)):
    v = draw(n, code)
    for form in (
        {},
        {"tiled": True, "blockxsize": 16, "blockysize": 16, "interleave": "band"},
        {"interleave": "pixel", "compress": "deflate", "predictor": 2},
        {"compress": "lzw", "BIGTIFF": "YES"},
        {"compress": "packbits", "interleave": "band", "blockysize": 5},
        {"ENDIANNESS": "BIG"},
        {"compress": "zstd"},
        {"compress": "lzma"},
        {"compress": "deflate", "predictor": 3},
        {"PHOTOMETRIC": "MINISBLACK", "ALPHA": "NO"},
        {"PROFILE": "BASELINE"},
        {"PROFILE": "GeoTIFF"},
        {"COPY_SRC_OVERVIEWS": "YES", "tiled": True, "blockxsize": 32, "blockysize": 32},
    ):
        if form.get("predictor") == 3 and code[0] != "f" or form.get("predictor") == 2 and code[0] == "f":
            continue
        try:
            write("a.tif", v, **form)
        except rasterio.errors.RasterioError as error:
            print("not written:", code, n, form, error)
            continue
        want = library("a.tif")
        reads(f"{code} of {n} bands {form}", want, "-i", "a.tif", "--fill", "nan", "--dtype", "f64", *bands("a.tif"))

# What is missing.
for code, nodata in (
    ("uint8", 0),
    ("uint8", 255),
    ("int8", -128),
    ("int16", -32768),
    ("uint16", 65535),
    ("int32", -2147483648),
    ("uint32", 4294967295),
    ("float32", -9999),
    ("float32", float("nan")),
    ("float32", -3.4028234663852886e38),
    ("float32", 0.1),
    ("float64", 1e20),
    ("float64", 0.1),
    ("float64", -1.7976931348623157e308),
    ("float32", float("inf")),
    ("float32", float("-inf")),
):
    for n in 1, 3:
        v = draw(n, code)
        v[:, 3:9, 5:20] = nodata
        v[0, 30, 7] = nodata
        for more in (
            {},
            {"scales": (0.5,) * n},
            {"scales": tuple(0.5 + k for k in range(n)), "offsets": tuple(3.0 * k for k in range(n))},
            {"offsets": (100.0,) * n},
            {"compress": "deflate", "PROFILE": "GeoTIFF"},
        ):
            write("a.tif", v, nodata=nodata, **more)
            check(f"nodata {nodata} in {code} of {n} {more}")

# Masks of the file, in it or next to it; of all bands, and of each.
there = np.where(rng.random((H, W)) > 0.3, 255, 0).astype("u1")
for internal, code, n in itertools.product((True, False), ("uint8", "uint16", "float32"), (1, 3)):
    for form in ({}, {"compress": "deflate", "tiled": True, "blockxsize": 16, "blockysize": 16}, {"interleave": "band"}):
        write("a.tif", draw(n, code), mask=there, internal=internal, **form)
        check(f"mask {internal} {code} {n} {form}")
        with rasterio.Env(GDAL_TIFF_INTERNAL_MASK=internal), rasterio.open("a.tif", "r+") as f:
            f.build_overviews([2, 4], Resampling.nearest)
        check(f"mask {internal} {code} {n} {form} with overviews")
v = draw(3, "uint8")
write("a.tif", np.concatenate([v, there[None]]), photometric="RGB", ALPHA="YES")
reads("alpha", np.concatenate([v, there[None]])[None].astype("u1"), "-i", "a.tif")
# Overviews in a file of their own, and sparse files.
write("a.tif", draw(3, "uint8"))
with rasterio.Env(TIFF_USE_OVR=True), rasterio.open("a.tif", "r+") as f:
    f.build_overviews([2], Resampling.average)
check("overviews next to it")
for nodata, form, code in itertools.product(
    (None, 7),
    ({}, {"tiled": True, "blockxsize": 16, "blockysize": 16}, {"interleave": "pixel", "blockysize": 4}, {"interleave": "band", "blockysize": 4}),
    ("uint8", "int16", "float32", "uint32"),
):
    for more in {}, {"compress": "deflate"}:
        for old in glob.glob("a.tif*"):
            os.remove(old)
        with rasterio.open(
            "a.tif", "w", driver="GTiff", count=2, height=64, width=64, dtype=code, SPARSE_OK="TRUE", nodata=nodata, **form, **more
        ) as f:
            f.write(np.full((2, 16, 16), 9, CODES[code]), window=rasterio.windows.Window(16, 32, 16, 16))
        check(f"sparse, nodata {nodata} {form} {code} {more}")

# Bits.
for code, bits in (
    ("uint8", 1),
    ("uint8", 2),
    ("uint8", 4),
    ("uint8", 3),
    ("uint8", 7),
    ("uint16", 12),
    ("uint16", 9),
    ("uint32", 24),
    ("float32", 16),
    ("float32", 24),
):
    v = draw(1, code) if code[0] == "f" else rng.integers(0, 2 ** min(bits, 22), (1, H, W)).astype(CODES[code])
    try:
        write("a.tif", v, NBITS=bits)
    except Exception as error:
        print("not written", code, bits, error)
        continue
    want = library("a.tif")
    if code == "uint8":
        # Grey of fewer bits is scaled; the numbers themselves are ':index' and labels.
        if not reads_or_refuses(f"{bits} bits of {code}", want, "-i", "a.tif:index", "--dtype", "f64"):
            print("refused:", code, bits, run("-i", "a.tif:index")[1].strip()[:200])
    elif not reads_or_refuses(f"{bits} bits of {code}", want, "-i", "a.tif", "--dtype", "f64"):
        print("refused:", code, bits, run("-i", "a.tif")[1].strip()[:200])

# A palette.
v = rng.integers(0, 5, (1, H, W)).astype("u1")
colours = {k: (k * 50, 255 - k, 9, 255) for k in range(5)}
write("a.tif", v, before=lambda f: f.write_colormap(1, colours))
reads("numbers of a palette", v[None], "-i", "a.tif:index", "-t", "a.tif", target=v)
reads("colours of a palette", np.moveaxis(np.array([colours[k][:3] for k in range(5)], "u1")[v[0]], -1, 0)[None], "-i", "a.tif")
write("a.tif", v, nodata=3, before=lambda f: f.write_colormap(1, colours))
reads(
    "missing numbers of a palette",
    np.where(v == 3, 0, v)[None],
    "-i",
    "a.tif:index",
    "-t",
    "a.tif",
    "--ignore",
    "255",
    target=np.where(v == 3, 255, v),
)

# Compressions with loss.
for compress, n in (("jpeg", 3), ("jpeg", 1), ("webp", 3), ("lerc", 1), ("lerc_deflate", 1), ("jxl", 3)):
    try:
        y, x = np.mgrid[:H, :W]
        write(
            "a.tif",
            np.stack([128 + 60 * np.sin(x / 9 + c) * np.cos(y / 7) for c in range(n)]).astype("u1"),
            compress=compress,
            **({"photometric": "YCBCR"} if compress == "jpeg" and n == 3 else {}),
        )
    except Exception as error:
        print("not written", compress, str(error)[:80])
        continue
    status, text = run("-i", "a.tif")
    if status:
        print("refused:", compress, n, text.strip()[:200])
        continue
    reads_or_refuses(f"{compress} {n}", library("a.tif"), "-i", "a.tif", "--dtype", "f64", near=3 if compress == "jpeg" else 0)

# Types that have no place in a record.
for code in "complex64", "complex128", "complex_int16", "int64", "uint64":
    try:
        v = (rng.integers(0, 2**60, (1, H, W))).astype(code.replace("complex_int16", "complex64"))
        for old in glob.glob("a.tif*"):
            os.remove(old)
        with rasterio.open("a.tif", "w", driver="GTiff", count=1, height=H, width=W, dtype=code) as f:
            f.write(v)
    except Exception as error:
        print("not written", code, error)
        continue
    status, text = run("-i", "a.tif")
    print(code, status, text.strip()[:160])
    if status == 0:
        reads_or_refuses(code, v[None] if code != "uint64" else v[None], "-i", "a.tif")


# Places.
def place(crs, transform, want, name, path="a.tif", **more):
    v = draw(1, "float32")
    write(path, v, crs=crs, transform=transform, **more)
    d = check(name, path)
    have = [(a["name"], a.get("values") and [a["values"][0], a["values"][1]], a.get("attributes", {})) for a in d.get("axes", [])[1:]]
    if want is not None and have != want:
        fault(f"{name}: {have}, expected {want}")
    return d, have


def metres(epsg):
    return [{"standard_name": f"projection_{n}_coordinate", "units": "m", "epsg": epsg} for n in "yx"]


y, x = metres("EPSG:32633")
place("EPSG:32633", HERE, [("y", [4648990.0, 4648970.0], y), ("x", [500015.0, 500045.0], x)], "north up")
place("EPSG:32633", Affine(30, 0, 500000, 0, 20, 4600000), [("y", [4600010.0, 4600030.0], y), ("x", [500015.0, 500045.0], x)], "south up")
place("EPSG:4326", from_origin(-10, 60, 0.5, 0.25), None, "degrees")
place(
    "EPSG:3857",
    from_origin(0, 1e6, 100, 100),
    [("y", [999950, 999850], metres("EPSG:3857")[0]), ("x", [50, 150], metres("EPSG:3857")[1])],
    "web mercator",
)
place(
    "EPSG:2056",
    from_origin(2600000, 1200000, 10, 10),
    [("y", [1199995, 1199985], metres("EPSG:2056")[0]), ("x", [2600005, 2600015], metres("EPSG:2056")[1])],
    "a national grid",
)
feet = [a | {"units": "US_survey_foot"} for a in metres("EPSG:2263")]
place("EPSG:2263", from_origin(1e6, 2e5, 10, 10), [("y", [199995, 199985], feet[0]), ("x", [1000005, 1000015], feet[1])], "feet")
place("+proj=laea +lat_0=52 +lon_0=10 +x_0=4321000 +y_0=3210000 +ellps=GRS80 +units=m", from_origin(4e6, 3e6, 10, 10), None, "without a number")
place(None, from_origin(1e6, 2e5, 10, 10), [("y", [199995, 199985], {}), ("x", [1000005, 1000015], {})], "no reference system")
place("EPSG:32633", Affine(30, 5, 500000, 5, -20, 4600000), [], "turned")
for profile in {"PROFILE": "GeoTIFF"}, {"PROFILE": "BASELINE"}, {"PROFILE": "BASELINE", "TFW": "YES"}, {"TFW": "YES"}:
    for epsg in 32633, 4326, 2263:
        origin = from_origin(-10, 60, 0.5, 0.25) if epsg == 4326 else HERE
        _, inside = place(f"EPSG:{epsg}", origin, None, "")
        _, outside = place(f"EPSG:{epsg}", origin, None, f"{profile} {epsg}", **profile, scales=(2.0,), offsets=(-3.0,), nodata=7)
        if inside != outside:
            fault(f"{profile} {epsg}: {outside}, expected {inside}")
write("a.tif", draw(2, "float32"), nodata=-1)
with rasterio.Env(), open("a.tif.aux.xml", "w") as f:
    f.write('<PAMDataset><PAMRasterBand band="2"><NoDataValue>-1</NoDataValue><Scale>3</Scale></PAMRasterBand></PAMDataset>')
check("an .aux.xml of the second band")

# Input and target.
v = draw(1, "float32")
write("a.tif", v)
write("b.tif", v)
reads("same place", v[None], "-i", "a.tif", "-t", "b.tif", target=v[None])
write("b.tif", v[:, ::-1], transform=Affine(30, 0, 500000, 0, 20, 4649000 - H * 20))
reads("the target is south up", v[None], "-i", "a.tif", "-t", "b.tif", target=v[None], says="runs the other way")
write("b.tif", v, transform=from_origin(500030, 4649000, 30, 20))
refused("a pixel off", "", "-i", "a.tif", "-t", "b.tif")
write("b.tif", v, transform=from_origin(500000, 4649000, 30, 30))
refused("another resolution", "", "-i", "a.tif", "-t", "b.tif")
write("b.tif", v, crs="EPSG:32632")
refused("another reference system", "", "-i", "a.tif", "-t", "b.tif")
write("b.tif", v, crs="EPSG:4326", transform=from_origin(-10, 60, 0.5, 0.25))
refused("degrees and metres", "", "-i", "a.tif", "-t", "b.tif")
end()
