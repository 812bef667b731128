# SPDX-License-Identifier: BSD-3-Clause
"""The 3D U-Net of Oyama et al. 2020 in PyTorch, written from its table at small widths, and dlx compared with it: one
step, twenty steps, prediction."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

from pytorch_volumes import Case, compare_curve, compare_step, dlx, make_data

IGNORE, CLASSES = 255, 3


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
    """Levels (4, 8), (8, 16), (16, 32), bottom (32, 64), up (32, 32), (16, 16), (8, 8)."""

    def __init__(self, slope=0.01, norm=True, bias=False):
        super().__init__()
        self.slope = slope
        for i, widths in enumerate([(1, 4, 8), (8, 8, 16), (16, 16, 32)], 1):
            self.add_module(f"down{i}", Block(widths, norm, bias))
        self.bottom = Block((32, 32, 64), norm, bias)
        for i, (below, width) in enumerate([(16, 8), (32, 16), (64, 32)], 1):
            self.add_module(f"deconv{i}", nn.ConvTranspose3d(below, below, 2, 2, bias=False))
            self.add_module(f"up{i}", Block((below + width, width, width), norm, bias))
        self.output = nn.Conv3d(8, CLASSES, 1, bias=bias)

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


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.02, momentum=0.9)


def loss(output, target):
    return F.cross_entropy(output, target, ignore_index=IGNORE)


PLAIN = ["model.batch_norm=false", "model.conv_bias=true", "model.output_bias=true", "model.slope=0"]
CASES = [
    Case("unet3d-lits", UNet3D, loss, sgd, 2, labels=True),
    Case("unet3d-lits", lambda: UNet3D(0, False, True), loss, sgd, 2, PLAIN, labels=True),
]


def main():
    torch.set_num_threads(1)
    check = dlx.Comparison()
    size = (16, 13, 10)
    for case in CASES:
        x, y = make_data(case, (1, *size), size, CLASSES, IGNORE)
        for device in ["reference", "cpu"]:
            compare_step(check, case, device)
        if not case.options:
            compare_curve(check, case, "cpu", x, y)
    check.finish()


if __name__ == "__main__":
    sys.exit(main())
