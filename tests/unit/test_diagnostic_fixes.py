"""Fixes belong to their diagnostics: no text of a message matters to them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from cplc.compilation import CplCompilation
from cplc.compilation.automatic_fixes import fix_text
from cplc.diagnostics.core import Diagnostic, Edit, Fix, Note, Rule, suggestion
from cplc.diagnostics.rules import UNKNOWN_NAME
from cplc.report.outcome import Outcome
from cplc.report.sarif import file_part, log
from cplc.server.compiled_document import Compiled, CompiledIspl, Document, compiled, compiled_ispl
from cplc.server.diagnostics import actions
from cplc.server.positions import Text
from cplc.source import Source, Span

_ROOT = Path(__file__).parents[2]
_BLOCK = re.compile(r"^```(cpl|ispl)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_RULES_WITH_FIX = {
    "bad-ignore", "bound-of-last", "counted-once", "expect-of-one-threshold", "meaning-changed", "misread-formula",
    "never-done", "not-a-state-formula", "other-notation", "sync-delay", "syntax", "unbound-role", "unknown-check",
    "unknown-name", "unneeded-ignore", "unreadable-file", "unseen", "wrong-indices", "wrong-kind", "wrong-target",
}  # fmt: skip
_HEAD = "protocol P {\n  role A\n  role B\n  role C\n"
_FIXABLE: dict[str, tuple[str, str]] = {
    "misspelt name": ("cpl", f"{_HEAD}  A -> B : order\n  B -> A : offer after ordr\n}}\n"),
    "misspelt keyword": ("cpl", "protocol P {\n  role A\n  comitment c\n}\n"),
    "misspelt library": ("cpl", "import std.propertees\nprotocol P { role A }\n"),
    "macro of the library": ("cpl", f"{_HEAD}  A -> B : m\n  property p: always(m)\n}}\n"),
    "undeclared message": ("cpl", f"{_HEAD}  A -> B : m after zebra\n}}\n"),
    "undeclared role": ("cpl", f"{_HEAD}  A -> Zebra : m\n}}\n"),
    "value that a message sends": ("cpl", f"{_HEAD}  A -> B : m\n  B -> C : n\n  C -> B : o after m\n}}\n"),
    "value that no message sends": ("cpl", f"{_HEAD}  A -> B : m\n  C -> B : o after m\n}}\n"),
    "unbound role": (
        "cpl",
        "protocol Q {\n  role X\n  role Y\n  X -> Y : x\n}\n" + _HEAD + "  A -> B : m\n  use Q as q(X = A)\n}\n",
    ),
    "other notation": ("cpl", f"{_HEAD}  commitment c = C(A, B, true, m)\n  A -> B : m   means create c\n"
                       "  property p: EF Create(A, c)\n}\n"),
    "former meaning": ("cpl", f"{_HEAD}  commitment c = C(A, B, true, m)\n  A -> B : m   means create c\n"
                       "  property p: EF does(create c)\n}\n"),
    "unneeded comments": ("cpl", f"{_HEAD}  A -> B : m // cplc: ignore unused, never-sent\n}}\n"),
    "path formula": ("cpl", f"{_HEAD}  A -> B : m\n  property p: F m\n  property q: [m U m]\n}}\n"),
    "misreading": ("cpl", f"{_HEAD}  A -> B : m\n  B -> A : n after m\n  property p: A[m U n -> m]\n}}\n"),
    "commitment as condition": ("cpl", f"{_HEAD}  commitment c = C(A, B, true, m)\n  A -> B : m   means create c\n"
                                "  property p: AG c\n}\n"),
    "target": ("cpl", f"{_HEAD}  commitment c = C(A, B, true, m)\n  commitment d = C(C, B, true, m)\n"
               "  A -> B : m means create c\n  B -> A : n means assign c with d\n}\n"),
    "indices": ("cpl", "protocol P {\n  role A\n  role B[2]\n  for b in B { A -> b : m }\n  property p: EF m\n}\n"),
}  # fmt: skip


def _blocks(folder: str) -> Iterator[Any]:
    for page in sorted((_ROOT / folder).rglob("*.md")):
        for number, block in enumerate(_BLOCK.finditer(page.read_text(encoding="utf-8")), 1):
            yield pytest.param(block[1], block[2], id=f"{page.relative_to(_ROOT / folder)}-{number}")


def _other(text: str) -> str:
    """Return other words, different ones for different texts."""
    return f"reworded {sha256(text.encode()).hexdigest()}"


def _reworded(make: Any) -> Any:
    """Return `Rule.at` with other words in every message and note."""

    def at(rule: Rule, span: Span, message: str, *notes: Note, **rest: Any) -> Diagnostic:
        other_notes = (replace(note, message=_other(note.message)) for note in notes)
        diagnostic: Diagnostic = make(rule, span, _other(message), *other_notes, **rest)
        return diagnostic

    return at


def _compiled(language: str, text: str, name: str) -> Compiled | CompiledIspl:
    document = Document(f"untitled:{name}.{language}", Text(text, "utf-16"))
    return compiled_ispl(document) if language == "ispl" else compiled(document, {})


def _offers(document: Compiled | CompiledIspl) -> list[tuple[object, ...]]:
    """Return the quick fixes of a text, without the address of the text."""
    offered: list[tuple[object, ...]] = []
    for action in actions(document, 0, len(document.text.text), []):
        assert action.edit is not None
        assert action.edit.changes is not None
        (edits,) = action.edit.changes.values()
        offered.append((action.title, action.kind, action.is_preferred, tuple((e.range, e.new_text) for e in edits)))
    return offered


def _repaired(document: Compiled | CompiledIspl) -> tuple[str, int]:
    if isinstance(document, CompiledIspl):
        return document.text.text, 0
    fixed = fix_text(document.compilation)
    return fixed.text, fixed.count


def _compare(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> int:
    """Check that rewording changes no quick fix and no repair; return the number of quick fixes."""
    before = _compiled(language, text, "before")
    offered, repaired = _offers(before), _repaired(before)
    with monkeypatch.context() as patch:
        patch.setattr(Rule, "at", _reworded(Rule.at))
        after = _compiled(language, text, "after")
        assert all(one.message.startswith("reworded ") for one in after.diagnostics)
        assert all(note.message.startswith("reworded ") for one in after.diagnostics for note in one.notes)
        assert _offers(after) == offered
        assert _repaired(after) == repaired
    return len(offered)


@pytest.mark.parametrize(("language", "text"), _FIXABLE.values(), ids=_FIXABLE.keys())
def test_fix_offered_whatever_the_message_says(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert any(one.fixes or one.arguments for one in _compiled(language, text, "p").diagnostics)
    assert _compare(language, text, monkeypatch)


@pytest.mark.parametrize(("language", "text"), list(_blocks("docs/rules")))
def test_rewording_changes_no_fix_of_a_rule(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(language, text, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize(("language", "text"), list(_blocks("tests/language")))
def test_rewording_changes_no_fix_of_a_case(language: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _compare(language, text, monkeypatch)


def test_texts_cover_the_rules_with_a_fix() -> None:
    texts = [*_FIXABLE.values(), *(param.values for param in _blocks("docs/rules"))]
    diagnostics = (one for language, text in texts for one in _compiled(str(language), str(text), "p").diagnostics)
    assert {one.code for one in diagnostics if one.fixes or one.arguments} == _RULES_WITH_FIX


def _span(text: str, part: str) -> Span:
    return Span(Source("p.cpl", text), text.index(part), text.index(part) + len(part))


def test_replacement_concerns_the_misspelt_part_of_the_marked_text() -> None:
    text = "import std.propertees as p\n"
    note = suggestion("there is another", "std.properties", certainty="likely", written="std.propertees")
    diagnostic = UNKNOWN_NAME.at(_span(text, text.strip()), "no such library", note)
    edit = Edit(_span(text, "std.propertees"), "std.properties")
    assert diagnostic.fixes == (Fix("Replace by `std.properties`", (edit,), "likely"),)


def test_no_fix_where_the_misspelt_text_occurs_twice() -> None:
    text = "ordr & ordr"
    note = suggestion("there is another", "order", written="ordr")
    assert UNKNOWN_NAME.at(_span(text, text), "two of them", note).fixes == ()


def test_sarif_carries_every_edit_of_a_fix() -> None:
    _, text = _FIXABLE["value that no message sends"]
    _, former = _FIXABLE["former meaning"]
    diagnostics = [*CplCompilation(Source("p.cpl", text)).diagnostics, *CplCompilation(Source("p.cpl", former)).remarks]
    document = json.loads(log([file_part(Outcome("check", "p.cpl", "1", diagnostics, [], None, ()))], "1"))
    fixes = [fix for result in document["runs"][0]["results"] for fix in result.get("fixes", ())]
    titles = [fix["description"]["text"] for fix in fixes]
    assert titles == ["Write `cpl 2`", "Write `cpl 2`, and what has one equivalent as that"]
    (change,) = fixes[1]["artifactChanges"]
    assert change["artifactLocation"] == {"uri": "p.cpl"}
    assert [one["insertedContent"]["text"] for one in change["replacements"]] == ["cpl 2\n\n", "message "]
