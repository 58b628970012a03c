"""The outcome as a self-contained HTML page: verdicts, runs as sequence charts, lifecycles of commitments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template
from markupsafe import Markup

from cplc.checking.results import Result
from cplc.control_characters import printable, printable_lines
from cplc.diagnostics.render import rendered
from cplc.records import dataclass
from cplc.report.failure_explanation import closing_sentences
from cplc.report.outcome import Outcome, Standing, remarks
from cplc.report.run_charts import (
    Chart,
    Column,
    Life,
    Row,
    Sight,
    chart_of,
    columns_of,
    lives_of,
    rows_of,
    sights_of,
    source_of,
)
from cplc.report.step_text import knowledge_text, place
from cplc.report.text import expectation, result_text
from cplc.report.trace_narration import has_trace, told
from cplc.system.trace import Run


@dataclass(frozen=True, slots=True)
class _Verdict:
    """A result as the page shows it."""

    anchor: str
    name: str
    title: str
    assuming: str
    answer: str
    standing: Standing
    style: str
    expected: str
    formula: str
    place: str
    source: tuple[str, int, int] | None
    engine: str
    seconds: str
    remarks: tuple[str, ...]
    closing: tuple[str, ...]
    run: _Shown | None
    text: str


@dataclass(frozen=True, slots=True)
class _Whole:
    """The pictures of a run with all its steps."""

    chart: Chart | None
    lives: tuple[Life, ...]
    columns: tuple[Column, ...]


@dataclass(frozen=True, slots=True)
class _Shown:
    """A run: in words, as a chart, and what becomes of commitments."""

    rows: tuple[Row, ...]
    end: tuple[str, ...]
    loop: int | None
    chart: Chart | None
    lives: tuple[Life, ...]
    columns: tuple[Column, ...]
    """The columns of ``lives``."""
    whole: _Whole | None
    """All steps, if some are folded in the chart and the columns."""
    sights: tuple[Sight, ...]
    states: tuple[Column, ...]
    parts: tuple[tuple[bool, tuple[Row, ...]], ...]
    """The rows in sequence; True for those that do not matter, and are folded."""
    is_all: bool
    """True if the evidence is this run alone."""


STYLES: dict[Standing, str] = {
    "as expected": "good", "with a warning": "warning", "not as expected": "bad", "unknown": "warning",
}  # fmt: skip


_FAILS_AS_EXPECTED: Final = "failing as expected"
_LABELS: Final[dict[str, str]] = {"as expected": "good", _FAILS_AS_EXPECTED: "expected"} | {**STYLES}
"""Labels of counts with their styles; an expected failure is as expected, but it is not shown as a success."""


def _label(verdict: _Verdict) -> str:
    return _FAILS_AS_EXPECTED if verdict.style == "expected" else verdict.standing


def file_anchor(file: str) -> str:
    """Return the identifier of a file on a page of several."""
    return f"f{sha256(file.encode()).hexdigest()[:8]}"


FilePart = Mapping[str, Any]
"""One file on a page, as HTML: the table of verdicts, and a section for each."""


def file_part(outcome: Outcome) -> FilePart:
    """Return what a page shows of the results of a file."""
    anchor = file_anchor(outcome.file) if outcome.among_others else ""
    verdicts = [
        _verdict(index, result, standing, anchor, outcome.file)
        for index, (result, standing) in enumerate(outcome.results, 1)
    ]
    counts = [(label, sum(_label(v) == label for v in verdicts), style) for label, style in _LABELS.items()]
    present = tuple(count for count in counts if count[1])
    mistaken = any(diagnostic.is_error for diagnostic in outcome.diagnostics)
    macros: Any = template("file.html.j2").module
    summary = macros.summary(
        file=printable(outcome.file),
        anchor=anchor,
        diagnostics=rendered(outcome.diagnostics, limit=len(outcome.diagnostics)),
        mistaken=mistaken,
        interrupted=outcome.interrupted,
        switched_off=outcome.switched_off,
        verdicts=verdicts,
        counts=present,
    )
    return {
        "file": printable(outcome.file),
        "version": outcome.version,
        "anchor": anchor,
        "counts": present,
        "mistaken": mistaken,
        "interrupted": outcome.interrupted or "",
        "summary": str(summary),
        "sections": str(macros.sections(verdicts)),
    }


def page(title: str, parts: Sequence[FilePart]) -> str:
    """Return the page of these files; with several files, a table of them comes first."""
    totals = [
        (label, sum(count for part in parts for one, count, _ in part["counts"] if one == label), style)
        for label, style in _LABELS.items()
    ]
    safe = [(part, Markup(part["summary"]), Markup(part["sections"])) for part in parts]
    return template("report.html.j2").render(
        title=printable(title),
        version=parts[0]["version"] if parts else "",
        parts=safe,
        is_project=len(parts) != 1 or bool(parts[0]["anchor"]),
        counts=[count for count in totals if count[1]],
    )


def fragment(number: int, result: Result, standing: Standing) -> str:
    """Return what the page shows of one result."""
    macros: Any = template("verdict.html.j2").module
    return str(macros.section(_verdict(number, result, standing)))


def panel(title: str, fragments: Sequence[str], nonce: str) -> str:
    """Return a page for an editor, of fragments; it allows itself nothing but its own style and script."""
    allowed = [one.replace("<style>", f'<style nonce="{nonce}">') for one in fragments]  # drawings bring their own
    return template("panel.html.j2").render(title=title, fragments=allowed, nonce=nonce)


@cache
def template(name: str) -> Template:
    """Return a template of a page; it escapes its arguments."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).with_name("templates")),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=True,
        finalize=_without_control_characters,
    )
    return environment.get_template(name)


def _without_control_characters(value: object) -> object:
    """Return what a template writes; a text that is marked as safe stays marked."""
    if isinstance(value, str):
        shown = printable_lines(value)
        return Markup(shown) if isinstance(value, Markup) else shown
    return value


def _verdict(number: int, result: Result, standing: Standing, prefix: str = "", file: str | None = None) -> _Verdict:
    """Return what is shown of a result; places in the file of the page are lines alone."""
    question = result.question
    run = _shown(result, file)
    is_told = result.evidence is not None and has_trace(result.evidence)
    return _Verdict(
        anchor=f"{prefix}q{number}",
        name=question.name,
        title=question.title or "",
        assuming=question.assumed,
        answer=result.answer,
        standing=standing,
        style="expected" if result.answer == "fails" and standing == "as expected" else STYLES[standing],
        expected=expectation(result).strip(),
        formula=question.asked,
        place=_place_on_page(place(result.span), file),
        source=source_of(result.span),
        engine=result.engine,
        seconds=f"{result.seconds:.2f}",
        remarks=(*_causes(result), *remarks(result)),
        closing=tuple(closing_sentences(result)),
        run=run,
        text=result_text(result, detail="everything") if is_told or not result.as_expected else "",
    )


def _place_on_page(text: str, file: str | None) -> str:
    return f"line {text[len(file) + 1 :]}" if file is not None and text.startswith(f"{file}:") else text


def _shown(result: Result, file: str | None) -> _Shown | None:
    evidence = result.evidence
    if evidence is None or not has_trace(evidence):
        return None
    narration = told(result.system, evidence)
    if not narration.run.moves:
        return None
    folds = narration.folds
    settled = narration.settled if folds else None
    if narration.settled is not None:  # the findings name it
        narration = replace(narration, marks=narration.marks[1:])
    told_rows, end = rows_of(result.system, narration)
    rows = tuple(replace(row, place=_place_on_page(row.place, file)) for row in told_rows)
    lives, states = lives_of(result.system, narration), columns_of(len(rows) + 1)
    whole = None
    shown_lives, columns = lives, states
    if settled is not None:
        chart = chart_of(result.system, replace(narration, run=_beginning(narration.run, settled)))
    else:
        chart = chart_of(result.system, narration, folds)
    if folds:
        whole = _Whole(chart_of(result.system, narration), lives, states)
        columns = columns_of(len(rows) + 1, folds)
        hidden = {position + 1 for fold in folds for position in fold}
        shown_lives = tuple(one for one in lives if any(at and at not in hidden for _, at, _ in one.spans))
    is_all = not narration.asides and narration.pair is None and narration.strategy is None
    sights = sights_of(result.system, narration)
    return _Shown(
        rows, end, narration.run.loop, chart, shown_lives, columns, whole, sights, states, _parts(rows, folds), is_all
    )


def _parts(rows: tuple[Row, ...], folds: Sequence[range]) -> tuple[tuple[bool, tuple[Row, ...]], ...]:
    """Return the rows in sequence, those within and those between the folds."""
    parts: list[tuple[bool, tuple[Row, ...]]] = []
    shown = 0
    for fold in folds:
        parts += [(False, rows[shown : fold.start]), (True, rows[fold.start : fold.stop])]
        shown = fold.stop
    return (*parts, (False, rows[shown:]))


def _causes(result: Result) -> Iterator[str]:
    """Yield the instance that fails, or the reason of the knowledge."""
    if result.instance:
        yield f"fails for {result.instance}"
    if result.knowledge is not None:
        yield knowledge_text(result.system, result.knowledge)


def _beginning(run: Run, length: int) -> Run:
    return Run(run.start, run.moves[:length])
