"""Answers to the page: diagnostics of a text, and verdicts one by one. It runs in Pyodide, and in any other Python.

Questions and answers are JSON, because that is what a worker can hand to a page. Places are offsets in UTF-16, which
is how an editor in a browser counts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from cplc.checking.results import Result
from cplc.compilation import (
    BoundQuestion,
    Channels,
    Compilation,
    CplCompilation,
    EngineName,
    compile_text,
)
from cplc.diagnostics.core import Diagnostic, Fix, Note
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.report.html import fragment
from cplc.report.outcome import Standing, standing
from cplc.runtime.context import ResourceExhausted, TooLarge
from cplc.source import Source, Span
from cplc.system.model import System

Said = dict[str, Any]
Reading = Compilation

FEW_STATES: Final = 20_000
"""Up to so many states are looked at one by one: here decision diagrams are in pure Python, which is slower."""
MOST: Final = 500
"""Maximum number of diagnostics sent to a page."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """A text and how it is to be read; what is not given is as the text says."""

    name: str
    text: str
    parameters: Mapping[str, str]
    channels: Channels | None
    protocol: str | None
    engine: EngineName
    formula: str | None

    @classmethod
    def of(cls, request: str) -> Wanted:
        data: Said = json.loads(request)
        given = {name: value for name, value in data.get("parameters", {}).items() if value}
        return cls(
            data["name"],
            data["text"],
            given,
            data.get("channels") or None,
            data.get("protocol") or None,
            data.get("engine") or "auto",
            data.get("formula") or None,
        )

    @property
    def reading(self) -> Reading:
        source = Source(self.name, self.text)
        if source.is_ispl:
            return compile_text(source)
        return compile_text(source, None, self.parameters, self.channels, self.protocol)


def checked(request: str) -> str:
    """Return the diagnostics of a text, and its protocols and parameters."""
    selection = Wanted.of(request)
    try:
        reading = selection.reading
        diagnostics = _problems(reading)
        answer: Said = {
            "diagnostics": _told(reading, diagnostics),
            **_choices(selection, reading),
            "ok": reading.ok,
            "end": None,
        }
    except Exception as problem:
        answer = {"diagnostics": [], "protocols": [], "parameters": [], "ok": False, "end": _why(problem)}
    return json.dumps(answer)


def verified(request: str) -> Iterator[str]:
    """Yield the questions, each answer as soon as it is known, and the reason of the end; None if all were answered."""
    try:
        for answer in _verified(Wanted.of(request)):
            yield json.dumps(answer)
        yield json.dumps({"end": None})
    except Exception as problem:
        yield json.dumps({"end": _why(problem)})


def simulated(request: str) -> Iterator[str]:
    """Yield a random run, and the reason of the end."""
    return _explored(request, lambda explorer, reading, data: iter([explorer.simulated(reading, data)]))


def drawn(request: str) -> Iterator[str]:
    """Yield a drawing with the list of drawings, and the reason of the end."""
    return _explored(request, lambda explorer, reading, data: iter([explorer.drawn(reading, data)]))


def analyzed(request: str) -> Iterator[str]:
    """Yield the names of the participants, what each can count on, and the reason of the end."""
    return _explored(request, lambda explorer, reading, data: explorer.analyzed(reading, data))


def _explored(request: str, answers: Callable[[Any, Reading, Said], Iterator[Said]]) -> Iterator[str]:
    from playground import explorer

    def reading() -> Reading:
        return Wanted.of(request).reading

    return explorer.encoded(reading, lambda one, data: answers(explorer, one, data), request, _why)


def _why(problem: Exception) -> str:
    match problem:
        case TooLarge():
            return str(problem)
        case MemoryError():
            return "memory is exhausted"
        case RecursionError():
            return "it is nested too deeply for a browser"
        case _:
            return f"this is a bug in cplc: {type(problem).__name__}: {problem}"


def _problems(reading: Reading) -> tuple[Diagnostic, ...]:
    return (*reading.diagnostics, *reading.unverifiable) if reading.ok else reading.diagnostics


def _verified(selection: Wanted) -> Iterator[Said]:
    reading = selection.reading
    diagnostics = _problems(reading)
    if not reading.ok or any(problem.is_error for problem in diagnostics):
        yield {"diagnostics": _told(reading, diagnostics)}
        return
    if selection.formula is None:
        questions = _questions(reading)
    else:
        one = reading.formula_question(selection.formula)
        if not isinstance(one, BoundQuestion):
            yield {"formula": [problem.message for problem in one]}
            return
        questions = (one,)
    yield {"asked": [one.question.name for one in questions]}
    for number, result in enumerate(_answers(reading, questions, selection.engine), 1):
        verdict = standing(result)
        yield {"result": _row(reading, result, verdict), "shown": fragment(number, result, verdict)}


def _questions(reading: Reading) -> tuple[BoundQuestion, ...]:
    """Return what the file asks, as the command line does."""
    return reading.questions_with_thresholds()


def _answers(reading: Reading, questions: Sequence[BoundQuestion], engine: EngineName) -> Iterator[Result]:
    """Yield the answers, those about participants last; each kind of system by the engine that suits it here."""
    verified = [one for one in questions if one.question.kind != "analysis"]
    suiting: dict[int, EngineName] = {}
    for one in verified:
        system = one.question.system or one.system
        if id(system) not in suiting:
            suiting[id(system)] = _engine_for(system) if engine == "auto" else engine
    # One call for all that one engine answers, so that what it has found out is kept; in the order of the text.
    answers = {
        name: reading.verify([one for one in verified if suiting[id(one.question.system or one.system)] == name], name)
        for name in dict.fromkeys(suiting.values())
    }
    for one in verified:
        yield next(answers[suiting[id(one.question.system or one.system)]])
    if len(verified) < len(questions):
        yield from reading.verify(questions[len(verified) :])


def _engine_for(system: System) -> EngineName:
    """Return the engine that looks at states one by one if there are few; its verdicts are those of the others."""
    engine = ExplicitEngine(system, FEW_STATES)
    try:
        engine.count(engine.reachable)
    except ResourceExhausted:
        return "auto"
    return "explicit"


def _row(reading: Reading, result: Result, verdict: Standing) -> Said:
    question = result.question
    return {
        "name": question.name,
        "kind": question.kind,
        "title": question.title or "",
        "assuming": sorted(question.assuming),
        "formula": question.text,
        "verdict": result.answer,
        "expected": question.expected,
        "as_expected": result.as_expected,
        "standing": verdict,
        "engine": result.engine,
        "reason": result.reason or "",
        "place": _place(reading, result.span),
    }


# --- diagnostics and choices of a text as data


def _told(reading: Reading, diagnostics: Sequence[Diagnostic]) -> list[Said]:
    return [_diagnostic(reading, one) for one in diagnostics[:MOST]]


def _diagnostic(reading: Reading, diagnostic: Diagnostic) -> Said:
    return {
        "severity": diagnostic.severity,
        "code": diagnostic.code,
        "message": diagnostic.message,
        "notes": [_note(reading, note) for note in diagnostic.notes],
        "fixes": [_fix(reading, fix) for fix in diagnostic.fixes],
        "file": diagnostic.span.source.name,
        "place": _place(reading, diagnostic.span),
    }


def _note(reading: Reading, note: Note) -> Said:
    span = note.span if note.span is not None and note.span.source.text else None
    return {"message": note.message, "place": _place(reading, span)}


def _fix(reading: Reading, fix: Fix) -> Said:
    edits = [{"place": _place(reading, edit.span), "text": edit.text} for edit in fix.edits]
    return {"title": fix.title, "edits": edits}


def _place(reading: Reading, span: Span | None) -> Said | None:
    """Return where a span of the text itself is; None for one of another file."""
    if span is None or span.source.name != reading.source.name:
        return None
    line, column = span.position
    text = span.source.text
    return {"from": _units(text, span.start), "to": _units(text, span.end), "line": line, "column": column}


def _units(text: str, offset: int) -> int:
    """Return an offset as it is counted in UTF-16."""
    return offset if text.isascii() else offset + sum(char > "\uffff" for char in text[:offset])


def _choices(selection: Wanted, reading: Reading) -> Said:
    """Return the protocols of the file, and the parameters of the one that is looked at with what stands after `=`."""
    if not isinstance(reading, CplCompilation):
        return {"protocols": [], "parameters": []}
    here = [file for file in reading.index.files if file.span.source is reading.source]
    protocols = [protocol for file in here for protocol in file.protocols]
    named = [one for one in protocols if one.name.text == selection.protocol] or protocols[-1:]
    parameters = [
        {
            "name": parameter.name.text,
            "default": "" if parameter.default is None else parameter.default.span.text,
        }
        for one in named
        for parameter in one.parameters
    ]
    return {"protocols": [one.name.text for one in protocols], "parameters": parameters}


def prepare() -> str:
    """Load what the first question would have to wait for, and return which program this is."""
    from cplc import __version__

    # Trees of the language and decision diagrams are walked recursively.
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 4_000))
    checked(json.dumps({"name": "first.cpl", "text": "protocol P { role A role B A -> B : m }"}))
    return f"cplc {__version__}, Python {sys.version.split()[0]}"
