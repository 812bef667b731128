# SPDX-License-Identifier: BSD-3-Clause
"""One training step of many networks, a loss curve, and inference after training: dlx against PyTorch.

PyTorch computes in float64 from the weights that dlx exports. The loss, the output, every gradient and every
parameter after the update must agree to 1e-5 on the reference device, which computes in float64, too, and to 1e-4 on the
CPU; running statistics and inference likewise. On the CPU, whose float32 is rounded otherwise on each processor, the family
fcn starts from weights that keep its ReLUs from their kinks (kinks.py), and gradients that are all but zero are compared by
the scale of the others. A network without shifts cannot start so: its gradient is compared as one vector, to which one value
on the other side of a kink adds little. The update is also checked by itself, from dlx's own gradients."""
import json
import sys

import numpy
import torch
from torch.nn import functional as F

import pytorch_cases
import pytorch_dlx as dlx
from kinks import calm, Kinks, write_safetensors
from networks.fcn import FCDenseNet

TOLERANCE = {"reference": 1e-5, "cpu": 1e-4}
UPDATE_TOLERANCE = 1e-6
CURVE_TOLERANCE = 1e-3
VECTOR_TOLERANCE = 1e-2
FLOOR = {"reference": 1e-6, "cpu": 0.1}
BATCH = 3

HEAD = """run: {{name: case, dir: runs/{name}, seed: 5}}
data: {{train: {name}.dlx, validation: {name}.dlx, shuffle: false}}
train: {{steps: 1, batch_size: {batch}}}
checkpoint: {{every: null}}
report: {{progress: none, tensorboard: false, every: 1}}
"""


def write_config(name, text, batch=BATCH):
    path = name + ".yaml"
    with open(path, "w") as f:
        f.write(HEAD.format(name=name, batch=batch) + text)
    return path


def target_of(inputs, classes):
    t = inputs["target"]
    return t.long() if classes else t.double()


def compare_step(check, config, device, forward, loss, optimizer, classes, *options, vector=False):
    """forward(x, parameters) -> output, parameters being leaves by name. vector: gradients and what they move as one."""
    tolerance, floor, options = TOLERANCE[device], FLOOR[device], ["--device", device, *options]
    initial = dlx.initial_weights(config, *options)
    ours = dlx.step(config, *options)
    p = {n: initial[n].double().requires_grad_() for n in ours["gradients"]}
    output = forward(ours["inputs"]["input"].double(), p)
    value = loss(output, target_of(ours["inputs"], classes))
    value.backward()
    check.numbers("loss", ours["loss"], float(value), tolerance)
    check.tensors("output", ours["outputs"], {"output": output}, tolerance)
    theirs = {n: v.grad for n, v in p.items()}
    if vector:
        check.vector("gradients", ours["gradients"], theirs, VECTOR_TOLERANCE)
    else:
        check.tensors("gradients", ours["gradients"], theirs, tolerance, floor)
    after = {n: ours["parameters"][n] for n in p}
    for what, gradients, allowed in (
        ("parameters", theirs, VECTOR_TOLERANCE if vector else tolerance),
        ("update alone", ours["gradients"], UPDATE_TOLERANCE),
    ):
        leaves = {n: initial[n].double().requires_grad_() for n in p}
        for n, v in leaves.items():
            v.grad = gradients[n].double()
        optimizer(list(leaves.values())).step()
        check.tensors(what, after, leaves, allowed, floor)


def layer_networks(check, devices):
    for name, case in pytorch_cases.CASES.items():
        classes = case.get("classes")
        batch = case.get("batch", BATCH)
        dlx.write_data(name, *dlx.random_data(batch, case["input"], case["target"], classes), *case.get("convert", []))
        lines = "".join("    " + line + "\n" for line in case["layers"].split("\n") if line)
        config = write_config(name, "model:\n  family: layers\n  layers:\n" + lines + case["config"] + "\n", batch)
        for device in devices:
            print(f"  {name}, {device}")
            compare_step(check, config, device, case["forward"], case["loss"], case["optimizer"], classes)


# Keys of family fcn as YAML flow mappings, which JSON is.
FCN = {
    "fcn-max": {
        "growth": 5, "kernel": 3, "poolings": 2, "layers_per_block": [1, 2, 2, 1, 2], "pooling": "max",
        "transition_up_kernel": 1, "dropout": 0, "batch_norm": "transition_down", "output_kernel": 3,
    },
    "fcn-none": {
        "growth": 8, "kernel": 5, "poolings": 1, "layers_per_block": 2, "pooling": "average",
        "transition_up_kernel": 3, "dropout": 0, "batch_norm": "none", "initial_filters": 12, "initial_kernel": 3,
    },
    "fcn-all": {
        "growth": 4, "kernel": 3, "poolings": 2, "layers_per_block": [2, 1, 2, 1, 1], "pooling": "average",
        "transition_up_kernel": 3, "dropout": 0, "batch_norm": "all", "initial_filters": 8,
    },
    # configs/coads-fcn.yaml but for dropout, whose random numbers differ
    "fcn-demo": {
        "initial_filters": 24, "initial_kernel": 3, "growth": 12, "kernel": 3, "layers_per_block": [2, 3, 3, 4, 3, 3, 2],
        "pooling": "average", "transition_up_kernel": 3, "batch_norm": "all", "poolings": 3, "dropout": 0,
    },
}
FCN_SIZE = {"fcn-demo": (14, 19)}
CHANNELS, CLASSES = 5, 4
LABELS = "loss: {type: softmax_cross_entropy}\n"
# An eps that is not small, so that the update is not just the sign of gradients that are nearly zero.
ADAM = "optimizer: {type: adam, learning_rate: 0.003, weight_decay: 1.0e-4, exempt: none, decoupled: true, eps: 1.0e-3}\n"


def adamw(parameters):
    return torch.optim.AdamW(parameters, lr=0.003, weight_decay=1e-4, eps=1e-3)


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9, nesterov=True, weight_decay=1e-3)


def fcn_data(name, samples, seed=0):
    size = FCN_SIZE.get(name, (19, 22))
    x, y = dlx.random_data(samples, (CHANNELS, *size), size, CLASSES, seed=seed)
    dlx.write_data(name, x, y)
    return x, y


def fcn_config(name, text, batch=BATCH):
    model = "model: " + json.dumps({"family": "fcn", **FCN[name]}) + "\n"
    return write_config(name, model + LABELS + text, batch)


def fcn_model(name, weights):
    model = FCDenseNet(FCN[name], CHANNELS, CLASSES).double()
    missing, unknown = model.load_state_dict({n: w.double() for n, w in weights.items()}, strict=False)
    missing = [n for n in missing if not n.endswith("num_batches_tracked")]
    if missing or unknown:
        sys.exit(f"FAIL: {name}: not exported by dlx: {missing}; not in PyTorch: {unknown}")
    return model


def calm_start(name, config):
    """Options with which dlx starts from calm weights, on data whose maxima are apart."""
    first = dlx.initial_weights(config)
    for seed in range(100):
        x = torch.from_numpy(fcn_data(name, 2 * BATCH, seed)[0]).double()
        model, kinks = fcn_model(name, first), Kinks()
        calm(model, x)
        begin = {**model.state_dict(), **{n: first[n].double() for n in first if "running" in n}}
        with torch.no_grad(), kinks.watched():
            fcn_model(name, {n: t for n, t in begin.items() if not n.endswith("num_batches_tracked")})(x[:BATCH])
        if kinks.apart():
            write_safetensors("calm.safetensors", begin)
            return ["--set", "model.init_from=calm.safetensors"]
    sys.exit(f"FAIL: {name}: no data keeps away from kinks, where rounding decides: {kinks.least}")


def fcn_networks(check, devices):
    for name in FCN:
        config = fcn_config(name, ADAM)
        fcn_data(name, BATCH)
        model = fcn_model(name, dlx.initial_weights(config))

        def forward(x, p):
            return torch.nn.utils.stateless.functional_call(model, p, x)

        for device in devices:
            print(f"  {name}, {device}")
            shifts = FCN[name]["batch_norm"] != "none"
            options = calm_start(name, config) if device == "cpu" and shifts else []
            compare_step(check, config, device, forward, pytorch_cases.labels(), adamw, CLASSES, *options,
                         vector=device == "cpu" and not shifts)


def batches(x, y, steps):
    """The samples in their order, an epoch after the other; the last batch of one may be short."""
    starts = range(0, len(x), BATCH)
    for i in range(steps):
        at = starts[i % len(starts)]
        yield torch.from_numpy(x[at : at + BATCH]).double(), torch.from_numpy(y[at : at + BATCH]).long()


def loss_curve(check, device, text, optimizer, steps=20):
    """A whole run: its losses, the weights and running statistics it ends with, and inference with them."""
    name = "fcn-all"
    config = fcn_config(name, text)
    x, y = fcn_data(name, 2 * BATCH + 1)
    directory = f"runs/curve-{device}-{optimizer.__name__}"
    options = ["--device", device, "--set", f"train.steps={steps}", "--set", f"run.dir={directory}"]
    model = fcn_model(name, dlx.initial_weights(config, *options))
    dlx.run("dlx-train", *options, config)
    with open(directory + "/metrics.jsonl") as f:
        lines = [json.loads(line) for line in f]
    ours = [line["loss"] for line in lines if line["type"] == "step"]
    loss, update, theirs = pytorch_cases.labels(), optimizer(model.parameters()), []
    for a, b in batches(x, y, steps):
        update.zero_grad()
        value = loss(model(a), b)
        value.backward()
        update.step()
        theirs.append(float(value))
    check.numbers("loss curve", ours, theirs, CURVE_TOLERANCE)
    dlx.run("dlx-train", *options, "--export", "trained.safetensors", config)
    state = {n: v for n, v in model.state_dict().items() if not n.endswith("num_batches_tracked")}
    trained = dlx.tensors("trained.safetensors")
    check.tensors("trained weights", trained, state, 10 * CURVE_TOLERANCE, FLOOR[device])
    evaluate(check, fcn_model(name, trained).eval(), config, options, x, y, TOLERANCE[device])


def evaluate(check, model, config, options, x, y, tolerance):
    with torch.no_grad():
        output = model(torch.from_numpy(x).double())
        value = F.cross_entropy(output, torch.from_numpy(y).long(), ignore_index=pytorch_cases.IGNORE)
    dlx.run("dlx-train", *options, "--predict", "fcn-all.dlx", "-o", "predicted.npy", config)
    check.tensors("prediction", {"output": torch.from_numpy(numpy.load("predicted.npy"))}, {"output": output}, tolerance)
    said = json.loads(dlx.run("dlx-train", *options, "--evaluate", config).strip().split("\n")[-1])
    check.numbers("validation loss", said["loss"], float(value), tolerance)


def curves(check, devices):
    for device in devices:
        print(f"  20 steps of sgd, {device}")
        loss_curve(check, device, "optimizer: {type: sgd, learning_rate: 0.05, momentum: 0.9, nesterov: true, "
                                  "weight_decay: 1.0e-3, exempt: none}\n", sgd)
        print(f"  20 steps of adamw, {device}")
        loss_curve(check, device, ADAM, adamw)


PARTS = {"layers": layer_networks, "fcn": fcn_networks, "curves": curves}


def main():
    torch.set_num_threads(1)
    torch.manual_seed(0)
    check = dlx.Comparison()
    for part in sys.argv[1:] or PARTS:
        print(part)
        PARTS[part](check, ["reference", "cpu"])
    check.finish()


if __name__ == "__main__":
    main()
