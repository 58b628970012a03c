"""Layout of text reports: width, colours, links to places, and lines that break between words only."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from textwrap import wrap
from typing import Final, Literal

from cplc.control_characters import printable
from cplc.records import dataclass
from cplc.source import Span

Part = Literal["good", "bad", "warning", "strong", "faint", "place"]
Style = Callable[[str, Part], str]
Link = Callable[[str, Span], str]
"""Makes a text a link to a place, where the terminal can show one."""

DEFAULT_WIDTH: Final = 80
MIN_WIDTH: Final = 60
MAX_WIDTH: Final = 200
"""Columns of a report; a terminal that is narrower or wider gets these."""
_PARTIES: Final = re.compile(r"(?<=\()[\w.]+(\[[^\]]*\])? -> [\w.]+(\[[^\]]*\])?(?=[,)])")
_NO_BREAK: Final = re.compile(r"(?<![&|,:])(?<!->) (?![&|<-])|(?<=\w) (?=[-+<>=]{1,2} )| (?=[&|]|->|<->)")
"""Blanks at which a formula is not broken: before operators, and within operands."""
_GAP: Final = re.compile("  +")
_MAX_COLUMN_SHARE: Final = 0.6
"""Columns of a table beyond this share of the width have no further lines below them."""
_BLANKS_AND_WORD: Final = re.compile(r"( *)([^ ]+)")
_MAX_UNBROKEN_SHARE: Final = 0.75
"""Formulas up to this share of the width are not broken."""


def plain(text: str, part: Part) -> str:
    """Return the text as it is: no colours."""
    return text


def no_link(text: str, span: Span) -> str:
    """Return the text as it is: no link."""
    return text


@dataclass(frozen=True)
class Layout:
    """The width of a report in columns, its colours, and its links."""

    style: Style = plain
    width: int = DEFAULT_WIDTH
    link: Link = no_link

    @classmethod
    def of(cls, style: Style | Layout) -> Layout:
        """Return the layout with these colours, and the default width."""
        return style if isinstance(style, Layout) else cls(style)

    def indented(self, columns: int) -> Layout:
        """Return the layout of lines that are indented later."""
        return Layout(self.style, self.width - columns, self.link)

    def place(self, span: Span, text: str) -> str:
        """Return the text of a place with its colour, as a link."""
        return self.link(self.style(text, "place"), span)

    def wrapped(self, text: str, indent: str = "", hanging: str | None = None) -> list[str]:
        """Return the lines of a text; the further lines of a paragraph have the ``hanging`` indentation."""
        return wrapped(text, self.width, indent, indent if hanging is None else hanging)


def wrapped(text: str, width: int, indent: str = "", hanging: str = "") -> list[str]:
    """Return the text in lines that break between words; formulas in backquotes are broken only if they are long."""
    longest = int(width * _MAX_UNBROKEN_SHARE)
    parts = text.split("`")
    if len(parts) % 2:
        parts[1::2] = [part.replace(" ", "\0") if len(part) <= longest else part for part in parts[1::2]]
    lines = wrap(
        "`".join(parts),
        width,
        initial_indent=indent,
        subsequent_indent=hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [line.replace("\0", " ") for line in lines]


def formula_lines(text: str, width: int, indent: str) -> list[str]:
    """Return a formula in lines that break after operators, commas and the colon of a quantifier only."""
    shown = _PARTIES.sub(lambda match: match[0].replace(" ", "\0"), text)
    shown = _NO_BREAK.sub("\0", shown)
    lines = wrap(
        shown, width, initial_indent=indent, subsequent_indent=f"{indent}  ", break_long_words=False,
        break_on_hyphens=False,
    )  # fmt: skip
    if all(len(line) <= width for line in lines):
        return [line.replace("\0", " ") for line in lines]
    return wrapped(text, width, indent, f"{indent}  ")


def list_lines(parts: Sequence[str], width: int, indent: str) -> Iterator[str]:
    """Yield the parts separated by commas, in indented lines that break between two parts, or within a long one."""
    line = ""
    for number, part in enumerate(parts, 1):
        text = part if number == len(parts) else f"{part},"
        if line and len(indent) + len(line) + 1 + len(text) > width:
            yield from wrapped(line, width, indent, f"{indent}  ")
            line = text
        else:
            line = f"{line} {text}" if line else text
    if line:
        yield from wrapped(line, width, indent, f"{indent}  ")


def fitted(text: str, width: int, length: Callable[[str], int] = len) -> str:
    """Return the text with lines that fit: a longer one is broken at blanks, not within a short formula in backquotes.

    Further lines begin below the last column of a table, or are indented.
    ``length`` returns the columns of a text, which may contain colours.
    """
    return "".join(_fitted_line(line, width, length) for line in text.splitlines(keepends=True))


def _fitted_line(line: str, width: int, length: Callable[[str], int]) -> str:
    content = line.rstrip("\n")
    if length(content) <= width:
        return line
    ending = line[len(content) :]
    indent = content[: len(content) - len(content.lstrip())]
    columns = [length(content[: gap.end()]) for gap in _GAP.finditer(content, len(indent))]
    column = max((one for one in columns if one <= width * _MAX_COLUMN_SHARE), default=len(indent) + 4)
    parts = content.lstrip().replace(" %", "\0%").split("`")
    if len(parts) % 2:
        longest = int(width * _MAX_UNBROKEN_SHARE)
        parts[1::2] = [part.replace(" ", "\0") if length(part) <= longest else part for part in parts[1::2]]
    lines, current = [], indent
    for blanks, word in _BLANKS_AND_WORD.findall("`".join(parts)):
        if current.strip() and length(current) + len(blanks) + length(word) > width:
            lines.append(current)
            current = f"{' ' * column}{word}"
        else:
            current += blanks + word
    return "\n".join([*lines, current]).replace("\0", " ") + ending


def reflowed(page: str, width: int) -> str:
    """Return a page in Markdown with paragraphs of this width; headings, tables and blocks of code stay as they are."""
    lines: list[str] = []
    paragraph: list[str] = []
    is_code = False

    def close() -> None:
        if paragraph:
            hanging = "  " if paragraph[0].startswith(("- ", "* ")) else ""
            lines.extend(wrapped(" ".join(paragraph), width, "", hanging))
            paragraph.clear()

    for line in page.splitlines():
        is_fence = line.startswith("```")
        if is_fence or is_code or not line.strip() or line.startswith(("#", "|", "    ")):
            close()
            lines.append(line)
            is_code ^= is_fence
            continue
        if line.startswith(("- ", "* ")):
            close()
        paragraph.append(line.strip())
    close()
    return "".join(f"{line}\n" for line in lines)


def file_text(name: str) -> str:
    """Return the name of a file; a part of the standard library as imports name it."""
    if not name.endswith(".cpl") or "stdlib" not in name:
        return name
    from cplc.runtime.file_access import shipped

    library = f"{shipped('stdlib').as_posix()}/"
    if not name.startswith(library):
        return name
    return f"std.{name.removeprefix(library).removesuffix('.cpl').replace('/', '.')}"


class Places:
    """Texts of places: the file of the last place is not named again."""

    def __init__(self, named: Span | None = None) -> None:
        self._file = None if named is None else named.source.name

    def text(self, span: Span) -> str:
        """Return the line, and the file unless it was the last one named."""
        line = span.position[0]
        if span.source.name == self._file:
            return f"line {line}"
        self._file = span.source.name
        return printable(f"{file_text(span.source.name)}:{line}")
