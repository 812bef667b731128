# SPDX-License-Identifier: BSD-3-Clause
"""ResNet v1.5 (He et al. 2015) in PyTorch, with torchvision's names."""
from torch import nn
from torch.nn import functional as F


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


NETWORKS = {  # by depth: the arguments kind and blocks
    18: (Basic, [2, 2, 2, 2]),
    50: (Bottleneck, [3, 4, 6, 3]),
}
