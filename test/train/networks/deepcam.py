# SPDX-License-Identifier: BSD-3-Clause
"""DeepCAM of MLPerf HPC in PyTorch, with the names of its reference's parameters. Widths and rates are the published ones."""
import torch
from torch import nn
from torch.nn import functional as F


class Wrapped(nn.Module):
    """Batch norm under the name that the reference has for it."""

    def __init__(self, n):
        super().__init__()
        self.bn = nn.BatchNorm2d(n)

    def forward(self, x):
        return self.bn(x)


class Separable(nn.Module):
    def __init__(self, inputs, filters, stride=1, rate=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inputs, inputs, 3, stride, rate, rate, groups=inputs, bias=False)
        self.pointwise = nn.Conv2d(inputs, filters, 1, bias=False)

    def forward(self, x):
        return self.pointwise(self.conv1(x))


class Block(nn.Module):
    def __init__(self, inputs, widths, stride=1, extra=False, relu=True):
        super().__init__()
        layers, last = [], inputs
        for w in widths:
            layers += [Separable(last, w), Wrapped(w), nn.ReLU()]
            last = w
        layers.pop()
        if extra:
            layers.append(Separable(last, last, stride))
        self.rep, self.relu = nn.Sequential(*layers), relu
        if inputs != last or stride > 1:
            self.skip = nn.Conv2d(inputs, last, 1, stride, bias=False)
            self.skipbn = Wrapped(last)

    def forward(self, x):
        y = self.rep(x) + (self.skipbn(self.skip(x)) if hasattr(self, "skip") else x)
        return F.relu(y) if self.relu else y


class Xception(nn.Module):
    """widths: conv1, conv2, block1, block2, block3 and the middle blocks, the block after them, conv3 and conv4, conv5."""

    def __init__(self, channels, widths, middle_blocks):
        super().__init__()
        w = widths
        self.conv1, self.bn1 = nn.Conv2d(channels, w[0], 3, 2, 1, bias=False), Wrapped(w[0])
        self.conv2, self.bn2 = nn.Conv2d(w[0], w[1], 3, 1, 1, bias=False), Wrapped(w[1])
        self.block1 = Block(w[1], [w[2]] * 2, 2, True, False)
        self.block2 = Block(w[2], [w[3]] * 2, 2, True)
        self.block3 = Block(w[3], [w[4]] * 2, 2, True)
        self.rest = [f"block{i}" for i in range(4, 5 + middle_blocks)]
        for name in self.rest[:-1]:
            self.add_module(name, Block(w[4], [w[4]] * 3))
        self.add_module(self.rest[-1], Block(w[4], [w[4], w[5]], 1, True, False))
        self.conv3, self.bn3 = Separable(w[5], w[6], 1, 2), Wrapped(w[6])
        self.conv4, self.bn4 = Separable(w[6], w[6], 1, 2), Wrapped(w[6])
        self.conv5, self.bn5 = Separable(w[6], w[7], 1, 2), Wrapped(w[7])


class Affine(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.weights, self.bias = nn.Parameter(torch.ones(n, 1, 1)), nn.Parameter(torch.zeros(n, 1, 1))

    def forward(self, x):
        return self.weights * x + self.bias


class Pyramid(nn.Module):
    def __init__(self, inputs, a, rates):
        super().__init__()
        for i, rate in enumerate((0, *rates)):
            kernel = 3 if i else 1
            self.add_module(f"aspp{i + 1}", nn.ModuleDict({
                "atrous_convolution": nn.Conv2d(inputs, a, kernel, 1, rate, max(rate, 1), bias=False), "bn": Wrapped(a)}))
        self.global_avg_pool = nn.ModuleDict({"global_average_pool": nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inputs, a, 1, bias=False), Affine(a), nn.ReLU())})
        self.conv, self.bn = nn.Conv2d(5 * a, a, 1, bias=False), Wrapped(a)

    def forward(self, x):
        parts = []
        for i in range(4):
            branch = getattr(self, f"aspp{i + 1}")
            parts.append(F.relu(branch["bn"](branch["atrous_convolution"](x))))
        mean = self.global_avg_pool["global_average_pool"](x)
        parts.append(mean.expand(-1, -1, *x.shape[2:]))
        return F.relu(self.bn(self.conv(torch.cat(parts, 1))))


class DeepCam(nn.Module):
    def __init__(self, channels, classes, widths=(32, 64, 128, 256, 728, 1024, 1536, 2048), middle_blocks=16, rates=(6, 12, 18),
                 aspp_filters=256, low_level_filters=48, raw=False):
        super().__init__()
        a, low = aspp_filters, low_level_filters
        self.raw = raw

        def up(filters):
            return nn.ConvTranspose2d(a, filters, 3, 2, 1, bias=False)

        def conv(inputs):
            return nn.Conv2d(inputs, a, 3, padding=1, bias=False)

        self.xception_features = Xception(channels, widths, middle_blocks)
        self.bottleneck = Pyramid(widths[7], a, rates)
        self.conv2, self.bn2 = nn.Conv2d(widths[2], low, 1, bias=False), Wrapped(low)
        self.upsample = nn.ModuleDict({
            "deconv1": nn.Sequential(up(a), Wrapped(a), nn.ReLU(), up(a), Wrapped(a), nn.ReLU()),
            "conv1": nn.Sequential(conv(a + low), Wrapped(a), nn.ReLU(), conv(a), Wrapped(a), nn.ReLU(), nn.Conv2d(a, a, 1)),
            "deconv2": nn.Sequential(up(a), Wrapped(a), nn.ReLU()),
            "last_deconv": nn.Sequential(up(classes))})

    def up(self, layers, x, size):
        """Each transposed convolution makes what its output_padding, 1 for an even size, says."""
        for layer in layers:
            x = layer(x, output_size=size.pop()) if isinstance(layer, nn.ConvTranspose2d) else layer(x)
        return x

    def forward(self, image):
        e, size = self.xception_features, [image.shape[2:]]
        x = F.relu(e.bn1(e.conv1(image)))
        size.append(x.shape[2:])
        x = e.block1(F.relu(e.bn2(e.conv2(x))))
        size.append(x.shape[2:])
        low = x if self.raw else F.relu(x)
        x = e.block2(F.relu(x))
        size.append(x.shape[2:])
        x = e.block3(x)
        for name in e.rest:
            x = getattr(e, name)(x)
        for i in (3, 4, 5):
            x = F.relu(getattr(e, f"bn{i}")(getattr(e, f"conv{i}")(x)))
        low = F.relu(self.bn2(self.conv2(low)))
        x = self.up(self.upsample["deconv1"], self.bottleneck(x), size)
        x = self.upsample["conv1"](torch.cat([x, low], 1))
        return self.up(self.upsample["last_deconv"], self.up(self.upsample["deconv2"], x, size), size)
