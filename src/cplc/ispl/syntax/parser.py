"""Parser of ISPL with error recovery: statements with syntax errors are reported and skipped."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import field, replace
from difflib import get_close_matches
from typing import Final, Literal, TypeVar, cast

from cplc.diagnostics.core import Diagnostic, Note, other_name
from cplc.diagnostics.rules import RESERVED_NAME, SYNTAX, TOO_DEEP
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.ast import (
    COLONS,
    ENVIRONMENT,
    IN_AGENT,
    IN_FILE,
    LINES,
    MAX_NAME_LENGTH,
    RESERVED,
    SECTIONS,
    last_word,
)
from cplc.ispl.syntax.statements import Kind, read
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax.input_limits import MAX_DEPTH, unreadable
from cplc.syntax.scanner import MAX_PROBLEMS
from cplc.syntax.token_text import character, replacement
from cplc.syntax.tree import depth_exceeds

# --- Segmentation of an `.ispl` file into sections and statements by `end` and `;`, before parsing
#
# A section without `end`, or with a wrong one, is reported; reading resumes with the next section.


_BLOCKS: Final = "|".join(("Agent", *SECTIONS))
_LINES: Final = "|".join(LINES)
_MARK: Final = re.compile(
    rf"""
    (?P<end> (?<![A-Za-z_0-9]) end (?![A-Za-z_0-9]) (?: \s+ (?P<what> [A-Za-z][A-Za-z_0-9]* ) )? )
  | (?P<head> (?<![A-Za-z_0-9.])
      (?: (?: {_LINES} ) (?![A-Za-z_0-9]) | (?: {_BLOCKS} ) (?![A-Za-z_0-9] | \s*[.,=)}}]) )
    )
  | (?P<stop> ; )
    """,
    re.VERBOSE,
)
_WORD: Final = re.compile(r"\s*([A-Za-z_0-9]+|\S)")
_COLON: Final = re.compile(r"\s*:")


@dataclass(frozen=True)
class Statement:
    """A range of the text, and the token after it for messages."""

    start: int
    end: int
    before: str


@dataclass(frozen=True)
class Section:
    word: str
    head: Span
    statements: tuple[Statement, ...]
    span: Span


@dataclass(frozen=True)
class AgentText:
    """An agent: the text between `Agent` and `end Agent`."""

    head: Span
    name: Statement
    sections: tuple[Section, ...]
    span: Span


Part = Section | AgentText


def sections(source: Source, text: str, problems: list[Diagnostic]) -> tuple[Part, ...]:
    """Return the sections of a text without comments."""
    return _SectionReader(source, text, problems).file()


@dataclass
class _SectionReader:
    source: Source
    text: str
    problems: list[Diagnostic]
    marks: list[re.Match[str]] = field(init=False)
    at: int = 0
    """Index of the next mark."""
    position: int = 0
    """End of the text that was consumed."""
    unknown: set[str] = field(default_factory=set)
    """Words of unknown sections, whose `end` is not reported."""

    def __post_init__(self) -> None:
        self.marks = [mark for mark in _MARK.finditer(self.text) if not self._is_colour(mark)]

    def _is_colour(self, mark: re.Match[str]) -> bool:
        """Tell whether `RedStates` follows a point, as the colour of an agent."""
        return mark["head"] == "RedStates" and self.text[: mark.start()].rstrip()[-1:] == "."

    def _error(self, start: int, end: int, message: str, *notes: Note) -> None:
        self.problems.append(SYNTAX.at(Span(self.source, start, min(end, len(self.text))), message, *notes))

    def _mark(self) -> re.Match[str] | None:
        return self.marks[self.at] if self.at < len(self.marks) else None

    def _take(self, mark: re.Match[str]) -> None:
        self.at += 1
        self.position = mark.end()

    # --- the file and its agents

    def file(self) -> tuple[Part, ...]:
        """Return the parts. Each iteration, here and in `_agent`, consumes at least one mark."""
        parts: list[Part] = []
        while True:
            parts.extend(self._unexpected_text(IN_FILE))
            mark = self._mark()
            if mark is None:
                return tuple(parts)
            if mark["head"] == "Agent":
                parts.append(self._agent(mark))
            elif mark["head"]:
                self._take(mark)
                section = self._section(mark["head"], *mark.span())
                if mark["head"] in IN_FILE:
                    parts.append(section)
                else:
                    self._error(mark.start(), mark.end(), f"`{mark['head']}` stands outside any agent")
            else:
                self._stray(mark)

    def _agent(self, opening: re.Match[str]) -> AgentText:
        self._take(opening)
        mark = self._mark()
        name = Statement(self.position, mark.start() if mark else len(self.text), _mark_text(mark))
        self.position = name.end
        sections: list[Section] = []
        while True:
            sections.extend(self._unexpected_text(IN_AGENT))
            mark = self._mark()
            if mark is None or mark["head"] in ("Agent", *IN_FILE):
                self._report_unended(*opening.span(), "Agent")
                break
            if mark["end"] and mark["what"] == "Agent":
                self._take(mark)
                break
            if mark["head"]:
                self._take(mark)
                sections.append(self._section(mark["head"], *mark.span()))
            else:
                self._stray(mark)
        span = Span(self.source, opening.start(), self.position)
        return AgentText(Span(self.source, *opening.span()), name, tuple(sections), span)

    def _stray(self, mark: re.Match[str]) -> None:
        if mark["stop"]:
            self._error(*mark.span(), "Unexpected `;`")
        elif mark["what"] not in self.unknown:
            self._error(*mark.span(), f"Unexpected {_mark_text(mark)}")
        self._take(mark)

    def _unexpected_text(self, keywords: Iterable[str]) -> Iterator[Section]:
        """Report text before the next mark; yield the section if it is the misspelt name of one."""
        mark = self._mark()
        end = mark.start() if mark else len(self.text)
        word = _WORD.match(self.text, self.position, end)
        self.position = max(self.position, end)
        if word is None or word[1] in self.unknown:
            return
        self.unknown.add(word[1])
        meant = get_close_matches(
            word[1][:MAX_NAME_LENGTH], [one for one in keywords if one != "Agent"], n=1, cutoff=0.7
        )
        notes = [other_name(meant[0], word[1])] if meant else []
        self._error(word.start(1), word.end(1), f"Expected a section, found `{word[1][:40]}`", *notes)
        if meant:
            self.position = word.end(1)
            yield self._section(meant[0], *word.span(1))
        elif mark is not None and not mark["head"]:
            self._skip()

    def _skip(self) -> None:
        """Skip the statements of an unknown section."""
        for later in range(self.at, len(self.marks)):
            mark = self.marks[later]
            if not mark["stop"]:
                self.unknown.add(mark["what"] or "")
                self.at, self.position = later, mark.start()
                return
        self.at, self.position = len(self.marks), len(self.text)

    # --- sections

    def _section(self, word: str, start: int, end: int) -> Section:
        """Return the section whose name was consumed."""
        self._colon(word, start, end)
        statements = self._line() if word in LINES else self._block(word, start, end)
        return Section(word, Span(self.source, start, end), tuple(statements), Span(self.source, start, self.position))

    def _colon(self, word: str, start: int, end: int) -> None:
        colon = _COLON.match(self.text, self.position)
        if colon and word in SECTIONS:
            self.position = colon.end()
        if (colon is not None) != (word in COLONS) and word in SECTIONS:
            message = f"Expected `:` after `{word}`" if colon is None else f"`{word}` is not followed by `:`"
            self._error(start, end, message)

    def _line(self) -> list[Statement]:
        """Return the single statement of a section that ends with `;`."""
        mark = self._mark()
        statement = Statement(self.position, mark.start() if mark else len(self.text), _mark_text(mark))
        if mark and mark["stop"]:
            self._take(mark)
        else:
            self.position = statement.end
            self._report_missing_semicolon(statement)
        return [statement]

    def _block(self, word: str, start: int, end: int) -> list[Statement]:
        """Return the statements up to the `end` of a section."""
        statements: list[Statement] = []
        while (mark := self._mark()) is not None:
            statement = Statement(self.position, mark.start(), _mark_text(mark))
            is_blank = not self.text[statement.start : statement.end].strip()
            if mark["stop"]:
                if is_blank:
                    self._error(*mark.span(), "Unexpected `;`")
                else:
                    statements.append(statement)
                self._take(mark)
                continue
            if not is_blank:
                statements.append(statement)
                self._report_missing_semicolon(statement)
            self.position = mark.start()
            if mark["end"] and mark["what"] == word:
                self._take(mark)
                return statements
            if mark["end"] and mark["what"] not in (*SECTIONS, "Agent"):
                if mark["what"] not in self.unknown:
                    self._error(*mark.span(), f"This section must end with `end {word}`")
                self._take(mark)
                return statements
            break
        else:
            rest = Statement(self.position, len(self.text), _mark_text(None))
            if self.text[rest.start :].strip():
                statements.append(rest)
            self.position = len(self.text)
        self._report_unended(start, end, word)
        return statements

    def _report_missing_semicolon(self, statement: Statement) -> None:
        text = self.text[statement.start : statement.end]
        first, end = last_word(text)
        after = f" after `{text[first:end][-40:]}`" if text.strip() else ""
        message = f"Expected `;`{after}, found {statement.before}"
        self._error(statement.start + first, statement.start + end, message)

    def _report_unended(self, start: int, end: int, word: str) -> None:
        self._error(start, end, f"This `{word}` lacks its `end {word}`")


def _mark_text(mark: re.Match[str] | None) -> str:
    return "the end of the file" if mark is None else f"`{' '.join(mark[0].split())[:40]}`"


Node = TypeVar("Node")

MAX_SIZE: Final = 5_000_000
"""Maximum length of a model in characters; parsing takes some seconds at this size."""

_COMMENT: Final = re.compile(r"--[^\n]*")
_FOREIGN_CHARACTERS: Final = re.compile(r"\A\ufeff|[^\t\n\r\f -~]+|[\"#$%'?@\\`]|//[^\n]*|/\*")
_LOGIC: Final = re.compile(r"\s*(?:(LTL)(?![A-Za-z_0-9])|(CTL\s*\*))?")
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z_0-9]*")

_KINDS: Final[dict[str, Kind]] = {
    "Semantics": "semantics", "Obsvars": "variable", "Lobsvars": "set", "Vars": "variable", "RedStates": "condition",
    "Actions": "set", "Protocol": "protocol_line", "Evolution": "evolution_line", "Evaluation": "proposition",
    "InitStates": "condition", "Groups": "group", "Fairness": "branching", "Formulae": "branching",
}  # fmt: skip
"""Kind of the statements of each section."""

_SINGLE: Final = {"RedStates": "red states", "InitStates": "initial states"}
"""Sections with a single condition."""


def parse(source: Source) -> tuple[ast.File, tuple[Diagnostic, ...]]:
    """Parse a file; return its tree without erroneous statements, and all diagnostics."""
    problem = unreadable(source, MAX_SIZE)
    if problem:
        return _Parser(Source(source.name, "")).file(()), (problem,)
    parser = _Parser(source)
    text = parser.preprocessed()
    file = parser.file(sections(source, text, parser.problems))
    return file, _in_text_order(parser.problems)


def parse_formula(source: Source, logic: ast.Logic = "CTL") -> tuple[ast.Formula | None, tuple[Diagnostic, ...]]:
    """Parse a single formula."""
    parser = _Parser(source)
    problem = unreadable(source, MAX_SIZE)
    if problem:
        return None, (problem,)
    text = parser.preprocessed()
    formula = parser.node(
        "branching" if logic == "CTL" else "formula", Statement(0, len(text), "the end of the formula")
    )
    return cast("ast.Formula | None", formula), _in_text_order(parser.problems)


def parse_specification(source: Source) -> tuple[ast.Specification | None, tuple[Diagnostic, ...]]:
    """Parse a single specification of `Formulae`, with its logic as prefix unless it is CTL."""
    parser = _Parser(source)
    problem = unreadable(source, MAX_SIZE)
    if problem:
        return None, (problem,)
    text = parser.preprocessed()
    end = len(text.rstrip().removesuffix(";"))
    specification = parser.specification(Statement(0, end, "the end of the formula"))
    return specification, _in_text_order(parser.problems)


def _in_text_order(problems: list[Diagnostic]) -> tuple[Diagnostic, ...]:
    """Return the diagnostics in text order, truncated to the maximum number."""
    ordered = sorted(dict.fromkeys(problems), key=lambda problem: (problem.span.start, problem.span.end))
    if len(ordered) <= MAX_PROBLEMS:
        return tuple(ordered)
    last = ordered[MAX_PROBLEMS - 1]
    note = Note("further errors of the file are not reported")
    return (*ordered[: MAX_PROBLEMS - 1], replace(last, notes=(*last.notes, note)))


@dataclass
class _Parser:
    source: Source
    text: str = ""
    problems: list[Diagnostic] = field(default_factory=list)

    def _error(self, span: Span, message: str, *notes: Note) -> None:
        self.problems.append(SYNTAX.at(span, message, *notes))

    def preprocessed(self) -> str:
        """Return the text with comments and foreign characters replaced by blanks."""
        text = _COMMENT.sub(lambda match: " " * len(match[0]), self.source.text)
        self.text = _FOREIGN_CHARACTERS.sub(self._report_character, text)
        return self.text

    def _report_character(self, match: re.Match[str]) -> str:
        sign = match[0]
        span = Span(self.source, *match.span())
        if sign.startswith(("//", "/*")):
            span = Span(self.source, span.start, span.start + 2)
            self._error(span, f"`{sign[:2]}` is not part of ISPL", Note("comments begin with `--`"))
        elif sign[0] == "\ufeff":
            if match.start():
                self._error(span, f"ISPL does not allow {character(sign[0])}", *replacement(sign[0]))
        else:
            self._error(span, f"ISPL does not allow {character(sign[0])}")
        return " " * len(sign)

    # --- the file

    def file(self, parts: Sequence[Part]) -> ast.File:
        self._check_order(parts, IN_FILE, "the file")
        agents = tuple(self._agent(part) for part in parts if isinstance(part, AgentText))
        sections: dict[str, list[Section]] = {}
        for part in parts:
            if isinstance(part, Section):
                sections.setdefault(part.word, []).append(part)
        self._check_complete(parts, sections, agents)
        whole = Span(self.source, 0, len(self.source.text))
        semantics = self._all(sections, "Semantics", str)
        initial = self._conditions(sections, "InitStates")
        return ast.File(
            cast("Literal['MA', 'SA']", semantics[0]) if semantics else None,
            agents,
            self._all(sections, "Evaluation", ast.Proposition),
            initial,
            tuple(self._groups(sections)),
            tuple(cast("ast.Formula", node) for node in self._nodes(sections, "Fairness")),
            tuple(self._specifications(sections.get("Formulae", []))),
            span=whole,
        )

    def _check_complete(
        self, parts: Sequence[Part], sections: dict[str, list[Section]], agents: Sequence[ast.Agent]
    ) -> None:
        """Report missing and empty sections."""
        here = Span(self.source, *last_word(self.text))
        if not parts:
            self._error(here, "This file has no section", Note("a model begins with `Agent Environment`"))
            return
        if not any(not agent.is_environment for agent in agents):
            self._error(here, "The model needs an agent other than the environment")
        for word in ("Evaluation", "InitStates", "Formulae"):
            if word not in sections:
                self._error(here, f"The section `{word}` is missing")
            elif not sections[word][0].statements:
                self._error(sections[word][0].head, f"`{word}` is empty")

    def _check_order(self, parts: Sequence[Part], order: Sequence[str], whole: str) -> None:
        """Report duplicate and misplaced sections."""
        first_spans: dict[str, Span] = {}
        latest = ""
        for part in parts:
            word = "Agent" if isinstance(part, AgentText) else part.word
            if word in first_spans and word != "Agent":
                self._error(part.head, f"Duplicate `{word}` in {whole}", Note("the first one", first_spans[word]))
            elif latest and order.index(word) < order.index(latest):
                hint = Note("the order is " + ", ".join(f"`{one}`" for one in order))
                self._error(part.head, f"`{word}` must come before `{latest}`", hint)
            else:
                latest = word
            first_spans.setdefault(word, part.head)

    # --- agents

    def _agent(self, part: AgentText) -> ast.Agent:
        name = self._agent_name(part)
        self._check_order(part.sections, IN_AGENT, f"`{name.text}`")
        sections: dict[str, list[Section]] = {}
        for section in part.sections:
            sections.setdefault(section.word, []).append(section)
        environment = name.text == ENVIRONMENT
        self._check_sections(name, sections, environment)
        actions = tuple(self._sets(sections, "Actions"))
        if not environment and "Actions" in sections and not actions and self._is_empty_set(sections["Actions"][0]):
            self._error(sections["Actions"][0].head, f"`{name.text}` has no action")
        return ast.Agent(
            name,
            self._all(sections, "Obsvars", ast.Variable),
            tuple(self._sets(sections, "Lobsvars")),
            self._all(sections, "Vars", ast.Variable),
            self._conditions(sections, "RedStates"),
            actions,
            tuple(self._protocol(sections)),
            self._all(sections, "Evolution", ast.EvolutionLine),
            span=part.span,
        )

    def _agent_name(self, part: AgentText) -> ast.Name:
        written = self.text[part.name.start : part.name.end]
        name = _NAME.search(written)
        span = part.head
        if name is None or written[: name.start()].strip():
            self._error(part.head, "Expected a name after `Agent`")
            return ast.Name("", span=span)
        span = Span(self.source, part.name.start + name.start(), part.name.start + name.end())
        rest = written[name.end() :].split()
        if rest:
            self._error(span, f"Expected a section after `{name[0][:40]}`, found `{rest[0][:40]}`")
        if name[0] in RESERVED - {ENVIRONMENT}:
            self.problems.append(RESERVED_NAME.at(span, f"`{name[0]}` is a reserved word of ISPL"))
        if len(name[0]) > MAX_NAME_LENGTH:
            self._error(span, f"A name has at most {MAX_NAME_LENGTH} characters")
        return ast.Name(name[0][:MAX_NAME_LENGTH], span=span)

    def _check_sections(self, name: ast.Name, sections: dict[str, list[Section]], environment: bool) -> None:
        if not name.text:
            return
        for word in ("Actions", "Protocol", "Evolution", *(() if environment else ("Vars",))):
            if word not in sections:
                self._error(name.span, f"`{name.text}` lacks the section `{word}`")
            elif not sections[word][0].statements and not environment:
                self._error(sections[word][0].head, f"`{word}` of `{name.text}` is empty")
        unfit, owner = ("Lobsvars", "other agents have") if environment else ("Obsvars", "only the environment has")
        for section in sections.get(unfit, []):
            self._error(section.head, f"`{name.text}` cannot have `{unfit}`: {owner} it")

    def _is_empty_set(self, section: Section) -> bool:
        statement = section.statements[0]
        return "".join(self.text[statement.start : statement.end].split()) == "={}"

    def _protocol(self, sections: dict[str, list[Section]]) -> Iterator[ast.ProtocolLine]:
        """Yield the lines; `Other` is the last one."""
        other: ast.ProtocolLine | None = None
        for line in self._all(sections, "Protocol", ast.ProtocolLine):
            if not line.actions:
                self._error(line.span, "This line allows no action", Note("remove the line to allow no action"))
            if other is not None:
                word = Span(self.source, other.span.start, other.span.start + len("Other"))
                self._error(word, "`Other` must be the last line of a protocol and occur once")
            other = line if line.condition is None else None
            yield line

    # --- statements

    def _all(self, sections: dict[str, list[Section]], word: str, _: type[Node]) -> tuple[Node, ...]:
        """Return the statements of all sections with that name."""
        return tuple(cast("Node", node) for node in self._nodes(sections, word))

    def _nodes(self, sections: dict[str, list[Section]], word: str) -> Iterator[object]:
        for section in sections.get(word, []):
            for statement in section.statements:
                node = self.node(_KINDS[word], statement)
                if node is not None:
                    yield node

    def _sets(self, sections: dict[str, list[Section]], word: str) -> Iterator[ast.Name]:
        for several in self._nodes(sections, word):
            yield from cast("tuple[ast.Name, ...]", several)

    def _conditions(self, sections: dict[str, list[Section]], word: str) -> ast.Condition | None:
        """Return the single condition of a section."""
        read = list(self._nodes(sections, word))
        for section in sections.get(word, [])[:1]:
            for surplus in section.statements[1:2]:
                text = self.text[surplus.start : surplus.end]
                start = surplus.start + len(text) - len(text.lstrip())
                span = Span(self.source, start, surplus.start + len(text.rstrip()))
                self._error(
                    span, f"The {_SINGLE[word]} must be a single condition", Note("join them with `and` or `or`")
                )
        return cast("ast.Condition", read[0]) if read else None

    def _groups(self, sections: dict[str, list[Section]]) -> Iterator[ast.Group]:
        for group in self._all(sections, "Groups", ast.Group):
            if not group.members:
                self._error(group.span, f"The group `{group.name.text}` has no member")
            yield group

    def _specifications(self, sections: list[Section]) -> Iterator[ast.Specification]:
        read = (self.specification(statement) for section in sections for statement in section.statements)
        return (one for one in read if one is not None)

    def specification(self, statement: Statement) -> ast.Specification | None:
        prefix = _LOGIC.match(self.text, statement.start, statement.end)
        start = prefix.end() if prefix else statement.start
        logic: ast.Logic = "CTL"
        if prefix and prefix[1]:
            logic = "LTL"
        elif prefix and prefix[2]:
            logic = "CTL*"
        node = self.node("branching" if logic == "CTL" else "formula", replace(statement, start=start))
        if node is None:
            return None
        formula = cast("ast.Formula", node)
        first = prefix.start(1) if logic == "LTL" and prefix else formula.span.start
        first = prefix.start(2) if logic == "CTL*" and prefix else first
        return ast.Specification(logic, formula, span=Span(self.source, first, formula.span.end))

    def node(self, kind: Kind, statement: Statement) -> object | None:
        """Return the tree of a statement; None if it has errors or is nested too deeply."""
        if len(self.problems) > 2 * MAX_PROBLEMS:
            return None
        text = self.text[statement.start : statement.end]
        tree = read(kind, self.source, text, statement.start, statement.before, self.problems)
        if tree is not None and len(text) > MAX_DEPTH and depth_exceeds(tree, MAX_DEPTH):
            span = Span(self.source, statement.start + len(text) - len(text.lstrip()), statement.end)
            self.problems.append(TOO_DEEP.at(span, f"This is nested deeper than {MAX_DEPTH} levels"))
            return None
        return tree
