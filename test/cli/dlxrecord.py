# SPDX-License-Identifier: BSD-3-Clause
"""An independent reader of record files, written from dlx-record(5) alone, and of classic NetCDF: what the
tests of dlx-convert compare with."""
import ctypes
import ctypes.util
import json
import struct

import numpy as np

DTYPES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "i8": "i1", "u8": "u1", "i16": "<i2", "u16": "<u2",
          "i32": "<i4", "i64": "<i8"}


def unzstd(frame, size):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    assert lib.ZSTD_decompress(out, size, frame, len(frame)) == size
    return out.raw


def read(path):
    """The description, and input and target of all samples; target: None where there is none."""
    data = open(path, "rb").read()
    assert data[:8] == b"DLXREC\r\n" and data[-8:] == b"DLXEND\r\n"
    assert struct.unpack("<II", data[8:16]) == (1, 0)
    at, index, n, size, _ = struct.unpack("<5Q", data[-48:-8])
    assert size == len(data) and index % 8 == 0
    text = json.loads(data[at:index])
    arrays = [[], []]
    for i in range(n):
        offset, length, raw, _, _ = struct.unpack_from("<5Q", data, index + 40 * i)
        sample = unzstd(data[offset:offset + length], raw)
        start = 0
        for k, name in enumerate(("input", "target")):
            if name not in text:
                continue
            a = text[name]
            count = int(np.prod(a["shape"], dtype=np.int64))
            v = np.frombuffer(sample, DTYPES[a["dtype"]], count, start)
            arrays[k].append(v.reshape(a["shape"]))
            start = (start + v.nbytes + 7) // 8 * 8
    return text, np.stack(arrays[0]), np.stack(arrays[1]) if arrays[1] else None


def netcdf(path):
    """The variables of a classic NetCDF file without record variables, or with them: name -> array."""
    d = open(path, "rb").read()
    assert d[:3] == b"CDF" and d[3] in (1, 2)
    wide = d[3] == 2
    pos = 4

    def u32():
        nonlocal pos
        pos += 4
        return struct.unpack(">I", d[pos - 4:pos])[0]

    def name():
        nonlocal pos
        n = u32()
        s = d[pos:pos + n].decode()
        pos += (n + 3) // 4 * 4
        return s

    size = {1: 1, 2: 1, 3: 2, 4: 4, 5: 4, 6: 8}
    kind = {1: "i1", 2: "S1", 3: ">i2", 4: ">i4", 5: ">f4", 6: ">f8"}

    def attributes():
        nonlocal pos
        tag, n = u32(), u32()
        assert tag in (0, 12)
        for _ in range(n):
            name()
            t, m = u32(), u32()
            pos += (m * size[t] + 3) // 4 * 4

    records = u32()
    tag, n = u32(), u32()
    dims = []
    for _ in range(n):
        name()
        dims.append(u32())
    attributes()
    tag, n = u32(), u32()
    variables = []
    for _ in range(n):
        v = [name(), [u32() for _ in range(u32())]]
        attributes()
        v += [u32(), u32()]
        begin = u32()
        if wide:
            begin = begin << 32 | u32()
        variables.append(v + [begin])
    stride = sum(v[3] for v in variables if v[1] and dims[v[1][0]] == 0)
    out = {}
    for label, ids, t, vsize, begin in variables:
        shape = [dims[i] for i in ids]
        if ids and shape[0] == 0:
            count = int(np.prod(shape[1:], dtype=np.int64))
            rows = [np.frombuffer(d, kind[t], count, begin + r * stride) for r in range(records)]
            out[label] = np.stack(rows).reshape([records] + shape[1:])
        else:
            count = int(np.prod(shape, dtype=np.int64))
            out[label] = np.frombuffer(d, kind[t], count, begin).reshape(shape)
    return out
