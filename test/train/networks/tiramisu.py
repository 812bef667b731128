# SPDX-License-Identifier: BSD-3-Clause
"""Tiramisu in PyTorch, Jegou et al. 2017 and Kurth et al. 2018, with the names of dlx's parameters."""
import torch
from torch import nn
from torch.nn import functional as F


class Kurth(nn.Module):
    """conv, [batch norm], relu, dropout. Stride 1 or 2, where a 1x1 convolution takes every second pixel."""

    def __init__(self, inputs, filters, kernel, stride=1, norm=False, eps=1e-5, dropout=0):
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2)
        if norm:
            self.norm = nn.BatchNorm2d(filters, eps)
        self.dropout = dropout

    def forward(self, x):
        x = self.conv(x)
        x = F.relu(self.norm(x) if hasattr(self, "norm") else x)
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


class Jegou(nn.Module):
    """batch norm, relu, conv, dropout."""

    def __init__(self, inputs, filters, kernel, eps, dropout=0):
        super().__init__()
        self.norm, self.conv = nn.BatchNorm2d(inputs, eps), nn.Conv2d(inputs, filters, kernel, 1, kernel // 2)
        self.dropout = dropout

    def forward(self, x):
        x = self.conv(F.relu(self.norm(x)))
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


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
    """style: "kurth", whose output has dropout too, or "jegou"."""

    def __init__(self, channels, classes, style, blocks, growth, first, kernel, norm=True, eps=1e-5, dropout=0):
        super().__init__()
        self.style, self.down = style, len(blocks) - 1
        self.dropout = dropout if style == "kurth" else 0
        layers = [*blocks, *blocks[-2::-1]]
        if style == "kurth":
            def layer(inputs, filters, k, stride=1):
                return Kurth(inputs, filters, k, stride, norm, eps, dropout)
            self.conv_input = layer(channels, first, kernel)
        else:
            def layer(inputs, filters, k, stride=1):
                return Jegou(inputs, filters, k, eps, dropout)
            self.conv_input = nn.ModuleDict({"conv": nn.Conv2d(channels, first, kernel, 1, kernel // 2)})
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
        self.conv_output = nn.Conv2d(width, classes, 1)

    def dense(self, i, x):
        added = []
        for layer in getattr(self, f"dense_{i}"):
            added.append(layer(x))
            x = torch.cat([x, added[-1]], 1)
        return x, added

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
            x = getattr(self, f"up_{i}")(torch.cat(added, 1), skips.pop())
            x, added = self.dense(self.down + 1 + i, x)
        x = self.conv_output(x)
        return F.dropout(x, self.dropout, self.training) if self.dropout else x


SC18 = {"style": "kurth", "blocks": [2, 2, 2, 4, 5], "growth": 32, "first": 64, "kernel": 5, "norm": False, "dropout": 0.2}
FC_DENSENET103 = {"style": "jegou", "blocks": [4, 5, 7, 10, 12, 15], "growth": 16, "first": 48, "kernel": 3, "eps": 1e-4,
                  "dropout": 0.2}
