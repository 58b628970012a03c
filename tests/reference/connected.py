"""Connected components of a protocol: names that a message, commitment, belief, decision or tick depends on together.

A goal that is a formula about the run connects what it mentions, too. The components are read off the checked model.
One *counts* for a participant if a goal, a commitment of its own or a value is about something in it.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations

from tests.reference.contents import about_runs
from tests.reference.path_goals import goals_of
from tests.reference.timed import TimedReference

from cplc.semantics import terms as t
from cplc.semantics.model import Belief, CheckedModel, Message, Participant
from cplc.semantics.terms import Term

Name = tuple[str, str]
"""A message, variable, commitment (or claim), or the clock, with its kind."""
CLOCK: Name = ("clock", "")


def names_in(model: CheckedModel, term: Term) -> Iterator[Name]:
    """Yield the names that a term mentions, those inside facts included."""
    meanings = {name: fact.meaning for name, fact in model.fact.items()}
    for part in t.subterms(term, meanings):
        match part:
            case t.Happened(name) | t.Sent(name) | t.InFlight(name) | t.Field(name, _):
                yield "message", name
            case t.Var(name):
                yield "variable", name
            case t.InState(name) | t.Stands(name):
                yield "commitment", name
            case t.Age(name):
                yield from (("commitment", name), CLOCK)
            case t.Does("tick"):
                yield CLOCK
            case t.Does(_, name) if name in model.message:
                yield "message", name
            case t.Does(_, name):
                yield "commitment", name
            case _:
                pass
        if t.counts_ticks(part):
            yield CLOCK


class Connected:
    """The components of a protocol with a participant, under the bounds of a question."""

    def __init__(self, reference: TimedReference, participant: Participant) -> None:
        self.reference, self.participant = reference, participant
        self.model = reference.model
        self._parent: dict[Name, Name] = {}
        groups = [group for group in self._groups() if group]
        if any(CLOCK in group for group in groups):
            groups += ([CLOCK, *self._about(one)] for one in participant.beliefs if one.within is not None)
        for group in groups:
            first, *more = group
            for name in more:
                self._parent[self.component(name)] = self.component(first)
        self.counting = frozenset(map(self.component, self._relevant()))
        """The components that count for the participant."""

    def component(self, name: Name) -> Name:
        """Return the representative of the component of a name."""
        while (parent := self._parent.get(name, name)) != name:
            name = parent
        return name

    def counts(self, name: Name) -> bool:
        return self.component(name) in self.counting

    def _groups(self) -> Iterator[list[Name]]:
        model = self.model
        for message in model.messages:
            yield [("message", message.name), *self._touched(message)]
        if not model.sync:
            for one, other in combinations(model.messages, 2):
                if (set(one.channels) & set(other.channels)) - model.unordered:
                    yield [("message", one.name), ("message", other.name)]
        for promise in model.commitments:
            names = [*names_in(model, promise.antecedent), *names_in(model, promise.consequent)]
            is_timed = promise.within is not None or promise.expires is not None
            yield [("commitment", promise.name), *names, *([CLOCK] if is_timed else [])]
        for claim in model.claims:
            yield [("commitment", claim.name), *names_in(model, claim.content)]
        for belief in self.participant.beliefs:
            yield self._about(belief)
        for decision in self.participant.decisions:
            yield [*(("message", name) for name in decision.messages), *names_in(model, decision.condition)]
        for goal in self.participant.goals:
            yield from (list(names_in(model, one)) for one in goals_of(goal.meaning) if about_runs(one))
        if timed := list(self._timed()):
            yield [CLOCK, *timed]

    def _about(self, belief: Belief) -> list[Name]:
        events = [("message", one.message) for one in belief.events if one.message]
        return [*events, *names_in(self.model, belief.condition)]

    def _touched(self, message: Message) -> Iterator[Name]:
        model = self.model
        yield from names_in(model, message.guard)
        yield from (("message", name) for name in (*message.rivals, *message.resets))
        for operation in message.operations:
            yield "commitment", operation.commitment
            if operation.target is not None:
                yield "commitment", operation.target
        for assignment in (*message.updates, *message.receipt):
            yield "variable", assignment.variable
            yield from names_in(model, assignment.value)
        if message.restarts:
            yield from (("message", one.name) for one in self.reference.messages_inside(message.scope))

    def _timed(self) -> Iterator[Name]:
        """Yield what a tick depends on, besides deadlines."""
        delayed, aged = self.reference.clocked
        yield from (("message", name) for name in (*delayed, *aged))
        if delayed or aged:
            yield from (("message", one.name) for one in self.model.messages if one.restarts)

    def _relevant(self) -> Iterator[Name]:
        model, participant = self.model, self.participant
        yield from (("commitment", one.name) for one in model.commitments if one.debtor in participant.roles)
        for goal in participant.goals:
            yield from names_in(model, goal.meaning)
        for worth in participant.worth:
            if worth.amount:
                yield from (("message", name) for name in worth.messages)
