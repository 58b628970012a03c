"""Small systems whose verdicts were derived by hand from the definitions, on every engine."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from tests.support.commitment_channels import commits, fulfils
from tests.support.every_engine import MakeEngine, on_every_engine

from cplc.engines.interface import Engine
from cplc.logic.expressions import FALSE, TRUE, Arith, Const, Equal, Expr, Less, Read, Value, conj, negate
from cplc.logic.formulas import (
    And,
    Atom,
    Bound,
    CtlPath,
    Finally,
    Formula,
    Globally,
    Knows,
    Next,
    Not,
    OnPaths,
    Release,
    StrongRelease,
    Until,
    WeakUntil,
)
from cplc.system.model import Agent, Justice, Shared, State, Step, System, Variable


def own(name: str, owner: str, domain: Sequence[Value], *initial: Value) -> Variable:
    return Variable(name, tuple(domain), initial or tuple(domain), "own", owner, name)


def step(name: str, guard: Expr, free: tuple[str, ...] = (), /, **updates: Expr) -> Step:
    return Step(name, "send", "A", name, (), guard, tuple(updates.items()), free)


def system(
    variables: Sequence[Variable],
    steps: Sequence[Step],
    justice: Sequence[Justice] = (),
    fairness: Sequence[Expr] = (),
    shared: Sequence[Shared] = (),
) -> System:
    """Return a system whose agents are the owners of the variables, and A."""
    owners = dict.fromkeys(["A", *(variable.owner for variable in variables if variable.owner != "Env")])
    agents = (Agent(name, name, tuple(v.name for v in variables if v.owner == name)) for name in owners)
    made = System(
        "Hand-made",
        (),
        tuple(variables),
        tuple(agents),
        tuple(shared),
        (),
        (),
        tuple(steps),
        tuple(justice),
        tuple(fairness),
    )
    assert list(made.problems()) == []
    return made


def is_(variable: str, value: Value = True) -> Atom:
    return Atom(Equal(Read(variable), Const(value)), f"{variable} = {value}")


def some(path: CtlPath) -> Formula:
    return OnPaths("E", path)


def every(path: CtlPath) -> Formula:
    return OnPaths("A", path)


# --- payment for delivery: five states in a row
#
#   0 nothing - 1 pay sent - 2 pay received - 3 deliver sent - 4 deliver received


PAY, PAID = is_("pay@Cus"), is_("pay@Mer")
DELIVER, DELIVERED = is_("deliver@Mer"), is_("deliver@Cus")
NOBODY, MER, CUS = frozenset[str](), frozenset({"Mer"}), frozenset({"Cus"})
ROW: list[State] = [
    {name: number >= at for at, name in enumerate(("pay@Cus", "pay@Mer", "deliver@Mer", "deliver@Cus"), 1)}
    for number in range(5)
]


def purchase() -> System:
    def message(name: str, sender: str, receiver: str, after: Expr) -> tuple[Step, Step]:
        sent, received = Read(f"{name}@{sender}"), Read(f"{name}@{receiver}")
        send = Step(f"send {name}", "send", sender, name, (), conj((after, negate(sent))), ((sent.variable, TRUE),))
        receive = Step(
            f"receive {name}",
            "receive",
            receiver,
            name,
            (),
            conj((sent, negate(received))),
            ((received.variable, sent),),
        )
        return send, receive

    bools = (False, True)
    return System(
        "Purchase",
        (),
        tuple(
            Variable(f"{name}@{owner}", bools, (False,), "copy", owner, name)
            for name in ("pay", "deliver")
            for owner in ("Cus", "Mer")
        ),
        (Agent("Mer", "Mer", ("pay@Mer", "deliver@Mer")), Agent("Cus", "Cus", ("pay@Cus", "deliver@Cus"))),
        (Shared("Cus", "Mer", "pay@Cus", "pay@Mer"), Shared("Mer", "Cus", "deliver@Mer", "deliver@Cus")),
        (),
        (),
        (*message("pay", "Cus", "Mer", TRUE), *message("deliver", "Mer", "Cus", Read("pay@Mer"))),
        (
            Justice("send pay", (0,), "Cus"),
            Justice("receive pay", (1,), None),
            Justice("send deliver", (2,), "Mer"),
            Justice("receive deliver", (3,), None),
        ),
        (),
    )


PURCHASE: dict[str, tuple[Formula, frozenset[str], set[int]]] = {
    "a state": (PAID, NOBODY, {2, 3, 4}),
    "EX idles or goes on": (some(Next(PAID)), NOBODY, {1, 2, 3, 4}),
    "AX may idle": (every(Next(PAID)), NOBODY, {2, 3, 4}),
    "EF": (some(Finally(DELIVERED)), NOBODY, {0, 1, 2, 3, 4}),
    "AF: only channels are reliable": (every(Finally(DELIVERED)), NOBODY, {3, 4}),
    "AF: the merchant goes on": (every(Finally(DELIVERED)), MER, {1, 2, 3, 4}),
    "AF: the customer alone does not help": (every(Finally(DELIVERED)), CUS, {3, 4}),
    "AF: both go on": (every(Finally(DELIVERED)), MER | CUS, {0, 1, 2, 3, 4}),
    "EG ends before something is in flight": (some(Globally(Not(PAID))), NOBODY, {0}),
    "EG not when the sender goes on": (some(Globally(Not(PAID))), CUS, set()),
    "EG of the last state": (some(Globally(DELIVERED)), MER | CUS, {4}),
    "AG": (every(Globally(PAY)), NOBODY, {1, 2, 3, 4}),
    "AU": (every(Until(Not(DELIVER), DELIVERED)), MER, {4}),
    "AU waits for a receipt": (every(Until(Not(PAID), PAID)), NOBODY, {1, 2, 3, 4}),
    "EU": (some(Until(PAY, DELIVERED)), NOBODY, {1, 2, 3, 4}),
    "EU not through": (some(Until(PAID, DELIVERED)), NOBODY, {2, 3, 4}),
    "AW needs no end": (every(WeakUntil(Not(DELIVER), PAID)), NOBODY, {0, 1, 2, 3, 4}),
    "AW fails": (every(WeakUntil(Not(PAY), PAID)), NOBODY, {2, 3, 4}),
    "EW stays forever": (some(WeakUntil(Not(PAY), PAID)), NOBODY, {0, 2, 3, 4}),
    "EW may not stay forever": (some(WeakUntil(Not(PAY), PAID)), CUS, {2, 3, 4}),
    "AR": (every(Release(PAY, Not(PAID))), NOBODY, {0, 1}),
    "AM needs the release": (every(StrongRelease(PAY, Not(PAID))), NOBODY, {1}),
    "AM when the payer goes on": (every(StrongRelease(PAY, Not(PAID))), CUS, {0, 1}),
    "AR without release": (every(Release(DELIVERED, PAY)), NOBODY, {1, 2, 3, 4}),
    "ER": (some(Release(PAID, Not(DELIVER))), NOBODY, {0, 1, 2}),
    "EF<=0": (some(Finally(DELIVERED, Bound(0))), NOBODY, {4}),
    "EF<=1": (some(Finally(DELIVERED, Bound(1))), NOBODY, {3, 4}),
    "EF<=3": (some(Finally(DELIVERED, Bound(3))), NOBODY, {1, 2, 3, 4}),
    "AF<=9 is never sure, for all may idle": (every(Finally(DELIVERED, Bound(9))), MER | CUS, {4}),
    "EG<=2 idles": (some(Globally(Not(PAID), Bound(2))), CUS, {0, 1}),
    "AG<=1": (every(Globally(Not(PAID), Bound(1))), NOBODY, {0}),
    "AG<=0": (every(Globally(Not(PAID), Bound(0))), NOBODY, {0, 1}),
    "EU<=2": (some(Until(PAY, DELIVERED, Bound(2))), NOBODY, {2, 3, 4}),
    "AU<=2": (every(Until(PAY, DELIVERED, Bound(2))), MER, {4}),
    "K of the sender": (Knows("each", ("Cus",), PAY), NOBODY, {1, 2, 3, 4}),
    "K of the receiver": (Knows("each", ("Mer",), PAY), NOBODY, {2, 3, 4}),
    "K of what the other has done": (Knows("each", ("Cus",), DELIVER), NOBODY, {4}),
    "EK": (Knows("each", ("Mer", "Cus"), PAY), NOBODY, {2, 3, 4}),
    "DK": (Knows("together", ("Mer", "Cus"), DELIVER), NOBODY, {3, 4}),
    "CK is never gained": (Knows("common", ("Mer", "Cus"), PAY), NOBODY, set()),
    "CK of what is always so": (
        Knows("common", ("Mer", "Cus"), every(Globally(some(Finally(PAY))))),
        NOBODY,
        {*range(5)},
    ),
    "C of the merchant": (commits(purchase(), "Mer", "Cus", DELIVERED), NOBODY, {3, 4}),
    "Fu of the merchant": (fulfils(purchase(), "Mer", "Cus", DELIVERED), NOBODY, {4}),
    "C of the customer": (commits(purchase(), "Cus", "Mer", PAID), NOBODY, {1, 2, 3, 4}),
    "Fu of the customer": (fulfils(purchase(), "Cus", "Mer", PAID), NOBODY, {2, 4}),
    "C is serial": (commits(purchase(), "Mer", "Cus", Atom(FALSE, "false")), NOBODY, set()),
}


def rows(engine: Engine[object], states: object, of: Sequence[State]) -> set[int]:
    """Return which of these states, all there are, a set contains."""
    satisfying = {
        number
        for number, state in enumerate(of)
        if not engine.is_empty(engine.intersection(states, engine.singleton(state)))
    }
    assert engine.count(states) == len(satisfying)
    return satisfying


@on_every_engine
@pytest.mark.parametrize("name", PURCHASE)
def test_purchase(make: MakeEngine, name: str) -> None:
    formula, assuming, expected = PURCHASE[name]
    engine = make(purchase())
    assert engine.count(engine.reachable) == len(ROW)
    assert rows(engine, engine.satisfying(formula, assuming), ROW) == expected
    assert engine.is_valid(formula, assuming) == (0 in expected)


@on_every_engine
def test_moving_and_looking(make: MakeEngine) -> None:
    engine = make(purchase())
    middle = engine.singleton(ROW[2])
    assert engine.pick(middle) == ROW[2]
    assert rows(engine, engine.initial, ROW) == {0}
    assert rows(engine, engine.successors(middle), ROW) == {3}
    assert rows(engine, engine.predecessors(middle), ROW) == {1}
    assert rows(engine, engine.successors(engine.reachable, [1, 3]), ROW) == {2, 4}
    assert rows(engine, engine.predecessors(engine.reachable, [0, 2]), ROW) == {0, 2}
    assert rows(engine, engine.predecessors(middle, [0]), ROW) == set()
    observed = (Read("pay@Cus"), conj((DELIVER.condition, PAY.condition)))
    assert rows(engine, engine.agreeing(observed, middle), ROW) == {1, 2}
    assert rows(engine, engine.indistinguishable(("Cus",), middle), ROW) == {1, 2, 3}
    assert rows(engine, engine.indistinguishable(("Cus", "Mer"), middle), ROW) == {2}
    assert rows(engine, engine.waiting(engine.system.justice[0]), ROW) == {0}
    assert rows(engine, engine.where(engine.system.terminal), ROW) == {4}


@on_every_engine
def test_unreachable_state_does_not_count(make: MakeEngine) -> None:
    engine = make(purchase())
    with pytest.raises(ValueError, match="not reachable"):
        engine.singleton(ROW[0] | {"pay@Mer": True})
    with pytest.raises(ValueError, match="empty"):
        engine.pick(engine.difference(engine.reachable, engine.reachable))


# --- accessibility that is not serial


@on_every_engine
def test_message_never_received(make: MakeEngine) -> None:
    """Once it is sent no state has the creditor's copy equal to it, so the debtor is committed to anything."""
    lost = system(
        (own("x@A", "A", (False, True), False), own("x@B", "B", (False, True), False)),
        (Step("send x", "send", "A", "x", (), negate(Read("x@A")), (("x@A", TRUE),)),),
        shared=(Shared("A", "B", "x@A", "x@B"),),
    )
    engine = make(lost)
    states: list[State] = [{"x@A": False, "x@B": False}, {"x@A": True, "x@B": False}]
    nothing = Atom(FALSE, "false")
    assert rows(engine, engine.satisfying(commits(engine.system, "A", "B", nothing)), states) == {1}
    assert rows(engine, engine.satisfying(fulfils(engine.system, "A", "B", nothing)), states) == set()
    assert rows(engine, engine.satisfying(commits(engine.system, "B", "A", nothing)), states) == set()
    assert rows(engine, engine.satisfying(fulfils(engine.system, "B", "A", Not(is_("x@A")))), states) == {0}


@on_every_engine
def test_accessibility_preserves_unshared_variables_of_creditor(make: MakeEngine) -> None:
    """``y`` is the creditor's own: not seen by the debtor, but compared; ``z`` is of nobody and free."""
    bools = (False, True)
    free = system(
        (
            own("x@A", "A", bools, False),
            own("x@B", "B", bools, False),
            own("y", "B", bools),
            own("z", "Env", bools),
        ),
        (),
        shared=(Shared("A", "B", "x@A", "x@B"),),
    )
    engine = make(free)
    assert engine.count(engine.reachable) == 4
    assert engine.count(engine.satisfying(commits(engine.system, "A", "B", is_("y")))) == 2
    assert engine.count(engine.satisfying(fulfils(engine.system, "A", "B", is_("y")))) == 2
    assert engine.count(engine.satisfying(commits(engine.system, "A", "B", is_("z")))) == 0
    assert engine.count(engine.satisfying(commits(engine.system, "B", "A", is_("y")))) == 2


# --- justice


def toggle(joined: tuple[int, ...], *, always: bool) -> System:
    """``tell`` sets z, always or only while y is false; ``turn`` turns y; ``wait`` changes nothing."""
    negated = negate(Read("z"))
    return system(
        (own("y", "A", (False, True), False), own("z", "A", (False, True), False)),
        (
            step("tell", negated if always else conj((negated, negate(Read("y")))), z=TRUE),
            step("turn", TRUE, y=negate(Read("y"))),
            step("wait", TRUE),
        ),
        (Justice("some progress", joined, None),),
    )


@on_every_engine
@pytest.mark.parametrize(
    ("joined", "always", "inevitable"),
    [
        pytest.param((0,), True, True, id="enabled forever"),
        pytest.param((0,), False, False, id="not enabled now and then"),
        pytest.param((0, 1), True, False, id="the other step is as good"),
        pytest.param((0, 2), True, False, id="so is one that changes nothing"),
        pytest.param((1,), True, False, id="of another step"),
    ],
)
def test_justice(make: MakeEngine, joined: tuple[int, ...], always: bool, inevitable: bool) -> None:
    engine = make(toggle(joined, always=always))
    assert engine.count(engine.reachable) == 4
    assert engine.is_valid(every(Finally(is_("z")))) == inevitable
    assert engine.is_valid(some(Globally(Not(is_("z"))))) != inevitable


@on_every_engine
def test_all_fairness_constraints_met_in_one_cycle(make: MakeEngine) -> None:
    """Each constraint can be met alone without leaving ``z`` false, but the two not together."""
    split = system(
        (own("y", "A", (0, 1, 2), 0), own("z", "A", (False, True), False)),
        (
            step("left", Equal(Read("y"), Const(0)), y=Const(1)),
            step("right", Equal(Read("y"), Const(0)), y=Const(2)),
            step("one", conj((negate(Read("z")), negate(Equal(Read("y"), Const(1))))), z=TRUE),
            step("two", conj((negate(Read("z")), negate(Equal(Read("y"), Const(2))))), z=TRUE),
        ),
        (Justice("one", (2,), None), Justice("two", (3,), None)),
    )
    engine = make(split)
    assert engine.is_valid(every(Finally(is_("z"))))
    assert not engine.is_valid(every(Finally(And((is_("z"), is_("y", 1))))))


# --- conditions of fairness


TRAP: list[State] = [{"y": 0}, {"y": 1}, {"y": 2}]


@on_every_engine
@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        pytest.param(some(Next(is_("y", 2))), set(), id="EX into the trap is no run"),
        pytest.param(every(Next(Not(is_("y", 2)))), {0, 1, 2}, id="AX, and all where no run is"),
        pytest.param(some(Finally(is_("y", 2))), set(), id="EF"),
        pytest.param(every(Globally(Not(is_("y", 2)))), {0, 1, 2}, id="AG"),
        pytest.param(every(Finally(is_("y", 1))), {0, 1, 2}, id="AF: it must come"),
        pytest.param(some(Globally(is_("y", 0))), set(), id="EG"),
        pytest.param(some(Globally(is_("y", 0), Bound(5))), {0}, id="EG<=5"),
        pytest.param(some(Globally(is_("y", 2), Bound(1))), set(), id="EG<=1 in the trap"),
        pytest.param(some(Finally(is_("y", 1), Bound(1))), {0, 1}, id="EF<=1"),
        pytest.param(some(Until(is_("y", 0), is_("y", 2), Bound(3))), set(), id="EU<=3"),
        pytest.param(every(Until(Atom(TRUE, "true"), is_("y", 1), Bound(3))), {1, 2}, id="AU<=3 may idle"),
        pytest.param(some(WeakUntil(is_("y", 0), is_("y", 2))), set(), id="EW"),
        pytest.param(every(Release(is_("y", 1), is_("y", 0))), {2}, id="AR"),
        pytest.param(is_("y", 2), {2}, id="the state is there all the same"),
    ],
)
def test_fairness(make: MakeEngine, formula: Formula, expected: set[int]) -> None:
    """0 and 1 lead to each other, 0 to the trap 2; every run considered comes back to 1 again and again."""
    moves = [(0, 1), (1, 0), (0, 2)]
    steps = [step(f"{old} to {new}", Equal(Read("y"), Const(old)), y=Const(new)) for old, new in moves]
    engine = make(system([own("y", "A", (0, 1, 2), 0)], steps, fairness=[Equal(Read("y"), Const(1))]))
    assert rows(engine, engine.satisfying(formula), TRAP) == expected


# --- values, restarts and several initial states


@on_every_engine
def test_a_restart_gives_an_uninitialised_variable_any_value(make: MakeEngine) -> None:
    restarting = system(
        (own("n", "A", (-1, 0, 1, 2, 7), -1, 1, 7), own("b", "A", (False, True), False)),
        (
            step("use", negate(Read("b")), n=Const(2), b=TRUE),
            step("restart", Read("b"), ("n",), b=FALSE),
        ),
    )
    engine = make(restarting)
    assert engine.count(engine.initial) == 3
    assert engine.count(engine.reachable) == 4
    used = engine.where(Read("b"))
    assert engine.pick(used) == {"n": 2, "b": True}
    assert engine.count(engine.successors(used)) == 3
    assert engine.is_empty(engine.difference(engine.initial, engine.successors(used)))
    assert engine.count(engine.satisfying(some(Next(is_("n", 7))))) == 2
    assert engine.count(engine.where(Less(Read("n"), Const(1)))) == 1


@on_every_engine
def test_updates_read_the_state_before(make: MakeEngine) -> None:
    swapping = system(
        (own("m", "A", (1, 2, 3), 1), own("n", "A", (1, 2, 3), 3), own("k", "A", (5,), 5)),
        (
            step("swap", TRUE, m=Read("n"), n=Read("m")),
            step("turn", Equal(Read("m"), Const(3)), n=Arith("+", Arith("%", Read("n"), Const(3)), Const(1))),
        ),
    )
    engine = make(swapping)
    start: State = {"m": 1, "n": 3, "k": 5}
    swapped = engine.successors(engine.singleton(start))
    assert engine.pick(swapped) == {"m": 3, "n": 1, "k": 5}
    assert engine.count(swapped) == 1
    assert engine.count(engine.reachable) == 5


@on_every_engine
def test_remainders(make: MakeEngine) -> None:
    """The remainder has the sign of the divisor, and is 0 for a divisor of 0."""
    numbers = system([own("n", "A", range(-2, 3))], ())
    engine = make(numbers)

    def remainder(dividend: int) -> Expr:
        return Arith("%", Const(dividend), Read("n"))

    assert engine.count(engine.where(Equal(remainder(3), Const(-1)))) == 1
    assert engine.count(engine.where(Equal(remainder(3), Const(1)))) == 1
    assert engine.count(engine.where(Equal(remainder(3), Const(0)))) == 3


@on_every_engine
def test_common_knowledge_follows_chains_of_agents(make: MakeEngine) -> None:
    """A cannot tell (0, 0) from (0, 1), nor B (0, 1) from (1, 1); both tell (2, 2) from all else."""
    moves = [(1, 1), (0, 1), (2, 2)]
    steps = [
        step(
            f"to {a} {b}",
            conj((Equal(Read("a"), Const(0)), Equal(Read("b"), Const(0)))),
            a=Const(a),
            b=Const(b),
        )
        for a, b in moves
    ]
    engine = make(system([own("a", "A", (0, 1, 2), 0), own("b", "B", (0, 1, 2), 0)], steps))
    states: list[State] = [{"a": a, "b": b} for a, b in ((0, 0), *moves)]
    elsewhere = Not(And((is_("a", 1), is_("b", 1))))
    for group in (("A", "B"), ("B", "A")):
        assert rows(engine, engine.satisfying(Knows("common", group, elsewhere)), states) == {3}
        assert rows(engine, engine.satisfying(Knows("each", group, elsewhere)), states) == {0, 3}
