"""Mutations of texts: at tokens, lines and bytes, with pieces of other texts and with what nobody would write."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

LARGEST: Final = 16_000
"""Bytes of a mutated input; longer ones are cut."""

_TOKEN: Final = re.compile(rb"[A-Za-z_]\w*|\d+|<->|->|<=|>=|!=|:=|\.\.|[ \t]+|\r?\n|[\x80-\xff]+|.", re.DOTALL)

_ODD: Final = (
    "\ufeff", "\0", "\x01", "\x1b[31m", "\x07", "\x7f", "\x85", "\r", "\f", "\v", "\x1c", "\u2028", "\u200b",
    "\u202e", "\u00a0", "é", "e\u0301", "😀", "→", "∧", "¬", "\ud800", "٣", "ﬁ", "İ", "ß", "\\", '"', "'", "`", "/*",
    "*/", "//", "{", "}", "(", ")", "[", "]", "<<", ">>", "<!--", "]]>", "&lt;", "%s", "{}", "$", "#", ";", "@", "~",
    "\n\n", "\t",
)  # fmt: skip
ODD: Final = (*(text.encode("utf-8", "surrogatepass") for text in _ODD), b"\xff", b"\xc3", b"\xe2\x80", b"\x80")

NUMBERS: Final = (
    b"0", b"1", b"-1", b"00", b"7", b"64", b"40", b"1000", b"65536", b"999999999", b"9223372036854775808",
    b"999999999999999999", b"1" * 40, b"9" * 500, b"1e309", b"1e-400", b"0.1", b"NaN", b"-0", b"1.5e3", b"0x1F", b"3.",
)  # fmt: skip

_BRACKETS: Final = (
    (b"(", b")"), (b"[", b"]"), (b"{", b"}"), (b"<<", b">>"), (b"!", b""), (b"-", b""), (b"AX ", b""), (b"f(", b")"),
    (b"A[", b" U x]"), (b"/*", b"*/"), (b'{"a":', b"}"), (b"<a>", b"</a>"), (b"for i in 1..2 { ", b" }"), (b"x.", b""),
    (b"K{A} ", b""), (b"C(A, B, x, ", b")"), (b"x[", b"]"), (b"E{", b"} x"), (b"m -> ", b""),
)  # fmt: skip
_DEPTHS: Final = (1, 2, 5, 20, 60, 150, 199, 200, 201, 400, 1500)
_TIMES: Final = (2, 3, 10, 50, 200)

Mutation = Callable[[Random, "Material", bytes], bytes]


@dataclass(frozen=True)
class Material:
    """Material of mutations: other texts, and the words of the language."""

    texts: Sequence[bytes]
    words: Sequence[bytes]


def mutated(random: Random, material: Material) -> bytes:
    """Return one of the texts after a few mutations."""
    data = random.choice(material.texts)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        data = random.choice(MUTATIONS)(random, material, data)
    return data[:LARGEST]


def _pieces(data: bytes) -> list[bytes]:
    return _TOKEN.findall(data)


def _stretch(random: Random, count: int, longest: int) -> tuple[int, int]:
    """Return where a stretch of at most so many pieces begins and ends."""
    start = random.randrange(count + 1)
    return start, min(count, start + random.randint(1, longest))


def _delete(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    start, end = _stretch(random, len(pieces), random.choice((1, 2, 8, 40)))
    return b"".join(pieces[:start] + pieces[end:])


def _duplicate(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    start, end = _stretch(random, len(pieces), random.choice((1, 3, 10, 40)))
    at = random.choice((end, random.randrange(len(pieces) + 1)))
    return b"".join([*pieces[:at], b" " * random.randrange(2), *pieces[start:end], *pieces[at:]])


def _swap(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    if len(pieces) < 2:
        return data
    one, other = random.randrange(len(pieces)), random.randrange(len(pieces))
    pieces[one], pieces[other] = pieces[other], pieces[one]
    return b"".join(pieces)


def _splice(random: Random, material: Material, data: bytes) -> bytes:
    """Put a stretch of another text in, or in the place of something."""
    pieces, donor_pieces = _pieces(data), _pieces(random.choice(material.texts))
    start, end = _stretch(random, len(donor_pieces), random.choice((3, 10, 60)))
    at, until = _stretch(random, len(pieces), 10)
    return b"".join(pieces[:at] + donor_pieces[start:end] + pieces[random.choice((at, until)) :])


def _insert_word(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    at = random.randrange(len(pieces) + 1)
    until = at + random.randrange(2)
    return b"".join([*pieces[:at], b" " * random.randrange(2), random.choice(material.words), b" ", *pieces[until:]])


def _insert_odd(random: Random, material: Material, data: bytes) -> bytes:
    at = random.choice((0, len(data), random.randrange(len(data) + 1)))
    until = at + random.choice((0, 0, 1))
    return data[:at] + random.choice(ODD) * random.choice((1, 1, 2, 30)) + data[until:]


def _number(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    places = [at for at, piece in enumerate(pieces) if piece.isdigit()] or [random.randrange(len(pieces) + 1)]
    at = random.choice(places)
    return b"".join([*pieces[:at], random.choice(NUMBERS), *pieces[at + 1 :]])


def _nest(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    start, end = _stretch(random, len(pieces), random.choice((1, 3, 20)))
    (opening, closing), depth = random.choice(_BRACKETS), random.choice(_DEPTHS)
    missing = random.choice((0, 0, 0, 1, depth))
    inside = b"".join(pieces[start:end])
    return b"".join(pieces[:start]) + opening * depth + inside + closing * (depth - missing) + b"".join(pieces[end:])


def _repeat(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    start, end = _stretch(random, len(pieces), random.choice((1, 2, 12)))
    return b"".join(pieces[:start] + pieces[start:end] * random.choice(_TIMES) + pieces[end:])


def _cut(random: Random, material: Material, data: bytes) -> bytes:
    at = random.randrange(len(data) + 1)
    return data[:at] if random.random() < 0.7 else data[at:]


def _change_byte(random: Random, material: Material, data: bytes) -> bytes:
    if not data:
        return data
    at = random.randrange(len(data))
    new = random.choice((data[at] ^ (1 << random.randrange(8)), random.randrange(256), random.randrange(32, 127)))
    return data[:at] + bytes([new]) + data[at + 1 :]


def _misspell(random: Random, material: Material, data: bytes) -> bytes:
    pieces = _pieces(data)
    places = [at for at, piece in enumerate(pieces) if len(piece) > 2 and piece.isalpha()]
    if not places:
        return data
    at = random.choice(places)
    word = pieces[at]
    where = random.randrange(len(word) - 1)
    pieces[at] = random.choice(
        (
            word[:where] + word[where + 1 :],
            word[:where] + word[where : where + 1] + word[where:],
            word[:where] + word[where + 1 : where + 2] + word[where : where + 1] + word[where + 2 :],
            word.swapcase(),
            word + b"x",
        )
    )
    return b"".join(pieces)


def _lines(random: Random, material: Material, data: bytes) -> bytes:
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = random.randrange(len(lines)), random.randrange(len(lines))
    match random.randrange(4):
        case 0:
            del lines[one]
        case 1:
            lines.insert(other, lines[one])
        case 2:
            lines[one], lines[other] = lines[other], lines[one]
        case _:
            ends = random.choice((b"\r\n", b"\r", b" ", b"", b"\n\n"))
            lines[one] = lines[one].rstrip(b"\r\n") + ends
    return b"".join(lines)


MUTATIONS: Final[tuple[Mutation, ...]] = (
    _delete, _delete, _duplicate, _duplicate, _swap, _splice, _splice, _insert_word, _insert_word, _insert_word,
    _insert_odd, _number, _nest, _repeat, _cut, _change_byte, _misspell, _misspell, _lines,
)  # fmt: skip
