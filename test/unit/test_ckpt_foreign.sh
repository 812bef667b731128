#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A checkpoint as others see it: the manifest is JSON, and a reader that shares nothing with ours finds every chunk in the packs by
# the layout that packs.h documents. The values are those of ckpt_fixture.c.
save=test/unit/test_ckpt_damage
python=${PYTHON:-/usr/bin/python3}
command -v "$python" >/dev/null || {
	echo "FAIL: package python3 is missing"
	exit 1
}

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
"$save" save "$dir/ckpt" 7 || exit 1
"$python" - "$dir/ckpt" <<'END'
import glob, json, math, os, struct, sys

root, step = sys.argv[1], 7
(path,) = glob.glob(root + "/versions/*.json")
manifest = json.load(open(path))
assert manifest["format"] == "dlx checkpoint 2" and manifest["byte_order"] == sys.byteorder
assert os.path.basename(path) == "%012d-%s.json" % (step, manifest["hash"][:8])
assert manifest["run"] == json.load(open(root + "/run.json"))["run"] and len(manifest["run"]) == 32
assert manifest["step"] == step and manifest["metric"] == {"score": -2} and manifest["parents"] == []
assert float.fromhex(manifest["scalars"]["loss_scale"]) == step / 3
assert manifest["scalars"]["text"] == 'line\n"7"\\'

(path,) = glob.glob(root + "/packs/*.pack")
image = open(path, "rb").read()
assert image[:8] == b"dlxpack2" and image[-8:] == b"dlxpackE"
at, count = struct.unpack("<QQ", image[-32:-16])
assert at + 48 * count + 32 == len(image)
chunks, end = {}, 8
for i in range(count):
    high, low, begin, stored, raw, codec, width = struct.unpack("<QQQIIBB14x", image[at + 48 * i:at + 48 * (i + 1)])
    assert begin == end
    end = begin + stored
    chunks["%016x%016x" % (high, low)] = (image[begin:end], raw, width)
assert end == at

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]

want = {
    "conv.weight": ("f32", [2, 3, 3], "weight", [struct.pack("<f", math.sin(step * 18 + i) / 3) for i in range(18)]),
    "conv.bias": ("f64", [3], "weight", [struct.pack("<d", (step - i) / 3e10) for i in range(3)]),
    'no "data" \u00e9': ("f32", [0, 4], "weight", []),
    "half": ("f16", [5], "state", [struct.pack("<H", step * 5 + i) for i in range(5)]),
    "momentum/conv.weight": ("f32", [7], "state", [struct.pack("<f", f32(step + i) / 7) for i in range(7)]),
}
assert {t["name"] for t in manifest["tensors"]} == set(want)
read = 0
for t in manifest["tensors"]:
    dtype, shape, use, values = want[t["name"]]
    data = b"".join(values)
    assert (t["type"], t["shape"], t["use"]) == (dtype, shape, use), t
    assert len(t["chunks"]) == (1 if data else 0)
    for address in t["chunks"]:
        stored, raw, width = chunks[address]
        assert raw == len(data)
        if len(stored) == raw:   # as it is: what is as small as this does not get smaller
            assert stored == data, t["name"]
            read += 1
assert read >= 3, read
END
