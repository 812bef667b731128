# SPDX-License-Identifier: BSD-3-Clause
"""DeepLabv3+ of Kurth et al. 2018 in PyTorch, with the names of dlx's parameters. Widths and rates are the published ones."""
import torch
from torch import nn
from torch.nn import functional as F


class Stand(nn.Module):
    """The factor that stands in for batch norm."""

    def forward(self, x):
        return x / 2


class ConvNorm(nn.Module):
    def __init__(self, norm, inputs, filters, kernel=1, stride=1, rate=1):
        super().__init__()
        self.conv = nn.Conv2d(inputs, filters, kernel, stride, kernel // 2 * rate, rate, bias=False)
        self.norm = norm(filters)

    def forward(self, x):
        return F.relu(self.norm(self.conv(x)))


class Unit(nn.Module):
    def __init__(self, norm, inputs, width, stride, rate, relu):
        super().__init__()
        self.stride, self.relu = stride, relu
        self.preact = norm(inputs)
        if inputs != 4 * width:
            self.shortcut = nn.Conv2d(inputs, 4 * width, 1)
        self.conv1 = ConvNorm(norm, inputs, width)
        self.conv2 = ConvNorm(norm, width, width, 3, stride, rate)
        self.conv3 = nn.Conv2d(width, 4 * width, 1)

    def forward(self, x):
        p = self.preact(x)
        p = F.relu(p) if self.relu else p
        self.first = self.conv1(p)
        s = self.shortcut(p) if hasattr(self, "shortcut") else x
        return s[:, :, :: self.stride, :: self.stride] + self.conv3(self.conv2(self.first))


class DeepLab(nn.Module):
    def __init__(self, channels, classes, filters=64, aspp_filters=256, low_level_filters=48, rates=(12, 24, 36), decoder="deconv1x",
                 batch_norm=True, alignment="tensorflow", units=(3, 4, 6, 3), postnorm=True, affine=False):
        super().__init__()
        self.decoder_kind, self.alignment = decoder, alignment
        norm = (lambda n: nn.BatchNorm2d(n, momentum=3e-4)) if batch_norm else (lambda n: Stand())
        w, a, low = filters, aspp_filters, low_level_filters
        self.conv1 = nn.Conv2d(channels, w, 7, 2, 3)
        width = w
        for i, (count, rate) in enumerate(zip(units, (1, 1, 2, 4))):
            block = nn.ModuleList()
            for j in range(count):
                block.append(Unit(norm, width, w << i, 2 if i == 0 and j == count - 1 else 1, rate, batch_norm))
                width = 4 * (w << i)
            self.add_module(f"block{i + 1}", block)
        if postnorm and batch_norm:
            self.postnorm = norm(width)
        self.aspp = nn.ModuleDict({"point": ConvNorm(norm, width, a), "image": ConvNorm(norm, width, a),
                                   "merge": ConvNorm(norm, 5 * a, a)})
        if affine:
            self.aspp["image"].norm = nn.Conv2d(a, a, 1, groups=a)
        for i, rate in enumerate(rates):
            self.aspp[f"rate{i + 1}"] = ConvNorm(norm, width, a, 3, 1, rate)
        self.low_level = ConvNorm(norm, w, low)
        self.decoder = nn.ModuleDict({"conv1": ConvNorm(norm, a + low, a, 3), "conv2": ConvNorm(norm, a, a, 3)})
        if decoder != "bilinear":
            for i in (1, 2, 3):
                self.decoder[f"deconv{i}"] = nn.ConvTranspose2d(a, a, 3, 2)
        if decoder == "deconv1x":
            for name, i, o in (("skip1", channels, w), ("skip2", w, 2 * w), ("full1", a + 2 * w, a), ("full2", a, a)):
                self.decoder[name] = nn.Conv2d(i, o, 3, padding=1)
        self.logits = nn.Conv2d(a, classes, 1)

    def pool(self, x):
        """TensorFlow pads an odd size on both sides and an even one at its end."""
        if self.alignment == "pytorch":
            return F.max_pool2d(x, 3, 2, 1)
        return F.max_pool2d(x, 3, 2, [n % 2 for n in x.shape[2:]], ceil_mode=True)

    def up(self, i, x, size):
        """All that the taps write, 2n + 1 wide, of which size is kept: from 0, or as PyTorch does from 1; TensorFlow pads
        an odd size on both sides."""
        x = self.decoder[f"deconv{i}"](x)
        top, left = (1 if self.alignment == "pytorch" else n % 2 for n in size)
        return x[:, :, top : top + size[0], left : left + size[1]]

    def forward(self, x):
        image = x
        x = self.conv1(x)
        sizes = [x.shape[2:], image.shape[2:]]
        x = self.pool(x)
        for i in range(1, 5):
            for unit in getattr(self, f"block{i}"):
                x = unit(x)
        if hasattr(self, "postnorm"):
            self.postnorm(x)
        low = self.low_level(self.block1[-1].first)
        mean = self.aspp["image"](x.mean((2, 3), keepdim=True)).expand(-1, -1, *x.shape[2:])
        x = torch.cat([self.aspp[n](x) for n in ("point", "rate1", "rate2", "rate3")] + [mean], 1)
        x = self.aspp["merge"](x)
        bilinear = self.decoder_kind == "bilinear"
        x = F.interpolate(x, low.shape[2:], mode="bilinear") if bilinear else self.up(1, x, low.shape[2:])
        x = self.decoder["conv2"](self.decoder["conv1"](torch.cat([x, low], 1)))
        if bilinear:
            return F.interpolate(self.logits(x), image.shape[2:], mode="bilinear")
        x = self.up(3, self.up(2, x, sizes[0]), sizes[1])
        if self.decoder_kind == "deconv1x":
            skip = self.decoder["skip2"](self.decoder["skip1"](image))
            x = self.decoder["full2"](self.decoder["full1"](torch.cat([x, skip], 1)))
        return self.logits(x)
