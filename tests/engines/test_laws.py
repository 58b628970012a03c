"""Laws of LTL, CTL, CTL*, actions, strategies, knowledge and commitments, on generated systems and every engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.engines.test_validities import commitment_laws, knowledge_laws
from tests.support.every_engine import ENGINES, is_everywhere
from tests.support.generators.logic_formulas import SIMPLE, groups, logic_formulas, steps_taken
from tests.support.generators.systems import (
    atoms,
    some_channels,
    systems,
)
from tests.support.random_examples import examples

from cplc.engines.on_the_fly.engine import OnTheFlyEngine
from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE
from cplc.logic.formulas import And, Formula, Iff, Implies, Not, Or, Taken
from cplc.system.model import System

Valid = Callable[[Formula], bool]
_EVER = f.OnPaths("E", f.Globally(f.Atom(TRUE, "true")))
"""A fair run begins here."""


def validity(name: str, system: System) -> Valid:
    """Return how one engine decides whether a formula holds in every reachable state."""
    if name == "onthefly":
        local = OnTheFlyEngine(system)
        return lambda formula: local.example(Not(formula)) is None
    engine = ENGINES[name](system)
    return lambda formula: is_everywhere(engine, formula)


on_each = pytest.mark.parametrize("name", ["explicit", "symbolic-oxidd", "symbolic-relations", "onthefly"])
on_those_with_games = pytest.mark.parametrize("name", ["explicit", "symbolic-oxidd", "symbolic-relations"])


# --- runs


TICK = Taken(frozenset({"send 0", "send 1", "receive 2", "tick 3", "exchange 0"}), "does(tick)")


def laws_of_windows(p: Formula, q: Formula, r: Formula) -> Iterator[tuple[str, Formula]]:
    """Laws of operators that range over steps or ticks."""
    x, u, w = f.Next, f.Until, f.WeakUntil

    def steps(high: int, low: int = 0) -> f.Bound:
        return f.Bound(high, low)

    def ticks(high: int, low: int = 0) -> f.Bound:
        return f.Bound(high, low, TICK)

    yield "interval of steps", Iff(f.Finally(p, steps(4, 2)), x(x(f.Finally(p, steps(2)))))
    yield "until in an interval", Iff(u(p, q, steps(2, 1)), And((p, x(u(p, q, steps(1))))))
    for window in (steps(3), steps(3, 1), ticks(0), ticks(2), ticks(2, 1)):
        to_end = replace(window, low=0)
        yield f"G{window}", Iff(f.Globally(p, window), Not(f.Finally(Not(p), window)))
        yield f"R{window}", Iff(f.Release(p, q, window), Not(u(Not(p), Not(q), window)))
        yield f"W{window}", Iff(w(p, q, window), Or((f.Globally(p, to_end), u(p, q, window))))
        yield f"M{window}", Iff(f.StrongRelease(p, q, window), Not(w(Not(p), Not(q), window)))
        yield f"F{window} over or", Iff(f.Finally(Or((p, q)), window), Or((f.Finally(p, window), f.Finally(q, window))))
        yield f"F{window} reaches", Implies(f.Finally(p, window), f.Finally(p))
    until_tick = u(And((p, Not(TICK))), Or((q, And((p, TICK, x(u(p, q, ticks(1))))))))
    yield "until within ticks", Iff(u(p, q, ticks(2)), until_tick)
    opens = u(And((p, Not(TICK))), And((p, TICK, x(u(p, q, ticks(1))))))
    yield "until after a tick", Iff(u(p, q, ticks(2, 1)), opens)
    yield "no tick", Iff(f.Finally(p, ticks(0)), u(Not(TICK), p))
    yield "more ticks", Implies(f.Finally(p, ticks(1)), f.Finally(p, ticks(2)))
    yield "longer interval", Implies(u(p, q, ticks(2, 1)), u(p, q, ticks(3, 1)))
    yield "ticks and steps", Implies(f.Finally(p, steps(2)), f.Finally(p, ticks(2)))
    yield "time that stops", Implies(f.Globally(Not(TICK)), f.Globally(p, ticks(3, 1)))


def laws_of_runs(p: Formula, q: Formula, r: Formula) -> Iterator[tuple[str, Formula]]:
    """Laws of path formulas: every run satisfies them, for all operands."""
    x, y, g, h, o = f.Next, f.Previous, f.Globally, f.Historically, f.Once
    u, s = f.Until, f.Since

    def ev(operand: Formula) -> Formula:
        return f.Finally(operand)

    # dual operators
    yield "G", Iff(g(p), Not(ev(Not(p))))
    yield "X", Iff(x(p), Not(x(Not(p))))
    yield "R", Iff(f.Release(p, q), Not(u(Not(p), Not(q))))
    yield "W", Iff(f.WeakUntil(p, q), Or((u(p, q), g(p))))
    yield "M", Iff(f.StrongRelease(p, q), And((f.Release(p, q), f.Finally(p))))
    yield "R and W", Iff(f.Release(p, q), f.WeakUntil(q, And((p, q))))
    yield "H", g(Iff(h(p), Not(o(Not(p)))))
    # expansions
    yield "until", Iff(u(p, q), Or((q, And((p, x(u(p, q)))))))
    yield "weak until", Iff(f.WeakUntil(p, q), Or((q, And((p, x(f.WeakUntil(p, q)))))))
    yield "release", Iff(f.Release(p, q), And((q, Or((p, x(f.Release(p, q)))))))
    yield "finally, bounded", Iff(f.Finally(p, f.Bound(2)), Or((p, x(f.Finally(p, f.Bound(1))))))
    yield "globally, bounded", Iff(f.Globally(p, f.Bound(2)), And((p, x(p), x(x(p)))))
    yield "until, bounded", Iff(u(p, q, f.Bound(2)), Or((q, And((p, x(u(p, q, f.Bound(1))))))))
    yield "since", g(Iff(s(p, q), Or((q, And((p, y(s(p, q))))))))
    yield "once", g(Iff(o(p), Or((p, y(o(p))))))
    # distribution
    yield "F over or", Iff(ev(Or((p, q))), Or((ev(p), ev(q))))
    yield "G over and", Iff(g(And((p, q))), And((g(p), g(q))))
    yield "X over U", Iff(x(u(p, q)), u(x(p), x(q)))
    yield "and before U", Iff(u(And((p, q)), r), And((u(p, r), u(q, r))))
    yield "or after U", Iff(u(p, Or((q, r))), Or((u(p, q), u(p, r))))
    yield "G F over or", Iff(g(ev(Or((p, q)))), Or((g(ev(p)), g(ev(q)))))
    yield "F G over and", Iff(ev(g(And((p, q)))), And((ev(g(p)), ev(g(q)))))
    # absorption
    yield "U U", Iff(u(p, u(p, q)), u(p, q))
    yield "F G F", Iff(ev(g(ev(p))), g(ev(p)))
    yield "G F G", Iff(g(ev(g(p))), ev(g(p)))
    yield "response", Implies(And((g(Implies(p, ev(q))), g(ev(p)))), g(ev(q)))
    # past and future
    yield "no past at first", And((Not(y(p)), Iff(o(p), p), Iff(h(p), p), Iff(s(p, q), q)))
    yield "there and back", g(Iff(x(y(p)), p))
    yield "remembered", g(Implies(p, g(o(p))))
    yield "seen before", Iff(ev(And((q, o(p)))), ev(And((p, ev(q)))))
    yield "so all along", Iff(ev(And((q, h(p)))), u(p, And((p, q))))
    yield "not before", Iff(g(Implies(q, o(p))), f.WeakUntil(Not(q), p))
    yield "just before", Iff(ev(And((q, y(p)))), ev(And((p, x(q)))))
    yield "since, seen from there", Iff(ev(And((q, s(p, r)))), ev(And((r, Or((q, x(u(p, And((p, q))))))))))
    yield from laws_of_windows(p, q, r)
    yield "bounded", Implies(f.Finally(p, f.Bound(1)), f.Finally(p, f.Bound(3)))


@on_each
@examples(8)
@given(data=st.data())
def test_runs(name: str, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    action = data.draw(steps_taken(system))
    valid = validity(name, system)
    for law, formula in laws_of_runs(p, q, action):
        assert valid(f.OnPaths("A", formula)), law
    for law, formula in laws_of_runs(action, p, q):
        assert valid(f.OnPaths("A", formula)), law


# --- runs that branch


def laws_of_branching(p: Formula, q: Formula, ends: Taken) -> Iterator[tuple[str, Formula]]:
    """Laws of state formulas: every state satisfies them, with and without fairness conditions."""

    def every(path: Formula) -> Formula:
        return f.OnPaths("A", path)

    def some(path: Formula) -> Formula:
        return f.OnPaths("E", path)

    u, g, x = f.Until(p, q), f.Globally, f.Next

    def ev(operand: Formula) -> Formula:
        return f.Finally(operand)

    yield "dual", Iff(every(u), Not(some(Not(u))))
    yield "some of either", Iff(some(Or((u, g(ev(p))))), Or((some(u), some(g(ev(p))))))
    yield "every of both", Iff(every(And((u, g(ev(p))))), And((every(u), every(g(ev(p))))))
    yield "always again and again", Iff(every(g(ev(p))), every(g(every(ev(p)))))
    yield "some day forever", Iff(some(ev(g(p))), some(ev(some(g(p)))))
    yield "forever from a time on", Implies(every(ev(every(g(p)))), every(ev(g(p))))
    yield "again and again is always possible", Implies(some(g(ev(p))), some(g(some(ev(p)))))
    yield "always so in every future", Iff(every(g(u)), every(g(every(u))))
    yield "some future of some future", Iff(some(ev(And((p, x(q))))), some(ev(some(And((p, x(q)))))))
    yield "p first", Iff(some(And((p, x(q)))), And((p, some(x(q)))))
    yield "until, inside out", Iff(some(f.Until(p, g(q))), some(f.Until(p, some(g(q)))))
    yield "one may idle", Implies(And((_EVER, every(x(p)))), p)
    yield "a step taken is not the idle one", Implies(every(ends), Not(_EVER))
    yield "past forgotten", Iff(every(g(every(Not(f.Previous(p))))), every(g(Or((p, Not(p))))))


@on_each
@examples(12)
@given(data=st.data())
def test_branching(name: str, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    valid = validity(name, system)
    for law, formula in laws_of_branching(p, q, data.draw(steps_taken(system))):
        assert valid(formula), law


# --- runs of some steps


def laws_of_some_steps(p: Formula, chosen: Taken, every_step: Taken) -> Iterator[tuple[str, Formula]]:
    """Laws of systems without fairness conditions: a fair run can follow every step, in each subsystem."""
    nothing = Taken(frozenset(), "false")
    other_steps = Taken(every_step.steps - chosen.steps, "others")
    again = f.Globally(f.Finally(p))

    def some(path: Formula, along: Taken | None = None) -> Formula:
        return f.OnPaths("E", path, along)

    def every(path: Formula, along: Taken | None = None) -> Formula:
        return f.OnPaths("A", path, along)

    yield "all steps", Iff(some(again, every_step), some(again))
    yield "no step", Iff(some(f.Finally(p), nothing), p)
    yield "no step forever", Iff(every(again, nothing), p)
    yield "reached by some steps", Implies(some(f.Finally(p), chosen), some(f.Finally(p)))
    yield "kept by all steps", Implies(every(f.Globally(p)), every(f.Globally(p), chosen))
    yield "no other is taken", every(f.Globally(Not(other_steps)), chosen)
    yield "dual", Iff(every(again, chosen), Not(some(Not(again), chosen)))
    yield "next", Iff(some(f.Next(p), chosen), Or((p, some(And((chosen, f.Next(p)))))))


@on_each
@examples(12)
@given(data=st.data())
def test_some_steps(name: str, data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False))
    p, chosen = data.draw(atoms(system)), data.draw(steps_taken(system))
    every_step = Taken(frozenset(step.name for step in system.steps), "every")
    valid = validity(name, system)
    for law, formula in laws_of_some_steps(p, chosen, every_step):
        assert valid(formula), law


# --- what groups can bring about


Group = tuple[str, ...]


def laws_of_games(group: Group, rest: Group, p: Formula, q: Formula) -> Iterator[tuple[str, Formula]]:
    def can(goal: f.Next | f.Finally | f.Globally | f.Until, who: Group = group) -> Formula:
        return f.Enforces(who, goal)

    reach, keep = f.Finally(p), f.Globally(p)
    yield "reached where it is", Implies(p, can(reach))
    yield "kept where it is kept", Implies(can(keep), p)
    yield "reached again", Iff(can(f.Finally(can(reach))), can(reach))
    yield "kept forever", Iff(can(f.Globally(can(keep))), can(keep))
    yield "next", Implies(can(keep), can(f.Next(p)))
    yield "until", Implies(can(f.Until(p, q)), And((Or((p, q)), can(f.Finally(q)))))
    yield "what comes anyway", Implies(f.OnPaths("A", reach), can(reach))
    yield "what stays anyway", Implies(f.OnPaths("A", keep), can(keep))
    yield "possible at least", Implies(can(reach), f.OnPaths("E", reach))
    if rest:
        yield "more can do more", Implies(can(reach), can(reach, group + rest))
        yield "more can keep more", Implies(can(keep), can(keep, group + rest))
        yield "others cannot undo it", Implies(can(keep), Not(can(f.Finally(Not(p)), rest)))


@on_those_with_games
@examples(12)
@given(data=st.data())
def test_games(name: str, data: st.DataObject) -> None:
    system = data.draw(systems(fairness=False, lifelike=True))
    group = data.draw(groups(system))
    rest = tuple(agent.name for agent in system.agents if agent.name not in group)
    valid = validity(name, system)
    for law, formula in laws_of_games(group, rest, data.draw(atoms(system)), data.draw(atoms(system))):
        assert valid(formula), law


# --- knowledge and commitments about all of it


@on_those_with_games
@examples(12)
@given(data=st.data())
def test_knowledge_and_commitments_about_runs(name: str, data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(logic_formulas(system, SIMPLE)), data.draw(atoms(system))
    valid = validity(name, system)
    for law, formula in knowledge_laws(tuple(agent.name for agent in system.agents), p, q).items():
        assert valid(formula), law
    for channel in some_channels(system):
        for law, formula in commitment_laws(channel, p, q).items():
            assert valid(formula), (channel.name, law)
