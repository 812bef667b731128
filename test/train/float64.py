# SPDX-License-Identifier: BSD-3-Clause
"""Ten steps of Adam in float64 on a dense regression against a loop in NumPy, from dlx's weights on dlx's data. With the
names of two files: the weights of one against those of the other."""
import sys

import numpy

import pytorch_dlx as dlx
from safetensors_read import read

STEPS, BATCH, RATE, CLIP = 10, 8, 0.01, 0.5
B1, B2, EPS = 0.9, 0.999, 1e-8
CONFIG = f"""run: {{name: float64, dir: runs/whole, seed: 5}}
model:
  family: layers
  layers:
    - dense: {{units: 33, activation: tanh, name: a}}
    - dense: {{units: 16, activation: silu, name: b}}
    - dense: {{units: 2, name: c}}
data: {{train: data.dlx, validation: data.dlx, shuffle: false}}
loss: mse
metrics: [mae, r2]
optimizer: {{type: adam, learning_rate: {RATE}, beta1: {B1}, beta2: {B2}, eps: {EPS}}}
precision: {{compute: f64}}
train: {{steps: {STEPS}, batch_size: {BATCH}, clip_norm: {CLIP}}}
checkpoint: {{every: {{steps: 1}}, keep: {{last: 20}}}}
report: {{progress: none, tensorboard: false, every: 1}}
"""


def gradients(p, x, y):
    """d mean((c(b(a(x))) - y)^2), with b's activation z sigmoid(z)."""
    h = numpy.tanh(x @ p["a.weight"].T + p["a.bias"])
    z = h @ p["b.weight"].T + p["b.bias"]
    s = 1 / (1 + numpy.exp(-z))
    d = (z * s) @ p["c.weight"].T + p["c.bias"] - y
    g, dy = {}, 2 * d / d.size
    for name, seen, back in (("c", z * s, s * (1 + z * (1 - s))), ("b", h, 1 - h * h), ("a", x, None)):
        g[name + ".weight"], g[name + ".bias"] = dy.T @ seen, dy.sum(0)
        if back is not None:
            dy = (dy @ p[name + ".weight"]) * back
    return (d * d).mean(), g


def train(p, x, y):
    m = {n: numpy.zeros_like(v) for n, v in p.items()}
    v = {n: numpy.zeros_like(w) for n, w in p.items()}
    for t in range(STEPS):
        rows = slice(t * BATCH % len(x), t * BATCH % len(x) + BATCH)
        _, g = gradients(p, x[rows], y[rows])
        norm = numpy.sqrt(sum((w * w).sum() for w in g.values()))
        for n in p:
            d = g[n] * min(1, CLIP / norm)
            m[n] = B1 * m[n] + (1 - B1) * d
            v[n] = B2 * v[n] + (1 - B2) * d * d
            rate = RATE / (1 - B1 ** (t + 1))
            p[n] = p[n] - rate * m[n] / (numpy.sqrt(v[n] / (1 - B2 ** (t + 1))) + EPS)
    return p


def compare(what, ours, theirs):
    assert set(ours) == set(theirs), (sorted(ours), sorted(theirs))
    for n, t in theirs.items():
        assert ours[n].dtype == numpy.float64, f"{n} is {ours[n].dtype}"
        error = abs(ours[n] - t).max() / abs(t).max()
        print(f"    {what} {n}: {error:.1e}")
        if not error <= 1e-12:
            sys.exit(f"FAIL: {what} '{n}': relative error {error:.2e}")


if len(sys.argv) > 1:
    compare("weight", *(read(path) for path in sys.argv[1:]))
    sys.exit()
x, y = dlx.random_data(64, (5,), (2,))
y = numpy.stack([numpy.sin(x[:, 0]) * x[:, 1], x[:, 2] ** 2 - x[:, 3]], 1).astype("f4")
dlx.write_data("data", x, y)
with open("float64.yaml", "w") as f:
    f.write(CONFIG)
dlx.run("dlx-train", "--export", "initial.safetensors", "float64.yaml")
p = {n: v.astype("f8") for n, v in read("initial.safetensors").items()}
dlx.run("dlx-train", "--dump-step", "step", "float64.yaml")
loss, g = gradients(p, x[:BATCH].astype("f8"), y[:BATCH].astype("f8"))
compare("gradient", read("step/gradients.safetensors"), g)
dlx.run("dlx-train", "float64.yaml")
dlx.run("dlx-train", "--export", "trained.safetensors", "float64.yaml")
compare("weight", read("trained.safetensors"), train(p, x.astype("f8"), y.astype("f8")))
