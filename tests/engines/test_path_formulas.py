"""Path formulas beyond CTL against fixpoints written by hand, on every way of the symbolic engine."""

from __future__ import annotations

from tests.engines.test_hand_made import is_, own, step, system
from tests.support.every_engine import MakeEngine, on_symbolic_engines

from cplc.engines.symbolic.engine import SymbolicEngine
from cplc.logic.expressions import Const, Equal, Read
from cplc.logic.formulas import And, Finally, Formula, Globally, Next, Not, Once, OnPaths, Previous, Taken

# 0 -> 1 -> 2, and back from 1 to 0; nothing leads out of 2.
PLACES = system(
    [own("x", "A", (0, 1, 2), 0)],
    [
        step("up", Equal(Read("x"), Const(0)), x=Const(1)),
        step("down", Equal(Read("x"), Const(1)), x=Const(0)),
        step("away", Equal(Read("x"), Const(1)), x=Const(2)),
    ],
)
MOVED = Taken(frozenset({"up", "down", "away"}), "moved")
LEFT = Taken(frozenset({"up", "down"}), "up or down")


def where(make: MakeEngine, formula: OnPaths) -> set[object]:
    engine = make(PLACES)
    assert isinstance(engine, SymbolicEngine)
    satisfying = engine.satisfying(formula)
    assert satisfying == engine.by_tableau(formula)
    return {value for value in (0, 1, 2) if engine.contains(satisfying, {"x": value})}


def some(path: Formula, along: Taken | None = None) -> OnPaths:
    return OnPaths("E", path, along)


@on_symbolic_engines
def test_recurrence(make: MakeEngine) -> None:
    both = And((Globally(Finally(is_("x", 0))), Globally(Finally(is_("x", 1)))))
    assert where(make, some(both)) == {0, 1}
    assert where(make, some(And((both, Globally(MOVED))))) == {0, 1}
    assert where(make, some(Globally(Finally(MOVED)))) == {0, 1}
    assert where(make, OnPaths("A", Finally(Globally(Not(MOVED))))) == {2}


@on_symbolic_engines
def test_restricted_steps(make: MakeEngine) -> None:
    assert where(make, some(Finally(is_("x", 2)), LEFT)) == {2}
    assert where(make, some(Finally(is_("x", 2)))) == {0, 1, 2}


@on_symbolic_engines
def test_a_quantifier_begins_a_new_past(make: MakeEngine) -> None:
    returned = And((is_("x", 0), Once(is_("x", 1))))
    assert where(make, some(Finally(returned))) == {0, 1}
    assert where(make, some(Finally(some(returned)))) == set()
    assert where(make, some(Next(Previous(is_("x", 1))))) == {1}
    assert where(make, some(Previous(is_("x", 1)))) == set()
