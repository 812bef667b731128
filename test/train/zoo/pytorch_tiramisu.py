# SPDX-License-Identifier: BSD-3-Clause
"""Tiramisu in PyTorch against dlx's family tiramisu.

Usage: pytorch_tiramisu.py CONFIG, whose model is the variant sc18 made small."""
import sys

import torch
from torch.nn import functional as F

import zoo_compare as zoo
from networks.tiramisu import Tiramisu

CHANNELS, CLASSES, BATCH = 4, 3, 3


# What the config does not say, the shape of an image, the floor on the CPU (zoo.FLOOR), the network again.
SMALL = {"channels": CHANNELS, "classes": CLASSES, "blocks": [2, 1, 3], "growth": 6, "first": 8}
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
