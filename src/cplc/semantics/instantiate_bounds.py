"""Instantiation of channels and of assumptions: the messages they are about, and their bounds in ticks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final, Literal

from cplc.diagnostics import rules
from cplc.diagnostics.core import Edit, Fix, Note
from cplc.records import dataclass
from cplc.semantics import model, resolved
from cplc.semantics.instances import MAX_FAMILY_SIZE, InstanceTable, OtherDeclaration, PendingInstance
from cplc.semantics.instantiate import may_coincide
from cplc.semantics.instantiate_terms import Resolver, where
from cplc.source import Span


def assumptions(
    assumed: Iterable[tuple[tuple[str, ...], int | None]], senders: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[model.Bound, ...]]:
    """Return the roles and messages that make progress, and the bounds on messages, given the senders of all messages.

    A bound counts for messages just before it that have none: ``m, n within 2`` is about both. The smallest bound of a
    message counts.
    """
    progress: dict[str, None] = {}
    ticks: dict[str, int] = {}
    unbounded: list[str] = []
    for names, bound in assumed:
        progress.update(dict.fromkeys(names))
        if bound is None:
            unbounded = [*unbounded, *names] if all(name in senders for name in names) else []
            continue
        members = (name for name in (*unbounded, *names))
        for message in (m for one in members for m in ([one] if one in senders else _sent_by(one, senders))):
            ticks[message] = min(bound, ticks.get(message, bound))
        unbounded = []
    grouped: dict[int, list[str]] = {}
    for message in senders:
        if message in ticks:
            grouped.setdefault(ticks[message], []).append(message)
    return tuple(progress), tuple(model.Bound(tuple(messages), bound) for bound, messages in sorted(grouped.items()))


@dataclass(frozen=True)
class ChannelKinds:
    """Channels that lose, duplicate or queue messages, by sender and receiver."""

    losses: Mapping[tuple[str, str], int | None]
    """The most losses of a message in a row; None for any number."""
    duplicates: Mapping[tuple[str, str], int]
    """The most duplicates of a sending."""
    queues: Mapping[tuple[str, str], int]
    """The number of places of queues with several."""

    def of_messages(self, messages: Iterable[model.Message]) -> tuple[model.Message, ...]:
        """Return the messages with what may befall them on the way to each receiver."""
        return tuple(
            replace(
                message,
                losses=tuple((one[1], self.losses[one]) for one in message.channels if one in self.losses),
                duplicates=tuple((one[1], self.duplicates[one]) for one in message.channels if one in self.duplicates),
                queues=tuple((one[1], self.queues[one]) for one in message.channels if one in self.queues),
            )
            for message in messages
        )


_Unit = Literal["losses", "duplicates", "places"]
_BEFALLS: Final[dict[_Unit, tuple[str, str]]] = {
    "losses": ("lossy", "lost"),
    "duplicates": ("duplicating", "duplicated"),
    "places": ("fifo", "queued"),
}
"""Each count, with the option of a channel that it belongs to and the fate of a message there."""

_TAKES_AWAY: Final = "may lose, repeat or reorder what is sent"
MAX_PLACES: Final = 100
"""Maximum length of a queue: each place is a variable that every sending may write."""

_ABSENT: Final = object()
"""The count of a fault that a channel is not declared to have."""


def _without_bound(declaration: Span) -> Iterator[Fix]:
    """Yield the fix that removes `within k`, or the declaration if it says nothing else."""
    *_, bound = re.finditer(r"\bwithin\b", declaration.text)
    rest = declaration.text[: bound.start()].rstrip()
    start = declaration.start + len(rest) if rest.endswith("unordered") else declaration.start
    yield Fix("Remove the delay", (Edit(Span(declaration.source, start, declaration.end), ""),))


def _sent_by(role: str, senders: Mapping[str, str]) -> Iterator[str]:
    return (message for message, sender in senders.items() if sender == role)


class BoundInstantiator:
    """Instantiates the channels and assumptions of one `InstanceTable`."""

    def __init__(self, table: InstanceTable) -> None:
        self._table = table

    def unordered(self) -> Iterator[tuple[str, str]]:
        for pending, channel in self._channels:
            if channel.is_unordered:
                yield from self._ends(pending, channel)

    def delays(self, *, is_sync: bool) -> dict[tuple[str, str], int]:
        """Return the delays of channels; a declaration that names a channel counts before one for all.

        ``is_sync`` tells whether the protocol is declared so that messages take no time.
        """
        delays: dict[tuple[str, str], int] = {}
        first: dict[tuple[bool, tuple[str, str]], Span] = {}
        for pending, channel in sorted(self._channels, key=lambda one: one[1].sender is not None):
            ticks = self._ticks(channel.within, pending, channel.span)
            if ticks is None:
                continue
            if is_sync and not pending.protocol_instance.path:
                self._table.problems.report(
                    rules.SYNC_DELAY,
                    channel.span,
                    "Messages take no time where channels are `sync`, so a delay has no meaning",
                    Note("leave out `sync`, or this bound"),
                    fixes=_without_bound(channel.span),
                )
            for ends in self._ends(pending, channel):
                key = channel.sender is not None, ends
                if key in first and ticks != delays[ends]:
                    message = f"The channel {ends[0]} -> {ends[1]} has two bounds: {delays[ends]} and {ticks} ticks"
                    note = Note("the first is here", first[key])
                    self._table.problems.report(rules.BAD_DEADLINE, channel.span, message, note)
                first[key] = channel.span
                delays[ends] = ticks
        return delays

    def kinds(self, *, is_declared_sync: bool, is_sync: bool) -> ChannelKinds:
        """Return the channels that may lose, duplicate or queue messages; none with synchronous channels.

        A declaration that names a channel counts before one for all, and `lossy(0)` is a channel that loses nothing.
        """
        losses = self._counts(lambda one: one.losses if one.is_lossy else _ABSENT, "losses", is_sync=is_declared_sync)
        duplicates = self._counts(
            lambda one: one.duplicates if one.is_duplicating else _ABSENT, "duplicates", is_sync=is_declared_sync
        )
        queues = self._counts(
            lambda one: _ABSENT if one.places is None else one.places, "places", is_sync=is_declared_sync
        )
        kinds = ChannelKinds(
            losses,
            {ends: 1 if most is None else most for ends, most in duplicates.items()},
            {ends: count for ends, count in queues.items() if count is not None and count > 1},
        )
        self._refuse_queues(kinds, is_sync=is_declared_sync)
        return ChannelKinds({}, {}, {}) if is_sync else kinds

    def _refuse_queues(self, kinds: ChannelKinds, *, is_sync: bool) -> None:
        """Report queues of which another option of the channel says the contrary."""
        contrary = {
            "unordered": frozenset(self.unordered()),
            "duplicating": kinds.duplicates.keys(),
            "within": () if is_sync else self.delays(is_sync=False).keys(),
        }
        for pending, channel in self._channels:
            for ends in self._ends(pending, channel) if channel.places is not None else ():
                for option, channels in contrary.items() if ends in kinds.queues else ():
                    if ends in channels:
                        message = f"The channel {ends[0]} -> {ends[1]} is a queue, and cannot be `{option}` as well"
                        self._table.problems.report(rules.BAD_QUEUE, channel.span, message)

    def on_channels(self, kinds: ChannelKinds, messages: Iterable[model.Message]) -> tuple[model.Message, ...]:
        """Return the messages with the kinds of their channels, and report those that clear one in a queue."""
        messages = kinds.of_messages(messages)
        self._refuse_answers(messages)
        queued = {message.name for message in messages if message.queues}
        for message in messages:
            for name in message.resets:
                if name in queued:
                    text = f"`{name}` is sent on a channel with a queue: it cannot be reset"
                    note = Note("end the round with `restart`, which waits until the queue is empty")
                    self._table.problems.report(rules.BAD_QUEUE, message.span, text, note)
        return messages

    def _refuse_answers(self, messages: Iterable[model.Message]) -> None:
        """Report answers that clear their request where either may be lost, duplicated, queued or overtaken."""
        by_name = {message.name: message for message in messages}
        unordered = frozenset(self.unordered())
        for message in by_name.values():
            request = by_name.get(message.request or "")
            for one in (request, message) if request is not None and message.repeatable else ():
                if one.tracked_to or not unordered.isdisjoint(one.channels):
                    text = f"`{message.request}` is asked again and again, on a channel that {_TAKES_AWAY}"
                    note = Note("write the answers as messages of their own, each with the number of its request")
                    self._table.problems.report(rules.BAD_REPLY, message.span, text, note)
                    break

    def _counts(
        self,
        count_of: Callable[[resolved.Channel], resolved.Tree | object | None],
        unit: _Unit,
        *,
        is_sync: bool,
    ) -> dict[tuple[str, str], int | None]:
        """Return the channels with one kind of fault, and the count given for it; None where there is none."""
        counts: dict[tuple[str, str], int | None] = {}
        first: dict[tuple[bool, tuple[str, str]], Span] = {}
        declared = (one for one in self._channels if count_of(one[1]) is not _ABSENT)
        for pending, channel in sorted(declared, key=lambda one: one[1].sender is not None):
            given: resolved.Tree | None = getattr(channel, unit)
            most = None if given is None else self._count(given, self._resolver(pending), channel.span, unit)
            if is_sync and not pending.protocol_instance.path:
                self._table.problems.report(
                    rules.SYNC_LOSS,
                    channel.span,
                    "Messages arrive in the step that sends them where channels are `sync`, so none is "
                    + _BEFALLS[unit][1],
                    Note(f"leave out `sync`, or this `{_BEFALLS[unit][0]}`"),
                )
            for ends in self._ends(pending, channel):
                key = channel.sender is not None, ends
                if key in first and most != counts[ends]:
                    message = f"The channel {ends[0]} -> {ends[1]} has two bounds of its {unit}"
                    note = Note("the first is here", first[key])
                    self._table.problems.report(rules.BAD_DEADLINE, channel.span, message, note)
                first[key] = channel.span
                counts[ends] = most
        return {ends: most for ends, most in counts.items() if most != 0}

    def _ticks(self, tree: resolved.Tree | None, pending: PendingInstance[OtherDeclaration], span: Span) -> int | None:
        """Return a bound in ticks, which may be 0."""
        return None if tree is None else self._count(tree, self._resolver(pending), span, "ticks")

    def ticks(self, tree: resolved.Tree | None, resolver: Resolver, span: Span) -> int | None:
        """Return a bound in ticks, which may be 0, where these names have values."""
        return None if tree is None else self._count(tree, resolver, span, "ticks")

    def _resolver(self, pending: PendingInstance[OtherDeclaration]) -> Resolver:
        return Resolver(self._table, pending.protocol_instance, pending.values)

    def refuse_groups(self, commitments: Iterable[model.Commitment], participants: Iterable[model.Participant]) -> None:
        """Report participants who play some of the debtors of a group, and not all."""
        owing = [commitment for commitment in commitments if len(commitment.debtors) > 1]
        for participant in participants:
            for commitment in owing:
                own = set(commitment.debtors) & set(participant.roles)
                if own and own != set(commitment.debtors):
                    shared = f"`{participant.name}` plays some debtors of `{commitment.name}`, which others owe as well"
                    text = f"{shared}: its decisions cannot be analysed"
                    self._table.problems.report(rules.ANALYSIS_OF_GROUP, participant.span, text)

    def refuse_faults(self, kinds: ChannelKinds, participants: Iterable[model.Participant]) -> None:
        """Report participants of a protocol that loses or duplicates messages."""
        for participant in participants if kinds.losses or kinds.duplicates else ():
            what = "lost" if kinds.losses else "duplicated"
            text = f"The decisions of `{participant.name}` cannot be analysed where messages may be {what}"
            self._table.problems.report(rules.ANALYSIS_OF_LOSS, participant.span, text)

    def _count(self, tree: resolved.Tree, resolver: Resolver, span: Span, unit: str) -> int | None:
        """Return a bound, which may be 0."""
        number = resolver.number(tree)
        if number is None:
            return None
        if unit == "places" and not 1 <= number <= MAX_PLACES:
            message = f"A queue has 1 to {MAX_PLACES} places, not {number:,}"
            self._table.problems.report(rules.BAD_QUEUE, span, message)
            return None
        if number < 0:
            self._table.problems.report(rules.BAD_DEADLINE, span, f"A bound of {number} {unit} is negative")
            return 0
        if number > MAX_FAMILY_SIZE:
            message = f"A bound of {number:,} {unit} is more than {MAX_FAMILY_SIZE:,}"
            self._table.problems.report(rules.TOO_LARGE, span, message)
            return 0
        return number

    @property
    def _channels(self) -> Iterator[tuple[PendingInstance[OtherDeclaration], resolved.Channel]]:
        for pending in self._table.other_declarations:
            if isinstance(pending.body, resolved.Channel):
                yield pending, pending.body

    def _ends(self, pending: PendingInstance[OtherDeclaration], channel: resolved.Channel) -> Iterator[tuple[str, str]]:
        """Yield sender and receiver of each channel that a declaration is about."""
        one, other = channel.sender, channel.receiver
        if one is None or other is None:
            for message in self._table.messages:
                parties = self._table.parties[message]
                yield from ((parties.first, receiver) for receiver in parties.receivers)
            return
        resolver = Resolver(self._table, pending.protocol_instance, pending.values)
        for sender in resolver.agents(one):
            for receiver in resolver.agents(other):
                if sender.name != receiver.name:
                    yield sender.name, receiver.name
                elif not may_coincide(one, other, pending.protocol_instance):
                    message_ = f"There is no channel from `{sender.name}` to itself"
                    self._table.problems.report(rules.SAME_ROLE, channel.span, message_, *where(pending.values))

    def assumed(
        self, assumed: Iterable[resolved.Assumed], pending: PendingInstance[OtherDeclaration]
    ) -> tuple[tuple[str, ...], tuple[model.Bound, ...]]:
        """Return the roles and messages that a property assumes to make progress, and its bounds."""
        resolver = Resolver(self._table, pending.protocol_instance, pending.values)
        senders = {name: self._table.parties[name].first for name in self._table.messages}
        return assumptions(
            [(self._names(one, resolver), self._ticks(one.within, pending, one.span)) for one in assumed],
            senders,
        )

    def _names(self, one: resolved.Assumed, resolver: Resolver) -> tuple[str, ...]:
        """Return the names of the roles or messages."""
        match one.subject:
            case None:
                return tuple(role.name for role in self._table.roles)
            case resolved.Instance() | resolved.EveryInstance() as messages:
                return resolver.instances(messages)
            case roles:
                return tuple(role.name for role in resolver.agents(roles))
