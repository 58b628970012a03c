"""Diagnostics and verdicts as workflow commands: GitHub shows them as annotations of lines."""

from __future__ import annotations

import shlex
from collections.abc import Iterator

from cplc.checking.results import Result
from cplc.control_characters import printable
from cplc.diagnostics.core import Diagnostic
from cplc.report.failure_explanation import closing_sentences
from cplc.report.outcome import Outcome, Standing, remarks, sentence
from cplc.source import Source, Span

_LEVELS: dict[Standing, str] = {"not as expected": "error", "unknown": "warning", "with a warning": "warning"}


def commands(outcome: Outcome) -> str:
    """Return one command for each diagnostic, and for each verdict that is not simply as expected."""
    return "".join(f"{line}\n" for line in _lines(outcome))


def _lines(outcome: Outcome) -> Iterator[str]:
    for diagnostic in outcome.diagnostics:
        level = "notice" if diagnostic.severity == "remark" else diagnostic.severity
        yield _command(level, diagnostic.span, diagnostic.code, _message(diagnostic))
    for result, standing in outcome.results:
        if standing in _LEVELS:
            yield _command(_LEVELS[standing], result.span or _file(outcome), sentence(result), _short(result, outcome))
    if outcome.switched_off:
        yield _command("notice", _file(outcome), "switched off in the file", ", ".join(outcome.switched_off))
    if outcome.unfinished:
        yield _command("warning", _file(outcome), "not finished", outcome.unfinished)


def _message(diagnostic: Diagnostic) -> str:
    return "\n".join((diagnostic.message, *(note.message for note in diagnostic.notes)))


def _short(result: Result, outcome: Outcome) -> str:
    """Return the formula, the remarks and the blame: an annotation has room for a few lines, not for a run."""
    question = result.question
    lines = [question.text, *remarks(result), *closing_sentences(result, with_run=False)]
    if result.evidence is not None:
        lines.append(f"cplc verify {shlex.quote(outcome.file)} --property {shlex.quote(question.name)} shows a run")
    return "\n".join(dict.fromkeys(lines))


def _file(outcome: Outcome) -> Span:
    """Return the beginning of the file, the place of a verdict without one."""
    return Span(Source(outcome.file, ""), 0, 0)


def _command(level: str, span: Span, title: str, message: str) -> str:
    line, column = span.position
    end_line, end_column = span.source.position(max(span.start, span.end - 1))
    properties = {"file": span.source.name, "line": str(line), "title": title}
    if line == end_line:
        # GitHub takes columns for one line only.
        properties |= {"col": str(column), "endColumn": str(end_column)}
    else:
        properties |= {"endLine": str(end_line)}
    written = ",".join(f"{key}={command_property(value)}" for key, value in properties.items())
    return f"::{level} {written}::{command_data(message)}"


def command_data(text: str) -> str:
    """Return the text as data of a workflow command: one line, without control characters."""
    return printable(text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A"))


def command_property(text: str) -> str:
    """Return the text as a property of a workflow command."""
    return command_data(text).replace(":", "%3A").replace(",", "%2C")
