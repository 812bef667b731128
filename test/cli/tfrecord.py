# SPDX-License-Identifier: BSD-3-Clause
"""Writes TFRecord files of tf.train.Example, by the descriptions of both alone: what the tests of the
reader make their files with."""
import functools
import struct

TABLE = []
for byte in range(256):
    for _ in range(8):
        byte = byte >> 1 ^ (0x82f63b78 if byte & 1 else 0)
    TABLE.append(byte)


def joined(data, crc):
    """The register after many bytes: NumPy has blocks of them side by side, each from zero. A block's zeros make of each bit of what
    was before it what they make of that bit alone."""
    import numpy as np
    table, each = np.array(TABLE, np.uint32), int(len(data) ** 0.5)
    blocks = np.frombuffer(data, np.uint8, len(data) // each * each).reshape(-1, each)
    registers, bits = np.zeros(len(blocks), np.uint32), np.uint32(1) << np.arange(32, dtype=np.uint32)
    for column in blocks.T:
        registers = registers >> 8 ^ table[(registers ^ column) & 255]
        bits = bits >> 8 ^ table[bits & 255]
    bits = bits.tolist()
    for register in registers.tolist():
        for k in range(32):
            register ^= bits[k] if crc >> k & 1 else 0
        crc = register
    return data[blocks.size:], crc


def masked(data):
    crc = 0xffffffff
    if len(data) > 10000:
        data, crc = joined(data, crc)
    for b in data:
        crc = crc >> 8 ^ TABLE[(crc ^ b) & 255]
    crc ^= 0xffffffff
    return struct.pack("<I", ((crc >> 15 | crc << 17) + 0xa282ead8) & 0xffffffff)


def frame(record):
    length = struct.pack("<Q", len(record))
    return length + masked(length) + record + masked(record)


@functools.lru_cache(1 << 17)
def varint(v):
    v &= (1 << 64) - 1
    out = b""
    while v > 127:
        out += bytes([v & 127 | 128])
        v >>= 7
    return out + bytes([v])


def field(number, content):
    return varint(number << 3 | 2) + varint(len(content)) + content


def feature(value, packed=True):
    """bytes, or a list of them; a list of floats; a list of integers."""
    if isinstance(value, bytes):
        value = [value]
    if isinstance(value[0], bytes):
        return field(1, b"".join(field(1, v) for v in value))
    if isinstance(value[0], float):
        if packed:
            return field(2, field(1, struct.pack("<%df" % len(value), *value)))
        return field(2, b"".join(b"\x0d" + struct.pack("<f", v) for v in value))
    if packed:
        return field(3, field(1, b"".join(varint(v) for v in value)))
    return field(3, b"".join(b"\x08" + varint(v) for v in value))


def example(features, packed=True):
    return field(1, b"".join(field(1, field(1, name.encode()) + field(2, feature(value, packed)))
                             for name, value in features.items()))
