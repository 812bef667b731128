# SPDX-License-Identifier: BSD-3-Clause
"""The 3D U-Net of Oyama et al. 2020 in PyTorch, with the names of dlx's parameters."""
import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, widths, norm, bias):
        super().__init__()
        self.normal = norm
        for i in (1, 2):
            self.add_module(f"conv{i}", nn.Conv3d(widths[i - 1], widths[i], 3, padding=1, bias=bias))
            if norm:
                self.add_module(f"norm{i}", nn.BatchNorm3d(widths[i]))

    def forward(self, x, slope):
        for i in (1, 2):
            x = getattr(self, f"conv{i}")(x)
            if self.normal:
                x = getattr(self, f"norm{i}")(x)
            x = F.leaky_relu(x, slope)
        return x


class UNet3D(nn.Module):
    """With f filters: levels (f, 2f), (2f, 4f), (4f, 8f), bottom (8f, 16f), up (8f, 8f), (4f, 4f), (2f, 2f)."""

    def __init__(self, channels, classes, filters=32, slope=0.01, norm=True, bias=False):
        super().__init__()
        self.slope, f = slope, filters
        for i, widths in enumerate([(channels, f, 2 * f), (2 * f, 2 * f, 4 * f), (4 * f, 4 * f, 8 * f)], 1):
            self.add_module(f"down{i}", Block(widths, norm, bias))
        self.bottom = Block((8 * f, 8 * f, 16 * f), norm, bias)
        for i, (below, width) in enumerate([(4 * f, 2 * f), (8 * f, 4 * f), (16 * f, 8 * f)], 1):
            self.add_module(f"deconv{i}", nn.ConvTranspose3d(below, below, 2, 2, bias=False))
            self.add_module(f"up{i}", Block((below + width, width, width), norm, bias))
        self.output = nn.Conv3d(2 * f, classes, 1, bias=bias)

    def forward(self, x):
        skips = []
        for i in (1, 2, 3):
            x = getattr(self, f"down{i}")(x, self.slope)
            skips.append(x)
            x = F.max_pool3d(x, 2, ceil_mode=True)
        x = self.bottom(x, self.slope)
        for i in (3, 2, 1):
            skip = skips[i - 1]
            d, h, w = skip.shape[2:]
            x = getattr(self, f"deconv{i}")(x)[:, :, :d, :h, :w]
            x = getattr(self, f"up{i}")(torch.cat([x, skip], 1), self.slope)
        return self.output(x)
