# SPDX-License-Identifier: BSD-3-Clause
"""large_samples.py DIR N [MAKE-LMDB]: writes pictures, and an LMDB database, with a sample of 4 to 8 * N^3 bytes each, for tests of memory; and
others that are just too large to be decoded when they are opened. Value i of a sample is i modulo 8191, or 251 in one of 8 bits.
large_samples.py --check RECORD FILE LAYOUT N: whether the record has what is in the file."""
import os
import struct
import subprocess
import sys
import zlib

import numpy as np

from pictures import PASSES


def shapes(n):
    """What is read of each file; of seen.png the last point alone is not opaque."""
    wide, high = 32 * n, n * n // 16
    return {"rows.png": ("<u2", (high * 2 // 3, wide, 3)), "opaque.png": ("u1", (high, wide, 3)), "pages.tif": ("<f4", (n, n, 2 * n)),
            "planes.tif": (">u2", (high * 2 // 3, wide, 3)), "tiles.tif": ("<u4", (high, wide)), "strips.tif": ("<f4", (high, wide)),
            "large.lmdb": (">f4", (2, n, n, n)),
            "interlaced.png": ("u1", (9216, 8192)), "wide.png": ("u1", (64, 9 << 17)), "seen.png": ("u1", (4608, 4096, 4))}


def values(name, n, first=0, rows=None):
    """Rows of the first axis."""
    code, shape = shapes(n)[name]
    row = int(np.prod(shape[1:]))
    rows = shape[0] - first if rows is None else rows
    period = 251 if code == "u1" else 8191
    v = np.resize(np.roll(np.arange(period).astype(code), -(first * row % period)), (rows, *shape[1:])).astype(code, copy=False)
    if name == "seen.png":
        v[..., 3] = 255
        if first + rows == shape[0]:
            v[-1, -1, 3] = 7
    return v


def parts(name, n, step):
    high = shapes(n)[name][1][0]
    for first in range(0, high, step):
        yield values(name, n, first, min(step, high - first))


def rows_of(v):
    """Rows as PNG has them, each after the number of its filter: 0, none."""
    rows = np.ascontiguousarray(v.astype(v.dtype.newbyteorder(">"))).reshape(len(v), -1).view("u1")
    return np.concatenate([np.zeros((len(v), 1), "u1"), rows], 1).tobytes()


def png(path, code, wide, high, colour, bands, interlaced=False):
    with open(path, "wb") as f:
        def chunk(kind, data):
            f.write(struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)))
        f.write(b"\x89PNG\r\n\x1a\n")
        chunk(b"IHDR", struct.pack(">IIBBBBB", wide, high, 8 * np.dtype(code).itemsize, colour, 0, 0, interlaced))
        packer = zlib.compressobj(1)
        for v in bands:
            data = packer.compress(rows_of(v))
            if data:
                chunk(b"IDAT", data)
        chunk(b"IDAT", packer.flush())
        chunk(b"IEND", b"")


def write_png(folder, name, n, colour, opaque=False):
    code, shape = shapes(n)[name]
    bands = parts(name, n, max(1, (1 << 22) // int(np.prod(shape[1:]))))
    if opaque:
        bands = (np.concatenate([v, np.full_like(v[..., :1], 255)], -1) for v in bands)
    png(f"{folder}/{name}", code, shape[1], shape[0], colour, bands)


def write_interlaced(folder, n):
    v = values("interlaced.png", n)
    png(f"{folder}/interlaced.png", "u1", v.shape[1], v.shape[0], 0, (v[y::dy, x::dx] for y, x, dy, dx in PASSES), True)


def tiff(path, code, wide, high, channels, pages, packed=True, rows=None, tile=0, planar=False, white=False):
    """pages: of each page its blocks, in their order."""
    end = code[0]
    with open(path, "wb") as f:
        f.write(struct.pack(end + "2sHI", b"MM" if end == ">" else b"II", 42, 0))
        link = 4
        for blocks in pages:
            at, sizes = [], []
            for v in blocks:
                data = zlib.compress(v.tobytes(), 1) if packed else v.tobytes()
                at.append(f.tell())
                sizes.append(f.write(data))
                f.write(b"\0" * (len(data) % 2))
            bits, kind = 8 * np.dtype(code).itemsize, 3 if code[1] == "f" else 1
            tags = {256: ("I", [wide]), 257: ("I", [high]), 258: ("H", [bits] * channels), 259: ("H", [8 if packed else 1]),
                    262: ("H", [2 if channels == 3 else 0 if white else 1]), 277: ("H", [channels]), 284: ("H", [2 if planar else 1]),
                    339: ("H", [kind] * channels)}
            if tile:
                tags.update({322: ("I", [tile]), 323: ("I", [tile]), 324: ("I", at), 325: ("I", sizes)})
            else:
                tags.update({273: ("I", at), 278: ("I", [rows or high]), 279: ("I", sizes)})
            entries = b""
            for tag in sorted(tags):
                size, v = tags[tag]
                data = struct.pack(f"{end}{len(v)}{size}", *v)
                if len(data) > 4:
                    where = f.tell()
                    f.write(data + b"\0" * (len(data) % 2))
                    data = struct.pack(end + "I", where)
                entries += struct.pack(end + "HHI", tag, 3 if size == "H" else 4, len(v)) + data.ljust(4, b"\0")
            here = f.tell()
            f.seek(link)
            f.write(struct.pack(end + "I", here))
            f.seek(here)
            f.write(struct.pack(end + "H", len(tags)) + entries)
            link = f.tell()
            f.write(b"\0\0\0\0")


def tiles(n, tile):
    """The least value is white."""
    wide = shapes(n)["tiles.tif"][1][1]
    for v in parts("tiles.tif", n, tile):
        for x in range(0, wide, tile):
            yield ~v[:, x:x + tile]


def write_pictures(folder, n):
    made = shapes(n)
    write_png(folder, "rows.png", n, 2)
    if os.environ.get("DLX_TIER") == "big":
        write_png(folder, "opaque.png", n, 6, opaque=True)
    write_png(folder, "wide.png", n, 0)
    write_png(folder, "seen.png", n, 6)
    write_interlaced(folder, n)
    tiff(f"{folder}/pages.tif", "<f4", 2 * n, n, 1, ([v] for v in parts("pages.tif", n, 1)))
    high, wide, _ = made["planes.tif"][1]
    planes = (v[..., c] for c in range(3) for v in parts("planes.tif", n, high))
    tiff(f"{folder}/planes.tif", ">u2", wide, high, 3, [planes], packed=False, planar=True)
    high, wide = made["tiles.tif"][1]
    tiff(f"{folder}/tiles.tif", "<u4", wide, high, 1, [tiles(n, 256)], tile=256, white=True)
    tiff(f"{folder}/strips.tif", "<f4", wide, high, 1, [parts("strips.tif", n, high // 4)], rows=high // 4)


def write_lmdb(make, path, n):
    with subprocess.Popen([make, path], stdin=subprocess.PIPE) as made:
        made.stdin.write(struct.pack("<II", 2, 8 * n ** 3) + b"x0")
        for v in parts("large.lmdb", n, 1):
            made.stdin.write(v.tobytes())
    return made.returncode


def check(record, name, layout, n):
    import dlxrecord
    x = dlxrecord.read(record)[1][0]
    got = x[0] if layout == "stack" else np.moveaxis(x, 0, -1) if layout == "last" else x
    shape = shapes(n)[name][1]
    assert got.shape == shape, (got.shape, shape)
    step = max(1, (1 << 22) // int(np.prod(shape[1:])))
    for k, v in enumerate(parts(name, n, step)):
        assert (got[k * step:k * step + len(v)] == v).all(), f"{name}: rows {k * step}, {len(v)}"


def main():
    if sys.argv[1] == "--check":
        return check(sys.argv[2], os.path.basename(sys.argv[3]).split(":")[0], sys.argv[4], int(sys.argv[5]))
    folder, n = sys.argv[1], int(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    write_pictures(folder, n)
    return write_lmdb(sys.argv[3], f"{folder}/large.lmdb", n) if len(sys.argv) > 3 else 0


if __name__ == "__main__":
    sys.exit(main())
