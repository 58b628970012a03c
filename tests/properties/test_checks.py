"""Every built-in check against its definition, walked state by state on random protocols."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Literal, TypeVar

import pytest
from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.oracles.games import Game
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.checking.builtin_checks import CHECKS, build_check
from cplc.checking.engine_selector import EngineName
from cplc.checking.replay import replay
from cplc.checking.verify import Verifier
from cplc.compilation import CplCompilation
from cplc.logic.expressions import Expr, Read, one_of
from cplc.logic.formulas import SOME_FAIR_RUN, And, Atom, Formula, Globally, Next, OnPaths, Or, Until
from cplc.lowering.lower import all_views, lower
from cplc.lowering.promises import debts_of
from cplc.source import Source
from cplc.system.interpreter import Interpreter, Key, holds, key
from cplc.system.model import Commitment, State, System

STATES = 300
N = TypeVar("N", bound=Hashable)
Carrier = tuple[Key, str]
"""A state, and a commitment that is open there."""

OPEN = {"conditional", "active", "pending"}
DONE = {"fulfilled", "released", "assigned"}
"""States of an active commitment in which its debtor has not failed."""


@dataclass(frozen=True)
class Walk:
    """All states of a system and the steps between them."""

    system: System
    states: dict[Key, State]
    edges: dict[Key, list[tuple[int, Key]]]

    @cached_property
    def reaching(self) -> dict[Key, set[Key]]:
        """Each state, with those from which a step leads there."""
        before: dict[Key, set[Key]] = {node_key: set() for node_key in self.states}
        for source, moves in self.edges.items():
            for _, target in moves:
                before[target].add(source)
        return before

    def can_reach(self, goal: Callable[[State], bool]) -> set[Key]:
        reaching_keys = {node_key for node_key, state in self.states.items() if goal(state)}
        waiting = list(reaching_keys)
        while waiting:
            new = self.reaching[waiting.pop()] - reaching_keys
            reaching_keys |= new
            waiting += new
        return reaching_keys

    def somewhere(self, condition: Expr) -> bool:
        return any(holds(condition, state) for state in self.states.values())

    def nothing_unsettled(self, state: State) -> bool:
        """True if no commitment is open, but for those on course."""
        return not any(state[c.variable] in OPEN and not on_course(c, state) for c in self.system.commitments)

    def enabled(self, node_key: Key, *kinds: str) -> bool:
        return any(self.system.steps[step].kind in kinds for step, _ in self.edges[node_key])

    def is_terminal(self, node_key: Key) -> bool:
        return not self.enabled(node_key, "send", "receive", "exchange", "lose", "duplicate", "restart")

    def in_flight(self, state: State) -> bool:
        return any(holds(message.in_flight, state) for message in self.system.messages)


def begins_fairly(system: System) -> bool:
    """True if a fair run begins in the initial state."""
    oracle = Naive(system)
    return not oracle.initial.isdisjoint(oracle.satisfying(SOME_FAIR_RUN))


def walked(system: System, most: int = STATES) -> Walk:
    interpreter = Interpreter(system)
    states = {key(state): state for state in interpreter.initial_states()}
    edges: dict[Key, list[tuple[int, Key]]] = {}
    waiting = list(states)
    while waiting:
        here = waiting.pop()
        edges[here] = []
        for step in interpreter.enabled(states[here]):
            for after in interpreter.after(states[here], step):
                edges[here].append((step, key(after)))
                if key(after) not in states:
                    states[key(after)] = after
                    waiting.append(key(after))
        assume(len(states) <= most)
    return Walk(system, states, edges)


# --- the definitions


def in_force(walk: Walk, state: State, name: str) -> bool:
    """True if a commitment is active, or pending and was active before."""
    value = state[name]
    return value == "active" or (value == "pending" and state[f"{name}.former"] == "active")


def owed(walk: Walk, state: State, one: Commitment) -> bool:
    """True if a commitment is in force, and its content would not hold if nothing more happened."""
    return in_force(walk, state, one.name) and not on_course(one, state)


def on_course(one: Commitment, state: State) -> bool:
    return bool(one.content) and holds(one.on_course, state)


def kept(walk: Walk, state: State, one: Commitment) -> bool:
    """True if a commitment is fulfilled, or in force and on course."""
    return state[one.variable] == "fulfilled" or (in_force(walk, state, one.name) and on_course(one, state))


def stays_left_over(walk: Walk, node_key: Key, left_over: Callable[[State], bool]) -> bool:
    """True if nothing but ticks is possible from a state on, and leaves something over in every state."""
    visited: set[Key] = set()
    while node_key not in visited:
        if not walk.is_terminal(node_key) or not left_over(walk.states[node_key]):
            return False
        visited.add(node_key)
        ticks = [after for step, after in walk.edges[node_key] if walk.system.steps[step].kind == "tick"]
        node_key = ticks[0] if ticks else node_key
    return True


def stood_for(state: State, name: str, counts: Callable[[str], bool]) -> bool:
    """True if a commitment waits for another one that counts."""
    other = state.get(f"{name}.follows", "none")
    return state[name] == "pending" and other != "none" and counts(str(other))


def deadlock_free(walk: Walk) -> bool:
    def left_over(state: State, one: Commitment) -> bool:
        is_suspended = state[one.name] == "pending" and state.get(f"{one.name}.follows", "none") == "none"
        is_stood_for = stood_for(state, one.name, lambda other: in_force(walk, state, other))
        return owed(walk, state, one) and not is_suspended and not is_stood_for

    return not any(
        stays_left_over(walk, node_key, lambda state, one=one: left_over(state, one))  # type: ignore[misc]
        for node_key in walk.states
        for one in walk.system.commitments
    )


def no_dangling(walk: Walk) -> bool:
    def left_over(state: State, name: str) -> bool:
        return state[name] in OPEN and not stood_for(state, name, lambda other: state[other] in OPEN)

    return not any(
        stays_left_over(walk, node_key, lambda state, name=one.name: left_over(state, name))  # type: ignore[misc]
        for node_key in walk.states
        for one in walk.system.commitments
    )


def no_debt_forgotten(walk: Walk) -> bool:
    """True if no restart takes back what is owed; of a chain of delegates, the last one in force is asked for all."""

    def is_forgotten(step: int, state: State, one: Commitment) -> bool:
        taken_back = {c.name for c in walk.system.commitments if walk.system.steps[step].takes_back(c.variable)}
        is_stood_for = stood_for(state, one.name, lambda other: other in taken_back and in_force(walk, state, other))
        return one.name in taken_back and owed(walk, state, one) and not is_stood_for

    return not any(
        is_forgotten(step, state, one)
        for node_key, state in walk.states.items()
        for step, _ in walk.edges[node_key]
        for one in walk.system.commitments
    )


def sound(walk: Walk) -> bool:
    return all(
        holds(operation.applicable, walk.states[node_key])
        for node_key, moves in walk.edges.items()
        for step, _ in moves
        for operation in walk.system.steps[step].operations
    )


def possible(walk: Walk, goal: Callable[[State], bool]) -> bool:
    """True if some run from each initial state reaches the goal."""
    reaching = walk.can_reach(goal)
    return all(key(state) in reaching for state in Interpreter(walk.system).initial_states())


def live(walk: Walk) -> bool:
    received = {
        walk.system.steps[step].event
        for moves in walk.edges.values()
        for step, _ in moves
        if walk.system.steps[step].kind in {"receive", "exchange"}
    }
    return received == {message.name for message in walk.system.messages}


def fulfillable(walk: Walk) -> bool:
    return all(
        possible(walk, lambda state, one=commitment: kept(walk, state, one))  # type: ignore[misc]
        for commitment in walk.system.commitments
    )


def resolvable(walk: Walk) -> bool:
    return walk.can_reach(walk.nothing_unsettled) == walk.states.keys()


def effective(walk: Walk) -> bool:
    def ended(state: State) -> bool:
        return (
            (walk.is_terminal(key(state)) or walk.enabled(key(state), "restart"))
            and walk.nothing_unsettled(state)
            and any(kept(walk, state, c) for c in walk.system.commitments)
        )

    return possible(walk, ended)


def consistent(walk: Walk) -> bool:
    def together(one: Expr, other: Expr) -> bool:
        return any(holds(one, state) and holds(other, state) for state in walk.states.values())

    pairs = list(combinations(walk.system.commitments, 2))
    return all(both_can_be_kept(walk, one, other) for one, other in pairs if one.content or other.content) and not any(
        state[one.variable] in OPEN and state[other.variable] in OPEN
        for one, other in pairs
        if not (one.content or other.content) and not together(one.consequent, other.consequent)
        for state in walk.states.values()
    )


def both_can_be_kept(walk: Walk, one: Commitment, other: Commitment) -> bool:
    """True if some fair run keeps both in every state where both are in force and some fair run keeps each."""
    oracle = Naive(replace(walk.system, fairness=()))

    def on_some_run(*paths: Formula) -> frozenset[Key]:
        return frozenset(key(oracle.thaw(state)) for state in oracle.satisfying(OnPaths("E", And(paths))))

    first, second = stays_kept(one), stays_kept(other)
    apart = (on_some_run(first) & on_some_run(second)) - on_some_run(first, second)
    return not any(all(in_force(walk, walk.states[node_key], c.name) for c in (one, other)) for node_key in apart)


def stays_kept(one: Commitment) -> Formula:
    """Return that the commitment stays open until it is fulfilled or, of contents about runs, forever on course."""

    def in_one_of(*states: str) -> Formula:
        return Atom(one_of(Read(one.variable), states), f"{one.name}: {states}")

    still_open, fulfilled = in_one_of(*sorted(OPEN)), in_one_of("fulfilled")
    if not one.content:
        return Until(still_open, fulfilled)
    right = Atom(one.on_course, f"on course: {one.name}")
    forgotten = And((right, Next(in_one_of("null"))))
    return Until(still_open, Or((fulfilled, forgotten, Globally(And((still_open, right))))))


def robust(walk: Walk) -> bool:
    settling = walk.can_reach(walk.nothing_unsettled)
    return all(
        node_key in settling
        for node_key, state in walk.states.items()
        if any(state[c.variable] in {"violated", "expired", "withdrawn"} for c in walk.system.commitments)
    )


def aligned(walk: Walk) -> bool:
    return all(
        state[view] == state[commitment.variable]
        for state in walk.states.values()
        if not walk.in_flight(state)
        for commitment in walk.system.commitments
        for _, view in commitment.views
    )


def violable(walk: Walk) -> bool:
    return all(
        commitment.within is not None
        or possible(walk, lambda state, name=commitment.variable: state[name] in {"violated", "expired"})  # type: ignore[misc]
        for commitment in walk.system.commitments
    )


def no_delegation_loop(walk: Walk) -> bool:
    """True if no cycle of a fair run hands on the debt that a commitment carries and carries it back.

    The cycles are those of a graph of states, each with one open commitment: its debt is followed along each step.
    """
    edges: dict[Carrier, list[tuple[int, Carrier]]] = {}
    handing: set[tuple[Carrier, int, Carrier]] = set()
    for node_key, state in walk.states.items():
        for one in walk.system.commitments:
            if state[one.variable] not in OPEN:
                continue
            here = node_key, one.name
            edges[here] = []
            for step, after in walk.edges[node_key]:
                name, is_handed = carried_to(walk, one.name, step, state)
                if name is not None and walk.states[after][walk.system.commitment[name].variable] in OPEN:
                    edges[here].append((step, (after, name)))
                    if is_handed:
                        handing.add((here, step, (after, name)))
    return not any(is_delegation_loop(walk, part, edges, handing) for part in _components(edges))


def carried_to(walk: Walk, name: str, step: int, state: State) -> tuple[str | None, bool]:
    """Return which commitment a debt is carried to by the operations of a step, and whether it is handed on."""
    is_handed = False
    for operation in walk.system.steps[step].operations:
        if not holds(operation.applicable, state):
            continue
        target = operation.target if operation.verb in {"delegate", "assign"} else None
        if operation.verb == "create" and operation.commitment == name:
            return None, False
        if target is not None and operation.commitment == name:
            is_handed = True
            name = name if operation.retaining else target
        elif target == name:
            return None, False
    return name, is_handed


def is_delegation_loop(
    walk: Walk,
    part: set[Carrier],
    edges: dict[Carrier, list[tuple[int, Carrier]]],
    handing: set[tuple[Carrier, int, Carrier]],
) -> bool:
    inside = [(here, step, target) for here in part for step, target in edges[here] if target in part]
    taken = {step for _, step, _ in inside}
    is_just = all(
        taken & set(justice.steps)
        or any(not set(justice.steps) & {step for step, _ in walk.edges[node_key]} for node_key, _ in part)
        for justice in walk.system.constraints(frozenset())
    )
    is_fair = all(
        any(holds(condition, walk.states[node_key]) for node_key, _ in part) for condition in walk.system.fairness
    )
    return is_just and is_fair and any(edge in handing for edge in inside)


def _components(edges: dict[N, list[tuple[int, N]]]) -> list[set[N]]:
    """Return the strongly connected components, by Kosaraju's two searches."""
    order: list[N] = []
    visited: set[N] = set()
    for root in edges:
        stack = [(root, iter(edges[root]))] if root not in visited else []
        visited.add(root)
        while stack:
            here, moves = stack[-1]
            step = next(((s, after) for s, after in moves if after not in visited), None)
            if step is None:
                order.append(here)
                stack.pop()
            else:
                visited.add(step[1])
                stack.append((step[1], iter(edges[step[1]])))
    back: dict[N, list[N]] = {node_key: [] for node_key in edges}
    for node_key, steps in edges.items():
        for _, after in steps:
            back[after].append(node_key)
    components: list[set[N]] = []
    placed: set[N] = set()
    for root in reversed(order):
        if root in placed:
            continue
        part, waiting = {root}, [root]
        placed.add(root)
        while waiting:
            for node_key in back[waiting.pop()]:
                if node_key not in placed:
                    placed.add(node_key)
                    part.add(node_key)
                    waiting.append(node_key)
        components.append(part)
    return components


def honourable(walk: Walk) -> bool:
    justice = tuple(frozenset(justice.steps) for justice in walk.system.constraints(frozenset()))

    def states(goal: Callable[[State], bool]) -> frozenset[Key]:
        return frozenset(node_key for node_key, state in walk.states.items() if goal(state))

    def sends(role: str) -> frozenset[int]:
        steps = enumerate(walk.system.steps)
        return frozenset(n for n, step in steps if step.kind in {"send", "exchange"} and step.actor == role)

    def keeps(commitment: Commitment) -> bool:
        active = {node_key for node_key, state in walk.states.items() if state[commitment.variable] == "active"}
        alone = [able(commitment, (debtor,)) for debtor in commitment.debtors]
        match commitment.answerable:
            case "any":
                return active <= frozenset().union(*alone)
            case "each":
                return all(active <= states_of_one for states_of_one in alone)
            case "all":
                return active <= able(commitment, commitment.debtors)

    def able(commitment: Commitment, group: tuple[str, ...]) -> frozenset[Key]:
        """Return the states from which the group keeps the commitment, whatever others do."""
        game = Game(walk.edges, {role: sends(role) for role in group}, justice)
        if commitment.within is not None and not commitment.content:
            consequent = states(lambda state: holds(commitment.consequent, state))
            return frozenset(game.reaches(frozenset(walk.states), consequent))
        is_open = states(lambda state: state[commitment.variable] in OPEN)
        done = states(lambda state: state[commitment.variable] in DONE)
        lasting: frozenset[Key] = frozenset()
        if commitment.content:
            on_course_states = states(lambda state: on_course(commitment, state))
            idle = states(lambda state: state[commitment.variable] in {*DONE, "null", "conditional"})
            lasting = on_course_states & game.stays(on_course_states | idle)
        return frozenset(game.reaches(is_open, done | lasting))

    return all(map(keeps, walk.system.commitments))


DEFINITIONS: dict[str, Callable[[Walk], bool]] = {
    definition.__name__: definition
    for definition in (
        deadlock_free, no_dangling, no_debt_forgotten, sound, live, fulfillable, resolvable, effective, consistent,
        robust, aligned, violable, no_delegation_loop, honourable,
    )
}  # fmt: skip

ABOUT_RUNS = {"live", "fulfillable", "resolvable", "effective", "robust", "violable"}
"""Checks that a condition of fairness restricts; here they are asked without."""


def test_every_check_has_its_definition() -> None:
    assert DEFINITIONS.keys() == CHECKS.keys()


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@examples(25)
@given(sample=protocols())
def test_checks_match_definition(engine: Literal["explicit", "symbolic"], sample: Sample) -> None:
    note(sample.text)
    compare_checks(sample, engine)


@pytest.mark.parametrize("engine", ["explicit", "symbolic"])
@examples(25)
@given(sample=protocols(has_groups=True))
def test_checks_of_groups_match_definition(engine: Literal["explicit", "symbolic"], sample: Sample) -> None:
    note(sample.text)
    compare_checks(sample, engine)


def compare_checks(sample: Sample, engine: Literal["explicit", "symbolic"]) -> None:
    compilation = CplCompilation(Source("generated.cpl", sample.text))
    assume(compilation.ok)
    with_views = lower(compilation.model, frozenset(all_views(compilation.model)))
    walk = walked(with_views)
    assume(not any(walk.somewhere(hazard) for _, hazard, _ in with_views.hazards))
    unrestricted = replace(with_views, fairness=())
    verifiers = {id(system): Verifier(system, engine) for system in (with_views, unrestricted)}
    for name, definition in DEFINITIONS.items():
        system = unrestricted if name in ABOUT_RUNS else with_views
        question = build_check(name, system, debts_of(system))
        result = verifiers[id(system)].answer(question)
        if not question.findings:
            assert result.answer == "holds", name
            assert definition(walk), name
            continue
        if system.fairness and (question.system or system).fairness and not begins_fairly(system):
            assert result.answer == "unknown", name
            continue
        assert (result.answer == "holds") == definition(walk), name
        assert result.answer in {"holds", "fails"}, result.reason
        if result.evidence is not None:
            assert replay(result.system, result.evidence) == []


@st.composite
def hand_overs(draw: st.DrawFn) -> str:
    """Draw a protocol in which two or three debtors hand on in a circle what they owe one creditor."""
    debtors = "ABC"[: draw(st.integers(2, 3))]
    lines = [f"  role {name}" for name in (*debtors, "M")]
    lines += [f"  commitment {name.lower()} = C({name}, M, true, done)" for name in debtors]
    lines.append("  A -> M : first  means create a" + draw(st.sampled_from(["", "", "  repeatable"])))
    for number, (sender, other) in enumerate(zip(debtors, debtors[1:] + debtors[0], strict=True)):
        own, next_one = sender.lower(), other.lower()
        hands = f"delegate {own} to {next_one}{draw(st.sampled_from(['', '', '', '', ' retaining']))}"
        extra = draw(st.sampled_from(["", "", f"create {own}", f"withdraw {own}", f"fulfill {own}"]))
        acts = draw(st.permutations([hands, extra]) if extra else st.just([hands]))
        clause = draw(st.sampled_from(["", *["  repeatable"] * 5, "  restart"]))
        after = "" if number == 0 else draw(st.sampled_from(["", f"  after m{number - 1}"]))
        lines.append(f"  {sender} -> {other} : m{number}{after}{clause}  means {', '.join(acts)}")
    if draw(st.booleans()):
        one = draw(st.sampled_from(debtors))
        act = draw(st.sampled_from(["create", "withdraw"]))
        lines.append(f"  {one} -> M : other{draw(st.sampled_from(['', '  repeatable']))}  means {act} {one.lower()}")
    lines.append(f"  {draw(st.sampled_from(debtors))} -> M : done")
    return "\n".join([f"protocol Handing {draw(st.sampled_from(['sync ', 'sync ', '']))}{{", *lines, "}", ""])


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "onthefly", "reduced"])
@examples(10)
@given(text=hand_overs())
def test_delegation_loop_concerns_one_debt(engine: EngineName, text: str) -> None:
    note(text)
    compilation = CplCompilation(Source("generated.cpl", text))
    assume(compilation.ok)
    system = lower(compilation.model, frozenset())
    walk = walked(system, 600)
    question = build_check("no_delegation_loop", system, debts_of(system))
    result = Verifier(system, engine).answer(question)
    assert (result.answer == "holds") == no_delegation_loop(walk), result.reason
    if result.evidence is not None:
        assert replay(result.system, result.evidence) == []
