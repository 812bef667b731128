# SPDX-License-Identifier: BSD-3-Clause
"""What comparisons of a model of the zoo with PyTorch have in common: one step and a loss curve of a small config,
started from the weights that dlx exports. PyTorch computes in float64."""
import json
import os
import sys

import numpy
import torch

TRAIN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TRAIN)
import pytorch_dlx as dlx  # noqa: E402
from pytorch_compare import CURVE_TOLERANCE, TOLERANCE, UPDATE_TOLERANCE  # noqa: E402,F401


def small(name):
    return os.path.join(TRAIN, "zoo", name + "-small.yaml")


class Case:
    """A small config and the same network as a torch.nn.Module with dlx's parameter names.

    options: what is set otherwise than in the config, as for --set; loss: (output, target) -> scalar; optimizer:
    parameters -> torch.optim.Optimizer, the config's; batch: samples of a batch."""

    def __init__(self, name, module, loss, optimizer, batch, options=(), labels=False):
        self.name, self.module, self.loss, self.optimizer, self.batch = name, module, loss, optimizer, batch
        self.options = [a for o in options for a in ("--set", o)]
        self.labels = labels

    def run(self, device, *more):
        return ["--device", device, *self.options, *more]

    def model(self, weights):
        m = self.module().double()
        missing, unknown = m.load_state_dict({n: w.double() for n, w in weights.items()}, strict=False)
        missing = [n for n in missing if not n.endswith("num_batches_tracked")]
        if missing or unknown:
            sys.exit(f"FAIL: {self.name}: not exported by dlx: {missing}; not in PyTorch: {unknown}")
        return m.train()

    def target(self, t):
        t = torch.as_tensor(t)
        return t.long() if self.labels else t.double()


def make_data(case, inputs, target, classes=None, ignore=255):
    """Two batches and a short one as the case's record file; returns inputs and targets."""
    x, y = dlx.random_data(2 * case.batch + 1, inputs, target, classes, ignore)
    dlx.write_data(case.name, x, y, ignore)
    return x, y


def state(model):
    return {n: v for n, v in model.state_dict().items() if not n.endswith("num_batches_tracked")}


def compare_step(check, case, device):
    print(f"  {case.name}, one step, {device}")
    tolerance, config, options = TOLERANCE[device], small(case.name), case.run(device)
    model = case.model(dlx.initial_weights(config, *options))
    ours = dlx.step(config, *options)
    parameters = dict(model.named_parameters())
    output = model(ours["inputs"]["input"].double())
    value = case.loss(output, case.target(ours["inputs"]["target"]))
    value.backward()
    check.numbers("loss", ours["loss"], float(value), tolerance)
    check.tensors("output", ours["outputs"], {"output": output}, tolerance)
    check.tensors("gradients", ours["gradients"], {n: p.grad for n, p in parameters.items()}, tolerance)
    case.optimizer(model.parameters()).step()
    check.tensors("parameters", {n: ours["parameters"][n] for n in parameters}, parameters, tolerance)


def compare_curve(check, case, device, x, y, steps=20):
    """A run of 20 steps: its losses, the weights it ends with, what it then predicts and how it judges that."""
    print(f"  {case.name}, {steps} steps, {device}")
    config, directory = small(case.name), f"runs/{case.name}-{check.compared}"
    options = case.run(device, "--set", f"train.steps={steps}", "--set", f"run.dir={directory}")
    model = case.model(dlx.initial_weights(config, *options))
    dlx.run("dlx-train", *options, config)
    with open(directory + "/metrics.jsonl") as f:
        ours = [line["loss"] for line in map(json.loads, f) if line["type"] == "step"]
    update, theirs = case.optimizer(model.parameters()), []
    starts = range(0, len(x), case.batch)
    for i in range(steps):
        at = starts[i % len(starts)]
        part = slice(at, at + case.batch)
        update.zero_grad()
        value = case.loss(model(torch.from_numpy(x[part]).double()), case.target(y[part]))
        value.backward()
        update.step()
        theirs.append(float(value))
    check.numbers("loss curve", ours, theirs, CURVE_TOLERANCE)
    dlx.run("dlx-train", *options, "--export", "trained.safetensors", config)
    trained = dlx.tensors("trained.safetensors")
    check.tensors("trained weights", trained, state(model), CURVE_TOLERANCE)
    compare_inference(check, case.model(trained).eval(), case, device, options, x, y)


def compare_inference(check, model, case, device, options, x, y):
    config, tolerance = small(case.name), TOLERANCE[device]
    with torch.no_grad():
        output = model(torch.from_numpy(x).double())
        value = case.loss(output, case.target(y))
    dlx.run("dlx-train", *options, "--predict", case.name + ".dlx", "-o", "predicted.npy", config)
    predicted = torch.from_numpy(numpy.load("predicted.npy"))
    check.tensors("prediction", {"output": predicted}, {"output": output}, tolerance)
    said = json.loads(dlx.run("dlx-train", *options, "--evaluate", config).strip().split("\n")[-1])
    check.numbers("validation loss", said["loss"], float(value), tolerance)
    if not case.labels:
        error = output - case.target(y)
        theirs = {"mae": error.abs().mean(), "mse": error.square().mean()}
        check.tensors("metrics", {n: torch.tensor(v) for n, v in said["metrics"].items()}, theirs, tolerance)
