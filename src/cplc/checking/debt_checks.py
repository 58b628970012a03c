"""Questions about debts: no debt is left at an end (deadlock freedom), and no restart forgets one.

Each question has one part per commitment, so that its evidence is short and its finding names the commitment, its
parties and the messages that could close it.

Definition. A state is *terminal* if no send, receipt or restart is enabled in it. A message in flight can be received,
so nothing is in flight in a terminal state. Ticks are always enabled: a terminal state is an end if it stays terminal
however much time passes. A commitment is *left over* if it is owed (`deadlock_free`) or open (`no_dangling`) at an end
forever. A commitment that waits for another one in force is not left over: the other one is reported if it is owed.

Claim. Let the connected components of the system be K1 … Kn, T(i) the condition that no step of Ki but a tick is
enabled, and c a condition over K1. Some state is terminal and satisfies c, both forever, iff in each Ki some state
satisfies T(i), or T(1) & c in K1, forever. So ``AG (S1 | … | Sn)`` says that there is no such state, where Si is
``AF !T(i)`` if ticks belong to Ki and ``!T(i)`` otherwise, with ``& c`` inside the negation for K1.
Proof. Reachable states are the product of those of the components. Without ticks nothing changes a state of Ki with
T(i), and ticks are fair.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from cplc.checking.results import Refinement
from cplc.language.groups import side_text
from cplc.language.lifecycle import OPEN
from cplc.logic.expressions import Expr, Read, conj, disj, is_false, negate, one_of, reads
from cplc.logic.formulas import Atom, Finally, Formula, Globally, Not, OnPaths, Or
from cplc.reductions.timed_components import TimedComponents
from cplc.source import Span
from cplc.system.commitments import Debts
from cplc.system.interpreter import Interpreter
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Commitment, Message, Step, System, terminal
from cplc.system.trace import Evidence, Move

Part = tuple[Formula, str]
"""One operand of a question's conjunction, and what its failure means."""
Placed = tuple[Part, Span | None]
"""A part, and where its commitment is declared."""
Listing = tuple[Formula, str]
"""A formula, and the note to list if it fails in some reachable state."""

NO_DEBT_FORGOTTEN = "no_debt_forgotten"
CLOSING = {"violate": "violate", "withdraw": "withdraw", "release": "release", "assign": "assign"}
_NAMES = re.compile(r"[\w.]+(?:\[[^\]]*\])?")
"""Names in a formula; a member of a family with its index."""
_MAX_MESSAGES = 3
"""Number of messages that a finding names."""


def parts_and_places(placed: Iterable[Placed]) -> tuple[tuple[Part, ...], tuple[Span | None, ...]]:
    """Return the parts, and in the same order their places."""
    pairs = tuple(placed)
    return tuple(part for part, _ in pairs), tuple(place for _, place in pairs)


def left_owed(system: System, debts: Debts) -> Iterator[Placed]:
    """Yield, for each commitment, that it is not owed at an end forever, unless its creditor suspended it."""
    return ((part, one.span) for part, one, _ in _left_owed(system, debts))


def _left_owed(system: System, debts: Debts) -> Iterator[tuple[Part, Commitment, Expr]]:
    for one in system.commitments:
        debt = debts[one.name]
        targets_in_force = (
            conj((waits, debts[target].in_force)) for target, waits in debt.waits_for if target in debts
        )
        stuck = conj((debt.owed, negate(debt.suspended), negate(disj(targets_in_force))))
        if not is_false(stuck):
            finding = f"{named(one)} is owed at an end, where nobody can act any more; {ways_to_close(system, one)}"
            is_active = stuck == _is(system, one, "active")
            never = _never_at_an_end(system, stuck, one, "active" if is_active else "owed", has_formula=is_active)
            yield (never, finding), one, stuck


def left_open(system: System, debts: Debts) -> Iterator[Placed]:
    """Yield, for each commitment, that it is not open at an end forever."""
    for one in system.commitments:
        dangling = _dangling(system, debts, one)
        if not is_false(dangling):
            finding = f"{named(one)} is open at an end, where nobody can act any more; {ways_to_close(system, one)}"
            never = _never_at_an_end(system, dangling, one, "open", has_formula=not debts[one.name].waits_for)
            yield (never, finding), one.span


def open_states(system: System, debts: Debts) -> Iterator[Refinement]:
    """Yield, for each commitment and each of its open states, that it is not in this state at an end forever.

    An end changes by ticks alone, so a commitment that stays open there is in one state from some time on.
    """
    operands = (one for one in system.commitments if not is_false(_dangling(system, debts, one)))
    for number, one in enumerate(operands):
        for state in OPEN:
            condition = conj((_is(system, one, state), _dangling(system, debts, one)))
            if not is_false(condition):
                is_waiting = f"{named(one)} is still {state} at the end, where nobody can act any more"
                cause = _awaited(system, one) if state == "conditional" else ways_to_close(system, one)
                has_formula = not debts[one.name].waits_for
                never = _never_settles(system, condition, one, state, has_formula=has_formula)
                yield Refinement(number, never, f"{is_waiting}; {cause}", one.span)


def owed_states(system: System, debts: Debts) -> Iterator[Refinement]:
    """Yield, for each commitment that could be owed at an end, the refinement with the shortest story."""
    for number, ((_, finding), one, stuck) in enumerate(_left_owed(system, debts)):
        is_active = stuck == _is(system, one, "active")
        never = _never_settles(system, stuck, one, "active" if is_active else "owed", has_formula=is_active)
        yield Refinement(number, never, finding, one.span)


def _never_settles(system: System, condition: Expr, one: Commitment, state: str, *, has_formula: bool) -> Formula:
    """Return that no state from which the condition holds forever leads to an end.

    Claim: it holds iff the condition holds forever at no end. Its counterexample is shorter: it reaches the first state
    from which the commitment cannot change any more, and only then what else an end requires.
    Proof. At an end that refutes the latter only time passes, so the condition holds in every state reached from it.
    """
    text = f"{state}({one.name})" if has_formula else f"{one.name} is {state}"
    changes = OnPaths("E", Finally(Not(Atom(condition, text, in_words=not has_formula))))
    never = _never_at_an_end(system, condition, one, state, has_formula=has_formula)
    return OnPaths("A", Globally(Or((changes, never))))


def _dangling(system: System, debts: Debts, one: Commitment) -> Expr:
    """Return that the commitment is open and does not wait for another one that is."""
    waiting = debts[one.name].waits_for
    targets_open = (conj((waits, _open(system, system.commitment[target]))) for target, waits in waiting)
    return conj((_open(system, one), negate(disj(targets_open))))


def forgotten(system: System, debts: Debts) -> Iterator[Placed]:
    """Yield, for each commitment that a restart takes back, that it is not owed then."""
    for one in system.commitments:
        debt, places = debts[one.name], []
        for step in _restarts_of(system, one):
            targets_in_force = (
                conj((waits, debts[target].in_force))
                for target, waits in debt.waits_for
                if system.commitment[target].variable in step.writes
            )
            places.append(conj((step.guard, debt.owed, negate(disj(targets_in_force)))))
        if not is_false(place := disj(places)):
            finding = f"{named(one)} is owed when a new round takes it back; {ways_to_close(system, one)}"
            finding = f"{finding}; or let the new round begin only `if closed({one.name})`"
            yield (_never(place, f"a restart takes back {one.name}, which is owed"), finding), one.span


def dormant(system: System, debts: Debts) -> Iterator[Listing]:
    """Yield the commitments that an end may leave conditional or suspended, and the agents that this depends on."""
    for one in system.commitments:
        conditional, suspended = _is(system, one, "conditional"), debts[one.name].suspended
        if not is_false(conditional):
            never = _never_at_an_end(system, conditional, one, "conditional")
            yield never, f"{named(one)} may be conditional at the end: {_awaited(system, one)}"
        if not is_false(suspended):
            never = _never_at_an_end(system, suspended, one, "suspended", has_formula=False)
            yield never, f"{named(one)} may be suspended at the end: it depends on {side_text(one.creditor)}"


def taken_back(system: System) -> Iterator[Listing]:
    """Yield the commitments that a restart may take back while they are conditional or on course."""
    for one in system.commitments:
        restarting = disj(step.guard for step in _restarts_of(system, one))
        lasting = conj((restarting, one.on_course))
        if not is_false(lasting):
            never = _never(lasting, f"a restart takes back {one.name}, which is on course")
            yield never, f"{named(one)} may be on course when a new round takes it back, and no longer binds then"
        place = conj((restarting, _is(system, one, "conditional")))
        if not is_false(place):
            never = _never(place, f"a restart takes back {one.name}, which is conditional")
            yield never, f"{named(one)} may be conditional when a new round takes it back"


def with_restart(system: System, evidence: Evidence) -> Evidence:
    """Extend evidence that a debt is forgotten by the restart that takes it back."""
    if evidence.run.loop is not None:
        return evidence
    here = evidence.run.states[-1]
    interpreter = Interpreter(system)
    in_force = [one.variable for one in system.commitments if here[one.variable] in ("active", "pending")]
    for number in interpreter.enabled(here):
        step = system.steps[number]
        if any(step.takes_back(variable) for variable in in_force):
            moves = (*evidence.run.moves, Move(number, next(iter(interpreter.after(here, number)))))
            return replace(evidence, run=replace(evidence.run, moves=moves))
    return evidence


# --- ends of runs


@memoize_per_system
def _ends(system: System) -> tuple[tuple[frozenset[str], Expr, bool], ...]:
    """Return each component, its terminal states, and whether time may change it.

    Components that ticks alone connect are told apart. At an end of all of them nothing but ticks is possible, so each
    stays at its end forever iff all do.
    """
    timed = TimedComponents(system)
    position = {name: number for number, component in enumerate(timed.components) for name in component}
    steps: dict[int, list[Step]] = {}
    changing = set[int]()
    for step in system.steps:
        touched = {position[name] for name in step.footprint}
        if step.kind == "tick":
            changing |= touched if step.updates else set()
        else:
            steps.setdefault(min(touched, default=0), []).append(step)
    numbers = sorted({*steps, *changing})
    return tuple((timed.components[one], terminal(steps.get(one, ())), one in changing) for one in numbers)


def _never_at_an_end(
    system: System, condition: Expr, one: Commitment, state: str, *, has_formula: bool = True
) -> Formula:
    """Return that the condition, that the commitment is in this state, holds forever at no end."""
    home = reads(condition)
    ends = _ends(system)
    here = [end for end in ends if home & end[0]]
    has_formula = has_formula and len(here) == len(ends)
    text = f"terminal & {state}({one.name})" if has_formula else f"{one.name} is {state} at an end"
    stays = Atom(conj((*(end[1] for end in here), condition)), text, in_words=not has_formula)
    operands = [_leaves(stays, any(end[2] for end in here))]
    for part, over, is_timed in ends:
        if not home & part:
            operands.append(_leaves(Atom(over, "another part is at an end", in_words=True), is_timed))
    return OnPaths("A", Globally(Or(tuple(operands)) if len(operands) > 1 else operands[0]))


def _leaves(condition: Atom, is_timed: bool) -> Formula:
    """Return that the condition does not hold forever where only time can change it."""
    negation = Not(condition)
    return OnPaths("A", Finally(negation)) if is_timed else negation


def _never(condition: Expr, text: str) -> Formula:
    return OnPaths("A", Globally(Not(Atom(condition, text, in_words=True))))


# --- commitments


def _is(system: System, commitment: Commitment, *states: str) -> Expr:
    possible = system.variable[commitment.variable].domain
    return one_of(Read(commitment.variable), [state for state in states if state in possible])


def _open(system: System, commitment: Commitment) -> Expr:
    return _is(system, commitment, *OPEN)


def _restarts_of(system: System, commitment: Commitment) -> tuple[Step, ...]:
    return tuple(step for step in system.steps if step.takes_back(commitment.variable))


def named(commitment: Commitment) -> str:
    return f"`{commitment.name}` ({commitment.debtor} to {commitment.creditor})"


def ways_to_close(system: System, commitment: Commitment) -> str:
    """Describe the messages that could close the commitment, those that fulfil it first."""
    fulfilling = dict.fromkeys(message.name for message in mentioned(system, commitment.consequent))
    closing: dict[str, str] = {}
    for step in system.steps:
        for operation in step.operations:
            if operation.commitment != commitment.name:
                continue
            if operation.verb == "fulfill":
                fulfilling[step.event] = None
            elif operation.verb in CLOSING:
                closing.setdefault(step.event, CLOSING[operation.verb])
    ways = [f"`{name}` would fulfil it" for name in fulfilling]
    ways += [f"`{name}` would {verb} it" for name, verb in closing.items() if name not in fulfilling]
    ways += [f"`{name}` may decide it" for name in _named_in_content(system, commitment)]
    if not ways and commitment.content:
        return f"`{commitment.content}` decides it"
    return ", ".join(ways[:_MAX_MESSAGES]) or "no message can close it"


def _named_in_content(system: System, commitment: Commitment) -> list[str]:
    """Return the messages that a content formula names."""
    words = set(_NAMES.findall(commitment.content))
    return [message.name for message in system.messages if message.name in words]


def _awaited(system: System, commitment: Commitment) -> str:
    """Describe the agents whose messages would activate the commitment."""
    messages = mentioned(system, commitment.antecedent)
    if not messages:
        return "nobody took it up"
    senders = " or ".join(dict.fromkeys(message.sender for message in messages))
    names = ", ".join(f"`{message.name}`" for message in messages[:_MAX_MESSAGES])
    return f"it depends on {senders} ({names})"


def mentioned(system: System, condition: Expr) -> list[Message]:
    """Return the messages whose receipt the condition reads."""
    variables = reads(condition)
    return [message for message in system.messages if reads(message.received) & variables]
