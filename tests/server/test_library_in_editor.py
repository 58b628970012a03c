"""Hovers, declarations and causes of every name in the examples and the library."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from cplc.server import navigation, outline, semantic_tokens
from cplc.server.compiled_document import Compiled, Document, compiled
from cplc.server.completion import completion
from cplc.server.diagnostics import by_file
from cplc.server.hover import hints, hover, signature_help
from cplc.server.positions import Text
from cplc.server.text_edits import layout

_ROOT = Path(__file__).parents[2]
_FILES = [path for folder in ("examples", "stdlib") for path in sorted((_ROOT / folder).rglob("*.cpl"))]


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@cache
def _compiled(path: Path) -> Compiled:
    return compiled(Document(path.as_uri(), Text(path.read_text(encoding="utf-8"))), {})


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_every_name_says_what_it_is_and_leads_to_its_declaration(path: Path) -> None:
    compiled_document = _compiled(path)
    assert by_file(compiled_document, str)[path.as_uri()] == []
    uses = [span for span in compiled_document.index.uses if span.source is compiled_document.source]
    assert uses
    for span in uses:
        hover_text = hover(compiled_document, span.start, None)
        links = navigation.definition(compiled_document, span.start)
        assert hover_text is not None, span
        assert links, span
        assert links[0].origin_selection_range == compiled_document.range(span)
        target = compiled_document.index.declared[compiled_document.index.uses[span]]
        if target.kind in ("message", "commitment", "claim", "fact"):
            (item,) = navigation.prepare_calls(compiled_document, span.start)
            navigation.incoming_calls(compiled_document, item)
            assert target.kind != "message" or navigation.named(compiled_document, item) is target


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_every_commitment_that_is_made_has_a_cause(path: Path) -> None:
    compiled_document = _compiled(path)
    for declared in compiled_document.index.declared.values():
        if declared.kind == "commitment" and declared.span.source is compiled_document.source:
            (item,) = navigation.prepare_calls(compiled_document, declared.span.start)
            causes = navigation.incoming_calls(compiled_document, item)
            hover_text = hover(compiled_document, declared.span.start, None)
            assert hover_text is not None
            assert causes, declared.name.text
            assert "| Message | Operation |" in str(hover_text.contents), declared.name.text


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_everything_can_be_asked_at_every_word(path: Path) -> None:
    compiled_document = _compiled(path)
    for token in compiled_document.tokens.code[:: max(1, len(compiled_document.tokens.code) // 150)]:
        completion(compiled_document, token.start)
        signature_help(compiled_document, token.end)
        selected = outline.selection(compiled_document, token.start)
        while selected.parent is not None:
            inner, outer = selected.range, selected.parent.range
            assert (outer.start.line, outer.start.character) <= (inner.start.line, inner.start.character)
            assert (outer.end.line, outer.end.character) >= (inner.end.line, inner.end.character)
            selected = selected.parent
        assert selected.range == compiled_document.text.whole
    hints(compiled_document, 0, len(compiled_document.text.text))
    assert semantic_tokens.semantic_tokens(compiled_document)
    assert outline.document_symbols(compiled_document)
    assert layout(compiled_document) == []


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_names_of_the_library_stay_as_they_are(path: Path) -> None:
    compiled_document = _compiled(path)
    library = str(_ROOT / "stdlib")
    for span, target in compiled_document.index.uses.items():
        if span.source is compiled_document.source and target.source.name.startswith(library):
            with pytest.raises(navigation.Refused, match="belongs to the standard library"):
                navigation.renamable(compiled_document, span.start)
