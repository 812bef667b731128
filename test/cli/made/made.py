# SPDX-License-Identifier: BSD-3-Clause
"""What the tests share that make files with other libraries: to convert, to compare with what the library reads, and to go on after a
fault, so that one run names all."""

import os
import subprocess
import sys

import numpy as np

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import dlxrecord  # noqa: E402

program, folder = sys.argv[1:3]
faults, tried = [], 0


def begin():
    os.makedirs(folder, exist_ok=True)
    os.chdir(folder)


def fault(text):
    faults.append(text)
    print("FAULT: " + text, flush=True)


def end():
    print(f"{tried} conversions, {len(faults)} faults")
    sys.exit(1 if faults else 0)


def run(*args):
    """Status and messages."""
    global tried
    tried += 1
    if os.path.exists("out.dlx"):
        os.remove("out.dlx")
    p = subprocess.run([program, "-l", "0", "-o", "out.dlx", *args], capture_output=True, text=True, errors="replace")
    return p.returncode, p.stderr + p.stdout


def equal(have, want, near):
    if near and np.issubdtype(have.dtype, np.floating):
        return np.allclose(have, want, rtol=near, atol=near, equal_nan=True)
    return np.array_equal(have, want, equal_nan=have.dtype.kind == "f" and want.dtype.kind == "f")


def compare(name, what, have, want, near):
    want = np.asarray(want)
    if isinstance(have, list) or have is None or have.shape != want.shape:
        fault(f"{name}: {what} is {'ragged' if isinstance(have, list) else have is not None and have.shape}, expected {want.shape}")
    elif not equal(have, want, near):
        at = np.unravel_index(np.argmax(~((have == want) | ((have != have) & (want != want)))), have.shape)
        fault(f"{name}: {what} at {tuple(map(int, at))} is {have[at]!r}, expected {want[at]!r}")


def reads(name, want, *args, target=None, near=0, says=(), dtype=None):
    """The record's input is want (samples, channels, places), what is missing NaN; its target, if given, is that. Its description."""
    status, text = run(*args)
    if status:
        fault(f"{name}: status {status}: {text.strip()[:300]}")
        return {}
    d, x, y = dlxrecord.read("out.dlx")
    compare(name, "input", x, want, near)
    if target is not None:
        compare(name, "target", y, target, near)
    if dtype and d["input"]["dtype"] != dtype:
        fault(f"{name}: {d['input']['dtype']} in place of {dtype}")
    for part in [says] if isinstance(says, str) else says:
        if part not in text:
            fault(f"{name}: does not say '{part}' but {text.strip()[:300]}")
    return d


def refused(name, says, *args, status=(64, 65, 66)):
    have, text = run(*args)
    if have not in status or says not in text:
        fault(f"{name}: status {have}, expected a refusal that says '{says}': {text.strip()[:300]}")


def reads_or_refuses(name, want, *args, **more):
    """Either is right, but no other values. Whether it was read."""
    status, _ = run(*args)
    if 64 <= status <= 78:
        return False
    reads(name, want, *args, **more)
    return True
