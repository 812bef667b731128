# SPDX-License-Identifier: BSD-3-Clause
"""Weights from which a network's gradients are well conditioned, for comparisons in float32. A value that a ReLU gets near zero, or two
near maxima of a pool, can fall on different sides in two correct programs, and a gradient then differs by far more than rounding
does."""
import contextlib
import json
import struct
import unittest.mock

import torch
from torch import nn
from torch.nn import functional as F

# Least distances, by the largest value of the tensor. Outputs in float32 and float64 differ by some 1e-6 of it.
APART = {"relu": 3e-5, "maximum": 1e-6}


def write_safetensors(path, tensors):
    """As a state_dict of PyTorch is saved; int64 scalars (num_batches_tracked) too."""
    header, blobs, at = {}, [], 0
    for name, t in tensors.items():
        integer = not t.is_floating_point()
        data = t.detach().to(torch.int64 if integer else torch.float32).contiguous().numpy().tobytes()
        header[name] = {"dtype": "I64" if integer else "F32", "shape": list(t.shape), "data_offsets": [at, at + len(data)]}
        at += len(data)
        blobs.append(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def shift(module, inputs, y):
    """Moves the shift of a layer such that three channels of four are on and the others off, the same ones in every layer, so that
    sums of them are too."""
    by_channel = y.transpose(0, 1).flatten(1)
    low, high = by_channel.min(1)[0], by_channel.max(1)[0]
    margin, on = (high - low).max() / 2, torch.arange(len(low)) % 4 != 3
    move = torch.where(on, margin - low, -margin - high)
    # as float32 has it, in which the weights travel
    move = (module.bias.flatten() + move).float().double() - module.bias.flatten()
    module.bias += move.reshape(module.bias.shape)
    return y + move.reshape(1, -1, *[1] * (y.dim() - 2))


def calm(model, x):
    """Shifts of all layers but the last, by what they make of x."""
    layers = [m for m in model.modules() if isinstance(getattr(m, "weight", None), nn.Parameter)]
    called = []
    with torch.no_grad(), hooks(layers, lambda m, i, y: called.append(m)):
        model(x)
    with torch.no_grad(), hooks([m for m in layers if m is not called[-1] and m.bias is not None], shift):
        model(x)


@contextlib.contextmanager
def hooks(layers, function):
    handles = [m.register_forward_hook(function) for m in layers]
    yield
    for h in handles:
        h.remove()


class Kinks:
    """The least distance of what ReLUs and maxima get from where they bend, by the largest value of the tensor."""

    def __init__(self):
        self.least = dict.fromkeys(APART, 1.0)

    def note(self, kind, distances, x):
        if len(distances):
            self.least[kind] = min(self.least[kind], float(distances.min() / x.abs().max()))

    def apart(self, kinds=tuple(APART)):
        return all(self.least[k] >= APART[k] for k in kinds)

    def relu(self, original):
        def f(x, *a, **k):
            self.note("relu", x[x != 0].detach().abs(), x)
            return original(x, *a, **k)
        return f

    def maximum(self, original):
        """Only where a channel is on; from one that is off little or no gradient comes back."""
        def f(x, kernel, stride=None, padding=0, **k):
            pads = [padding] * (x.dim() - 2) if isinstance(padding, int) else padding
            windows = F.pad(x.detach(), [p for p in reversed(pads) for _ in (0, 1)], value=-1e30)
            for axis in range(2, x.dim()):
                windows = windows.unfold(axis, kernel, stride or kernel)
            top = windows.flatten(x.dim()).topk(2)[0]
            gap = top[..., 0] - top[..., 1]
            self.note("maximum", gap[(top[..., 0] > 0) & (top[..., 1] > -1e29)], x)
            return original(x, kernel, stride, padding, **k)
        return f

    @contextlib.contextmanager
    def watched(self):
        with contextlib.ExitStack() as s:
            for name in ("relu", "leaky_relu"):
                s.enter_context(unittest.mock.patch.object(F, name, self.relu(getattr(F, name))))
            for name in ("max_pool2d", "max_pool3d"):
                s.enter_context(unittest.mock.patch.object(F, name, self.maximum(getattr(F, name))))
            yield
