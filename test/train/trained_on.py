# SPDX-License-Identifier: BSD-3-Clause
"""For test/train/trained_on.sh.

    trained_on.py make                  writes images x.npy and labels y.npy; scaled.npy, the images as other units have them;
                                        floats.npy, the same numbers as x.npy in floats; one.npy, one image
    trained_on.py strip IN OUT          a safetensors file without its metadata
    trained_on.py close A B TOLERANCE   whether two arrays of floats are as close as that"""
import json
import random
import struct
import sys

import npy_read

SAMPLES, CHANNELS, SIDE = 12, 2, 6


def write_npy(path, descr, shape, code, values):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}{code}", *values))


def make():
    draw = random.Random(7)
    shape = (SAMPLES, CHANNELS, SIDE, SIDE)
    each = CHANNELS * SIDE * SIDE
    labels = [s % 3 for s in range(SAMPLES)]
    x = [40 * labels[s] + draw.randrange(60) + 30 * (i % each // (SIDE * SIDE)) for s in range(SAMPLES)
         for i in range(each)]
    write_npy("x.npy", "|u1", shape, "B", x)
    write_npy("y.npy", "|u1", (SAMPLES,), "B", labels)
    write_npy("floats.npy", "<f4", shape, "f", x)
    write_npy("scaled.npy", "<f4", shape, "f", [8 * v + 1024 for v in x])
    write_npy("one.npy", "|u1", (1,) + shape[1:], "B", x[:each])
    write_npy("one-y.npy", "|u1", (1,), "B", labels[:1])


def strip(source, to):
    with open(source, "rb") as f:
        all_of_it = f.read()
    end = 8 + struct.unpack("<Q", all_of_it[:8])[0]
    header = json.loads(all_of_it[8:end])
    kept = header.pop("__metadata__")
    assert kept["format"] == "pt" and json.loads(kept["training_set"])["samples"] == SAMPLES
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(to, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + all_of_it[end:])


def close(a, b, tolerance):
    x, y = npy_read.read(a)[1], npy_read.read(b)[1]
    assert len(x) == len(y)
    worst = max(abs(p - q) for p, q in zip(x, y))
    assert worst <= float(tolerance), worst


{"make": make, "strip": strip, "close": close}[sys.argv[1]](*sys.argv[2:])
