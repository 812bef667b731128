# SPDX-License-Identifier: BSD-3-Clause
"""The shape and the values of a .npy file, without numpy. For the scripts of test/train and test/cli."""
import ast
import struct


def read(path):
    with open(path, "rb") as f:
        b = f.read()
    start = 10 + struct.unpack("<H", b[8:10])[0]
    head = ast.literal_eval(b[10:start].decode())
    code = {"<f4": "f", "<i4": "i"}[head["descr"]]
    return head["shape"], struct.unpack(f"<{(len(b) - start) // 4}{code}", b[start:])
