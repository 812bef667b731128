# SPDX-License-Identifier: BSD-3-Clause
"""Networks that together have every kind of layer, every loss and every optimizer: as dlx's layers and again in
PyTorch. A case is a dictionary:

  layers     text of model.layers, one flow mapping a line
  forward    the same network on (x, p), p the parameters by name
  input      shape of a sample             target   shape of a sample's target
  classes    the target holds labels of N classes
  batch      samples of a batch, BATCH if left out
  convert    options of dlx-convert
  config     more sections of the config, as text
  loss       (output, target) -> scalar
  optimizer  parameters -> torch.optim.Optimizer
"""
import torch
from torch.nn import functional as F

IGNORE = 255


def bn(x, p, name, eps=1e-5):
    return F.batch_norm(x, None, None, p[name + ".weight"], p[name + ".bias"], True, 0.1, eps)


def conv(f, x, p, name, **keys):
    return f(x, p[name + ".weight"], p.get(name + ".bias"), **keys)


def labels(weight=None):
    def loss(output, target):
        w = None if weight is None else torch.tensor(weight, dtype=output.dtype)
        return F.cross_entropy(output, target, w, ignore_index=IGNORE)

    return loss


def focal(weight, gamma, reduction, scale):
    """As in the paper, element by element; gamma 0 is the weighted cross-entropy of SC18 and MLPerf."""

    def loss(output, target):
        w = torch.tensor(weight, dtype=output.dtype)
        counted = target != IGNORE
        label = torch.where(counted, target, torch.zeros_like(target))
        share = F.softmax(output, 1).gather(1, label.unsqueeze(1)).squeeze(1)
        each = w[label] * (1 - share) ** gamma * -torch.log(share) * counted
        by = {"sum": 1, "mean_pixels": counted.sum(), "mean": (w[label] * counted).sum()}
        return scale * each.sum() / by[reduction]

    return loss


def sgd(**keys):
    return lambda parameters: torch.optim.SGD(parameters, **keys)


def adam(kind=torch.optim.Adam, **keys):
    return lambda parameters: kind(parameters, **keys)


def segment(x, p):
    """Strides, dilation, groups, padding by both kinds of pool, both kinds of resize, concat of a skip."""
    a = F.leaky_relu(bn(conv(F.conv2d, F.pad(x, (1, 2, 0, 1)), p, "a"), p, "an"), 0.1)
    b = F.max_pool2d(F.pad(a, (1, 1, 1, 1), value=-torch.inf), 3, 2)
    b = torch.tanh(conv(F.conv2d, b, p, "b", padding=2, dilation=2, groups=2))
    c = F.avg_pool2d(b, 2, 2, 1, count_include_pad=True)
    c = torch.sigmoid(conv(F.conv2d, c, p, "c", stride=(2, 1), padding=(1, 0)))
    d = F.interpolate(c, size=b.shape[2:], mode="bilinear", align_corners=False)
    d = F.relu(bn(conv(F.conv2d, torch.cat([b, d], 1), p, "d"), p, "dn"))
    e = F.interpolate(d, size=a.shape[2:], mode="nearest")
    return conv(F.conv2d, torch.cat([e, a[:, 1:5]], 1), p, "e")


SEGMENT = """
- conv2d: {filters: 8, kernel: [3, 4], padding: {before: [0, 1], after: [1, 2]}, name: a, bias: false}
- batch_norm: {name: an}
- leaky_relu: {slope: 0.1, name: a_act}
- max_pool: {kernel: 3, stride: 2, pad_lo: 1, pad_hi: 1}
- conv2d: {filters: 6, kernel: 3, padding: 2, dilation: 2, groups: 2, name: b}
- tanh: {name: b_act}
- average_pool: {kernel: 2, pad_lo: 1, pad_hi: 1, count_padding: true}
- conv2d: {filters: 5, kernel: [3, 1], stride: [2, 1], padding: [1, 0], name: c}
- sigmoid
- resize: {size: [6, 9], mode: bilinear, name: c_up}
- concat: {inputs: [b_act, previous]}
- conv2d: {filters: 7, kernel: 1, name: d, bias: false}
- batch_norm: {name: dn}
- relu
- resize: {size: [11, 17], mode: nearest, name: d_up}
- slice: {axis: 1, begin: 1, size: 4, inputs: [a_act], name: some}
- concat: {inputs: [d_up, some]}
- conv2d: {filters: 4, kernel: 1, name: e}
"""


def upward(x, p):
    """Transposed convolutions (SAME, explicit padding, output_padding, groups), aligned corners, arithmetic."""
    a = F.relu(conv(F.conv2d, F.pad(x, (0, 1, 0, 1)), p, "a", stride=2))
    b = F.softplus(conv(F.conv_transpose2d, a, p, "b", stride=2)[:, :, :10, :12])
    c = conv(F.conv_transpose2d, a, p, "c", stride=2, padding=1, output_padding=1, groups=2, dilation=1)
    d = b * c - torch.square(b) + 0.5 * c + 0.25
    e = F.interpolate(d[:, :, 1:6, :], size=(10, 12), mode="bilinear", align_corners=True)
    f = F.pad(d / (torch.exp(e * 0.1) + 1), (2, 1, 1, 0), value=0.5)
    f = F.avg_pool2d(f, (3, 2), (2, 3), (1, 0), count_include_pad=False)
    return conv(F.conv_transpose2d, f, p, "g", stride=(1, 2), dilation=(1, 2), padding=(1, 0))


UPWARD = """
- conv2d: {filters: 6, kernel: 3, stride: 2, padding: same, name: a}
- relu: {name: a_act}
- conv_transpose2d: {filters: 4, kernel: 3, stride: 2, padding: same, name: b}
- softplus: {name: b_act}
- conv_transpose2d: {filters: 4, kernel: 3, stride: 2, padding: 1, output_padding: 1, groups: 2, inputs: [a_act], name: c}
- multiply: {inputs: [b_act, c], name: bc}
- square: {inputs: [b_act], name: bb}
- subtract: {inputs: [bc, bb]}
- scale: {factor: 0.5, shift: 0.25, inputs: [c], name: half}
- add: {inputs: [subtract_0, half], name: d}
- slice: {axis: 2, begin: 1, size: 5}
- resize: {size: [10, 12], mode: bilinear, align_corners: true}
- scale: {factor: 0.1}
- exp
- scale: {shift: 1, name: below}
- divide: {inputs: [d, below]}
- pad: {before: [0, 0, 1, 2], after: [0, 0, 0, 1], value: 0.5}
- average_pool: {kernel: [3, 2], stride: [2, 3], pad_lo: [1, 0], pad_hi: [1, 0], count_padding: false}
- conv_transpose2d: {filters: 2, kernel: [3, 2], stride: [1, 2], dilation: [1, 2], padding: [1, 0], name: g}
"""


def volume(x, p):
    """Three spatial axes down to a dense classifier."""
    a = F.relu(bn(conv(F.conv3d, x, p, "a", stride=(1, 2, 1), padding=(1, 1, 0)), p, "an", 1e-3))
    b = F.max_pool3d(a, 2)
    b = F.relu(conv(F.conv3d, b, p, "b", padding=1, groups=2))
    c = F.relu(conv(F.conv_transpose3d, b, p, "c", stride=(2, 1, 2)))
    d = torch.cat([F.avg_pool3d(c, (2, 1, 3)).mean((2, 3, 4)), b.mean((2, 3, 4))], 1)
    return F.linear(torch.tanh(F.linear(d, p["h.weight"], p["h.bias"])), p["o.weight"])


VOLUME = """
- conv3d: {filters: 6, kernel: [3, 3, 2], stride: [1, 2, 1], padding: [1, 1, 0], name: a, bias: false}
- batch_norm: {name: an, eps: 1.0e-3}
- relu
- max_pool: {kernel: 2}
- conv3d: {filters: 8, kernel: 3, padding: 1, groups: 2, name: b}
- relu: {name: b_act}
- conv_transpose3d: {filters: 4, kernel: [2, 3, 2], stride: [2, 1, 2], name: c}
- relu
- average_pool: {kernel: [2, 1, 3]}
- global_average: {name: c_mean}
- global_average: {inputs: [b_act], name: b_mean}
- concat: {inputs: [c_mean, b_mean]}
- dense: {units: 9, name: h}
- tanh
- dense: {units: 5, bias: false, name: o}
"""


def perceptron(x, p):
    y = torch.log(torch.square(x.flatten(1)) + 1)
    y = torch.sqrt(F.softplus(F.linear(y, p["a.weight"], p["a.bias"])) + 0.5)
    y = F.relu(bn(y, p, "n"))
    return F.linear(y, p["b.weight"], p["b.bias"])


PERCEPTRON = """
- flatten
- square
- scale: {shift: 1}
- log
- dense: {units: 11, name: a}
- softplus
- scale: {shift: 0.5}
- sqrt
- batch_norm: {name: n}
- relu
- dense: {units: 3, name: b}
"""


def normalised(x, p):
    """Norms within a sample, and smooth activations."""
    a = F.gelu(F.group_norm(conv(F.conv2d, x, p, "a"), 4, p["an.weight"], p["an.bias"]))
    b = F.silu(F.instance_norm(conv(F.conv2d, a, p, "b")))
    c = F.instance_norm(F.elu(conv(F.conv2d, b, p, "c"), 0.7), weight=p["cn.weight"], bias=p["cn.bias"], eps=1e-3)
    d = conv(F.conv2d, c, p, "d").movedim(1, 3)
    d = F.gelu(F.layer_norm(d, d.shape[3:], p["dn.weight"], p["dn.bias"]).movedim(3, 1), approximate="tanh")
    e = F.group_norm(conv(F.conv2d, d, p, "e"), 1)
    return F.softmax(e, 1)


NORMALISED = """
- conv2d: {filters: 12, kernel: 3, name: a}
- group_norm: {groups: 4, name: an}
- gelu
- conv2d: {filters: 10, kernel: 3, name: b}
- instance_norm
- silu
- conv2d: {filters: 7, kernel: [1, 2], name: c}
- elu: {alpha: 0.7}
- instance_norm: {affine: true, eps: 1.0e-3, name: cn}
- conv2d: {filters: 9, kernel: 1, name: d}
- layer_norm: {name: dn}
- gelu: {approximate: tanh}
- conv2d: {filters: 4, kernel: 1, name: e}
- group_norm: {groups: 1, affine: false}
- softmax
"""


def brief(x, p):
    """Activations as a key, resize by factors, adaptive pooling."""
    a = F.gelu(conv(F.conv2d, x, p, "a", padding=1))
    b = F.interpolate(a, scale_factor=2, mode="bilinear", align_corners=False)
    b = F.leaky_relu(conv(F.conv_transpose2d, F.group_norm(b, 3, p["an.weight"], p["an.bias"]), p, "b"), 0.01)
    b = F.interpolate(F.max_pool2d(b, 2), scale_factor=(1.5, 0.5), mode="nearest", recompute_scale_factor=True)
    c = F.adaptive_avg_pool2d(b, (4, 3))
    d = F.silu(F.linear(c.flatten(1), p["c.weight"], p["c.bias"]))
    return F.linear(F.elu(d, 0.5), p["d.weight"], p["d.bias"])


BRIEF = """
- conv2d: {filters: 6, kernel: 3, padding: same, activation: gelu, name: a}
- resize: {factor: 2}
- group_norm: {groups: 3, name: an}
- conv_transpose2d: {filters: 5, kernel: 2, activation: leaky_relu, name: b}
- max_pool: 2
- resize: {factor: [1.5, 0.5], mode: nearest}
- adaptive_average_pool: [4, 3]
- flatten
- dense: {units: 7, activation: silu, name: c}
- elu: 0.5
- dense: {units: 3, name: d}
"""


def series(x, p):
    """One spatial axis."""
    a = F.relu(bn(conv(F.conv1d, F.pad(x, (1, 2)), p, "a", stride=2), p, "an"))
    b = F.max_pool1d(a, 2)
    b = F.silu(F.instance_norm(conv(F.conv1d, b, p, "b", padding=2, dilation=2, groups=2)))
    c = F.avg_pool1d(conv(F.conv_transpose1d, b, p, "c", stride=3, padding=1), 3, 2)
    d = F.interpolate(c, scale_factor=2, mode="linear", align_corners=False)
    return conv(F.conv1d, F.adaptive_avg_pool1d(d, 5), p, "d")


SERIES = """
- conv1d: {filters: 8, kernel: 5, stride: 2, padding: {before: 1, after: 2}, name: a}
- batch_norm: {name: an}
- relu
- max_pool: 2
- conv1d: {filters: 6, kernel: 3, padding: 2, dilation: 2, groups: 2, name: b}
- instance_norm
- silu
- conv_transpose1d: {filters: 5, kernel: 4, stride: 3, padding: 1, name: c}
- average_pool: {kernel: 3, stride: 2}
- resize: {factor: 2}
- adaptive_average_pool: 5
- conv1d: {filters: 2, kernel: 1, name: d}
"""


WEIGHTS = [0.5, 2.0, 1.0, 3.0]
CASES = {
    "segment": {
        "layers": SEGMENT, "forward": segment, "input": (3, 12, 17), "target": (11, 17), "classes": 4,
        "config": "loss: {type: softmax_cross_entropy, class_weights: [0.5, 2.0, 1.0, 3.0]}\n"
                  "optimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9, weight_decay: 0.01, exempt: none}",
        "loss": labels(WEIGHTS), "optimizer": sgd(lr=0.1, momentum=0.9, weight_decay=0.01),
    },
    "upward": {
        "layers": UPWARD, "forward": upward, "input": (3, 10, 12), "target": (2, 6, 11),
        "config": "loss: {type: mse}\noptimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9, nesterov: true}",
        "loss": F.mse_loss, "optimizer": sgd(lr=0.1, momentum=0.9, nesterov=True),
    },
    "upward-l1": {
        "layers": UPWARD, "forward": upward, "input": (3, 10, 12), "target": (2, 6, 11),
        "config": "loss: {type: l1}\noptimizer: {type: adam, learning_rate: 0.01, weight_decay: 0.1, exempt: none}",
        "loss": F.l1_loss, "optimizer": adam(lr=0.01, weight_decay=0.1),
    },
    "volume": {
        "layers": VOLUME, "forward": volume, "input": (2, 7, 9, 10), "target": (), "classes": 5,
        "config": "loss: {type: softmax_cross_entropy}\n"
                  "optimizer: {type: adam, learning_rate: 0.01, weight_decay: 0.1, exempt: none, decoupled: true, beta1: 0.8}",
        "loss": labels(), "optimizer": adam(torch.optim.AdamW, lr=0.01, weight_decay=0.1, betas=(0.8, 0.999)),
    },
    "normalised": {
        "layers": NORMALISED, "forward": normalised, "input": (3, 11, 9), "target": (4, 7, 4),
        "config": "loss: {type: mse}\noptimizer: {type: sgd, learning_rate: 0.1, momentum: 0.9}",
        "loss": F.mse_loss, "optimizer": sgd(lr=0.1, momentum=0.9),
    },
    "brief": {
        "layers": BRIEF, "forward": brief, "input": (3, 7, 9), "target": (3,),
        "config": "loss: {type: mse}\noptimizer: {type: sgd, learning_rate: 0.1}",
        "loss": F.mse_loss, "optimizer": sgd(lr=0.1),
    },
    "series": {
        "layers": SERIES, "forward": series, "input": (3, 37), "target": (2, 5),
        "convert": ["--input-layout", "first", "--target-layout", "first"],
        "config": "loss: {type: mse}\noptimizer: {type: sgd, learning_rate: 0.1}",
        "loss": F.mse_loss, "optimizer": sgd(lr=0.1),
    },
    "perceptron": {
        "layers": PERCEPTRON, "forward": perceptron, "input": (2, 3, 4), "target": (3,), "batch": 16,
        "config": "loss: {type: huber, delta: 0.7}\noptimizer: {type: sgd, learning_rate: 0.1}",
        "loss": lambda y, t: F.huber_loss(y, t, delta=0.7), "optimizer": sgd(lr=0.1),
    },
}


def segment_under(config, loss):
    return {**CASES["segment"], "loss": loss, "optimizer": sgd(lr=0.1),
            "config": f"loss: {config}\noptimizer: {{type: sgd, learning_rate: 0.1}}"}


PLAIN = "class_weights: [0.5, 2.0, 1.0, 3.0]"
CASES |= {
    "segment-sum": segment_under(
        f"{{type: softmax_cross_entropy, {PLAIN}, reduction: sum, scale: 0.001}}", focal(WEIGHTS, 0, "sum", 0.001)),
    "segment-pixels": segment_under(
        f"{{type: softmax_cross_entropy, {PLAIN}, normalize: true, reduction: mean_pixels}}",
        focal([w / sum(WEIGHTS) for w in WEIGHTS], 0, "mean_pixels", 1)),
    "segment-focal": segment_under(f"{{type: focal, {PLAIN}, alpha: 0.25}}", focal(WEIGHTS, 2, "mean", 0.25)),
    "segment-focal-pixels": segment_under(
        "{type: focal, gamma: 1.5, reduction: mean_pixels, scale: 2}", focal([1.0] * 4, 1.5, "mean_pixels", 2)),
}
