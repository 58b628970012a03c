"""Models and formulas that the literature tells logics apart with, on every engine; verdicts derived by hand.

Every state of our systems has an idle step. Where the frame of a paper has none, its runs are those on which something
is always taken: `G does(…)` in addition to their questions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from tests.support.every_engine import ENGINES
from tests.support.oracles.model_checker import Naive

from cplc.engines.on_the_fly.engine import OnTheFlyEngine, supports
from cplc.logic import formulas as f
from cplc.logic.expressions import Const, Equal, Expr, Read, Value, conj, disj, negate
from cplc.logic.formulas import Formula, Taken
from cplc.system.model import Agent, Justice, Step, StepKind, System, Variable

IsValid = Callable[[Formula, frozenset[str]], bool]


def _oracle(system: System) -> IsValid:
    oracle = Naive(system)
    return lambda formula, assuming: oracle.initial <= oracle.satisfying(formula, assuming)


def _onthefly(system: System) -> IsValid:
    engine = OnTheFlyEngine(system)

    def is_valid(formula: Formula, assuming: frozenset[str]) -> bool:
        if not supports(formula):
            pytest.skip("no strategies there")
        return engine.is_valid(formula, assuming)

    return is_valid


DECIDERS: dict[str, Callable[[System], IsValid]] = {
    "definitions": _oracle,
    "onthefly": _onthefly,
    **{name: lambda system, make=make: make(system).is_valid for name, make in ENGINES.items()},  # type: ignore[misc]
}
by_everybody = pytest.mark.parametrize("decide", list(DECIDERS.values()), ids=list(DECIDERS))


def A(path: Formula, along: Taken | None = None) -> Formula:  # noqa: N802
    return f.OnPaths("A", path, along)


def E(path: Formula, along: Taken | None = None) -> Formula:  # noqa: N802
    return f.OnPaths("E", path, along)


def G(*operands: Formula) -> Formula:  # noqa: N802
    return f.Globally(_all(operands))


def F(*operands: Formula) -> Formula:  # noqa: N802
    return f.Finally(_all(operands))


def _all(operands: Sequence[Formula]) -> Formula:
    return operands[0] if len(operands) == 1 else f.And(tuple(operands))


def knows(agent: str, operand: Formula) -> Formula:
    return f.Knows("each", (agent,), operand)


def atom(condition: Expr) -> Formula:
    return f.Atom(condition, "an atom")


def is_(variable: str, value: Value) -> Expr:
    return Equal(Read(variable), Const(value))


def does(*steps: str) -> Taken:
    return Taken(frozenset(steps), " | ".join(f"does({step})" for step in steps))


def step(actor: str, name: str, guard: Expr, kind: StepKind = "exchange", **updates: Value) -> Step:
    return Step(name, kind, actor, name, (), guard, tuple((x, Const(value)) for x, value in updates.items()))


def system(
    variables: Sequence[tuple[str, str, tuple[Value, ...], tuple[Value, ...]]],
    steps: Sequence[Step],
    just: Sequence[str] = (),
) -> System:
    """Return a system with justice for these steps, and of every actor for its own."""
    owners = dict.fromkeys(["A", *(owner for _, owner, *_ in variables if owner != "Env")])
    owners |= dict.fromkeys(step.actor for step in steps if step.actor != "Env")
    made = System(
        "Literature",
        (),
        tuple(Variable(name, domain, initial, "own", owner, name) for name, owner, domain, initial in variables),
        tuple(Agent(owner, owner, tuple(x for x, its, *_ in variables if its == owner)) for owner in owners),
        (),
        (),
        (),
        tuple(steps),
        tuple(
            Justice(step.name, (n,), None if step.name in just else step.actor)
            for n, step in enumerate(steps)
            if step.name in just or step.actor != "Env"
        ),
        (),
    )
    assert list(made.problems()) == []
    return made


# --- What an agent knows now and then is no matter of what it might get to know


def _columns() -> System:
    """x goes 1, 1, ..., 2, 3, 3, ...; agent A sees x, and nobody sees y, which is 1 or 2 and is kept."""
    moves = [(1, 1), (1, 2), (2, 3), (3, 3)]
    return system(
        [("x", "A", (1, 2, 3), (1,)), ("y", "Env", (1, 2), (1, 2))],
        [step("A", f"{here} {target}", is_("x", here), x=target) for here, target in moves],
    )


_SOMETHING = does("1 1", "1 2", "2 3", "3 3")
_P = atom(disj((is_("x", 1), conj((is_("x", 3), is_("y", 1))))))
"""At (1,1), (1,2) and (3,1)."""
_KNOWS_NOT = knows("A", f.Not(_P))
"""Commitment in exactly the states with x = 2: elsewhere p holds, or is considered possible."""


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        pytest.param(E(G(_SOMETHING, F(_KNOWS_NOT))), False, id="in the frame of the paper x is 2 once at most"),
        pytest.param(E(G(_SOMETHING, E(F(_KNOWS_NOT)))), True, id="it can become 2 forever, as long as it is 1"),
        pytest.param(E(G(_SOMETHING, E(f.And((G(_SOMETHING), F(_KNOWS_NOT)))))), True, id="the same, in the frame"),
        pytest.param(E(G(F(_KNOWS_NOT))), True, id="with the idle step it can stay 2"),
        pytest.param(E(G(E(F(_KNOWS_NOT)))), True, id="and become 2 forever, too"),
        pytest.param(E(G(F(_KNOWS_NOT), F(f.Not(_KNOWS_NOT)))), False, id="but not come back to it"),
        pytest.param(A(G(f.Implies(_KNOWS_NOT, f.Once(does("1 2"))))), True, id="it is 2 by the step that made it so"),
    ],
)
@by_everybody
def test_knowing_again_and_again(decide: Callable[[System], IsValid], formula: Formula, holds: bool) -> None:
    assert decide(_columns())(formula, frozenset()) == holds


# --- A train that breaks down in the tunnel


def _trains() -> System:
    """Two trains and a tunnel; the controller sees which train is in, and whether its turn is over.

    A train that is whole leaves in its turn if at all, so the turn ends only upon one that is broken. That one is
    then evicted and never comes back.
    """
    places = ("away", "waits", "inside")
    variables: list[tuple[str, str, tuple[Value, ...], tuple[Value, ...]]] = [
        ("who", "Gate", (0, 1, 2), (0,)),
        ("late", "Gate", (False, True), (False,)),
        ("broken", "One", (False, True), (False,)),
        ("at1", "One", places, ("away",)),
        ("at2", "Two", places, ("away",)),
    ]
    whole = negate(Read("broken"))
    return system(
        variables,
        [
            step("One", "arrive 1", conj((is_("at1", "away"), whole)), at1="waits"),
            step("Two", "arrive 2", is_("at2", "away"), at2="waits"),
            step("Gate", "let in 1", conj((is_("at1", "waits"), is_("who", 0))), at1="inside", who=1),
            step("Gate", "let in 2", conj((is_("at2", "waits"), is_("who", 0))), at2="inside", who=2),
            step("One", "leave 1", conj((is_("at1", "inside"), whole)), at1="away", who=0),
            step("Two", "leave 2", is_("at2", "inside"), at2="away", who=0),
            step("Env", "break", conj((is_("at1", "inside"), whole)), "restart", broken=True),
            step("Env", "tick", conj((is_("at1", "inside"), Read("broken"), negate(Read("late")))), "tick", late=True),
            step("Gate", "evict", Read("late"), at1="away", who=0, late=False),
        ],
        just=["tick"],
    )


_BROKEN = atom(Read("broken"))
_STUCK = atom(conj((is_("at1", "inside"), Read("broken"))))
_INSIDE = atom(is_("at1", "inside"))
_AWAY = atom(is_("at1", "away"))
_KNOWN = knows("Gate", _BROKEN)
_EVICTED = does("evict")
NOBODY: frozenset[str] = frozenset()
GATE = frozenset({"Gate"})


def gate_can(goal: f.Next | f.Finally | f.Globally | f.Until, *other_agents: str, uniform: bool = False) -> Formula:
    return f.Enforces(("Gate", *other_agents), goal, uniform)


@pytest.mark.parametrize(
    ("formula", "assuming", "holds"),
    [
        pytest.param(A(G(f.Implies(_STUCK, F(_KNOWN)))), NOBODY, True, id="the turn ends, and the controller sees it"),
        pytest.param(A(G(f.Implies(_STUCK, _KNOWN))), NOBODY, False, id="but not at once"),
        pytest.param(A(G(f.Implies(_STUCK, f.Finally(_KNOWN, f.Bound(1))))), NOBODY, False, id="nor within one step"),
        pytest.param(A(G(f.Implies(_STUCK, F(_KNOWN, _EVICTED)))), GATE, True, id="known and evicted, it keeps going"),
        pytest.param(A(G(f.Implies(_STUCK, F(_KNOWN, _EVICTED)))), NOBODY, False, id="no controller has to act"),
        pytest.param(
            A(G(f.Implies(_KNOWN, f.And((f.Previous(f.Once(does("tick"))), f.Once(does("break"))))))),
            NOBODY,
            True,
            id="what it knows has a past: the train broke, and the turn ended",
        ),
        pytest.param(A(G(f.Implies(_EVICTED, f.Previous(_STUCK)))), NOBODY, True, id="only what is stuck is evicted"),
        pytest.param(A(F(G(f.Not(_STUCK)))), GATE, True, id="from some time on the tunnel is free of wrecks"),
        pytest.param(A(F(A(G(f.Not(_STUCK))))), GATE, False, id="but there is no time from which on it must be"),
        pytest.param(A(F(G(f.Not(_STUCK)))), NOBODY, False, id="unless the controller lets it lie"),
        pytest.param(A(f.Implies(F(_BROKEN), F(G(_AWAY)))), GATE, True, id="once broken it ends up away"),
        pytest.param(A(f.Implies(F(_BROKEN), F(G(_KNOWN)))), GATE, False, id="and the controller forgets"),
        pytest.param(E(f.And((G(F(_INSIDE)), G(F(_AWAY))))), NOBODY, True, id="it may come and go forever"),
        pytest.param(E(f.And((F(_BROKEN), G(F(_INSIDE)), G(F(_AWAY))))), NOBODY, False, id="but not once broken"),
        pytest.param(
            A(F(G(_AWAY)), does("arrive 2", "let in 2", "leave 2")), NOBODY, True, id="alone the other moves nothing"
        ),
        pytest.param(A(G(f.Not(_BROKEN)), does("arrive 1", "let in 1", "leave 1")), NOBODY, True, id="nothing breaks"),
        pytest.param(gate_can(f.Globally(f.Not(_STUCK))), NOBODY, True, id="the gate can keep all trains out"),
        pytest.param(gate_can(f.Finally(_INSIDE)), NOBODY, False, id="it cannot make a train come"),
        pytest.param(gate_can(f.Finally(_INSIDE), "One"), NOBODY, True, id="with the train it can"),
        pytest.param(gate_can(f.Finally(_INSIDE)), frozenset({"One"}), True, id="or if the train keeps going"),
        pytest.param(A(G(f.Implies(_STUCK, gate_can(f.Finally(_AWAY))))), NOBODY, True, id="it can clear the tunnel"),
        pytest.param(
            A(G(f.Implies(_STUCK, gate_can(f.Finally(_AWAY), uniform=True)))),
            NOBODY,
            False,
            id="but not by what it sees: the train might still run",
        ),
    ],
)
@by_everybody
def test_trains(decide: Callable[[System], IsValid], formula: Formula, assuming: frozenset[str], holds: bool) -> None:
    assert decide(_trains())(formula, assuming) == holds


# --- real-time CTL: Emerson, Mok, Sistla and Srinivasan, "Quantitative temporal reasoning", 1992
#
# The operators with intervals are those of NuSMV (``EBF 2..3``, ``A[p BU 1..2 q]``). There every transition takes one
# unit of time; here a tick does. The model is a counter modulo 4.


def _counter() -> System:
    ticks = [step("Env", f"tick {n}", is_("n", n), "tick", n=(n + 1) % 4) for n in range(4)]
    return system([("n", "A", (0, 1, 2, 3), (0,))], ticks, just=[tick.name for tick in ticks])


_ZERO, _ONE, _TWO, _THREE = (atom(is_("n", n)) for n in range(4))


def _units(low: int, high: int) -> f.Bound:
    return f.Bound(high, low, does("tick 0", "tick 1", "tick 2", "tick 3"))


def _leads_to_three(high: int) -> Formula:
    return A(G(f.Implies(_ZERO, A(f.Finally(_THREE, _units(0, high))))))


def _exactly_after(units: int) -> Formula:
    return A(G(f.Implies(_ZERO, A(f.Finally(_THREE, _units(units, units))))))


def _not_before(high: int) -> Formula:
    return A(G(f.Implies(_ZERO, A(f.Globally(f.Not(_THREE), _units(0, high))))))


@pytest.mark.parametrize(
    ("formula", "holds"),
    [
        pytest.param(_leads_to_three(3), True, id="AG (p -> ABF 0..3 q)"),
        pytest.param(_leads_to_three(2), False, id="AG (p -> ABF 0..2 q)"),
        pytest.param(E(f.Finally(_TWO, _units(2, 3))), True, id="EBF 2..3 q"),
        pytest.param(E(f.Finally(_ONE, _units(2, 4))), False, id="EBF 2..4 p"),
        pytest.param(E(f.Finally(_ONE, _units(2, 5))), True, id="EBF 2..5 p: a turn later"),
        pytest.param(A(f.Globally(f.Not(_ZERO), _units(1, 3))), True, id="ABG 1..3 !p"),
        pytest.param(A(f.Globally(f.Not(_ZERO), _units(1, 4))), False, id="ABG 1..4 !p"),
        pytest.param(A(f.Until(f.Not(_THREE), _TWO, _units(1, 2))), True, id="A[!r BU 1..2 q]"),
        pytest.param(A(f.Until(_ZERO, _TWO, _units(1, 3))), False, id="A[p BU 1..3 q]: p does not last"),
        pytest.param(A(f.Finally(_ZERO, _units(5, 9))), True, id="ABF 5..9 p: once in four units"),
        pytest.param(A(f.Finally(_ZERO, _units(5, 7))), False, id="ABF 5..7 p: three units are too few"),
        pytest.param(E(f.Globally(_ZERO, _units(0, 0))), True, id="EBG 0..0 p"),
        pytest.param(E(f.Globally(_ZERO, _units(0, 1))), False, id="EBG 0..1 p: time goes on"),
        pytest.param(_exactly_after(3), True, id="AG (p -> AF=3 q): exactly three units later"),
        pytest.param(_exactly_after(2), False, id="AG (p -> AF=2 q): not two units later"),
        pytest.param(_exactly_after(7), True, id="AG (p -> AF=7 q): nor only then"),
        pytest.param(_not_before(2), True, id="AG (p -> ABG 0..2 !q): the least delay from p to q is 3"),
        pytest.param(_not_before(3), False, id="AG (p -> ABG 0..3 !q): and no more"),
        pytest.param(A(G(A(f.Finally(_TWO, _units(0, 3))))), True, id="AG ABF 0..3 p: at least every four units"),
        pytest.param(A(G(A(f.Finally(_TWO, _units(0, 2))))), False, id="AG ABF 0..2 p: and no more often"),
        pytest.param(E(f.Until(f.Not(_TWO), _ONE, _units(4, 5))), False, id="E[!q BU 4..5 p]: q comes between"),
        pytest.param(E(f.Until(f.Not(_THREE), _ONE, _units(0, 1))), True, id="E[!r BU 0..1 p]"),
    ],
)
@by_everybody
def test_real_time_ctl(decide: Callable[[System], IsValid], formula: Formula, holds: bool) -> None:
    assert decide(_counter())(formula, NOBODY) == holds
