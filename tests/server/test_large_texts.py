"""Completion and imports in long texts: the work grows with the length of the text, not with its square."""

from __future__ import annotations

import pytest
from tests.fuzz.budget import processor_time

from cplc.compilation import CplCompilation
from cplc.server.compiled_document import Document, compiled
from cplc.server.completion import completion
from cplc.server.positions import Text
from cplc.source import Source
from cplc.syntax import parser


@pytest.mark.parametrize("text", ["}", "{", "{ a }", "} {", "( ", "a[", "x . "])
def test_completion_behind_many_brackets_ends(text: str) -> None:
    whole = "protocol P { role A " + text * 60_000
    compiled_document = compiled(Document("untitled:long", Text(whole)), {})
    with processor_time(20):
        completion(compiled_document, len(whole))


def test_completion_tells_braces_of_sets_from_blocks() -> None:
    text = "protocol P { role A role B { var v: {on, off} } A -> B : m(p: {a, b}) after m "
    compiled_document = compiled(Document("untitled:short", Text(text)), {})
    assert "m" in [item.label for item in completion(compiled_document, text.index(" after m ") + len(" after "))]
    assert "protocol" not in [item.label for item in completion(compiled_document, len(text))]


def test_file_that_is_imported_many_times_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    parsed: list[str] = []
    parse = parser.parse

    def counting(source: Source) -> object:
        parsed.append(source.name)
        return parse(source)

    monkeypatch.setattr(parser, "parse", counting)
    text = "import std.payments\n" * 50 + "protocol P { role A role B A -> B : m }"
    assert CplCompilation(Source("p.cpl", text)).ok
    assert sum(name.endswith("payments.cpl") for name in parsed) == 1
