# SPDX-License-Identifier: BSD-3-Clause
"""check_tfrecord.py DLX-CONVERT DIR: TFRecord files, written here, against NumPy."""
import gzip
import sys
import zlib

import numpy as np

from converted import converter, same
from tfrecord import example, field, frame

program, folder = sys.argv[1:]
convert = converter(program, folder)
rng = np.random.default_rng(5)


def put(name, data):
    with open(f"{folder}/{name}", "wb") as f:
        f.write(data)


# CosmoFlow's: a cube a file, as bytes of 16-bit numbers with channels last, and four floats; the first bytes
# tell whether it is compressed, whatever it is called
S = 8
cubes = rng.integers(-300, 300, (6, S, S, S, 4)).astype("<i2")
params = rng.normal(size=(6, 4)).astype("<f4")
records = [frame(example({"x": x.tobytes(), "y": [float(v) for v in y]})) for x, y in zip(cubes, params)]
for i, pack in enumerate((bytes, gzip.compress, bytes, zlib.compress, gzip.compress, bytes)):
    put(f"cube-{i}.tfrecord", pack(records[i]))
want = np.moveaxis(cubes, -1, 1)
X, Y = f"x[i16,{S},{S},{S},4]", "y"
text, a, b = convert("-i", "cube-?.tfrecord:" + X, "-t", "cube-?.tfrecord:" + Y, "--input-layout", "last")
same("cubes", a, want)
same("parameters", b, params)
assert text["input"]["channels"] == ["x[0]", "x[1]", "x[2]", "x[3]"], text["input"]["channels"]

# a list of files, in its order
same("list", convert("-i", "cube-{4,[02]}.tfrecord:y")[1], params[[4, 0, 2]])

# many records a file, compressed in several members; by content alone
put("all", b"".join(gzip.compress(records[i] + records[i + 1]) for i in (0, 2, 4)))
text, a, b = convert("-i", "all:" + X, "-t", "all:y", "--input-layout", "last", "--samples", "4,1")
same("members", a, want[[1, 4]])
same("members", b, params[[1, 4]])
put("plain", b"".join(records))
text, a, b = convert("-i", "plain:" + X, "-t", "plain:y[2,2]", "--input-layout", "last", "--target-layout", "first")
same("plain", a, want)
same("extents of numbers", b, params.reshape(6, 2, 2))

# the other kinds of lists and of their encoding; fields that are not known, and the order of keys
n = 5
f, k = rng.normal(size=(n, 3)).astype("f4"), rng.integers(-9, 9, n)
big, half = rng.integers(-300, 300, (n, 2, 3)).astype(">i2"), rng.normal(size=(n, 7)).astype("<f2")
for packed in (True, False):
    out = b""
    for i in range(n):
        one = example({"f": [float(v) for v in f[i]], "empty": b"", "k": [int(k[i])], "big": big[i].tobytes(),
                       "half": [half[i, :4].tobytes(), half[i, 4:].tobytes()]}, packed)
        out += frame(field(9, b"not known") + one + b"\x50\x05")
    put("kinds.tfrecords", out)
    text, a, b = convert("-i", "kinds.tfrecords:big[>i16,2,3]")
    same("big endian", a, big.astype("<i2")[:, None])
    same("integers", convert("-i", "kinds.tfrecords:k")[1], k[:, None])
    text, a, b = convert("-i", "kinds.tfrecords:half[f16]", "-t", "kinds.tfrecords:f")
    same("several bytes", a, half)
    same("floats", b, f)
put("one", b"".join(frame(example({"v": [float(v) for v in f[i]]})) for i in range(n)))
same("the only feature", convert("-i", "one")[1], f)

# samples of more than 8 MiB, which are read in pieces: bytes in several values, integers and floats that are packed or not
wide = rng.integers(0, 100000, (2, 3, 220, 1700))
lists = wide.reshape(2, -1)
for packed in (True, False):
    rows = [example({"b": [v.tobytes()[k::2] for k in range(2)], "i": [int(x) for x in v], "z": [1]}, packed)
            for v in lists.astype("<i4")]
    data = b"".join(frame(row) for row in rows)
    put("wide", data)
    same("many integers", convert("-i", "wide:i[i64,3,220,1700]", "--input-layout", "first")[1], wide)
halves = np.stack([np.frombuffer(v.tobytes()[::2] + v.tobytes()[1::2], "<i4") for v in lists.astype("<i4")]).reshape(wide.shape)
put("wide.gz", gzip.compress(data, 1))
for name in "wide", "wide.gz":
    text, a, b = convert("-i", name + ":b[i32,3,220,1700]", "--input-layout", "first", "--dtype", "i64")
    same("many bytes", a, halves.astype("i8"))
    same("one integer", convert("-i", name + ":z")[1], np.ones((2, 1), "i8"))
for packed in (True, False):
    put("wide", b"".join(frame(example({"f": [float(x) for x in v]}, packed)) for v in lists[::-1]))
    text, a, b = convert("-i", "wide:f[f32,3,220,1700]", "--input-layout", "first", "--dtype", "f64")
    same("many floats", a, wide[::-1].astype("f8"))

# a first record whose length looks like a Python pickle's first bytes, or gzip's
for length in (0x0280, 0x088b1f):
    v = rng.integers(0, 9, (1, length)).astype("u1")
    head = len(example({"v": v[0].tobytes()})) - length
    put("looks", frame(example({"v": v[0, head:].tobytes()})))
    if len(example({"v": v[0, head:].tobytes()})) == length:
        same("looks", convert("-i", "looks:v[u8]")[1], v[:, head:])
    else:
        sys.exit("the length is %d, not %d" % (len(example({"v": v[0, head:].tobytes()})), length))
