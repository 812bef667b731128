# SPDX-License-Identifier: BSD-3-Clause
"""For test/train/targets.sh: a linear regression of two targets, of which one is large and one of many magnitudes, and what
gradient descent in double precision makes of it.

    targets.py make                     x.npy, y.npy; strange-x.npy and strange-y.npy, the same in other units;
                                        low-y.npy, -y; field.npy and rain.npy, its exponential
    targets.py trained FIRST LAST EVALUATION STEPS RATE
                                        whether the weights LAST are those that this many steps on all samples make of FIRST, the
                                        targets scaled as in targets.sh, and the lines of an evaluation are about y.npy itself
    targets.py unscaled LAST PREDICTION PREDICTION.csv
                                        whether both predictions are what the file's metadata makes of its layer's outputs
    targets.py bare IN OUT              a safetensors file without its metadata
    targets.py between FILE LOW HIGH    whether all numbers of a file of one channel are"""
import json
import math
import random
import struct
import sys

import npy_read

SAMPLES, INPUTS, SIDE = 16, 3, 22


def write_npy(path, shape, values):
    head = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}f", *values))


def read_safetensors(path):
    with open(path, "rb") as f:
        b = f.read()
    end = 8 + struct.unpack("<Q", b[:8])[0]
    header = json.loads(b[8:end])
    meta = header.pop("__metadata__")
    tensors = {}
    for name, t in header.items():
        lo, hi = t["data_offsets"]
        tensors[name] = struct.unpack(f"<{(hi - lo) // 4}f", b[end + lo:end + hi])
    return tensors, meta


def make():
    draw = random.Random(11)
    x = [draw.gauss(0, 1) for _ in range(SAMPLES * INPUTS)]
    y = []
    for s in range(SAMPLES):
        a, b, c = x[INPUTS * s:INPUTS * s + INPUTS]
        y += [288 + 10 * (a - b), math.exp(2 * c + draw.gauss(0, 0.3))]
    write_npy("x.npy", (SAMPLES, INPUTS), x)
    write_npy("y.npy", (SAMPLES, 2), y)
    write_npy("strange-x.npy", (SAMPLES, INPUTS), [3 * v - 1 for v in x])
    write_npy("strange-y.npy", (SAMPLES, 2), [2 * v + 5 for v in y])
    write_npy("low-y.npy", (SAMPLES, 2), [-v for v in y])
    shape = (4, 1, 3 * SIDE, 4 * SIDE)
    field = [draw.gauss(0, 1) for _ in range(shape[0] * shape[2] * shape[3])]
    write_npy("field.npy", shape, field)
    write_npy("rain.npy", shape, [math.exp(v) for v in field])


def moments(v):
    mean = sum(v) / len(v)
    return mean, math.sqrt(sum((w - mean) ** 2 for w in v) / len(v))


def columns():
    x, y = npy_read.read("x.npy")[1], npy_read.read("y.npy")[1]
    return [x[i:i + INPUTS] for i in range(0, len(x), INPUTS)], [y[0::2], y[1::2]]


def scaled():
    """The targets as the loss sees them, and the functions that bring them back."""
    _, (a, b) = columns()
    mean, std = moments(a)
    low, high = math.log1p(min(b)), math.log1p(max(b))
    return ([[(v - mean) / std for v in a], [(math.log1p(v) - low) / (high - low) for v in b]],
            [lambda z: z * std + mean, lambda z: math.expm1(z * (high - low) + low)])


def outputs(w, bias, x):
    return [sum(w[INPUTS * o + i] * x[i] for i in range(INPUTS)) + bias[o] for o in range(2)]


def near(got, want, what, tolerance=2e-5):
    assert abs(got - want) <= tolerance * (1 + abs(want)), f"{what}: {got} instead of {want}"


def trained(first, last, evaluation, steps, rate):
    t = read_safetensors(first)[0]
    w, bias = list(t["dense_0.weight"]), list(t["dense_0.bias"])
    x, y = columns()
    z, back = scaled()
    count = 2 * SAMPLES
    for _ in range(int(steps)):
        out = [outputs(w, bias, v) for v in x]
        for o in range(2):
            d = [2 * (out[s][o] - z[o][s]) / count for s in range(SAMPLES)]
            for i in range(INPUTS):
                w[INPUTS * o + i] -= float(rate) * sum(d[s] * x[s][i] for s in range(SAMPLES))
            bias[o] -= float(rate) * sum(d)
    t = read_safetensors(last)[0]
    for got, want in zip(t["dense_0.weight"] + t["dense_0.bias"], w + bias):
        near(got, want, "a weight")
    out = [outputs(w, bias, v) for v in x]
    errors = [back[o](out[s][o]) - y[o][s] for s in range(SAMPLES) for o in range(2)]
    with open(evaluation) as f:
        e = json.load(f)
    near(e["loss"], sum((out[s][o] - z[o][s]) ** 2 for s in range(SAMPLES) for o in range(2)) / count, "the loss")
    near(e["metrics"]["mae"], sum(map(abs, errors)) / count, "mae")
    near(e["metrics"]["mse"], sum(v * v for v in errors) / count, "mse", 1e-4)


def unscaled(last, prediction, table):
    t, meta = read_safetensors(last)
    x, _ = columns()
    want = []
    for v in x:
        out = outputs(t["dense_0.weight"], t["dense_0.bias"], v)
        for step in json.loads(meta["output_unscaling"]):
            if "function" in step:
                out = [math.expm1(a) if c in step["channels"] else a for c, a in enumerate(out)]
            else:
                out = [a * m + b for a, m, b in zip(out, step["multiply"], step["add"])]
        want += out
    got = npy_read.read(prediction)[1]
    with open(table) as f:
        lines = [line.split(",")[1:] for line in f.read().split()[1:]]
    assert [float(v) for line in lines for v in line] == [float(f"{v:.9g}") for v in got], "csv and npy differ"
    for a, b in zip(got, want):
        near(a, b, "a prediction")


def bare(source, to):
    with open(source, "rb") as f:
        b = f.read()
    end = 8 + struct.unpack("<Q", b[:8])[0]
    header = json.loads(b[8:end])
    del header["__metadata__"]
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(to, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b[end:])


def between(path, low, high):
    v = npy_read.read(path)[1]
    assert all(float(low) <= a <= float(high) for a in v), (min(v), max(v))


def close(one, other):
    a, b = npy_read.read(one), npy_read.read(other)
    assert a[0] == b[0], "shapes"
    for x, y in zip(a[1], b[1]):
        near(x, y, "a prediction")


if __name__ == "__main__":
    {"bare": bare, "between": between, "close": close, "make": make, "trained": trained,
     "unscaled": unscaled}[sys.argv[1]](*sys.argv[2:])
