# SPDX-License-Identifier: BSD-3-Clause
"""The five CosmoFlow networks in PyTorch, written from their publications' tables at small widths, and dlx compared
with them: one step, twenty steps, prediction. Targets are vectors."""
import sys

import torch
from torch import nn
from torch.nn import functional as F

from pytorch_volumes import Case, compare_curve, compare_step, dlx, make_data


class Network(nn.Module):
    """Layers by dlx's names: conv1, norm1, ..., fc1."""

    def __init__(self, convolutions, dense):
        super().__init__()
        for i, (inputs, filters, kernel, keys) in enumerate(convolutions, 1):
            self.add_module(f"conv{i}", nn.Conv3d(inputs, filters, kernel, **keys))
        for i, (inputs, units) in enumerate(zip(dense, dense[1:]), 1):
            self.add_module(f"fc{i}", nn.Linear(inputs, units))

    def named(self, part, i):
        return getattr(self, f"{part}{i}")


def last_axis(x):
    """Flattened as TensorFlow has it, channels last."""
    return x.permute(0, 2, 3, 4, 1).flatten(1)


class Sc18(Network):
    """Mathuriya et al. 2018, filters 2, 4, 8, 8 ..., the last three kernels smaller: nothing padded."""

    def __init__(self):
        widths, kernels = [1, 2, 4, 8, 8, 8, 8, 8], [3, 4, 4, 3, 2, 1, 1]
        convolutions = [(widths[i], widths[i + 1], kernels[i], {"stride": 2 if i == 3 else 1}) for i in range(7)]
        super().__init__(convolutions, [8, 16, 12, 3])

    def forward(self, x):
        for i in range(1, 8):
            x = F.leaky_relu(self.named("conv", i)(x), 0.01)
            if i <= 3:
                x = F.avg_pool3d(x, 2)
        x = last_axis(x)
        x = F.leaky_relu(self.fc1(x), 0.01)
        x = F.leaky_relu(self.fc2(x), 0.01)
        return self.fc3(x)


class Lbann2020(Network):
    """Oyama et al. 2020 at 32 cubed: pools after convolutions 1 to 3, the side being 2 from there."""

    def __init__(self, norm):
        widths = [4, 4, 8, 16, 16, 16, 16, 16]
        convolutions = [(widths[i], widths[i + 1], 3, {"stride": 2 if i == 3 else 1, "padding": 1, "bias": False})
                        for i in range(7)]
        super().__init__(convolutions, [16 * 8, 24, 12, 4])
        self.norm = norm
        if norm:
            for i in range(1, 8):
                self.add_module(f"norm{i}", nn.BatchNorm3d(widths[i], momentum=0.001))

    def forward(self, x):
        for i in range(1, 8):
            x = self.named("conv", i)(x)
            if self.norm:
                x = self.named("norm", i)(x)
            x = F.leaky_relu(x)
            if i <= 3:
                x = F.avg_pool3d(x, 3, 2, 1)
        x = x.flatten(1)
        x = F.leaky_relu(self.fc1(x))
        x = F.leaky_relu(self.fc2(x))
        return self.fc3(x)


class Lbann2023(Network):
    """LBANN's at 32 cubed, three convolutions."""

    def __init__(self):
        widths = [4, 4, 8, 8]
        super().__init__([(widths[i], widths[i + 1], 3, {"padding": 1}) for i in range(3)], [8 * 64, 24, 12, 4])

    def forward(self, x):
        for i in range(1, 4):
            x = F.avg_pool3d(F.leaky_relu(self.named("conv", i)(x), 0.3), 3, 2, 1)
        x = x.flatten(1)
        x = F.leaky_relu(self.fc1(x), 0.3)
        x = F.leaky_relu(self.fc2(x), 0.3)
        return 1.2 * torch.tanh(self.fc3(x))


class Mlperf(Network):
    """MLPerf HPC at 35 x 33 x 32 (a pool drops an odd last plane); even kernels are padded at the end only."""

    def __init__(self, kernel):
        self.kernel = kernel
        widths = [4, 4, 8, 16, 16, 16]
        super().__init__([(widths[i], widths[i + 1], kernel, {}) for i in range(5)], [16, 12, 8, 4])

    def forward(self, x):
        before, after = (self.kernel - 1) // 2, self.kernel // 2
        for i in range(1, 6):
            x = F.leaky_relu(self.named("conv", i)(F.pad(x, (before, after) * 3)), 0.3)
            x = F.max_pool3d(x, 2)
        x = last_axis(x)
        x = F.leaky_relu(self.fc1(x), 0.3)
        x = F.leaky_relu(self.fc2(x), 0.3)
        return 1.2 * torch.tanh(self.fc3(x))


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


# Dropout draws other numbers, and zero weights in the last layer would leave the others without a gradient.
STILL = ["model.dropout=0", "model.output_zero_init=false"]
SC18 = ((1, 60, 61, 62), 3)
CASES = [
    (Case("cosmoflow-sc18", Sc18, F.l1_loss, sgd, 2, STILL), SC18),
    (Case("cosmoflow-lbann-2020", lambda: Lbann2020(True), F.mse_loss, sgd, 2, STILL), ((4, 32, 32, 32), 4)),
    (Case("cosmoflow-lbann-2020", lambda: Lbann2020(False), F.mse_loss, sgd, 2, STILL + ["model.batch_norm=false"]),
     ((4, 32, 32, 32), 4)),
    (Case("cosmoflow-lbann-2023", Lbann2023, F.mse_loss, sgd, 3, STILL), ((4, 32, 32, 32), 4)),
    (Case("cosmoflow-mlperf", lambda: Mlperf(3), F.mse_loss, sgd, 3, STILL), ((4, 35, 33, 32), 4)),
    (Case("cosmoflow-mlperf-v0.7", lambda: Mlperf(2), F.mse_loss, sgd, 3, STILL), ((4, 35, 33, 32), 4)),
]


def main():
    torch.set_num_threads(1)
    check = dlx.Comparison()
    for case, (inputs, classes) in CASES:
        x, y = make_data(case, inputs, (classes,))
        for device in ["reference", "cpu"]:
            compare_step(check, case, device)
        compare_curve(check, case, "cpu", x, y)
    check.finish()


if __name__ == "__main__":
    sys.exit(main())
