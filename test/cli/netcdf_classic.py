# SPDX-License-Identifier: BSD-3-Clause
"""Writes classic NetCDF files: what a test needs that has no library for it."""
import struct

import numpy as np

TYPES = {"i1": 1, "S1": 2, ">i2": 3, ">i4": 4, ">f4": 5, ">f8": 6}


def padded(data):
    return data + b"\0" * (-len(data) % 4)


def text(s):
    return struct.pack(">I", len(s.encode())) + padded(s.encode())


def attributes(all):
    """Texts, and numbers or lists of them, which are doubles."""
    if not all:
        return bytes(8)
    out = struct.pack(">2I", 12, len(all))
    for name, v in all.items():
        code, v = (2, v.encode()) if isinstance(v, str) else (6, np.atleast_1d(np.asarray(v, ">f8")).tobytes())
        out += text(name) + struct.pack(">2I", code, len(v) // (1 if code == 2 else 8)) + padded(v)
    return out


def write(path, extents, variables):
    """extents: of each dimension by its name. variables: (name, dimensions, type, values, attributes) of each, the values in any shape;
    a type is one of TYPES."""
    names, values = list(extents), [padded(np.asarray(v[3]).astype(v[2]).tobytes()) for v in variables]

    def head(at):
        out = b"CDF\1" + struct.pack(">3I", 0, 10, len(names)) + b"".join(text(k) + struct.pack(">I", extents[k]) for k in names)
        out += bytes(8) + struct.pack(">2I", 11, len(variables))
        for (name, on, kind, _, all), data in zip(variables, values):
            out += text(name) + struct.pack(">I", len(on)) + b"".join(struct.pack(">I", names.index(k)) for k in on) + attributes(all)
            out += struct.pack(">3I", TYPES[kind], len(data), at)
            at += len(data)
        return out
    with open(path, "wb") as f:
        f.write(head(len(head(0))) + b"".join(values))
