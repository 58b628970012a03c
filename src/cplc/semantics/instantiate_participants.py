"""Instantiation of participants: the agents of every instance with their goals, values and beliefs, and thresholds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from fractions import Fraction
from functools import cached_property

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.language.decimals import decimal
from cplc.language.words import SILENT
from cplc.records import dataclass
from cplc.semantics import model, resolved
from cplc.semantics.instances import (
    InstanceTable,
    PendingInstance,
    Values,
)
from cplc.semantics.instantiate import range_text, shown
from cplc.semantics.instantiate_bounds import BoundInstantiator
from cplc.semantics.instantiate_terms import Resolver
from cplc.semantics.terms import TRUE, Term, Value, is_constant
from cplc.semantics.visibility import VisibilityCheck
from cplc.source import Span
from cplc.syntax import ast


@dataclass
class _Draft:
    """One participant, filled item by item."""

    name: str
    roles: tuple[str, ...]
    goals: list[model.Goal] = field(default_factory=list)
    worth: list[model.Worth] = field(default_factory=list)
    beliefs: list[model.Belief] = field(default_factory=list)
    decisions: list[model.Decision] = field(default_factory=list)
    valued: dict[str, Span] = field(default_factory=dict)
    """The messages with a value, and the place of the value."""


class ParticipantInstantiator:
    """Instantiates the agents of one `InstanceTable` and their thresholds."""

    def __init__(self, table: InstanceTable, messages: Mapping[str, model.Message], bounds: BoundInstantiator) -> None:
        self._table = table
        self._messages = messages
        self._bounds = bounds

    @cached_property
    def _something_is_bounded(self) -> bool:
        """True if a belief, or an assumption of an `analyze` line, is bounded in ticks."""
        lines = (one.body for one in self._table.other_declarations if isinstance(one.body, resolved.Analyze))
        agents = (one.body for one in self._table.agents.values())
        return any(assumed.within is not None for line in lines for assumed in line.node.assuming) or any(
            _has_bounded_belief(agent.items) for agent in agents
        )

    def valid_participants(self) -> tuple[model.Participant, ...]:
        """Return the participants without errors."""
        participants: list[model.Participant] = []
        for pending in self._table.agents.values():
            before = self._table.problems.errors
            participant = self._participant(pending)
            if self._table.problems.errors == before:
                self._report_overlaps(participant)
                participants.append(participant)
        return tuple(participants)

    def analyses(self) -> Iterator[model.AnalyzeLine]:
        """Yield the `analyze` lines of the protocol itself, without those of its parts."""
        for pending in self._table.other_declarations:
            if not isinstance(pending.body, resolved.Analyze) or pending.protocol_instance.path:
                continue
            name = Resolver(self._table, pending.protocol_instance, pending.values).instance(pending.body.agent)
            if name is None:
                continue
            assuming, bounds = self._bounds.assumed(pending.body.assuming, pending)
            thresholds = tuple(map(_threshold, pending.body.node.thresholds))
            text = ", ".join(threshold.text for threshold in thresholds)
            expect_holds = pending.body.node.thresholds[-1].expect != "fails"
            span = pending.body.node.thresholds[0].aspect.span
            assumption = ", ".join(_text(one.span) for one in pending.body.assuming)
            yield model.AnalyzeLine(name, thresholds, assuming, bounds, assumption, expect_holds, text, span=span)

    def _participant(self, pending: PendingInstance[resolved.Agent]) -> model.Participant:
        resolver = Resolver(self._table, pending.protocol_instance, pending.values)
        roles = dict.fromkeys(agent.name for role in pending.body.roles for agent in resolver.agents(role))
        draft = _Draft(pending.name, tuple(roles))
        for item in pending.body.items:
            self._item(item, draft, pending, pending.values)
        return model.Participant(
            pending.name, draft.roles, tuple(draft.goals), tuple(draft.worth), tuple(draft.beliefs),
            tuple(draft.decisions), span=pending.body.symbol.span,
        )  # fmt: skip

    def _item(
        self, item: resolved.AgentItem, draft: _Draft, pending: PendingInstance[resolved.Agent], values: Values
    ) -> None:
        resolver = Resolver(self._table, pending.protocol_instance, values)
        match item:
            case resolved.Goal(condition, span):
                resolver.has_ticks |= self._something_is_bounded
                draft.goals.append(model.Goal(resolver.term(condition), "" if values else _text(span), span=span))
            case resolved.Worth():
                self._worth(item, draft, resolver)
            case resolved.Belief(role, _, _, _, span):
                agent = resolver.role(role)
                seeing = Resolver(
                    self._table,
                    pending.protocol_instance,
                    values,
                    VisibilityCheck(self._table, draft.name, "believes this", draft.roles),
                )
                if agent is not None and self._table.count_node(span, rules.TOO_LARGE):
                    within = self._bounds.ticks(item.within, resolver, span)
                    self._belief(item, agent, draft, resolver, seeing, within)
            case resolved.Decision():
                seeing = Resolver(
                    self._table,
                    pending.protocol_instance,
                    values,
                    VisibilityCheck(self._table, draft.name, "decides this", draft.roles),
                )
                self._decision(item, draft, resolver, seeing)
            case resolved.Each(binder, body):
                for value in resolver.domain(binder.domain, binder.span):
                    if not self._table.count_node(binder.span, rules.TOO_LARGE):
                        break
                    for inner in body:
                        self._item(inner, draft, pending, {**values, binder: value})

    def _worth(self, item: resolved.Worth, draft: _Draft, resolver: Resolver) -> None:
        names = resolver.instances(item.messages)
        for name in names:
            if name in draft.valued:
                text = f"`{name}` is given two values"
                self._table.problems.report(
                    rules.DUPLICATE_VALUE, item.span, text, Note("the first one", draft.valued[name])
                )
                return
        draft.valued.update(dict.fromkeys(names, item.span))
        if names:
            draft.worth.append(model.Worth(names, item.amount, f"{_text(item.span)}: {decimal(item.amount)}"))

    # --- beliefs --------------------------------------------------------------------------------

    def _belief(
        self,
        item: resolved.Belief,
        role: model.Role,
        draft: _Draft,
        resolver: Resolver,
        seeing: Resolver,
        within: int | None,
    ) -> None:
        condition = seeing.term(item.condition)
        events = [event for one in item.events for event in self._event(one, resolver)]
        if len(events) < len(item.events):
            return
        for event, written in zip(events, item.events, strict=True):
            sender = self._messages[event.message].sender if event.message else role.name
            if sender != role.name:
                text = f"`{event.message}` is sent by `{sender}`, and this is believed of `{role.name}`"
                hint = Note(f"begin a belief of its own: `believes {sender}: …`")
                self._table.problems.report(rules.FOREIGN_EVENT, written.span, text, hint)
        events_ = _BelievedEvents()
        for event in events:
            if events_.earlier(event, TRUE) is not None:
                text = f"`{event.message or SILENT}` is in this belief twice"
                self._table.problems.report(rules.DUPLICATE_NAME, item.span, text)
            events_.add(event, TRUE, item.span)
        low, high = _sum(event.low for event in events), _sum(event.high for event in events)
        if not low <= 1 <= high:
            if low == high:
                text = f"These probabilities sum to {decimal(low)}, not to 1"
            elif low > 1:
                text = f"These probabilities sum to {decimal(low)} at least, more than 1"
            else:
                text = f"These probabilities sum to {decimal(high)} at most, less than 1"
            hints: tuple[Note, ...] = ()
            if high < 1 and all(event.message for event in events):
                hints = (Note(f"`| {SILENT} {decimal(1 - high)}` says that otherwise none of these comes"),)
            self._table.problems.report(rules.NOT_A_DISTRIBUTION, item.span, text, *hints)
        if is_constant(condition, False):
            self._table.problems.report(
                rules.BELIEF_NEVER_APPLIES, item.span, "This belief never applies: its condition is false"
            )
        draft.beliefs.append(model.Belief(role.name, condition, tuple(events), within, span=item.span))

    def _event(self, event: resolved.BeliefEvent, resolver: Resolver) -> Iterator[model.Event]:
        chance = decimal(event.low) + (f"..{decimal(event.high)}" if event.low != event.high else "")
        if event.message is None:
            yield model.Event("", None, event.low, event.high, f"{SILENT} {chance}")
            return
        name = resolver.instance(event.message)
        if name is None:
            return
        payload: tuple[Value, ...] | None = None
        if event.payload is not None:
            parameters = self._messages[name].parameters
            given = [resolver.constant(value) for value in event.payload]
            for parameter, value in zip(parameters, given, strict=True):
                if value is not None and value not in parameter.domain:
                    text = f"`{parameter.name}` cannot be {shown(value)}: it is in {range_text(parameter.domain)}"
                    self._table.problems.report(rules.VALUE_OUT_OF_RANGE, event.span, text)
            payload = tuple(value for value in given if value is not None)
            if len(payload) < len(given):
                return
        sent = f"({', '.join(shown(value).strip('`') for value in payload)})" if payload is not None else ""
        yield model.Event(name, payload, event.low, event.high, f"{name}{sent} {chance}")

    def _decision(self, item: resolved.Decision, draft: _Draft, resolver: Resolver, seeing: Resolver) -> None:
        condition = seeing.term(item.condition)
        names = [name for messages in item.messages for name in resolver.instances(messages)]
        for name in names:
            sender = self._messages[name].sender
            if sender not in draft.roles:
                text = f"`{name}` is sent by `{sender}`, whom `{draft.name}` does not play"
                self._table.problems.report(rules.FOREIGN_EVENT, item.span, text)
        draft.decisions.append(model.Decision(tuple(dict.fromkeys(names)), condition, span=item.span))

    def _report_overlaps(self, participant: model.Participant) -> None:
        """Warn of beliefs that can apply together, judged by the text alone."""
        earlier_events = _BelievedEvents()
        for belief in participant.beliefs:
            for event in belief.events:
                if event.message and (earlier := earlier_events.earlier(event, belief.condition)) is not None:
                    text = f"Two beliefs about `{event.message}` can apply at the same time; either may be used then"
                    note = Note("the first one", earlier)
                    self._table.problems.report(rules.OVERLAPPING_BELIEFS, belief.span, text, note)
            for event in belief.events:
                earlier_events.add(event, belief.condition, belief.span)


@dataclass
class _BelievedEvents:
    """An index of the events of beliefs by message, payload and condition."""

    _places: dict[tuple[str, object, object], Span] = field(default_factory=dict)

    def add(self, event: model.Event, condition: Term, span: Span) -> None:
        for payload in (event.payload, _ANY):
            for situation in (condition, _ANY):
                self._places.setdefault((event.message, payload, situation), span)

    def earlier(self, event: model.Event, condition: Term) -> Span | None:
        """Return the place of an earlier event with an overlapping payload and a compatible condition."""
        payloads = (_ANY,) if event.payload is None else (event.payload, None)
        conditions = (_ANY,) if is_constant(condition, True) else (condition, TRUE)
        keys = ((event.message, payload, where) for payload in payloads for where in conditions)
        return next((self._places[key] for key in keys if key in self._places), None)


_ANY = "any"


def _has_bounded_belief(items: Iterable[resolved.AgentItem]) -> bool:
    return any(
        _has_bounded_belief(item.body)
        if isinstance(item, resolved.Each)
        else isinstance(item, resolved.Belief) and item.within is not None
        for item in items
    )


def _threshold(node: ast.Threshold) -> model.Threshold:
    aspect: model.Aspect = node.aspect.text  # type: ignore[assignment]
    text = f"{aspect} {node.relation} {decimal(node.value.value)}"
    return model.Threshold(aspect, node.relation, node.value.value, text)


def _sum(numbers: Iterable[Fraction]) -> Fraction:
    return sum(numbers, Fraction(0))


def _text(span: Span) -> str:
    return " ".join(span.text.split())
