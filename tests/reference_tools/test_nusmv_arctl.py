"""The NuSMV that was extended with ARCTL gives the same verdicts, on knowledge and commitment above all."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.reader import Case, cases, compiled
from tests.reference_tools.nusmv import NUSMV_ARCTL, ask_arctl
from tests.strategies import roles, systems
from tests.strategies_formulas import Sample, protocols
from tests.strategies_logic import SIMPLE, logic_formulas, quantified

from cplc import compile
from cplc.engines.explicit import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.pipeline import Asked, Compilation, load
from cplc.system.formula import And, OnPaths

pytestmark = pytest.mark.skipif(not NUSMV_ARCTL, reason="CPLC_NUSMV_ARCTL is not set")

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))


def compare(compilation: Compilation, asked: tuple[Asked, ...]) -> None:
    """Check the verdict of every formula that is written for all together, and of the others alone."""
    together = _compare(compilation, asked)
    for one in asked:
        if one.question.name not in together:
            _compare(compilation, (one,))


def _compare(compilation: Compilation, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    exported = compilation.export("smv-arctl", asked)
    assert len(exported.written) + len(exported.notes) == len(asked)
    told = dict(zip(exported.written, ask_arctl(exported.text), strict=True)) if exported.written else {}
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
    exported = export("smv-arctl", Request(system, formulas, Origin("-", "0")))
    engine = ExplicitEngine(system)
    told = dict(zip(exported.written, ask_arctl(exported.text), strict=True))
    for one in formulas:
        begins = engine.satisfying(OnPaths("E", And(())), one.assuming)
        if one.name in told and engine.is_empty(engine.without(engine.initial, begins)):
            assert told[one.name] == engine.is_valid(one.formula, one.assuming), (one, exported.text)


@settings(max_examples=15)
@given(protocols(formula_count=3))
def test_random_protocols(sample: Sample) -> None:
    compilation = compile(sample.text)
    assert compilation.ok
    asked = tuple(one for one in compilation.questions() if one.question.kind == "property")
    if not any(one.system.fairness for one in asked):
        compare(compilation, asked)
