# SPDX-License-Identifier: BSD-3-Clause
"""Tiramisu in PyTorch, Jegou et al. 2017 and Kurth et al. 2018, against dlx's family tiramisu.

Usage: pytorch_tiramisu.py CONFIG, whose model is the variant sc18 made small."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

import zoo_compare as zoo

CHANNELS, CLASSES, BATCH = 4, 3, 3


class Kurth(nn.Module):
    """conv, [batch norm], relu. Stride 1 or 2, where a 1x1 convolution takes every second pixel."""

    def __init__(self, inputs, filters, kernel, stride=1, norm=False, eps=1e-5):
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2)
        if norm:
            self.norm = nn.BatchNorm2d(filters, eps)

    def forward(self, x):
        x = self.conv(x)
        return F.relu(self.norm(x) if hasattr(self, "norm") else x)


class Jegou(nn.Module):
    """batch norm, relu, conv."""

    def __init__(self, inputs, filters, kernel, eps):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(inputs, eps), nn.Conv2d(inputs, filters, kernel, 1, kernel // 2)

    def forward(self, x):
        return self.conv(F.relu(self.norm(x)))


class Up(nn.Module):
    """TensorFlow's SAME: of the 2n + 1 rows that n rows make, the last is cut off, and of 2n - 1 wanted ones for an odd
    size the first and the last. Lasagne's centre crop of 2n + 1 rows to 2n cuts the last too."""

    def __init__(self, filters):
        super().__init__()
        self.conv = nn.ConvTranspose2d(filters, filters, 3, 2)

    def forward(self, x, skip):
        y = self.conv(x)
        h, w = ((have - want) // 2 for have, want in zip(y.shape[2:], skip.shape[2:]))
        return torch.cat([y[:, :, h : h + skip.shape[2], w : w + skip.shape[3]], skip], 1)


class Tiramisu(nn.Module):
    def __init__(self, style, blocks, growth, first, kernel, norm=True, eps=1e-5):
        super().__init__()
        self.style, self.down = style, len(blocks) - 1
        layers = [*blocks, *blocks[-2::-1]]
        if style == "kurth":
            def layer(inputs, filters, k, stride=1):
                return Kurth(inputs, filters, k, stride, norm, eps)
            self.conv_input = layer(CHANNELS, first, kernel)
        else:
            def layer(inputs, filters, k, stride=1):
                return Jegou(inputs, filters, k, eps)
            self.conv_input = nn.ModuleDict({"conv": nn.Conv2d(CHANNELS, first, kernel, 1, kernel // 2)})
        width, skips = first, []
        for i, n in enumerate(layers):
            if i > self.down:
                added = growth * layers[i - 1]
                self.add_module(f"up_{i - self.down - 1}", Up(added))
                width = added + skips.pop()
            self.add_module(f"dense_{i}", nn.ModuleList(layer(width + k * growth, growth, kernel) for k in range(n)))
            width += n * growth
            if i < self.down:
                skips.append(width)
            if i < self.down or i == self.down and style == "kurth":  # the last of which nothing uses
                self.add_module(f"down_{i}", layer(width, width, 1, 2))
        self.conv_output = nn.Conv2d(width, CLASSES, 1)

    def dense(self, i, x):
        added = []
        for layer in getattr(self, f"dense_{i}"):
            added.append(layer(x))
            x = torch.cat([x, added[-1]], 1)
        return x, torch.cat(added, 1)

    def forward(self, x):
        x = self.conv_input(x) if self.style == "kurth" else self.conv_input["conv"](x)
        skips = []
        for i in range(self.down):
            x, _ = self.dense(i, x)
            skips.append(x)
            x = getattr(self, f"down_{i}")(x)
            x = F.max_pool2d(x, 2) if self.style == "jegou" else x
        x, added = self.dense(self.down, x)
        for i in range(self.down):
            x = getattr(self, f"up_{i}")(added, skips.pop())
            x, added = self.dense(self.down + 1 + i, x)
        return self.conv_output(x)


# What the config does not say, the shape of an image, the floor on the CPU (zoo.FLOOR), the network again.
SMALL = {"blocks": [2, 1, 3], "growth": 6, "first": 8}
CASES = {
    "sc18": ([], (24, 36), 1e-6, {"style": "kurth", "kernel": 5, "norm": False}),
    "sc18 with batch norm, odd sizes": (["batch_norm=true"], (19, 23), 1e-2, {"style": "kurth", "kernel": 5}),
    "fc-densenet56, odd sizes": (["variant=fc-densenet56"], (22, 27), zoo.FLOOR,
                                 {"style": "jegou", "kernel": 3, "eps": 1e-4}),
}
CURVES = ("sc18", "fc-densenet56, odd sizes")


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.02, momentum=0.9, weight_decay=1e-4)


def loss(output, target):
    return F.cross_entropy(output, target, ignore_index=255)


def main():
    config = sys.argv[1]
    torch.set_num_threads(1)
    torch.manual_seed(0)
    check = zoo.dlx.Comparison()
    for name, (keys, size, floor, network) in CASES.items():
        x, y = zoo.make_data("tiramisu", 2 * BATCH, (CHANNELS, *size), size, CLASSES)
        options = [word for key in keys for word in ("--set", "model." + key)]
        for device in ("reference", "cpu"):
            print(f"  {name}, {device}")
            model = Tiramisu(**SMALL, **network)
            zoo.one_step(check, config, ["--device", device, *options], model, loss, sgd,
                         floor if device == "cpu" else 1e-6)
        if name in CURVES:
            print(f"  {name}, 20 steps")
            zoo.curve(check, config, options, Tiramisu(**SMALL, **network), loss, sgd, x, y, BATCH)
    check.finish()


if __name__ == "__main__":
    main()
