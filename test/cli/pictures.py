# SPDX-License-Identifier: BSD-3-Clause
"""Writes PNG and TIFF pictures, for tests of their readers: by zlib and struct alone."""
import struct
import zlib


def _chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _packed(row, bits):
    """Values of less than a byte, the first in the highest bits."""
    each = 8 // bits
    row = list(row) + [0] * (-len(row) % each)
    return bytes(sum(v << 8 - bits * (k + 1) for k, v in enumerate(row[i : i + each])) for i in range(0, len(row), each))


PASSES = ((0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1))     # of Adam7


def png(path, width, height, values, channels=1, bits=8, palette=None, interlaced=False, clear=None, says=()):
    """values: row-major, a number for each channel of a pixel; palette: a list of (r, g, b); clear: the colour, a number for each
    channel, that is transparent; of a palette the opacity of each colour; says: further chunks, of a name and bytes."""
    colour = 3 if palette else {1: 0, 2: 4, 3: 2, 4: 6}[channels]
    code = "H" if bits == 16 else "B"
    rows = []
    for y0, x0, down, right in PASSES if interlaced else ((0, 0, 1, 1),):
        for y in range(y0, height, down):
            row = [values[(y * width + x) * channels + c] for x in range(x0, width, right) for c in range(channels)]
            rows.append(b"\0" * bool(row) + (_packed(row, bits) if bits < 8 else struct.pack(f">{len(row)}{code}", *row)))
    raw = b"".join(rows)
    out = b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced))
    for name, data in says:
        out += _chunk(name, data)
    if palette:
        out += _chunk(b"PLTE", bytes(v for c in palette for v in c))
    if clear:
        out += _chunk(b"tRNS", bytes(clear) if palette else struct.pack(f">{len(clear)}H", *clear))
    out += _chunk(b"IDAT", zlib.compress(raw)) + _chunk(b"IEND", b"")
    with open(path, "wb") as f:
        f.write(out)


def tiff(path, width, height, pages, channels=1, code="B", planar=False, tile=0, packed=False, big=False, alpha=False, white=False,
         bits=0, palette=None, kinds=(), says=(), together=False, absent=()):
    """pages: a list of values as for png(); code: of struct, B H h i f d; tile: extent of its tiles, else one strip; bits: of a
    value, if less than a byte; kinds: NewSubfileType of each page, of which 4 is a mask of single bits; says: of each page, further
    tags, {number: a text, or a list of numbers, of 16 bits or floats}; together: one directory, the other pages after its values;
    absent: numbers of tiles, or of planes without tiles, that are not written."""
    if together:
        rest = b"".join(struct.pack(f"{'>' if big else '<'}{len(v)}{code}", *v) for v in pages[1:])
        pages = pages[:1]
    end = ">" if big else "<"
    whole = 8 * struct.calcsize(end + code)
    kind = 3 if code in "fd" else 2 if code in "bhi" else 1
    out = bytearray(struct.pack(end + "2sHI", b"MM" if big else b"II", 42, 0))
    link = 4
    colour, depth = channels, bits or whole
    for page, values in enumerate(pages):
        mask = bool(kinds) and kinds[page] & 4
        channels, bits = (1, 1) if mask else (colour, depth)
        planes = [values[c::channels] for c in range(channels)] if planar else [values]
        step = 1 if planar else channels
        blocks = []
        for v in planes:
            corners = [(y, x) for y in range(0, height, tile) for x in range(0, width, tile)] if tile else [(0, 0)]
            for y0, x0 in corners:
                block = v
                if tile:
                    block = [v[(y * width + x) * step + k] if y < height and x < width else 0
                             for y in range(y0, y0 + tile) for x in range(x0, x0 + tile) for k in range(step)]
                if bits < 8:
                    wide = (tile or width) * step
                    data = b"".join(_packed(block[i : i + wide], bits) for i in range(0, len(block), wide))
                else:
                    data = struct.pack(f"{end}{len(block)}{code}", *block)
                blocks.append(zlib.compress(data) if packed else data)
        blocks = [b"" if k in absent else data for k, data in enumerate(blocks)]
        at = []
        for data in blocks:
            out += b"\0" * (len(out) % 2)
            at.append(len(out) if data else 0)
            out += data
            out += rest if together else b""
        tags = {256: (4, [width]), 257: (4, [height]), 258: (3, [bits] * channels), 259: (3, [8 if packed else 1]),
                262: (3, [4 if mask else 3 if palette else 2 if channels >= 3 else 0 if white else 1]), 277: (3, [channels]), 284: (3, [2 if planar else 1]),
                339: (3, [1 if mask else kind] * channels)}
        if kinds:
            tags[254] = (4, [kinds[page]])
        if palette and not mask:
            tags[320] = (3, [257 * c[k] for k in range(3) for c in palette])
        for tag, v in (says[page] if page < len(says) else {}).items():
            tags[tag] = (2, v.encode() + b"\0") if isinstance(v, str) else (12 if isinstance(v[0], float) else 3, v)
        colours = 3 if channels >= 3 else 1
        if channels > colours:
            tags[338] = (3, [2 if alpha else 0] * (channels - colours))
        if tile:
            tags.update({322: (4, [tile]), 323: (4, [tile]), 324: (4, at), 325: (4, [len(b) for b in blocks])})
        else:
            tags.update({273: (4, at), 278: (4, [height]), 279: (4, [len(b) for b in blocks])})
        rows = []
        for tag in sorted(tags):
            size, v = tags[tag]
            data = struct.pack(f"{end}{len(v)}{ {2: 'B', 3: 'H', 4: 'I', 12: 'd'}[size]}", *v)
            if len(data) > 4:
                out += b"\0" * (len(out) % 2)
                where = len(out)
                out += data
                data = struct.pack(end + "I", where)
            rows.append(struct.pack(end + "HHI", tag, size, len(v)) + data.ljust(4, b"\0"))
        out += b"\0" * (len(out) % 2)
        out[link : link + 4] = struct.pack(end + "I", len(out))
        out += struct.pack(end + "H", len(rows)) + b"".join(rows)
        link = len(out)
        out += b"\0\0\0\0"
    with open(path, "wb") as f:
        f.write(out)
