# SPDX-License-Identifier: BSD-3-Clause
"""Realizations of networks of noise, their statistics and metrics (test/train/random_fields.sh writes the files) against NumPy."""
import csv
import json
import os
import sys

import numpy as np

import safetensors_read

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import dlxrecord


def near(value, wanted, what, by=1e-12):
    worst = np.abs(np.asarray(value) - wanted).max()
    assert worst <= by, "%s: %g off, %g at most" % (what, worst, by)


weights = safetensors_read.read("weights.safetensors")


def network(name, layers, v):
    for i in range(layers):
        v = v @ weights["%s.dense_%d.weight" % (name, i)].T + weights["%s.dense_%d.bias" % (name, i)]
        v = np.tanh(v) if i + 1 < layers else v
    return v[..., 0]


# (u, k, w.0 to w.2, e.0, e.1; realizations; places)
samples = np.load("samples.npy")
u, k, xi, eta = samples[0], samples[1], samples[2:5], samples[5:7]
assert samples.shape == (7, 600, 31) and samples.dtype == "f8"
x = np.linspace(-1, 1, 31)
for noise in xi, eta:
    assert (noise == noise[:, :, :1]).all(), "noise differs between the places of a realization"
    assert len(np.unique(noise[:, :, 0])) == noise[:, :, 0].size, "numbers of noise come again"
near(xi.mean(axis=(1, 2)), 0, "the mean of normal noise", 5 / 600**0.5)
near(xi.std(axis=(1, 2)), 1, "the deviation of normal noise", 5 / 1200**0.5)
near(eta.mean(axis=(1, 2)), 0.5, "the mean of uniform noise", 5 / 7200**0.5)
assert eta.min() > 0 and eta.max() < 1 and eta.max() - eta.min() > 0.98
places = np.broadcast_to(x, u.shape)
near(u, network("u", 3, np.stack([places, *xi], -1)), "u")
near(k, network("k", 2, np.stack([places, *eta], -1)), "k")

fewer, other = np.load("fewer.npy"), np.load("other.npy")
assert (fewer == samples[:, :9]).all(), "a realization depends on the number of them"
assert (fewer[2:, :, 0] != other[2:, :, 0]).all(), "another seed has the same noise"

statistics = np.load("statistics.npy").reshape(7, 4, 31)
for i, wanted in enumerate([samples.mean(1), samples.std(1), *np.quantile(samples, [0.05, 0.95], axis=1)]):
    near(statistics[:, i], wanted, ["mean", "std", "q05", "q95"][i])

# --- next to known realizations ---
known = dlxrecord.read("known.dlx")[0]["values"]
made = np.load("known.npy")
metrics = json.load(open("evaluated.json"))["metrics"]
assert made.shape == (7, 400, 41)


def l2(v, wanted):
    return np.linalg.norm(v - wanted) / np.linalg.norm(wanted)


def ks(a, b):
    both = np.concatenate([a, b])
    return np.abs(np.searchsorted(np.sort(a), both, "right") / len(a) - np.searchsorted(np.sort(b), both, "right") / len(b)).max()


worst = {}
for i, name in enumerate("uk"):
    true = known[name].reshape(50, 41).astype("f8")
    inside = range(1, 40) if name == "u" else range(41)
    wanted = {"mean_l2": l2(made[i].mean(0), true.mean(0)), "std_l2": l2(made[i].std(0), true.std(0)),
              "ks": max(ks(made[i][:, j], true[:, j]) for j in inside)}
    for metric, v in wanted.items():
        near(metrics["%s.%s" % (metric, name)], v, "%s of %s" % (metric, name))
        worst[metric] = max(worst.get(metric, 0), v)
for metric, v in worst.items():
    near(metrics[metric], v, metric)



def table(path):
    with open(path) as f:
        rows = list(csv.DictReader(f))
    return {name: np.array([float(r[name]) for r in rows]) for name in rows[0]}


def statistics_near(columns, name, v, what):
    near(columns[name + "_mean"], v.mean(0), "the mean of " + what)
    near(columns[name + "_std"], v.std(0), "the deviation of " + what)
    near(columns[name + "_q05"], np.quantile(v, 0.05, axis=0), "the lower quantile of " + what)


columns = table("known.csv")
near(columns["x"], known["x"][0].ravel(), "the points of a record", 1e-8)
statistics_near(columns, "k", made[1], "k at the points of a record")
statistics_near(columns, "k_known", known["k"].reshape(50, 41).astype("f8"), "k in the record")
assert "f_known_mean" not in columns and "w.0_known_mean" not in columns
columns, sensors = table("sensors.csv"), dlxrecord.read("snapshots.dlx")[0]["values"]
near(columns["x"], sensors["u_sensors_x"][0].ravel(), "the places of sensors", 1e-8)
statistics_near(columns, "u_known", sensors["u_sensors"].reshape(24, 5).astype("f8"), "what sensors of u measure")
