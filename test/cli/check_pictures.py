# SPDX-License-Identifier: BSD-3-Clause
"""check_pictures.py DLX-CONVERT DIR [tiff]: what dlx-convert reads of PNG and, if it was built with it, TIFF pictures."""
import subprocess
import sys

from converted import converter, same
import numpy as np
from pictures import png, tiff

program, folder = sys.argv[1:3]
convert = converter(program, folder)
has_tiff = sys.argv[3:] == ["tiff"]
rng = np.random.default_rng(7)
H, W = 19, 23


def refuse(what, *args):
    done = subprocess.run([program, "-o", "bad.dlx", *args], cwd=folder, capture_output=True, text=True)
    if done.returncode != 65 or what not in done.stderr:
        sys.exit(f"{args}: status {done.returncode}, {done.stderr}; expected {what}")


def draw(channels, dtype, opaque=False):
    top = np.iinfo(dtype).max if np.issubdtype(dtype, np.integer) else 1000
    v = (rng.random((H, W, channels)) * top).astype(dtype)
    if opaque:
        v[..., -1] = top
    return v


def first(v):
    return np.moveaxis(v, -1, 0)[None]


def values(v):
    return v.ravel().tolist()


for channels, bits in ((1, 8), (3, 8), (1, 16), (3, 16), (4, 8)):
    v = draw(channels, np.uint8 if bits == 8 else np.uint16)
    png(f"{folder}/p.png", W, H, values(v), channels, bits)
    same(f"png {channels} {bits}", convert("-i", "p.png")[1], first(v))
v = draw(3, np.uint8)
png(f"{folder}/p.png", W, H, values(v), 3, interlaced=True)
same("interlaced", convert("-i", "p.png")[1], first(v))
v = draw(4, np.uint16, opaque=True)
png(f"{folder}/p.png", W, H, values(v), 4, 16)
same("png, opaque", convert("-i", "p.png")[1], first(v[..., :3]))
v = draw(2, np.uint8, opaque=True)
png(f"{folder}/p.png", W, H, values(v), 2)
same("grey png, opaque", convert("-i", "p.png")[1], first(v[..., :1]))
colours = [(255, 0, 7), (1, 2, 3), (9, 255, 8)]
v = rng.integers(0, 3, (H, W))
png(f"{folder}/p.png", W, H, values(v), 1, 8, colours)
same("palette", convert("-i", "p.png")[1], first(np.array(colours, np.uint8)[v]))
same("palette's numbers", convert("-i", "p.png", "-t", "p.png:index")[2], v.astype(np.uint8)[None])
opacity = np.array((0, 255, 9), np.uint8)
png(f"{folder}/p.png", W, H, values(v), 1, 8, colours, clear=opacity.tolist())
same("transparent palette", convert("-i", "p.png")[1], first(np.concatenate([np.array(colours, np.uint8)[v], opacity[v][..., None]], -1)))
same("transparent palette's numbers", convert("-i", "p.png", "-t", "p.png:index")[2], v.astype(np.uint8)[None])
for channels, bits in ((1, 8), (3, 8), (1, 16), (3, 16)):
    v = draw(channels, np.uint8 if bits == 8 else np.uint16)
    clear = v[5, 6].tolist()
    seen = np.where((v == v[5, 6]).all(-1, keepdims=True), 0, np.iinfo(v.dtype).max).astype(v.dtype)
    png(f"{folder}/p.png", W, H, values(v), channels, bits, clear=clear)
    same(f"a transparent colour, {channels} {bits}", convert("-i", "p.png")[1], first(np.concatenate([v, seen], -1)))
    v[(v == v[5, 6]).all(-1)] += 1
    png(f"{folder}/p.png", W, H, values(v), channels, bits, clear=clear)
    same(f"a transparent colour that no pixel has, {channels} {bits}", convert("-i", "p.png")[1], first(v))
a, b = draw(3, np.uint8), draw(3, np.uint8)
png(f"{folder}/many-0.png", W, H, values(a), 3)
png(f"{folder}/many-1.png", W, H, values(b), 3)
same("a glob", convert("-i", "many-*.png")[1], np.concatenate([first(a), first(b)]))
with open(f"{folder}/p.png", "rb") as f:
    whole = f.read()
for cut in (9, 40, len(whole) // 2, len(whole) - 13):
    with open(f"{folder}/cut.png", "wb") as f:
        f.write(whole[:cut])
    refuse("png: ", "-i", "cut.png")
if not has_tiff:
    tiff(f"{folder}/p.tif", W, H, [values(draw(1, np.uint8))])
    done = subprocess.run([program, "-i", "p.tif", "-o", "bad.dlx"], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 69 and "built without libtiff" in done.stderr, done.stderr
    sys.exit()

for code, dtype in (("B", np.uint8), ("H", np.uint16), ("h", np.int16), ("i", np.int32), ("f", np.float32)):
    for channels in (1, 3, 5):
        for form in ({}, {"planar": True}, {"tile": 16}, {"tile": 16, "planar": True, "packed": True}, {"packed": True, "big": True}):
            v = draw(channels, dtype)
            tiff(f"{folder}/p.tif", W, H, [values(v)], channels, code, **form)
            layout = () if channels < 5 else ("--input-layout", "last")
            same(f"tiff {code} {channels} {form}", convert("-i", "p.tif", *layout)[1], first(v))
v = draw(4, np.uint8, opaque=True)
tiff(f"{folder}/p.tif", W, H, [values(v)], 4, alpha=True)
same("tiff, opaque", convert("-i", "p.tif")[1], first(v[..., :3]))
v = draw(1, np.uint16)
tiff(f"{folder}/p.tif", W, H, [values(v)], 1, "H", white=True)
same("tiff, least is white", convert("-i", "p.tif")[1], first(65535 - v))
v = [draw(1, np.float32) for _ in range(6)]
tiff(f"{folder}/stack.tif", W, H, [values(p) for p in v], 1, "f")
pages = np.stack([p[..., 0] for p in v])
same("pages are a volume", convert("-i", "stack.tif")[1], pages[None, None])
same("pages are samples", convert("-i", "stack.tif", "--concatenate")[1], pages[:, None])
same("pages are channels", convert("-i", "stack.tif", "--input-layout", "first")[1], pages[None])
v = draw(1, np.uint32)
tiff(f"{folder}/p.tif", W, H, [values(v)], 1, "I")
same("tiff, 32 bits", convert("-i", "p.tif", "--dtype", "i64")[1], first(v).astype(np.int64))
with open(f"{folder}/stack.tif", "rb") as f:
    whole = f.read()
for cut in (3, 9, len(whole) // 2 + 30, len(whole) - 100):
    with open(f"{folder}/cut.tif", "wb") as f:
        f.write(whole[:cut])
    refuse("tiff: ", "-i", "cut.tif")
