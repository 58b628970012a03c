"""Analysis of protocols given as text, for tests of their semantics."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from cplc.semantics.analysis import Analysis, analyse
from cplc.semantics.imports import loader
from cplc.semantics.model import CheckedModel
from cplc.source import Source
from cplc.syntax.parser import parse


def analysed(
    text: str,
    parameters: Mapping[str, str] | None = None,
    channels: Literal["sync", "async"] | None = None,
    protocol: str | None = None,
) -> Analysis:
    file, problems = parse(Source("test.cpl", text))
    assert not problems
    return analyse(file, load=loader(None, parse), parameters=parameters, channels=channels, protocol=protocol)


def checked(text: str, parameters: Mapping[str, str] | None = None) -> CheckedModel:
    analysis = analysed(text, parameters)
    assert not [d.concise() for d in analysis.diagnostics if d.is_error]
    assert analysis.model is not None
    return analysis.model


def codes(text: str, parameters: Mapping[str, str] | None = None) -> list[str]:
    return [diagnostic.code for diagnostic in analysed(text, parameters).diagnostics]
