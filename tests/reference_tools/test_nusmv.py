"""NuSMV finds as many states in an exported file as there are, and gives the same verdicts."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.reader import Case, cases, compiled
from tests.reference_tools.nusmv import NUSMV, ask, verdicts
from tests.strategies import roles, systems
from tests.strategies_formulas import Sample, protocols
from tests.strategies_logic import SIMPLE, logic_formulas, quantified

from cplc import compile
from cplc.engines.explicit import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.pipeline import Asked, Compilation, count_reachable, load
from cplc.system.formula import And, OnPaths

pytestmark = pytest.mark.skipif(not NUSMV, reason="CPLC_NUSMV is not set")

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))


def compare(compilation: Compilation, asked: tuple[Asked, ...]) -> int:
    """Check the count without formulas, and the verdict of every formula; return how many were written."""
    request = compilation.to_be_exported(asked)
    bare = ask(export("smv", replace(request, formulas=())).text)
    assert bare.states == count_reachable(request.system)
    together = _compare(compilation, asked)
    alone = [_compare(compilation, (one,)) for one in asked if one.question.name not in together]
    return len(together) + sum(map(len, alone))


def _compare(compilation: Compilation, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    exported = compilation.export("smv", asked)
    assert len(exported.written) + len(exported.notes) == len(asked)
    told = verdicts(exported) if exported.written else {}
    results = list(compilation.verify([one for one in asked if one.question.name in told]))
    assert all(result.answer != "unknown" for result in results)
    assert told == {result.question.name: result.answer != "fails" for result in results}
    return exported.written


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: str(path.stem))
def test_examples(path: Path) -> None:
    compilation = load(str(path))
    assert isinstance(compilation, Compilation)
    compare(compilation, compilation.questions())


@pytest.mark.parametrize("case", cases(), ids=str)
def test_cases(case: Case) -> None:
    compilation = compiled(case)
    compare(compilation, compilation.questions())


@settings(max_examples=15)
@given(st.data())
def test_random_systems(data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(logic_formulas(system) | quantified(system, SIMPLE), roles(system))) for _ in range(4)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    request = Request(system, formulas, Origin("-", "0"))
    exported = export("smv", request)
    said = ask(exported.text)
    told = verdicts(exported)
    engine = ExplicitEngine(system)
    if "bit, which flips" not in exported.text:
        assert said.states == engine.count(engine.reachable)
    for one in formulas:
        begins = engine.satisfying(OnPaths("E", And(())), one.assuming)
        if one.name in told and engine.is_empty(engine.without(engine.initial, begins)):
            assert told[one.name] == engine.is_valid(one.formula, one.assuming), (one, exported.text)


@settings(max_examples=30)
@given(protocols(formula_count=3))
def test_random_protocols(sample: Sample) -> None:
    compilation = compile(sample.text)
    assert compilation.ok
    asked = tuple(one for one in compilation.questions() if one.question.kind == "property")
    if any(one.system.fairness for one in asked):
        return
    compare(compilation, asked)
