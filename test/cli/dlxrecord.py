# SPDX-License-Identifier: BSD-3-Clause
"""An independent reader of record files, written from dlx-record(5) alone, and of classic NetCDF: what the
tests of dlx-convert compare with."""
import base64
import ctypes
import ctypes.util
import functools
import json
import struct

import numpy as np

DTYPES = {"f32": "<f4", "f64": "<f8", "f16": "<f2", "i8": "i1", "u8": "u1", "i16": "<i2", "u16": "<u2",
          "i32": "<i4", "i64": "<i8"}


@functools.cache
def library(name, file):
    """Found once: find_library starts a program."""
    return ctypes.CDLL(ctypes.util.find_library(name) or file)


def unzstd(frame, size):
    lib = library("zstd", "libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    lib.ZSTD_decompress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    out = ctypes.create_string_buffer(size)
    assert lib.ZSTD_decompress(out, size, frame, len(frame)) == size
    return out.raw


def xxh3(data):
    lib = library("xxhash", "libxxhash.so.0")
    lib.XXH3_64bits.restype = ctypes.c_uint64
    lib.XXH3_64bits.argtypes = [ctypes.c_char_p, ctypes.c_size_t]
    return lib.XXH3_64bits(data, len(data))


def chunk(stored, raw, codec, width):
    """The raw bytes of a chunk."""
    if codec == 0:
        return stored
    if codec == 1:
        return unzstd(stored, raw)
    assert codec == 2
    each, at, planes = raw // width, 8 * width, []
    for n in struct.unpack_from("<%dQ" % width, stored):
        planes.append(stored[at:at + n] if n == each else unzstd(stored[at:at + n], each))
        at += n
    assert at == len(stored)
    return np.stack([np.frombuffer(p, "u1") for p in planes], -1).tobytes()


def array(data, entries, place, shape, rows, has_channels, dtype):
    """One array of a sample of the next entries, and the hashes of its chunks' content; place: the numbers of sample and array."""
    axis, parts, chunks, n = int(has_channels), [], [], 1
    if rows:
        n = -(-shape[axis] // rows)
    for c in range(n):
        part = list(shape)
        if rows:
            part[axis] = min(rows, shape[axis] - c * rows)
        offset, stored, raw, codec, check = next(entries)
        v = chunk(data[offset:offset + stored], raw, codec, np.dtype(dtype).itemsize)
        content = xxh3(v)
        assert check == xxh3(struct.pack("<5Q", content, xxh3(data[offset:offset + stored]) if codec else 0, *place, c))
        parts.append(np.frombuffer(v, dtype).reshape(part))
        chunks.append(content)
    return np.concatenate(parts, axis) if n > 1 else parts[0], chunks


def stacked(v):
    """Samples of one size as one array, of several as a list."""
    return np.stack(v) if len({x.shape for x in v}) == 1 else v or None


def read(path):
    """The description, and input and target of all samples; target: None where there is none. The
    description has 'input' and 'target' besides, with the shapes of the first size, 'keys' and 'groups', and
    'values', those of all arrays by their names."""
    data = open(path, "rb").read()
    assert data[:8] == b"DLXREC\r\n" and data[-8:] == b"DLXEND\r\n"
    assert struct.unpack("<II", data[8:16]) == (3, 0)
    at, texts, table, index, n, m, size, check = struct.unpack("<8Q", data[-72:-8])
    assert size == len(data) and texts % 8 == 0 and table % 8 == 0 and index % 8 == 0
    assert check == xxh3(data[:16] + data[at:-16])
    text = json.loads(data[at:texts])
    for k, a in enumerate(text["arrays"]):
        text.setdefault(a["role"], dict(a, shape=text["sizes"][0]["shapes"][k]))
    assert len(data[index:-72]) == 40 * m
    entries = struct.iter_unpack("<5Q", data[index:-72])
    arrays, named, text["keys"], text["groups"] = {"input": [], "target": []}, {}, [], []
    hashes = np.frombuffer(base64.b64decode(text["hashes"], validate=True), "<u8")
    assert len(hashes) == n
    for i in range(n):
        first, key, group, k = struct.unpack_from("<4Q", data, table + 32 * i)
        sample = 0
        for texts_of, t in ("keys", key), ("groups", group):
            text[texts_of].append(data[texts + t:data.index(b"\0", texts + t)].decode() or None)
        for j, a in enumerate(text["arrays"]):
            shape, field = text["sizes"][k]["shapes"][j], a["role"] == "target" and a["dtype"][0] in "fb"
            number = j + (j and "target" not in text)
            v, chunks = array(
                data, entries, (i, number), shape, text["sizes"][k]["rows"][j],
                bool(shape) and (field or len(shape) >= len(text["input"]["shape"])), DTYPES[a["dtype"]])
            named.setdefault(a["name"], []).append(v)
            arrays.setdefault(a["role"], []).append(v)
            for content in chunks:
                sample = xxh3(struct.pack("<2Q", sample, content))
        assert sample == hashes[i]
    text["values"] = {name: stacked(v) for name, v in named.items()}
    return text, stacked(arrays["input"]), stacked(arrays["target"])


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
