"""Stubborn sets preserve reachability and shortest distances; a wrong dependency relation would not."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from itertools import permutations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.generators.reducible_systems import beside
from tests.support.generators.systems import atoms, conditions_over, formulas, systems
from tests.support.random_examples import examples

from cplc.checking.counterexamples import explain_initial
from cplc.checking.replay import replay
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.explicit.por_symmetry import (
    ReducedEngine,
    ReducedSearch,
    ReductionMethod,
    StubbornFilter,
)
from cplc.engines.on_the_fly import OnTheFlyEngine, lazy_states
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, conj, negate
from cplc.logic.formulas import Formula
from cplc.reductions import partial_order
from cplc.reductions.ctl_fragment import Goal, ReachabilityGoals, reachability_goals
from cplc.reductions.partial_order import DependencyRelation, StubbornSets
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.state_graph import StateGraph
from cplc.system.model import Agent, Step, System, Variable
from cplc.system.printer import formula_text

LIMIT = 100_000


def reduced(system: System, plan: ReachabilityGoals) -> ReducedEngine:
    """Return what is met by stubborn sets."""
    stepper = InterleavedRelation(system)
    follow = StubbornFilter(StubbornSets(DependencyRelation(system), plan.goals), plan)
    search = ReducedSearch(stepper, stepper.initial_states(LIMIT), follow, None, LIMIT)
    assert search.advance(LIMIT)
    return ReducedEngine(system, search.graph, ReductionMethod((), plan))


def distances(graph: StateGraph, goal: bytes) -> dict[int, int]:
    """Return by how many steps each state from which the goal can be reached is away from it."""
    steps_to_goal = {number: 0 for number, is_goal in enumerate(goal) if is_goal}
    waiting = deque(steps_to_goal)
    while waiting:
        number = waiting.popleft()
        for before in graph.before(number):
            if before not in steps_to_goal:
                steps_to_goal[before] = steps_to_goal[number] + 1
                waiting.append(before)
    return {graph.states[number]: distance for number, distance in steps_to_goal.items()}


def far(engine: ExplicitEngine, goal: Expr) -> dict[int, int]:
    return distances(engine._graph, engine.where(goal))


def is_kept(system: System, goals: list[Expr]) -> bool:
    """True if each goal is as far from each state that is met as it is in the whole system."""
    engine = reduced(system, ReachabilityGoals(tuple(map(Goal, goals)), may_stop=False))
    whole = ExplicitEngine(system)
    met = engine._graph.states
    return all(
        far(engine, goal)
        == {state: steps for state, steps in far(whole, goal).items() if engine._graph.number.get(state) is not None}
        for goal in goals
    ) and set(met) <= set(whole._graph.states)


def some_systems() -> st.SearchStrategy[System]:
    """Systems, some of them in two parts that go their own ways."""
    small = systems(fairness=False, states=24)
    return systems(fairness=False) | st.builds(beside, small, small)


@st.composite
def asked(draw: st.DrawFn) -> tuple[System, list[Expr]]:
    system = draw(some_systems())
    return system, draw(st.lists(conditions_over(system.variables), min_size=1, max_size=2))


@examples(60)
@given(asked())
def test_stubborn_sets_preserve_distance_to_goal(example: tuple[System, list[Expr]]) -> None:
    assert is_kept(*example)


def reachability(system: System) -> st.SearchStrategy[Formula]:
    """Formulas about what can be reached, one within the other."""

    def more(inner: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
        bounds = st.none() | st.none() | st.builds(f.Bound, st.integers(0, 4))
        return st.one_of(
            st.builds(lambda p, bound: f.OnPaths("E", f.Finally(p, bound)), inner, bounds),
            st.builds(lambda p, bound: f.OnPaths("A", f.Globally(p, bound)), inner, bounds),
            st.builds(f.Not, inner),
            st.builds(lambda p, q: f.And((p, q)), inner, inner),
            st.builds(lambda p, q: f.Or((p, q)), inner, inner),
            st.builds(f.Implies, inner, inner),
            st.builds(f.Iff, inner, inner),
        )

    return st.recursive(atoms(system), more, max_leaves=4)


def agree(system: System, formula: Formula) -> None:
    """Fail unless the formula has the right value, shown by a run that is possible and as long as the shortest."""
    plan = reachability_goals(formula)
    assert plan is not None
    engine, whole = reduced(system, plan), ExplicitEngine(system)
    assert engine.is_valid(formula) == whole.is_valid(formula), formula_text(formula)
    shown, expected = explain_initial(engine, formula), explain_initial(whole, formula)
    assert shown.holds == expected.holds
    assert replay(system, shown) == [], formula_text(formula)
    assert len(shown.run.moves) == len(expected.run.moves), formula_text(formula)


def _has_at_most(system: System, states: int) -> bool:
    """True if so few states are reachable; the searches for shortest runs take long in larger systems."""
    try:
        _ = ExplicitEngine(system, limit=states).reachable
    except ResourceExhausted:
        return False
    return True


@examples(60)
@given(st.data())
def test_stubborn_sets_preserve_value_and_run(data: st.DataObject) -> None:
    system = data.draw(some_systems())
    agree(system, data.draw(reachability(system)))


@given(st.data())
def test_stubborn_sets_in_protocols(data: st.DataObject) -> None:
    system = CplCompilation(Source("random.cpl", text_of(data.draw(plans())))).system
    assume(_has_at_most(system, 2_000))
    stuck = f.Atom(system.terminal, "terminal")
    goal = data.draw(st.sampled_from([stuck]) | atoms(system))
    agree(system, f.OnPaths("E", f.Finally(goal)))
    agree(system, f.OnPaths("A", f.Globally(f.Implies(goal, f.OnPaths("E", f.Finally(data.draw(atoms(system))))))))


@given(st.data())
def test_reduction_applies_to_reachability_alone(data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    formula = data.draw(formulas(system))
    about_reaching = all(
        isinstance(part, f.Atom | f.Not | f.And | f.Or | f.Implies | f.Iff)
        or (isinstance(part, f.OnPaths) and isinstance(part.path, f.Finally if part.quantifier == "E" else f.Globally))
        for part in f.state_subformulas(formula)
    )
    assert (reachability_goals(formula) is not None) == about_reaching
    if about_reaching:
        agree(system, formula)


# --- wrong ideas


def _never(*_: object) -> bool:
    return False


def _but_for_one(self: DependencyRelation, goal: Expr) -> int:
    """Leave out one of the steps that can bring the condition about."""
    steps = _MAKERS(self, goal)
    return steps & (steps - 1)


_MAKERS = DependencyRelation.enabling_steps
_WRONG: dict[str, tuple[str, Callable[..., object]]] = {
    "all steps commute": ("_depend", _never),
    "no step disables another": ("_may_disable", _never),
    "the order never matters to what is written": ("_differ", _never),
    "one step less brings something about": ("enabling_steps", _but_for_one),
}


def _read(name: str, value: e.Value = True) -> Expr:
    return e.Equal(e.Read(name), e.Const(value))


_Step = tuple[Expr, dict[str, e.Value]]
"""When it may be taken, and what it writes."""


def _made(*steps: _Step) -> System:
    """Return a system of steps that write constants to `a` and `b`, which are numbers, and `on`, which is not."""
    domains: dict[str, tuple[e.Value, ...]] = {"a": (0, 1, 2), "b": (0, 1, 2), "on": (False, True)}
    return System(
        "Made",
        (),
        tuple(Variable(name, domain, domain[:1], "own", "A", "") for name, domain in domains.items()),
        (Agent("A", "A", tuple(domains)),),
        (),
        (),
        (),
        tuple(
            Step(f"s{number}", "send", "A", "", (), guard, tuple((k, e.Const(v)) for k, v in written.items()))
            for number, (guard, written) in enumerate(steps)
        ),
        (),
        (),
    )


def _telling() -> Iterator[tuple[System, list[Expr]]]:
    """Yield systems in which it matters which step comes first."""
    both = [e.conj((_read("a", 1), _read("b", 1)))]
    spoiling: list[_Step] = [(_read("b", 0), {"a": 1}), (e.TRUE, {"b": 1})]
    changing: list[_Step] = [(e.TRUE, {"a": 1}), (e.TRUE, {"a": 2, "b": 1})]
    for pair in (*permutations(spoiling), *permutations(changing)):
        yield _made(*pair), both
    yield _made((_read("on", False), {"a": 1}), (_read("on"), {"a": 1}), (e.TRUE, {"on": True})), [_read("a", 1)]


def test_stubborn_sets_with_dependent_steps() -> None:
    assert all(is_kept(*example) for example in _telling())


@pytest.mark.parametrize("name", _WRONG)
def test_wrong_dependency_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(DependencyRelation, *_WRONG[name])
    assert not all(is_kept(*example) for example in _telling()), f"nobody notices that {name}"


@examples(20)
@given(asked())
def test_exhausted_budget_counts_as_dependent(example: tuple[System, list[Expr]]) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(partial_order, "_MAX_COMBINATIONS", 0)
        assert is_kept(*example)


# --- on the fly


@examples(40)
@given(st.data())
def test_on_the_fly_explores_fewer_steps(data: st.DataObject) -> None:
    system = data.draw(some_systems())
    formula = data.draw(reachability(system))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(lazy_states, "_UNREDUCED_STATES", data.draw(st.sampled_from((0, 3))))
        holds, shown = OnTheFlyEngine(system).decide(formula)
    assert holds == ExplicitEngine(system).is_valid(formula) == shown.holds, formula_text(formula)
    assert replay(system, shown) == [], formula_text(formula)


def test_on_the_fly_skips_many_states() -> None:
    """Members who go their own ways are not led through all of their common states."""
    text = "protocol P { role Shop role Cus[6] for c in Cus { c -> Shop : a  c -> Shop : b after a } }"
    system = CplCompilation(Source("many.cpl", text)).system
    together = conj(system.message[f"b[{member}]"].received for member in range(1, 7))
    nowhere = conj((together, negate(system.message["a[1]"].sent)))
    met = {}
    for effort in (0, 1 << 30):
        with pytest.MonkeyPatch.context() as patched:
            patched.setattr(lazy_states, "_UNREDUCED_STATES", effort)
            engine = OnTheFlyEngine(system)
            assert engine.is_valid(f.Not(f.OnPaths("E", f.Finally(f.Atom(nowhere, "nowhere")))))
            met[effort] = engine.stored
    assert met[0] * 20 < met[1 << 30]
