"""MCMAS finds as many states in an exported file as there are, and gives the same verdicts."""

from __future__ import annotations

import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.reader import Case, cases, compiled
from tests.reference_tools.mcmas import MCMAS, ask
from tests.strategies import roles, systems
from tests.strategies_formulas import Sample, protocols
from tests.strategies_logic import Logic, logic_formulas

from cplc import compile
from cplc.engines.explicit import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.export.ispl_asking import plan
from cplc.pipeline import Asked, Compilation, count_reachable, load

pytestmark = pytest.mark.skipif(not MCMAS, reason="CPLC_MCMAS is not set")

_EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))
_SAID = Logic(past=False, games=False, weight=3, bound=2)
"""What is not left out, and short enough in CTL* for MCMAS not to be busy for minutes."""


def compare(compilation: Compilation, asked: tuple[Asked, ...]) -> int:
    """Check the count without formulas, and the verdict of every formula; return how many were written."""
    request = compilation.to_be_exported(asked)
    bare = ask(export("ispl", replace(request, formulas=())).text)
    assert bare.states == count_reachable(request.system)
    together = _compare(compilation, asked)
    alone = [_compare(compilation, (one,)) for one in asked if one.question.name not in together]
    return len(together) + sum(map(len, alone))


def _compare(compilation: Compilation, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    exported = compilation.export("ispl", asked)
    assert len(exported.written) + len(exported.notes) == len(asked)
    told = dict(zip(exported.written, ask(exported.text).verdicts, strict=True)) if exported.written else {}
    results = list(compilation.verify([one for one in asked if one.question.name in told]))
    assert all(result.answer != "unknown" for result in results)
    assert told == {result.question.name: result.answer != "fails" for result in results}
    return exported.written


@pytest.mark.parametrize("path", _EXAMPLES, ids=lambda path: str(path.stem))
def test_examples(path: Path) -> None:
    compilation = load(str(path))
    assert isinstance(compilation, Compilation)
    assert compare(compilation, compilation.questions())


@pytest.mark.parametrize("case", cases(), ids=str)
def test_cases(case: Case) -> None:
    compilation = compiled(case)
    assert compare(compilation, compilation.questions())


@settings(max_examples=40)
@given(st.data())
def test_random_systems(data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(logic_formulas(system, _SAID), roles(system))) for _ in range(3)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    exported = export("ispl", Request(system, formulas, Origin("-", "0")))
    try:
        said = ask(exported.text, seconds=20)
    except subprocess.TimeoutExpired:
        return
    engine = ExplicitEngine(system)
    planned = plan(system, formulas)
    if not planned.bits and "Nobody sees" not in exported.text:
        copies = len(planned.system.variable[planned.assuming].domain) if planned.assuming else 1
        assert said.states == copies * engine.count(engine.reachable)
    told = dict(zip(exported.written, said.verdicts, strict=bool(exported.written)))
    for one in formulas:
        if one.name in told:
            assert told[one.name] == engine.is_valid(one.formula, one.assuming), (one, exported.text)


@settings(max_examples=15)
@given(protocols(formula_count=3))
def test_random_protocols(sample: Sample) -> None:
    compilation = compile(sample.text)
    assert compilation.ok
    asked = tuple(one for one in compilation.questions() if one.question.kind == "property")
    try:
        compare(compilation, asked)
    except subprocess.TimeoutExpired:
        return
