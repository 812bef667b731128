# SPDX-License-Identifier: BSD-3-Clause
"""check_right.py DLX-CONVERT DIR: a table of inputs and what becomes of them, of the kinds that other programs got wrong by what is reported of
them: rounding, range, signs of zeros, names of files, ends of files and lines, one sample, many axes. What the tests next to it have is not
here: byte orders, Fortran's order, chunks, filters and packing (check_formats.py, check_zarr.py, check_missing.py), tables (check_csv.py),
pictures (check_pictures.py), coordinates (check_meet.py), samples of several sizes (convert_sizes.sh)."""
import io
import os
import struct
import subprocess
import sys

import numpy as np

import dlxrecord
import netcdf_files
from tfrecord import frame

program, folder = sys.argv[1:]
os.chdir(folder)
rng = np.random.default_rng(11)


# --- files ---

def npy(v, name="a.npy"):
    np.save(name, v)
    return ["-i", name]


def raw(data, name):
    with open(name, "wb") as f:
        f.write(data if isinstance(data, bytes) else data.encode())
    return ["-i", name]


def header(v, version):
    f = io.BytesIO()
    np.lib.format.write_array(f, v, version)
    return f.getvalue()


def idx(code, v):
    return struct.pack(">BBBB", 0, 0, code, v.ndim) + struct.pack(f">{v.ndim}I", *v.shape) + v.astype(v.dtype.newbyteorder(">")).tobytes()


def records(each, kind, n, code):
    """A classic netCDF file of one record variable, whose records then follow each other without padding."""
    def name(s):
        return struct.pack(">I", len(s)) + s + b"\0" * (-len(s) % 4)

    head = b"CDF\1" + struct.pack(">III", n, 10, 2) + name(b"t") + struct.pack(">I", 0) + name(b"x") + struct.pack(">I", each.shape[1])
    head += struct.pack(">IIII", 0, 0, 11, 1) + name(b"v") + struct.pack(">III", 2, 0, 1) + struct.pack(">IIII", 0, 0, kind, -(-each[0].nbytes // 4) * 4)
    return head + struct.pack(">I", len(head) + 4) + each.astype(code).tobytes()


def place(v, **given):
    netcdf_files.write("a.nc", {"a": (("t", "y", "x")[:v.ndim], v, given)})
    return ["-i", "a.nc:a"]


def table(text):
    raw(text, "a.csv")
    return ["-i", "a.csv:a"]


def named(name):
    return npy(np.float32([[1, 2]]), name)


def linked(to):
    npy(np.float32([[1, 2]]))
    if os.path.lexists("link.npy"):
        os.remove("link.npy")
    os.symlink(to, "link.npy")
    return ["-i", "link.npy"]


def example(values):
    """A list of integers as tf.train.Example has it."""
    def varint(v):
        v &= 2**64 - 1
        out = b""
        while v > 127:
            out, v = out + bytes([v & 127 | 128]), v >> 7
        return out + bytes([v])

    def field(number, content):
        return varint(number << 3 | 2) + varint(len(content)) + content

    numbers = field(3, field(1, b"".join(varint(v) for v in values)))
    return frame(field(1, field(1, field(1, b"x") + field(2, numbers))))


# --- the table: what is meant, the files and options, and the values, samples first; or a status and what is said ---

HALF, SINGLE, TINY = np.float16, np.float32, np.finfo(np.float32).smallest_subnormal
EVEN = np.float64([[1 + 2**-24, 1 + 3 * 2**-24, 1 - 2**-25, 2**24 + 1]])
FIRST, STACK = ("--input-layout", "first"), ("--input-layout", "stack")
CASES = [
    # numbers
    ("a zero keeps its sign", lambda: npy(SINGLE([[0.0, -0.0]])), SINGLE([[0.0, -0.0]])),
    ("subnormal floats", lambda: npy(SINGLE([[TINY, -TINY, 1e-40]])), SINGLE([[TINY, -TINY, 1e-40]])),
    ("subnormal halves", lambda: npy(HALF([[6e-8, -6e-8, 65504]])), HALF([[6e-8, -6e-8, 65504]])),
    ("halves as floats", lambda: npy(HALF([[0.1, 6e-8, -65504]])) + ["--dtype", "f32"], HALF([[0.1, 6e-8, -65504]]).astype("f4")),
    ("doubles round to the nearest even float", lambda: npy(EVEN), EVEN.astype("f4")),
    ("doubles round to the nearest even half", lambda: npy(np.float64([[2049, 2051, 1 + 2**-11]])) + ["--dtype", "f16"], HALF([[2048, 2052, 1]])),
    ("doubles are kept if requested", lambda: npy(EVEN) + ["--dtype", "f64"], EVEN),
    ("a double that no float holds", lambda: npy(np.float64([[1e39, 1]])), (65, "1e+39 at (0), which does not fit f32")),
    ("a float that no half holds", lambda: npy(SINGLE([[65520, 1]])) + ["--dtype", "f16"], (65, "65520 at (0), which does not fit f16")),
    ("infinite values are missing", lambda: npy(SINGLE([[np.inf, -np.inf, np.nan, 3]])) + ["--fill", "-7"], SINGLE([[-7, -7, -7, 3]])),
    ("the ends of bytes", lambda: npy(np.uint8([[0, 255, 128]])), np.uint8([[0, 255, 128]])),
    ("the ends of signed bytes", lambda: npy(np.int8([[-128, 127, -1]])), np.int8([[-128, 127, -1]])),
    ("bytes do not wrap", lambda: npy(np.int16([[256, 1]])) + ["--dtype", "u8"], (65, "256 at (0), which does not fit u8")),
    ("negative numbers do not wrap", lambda: npy(np.int8([[-1, 1]])) + ["--dtype", "u16"], (65, "-1 at (0), which does not fit u16")),
    ("32 bits without a sign", lambda: npy(np.uint32([[2**32 - 1, 2**31]])), np.int64([[2**32 - 1, 2**31]])),
    ("whole numbers beyond floats", lambda: npy(np.int32([[2**24 + 1, 1]])) + ["-i", "a.npy", *STACK, "--dtype", "f64"], [[[2**24 + 1, 1]] * 2]),
    ("truth values", lambda: npy(np.array([[True, False]])), np.uint8([[1, 0]])),
    ("scale and offset of a float's type", lambda: place(np.int16([[-3, 4]]), scale_factor=SINGLE(0.1), add_offset=SINGLE(2)), SINGLE([[1.7, 2.4]])),
    ("scale and offset that are whole numbers", lambda: place(np.int16([[-3, 4]]), scale_factor=np.int32(10), add_offset=np.int16(-1)), SINGLE([[-31, 39]])),
    ("a packed missing value is compared before unpacking", lambda: place(np.int16([[-9, -18]]), scale_factor=0.5, _FillValue=np.int16(-18)) + ["--fill", "99"],
     SINGLE([[-4.5, 99]])),
    ("two missing values", lambda: place(SINGLE([[1, 2, 3]]), missing_value=SINGLE([1, 3])) + ["--fill", "0"], SINGLE([[0, 2, 0]])),
    ("missing is exact", lambda: npy(SINGLE([[-9999, -9998.999, 0]])) + ["--missing=-9999", "--fill", "1"], SINGLE([[1, -9998.999, 0]])),
    # shapes
    ("one sample", lambda: npy(SINGLE([[[1, 2], [3, 4]]])), [[[[1, 2], [3, 4]]]]),
    ("one value a sample", lambda: npy(SINGLE([1, 2, 3])), [[1], [2], [3]]),
    ("axes of one", lambda: npy(np.ones((2, 1, 1, 3), "u1")) + [*STACK], np.ones((2, 1, 1, 1, 3), "u1")),
    ("more axes than a sample has", lambda: npy(np.ones((2,) * 6, "u1")) + [*STACK], (65, "more than four axes a sample")),
    ("no axis", lambda: npy(SINGLE(3)), (65, "not enough axes")),
    ("no sample", lambda: npy(np.zeros((0, 3), "f4")), (65, "")),
    ("an axis of none", lambda: npy(np.zeros((3, 0), "f4")), (65, "")),
    ("the last sample, and one of the middle", lambda: npy(np.arange(10, dtype="i4")[:, None]) + ["--samples", "-1,4"], [[4], [9]]),
    ("every third sample", lambda: npy(np.arange(10, dtype="i4")[:, None]) + ["--samples", "1::3"], [[1], [4], [7]]),
    ("no sample twice", lambda: npy(np.arange(10, dtype="i4")[:, None]) + ["--samples", "3,3,2:4"], [[2], [3]]),
    # NumPy files
    ("version 2 of the header", lambda: raw(header(SINGLE([[1, 2]]), (2, 0)), "a.npy"), [[1, 2]]),
    ("version 3 of the header", lambda: raw(header(SINGLE([[1, 2]]), (3, 0)), "a.npy"), [[1, 2]]),
    ("an array that is cut", lambda: raw(header(SINGLE([[1, 2]]), (1, 0))[:-1], "a.npy"), (65, "'a.npy'")),
    ("complex numbers", lambda: npy(np.zeros((2, 2), "c8")), (65, "")),
    ("texts", lambda: npy(np.array([["a", "b"]])), (65, "")),
    ("times", lambda: npy(np.zeros((2, 2), "M8[s]")), (65, "")),
    ("records of several types", lambda: npy(np.zeros(2, [("a", "f4"), ("b", "i2")])), (65, "")),
    ("objects", lambda: npy(np.array([[None, 1]], object)), (65, "")),
    # IDX and netCDF files
    ("IDX, 16 bits", lambda: raw(idx(11, np.int16([[-2, 300]])), "a.idx"), np.int16([[-2, 300]])),
    ("IDX, signed bytes", lambda: raw(idx(9, np.int8([[-2, 3]])), "a.idx"), np.int8([[-2, 3]])),
    ("IDX, doubles", lambda: raw(idx(14, np.float64([[0.1, -3]])), "a.idx") + ["--dtype", "f64"], np.float64([[0.1, -3]])),
    ("records of one variable of bytes", lambda: raw(records(np.int8([[1, 2, 3], [4, 5, 6]]), 1, 2, "i1"), "a.nc") + [*FIRST], np.int8([[1, 2, 3], [4, 5, 6]])),
    ("records of one variable of shorts", lambda: raw(records(np.int16([[1, -2, 3]] * 3), 3, 3, ">i2"), "a.nc") + [*FIRST], np.int16([[1, -2, 3]] * 3)),
    # tables
    ("no end of the last line", lambda: table("a,b\n1,2\n3,4"), [[1], [3]]),
    ("numbers as people write them", lambda: table("a\n+1\n.5\n5.\n1E-3\n-0\n 7 \n"), SINGLE([[1], [0.5], [5], [1e-3], [-0.0], [7]])),
    ("many digits", lambda: table("a\n0.1000000000000000055511151231257827021181583404541015625\n"), SINGLE([[0.1]])),
    ("thousands with commas", lambda: table('a,b\n"1,000",2\n'), (65, "'1,000' is no number")),
    ("a date", lambda: table("a\n2020-01-01\n"), (65, "'2020-01-01' is no number")),
    ("a quote in a name", lambda: raw('"a ""b""",c\n1,2\n', "a.csv")[:0] + ["-i", 'a.csv:a "b"'], [[1]]),
    # names of files
    ("blanks and letters that are no ASCII", lambda: named("größe 名.npy"), [[1, 2]]),
    ("a colon", lambda: named("run:12.npy"), [[1, 2]]),
    ("brackets that are no pattern", lambda: named("a[1].npy"), [[1, 2]]),
    ("a star that is no pattern", lambda: named("a*.npy"), [[1, 2]]),
    ("a symbolic link", lambda: linked("a.npy"), [[1, 2]]),
    ("a symbolic link to nothing", lambda: linked("gone.npy"), (66, "'link.npy'")),
    ("one file twice", lambda: npy(SINGLE([[1, 2]])) + ["-i", "./a.npy", *STACK], [[[1, 2], [1, 2]]]),
    ("a name that begins with a dash", lambda: named("-a.npy")[:0] + ["-i", "./-a.npy"], [[1, 2]]),
    # lists of TFRecord
    ("negative integers", lambda: raw(example([-1, 2**62, -2**63]), "a.tfrecord"), np.int64([[-1, 2**62, -2**63]])),
]
TARGETS = [
    ("edges belong to the upper class", [-1.0, 0, 0.5, 1, 2], ["--classes", "0,1"], [0, 1, 1, 2, 2]),
    ("labels that are floats", [0.0, 3, 2], ["--labels"], [0, 3, 2]),
    ("labels that are no whole numbers", [0.0, 1.5], ["--labels"], (65, "")),
    ("a label that is none", [0, -1], [], (65, "-1")),
    ("a label that is left out", [0, -1], ["--ignore", "-1"], [0, -1]),
    ("the largest label", [0, 65535], [], [0, 65535]),
    ("beyond it", [0, 65536], [], (65, "65536")),
    ("a label of NaN", [0.0, np.nan], ["--labels"], (65, "missing")),
]
STATISTICS = [
    ("small changes of large numbers", 1e8 + rng.integers(0, 16, (50, 1000))),
    ("one number", np.full((3, 5), 0.1)),
    ("numbers of both signs", rng.normal(size=(20, 300)) * 1e-30),
    ("a wide range", np.exp(rng.normal(size=(20, 300)) * 20)),
]


def run(args):
    if os.path.exists("out.dlx"):
        os.remove("out.dlx")
    p = subprocess.run([program, "-q", "-l", "0", "-o", "out.dlx", *args], capture_output=True, text=True)
    return p.returncode, p.stderr


def check(name, args, want, role):
    status, text = run(args)
    if isinstance(want, tuple):
        if (status, True) != (want[0], want[1] in text):
            return f"status {status}, expected {want}: {text}"
        return "a record is left" if os.path.exists("out.dlx") else None
    if status:
        return f"status {status}: {text}"
    got = dlxrecord.read("out.dlx")[role]
    if isinstance(want, np.ndarray) and role == 1 and want.dtype != got.dtype:
        return f"{got.dtype}, expected {want.dtype}"
    want = np.asarray(want, got.dtype)
    same = got.shape == want.shape and got.tobytes() == want.tobytes()
    return None if same else f"{got.shape} {got.tolist()}, expected {want.shape} {want.tolist()}"


faults = []
for name, args, want in CASES:
    fault = check(name, args(), want, 1)
    faults += [f"{name}: {fault}"] if fault else []
for name, labels, more, want in TARGETS:
    np.save("x.npy", np.zeros((len(labels), 1), "f4"))
    np.save("y.npy", np.array(labels))
    fault = check(name, ["-i", "x.npy", "-t", "y.npy", *more], want, 2)
    faults += [f"{name}: {fault}"] if fault else []
for name, values in STATISTICS:
    np.save("s.npy", values)
    run(["-i", "s.npy", "--input-layout", "stack", "--dtype", "f64"])
    s, = dlxrecord.read("out.dlx")[0]["input"]["statistics"]
    want = dict(count=values.size, min=values.min(), max=values.max(), mean=values.mean(dtype=np.longdouble), std=values.std(dtype=np.longdouble))
    for key, v in want.items():
        if abs(s[key] - v) > 1e-9 * max(abs(v), values.std() if key == "mean" else 0):
            faults.append(f"{name}: {key} {s[key]}, expected {v}")
print(f"{len(CASES) + len(TARGETS) + len(STATISTICS)} cases")
sys.exit("\n".join(faults) or 0)
