# SPDX-License-Identifier: BSD-3-Clause
"""What dlx-field wrote into the current folder (test/cli/field.sh says with what options) against formulas,
published statistics, and solutions that are computed here by other methods."""
import numpy as np

import dlxrecord


def read(path):
    """The arrays of a record by their names, without the axis of one channel."""
    v = dlxrecord.read(path)[0]["values"]
    return {k: a[:, 0].astype("f8") if a.ndim > 2 else a.astype("f8") for k, a in v.items()}


def near(value, wanted, by, what):
    worst = np.abs(np.asarray(value) - wanted).max()
    assert worst <= by, "%s: %g off, %g at most" % (what, worst, by)


# A realization by its number alone, and by its seed.
whole, first, last, other = read("one.dlx"), read("first.dlx"), read("last.dlx"), read("other.dlx")
assert set(whole) == {"k", "u", "f", "x"} | {f + "_sensors" + x for f in "ukf" for x in ("", "_x")}
for name in whole:
    assert (np.concatenate([first[name], last[name]]) == whole[name]).all(), name
assert (whole["k"] != other["k"]).any(axis=1).all()

# The elliptic problem: its equation, integrated, and the statistics of 200,000 samples, made elsewhere by another method.
p = read("elliptic.dlx")
x = p["x"][0]
n = len(p["u"])
at = np.searchsorted(x, [0, 0.25, 0.5, 0.75])
assert n == 4000 and len(x) == 401 and np.allclose(x[at], [0, 0.25, 0.5, 0.75])
flux = 0.1 * p["k"][:, 1:-1] * (p["u"][:, 2:] - p["u"][:, :-2]) / (x[2:] - x[:-2])
h = x[1] - x[0]
source = np.cumsum((p["f"][:, 1:-2] + p["f"][:, 2:-1]) * h / 2, axis=1)
near(flux[:, 1:] + source, flux[:, :1], 2e-3, "k u' and the integral of f")
assert (p["u"][:, [0, -1]] == 0).all() and (p["k"] > 0).all()
for name, mean, std in ("u", [2.3553, 2.1716, 1.7111, 1.0382], [0.806, 0.752, 0.610, 0.381]), \
        ("k", [0.8869, 1.0035, 1.2479, 1.3031], [0.368, 0.417, 0.519, 0.543]):
    both = np.stack([p[name][:, at], p[name][:, 400 - at]])
    if name == "k":
        near(np.exp(0.2 * np.sin(1.5 * np.pi * (x[at] + 1)) + 0.08), mean, 6e-5, "the table's k")
    near(both.mean(axis=1) / (np.array(std) / np.sqrt(n)), np.array(mean) / (np.array(std) / np.sqrt(n)), 5, name)
    near(both.std(axis=1) / std, 1, 0.07, "deviation of " + name)
near(p["f"].mean(), 0.5, 5 * 0.15 * 0.45 / np.sqrt(n), "f")
near([np.mean((p["f"][:, 200] - 0.5) * (p["f"][:, 200 + k] - 0.5)) for k in (0, 20, 40, 80)],
     0.0225 * np.exp(-np.array([0, 0.1, 0.2, 0.4]) ** 2 / 0.04), 5 * 0.0225 * np.sqrt(2 / n), "covariance of f")

# Its sensors, where they lie on the grid, and what noise adds to them.
for name, n_sensors in ("u", 2), ("k", 3), ("f", 21):
    places = p[name + "_sensors_x"][0]
    near(places, np.linspace(-1, 1, n_sensors), 1e-7, "sensors of " + name)
    near(p[name + "_sensors"], p[name][:, np.rint((places + 1) / h).astype(int)], 1e-6, "values of sensors of " + name)
noisy = read("noisy.dlx")
error = (noisy["f_sensors"] - p["f_sensors"]) / p["f"].std(axis=1)[:, None]
assert (noisy["f"] == p["f"]).all()
near([error.mean(), error.std()], [0, 0.1], 5 * 0.1 / np.sqrt(error.size), "noise")

# The stochastic Poisson problem: every realization by its modes, and the variance in the middle.
p = read("modes.dlx")
x = p["x"][0]
sines = np.sin(np.outer(np.arange(1, 5) * np.pi / 2, x + 1))
xi = np.linalg.lstsq(sines.T, p["f"].T, rcond=None)[0] * np.arange(1, 5)[:, None]
near(xi.mean(axis=1), 0, 5 / np.sqrt(4000), "coefficients")
near(xi @ xi.T / 4000, np.eye(4), 5 * np.sqrt(2 / 4000), "covariance of coefficients")
j = np.arange(1, 5)[:, None]
near(p["u"], -(xi * (2 / (j * np.pi)) ** 2 / j).T @ sines, 1e-12, "u of the modes")
near(p["u"][:, 200].var(), 0.16448, 5 * 0.16448 * np.sqrt(2 / 4000), "variance of u(0)")

# Log-normal fields in two dimensions: two scales, of which one is longer along x.
p = read("fields.dlx")
assert p["k"].shape == (3000, 7, 9) and (p["x"][0, 0] == np.linspace(-1, 1, 9)).all()
assert (p["y"][0, :, 0] == np.linspace(0, 3, 7)).all()
log = np.log(p["k"]) - 0.5
for dy in range(4):
    for dx in range(5):
        r = np.array([dx * 0.25, dy * 0.5])
        wanted = 0.3 * np.exp(-np.hypot(*r / [0.8, 0.4])) + 0.1 * np.exp(-np.hypot(*r) / 0.1)
        near((log[:, 0, 0] * log[:, dy, dx]).mean(), wanted, 5 * 0.4 * np.sqrt(2 / 3000), "covariance of fields")
near(p["k_sensors"][:, 0], p["k"][:, 3, 4], 1e-12, "a sensor on a point")
near(p["k_sensors"][:, 1], p["k"][:, 1:3, 4:6].mean(axis=(1, 2)), 1e-12, "a sensor between points")
near([p["k_sensors_x"][0], p["k_sensors_y"][0]], [[0, 0.125], [1.5, 0.75]], 1e-15, "places of sensors")

# Darcy's equation: what flows out of each cell, with the side's conditions, is its source.
p = read("darcy.dlx")
n, k, u = 24, p["k"], p["u"]
assert set(np.unique(k)) == {3, 12}
near(p["x"][0, 0], (np.arange(n) + 0.5) / n, 1e-15, "cells")


def face(a, b):
    return 2 * a * b / (a + b)


left, right = -2 * k[:, :, :1] * (u[:, :, :1] - 1), np.full((len(u), n, 1), -0.5 / n)
x_flow = np.concatenate([left, -face(k[:, :, 1:], k[:, :, :-1]) * np.diff(u, axis=2), right], axis=2)
bottom, top = np.zeros((len(u), 1, n)), 2 * k[:, -1:] * (u[:, -1:] - 2)
y_flow = np.concatenate([bottom, -face(k[:, 1:], k[:, :-1]) * np.diff(u, axis=1), top], axis=1)
near((np.diff(x_flow, axis=2) + np.diff(y_flow, axis=1)) * n * n, 5, 1e-6, "what cells give off")

# Burgers' equation, by another quadrature.
p = read("burgers.dlx")
x, t, u = p["x"][0], p["t"][0], p["u"][0]
nodes, weights = np.polynomial.hermite.hermgauss(160)
y = x[:, None] - nodes * np.sqrt(0.04 / np.pi * t)[:, None]
e = -np.cos(np.pi * y) / 0.02
w = weights * np.exp(e - e.max(axis=1, keepdims=True))
near(u, -(np.sin(np.pi * y) * w).sum(axis=1) / w.sum(axis=1), 1e-10, "Burgers")
assert (t.reshape(31, 65)[:, 0] == np.linspace(0, 1, 31)).all() and np.allclose(x[:65], np.linspace(-1, 1, 65), 0, 1e-15)
text, xs, us = dlxrecord.read("grid.dlx")
assert us.shape == (1, 1, 31, 65) and (us.ravel() == u).all() and (xs.ravel() == x).all()
some = {name: v[0] for name, v in read("some.dlx").items()}
there = {(a, b): c for a, b, c in zip(x, t, u)}
error = np.array([c - there[a, b] for a, b, c in zip(some["x"], some["t"], some["u"])])
assert len(set(zip(some["x"], some["t"]))) == len(error) == 900
near([error.mean(), error.std()], [0, 0.01 * u.std()], 5 * 0.01 * u.std() / 30, "noise of Burgers")

# Allen and Cahn's, with twice the modes and steps, and by finite differences with the reaction's own solution.
p, q = read("allen.dlx"), read("finer.dlx")
near(p["u"], q["u"], 1e-8, "Allen-Cahn with twice the modes and steps")
u = p["u"].reshape(11, 65)
m, d, steps = 320, 1e-3, 500
cell = np.arange(m) / m
v = np.append(cell ** 2 * np.cos(np.pi * cell) + 1, 0)[:m]
a = -2 * np.eye(m) + np.eye(m, k=1) + np.eye(m, k=-1)
a[0, 1] = 2
inverse = np.linalg.inv(np.eye(m) - d * m * m / (4 * steps) * a)
half = inverse @ (np.eye(m) + d * m * m / (4 * steps) * a)
for _ in range(steps):
    v = half @ v - 1
    v = half @ (v / np.sqrt(v * v + (1 - v * v) * np.exp(-10 / steps)) + 1)
near(u[-1, 32:], np.append(v - 1, -1)[::10], 2e-3, "Allen-Cahn by finite differences")
x = p["x"][0][:65]
near(u[0], x * x * np.cos(np.pi * x), 1e-15, "the start")
assert (u[:, [0, -1]] == -1).all()

# Two that are a formula.
p = read("heat.dlx")
near(p["u"], np.exp(-0.2 * np.pi ** 2 * p["t"]) * np.sin(np.pi * p["x"]), 1e-15, "heat")
p = read("poisson.dlx")
near(p["u"], np.sin(np.pi * p["x"]), 1e-15, "Poisson")
assert set(p) == {"x", "u"} and p["x"].shape == (1, 101)
