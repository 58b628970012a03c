"""Each tool finds as many states in the file that is written for it as there are, and gives the same verdicts."""

from __future__ import annotations

import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.cases.reader import Case, cases, compiled
from tests.reference_tools.judges import JUDGES, Judge
from tests.reference_tools.said import printed
from tests.strategies import roles, systems
from tests.strategies_formulas import Sample, protocols

from cplc import compile
from cplc.engines.explicit import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.pipeline import Asked, Compilation, count_reachable, load
from cplc.system.formula import And, OnPaths

_EXAMPLES = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))
    for name in re.findall(r"^protocol (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]
_TOLD_APART = ("bit, which flips", "Nobody sees")
_by_each = pytest.mark.parametrize(
    "judge",
    [
        pytest.param(judge, id=judge.name, marks=pytest.mark.skipif(not judge.program, reason="it is not here"))
        for judge in JUDGES
    ],
)


def _compare(judge: Judge, compilation: Compilation, asked: tuple[Asked, ...]) -> int:
    """Check the count, and the verdict of every formula; return how many were written."""
    _compare_counts(judge, compilation.to_be_exported(asked))
    together = _compare_verdicts(judge, compilation, asked)
    rest = (one for one in asked if one.question.name not in together)
    return len(together) + sum(len(_compare_verdicts(judge, compilation, (one,))) for one in rest)


def _compare_counts(judge: Judge, request: Request) -> None:
    """Check the count of what is written without formulas, unless fairness needs bits that tell more states apart."""
    text = export(judge.target, replace(request, formulas=())).text
    if not any(told in text for told in _TOLD_APART):
        assert judge.ask(text).states in (None, printed(count_reachable(request.system)))


def _compare_verdicts(judge: Judge, compilation: Compilation, asked: tuple[Asked, ...]) -> tuple[str, ...]:
    exported = compilation.export(judge.target, asked)
    assert len(exported.written) + len(exported.notes) == len(asked)
    try:
        told = judge.verdicts(exported)
    except subprocess.TimeoutExpired:
        if len(asked) == 1:
            raise
        return tuple(name for one in asked for name in _compare_verdicts(judge, compilation, (one,)))
    results = list(compilation.verify([one for one in asked if one.question.name in told]))
    assert all(result.answer != "unknown" for result in results)
    assert told == {result.question.name: result.answer != "fails" for result in results}
    return exported.written


@_by_each
@pytest.mark.parametrize(("path", "name"), _EXAMPLES)
def test_examples(judge: Judge, path: Path, name: str) -> None:
    loaded = load(str(path))
    assert isinstance(loaded, Compilation)
    compilation = replace(loaded, protocol=name)
    assert _compare(judge, compilation, compilation.declared_questions()) or not judge.says_all


@_by_each
@pytest.mark.parametrize("case", cases(), ids=str)
def test_cases(judge: Judge, case: Case) -> None:
    compilation = compiled(case)
    assert _compare(judge, compilation, compilation.declared_questions()) or not judge.says_all


@_by_each
@settings(max_examples=20)
@given(data=st.data())
def test_random_systems(judge: Judge, data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(judge.formulas(system), roles(system))) for _ in range(4)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    request = Request(system, formulas, Origin("-", "0"))
    engine = ExplicitEngine(system)
    _compare_counts(judge, request)
    try:
        told = judge.verdicts(export(judge.target, request), seconds=20)
    except subprocess.TimeoutExpired:
        return
    for one in formulas:
        if one.name in told and (judge.empty_quantifiers or _some_run_begins(engine, one.assuming)):
            assert told[one.name] == engine.is_valid(one.formula, one.assuming), (one, request)


def _some_run_begins(engine: ExplicitEngine, assuming: frozenset[str]) -> bool:
    """Whether every initial state has a fair run; without one, tools differ on what holds."""
    begins = engine.satisfying(OnPaths("E", And(())), assuming)
    return engine.is_empty(engine.without(engine.initial, begins))


@_by_each
@settings(max_examples=20)
@given(sample=protocols(formula_count=3))
def test_random_protocols(judge: Judge, sample: Sample) -> None:
    compilation = compile(sample.text)
    assert compilation.ok
    asked = tuple(one for one in compilation.declared_questions() if one.question.kind == "property")
    if judge.empty_quantifiers or not any(one.system.fairness for one in asked):
        try:
            _compare(judge, compilation, asked)
        except subprocess.TimeoutExpired:
            return
