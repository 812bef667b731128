# SPDX-License-Identifier: BSD-3-Clause
"""For test/train/mixup.sh: what a step with data.mixup has seen, and its loss, in plain Python.

    mixup.py make          writes x.npy (6 samples of 2 x 4 x 4), y.npy (labels of 3 classes and 9) and v.npy (fields of 3 channels)
    mixup.py check DIR CASE"""
import json
import math
import sys

from transforms import joined, near, read_safetensors, write_npy

SAMPLES, CHANNELS, SIDE, CLASSES, IGNORE = 6, 2, 4, 3, 9
POINTS = SIDE * SIDE
WEIGHTS = [1, 2, 5]


def x(s):
    return [((i * i * 7 + s * s * 13 + i * s * 3) % 31) / 8 for i in range(CHANNELS * POINTS)]


def y(s):
    return [IGNORE if (i + s) % 7 == 0 else (i * i + s * i + s) % CLASSES for i in range(POINTS)]


def v(s):
    return [((i * 5 + s * 3) % 17) / 4 for i in range(CLASSES * POINTS)]


def make():
    of_all = lambda f: joined(f(s) for s in range(SAMPLES))
    write_npy("x.npy", "<f4", (SAMPLES, CHANNELS, SIDE, SIDE), "f", of_all(x))
    write_npy("y.npy", "|u1", (SAMPLES, SIDE, SIDE), "B", of_all(y))
    write_npy("v.npy", "<f4", (SAMPLES, CLASSES, SIDE, SIDE), "f", of_all(v))


def cross_entropy(out, targets, weights):
    """The mean over all samples, and its weight."""
    total = of = 0
    for n, target in enumerate(targets):
        for i, label in enumerate(target):
            if label != IGNORE:
                z = [out[(n * CLASSES + c) * POINTS + i] for c in range(CLASSES)]
                total += weights[label] * (math.log(sum(math.exp(a) for a in z)) - z[label])
                of += weights[label]
    return total / of, of


def squares(out, targets):
    flat = joined(targets)
    return sum((a - b) ** 2 for a, b in zip(out, flat)) / len(flat), 1


def check(folder, case):
    batch = read_safetensors(f"{folder}/inputs.safetensors")
    out = read_safetensors(f"{folder}/outputs.safetensors")["output"]
    share, of = batch["mixup_share"][0], {"mse": v, "scaled": v}.get(case, y)
    assert 0 < share < 1, share
    each = len(of(0))
    cut = lambda t: [list(t[k : k + each]) for k in range(0, len(t), each)]
    first, second = cut(batch["target"]), cut(batch["mixup_target"])
    who = [[[of(s) for s in range(SAMPLES)].index(t) for t in side] for side in (first, second)]
    assert who[0] != who[1], "every sample is blended with itself"
    want = joined([share * a + (1 - share) * b for a, b in zip(x(i), x(j))] for i, j in zip(*who))
    near(batch["input"], want, "blended inputs")
    losses = {
        "mse": lambda t: squares(out, t),
        "scaled": lambda t: squares(out, [[4 * (a - 50) for a in one] for one in t]),
        "weights": lambda t: cross_entropy(out, t, WEIGHTS),
        "labels": lambda t: cross_entropy(out, t, [1] * CLASSES),
    }
    loss = losses[case]
    (l1, w1), (l2, w2) = loss(first), loss(second)
    expected = (share * w1 * l1 + (1 - share) * w2 * l2) / (share * w1 + (1 - share) * w2)
    got = json.load(open(f"{folder}/loss.json"))["loss"]
    assert abs(l1 - l2) > 1e-3 and abs(got - expected) < 1e-5 * (1 + abs(expected)), f"loss {got} instead of {expected} ({l1}, {l2})"


if __name__ == "__main__":
    make() if sys.argv[1] == "make" else check(*sys.argv[2:])
