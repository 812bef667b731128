# SPDX-License-Identifier: BSD-3-Clause
"""The five CosmoFlow networks at small widths compared with PyTorch's: one step, twenty steps, prediction. Targets are
vectors."""
import sys

import torch
from torch.nn import functional as F

from pytorch_volumes import Case, compare_curve, compare_step, dlx, make_data
from networks.cosmoflow import Lbann2020, Lbann2023, Mlperf, Sc18


def sgd(parameters):
    return torch.optim.SGD(parameters, lr=0.01, momentum=0.9)


# Dropout draws other numbers, and zero weights in the last layer would leave the others without a gradient.
STILL = ["model.dropout=0", "model.output_zero_init=false"]


def sc18():
    return Sc18(8, 3, 2, 8, (3, 4, 4, 3, 2, 1, 1), (16, 12), 0)


def lbann_2020(norm):
    return Lbann2020(16 * 8, 4, 4, 16, (24, 12), norm, 0)


def lbann_2023():
    return Lbann2023(8 * 64, 4, 3, 4, 8, (24, 12), 0)


def mlperf(kernel):
    return Mlperf(16, 4, kernel, 4, 16, (12, 8), 0)


SC18 = ((1, 60, 61, 62), 3)
LBANN, MLPERF = ((4, 32, 32, 32), 4), ((4, 35, 33, 32), 4)  # a pool drops an odd last plane
CASES = [
    (Case("cosmoflow-sc18", sc18, F.l1_loss, sgd, 2, STILL), SC18),
    (Case("cosmoflow-lbann-2020", lambda: lbann_2020(True), F.mse_loss, sgd, 2, STILL), LBANN),
    (Case("cosmoflow-lbann-2020", lambda: lbann_2020(False), F.mse_loss, sgd, 2, STILL + ["model.batch_norm=false"]), LBANN),
    (Case("cosmoflow-lbann-2023", lbann_2023, F.mse_loss, sgd, 3, STILL), LBANN),
    (Case("cosmoflow-mlperf", lambda: mlperf(3), F.mse_loss, sgd, 3, STILL), MLPERF),
    (Case("cosmoflow-mlperf-v0.7", lambda: mlperf(2), F.mse_loss, sgd, 3, STILL), MLPERF),
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
