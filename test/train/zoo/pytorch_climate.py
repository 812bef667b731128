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
    def __init__(self, decoder="deconv1x", batch_norm=True, alignment="tensorflow", units=(3, 4, 6, 3), postnorm=True, affine=False):
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
        if affine:
            self.aspp["image"].norm = nn.Conv2d(a, a, 1, groups=a)
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


# --- DeepCAM of MLPerf HPC, with widths 4, 6, 8, 8, 12, 16, 16, 20 and 8, 6 for 256, 48; rates 1, 2, 3; one middle block ---


class Wrapped(nn.Module):
    """Batch norm under the name that the reference has for it."""

    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm2d(n)

    def forward(self, x):
        return self.bn(x)


class Separable(nn.Module):
    def __init__(self, inputs, filters, stride=1, rate=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, inputs, 3, stride, rate, rate, groups=inputs, bias=False)
        self.pointwise = nn.Conv2d(inputs, filters, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.conv1(x))


class Block(nn.Module):
    def __init__(self, inputs, widths, stride=1, extra=False, relu=True):
        super().__init__()
        layers, last = [], inputs
        for w in widths:
            layers += [Separable(last, w), Wrapped(w), nn.ReLU()]
            last = w
        layers.pop()
        if extra:
            layers.append(Separable(last, last, stride))
        self.rep, self.relu = nn.Sequential(*layers), relu
        if inputs != last or stride > 1:
            self.skip = nn.Conv2d(inputs, last, 1, stride, bias=False)
            self.skipbn = Wrapped(last)

    def forward(self, x):
        y = self.rep(x) + (self.skipbn(self.skip(x)) if hasattr(self, "skip") else x)
        return F.relu(y) if self.relu else y


class Xception(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(CHANNELS, 4, 3, 2, 1, bias=False), Wrapped(4)
        self.conv2, self.bn2 = nn.Conv2d(4, 6, 3, 1, 1, bias=False), Wrapped(6)
        self.block1 = Block(6, [8, 8], 2, True, False)
        self.block2 = Block(8, [8, 8], 2, True)
        self.block3 = Block(8, [12, 12], 2, True)
        self.block4 = Block(12, [12, 12, 12])
        self.block5 = Block(12, [12, 16], 1, True, False)
        self.conv3, self.bn3 = Separable(16, 16, 1, 2), Wrapped(16)
        self.conv4, self.bn4 = Separable(16, 16, 1, 2), Wrapped(16)
        self.conv5, self.bn5 = Separable(16, 20, 1, 2), Wrapped(20)


class Affine(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weights, self.bias = nn.Parameter(torch.ones(n, 1, 1)), nn.Parameter(torch.zeros(n, 1, 1))

    def forward(self, x):
        return self.weights * x + self.bias


class Pyramid(nn.Module):
    def __init__(self, inputs, a):
        super().__init__()
        for i in range(4):
            kernel = 3 if i else 1
            self.add_module(f"aspp{i + 1}", nn.ModuleDict({
                "atrous_convolution": nn.Conv2d(inputs, a, kernel, 1, i, max(i, 1), bias=False), "bn": Wrapped(a)}))
        self.global_avg_pool = nn.ModuleDict({"global_average_pool": nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inputs, a, 1, bias=False), Affine(a), nn.ReLU())})
        self.conv, self.bn = nn.Conv2d(5 * a, a, 1, bias=False), Wrapped(a)

    def forward(self, x):
        parts = []
        for i in range(4):
            branch = getattr(self, f"aspp{i + 1}")
            parts.append(F.relu(branch["bn"](branch["atrous_convolution"](x))))
        mean = self.global_avg_pool["global_average_pool"](x)
        parts.append(mean.expand(-1, -1, *x.shape[2:]))
        return F.relu(self.bn(self.conv(torch.cat(parts, 1))))


class DeepCam(nn.Module):
    def __init__(self, raw=False):
        super().__init__()
        a, low = 8, 6
        self.raw = raw

        def up(filters):
            return nn.ConvTranspose2d(a, filters, 3, 2, 1, bias=False)

        def conv(inputs):
            return nn.Conv2d(inputs, a, 3, padding=1, bias=False)

        self.xception_features = Xception()
        self.bottleneck = Pyramid(20, a)
        self.conv2, self.bn2 = nn.Conv2d(8, low, 1, bias=False), Wrapped(low)
        self.upsample = nn.ModuleDict({
            "deconv1": nn.Sequential(up(a), Wrapped(a), nn.ReLU(), up(a), Wrapped(a), nn.ReLU()),
            "conv1": nn.Sequential(conv(a + low), Wrapped(a), nn.ReLU(), conv(a), Wrapped(a), nn.ReLU(), nn.Conv2d(a, a, 1)),
            "deconv2": nn.Sequential(up(a), Wrapped(a), nn.ReLU()),
            "last_deconv": nn.Sequential(up(CLASSES))})

    def up(self, layers, x, size):
        """Each transposed convolution makes what its output_padding, 1 for an even size, says."""
        for layer in layers:
            x = layer(x, output_size=size.pop()) if isinstance(layer, nn.ConvTranspose2d) else layer(x)
        return x

    def forward(self, image):
        e, size = self.xception_features, [image.shape[2:]]
        x = F.relu(e.bn1(e.conv1(image)))
        size.append(x.shape[2:])
        x = e.block1(F.relu(e.bn2(e.conv2(x))))
        size.append(x.shape[2:])
        low = x if self.raw else F.relu(x)
        x = e.block2(F.relu(x))
        size.append(x.shape[2:])
        x = e.block5(e.block4(e.block3(x)))
        for i in (3, 4, 5):
            x = F.relu(getattr(e, f"bn{i}")(getattr(e, f"conv{i}")(x)))
        low = F.relu(self.bn2(self.conv2(low)))
        x = self.up(self.upsample["deconv1"], self.bottleneck(x), size)
        x = self.upsample["conv1"](torch.cat([x, low], 1))
        return self.up(self.upsample["last_deconv"], self.up(self.upsample["deconv2"], x, size), size)


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


DEEPLAB = [  # options and the network; without batch norm nothing can be calmed, so float64 compares it
    (["variant=sc18"], lambda: DeepLab()),
    (["variant=sc18-no-batch-norm"], lambda: DeepLab(batch_norm=False)),
    (["decoder=deconv", "alignment=pytorch"], lambda: DeepLab("deconv", alignment="pytorch")),
    (["decoder=bilinear", "postnorm=false", "image_affine=true"], lambda: DeepLab("bilinear", postnorm=False, affine=True)),
]
DEEPCAM = [(["low_level=rectified"], lambda: DeepCam()), (["low_level=raw"], lambda: DeepCam(True))]
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
