# SPDX-License-Identifier: BSD-3-Clause
"""Files of curvilinear and projected grids, and what records keep of them: places.py make, or places.py SAYS RECORD."""
import base64
import json
import struct
import sys

import numpy as np

import netcdf_classic

T, Y, X = 4, 6, 5
rng = np.random.default_rng(3)
LAT = np.linspace(40, 50, Y * X).reshape(Y, X).astype("f4")
LON = LAT.astype("f8") * 0.7 + 0.1
MOVING = rng.normal(size=(T, Y, X)).astype("f4")
STEPS = np.arange(T)
LAMBERT = {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [25, 30], "earth_radius": 6371229.0}
UTM = {"epsg_code": "EPSG:32733", "grid_mapping_name": "transverse_mercator", "longitude_of_central_meridian": [15.0],
       "latitude_of_projection_origin": [0.0], "scale_factor_at_central_meridian": [0.9996], "false_easting": [500000.0],
       "false_northing": [1e7], "semi_major_axis": [6378137.0], "inverse_flattening": [298.257223563]}


def description(path):
    with open(path, "rb") as f:
        data = f.read()
    d, i = struct.unpack("<2Q", data[-72:-56])
    return json.loads(data[d:i])


def make():
    q = rng.normal(size=(T, Y, X))
    days = {"units": "days since 2001-01-01", "calendar": "360_day"}
    curved = {"coordinates": "LAT lon  moving height step time elsewhere across", "grid_mapping": "lambert"}
    variables = [
        ("time", ["time"], ">f8", STEPS + 0.25, days),
        ("LAT", ["time", "y", "x"], ">f4", np.broadcast_to(LAT, (T, Y, X)), {"units": "degrees_north", "standard_name": "latitude"}),
        ("lon", ["y", "x"], ">f8", LON, {"units": "degrees_east", "bounds": "elsewhere"}),
        ("moving", ["time", "y", "x"], ">f4", MOVING, {"units": "m"}),
        ("height", [], ">f8", 2.0, {"units": "m", "positive": "up"}),
        ("step", ["time"], ">i2", STEPS, {"scale_factor": 0.5, "add_offset": 3.0, "long_name": "forecast"}),
        ("across", ["x", "y"], ">i4", np.arange(Y * X), {}),
        ("lambert", [], "S1", b"x", LAMBERT), ("crs", [], ">i4", 0, {"grid_mapping_name": "latitude_longitude"}),
        ("q", ["time", "y", "x"], ">f4", q, curved),
        ("r", ["time", "y", "x"], ">f4", q, {"coordinates": "lon", "grid_mapping": "lambert: y x crs: LAT lon"}),
        ("w", ["time", "y", "x"], ">f4", q, {})]
    netcdf_classic.write("curved.nc", {"time": T, "y": Y, "x": X}, variables)
    north, east = 4e6 - 30.0 * np.arange(Y), 3e5 + 30.0 * np.arange(X)
    netcdf_classic.write("utm.nc", {"time": T, "y": Y, "x": X}, [
        ("y", ["y"], ">f8", north, {"epsg": "EPSG:32733"}), ("x", ["x"], ">f8", east, {"epsg": "EPSG:32733"}),
        ("q", ["time", "y", "x"], ">f4", q, {})])


def values(d, name):
    """The coordinates of that name: axes, values, attributes."""
    f, = [f for f in d["coordinates"] if f["name"] == name]
    shape = [T if k == 0 else (Y, X)[k - 1] for k in f["axes"]]
    v = np.frombuffer(base64.b64decode(f["values"], validate=True), {"f32": "<f4", "f64": "<f8"}[f["dtype"]])
    return f["axes"], v.reshape([-1] + shape[1:]) if f["axes"] else v, f["attributes"]


def same(have, axes, v, dtype, attributes):
    assert have[0] == axes and have[1].dtype == dtype and np.array_equal(have[1], v) and have[2] == attributes, have


def curved(d):
    assert [f["name"] for f in d["coordinates"]] == ["LAT", "lon", "moving", "height", "step", "across"], d["coordinates"]
    same(values(d, "LAT"), [1, 2], LAT, "<f4", {"units": "degrees_north", "standard_name": "latitude"})
    same(values(d, "lon"), [1, 2], LON, "<f8", {"units": "degrees_east"})
    same(values(d, "moving"), [0, 1, 2], MOVING, "<f4", {"units": "m"})
    same(values(d, "height"), [], [2], "<f4", {"units": "m", "positive": "up"})
    same(values(d, "step"), [0], STEPS / 2 + 3, "<f4", {"long_name": "forecast"})
    assert d["axes"][1:] == [{"name": "y"}, {"name": "x"}], d["axes"]        # dimensions without coordinates
    assert d["axes"][0]["attributes"] == {"units": "days since 2001-01-01", "calendar": "360_day"}
    wanted = {k: v if isinstance(v, str) else np.atleast_1d(v).tolist() for k, v in LAMBERT.items()}
    assert d["grid_mapping"] == {"attribute": "lambert", "variables": {"lambert": wanted}}, d["grid_mapping"]


def some(d):
    same(values(d, "moving"), [0, 1, 2], MOVING[[1, 3]], "<f4", {"units": "m"})
    same(values(d, "step"), [0], [3.5, 4.5], "<f4", {"long_name": "forecast"})
    same(values(d, "LAT"), [1, 2], LAT, "<f4", {"units": "degrees_north", "standard_name": "latitude"})


def twice(d):
    same(values(d, "moving"), [0, 1, 2], np.concatenate([MOVING, MOVING]), "<f4", {"units": "m"})
    same(values(d, "lon"), [1, 2], LON, "<f8", {"units": "degrees_east"})
    assert d["grid_mapping"]["attribute"] == "lambert"


def parts(d):
    assert d["grid_mapping"]["attribute"] == "lambert: y x crs: LAT lon", d["grid_mapping"]
    assert list(d["grid_mapping"]["variables"]) == ["lambert", "crs"] and [f["name"] for f in d["coordinates"]] == ["lon"]


def utm(d):
    y, x = d["axes"][1:]
    assert y["attributes"] == {"units": "m", "standard_name": "projection_y_coordinate"}, y
    assert x["attributes"] == {"units": "m", "standard_name": "projection_x_coordinate"}, x
    assert y["values"][1] == 4e6 - 30 and x["values"][1] == 3e5 + 30
    assert d["grid_mapping"] == {"attribute": "crs", "variables": {"crs": UTM}}, d["grid_mapping"]


def bare(d):
    assert [f["name"] for f in d["coordinates"]] == ["height", "step"] and "grid_mapping" not in d, d


if sys.argv[1] == "make":
    make()
else:
    globals()[sys.argv[1]](description(sys.argv[2]))
