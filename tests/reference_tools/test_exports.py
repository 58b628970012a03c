"""Other model checkers find the same number of states and the same verdicts in exported files."""

from __future__ import annotations

import re
import subprocess
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_tools.agreement import compare_protocol, compare_system
from tests.reference_tools.judges import JUDGES, Judge
from tests.support.case_files import Case, cases, compiled
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc import compile
from cplc.compilation import CplCompilation, load
from cplc.export import ExportedFormula, Origin, Request

_EXAMPLES = [
    pytest.param(path, name, id=f"{path.stem}-{name}")
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.cpl"))
    for name in re.findall(r"^protocol (\w+)", path.read_text(encoding="utf-8"), re.MULTILINE)
]
_by_each = pytest.mark.parametrize(
    "judge",
    [
        pytest.param(judge, id=judge.name, marks=pytest.mark.skipif(not judge.program, reason="it is not here"))
        for judge in JUDGES
    ],
)


@_by_each
@pytest.mark.parametrize(("path", "name"), _EXAMPLES)
def test_examples(judge: Judge, path: Path, name: str) -> None:
    loaded = load(str(path))
    assert isinstance(loaded, CplCompilation)
    compilation = replace(loaded, protocol=name)
    assert compare_protocol(judge, compilation, compilation.declared_questions()) or not judge.says_all


@_by_each
@pytest.mark.parametrize("case", cases(), ids=str)
def test_cases(judge: Judge, case: Case) -> None:
    compilation = compiled(case)
    assert compare_protocol(judge, compilation, compilation.declared_questions()) or not judge.says_all


@_by_each
@examples(20)
@given(data=st.data())
def test_random_systems(judge: Judge, data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(judge.formulas(system), roles(system))) for _ in range(4)]
    formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
    with suppress(subprocess.TimeoutExpired):
        compare_system(judge, Request(system, formulas, Origin("-", "0")))


@_by_each
@examples(20)
@given(sample=protocols(formula_count=3))
def test_random_protocols(judge: Judge, sample: Sample) -> None:
    compilation = compile(sample.text)
    assert compilation.ok
    questions = tuple(one for one in compilation.declared_questions() if one.question.kind == "property")
    if judge.empty_quantifiers or not any(one.system.fairness for one in questions):
        with suppress(subprocess.TimeoutExpired):
            compare_protocol(judge, compilation, questions)
