# SPDX-License-Identifier: BSD-3-Clause
"""NetCDF files of the same grid in several orders, whose values are those of their places: same_places.py in the folder for them."""
import numpy as np

import netcdf_classic

lat, lon = 80 - 20.0 * np.arange(9), 45.0 * np.arange(8)
rng = np.random.default_rng(7)
field = rng.normal(size=(3, 9, 8))


def write(name, lat, lon, field, axes=("lat", "lon"), of_a="K"):
    units = {"lat": "degrees_north", "lon": "degrees_east"}
    netcdf_classic.write(name + ".nc", {"time": len(field), axes[0]: field.shape[1], axes[1]: field.shape[2]}, [
        ("lat", ["lat"], ">f8", lat, {"units": units["lat"]}), ("lon", ["lon"], ">f8", lon, {"units": units["lon"]}),
        ("a", ["time", *axes], ">f4", field, {"units": of_a}), ("b", ["time", *axes], ">f4", -field, {}),
        ("c", ["time", *axes], ">i4", field > 0, {})])


write("north", lat, lon, field)
write("south", lat[::-1], lon, field[:, ::-1])
write("rolled", lat, np.roll(lon, 4), np.roll(field, 4, axis=2))
write("west", lat, np.where(lon >= 180, lon - 360, lon), field)          # the same places by other numbers
write("turned", lat, lon, field.transpose(0, 2, 1), ("lon", "lat"))
write("shifted", lat, lon + 10, field)
write("part", lat[3:], lon, field[:, 3:])
write("celsius", lat, lon, field, of_a="degC")
write("kelvin", lat, lon, field, of_a="kelvin")
write("upward", lat[:5:-1], lon, field[:, :5:-1])
