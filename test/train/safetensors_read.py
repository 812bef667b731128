# SPDX-License-Identifier: BSD-3-Clause
"""Reads safetensors files with NumPy alone: an eight-byte length, a JSON header, the bytes."""
import json

import numpy

TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2", "I64": "<i8", "I32": "<i4", "U8": "u1"}


def read(path):
    """A dictionary of arrays by name, in the order of the file."""
    with open(path, "rb") as f:
        data = f.read()
    start = 8 + int.from_bytes(data[:8], "little")
    tensors = {}
    for name, entry in json.loads(data[8:start]).items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(data[start + begin : start + end], TYPES[entry["dtype"]])
        tensors[name] = flat.reshape(entry["shape"]).copy()
    return tensors
