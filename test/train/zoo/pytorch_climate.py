# SPDX-License-Identifier: BSD-3-Clause
"""The climate networks in PyTorch, written from their tables, and dlx compared with them: one step and twenty on the
reference device and the CPU, and prediction. PyTorch computes in float64.

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

CHANNELS, CLASSES, BATCH, STEPS, IGNORE = 5, 3, 4, 20, 255
SIZE = (29, 38)
WEIGHTS = [0.2, 0.5, 0.3]
EXACT = 1e-4


def half(n):
    return (n + 1) // 2


# --- DeepLabv3+ of Kurth et al. 2018, with widths 4, 8, 6 for 64, 256, 48 and rates 1, 2, 3 ---


class Stand(nn.Module):
    """The factor that stands in for batch norm."""

    def forward(self, x):
        return x / 2


class ConvNorm(nn.Module):
    def __init__(self, norm, inputs, filters, kernel=1, stride=1, rate=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2 * rate, rate, bias=False)
        self.norm = norm(filters)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Unit(nn.Module):
    def __init__(self, norm, inputs, width, stride, rate, relu):
        super().__init__()
        self.stride, self.relu = stride, relu
        self.preact = norm(inputs)
        if inputs != 4 * width:
            self.shortcut = nn.Conv2d(inputs, 4 * width, 1)
        self.conv1 = ConvNorm(norm, inputs, width)
        self.conv2 = ConvNorm(norm, width, width, 3, stride, rate)
        self.conv3 = nn.Conv2d(width, 4 * width, 1)

    def forward(self, x):
        p = self.preact(x)
        p = F.relu(p) if self.relu else p
        self.first = self.conv1(p)
        s = self.shortcut(p) if hasattr(self, "shortcut") else x
        return s[:, :, :: self.stride, :: self.stride] + self.conv3(self.conv2(self.first))


class DeepLab(nn.Module):
    def __init__(self, decoder="deconv1x", batch_norm=True, alignment="tensorflow", units=(3, 4, 6, 3), postnorm=True):
        super().__init__()
        self.decoder_kind, self.alignment = decoder, alignment
        norm = (lambda n: nn.BatchNorm2d(n, momentum=3e-4)) if batch_norm else (lambda n: Stand())
        w, a, low = 4, 8, 6
        self.conv1 = nn.Conv2d(CHANNELS, w, 7, 2, 3)
        width = w
        for i, (count, rate) in enumerate(zip(units, (1, 1, 2, 4))):
            block = nn.ModuleList()
            for j in range(count):
                block.append(Unit(norm, width, w << i, 2 if i == 0 and j == count - 1 else 1, rate, batch_norm))
                width = 4 * (w << i)
            self.add_module(f"block{i + 1}", block)
        if postnorm and batch_norm:
            self.postnorm = norm(width)
        self.aspp = nn.ModuleDict({"point": ConvNorm(norm, width, a), "image": ConvNorm(norm, width, a),
                                   "merge": ConvNorm(norm, 5 * a, a)})
        for i, rate in enumerate((1, 2, 3)):
            self.aspp[f"rate{i + 1}"] = ConvNorm(norm, width, a, 3, 1, rate)
        self.low_level = ConvNorm(norm, w, low)
        self.decoder = nn.ModuleDict({"conv1": ConvNorm(norm, a + low, a, 3), "conv2": ConvNorm(norm, a, a, 3)})
        if decoder != "bilinear":
            for i in (1, 2, 3):
                self.decoder[f"deconv{i}"] = nn.ConvTranspose2d(a, a, 3, 2)
        if decoder == "deconv1x":
            for name, i, o in (("skip1", CHANNELS, w), ("skip2", w, 2 * w), ("full1", a + 2 * w, a), ("full2", a, a)):
                self.decoder[name] = nn.Conv2d(i, o, 3, padding=1)
        self.logits = nn.Conv2d(a, CLASSES, 1)

    def pool(self, x):
        """TensorFlow pads an odd size on both sides and an even one at its end."""
        before = [1 if self.alignment == "pytorch" else n % 2 for n in x.shape[2:]]
        return F.max_pool2d(F.pad(x, (before[1], 1, before[0], 1), value=-1e30), 3, 2)

    def up(self, i, x, size):
        """All that the taps write, 2n + 1 wide, of which size is kept: from 0, or as PyTorch does from 1; TensorFlow pads
        an odd size on both sides."""
        x = self.decoder[f"deconv{i}"](x)
        top, left = (1 if self.alignment == "pytorch" else n % 2 for n in size)
        return x[:, :, top : top + size[0], left : left + size[1]]

    def forward(self, x):
        image = x
        x = self.conv1(x)
        sizes = [x.shape[2:], image.shape[2:]]
        x = self.pool(x)
        for i in range(1, 5):
            for unit in getattr(self, f"block{i}"):
                x = unit(x)
        if hasattr(self, "postnorm"):
            self.postnorm(x)
        low = self.low_level(self.block1[-1].first)
        mean = self.aspp["image"](x.mean((2, 3), keepdim=True)).expand(-1, -1, *x.shape[2:])
        x = torch.cat([self.aspp[n](x) for n in ("point", "rate1", "rate2", "rate3")] + [mean], 1)
        x = self.aspp["merge"](x)
        bilinear = self.decoder_kind == "bilinear"
        x = F.interpolate(x, low.shape[2:], mode="bilinear") if bilinear else self.up(1, x, low.shape[2:])
        x = self.decoder["conv2"](self.decoder["conv1"](torch.cat([x, low], 1)))
        if bilinear:
            return F.interpolate(self.logits(x), image.shape[2:], mode="bilinear")
        x = self.up(3, self.up(2, x, sizes[0]), sizes[1])
        if self.decoder_kind == "deconv1x":
            skip = self.decoder["skip2"](self.decoder["skip1"](image))
            x = self.decoder["full2"](self.decoder["full1"](torch.cat([x, skip], 1)))
        return self.logits(x)


# --- comparison ---


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
    compare_gradients(check, ours["gradients"], {n: p.grad.clone() for n, p in parameters.items() if p.grad is not None})
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


DEEPLAB = [  # options and the network; without batch norm nothing can be calmed, so float64 compares it
    (["variant=sc18"], lambda: DeepLab()),
    (["variant=sc18-no-batch-norm"], lambda: DeepLab(batch_norm=False)),
    (["decoder=deconv", "alignment=pytorch"], lambda: DeepLab("deconv", alignment="pytorch")),
    (["decoder=bilinear", "postnorm=false"], lambda: DeepLab("bilinear", postnorm=False)),
]
NETWORKS = {"deeplab": DEEPLAB}


def main():
    networks, config = NETWORKS[sys.argv[1]], sys.argv[2]
    torch.set_num_threads(2)
    torch.manual_seed(0)
    check = dlx.Comparison()
    x, y = dlx.make_data("climate", 2 * BATCH, (CHANNELS, *SIZE), SIZE, CLASSES, IGNORE)
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
