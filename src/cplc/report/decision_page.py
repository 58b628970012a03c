"""Report on participants as a self-contained HTML page: verdicts, drawings and text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cplc.checking.results import Result
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import rendered
from cplc.records import dataclass
from cplc.report.html import STYLES, file_anchor, template
from cplc.report.outcome import Standing, remarks
from cplc.report.plan_text import JudgedLine, expectation_text, front_rows
from cplc.report.run_charts import source_of
from cplc.report.step_text import place
from cplc.report.text import expectation


@dataclass(frozen=True)
class Section:
    """One participant."""

    name: str
    guessed: bool
    """True if all of it is an estimate."""
    text: str
    drawings: tuple[str, ...]
    """Each an SVG of ours."""
    results: tuple[tuple[Result, Standing], ...]
    lines: tuple[JudgedLine, ...] = ()
    """The answers to the lines of thresholds, if it is no estimate."""


@dataclass(frozen=True, slots=True)
class _Answer:
    """The answer to a line of thresholds: verdict, question, sentences, and the points of its front."""

    verdict: str
    style: str
    expected: str
    question: str
    sentences: tuple[tuple[str, ...], ...]
    """Each as text and code in turn."""
    front: tuple[tuple[str, ...], ...]
    """A heading and a row for each Pareto point; empty where nothing trades off."""
    is_front_complete: bool
    place: str
    source: tuple[str, int, int] | None


@dataclass(frozen=True, slots=True)
class _Verdict:
    answer: str
    style: str
    expected: str
    question: str
    remarks: str
    place: str
    source: tuple[str, int, int] | None


FilePart = Mapping[str, Any]
"""One file on a page: its participants."""


def file_part(
    file: str,
    diagnostics: Sequence[Diagnostic],
    sections: Sequence[Section],
    interrupted: str | None,
    *,
    among_others: bool = False,
) -> FilePart:
    """Return what a page shows of the participants of a file."""
    anchor = file_anchor(file) if among_others else ""
    return {
        "file": printable(file),
        "anchor": anchor,
        "diagnostics": rendered(diagnostics, limit=len(diagnostics)),
        "mistaken": any(diagnostic.is_error for diagnostic in diagnostics),
        "interrupted": interrupted,
        "sections": [_told(number, one, anchor) for number, one in enumerate(sections, 1)],
    }


def decision_page(title: str, version: str, parts: Sequence[FilePart]) -> str:
    """Return the page of these files; with several files, a table of them comes first."""
    is_project = len(parts) != 1 or bool(parts[0]["anchor"])
    return template("decision.html.j2").render(
        title=printable(title), version=version, parts=parts, is_project=is_project
    )


def fragment(number: int, one: Section) -> str:
    """Return what the page shows of one participant."""
    macros: Any = template("participant.html.j2").module
    return str(macros.section(_told(number, one)))


def _told(number: int, one: Section, prefix: str = "") -> Mapping[str, object]:
    return {
        "anchor": f"{prefix}a{number}",
        "name": one.name,
        "guessed": one.guessed,
        "text": one.text,
        "drawings": one.drawings,
        "answers": [_answer(line) for line in one.lines],
        "verdicts": [] if one.lines else [_verdict(result, standing) for result, standing in one.results],
    }


def _answer(line: JudgedLine) -> _Answer:
    result = line.result
    expected = "" if line.expected or result.verdict == "undecided" else expectation_text(line)
    style = "warning" if result.verdict == "undecided" else "good" if line.is_as_expected else "bad"
    sentences = tuple(tuple(sentence.split("`")) for sentence in line.sentences)
    front = front_rows(result)
    is_complete = result.is_front_complete
    return _Answer(result.verdict, style, expected, line.text, sentences, front, is_complete, line.place, line.source)


def _verdict(result: Result, standing: Standing) -> _Verdict:
    return _Verdict(
        result.answer,
        STYLES[standing],
        expectation(result).strip(),
        result.question.text,
        "; ".join(remarks(result)),
        place(result.question.span),
        source_of(result.question.span),
    )
