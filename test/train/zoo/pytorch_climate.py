# SPDX-License-Identifier: BSD-3-Clause
"""The climate networks at small widths compared with PyTorch's: one step and twenty on the reference device and the CPU,
and prediction. PyTorch computes in float64.

    pytorch_climate.py deeplab|deepcam CONFIG"""
import json
import os
import struct
import sys

import numpy
import torch
from torch import nn
from torch.nn import functional as F

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import pytorch_dlx as dlx  # noqa: E402
from networks.deepcam import DeepCam  # noqa: E402
from networks.deeplab import DeepLab  # noqa: E402

CHANNELS, CLASSES, BATCH, STEPS, IGNORE = 5, 3, 4, 20, 255
SIZE = (29, 38)
WEIGHTS = [0.2, 0.5, 0.3]
EXACT = 1e-4


def write_safetensors(path, tensors):
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        data = t.detach().float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        blobs.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def state(model):
    return {n: t for n, t in model.state_dict().items() if not n.endswith("num_batches_tracked")}


def calm(model):
    """Scales and shifts of batch norm that keep what a ReLU gets away from zero, where float32 and float64 can fall on
    different sides, and in a small network one such value changes a gradient by more than rounding does. Three
    channels of four are on, the others off."""
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            on = torch.arange(m.num_features) % 4 != 3
            nn.init.uniform_(m.weight, 0.2, 0.4)
            m.bias.data = torch.where(on, 2.0, -2.0) + 0.1 * torch.randn(m.num_features)


def load(model, weights):
    missing, unknown = model.load_state_dict({n: w.double() for n, w in weights.items()}, strict=False)
    missing = [n for n in missing if not n.endswith("num_batches_tracked")]
    if missing or unknown:
        sys.exit(f"FAIL: not exported by dlx: {missing}; not in PyTorch: {unknown}")
    return model.double().train()


def loss_of(output, target):
    return F.cross_entropy(output, target.long(), torch.tensor(WEIGHTS, dtype=torch.float64), ignore_index=IGNORE)


def compare_gradients(check, ours, theirs):
    """Batch norm takes what does not change from image to image back out, so that some biases have all but no gradient:
    those are compared on the scale of a thousandth of the largest."""
    largest = max(float(t.abs().max()) for t in theirs.values())
    scale = {n: max(float(t.abs().max()), 1e-3 * largest) for n, t in theirs.items()}
    names = sorted(theirs)
    if names != sorted(ours):
        check.bad.append(f"gradients: names differ: {sorted(set(names) ^ set(ours))}")
        return
    errors = {n: float((ours[n].double() - theirs[n]).abs().max()) / scale[n] for n in names}
    worst = max(names, key=errors.get)
    check.compared += len(names)
    check.bad += [f"gradient of '{n}': relative error {errors[n]:.2e}" for n in names if not errors[n] <= EXACT]
    print(f"    gradients              {len(names):3} tensors, largest relative error {errors[worst]:.1e} ({worst})")


def sgd(model, rate=0.002):
    return torch.optim.SGD(model.parameters(), lr=rate, momentum=0.9)


def one_step(check, config, options, model):
    load(model, dlx.initial_weights(config, *options))
    ours = dlx.step(config, *options)
    output = model(ours["inputs"]["input"].double())
    value = loss_of(output, ours["inputs"]["target"])
    value.backward()
    parameters = dict(model.named_parameters())
    check.numbers("loss", ours["loss"], float(value), EXACT)
    check.tensors("output", ours["outputs"], {"output": output}, EXACT)
    theirs = {n: p.grad.clone() for n, p in parameters.items() if p.grad is not None}
    compare_gradients(check, ours["gradients"], theirs)
    sgd(model).step()
    check.tensors("parameters", ours["parameters"], parameters, EXACT)


def curve(check, config, options, model, x, y):
    options = [*options, "--set", f"train.steps={STEPS}", "--set", "run.dir=runs/curve"]
    load(model, dlx.initial_weights(config, *options))
    dlx.run("dlx-train", *options, config)
    with open("runs/curve/metrics.jsonl") as f:
        ours = [line["loss"] for line in map(json.loads, f) if line["type"] == "step"]
    update, theirs = sgd(model), []
    for i in range(STEPS):
        at = i * BATCH % len(x)
        update.zero_grad()
        value = loss_of(model(torch.from_numpy(x[at : at + BATCH]).double()), torch.from_numpy(y[at : at + BATCH]))
        value.backward()
        update.step()
        theirs.append(float(value))
    check.numbers("loss curve", ours, theirs, 1e-3)
    trained = dlx.initial_weights(config, *options, "--resume")
    with torch.no_grad():
        output = load(model, trained).eval()(torch.from_numpy(x).double())
    dlx.run("dlx-train", *options, "--predict", "climate.dlx", "-o", "predicted.npy", config)
    check.tensors("prediction", {"output": torch.from_numpy(numpy.load("predicted.npy"))}, {"output": output}, EXACT)


def deeplab(**keys):
    return DeepLab(CHANNELS, CLASSES, 4, 8, 6, (1, 2, 3), **keys)


def deepcam(**keys):
    return DeepCam(CHANNELS, CLASSES, (4, 6, 8, 8, 12, 16, 16, 20), 1, (1, 2, 3), 8, 6, **keys)


DEEPLAB = [  # options and the network; without batch norm nothing can be calmed, so float64 compares it
    (["variant=sc18"], deeplab),
    (["variant=sc18-no-batch-norm"], lambda: deeplab(batch_norm=False)),
    (["decoder=deconv", "alignment=pytorch"], lambda: deeplab(decoder="deconv", alignment="pytorch")),
    (["decoder=bilinear", "postnorm=false", "image_affine=true"], lambda: deeplab(decoder="bilinear", postnorm=False, affine=True)),
]
DEEPCAM = [(["low_level=rectified"], deepcam), (["low_level=raw"], lambda: deepcam(raw=True))]
NETWORKS = {"deeplab": DEEPLAB, "deepcam": DEEPCAM}


def main():
    networks, config = NETWORKS[sys.argv[1]], sys.argv[2]
    torch.set_num_threads(2)
    torch.manual_seed(0)
    check = dlx.Comparison()
    x, y = dlx.random_data(2 * BATCH, (CHANNELS, *SIZE), SIZE, CLASSES, IGNORE)
    dlx.write_data("climate", x, y, IGNORE)
    for i, (keys, make) in enumerate(networks):
        options = [a for k in keys for a in ("--set", "model." + k)]
        print(f"  {' '.join(keys)}, reference device")
        one_step(check, config, ["--device", "reference", *options], make())
        print(f"  {' '.join(keys)}, cpu")
        model = make()
        calm(model)
        write_safetensors("calm.safetensors", state(model))
        options += ["--device", "cpu", "--set", "model.init_from=calm.safetensors"]
        one_step(check, config, options, model)
        if i == 0:
            print(f"  {STEPS} steps")
            curve(check, config, options, make(), x, y)
    check.finish()


if __name__ == "__main__":
    main()
