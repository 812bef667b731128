# SPDX-License-Identifier: BSD-3-Clause
"""The five CosmoFlow networks in PyTorch, with the names of dlx's parameters. Widths and rates of dropout are the published ones;
`inputs` is how many values the first dense layer sees, which follows from the size of the cube."""
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    """Layers by dlx's names: conv1, norm1, ..., fc1."""

    def __init__(self, convolutions, dense, dropout, slope):
        super().__init__()
        self.convolutions, self.dense = len(convolutions), len(dense) - 1
        self.dropout, self.slope = dropout, slope
        for i, (inputs, filters, kernel, keys) in enumerate(convolutions, 1):
            self.add_module(f"conv{i}", nn.Conv3d(inputs, filters, kernel, **keys))
        for i, (inputs, units) in enumerate(zip(dense, dense[1:]), 1):
            self.add_module(f"fc{i}", nn.Linear(inputs, units))

    def named(self, part, i):
        return getattr(self, f"{part}{i}")

    def drop(self, x):
        return F.dropout(x, self.dropout, self.training) if self.dropout else x

    def head(self, x, before):
        """The dense layers; dropout before each, or after each but the last."""
        for i in range(1, self.dense + 1):
            x = self.named("fc", i)(self.drop(x) if before else x)
            if i < self.dense:
                x = F.leaky_relu(x, self.slope)
                x = x if before else self.drop(x)
        return x


def last_axis(x):
    """Flattened as TensorFlow has it, channels last."""
    return x.permute(0, 2, 3, 4, 1).flatten(1)


def doubling(filters, most, n):
    return [min(filters << i, most) for i in range(n)]


class Sc18(Network):
    """Mathuriya et al. 2018: nothing padded."""

    def __init__(self, inputs, classes, filters=16, most=256, kernels=(3, 4, 4, 3, 3, 2, 2), dense=(2048, 256), dropout=0.5):
        widths = [1, *doubling(filters, most, 7)]
        convolutions = [(widths[i], widths[i + 1], kernels[i], {"stride": 2 if i == 3 else 1}) for i in range(7)]
        super().__init__(convolutions, [inputs, *dense, classes], dropout, 0.01)

    def forward(self, x):
        for i in range(1, 8):
            x = F.leaky_relu(self.named("conv", i)(x), self.slope)
            if i <= 3:
                x = F.avg_pool3d(x, 2)
        return self.head(last_axis(x), True)


class Lbann2020(Network):
    """Oyama et al. 2020: a pool after each convolution that leaves a side of 3 or more."""

    def __init__(self, inputs, classes, filters=16, most=256, dense=(2048, 256), norm=True, dropout=0.2):
        widths = [4, *doubling(filters, most, 7)]
        convolutions = [(widths[i], widths[i + 1], 3, {"stride": 2 if i == 3 else 1, "padding": 1, "bias": False})
                        for i in range(7)]
        super().__init__(convolutions, [inputs, *dense, classes], dropout, 0.01)
        self.norm = norm
        if norm:
            for i in range(1, 8):
                self.add_module(f"norm{i}", nn.BatchNorm3d(widths[i], momentum=0.001))

    def forward(self, x):
        for i in range(1, 8):
            x = self.named("conv", i)(x)
            if self.norm:
                x = self.named("norm", i)(x)
            x = F.leaky_relu(x, self.slope)
            if min(x.shape[2:]) > 2:
                x = F.avg_pool3d(x, 3, 2, 1)
        return self.head(x.flatten(1), True)


class Lbann2023(Network):
    """LBANN's since 2023, a convolution for each halving of the cube down to a side of 4."""

    def __init__(self, inputs, classes, convolutions, filters=16, most=256, dense=(2048, 256), dropout=0.5):
        widths = [4, *doubling(filters, most, convolutions)]
        super().__init__([(widths[i], widths[i + 1], 3, {"padding": 1}) for i in range(convolutions)],
                         [inputs, *dense, classes], dropout, 0.3)

    def forward(self, x):
        for i in range(1, self.convolutions + 1):
            x = F.avg_pool3d(F.leaky_relu(self.named("conv", i)(x), self.slope), 3, 2, 1)
        return 1.2 * self.head(x.flatten(1), False).tanh()


class Mlperf(Network):
    """MLPerf HPC (a pool drops an odd last plane); even kernels are padded at the end only."""

    def __init__(self, inputs, classes, kernel=3, filters=32, most=512, dense=(128, 64), dropout=0.5):
        self.even = kernel % 2 == 0
        widths = [4, *doubling(filters, most, 5)]
        padding = 0 if self.even else kernel // 2
        super().__init__([(widths[i], widths[i + 1], kernel, {"padding": padding}) for i in range(5)],
                         [inputs, *dense, classes], dropout, 0.3)
        self.kernel = kernel

    def forward(self, x):
        for i in range(1, 6):
            if self.even:
                x = F.pad(x, (self.kernel // 2 - 1, self.kernel // 2) * 3)
            x = F.leaky_relu(self.named("conv", i)(x), self.slope)
            x = F.max_pool3d(x, 2)
        return 1.2 * self.head(last_axis(x), False).tanh()
