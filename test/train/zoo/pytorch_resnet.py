# SPDX-License-Identifier: BSD-3-Clause
"""ResNet v1.5 (He et al. 2015) in PyTorch, with torchvision's names, against dlx's family resnet.

Usage: pytorch_resnet.py CONFIG, which has depth 18."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

import zoo_compare as zoo

CLASSES, SIZE, BATCH = 10, 40, 4


def conv(inputs, filters, kernel, stride=1):
    return nn.Conv2d(inputs, filters, kernel, stride, kernel // 2, bias=False)


class Basic(nn.Module):
    expansion = 1

    def __init__(self, inputs, filters, stride):
        super().__init__()
        self.conv1, self.bn1 = conv(inputs, filters, 3, stride), nn.BatchNorm2d(filters)
        self.conv2, self.bn2 = conv(filters, filters, 3), nn.BatchNorm2d(filters)

    def body(self, x):
        return self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))

    def forward(self, x):
        kept = self.downsample(x) if hasattr(self, "downsample") else x
        return F.relu(self.body(x) + kept)


class Bottleneck(Basic):
    expansion = 4

    def __init__(self, inputs, filters, stride):
        nn.Module.__init__(self)
        self.conv1, self.bn1 = conv(inputs, filters, 1), nn.BatchNorm2d(filters)
        self.conv2, self.bn2 = conv(filters, filters, 3, stride), nn.BatchNorm2d(filters)
        self.conv3, self.bn3 = conv(filters, 4 * filters, 1), nn.BatchNorm2d(4 * filters)

    def body(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        return self.bn3(self.conv3(F.relu(self.bn2(self.conv2(x)))))


class ResNet(nn.Module):
    def __init__(self, kind, blocks, channels, classes):
        super().__init__()
        self.conv1, self.bn1 = conv(channels, 64, 7, 2), nn.BatchNorm2d(64)
        width = 64
        for stage, count in enumerate(blocks):
            filters, layer = 64 * 2**stage, []
            for i in range(count):
                stride = 2 if stage and not i else 1
                block = kind(width, filters, stride)
                if stride > 1 or width != filters * kind.expansion:
                    block.downsample = nn.Sequential(conv(width, filters * kind.expansion, 1, stride),
                                                     nn.BatchNorm2d(filters * kind.expansion))
                width = filters * kind.expansion
                layer.append(block)
            setattr(self, f"layer{stage + 1}", nn.Sequential(*layer))
        self.fc = nn.Linear(width, classes)

    def forward(self, x):
        x = F.max_pool2d(F.relu(self.bn1(self.conv1(x))), 3, 2, 1)
        x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
        return self.fc(x.mean((2, 3)))


NETWORKS = {18: (Basic, [2, 2, 2, 2]), 50: (Bottleneck, [3, 4, 6, 3])}


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
