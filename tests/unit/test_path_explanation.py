"""Explanations of path formulas: the position on a run that decides the value, in plain words."""

from __future__ import annotations

import pytest

from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.expressions import Const, Read, equal
from cplc.logic.formulas import (
    And,
    Atom,
    Bound,
    Finally,
    Formula,
    Globally,
    Historically,
    Iff,
    Implies,
    Next,
    Not,
    Once,
    OnPaths,
    Or,
    Previous,
    Release,
    Since,
    Taken,
    Until,
    WeakUntil,
)
from cplc.report.path_explanation import decisive_operands, explanation_marks
from cplc.system.model import State, Step, System, Variable
from cplc.system.trace import Move, Run

SYSTEM = System(
    "Counter",
    (),
    (Variable("n", (0, 1, 2, 3), (0,), "own", "A", "n"),),
    (),
    (),
    (),
    (),
    tuple(Step(name, "send", "A", name, (), Const(True), ()) for name in ("up", "down")),
    (),
    (),
)


def n(value: int) -> Atom:
    return Atom(equal(Read("n"), Const(value)), f"n = {value}")


def _state(value: int) -> State:
    return {"n": value}


UP, DOWN = (Taken(frozenset((name,)), f"does({name})") for name in ("up", "down"))
# n goes 0 1 2 3, and then 2 3 2 3 forever.
LASSO = Run(
    _state(0),
    (Move(0, _state(1)), Move(0, _state(2)), Move(0, _state(3)), Move(1, _state(2))),
    2,
)


@pytest.mark.parametrize(
    ("path", "marks"),
    [
        (Finally(n(2)), [(2, "`n = 2` holds")]),
        (Globally(n(0)), [(1, "`n = 0` fails")]),
        (Finally(DOWN), [(3, "the next step is `does(down)`")]),
        (Globally(UP), [(3, "the next step is not `does(up)`")]),
        (Next(Next(n(2))), [(2, "`n = 2` holds")]),
        (Next(And((Next(n(3)), UP))), [(2, "`n = 3` fails")]),
        (Finally(n(5)), [(0, "from here on never `n = 5`")]),
        (Finally(n(3), Bound(2)), [(0, "from here on for 2 steps never `n = 3`")]),
        (Next(Globally(Not(n(0)))), [(1, "from here on never `n = 0`")]),
        (Globally(Finally(n(3))), [(0, "again and again `n = 3` holds"), (3, "`n = 3` holds")]),
        (Finally(Globally(n(3))), [(0, "again and again `n = 3` fails"), (2, "`n = 3` fails")]),
        (Globally(Implies(n(1), Finally(DOWN))), [(0, "from here on always `n = 1 -> F does(down)`")]),
        (Until(Not(n(3)), n(2)), [(2, "`n = 2` holds")]),
        (Until(n(0), n(3)), [(1, "`n = 0` fails"), (1, "and so far never `n = 3`")]),
        (Until(Not(n(5)), n(5)), [(0, "from here on never `n = 5`")]),
        (WeakUntil(Not(n(5)), n(5)), [(0, "from here on never `n = 5`")]),
        (Release(n(1), n(0)), [(1, "`n = 0` fails")]),
        (Release(n(0), n(0)), [(0, "`n = 0` holds"), (0, "and so far always `n = 0`")]),
        (Finally(And((n(3), Once(n(1))))), [(3, "`n = 3` holds"), (1, "`n = 1` holds")]),
        (Globally(Implies(n(2), Previous(n(3)))), [(2, "`n = 2` holds"), (1, "`n = 3` fails")]),
        (Globally(Previous(n(0))), [(0, "nothing was before")]),
        (Globally(Historically(n(0))), [(1, "`n = 0` fails")]),
        (Finally(And((n(3), Historically(Not(n(5)))))), [(3, "`n = 3` holds"), (3, "so far never `n = 5`")]),
        (Globally(Implies(n(2), Since(Not(n(1)), n(0)))), [(2, "`n = 2` holds"), (1, "`n = 1` holds")]),
        (Iff(Next(n(1)), Next(n(5))), [(1, "`n = 1` holds"), (1, "`n = 5` fails")]),
        (Or((Finally(n(5)), Finally(n(1)))), [(1, "`n = 1` holds")]),
        # What came before is another the second time round: there the run has no place of its own to point to.
        (Finally(And((n(2), Previous(n(3))))), [(0, "later on `n = 2` holds, `Y n = 3` holds")]),
    ],
)
def test_reasons(path: Formula, marks: list[tuple[int, str]]) -> None:
    facts = ThreeValuedRun(SYSTEM, LASSO, ())
    value = facts.truth(path)
    assert value is not None
    assert explanation_marks(facts, path, value) == marks


def test_decisive_operands_are_minimal() -> None:
    facts = ThreeValuedRun(SYSTEM, LASSO, ())
    assert decisive_operands(facts, And((n(0), n(1), n(2))), False) == [(n(1), False)]
    assert decisive_operands(facts, Or((n(1), Not(n(2)))), True) == [(n(2), False)]
    assert decisive_operands(facts, And((n(0), Or((n(1), Not(n(2)))))), True) == [(n(0), True), (n(2), False)]
    assert decisive_operands(facts, Implies(n(0), n(1)), False) == [(n(0), True), (n(1), False)]
    unknown = And((n(0), OnPaths("E", Next(n(1)))))
    assert decisive_operands(facts, unknown, True) == [(unknown, True)]
