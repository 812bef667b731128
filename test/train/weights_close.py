# SPDX-License-Identifier: BSD-3-Clause
#
# weights_close.py A B TOLERANCE: every tensor of two safetensors files agrees to TOLERANCE times its largest value.
import json
import struct
import sys


def load(path):
    with open(path, "rb") as f:
        data = f.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    out = {}
    for name, t in header.items():
        assert t["dtype"] == "F32", name
        begin, end = t["data_offsets"]
        out[name] = struct.unpack("<%df" % ((end - begin) // 4), data[8 + size + begin : 8 + size + end])
    return out


a, b, tolerance = load(sys.argv[1]), load(sys.argv[2]), float(sys.argv[3])
if a.keys() != b.keys():
    sys.exit("other tensors: %s" % sorted(a.keys() ^ b.keys()))
for name in a:
    largest = max(max(map(abs, b[name])), 1e-3)
    error = max(abs(x - y) for x, y in zip(a[name], b[name])) / largest
    if not error <= tolerance:
        sys.exit("%s: they differ by %g of the largest value" % (name, error))
