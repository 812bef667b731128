# SPDX-License-Identifier: BSD-3-Clause
"""by_xarray.py DLX-CONVERT FOLDER: files that xarray writes, against what it reads of them."""

import shutil
import warnings

import numpy as np
import xarray as xr

from made import begin, end, fault, reads, reads_or_refuses, refused, run

begin()
warnings.filterwarnings("ignore")
rng = np.random.default_rng(1)
LAT, LON = np.linspace(60, -60, 7), np.arange(0, 360, 45.0)
TIME = np.arange("2000-02-27", "2000-03-03", dtype="M8[D]").astype("M8[ns]")
ZARR = {"zarr_format": 2}, {"zarr_format": 3}


def field(name="q", shape=(5, 7, 8), dims=("time", "lat", "lon"), **coords):
    at = {"time": TIME, "lat": LAT, "lon": LON} | coords
    v = xr.DataArray(rng.normal(size=shape).astype("f4"), dims=dims, name=name, coords={d: at[d] for d in dims if d in at})
    if "lat" in v.coords:
        v.lat.attrs = {"units": "degrees_north", "standard_name": "latitude"}
        v.lon.attrs = {"units": "degrees_east", "standard_name": "longitude"}
    return v


def one(v):
    """Samples of one channel, as the library reads them; what is missing is NaN."""
    return np.asarray(v)[:, None]


def again(path, name="q", **how):
    with xr.open_dataset(path, **how) as d:
        return d[name].load()


# Each engine, and each encoding of it.
v = field()
holes = v.where(rng.random(v.shape) > 0.2)
for engine, form in (
    ("netcdf4", "NETCDF4"),
    ("netcdf4", "NETCDF4_CLASSIC"),
    ("netcdf4", "NETCDF3_64BIT"),
    ("netcdf4", "NETCDF3_CLASSIC"),
    ("h5netcdf", "NETCDF4"),
    ("scipy", "NETCDF3_64BIT"),
):
    for name, encoding in (
        ("plain", {}),
        ("packed", {"dtype": "i2", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": -32768}),
        ("bytes", {"dtype": "i1", "scale_factor": 0.1, "_FillValue": -128}),
        ("unsigned", {"dtype": "i1", "scale_factor": 0.1, "add_offset": -5.0, "_FillValue": -1, "_Unsigned": "true"}),
        ("no fill value", {"_FillValue": None}),
        ("two missing values", {"_FillValue": -9.0, "missing_value": -9.0}),
        ("doubles", {"dtype": "f8", "_FillValue": 1e20}),
        ("integers", {"dtype": "i4", "_FillValue": -99}),
        ("chunks", {"chunksizes": (2, 3, 5), "zlib": True, "shuffle": True, "fletcher32": True}),
    ):
        if form != "NETCDF4" and name == "chunks":
            continue
        of = v if name == "no fill value" else holes
        of.to_netcdf("a.nc", engine=engine, format=form, encoding={"q": encoding})
        reads(f"{engine} {form} {name}", one(again("a.nc").astype("f8")), "-i", "a.nc:q", "--fill", "nan", "--dtype", "f64", near=1e-6)
for how in ZARR:
    for name, encoding in (
        ("plain", {}),
        ("packed", {"dtype": "i2", "scale_factor": 0.001, "add_offset": 0.5, "_FillValue": -32768}),
        ("chunks", {"chunks": (2, 3, 5)}),
        ("shards", {"chunks": (2, 3, 5), "shards": (4, 6, 10)}),
        ("integers", {"dtype": "i4", "_FillValue": -99}),
        ("f16", {"dtype": "f2", "_FillValue": -99}),
        ("missing_value", {"dtype": "i2", "missing_value": -99, "_FillValue": -99}),
    ):
        if name == "shards" and how.get("zarr_format") != 3:
            continue
        shutil.rmtree("a.zarr", ignore_errors=True)
        holes.to_dataset().to_zarr("a.zarr", encoding={"q": encoding}, consolidated=name == "plain", **how)
        want = again("a.zarr", engine="zarr", consolidated=name == "plain")
        reads(f"zarr {how} {name}", one(want.astype("f8")), "-i", "a.zarr:q", "--fill", "nan", "--dtype", "f64", near=1e-6)
    shutil.rmtree("a.zarr", ignore_errors=True)
    first, second = v.isel(time=slice(0, 3)), v.isel(time=slice(3, 5))
    first.to_dataset().to_zarr("a.zarr", **how)
    second.to_dataset().to_zarr("a.zarr", append_dim="time")
    d = reads(f"zarr {how} appended", one(v), "-i", "a.zarr:q")
    shutil.rmtree("a.zarr", ignore_errors=True)
    (v > 0).to_dataset().to_zarr("a.zarr", **how)
    reads(f"zarr {how} bool", one(v > 0).astype("u1"), "-i", "a.zarr:q")

# Types that have no place in a file: what stands for them.
b = v > 0
b.to_netcdf("a.nc")
reads("bool", one(b).astype("i1"), "-i", "a.nc:q")
v.to_netcdf("x.nc")
reads("bool as classes", one(v), "-i", "x.nc:q", "-t", "a.nc:q", target=np.asarray(b))
ints = xr.DataArray(rng.integers(0, 2**62, (5, 4)), dims=("time", "c"), coords={"time": TIME}, name="q")
ints.to_netcdf("a.nc")
reads("int64", np.asarray(ints), "-i", "a.nc:q", "--input-layout", "first", dtype="i64")
ages = xr.DataArray((rng.integers(0, 99, (5, 4)) * 3600 * 10**9).astype("m8[ns]"), dims=("time", "c"), coords={"time": TIME}, name="q")
ages.to_netcdf("a.nc")
with xr.open_dataset("a.nc", decode_timedelta=False) as raw:
    reads("durations", raw.q.values.astype("f4"), "-i", "a.nc:q", "--input-layout", "first", "--dtype", "f32")
names = xr.Dataset({"q": v, "label": ("time", np.array(["calm", "storm", "calm", "rain", "storm"]))})
names.to_netcdf("a.nc")
reads("next to a variable of strings", one(v), "-i", "a.nc:q")
refused("labels of strings", "", "-i", "a.nc:q", "-t", "a.nc:label")
bands = xr.DataArray(
    rng.normal(size=(5, 3, 7, 8)).astype("f4"),
    dims=("time", "band", "lat", "lon"),
    name="q",
    coords={"time": TIME, "band": ["red", "green", "nir"], "lat": LAT, "lon": LON},
)
bands.to_netcdf("a.nc")
reads("an axis of names", bands.values, "-i", "a.nc:q", "--input-layout", "first")
d = v.expand_dims(member=[3]).assign_coords(height=2.0).transpose("time", "member", "lat", "lon")
d.to_netcdf("a.nc")
reads("an axis of one member and a scalar coordinate", d.values, "-i", "a.nc:q", "--input-layout", "first")
v.drop_vars(["lat", "lon", "time"]).to_netcdf("a.nc")
reads("no coordinates", one(v), "-i", "a.nc:q")
with_bounds = xr.Dataset({"q": v, "lat_bnds": (("lat", "bnds"), np.stack([LAT + 10, LAT - 10], -1))})
with_bounds.lat.attrs["bounds"] = "lat_bnds"
with_bounds.to_netcdf("a.nc")
refused("bounds, and no name of a variable", "has 2 variables; name those wanted", "-i", "a.nc")
reads("bounds", one(v), "-i", "a.nc:q")

# What comes first in the file.
for dims in (("lat", "lon", "time"), ("lon", "lat", "time"), ("lat", "time", "lon")):
    v.transpose(*dims).to_netcdf("a.nc")
    reads(f"{dims}", one(v.transpose("time", *[x for x in dims if x != "time"])), "-i", "a.nc:q")
v.isel(time=0, drop=True).to_netcdf("a.nc")
reads("a map alone", v.values[None, :1], "-i", "a.nc:q")
p = xr.DataArray(
    rng.normal(size=(5, 3, 7, 8)).astype("f4"),
    dims=("time", "plev", "lat", "lon"),
    name="q",
    coords={"time": TIME, "plev": [100000.0, 85000, 50000], "lat": LAT, "lon": LON},
)
p.plev.attrs = {"units": "Pa", "axis": "Z", "positive": "down"}
p.lat.attrs, p.lon.attrs = v.lat.attrs, v.lon.attrs
p.isel(time=0, drop=True).to_netcdf("a.nc")
reads("levels alone", p.values[:1], "-i", "a.nc:q", "--input-layout", "first")
p.to_netcdf("a.nc")
p.isel(plev=[2, 1, 0]).rename("p").to_netcdf("b.nc")
for layout in "first", "stack":
    want = p.values if layout == "first" else p.values[:, None]
    reads(
        f"levels the other way, {layout}", want, "-i", "a.nc:q", "-t", "b.nc:p", "--input-layout", layout, "--target-layout", layout, target=want
    )

# Files of a pattern, each of which counts time from its own first day, as xarray writes them.
year = field(shape=(12, 7, 8), time=np.arange("2000-01-01", "2000-01-13", dtype="M8[D]").astype("M8[ns]"))
for k in range(4):
    year.isel(time=slice(3 * k, 3 * k + 3)).to_netcdf(f"part-{k}.nc")
d = reads("files that count days from their first", one(year), "-i", "part-?.nc:q", "--concatenate")
if d and d["axes"][0].get("values") != list(range(12)):
    fault(f"files that count days from their first: the record says {d['axes'][0]}")
year.rename("p").to_netcdf("whole.nc", encoding={"time": {"units": "hours since 1999-12-31 12:00", "dtype": "f8"}})
reads("files next to one of the whole", one(year), "-i", "part-?.nc:q", "--concatenate", "-t", "whole.nc:p", target=one(year))
reads("one of the whole next to files", one(year), "-t", "part-?.nc:q", "--concatenate", "-i", "whole.nc:p", target=one(year))
year.isel(time=slice(None, None, -1)).rename("p").to_netcdf("whole.nc")
reads("the whole backwards", one(year), "-i", "part-?.nc:q", "--concatenate", "-t", "whole.nc:p", target=one(year))

# Packing that differs between files, in both orders.
for turn in (0, 1):
    for k, encoding in enumerate(
        (
            {"dtype": "i2", "scale_factor": 0.001, "_FillValue": -32768},
            {"dtype": "i2", "scale_factor": 0.002, "add_offset": 1.0, "_FillValue": 32767},
            {"dtype": "i2", "scale_factor": 0.01, "_FillValue": 0},
            {"dtype": "i2", "scale_factor": 0.005, "add_offset": -1.0},
        )
    ):
        holes.isel(time=slice(k, k + 1)).to_netcdf(f"pack-{k if not turn else 3 - k}.nc", encoding={"q": encoding})
    want = np.concatenate([again(f"pack-{k}.nc").values.astype("f8") for k in range(4)])[:, None]
    reads(f"packing of each file {turn}", want, "-i", "pack-?.nc:q", "--concatenate", "--fill", "nan", "--dtype", "f64", near=1e-6)
    for k in range(4):
        again(f"pack-{k}.nc").isel(time=0, drop=True).to_netcdf(
            f"map-{k}.nc", encoding={"q": {"dtype": "i2", "scale_factor": 0.001 * (k + 1), "_FillValue": -32768 + k}}
        )
    want = np.stack([again(f"map-{k}.nc").values.astype("f8") for k in range(4)])[:, None]
    reads(f"packing of each sample {turn}", want, "-i", "map-?.nc:q", "--fill", "nan", "--dtype", "f64", near=1e-6)

# Calendars.
for calendar in "noleap", "360_day", "julian", "proleptic_gregorian":
    t = xr.date_range("2000-02-27", periods=5, calendar=calendar, use_cftime=True)
    c = field(time=t)
    c.to_netcdf("a.nc")
    c.rename("p").to_netcdf("b.nc", encoding={"time": {"units": "hours since 1990-01-01", "calendar": calendar, "dtype": "f8"}})
    reads(f"calendar {calendar}", one(c), "-i", "a.nc:q", "-t", "b.nc:p", target=one(c))
    c.isel(time=[4, 2, 0, 1, 3]).rename("p").to_netcdf(
        "b.nc", encoding={"time": {"units": "seconds since 1990-01-01", "calendar": calendar, "dtype": "f8"}}
    )
    reads(f"calendar {calendar}, another order", one(c), "-i", "a.nc:q", "-t", "b.nc:p", target=one(c))

# Leads, units, and curvilinear grids.
v.to_netcdf("a.nc")
later = v.rename("p").assign_coords(time=v.time + np.timedelta64(6, "h"))
later.to_netcdf("b.nc")
d = reads("a lead time", one(v), "-i", "a.nc:q", "-t", "b.nc:p", target=one(v), says="the target is 6 hours after the input")
if d.get("pairing") != "the target is 6 hours after the input":
    fault(f"a lead time: {d.get('pairing')}")
later.isel(time=slice(1, None)).to_netcdf("b.nc")
refused("other times", "the samples differ", "-i", "a.nc:q", "-t", "b.nc:p")
v.rename("p").isel(time=[1, 3]).to_netcdf("b.nc")
reads("joined", one(v)[[1, 3]], "-i", "a.nc:q", "-t", "b.nc:p", "--match", "coordinates", target=one(v)[[1, 3]])
for first, second, same in ("K", "degC", False), ("m s-1", "m/s", True), ("kg m-2 s-1", "kg/m2/s", True), ("mm", "m", False), ("1", "%", False):
    for k, unit in enumerate((first, second)):
        u = v.isel(time=slice(2 * k, 2 * k + 2))
        u.attrs["units"] = unit
        u.to_netcdf(f"unit-{k}.nc")
    if reads_or_refuses(f"{first} and {second}", one(v)[:4], "-i", "unit-?.nc:q", "--concatenate") != same:
        fault(f"{first} and {second} are {'not ' if same else ''}the same: {run('-i', 'unit-?.nc:q', '--concatenate')[1]}")
rows, columns = np.meshgrid(np.arange(7.0), np.arange(8.0), indexing="ij")
curved = xr.DataArray(
    v.values,
    dims=("time", "south_north", "west_east"),
    name="q",
    attrs={"grid_mapping": "crs"},
    coords={
        "time": TIME,
        "XLAT": (("south_north", "west_east"), 40 + rows + columns / 8, {"units": "degree_north"}),
        "XLONG": (("south_north", "west_east"), -5 + columns * 0.7 - rows / 9, {"units": "degree_east"}),
    },
)
LAMBERT = {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [30.0, 60.0], "longitude_of_central_meridian": 10.0}


def with_crs(w, **other):
    return w.to_dataset().assign(crs=((), 0, LAMBERT | other))


with_crs(curved).to_netcdf("a.nc")
for name, w in (
    ("the same", curved),
    ("upside down", curved.isel(south_north=slice(None, None, -1))),
    ("mirrored", curved.isel(west_east=slice(None, None, -1))),
    ("turned round", curved.isel(south_north=slice(None, None, -1), west_east=slice(None, None, -1))),
    ("transposed", curved.transpose("time", "west_east", "south_north")),
    ("with longitudes to 360", curved.assign_coords(XLONG=curved.XLONG % 360)),
    ("float32", curved.assign_coords(XLAT=curved.XLAT.astype("f4"))),
):
    with_crs(w.rename("p")).to_netcdf("b.nc")
    reads("a curvilinear grid, " + name, one(v), "-i", "a.nc:q", "-t", "b.nc:p", target=one(v))
for name, w in (
    ("farther north", curved.assign_coords(XLAT=curved.XLAT + 0.2)),
    ("farther east", curved.assign_coords(XLONG=curved.XLONG + 0.2)),
):
    with_crs(w.rename("p")).to_netcdf("b.nc")
    refused("a curvilinear grid " + name, "other places", "-i", "a.nc:q", "-t", "b.nc:p")
with_crs(curved.rename("p"), standard_parallel=[30.0, 50.0]).to_netcdf("b.nc")
refused("another projection", "other projections", "-i", "a.nc:q", "-t", "b.nc:p")
end()
