"""Names of enumerations: where they stand, how files share them, and what is reported."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.protocol_analysis import analysed, checked

from cplc.compilation import CplCompilation
from cplc.semantics.symbol_index import declarations
from cplc.source import Source
from cplc.syntax.parser import parse
from cplc.syntax.printer import file as printed

_LOCAL = """
cpl 2

define Mood = {{calm, cross}}

protocol P {{
  define Size = {{small, large}}
  role A {{ var mood: Mood = {initial} }}
  role B
  A -> B : ask(size: {type}, mood: {{cross, calm}})  if mood = A.mood {guard}
  property p: AG (ask -> ask.mood = A.mood)
}}
"""


def _local(*, initial: str = "calm", type_: str = "Size", guard: str = "& size != large") -> str:
    return _LOCAL.format(initial=initial, type=type_, guard=guard)


def test_name_stands_for_the_values() -> None:
    model = checked(_local())
    assert model.variable["A.mood"].domain == ("calm", "cross")
    assert [one.domain for one in model.message["ask"].parameters] == [("small", "large"), ("cross", "calm")]


def test_enumerations_with_the_same_values_are_one_type() -> None:
    compilation = CplCompilation(Source("moods.cpl", _local()))
    (result,) = compilation.verify(compilation.questions(["p"]))
    assert result.answer == "holds"


_SHARED = "cpl 2\n\n// How urgent it is.\ndefine Urgency = {low, high}\ndefine urgent(m) = EF m\n"
_PART = "cpl 2\n\ndefine Urgency = {low, medium}\n"
_USING = """cpl 2

import "./shared.cpl"{alias}
{more}
protocol P {{
  role A
  role B
  A -> B : ask(urgency: {type})  if urgency = high
  property p: EF ask.urgency = high
}}
"""


def _compiled(folder: Path, *, alias: str = "", type_: str = "Urgency", more: str = "") -> CplCompilation:
    (folder / "shared.cpl").write_text(_SHARED, encoding="utf-8")
    (folder / "part.cpl").write_text(_PART, encoding="utf-8")
    text = _USING.format(alias=alias, type=type_, more=more)
    (folder / "using.cpl").write_text(text, encoding="utf-8")
    return CplCompilation(Source("using.cpl", text), folder / "using.cpl")


@pytest.mark.parametrize(("alias", "type_"), [("", "Urgency"), (" as shared", "shared.Urgency")])
def test_files_share_an_enumeration(tmp_path: Path, alias: str, type_: str) -> None:
    compilation = _compiled(tmp_path, alias=alias, type_=type_)
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    assert compilation.model.message["ask"].parameters[0].domain == ("low", "high")


@pytest.mark.parametrize(
    ("alias", "type_", "more", "code"),
    [
        ("", "Urgncy", "", "unknown-name"),
        (" as shared", "Urgency", "", "unknown-name"),
        (" as shared", "shred.Urgency", "", "unknown-name"),
        ("", "urgent", "", "unknown-name"),
        ("", "Urgency[1]", "", "wrong-indices"),
        ("", "Urgency", 'import "./part.cpl"', "ambiguous-name"),
    ],
)
def test_wrong_names_of_types_are_reported(tmp_path: Path, alias: str, type_: str, more: str, code: str) -> None:
    compilation = _compiled(tmp_path, alias=alias, type_=type_, more=more)
    errors = [one for one in compilation.diagnostics if one.is_error]
    assert [one.code for one in errors][:1] == [code]
    assert errors[0].span.text == type_


def test_own_enumeration_hides_an_imported_one(tmp_path: Path) -> None:
    compilation = _compiled(tmp_path, more="define Urgency = {high}")
    assert compilation.model.message["ask"].parameters[0].domain == ("high",)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        (_local(initial="angry"), "unknown-name"),
        (_local(type_="string"), "unknown-name"),
        (_local(guard="& size = calm"), "unknown-name"),
        (_local().replace("define Size = {small, large}", "define Size = {small, small}"), "duplicate-name"),
        (_local().replace("define Size", "define Size = {small}\n  define Size"), "duplicate-name"),
        (_local().replace("define Size", "define Size(x) = EF x\n  define Size"), "duplicate-name"),
        (_local().replace("define Size", "define Size(x)"), "syntax"),
        (_local().replace("role B\n", "role B\n  for i in 1..2 { define Inner = {a} }\n"), "misplaced-declaration"),
        (_local().replace("AG (ask ->", "AG (Mood(ask) ->"), "unknown-name"),
    ],
)
def test_mistakes_in_enumerations_are_reported(wrong: str, code: str) -> None:
    assert code in [one.code for one in CplCompilation(Source("p.cpl", wrong)).diagnostics if one.is_error]


def test_unused_enumeration_is_warned_of() -> None:
    text = _local().replace("define Size", "define Rest = {a, b}\n  define Size")
    (unused,) = (one for one in analysed(text).diagnostics if one.code == "unused")
    assert unused.message == "Nothing refers to the enumeration `Rest`"


@pytest.mark.parametrize("type_", ["0..3", "n..3", "n + 1..3", "(n)..3", "1..n"])
def test_parameters_still_begin_a_range(type_: str) -> None:
    text = f"cpl 2\n\nprotocol P(n: 1..2 = 1) {{ role A role B A -> B : m(x: {type_}) }}"
    assert checked(text).message["m"].parameters[0].domain


def test_printing_and_reading_again_gives_the_same_tree() -> None:
    (tree, problems) = parse(Source("moods.cpl", _local()))
    assert not problems
    again, _ = parse(Source("moods.cpl", printed(tree)))
    assert again == tree
    kinds = {one.name.text: one.kind for one in declarations(tree) if one.kind == "type"}
    assert kinds == {"Mood": "type", "Size": "type"}


def test_index_knows_the_uses(tmp_path: Path) -> None:
    compilation = _compiled(tmp_path, alias=" as shared", type_="shared.Urgency")
    index = compilation.index
    (target,) = {place for span, place in index.uses.items() if span.text == "Urgency"}
    assert index.declared[target].kind == "type"
    assert index.declared[target].doc == "How urgent it is."
    assert any(span.text == "shared" for span in index.uses)
