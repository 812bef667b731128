# SPDX-License-Identifier: BSD-3-Clause
"""by_netcdf4.py DLX-CONVERT FOLDER: files that netCDF4 writes, against what it reads of them."""

import itertools
import os

import netCDF4
import numpy as np

from made import begin, end, fault, reads, reads_or_refuses, refused, run

begin()
rng = np.random.default_rng(4)
SHAPE = (5, 6, 7)
CODES = "i1 u1 i2 u2 i4 u4 i8 u8 f4 f8".split()
CLASSIC = "i1 i2 i4 f4 f8".split()
FORMATS = {
    "NETCDF4": CODES,
    "NETCDF4_CLASSIC": CLASSIC,
    "NETCDF3_CLASSIC": CLASSIC,
    "NETCDF3_64BIT_OFFSET": CLASSIC,
    "NETCDF3_64BIT_DATA": CODES,
}


def draw(code, shape=SHAPE):
    kind = np.dtype(code)
    if kind.kind == "f":
        return rng.normal(size=shape).astype(kind)
    # The library masks bytes of -127, which are data.
    most = np.iinfo(kind)
    return rng.integers(max(most.min + 2, -(2**23)), min(most.max, 2**23), shape, dtype=kind)


def create(form="NETCDF4", unlimited=(), axes=("time", "y", "x"), shape=SHAPE):
    if os.path.exists("a.nc"):
        os.remove("a.nc")
    f = netCDF4.Dataset("a.nc", "w", format=form)
    for name, n in zip(axes, shape):
        f.createDimension(name, None if name in unlimited else n)
    return f


def library(name="v", path="a.nc"):
    """What the library reads, as doubles with NaN for what is missing."""
    with netCDF4.Dataset(path) as f:
        return np.ma.filled(f[name][:].astype("f8"), np.nan)


def check(name, variable="v", *args, near=1e-6, **more):
    want = library(variable)
    return reads(name, want[:, None], "-i", "a.nc:" + variable, "--fill", "nan", "--dtype", "f64", *args, near=near, **more)


# Types of each format; sizes that are unlimited; what is never written, with and without fill values.
for form, codes in FORMATS.items():
    for code, unlimited, fill in itertools.product(codes, ((), ("time",), ("time", "y")), (None, False, 7)):
        if len(unlimited) > 1 and form != "NETCDF4":
            continue
        with create(form, unlimited) as f:
            f.set_auto_mask(False)
            v = f.createVariable("v", code, ("time", "y", "x"), fill_value=fill)
            data = draw(code)
            if fill == 7:
                data[1, 2, 3] = 7
            if code in ("i8", "u8"):
                data = data // 2
            if fill is False:
                v[:] = data
            else:
                v[:3], v[4, :5] = data[:3], data[4, :5]
        # Bytes have no fill value of netCDF's own.
        if fill is None and code in ("i1", "u1"):
            want = np.where(np.arange(5)[:, None, None] == 9, 0, data).astype("f8")
            want[3], want[4, 5:] = (-127, -127) if code == "i1" else (255, 255)
            reads(f"{form} {code} {unlimited} {fill}", want[:, None], "-i", "a.nc:v", "--fill", "nan", "--dtype", "f64")
        else:
            check(f"{form} {code} {unlimited} {fill}", near=0)

# Packing and attributes, of types of every kind.
for code, scale, offset, fill, form in itertools.product(
    ("i1", "u1", "i2", "u2", "i4", "u4", "f4"),
    (None, 0.01, np.float32(0.1), 2, -0.5),
    (None, 273.15, np.float32(1), -3),
    (None, 100),
    ("NETCDF4", "NETCDF3_CLASSIC"),
):
    if form == "NETCDF3_CLASSIC" and code[0] == "u":
        continue
    with create(form) as f:
        v = f.createVariable("v", code, ("time", "y", "x"), fill_value=fill)
        v.set_auto_maskandscale(False)
        data = draw(code)
        if fill is not None:
            data[2, 3] = fill
        v[:] = data
        if scale is not None:
            v.scale_factor = scale
        if offset is not None:
            v.add_offset = offset
    check(f"packed {form} {code} {scale!r} {offset!r} {fill}", near=2e-5)
for attribute, value in (("missing_value", -5.0), ("missing_value", [-5.0, 3.0]), ("missing_value", np.float32(-5)), ("missing_value", 3)):
    for code in "f4", "f8", "i2":
        with create() as f:
            v = f.createVariable("v", code, ("time", "y", "x"))
            v.set_auto_maskandscale(False)
            data = draw(code)
            data[0, 0], data[1, 1] = -5, 3
            v[:] = data
            v.setncattr(attribute, np.array(value).astype(code) if np.ndim(value) == 0 else np.array(value, code))
        check(f"{attribute} {value} of {code}", near=0)
for sign, code in (("true", "i1"), ("true", "i2"), ("true", "i4"), ("false", "u1"), ("false", "u2")):
    for scale in None, 0.5:
        with create() as f:
            v = f.createVariable("v", code, ("time", "y", "x"), fill_value=np.array(-1).astype(code) if sign == "true" else 255)
            v.set_auto_maskandscale(False)
            v[:] = data = rng.integers(0, 255, SHAPE).astype("u1").astype(code)
            v.setncattr("_Unsigned", sign)
            if scale:
                v.scale_factor = scale
        if sign == "true":
            check(f"_Unsigned {sign} {code} {scale}", near=1e-6)
        else:
            want = data.view("i" + code[1:]).astype("f8")
            want[data == 255] = np.nan
            reads(f"_Unsigned {sign} {code} {scale}", (want * (scale or 1))[:, None], "-i", "a.nc:v", "--fill", "nan", "--dtype", "f64")

# Filters, chunks, byte orders, quantization.
for how in (
    {"zlib": True},
    {"zlib": True, "complevel": 9, "shuffle": False},
    {"compression": "zstd"},
    {"compression": "bzip2"},
    {"compression": "szip"},
    {"fletcher32": True},
    {"chunksizes": (1, 4, 5)},
    {"chunksizes": (5, 6, 7), "zlib": True},
    {"contiguous": True},
    {"endian": "big"},
    {"endian": "little"},
    {"endian": "big", "zlib": True, "chunksizes": (2, 6, 3)},
    {"least_significant_digit": 2, "zlib": True},
    {"significant_digits": 3, "zlib": True},
):
    for code in "f4", "i2", "f8":
        if "significant_digits" in str(how) and code[0] == "i":
            continue
        try:
            with create() as f:
                v = f.createVariable("v", code, ("time", "y", "x"), **how)
                v[:] = draw(code)
            want = library()
        except Exception as error:
            print("not written", how, str(error)[:90])
            continue
        if not reads_or_refuses(f"{how} {code}", want[:, None], "-i", "a.nc:v", "--fill", "nan", "--dtype", "f64"):
            print("refused:", how, run("-i", "a.nc:v")[1].strip()[:150])

# Groups, names, and sizes of outer groups.
NAMES = ["temperatur_größe", "a b", "a.b", "a-b", "2m_temperature", "名前", "a+b", "T@2m", "a(b)", "a#b", "a%b", "a[1]"]
with create() as f:
    for name in NAMES:
        f.createVariable(name, "f4", ("time", "y", "x"))[:] = draw("f4")
    g = f.createGroup("outer").createGroup("inner")
    g.createDimension("band", 2)
    g.createVariable("v", "f4", ("time", "y", "x"))[:] = draw("f4")
    g.createVariable("w", "f4", ("time", "band", "y", "x"))[:] = draw("f4", (5, 2, 6, 7))
for name in NAMES:
    if not reads_or_refuses(f"name '{name}'", library(name)[:, None].astype("f4"), "-i", "a.nc:" + name):
        print("refused: name", name, run("-i", "a.nc:" + name)[1].strip()[:150])
reads("a group", library("outer/inner/v")[:, None], "-i", "a.nc:outer/inner/v", "--dtype", "f64")
reads("a group", library("outer/inner/w"), "-i", "a.nc:outer/inner/w", "--dtype", "f64", "--input-layout", "first")
for name in "a:b", "a,b", "x:y,z":
    with create() as f:
        f.createVariable(name, "f4", ("time", "y", "x"))[:] = draw("f4")
        f.createVariable("a", "f4", ("time", "y", "x"))[:] = draw("f4")
    if not reads_or_refuses(f"name '{name}'", library(name)[:, None].astype("f4"), "-i", "a.nc:" + name):
        print("refused: name", name, run("-i", "a.nc:" + name)[1].strip()[:200])

# Types that are no numbers.
with create() as f:
    f.createDimension("n", 4)
    f.createVariable("text", str, ("time",))[:] = np.array(list("abcde"), dtype=object)
    f.createVariable("letters", "S1", ("time", "n"))[:] = netCDF4.stringtochar(np.array([b"abcd"] * 5, "S4"))
    pair = f.createCompoundType(np.dtype([("a", "f4"), ("b", "i4")]), "pair")
    f.createVariable("pairs", pair, ("time",))[:] = np.zeros(5, pair.dtype)
    many = f.createVLType("i4", "many")
    v = f.createVariable("lists", many, ("time",))
    for k in range(5):
        v[k] = np.arange(k, dtype="i4")
    kind = f.createEnumType("u1", "kind", {"clear": 0, "cloud": 1, "rain": 2})
    f.createVariable("kinds", kind, ("time", "y", "x"), fill_value=2)[:] = rng.integers(0, 2, SHAPE).astype("u1")
    f.createVariable("v", "f4", ("time", "y", "x"))[:] = draw("f4")
for name in "text", "letters", "pairs", "lists":
    refused(name, "", "-i", "a.nc:" + name)
with netCDF4.Dataset("a.nc") as f:
    kinds = np.asarray(f["kinds"][:])
reads("an enumeration", library()[:, None].astype("f4"), "-i", "a.nc:v", "-t", "a.nc:kinds", target=kinds)

# Sizes: one, none, more axes than a record has.
for shape in ((1, 6, 7), (5, 1, 7), (5, 1, 1), (1, 1, 1)):
    with create(shape=shape) as f:
        f.createVariable("v", "f4", ("time", "y", "x"))[:] = draw("f4", shape)
    check(f"sizes {shape}")
with create(unlimited=("time",)) as f:
    f.createVariable("v", "f4", ("time", "y", "x"))
refused("no sample", "", "-i", "a.nc:v")
axes = tuple("abcdefgh")
for n in range(1, 9):
    with create(axes=axes[:n], shape=(2,) * n) as f:
        f.createVariable("v", "f4", axes[:n])[:] = draw("f4", (2,) * n)
    want = library()
    x = want.reshape(2, 1) if n == 1 else want[:, None]
    if not reads_or_refuses(f"{n} axes", x, "-i", "a.nc:v", "--input-layout", "stack", "--dtype", "f64"):
        print("refused:", n, "axes", run("-i", "a.nc:v", "--input-layout", "stack")[1].strip()[:150])

# Time that does not run in even steps, leap days, and duplicate times.
for days, calendar in (
    ([0, 1, 5, 6, 40], "standard"),
    ([58, 59, 60, 61, 62], "gregorian"),
    ([0, 1, 1, 2, 3], "standard"),
    ([59, 60, 61, 62, 63], "366_day"),
    ([0.25, 0.5, 0.75, 1, 1.25], "365_day"),
):
    with create() as f:
        f.createVariable("v", "f4", ("time", "y", "x"))[:] = draw("f4")
        t = f.createVariable("time", "f8", ("time",))
        t[:], t.units, t.calendar = days, "days since 2000-01-01 00:00:00", calendar
    d = check(f"time {days} {calendar}")
    if d and (d["axes"][0]["values"] != days or d["axes"][0]["attributes"]["calendar"] != calendar):
        fault(f"time {days}: {d['axes'][0]}")
    os.replace("a.nc", "b.nc")
    with netCDF4.Dataset("b.nc") as f:
        data = np.asarray(f["v"][:])
    with create() as f:
        f.createVariable("w", "f4", ("time", "y", "x"))[:] = data
        t = f.createVariable("time", "i8", ("time",))
        t[:], t.units, t.calendar = [round(24 * d) for d in days], "hours since 2000-01-01", calendar
    if not reads_or_refuses(f"hours for days {days} {calendar}", data[:, None], "-i", "b.nc:v", "-t", "a.nc:w", target=data[:, None]):
        print("refused: hours for days", days, calendar, run("-i", "b.nc:v", "-t", "a.nc:w")[1][:200])
end()
