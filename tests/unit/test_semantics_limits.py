"""Files that are too large, too deep or not there: diagnostics, and soon."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.support.protocol_analysis import analysed, codes

from cplc.semantics import resolved
from cplc.semantics.analysis import analyse
from cplc.semantics.imports import loader
from cplc.source import Source
from cplc.syntax.parser import parse

_END = "protocol P { role A role B A -> B : m property p: EF d0(m) }"
_TOO_LARGE = {
    "family": "protocol P { role A role B[1000000] for b in B { A -> b : m } }",
    "loop": "protocol P { role A role B for i in 1..1000000 { A -> B : m } }",
    "loops": "protocol P { role A role B for i in 1..10000 { for j in i..10000 { A -> B : m } } }",
    "payloads": "protocol P { role A role B A -> B : m(a: 1..9999, b: 1..9999) }",
    "variable": "protocol P { role A { var x: 0..99999999 } role B A -> B : m   if x > 1 }",
    "deadline": "protocol P { role A role B commitment c = C(A, B, m, m) within 99999999 A -> B : m means create c }",
    "macros": "\n".join(f"define d{i}(p) = d{i + 1}(p) & d{i + 1}(p)" for i in range(40))
    + f"\ndefine d40(p) = p\n{_END}",
    "quantifiers": "protocol P { role A role B A -> B : m property p: "
    + "".join(f"forall i{k} in 1..200: " for k in range(9))
    + "AG m }",
}


@pytest.mark.parametrize("text", _TOO_LARGE.values(), ids=_TOO_LARGE)
def test_oversized_input_is_reported_at_once(text: str) -> None:
    before = time.process_time()
    assert codes(text) == ["too-large"]
    assert time.process_time() - before < 20


def test_parts_in_parts_are_counted_before_they_are_unrolled() -> None:
    levels = "".join(
        f"protocol P{i} {{ role A role B use P{i + 1}(A = A, B = B) as x use P{i + 1}(A = A, B = B) as y }}\n"
        for i in range(25)
    )
    text = (
        f"{levels} protocol P25 {{ role A role B A -> B : m }} protocol Q {{ role A role B use P0(A = A, B = B) as x }}"
    )
    assert set(codes(text)) == {"too-large"}


_TOO_DEEP = {
    "macros": "\n".join(f"define d{i}(p) = !d{i + 1}(p)" for i in range(400)) + f"\ndefine d400(p) = p\n{_END}",
    "operators": f"protocol P {{ role A role B A -> B : m property p: EF {'!' * 150}m }}",
    "loops": "protocol P { role A role B A -> B : m "
    + "".join(f"for a{i} in 1..1 {{ " for i in range(100))
    + " A -> B : n "
    + "}" * 100
    + "}",
    "facts": "protocol P { role A role B A -> B : m "
    + "".join(f"fact f{i} = f{i + 1} & m " for i in range(1000))
    + " fact f1000 = m property p: EF f0 }",
    "parts": "".join(f"protocol P{i} {{ role A role B use P{i + 1}(A = A, B = B) as x }}\n" for i in range(200))
    + "protocol P200 { role A role B A -> B : m } protocol Q { role A role B use P0(A = A, B = B) as x }",
}


@pytest.mark.parametrize("text", _TOO_DEEP.values(), ids=_TOO_DEEP)
def test_deep_nesting_is_reported(text: str) -> None:
    assert codes(text) == ["too-deep"]


def test_long_chain_is_not_too_deep() -> None:
    chain = "".join(f"A -> B : m{i}   after m{i + 1} " for i in range(500))
    text = f"protocol P {{ role A role B {chain} A -> B : m500 property p: EF ({' & '.join(['m1'] * 100)}) }}"
    assert codes(text) == []


def _analysed(path: Path) -> list[tuple[str, str]]:
    source = Source(str(path), path.read_text(encoding="utf-8"))
    file, _ = parse(source)
    diagnostics = analyse(file, load=loader(path, parse)).diagnostics
    return [(diagnostic.code, Path(diagnostic.span.source.name).name) for diagnostic in diagnostics]


def test_import_cycles_are_shown(tmp_path: Path) -> None:
    (tmp_path / "a.cpl").write_text('import "b.cpl"\ndefine a(p) = EF p\n', encoding="utf-8")
    (tmp_path / "b.cpl").write_text('import "./sub/../c.cpl"\n', encoding="utf-8")
    (tmp_path / "c.cpl").write_text('import "b.cpl"\nimport "a.cpl"\n', encoding="utf-8")
    path = tmp_path / "a.cpl"
    file, _ = parse(Source(str(path), path.read_text(encoding="utf-8")))
    diagnostics = analyse(file, load=loader(path, parse)).diagnostics
    assert [(d.code, d.message.split(": ")[1]) for d in diagnostics] == [
        ("import-cycle", "b.cpl -> c.cpl -> b.cpl"),
        ("import-cycle", "a.cpl -> b.cpl -> c.cpl -> a.cpl"),
    ]
    assert {Path(d.span.source.name).name for d in diagnostics} == {"c.cpl"}


def test_errors_of_imported_files_are_reported_there(tmp_path: Path) -> None:
    (tmp_path / "part.cpl").write_text("protocol Part { role A role B A -> B : m after n }", encoding="utf-8")
    (tmp_path / "torn.cpl").write_text("define broken(p = EF p\n", encoding="utf-8")
    (tmp_path / "raw.cpl").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "folder.cpl").mkdir()
    (tmp_path / "main.cpl").write_text(
        'import "part.cpl"\nprotocol P { role A role B use Part(A = A, B = B) as x A -> B : m }', encoding="utf-8"
    )
    assert _analysed(tmp_path / "main.cpl") == [("unknown-name", "part.cpl")]
    (tmp_path / "main.cpl").write_text('import "raw.cpl"\nimport "folder.cpl"\nimport "none.cpl"\n', encoding="utf-8")
    assert _analysed(tmp_path / "main.cpl") == [("unreadable-file", "main.cpl")] * 3
    (tmp_path / "main.cpl").write_text('import "torn.cpl"\ndefine x(p) = broken(p)\n', encoding="utf-8")
    assert {name for _, name in _analysed(tmp_path / "main.cpl")} == {"torn.cpl"}


def test_visible_names_are_those_of_imports(tmp_path: Path) -> None:
    (tmp_path / "inner.cpl").write_text("define possible(p) = EF p\n", encoding="utf-8")
    (tmp_path / "outer.cpl").write_text('import "inner.cpl"\ndefine twice(p) = possible(p) & possible(p)\n', "utf-8")
    text = 'import "outer.cpl"\nprotocol P { role A role B A -> B : m property p: twice(m) property q: possible(m) }'
    (tmp_path / "main.cpl").write_text(text, encoding="utf-8")
    assert _analysed(tmp_path / "main.cpl") == [("unknown-name", "main.cpl")]


def test_family_with_every_property_is_analysed_in_time() -> None:
    text = """
    protocol NetBill(customers: 1..64 = 64) {
      role Mer
      role Cus[customers]
      for c in Cus {
        commitment goods = C(Mer, c, pay, deliver)
        c -> Mer : request
        Mer -> c : offer     after request   means create goods
        c -> Mer : pay       after offer
        Mer -> c : deliver   after pay
        c -> Mer : thanks    after deliver   restart
      }
      property p: forall c in Cus: forall d in Cus: c != d -> EF (goods_open(c, d))
      define goods_open(c, d) = open(goods[c]) & open(goods[d])
    }
    """
    analysed(text)
    before = time.process_time()
    assert analysed(text).model is not None
    assert time.process_time() - before < 3


def test_each_commitment_is_asked_once_whether_it_counts_ticks(monkeypatch: pytest.MonkeyPatch) -> None:
    visits = 0
    counts_ticks = resolved.counts_ticks

    def counting(tree: resolved.Tree) -> bool:
        nonlocal visits
        visits += 1
        return counts_ticks(tree)

    monkeypatch.setattr(resolved, "counts_ticks", counting)
    body = "commitment c = C(A, b, m, n) b -> A : m A -> b : o means create c A -> b : n"
    assert not codes(f"protocol P {{ role A role B[30] for b in B {{ {body} }} }}")
    assert visits == 30
