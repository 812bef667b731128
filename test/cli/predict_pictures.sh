#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# Pictures of --predict: of a PNG file the first row is on top, of a grid whose latitudes rise it is at the bottom.
. "${DLX_SOURCE:?}/test/lib.sh"
find_python3
coads_data
tiny=$DLX_SOURCE/test/train/tiny.yaml

PYTHONPATH=$DLX_SOURCE/test/cli PYTHONDONTWRITEBYTECODE=1 "$python3" - <<'END'
from pictures import png
for name, value in (("image", lambda y, x: 20 + 200 * (y < 1 and x < 7)), ("label", lambda y, x: int(y < 1 and x < 7))):
    png(f"{name}.png", 9, 4, [value(y, x) for y in range(4) for x in range(9)])
END
expect 0 "$convert" --input image.png --target label.png -o picture.dlx
cat >config.yaml <<'END'
run: {name: points, seed: 1}
model: {family: layers, layers: [{conv2d: {filters: 2, kernel: 1}}]}
data: {train: picture.dlx, transforms: [{normalize: standard}]}
loss: softmax_cross_entropy
optimizer: {type: adam, learning_rate: 0.3}
train: {steps: 30, batch_size: 1}
END
expect 0 "$train" --quiet config.yaml
expect 0 "$train" --predict image.png -o png config.yaml
expect 0 "$train" --predict image.png --as classes -o png.npy config.yaml
[ "$(cat png/classes.csv)" = "class,name,colour
0,class 0,#$(sed -n 's/^0,.*#//p' png/classes.csv)
1,class 1,#$(sed -n 's/^1,.*#//p' png/classes.csv)" ] || fail "no legend: $(cat png/classes.csv)"
grep -q '>class 1<' png/legend.svg || fail "legend.svg does not name class 1"
expect 0 "$convert" --input image.png --target label.png --class-names 'sky & "sea",ice' -o named.dlx
expect 0 "$train" --quiet --set data.train=named.dlx --set run.name=named config.yaml
expect 0 "$train" --predict named.dlx -o named --set data.train=named.dlx --set run.name=named config.yaml
grep -q '^1,ice,#[0-9a-f]\{6\}$' named/classes.csv || fail "no class of its name: $(cat named/classes.csv)"
grep -q '^0,"sky & ""sea""",#[0-9a-f]\{6\}$' named/classes.csv || fail "no quotes: $(cat named/classes.csv)"
grep -q '^,ignored,#969696$' named/classes.csv || fail "no line for ignored labels: $(cat named/classes.csv)"

expect 0 "$convert" --input "$coads:WSPD,UWND,VWND,SLP" --validity-mask --target "$coads:SST" --samples 1 -o field.dlx
expect 0 "$train" --quiet "$tiny"
expect 0 "$train" --predict field.dlx -o grid "$tiny"
expect 0 "$train" --predict field.dlx --as classes -o grid.npy "$tiny"

# The colours of a picture are those of the classes in rows as they are, or in the opposite order; not in both.
"$python3" - <<'END' || fail "see above"
import ast, csv, struct, zlib

def decoded(path):
    data, at, packed = open(path, "rb").read(), 8, b""
    while at < len(data):
        n, kind = struct.unpack(">I4s", data[at:at + 8])
        part = data[at + 8:at + 8 + n]
        if kind == b"IHDR":
            width, height = struct.unpack(">II", part[:8])
        packed += part if kind == b"IDAT" else b""
        at += 12 + n
    raw, stride, above, rows = zlib.decompress(packed), 3 * width, bytes(3 * width), []
    for y in range(height):
        how, line = raw[y * (stride + 1)], bytearray(raw[y * (stride + 1) + 1:(y + 1) * (stride + 1)])
        for i in range(stride):
            a, b, c = (line[i - 3] if i >= 3 else 0), above[i], (above[i - 3] if i >= 3 else 0)
            p = a + b - c
            near = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
            line[i] = (line[i] + (0, a, b, (a + b) // 2, near)[how]) & 255
        above = bytes(line)
        rows.append([above[k:k + 3] for k in range(0, stride, 3)])
    return rows

def array(path):
    data = open(path, "rb").read()
    n = struct.unpack("<H", data[8:10])[0]
    _, height, width = ast.literal_eval(data[10:10 + n].decode())["shape"]
    v = struct.unpack(f"<{height * width}i", data[10 + n:])
    return [v[y * width:(y + 1) * width] for y in range(height)]

def same_colours(classes, picture):
    scale = len(picture) // len(classes)
    pairs = {(c, picture[y * scale][x * scale]) for y, row in enumerate(classes) for x, c in enumerate(row)}
    return len(pairs) == len({c for row in classes for c in row}) > 1

for name, drawn, first_on_top in (("png", "image", True), ("grid", "000000", False)):
    classes, picture = array(f"{name}.npy"), decoded(f"{name}/{drawn}.png")
    assert same_colours(classes, picture) == first_on_top, name
    with open(f"{name}/classes.csv", newline="") as table:
        legend = {row["colour"] for row in csv.DictReader(table)}
    drawn = {"#" + bytes(p).hex() for row in picture for p in row if p != b"\xff\xff\xff"}
    assert drawn <= legend, f"{name}: {drawn} are not in {legend}"
    assert same_colours(classes[::-1], picture) != first_on_top, name
END
pass
