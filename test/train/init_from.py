# SPDX-License-Identifier: BSD-3-Clause
"""model.init_from with files written here, by NumPy and json alone, from the format's description."""
import json
import os
import subprocess
import sys

import numpy

from safetensors_read import read

TRAIN = os.path.join(os.environ.get("DLX_BUILD", "."), "dlx-train")
CONVERT = os.path.join(os.environ.get("DLX_BUILD", "."), "dlx-convert")
CODES = {"float64": "F64", "float32": "F32", "float16": "F16", "int64": "I64", "int32": "I32"}

BODY = """
    - conv2d: {filters: 6, kernel: 3, padding: same, name: stem}
    - batch_norm: {name: norm}
    - relu
    - conv2d: {filters: 6, kernel: 3, padding: same, name: middle}
    - relu
"""
CONFIG = """run: {{name: case, dir: runs/none, seed: 5}}
model:
  family: layers
  layers:{layers}
data: {{train: set.dlx, validation: set.dlx}}
loss: softmax_cross_entropy
train: {{steps: 1, batch_size: 2}}
checkpoint: {{every: null}}
report: {{progress: none, tensorboard: false}}
"""
HEAD = "    - conv2d: {filters: 4, kernel: 1, name: head}\n"
OTHER_HEAD = "    - conv2d: {filters: 8, kernel: 3, padding: same, name: head}\n    - conv2d: {filters: 4, kernel: 1, name: last}\n"


def write(path, tensors, bfloat16=()):
    header, data = {}, b""
    for name, v in tensors.items():
        v = numpy.ascontiguousarray(v)
        raw, code = v.tobytes(), CODES[str(v.dtype)]
        if name in bfloat16:
            raw, code = (v.view("u4") >> 16).astype("u2").tobytes(), "BF16"
        header[name] = {"dtype": code, "shape": list(v.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps({"__metadata__": {"format": "pt"}, **header}).encode()
    with open(path, "wb") as f:
        f.write(len(text).to_bytes(8, "little") + text + data)


def make_set():
    r = numpy.random.default_rng(1)
    labels = r.integers(0, 4, (4, 6, 8)).astype("u1")
    labels.flat[0] = 3
    numpy.save("x.npy", r.standard_normal((4, 3, 6, 8)).astype("f4"))
    numpy.save("y.npy", labels)
    subprocess.run([CONVERT, "--quiet", "--input", "x.npy", "--target", "y.npy", "-o", "set.dlx"], check=True)
    for name, layers in (("net", BODY + HEAD), ("other", BODY + OTHER_HEAD)):
        with open(name + ".yaml", "w") as f:
            f.write(CONFIG.format(layers=layers.rstrip()))


def train(config, *options):
    done = subprocess.run([TRAIN, *options, config + ".yaml"], capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def export(config, *options):
    status, said = train(config, *options, "--export", "out.safetensors")
    if status:
        sys.exit(f"FAIL: exit status {status}: {said}")
    return read("out.safetensors"), said


def check(what, condition, said=""):
    if not condition:
        sys.exit(f"FAIL: {what}\n{said}")


def same(what, a, b, names=None):
    for name in names or a:
        check(f"{what}: '{name}'", numpy.array_equal(a[name], b[name]))


def weights(first):
    """Other values than the initial ones, exact in bfloat16."""
    r = numpy.random.default_rng(2)
    return {n: (r.integers(1, 127, v.shape) / 64).astype("f4") for n, v in first.items()}


def loads(first, w):
    """Any order and any float type, PyTorch's counts among them."""
    shuffled = {n: w[n] for n in sorted(w, reverse=True)}
    shuffled["norm.num_batches_tracked"] = numpy.array(7, "i8")
    write("w.safetensors", shuffled)
    out, said = export("net", "--set", "model.init_from=w.safetensors")
    same("float32", w, out)
    check("order of the network", list(out) == list(first))
    check("a note", f"loaded {len(w)} of the network's {len(w)} tensors" in said, said)
    check("no word of the counts", "num_batches_tracked" not in said and "skipped" not in said, said)
    for kind in "f8", "f2":
        write("w.safetensors", {n: v.astype(kind) for n, v in w.items()})
        same(kind, w, export("net", "--set", "model.init_from={file: w.safetensors}")[0])
    write("w.safetensors", w, bfloat16=w)
    same("bfloat16", w, export("net", "--set", "model.init_from=w.safetensors")[0])
    status, _ = train("net", "--set", "model.init_from=w.safetensors", "--set", "run.dir=runs/trained")
    check("a training run starts from it", status == 0)
    status, said = train("net", "--resume", "--set", "model.init_from=w.safetensors", "--set", "run.dir=runs/resumed")
    check("so does one with --resume that has no checkpoint yet", status == 0, said)
    of = [export("net", "--set", f"run.dir=runs/{name}")[0] for name in ("trained", "resumed")]
    same("weights of a run with --resume", *of)


def spoil(w):
    bad = {n: v for n, v in w.items() if n not in ("stem.weight", "norm.running_var")}
    bad["extra.weight"] = numpy.zeros(3, "f4")
    bad["head.weight"] = numpy.zeros((5, 6, 1, 1), "f4")
    bad["middle.bias"] = numpy.zeros(6, "i4")
    return bad


def refuses(w):
    write("bad.safetensors", spoil(w))
    status, said = train("net", "--set", "model.init_from=bad.safetensors", "--export", "none.safetensors")
    check(f"exit status {status} instead of 65", status == 65, said)
    checked, found = train("net", "--set", "model.init_from=bad.safetensors", "--check")
    line = "'bad.safetensors': 6 of the network's 10 tensors fit; layers that match: none; that differ: stem, norm, middle, head"
    check("a check finds the same", checked == 65 and line in found, found)
    write("part.safetensors", {**w, "head.bias": numpy.zeros(5, "f4")})
    for strict, wanted in ("true", 65), ("false", 0):
        checked, part = train("net", "--set", f"model.init_from={{file: part.safetensors, strict: {strict}}}", "--check")
        line = "9 of the network's 10 tensors fit; layers that match: stem, norm, middle; that differ: head"
        check(f"a check names layers, strict {strict}", checked == wanted and line in part, part)
    for line in (
        "'bad.safetensors': has no tensor 'stem.weight' (6x3x3x3)",
        "'bad.safetensors': has no tensor 'norm.running_var' (6)",
        "'bad.safetensors': tensor 'extra.weight' has no place in this network",
        "'bad.safetensors': tensor 'head.weight' is 5x6x1x1 of f32, the network's is 4x6x1x1",
        "'bad.safetensors': tensor 'middle.bias' is 6 of i32, the network's is 6",
        "model.init_from: {file: bad.safetensors, strict: false}",
    ):
        check(f"says: {line}", said.count(line) == 1, said)
        check(f"a check says: {line}", found.count(line) == 1, found)
    check("nothing is written", not os.path.exists("none.safetensors"))
    write("many.safetensors", {**w, **{f"other.{i}": numpy.zeros(2, "f4") for i in range(50)}})
    status, said = train("net", "--set", "model.init_from=many.safetensors", "--export", "none.safetensors")
    check("each of many is listed", status == 65 and all(said.count(f"'other.{i}'") == 1 for i in range(50)), said)


def skips(first, w):
    bad = spoil(w)
    write("bad.safetensors", bad)
    out, said = export("net", "--set", "model.init_from={file: bad.safetensors, strict: false}")
    kept = {"stem.weight", "norm.running_var", "head.weight", "middle.bias"}
    same("kept", first, out, kept)
    same("loaded", w, out, set(w) - kept)
    for line in (
        f"loaded {len(w) - 4} of the network's {len(w)} tensors",
        "skipped 2 tensors not in the file (first values kept): stem.weight, norm.running_var",
        "skipped 1 tensor in the file alone: extra.weight",
        "skipped 2 tensors of another shape or type: middle.bias (6 of i32, not 6), "
        "head.weight (5x6x1x1 of f32, not 4x6x1x1)",
    ):
        check(f"says: {line}", line in said, said)
    write("alien.safetensors", {"other.weight": numpy.zeros(2, "f4")})
    options = "--set", "model.init_from={file: alien.safetensors, strict: false}", "--export", "none.safetensors"
    status, said = train("net", *options)
    check("a file of which nothing fits", status == 65 and "none of its tensors fits" in said, said)


def encoder(w):
    """The part that another network has in common with the file's."""
    write("w.safetensors", w)
    first, _ = export("other")
    out, _ = export("other", "--set", "model.init_from={file: w.safetensors, strict: false}")
    body = [n for n in w if not n.startswith("head.")]
    same("encoder", w, out, body)
    same("the rest", first, out, set(out) - set(body))


def without_data(w):
    write("w.safetensors", w)
    sizes = "--set", "model.input={channels: 3, size: [6, 8]}", "--set", "model.classes=4"
    out, _ = export("net", "--set", "data.train=nowhere.dlx", *sizes, "--set", "model.init_from=w.safetensors")
    same("without data", w, out)


def damaged(w):
    write("w.safetensors", w)
    with open("w.safetensors", "rb") as f:
        image = f.read()
    with open("short.safetensors", "wb") as f:
        f.write(image[:-5])
    for file, want in (("short.safetensors", 65), ("nowhere.safetensors", 66)):
        for strict in "true", "false":
            setting = f"model.init_from={{file: {file}, strict: {strict}}}"
            status, said = train("net", "--set", setting, "--export", "none.safetensors")
            check(f"{file}: exit status {status}", status == want and file in said, said)


def main():
    make_set()
    first, _ = export("net")
    w = weights(first)
    loads(first, w)
    refuses(w)
    skips(first, w)
    encoder(w)
    without_data(w)
    damaged(w)


if __name__ == "__main__":
    main()
