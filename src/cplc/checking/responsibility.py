"""Responsibility for a failed property: coalitions whose co-operation makes it true, roles that stopped, violations."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Final, assert_never

from cplc.automata.formula_progression import NotProgressible, progression
from cplc.checking.replay import Goal, goals, is_continuation, steps_along, unmet_goals
from cplc.checking.results import Avoidance, Responsibility, WayOut
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.language.groups import Answerable, is_on
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter, holds, interpreter_of
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Claim, Commitment, Justice, State, System
from cplc.system.trace import Evidence, Move, Run

# --- Responsibility for a violated liveness property on a run on which all roles keep going
#
# No role stopped, so co-operation cannot help. Either some step lost the goal: no fair run reaches it afterwards. Or
# the goal stays reachable and the loop avoids it: the roles whose sends make up the loop, and the sends that leave
# it, are reported.


MAX_EXPLORED_STATES: Final = 20_000
"""Maximum number of reachable states explored to decide whether the goal is still reachable."""
MAX_POSITIONS: Final = 200
"""Maximum number of states of the run at which this is decided."""


@memoize_per_system
def bounded_engine(system: System) -> ExplicitEngine | None:
    """Return an explicit engine of the system; None if the system has too many states."""
    engine = ExplicitEngine(system, MAX_EXPLORED_STATES)
    try:
        return engine if engine.size else None
    except ResourceExhausted:
        return None


def avoidance(system: System, evidence: Evidence) -> Avoidance | None:
    """Return how the run avoids its goal; None if a limit is exceeded.

    The evidence is a lasso that is fair to all roles, or ends in one.
    """
    chain = list(_chain(evidence))
    ending = chain[-1]
    path = violated_path(ending)
    if path is None or ending.run.loop is None:
        return None
    run = _joined(chain)
    offset = len(run.moves) - len(ending.run.moves)
    if len(run.moves) > MAX_POSITIONS or (engine := bounded_engine(system)) is None:
        return None
    try:
        goal = _Goal(system, path, engine)
        begin = run.states[offset]
        possible = [goal.is_possible(state, (), state) for state in run.states[:offset]]
        possible += [
            goal.is_possible(state, run.moves[offset:at], begin) for at, state in enumerate(run.states) if at >= offset
        ]
    except (ResourceExhausted, NotProgressible):
        return None
    if not possible[-1]:
        lost = next((at for at in range(len(run.moves), 0, -1) if possible[at - 1]), 0)
        return Avoidance(path, lost, (), ())
    first = offset + ending.run.loop
    loop = Run(run.states[first], run.moves[first:], 0)
    try:
        ways = tuple(_ways_out(goal, run, offset, first))
    except (ResourceExhausted, NotProgressible):
        ways = ()
    return Avoidance(
        path, None, acting_roles(system, loop, frozenset(way.message for way in ways if way.ensures)), ways
    )


def violated_path(ending: Evidence) -> Formula | None:
    """Return the path formula that the run violates."""
    formula = ending.formula
    if not isinstance(formula, f.OnPaths) or formula.along is not None or ending.holds is (formula.quantifier == "A"):
        return None
    path = formula.path
    if formula.quantifier == "A":
        return path
    return f.opposite(path)


def _chain(evidence: Evidence) -> Iterator[Evidence]:
    """Yield the evidence and the chain of parts, each at the end of the run before, that leads to a lasso."""
    yield evidence
    if evidence.run.loop is None:
        last = len(evidence.run.moves)
        for position, part in evidence.parts:
            if (
                position == last
                and not is_continuation(part)
                and (chain := list(_chain(part)))[-1].run.loop is not None
            ):
                yield from chain
                return


def _joined(chain: list[Evidence]) -> Run:
    moves: tuple[Move, ...] = ()
    for one in chain:
        moves += one.run.moves
    return Run(chain[0].run.start, moves)


class _Goal:
    """The goal of a path, and whether it is still reachable if all roles keep going."""

    def __init__(self, system: System, path: Formula, engine: ExplicitEngine) -> None:
        self.system = system
        self.interpreter = interpreter_of(system)
        self._path = path
        self._everybody = frozenset(justice.role for justice in system.justice if justice.role is not None)
        self._engine = engine

    def is_possible(self, state: State, since: tuple[Move, ...], start: State) -> bool:
        """Tell whether some fair run from the state satisfies the progression of the goal through these moves."""
        return self._begins(self._rest(since, start), state)

    def is_certain(self, state: State, since: tuple[Move, ...], start: State) -> bool:
        """Tell whether every fair run from the state satisfies that progression."""
        rest = self._rest(since, start)
        return not self._begins(f.Not(rest), state)

    def _rest(self, since: tuple[Move, ...], start: State) -> Formula:
        states = (start, *(move.state for move in since))
        names = [None if move.step is None else self.system.steps[move.step].name for move in since]
        return progression(self._path, names, lambda part, at: self._satisfies(part, states[at]))

    def _begins(self, path: Formula, state: State) -> bool:
        if path in (f.VALID, f.UNSATISFIABLE):
            return path == f.VALID
        return self._satisfies(f.OnPaths("E", f.Finally(path, f.Bound(0))), state)

    def _satisfies(self, formula: Formula, state: State) -> bool:
        return self._engine.contains(self._engine.satisfying(formula, self._everybody), state)


def acting_roles(system: System, loop: Run, avoided: frozenset[str] = frozenset()) -> tuple[str, ...]:
    """Return the roles whose sends make up the loop, without those that the loop does not need.

    The loop does not need a role if it still closes without the messages of the role, and fairness still does not force
    the messages ``avoided``, or any other message if none is named.
    """
    interpreter = interpreter_of(system)
    roles = list(dict.fromkeys(actor for move in loop.moves if (actor := _sender(system, move)) is not None))
    remaining = loop
    for role in tuple(roles):
        # Invariant: `remaining` is the loop without the messages of the roles removed so far, and still closes.
        without = _without(interpreter, remaining, role, avoided)
        if without is not None:
            remaining = without
            roles.remove(role)
    return tuple(agent.name for agent in system.agents if agent.name in roles)


def _sender(system: System, move: Move) -> str | None:
    if move.step is None:
        return None
    step = system.steps[move.step]
    return step.actor if step.kind in ("send", "exchange") else None


def _without(interpreter: Interpreter, loop: Run, role: str, avoided: frozenset[str]) -> Run | None:
    """Return the loop without the messages of the role; None if it needs them."""
    system = interpreter.system
    dropped = {
        system.steps[move.step].event for move in loop.moves if move.step is not None and _sender(system, move) == role
    }
    state = loop.start
    moves: list[Move] = []
    for move in loop.moves:
        if move.step is not None and system.steps[move.step].event in dropped:
            continue
        if move.step is not None:
            if not interpreter.is_enabled(state, move.step):
                return None
            state = interpreter.after(state, move.step)[0]
        moves.append(replace(move, state=state))
    if state != loop.start:
        return None
    reduced = Run(loop.start, tuple(moves) or (Move(None, loop.start),), 0)
    everybody = frozenset(justice.role for justice in system.justice if justice.role is not None)
    forcing = [goal for goal in goals(system, everybody) if not _is_about(system, goal, dropped, avoided)]
    return None if unmet_goals(interpreter, forcing, reduced, lambda *_: False) else reduced


def _is_about(system: System, goal: Goal, dropped: set[str], avoided: frozenset[str]) -> bool:
    """Tell whether a justice constraint is about a dropped message, or one that may be forced."""
    if not isinstance(goal, Justice) or goal.role is None:
        return False
    messages = {system.steps[step].event for step in goal.steps}
    return bool(messages & dropped) or (bool(avoided) and not messages & avoided)


def _ways_out(goal: _Goal, run: Run, offset: int, first: int) -> Iterator[WayOut]:
    """Yield the sends that leave the loop, each at its first occasion: those that ensure the goal, if any."""
    system, interpreter = goal.system, goal.interpreter
    taken = {system.steps[move.step].event for move in run.moves[first:] if move.step is not None}
    sure: dict[tuple[str, str], WayOut] = {}
    possible: dict[tuple[str, str], WayOut] = {}
    for at in range(first, len(run.moves)):
        state = run.states[at]
        for index in interpreter.enabled(state):
            step = system.steps[index]
            key = step.actor, step.event
            if step.kind not in ("send", "exchange") or step.event in taken or key in sure:
                continue
            after = interpreter.after(state, index)[0]
            since = (*run.moves[offset:at], Move(index, after))
            if goal.is_certain(after, since, run.states[offset]):
                sure[key] = WayOut(step.actor, step.event, at, ensures=True)
            elif key not in possible and goal.is_possible(after, since, run.states[offset]):
                possible[key] = WayOut(step.actor, step.event, at, ensures=False)
    yield from (sure or possible).values()


Valid = Callable[[frozenset[str]], bool]

MAX_TRIED_COALITIONS = 64
"""Maximum number of coalitions tried before a minimal one by deletion is enough."""


@dataclass(frozen=True)
class Violation:
    """A commitment or claim that becomes violated on a run."""

    name: str
    by: str
    """Its debtor or maker."""
    towards: str
    step: int
    """The number of the step that violates it."""
    message: str | None
    """The message that does; None where time passes or a new round begins."""
    empowered: str | None = None
    """The third party whose power it was to violate it."""
    answerable: Answerable = "all"
    """Which debtors of a group can be held to it."""


def violations(system: System, run: Run) -> tuple[Violation, ...]:
    """Return every violation on the run, in the order of its steps."""
    bonds: tuple[Commitment | Claim, ...] = (*system.commitments, *system.claims)
    violated: list[Violation] = []
    for number, (before, move) in enumerate(zip(run.states, run.moves, strict=False), 1):
        for one in bonds:
            if move.step is not None and before[one.variable] != "violated" == move.state[one.variable]:
                step = system.steps[move.step]
                by, towards = one.parties
                message = step.event if step.kind in ("receive", "exchange") else None
                empowered = system.empowered(step, one.name)
                answerable = one.answerable if isinstance(one, Commitment) else "all"
                violated.append(Violation(one.name, by, towards, number, message, empowered, answerable))
    return tuple(violated)


def blame(
    system: System, shown: System, formula: Formula, assuming: frozenset[str], valid: Valid, evidence: Evidence
) -> Responsibility | None:
    """Return the responsibility for a failure; None if it does not depend on the roles that keep going.

    The evidence is of the system ``shown``, components of the whole one. ``valid`` tells whether the formula holds if
    these roles keep going. It is called only if co-operation is monotone: every operator that depends on fairness
    quantifies over all runs, or over what a group can enforce. If no co-operation helps, the evidence should be a run
    on which all roles keep going.
    """
    if not system.has_idle_step or not needs_fairness(formula, system) or not helped_by_fairness(formula, system):
        return None
    helping = coalitions(system, assuming, valid)
    ending = lasso_evidence(evidence)
    if ending is None:
        return Responsibility(helping, (), ())
    able = neglected_sends(shown, ending)
    if not helping:
        avoided = avoidance(shown, evidence)
        if avoided is None or not _no_role_stopped(avoided, able):
            return Responsibility((), (), ())
        return Responsibility((), (), _owed_commitments(shown, ending), avoided)
    stopped = _helpful_roles(system, assuming, valid, helping, tuple(able))
    owed = tuple(name for name in _owed_commitments(shown, ending) if is_on(stopped, shown.commitment[name].debtor))
    return Responsibility(helping, stopped, owed)


def _no_role_stopped(avoided: Avoidance, able: Mapping[str, tuple[str, ...]]) -> bool:
    """Tell whether no role avoids the goal by stopping: it was lost, or no ensuring send is enabled all the time."""
    sends = {(role, message) for role, messages in able.items() for message in messages}
    ensuring = {(way.role, way.message) for way in avoided.ways_out if way.ensures}
    return not able or avoided.lost is not None or (bool(ensuring) and not ensuring & sends)


def _helpful_roles(
    system: System, assuming: frozenset[str], valid: Valid, helping: Iterable[tuple[str, ...]], able: tuple[str, ...]
) -> tuple[str, ...]:
    """Return the roles that belong to a minimal set of role instances that makes the formula true.

    For a family of one member the minimal set of families decides this already.
    """
    helpful: dict[str, None] = {}
    for families in helping:
        members = _members(system, assuming, families)
        for role in able:
            if role in members and (
                len(_members(system, assuming, (system.agent[role].family,))) == 1
                or role in helpful
                or _is_needed(role, members, assuming, valid)
            ):
                helpful[role] = None
        if not any(role in helpful for role in able if role in members):
            helpful.update(dict.fromkeys(role for role in able if role in members))
    return tuple(role for role in able if role in helpful)


def _members(system: System, assuming: frozenset[str], families: Iterable[str]) -> tuple[str, ...]:
    roles = dict.fromkeys(justice.role for justice in system.justice if justice.role is not None)
    return tuple(role for role in roles if role not in assuming and system.agent[role].family in set(families))


def _is_needed(role: str, members: Iterable[str], assuming: frozenset[str], valid: Valid) -> bool:
    """Tell whether the role is in the minimal set that remains when others are deleted first."""
    remaining = frozenset(members)
    if not valid(assuming | (remaining - {role})):
        return True
    for other in sorted(remaining - {role})[:MAX_TRIED_COALITIONS]:
        if valid(assuming | (remaining - {other})):
            remaining -= {other}
    return not valid(assuming | (remaining - {role}))


# --- coalitions


def coalitions(system: System, assuming: frozenset[str], valid: Valid) -> tuple[tuple[str, ...], ...]:
    """Return the minimal sets of roles, with families as one, whose co-operation makes the formula true.

    Co-operation is monotone: it only removes runs, so every superset of a good set is good.
    """
    members: dict[str, frozenset[str]] = {}
    for justice in system.justice:
        if justice.role is not None and justice.role not in assuming:
            family = system.agent[justice.role].family
            members[family] = members.get(family, frozenset()) | {justice.role}

    def good(families: Iterable[str]) -> bool:
        return valid(assuming.union(*(members[family] for family in families)))

    if not good(members):
        return ()
    smallest: list[tuple[str, ...]] = []
    for number, families in enumerate(_by_size(members)):
        if number >= MAX_TRIED_COALITIONS:
            return tuple(smallest) or (_reduced(tuple(members), good),)
        if not any(set(smaller) <= set(families) for smaller in smallest) and good(families):
            smallest.append(families)
    return tuple(smallest)


def _by_size(families: Iterable[str]) -> Iterator[tuple[str, ...]]:
    listed = tuple(families)
    for size in range(1, len(listed) + 1):
        yield from combinations(listed, size)


def _reduced(families: tuple[str, ...], good: Callable[[Iterable[str]], bool]) -> tuple[str, ...]:
    """Return a minimal good subset, by deletion."""
    for family in families:
        fewer = tuple(other for other in families if other != family)
        if good(fewer):
            return _reduced(fewer, good)
    return families


# --- roles that stopped


def lasso_evidence(evidence: Evidence) -> Evidence | None:
    """Return the lasso at the end of the evidence, if there is one.

    A lasso that only continues a finite run fairly does not count: any other would do as well.
    """
    if is_continuation(evidence):
        return None
    if evidence.run.loop is not None:
        return evidence
    parts = [lasso_evidence(part) for _, part in reversed(evidence.parts)]
    return next((part for part in parts if part is not None), None)


def neglected_sends(system: System, ending: Evidence) -> dict[str, tuple[str, ...]]:
    """Return the roles that could send something forever on the lasso and never do, with the messages.

    Under a restriction to steps no other step is expected.
    """
    run = ending.run
    assert run.loop is not None
    interpreter = Interpreter(system)
    allowed = steps_along(system, ending.formula.along if isinstance(ending.formula, f.OnPaths) else None)
    states, taken = run.states[run.loop :], {move.step for move in run.moves[run.loop :]}
    able: dict[str, tuple[str, ...]] = {}
    for justice in system.justice:
        steps = [step for step in justice.steps if step in allowed]
        one = justice if len(steps) == len(justice.steps) else replace(justice, steps=tuple(steps), due=None)
        if justice.role is None or taken & set(steps):
            continue
        if all(interpreter.is_waiting(state, one) for state in states):
            events = {system.steps[step].event: None for step in steps}
            able[justice.role] = (*able.get(justice.role, ()), *events)
    return able


def _owed_commitments(system: System, ending: Evidence) -> tuple[str, ...]:
    """Return the commitments that are owed throughout the loop: in force and not on course."""
    run = ending.run
    name_of = {commitment.variable: commitment.name for commitment in system.commitments}
    former = {
        name_of[one.name.removesuffix(".former")]: one.name
        for one in system.variables
        if one.kind == "former" and one.name.removesuffix(".former") in name_of
    }

    def is_in_force(commitment: Commitment, state: State) -> bool:
        lifecycle = state[commitment.variable]
        if lifecycle == "pending" and commitment.name in former:
            lifecycle = state[former[commitment.name]]
        return lifecycle in ("active", "pending") and not holds(commitment.on_course, state)

    loop = run.states[run.loop or 0 :]
    return tuple(one.name for one in system.commitments if all(is_in_force(one, state) for state in loop))


# --- dependence on fairness


def needs_fairness(formula: Formula, system: System) -> bool:
    """Tell whether some operator of the formula depends on fairness."""
    return any(True for _ in _fair_operators(formula, system, positive=True))


def helped_by_fairness(formula: Formula, system: System) -> bool:
    """Tell whether the formula is antitone in the set of fair runs."""
    return all(_fair_operators(formula, system, positive=True))


def _fair_operators(formula: Formula, system: System, *, positive: bool) -> Iterator[bool]:
    """Yield, for each operator that depends on fairness, whether it is antitone in the set of fair runs."""
    match formula:
        case f.Atom() | f.Taken():
            return
        case f.Not(operand):
            yield from _fair_operators(operand, system, positive=not positive)
        case f.OnPaths(quantifier, path):
            if system.may_lack_fair_runs or _is_endless(formula):
                yield (quantifier == "A") == positive
            yield from _fair_operators(path, system, positive=positive)
        case f.Enforces(_, goal):
            # Liveness goals rely on roles that keep going, and safety goals only where the clock may stop.
            if isinstance(goal, f.Finally | f.Until) or system.clock_may_stop:
                yield positive
            for child in f.children(goal):
                yield from _fair_operators(child, system, positive=positive)
        case f.Derived():
            yield from _fair_operators(formula.definition, system, positive=positive)
        case f.And() | f.PathOperator() | f.StateOperator():
            for child in f.children(formula):
                yield from _fair_operators(child, system, positive=positive)
        case _:
            assert_never(formula)


def _is_endless(formula: f.OnPaths) -> bool:
    """Tell whether the witness (`E`) or counterexample (`A`) may need an infinite run.

    Justice never excludes a finite prefix: every state begins a fair run.
    """
    return not _shows_early(formula.path, formula.quantifier == "E")


def _shows_early(path: Formula, value: bool) -> bool:
    """Tell whether every path with this value has a finite prefix that decides it."""
    match path:
        case f.Not(operand):
            return _shows_early(operand, not value)
        case f.Until(left, right, bound):
            return (value or f.closes(bound)) and _shows_early(left, value) and _shows_early(right, value)
        case f.Release(left, right, bound):
            return (not value or f.closes(bound)) and _shows_early(left, value) and _shows_early(right, value)
        case f.And() | f.Next() | f.Previous() | f.Since():
            return all(_shows_early(child, value) for child in f.children(path))
        case f.Derived():
            return _shows_early(path.definition, value)
        case f.Taken() | f.Atom() | f.StateOperator():
            return True
        case _:
            assert_never(path)
