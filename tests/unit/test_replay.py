"""Evidence that is wrong in one respect is rejected, and the reason is said."""

from __future__ import annotations

from dataclasses import replace

import pytest
from tests.support.commitment_channels import promises

from cplc.checking.counterexamples import explain_initial
from cplc.checking.replay import replay
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.commitments import Commits, Fulfils
from cplc.logic.expressions import TRUE, And, Const, Expr, Ite, Not, Read, equal
from cplc.logic.formulas import And as AndAlso
from cplc.logic.formulas import (
    Atom,
    Bound,
    Finally,
    Formula,
    Globally,
    Implies,
    KnownFrom,
    Knows,
    Next,
    Once,
    OnPaths,
    Or,
    Previous,
    Since,
    Taken,
    Until,
)
from cplc.logic.formulas import Not as No
from cplc.system.interpreter import Interpreter, value
from cplc.system.model import Agent, Justice, Shared, Step, System, Variable
from cplc.system.trace import Evidence, Move, Run

# A sends an order to B, which counts on up to 2 and round; A may press a button at any time.


def _step(name: str, kind: str, actor: str, guard: Expr, **updates: Expr) -> Step:
    assert kind in {"send", "receive"}
    writes = tuple((variable.replace("_at_", "@"), update) for variable, update in updates.items())
    return Step(name, "send" if kind == "send" else "receive", actor, "order", (), guard, writes)


def _system(fairness: tuple[Expr, ...] = ()) -> System:
    sent, received, count = Read("order@A"), Read("order@B"), Read("count")
    return System(
        "Orders",
        (),
        (
            Variable("order@A", (False, True), (False,), "copy", "A", "order"),
            Variable("order@B", (False, True), (False,), "copy", "B", "order"),
            Variable("count", (0, 1, 2), (0,), "own", "B", "count"),
            Variable("pressed", (False, True), (False,), "own", "A", "pressed"),
        ),
        (Agent("A", "A", ("order@A", "pressed")), Agent("B", "B", ("order@B", "count"))),
        (Shared("A", "B", "order@A", "order@B"),),
        (),
        (),
        (
            _step("send", "send", "A", Not(sent), order_at_A=TRUE),
            _step("receive", "receive", "B", And((sent, Not(received))), order_at_B=TRUE),
            _step("count", "send", "B", received, count=Ite(equal(count, Const(0)), Const(1), Const(2))),
            _step("press", "send", "A", Not(Read("pressed")), pressed=TRUE),
        ),
        (Justice("receive", (1,), None), Justice("send", (0,), "A"), Justice("count", (2,), "B")),
        fairness,
    )


SYSTEM = _system()
ENGINE = ExplicitEngine(SYSTEM)
SENT, RECEIVED = Atom(Read("order@A"), "sent(order)"), Atom(Read("order@B"), "order")
DONE = Atom(equal(Read("count"), Const(2)), "B.count = 2")
ORDERED = OnPaths("E", Finally(RECEIVED))
NEVER_DONE = OnPaths("A", Finally(DONE))


def shown(formula: Formula, assuming: frozenset[str] = frozenset()) -> Evidence:
    evidence = explain_initial(ENGINE, formula, assuming)
    assert replay(SYSTEM, evidence, assuming) == []
    return evidence


def rejected(evidence: Evidence, because: str, assuming: frozenset[str] = frozenset()) -> None:
    problems = replay(SYSTEM, evidence, assuming)
    assert any(because in problem for problem in problems), problems


def test_interpreter_executes_steps() -> None:
    interpreter = Interpreter(SYSTEM)
    (start,) = interpreter.initial_states()
    assert interpreter.enabled(start) == (0, 3)
    assert interpreter.after(start, 1) == ()
    (sent,) = interpreter.after(start, 0)
    assert sent == start | {"order@A": True}
    assert not interpreter.is_initial(sent)
    assert value(Read("count"), sent) == 0


def test_freed_variables_take_every_initial_value() -> None:
    one = Step("restart", "restart", "Env", "Orders", (), TRUE, (), ("count",))
    system = replace(
        SYSTEM,
        variables=tuple(replace(v, initial=(0, 2)) if v.name == "count" else v for v in SYSTEM.variables),
        steps=(one,),
        justice=(),
    )
    start, _ = Interpreter(system).initial_states()
    assert [state["count"] for state in Interpreter(system).after(start, 0)] == [0, 2]


def test_a_run_begins_initially_and_takes_steps_of_the_system() -> None:
    good = shown(ORDERED)
    assert [move.step for move in good.run.moves] == [0, 1]
    first, second = good.run.moves
    late = replace(good, run=Run(first.state, (second,)))
    assert replay(SYSTEM, late) == ["the run does not begin in an initial state"]
    rejected(replace(good, run=Run(good.run.start, (replace(first, step=2), second))), "is not enabled")
    rejected(replace(good, run=Run(good.run.start, (replace(first, step=3), second))), "does not lead there")
    rejected(replace(good, run=Run(good.run.start, (replace(first, step=7), second))), "none of the system")
    rejected(replace(good, run=Run(good.run.start, (replace(first, step=None), second))), "idle and changes")
    strange = first.state | {"count": 9}
    rejected(replace(good, run=Run(good.run.start, (replace(first, state=strange),))), "not a state")
    rejected(replace(good, run=Run(good.run.start, (first,))), "value claimed")


def test_a_lasso_closes_and_is_fair() -> None:
    good = shown(NEVER_DONE)
    assert good.run == Run(good.run.start, (Move(None, good.run.start),), 0)
    rejected(good, "not fair to send", frozenset({"A"}))
    rejected(replace(good, run=replace(good.run, loop=1)), "no step")
    rejected(replace(good, run=replace(good.run, loop=None)), "value claimed")
    (sent,) = Interpreter(SYSTEM).after(good.run.start, 0)
    open_loop = Run(good.run.start, (Move(0, sent),), 0)
    rejected(replace(good, run=open_loop), "does not close")
    in_flight = Run(good.run.start, (Move(0, sent), Move(None, sent)), 1)
    rejected(replace(good, run=in_flight), "not fair to receive")


def test_keeping_going_makes_the_run_longer() -> None:
    assuming = frozenset({"A"})
    good = shown(NEVER_DONE, assuming)
    assert [move.step for move in good.run.moves] == [0, 1, None]
    assert good.run.loop == 2
    rejected(good, "not fair to count", frozenset({"A", "B"}))
    assert shown(NEVER_DONE, frozenset({"A", "B"})).exhaustive


def test_run_does_not_prove_universal_formula() -> None:
    good = shown(OnPaths("A", Globally(Implies(RECEIVED, SENT))))
    assert good.exhaustive
    rejected(replace(good, exhaustive=False), "no single run")
    rejected(replace(good, holds=False), "marked as exhaustive")
    rejected(replace(shown(ORDERED), exhaustive=True), "marked as exhaustive")


def test_parts_are_needed_and_begin_where_they_are_needed() -> None:
    formula = OnPaths("E", Finally(OnPaths("E", Next(RECEIVED))))
    good = shown(formula)
    ((position, part),) = good.parts
    assert position == len(good.run.moves) == 1
    rejected(replace(good, parts=()), "value claimed")
    rejected(replace(good, parts=((0, part),)), "does not begin where it is needed")
    rejected(replace(good, parts=((position, replace(part, holds=False)),)), "no single run")


def test_bounds_count_steps() -> None:
    assert not explain_initial(ENGINE, OnPaths("E", Finally(RECEIVED, Bound(1)))).holds
    good = shown(OnPaths("E", Finally(RECEIVED, Bound(2))))
    assert len(good.run.moves) == 2
    rejected(replace(good, formula=OnPaths("E", Finally(RECEIVED, Bound(1)))), "value claimed")
    until = shown(OnPaths("E", Until(No(RECEIVED), RECEIVED, Bound(2))))
    rejected(replace(until, formula=OnPaths("E", Until(No(SENT), RECEIVED, Bound(2)))), "value claimed")


def test_pair_must_be_indistinguishable() -> None:
    knows = OnPaths("A", Globally(Implies(RECEIVED, Knows("each", ("A",), RECEIVED))))
    good = shown(knows)
    ((position, pair),) = good.parts
    assert pair.elsewhere is not None
    assert pair.elsewhere.states[-1] == good.run.states[position] | {"order@B": False}
    for changed, because in (
        (replace(pair, agents=("B",)), "other agents"),
        (replace(pair, agents=("A", "B")), "one agent is enough"),
        (replace(pair, elsewhere=None), "a pair of states is needed"),
        (replace(pair, alternative=None), "a pair of states is needed"),
        (replace(pair, elsewhere=replace(pair.elsewhere, moves=pair.elsewhere.moves[:-1])), "begins in another"),
    ):
        rejected(replace(good, parts=((position, changed),)), because)
    start = pair.elsewhere.start
    apart = replace(
        pair,
        elsewhere=Run(start, ()),
        alternative=Evidence(RECEIVED, False, Run(start, ())),
    )
    rejected(replace(good, parts=((position, apart),)), "A can tell the two states apart")


def test_knowing_together_takes_all_and_common_knowledge_a_chain() -> None:
    together = shown(OnPaths("E", Finally(No(Knows("together", ("A", "B"), No(SENT))))))
    assert together.parts[0][1].agents == ("A", "B")
    common = shown(OnPaths("A", Globally(Implies(RECEIVED, Knows("common", ("A", "B"), SENT)))))
    ((_, first),) = common.parts
    assert first.agents == ("A",)
    assert first.alternative is not None
    assert first.alternative.formula == first.formula
    assert first.alternative.agents == ("B",)
    assert first.alternative.alternative is not None
    assert first.alternative.alternative.formula == SENT


def test_accessible_states_are_checked_by_the_definition() -> None:
    channel = promises("A -> B", [(Read("order@A"), Read("order@B"))])
    promised = Commits(channel, Atom(Not(Read("order@B")), "nothing has arrived"))
    refuted = shown(OnPaths("E", Finally(AndAlso((SENT, No(promised))))))
    ((position, pair),) = refuted.parts
    assert isinstance(pair.formula, KnownFrom)
    assert pair.elsewhere is not None
    nowhere = replace(pair, elsewhere=Run(pair.elsewhere.start, ()), alternative=None)
    rejected(replace(refuted, parts=((position, nowhere),)), "a pair of states is needed")
    start = Run(pair.elsewhere.start, ())
    elsewhere = replace(pair, elsewhere=start, alternative=Evidence(pair.formula.operand, False, start))
    rejected(replace(refuted, parts=((position, elsewhere),)), "differ in what is observed")
    assert shown(OnPaths("A", Globally(Implies(SENT, Commits(channel, RECEIVED))))).exhaustive
    fulfilled = shown(OnPaths("E", Finally(Fulfils(channel, RECEIVED))))
    ((_, evidence_part),) = fulfilled.parts
    assert evidence_part.exhaustive


@pytest.mark.parametrize("condition", [Read("pressed"), Not(Read("order@A"))])
def test_with_fairness_a_finite_run_is_shown_to_go_on(condition: Expr) -> None:
    system = _system((condition,))
    evidence = explain_initial(ExplicitEngine(system), OnPaths("E", Finally(Atom(Read("pressed"), "A.pressed"))))
    assert replay(system, evidence) == []
    (part,) = evidence.parts
    assert part[1].run.loop is not None
    assert replay(system, replace(evidence, parts=())) == ["no fair run is shown to go on where the run ends"]


# --- path formulas


def does(*names: str) -> Taken:
    return Taken(frozenset(names), " | ".join(f"does({name})" for name in names))


def test_a_run_shows_what_is_said_of_a_path() -> None:
    path = Globally(Implies(does("receive"), Finally(does("count"))))
    good = shown(OnPaths("A", path))
    assert [move.step for move in good.run.moves] == [0, 1, None]
    assert good.run.loop == 2
    start = good.run.start
    rejected(replace(good, run=Run(start, (Move(None, start),), 0)), "value claimed")
    rejected(replace(good, run=replace(good.run, loop=None)), "value claimed")
    rejected(replace(good, formula=OnPaths("A", Globally(Implies(does("count"), Finally(does("receive")))))), "value")
    rejected(good, "not fair to count", frozenset({"B"}))


def test_good_prefix_is_enough() -> None:
    good = shown(OnPaths("E", AndAlso((Finally(does("count")), Next(SENT)))))
    assert [move.step for move in good.run.moves] == [0, 1, 2]
    assert good.run.loop is None
    rejected(replace(good, run=Run(good.run.start, good.run.moves[:2])), "value claimed")


def test_the_past_begins_with_the_run() -> None:
    at_once = OnPaths("E", Finally(AndAlso((RECEIVED, Previous(Previous(No(SENT)))))))
    good = shown(at_once)
    assert [move.step for move in good.run.moves] == [0, 1]
    late = replace(good, run=Run(good.run.moves[0].state, good.run.moves[1:]))
    assert "the run does not give the path formula the value claimed" in replay(SYSTEM, late)
    rejected(replace(good, formula=OnPaths("E", Finally(AndAlso((RECEIVED, Once(RECEIVED), No(RECEIVED)))))), "value")


def test_loop_is_unrolled_until_past_repeats() -> None:
    (sent,) = Interpreter(SYSTEM).after(shown(NEVER_DONE).run.start, 0)
    (received,) = Interpreter(SYSTEM).after(sent, 1)
    run = Run(received, (Move(None, received),), 0)

    def on_loop(path: Formula) -> list[str]:
        return replay(SYSTEM, Evidence(OnPaths("E", path), True, run))

    initial = ["the run does not begin in an initial state"]
    assert on_loop(Globally(Since(SENT, No(Previous(SENT))))) == initial
    assert on_loop(Finally(Globally(Previous(Previous(Previous(SENT)))))) == initial
    assert len(on_loop(Globally(Previous(SENT)))) == 2
    assert len(on_loop(Finally(Previous(No(SENT))))) == 2


def test_restricted_run_takes_allowed_steps_only() -> None:
    along = does("send", "receive")
    good = shown(OnPaths("E", Finally(RECEIVED), along))
    assert [move.step for move in good.run.moves] == [0, 1]
    rejected(replace(good, formula=OnPaths("E", Finally(RECEIVED), does("send"))), "not allowed on the run")
    # What the runs may not do need not be done on them.
    waiting = shown(OnPaths("E", Globally(No(RECEIVED)), does("send")), frozenset({"A", "B"}))
    assert waiting.run.loop is not None
    assert shown(OnPaths("E", Globally(No(RECEIVED))), frozenset({"A", "B"})).exhaustive


def test_evidence_parts_are_minimal() -> None:
    possible, sure = OnPaths("E", Next(RECEIVED)), OnPaths("A", Globally(SENT))
    good = shown(OnPaths("E", Finally(Or((AndAlso((possible, Next(SENT))), AndAlso((sure, does("count"))))))))
    ((position, part),) = good.parts
    assert (position, part.formula) == (1, possible)
    rejected(replace(good, parts=()), "value claimed")


def test_path_formula_has_no_value_in_a_state() -> None:
    good = shown(ORDERED)
    rejected(replace(good, formula=Finally(RECEIVED), run=Run(good.run.start, ())), "no value in a state")
