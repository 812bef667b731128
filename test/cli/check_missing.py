# SPDX-License-Identifier: BSD-3-Clause
"""check_missing.py DLX-CONVERT DIR: what files say of their values, against what the record has: values that nothing has written, signs,
missing values in the type that is stored, integers that no double has. DIR holds what make_sources wrote."""
import fcntl
import os
import shutil
import struct
import subprocess
import sys

import numpy as np

from converted import converter

program, folder = sys.argv[1:]
plain_convert = converter(program, folder)
os.chdir(folder)


def convert(spec, *more):
    return plain_convert("-i", spec, "--input-layout", "first", *more)[1]


def same(name, got, want):
    want = np.asarray(want)
    if got.shape != want.shape or not np.array_equal(got, want):
        sys.exit(f"{name}: got {got.shape} {got.dtype}\n{got}\nexpected {want.shape} {want.dtype}\n{want}")


def refused(status, text, *args):
    p = subprocess.run([program, "-q", "-o", "refused.dlx", *args], stderr=subprocess.PIPE, text=True)
    if p.returncode != status or text not in p.stderr or os.path.exists("refused.dlx"):
        sys.exit(f"{args}: status {p.returncode}, expected {status} and '{text}': {p.stderr}")


# a file of netCDF's means the same under any name; NC_FILL_SHORT is -32767, NC_FILL_INT -2147483647, and bytes have none
written = np.repeat([True, True, False, False], 5).reshape(4, 5)
names = "never4.h5", "wrfout_d01_2020-01-01_00:00:00", "never4.nc4.part"
for name in names:
    shutil.copy("never4.nc", name)
for name in ("never.nc", "never4.nc", *names):
    same(name, convert(name + ":k", "--fill", "-1"), np.where(written, 11, -1))
    same(name, convert(name + ":n", "--fill", "-1"), np.where(written, 3, -1))
    same(name, convert(name + ":b", "--fill", "-1"), np.full((4, 5), -127))
    if name != "never.nc":
        same(name, convert(name + ":l", "--fill", "-1"), np.where(written, 2**53 + 1, -1))
        same(name, convert(name + ":kind", "--fill", "5"), np.full((4, 5), 5))
        same(name, convert(name + ":e", "--fill", "-1", "--samples", "0,1"), np.full((2, 5), 2**53 + 1))
same("--format hdf5", convert("never4.h5:n", "--format", "hdf5"), np.where(written, 3, -2147483647))

# a sign that the type has not
count = np.arange(20).reshape(4, 5)
shutil.copy("signed.nc", "signed.h5")
for name, dtype in ("b", "i1"), ("s", "i2"), ("i", "i4"), ("l", "i8"):
    ones = np.iinfo(dtype.replace("i", "u")).max // 255
    want = (count * 13 * ones).astype("u8").astype(dtype.replace("i", "u")).view(dtype)
    want[3, 4] = 7
    for how in (), ("--format", "hdf5"):
        got = convert(f"signed.h5:{name}", "--fill", "7", "--samples", "0,1,2", *how)
        same(f"{name} {how}", got, want[:3])
        assert got.dtype == dtype, (name, got.dtype)
    if dtype != "i8":
        same(name, convert(f"signed.nc:{name}", "--fill", "7"), want)

# missing values are compared as they are stored
half = np.array([[0.1, 1], [2, 0.1]], "f2")
np.save("half.npy", half)
same("f16", convert("half.npy", "--missing", "0.1", "--fill", "77"), [[77, 1], [2, 77]])
want = np.arange(20.0).reshape(4, 5)
want[0, 0] = 77
same("f16 in HDF5", convert("rare.h5:half", "--fill", "77"), want)
same("f16 in HDF5, said", convert("rare.h5:half", "--fill", "77", "--missing", "0.1,3"), np.where(want == 3, 77, want))

# integers of 64 bits are exact, or refused
large = np.array([[2**53 + 1, 5], [2**53, 7], [-2**63, 2**63 - 1]])
np.save("large-int.npy", large)
np.save("small-int.npy", np.ones((3, 2), "i4"))
np.save("doubles.npy", np.ones((3, 2)))
same("i64", convert("large-int.npy"), large)
same("i64, missing", convert("large-int.npy", "--missing", "9007199254740992", "--samples", "0,2"), large[::2])
same("i64, missing", convert("large-int.npy", "--missing", "9007199254740993", "--samples", "0"), [[0, 5]])
text = "of the input has the integer 9007199254740993, which is kept only in a variable by itself"
for more in (["--missing", "5"], ["--dtype", "f64"], ["-i", "small-int.npy"], ["-i", "small-int.npy", "--dtype", "i64"], ["-i", "large-int.npy"],
             ["-i", "doubles.npy"], ["-i", "doubles.npy", "--dtype", "f64"]):
    refused(65, text, "-i", "large-int.npy", "--input-layout", "stack" if "-i" in more else "first", *more)
same("rounded as requested", convert("large-int.npy", "--dtype", "f32"), large.astype("f4"))

# integers are rounded first, and have to fit then
for value, dtype, fits in (255.4, "u8", True), (255.5, "u8", False), (-0.5, "u8", True), (-0.6, "u8", False), (2.0**63, "i64", False):
    np.save("value.npy", np.array([[value, 1]]))
    if fits:
        same(f"{value} as {dtype}", convert("value.npy", "--dtype", dtype), [[round(value), 1]])
    else:
        refused(65, f"which does not fit {dtype}", "-i", "value.npy", "--dtype", dtype)

# a fill value is one of the type that is stored
np.save("bytes.npy", np.array([[1, 99]], "u1"))
for fill, text in ("7.5", "7.5 is no u8"), ("256", "256 is no u8"), ("-1", "-1 is no u8"), ("nan", "nan is no u8"):
    refused(64, "--fill: " + text, "-i", "bytes.npy", "-m", "99", "--fill=" + fill)
refused(64, "--fill: 1e+39 is no f32", "-i", "doubles.npy", "--fill", "1e39")
# that of a target counts for inputs where one is missing
both = "-i", "bytes.npy", "-t", "value.npy", "--fill", "nan"
plain_convert(*both)
refused(64, "--fill: nan is no u8", *both, "-m", "99")

# files of HDF5 that cannot be read say why
with open("never4.nc", "r+b") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    refused(66, "'never4.nc' is locked: another process has it open for writing", "-i", "never4.nc:n")
with open("rare.h5", "r+b") as f:
    fcntl.flock(f, fcntl.LOCK_EX)
    refused(66, "'rare.h5' is locked: another process has it open for writing", "-i", "rare.h5:half")
refused(65, "packed by the filter 32000 (lzf), which the HDF5 library has as a plugin only", "-i", "rare.h5:lzf")
refused(65, "packed by the filter 400 (rare), which", "-i", "rare.h5:other")
refused(65, "packed by the filter 32000 (lzf), which", "-i", "rare.h5:lzf", "--format", "netcdf")
hollow = "hollow.h5", "--input-layout", "first"
refused(65, "an array of 4x1099511627776x1x1, but only 0 bytes of it are stored", "-i", *hollow)
refused(65, "an array of 4x1099511627776x1x1, but only ", "-i", *hollow, "--format", "netcdf")
# a file with holes of a terabyte, as a classic netCDF file has where nothing was written
with open("hollow.nc", "wb") as f:
    name = lambda s: struct.pack(">I", len(s)) + s + b"\0" * (-len(s) % 4)
    f.write(b"CDF\2" + struct.pack(">III", 0, 10, 2) + name(b"t") + struct.pack(">I", 4) + name(b"x") + struct.pack(">I", 1 << 30)
            + struct.pack(">IIII", 0, 0, 11, 1) + name(b"v") + struct.pack(">III", 2, 0, 1) + struct.pack(">IIIIQ", 0, 0, 5, 2**32 - 1, 128))
    f.truncate(128 + (1 << 34))
refused(65, "an array of 4x1073741824, but only ", "-i", "hollow.nc", "--input-layout", "first")
os.remove("hollow.nc")
for name, at, byte, status, text in (("open.h5", 11, 1, 66, "is marked as open for writing"), ("newer.h5", 8, 9, 65, "its superblock is of version 9")):
    with open("rare.h5", "rb") as f:
        data = bytearray(f.read())
    data[at] = byte
    with open(name, "wb") as f:
        f.write(data)
    refused(status, text, "-i", name + ":half")
