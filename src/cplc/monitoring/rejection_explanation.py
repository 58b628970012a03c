"""Explanations of rejected events: the violated conditions, and the events that are allowed instead."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Final

from cplc.language.amounts import number_in
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, reads, value_text
from cplc.monitoring.event_matching import ResolvedEvent
from cplc.monitoring.findings import Duplicate, OutOfOrder, Rejected, TooLate
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.system.model import System, Variable
from cplc.system.printer import condition_text

_MOST: Final = 8
_STATES: Final = 64
"""Maximum number of possible states that are examined for the reason."""

Reason = tuple[type[Rejected], tuple[str, ...]]


def reason(tracker: StateTracker, states: States, inferring: bool, resolved: ResolvedEvent) -> Reason:
    """Return the kind of the rejection, and the conditions that do not hold.

    Of several possible states and steps the one with the fewest failing conditions counts.
    """
    nearest: list[Expr] | None = None
    at = states[0]
    for way in resolved.ways:
        for state in islice(tracker.before(states, way, inferring), _STATES):
            failing = _failing(tracker, way[0], state)
            if nearest is None or len(failing) < len(nearest):
                nearest, at = failing, state
    own = {one.name for one in resolved.messages}
    if nearest is None:
        is_sent = any(tracker.system.steps[one].event in own for one in tracker.visible_steps)
        values = " with these values" if is_sent and not resolved.ways else ""
        return OutOfOrder, (f"no step of the protocol allows it{values}",)
    step = tracker.system.steps[resolved.ways[0][0]]
    payload = frozenset(str(value) for _, value in step.payload)
    missing = (_nearest(tracker, condition, at) for condition in nearest)
    because = tuple(dict.fromkeys(_words(tracker, condition, at, payload) for condition in missing))[:_MOST]
    if step.kind == "receive":
        return OutOfOrder, ("it is not in transit",)
    if any(_says_sent(tracker, condition, own) for condition in nearest):
        return Duplicate, ()
    if any(_has_run_out(tracker, condition, at) for condition in nearest):
        return TooLate, because
    return OutOfOrder, because


def expected(tracker: StateTracker, states: States, inferring: bool, roles: frozenset[str]) -> tuple[str, ...]:
    """Return what these roles may send now or, if nothing, what others may send."""
    messages_by_role: dict[str, dict[str, None]] = {}
    for step in tracker.visible_steps:
        taken = tracker.system.steps[step]
        if taken.event not in messages_by_role.get(taken.actor, ()) and tracker.is_possible(states, step, inferring):
            messages_by_role.setdefault(taken.actor, {})[taken.event] = None
    own = [message for role in messages_by_role if role in roles for message in messages_by_role[role]]
    listed = own or [f"{message} by {role}" for role, messages in messages_by_role.items() for message in messages]
    return (*listed[:_MOST], *([f"{len(listed) - _MOST} more"] if len(listed) > _MOST else []))


def _failing(tracker: StateTracker, step: int, state: int) -> list[Expr]:
    guard = tracker.system.steps[step].guard
    parts: Sequence[Expr] = guard.operands if isinstance(guard, e.And) else (guard,)
    return [part for part in parts if not tracker.packing.condition(part)(state)]


def _nearest(tracker: StateTracker, condition: Expr, state: int) -> Expr:
    """Return the failing part of a condition: of a disjunction, those operands with the fewest failing conditions."""
    match condition:
        case e.And(operands):
            failing = [one for one in operands if not tracker.packing.condition(one)(state)]
            return e.conj(_nearest(tracker, one, state) for one in failing)
        case e.Or(operands):
            parts = [_nearest(tracker, one, state) for one in operands]
            fewest = min(map(_count, parts))
            return e.disj(one for one in parts if _count(one) == fewest)
        case _:
            return condition


def _count(condition: Expr) -> int:
    return sum(1 for _ in e.conjuncts(condition))


def _says_sent(tracker: StateTracker, condition: Expr, own: set[str]) -> bool:
    match condition:
        case e.Not(e.Read(name)):
            variable = tracker.system.variable[name]
            return variable.kind == "copy" and variable.about in own
        case _:
            return False


def _has_run_out(tracker: StateTracker, condition: Expr, state: int) -> bool:
    """Tell whether the condition depends on a commitment whose deadline has expired."""
    for name in reads(condition):
        variable = tracker.system.variable[name]
        commitment = tracker.system.commitment.get(variable.about)
        if variable.kind in ("commitment", "view") and commitment is not None:
            value = tracker.packing.value(name, state)
            if (value == "expired" and commitment.expires is not None) or (
                value == "violated" and commitment.within is not None
            ):
                return True
    return False


# --- text of conditions


def _words(tracker: StateTracker, condition: Expr, state: int, payload: frozenset[str]) -> str:
    """Return the failing condition in terms of messages instead of variables."""
    system = tracker.system
    if system.open_domains and (order := _in_order(system, condition, payload)) is not None:
        name, text = order
        return f"`{text}` does not hold ({name} = {value_text(tracker.packing.value(name, state))})"
    match condition:
        case e.Read(name) if system.variable[name].kind == "copy":
            return _not_there(tracker, system.variable[name])
        case e.Not(e.Read(name)) if system.variable[name].kind == "copy":
            variable = system.variable[name]
            return f"`{variable.about}` has been {_done(tracker, variable)} already"
        case e.Not(e.And((e.Read(sent), e.Not(e.Read(received))))) if _is_copy(tracker, sent, received):
            return f"`{system.variable[sent].about}` is still under way"
        case e.Not(e.Or(operands)):
            true = [one for one in operands if tracker.packing.condition(one)(state)]
            return "; ".join(_words(tracker, e.negate(one), state, payload) for one in true)
        case e.Equal(e.Read(name), e.Const(_)) if system.variable[name].kind == "queue":
            return f"the queue {system.variable[name].about} is full"
        case e.Not(e.Equal(e.Read(name), e.Const(value))) | e.Equal(e.Read(name), e.Const(value)):
            variable = system.variable[name]
            if variable.kind in ("view", "commitment", "claim", "standing"):
                now = tracker.packing.value(name, state)
                required = "" if isinstance(condition, e.Not) else f", not {value}"
                return f"`{variable.about}` is {now}{required}"
        case e.Or(operands) if operands and all(_is_short(system, one) for one in operands):
            return " and ".join(dict.fromkeys(_words(tracker, one, state, payload) for one in operands))
        case _:
            pass
    shown = ", ".join(_values(tracker, condition, state))
    return f"`{condition_text(system, condition)}` does not hold" + (f" ({shown})" if shown else "")


def _in_order(system: System, condition: Expr, payload: frozenset[str]) -> tuple[str, str] | None:
    """Return the variable and the text of a comparison by order, which lowering spells out over the amounts.

    An amount of the payload or of the protocol separates the amounts that are named from the others: they are all
    those below it, or all those above. A single one that is such an amount itself is compared by equality.
    """
    is_negated = isinstance(condition, e.Not)
    inner = condition.operand if isinstance(condition, e.Not) else condition
    named: set[str] = set()
    names: set[str] = set()
    for part in inner.operands if isinstance(inner, e.Or) else (inner,):
        match part:
            case e.Equal(e.Read(name), e.Const(str() as value)):
                names.add(name)
                named.add(value)
            case _:
                return None
    domain = next((one for one in system.open_domains if any(place.variable in names for place in one.places)), None)
    if len(names) != 1 or domain is None or not domain.is_ordered:
        return None
    amounts = sorted({*domain.constants, *domain.free}, key=number_in)
    mentioned = payload | set(domain.constants)
    if len(named) == 1 and named <= mentioned:
        return None
    (name,), number = names, len(named)
    if named == set(amounts[:number]) and number < len(amounts) and amounts[number] in mentioned:
        return name, f"{name} {'>=' if is_negated else '<'} {amounts[number]}"
    if named == set(amounts[-number:]) and number < len(amounts) and amounts[-number - 1] in mentioned:
        return name, f"{name} {'<=' if is_negated else '>'} {amounts[-number - 1]}"
    return None


def _values(tracker: StateTracker, condition: Expr, state: int) -> Iterator[str]:
    """Yield the values and standings that the condition depends on."""
    for name in sorted(reads(condition)):
        variable, value = tracker.system.variable[name], tracker.packing.value(name, state)
        if variable.kind == "standing":
            yield f"`{variable.about}` is {value}"
        elif variable.kind in ("own", "field"):
            yield f"{name} = {value_text(value)}"


def _is_copy(tracker: StateTracker, *names: str) -> bool:
    return all(tracker.system.variable[name].kind == "copy" for name in names)


def _is_short(system: System, condition: Expr) -> bool:
    """Tell whether the condition has a text of its own that is shorter than a formula with its values."""
    names = reads(condition)
    is_single = isinstance(condition, e.Read | e.Equal) and len(names) == 1
    return is_single and all(system.variable[name].kind not in ("own", "field") for name in names)


def _done(tracker: StateTracker, variable: Variable) -> str:
    return "sent" if tracker.system.message[variable.about].sender == variable.owner else "received"


def _not_there(tracker: StateTracker, variable: Variable) -> str:
    message = tracker.system.message[variable.about]
    if message.sender == variable.owner:
        return f"{message.sender} has not sent `{message.name}`"
    receiver = variable.owner if variable.owner in message.receivers else message.receivers[0]
    return f"{receiver} has not received `{message.name}`"
