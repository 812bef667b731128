# SPDX-License-Identifier: BSD-3-Clause
"""What --evaluate says of a set of samples, computed again with NumPy from the logits that --predict
writes and from the labels, by the definitions in dlx-config(5)."""
import json
import sys

import numpy

import pytorch_dlx as dlx

SAMPLES, CLASSES, SIZE, IGNORE = 7, 4, (9, 11), 255
CONFIG = """run: {name: case, dir: runs/case, seed: 5}
model:
  family: layers
  layers:
    - conv2d: {filters: 8, kernel: 3, padding: same}
    - relu
    - conv2d: {filters: 4, kernel: 1}
data: {train: set.dlx, validation: set.dlx, shuffle: false}
loss: softmax_cross_entropy
metrics: [mean_iou_per_sample, accuracy, mean_iou, iou, top_2, top_3, precision, recall, f1, dice, mean_precision,
  mean_recall, mean_f1, mean_dice, confusion]
optimizer: {type: sgd, learning_rate: 0.3, momentum: 0.9}
train: {steps: 30, batch_size: 2}
checkpoint: {every: null}
report: {progress: none, tensorboard: false}
"""


def labels(rng):
    """Class 3 is in some samples only, the last sample is ignored throughout."""
    y = rng.choice(3, (SAMPLES, *SIZE), p=[0.8, 0.15, 0.05]).astype("u1")
    y[0, :2, :3] = 3
    y[rng.random(y.shape) < 0.1] = IGNORE
    y[0, 0, 0] = 3
    y[-1] = IGNORE
    return y


def make_set():
    rng = numpy.random.default_rng(3)
    x, y = rng.standard_normal((SAMPLES, 3, *SIZE)).astype("f4"), labels(rng)
    numpy.save("x.npy", x)
    numpy.save("y.npy", y)
    dlx.run("dlx-convert", "--quiet", "--input", "x.npy", "--target", "y.npy", "--ignore", str(IGNORE), "-o", "set.dlx")
    with open("case.yaml", "w") as f:
        f.write(CONFIG)
    return y


def confusion(y, guess):
    counted = y != IGNORE
    pairs = CLASSES * y[counted].astype(int) + guess[counted]
    return numpy.bincount(pairs, minlength=CLASSES**2).reshape(CLASSES, CLASSES)


def ious(matrix):
    both, either = numpy.diag(matrix), matrix.sum(0) + matrix.sum(1) - numpy.diag(matrix)
    return [float(b) / e if e else None for b, e in zip(both, either)]


def rates(matrix, divisors):
    """Hits over divisors by class; 0 where a class occurs but the divisor is 0, as in scikit-learn."""
    occurs = matrix.sum(0) + matrix.sum(1) > 0
    return [(float(b) / d if d else 0.0) if o else None for b, d, o in zip(numpy.diag(matrix), divisors, occurs)]


def top(y, logits, k):
    counted = y != IGNORE
    best = numpy.argsort(-logits, axis=1, kind="stable")[:, :k]
    return (best == y[:, None]).any(1)[counted].mean()


def mean(values):
    return numpy.mean([v for v in values if v is not None])


def by_class(matrix):
    labelled, predicted = matrix.sum(1), matrix.sum(0)
    scores = {"precision": rates(matrix, predicted), "recall": rates(matrix, labelled)}
    scores["f1"] = scores["dice"] = rates(matrix, (labelled + predicted) / 2)
    return {**scores, **{"mean_" + name: mean(v) for name, v in scores.items()}}


def metrics(y, logits):
    guess = logits.argmax(1)
    whole = confusion(y, guess)
    defined = [v for v in ious(whole) if v is not None]
    each = [ious(confusion(a, b)) for a, b in zip(y, guess) if (a != IGNORE).any()]
    if not any(None in s for s in each):
        sys.exit("FAIL: no sample lacks a class, so that nothing is tested")
    return {
        "accuracy": numpy.diag(whole).sum() / whole.sum(),
        "iou": ious(whole),
        "mean_iou": numpy.mean(defined),
        "mean_iou_per_sample": numpy.mean([[1 if v is None else v for v in s] for s in each]),
        "top_2": top(y, logits, 2),
        "top_3": top(y, logits, 3),
        **by_class(whole),
        "confusion": whole.tolist(),
    }


def frequencies(y, power):
    count = numpy.array([(y == c).sum() for c in range(CLASSES)], "f8")
    return (count / count.sum()) ** power


def loss(y, logits, weights, gamma=0.0, reduction="mean", scale=1.0):
    shifted = logits - logits.max(1, keepdims=True)
    share = numpy.exp(shifted) / numpy.exp(shifted).sum(1, keepdims=True)
    counted = y != IGNORE
    label = numpy.where(counted, y, 0)
    q = numpy.take_along_axis(share, label[:, None], 1)[:, 0]
    w = weights[label] * counted
    each = w * (1 - q) ** gamma * -numpy.log(q)
    if reduction == "sum":  # of one batch, on average: here of one sample
        return scale * each.sum() / len(y)
    return scale * each.sum() / (w.sum() if reduction == "mean" else counted.sum())


def close(what, ours, theirs):
    if isinstance(theirs, list):
        return [close(f"{what}[{i}]", a, b) for i, (a, b) in enumerate(zip(ours, theirs))]
    if (ours is None) != (theirs is None) or (theirs is not None and not abs(ours - theirs) <= 2e-6 * abs(theirs)):
        sys.exit(f"FAIL: {what} is {ours}, NumPy's {theirs}")


def evaluate(*settings, config="case.yaml"):
    options = [word for s in settings for word in ("--set", s)]
    return json.loads(dlx.run("dlx-train", *options, "--evaluate", config).strip().split("\n")[-1])


def field_metrics(t, x):
    """Of outputs (axis 1) where the target is not NaN; an output whose targets are constant has no R2 and no part in
    that of all."""
    d, axes = x - t, (0, 2, 3)
    mean = numpy.nanmean(t, axes, keepdims=True)
    square, variation = numpy.nansum(d**2, axes), numpy.nansum((t - mean) ** 2, axes)
    some = variation > 0
    return {
        "mae": numpy.nanmean(abs(d)),
        "mse": numpy.nanmean(d**2),
        "rmse": numpy.nanmean(d**2) ** 0.5,
        "r2": 1 - square[some].sum() / variation[some].sum(),
        "mae_by_output": list(numpy.nanmean(abs(d), axes)),
        "rmse_by_output": list(numpy.nanmean(d**2, axes) ** 0.5),
        "r2_by_output": [1 - s / v if v > 0 else None for s, v in zip(square, variation)],
    }


def fields():
    """Targets of a large mean, of none and of no variation; the network predicts all about as badly as it can."""
    rng = numpy.random.default_rng(4)
    x = rng.standard_normal((SAMPLES, 3, *SIZE)).astype("f4")
    t = rng.standard_normal((SAMPLES, 3, *SIZE)).astype("f4")
    t[:, 0] += 1e5
    t[:, 2] = 280.7
    dlx.write_data("fields", x, t)
    text = CONFIG.replace("set.dlx", "fields.dlx").replace("filters: 4", "filters: 3").replace("case", "fields")
    text = text.replace("softmax_cross_entropy", "mse")
    start, end = text.index("metrics:"), text.index("optimizer:")
    names = "mae, mse, rmse, r2, mae_by_output, rmse_by_output, r2_by_output"
    with open("fields.yaml", "w") as f:
        f.write(text[:start] + f"metrics: [{names}]\n" + text[end:].replace("steps: 30", "steps: 3"))
    dlx.run("dlx-train", "--set", "optimizer.learning_rate=1e-7", "fields.yaml")
    dlx.run("dlx-train", "--predict", "fields.dlx", "-o", "fields.npy", "fields.yaml")
    want = field_metrics(t.astype("f8"), numpy.load("fields.npy").astype("f8"))
    for batch in 1, 3, SAMPLES:
        said = evaluate(f"train.batch_size={batch}", config="fields.yaml")
        if set(said["metrics"]) != set(want):
            sys.exit(f"FAIL: metrics {set(said['metrics'])}")
        for name, value in want.items():
            close(f"{name}, batch {batch}", said["metrics"][name], value)
    masked_fields(t)


def masked_fields(t):
    """Targets that the loss leaves out do not count in metrics; zeros do."""
    rng = numpy.random.default_rng(5)
    t[:, 1][rng.random(t[:, 1].shape) < 0.2] = 0
    gap = rng.random(t.shape) < 0.3
    predicted = numpy.load("fields.npy").astype("f8")
    for mask, stored in ("nan", numpy.nan), (-999, -999.0):
        t[gap] = stored
        dlx.write_data("masked", numpy.load("fields-x.npy"), t, "--fill", "nan")
        want = field_metrics(numpy.where(gap, numpy.nan, t.astype("f8")), predicted)
        said = evaluate("data.validation=masked.dlx", f"loss={{type: mse, mask: {mask}}}", config="fields.yaml")
        close(f"the loss with mask {mask}", said["loss"], want["mse"])
        for name, value in want.items():
            close(f"{name} with mask {mask}", said["metrics"][name], value)


def small_fields():
    """Errors far below 1 are not printed as 0."""
    rng = numpy.random.default_rng(6)
    t = 1e-6 * rng.standard_normal((SAMPLES, 3, *SIZE)).astype("f4")
    dlx.write_data("small", numpy.load("fields-x.npy"), t)
    with open("fields.yaml") as f:
        text = f.read().replace("fields", "small").replace("data: {", "data: {target_transforms: [{normalize: standard}], ")
    with open("small.yaml", "w") as f:
        f.write(text)
    dlx.run("dlx-train", "small.yaml")
    printed = dlx.run("dlx-train", "--evaluate", "small.yaml")
    errors = [line.split()[2] for line in printed.splitlines() if line.startswith("small-y[")]
    if len(errors) != 3 or not all(0 < float(e) < 1e-4 for e in errors):
        sys.exit(f"FAIL: small errors are not printed:\n{printed}")


def main():
    fields()
    small_fields()
    y = make_set()
    dlx.run("dlx-train", "case.yaml")
    dlx.run("dlx-train", "--predict", "set.dlx", "-o", "logits.npy", "case.yaml")
    logits = numpy.load("logits.npy").astype("f8")
    want, ones = metrics(y, logits), numpy.ones(CLASSES)
    for batch in 1, 2, 3, SAMPLES:
        said = evaluate(f"train.batch_size={batch}")
        for name, value in want.items():
            close(f"{name}, batch {batch}", said["metrics"][name], value)
        close(f"loss, batch {batch}", said["loss"], loss(y, logits, ones))
    root, eighth = frequencies(y, -0.5), frequencies(y, -0.125)
    cases = {
        "{type: softmax_cross_entropy, class_weights: inverse_frequency}": loss(y, logits, frequencies(y, -1.0)),
        "{type: softmax_cross_entropy, variant: mlperf-deepcam}": loss(y, logits, eighth, 0, "mean_pixels"),
        "{type: focal, class_weights: {power: -0.125}}": loss(y, logits, eighth, 2),
    }
    for batch in 1, 3:
        for text, value in cases.items():
            close(f"{text}, batch {batch}", evaluate(f"loss={text}", f"train.batch_size={batch}")["loss"], value)
    sc18 = evaluate("loss={type: softmax_cross_entropy, variant: sc18}", "train.batch_size=1")
    close("sc18", sc18["loss"], loss(y, logits, root / root.sum(), 0, "sum", 0.1))


if __name__ == "__main__":
    main()
