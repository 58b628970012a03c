"""Storm finds the states and verdicts of the system in exported PRISM models."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import logic_formulas
from tests.support.generators.systems import roles, systems
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation, count_reachable, load
from cplc.export import Export, ExportedFormula, Origin, Request, export
from cplc.export.prism import LABELS
from cplc.export.prism_formulas import Vocabulary
from cplc.export.templating import unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.formulas import Formula
from cplc.system.model import System, Variable

_ROOT = Path(__file__).parents[2]
_FILES = sorted((*_ROOT.glob("examples/*.cpl"), *_ROOT.glob("tests/cases/*.cpl")))
_CONDITIONS = 5
"""Maximum number of fairness conditions in one property; with more, Storm takes minutes."""

_storm = pytest.mark.skipif(importlib.util.find_spec("stormpy") is None, reason="Storm is not installed")


def _exported(system: System, formulas: Sequence[Formula], assuming: frozenset[str] = frozenset()) -> Export:
    questions = [ExportedFormula(f"q{n}", formula, "", assuming) for n, formula in enumerate(formulas)]
    return export("prism", Request(system, questions, Origin("a.cpl", "0")))


def _storm_verdicts(exported: Export, folder: Path) -> tuple[int, dict[str, bool]]:
    """Return Storm's number of states and the verdicts in all initial states."""
    stormpy: Any = importlib.import_module("stormpy")
    place = folder / "model.prism"
    place.write_text(exported.text, encoding="utf-8")
    model = stormpy.build_model(stormpy.parse_prism_program(str(place)))
    verdicts: dict[str, bool] = {}
    for _, text in exported.beside:
        for one in stormpy.parse_properties(text):
            if str(one.get_raw_formula()).count("G F") > _CONDITIONS:
                continue
            checked = stormpy.model_checking(model, one, only_initial_states=False)
            truth = checked.get_truth_values_vector()
            verdicts[one.get_name()] = all(truth[state] for state in model.initial_states)
    return model.nr_states, verdicts


@_storm
@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_storm_agrees_on_files(path: Path, tmp_path: Path) -> None:
    compilation = load(str(path))
    assert isinstance(compilation, CplCompilation)
    questions = compilation.declared_questions()
    exported = compilation.export("prism", questions)
    states, verdicts = _storm_verdicts(exported, tmp_path)
    if "toggle bit" not in exported.text:
        assert states == count_reachable(compilation.to_be_exported(questions).system)
    results = compilation.verify([one for one in questions if one.question.name in exported.written])
    expected = {result.question.name: result.answer != "fails" for result in results}
    names = unique_identifiers(exported.written, LABELS)
    for name in exported.written:
        assert verdicts.get(names[name], expected[name]) == expected[name], name


@_storm
@examples(25)
@given(st.data(), systems(states=30))
def test_storm_agrees_on_systems(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject, system: System) -> None:
    formulas = [data.draw(logic_formulas(system)) for _ in range(4)]
    assuming = data.draw(roles(system))
    naive = Naive(system)
    exported = _exported(system, formulas, assuming)
    states, verdicts = _storm_verdicts(exported, tmp_path_factory.mktemp("storm"))
    if "toggle bit" not in exported.text:
        assert states == len(naive.reachable)
    for name in verdicts:
        formula = formulas[int(name.removeprefix("q"))]
        assert verdicts[name] == (naive.initial <= naive.satisfying(formula, assuming)), formula


@_storm
@pytest.mark.parametrize("divisor", [-3, -1, 0, 2])
def test_remainders_have_the_sign_of_the_divisor(divisor: int, tmp_path: Path) -> None:
    stormpy: Any = importlib.import_module("stormpy")
    x = Variable("x", tuple(range(-4, 5)), tuple(range(-4, 5)), "own", "A", "x")
    y = Variable("y", (-3, -2, -1, 0, 1, 2, 3), (divisor,), "own", "A", "y")
    for right in (e.Const(divisor), e.Read("y")):
        text = Vocabulary(System("S", (), (x, y), (), (), (), (), (), (), ())).text(e.Arith("%", e.Read("x"), right))
        for number in x.domain:
            place = tmp_path / "m.prism"
            place.write_text(
                f"mdp\nmodule m\n  x : [-4..4] init {number};\n  y : [-3..3] init {divisor};\n  [] true -> true;\n"
                f'endmodule\nlabel "so" = {text} = {e.arithmetic("%", int(number), divisor)};\n'
            )
            model = stormpy.build_model(stormpy.parse_prism_program(str(place)))
            assert "so" in model.labeling.get_labels_of_state(model.initial_states[0]), (number, divisor)
