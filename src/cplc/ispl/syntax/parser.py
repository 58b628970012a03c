"""Parser of ISPL with error recovery: statements with syntax errors are reported and skipped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace
from typing import Final, Literal, TypeVar, cast

from cplc.diagnostics.core import Diagnostic, Note
from cplc.diagnostics.rules import RESERVED_NAME, SYNTAX, TOO_DEEP
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.reserved_words import ENVIRONMENT, IN_AGENT, IN_FILE, MAX_NAME_LENGTH, RESERVED, last_word
from cplc.ispl.syntax.sections import AgentText, Part, Section, Statement, sections
from cplc.ispl.syntax.statements import Kind, read
from cplc.records import dataclass
from cplc.source import Source, Span
from cplc.syntax.input_limits import MAX_DEPTH, unreadable
from cplc.syntax.scanner import MAX_PROBLEMS
from cplc.syntax.token_text import character, replacement

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
        if tree is not None and len(text) > MAX_DEPTH and _depth_exceeds(tree, MAX_DEPTH):
            span = Span(self.source, statement.start + len(text) - len(text.lstrip()), statement.end)
            self.problems.append(TOO_DEEP.at(span, f"This is nested deeper than {MAX_DEPTH} levels"))
            return None
        return tree


def children(node: object) -> tuple[object, ...]:
    """Return the direct children of a node: conditions, values and formulas."""
    match node:
        case ast.Variable() | ast.Group() | ast.Number() | ast.Truth() | ast.Ref() | ast.Acts() | ast.Prop():
            return ()
        case ast.ProtocolLine(condition):
            return (condition,)
        case ast.EvolutionLine(assignments, condition):
            return (*(one.value for one in assignments), condition)
        case ast.Proposition(_, condition):
            return (condition,)
        case ast.Comparison(_, left, right) | ast.Operation(_, left, right) | ast.Binary(_, left, right):
            return (left, right)
        case ast.Not(operand) | ast.Complement(operand) | ast.Unary(_, operand) | ast.Knows(_, _, operand):
            return (operand,)
        case ast.Junction(_, operands) | ast.Commits(_, _, operands):
            return tuple(operands)
        case ast.Enforces(_, goal):
            return (goal,)
        case _:
            return ()


def _depth_exceeds(node: object, limit: int) -> bool:
    """Tell whether the tree is deeper than the limit, iteratively."""
    level = [node]
    for _ in range(limit):
        level = [child for parent in level for child in children(parent)]
        if not level:
            return False
    return True
