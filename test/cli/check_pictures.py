# SPDX-License-Identifier: BSD-3-Clause
"""check_pictures.py DLX-CONVERT DIR [tiff]: what dlx-convert reads of PNG and, if it was built with it, TIFF pictures."""
import os
import struct
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
for bits in (1, 2, 4):
    labels = rng.integers(0, 1 << bits, (H, W))
    png(f"{folder}/p.png", W, H, values(labels), 1, bits)
    got = convert("-i", "p.png", "-t", "p.png")
    same(f"png, grey of {bits} bits", got[1][0, 0], (labels * (255 // ((1 << bits) - 1))).astype(np.uint8))
    same(f"png, labels of {bits} bits", got[2], labels.astype(np.uint8)[None])
    same("png, numbers of grey", convert("-i", "p.png:index")[1], labels.astype(np.uint8)[None, None])
    colours = [(k, 255 - k, 9) for k in range(1 << bits)]
    png(f"{folder}/p.png", W, H, values(labels), 1, bits, colours)
    same(f"png, labels of a palette of {bits} bits", convert("-i", "p.png", "-t", "p.png")[2], labels.astype(np.uint8)[None])
png(f"{folder}/grey.png", W, H, values(labels))
for channels in (2, 3, 4):
    png(f"{folder}/p.png", W, H, values(draw(channels, np.uint8)), channels)
    refuse(f"'p.png' has {channels} channels, as colours have", "-i", "grey.png", "-t", "p.png")
    refuse("a coloured picture without a palette has no 'index'", "-i", "p.png:index")
assert convert("-i", "grey.png", "-t", "p.png", "--target-layout", "last")[2].shape == (1, 4, H, W)
v = draw(3, np.uint8)
calibration = b"p\0" + struct.pack(">iiBB", -10, 30, 0, 2) + b"K\x000.5\x0080"
png(f"{folder}/p.png", W, H, values(v), 3, says=[(b"pCAL", calibration)])
got = convert("-i", "p.png")[1]
assert got.dtype == np.float32 and np.allclose(got, 0.5 + 80 * (-10 + first(v) / 255 * 40) / 40, rtol=1e-6)
png(f"{folder}/p.png", W, H, values(v), 3, says=[(b"pCAL", calibration.replace(b"\0\2K", b"\1\3K") + b"\x001")])
refuse("calibrated (pCAL) by a curve", "-i", "p.png")
png(f"{folder}/p.png", W, H, values(v), 3, says=[(b"acTL", struct.pack(">II", 5, 0))])
refuse("png: an animation of 5 pictures", "-i", "p.png")
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
v = draw(1, np.uint32)
tiff(f"{folder}/p.tif", W, H, [values(v)], 1, "I", white=True)
same("tiff, least is white, 32 bits", convert("-i", "p.tif", "--dtype", "i64")[1], first(4294967295 - v.astype(np.int64)))
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

# --- what a file says of its values ---

NODATA, METADATA, DESCRIPTION = 42113, 42112, 270


def missing(name, want, gone):
    """want: (channels, height, width), with what is `gone` missing."""
    channels = want.shape[0]
    got = convert("-i", "p.tif", "--validity-mask")[1][0]
    same(f"{name}: what is there", got[channels].astype(bool), ~gone.any(0))
    same(name, got[:channels], np.where(gone, 0, want).astype(got.dtype))


for code, dtype, value, text in (("f", np.float32, -9999, "-9999"), ("f", np.float32, np.finfo(np.float32).min, "-3.40282346638528859812e+38"),
                                 ("f", np.float32, np.float32(0.1), "0.1 "), ("H", np.uint16, 65535, "65535"), ("h", np.int16, -32768, "-3.2768e4"),
                                 ("B", np.uint8, 7, "7"), ("f", np.float32, np.nan, "nan")):
    v = draw(1, dtype)
    v[2:5, 3:9] = value
    for form in ({}, {"tile": 16, "packed": True}):
        tiff(f"{folder}/p.tif", W, H, [values(v)], 1, code, says=[{NODATA: text}], **form)
        missing(f"GDAL_NODATA {code} {text}", np.moveaxis(v, -1, 0), np.moveaxis(np.isnan(v) if value != value else v == dtype(value), -1, 0))
v = draw(1, np.uint8)
tiff(f"{folder}/p.tif", W, H, [values(v)], says=[{NODATA: "3"}], white=True)
missing("GDAL_NODATA where the least is white", np.moveaxis(255 - v, -1, 0), np.moveaxis(v == 3, -1, 0))
tiff(f"{folder}/p.tif", W, H, [values(v)], says=[{NODATA: "none"}])
refuse("'GDAL_NODATA' is no number; say which values are missing", "-i", "p.tif")
same("GDAL_NODATA of the user's", convert("-i", "p.tif", "--missing", "300")[1], first(v))
tiff(f"{folder}/p.tif", W, H, [values(v)] * 2, says=[{NODATA: "3"}, {NODATA: "4"}])
refuse("its pages differ in the missing value", "-i", "p.tif")


# Tiles, or planes, that GDAL leaves out are missing where the file has a missing value, and else zeros.
for code, dtype in ("B", np.uint8), ("H", np.uint16), ("h", np.int16), ("I", np.uint32), ("f", np.float32), ("d", np.float64):
    v = draw(1, dtype)
    out = np.zeros((H, W), bool)
    out[:16, 16:], out[16:, :16] = True, True
    for packed, big in ((False, False), (True, False), (True, True)):
        for text in None, "7", "-9999", "70000":
            known = text and (code in "fd" or np.iinfo(dtype).min <= float(text) <= np.iinfo(dtype).max)
            tiff(f"{folder}/p.tif", W, H, [values(v)], 1, code, tile=16, packed=packed, big=big, absent=(1, 2), says=[{NODATA: text} if text else {}])
            got = convert("-i", "p.tif", "--fill", "99", "--dtype", "f64")[1][0, 0]
            gone = v[..., 0] == float(text or "nan")
            same(f"absent tiles {code} {text}", got, np.where(out, 99 if known else 0, np.where(gone, 99, v[..., 0])).astype(np.float64))
    three = draw(3, dtype)
    for packed in False, True:
        tiff(f"{folder}/p.tif", W, H, [values(three)], 3, code, planar=True, packed=packed, absent=(1,))
        got = convert("-i", "p.tif", "--dtype", "f64")[1]
        same(f"an absent plane {code}", got, first(three * np.array([1, 0, 1])).astype(np.float64))
labels = rng.integers(0, 2, (H, W))
tiff(f"{folder}/p.tif", W, H, [values(labels)], bits=1, tile=16, absent=(0, 3), says=[{NODATA: "1"}])
same("absent tiles of bits", convert("-i", "p.tif", "-t", "p.tif", "--ignore", "255")[2],
     np.where(out & (labels == 0), 0, 255).astype(np.uint8)[None])


def items(scale, offset):
    every = [("SCALE", "scale", v, k) for k, v in enumerate(scale)] + [("OFFSET", "offset", v, k) for k, v in enumerate(offset)]
    return ("<GDALMetadata>\n  <!-- <Item role=\"scale\">9</Item> --><Item name=\"SCALE\" sample=\"0\">8</Item>\n"
            + "".join(f"  <Item name=\"{n}\" sample='{k}' role=\"{r}\">{v}</Item>\n" for n, r, v, k in every) + "</GDALMetadata>")


for scale, offset in (([0.5] * 3, [-4] * 3), ([0.5, 1, 2], [0, -10, 0.25]), ([1, 1, 1], [0, 0, 3])):
    v = draw(3, np.uint16)
    v[0, :4, 1] = 5
    tiff(f"{folder}/p.tif", W, H, [values(v)], 3, "H", says=[{NODATA: "5", METADATA: items(scale, offset)}])
    missing(f"scale {scale}", np.moveaxis(v.astype(np.float32) * scale + offset, -1, 0), np.moveaxis(v == 5, -1, 0))
tiff(f"{folder}/p.tif", W, H, [values(v)], 3, "H", says=[{METADATA: items(["x"], [])}])
refuse("its attribute 'scale' is no single number", "-i", "p.tif")
v = draw(1, np.uint8)
tiff(f"{folder}/p.tif", W, H, [values(v)], white=True, says=[{METADATA: items([2], [1])}])
same("scale where the least is white", convert("-i", "p.tif")[1], first(v * np.float32(2) + 1))
tiff(f"{folder}/p.tif", W, H, [values(v)] * 2, says=[{DESCRIPTION: "ImageJ=1.53t\nimages=2\nslices=2\ncf=0\nc0=-32768.0\nc1=2.0\nvunit=a\n"}])
same("ImageJ's calibration", convert("-i", "p.tif")[1], np.stack([np.moveaxis(v, -1, 0)] * 2, 1)[None] * np.float32(2) - 32768)
tiff(f"{folder}/p.tif", W, H, [values(v)], says=[{DESCRIPTION: "ImageJ=1.53t\ncf=3\nc0=1.0\nc1=2.0\n"}])
refuse("ImageJ's calibration of its values is a curve", "-i", "p.tif")

# Masks, in the file or next to it; reduced copies and their masks do not count.
for channels, code, dtype in ((1, "B", np.uint8), (3, "H", np.uint16), (1, "f", np.float32)):
    v = draw(channels, dtype)
    there = rng.random((H, W)) > 0.3
    gone = np.broadcast_to(~there, (channels, H, W))
    for form in ({}, {"packed": True, "big": True}):
        tiff(f"{folder}/p.tif", W, H, [values(v), values(there)], channels, code, kinds=[0, 4], **form)
        missing(f"a mask, {channels} {code}", np.moveaxis(v, -1, 0), gone)
tiff(f"{folder}/p.tif", W, H, [values(v), values(there), values(v), values(there)], 1, "f", kinds=[0, 4, 1, 5])
missing("a mask with reduced copies", np.moveaxis(v, -1, 0), gone)
tiff(f"{folder}/p.tif", W, H, [values(v), values(there), values(v)], 1, "f", kinds=[0, 4, 0])
refuse("its masks are not as many as its pages", "-i", "p.tif")
v, other = draw(1, np.uint8), rng.random((H, W)) > 0.5
tiff(f"{folder}/p.tif", W, H, [values(v), values(there), values(v), values(other)], kinds=[2, 6, 2, 6])
got = convert("-i", "p.tif", "--validity-mask")[1][0]
same("masks of pages", got, np.stack([np.stack([v[..., 0] * there, v[..., 0] * other]), np.stack([there, other])]).astype(np.uint8))
got = convert("-i", "p.tif", "--validity-mask", "--concatenate")[1]
same("masks of samples", got, np.stack([np.stack([v[..., 0] * m, m]) for m in (there, other)]).astype(np.uint8))
v = draw(3, np.uint8)
tiff(f"{folder}/p.tif", W, H, [values(v)], 3)
tiff(f"{folder}/p.tif.msk", W, H, [values(there * 255)])
missing("a mask next to it", np.moveaxis(v, -1, 0), np.broadcast_to(~there, (3, H, W)))
each = rng.random((H, W, 3)) > 0.5
tiff(f"{folder}/p.tif.msk", W, H, [values(each * 255)], 3)
missing("a mask of each channel", np.moveaxis(v, -1, 0), np.moveaxis(~each, -1, 0))
tiff(f"{folder}/p.tif.msk", H, W, [values(there)])
refuse("'p.tif': tiff: its mask has another size", "-i", "p.tif")
os.remove(f"{folder}/p.tif.msk")
labels = rng.integers(0, 3, (H, W))
tiff(f"{folder}/p.tif", W, H, [values(labels), values(there)], kinds=[0, 4])
same("a mask of labels", convert("-i", "p.tif", "-t", "p.tif", "--ignore", "255")[2], np.where(there, labels, 255).astype(np.uint8)[None])

# Descriptions of stacks: pages with the axes that they say, of which one directory may have all.
T, Z, C = 2, 3, 4
v = (rng.random((T, Z, C, H, W)) * 60000).astype(np.uint16)
IMAGEJ = f"ImageJ=1.53t\nimages={T * Z * C}\nchannels={C}\nslices={Z}\nframes={T}\nhyperstack=true\n"


def stack(pages, description, **form):
    tiff(f"{folder}/p.tif", W, H, [values(p) for p in pages.reshape(-1, H, W)], 1, "H", says=[{DESCRIPTION: description}], **form)


def ome(order, c, z, t, planes=""):
    return (f'<?xml version="1.0"?><!-- <Pixels SizeZ="9"> --><OME xmlns="x"><Image ID="Image:0"><Pixels ID="Pixels:0" SizeX="{W}" SizeY="{H}"'
            f' SizeC="{c}" SizeZ="{z}" SizeT="{t}" DimensionOrder="{order}" Type="uint16">{planes}</Pixels></Image></OME>')


tzc = v.transpose(0, 2, 1, 3, 4)
for form in ({}, {"together": True}, {"together": True, "big": True}):
    stack(v, IMAGEJ, **form)
    same(f"ImageJ's hyperstack {form}", convert("-i", "p.tif", "--concatenate")[1], tzc)
    stack(v[0, :, 0], f"ImageJ=1.53t\nimages={Z}\nslices={Z}\n", **form)
    same(f"ImageJ's slices {form}", convert("-i", "p.tif")[1], v[0, None, None, :, 0])
    stack(v[0, 0], f"ImageJ=1.53t\nimages={C}\nchannels={C}\nmode=composite\n", **form)
    same(f"ImageJ's channels {form}", convert("-i", "p.tif")[1], v[0, :1])
    stack(v[:, 0, 0], f"ImageJ=1.53t\nimages={T}\nframes={T}\n", **form)
    same(f"ImageJ's frames {form}", convert("-i", "p.tif", "--concatenate")[1], v[:, 0, :1])
    refuse("2 samples of each file (--concatenate)", "-i", "p.tif")
    stack(v[0, :, 0], f'{{"shape": [{Z}, {H}, {W}], "truncated": true}}', **form)
    same(f"tifffile's volume {form}", convert("-i", "p.tif")[1], v[0, None, None, :, 0])
    stack(v, f'{{"shape": [{T}, {Z}, 1, {C}, {H}, {W}], "axes": "TZQCYX"}}', **form)
    same(f"tifffile's axes {form}", convert("-i", "p.tif", "--concatenate")[1], tzc)
    stack(v[0], f'{{"shape": [{Z}, {C}, {H}, {W}]}}', **form)
    same(f"tifffile's axes without names {form}", convert("-i", "p.tif", "--input-layout", "first")[1], v[:1])
stack(v[0, :, 0], "a text of somebody else's")
same("another description", convert("-i", "p.tif")[1], v[0, None, None, :, 0])
tiff(f"{folder}/p.tif", W, H, [values(p) for p in v[:, 0, 0]], 1, "H", says=[{DESCRIPTION: f'{{"shape": [{H}, {W}]}}'}] * T)
same("pages written one by one", convert("-i", "p.tif")[1], v[None, None, :, 0, 0])
for order, axes in (("XYCZT", (0, 1, 2)), ("XYZCT", (0, 2, 1)), ("XYTZC", (2, 1, 0))):
    stack(v.transpose(*axes, 3, 4), ome(order, C, Z, T))
    same(f"OME {order}", convert("-i", "p.tif", "--concatenate")[1], tzc)
large = (rng.random((4, 3, 640, 640)) * 60000).astype(np.uint16)
tiff(f"{folder}/p.tif", 640, 640, [values(p) for p in large.reshape(-1, 640, 640)], 1, "H",
     says=[{DESCRIPTION: "ImageJ=1.53t\nimages=12\nchannels=3\nslices=4\nhyperstack=true\n"}])
same("pieces of a stack", convert("-i", "p.tif")[1], large.swapaxes(0, 1)[None])
planes = "".join(f'<TiffData IFD="{Z - 1 - z}" FirstZ="{z}" PlaneCount="1"/>' for z in range(Z))
stack(v[0, ::-1, 0], ome("XYCZT", 1, Z, 1, planes))
same("OME's directories in another order", convert("-i", "p.tif")[1], v[0, None, None, :, 0])
assert convert("-i", "p.tif")[0]["axes"][1]["name"] == "depth"
for description, what in ((IMAGEJ, f"by ImageJ says {T * Z * C} pages, but the file has {Z}"), (ome("XYCZT", 1, Z + 1, 1), f"by OME says {Z + 1} pages"),
                          (ome("XYCZT", 1, Z, 1, planes[: planes.index("/>") + 2]), "says of one of its planes no page"),
                          (f'{{"shape": [{Z + 1}, {H}, {W}]}}', f"by tifffile says {Z + 1} pages, but the file has {Z}"),
                          (f'{{"shape": [{Z}, {H}, {W + 1}]}}', "the shape in tifffile's description is not that of the pages"),
                          ("ImageJ=1.53t\nimages=3\nslices=2\nframes=2\n", "says 3 images, but its channels, slices and frames are 4"),
                          (ome("XYCZT", 1, Z, 1).replace("</Image>", "</Image><Image><Pixels SizeX='1'/></Image>"), "several OME images"),
                          ('<OME><BinaryOnly MetadataFile="x" UUID="y"/></OME>', "what OME says of this file is in another one")):
    stack(v[0, :, 0], description)
    refuse(what, "-i", "p.tif")
stack(v[0, :1, 0], f"ImageJ=1.53t\nimages={Z}\nslices={Z}\n")
refuse(f"by ImageJ says {Z} pages, but the file has 1 and no values of more after it", "-i", "p.tif")
stack(v[0, :1, 0], f"ImageJ=1.53t\nimages={Z}\nslices={Z}\n", packed=True)
refuse("whose values are compressed or scattered", "-i", "p.tif")
tiff(f"{folder}/p.tif", W, H, [values(p) for p in v[:, :2, 0].reshape(-1, H, W)], 1, "H", says=[{DESCRIPTION: f'{{"shape": [2, {H}, {W}]}}'}, {}] * 2)
refuse("several series of pages", "-i", "p.tif")
tiff(f"{folder}/p.tif", W, H, [values(draw(1, np.uint8))], says=[{32997: [5]}])
refuse("5 slices of a volume in one page are not read", "-i", "p.tif")

# Numbers of a palette, of grey of less than a byte, and where the least is white: labels are the file's own.
for bits in (1, 2, 4, 8):
    most = (1 << bits) - 1
    labels = rng.integers(0, most + 1, (H, W))
    colours = [(k, most - k, 9) for k in range(most + 1)]
    for form in ({}, {"tile": 16, "packed": True}):
        tiff(f"{folder}/p.tif", W, H, [values(labels)], bits=bits, palette=colours, **form)
        got = convert("-i", "p.tif", "-t", "p.tif")
        same(f"tiff, colours of a palette, {bits}", got[1], first(np.array(colours, np.uint8)[labels]))
        same(f"tiff, labels of a palette, {bits}", got[2], labels.astype(np.uint8)[None])
        same(f"tiff, numbers of a palette, {bits}", convert("-i", "p.tif:index")[1], labels.astype(np.uint8)[None, None])
        for white in (False, True):
            tiff(f"{folder}/p.tif", W, H, [values(labels)], bits=bits, white=white, **form)
            got, grey = convert("-i", "p.tif", "-t", "p.tif"), labels * (255 // most)
            same(f"tiff, grey of {bits} bits", got[1][0, 0], (255 - grey if white else grey).astype(np.uint8))
            same(f"tiff, labels of {bits} bits", got[2], labels.astype(np.uint8)[None])
    tiff(f"{folder}/p.tif", W, H, [values(labels)], bits=bits, white=True)
    same("edges of grey", convert("-i", "p.tif", "-t", "p.tif", "--classes", "128")[2], (255 - labels * (255 // most) >= 128).astype(np.uint8)[None])
tiff(f"{folder}/p.tif", W, H, [values(labels)], bits=8, palette=colours, says=[{NODATA: "3"}])
refuse("read the numbers: p.tif:index", "-i", "p.tif")
missing_labels = np.where(labels == 3, 255, labels % 255).astype(np.uint8)
tiff(f"{folder}/p.tif", W, H, [values(labels % 255)], palette=colours, says=[{NODATA: "3"}])
same("missing numbers of a palette", convert("-i", "p.tif:index", "-t", "p.tif", "--ignore", "255")[2], missing_labels[None])
tiff(f"{folder}/rgb.tif", W, H, [values(draw(3, np.uint8))], 3)
refuse("a coloured picture without a palette has no 'index'", "-i", "rgb.tif:index")
refuse("'rgb.tif' has 3 channels, as colours have, but a map of classes has one number a point", "-i", "p.tif:index", "-t", "rgb.tif")

# A GeoTIFF's place: of the pixels' centres.
SCALE, TIES, MATRIX, KEYS = 33550, 33922, 34264, 34735
UTM = [1, 1, 0, 4, 1024, 0, 1, 1, 1025, 0, 1, 1, 3072, 0, 1, 32633, 3076, 0, 1, 9001]
DEGREES = [1, 1, 0, 3, 1024, 0, 1, 2, 1025, 0, 1, 1, 2048, 0, 1, 4326]
POINTS = [2 if k == 11 else n for k, n in enumerate(DEGREES)]
v = draw(3, np.uint8)
x, y = 500000 + 30 * (np.arange(W) + 0.5), 4649000 - 20 * (np.arange(H) + 0.5)
metres = [{"standard_name": f"projection_{name}_coordinate", "units": "m", "epsg": "EPSG:32633"} for name in "yx"]
degrees = [{"standard_name": n, "units": f"degrees_{to}", "epsg": "EPSG:4326"} for n, to in (("latitude", "north"), ("longitude", "east"))]
for says, want in (({SCALE: [30.0, 20.0, 0.0], TIES: [0.0, 0.0, 0.0, 500000.0, 4649000.0, 0.0], KEYS: UTM}, (("y", y, metres[0]), ("x", x, metres[1]))),
                   ({SCALE: [30.0, 20.0, 0.0], TIES: [2.0, 1.0, 0.0, 500060.0, 4648980.0, 0.0]}, (("y", y, {}), ("x", x, {}))),
                   ({MATRIX: [30.0, 0.0, 0.0, 500000.0, 0.0, -20.0, 0.0, 4649000.0] + [0.0] * 7 + [1.0], KEYS: UTM}, (("y", y, metres[0]), ("x", x, metres[1]))),
                   ({SCALE: [0.5, 0.25, 0.0], TIES: [0.0, 0.0, 0.0, -10.0, 60.0, 0.0], KEYS: DEGREES},
                    (("lat", 59.875 - 0.25 * np.arange(H), degrees[0]), ("lon", -9.75 + 0.5 * np.arange(W), degrees[1]))),
                   ({SCALE: [0.5, 0.25, 0.0], TIES: [0.0, 0.0, 0.0, -10.0, 60.0, 0.0], KEYS: POINTS},
                    (("lat", 60 - 0.25 * np.arange(H), degrees[0]), ("lon", -10 + 0.5 * np.arange(W), degrees[1])))):
    tiff(f"{folder}/p.tif", W, H, [values(v)], 3, says=[says])
    axes = convert("-i", "p.tif")[0]["axes"]
    for axis, (name, at, attributes) in zip(axes[1:], want, strict=True):
        if axis["name"] != name or axis["attributes"] != attributes or axis["values"] != at.tolist():
            sys.exit(f"{says}: {axis}; expected {name} {attributes} {at}")
# Files next to it: GDAL's FILE.aux.xml counts more than the file, and a world file less.
def place_of(path):
    return [(a["name"], a["values"][:2], a["attributes"]) for a in convert("-i", path)[0].get("axes", [])[1:]]


def side_file(text, name="p.tif.aux.xml"):
    with open(f"{folder}/{name}", "w") as f:
        f.write(text)


def bands(*items):
    return "".join(f'<PAMRasterBand band="{k + 1}"><Description>a</Description>{i}</PAMRasterBand>' for k, i in enumerate(items))


INSIDE = {SCALE: [30.0, 20.0, 0.0], TIES: [0.0, 0.0, 0.0, 500000.0, 4649000.0, 0.0], KEYS: UTM}
WKT = ('PROJCS["WGS 84 / UTM zone 32N",GEOGCS["WGS 84",AUTHORITY["EPSG","4326"]],UNIT["metre",1,AUTHORITY["EPSG","9001"]],AUTHORITY["EPSG","32632"]]')
v = draw(3, np.uint8)
tiff(f"{folder}/p.tif", W, H, [values(v)], 3, says=[INSIDE | {NODATA: "5", METADATA: items([2] * 3, [1] * 3)}])
side_file(f"<PAMDataset><SRS dataAxisToSRSAxisMapping='1,2'>{WKT}</SRS><GeoTransform> 1.0e+02, 2, 0, 50, 0,-4</GeoTransform></PAMDataset>")
zone = [a | {"epsg": "EPSG:32632"} for a in metres]
assert place_of("p.tif") == [("y", [48, 44], zone[0]), ("x", [101, 103], zone[1])], place_of("p.tif")
missing("what the file says itself", np.moveaxis(v * np.float32(2) + 1, -1, 0), np.moveaxis(v == 5, -1, 0))
side_file("<PAMDataset>" + bands("<NoDataValue>7</NoDataValue><Scale>0.5</Scale>", "<Offset>-3</Offset><NoDataValue>7</NoDataValue>", "") + "</PAMDataset>")
missing("what its .aux.xml says", np.moveaxis(v * np.float32([0.5, 2, 2]) + np.float32([1, -3, 1]), -1, 0), np.moveaxis(v == 7, -1, 0))
assert place_of("p.tif")[0][1] == [4648990, 4648970]
side_file("<PAMDataset>" + bands("<NoDataValue>7</NoDataValue>", "<NoDataValue>8</NoDataValue>") + "</PAMDataset>")
refuse("in its .aux.xml the bands differ in the missing value", "-i", "p.tif")
side_file("<PAMDataset>" + bands("<Scale>x</Scale>") + "</PAMDataset>")
refuse("its attribute 'Scale' is no single number", "-i", "p.tif")
os.remove(f"{folder}/p.tif.aux.xml")
for name in "p.tfw", "p.tifw", "p.wld":
    side_file("10.0\n0.0\n0.0\n-5.0\n1000.5\n2000.25\n", name)
    assert place_of("p.tif")[0][1] == [4648990, 4648970]
    os.rename(f"{folder}/p.tif", f"{folder}/kept.tif")
    tiff(f"{folder}/p.tif", W, H, [values(v)], 3)
    assert place_of("p.tif") == [("y", [2000.25, 1995.25], {}), ("x", [1000.5, 1010.5], {})], place_of("p.tif")
    side_file("10.0\n1.0\n0.0\n-5.0\n1000.5\n2000.25\n", name)
    assert place_of("p.tif") == []
    os.remove(f"{folder}/{name}")
    os.rename(f"{folder}/kept.tif", f"{folder}/p.tif")

# Reference systems are compared; files that are a sample each may have several.
tiff(f"{folder}/zone-0.tif", W, H, [values(v)], 3, says=[{SCALE: [30.0, 20.0, 0.0], TIES: [0.0, 0.0, 0.0, 500000.0, 4649000.0, 0.0], KEYS: UTM}])
other = [32632 if k == 32633 else k for k in UTM]
tiff(f"{folder}/zone-1.tif", W, H, [values(v)], 3, says=[{SCALE: [30.0, 20.0, 0.0], TIES: [0.0, 0.0, 0.0, 500000.0, 4649000.0, 0.0], KEYS: other}])
refuse("other reference systems: y 4648990 ... 4648630 m in EPSG:32633 (19 of them) in 'zone-0.tif', but y 4648990 ... 4648630 m in EPSG:32632",
       "-i", "zone-0.tif", "-t", "zone-1.tif", "--target-layout", "last")
same("places in two zones", convert("-i", "zone-*.tif")[1], np.concatenate([first(v)] * 2))
same("by index", convert("-i", "zone-0.tif", "-t", "zone-1.tif", "--target-layout", "last", "--match", "index")[2], first(v))
turned = {MATRIX: [30.0, 1.0, 0.0, 0.0, 1.0, -20.0, 0.0, 0.0] + [0.0] * 7 + [1.0], KEYS: UTM}
tiff(f"{folder}/p.tif", W, H, [values(v)], 3, says=[turned])
assert "axes" not in convert("-i", "p.tif")[0] and "axes" not in convert("-i", "rgb.tif")[0]
