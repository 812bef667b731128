# SPDX-License-Identifier: BSD-3-Clause
"""The 3D U-Net of Oyama et al. 2020 at small widths compared with PyTorch's: one step, twenty steps, prediction."""
import sys

import torch
from torch.nn import functional as F

from pytorch_volumes import Case, compare_curve, compare_step, dlx, make_data
from networks.unet3d import UNet3D

IGNORE, CLASSES = 255, 3


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.02, momentum=0.9)


def loss(output, target):
    return F.cross_entropy(output, target, ignore_index=IGNORE)


PLAIN = ["model.batch_norm=false", "model.conv_bias=true", "model.output_bias=true", "model.slope=0"]
CASES = [
    Case("unet3d-lits", lambda: UNet3D(1, CLASSES, 4), loss, sgd, 2, labels=True),
    Case("unet3d-lits", lambda: UNet3D(1, CLASSES, 4, 0, False, True), loss, sgd, 2, PLAIN, labels=True),
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
