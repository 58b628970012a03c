"""A font whose every character is a box: pictures of a page then depend on its layout, and not on installed fonts.

The idea is that of Ahem, the font of the web platform tests. The font is made here, of the least number of tables that
browsers accept: one glyph, to which a cmap of format 13 maps every character.
"""

from __future__ import annotations

import struct
from typing import Final

_EM: Final = 1000
_ADVANCE: Final = 560
_BOX: Final = (60, 0, 500, 520)
"""Left, bottom, right, top."""
_LAST_CHARACTER: Final = 0x10FFFF


def box_font() -> bytes:
    """Return the font as TrueType."""
    left, bottom, right, top = _BOX
    name_records = {1: "Box", 2: "Regular", 4: "Box", 6: "Box"}
    texts = [text.encode("utf-16-be") for text in name_records.values()]
    offsets = [sum(map(len, texts[:at])) for at in range(len(texts))]
    records = b"".join(
        struct.pack(">6H", 3, 1, 0x409, number, len(text), offset)
        for number, text, offset in zip(name_records, texts, offsets, strict=True)
    )
    box = struct.pack(">h4h", 1, left, bottom, right, top) + struct.pack(">HH4B", 3, 0, 1, 1, 1, 1)
    box += struct.pack(">4h4h", left, right - left, 0, left - right, bottom, 0, top - bottom, 0)
    box += b"\0" * (-len(box) % 4)
    groups = struct.pack(">HHIII3I", 13, 0, 28, 0, 1, 0, _LAST_CHARACTER, 1)
    segments = struct.pack(">HHHHHHHHHHHHhhHH", 4, 32, 0, 4, 4, 1, 0, 0x41, 0xFFFF, 0, 0x41, 0xFFFF, -0x40, 1, 0, 0)
    tables = {
        b"OS/2": struct.pack(
            ">HhHHH10hh10s4I4sHHHhhhHHII", 3, _ADVANCE, 400, 5, 0, *[0] * 10, 0, bytes(10), 1, 0, 0, 0, b"cplc", 0x40,
            0x20, 0xFFFF, 800, -200, 0, 800, 200, 1, 0,
        ) + struct.pack(">hhHHH", 500, 520, 0, 0x20, 0),
        b"cmap": struct.pack(">HHHHIHHI", 0, 2, 3, 1, 20, 3, 10, 20 + len(segments)) + segments + groups,
        b"glyf": box,
        b"head": struct.pack(
            ">IIIIHHqqhhhhHHhhh", 0x10000, 0x10000, 0, 0x5F0F3CF5, 3, _EM, 0, 0, left, bottom, right, top, 0, 8, 2, 1, 0
        ),
        b"hhea": struct.pack(
            ">IhhhHhhhhhh8xhH", 0x10000, 800, -200, 0, _ADVANCE, left, _ADVANCE - right, right, 1, 0, 0, 0, 2
        ),
        b"hmtx": struct.pack(">HhHh", _ADVANCE, left, _ADVANCE, left),
        b"loca": struct.pack(">3I", 0, 0, len(box)),
        b"maxp": struct.pack(">IHHH11H", 0x10000, 2, 4, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0),
        b"name": struct.pack(">HHH", 0, len(texts), 6 + len(records)) + records + b"".join(texts),
        b"post": struct.pack(">IIhhIIIII", 0x30000, 0, -100, 50, 1, 0, 0, 0, 0),
    }  # fmt: skip
    return _file(tables)


def _file(tables: dict[bytes, bytes]) -> bytes:
    offset = 12 + 16 * len(tables)
    directory, content = b"", b""
    for tag, data in sorted(tables.items()):
        padded = data + b"\0" * (-len(data) % 4)
        checksum = sum(struct.unpack(f">{len(padded) // 4}I", padded)) & 0xFFFFFFFF
        directory += struct.pack(">4sIII", tag, checksum, offset + len(content), len(data))
        content += padded
    power = len(tables).bit_length() - 1
    head = struct.pack(">IHHHH", 0x10000, len(tables), 16 << power, power, 16 * len(tables) - (16 << power))
    return head + directory + content
