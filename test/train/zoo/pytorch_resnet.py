# SPDX-License-Identifier: BSD-3-Clause
"""ResNet v1.5 in PyTorch against dlx's family resnet.

Usage: pytorch_resnet.py CONFIG, which has depth 18."""
import sys

import torch
from torch.nn import functional as F

import zoo_compare as zoo
from networks.resnet import NETWORKS, ResNet

CLASSES, SIZE, BATCH = 10, 40, 4


def sgd(rate):
    return lambda parameters: torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=1e-4)


def main():
    config = sys.argv[1]
    torch.set_num_threads(2)
    torch.manual_seed(0)
    check = zoo.dlx.Comparison()
    x, y = zoo.make_data("resnet", 3 * BATCH, (3, SIZE, SIZE), (), CLASSES)
    for depth, device in ((18, "reference"), (18, "cpu"), (50, "cpu")):
        print(f"  depth {depth}, {device}")
        options = ["--device", device, "--set", f"model.depth={depth}"]
        model = ResNet(*NETWORKS[depth], 3, CLASSES)
        if device == "reference":  # which computes in float64
            zoo.one_step(check, config, options, model, F.cross_entropy, sgd(0.01))
            continue
        zoo.there_and_back(check, config, options, model)
        options += zoo.calm(model)
        zoo.one_step(check, config, options, model, F.cross_entropy, sgd(0.01), zoo.FLOOR)
    print("  20 steps of depth 18")
    model = ResNet(*NETWORKS[18], 3, CLASSES)
    options = ["--set", "optimizer.learning_rate=0.0003", *zoo.calm(model)]
    zoo.curve(check, config, options, model, F.cross_entropy, sgd(0.0003), x, y, BATCH)
    check.finish()


if __name__ == "__main__":
    main()
