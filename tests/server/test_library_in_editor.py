"""What an editor is told of the examples and the library: what each name is, where it is declared, what causes it."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import pytest

from cplc.server import call_hierarchy, inlay_hints, navigation, outline, semantic_tokens, signature_help, text_edits
from cplc.server.compiled_document import Compiled, Document, compiled
from cplc.server.completion import completion
from cplc.server.diagnostics import by_file
from cplc.server.hover import hover
from cplc.server.positions import Text

_ROOT = Path(__file__).parents[2]
_FILES = [path for folder in ("examples", "stdlib") for path in sorted((_ROOT / folder).rglob("*.cpl"))]


def _named(path: Path) -> str:
    return f"{path.parent.name}/{path.stem}"


@cache
def _compiled(path: Path) -> Compiled:
    return compiled(Document(path.as_uri(), Text(path.read_text(encoding="utf-8"))), {})


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_every_name_says_what_it_is_and_leads_to_its_declaration(path: Path) -> None:
    found = _compiled(path)
    assert by_file(found, str)[path.as_uri()] == []
    uses = [span for span in found.index.uses if span.source is found.source]
    assert uses
    for span in uses:
        said = hover(found, span.start, None)
        links = navigation.definition(found, span.start)
        assert said is not None, span
        assert links, span
        assert links[0].origin_selection_range == found.range(span)
        target = found.index.declared[found.index.uses[span]]
        if target.kind in ("message", "commitment", "claim", "fact"):
            (item,) = call_hierarchy.prepare(found, span.start)
            call_hierarchy.incoming(found, item)
            assert target.kind != "message" or call_hierarchy.named(found, item) is target


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_every_commitment_that_is_made_has_a_cause(path: Path) -> None:
    found = _compiled(path)
    for declared in found.index.declared.values():
        if declared.kind == "commitment" and declared.span.source is found.source:
            (item,) = call_hierarchy.prepare(found, declared.span.start)
            causes = call_hierarchy.incoming(found, item)
            said = hover(found, declared.span.start, None)
            assert said is not None
            assert causes, declared.name.text
            assert "| Message | Operation |" in str(said.contents), declared.name.text


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_everything_can_be_asked_at_every_word(path: Path) -> None:
    found = _compiled(path)
    for token in found.tokens.code[:: max(1, len(found.tokens.code) // 150)]:
        completion(found, token.start)
        signature_help.signature_help(found, token.end)
        selected = outline.selection(found, token.start)
        while selected.parent is not None:
            inner, outer = selected.range, selected.parent.range
            assert (outer.start.line, outer.start.character) <= (inner.start.line, inner.start.character)
            assert (outer.end.line, outer.end.character) >= (inner.end.line, inner.end.character)
            selected = selected.parent
        assert selected.range == found.text.whole
    inlay_hints.hints(found, 0, len(found.text.text))
    assert semantic_tokens.semantic_tokens(found)
    assert outline.document_symbols(found)
    assert text_edits.layout(found) == []


@pytest.mark.parametrize("path", _FILES, ids=_named)
def test_names_of_the_library_stay_as_they_are(path: Path) -> None:
    found = _compiled(path)
    library = str(_ROOT / "stdlib")
    for span, target in found.index.uses.items():
        if span.source is found.source and target.source.name.startswith(library):
            with pytest.raises(navigation.Refused, match="belongs to the standard library"):
                navigation.renamable(found, span.start)
