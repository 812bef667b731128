# SPDX-License-Identifier: BSD-3-Clause
"""Runs dlx for the comparisons with PyTorch: data, configs, initial weights, one step as files, and how far apart
two sets of tensors are."""
import json
import os
import subprocess
import sys

import numpy
import torch

from safetensors_read import read

BUILD = os.environ.get("DLX_BUILD", ".")


def run(program, *arguments):
    done = subprocess.run([os.path.join(BUILD, program), *arguments], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"FAIL: {program} {' '.join(arguments)}: exit status {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def random_data(samples, inputs, target, classes=None, ignore=255, seed=0):
    """Inputs and targets. A target with classes has some ignored labels where it has an extent."""
    r = numpy.random.default_rng(seed)
    x = r.standard_normal((samples, *inputs)).astype("f4")
    if not classes:
        return x, r.standard_normal((samples, *target)).astype("f4")
    y = r.integers(0, classes, (samples, *target)).astype("u1")
    if target:
        y[r.random(y.shape) < 0.1] = ignore
    y.flat[0] = classes - 1  # which says how many there are
    return x, y


def write_data(path, x, y, *more, ignore=255):
    """x and y as the record file PATH.dlx; more: options of dlx-convert."""
    numpy.save(path + "-x.npy", x)
    numpy.save(path + "-y.npy", y)
    options = ["--ignore", str(ignore)] if y.dtype == "u1" else []
    if x.ndim >= 4:
        options += ["--input-layout", "first"]
    if y.dtype.kind == "f" and y.ndim >= 4:
        options += ["--target-layout", "first"]
    options += more
    run("dlx-convert", "--quiet", "--input", path + "-x.npy", "--target", path + "-y.npy", *options, "-o", path + ".dlx")


def tensors(path):
    return {name: torch.from_numpy(v) for name, v in read(path).items()}


def initial_weights(config, *options):
    run("dlx-train", *options, "--export", "initial.safetensors", config)
    return tensors("initial.safetensors")


def step(config, *options):
    """One step on the first batch: {"loss": float, "inputs": {...}, "outputs": ..., "gradients": ..., "parameters": ...}."""
    run("dlx-train", *options, "--dump-step", "step", config)
    out = {part: tensors(f"step/{part}.safetensors") for part in ("inputs", "outputs", "gradients", "parameters")}
    with open("step/loss.json") as f:
        out["loss"] = json.load(f)["loss"]
    return out


class Comparison:
    """Collects the largest relative error (largest difference over largest value) and all that exceed a tolerance.
    A tensor that is all but zero is compared on the scale of a share of its group's largest value, the floor, or of
    `least`, by name."""

    def __init__(self):
        self.bad, self.compared = [], 0

    def tensors(self, what, ours, theirs, tolerance, floor=1e-6, least=None):
        if set(ours) != set(theirs):
            self.bad.append(f"{what}: names differ: {sorted(set(ours) ^ set(theirs))}")
            return
        floor = floor * max(float(t.abs().max()) for t in theirs.values()) + 1e-30
        worst, where = 0.0, ""
        for name, t in theirs.items():
            o, t = ours[name].double(), t.detach().double()
            if o.shape != t.shape:
                self.bad.append(f"{what} '{name}': shape {tuple(o.shape)} instead of {tuple(t.shape)}")
                continue
            error = float((o - t).abs().max()) / max(float(t.abs().max()), floor, least[name] if least else 0)
            self.compared += 1
            if not error <= tolerance:
                self.bad.append(f"{what} '{name}': relative error {error:.2e}, allowed {tolerance:.0e}")
            if not error <= worst:
                worst, where = error, name
        print(f"    {what:<22} {len(theirs):3} tensors, largest relative error {worst:.1e} ({where})")

    def vector(self, what, ours, theirs, tolerance):
        """All tensors as one vector: the length of the difference by the length."""
        ours, theirs = (torch.cat([m[n].detach().double().flatten() for n in sorted(theirs)]) for m in (ours, theirs))
        error = float((ours - theirs).norm() / theirs.norm())
        self.compared += 1
        if not error <= tolerance:
            self.bad.append(f"{what}: relative error {error:.2e}, allowed {tolerance:.0e}")
        print(f"    {what:<22}     relative error {error:.1e}")

    def numbers(self, what, ours, theirs, tolerance):
        ours, theirs = (torch.tensor(v, dtype=torch.float64) for v in (ours, theirs))
        self.tensors(what, {what: ours}, {what: theirs}, tolerance)

    def finish(self):
        for line in self.bad:
            print("FAIL:", line)
        if not self.compared:
            print("FAIL: nothing was compared")
        sys.exit(1 if self.bad or not self.compared else 0)
