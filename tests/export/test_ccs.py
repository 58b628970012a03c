"""Exported CCS processes are bisimilar to the system, and their GCTL* formulas have its verdicts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import logic_formulas
from tests.support.generators.systems import roles, systems
from tests.support.oracles.ccs import TAU, Ccs, Gctl, Moves, Ref, State, branching_bisimilar, size
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation, load
from cplc.export import Export, ExportedFormula, Origin, Request, export
from cplc.export.ccs_expressions import Vocabulary
from cplc.logic.formulas import Formula
from cplc.system.model import System

_ROOT = Path(__file__).parents[2]
_FILES = [
    _ROOT / "examples" / "cancel_race.cpl",
    _ROOT / "examples" / "netbill.cpl",
    _ROOT / "tests" / "cases" / "deadline.cpl",
    _ROOT / "tests" / "cases" / "rounds.cpl",
    _ROOT / "tests" / "cases_extra" / "repeated_sync.cpl",
]
_OPERATORS = 6
"""A tableau is exponential in the temporal operators; formulas with more are skipped."""


def _exported(system: System, formulas: Sequence[Formula] = (), assuming: frozenset[str] = frozenset()) -> Export:
    questions = [ExportedFormula(f"q{n}", formula, "", assuming) for n, formula in enumerate(formulas)]
    return export("ccs", Request(system, questions, Origin("a.cpl", "0")))


def _is_bisimilar(exported: Export, system: System) -> bool:
    """Tell whether the processes, without self-loops of cells, are branching bisimilar to the system."""
    vocabulary = Vocabulary(system)
    names = [vocabulary.step(step.name) for step in system.steps]
    both: dict[State, tuple[tuple[str, State], ...]] = {}
    ccs = Ccs(exported.text)
    for state, moves in ccs.reachable("Main").items():
        unfolded = ccs.agents["Main"] if state == Ref("Main") else state
        assert all(after == unfolded for action, after in moves if action.startswith("is_"))
        both[state] = tuple((action, after) for action, after in moves if not action.startswith("is_"))
    naive = Naive(system)
    for state_of_system, edges in naive.edges.items():
        both[state_of_system] = (("idle", state_of_system), *((names[step], after) for step, after in edges))
    both["begin"] = tuple((TAU, first) for first in naive.initial) if len(naive.initial) > 1 else ()
    start: State = "begin" if len(naive.initial) > 1 else next(iter(naive.initial))
    return branching_bisimilar(both, start, Ref("Main"))


@pytest.mark.parametrize("path", _FILES, ids=lambda path: path.stem)
def test_files_bisimilar_to_system(path: Path) -> None:
    compilation = load(str(path))
    assert isinstance(compilation, CplCompilation)
    questions = compilation.declared_questions() or compilation.questions()
    exported = compilation.export("ccs", questions)
    assert _is_bisimilar(exported, questions[0].system)
    ((_, text),) = exported.beside
    gctl = Gctl(text, Ccs(exported.text).reachable("Main"))
    vocabulary = Vocabulary(questions[0].system, tuple(one.question.name for one in questions))
    for result in compilation.verify([one for one in questions if one.question.name in exported.written]):
        name = vocabulary.proposition(result.question.name)
        if size(gctl.formulas[name]) <= _OPERATORS:
            assert (Ref("Main") in gctl.satisfying(name)) == (result.answer != "fails"), name


@examples(10)
@given(systems(states=16))
def test_random_systems_bisimilar_to_export(system: System) -> None:
    assert _is_bisimilar(_exported(system), system)


@examples(10)
@given(st.data(), systems(states=12))
def test_formulas_equivalent_after_export(data: st.DataObject, system: System) -> None:
    formulas = [data.draw(logic_formulas(system)) for _ in range(3)]
    assuming = data.draw(roles(system))
    exported = _exported(system, formulas, assuming)
    assume(exported.beside)
    ((suffix, text),) = exported.beside
    assert suffix == ".gctl"
    moves: Moves = Ccs(exported.text).reachable("Main")
    gctl = Gctl(text, moves)
    naive = Naive(system)
    for name in exported.written:
        if size(gctl.formulas[name]) <= _OPERATORS:
            formula = formulas[int(name.removeprefix("q"))]
            expected = naive.initial <= naive.satisfying(formula, assuming)
            assert (Ref("Main") in gctl.satisfying(name)) == expected, formula
