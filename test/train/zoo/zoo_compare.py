# SPDX-License-Identifier: BSD-3-Clause
"""What the comparisons of model families with PyTorch share: one step, a run of twenty, inference, and weights there
and back. PyTorch computes in float64 from the weights that dlx exports; dlx computes in float32."""
import json
import os
import shutil
import struct
import sys

import numpy
import torch
from torch import nn

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pytorch_dlx as dlx  # noqa: E402

STEP_TOLERANCE = 1e-4
CURVE_TOLERANCE = 1e-3
STEPS = 20
# Of small tensors in float32, where a shift is followed by batch norm, which takes it away again: its gradient is zero but
# for rounding.
FLOOR = 1e-3


def write_safetensors(path, tensors):
    """As a state_dict of PyTorch is saved; int64 scalars (num_batches_tracked) too."""
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        integer = not t.is_floating_point()
        data = t.detach().to(torch.int64 if integer else torch.float32).contiguous().numpy().tobytes()
        header[name] = {"dtype": "I64" if integer else "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        blobs.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def make_data(path, samples, inputs, target, classes):
    """Random samples in PATH.dlx, and as arrays."""
    x, y = dlx.random_data(samples, inputs, target, classes)
    dlx.write_data(path, x, y)
    return x, y


def tracked(name):
    return name.endswith("num_batches_tracked")


def load(model, weights):
    """Every tensor that dlx exports has its place in the module, and the other way round."""
    missing, unknown = model.load_state_dict({n: w.double() for n, w in weights.items()}, strict=False)
    missing = [n for n in missing if not tracked(n)]
    if missing or unknown:
        sys.exit(f"FAIL: not exported by dlx: {missing}; not in PyTorch: {unknown}")
    return model.double()


def calm(model):
    """Scales and shifts of batch norm that keep what a ReLU gets away from zero: there float32 and float64 can fall on
    different sides, and in a small network one such value changes a gradient by far more than rounding does. Three
    channels of four are on, most of the time; the same ones in every layer, so that sums of them are too."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            on = torch.arange(m.num_features) % 4 != 3
            nn.init.uniform_(m.weight, 0.3, 0.5)
            m.bias.data = torch.where(on, 2.0, -2.0) + 0.1 * torch.randn(m.num_features)
    write_safetensors("calm.safetensors", model.state_dict())
    return ["--set", "model.init_from=calm.safetensors"]


def one_step(check, config, options, model, loss, optimizer, floor=1e-6):
    """Loss, output, gradients, and parameters after the update. options: for dlx, with the weights to start from."""
    load(model, dlx.initial_weights(config, *options)).train()
    ours = dlx.step(config, *options)
    target = ours["inputs"]["target"]
    output = model(ours["inputs"]["input"].double())
    value = loss(output, target.double() if target.is_floating_point() else target.long())
    value.backward()
    parameters = dict(model.named_parameters())
    check.numbers("loss", ours["loss"], float(value), STEP_TOLERANCE)
    check.tensors("output", ours["outputs"], {"output": output}, STEP_TOLERANCE)
    gradients = {n: p.grad.clone() for n, p in parameters.items() if p.grad is not None}
    check.tensors("gradients", ours["gradients"], gradients, STEP_TOLERANCE, floor)
    optimizer(model.parameters()).step()
    check.tensors("parameters", ours["parameters"], parameters, STEP_TOLERANCE, floor)


def batches(x, y, size):
    """The samples in their order, an epoch after the other."""
    integer = numpy.issubdtype(y.dtype, numpy.integer)
    for i in range(STEPS):
        at = i * size % len(x)
        a, b = torch.from_numpy(x[at : at + size]), torch.from_numpy(y[at : at + size])
        yield a.double(), b.long() if integer else b.double()


def curve(check, config, options, model, loss, optimizer, x, y, size):
    """Losses of a run, the weights and running statistics it ends with, and inference with them. x has a whole number
    of batches."""
    options = [*options, "--set", f"train.steps={STEPS}", "--set", "run.dir=runs/curve"]
    shutil.rmtree("runs/curve", ignore_errors=True)
    load(model, dlx.initial_weights(config, *options)).train()
    dlx.run("dlx-train", *options, config)
    with open("runs/curve/metrics.jsonl") as f:
        ours = [line["loss"] for line in map(json.loads, f) if line["type"] == "step"]
    update, theirs = optimizer(model.parameters()), []
    for a, b in batches(x, y, size):
        update.zero_grad()
        value = loss(model(a), b)
        value.backward()
        update.step()
        theirs.append(float(value))
    check.numbers("loss curve", ours, theirs, CURVE_TOLERANCE)
    trained = dlx.initial_weights(config, *options, "--resume")
    check.tensors("trained weights", trained, {n: t for n, t in model.state_dict().items() if not tracked(n)},
                  CURVE_TOLERANCE, FLOOR)
    infer(check, config, options, load(model, trained), x)


def infer(check, config, options, model, x):
    with torch.no_grad():
        output = model.eval()(torch.from_numpy(x).double())
    with open(config) as f:
        data = next(line.split()[-1] for line in f if line.strip().startswith("validation:"))
    dlx.run("dlx-train", *options, "--predict", data, "-o", "predicted.npy", config)
    check.tensors("prediction", {"output": torch.from_numpy(numpy.load("predicted.npy"))}, {"output": output},
                  STEP_TOLERANCE)


def there_and_back(check, config, options, model):
    """A state_dict as PyTorch has it is what dlx starts from, bit for bit."""
    state = model.float().state_dict()
    write_safetensors("state.safetensors", state)
    back = dlx.initial_weights(config, *options, "--set", "model.init_from=state.safetensors")
    check.tensors("state_dict there, back", back, {n: t for n, t in state.items() if not tracked(n)}, 0)
