"""Repairs of failing checks: what to change in the protocol, by the run that refutes the check."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from cplc.checking.results import Result
from cplc.language.groups import members
from cplc.logic.expressions import reads
from cplc.report.step_text import joined
from cplc.report.trace_narration import has_trace, told
from cplc.system.model import Commitment, Message, System
from cplc.system.trace import Run

_MAX_COMMITMENTS: Final = 3
_MAX_MESSAGES: Final = 5
_QUOTED: Final = re.compile(r"`([^`]+)`")


def repair_sentences(result: Result) -> Iterator[str]:
    """Yield what to change where a check fails, as far as that is known."""
    if result.question.kind != "check" or result.answer != "fails":
        return
    if result.question.name == "live":
        yield from _dead_messages(result)
    if result.question.name == "no_dangling" and result.evidence is not None and has_trace(result.evidence):
        yield from _conditional_at_the_end(result, told(result.system, result.evidence).run)


def _conditional_at_the_end(result: Result, run: Run) -> Iterator[str]:
    last = run.states[-1]
    first = result.findings[0] if result.findings else ""
    commitments = [one for one in result.system.commitments if f"`{one.name}`" in first]
    for one in commitments[:_MAX_COMMITMENTS]:
        if last[one.variable] != "conditional":
            continue
        by_creditor = _last_message(result.system, run, one, one.creditor)
        by_debtor = _last_message(result.system, run, one, one.debtor)
        if by_creditor is not None:
            way = f"let `{by_creditor.name}` release it (`means release {one.name}`)"
        elif by_debtor is not None and not _creates(result.system, by_debtor, one):
            way = f"let `{by_debtor.name}` withdraw it (`means withdraw {one.name}`)"
        else:
            way = "give it a time (`expires`)"
        yield f"If that is a normal end for {one.name}, {way}."


def _last_message(system: System, run: Run, one: Commitment, sender: str) -> Message | None:
    """Return the last message between the parties since the creation, of the same member of families if possible."""
    receivers = members(one.creditor if sender == one.debtor else one.debtor)
    index = one.name.partition("[")[2]
    messages: list[Message] = []
    for before, move in zip(run.states, run.moves, strict=False):
        step = None if move.step is None else system.steps[move.step]
        if step is not None and step.kind in ("receive", "exchange") and before[one.variable] != "null":
            messages.append(system.message[step.event])
    between = [one for one in messages if one.sender in members(sender) and set(receivers) & set(one.receivers)]
    same = [message for message in between if message.name.partition("[")[2] == index]
    return next(reversed(same or between), None)


def _creates(system: System, message: Message, commitment: Commitment) -> bool:
    operations = (operation for step in system.steps if step.event == message.name for operation in step.operations)
    return any(one.commitment == commitment.name and one.verb == "create" for one in operations)


def _awaited(system: System, message: Message, dead: list[str]) -> list[str]:
    """Return the dead messages whose receipt a guard of the message asks for."""
    guards = (one.guard for one in system.steps if one.event == message.name and one.kind in ("send", "exchange"))
    variables = frozenset(variable for guard in guards for variable in reads(guard))
    received = (one for one in system.messages if message.sender in one.receivers and one.name != message.name)
    return [one.name for one in received if one.name in dead and reads(one.received) & variables]


def _dead_messages(result: Result) -> Iterator[str]:
    """Yield which messages are never received because others are not, and those that are the first cause."""
    system = result.question.system or result.system
    quoted = dict.fromkeys(_QUOTED.findall(" ".join(result.findings)))
    dead = [name for name in quoted if name in system.message]
    waits = {name: _awaited(system, system.message[name], dead) for name in dead}
    causes = [name for name in dead if not waits[name]]
    for name in dead[:_MAX_MESSAGES]:
        if waits[name]:
            names = joined([f"`{other}`" for other in waits[name][:_MAX_MESSAGES]], "and")
            yield f"`{name}` waits for {names}."
    if causes and len(causes) < len(dead):
        names = joined([f"`{name}`" for name in causes[:_MAX_MESSAGES]], "and")
        yield f"Begin with {names}, which {'wait' if len(causes) > 1 else 'waits'} for none of the others."
