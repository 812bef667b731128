# SPDX-License-Identifier: BSD-3-Clause
"""Writes Zarr stores that are folders, versions 2 and 3, by their descriptions alone: what the tests of the reader
make their files with."""
import ctypes
import ctypes.util
import gzip
import itertools
import json
import os
import struct
import zipfile
import zlib

NAMES = {"f2": "float16", "f4": "float32", "f8": "float64", "i1": "int8", "u1": "uint8", "b1": "bool", "i2": "int16",
         "u2": "uint16", "i4": "int32", "u4": "uint32", "i8": "int64", "u8": "uint64"}


def zstd(data):
    lib = ctypes.CDLL(ctypes.util.find_library("zstd") or "libzstd.so.1")
    lib.ZSTD_compress.restype = lib.ZSTD_compressBound.restype = ctypes.c_size_t
    lib.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    lib.ZSTD_compress.argtypes = [ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    room = lib.ZSTD_compressBound(len(data))
    out = ctypes.create_string_buffer(room)
    n = lib.ZSTD_compress(out, room, data, len(data), 3)
    return out.raw[:n]


def blosc(data, size=4):
    lib = ctypes.CDLL(ctypes.util.find_library("blosc") or "libblosc.so.1")
    lib.blosc_compress_ctx.argtypes = [ctypes.c_int, ctypes.c_int, ctypes.c_size_t, ctypes.c_size_t, ctypes.c_char_p,
                                       ctypes.c_char_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int]
    out = ctypes.create_string_buffer(len(data) + 16)
    n = lib.blosc_compress_ctx(5, 1, size, len(data), data, out, len(data) + 16, b"lz4", 0, 1)
    assert n > 0
    return out.raw[:n]


def crc32c(data):
    crc = 0xffffffff
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff


PACKERS = {None: lambda data: data, "gzip": gzip.compress, "zlib": zlib.compress, "zstd": zstd, "blosc": blosc}


def put(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data if isinstance(data, bytes) else json.dumps(data).encode())


def group(folder, version):
    if version == 2:
        put(folder + "/.zgroup", {"zarr_format": 2})
    else:
        put(folder + "/zarr.json", {"zarr_format": 3, "node_type": "group", "attributes": {}})


def describe_2(shape, code, chunks, packer, order, fill, separator):
    return {"zarr_format": 2, "shape": shape, "chunks": chunks, "dtype": code, "order": order,
            "compressor": packer and {"id": packer, "level": 3}, "filters": None, "fill_value": fill,
            "dimension_separator": separator}


def describe_3(shape, code, chunks, packer, order, fill, separator, axes, attributes):
    codecs = [{"name": "transpose", "configuration": {"order": order}}] if order != "C" else []
    codecs.append({"name": "bytes", "configuration": {"endian": "big" if code[0] == ">" else "little"}})
    if packer:
        codecs.append({"name": packer, "configuration": {}})
    return {"zarr_format": 3, "node_type": "array", "shape": shape, "data_type": NAMES[code[1:]],
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": chunks}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": separator}},
            "fill_value": fill, "codecs": codecs, "attributes": attributes, "dimension_names": axes}


def store(folder, shape, code, chunks, chunk, version=2, packer=None, order="C", fill=0, separator=None, axes=None,
          attributes=None):
    """code: NumPy's, such as "<f4". order: C, F, or in version 3 a list of axes. chunk(place): the bytes of the chunk
    at this place, or None: it is not written."""
    separator = separator or (".", "/")[version - 2]
    attributes = dict(attributes or {})
    if version == 2:
        put(folder + "/.zarray", describe_2(shape, code, chunks, packer, order, fill, separator))
        if axes:
            attributes["_ARRAY_DIMENSIONS"] = axes
        if attributes:
            put(folder + "/.zattrs", attributes)
    else:
        put(folder + "/zarr.json", describe_3(shape, code, chunks, packer, order, fill, separator, axes, attributes))
    for place in itertools.product(*(range(-(-n // c)) for n, c in zip(shape, chunks))):
        data = chunk(place)
        if data is not None:
            put(folder + "/" + separator.join((["c"] if version == 3 else []) + [str(p) for p in place]), PACKERS[packer](data))


def array(folder, values, chunks, version=2, packer=None, order="C", missing=(), **more):
    """values: NumPy's. missing: places of chunks that are not written."""
    turn = list(range(values.ndim))
    turn = turn if order == "C" else turn[::-1] if order == "F" else order

    def chunk(place):
        if place in missing:
            return None
        out = type(values)(chunks, values.dtype)
        out[...] = 0
        part = values[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunks))]
        out[tuple(slice(n) for n in part.shape)] = part
        return out.transpose(turn).tobytes()

    store(folder, values.shape, values.dtype.str, chunks, chunk, version, packer, order, **more)


def part_of(values, chunks, place):
    """The chunk at this place as C has it, with zeros beyond the array."""
    out = type(values)(chunks, values.dtype)
    out[...] = 0
    part = values[tuple(slice(p * c, (p + 1) * c) for p, c in zip(place, chunks))]
    out[tuple(slice(n) for n in part.shape)] = part
    return out


def sharded(folder, values, shards, chunks, packer=None, location="end", summed=True, big_index=False, missing=(), missing_shards=()):
    """An array of version 3 whose chunks are in shards. missing: places of chunks in the whole grid that are not written."""
    per = [s // c for s, c in zip(shards, chunks)]
    index_bytes = 16 * len(list(itertools.product(*map(range, per)))) + 4 * summed

    def shard(place):
        if place in missing_shards:
            return None
        index, data = b"", b"" if location == "end" else bytes(index_bytes)
        for inner in itertools.product(*map(range, per)):
            at = tuple(p * k + i for p, k, i in zip(place, per, inner))
            if at in missing or any(a * c >= n for a, c, n in zip(at, chunks, values.shape)):
                entry = 2**64 - 1, 2**64 - 1
            else:
                chunk = PACKERS[packer](part_of(values, chunks, at).tobytes())
                entry = len(data), len(chunk)
                data += chunk
            index += struct.pack(">QQ" if big_index else "<QQ", *entry)
        if summed:
            index += struct.pack("<I", crc32c(index))
        return data + index if location == "end" else index + data[index_bytes:]

    code = values.dtype.str
    store(folder, values.shape, code, shards, shard, 3, fill=1)
    with open(folder + "/zarr.json") as f:
        description = json.load(f)
    inner = [{"name": "bytes", "configuration": {"endian": "big" if code[0] == ">" else "little"}}]
    how = {"chunk_shape": chunks, "codecs": inner + ([{"name": packer, "configuration": {}}] if packer else []),
           "index_codecs": [{"name": "bytes", "configuration": {"endian": "big" if big_index else "little"}}] + [{"name": "crc32c"}] * summed}
    if location != "end" or summed:
        how["index_location"] = location
    description["codecs"] = [{"name": "sharding_indexed", "configuration": how}]
    put(folder + "/zarr.json", description)


def zipped(folder, path, below="", packed=False):
    """The files of a folder in a ZIP file, below another folder."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if packed else zipfile.ZIP_STORED) as z:
        for root, _, names in os.walk(folder):
            for name in names:
                full = os.path.join(root, name)
                z.write(full, below + os.path.relpath(full, folder))
