# SPDX-License-Identifier: BSD-3-Clause
"""meetings.py DLX-CONVERT FOLDER [CASES [SEED]]: random pairs of files, made with xarray, of one field: a function of time, level and place. Their
axes are in any order and direction, longitudes begin anywhere, time is counted in any unit. What dlx-convert makes of two is refused or equal
at each point; it is refused only where one does not have the other's coordinates."""

import random
import shutil
import sys

import numpy as np
import xarray as xr

from made import begin, dlxrecord, end, fault, run

begin()
CASES, SEED = [int(x) for x in (sys.argv[3:] + ["300", "1"][len(sys.argv) - 3 :])]
ABOUT = {
    "time": {"standard_name": "time"},
    "plev": {"units": "Pa", "positive": "down", "axis": "Z"},
    "lat": {"units": "degrees_north"},
    "lon": {"units": "degrees_east"},
}
NAMES = {
    "time": ("time", "Time", "valid_time"),
    "plev": ("plev", "level", "lev"),
    "lat": ("lat", "latitude", "y"),
    "lon": ("lon", "longitude", "x"),
}


def values(t, p, lat, lon):
    """Each point has a value of its own, the same for longitudes of one meridian."""
    hours = (t - np.datetime64("2000-01-01T00", "h")).astype("m8[h]").astype("f8")
    return (
        (hours * 7 % 10007)[:, None, None, None] * 64
        + (p / 10000)[:, None, None, None].reshape(1, -1, 1, 1)
        + (lat / 8192).reshape(1, 1, -1, 1)
        + (np.round(lon % 360, 3) / 2**23).reshape(1, 1, 1, -1)
    )


def world(r):
    """Coordinates of a case."""
    t = np.datetime64("2000-02-27T00", "h") + np.arange(r.choice((1, 2, 3, 5))) * r.choice((1, 6, 24))
    p = np.array([100000.0, 85000, 50000][: r.choice((1, 2, 3))])
    lat = np.linspace(60, -60, r.choice((3, 4, 7)))
    lon = np.arange(0, 360, r.choice((90, 60, 45))) + r.choice((0.0, 22.5))
    return {"time": t, "plev": p, "lat": lat, "lon": lon if r.random() < 0.7 else lon[1:-1]}


def variant(r, at, name, wild):
    """A data set of the same field as another program might write it, and whether it has the same coordinates."""
    at, same = dict(at), True
    if wild and r.random() < 0.25:
        d = r.choice(("time", "lat", "lon", "plev"))
        at[d] = at[d] + (np.timedelta64(3, "h") if d == "time" else {"plev": 1000.0, "lat": 1.25, "lon": 11.0}[d])
        same = False
    v = xr.DataArray(
        values(*at.values()), dims=tuple(at), coords={d: x.astype("M8[ns]") if d == "time" else x for d, x in at.items()}, name=name
    )
    for d in ABOUT:
        v[d].attrs = dict(ABOUT[d])
    if r.random() < 0.5:
        v = v.isel(lat=slice(None, None, -1))
    if r.random() < 0.3:
        v = v.isel(plev=slice(None, None, -1))
    if r.random() < 0.2:
        v = v.isel(time=slice(None, None, -1))
    if r.random() < 0.5:
        n = r.randrange(v.sizes["lon"])
        whole = len(at["lon"]) * (at["lon"][1] - at["lon"][0] if len(at["lon"]) > 1 else 1) == 360
        v = v.roll(lon=n, roll_coords=True) if whole else v
        lon = v.lon.values
        if r.random() < 0.5:
            lon = (lon + 180) % 360 - 180
        if r.random() < 0.3:
            lon = lon % 360
        v = v.assign_coords(lon=("lon", lon, v.lon.attrs))
    dims = list(v.dims)
    if r.random() < 0.4:
        r.shuffle(dims)
    v = v.transpose(*dims)
    for d in ("lat", "lon", "plev"):
        if r.random() < 0.3:
            v = v.assign_coords({d: (d, v[d].values.astype("f4"), v[d].attrs)})
    for d in list(ABOUT):
        if r.random() < 0.2:
            v = v.rename({d: r.choice(NAMES[d])})
    time = [d for d in v.dims if d in NAMES["time"]][0]
    code, unit = r.choice(("i8", "f8", "i4")), r.choice(
        (
            "hours since 2000-01-01",
            "hours since 1900-01-01 00:00:0.0",
            "minutes since 2000-02-01 00:00",
            "seconds since 1970-01-01",
            "days since 1990-01-01",
        )
    )
    if code != "f8" and unit.startswith("days"):
        code = "f8"
    return (
        v,
        {
            name: {"dtype": "f8", "_FillValue": None},
            time: {"units": unit, "dtype": code, "calendar": r.choice(("standard", "gregorian", "proleptic_gregorian"))},
        },
        same,
    )


def write(path, v, encoding, r):
    if path.endswith(".zarr"):
        shutil.rmtree(path, ignore_errors=True)
        v.to_dataset().to_zarr(path, encoding=encoding, zarr_format=r.choice((2, 3)), consolidated=False)
    else:
        v.to_netcdf(path, engine=r.choice(("netcdf4", "h5netcdf", "netcdf4")), encoding=encoding)


def arranged(v):
    """Its values with time first."""
    time = [d for d in v.dims if d in NAMES["time"]][0]
    return v.transpose(time, ...).values


refusals = 0


def two_files(r, at, name):
    """Input and target, or two inputs: equal at each point, and the input is the first file's."""
    global refusals
    (a, ea, _), (b, eb, same) = variant(r, at, "a", False), variant(r, at, "b", True)
    pa, pb = ("a" + r.choice((".nc", ".nc", ".zarr")), "b" + r.choice((".nc", ".nc", ".zarr")))
    write(pa, a, ea, r)
    write(pb, b, eb, r)
    layout = r.choice(("stack", "first"))
    two = r.random() < 0.4
    status, text = run(
        "-i",
        pa + ":a",
        "-i" if two else "-t",
        pb + ":b",
        "--dtype",
        "f64",
        "--input-layout",
        layout,
        *([] if two else ["--target-layout", layout, "--target-dtype", "f64"]),
    )
    name += f": {a.dims} {b.dims} {layout} {same} {text.strip()[:400]}"
    if status:
        refusals += 1
        if same and len(at["time"]) > 1:
            fault(name)
        return
    d, x, y = dlxrecord.read("out.dlx")
    if two:
        x, y = x[:, : x.shape[1] // 2], x[:, x.shape[1] // 2 :]
    if d.get("pairing"):
        return
    if not same and np.array_equal(x, y):
        fault("the same, of others, " + name)
    if not np.allclose(x, y, atol=1e-5, rtol=0):
        fault("differ, " + name)
    want = arranged(a)
    if x.size != want.size or not np.array_equal(x.reshape(want.shape), want):
        fault("not the input, " + name)


def pattern(r, at, name):
    """Files of a pattern, one after the other: all are as the first has them."""
    global refusals
    n = len(at["time"])
    cut = r.randrange(1, n) if n > 1 else 1
    a, ea, _ = variant(r, at | {"time": at["time"][:cut]}, "a", False)
    b, eb, same = variant(r, at | {"time": at["time"][cut:] if n > 1 else at["time"] + 9}, "a", False)
    write("f0.nc", a, ea, r)
    write("f1.nc", b, eb, r)
    status, text = run("-i", "f?.nc:a", "--concatenate", "--dtype", "f64", "--input-layout", "stack")
    name += f": {a.dims} {b.dims} {text.strip()[:400]}"
    if status:
        refusals += 1
        fault(name)
        return
    x = dlxrecord.read("out.dlx")[1]
    # b's values where a has its places
    first, second = (v.rename({x: y for y in NAMES for x in v.dims if x in NAMES[y] and x != y}) for v in (a, b))
    second = second.transpose(*first.dims)
    for d in ("lat", "lon", "plev"):
        turn = 360 if d == "lon" else 1e9
        place = [int(np.argmin(abs((second[d].values - c + turn / 2) % turn - turn / 2))) for c in first[d].values]
        second = second.isel({d: place})
    want = np.concatenate([arranged(first), arranged(second)])
    if x.size != want.size or not np.array_equal(x.reshape(want.shape), want):
        fault("others, " + name)


for case in range(CASES):
    r = random.Random(SEED * 100003 + case)
    (pattern if case % 3 == 0 else two_files)(r, world(r), f"case {case}")
print(refusals, "refused")
end()
