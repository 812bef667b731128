# SPDX-License-Identifier: BSD-3-Clause
"""by_tifffile.py DLX-CONVERT FOLDER: TIFF files that tifffile writes, plain, shaped, ImageJ's and OME's, against what it reads of them."""

import itertools
import os

import numpy as np
import tifffile

from made import begin, dlxrecord, end, fault, reads, reads_or_refuses, refused, run

begin()
rng = np.random.default_rng(3)
H, W = 22, 29


def draw(shape, code="u2"):
    kind = np.dtype(code)
    return rng.normal(size=shape).astype(kind) if kind.kind == "f" else rng.integers(0, min(np.iinfo(kind).max, 60000), shape).astype(kind)


def write(v, **how):
    if os.path.exists("a.tif"):
        os.remove("a.tif")
    tifffile.imwrite("a.tif", v, **how)


def ordered(axes=None):
    """What tifffile reads, as (T, C, Z, Y, X); other axes of more than one are not known here."""
    with tifffile.TiffFile("a.tif") as f:
        s = f.series[0]
        v, axes = s.asarray(), axes or s.axes
    keep = [k for k, a in enumerate(axes) if a in "TCZYXS"]
    v = v.reshape([v.shape[k] for k in keep])
    axes = "".join(axes[k] for k in keep)
    if "S" in axes and "C" not in axes:
        axes = axes.replace("S", "C")
    for a in "TCZYX":
        if a not in axes:
            v, axes = v[None], a + axes
    return v.transpose(*[axes.index(a) for a in "TCZYX"])


def layout(v):
    return v[:, :, 0] if v.shape[2] == 1 else v


# Shapes of each kind and form; time is samples with --concatenate.
KINDS = (("imagej", "TZCYX"), ("ome", "TCZYX"), ("ome", "TZCYX"), ("ome", "ZCTYX"), ("shaped", "TZCYX"), ("shaped", "CZYX"))
SIZES = (
    {"T": 3, "Z": 2, "C": 4},
    {"T": 1, "Z": 5, "C": 1},
    {"T": 1, "Z": 1, "C": 3},
    {"T": 4, "Z": 1, "C": 1},
    {"T": 1, "Z": 3, "C": 2},
    {"T": 2, "Z": 1, "C": 2},
    {"T": 2, "Z": 3, "C": 1},
)
FORMS = (
    {},
    {"bigtiff": True},
    {"byteorder": ">"},
    {"compression": "zlib"},
    {"compression": "lzma", "predictor": False},
    {"tile": (16, 16)},
    {"compression": "lzw", "predictor": True},
    {"rowsperstrip": 5},
    {"compression": "packbits"},
    {"truncate": True},
)
for (kind, axes), size, form, code in itertools.product(KINDS, SIZES, FORMS, ("u1", "u2", "f4")):
    if kind == "imagej" and (form.get("bigtiff") or "compression" in form or "tile" in form or form.get("byteorder")):
        continue
    if form.get("truncate") and kind == "ome":
        continue
    if "predictor" in form and code == "f4":
        form = form | {"predictor": 3} if form["predictor"] else form
    use = [a for a in axes if size.get(a, 9) > 1] if kind == "shaped" else list(axes)
    v = draw([size.get(a) or {"Y": H, "X": W}[a] for a in use], code)
    how = (
        {"imagej": {"imagej": True}, "ome": {"ome": True}, "shaped": {}}[kind]
        | form
        | {"photometric": "minisblack", "metadata": {"axes": "".join(use)}}
    )
    try:
        write(v, **how)
    except Exception as error:
        print("not written", kind, axes, size, form, str(error)[:100])
        continue
    name = f"{kind} {''.join(use)} {size} {form} {code}"
    want = layout(ordered())
    more = ["--concatenate"] if size["T"] > 1 and "T" in use else []
    status, text = run("-i", "a.tif", *more)
    if status and "--input-layout" in text:
        more += ["--input-layout", "first" if size["C"] > 1 else "stack"]
    reads(name, want, "-i", "a.tif", *more)

# Coloured pages.
for kind, lead in itertools.product(({}, {"imagej": True}, {"ome": True}), ((), (3,))):
    for planar in ("contig", "separate"):
        shape = (*lead, H, W, 3) if planar == "contig" else (*lead, 3, H, W)
        if planar == "separate" and kind.get("imagej"):
            continue
        v = draw(shape, "u1")
        write(v, photometric="rgb", planarconfig=planar, **kind)
        name = f"colours {kind} {lead} {planar}"
        want = np.moveaxis(v, -1, -3) if planar == "contig" else v
        if lead:
            if not reads_or_refuses(name + " as samples", want, "-i", "a.tif", "--concatenate"):
                print("refused:", name, run("-i", "a.tif", "--concatenate")[1].strip()[:220])
            if not reads_or_refuses(name + " as a volume", np.moveaxis(want, 1, 0)[None], "-i", "a.tif"):
                print("refused:", name, run("-i", "a.tif")[1].strip()[:220])
        else:
            reads(name, want[None], "-i", "a.tif")

# Types.
for code in "u1 i1 u2 i2 u4 i4 f4 f8 f2 u8 i8 c8 c16".split():
    v = draw((H, W), code if code[0] not in "c?" else "u1").astype(code)
    write(v, photometric="minisblack")
    name = f"type {code}"
    if not reads_or_refuses(name, v[None, None], "-i", "a.tif", "--dtype", "f64"):
        print("refused:", name, run("-i", "a.tif")[1].strip()[:160])
for bits in 1, 2, 4, 10, 12, 14:
    try:
        write(rng.integers(0, 2**bits, (H, W)).astype("u1" if bits < 9 else "u2"), bitspersample=bits, photometric="minisblack")
    except Exception as error:
        print("not written", bits, str(error)[:80])
        continue
    v = tifffile.imread("a.tif")
    if not reads_or_refuses(f"{bits} bits", v[None, None], "-i", "a.tif:index", "--dtype", "f64"):
        print("refused:", bits, run("-i", "a.tif:index")[1].strip()[:160])
v = draw((H, W), "u1")
write(v, photometric="miniswhite")
reads("least is white", 255 - v[None, None], "-i", "a.tif")
reads("least is white, numbers", v[None, None], "-i", "a.tif:index", "-t", "a.tif", target=v[None])
v = draw((H, W), "u2")
write(v, photometric="miniswhite")
reads("least is white, 16 bits", 65535 - v[None, None], "-i", "a.tif")
colours = np.stack([np.arange(256) * 257, 65535 - np.arange(256) * 257, np.full(256, 99)]).astype("u2")
v = rng.integers(0, 256, (H, W)).astype("u1")
write(v, photometric="palette", colormap=colours)
reads("palette", np.moveaxis((colours >> 8).astype("u1")[:, v], 0, 0)[None], "-i", "a.tif")
for extra in "unspecified", "assocalpha", "unassalpha":
    v = draw((H, W, 4), "u1")
    write(v, photometric="rgb", extrasamples=[extra])
    if not reads_or_refuses(f"extra {extra}", np.moveaxis(v, -1, 0)[None], "-i", "a.tif"):
        print("refused:", extra, run("-i", "a.tif")[1].strip()[:160])
    v = draw((H, W, 2), "u2")
    write(v, photometric="minisblack", planarconfig="contig", extrasamples=[extra])
    if not reads_or_refuses(f"grey, extra {extra}", np.moveaxis(v, -1, 0)[None], "-i", "a.tif"):
        print("refused: grey", extra, run("-i", "a.tif")[1].strip()[:160])
v = draw((H, W, 6), "f4")
write(v, photometric="minisblack", planarconfig="contig")
reads("six channels", np.moveaxis(v, -1, 0)[None], "-i", "a.tif", "--input-layout", "last")
write(np.ascontiguousarray(np.moveaxis(v, -1, 0)), photometric="minisblack", planarconfig="separate")
reads("six planes", np.moveaxis(v, -1, 0)[None], "-i", "a.tif", "--input-layout", "last")

# Several series, pyramids, pages that are appended, volumes of tiles.
v = draw((4, H, W))
with tifffile.TiffWriter("a.tif") as f:
    f.write(v, photometric="minisblack")
    f.write(draw((2, 9, 9), "u1"), photometric="minisblack")
refused("two series of other sizes", "", "-i", "a.tif")
with tifffile.TiffWriter("a.tif") as f:
    f.write(v, photometric="minisblack")
    f.write(v + 1, photometric="minisblack")
refused("two series of one size", "several series", "-i", "a.tif")
for subifds in (0, 2):
    big = draw((128, 160), "u1")
    with tifffile.TiffWriter("a.tif", ome=bool(subifds), bigtiff=True) as f:
        f.write(big, subifds=2, tile=(64, 64), photometric="minisblack")
        f.write(big[::2, ::2], subfiletype=1, tile=(64, 64))
        f.write(big[::4, ::4], subfiletype=1, tile=(64, 64))
    reads(f"a pyramid {subifds}", big[None, None], "-i", "a.tif")
with tifffile.TiffWriter("a.tif") as f:
    f.write(big, tile=(64, 64), photometric="minisblack")
    f.write(big[::2, ::2], subfiletype=1, tile=(64, 64), photometric="minisblack")
reads("reduced pages", big[None, None], "-i", "a.tif")
with tifffile.TiffWriter("a.tif") as f:
    for page in v:
        f.write(page, photometric="minisblack", metadata=None, contiguous=False)
reads("pages without a description", v[None, None], "-i", "a.tif")
os.remove("a.tif")
for page in v:
    tifffile.imwrite("a.tif", page, append=True, photometric="minisblack")
reads("pages that are appended", v[None, None], "-i", "a.tif")
write(draw((32, 64, 64)), tile=(16, 16, 16), photometric="minisblack", volumetric=True)
refused("a volume of tiles", "", "-i", "a.tif")
m = tifffile.memmap("a.tif", shape=(3, H, W), dtype="f4", photometric="minisblack")
m[:] = w = draw((3, H, W), "f4")
m.flush()
reads("memory-mapped", w[None, None], "-i", "a.tif")
m = tifffile.memmap("a.tif", shape=(3, H, W), dtype="u2", imagej=True, metadata={"axes": "ZYX"})
m[:] = w = draw((3, H, W), "u2")
m.flush()
reads("memory-mapped, ImageJ", w[None, None], "-i", "a.tif")
# A description with letters that are no ASCII, and with units.
v = draw((3, H, W))
write(
    v,
    imagej=True,
    resolution=(1 / 0.5, 1 / 0.5),
    metadata={"axes": "ZYX", "spacing": 2.0, "unit": "um", "Info": "a\nb=c\n", "Labels": ["a", "b", "c"]},
)
reads("ImageJ's labels", v[None, None], "-i", "a.tif")
write(
    v,
    ome=True,
    metadata={
        "axes": "ZYX",
        "Name": 'größe <&> "q"',
        "PhysicalSizeX": 0.5,
        "PhysicalSizeXUnit": "µm",
        "Plane": {"PositionX": [0.0] * 3},
        "Channel": {"Name": ["a"]},
    },
)
reads("OME's names", v[None, None], "-i", "a.tif")
for axes in "QYX", "RYX", "IYX", "PYX", "AYX":
    write(v, photometric="minisblack", metadata={"axes": axes})
    status, text = run("-i", "a.tif")
    print("axes", axes, status, text.strip()[:200].replace("\n", " "))
    if status == 0:
        x = dlxrecord.read("out.dlx")[1]
        if x.shape not in ((1, 1, 3, H, W), (1, 3, H, W)) or not np.array_equal(x.reshape(3, H, W), v):
            fault(f"axes {axes}")
# Several OME images, and a file of several.
with tifffile.TiffWriter("a.ome.tif", ome=True) as f:
    f.write(v, photometric="minisblack")
    f.write(v + 1, photometric="minisblack")
refused("several OME images", "several OME images", "-i", "a.ome.tif")
end()
