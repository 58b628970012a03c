"""Formatting of models in ISPL: one statement a line, two spaces of indentation, uniform blanks.

Line breaks inside a statement are kept; the lines after them are indented by the brackets that are open. One empty line
between statements is kept, too. Comments stay where they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, Literal

from cplc.formatter.formatter import BYTE_ORDER_MARK, Formatted, line_end
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import COLONS, OPERATORS, SECTIONS
from cplc.ispl.syntax.parser import parse
from cplc.records import dataclass
from cplc.source import Source

_TOKEN: Final = re.compile(r"--[^\n]*|[A-Za-z_0-9]+|->|<>|<=|>=|!=|\.\.|\S")
_INDENT: Final = "  "
_SINGLE_CONDITION: Final = frozenset({"InitStates", "RedStates"})
"""Sections whose condition is not indented further where it goes on in another line."""
_FORMULAS: Final = frozenset({"Formulae", "Fairness"})
_CALLED: Final = frozenset(
    {"K", "GK", "GCK", "DK", "O", "C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS", "Tr", "Tp", "Tc"}
)
"""Operators whose arguments stand in parentheses."""
_OPERAND_ENDS: Final = re.compile(r"[A-Za-z_0-9]+|[)}]")
_OPERATORS: Final = OPERATORS | {"if"}

Role = Literal["agent", "head", "end", "statement"]


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    newlines: int
    """The number of line breaks before it."""

    @property
    def is_comment(self) -> bool:
        return self.text.startswith("--")


@dataclass(frozen=True, slots=True)
class _Unit:
    """Tokens that begin a line: a statement, or the first or last line of a section or an agent."""

    role: Role
    depth: int
    tokens: tuple[_Token, ...]
    section: str = ""


@dataclass(frozen=True, slots=True)
class _Line:
    text: str
    has_blank_before: bool
    """An empty line stands before it in the text."""
    part: int
    """Number of the agent or section of the file that it belongs to; a comment belongs to the part after it."""
    opens: bool = False
    closes: bool = False


def format_ispl(source: Source) -> Formatted:
    """Format a model. Its line ends follow the first of them."""
    tree, diagnostics = parse(source)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Formatted(source.text, diagnostics)
    tokens = list(_tokens(source.text))
    text = "".join(f"{line}\n" for line in _spaced(_lines(_units(tokens))))
    if not _is_same(Source(source.name, text), tree, tokens):
        raise AssertionError(f"the layout of `{source.name}` would change what it says; nothing was changed")
    mark = BYTE_ORDER_MARK if source.text.startswith(BYTE_ORDER_MARK) else ""
    return Formatted(mark + text.replace("\n", line_end(source.text)))


def _is_same(formatted: Source, tree: ast.File, tokens: Sequence[_Token]) -> bool:
    """Return whether the formatted text has the same tree, the same tokens and the same comments."""
    again, diagnostics = parse(formatted)
    same_words = [one.text for one in _tokens(formatted.text)] == [one.text for one in tokens]
    return same_words and again == tree and not any(one.is_error for one in diagnostics)


# --- tokens and units


def _tokens(text: str) -> Iterator[_Token]:
    position = 0
    for match in _TOKEN.finditer(text.removeprefix(BYTE_ORDER_MARK)):
        newlines = text.removeprefix(BYTE_ORDER_MARK).count("\n", position, match.start())
        position = match.end()
        yield _Token(match[0].rstrip(), newlines)


def _units(tokens: Sequence[_Token]) -> Iterator[_Unit]:
    """Yield the units of a text without syntax errors.

    Comments before a unit are the first of its tokens; a comment at the end of its last line is the last.
    """
    in_agent = False
    section = ""
    unit: list[_Token] = []
    words: list[str] = []
    role: Role | None = None
    following = _following(tokens)
    for number, token in enumerate(tokens):
        unit.append(token)
        if not token.is_comment:
            words.append(token.text)
            role = _complete(words, section, following[number])
        is_next_apart = number + 1 == len(tokens) or not tokens[number + 1].is_comment or tokens[number + 1].newlines
        if role is None or not is_next_apart:
            continue
        depth = in_agent + bool(section) - (role == "end")
        yield _Unit(role, depth, tuple(unit), section)
        match role:
            case "agent":
                in_agent = True
            case "head":
                section = words[0]
            case "end" if section:
                section = ""
            case "end":
                in_agent = False
            case _:
                pass
        unit, words, role = [], [], None
    if unit:
        yield _Unit("statement", 0, tuple(unit))


def _following(tokens: Sequence[_Token]) -> list[str]:
    """Return for each token the next word after it; empty at the end."""
    words = [""] * len(tokens)
    for number in range(len(tokens) - 2, -1, -1):
        after = tokens[number + 1]
        words[number] = words[number + 1] if after.is_comment else after.text
    return words


def _complete(words: Sequence[str], section: str, following: str) -> Role | None:
    """Return the role of a unit that consists of these words; None if it continues."""
    first = words[0]
    if first == "end":
        return "end" if len(words) == 2 else None
    if first == "Agent" and not section:
        return "agent" if len(words) == 2 else None
    if first in SECTIONS and not section:
        return "head" if first not in COLONS or (len(words) == 2 or following != ":") else None
    return "statement" if words[-1] == ";" else None


# --- lines


def _lines(units: Iterable[_Unit]) -> Iterator[_Line]:
    part = 0
    for unit in units:
        starts_part = unit.depth == 0 and unit.role in ("agent", "head", "statement")
        part += starts_part
        yield from _unit_lines(unit, part)


def _unit_lines(unit: _Unit, part: int) -> Iterator[_Line]:
    leading = 0
    while leading < len(unit.tokens) and unit.tokens[leading].is_comment:
        leading += 1
    indent = _INDENT * unit.depth
    # Comments before the end of a section belong to its statements.
    comment_indent = indent + _INDENT * (unit.role == "end")
    for comment in unit.tokens[:leading]:
        yield _Line(comment_indent + comment.text, comment.newlines > 1, part)
    if leading < len(unit.tokens):
        yield from _code_lines(unit, unit.tokens[leading:], indent, part)


def _code_lines(unit: _Unit, tokens: Sequence[_Token], indent: str, part: int) -> Iterator[_Line]:
    """Yield the lines of a unit that begins with a word."""
    line = _Line(indent, tokens[0].newlines > 1, part, unit.role in ("agent", "head"), unit.role == "end")
    text = indent
    words: list[str] = []
    parentheses = braces = 0
    least = 0 if unit.section in _SINGLE_CONDITION else 1
    for number, token in enumerate(tokens):
        parentheses -= token.text == ")"
        braces -= token.text == "}"
        previous = tokens[number - 1] if number else None
        if previous is not None and (previous.is_comment or _keeps_break(unit, token)):
            yield replace(line, text=text)
            line = replace(line, has_blank_before=False)
            is_end = token.text in (")", "}", ";")
            text = indent + _INDENT * (parentheses + (braces if is_end else braces or least))
        elif token.is_comment:
            text += _INDENT
        elif previous is not None:
            text += _blank(words, token.text, unit)
        text += token.text
        if not token.is_comment:
            words.append(token.text)
        parentheses += token.text == "("
        braces += token.text == "{"
    yield replace(line, text=text)


def _keeps_break(unit: _Unit, token: _Token) -> bool:
    """Return whether the line break before a token inside a unit stays."""
    is_inside = unit.role == "statement" and token.text not in (";", ",", ".")
    return token.newlines > 0 and (is_inside or token.is_comment)


def _blank(before: Sequence[str], text: str, unit: _Unit) -> str:
    """Return the blank between the words before and a word."""
    last = before[-1]
    if text in (";", ",", ")", "}", ".", "..") or last in ("(", "{", ".", "..", "!", "~"):
        return ""
    if unit.role == "head":
        return ""
    if text == "(" and last in _CALLED:
        return ""
    if unit.section in _FORMULAS:
        if text == "(" and last in ("A", "E") and before[0] not in ("LTL", "CTL"):
            return ""
        if text == "*" and len(before) == 1 and last == "CTL":
            return ""
        if not text.isdecimal() and _opens_group(before, len(before) - 1):
            return ""
        if text == ">" and _opens_group(before, len(before) - 2):
            return ""
    if last == "-" and not _ends_operand(before[-2] if len(before) > 1 else ""):
        return ""
    return " "


def _opens_group(before: Sequence[str], at: int) -> bool:
    """Return whether the word at this position is the `<` before a group."""
    return at >= 0 and before[at] == "<" and not _ends_operand(before[at - 1] if at else "")


def _ends_operand(word: str) -> bool:
    return _OPERAND_ENDS.fullmatch(word) is not None and word not in _OPERATORS


# --- empty lines


def _spaced(lines: Iterable[_Line]) -> Iterator[str]:
    """Yield the lines with one empty line between the parts of the file, and no more than one elsewhere."""
    last: _Line | None = None
    for line in lines:
        if last is not None:
            is_next_part = line.part != last.part
            if is_next_part or (line.has_blank_before and not last.opens and not line.closes):
                yield ""
        yield line.text
        last = line
