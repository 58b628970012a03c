"""Work of verdicts, counted in operations on decision diagrams and in nodes, since time varies from run to run.

What is counted depends a little on the order in which sets are read, so a quarter more or less is nothing. Dead nodes
count until a thread of the library has freed them, at its own time: the least of some runs is what a verdict needs.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from benchmarks.families import FAMILIES, Family
from benchmarks.timed import TIMED

from cplc.compilation import BoundQuestion, CplCompilation, load
from cplc.engines.symbolic import bdd
from cplc.engines.symbolic.engine import SymbolicEngine

_RECORDED = Path(__file__).parent / "golden" / "work.json"
_SIZE = 4
_TOLERANCE = 1.25
_RUNS = 3
"""Runs of which the one that held the fewest nodes counts."""


@pytest.fixture
def counted(monkeypatch: pytest.MonkeyPatch) -> Callable[[], dict[str, int]]:
    """Count operations, and the most nodes that each engine held."""
    operations = 0
    engines: list[SymbolicEngine] = []

    def counting(method: Callable[..., Any]) -> Callable[..., Any]:
        def counted(self: object, *arguments: object) -> object:
            nonlocal operations
            operations += 1
            return method(self, *arguments)

        return counted

    made = SymbolicEngine.__init__

    def making(self: SymbolicEngine, *arguments: Any, **options: Any) -> None:
        made(self, *arguments, **options)
        engines.append(self)

    for name in ("exists", "and_exists", "substitute"):
        monkeypatch.setattr(bdd._Oxidd, name, counting(getattr(bdd._Oxidd, name)))
    monkeypatch.setattr(SymbolicEngine, "__init__", making)
    return lambda: {
        "operations": operations,
        "nodes": sum(one.peak for one in engines if "_representation" in vars(one)),
    }


@pytest.mark.parametrize(
    ("family", "kind"),
    [
        (family, kind)
        for family in FAMILIES
        for kind, question_text in family.questions.items()
        if question_text.formula
    ],
    ids=lambda one: one if isinstance(one, str) else one.name,
)
def test_work_does_not_exceed_recorded_budget(
    family: Family, kind: str, counted: Callable[[], dict[str, int]], update_golden: bool
) -> None:
    pytest.importorskip("oxidd")
    golden = json.loads(_RECORDED.read_text(encoding="utf-8")) if _RECORDED.exists() else {}
    name = f"{family.name}, {kind}"
    recorded = golden.get(name, {})
    work = _work(family, kind, counted)
    for _ in range(_RUNS - 1):
        if update_golden or work["nodes"] > recorded["nodes"] * _TOLERANCE:
            work = min(work, _work(family, kind, counted), key=lambda one: one["nodes"])
    if update_golden:
        _RECORDED.write_text(json.dumps({**golden, name: work}, indent=2, sort_keys=True) + "\n", encoding="utf-8")
        return
    for measure, number in work.items():
        assert number <= recorded[measure] * _TOLERANCE, f"more {measure}"
        assert number >= recorded[measure] / _TOLERANCE, f"fewer {measure}: keep it by --update-golden"


def _work(family: Family, kind: str, counted: Callable[[], dict[str, int]]) -> dict[str, int]:
    """Return what it takes to decide a question of a family."""
    question_text = family.questions[kind]
    compilation = load(
        str(family.file), dict(one.split("=") for one in (f"{family.parameter}={_SIZE}", *family.more_parameters))
    )
    assert isinstance(compilation, CplCompilation)
    question = compilation.formula_question(
        question_text.formula, (question_text.assuming,) if question_text.assuming else ()
    )
    assert isinstance(question, BoundQuestion)
    before = Counter(counted())
    (result,) = compilation.verify([question], engine="symbolic")
    assert result.answer != "unknown"
    after = counted()
    return {measure: number - before[measure] for measure, number in after.items()}


def test_work_on_deadlines_does_not_grow_with_customers(counted: Callable[[], dict[str, int]]) -> None:
    """Ticks connect all customers, and one is enough to decide the question about each."""
    pytest.importorskip("oxidd")

    def work(customers: int) -> Counter[str]:
        compilation = load(str(TIMED), {"customers": str(customers)})
        assert isinstance(compilation, CplCompilation)
        before = Counter(counted())
        results = list(compilation.verify(compilation.questions(), engine="symbolic"))
        assert [result.answer for result in results] == ["holds", "fails", "holds"]
        return Counter(counted()) - before

    two_customers, twelve_customers = work(2), work(12)
    for measure, number in twelve_customers.items():
        assert number <= two_customers[measure] * _TOLERANCE, f"more {measure}"
