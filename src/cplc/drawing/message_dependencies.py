"""Dependencies and mutual exclusion of messages, derived from the guards of send steps.

A guard is a conjunction. A positive copy of another message is a prerequisite, a disjunction of copies an alternative
prerequisite. A negated copy of another message by the same sender excludes that message.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from cplc.logic.expressions import And, Expr, Not, Or, Read, conjuncts
from cplc.records import dataclass
from cplc.system.model import Step, System


@dataclass(frozen=True, slots=True)
class MessageDependency:
    """A message with groups of prerequisites, of each of which it needs one, and the messages that exclude it."""

    name: str
    sender: str
    receiver: str
    after: tuple[tuple[str, ...], ...]
    exclusive: tuple[str, ...]
    effects: tuple[str, ...]
    """Operations on commitments and claims."""

    @property
    def prerequisites_text(self) -> str:
        return ", ".join(" or ".join(group) for group in self.after)

    def renamed(self, rename: Callable[[str], str]) -> MessageDependency:
        after = tuple(dict.fromkeys(tuple(dict.fromkeys(map(rename, group))) for group in self.after))
        return replace(
            self,
            name=rename(self.name),
            sender=rename(self.sender),
            receiver=rename(self.receiver),
            after=tuple(group for group in after if rename(self.name) not in group),
            exclusive=tuple(one for one in dict.fromkeys(map(rename, self.exclusive)) if one != rename(self.name)),
            effects=tuple(dict.fromkeys(map(rename, self.effects))),
        )


def message_dependencies(system: System) -> tuple[MessageDependency, ...]:
    """Return the dependencies of each message, in the order of the protocol."""
    steps: dict[str, list[Step]] = {message.name: [] for message in system.messages}
    for step in system.steps:
        if step.event in steps and step.kind != "restart":
            steps[step.event].append(step)
    return tuple(
        MessageDependency(
            message.name,
            message.sender,
            message.receiver,
            tuple(
                dict.fromkeys(
                    group for step in _sendings(steps[message.name]) for group in _prerequisites(system, step)
                )
            ),
            tuple(
                dict.fromkeys(
                    one for step in _sendings(steps[message.name]) for one in _exclusive_messages(system, step)
                )
            ),
            tuple(dict.fromkeys(o.act for step in steps[message.name] for o in step.operations)),
        )
        for message in system.messages
    )


def _sendings(steps: Iterable[Step]) -> Iterator[Step]:
    return (step for step in steps if step.kind in ("send", "exchange"))


def _prerequisites(system: System, step: Step) -> Iterator[tuple[str, ...]]:
    for part in conjuncts(step.guard):
        required = tuple(dict.fromkeys(one for one in _required_messages(system, part) if one != step.event))
        if required:
            yield required


def _required_messages(system: System, part: Expr) -> Iterator[str]:
    """Yield the messages of which a conjunct of a guard requires a copy."""
    match part:
        case Read(name) if system.variable[name].kind == "copy":
            yield system.variable[name].about
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _required_messages(system, operand)
        case _:
            pass


def _exclusive_messages(system: System, step: Step) -> Iterator[str]:
    for part in conjuncts(step.guard):
        match part:
            case Not(Read(name)):
                variable = system.variable[name]
                sender = system.message[variable.about].sender if variable.about in system.message else ""
                if variable.kind == "copy" and variable.about != step.event and sender == variable.owner == step.actor:
                    yield variable.about
            case _:
                pass


def topological_order(needs: Sequence[MessageDependency]) -> tuple[MessageDependency, ...]:
    """Return the messages in topological order, with alternatives adjacent if possible.

    A dependency cycle is broken at its first message in the order of the protocol.
    """
    names = {need.name for need in needs}
    remaining = dict.fromkeys(needs)
    done: set[str] = set()
    ordered: list[MessageDependency] = []

    def is_ready(need: MessageDependency) -> bool:
        return all(any(one in done or one not in names for one in group) for group in need.after)

    while remaining:
        previous = ordered[-1] if ordered else None
        ready = [need for need in remaining if is_ready(need)] or [next(iter(remaining))]
        beside = [need for need in ready if previous is not None and need.name in previous.exclusive]
        chosen = (beside or ready)[0]
        del remaining[chosen]
        done.add(chosen.name)
        ordered.append(chosen)
    return tuple(ordered)


def alternatives(ordered: Sequence[MessageDependency]) -> tuple[tuple[MessageDependency, ...], ...]:
    """Return groups of adjacent, mutually exclusive messages."""
    groups: list[list[MessageDependency]] = []
    for need in ordered:
        if groups and all(need.name in one.exclusive and one.name in need.exclusive for one in groups[-1]):
            groups[-1].append(need)
        else:
            groups.append([need])
    return tuple(map(tuple, groups))
