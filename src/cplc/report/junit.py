"""JUnit reports, which build servers read: one suite for a file, one case for each property and check."""

from __future__ import annotations

import re
from collections.abc import Sequence
from xml.etree import ElementTree

from cplc.checking.results import Result
from cplc.control_characters import printable_lines
from cplc.diagnostics.core import Diagnostic
from cplc.diagnostics.render import rendered
from cplc.report.outcome import Outcome, Standing, remarks, sentence
from cplc.report.text import result_text
from cplc.source import Span

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def suite(outcome: Outcome) -> str:
    """Return the suite of a file: a case for each property and check.

    A case that is unknown is an error, no failure. A file with mistakes, or without any result, has one case that says
    so; a file that is only checked has one case.
    """
    suite = ElementTree.Element("testsuite", name=_text(outcome.file))
    mistakes = [diagnostic for diagnostic in outcome.diagnostics if diagnostic.is_error]
    if mistakes or outcome.unfinished or outcome.command == "check":
        case = _case(suite, outcome, outcome.command, 0.0, mistakes[0].span if mistakes else None)
        if mistakes:
            _child(case, "error", mistakes[0].message, "mistake", _shown(outcome.diagnostics))
        elif outcome.unfinished:
            _child(case, "error", outcome.unfinished, "unknown", outcome.unfinished)
    for result, standing in outcome.results:
        _question(_case(suite, outcome, result.question.name, result.seconds, result.span), result, standing)
    for name in outcome.switched_off:
        ElementTree.SubElement(_case(suite, outcome, name, 0.0), "skipped", message="switched off in the file")
    cases = suite.findall("testcase")
    for kind in ("failure", "error"):
        suite.set(f"{kind}s", str(len(suite.findall(f"testcase/{kind}"))))
    suite.set("tests", str(len(cases)))
    suite.set("skipped", str(len(outcome.switched_off)))
    suite.set("time", f"{sum(result.seconds for result, _ in outcome.results):.3f}")
    suite.set("file", _text(outcome.file))
    if outcome.diagnostics and not mistakes:
        ElementTree.SubElement(suite, "system-out").text = _text(_shown(outcome.diagnostics))
    return ElementTree.tostring(suite, encoding="unicode")


def suites(parts: Sequence[str]) -> str:
    """Return the document of the suites of several files."""
    root = ElementTree.Element("testsuites")
    root.extend(ElementTree.fromstring(one) for one in parts)
    ElementTree.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ElementTree.tostring(root, encoding="unicode")}\n'


def _case(
    suite: ElementTree.Element, outcome: Outcome, name: str, seconds: float, span: Span | None = None
) -> ElementTree.Element:
    """Add a case with its place, the first line of the file if it has none."""
    where = _text(outcome.file)
    case = ElementTree.SubElement(suite, "testcase", classname=where, name=_text(name), time=f"{seconds:.3f}")
    case.set("file", where if span is None else _text(span.source.name))
    case.set("line", "1" if span is None else str(span.position[0]))
    return case


def _question(case: ElementTree.Element, result: Result, standing: Standing) -> None:
    match standing:
        case "not as expected":
            _child(case, "failure", sentence(result), result.answer, result_text(result))
        case "unknown":
            _child(case, "error", sentence(result), "unknown", "\n".join(remarks(result)))
        case "with a warning":
            ElementTree.SubElement(case, "system-out").text = _text(result_text(result))
        case "as expected" if result.sizes is not None:
            ElementTree.SubElement(case, "system-out").text = _text("\n".join(remarks(result)))
        case "as expected":
            pass


def _child(case: ElementTree.Element, tag: str, message: str, kind: str, text: str) -> None:
    ElementTree.SubElement(case, tag, message=_text(message), type=kind).text = _text(text)


def _shown(diagnostics: Sequence[Diagnostic]) -> str:
    return rendered(diagnostics, limit=len(diagnostics))


def _text(text: str) -> str:
    """Return the text without control characters, most of which no XML may contain."""
    return printable_lines(text)
