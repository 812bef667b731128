# SPDX-License-Identifier: BSD-3-Clause
"""Arrays for test/train/transforms.sh, and what its transforms make of them, in plain Python.

    transforms.py make           writes x.npy, y.npy (6 samples of 4 channels of 4 cubed points, and labels) and
                                 low.npy, whose sample 1 has a negative value, low-y.npy
    transforms.py check DIR CASE compares the batch in DIR/inputs.safetensors, of --dump-step, with CASE"""
import json
import math
import struct
import sys

SAMPLES, CHANNELS, SIDE = 6, 4, 4
POINTS = SIDE**3


def value(s, c, i):
    """Without a symmetry of its own, different in each sample and channel."""
    return (i * i * 7 + i * 3 + s * 11 + c * 5) % 101 / 8 + 1 + 10 * c


def label(s, i):
    return int(value(s, 0, i) * 8) % 3


def write_npy(path, descr, shape, code, values):
    head = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    with open(path, "wb") as f:
        f.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode())
        f.write(struct.pack(f"<{len(values)}{code}", *values))


def make():
    x = [value(s, c, i) for s in range(SAMPLES) for c in range(CHANNELS) for i in range(POINTS)]
    y = [label(s, i) for s in range(SAMPLES) for i in range(POINTS)]
    cube = (SIDE, SIDE, SIDE)
    write_npy("x.npy", "<f4", (SAMPLES, CHANNELS) + cube, "f", x)
    write_npy("y.npy", "|u1", (SAMPLES,) + cube, "B", y)
    low = x[: 2 * CHANNELS * POINTS]
    low[(CHANNELS + 2) * POINTS + (1 * SIDE + 2) * SIDE + 3] = -0.25
    write_npy("low.npy", "<f4", (2, CHANNELS) + cube, "f", low)
    write_npy("low-y.npy", "|u1", (2,) + cube, "B", y[: 2 * POINTS])


def read_safetensors(path):
    data = open(path, "rb").read()
    n = struct.unpack("<Q", data[:8])[0]
    out = {}
    for name, t in json.loads(data[8 : 8 + n]).items():
        if name != "__metadata__":
            a, b = t["data_offsets"]
            code = {"F32": "f", "I32": "i", "I64": "q"}[t["dtype"]]
            raw = data[8 + n + a : 8 + n + b]
            out[name] = struct.unpack(f"<{len(raw) // struct.calcsize(code)}{code}", raw)
    return out


def moments(values):
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((v - mean) ** 2 for v in values) / len(values))


def standard(values):
    mean, std = moments(values)
    return [(v - mean) / std for v in values]


def cut(values):
    return [values[k : k + POINTS] for k in range(0, len(values), POINTS)]


def joined(channels):
    return [v for c in channels for v in c]


# What a case makes of the channels of a sample.
CASES = {
    "none": lambda x: x,
    "mean": lambda x: [[v / moments(c)[0] for v in c] for c in x],
    "mean_sample": lambda x: cut([v / moments(joined(x))[0] for v in joined(x)]),
    "standard": lambda x: [standard(c) for c in x],
    "standard_sample": lambda x: cut(standard(joined(x))),
    "stem": lambda x: cut(standard([math.sqrt(v) for v in joined(x)])),
    "range": lambda x: [[(v - min(c)) / (max(c) - min(c)) for v in c] for c in x],
    "sqrt": lambda x: [[math.sqrt(v) for v in c] for c in x],
    "some": lambda x: [x[3], x[0]],
    "some_min_max": lambda x: [[(v - least(c)) / (most(c) - least(c)) for v in x[c]] for c in (3, 0)],
}


def least(c):
    return min(value(s, c, i) for s in range(SAMPLES) for i in range(POINTS))


def most(c):
    return max(value(s, c, i) for s in range(SAMPLES) for i in range(POINTS))


def near(got, want, what):
    assert len(got) == len(want), f"{what}: {len(got)} values instead of {len(want)}"
    for i, (a, b) in enumerate(zip(got, want)):
        assert abs(a - b) <= 2e-6 * (1 + abs(b)), f"{what}, value {i}: {a} instead of {b}"


def turned(s, degrees, fill, outside):
    """Sample s about the axis of its depth, as scipy.ndimage.rotate does in order 1 (labels 0) without reshaping."""
    a, mid = math.radians(degrees), (SIDE - 1) / 2
    x, y = [[0.0] * POINTS for c in range(CHANNELS)], [outside] * POINTS
    for i in range(POINTS):
        z, v, u = i // SIDE**2, i // SIDE % SIDE - mid, i % SIDE - mid
        place = (mid + u * math.sin(a) + v * math.cos(a), mid + u * math.cos(a) - v * math.sin(a))
        for j in range(-1, SIDE + 1):
            for k in range(-1, SIDE + 1):
                weight = max(0, 1 - abs(place[0] - j)) * max(0, 1 - abs(place[1] - k))
                inside = 0 <= j < SIDE and 0 <= k < SIDE
                for c in range(CHANNELS):
                    x[c][i] += weight * (value(s, c, (z * SIDE + j) * SIDE + k) if inside else fill)
                if inside and j == math.floor(place[0] + 0.5) and k == math.floor(place[1] + 0.5):
                    y[i] = label(s, (z * SIDE + j) * SIDE + k)
    return x, y


def check_rotate(x, y):
    want = [turned(s, 25, 3, 2) for s in range(len(y) // POINTS)]
    for i, (a, b) in enumerate(zip(x, joined(joined(w[0]) for w in want))):
        assert abs(a - b) <= 2e-3, f"rotate, value {i}: {a} instead of {b}"
    near(y, joined(w[1] for w in want), "rotated labels")


def check_noise(x, y):
    """Every value is off a little, by no constant of its sample or channel."""
    off = [v - value(k // (CHANNELS * POINTS), k // POINTS % CHANNELS, k % POINTS) for k, v in enumerate(x)]
    mean, std = moments(off)
    assert abs(mean) < 0.05 and 0.22 < std < 0.28, f"noise of mean {mean} and deviation {std}"
    assert len({round(v, 5) for v in off}) > len(off) * 0.95, "noise repeats"


def check(folder, case):
    batch = read_safetensors(f"{folder}/inputs.safetensors")
    x, y = batch["input"], batch["target"]
    if case in ("symmetry", "rotate", "noise"):
        return {"symmetry": check_symmetry, "rotate": check_rotate, "noise": check_noise}[case](x, y)
    n = len(y) // POINTS
    want = [CASES[case]([[value(s, c, i) for i in range(POINTS)] for c in range(CHANNELS)]) for s in range(n)]
    near(x, joined(joined(w) for w in want), case)
    near(y, [label(s, i) for s in range(n) for i in range(POINTS)], "labels")


def check_symmetry(x, y):
    """Every sample has its values, at other places and with their labels; one at least has moved."""
    moved = False
    for s in range(len(y) // POINTS):
        got = [x[(s * CHANNELS + c) * POINTS : (s * CHANNELS + c + 1) * POINTS] for c in range(CHANNELS)]
        labels = y[s * POINTS : (s + 1) * POINTS]
        was = [tuple(value(s, c, i) for c in range(CHANNELS)) + (label(s, i),) for i in range(POINTS)]
        now = [tuple(got[c][i] for c in range(CHANNELS)) + (labels[i],) for i in range(POINTS)]
        assert sorted(was) == sorted(now), f"sample {s} has other values or labels"
        moved |= was != now
    assert moved, "no sample has moved"


if __name__ == "__main__":
    make() if sys.argv[1] == "make" else check(*sys.argv[2:])
