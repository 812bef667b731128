# SPDX-License-Identifier: BSD-3-Clause
"""FC-DenseNet (Jegou et al. 2017; Laanait et al. 2019) in PyTorch, from the keys of dlx's family fcn.

A second implementation for comparisons: nothing is shared with dlx but the meaning of the keys and the names of
the parameters. `torch.nn` modules, so that PyTorch's own optimizers, memory formats and modes apply."""
import torch
from torch import nn
from torch.nn import functional as F

DEFAULTS = {
    "growth": 256,
    "kernel": 5,
    "poolings": 3,
    "layers_per_block": [1, 2, 4, 3, 4, 2, 1],
    "pooling": "average",
    "transition_up_kernel": 1,
    "dropout": 0.2,
    "batch_norm": "transition_down",
    "initial_filters": 0,
    "initial_kernel": 0,
    "output_kernel": 1,
    "width_multiple": 8,
}
# The keys of configs/coads-fcn.yaml.
DEMO = {
    "initial_filters": 24, "initial_kernel": 3, "growth": 12, "kernel": 3, "layers_per_block": [2, 3, 3, 4, 3, 3, 2],
    "transition_up_kernel": 3, "batch_norm": "all", "dropout": 0,
}


def conv(inputs, filters, kernel, bias=False):
    return nn.Conv2d(inputs, filters, kernel, padding=kernel // 2, bias=bias)


class DenseBlock(nn.Module):
    """Layers that each append `growth` maps to what they were given."""

    def __init__(self, c, inputs, layers):
        super().__init__()
        self.layers, self.norm = layers, c["batch_norm"] == "all"
        for i in range(layers):
            width = inputs + i * c["growth"]
            if self.norm:
                self.add_module(f"norm_{i}", nn.BatchNorm2d(width))
            self.add_module(f"conv_{i}", conv(width, c["growth"], c["kernel"]))
        self.dropout = c["dropout"]

    def forward(self, x):
        added = []
        for i in range(self.layers):
            y = getattr(self, f"norm_{i}")(x) if self.norm else x
            y = getattr(self, f"conv_{i}")(F.relu(y))
            y = F.dropout(y, self.dropout, self.training)
            added.append(y)
            x = torch.cat([x, y], 1)
        return x, added


class Down(nn.Module):
    def __init__(self, c, inputs, filters):
        super().__init__()
        if c["batch_norm"] != "none":
            self.norm = nn.BatchNorm2d(inputs)
        self.conv = conv(inputs, filters, 1)
        self.dropout = c["dropout"] if c["batch_norm"] == "all" else 0
        self.average = c["pooling"] == "average"

    def forward(self, x):
        x = self.norm(x) if hasattr(self, "norm") else x
        x = F.dropout(self.conv(F.relu(x)), self.dropout, self.training)
        if self.average:
            return F.avg_pool2d(x, 2, ceil_mode=True, count_include_pad=False)
        return F.max_pool2d(x, 2, ceil_mode=True)


class Up(nn.Module):
    """Twice the resolution, or the skip's where that is odd. The size of a transposed convolution is that of the
    input of the convolution it transposes; SAME padding puts the odd row at the end."""

    def __init__(self, c, inputs, filters):
        super().__init__()
        self.kernel = c["transition_up_kernel"]
        self.conv = nn.ConvTranspose2d(inputs, filters, self.kernel, stride=2, bias=False)

    def forward(self, x, skip):
        y = self.conv(x)  # not padded: 2 * (size - 1) + kernel
        cut = []
        for axis in (3, 2):
            size, small = skip.shape[axis], x.shape[axis]
            total = max(2 * (small - 1) + self.kernel - size, 0)
            cut += [-(total // 2), size - (y.shape[axis] - total // 2)]
        return torch.cat([F.pad(y, cut), skip], 1)


class FCDenseNet(nn.Module):
    def __init__(self, config, channels, classes):
        super().__init__()
        c = {**DEFAULTS, **config}
        n, growth = c["poolings"], c["growth"]
        layers = c["layers_per_block"]
        layers = layers if isinstance(layers, list) else [layers] * (2 * n + 1)
        self.poolings = n
        width = c["initial_filters"] or growth
        self.conv_init = conv(channels, width, c["initial_kernel"] or c["kernel"], True)
        skips, total = [], width  # total: as if no transition had rounded
        for i in range(n):
            self.add_module(f"dense_{i}", DenseBlock(c, width, layers[i]))
            skips.append(width + growth * layers[i])
            total += growth * layers[i]
            width = self.multiple(c, total)
            self.add_module(f"down_{i}", Down(c, skips[i], width))
        self.add_module(f"dense_{n}", DenseBlock(c, width, layers[n]))
        for i in range(n):
            added = growth * layers[n + i]
            up = self.multiple(c, added)
            self.add_module(f"up_{i}", Up(c, added, up))
            width = up + skips[n - 1 - i]
            self.add_module(f"dense_{n + 1 + i}", DenseBlock(c, width, layers[n + 1 + i]))
        self.conv_output = conv(width + growth * layers[2 * n], classes, c["output_kernel"])

    @staticmethod
    def multiple(c, n):
        m = c["width_multiple"]
        return n // m * m if n >= m else n

    def forward(self, x):
        skips = []
        x = F.relu(self.conv_init(x))
        for i in range(self.poolings):
            x, _ = getattr(self, f"dense_{i}")(x)
            skips.append(x)
            x = getattr(self, f"down_{i}")(x)
        x, added = getattr(self, f"dense_{self.poolings}")(x)
        for i in range(self.poolings):
            x = getattr(self, f"up_{i}")(torch.cat(added, 1), skips.pop())
            x, added = getattr(self, f"dense_{self.poolings + 1 + i}")(x)
        return self.conv_output(x)
