"""Formatting of a text; a text with syntax errors gives diagnostics instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from itertools import pairwise
from typing import Final, Literal, Protocol, TypeGuard

from cplc.diagnostics.core import Diagnostic
from cplc.language.words import MODALITIES
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax import ast
from cplc.syntax.parser import parse
from cplc.syntax.scanner import scan
from cplc.syntax.tokens import tokens as lexical_tokens
from cplc.syntax.tree import walk

# --- Tokens of a text, comments included, classified by the syntax tree


_CLOSES: Final = {"(": ")", "[": "]", "{": "}"}
_BOUNDED: Final = frozenset({"F", "G", "AF", "AG", "EF", "EG", "U"})
_CALLED: Final = frozenset((*MODALITIES, "claim"))

Kind = Literal["word", "name", "number", "string", "sign", "comment"]
Sense = Literal["", "block", "unary", "bound", "calls", "of message", "of side"]
"""The role of an ambiguous sign or word.

A brace around declarations or variables; a minus before its operand; the `<=` of `F<=k`; a word that its parenthesis
belongs to; the colon of a message; `any` or `each` before a group.
"""


class Node(Protocol):
    """A node of a tree with a place."""

    @property
    def span(self) -> Span: ...


@dataclass(frozen=True, slots=True)
class Token:
    text: str
    start: int
    end: int
    kind: Kind
    newlines: int
    """The number of line breaks before it."""
    sense: Sense = ""

    @property
    def ends_operand(self) -> bool:
        return self.kind in ("name", "number") or self.text in (")", "]", "}", "true", "false")


@dataclass(frozen=True)
class Marks:
    """The offsets of tree nodes with layout rules of their own."""

    names: frozenset[int]
    called: frozenset[int]
    """Names with arguments or parameters in parentheses."""
    declarations: dict[int, Node]
    """Constructs on a line of their own: declarations, the version, imports, protocols and the variables of a role."""
    clauses: dict[int, str]
    """Clauses, and the keyword of each."""
    message_names: frozenset[int]


def marks_of(tree: ast.File) -> Marks:
    """Return the marks of a tree."""
    names, called, messages = set[int](), set[int](), set[int]()
    declarations: dict[int, Node] = {}
    clauses: dict[int, str] = {}
    replies = set[int]()
    for node in walk(tree):
        match node:
            case ast.Name(span=span):
                names.add(span.start)
            case ast.Call() | ast.Define() | ast.Protocol():
                called.add(node.name.span.start)
            case ast.Message():
                called.add(node.name.span.start)
                messages.add(node.name.span.start)
            case ast.Reply(name):
                called.add(name.span.start)
                replies.update(clause.span.start for clause in node.clauses)
            case ast.Event(message=message):
                called.add(message.segments[-1].name.span.start)
            case ast.Use():
                called.add(node.protocol.segments[-1].name.span.start)
            case (
                ast.After() | ast.Unless() | ast.If() | ast.Means() | ast.Set() | ast.OnReceipt() | ast.Resets()
                | ast.Restart() | ast.Repeatable() | ast.Returns()
            ):  # fmt: skip
                clauses[node.span.start] = type(node).__name__
            case _:
                pass
        if _has_line(node):
            declarations[node.span.start] = node
    for start in replies:
        del clauses[start]
    return Marks(frozenset(names), frozenset(called), declarations, clauses, frozenset(messages))


def _has_line(node: object) -> TypeGuard[Node]:
    return isinstance(node, (ast.Version, ast.Import, ast.Protocol, ast.RoleVariable, ast.Declaration, ast.AgentItem))


def comments_of(source: Source) -> list[str]:
    """Return the comments without blanks at the ends of their lines, and without their indentation."""
    return [
        "\n".join(line.strip() for line in source.text[start:end].split("\n")) for start, end in scan(source).comments
    ]


def tokens_of(source: Source, marks: Marks) -> list[Token]:
    """Return every token of a text, comments included."""
    tokens: list[Token] = []
    last: Token | None = None  # the last that is no comment
    braces: list[bool] = []
    position = 0
    for lexical, text, start, end in lexical_tokens(scan(source)):
        newlines = source.text.count("\n", position, start)
        position = end
        if lexical == "comment":
            tokens.append(Token(text.rstrip(), start, end, "comment", newlines))
            continue
        kind = _kind(text, start, marks)
        sense = _sense(text, kind, start, last, marks)
        if text == "{":
            braces.append(sense == "block")
        elif text == "}" and braces and braces.pop():
            sense = "block"
        last = Token(text, start, end, kind, newlines, sense)
        if start in marks.message_names:
            tokens = _with_colon(tokens)
        tokens.append(last)
    return tokens


def _kind(text: str, start: int, marks: Marks) -> Kind:
    if start in marks.names:
        return "name"
    if text[0].isdigit():
        return "number"
    if text[0] == '"':
        return "string"
    return "word" if text[0].isalpha() or text[0] == "_" else "sign"


def _sense(text: str, kind: Kind, start: int, last: Token | None, marks: Marks) -> Sense:
    if start in marks.called or (kind == "word" and text in _CALLED):
        return "calls"
    if last is None:
        return ""
    match text:
        case "money" | "decimal" if last.text == ":":
            return "calls"
        case "{":
            along = last.kind == "word" and last.text in ("A", "E")
            return "" if along or last.sense == "of side" or last.text in (":", "(", ",", "in", "=") else "block"
        case "any" | "each" if last.text in ("(", ","):
            return "of side"
        case "-" | "+" if not last.ends_operand:
            return "unary"
        case "<=" if last.kind == "word" and last.text in _BOUNDED:
            return "bound"
        case _:
            return ""


def _with_colon(tokens: list[Token]) -> list[Token]:
    """Mark the colon before the name of a message; comments may stand between."""
    index = next(index for index in range(len(tokens) - 1, -1, -1) if tokens[index].kind != "comment")
    colon = tokens[index]
    tokens[index] = Token(colon.text, colon.start, colon.end, colon.kind, colon.newlines, "of message")
    return tokens


# --- Spaces between two tokens of one line


_NEVER_BEFORE = frozenset({",", ")", "]", ".", "..", "@", ">>"})
_NEVER_AFTER = frozenset({"(", "[", ".", "..", "@", "!", "<<"})


def joined(tokens: Sequence[Token]) -> str:
    """Return the tokens as text on one line."""
    text = "".join(gap(before, token) + token.text for before, token in pairwise(tokens))
    return tokens[0].text + text if tokens else ""


def gap(before: Token, after: Token) -> str:
    """Return the white space between two neighbouring tokens."""
    if "comment" in (before.kind, after.kind):
        return " "
    if after.text in _NEVER_BEFORE or before.text in _NEVER_AFTER or before.sense == "unary":
        return ""
    if "bound" in (before.sense, after.sense):
        return ""
    match before, after:
        case Token(text="{"), Token(text="}"):
            return ""
        case (Token(text="{") as brace, _) | (_, Token(text="}") as brace):
            return " " if brace.sense == "block" else ""
        case _, Token(text="("):
            return "" if before.sense == "calls" or before.text in ("lossy", "duplicating") else " "
        case _, Token(text="["):
            return "" if before.kind in ("word", "name") or before.text in (")", "]", "}", ">>") else " "
        case Token(kind="word", text="A" | "E"), Token(text="{", sense=""):
            return ""
        case _, Token(text=":"):
            return " " if after.sense == "of message" else ""
        case _:
            return " "


# --- Line breaking and indentation
#
# Line breaks inside a declaration are kept; each declaration begins a line.


INDENT: Final = 2
WIDEST: Final = 120
"""Columns of a line; longer lines are neither aligned nor joined."""


@dataclass(frozen=True)
class Line:
    """The tokens of a line; ``declared`` is the construct that begins with the first one."""

    tokens: tuple[Token, ...]
    indent: int
    blank_before: bool
    declared: Node | None = None

    @property
    def is_comment(self) -> bool:
        return all(token.kind == "comment" for token in self.tokens)


def lines_of(tokens: Sequence[Token], marks: Marks) -> list[Line]:
    """Return the lines of a text, from its tokens in order."""
    broken = list(_with_line_breaks(tokens, marks))
    laying = _LayoutState(marks)
    rows: list[list[Token]] = []
    for token in broken:
        if token.newlines or not rows:
            rows.append([])
        rows[-1].append(token)
    leads: list[Token | None] = []
    lead: Token | None = None
    for row in reversed(rows):
        lead = next((token for token in row if token.kind != "comment"), lead)
        leads.append(lead)
    return [laying.line(row, lead) for row, lead in zip(rows, reversed(leads), strict=True)]


def _with_line_breaks(tokens: Sequence[Token], marks: Marks) -> Iterator[Token]:
    """Yield the tokens with the final number of line breaks before them."""
    kept_together = _short_blocks(tokens, marks)
    previous: Token | None = None
    leads = True
    """True if only comments stand before this in its line."""
    for index, token in enumerate(tokens):
        newlines = token.newlines
        if previous is not None and not newlines:
            begins = index not in kept_together and (
                _is_block_end(token) or (token.start in marks.declarations and not leads)
            )
            newlines = int(begins or _ends_line(previous))
        elif previous is not None and token.text == "{" and token.sense == "block":
            newlines = int(_ends_line(previous))
        yield replace(token, newlines=newlines)
        leads = token.kind == "comment" and (leads or newlines > 0)
        previous = token


def _is_block_end(token: Token) -> bool:
    return token.text == "}" and token.sense == "block"


def _ends_line(token: Token) -> bool:
    return token.kind == "comment" and token.text.startswith("//")


def _short_blocks(tokens: Sequence[Token], marks: Marks) -> set[int]:
    """Return the positions in short blocks that were on one line and may stay so, as those of roles."""
    positions: set[int] = set()
    head = 0
    for index, token in enumerate(tokens):
        declared = marks.declarations.get(token.start)
        if declared is not None and not isinstance(declared, ast.RoleVariable):
            head = index
        if token.text != "{" or token.sense != "block":
            continue
        if isinstance(
            marks.declarations.get(tokens[head].start), (ast.Protocol, ast.For, ast.ForEach, ast.Agent, ast.Each)
        ):
            continue
        end = next(at for at in range(index, len(tokens)) if _is_block_end(tokens[at]))
        block = range(index, end + 1)
        fits = len(joined(tokens[head : end + 1])) <= WIDEST - 2 * INDENT
        if fits and not any(tokens[at].newlines or _ends_line(tokens[at]) for at in block[1:]):
            positions.update(block)
    return positions


@dataclass
class _LayoutState:
    """The open blocks and brackets at the beginning of a line."""

    marks: Marks
    depth: int = 0
    brackets: list[int] = field(default_factory=list)
    """The lines on which open brackets (not braces of blocks) begin."""
    number: int = 0
    clause_has_line: bool = False

    def line(self, tokens: list[Token], lead: Token | None) -> Line:
        """Return the line of these tokens; ``lead`` is the first here or later that is no comment."""
        self.number += 1
        first = tokens[0]
        declared = self.marks.declarations.get(first.start)
        closes = _is_block_end(first)
        is_separate = lead is None or lead.start in self.marks.declarations or _is_block_end(lead)
        indent = self.depth - closes if is_separate else self.depth + self._continuation(tokens, lead)
        blank = first.newlines > 1 and is_separate and not closes and self.number > 1
        for token in tokens:
            self._pass(token)
        return Line(tuple(tokens), indent * INDENT, blank, declared)

    def _continuation(self, tokens: list[Token], lead: Token | None) -> int:
        """Return the additional indentation of a continuation line."""
        if lead is not None and lead.start in self.marks.clauses:
            self.clause_has_line = True
            return 1
        closing = 0
        for token in tokens:
            if token.text not in (")", "]", "}"):
                break
            closing += 1
        open_ = self.brackets[: len(self.brackets) - closing]
        return 1 + max(len(set(open_)), self.clause_has_line)

    def _pass(self, token: Token) -> None:
        if token.start in self.marks.declarations:
            self.brackets.clear()
            self.clause_has_line = False
        elif token.start in self.marks.clauses and not token.newlines:
            self.clause_has_line = False
        if token.sense == "block":
            self.depth += 1 if token.text == "{" else -1
        elif token.kind == "sign" and token.text in ("(", "[", "{"):
            self.brackets.append(self.number)
        elif token.kind == "sign" and token.text in (")", "]", "}") and self.brackets:
            self.brackets.pop()


# --- Alignment: corresponding parts of neighbouring declarations, and trailing comments, start in the same column


_GAP: Final = 3
_GAPS: Final = {"name": 1, "value": 1, "variable": 2}
_AFTER_NAME: Final = 2
_GUARDS: Final = {"After": "after", "Unless": "unless", "If": "if"}
_OPTIONS: Final = ("within", "expires", "revocable")
_ORDER: Final = (
    "head", "name", "value", "variable", "after", "unless", "if", "within", "expires", "revocable", "expect", "effect",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Cell:
    """A cell of a line. Cells of one kind are aligned; the effects of a message are numbered."""

    kind: str
    number: int
    text: str

    @property
    def rank(self) -> tuple[int, int]:
        return _ORDER.index(self.kind), self.number


@dataclass(frozen=True, slots=True)
class _Row:
    line: Line
    cells: tuple[_Cell, ...]
    comment: str
    """The trailing comment, empty if there is none."""

    @property
    def kind(self) -> type | None:
        """The kind of declaration, if its cells may be aligned with those of its neighbours."""
        match self.line.declared:
            case ast.Property(title=None, assuming=()) | ast.Message() | ast.Commitment() | ast.Claim() | ast.Fact():
                in_order = all(left.rank < right.rank for left, right in pairwise(self.cells))
                fits = len(_unaligned(self)) <= WIDEST and not any("\n" in cell.text for cell in self.cells)
                return type(self.line.declared) if in_order and fits else None
            case _:
                return None


def text_of(lines: Sequence[Line], marks: Marks) -> str:
    """Return the lines as text."""
    rows: list[_Row] = []
    within: Node | None = None
    for line in lines:
        within = line.declared or within
        rows.append(_row(line, within, marks))
    texts = [_unaligned(row) for row in rows]
    for block in _blocks(rows):
        for index, text in zip(block, _aligned([rows[index] for index in block]), strict=True):
            texts[index] = text
    _add_comments(rows, texts)
    return "".join("\n" * row.line.blank_before + text + "\n" for row, text in zip(rows, texts, strict=True))


# --- the parts of a line


def _row(line: Line, within: Node | None, marks: Marks) -> _Row:
    tokens = [_reindented(token, line.indent) for token in line.tokens]
    comment = ""
    if len(tokens) > 1 and tokens[-1].kind == "comment" and tokens[-2].kind != "comment":
        comment = tokens.pop().text
    starts = {0: "head", **dict(_parts(line, within, tokens, marks))}
    cells: list[_Cell] = []
    for first, end in pairwise([*sorted(starts), len(tokens)]):
        kind = starts[first]
        number = sum(cell.kind == kind for cell in cells) if kind in ("effect", "variable") else 0
        cells.append(_Cell(kind, number, joined(tokens[first:end])))
    return _Row(line, tuple(cells), comment)


def _reindented(token: Token, indent: int) -> Token:
    """Return a comment of several lines with that indentation and its asterisks aligned."""
    if token.kind != "comment" or "\n" not in token.text:
        return token
    first, *rest = (line.rstrip() for line in token.text.split("\n"))
    if all(line.lstrip().startswith("*") for line in rest):
        rest = [f"{' ' * indent} {line.lstrip()}" for line in rest]
    return replace(token, text="\n".join((first, *rest)))


def _parts(line: Line, within: Node | None, tokens: Sequence[Token], marks: Marks) -> Iterator[tuple[int, str]]:
    """Yield the positions and kinds of the cells of a line after the first."""
    value = _value(line, tokens)
    for index, token in enumerate(tokens[1:], 1):
        is_keyword = token.kind == "word"
        if index == value:
            yield index, "value"
        elif token.start in marks.clauses:
            yield index, _GUARDS.get(marks.clauses[token.start], "effect")
        elif token.sense == "of message" and isinstance(line.declared, ast.Message):
            yield index, "name"
        elif is_keyword and isinstance(within, ast.Commitment) and token.text in _OPTIONS:
            yield index, token.text
        elif is_keyword and isinstance(within, ast.Property) and token.text == "expect":
            yield index, "expect"
        elif isinstance(marks.declarations.get(token.start), ast.RoleVariable) and tokens[index - 1].text != "{":
            yield index, "variable"


def _value(line: Line, tokens: Sequence[Token]) -> int | None:
    """Return the position of the value: the sign `=`, or the token after the colon of a property."""
    texts = [token.text for token in tokens]
    match line.declared:
        case ast.Commitment() | ast.Claim() | ast.Fact() if "=" in texts:
            return texts.index("=")
        case ast.Property(title=None, assuming=()) if ":" in texts[:-1]:
            return texts.index(":") + 1
        case _:
            return None


# --- side by side


def _unaligned(row: _Row) -> str:
    """Return the text of a line that is not aligned."""
    text = " " * row.line.indent + row.cells[0].text
    for before, cell in pairwise(row.cells):
        text += " " * _gap(before, cell) + cell.text
    return text


def _gap(before: _Cell, cell: _Cell) -> int:
    return _GAPS.get(cell.kind) or (_AFTER_NAME if before.kind == "name" else _GAP)


def _blocks(rows: Sequence[_Row]) -> Iterator[list[int]]:
    """Yield the blocks of rows that are aligned: neighbouring declarations of one kind without empty lines between."""
    block: list[int] = []
    for index, row in enumerate(rows):
        kind = row.kind
        if row.line.blank_before or (row.line.declared is not None and not _continues_block(rows, block, row, kind)):
            yield block
            block = []
        if kind is not None:
            block.append(index)
    yield block


def _continues_block(rows: Sequence[_Row], block: Sequence[int], row: _Row, kind: type | None) -> bool:
    """Return whether a declaration continues the block before it; one that is too wide for columns does."""
    if not block:
        return True
    first = rows[block[0]]
    same = kind is first.kind if kind is not None else type(row.line.declared) is first.kind
    return same and row.line.indent == first.line.indent


def _aligned(rows: Sequence[_Row]) -> list[str]:
    """Return the aligned rows; the widest rows are not aligned if lines would become too long."""
    aligned = list(rows)
    while True:
        columns = _columns(aligned)
        texts = {id(row): _aligned_row(row, columns) for row in aligned}
        if max(map(len, texts.values()), default=0) <= WIDEST:
            return [texts.get(id(row)) or _unaligned(row) for row in rows]
        aligned.sort(key=lambda row: len(_unaligned(row)))
        del aligned[len(aligned) - len(aligned) // 8 - 1 :]


def _aligned_row(row: _Row, columns: dict[tuple[int, int], int]) -> str:
    text = ""
    for cell in row.cells:
        text = text.ljust(columns[cell.rank]) + cell.text
    return text


def _columns(rows: Sequence[_Row]) -> dict[tuple[int, int], int]:
    """Return the column of each kind of cell. Kinds that never follow each other in a row share a column."""
    level: dict[tuple[int, int], int] = {}
    for rank in sorted({cell.rank for row in rows for cell in row.cells}):
        before = [left.rank for row in rows for left, right in pairwise(row.cells) if right.rank == rank]
        level[rank] = max((level[each] + 1 for each in before), default=0)
    starts = [0] * (max(level.values(), default=0) + 1)
    starts[0] = rows[0].line.indent if rows else 0
    for column in range(1, len(starts)):
        for row in rows:
            for left, right in pairwise(row.cells):
                if level[left.rank] < column <= level[right.rank]:
                    end = starts[level[left.rank]] + len(left.text)
                    starts[column] = max(starts[column], end + _gap(left, right))
    return {rank: starts[column] for rank, column in level.items()}


def _add_comments(rows: Sequence[_Row], texts: list[str]) -> None:
    """Append the trailing comments, aligned on neighbouring lines."""
    run: list[int] = []
    for index in range(len(rows) + 1):
        goes_on = index < len(rows) and rows[index].comment and not (run and rows[index].line.blank_before)
        if not goes_on and run:
            column = max(_width(texts[at]) for at in run) + _GAP
            fits = all(column + len(rows[at].comment) <= WIDEST for at in run)
            for at in run:
                blank = column - _width(texts[at]) if fits else _GAP
                texts[at] += " " * blank + rows[at].comment
            run = []
        if index < len(rows) and rows[index].comment:
            run.append(index)


def _width(text: str) -> int:
    return len(text.rpartition("\n")[2])


BYTE_ORDER_MARK: Final = "\ufeff"


@dataclass(frozen=True, slots=True)
class Formatted:
    """The formatted text, or the unchanged text with its diagnostics."""

    text: str
    diagnostics: tuple[Diagnostic, ...] = ()


def format_source(source: Source) -> Formatted:
    """Format a text. Its line ends follow the first of them."""
    tree, diagnostics = parse(source)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return Formatted(source.text, diagnostics)
    marks = marks_of(tree)
    text = text_of(lines_of(tokens_of(source, marks), marks), marks)
    result = Source(source.name, text)
    if _meaning(result) != (tree, _docs(tree), comments_of(source)):
        raise AssertionError(f"the layout of `{source.name}` would change what it says; nothing was changed")
    mark = BYTE_ORDER_MARK if source.text.startswith(BYTE_ORDER_MARK) else ""
    return Formatted(mark + text.replace("\n", line_end(source.text)))


def _meaning(source: Source) -> tuple[ast.File | None, list[str | None], list[str]]:
    """Return the parts of a text that formatting must not change; None for a text with errors."""
    tree, diagnostics = parse(source)
    if any(diagnostic.is_error for diagnostic in diagnostics):
        return None, [], []
    return tree, _docs(tree), comments_of(source)


def _docs(tree: ast.File) -> list[str | None]:
    """Return the comments on declarations, which equality of trees ignores."""
    return [getattr(node, "doc", None) for node in walk(tree)]


def line_end(text: str) -> str:
    """Return the first line end of a text."""
    first = text.find("\n")
    return "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
