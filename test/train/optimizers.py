# SPDX-License-Identifier: BSD-3-Clause
"""Fifty steps of every optimizer and trust ratio against the formulas written out here, from dlx's weights on dlx's
data, in float64. On the reference device the curves must agree to 1e-7, on the CPU to 1e-3."""
import fnmatch
import json
import math
import sys

import torch
from torch.nn import functional as F

import pytorch_dlx as dlx

STEPS = 50
TOLERANCE = {"reference": 1e-7, "cpu": 1e-3}
CONFIG = """run: {{name: {name}, dir: runs/{name}, seed: 5}}
model:
  family: layers
  layers:
    - conv2d: {{filters: 6, kernel: 3, name: a_one, bias: false}}
    - batch_norm: {{name: a_norm}}
    - tanh
    - conv2d: {{filters: 4, kernel: 3, name: a_two}}
    - tanh: {{name: act}}
    - conv2d: {{filters: 2, kernel: 3, name: b}}
data: {{train: data.dlx, shuffle: false}}
loss: mse
optimizer: {optimizer}
train: {{steps: {steps}, batch_size: 4, {train}}}
{more}checkpoint: {{every: null}}
report: {{progress: none, tensorboard: false, every: 1}}
"""


def forward(x, p):
    x = F.conv2d(x, p["a_one.weight"])
    x = torch.tanh(F.batch_norm(x, None, None, p["a_norm.weight"], p["a_norm.bias"], True))
    x = torch.tanh(F.conv2d(x, p["a_two.weight"], p["a_two.bias"]))
    return F.conv2d(x, p["b.weight"], p["b.bias"])


def norm(tensors):
    return math.sqrt(sum(float((t * t).sum()) for t in tensors))


class Optimizer:
    """p: parameters; groups: (pattern, decay, factor). What is exempt has decay 0 and is not in `trusted`."""

    def __init__(self, p, lr, decay=0.0, decoupled=False, exempt=True, trust=None, groups=(), clip=None):
        self.p, self.lr, self.decoupled, self.trust, self.clip = p, lr, decoupled, trust, clip
        self.t = 0
        self.state = {n: {} for n in p}
        plain = {n for n in p if exempt and p[n].dim() <= 1}
        self.decay = {n: 0.0 if n in plain else decay for n in p}
        self.factor = {n: 1.0 for n in p}
        self.trusted = [n for n in p if n not in plain]
        for n in p:
            for pattern, own, factor, trusts in groups:
                if fnmatch.fnmatchcase(n, pattern):
                    self.decay[n] = self.decay[n] if own is None else own
                    self.factor[n] = factor
                    if trusts is not None:
                        self.trusted = [m for m in p if (trusts if m == n else m in self.trusted)]
                    break

    def moment(self, n, name):
        return self.state[n].setdefault(name, torch.zeros_like(self.p[n]))

    def ratio(self, names, n, g):
        """Of the parameter n among names, which share a ratio; g: gradients or updates by name."""
        w, d = norm(self.p[m] for m in names), norm(g[m] for m in names)
        return self.trust(w, d, self.lr * self.factor[n], self.decay[n])

    def kin(self, n):
        per = getattr(self.trust, "per", "tensor")
        key = {"tensor": lambda s: s, "layer": lambda s: s.rpartition(".")[0], "block": lambda s: s.partition(".")[0]}[per]
        return [m for m in self.trusted if key(m) == key(n)]

    def step(self, g):
        self.t += 1
        total = norm(g.values())
        if self.clip and total > self.clip:
            g = {n: v * (self.clip / total) for n, v in g.items()}
        coupled = {n: 0.0 if self.decoupled else self.decay[n] for n in g}
        within = getattr(self.trust, "within", False)
        measured = {n: g[n] + coupled[n] * self.p[n] if within else g[n] for n in g}
        on_update = getattr(self.trust, "on_update", False)
        factor = {n: self.ratio(self.kin(n), n, measured) if self.trust and not on_update and n in self.trusted else 1.0
                  for n in g}
        u = {n: self.direction(n, (g[n] + coupled[n] * self.p[n]) * factor[n]) for n in g}
        if self.decoupled:
            u = {n: u[n] + self.decay[n] * self.p[n] for n in g}
        if on_update:
            factor = {n: self.ratio(self.kin(n), n, u) if n in self.trusted else 1.0 for n in g}
            u = {n: u[n] * factor[n] for n in g}
        with torch.no_grad():
            for n in g:
                self.p[n] -= self.lr * self.factor[n] * u[n]


class SGD(Optimizer):
    def __init__(self, *a, momentum=0.0, **k):
        super().__init__(*a, **k)
        self.momentum = momentum

    def direction(self, n, d):
        v = self.moment(n, "v")
        v.mul_(self.momentum).add_(d)
        return v.clone()


class Adam(Optimizer):
    betas, eps = (0.9, 0.999), 1e-3

    def direction(self, n, d):
        m, v, (b1, b2) = self.moment(n, "m"), self.moment(n, "v"), self.betas
        m.mul_(b1).add_((1 - b1) * d)
        v.mul_(b2).add_((1 - b2) * d * d)
        return m / (1 - b1**self.t) / ((v / (1 - b2**self.t)).sqrt() + self.eps)


class RMSProp(Optimizer):
    def __init__(self, *a, alpha=0.99, eps=1e-3, inside=False, momentum=0.0, **k):
        super().__init__(*a, **k)
        self.alpha, self.eps, self.inside, self.momentum = alpha, eps, inside, momentum

    def direction(self, n, d):
        v, b = self.moment(n, "v"), self.moment(n, "b")
        v.mul_(self.alpha).add_((1 - self.alpha) * d * d)
        u = d / ((v + self.eps).sqrt() if self.inside else v.sqrt() + self.eps)
        b.mul_(self.momentum).add_(u)
        return b.clone()


def lars(w, g, lr, decay):
    return 1.0 if w == 0 or g == 0 else 0.02 * w / (g + decay * w)


def apex(w, g, lr, decay):
    return 1.0 if w == 0 or g == 0 else min(0.02 * w / (g + decay * w + 1e-8) / lr, 1.0)


def sc18(w, g, lr, decay):
    return 1 / 16000 if w == 0 or g == 0 else min(0.002 * w / g, 1.0)


sc18.within = True


def nvcaffe(w, g, lr, decay):
    return 1.0 if w == 0 or g == 0 else min(0.001 * w / g / lr, 1.0)


def openseq2seq(w, g, lr, decay):
    return min(max(0.002 * w / (lr * (g + 1e-7)), 1e-7), 1.0)


openseq2seq.within = True


def stemdl(w, g, lr, decay):
    return min(max(0.001 * w / (g + 1e-6), 1e-4), 1.0)


stemdl.within, stemdl.per = True, "block"


def layer(w, g, lr, decay):
    return 1.0 if w == 0 or g == 0 else 0.01 * w / (g + decay * w)


layer.per = "layer"


def lamb(w, u, lr, decay):
    return 1.0 if w == 0 or u == 0 else w / u


def limited(w, u, lr, decay):
    return 1.0 if w == 0 or u == 0 else min(0.05 * w / u / lr, 1.0)


lamb.on_update = limited.on_update = True

# name: (config of the optimizer, what it is here). LARS's momentum of steps is that of gradients at a constant rate.
CASES = {
    "sgd": ("{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 0.01}",
            lambda p: SGD(p, 0.05, 0.01, momentum=0.9)),
    "groups": ("{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 0.01, groups: [{match: 'a_*.bias', "
               "weight_decay: 0.1}, {match: 'b.*', learning_rate_factor: 0.5, weight_decay: 0}]}",
               lambda p: SGD(p, 0.05, 0.01, momentum=0.9,
                             groups=[("a_*.bias", 0.1, 1.0, None), ("b.*", 0.0, 0.5, None)])),
    "adam-all": ("{type: adam, learning_rate: 0.01, eps: 1e-3, weight_decay: 0.1, exempt: none}",
                 lambda p: Adam(p, 0.01, 0.1, exempt=False)),
    "adamw": ("{type: adam, learning_rate: 0.01, eps: 1e-3, weight_decay: 0.1, decoupled: true}",
              lambda p: Adam(p, 0.01, 0.1, decoupled=True)),
    "rmsprop": ("{type: rmsprop, learning_rate: 0.002, eps: 1e-3, weight_decay: 0.01}",
                lambda p: RMSProp(p, 0.002, 0.01)),
    "rmsprop-inside": ("{type: rmsprop, learning_rate: 0.002, alpha: 0.9, eps: 0.01, eps_inside: true, momentum: 0.9}",
                       lambda p: RMSProp(p, 0.002, alpha=0.9, eps=0.01, inside=True, momentum=0.9)),
    "lars": ("{type: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01, trust: {type: lars, eta: 0.02}}",
             lambda p: SGD(p, 0.1, 0.01, momentum=0.9, trust=lars)),
    "lars-plain": ("{type: sgd, learning_rate: 0.1, weight_decay: 0.01, trust: {type: lars, eta: 0.02}}",
                   lambda p: SGD(p, 0.1, 0.01, trust=lars)),
    "larc-apex": ("{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 0.01, trust: {type: larc, variant: apex}}",
                  lambda p: SGD(p, 0.05, 0.01, momentum=0.9, trust=apex)),
    "larc-sc18": ("{type: adam, learning_rate: 0.01, eps: 1e-3, exempt: none, weight_decay: 0.01, "
                  "trust: {type: larc, variant: sc18}}",
                  lambda p: Adam(p, 0.01, 0.01, exempt=False, trust=sc18)),
    "larc-nvcaffe": ("{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 0.01, "
                     "trust: {type: larc, variant: nvcaffe}}",
                     lambda p: SGD(p, 0.05, 0.01, momentum=0.9, trust=nvcaffe)),
    "larc-openseq2seq": ("{type: sgd, learning_rate: 0.05, momentum: 0.9, weight_decay: 0.01, "
                         "trust: {type: larc, variant: openseq2seq}}",
                         lambda p: SGD(p, 0.05, 0.01, momentum=0.9, trust=openseq2seq)),
    "larc-stemdl": ("{type: adam, learning_rate: 0.01, eps: 1e-3, exempt: none, trust: {type: larc, variant: stemdl}}",
                    lambda p: Adam(p, 0.01, exempt=False, trust=stemdl)),
    "larc-layer": ("{type: rmsprop, learning_rate: 0.01, eps: 1e-3, weight_decay: 0.01, exempt: none, "
                   "groups: [{match: b.bias, trust: none}], "
                   "trust: {type: larc, mode: scale, eta: 0.01, eps: 0, per: layer}}",
                   lambda p: RMSProp(p, 0.01, 0.01, exempt=False, trust=layer, groups=[("b.bias", None, 1.0, False)])),
    "larc-update": ("{type: sgd, learning_rate: 0.1, momentum: 0.9, trust: {type: larc, of: update, eta: 0.05, eps: 0}}",
                    lambda p: SGD(p, 0.1, momentum=0.9, trust=limited)),
    "lamb": ("{type: lamb, learning_rate: 0.02, eps: 1e-3, weight_decay: 0.1}",
             lambda p: Adam(p, 0.02, 0.1, decoupled=True, trust=lamb)),
    "lamb-all": ("{type: lamb, learning_rate: 0.02, eps: 1e-3, weight_decay: 0.1, exempt: none}",
                 lambda p: Adam(p, 0.02, 0.1, decoupled=True, exempt=False, trust=lamb, clip=0.5)),
}
TRAIN = {"lamb-all": "clip_norm: 0.5"}


def bias(k):
    """The shares of k weights in the average, written as what they shall come to: weights that fall by 0.9."""
    return 0.1 / (1 - 0.9**k)


# name: (setting, the optimizer it goes with, what is averaged first, share of the newest weights by updates averaged)
AVERAGES = {
    "average-bias": ("0.9", "adamw", 0, bias),
    "average-ramp": ("{decay: 0.8, warmup: ramp, start: 5}", "groups", 5, lambda k: 1 - min(0.8, (1 + k) / (10 + k))),
    "average-none": ("{decay: 0.95, warmup: none}", "larc-update", 0, lambda k: 0.05),
}
for name, (setting, base, _, _) in AVERAGES.items():
    CASES[name] = (CASES[base][0][:-1] + f", average: {setting}}}", CASES[base][1])


class Average:
    def __init__(self, name, p):
        _, _, self.start, self.share = AVERAGES[name]
        self.t, self.value = 0, {n: v.detach().clone() for n, v in p.items()}

    def update(self, p):
        self.t += 1
        for n, v in p.items():
            share = self.share(self.t - self.start) if self.t > self.start else 1.0
            self.value[n] = (1 - share) * self.value[n] + share * v.detach()


def losses(directory):
    with open(directory + "/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    return [line["loss"] for line in lines if line["type"] == "step"]


def exported(options, config, p, *more):
    dlx.run("dlx-train", *options, *more, "--export", "trained.safetensors", config)
    return {n: v for n, v in dlx.tensors("trained.safetensors").items() if n in p}


def curve(check, name, device, x, y):
    optimizer, make = CASES[name]
    config = f"{name}.yaml"
    with open(config, "w") as f:
        f.write(CONFIG.format(name=name, optimizer=optimizer, steps=STEPS, train=TRAIN.get(name, ""), more=""))
    directory = f"runs/{name}-{device}"
    options = ["--device", device, "--set", f"run.dir={directory}"]
    p = {n: v.double().requires_grad_() for n, v in dlx.initial_weights(config, *options).items()
         if "running" not in n}
    dlx.run("dlx-train", *options, config)
    update, theirs = make(p), []
    average = Average(name, p) if name in AVERAGES else None
    for _ in range(STEPS):
        loss = F.mse_loss(forward(x, p), y)
        gradients = torch.autograd.grad(loss, list(p.values()))
        theirs.append(float(loss))
        update.step(dict(zip(p, (g.clone() for g in gradients))))
        if average:
            average.update(p)
    print(f"  {name}, {device}: loss {theirs[0]:.4f} -> {theirs[-1]:.4f}")
    assert theirs[-1] < theirs[0] and len(set(theirs)) == STEPS
    check.numbers("loss curve", losses(directory), theirs, TOLERANCE[device])
    # Checkpoints of the reference hold doubles, exports floats.
    tolerance = max(1e-5, 10 * TOLERANCE[device])
    check.tensors("trained weights", exported(options, config, p, "--weights=last"), p, tolerance)
    if average:
        check.tensors("averaged weights", exported(options, config, p), average.value, tolerance)
        apart = max(float((p[n] - average.value[n]).detach().abs().max()) for n in p)
        assert apart > 1e-4, "the average shows nothing that the last weights do not"


def main():
    torch.set_num_threads(1)
    check = dlx.Comparison()
    x, y = dlx.random_data(4, (3, 9, 10), (2, 3, 4), seed=3)
    dlx.write_data("data", x, y)
    x, y = torch.from_numpy(x).double(), torch.from_numpy(y).double()
    for name in sys.argv[1:] or CASES:
        for device in TOLERANCE:
            curve(check, name, device, x, y)
    check.finish()


if __name__ == "__main__":
    main()
