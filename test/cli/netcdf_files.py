# SPDX-License-Identifier: BSD-3-Clause
"""Writes classic NetCDF files, so that a test needs no library for them."""
import struct

import numpy as np

KINDS = {"i1": 1, "S1": 2, "i2": 3, "i4": 4, "f4": 5, "f8": 6}


def padded(b):
    return b + b"\0" * (-len(b) % 4)


def text(s):
    return struct.pack(">I", len(s)) + padded(s.encode())


def attributes(given):
    out = struct.pack(">II", 12 if given else 0, len(given))
    for name, value in given.items():
        if isinstance(value, str):
            kind, n, data = 2, len(value), value.encode()
        else:
            v = np.atleast_1d(value)
            v = v.astype("f8") if v.dtype.str[1:] not in KINDS else v
            kind, n, data = KINDS[v.dtype.str[1:]], v.size, v.astype(v.dtype.newbyteorder(">")).tobytes()
        out += text(name) + struct.pack(">II", kind, n) + padded(data)
    return out


def write(path, variables):
    """variables: {name: (names of its axes, array, attributes)}."""
    sizes = {d: n for axes, v, _ in variables.values() for d, n in zip(axes, np.shape(v))}
    names, data = list(sizes), []

    def header(begins):
        out = b"CDF\1" + struct.pack(">III", 0, 10, len(names))
        for d in names:
            out += text(d) + struct.pack(">I", sizes[d])
        out += struct.pack(">IIII", 0, 0, 11, len(variables))
        for (name, (axes, v, given)), begin in zip(variables.items(), begins):
            v = np.asarray(v)
            out += text(name) + struct.pack(">I", len(axes)) + b"".join(struct.pack(">I", names.index(d)) for d in axes)
            out += attributes(given) + struct.pack(">III", KINDS[v.dtype.str[1:]], -(-v.nbytes // 4) * 4, begin)
        return out

    for _, v, _ in variables.values():
        v = np.asarray(v)
        data.append(padded(v.astype(v.dtype.newbyteorder(">")).tobytes()))
    at, begins = len(header([0] * len(data))), []
    for d in data:
        begins.append(at)
        at += len(d)
    with open(path, "wb") as f:
        f.write(header(begins) + b"".join(data))
