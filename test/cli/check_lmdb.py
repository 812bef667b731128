# SPDX-License-Identifier: BSD-3-Clause
"""check_lmdb.py DLX-CONVERT MAKE-LMDB DIR: LMDB databases against NumPy."""
import os
import struct
import subprocess
import sys

import numpy as np

from converted import converter, same

program, make, folder = sys.argv[1:]
convert = converter(program, folder)
rng = np.random.default_rng(9)


def database(name, entries):
    if not name.endswith(".lmdb"):
        os.makedirs(f"{folder}/{name}", exist_ok=True)
    data = b"".join(struct.pack("<II", len(k), len(v)) + k + v for k, v in entries.items())
    subprocess.run([make, f"{folder}/{name}"], input=data, check=True)


# as STEMDL wrote them: its header says what the values are
n = 12
cbed = rng.normal(size=(n, 16, 8, 8)).astype("<f2")
potential = rng.normal(size=(n, 1, 8, 8)).astype("<f2")
header = {b"input_dtype": b"float16", b"output_dtype": b"float16", b"input_shape": np.array([16, 8, 8], "<i8").tobytes(),
          b"output_shape": np.array([1, 8, 8], "<i8").tobytes(), b"input_name": b"cbed_", b"output_name": b"2d_potential_",
          b"header_entries": bytes(6)}
samples = {}
for i in range(n):
    samples[b"cbed_%d" % i] = cbed[i].tobytes()
    samples[b"2d_potential_%d" % i] = potential[i].tobytes()
database("batch_train_0.db", {**header, **samples})
for x, y in (("cbed_", "2d_potential_"), ("cbed", "2d_potential")):
    text, a, b = convert("-i", "batch_train_0.db:" + x, "-t", "batch_train_0.db:" + y, "--input-layout", "first",
                         "--target-layout", "first")
    same("inputs", a, cbed)
    same("targets", b, potential)
    assert text["input"]["channels"][0] == "cbed[0]", text["input"]["channels"][0]

# without a header, or against it; several databases, a sample a key
for i in range(3):
    database(f"plain_{i}.lmdb", {b"cbed_%d" % k: cbed[4 * i + k].tobytes() for k in range(4)})
text, a, _ = convert("-i", "plain_?.lmdb:cbed[f16,16,8,8]", "--input-layout", "first")
same("declared", a, cbed)
text, a, _ = convert("-i", "batch_train_0.db:cbed[u16,32,32]", "--input-layout", "stack")
same("against the header", a[:, 0], cbed.view("<u2").reshape(n, 32, 32))

# more than is read before the file is mapped anew
many = rng.integers(0, 255, (700, 64, 1024), dtype=np.uint8)
database("many.lmdb", {b"v%d" % k: many[k].tobytes() for k in range(700)})
same("many", convert("-i", "many.lmdb:v[u8,64,1024]")[1][:, 0], many)

# names that are numbers alone, of unlike lengths; the most significant byte first
values = rng.integers(-99, 99, (120, 5)).astype(">i4")
database("numbers", {(b"%03d" % i if i % 2 else b"%d" % i): values[i].tobytes() for i in range(120)})
same("numbers", convert("-i", "numbers:[>i32]")[1], values.astype("<i4"))
os.rename(folder + "/numbers/data.mdb", folder + "/data.anything")
same("by content", convert("-i", "data.anything:[>i32,5]", "--samples", "100,7")[1], values[[7, 100]].astype("<i4"))
database("odd.lmdb", {b"v1": b"12345678", b"v2": b"1234"})
database("words.lmdb", {b"word": b"12345678"})
