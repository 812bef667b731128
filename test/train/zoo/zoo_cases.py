# SPDX-License-Identifier: BSD-3-Clause
"""The networks that zoo_compare.py compares: small configs of this folder, and the same networks in PyTorch."""
import os
import sys

import torch
from torch.nn import functional as F

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from networks.cosmoflow import Lbann2020, Lbann2023, Mlperf, Sc18  # noqa: E402
from networks.deepcam import DeepCam  # noqa: E402
from networks.deeplab import DeepLab  # noqa: E402
from networks.resnet import NETWORKS as RESNETS, ResNet  # noqa: E402
from networks.tiramisu import Tiramisu  # noqa: E402
from networks.unet3d import UNet3D  # noqa: E402

IGNORE = 255


class Case:
    """config: of this folder, without -small.yaml; make: the network; keys: what is set otherwise than in the config.

    size: of an input; batch: samples a step; classes: of labels, or of a vector to regress; one_label: a sample has one label.
    rate, decay: of SGD with momentum 0.9, as the config has them. calm: the network has shifts that keep what its ReLUs get away
    from zero. curve: a run of several steps in each check; the others in the big one. large: compared in the big one alone. seed: of
    the data that is tried first."""

    def __init__(self, config, make, size, channels, classes, batch, loss, rate, keys=(), decay=0.0, one_label=False, calm=True,
                 curve=False, large=False, seed=0):
        self.config, self.make, self.size, self.channels, self.classes = config, make, size, channels, classes
        self.batch, self.loss, self.rate, self.keys, self.decay = batch, loss, rate, keys, decay
        self.one_label, self.calm, self.curve, self.large, self.seed = one_label, calm, curve, large, seed
        self.vector = loss in (F.mse_loss, F.l1_loss)

    def title(self):
        return " ".join([self.config, *self.keys])

    def optimizer(self, parameters, rate=None):
        return torch.optim.SGD(parameters, lr=rate or self.rate, momentum=0.9, weight_decay=self.decay)

    def target(self, t):
        return torch.as_tensor(t).double() if self.vector else torch.as_tensor(t).long()


def plain(output, target):
    return F.cross_entropy(output, target, ignore_index=IGNORE)


def weighted(output, target):
    return F.cross_entropy(output, target, output.new_tensor([0.2, 0.5, 0.3]), ignore_index=IGNORE)


def cosmoflow(config, make, size, channels, classes, batch, loss, keys=(), **more):
    """Dropout draws other numbers, and zero weights in the last layer would leave the others without a gradient."""
    still = ["model.dropout=0", "model.output_zero_init=false", *keys]
    return Case("cosmoflow-" + config, make, size, channels, classes, batch, loss, 0.01, still, **more)


def unet3d(make, keys=(), **more):
    return Case("unet3d-lits", make, (16, 13, 10), 1, 3, 2, plain, 0.02, keys, **more)


def deeplab(keys, more=(), **network):
    return Case("deeplabv3+-sc18", lambda: DeepLab(5, 3, 4, 8, 6, (1, 2, 3), **network), (21, 27), 5, 3, 3, weighted, 0.0002,
                ["optimizer.learning_rate=0.0002", *("model." + k for k in keys)], **dict(more))


def deepcam(keys, more=(), **network):
    widths = (4, 6, 8, 8, 12, 16, 16, 20)
    return Case("deepcam-mlperf", lambda: DeepCam(5, 3, widths, 1, (1, 2, 3), 8, 6, **network), (29, 38), 5, 3, 3, weighted, 0.0002,
                ["optimizer.learning_rate=0.0002", *("model." + k for k in keys)], **dict(more))


def tiramisu(size, keys=(), more=(), rate=0.02, **network):
    return Case("tiramisu", lambda: Tiramisu(4, 3, blocks=[2, 1, 3], growth=6, first=8, **network), size, 4, 3, 3, plain, rate,
                [f"optimizer.learning_rate={rate}", *("model." + k for k in keys)], 1e-4, **dict(more))


def resnet(depth, **more):
    return Case("resnet-18", lambda: ResNet(*RESNETS[depth], 3, 10), (33, 20), 3, 10, 3, F.cross_entropy, 0.0003,
                [f"model.depth={depth}", "optimizer.learning_rate=0.0003"], 1e-4, one_label=True, **more)


CURVE = {"curve": True}
FAMILIES = {
    "cosmoflow": [
        cosmoflow("sc18", lambda: Sc18(8, 3, 2, 8, (3, 4, 4, 3, 2, 1, 1), (16, 12), 0), (60, 61, 62), 1, 3, 2, F.l1_loss),
        cosmoflow("lbann-2020", lambda: Lbann2020(16 * 8, 4, 4, 16, (24, 12), True, 0), (32, 32, 32), 4, 4, 2, F.mse_loss,
                  curve=True),
        cosmoflow("lbann-2020", lambda: Lbann2020(16 * 8, 4, 4, 16, (24, 12), False, 0), (32, 32, 32), 4, 4, 2, F.mse_loss,
                  ["model.batch_norm=false"], calm=False),
        cosmoflow("lbann-2023", lambda: Lbann2023(8 * 64, 4, 3, 4, 8, (24, 12), 0), (32, 32, 32), 4, 4, 2, F.mse_loss),
        # a pool drops an odd last plane
        cosmoflow("mlperf", lambda: Mlperf(16, 4, 3, 4, 16, (12, 8), 0), (35, 33, 32), 4, 4, 2, F.mse_loss, seed=7),
        cosmoflow("mlperf-v0.7", lambda: Mlperf(16, 4, 2, 4, 16, (12, 8), 0), (35, 33, 32), 4, 4, 2, F.mse_loss, seed=16),
    ],
    "unet3d": [
        unet3d(lambda: UNet3D(1, 3, 4), curve=True),
        unet3d(lambda: UNet3D(1, 3, 4, 0, False, True),
               ["model.batch_norm=false", "model.conv_bias=true", "model.output_bias=true", "model.slope=0"]),
    ],
    "deeplab": [
        deeplab(["variant=sc18"], CURVE),
        deeplab(["variant=sc18-no-batch-norm"], {"calm": False}, batch_norm=False),
        deeplab(["decoder=deconv", "alignment=pytorch"], decoder="deconv", alignment="pytorch"),
        deeplab(["decoder=bilinear", "postnorm=false", "image_affine=true"], decoder="bilinear", postnorm=False, affine=True),
    ],
    "deepcam": [deepcam(["low_level=rectified"], CURVE), deepcam(["low_level=raw"], raw=True)],
    "tiramisu": [
        tiramisu((24, 36), (), CURVE, 1e-7, style="kurth", kernel=5, norm=False),
        tiramisu((19, 23), ["batch_norm=true"], style="kurth", kernel=5),
        tiramisu((22, 27), ["variant=fc-densenet56"], CURVE, 1e-3, style="jegou", kernel=3, eps=1e-4),
    ],
    "resnet": [resnet(18, curve=True), resnet(50, large=True)],
}
