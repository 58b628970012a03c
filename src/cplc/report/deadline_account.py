"""Accounting of deadlines: who could act, or what was in flight, at each tick of a deadline that ran out on a run.

The account is computed from the replayed run by the interpreter of the system, never from an engine's result. A tick
that passed while an awaited message could not be sent is charged to the first thing that it waited for, transitively:
a message that its guard needs, or one that occupies its channel.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, Literal

from cplc.logic.expressions import And, Expr, Ite, Not, Or, reads
from cplc.records import dataclass
from cplc.report.step_text import counted, joined, ticks_text
from cplc.system.interpreter import holds
from cplc.system.model import Commitment, Message, State, Step, System
from cplc.system.trace import Run

_MAX_AWAITED: Final = 3
_NAME: Final = re.compile(r"[A-Za-z_][\w.]*(?:\[[\w,]*\][\w.]*)*")


@dataclass(frozen=True, slots=True)
class Wait:
    """Ticks that passed for the same reason."""

    kind: Literal["unsent", "in flight", "impossible"]
    message: str
    """The message that could be sent, or was in flight; the awaited one if nothing led to it."""
    role: str
    """The role that could send it."""
    ticks: int


@dataclass(frozen=True, slots=True)
class Awaited:
    """A message that would have kept the deadline, with the ticks that passed without it."""

    message: str
    possible_from: int | None
    """The number of the step after which it could first be sent while the deadline ran; 0 for the first state."""
    sent: int | None
    """The number of the step that sent it, if it was not received in time."""
    waits: tuple[Wait, ...]


@dataclass(frozen=True, slots=True)
class DeadlineAccount:
    """A deadline that ran out on a run: its ticks, and the messages that did not come."""

    commitment: str
    clause: Literal["within", "expires"]
    ticks: int
    began: int
    """The number of the step after which the deadline began to run."""
    ended: int
    awaited: tuple[Awaited, ...]


def deadline_accounts(system: System, run: Run) -> tuple[DeadlineAccount, ...]:
    """Return the account of every deadline that ran out on the run, in the order of its steps."""
    states = run.states
    accounts: list[DeadlineAccount] = []
    for number, (before, move) in enumerate(zip(states, run.moves, strict=False), 1):
        if move.step is None or system.steps[move.step].kind != "tick":
            continue
        for one in system.commitments:
            change = before[one.variable], move.state[one.variable]
            if change == ("active", "violated") and one.within is not None:
                accounts.append(_account(system, run, one, "within", number))
            elif change == ("conditional", "expired") and one.expires is not None:
                accounts.append(_account(system, run, one, "expires", number))
    return tuple(account for account in accounts if account.ticks)


def _account(
    system: System, run: Run, commitment: Commitment, clause: Literal["within", "expires"], ended: int
) -> DeadlineAccount:
    running = "active" if clause == "within" else "conditional"
    states = run.states
    began = ended - 1
    while began and states[began - 1][commitment.variable] in (running, "pending"):
        began -= 1
    ticks = [
        at for at in range(began, ended) if states[at][commitment.variable] == running and _is_tick(system, run, at)
    ]
    messages = _awaited_messages(system, commitment, clause, states[ended - 1])
    awaited = (_awaited(system, run, message, ticks, began, ended) for message in messages[:_MAX_AWAITED])
    return DeadlineAccount(commitment.name, clause, len(ticks), began, ended, tuple(awaited))


def _is_tick(system: System, run: Run, at: int) -> bool:
    step = run.moves[at].step
    return step is not None and system.steps[step].kind == "tick"


def _awaited_messages(
    system: System, commitment: Commitment, clause: Literal["within", "expires"], state: State
) -> list[Message]:
    """Return the messages not received that the condition of the deadline depends on positively."""
    if clause == "within" and commitment.content:
        names = set(_NAME.findall(commitment.content))
        return [one for one in system.messages if one.name in names and not holds(one.received, state)]
    condition = commitment.consequent if clause == "within" else commitment.antecedent
    positive = set(_positive_reads(condition, True))
    return [one for one in system.messages if reads(one.received) & positive and not holds(one.received, state)]


def _positive_reads(condition: Expr, positive: bool) -> Iterator[str]:
    """Yield the variables that the condition may need to be true."""
    match condition:
        case Not(operand):
            yield from _positive_reads(operand, not positive)
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _positive_reads(operand, positive)
        case Ite(when, then, otherwise):
            yield from reads(when)
            yield from _positive_reads(then, positive)
            yield from _positive_reads(otherwise, positive)
        case _ if positive:
            yield from reads(condition)
        case _:
            pass


def _awaited(system: System, run: Run, message: Message, ticks: list[int], began: int, ended: int) -> Awaited:
    states = run.states
    waits: dict[tuple[Literal["unsent", "in flight", "impossible"], str, str], int] = {}
    for at in ticks:
        wait = _reason(system, states[at], message, frozenset())
        waits[wait] = waits.get(wait, 0) + 1
    possible = (at for at in range(began, ended) if _is_possible(system, states[at], message))
    sent: int | None = None
    if holds(message.in_flight, states[ended - 1]):
        sent = next(at for at in range(ended - 1, -1, -1) if at == 0 or not holds(message.in_flight, states[at - 1]))
    return Awaited(message.name, next(possible, None), sent, tuple(Wait(*key, count) for key, count in waits.items()))


def _sendings(system: System, message: Message) -> Iterator[Step]:
    return (step for step in system.steps if step.event == message.name and step.kind in ("send", "exchange"))


def _is_possible(system: System, state: State, message: Message) -> bool:
    return any(holds(step.guard, state) for step in _sendings(system, message))


def _reason(
    system: System, state: State, message: Message, visited: frozenset[str]
) -> tuple[Literal["unsent", "in flight", "impossible"], str, str]:
    """Return what a message waits for in a state."""
    if holds(message.in_flight, state):
        return "in flight", message.name, message.sender
    if _is_possible(system, state, message):
        return "unsent", message.name, message.sender
    for step in _sendings(system, message):
        conjuncts = step.guard.operands if isinstance(step.guard, And) else (step.guard,)
        missing = [conjunct for conjunct in conjuncts if not holds(conjunct, state)]
        occupying = (one for one in system.messages if Not(one.in_flight) in missing and one.name not in visited)
        for other in occupying:
            return "in flight", other.name, other.sender
        needed = {name for conjunct in missing for name in _positive_reads(conjunct, True)}
        excluded = visited | {message.name}
        for other in system.messages:
            if other.name not in excluded and _is_awaited(state, message, other, needed):
                reason = _reason(system, state, other, excluded)
                if reason[0] != "impossible":
                    return reason
    return "impossible", message.name, message.sender


def _is_awaited(state: State, message: Message, other: Message, needed: set[str]) -> bool:
    """Tell whether the sender must send or receive the other message before it can send this one."""
    if other.sender == message.sender and not holds(other.sent, state):
        return bool(needed & reads(other.sent))
    return (
        message.sender in other.receivers and not holds(other.received, state) and bool(needed & reads(other.received))
    )


def account_sentence(system: System, account: DeadlineAccount) -> str | None:
    """Return the account as a sentence; None if the deadline waited for no message."""
    if not account.awaited:
        return None
    clauses = [_clause(one) for one in account.awaited]
    limit = ticks_text(system, account.ticks)
    return f"{'; '.join(clauses)}; the deadline of {account.commitment} is {limit}."


def _clause(awaited: Awaited) -> str:
    if awaited.possible_from is not None:
        when = f"after step {awaited.possible_from}" if awaited.possible_from else "from the start"
        begin = f"`{awaited.message}` was possible {when}"
    elif awaited.sent is not None:
        begin = f"`{awaited.message}` had been sent"
    else:
        begin = f"`{awaited.message}` was never possible"
    if awaited.sent:
        begin += f"{' and sent' if awaited.possible_from is not None else ''} at step {awaited.sent}"
    parts = [_wait_text(one, awaited.message, is_first=at == 0) for at, one in enumerate(awaited.waits)]
    return f"{begin}: {joined(parts, 'and')}"


def _wait_text(wait: Wait, awaited: str, *, is_first: bool) -> str:
    ticks = f"{counted(wait.ticks, 'tick')} passed" if is_first else str(wait.ticks)
    what = "it" if wait.message == awaited else f"`{wait.message}`"
    match wait.kind:
        case "unsent":
            return f"{ticks} while {wait.role} could send {what}"
        case "in flight":
            return f"{ticks} while {what} was in flight"
        case "impossible":
            return f"{ticks} while nothing led to it"
