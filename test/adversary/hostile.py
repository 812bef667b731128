# SPDX-License-Identifier: BSD-3-Clause
"""What the classes of hostile tests share. A class is an executable file next to this one, run as

    CLASS SEED COUNT

in a folder of its own, with the programs in DLX_BUILD and the sources in DLX_SOURCE. It makes COUNT
cases from SEED alone, prints one line "CLASS COUNT WRONG" and reports on standard error each wrong
case how it came about. A case is wrong if the program ends by a signal, does not end, ends with a
status that its man page does not have, or with 0 where it must not."""
import os
import random
import subprocess
import sys

BUILD, SOURCE = os.environ["DLX_BUILD"], os.environ["DLX_SOURCE"]
STATUSES = {0, 1, 64, 65, 66, 69, 71, 73, 74, 75, 76, 78}   # no 70: that is a bug
CAP = int(os.environ.get("DLX_LIMIT", 750)) * 4 // 5         # seconds: far beyond what any case takes


def program(name):
    return os.path.join(BUILD, name)


def run(argv, **more):
    """The exit status, negative for a signal, None for no end; and the end of what was printed."""
    env = dict(os.environ, OMP_NUM_THREADS="1", CUDA_VISIBLE_DEVICES="")
    env.update(more)
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=CAP, env=env)
    except subprocess.TimeoutExpired as e:
        return None, (e.stdout or b"")[-300:]
    return done.returncode, done.stdout[-300:]


def must(argv, threads=1):
    """A command that prepares a case and cannot fail."""
    status, text = run(argv, OMP_NUM_THREADS=str(threads))
    if status != 0:
        sys.exit("%s: status %s from %s\n%s" % (sys.argv[0], status, argv, text.decode(errors="replace")))


def mutate(rng, data):
    """One hostile copy of a file, and in words what was done to it."""
    data = bytearray(data)
    kind = rng.randrange(4)
    at = rng.randrange(len(data))
    if kind == 0:
        return bytes(data[:at]), "cut to %d bytes" % at
    if kind == 1:
        n = rng.randrange(1, 9)
        data[at:at + n] = bytes(rng.choice((0, 255, 127, 128, rng.randrange(256))) for _ in range(n))
        return bytes(data), "%d bytes from %d on are others" % (n, at)
    bit = rng.randrange(8)
    data[at] ^= 1 << bit
    return bytes(data), "bit %d of byte %d is flipped" % (bit, at)


class Class:
    """Counts the cases of a class. main() of a class file calls case() COUNT times."""

    def __init__(self, must_fail=False):
        self.name = os.path.basename(sys.argv[0])
        self.seed, self.count = int(sys.argv[1]), int(sys.argv[2])
        self.must_fail, self.wrong = must_fail, 0

    def rngs(self):
        """A generator for each case, so that one case can be looked at alone."""
        for i in range(self.count):
            yield i, random.Random("%s %d %d" % (self.name, self.seed, i))

    def fault(self, i, what):
        self.wrong += 1
        print("%s: seed %d, case %d: %s" % (self.name, self.seed, i, what), file=sys.stderr)

    def judge(self, i, argv, what, must_fail=None, **more):
        status, text = run(argv, **more)
        text = text.decode(errors="replace")
        must_fail = self.must_fail if must_fail is None else must_fail
        if status is None:
            self.fault(i, "%s: no end within %d s: %s" % (what, CAP, " ".join(argv)))
        elif status not in STATUSES:
            self.fault(i, "%s: status %d: %s\n%s" % (what, status, " ".join(argv), text))
        elif status == 0 and must_fail:
            self.fault(i, "%s: taken for good: %s" % (what, " ".join(argv)))
        return status

    def end(self):
        print("%s %d %d" % (self.name, self.count, self.wrong))


CONFIG = """run: {name: tiny}
model: {family: layers, classes: 3, layers: [{conv2d: {filters: 4, kernel: 3, padding: same}}, relu, {conv2d: {filters: 3, kernel: 1}}]}
data: {train: train.dlx, shuffle: false}
loss: {type: softmax_cross_entropy}
train: {epochs: 2, batch_size: 2}
report: {progress: none, tensorboard: false}
"""


def npy(shape, code, values):
    """An .npy file, by the format's description."""
    head = "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" % (code, tuple(shape))
    head += " " * (63 - (10 + len(head)) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + values


def small_record(rng):
    """train.dlx of 8 samples with 3 channels of 8x8, labels 0..2, by dlx-convert."""
    import struct
    x = b"".join(struct.pack("<f", rng.gauss(0, 1)) for _ in range(8 * 3 * 64))
    y = bytes(rng.randrange(3) for _ in range(8 * 64))
    with open("x.npy", "wb") as f:
        f.write(npy((8, 3, 8, 8), "<f4", x))
    with open("y.npy", "wb") as f:
        f.write(npy((8, 8, 8), "|u1", y))
    must([program("dlx-convert"), "-i", "x.npy", "-t", "y.npy", "-o", "train.dlx"])
    with open("tiny.yaml", "w") as f:
        f.write(CONFIG)
