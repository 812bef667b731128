# SPDX-License-Identifier: BSD-3-Clause
"""What dlx-convert does where two arrays meet whose files say other things: check_meet.py DLX-CONVERT DIR.

A file's field is a function of its coordinates, so that a value in the wrong place is another value."""
import itertools
import os
import subprocess
import sys

import numpy as np

import dlxrecord
import netcdf_files

program, folder = sys.argv[1:]
os.chdir(folder)
TIME, LAT, LON = np.arange(3.0), np.array([-30.0, -10, 10, 30]), np.array([0.0, 90, 180, 270])
AXES = ("time", "lat", "lon")
ABOUT = {"time": {"units": "days since 2000-01-01"}, "lat": {"units": "degrees_north"}, "lon": {"units": "degrees_east"}}


def place(name, variable="a", axes=AXES, about=(), kind="f4", given=(), scale=1, **values):
    """A file of a field over these coordinates; about: {axis: attributes}; scale: of time, to days."""
    at = {"time": TIME, "lat": LAT, "lon": LON} | values
    field = np.zeros([len(at[d]) for d in axes])
    for index in itertools.product(*[range(n) for n in field.shape]):
        x = {d: at[d][i] for d, i in zip(axes, index)}
        field[index] = 1000 * x.get("time", 0) * scale + x.get("lat", 0) + x.get("lon", 0) % 360 / 1000
    of = {d: ((d,), at[d], ABOUT.get(d, {}) | dict(about).get(d, {})) for d in axes}
    netcdf_files.write(name, of | {variable: (axes, field.astype(kind), dict(given))})


def run(status, *args):
    p = subprocess.run([program, *args, "-l", "0", "-o", "out.dlx"], capture_output=True, text=True)
    if p.returncode != status:
        sys.exit(f"{args}: status {p.returncode} instead of {status}\n{p.stdout}{p.stderr}")
    return p.stderr


def agrees(says, *args, samples=3, equal=True):
    """Input and target, or the two channels of the input, are equal at each place."""
    text = run(0, *args)
    if says not in text:
        sys.exit(f"{args}: does not say '{says}' but\n{text}")
    d, x, y = dlxrecord.read("out.dlx")
    y = x[:, 1:] if y is None or not np.size(y) else y
    if len(x) != samples or np.allclose(x[:, :1], y, atol=1e-4) != equal:
        sys.exit(f"{args}: {len(x)} samples, of which input and target are {'' if equal else 'not '}to be equal")
    return d


def refused(*args, says, status=65):
    text = run(status, *args)
    for part in says:
        if part not in text:
            sys.exit(f"{args}: does not say '{part}' but\n{text}")


place("in.nc")
two = ("-i", "in.nc:a", "-t", "t.nc:b")

# What lies in another order is read in the input's, where the coordinates leave no other reading.
place("t.nc", "b")
agrees("", *two)
place("t.nc", "b", lat=LAT[::-1])
agrees("'lat' runs the other way in 't.nc' than in 'in.nc', and is read as there", *two)
agrees("'lat' runs the other way", "-i", "in.nc:a", "-i", "t.nc:b")
place("t.nc", "b", lon=np.array([-180.0, -90, 0, 90]))
agrees("'lon' begins at another place", *two)
place("t.nc", "b", axes=("time", "lon", "lat"))
agrees("its axes are in another order", *two)
place("t.nc", "b", lat=LAT[[2, 0, 3, 1]].astype("f4"), lon=(LON + 1e-5).astype("f4"))
agrees("'lat' is in another order", *two)
place("t.nc", "b", time=TIME[::-1])
agrees("has its samples in another order of 'time'", *two)
place("t.nc", "b", axes=("latitude", "x"), latitude=LAT[::-1], x=LON, about={"x": {"axis": "X"}})
text = run(0, "-i", "in.nc:a", "-i", "t.nc:b")
assert "'latitude' runs the other way" in text and "is the same in each of 3 samples" in text, text

# Units and dates are compared by what they mean.
place("t.nc", "b", time=TIME * 24, scale=1 / 24, about={"time": {"units": "hours since 2000-01-01"}})
agrees("", *two)
place("t.nc", "b", time=TIME - 1, about={"time": {"units": "days since 2000-01-02"}})
agrees("", *two, equal=False)
for calendar, units in (("noleap", "days since 2000-01-01"), ("standard", "days since 2000-01-01 06:00")):
    place("t.nc", "b", about={"time": {"units": units, "calendar": calendar}})
    if calendar == "noleap":
        refused(*two, says=["units or calendars that cannot be compared", "in the calendar noleap"])
    else:
        agrees("the target is 6 hours after the input", *two)
place("t.nc", "b", time=TIME + 59 - 3, about={"time": {"units": "days since 2000-01-04", "calendar": "360_day"}})
place("u.nc", "a", time=TIME, about={"time": {"units": "days since 2000-03-01", "calendar": "360_day"}})
agrees("the target is 1 day before the input", "-i", "u.nc:a", "-t", "t.nc:b", equal=False)

for up in ("down", "Down", "up"):
    for name, positive in ("u.nc", "down"), ("t.nc", up):
        place(name, "a", axes=("time", "depth"), depth=LAT + 30, about={"depth": {"units": "m", "positive": positive}})
    if up == "up":
        refused("-i", "u.nc:a", "-t", "t.nc:a", says=["directions that cannot be compared", "m positive up"])
    else:
        run(0, "-i", "u.nc:a", "-t", "t.nc:a")

# One sample alone has a lead time, too.
place("u.nc", time=TIME[:1] + 70000)
for hours in 0, 3:
    place("t.nc", "b", time=TIME[:1] * 24 + 70000 * 24 + hours, scale=1 / 24, about={"time": {"units": "hours since 2000-01-01"}})
    text = run(0, "-i", "u.nc:a", "-t", "t.nc:b")
    assert ("the target is 3 hours after the input" in text) == (hours == 3), text
assert "input 'b' is 3 hours after 'a'" in run(0, "-i", "u.nc:a", "-i", "t.nc:b")

# A lead time is kept; other differences are refused, unless --match says what is meant.
place("t.nc", "b", time=TIME + 1)
d = agrees("the target is 1 day after the input, by 'time' of 'in.nc' and 't.nc'", *two, equal=False)
assert d["pairing"] == "the target is 1 day after the input", d
d = agrees("2 samples are in both; 1 of 'in.nc' and 1 of 't.nc' are left out", *two, "--match=coordinates", samples=2)
assert "pairing" not in d, d
place("t.nc", "b", time=np.array([0.0, 1, 3]))
refused(*two, says=["time 0 ... 2 days since 2000-01-01 (3 of them) in 'in.nc'", "0 ... 3", "--match coordinates"])
agrees("2 samples are in both", *two, "--match=coordinates", samples=2)
assert agrees("", *two, "--match=index", equal=False)["pairing"] == "by index"
place("t.nc", "b", time=TIME + 7.5)
refused(*two, "--match=coordinates", says=["no sample has coordinates that both have"])
place("t.nc", "b", lat=LAT + 5)
refused(*two, says=["other places: lat -30 ... 30 degrees_north", "lat -25 ... 35"])
place("t.nc", "b", lat=LAT + 20)
agrees("3 of 'lat' are in both; 1 of 'in.nc' and 1 of 't.nc' are left out", *two, "--match=coordinates")
refused(*two, "--match=coordinate", says=["did you mean 'coordinates'"], status=64)

# Files of one pattern: each attribute of the second file alone, in both orders.
for turn in (False, True):
    def pair(first, second):
        place("f0.nc", **(second if turn else first))
        place("f1.nc", **{"time": TIME + 3} | (first if turn else second))

    joined = ("-i", "f[01].nc:a", "--concatenate")
    for second, says in (({"lat": LAT[::-1]}, "lat the other way round"), ({"lon": LON - 180}, "beginning at another place"),
                         ({"axes": ("time", "lon", "lat")}, "(time, lon, lat) in place of (time, lat, lon)"),
                         ({"axes": ("lat", "lon", "time")}, "")):
        pair({}, second)
        run(0, *joined)
        x = dlxrecord.read("out.dlx")[1][:, 0]
        assert len(x) == 6 and np.allclose(x[:3] % 1000 + (x[:3] < 0) * 0, x[3:] % 1000, atol=2e-3), (second, x)
        assert says == "" or turn or says in run(0, *joined), second
    for second, says in (({"given": {"units": "degC"}}, ["is in", "degC", "K"]), ({"lat": LAT + 1}, ["other places"]),
                         ({"about": {"lat": {"units": "m"}}}, ["other units"]),
                         ({"about": {"time": {"calendar": "noleap"}}}, ["other units, calendar or direction"]),
                         ({"variable": "b"}, ["other variables"]), ({"kind": "f8"}, ["f64"])):
        pair({"given": {"units": "K"}}, {"given": {"units": "K"}} | second)
        refused("-i", "f[01].nc" if "variable" in second else "f[01].nc:a", "--concatenate", says=says)
    for first, second in ("K", "kelvin"), ("m s-1", "m/s"), ("hPa", "millibar"):
        pair({"given": {"units": first}}, {"given": {"units": second}})
        run(0, *joined)
    for first, second in ("mPa", "MPa"), ("mm", "Mm"), ("hPa", "Pa"):
        pair({"given": {"units": first}}, {"given": {"units": second}})
        refused(*joined, says=[first, second])

# Latitudes and longitudes that lie on two axes are compared as those of one are; so are projections.
ROWS, COLUMNS = np.meshgrid(np.arange(4.0), np.arange(5.0), indexing="ij")
GRID = {"LAT": 40 + ROWS + COLUMNS / 8, "LON": 179 + COLUMNS * 0.7 - ROWS / 9}
LAMBERT = {"grid_mapping_name": "lambert_conformal_conic", "standard_parallel": [25.0, 30.0], "earth_radius": 6371229.0}


def curved(name, variable="a", of=GRID, turn=(slice(None),) * 2, axes=("y", "x"), kind="f8", mapping=LAMBERT):
    """A file of a field of these places, which are read along both axes in the directions of `turn`."""
    field = np.stack([1000 * t + of["LAT"] + of["LON"] % 360 / 1000 for t in TIME])
    swap = axes == ("x", "y")
    place = {n: (axes, (v[turn].T if swap else v[turn]).astype(kind), {"units": f"degrees_{to}"})
             for n, v, to in zip(("LAT", "LON"), (of["LAT"], (of["LON"] + 180) % 360 - 180 if kind == "f4" else of["LON"]), ("north", "east"))}
    values = field[(slice(None), *turn)]
    netcdf_files.write(name, place | {"time": (("time",), TIME, ABOUT["time"]), "lambert": ((), np.int32(0), mapping),
                                      variable: (("time", *axes), (values.swapaxes(1, 2) if swap else values).astype("f4"),
                                                 {"coordinates": "LAT LON", "grid_mapping": "lambert"})})


curved("in.nc")
both = ("-i", "in.nc:a", "-t", "t.nc:b")
back, on = slice(None, None, -1), slice(None)
for kind in "f8", "f4":
    for turn, axes, says in (((on, on), ("y", "x"), ""), ((back, on), ("y", "x"), "'y' runs the other way in 't.nc' than in 'in.nc'"),
                             ((on, back), ("y", "x"), "'x' runs the other way"), ((back, back), ("y", "x"), "'y' runs the other way"),
                             ((back, on), ("x", "y"), "its axes are in another order")):
        curved("t.nc", "b", turn=turn, axes=axes, kind=kind)
        agrees(says, *both)
        curved("f1.nc", turn=turn, axes=axes, kind=kind), curved("f0.nc")
        for how in ["--concatenate"], ["--input-layout=first"]:
            run(0, "-i", "f[01].nc:a", *how)
            d, x, _ = dlxrecord.read("out.dlx")
            assert np.array_equal(x[:len(x) // 2], x[len(x) // 2:]), (turn, axes, how)
            assert len(d["coordinates"]) == 2, d
    curved("t.nc", "b", of={"LAT": GRID["LAT"] + 1, "LON": GRID["LON"]}, kind=kind)
    refused(*both, says=["other places: LAT 40 ... 43.5 (4 x 5 of them) in 'in.nc', but LAT 41 ... 44.5"])
    run(0, *both, "--match=index")
    curved("f1.nc", of={"LAT": GRID["LAT"], "LON": GRID["LON"] + 1}, kind=kind)
    refused("-i", "f[01].nc:a", "--concatenate", says=["other places: ", "in 'f0.nc', but ", "in 'f1.nc'"])
    run(0, "-i", "f[01].nc:a", "--input-layout=first")
for other in {"standard_parallel": [25.0, 31.0]}, {"grid_mapping_name": "polar_stereographic"}:
    curved("t.nc", "b", mapping=LAMBERT | other), curved("f1.nc", mapping=LAMBERT | other)
    refused(*both, says=["other projections: ", " in 'in.nc', but ", *other])
    refused("-i", "f[01].nc:a", "--concatenate", says=["another projection: "])
curved("t.nc", "b", mapping=LAMBERT | {"earth_radius": 6370000.0})
agrees("", *both)

# Packed values, of one file alone.
def packed(name, stored, **given):
    netcdf_files.write(name, {"a": (AXES, np.full((1, 2, 2), stored), given)})


for files in (("f0.nc", "f1.nc"), ("f1.nc", "f0.nc")):
    for plain, kind in ((np.int16(5), "i2"), (np.float32(5), "f4")):
        packed(files[0], plain)
        packed(files[1], np.dtype(kind).type(57), scale_factor=0.5, add_offset=1.0)
        for how in (["--concatenate"], ["--input-layout", "first"]):
            run(0, "-i", "f[01].nc:a", *how)
            x = dlxrecord.read("out.dlx")[1]
            assert sorted(x[:, 0, 0, 0]) == [5, 29.5], x

# Which axis counts samples.
place("q.nc", axes=("lat", "lon"))
assert "the file is one sample" in run(0, "-i", "q.nc:a") and dlxrecord.read("out.dlx")[1].shape == (1, 1, 4, 4)
place("q.nc", axes=("south_north", "west_east", "Time"), south_north=LAT, west_east=LON, Time=TIME)
assert "read as (Time, south_north, west_east)" in run(0, "-i", "q.nc:a")
assert dlxrecord.read("out.dlx")[1].shape == (3, 1, 4, 4)
place("q.nc", axes=("lat", "lon", "member"), member=TIME)
refused("-i", "q.nc:a", says=["'a' is (lat, lon, member)", "but it is latitude or y", "--match index"])
run(0, "-i", "q.nc:a", "--match=index", "--input-layout=stack")
place("q.nc", axes=("member", "lat", "lon"), member=TIME)
run(0, "-i", "q.nc:a")
assert dlxrecord.read("out.dlx")[1].shape == (3, 1, 4, 4)

# Files are paired by what differs in their names.
def named(form, numbers):
    for i in numbers:
        np.save(form % i, np.full((2, 2), i, "f4"))


def pairs(*args, samples):
    text = run(0, *args, "--input-layout=stack", "--target-layout=stack")
    d, x, y = dlxrecord.read("out.dlx")
    assert len(x) == samples and (x == y).all(), (args, x[:, 0, 0, 0], y[:, 0, 0, 0])
    return d, text


os.mkdir("x"), os.mkdir("y")
named("x/img_%d.npy", range(1, 13)), named("y/mask_%03d.npy", range(1, 13))
both = ("-i", "x/*.npy", "-t", "y/*.npy")
d, text = pairs(*both, samples=12)
assert d["target_names"][0] == "mask_001.npy" and d["target_names"][11] == "mask_012.npy", d
assert "'x/img_1.npy' with 'y/mask_001.npy' to 'x/img_12.npy' with 'y/mask_012.npy'" in text, text
os.remove("y/mask_003.npy")
refused(*both, says=["'x/img_3.npy' has no partner", "11 of 12 files"])
pairs(*both, "--match=coordinates", samples=11)
named("y/mask_%03d.npy", [20])
refused(*both, says=["'x/img_3.npy' has no partner"])
run(0, *both, "--match=index", "--input-layout=stack", "--target-layout=stack")
os.mkdir("z")
for i, name in enumerate("delta alpha gamma".split()):
    np.save(f"z/{name}-in.npy", np.full((2, 2), i, "f4")), np.save(f"z/{name}-out.npy", np.full((2, 2), i, "f4"))
pairs("-i", "z/*-in.npy", "-t", "{z/gamma,z/delta,z/alpha}-out.npy", samples=3)
