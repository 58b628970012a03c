"""Translation of justice to state conditions, of formulas to LTL, and dependence on fairness."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import SIMPLE, logic_formulas, quantified
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export.expression_simplify import is_unsatisfiable
from cplc.export.fairness import disables_itself, fair_system, needs_fairness, to_ltl
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.system.model import Justice, Step, System, Variable

BIT = Variable("x", (False, True), (False,), "own", "Env", "x")
COUNT = Variable("n", (0, 1, 2), (0,), "own", "Env", "n")


def _system(*steps: Step) -> System:
    justice = tuple(Justice(step.name, (index,), None) for index, step in enumerate(steps))
    return System("S", (), (BIT, COUNT), (), (), (), (), steps, justice, ())


def _step(guard: e.Expr, *updates: tuple[str, e.Expr], free: tuple[str, ...] = ()) -> Step:
    return Step("go", "tick", "Env", "", (), guard, updates, free)


def test_self_disabling_step_needs_no_toggle_bit() -> None:
    system = _system(_step(e.Not(e.Read("x")), ("x", e.TRUE)))
    assert disables_itself(system, system.justice[0])
    fair = fair_system(system, frozenset())
    assert fair.system == system
    assert [condition.holds for condition in fair.conditions] == [e.Read("x")]


def test_repeatable_step_gets_toggle_bit() -> None:
    for step in (
        _step(e.Not(e.Read("x"))),
        _step(e.Less(e.Read("n"), e.Const(2)), ("n", e.Arith("+", e.Read("n"), e.Const(1)))),
        _step(e.Not(e.Read("x")), free=("x",)),
    ):
        fair = fair_system(_system(step), frozenset())
        (bit,) = fair.bits
        assert dict(fair.system.steps[0].updates)[bit] == e.Not(e.Read(bit))
        assert len(fair.conditions) == 2
        assert not list(fair.system.problems())


def test_satisfiability_assumed_beyond_case_limit() -> None:
    odd = e.Equal(e.Arith("%", e.Read("n"), e.Const(2)), e.Const(1))
    contradiction = e.And((odd, e.Not(odd)))
    assert is_unsatisfiable(contradiction, {"n": (0, 1, 2)})
    assert not is_unsatisfiable(contradiction, {"n": (0, 1, 2)}, cases=2)


def _is_unrestricted(formula: f.Formula) -> bool:
    return all(part.along is None for part in f.subformulas(formula) if isinstance(part, f.OnPaths))


@examples(25)
@given(st.data())
def test_state_conditions_equivalent_to_justice(data: st.DataObject) -> None:
    """Runs that are restricted to some steps are just towards these alone: no exporter writes conditions for them."""
    system = data.draw(systems())
    formula, assuming = data.draw(quantified(system, SIMPLE).filter(_is_unrestricted)), data.draw(roles(system))
    fair = fair_system(system, assuming)
    conditions = tuple(condition for _, condition in fair.conditions_for(assuming))
    instead = ExplicitEngine(replace(fair.system, justice=(), fairness=conditions))
    assert instead.is_valid(formula) == ExplicitEngine(system).is_valid(formula, assuming)


@examples(25)
@given(st.data())
def test_fairness_independent_formula_has_same_verdict(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(logic_formulas(system))
    if not needs_fairness(system, formula):
        everybody = frozenset(justice.role for justice in system.justice if justice.role is not None)
        verdicts = [
            ExplicitEngine(one).is_valid(formula, assuming)
            for one, assuming in (
                (replace(system, justice=()), frozenset[str]()),
                (system, frozenset[str]()),
                (system, everybody),
            )
        ]
        assert len(set(verdicts)) == 1


@examples(40)
@given(st.data())
def test_ltl_translation_equivalent(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula, assuming = data.draw(logic_formulas(system, SIMPLE)), data.draw(roles(system))
    always = f.OnPaths("A", f.Globally(formula))
    engine = ExplicitEngine(system)
    begins = engine.satisfying(f.OnPaths("E", f.And(())), assuming)
    if not engine.is_empty(engine.difference(engine.initial, begins)):
        return  # without fair runs, universal formulas hold vacuously
    for one in (formula, always):
        path = to_ltl(one)
        if path is not None:
            assert engine.is_valid(f.OnPaths("A", path), assuming) == engine.is_valid(one, assuming)
