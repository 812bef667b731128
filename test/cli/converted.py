# SPDX-License-Identifier: BSD-3-Clause
"""What the tests of dlx-convert's sources share: to convert, and to compare with NumPy."""
import subprocess
import sys

import numpy as np

import dlxrecord


def converter(program, folder):
    """A function that converts what its arguments name in the folder and reads the record."""
    def convert(*args):
        subprocess.run([program, "--quiet", "-o", "out.dlx", *args], cwd=folder, check=True)
        return dlxrecord.read(folder + "/out.dlx")
    return convert


def same(name, got, want):
    if got.shape != want.shape or got.dtype != want.dtype or not np.array_equal(got, want):
        sys.exit(f"{name}: got {got.shape} {got.dtype}\n{got}\nexpected {want.shape} {want.dtype}\n{want}")
