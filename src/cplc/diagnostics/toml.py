"""TOML documents, with a diagnostic at the place of a syntax error."""

from __future__ import annotations

import re
from typing import Any, Final

from cplc.diagnostics.core import Diagnostic, Rule
from cplc.source import Source, Span

_AT_LINE: Final = re.compile(r"\s*\(at (?:line (\d+), column (\d+)|end of document)\)")


def toml_document(source: Source, rule: Rule) -> dict[str, Any] | Diagnostic:
    """Return the content of a TOML document, or the diagnostic of this rule."""
    import tomllib  # most files have no settings in their project

    try:
        return tomllib.loads(source.text.replace("\r\n", "\n"))
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        return _unreadable(source, str(problem), rule)
    except ValueError:  # Python limits how many digits it converts
        return _unreadable(source, "a number has too many digits", rule)


def _unreadable(source: Source, problem: str, rule: Rule) -> Diagnostic:
    at = _AT_LINE.search(problem)
    offset = len(source.text.rstrip())
    if at and at[1]:
        lines = source.text.split("\n")
        offset = min(offset, sum(len(line) + 1 for line in lines[: int(at[1]) - 1]) + int(at[2]) - 1)
    reasons = _AT_LINE.sub("", problem).splitlines() or ["it is nested too deep"]
    return rule.at(Span(source, offset, offset + 1), f"This is not TOML: {reasons[0]}")
