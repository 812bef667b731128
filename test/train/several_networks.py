# SPDX-License-Identifier: BSD-3-Clause
"""Networks of layers on samples, trained in NumPy in float64 with gradients by complex steps: weights to begin with, and the
terms, weights, running statistics and predictions that dlx-train must have."""
import json
import struct
import sys

import numpy as np

STEPS = 4
RATE = 0.05


# --- files ---

def save(path, tensors):
    head, data = {}, b""
    for name, v in tensors.items():
        raw = v.real.astype("<f4").tobytes()
        head[name] = {"dtype": "F32", "shape": list(v.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(head).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)


def load(path):
    raw = open(path, "rb").read()
    n = struct.unpack("<Q", raw[:8])[0]
    head = json.loads(raw[8:8 + n])
    head.pop("__metadata__", None)
    return {k: np.frombuffer(raw[8 + n:][slice(*v["data_offsets"])], "<f4").reshape(v["shape"]) for k, v in head.items()}


# --- layers ---

def dense(p, name, x):
    return x @ p[name + ".weight"].T + p[name + ".bias"]


def conv(p, name, x, stride):
    """Of a kernel of 3 with SAME padding, whose odd one is at the end."""
    w = p[name + ".weight"]
    n, _, h, _ = x.shape
    out = -(-h // stride)
    total = max((out - 1) * stride + 3 - h, 0)
    x = np.pad(x, ((0, 0), (0, 0), (total // 2, total - total // 2), (total // 2, total - total // 2)))
    y = np.zeros((n, w.shape[0], out, out), x.dtype if np.iscomplexobj(x) else complex)
    for i in range(3):
        for j in range(3):
            part = x[:, :, i:i + stride * out:stride, j:j + stride * out:stride]
            y = y + np.einsum("nchw,fc->nfhw", part, w[:, :, i, j])
    return y


def batch_norm(p, name, x, seen):
    """By the samples at hand, whose statistics are kept in `seen` where that is given; else running ones."""
    axes = (0,) + tuple(range(2, x.ndim))
    each = (1, -1) + (1,) * (x.ndim - 2)
    mean, var = x.mean(axes), ((x - x.mean(axes, keepdims=True)) ** 2).mean(axes)
    if seen is None:
        mean, var = p[name + ".running_mean"], p[name + ".running_var"]
    else:
        n = x.size / x.shape[1]
        seen.setdefault(name, (mean, var * n / (n - 1)))
    x = (x - mean.reshape(each)) / np.sqrt(var.reshape(each) + 1e-5)
    return x * p[name + ".weight"].reshape(each) + p[name + ".bias"].reshape(each)


def shapes(random, **given):
    p = {}
    for name, s in given.items():
        name = name.replace("__", ".")
        p[name + ".weight"] = random.normal(0, 0.3, s)
        p[name + ".bias"] = random.normal(0, 0.1, s[0])
    return p


def norm(random, p, name, n):
    p[name + ".weight"] = random.normal(1, 0.1, n)
    p[name + ".bias"] = random.normal(0, 0.1, n)
    p[name + ".running_mean"] = random.normal(0, 0.1, n)
    p[name + ".running_var"] = random.uniform(0.5, 1.5, n)


# --- cases: weights, and terms of them ---

def autoencoder(random, image, label):
    p = shapes(random, encoder__down=(2, 1, 3, 3), encoder__code=(3, 32), decoder__dense_0=(5, 3), decoder__dense_1=(64, 5))
    del p["encoder.down.bias"]
    norm(random, p, "encoder.norm", 2)

    def encode(p, x, seen):
        h = np.tanh(batch_norm(p, "encoder.norm", conv(p, "encoder.down", x, 2), seen))
        return dense(p, "encoder.code", h.reshape(len(x), -1))

    def terms(p, seen):
        code = encode(p, image, seen)
        again = encode(p, 0.5 * image, {})
        made = dense(p, "decoder.dense_1", np.tanh(dense(p, "decoder.dense_0", code)))
        return {"image": ((made - image.reshape(len(image), -1)) ** 2).mean(), "code": (code ** 2).mean(),
                "half": ((code - again) ** 2).mean(), "seen": np.sqrt((code ** 2).sum(1) + 1e-12).mean()}

    def predict(p):
        code = encode(p, image, None)
        return {"encoder": code, "decoder": dense(p, "decoder.dense_1", np.tanh(dense(p, "decoder.dense_0", code))).reshape(image.shape)}
    terms.predict = predict
    return p, terms, {"image": 1, "code": 0.1, "half": 0.2, "seen": 0}, ("encoder", "decoder")


def student(random, image, label):
    p = shapes(random, teacher__first=(6, 64), teacher__last=(2, 6), student__dense_0=(4, 64), student__dense_1=(2, 4))
    norm(random, p, "teacher.norm", 6)

    def terms(p, seen):
        x = image.reshape(len(image), -1)
        right = dense(p, "teacher.last", np.tanh(batch_norm(p, "teacher.norm", dense(p, "teacher.first", x), None)))
        own = dense(p, "student.dense_1", np.tanh(dense(p, "student.dense_0", x)))
        return {"teacher": ((own - right) ** 2).mean(), "data": ((own - label) ** 2).mean()}
    return p, terms, {"teacher": 1, "data": 0.5}, ("student",)


def operator(random, image, label):
    """A DeepONet, and a network with the parameters of another."""
    p = shapes(random, branch__dense_0=(4, 64), branch__dense_1=(3, 4), trunk__dense_0=(5, 1), trunk__dense_1=(3, 5))

    def net(p, name, x):
        return dense(p, name + ".dense_1", np.tanh(dense(p, name + ".dense_0", x)))

    def terms(p, seen):
        x = image.reshape(len(image), -1)
        value = (net(p, "branch", x) * net(p, "trunk", label[:, :1])).sum(1)
        twin = net(p, "branch", x ** 2) * 2
        return {"data": ((value - label[:, 1]) ** 2).mean(), "twin": twin.mean()}

    def predict(p):
        x = image.reshape(len(image), -1)
        branch, trunk = net(p, "branch", x), net(p, "trunk", label[:, :1])
        return {"branch": branch, "trunk": trunk, "twin": net(p, "branch", x ** 2) * 2, "value": (branch * trunk).sum(1)[:, None]}
    terms.predict = predict
    return p, terms, {"data": 1, "twin": 0.1}, ("branch", "trunk")


# --- training ---

def train(p, terms, weight, trained):
    """Yields the terms of each step, and changes p."""
    p = {k: v.astype("f4").astype(complex) for k, v in p.items()}
    for _ in range(STEPS):
        seen, grad = {}, {}
        yield {k: v.real for k, v in terms(p, seen).items()}, p
        for name, v in p.items():
            if name.split(".")[0] not in trained or ".running_" in name:
                continue
            grad[name] = np.zeros(v.shape)
            for i in np.ndindex(v.shape):
                v[i] += 1e-30j
                grad[name][i] = sum(weight[k] * t for k, t in terms(p, {}).items()).imag / 1e-30
                v[i] = v[i].real
        for name, g in grad.items():
            p[name] = p[name] - RATE * g
        for name, both in seen.items():
            for leaf, v in zip(("running_mean", "running_var"), both):
                p[f"{name}.{leaf}"] = 0.9 * p[f"{name}.{leaf}"] + 0.1 * v.real
    yield {}, p


def make(case):
    random = np.random.default_rng(7)
    return case(random, np.load("image.npy").astype(float), np.load("label.npy").astype(float))


def main(case, run=None, weights=None):
    p, terms, weight, trained = make({"autoencoder": autoencoder, "student": student, "operator": operator}[case])
    if run is None:
        save(f"{case}.safetensors", {k.replace("teacher.", "big."): v for k, v in p.items()})
        if case == "operator":
            save("trunk.safetensors", {k[6:]: v for k, v in p.items() if k.startswith("trunk.")})
        return
    lines = [json.loads(x) for x in open(f"{run}/metrics.jsonl")]
    steps = [x["values"] for x in lines if x["type"] == "step"]
    assert len(steps) == STEPS, steps
    *expected, (_, last) = train(p, terms, weight, trained)
    for have, (want, _) in zip(steps, expected):
        assert len(have) == len(want), (have, want)
        for k, v in want.items():
            assert abs(have["term/" + k] - v) < 2e-6 * (1 + abs(v)), (case, k, have, want)
    made = load(weights)
    assert set(made) == set(last), set(made) ^ set(last)
    for k, v in last.items():
        assert np.abs(made[k] - v.real).max() < 1e-5, (case, k, made[k], v.real)


def check(case, weights, archive, evaluation, *compared):
    """Predictions and metrics by running statistics, of the weights that dlx-train has trained. compared: name, and "image" or
    the number of a label."""
    p, terms, _, _ = make({"autoencoder": autoencoder, "operator": operator}[case])
    p = {k: v.astype(float) for k, v in load(weights).items()}
    made = {k: v.real for k, v in terms.predict(p).items()}
    name, of = compared
    known = np.load("image.npy") if of == "image" else np.load("label.npy")[:, int(of):int(of) + 1]
    made[name + "_known"], made[name + "_error"] = known, made[name] - known
    have = np.load(archive)
    assert set(have) == set(made), (set(have), set(made))
    for k, v in made.items():
        assert have[k].shape == v.shape and np.abs(have[k] - v).max() < 1e-5, (case, k, have[k].shape, v.shape)
    error = made[name + "_error"]
    want = {"relative_l2": np.sqrt((error ** 2).sum() / (known.astype(float) ** 2).sum()), "max_error": np.abs(error).max(),
            "mae": np.abs(error).mean(), "mse": (error ** 2).mean(), "rmse": np.sqrt((error ** 2).mean())}
    line = json.loads(open(evaluation).read())
    assert abs(line["loss"] - want["mse"]) < 1e-5, (line, want)
    for k, v in want.items():
        assert abs(line["metrics"][k] - v) < 1e-5, (case, k, line, want)


def data():
    random = np.random.default_rng(3)
    phase = random.uniform(0, 6, 12)
    y, x = np.mgrid[0:8, 0:8] / 8
    np.save("image.npy", np.stack([np.sin(6 * x + a) * np.cos(3 * y + a / 2) for a in phase])[:, None].astype("f4"))
    np.save("label.npy", np.stack([np.cos(phase), np.sin(phase)], 1).astype("f4"))


if __name__ == "__main__":
    data() if sys.argv[1:] == [] else check(*sys.argv[2:]) if sys.argv[1] == "check" else main(*sys.argv[1:])
