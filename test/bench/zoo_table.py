# SPDX-License-Identifier: BSD-3-Clause
"""The networks that `zoo` compares: a config of configs/ at a small size, and the same in PyTorch, with the widths, the loss, the
optimizer and the dropout of that config. PyTorch is imported where it is used, so that `zoo` itself stays small."""


class Network:
    """config: of configs/; tiny: a size for a look at whether it runs; keys: more for --set; module: makes the network of a
    Network; loss, optimizer: of this file."""

    def __init__(self, config, channels, size, batch, classes, module, loss, optimizer, tiny, keys=()):
        self.config, self.channels, self.size, self.batch, self.classes = config, channels, size, batch, classes
        self.module, self.loss, self.optimizer, self.tiny, self.keys = module, loss, optimizer, tiny, keys

    def shape(self):
        return (self.batch, self.channels, *self.size)

    def settings(self):
        """For dlx-train: the size, one micro-batch a step, and no data."""
        size = ", ".join(map(str, self.size))
        keys = [f"model.input={{channels: {self.channels}, size: [{size}]}}", f"model.classes={self.classes}",
                f"train.batch_size={self.batch}", "train.accumulate=1", "data.train=none.dlx", "data.validation=null",
                "data.transforms=[]", *self.keys]
        return [word for key in keys for word in ("--set", key)]


# --- losses: (output, target), targets being labels or fields ---


def labels(network):
    return network.loss in (cross_entropy, climate_mean, climate_sum, equal_sum)


def cross_entropy(output, target):
    from torch.nn.functional import cross_entropy as f

    return f(output, target)


def weighted_sum(output, target, weights):
    from torch.nn.functional import cross_entropy as f

    return f(output, target, output.new_tensor(weights), reduction="sum")


def climate_mean(output, target):
    return weighted_sum(output, target, [1.00172991, 2.61461122, 1.71641975]) / target.numel()


def climate_sum(output, target):
    return 0.1 * weighted_sum(output, target, [0.0217966, 0.8120462, 0.1661572])


def equal_sum(output, target):
    """Weights by frequency, of made-up labels that are all as frequent."""
    return 0.1 * weighted_sum(output, target, [1 / 3] * 3)


def mse(output, target):
    from torch.nn.functional import mse_loss as f

    return f(output, target)


def l1(output, target):
    from torch.nn.functional import l1_loss as f

    return f(output, target)


# --- optimizers of parameters, at a rate of 0 as in --bench; keys: fused=True on a GPU ---


def adam(parameters, **keys):
    from torch.optim import Adam

    return Adam(parameters, lr=0, **keys)


def adam_decay(parameters, **keys):
    return adam(parameters, weight_decay=1e-4, **keys)


def adam_lbann(parameters, **keys):
    return adam(parameters, betas=(0.9, 0.99), **keys)


def adam_deepcam(parameters, **keys):
    return adam(parameters, eps=1e-6, weight_decay=1e-6, **keys)


def adamw(parameters, **keys):
    from torch.optim import AdamW

    return AdamW(parameters, lr=0, weight_decay=1e-4, **keys)


def sgd(parameters, **keys):
    from torch.optim import SGD

    return SGD(parameters, lr=0, momentum=0.9, **keys)


def sgd_decay(parameters, **keys):
    return sgd(parameters, weight_decay=1e-4, **keys)


# --- networks ---


def tiramisu(n):
    from networks.tiramisu import SC18, Tiramisu

    return Tiramisu(n.channels, n.classes, **SC18)


def fc_densenet103(n):
    from networks.tiramisu import FC_DENSENET103, Tiramisu

    return Tiramisu(n.channels, n.classes, **FC_DENSENET103)


def fcn(n):
    from networks.fcn import FCDenseNet

    return FCDenseNet({}, n.channels, n.classes)


def demo(n):
    from networks.fcn import DEMO, FCDenseNet

    return FCDenseNet(DEMO, n.channels, n.classes)


def deeplab(n):
    from networks.deeplab import DeepLab

    return DeepLab(n.channels, n.classes)


def deepcam(n):
    from networks.deepcam import DeepCam

    return DeepCam(n.channels, n.classes)


def mlperf(n):
    from networks.cosmoflow import Mlperf

    return Mlperf(512 * (n.size[0] // 32) ** 3, n.classes)


def lbann_2020(n):
    from networks.cosmoflow import Lbann2020

    return Lbann2020(256 * 2**3, n.classes)


def resnet50(n):
    from networks.resnet import NETWORKS as KINDS, ResNet

    return ResNet(*KINDS[50], n.channels, n.classes)


def unet3d(n):
    from networks.unet3d import UNet3D

    return UNet3D(n.channels, n.classes)


NETWORKS = {
    "tiramisu": Network("tiramisu-sc18", 16, (192, 288), 1, 3, tiramisu, equal_sum, adam, (32, 32)),
    "fcn": Network("fcn-pool-avg", 256, (48, 48), 1, 1, fcn, l1, adam, (8, 8)),
    "deeplab": Network("deeplabv3+-sc18", 16, (128, 192), 2, 3, deeplab, climate_sum, adam, (32, 32)),
    "deepcam": Network("deepcam-mlperf", 16, (192, 288), 1, 3, deepcam, climate_mean, adam_deepcam, (32, 48)),
    "cosmoflow-mlperf": Network("cosmoflow-mlperf", 4, (128, 128, 128), 1, 4, mlperf, mse, sgd, (32, 32, 32),
                                ["model.dropout=0.5"]),
    "cosmoflow-lbann": Network("cosmoflow-lbann-2020", 4, (128, 128, 128), 1, 4, lbann_2020, mse, adam_lbann, (64, 64, 64)),
    "resnet50": Network("resnet-50", 3, (224, 224), 8, 1000, resnet50, cross_entropy, sgd_decay, (32, 32)),
    "fc-densenet103": Network("tiramisu-fc-densenet103", 3, (224, 224), 1, 11, fc_densenet103, cross_entropy, adam_decay, (64, 64)),
    "unet3d": Network("unet3d-lits", 1, (48, 48, 48), 1, 3, unet3d, cross_entropy, adam, (16, 16, 16)),
    "demo": Network("coads-fcn", 5, (90, 180), 4, 4, demo, cross_entropy, adamw, (16, 16)),
}
DROPOUT = ("tiramisu", "fcn", "cosmoflow-mlperf", "cosmoflow-lbann", "fc-densenet103")  # those that have any

# The sizes on a GPU: those that the networks were made for, where one GPU holds them, and samples a step.
GPU = {
    "tiramisu": ((768, 1152), 2),
    "fcn": ((512, 512), 1),
    "deeplab": ((768, 1152), 2),
    "deepcam": ((768, 1152), 8),
    "cosmoflow-mlperf": ((128, 128, 128), 16),
    "resnet50": ((224, 224), 256),
}
