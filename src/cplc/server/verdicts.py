"""Verdicts, valid for the texts for which they were computed, and their code lenses."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from typing import Any, Final, Literal

from lsprotocol.types import CodeLens, Command, Range

from cplc.diagnostics.core import Diagnostic, Note
from cplc.language.words import CHECKS
from cplc.records import dataclass
from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.open_imports import Stamp
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.tree import walk

VERIFY: Final = "cplc.verify"
SHOW: Final = "cplc.showRun"
CANCEL: Final = "cplc.cancel"
RESULTS: Final = "cplc.results"
ASKED: Final = "cplc.asked"

Key = tuple[str, str]
"""A protocol and the name of a question."""

Texts = tuple[str, tuple[tuple[str, Stamp], ...], tuple[tuple[str, str, str], ...]]
"""All inputs of a verdict: the text, its imports, and the values of parameters."""


def texts_of(compiled: Compiled | CompiledIspl) -> Texts:
    given = [(protocol, name, value) for protocol, values in compiled.given.items() for name, value in values.items()]
    return compiled.text.text, tuple(sorted(compiled.reads.items())), tuple(sorted(given))


@dataclass(frozen=True, slots=True)
class Verdict:
    """The results of one question; for a property in a `for`, of all its instances."""

    texts: Texts
    time: str
    results: tuple[Mapping[str, Any], ...]
    drawn: tuple[str, ...] = ()
    """The results as HTML, for an editor with a panel."""

    @property
    def answer(self) -> str:
        """The common answer, else an unexpected or unknown one."""
        answers = [str(result["verdict"]) for result in self.results]
        odd = [str(result["verdict"]) for result in self.results if not result["as_expected"]]
        decisive = odd or [answer for answer in answers if answer == "unknown"] or answers
        return decisive[0] if len(set(decisive)) == 1 or odd else "as expected"

    @property
    def is_as_expected(self) -> bool:
        return all(result["as_expected"] for result in self.results)

    @property
    def seconds(self) -> float:
        return sum(float(result["seconds"]) for result in self.results)

    @property
    def text(self) -> str:
        """The results as text."""
        return "\n".join(str(result["text"]) for result in self.results if result["text"])

    def summary(self) -> str:
        return f"{self._answer_as_expected()} · {self.seconds:.2g} s · {self.time}"

    def _answer_as_expected(self) -> str:
        """Return the answer with a sign; an expected failure has no tick."""
        if self.answer == "unknown":
            return "? unknown"
        if not self.is_as_expected:
            return f"✗ {self.answer}, not as expected"
        return "fails, as expected" if self.answer == "fails" else f"✓ {self.answer}"


@dataclass
class Verdicts:
    """The latest verdicts of every file, and the running verifications."""

    verdicts: dict[str, dict[Key, Verdict]] = field(default_factory=dict)
    warnings: dict[str, dict[str, tuple[Texts, tuple[Diagnostic, ...]]]] = field(default_factory=dict)
    """Warnings from the reachable states, by file and protocol."""
    running: dict[str, set[str]] = field(default_factory=dict)

    def add(self, uri: str, protocol: str, result: Mapping[str, Any], texts: Texts, time: str, drawn: str) -> None:
        """Add a result; instances of one question from the same run are collected."""
        name = str(result["asked"])
        of_file = self.verdicts.setdefault(uri, {})
        before = of_file.get((protocol, name))
        together = before if before is not None and (before.texts, before.time) == (texts, time) else None
        old = [] if together is None else list(zip(together.results, together.drawn, strict=True))
        retained = [(one, page) for one, page in old if _identity(one) != _identity(result)]
        results, pages = zip(*retained, (result, drawn), strict=True)
        of_file[protocol, name] = Verdict(texts, time, results, pages)

    def warn(self, compiled: Compiled | CompiledIspl, protocol: str, warnings: Iterable[Mapping[str, Any]]) -> None:
        """Replace the warnings from the reachable states of a protocol."""
        diagnostics = tuple(
            Diagnostic(
                one["code"],
                one["severity"],
                one["message"],
                Span(compiled.source, one["start"], one["end"]),
                tuple(map(Note, one["notes"])),
            )
            for one in warnings
        )
        self.warnings.setdefault(compiled.document.uri, {})[protocol] = texts_of(compiled), diagnostics

    def warnings_of(self, compiled: Compiled | CompiledIspl) -> list[Diagnostic]:
        """Return the warnings from the reachable states that concern the present texts."""
        now = texts_of(compiled)
        by_protocol = self.warnings.get(compiled.document.uri, {})
        return [one for texts, diagnostics in by_protocol.values() if texts == now for one in diagnostics]

    def said(self, uri: str, protocol: str, name: str, texts: Texts) -> str | None:
        """Return the verdict of a question, as Markdown."""
        verdict = self.verdicts.get(uri, {}).get((protocol, name))
        if verdict is None:
            return None
        if verdict.texts != texts:
            return f"Before the last change: {verdict.summary()}"
        return f"{verdict.summary()}\n\n```text\n{verdict.text[:4000]}\n```"

    def close(self, uri: str) -> None:
        self.verdicts.pop(uri, None)
        self.warnings.pop(uri, None)


def _identity(result: Mapping[str, Any]) -> tuple[str, str]:
    """Return the identity of a result among those of the same question: its instance, or its figure."""
    return str(result["name"]), str(result["formula"])


@dataclass(frozen=True, slots=True)
class Asked:
    """A property, a check or the thresholds of a participant, with its place."""

    protocol: str
    name: str
    span: Span
    kind: Literal["property", "check", "analysis"]


def asked(compiled: Compiled | CompiledIspl) -> Iterator[Asked]:
    """Yield the properties, checks and participants with thresholds of a file.

    In ISPL, yield the formulas; there are no protocols.
    """
    if isinstance(compiled, CompiledIspl):
        for number, written in enumerate(compiled.reading.file.specifications, 1):
            yield Asked("", f"formula {number}", written.span, "property")
        return
    for protocol in compiled.file.protocols:
        for node in walk(protocol):
            match node:
                case ast.Property(name):
                    yield Asked(protocol.name.text, name.text, name.span, "property")
                case ast.Check(items):
                    asked_of = (item for item in items if not item.is_off and item.name.text in CHECKS)
                    yield from (Asked(protocol.name.text, item.name.text, item.name.span, "check") for item in asked_of)
                case ast.Analyze(agent):
                    yield Asked(protocol.name.text, f"analyze {agent.span.text}", agent.span, "analysis")
                case _:
                    pass


def asked_at(compiled: Compiled, offset: int) -> Asked | None:
    return next((one for one in asked(compiled) if one.span.start <= offset <= one.span.end), None)


def listed(compiled: Compiled | CompiledIspl) -> list[dict[str, Any]]:
    """Return the questions of a file, each once and with its place."""
    questions: dict[Key, Asked] = {}
    for one in asked(compiled):
        questions.setdefault((one.protocol, one.name), one)
    return [
        {
            "protocol": one.protocol,
            "name": one.name,
            "kind": one.kind,
            "range": _range(compiled.text.of(one.span)),
        }
        for one in questions.values()
    ]


def _range(range_: Range) -> dict[str, Any]:
    start, end = range_.start, range_.end
    return {
        "start": {"line": start.line, "character": start.character},
        "end": {"line": end.line, "character": end.character},
    }


def _wholes(compiled: Compiled | CompiledIspl) -> list[tuple[str, Span]]:
    """Return the protocols with their places; a model in ISPL has one, at the first formula."""
    if isinstance(compiled, CompiledIspl):
        return [("", one.span) for one in compiled.reading.file.specifications[:1]]
    return [(protocol.name.text, protocol.name.span) for protocol in compiled.file.protocols]


def lenses(compiled: Compiled | CompiledIspl, verdicts: Verdicts) -> list[CodeLens]:
    """Return the code lenses of protocols, properties, checks and participants."""
    uri = compiled.document.uri
    running = verdicts.running.get(uri, set())
    texts = texts_of(compiled)
    result: list[CodeLens] = []
    for name, span in _wholes(compiled):
        range_ = compiled.text.of(span)
        result.append(CodeLens(range_, Command("Verify all", VERIFY, arguments=[uri, name, None])))
        if name in running:
            result.append(CodeLens(range_, Command("Cancel", CANCEL, arguments=[uri])))
    for one in asked(compiled):
        range_ = compiled.text.of(one.span)
        arguments: list[Any] = [uri, one.protocol, one.name]
        verdict = verdicts.verdicts.get(uri, {}).get((one.protocol, one.name))
        prefix = f"{one.name}: " if one.kind == "check" else ""
        shown = "Show figures" if one.kind == "analysis" else "Show run"
        if one.protocol in running:
            result.append(CodeLens(range_, Command(f"{prefix}Cancel", CANCEL, arguments=[uri])))
        elif verdict is None or verdict.texts != texts:
            before = "" if verdict is None else f" (before the last change: {verdict.answer})"
            result.append(CodeLens(range_, Command(f"{prefix}Verify{before}", VERIFY, arguments=arguments)))
        else:
            result.append(CodeLens(range_, Command(f"{prefix}{verdict.summary()}", VERIFY, arguments=arguments)))
            result.append(CodeLens(range_, Command(f"{prefix}{shown}", SHOW, arguments=arguments)))
    return result
