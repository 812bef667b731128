# SPDX-License-Identifier: BSD-3-Clause
"""Losses with what is particular to them (smoothing, masks, weights, flags, Dice) against PyTorch in float64: the loss of a
batch and the gradient of every weight to 1e-6 on the reference device and 1e-5 on the CPU; the validation loss of the set
in batches of 1, 2 and all samples; and the loss curve of a multi-label classifier, which has to fall."""
import json

import numpy
import torch
from torch.nn import functional as F

import pytorch_dlx as dlx

TOLERANCE = {"reference": 1e-6, "cpu": 1e-5}
SAMPLES, CHANNELS, SIZE, CLASSES, IGNORE, MISSING = 5, 3, (9, 11), 4, 255, -999.0
FIELD = "conv2d: {filters: 4, kernel: 3, padding: same, name: last}"
FLAGS = "conv2d: {filters: 4, kernel: 3, padding: same, name: last}\n    - global_average"
CONFIG = """run: {{name: case, dir: runs/{name}, seed: 5}}
model:
  family: layers
  layers:
    - {layers}
data: {{train: {name}.dlx, validation: {name}.dlx, shuffle: false}}
loss: {{type: mse}}
optimizer: {{type: sgd, learning_rate: 0.1}}
train: {{steps: 1, batch_size: 5}}
checkpoint: {{every: null}}
report: {{progress: none, tensorboard: false, every: 1}}
"""


def make_sets():
    """labels: one sample is ignored throughout; values: with gaps, one sample has nothing else; flags: with gaps."""
    r = numpy.random.default_rng(2)
    x = r.standard_normal((SAMPLES, CHANNELS, *SIZE)).astype("f4")
    labels = r.choice(CLASSES, (SAMPLES, *SIZE), p=[0.6, 0.2, 0.15, 0.05]).astype("u1")
    labels[r.random(labels.shape) < 0.1] = IGNORE
    labels[0, 0, 0], labels[3] = CLASSES - 1, IGNORE
    nan, values = r.random((2, SAMPLES, CLASSES, *SIZE))
    values = (4 * values - 2).astype("f4")
    flags = (r.random((SAMPLES, CLASSES)) < 0.4).astype("f4")
    points = (r.random((SAMPLES, CLASSES, *SIZE)) < 0.3).astype("f4")
    sets = {"labels": labels, "nan": values.copy(), "missing": values.copy(), "values": values, "flags": flags.copy(),
            "gaps": flags.copy(), "points": points}
    for name, gap in ("nan", numpy.nan), ("missing", MISSING):
        sets[name][nan < 0.2] = sets[name][2] = gap
    sets["gaps"][1, 2] = sets["gaps"][4] = numpy.nan
    sets["points"][nan < 0.2] = -1
    for name, y in sets.items():
        dlx.write_data(name, x, y, "--fill", "nan")
        with open(name + ".yaml", "w") as f:
            f.write(CONFIG.format(name=name, layers=FLAGS if name in ("flags", "gaps") else FIELD))
    return sets


def smoothed(weight=None, **keys):
    def loss(o, t):
        w = None if weight is None else torch.tensor(weight, dtype=o.dtype)
        return F.cross_entropy(o, t.long(), w, ignore_index=IGNORE, **keys)

    return loss


def pixels(o, t):
    return smoothed([1, 2, 3, 0.5], label_smoothing=0.3, reduction="sum")(o, t) / (t != IGNORE).sum()


def masked(error, missing, weights=(1.0,) * CLASSES):
    def loss(o, t):
        counts = ~torch.isnan(t) & (t != missing)
        w = torch.tensor(weights, dtype=o.dtype).reshape(CLASSES, *[1] * (o.dim() - 2)).expand_as(o)
        each = error(o, torch.where(counts, t, torch.zeros_like(t)), reduction="none")
        return (each * w * counts).sum() / (w * counts).sum()

    return loss


def huber(o, t, **keys):
    return F.huber_loss(o, t, delta=0.7, **keys)


def flags(positive=(1.0,) * CLASSES, missing=None):
    def error(o, t, **keys):
        p = torch.tensor(positive, dtype=o.dtype).reshape(CLASSES, *[1] * (o.dim() - 2))
        return F.binary_cross_entropy_with_logits(o, t, pos_weight=p, **keys)

    return masked(error, missing)


def dice(weights=(1.0,) * CLASSES, squared=False, background=True, per_batch=False, above=1e-5, below=1e-5, part=1.0, entropy=0.0):
    """MONAI's DiceLoss(softmax=True, to_onehot_y=True), whose mean over classes is weighted here, over samples and points that
    count."""

    def loss(o, t):
        counts = t != IGNORE
        label = torch.where(counts, t, torch.zeros_like(t)).long()
        w = torch.tensor(weights, dtype=o.dtype)
        q = F.softmax(o, 1) * counts[:, None]
        truth = F.one_hot(label, CLASSES).movedim(-1, 1) * counts[:, None]
        axes = (0, 2, 3) if per_batch else (2, 3)
        size = (q * q if squared else q).sum(axes) + truth.sum(axes)
        d = (2 * (q * truth).sum(axes) + above) / (size + below)
        first = 0 if background else 1
        each = ((1 - d) * w)[..., first:].sum(-1) / w[first:].sum()
        log_q = F.log_softmax(o, 1)
        e = -(log_q * truth * w[:, None, None]).sum((0, 1, 2, 3) if per_batch else (1, 2, 3))
        of = (w[label] * counts).sum((0, 1, 2) if per_batch else (1, 2))
        each = part * each + entropy * e / torch.where(of > 0, of, torch.ones_like(of))
        return each if per_batch else each[counts.any(2).any(1)].mean()

    return loss


WEIGHTS = (1.0, 2.0, 0.5, 3.0)
CASES = [
    ("labels", "{type: softmax_cross_entropy, label_smoothing: 0.1}", smoothed(label_smoothing=0.1)),
    ("labels", "{type: softmax_cross_entropy, label_smoothing: 0.2, class_weights: [1, 2, 0, 3]}",
     smoothed([1, 2, 0, 3], label_smoothing=0.2)),
    ("labels", "{type: softmax_cross_entropy, label_smoothing: 0.3, class_weights: [1, 2, 3, 0.5], reduction: mean_pixels}",
     pixels),
    ("labels", "{type: dice}", dice()),
    ("labels", "{type: dice, squared: true, background: false, class_weights: [1, 2, 0.5, 3], scale: 2}",
     dice(WEIGHTS, True, False, part=2)),
    ("labels", "{type: dice, per_batch: true, smooth_numerator: 0, smooth_denominator: 1}", dice(per_batch=True, above=0, below=1)),
    ("labels", "{type: dice_cross_entropy}", dice(entropy=1)),
    ("labels", "{type: dice_cross_entropy, class_weights: [1, 2, 0.5, 3], dice_weight: 0.5, cross_entropy_weight: 2}",
     dice(WEIGHTS, part=0.5, entropy=2)),
    ("labels", "{type: dice_cross_entropy, per_batch: true}", lambda o, t: dice(per_batch=True)(o, t) + smoothed()(o, t)),
    ("nan", "{type: mse, mask: nan}", masked(F.mse_loss, None)),
    ("nan", "{type: l1, mask: .NaN, output_weights: [1, 2, 0.5, 3]}", masked(F.l1_loss, None, WEIGHTS)),
    ("missing", "{type: huber, delta: 0.7, mask: -999}", masked(huber, MISSING)),
    ("values", "{type: mse, output_weights: [1, 2, 0.5, 3]}", masked(F.mse_loss, None, WEIGHTS)),
    ("flags", "binary_cross_entropy", F.binary_cross_entropy_with_logits),
    ("gaps", "{type: binary_cross_entropy, positive_weight: [1, 2, 0.5, 3]}", flags(WEIGHTS)),
    ("points", "{type: binary_cross_entropy, positive_weight: 3, ignore: -1}", flags((3.0,) * CLASSES, -1)),
]


def forward(name, x, p):
    y = F.conv2d(x, p["last.weight"], p["last.bias"], padding=1)
    return y.mean((2, 3)) if name in ("flags", "gaps") else y


def compare(check, name, text, loss, device):
    options = ["--device", device, "--set", "loss=" + text]
    ours = dlx.step(name + ".yaml", *options)
    p = {n: v.double().requires_grad_() for n, v in dlx.initial_weights(name + ".yaml", *options).items()}
    value = loss(forward(name, ours["inputs"]["input"].double(), p), ours["inputs"]["target"].double())
    value.backward()
    check.numbers("loss", ours["loss"], float(value), TOLERANCE[device])
    check.tensors("gradients", ours["gradients"], {n: v.grad for n, v in p.items()}, TOLERANCE[device])
    if "per_batch" in text:
        return
    for batch in 1, 2:
        more = ["--set", f"train.batch_size={batch}", "--set", "model.init_from=initial.safetensors"]
        said = json.loads(dlx.run("dlx-train", *options, *more, "--evaluate", name + ".yaml").strip().split("\n")[-1])
        check.numbers(f"set, batch {batch}", said["loss"], float(value), 10 * TOLERANCE[device])


def accumulated(check, name, text, loss):
    """Micro-batches of one sample give the gradient of the whole."""
    options = ["--set", "loss=" + text, "--set", "train.batch_size=1", "--set", "train.accumulate=5", "--device", "reference"]
    options += ["--set", f"run.dir=runs/micro-{CASES.index((name, text, loss))}"]
    p = {n: v.double().requires_grad_() for n, v in dlx.initial_weights(name + ".yaml", *options).items()}
    x, y = (torch.from_numpy(numpy.load(f"{name}-{part}.npy")).double() for part in "xy")
    value = loss(forward(name, x, p), y)
    value.backward()
    dlx.run("dlx-train", *options, name + ".yaml")
    dlx.run("dlx-train", *options, "--export", "after.safetensors", name + ".yaml")
    check.tensors("update by samples", dlx.tensors("after.safetensors"), {n: v - 0.1 * v.grad for n, v in p.items()}, 1e-6)


def multi_label():
    """Which of four colours a picture contains."""
    r = numpy.random.default_rng(4)
    y = (r.random((64, 4)) < 0.4).astype("f4")
    colours = numpy.eye(4, 3, dtype="f4")
    colours[3] = 1
    x = 0.1 * r.standard_normal((64, 3, 8, 8)).astype("f4")
    for i in range(64):
        for c in range(4):
            x[i, :, 2 * c : 2 * c + 2, :] += y[i, c] * colours[c][:, None, None]
    dlx.write_data("colours", x, y)
    with open("colours.yaml", "w") as f:
        f.write(CONFIG.format(name="colours", layers="flatten\n    - dense: {units: 4, name: last}"))
    options = ["--set", "loss=binary_cross_entropy", "--set", "train={epochs: 20, batch_size: 16}"]
    dlx.run("dlx-train", *options, "colours.yaml")
    with open("runs/colours/metrics.jsonl") as f:
        losses = [line["loss"] for line in map(json.loads, f) if line["type"] == "step"]
    if not losses[-1] < 0.5 * losses[0]:
        raise SystemExit(f"FAIL: the loss of a multi-label classifier went from {losses[0]} to {losses[-1]}")


def main():
    make_sets()
    check = dlx.Comparison()
    for name, text, loss in CASES:
        for device in TOLERANCE:
            print(f"  {name}, {text}, {device}")
            compare(check, name, text, loss, device)
        if "per_batch" not in text:
            accumulated(check, name, text, loss)
    multi_label()
    check.finish()


if __name__ == "__main__":
    main()
