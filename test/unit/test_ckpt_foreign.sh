#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
#
# A checkpoint as others see it: `zstd -d` of its files, and a safetensors reader that shares
# nothing with ours. The values are those of ckpt_fixture.c.
save=test/unit/test_ckpt_damage
python=${PYTHON:-/usr/bin/python3}
command -v zstd >/dev/null && command -v "$python" >/dev/null || exit 77

dir=$(mktemp -d) || exit 99
trap 'rm -rf "$dir"' EXIT
"$save" save "$dir/ckpt" 7 || exit 1
cd "$dir/ckpt/"0* || exit 1
for file in weights state; do
	zstd -qd "$file.safetensors.zst" -o "$dir/$file.safetensors" || exit 1
done
"$python" - manifest.json "$dir/weights.safetensors" "$dir/state.safetensors" <<'END'
import json, math, os, struct, sys

def load(path):
    image = open(path, "rb").read()
    length, = struct.unpack_from("<Q", image)
    assert length % 8 == 0
    header = json.loads(image[8:8 + length])
    data = image[8 + length:]
    meta = header.pop("__metadata__")
    end = 0
    for entry in header.values():
        begin, stop = entry["data_offsets"]
        assert begin == end
        end = stop
    assert end == len(data)
    return header, data, meta, len(image)

def values(header, data, name, dtype, shape, code):
    entry = header[name]
    assert entry["dtype"] == dtype and entry["shape"] == shape, (name, entry)
    begin, end = entry["data_offsets"]
    return struct.unpack("<%d%s" % (math.prod(shape), code), data[begin:end])

def f32(x):
    return struct.unpack("<f", struct.pack("<f", x))[0]

step = 7
manifest = json.load(open(sys.argv[1]))
weights, data, meta, size = load(sys.argv[2])
assert meta == {"format": "pt"}
assert list(weights) == ["conv.weight", "conv.bias", 'no "data" \u00e9']
assert values(weights, data, "conv.weight", "F32", [2, 3, 3], "f") == tuple(
    f32(math.sin(step * 18 + i) / 3) for i in range(18))
assert values(weights, data, "conv.bias", "F64", [3], "d") == tuple(
    (step - i) / 3e10 for i in range(3))
assert values(weights, data, 'no "data" \u00e9', "F32", [0, 4], "f") == ()
assert manifest["files"]["weights.safetensors.zst"]["raw_bytes"] == size
state, data, meta, size = load(sys.argv[3])
assert values(state, data, "half", "F16", [5], "H") == tuple(step * 5 + i for i in range(5))
assert manifest["files"]["state.safetensors.zst"]["raw_bytes"] == size
for name, entry in manifest["files"].items():
    folder = os.path.dirname(os.path.abspath(sys.argv[1]))
    assert os.path.getsize(os.path.join(folder, name)) == entry["bytes"]
assert manifest["step"] == step and manifest["metric"] == {"score": -2}
assert float.fromhex(manifest["scalars"]["loss_scale"]) == step / 3
assert manifest["scalars"]["text"] == 'line\n"7"\\'
END
