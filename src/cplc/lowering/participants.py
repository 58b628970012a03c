"""From what a participant wants and believes, in names, to the same over a system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Final

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.lower import View
from cplc.lowering.term_text import atom_text
from cplc.lowering.variable_names import copy_of, kept_by
from cplc.records import dataclass
from cplc.semantics import model as m
from cplc.semantics.model import CheckedModel, Message
from cplc.semantics.terms import TRUE, Apply, FactRef, InState, Stands, Term, Value
from cplc.system.model import Commitment, System
from cplc.system.participant import Belief, Decision, Event, Goal, Participant, Worth

KEPT: Final = ("null", "fulfilled", "expired", "withdrawn", "released", "delegated", "assigned")
"""The states in which nothing can be held against the debtor when all is over.

Conditional, it may still come to owe something, and there is nobody left to end that; active or pending, it owes
something; compensated, it has been violated before.
"""


def lower_participant(declared: m.Participant, model: CheckedModel, system: System) -> Participant:
    """Return what is declared of a participant over a system that keeps the views `participant_views` asks for."""
    return _Lowering(declared, model, system).participant()


def participant_views(declared: m.Participant, model: CheckedModel) -> Iterator[View]:
    """Yield the views of commitments by which the participant believes and decides."""
    eyes = _Eyes(frozenset(declared.roles), model)
    conditions = [belief.condition for belief in declared.beliefs]
    conditions += [decision.condition for decision in declared.decisions]
    for term in conditions:
        for state in _states(term, model):
            if (viewer := eyes.viewer(state.commitment, state.view)) is not None:
                yield viewer, state.commitment


def _states(term: Term, model: CheckedModel) -> Iterator[InState | Stands]:
    match term:
        case InState() | Stands():
            yield term
        case FactRef(fact):
            yield from _states(model.fact[fact].meaning, model)
        case Apply(_, operands):
            for operand in operands:
                yield from _states(operand, model)
        case _:
            pass


@dataclass(frozen=True)
class _Eyes:
    """What those who are played see: of a message the receiver's copy if they see that."""

    roles: frozenset[str]
    model: CheckedModel

    def viewer(self, commitment: str, view: str | None) -> str | None:
        parties = (view,) if view is not None else self.model.parties[commitment]
        return next((party for party in parties if party in self.roles), None)

    def __call__(self, commitment: str, view: str | None) -> Expr | None:
        viewer = self.viewer(commitment, view)
        return None if viewer is None else e.Read(kept_by(commitment, viewer))


@dataclass(frozen=True)
class _Seen(Reading):
    """How names read to whoever plays several roles."""

    roles: frozenset[str] = frozenset()

    def _reader(self, message: Message) -> str | None:
        return next((role for role in (message.receiver, message.sender) if role in self.roles), None)

    def sent(self, name: str) -> Expr:
        sender = self.model.message[name].sender
        return self.read(copy_of(name, sender)) if sender in self.roles else e.FALSE

    def in_flight(self, name: str) -> Expr:
        return e.FALSE

    def variable(self, name: str) -> tuple[Expr, Expr]:
        if self.model.variable[name].role not in self.roles:
            return e.FALSE, e.Const(0)
        return e.TRUE, self.read(name)


class _Lowering:
    def __init__(self, declared: m.Participant, model: CheckedModel, system: System) -> None:
        self.declared = declared
        self.model = model
        self.system = system
        roles = frozenset(declared.roles)
        self.seen = _Seen(model, state=_Eyes(roles, model), roles=roles)
        self.ended = Reading(model, terminal=system.terminal)

    def participant(self) -> Participant:
        declared = self.declared
        return Participant(
            name=declared.name,
            agents=declared.roles,
            conforming=e.conj(
                self._conforms(commitment)
                for commitment in self.system.commitments
                if commitment.debtor in declared.roles
            ),
            goals=tuple(goal for one in declared.goals for goal in self._goals(one)),
            worth=tuple(
                Worth(tuple(self._sendings(worth.messages)), worth.amount, worth.text) for worth in declared.worth
            ),
            beliefs=tuple(self._belief(belief) for belief in declared.beliefs),
            decisions=tuple(self._decision(decision) for decision in declared.decisions),
        )

    def _conforms(self, commitment: Commitment) -> e.Expr:
        """Return when the commitment is closed as it should be, not there, or on course."""
        kept = [state for state in KEPT if state in self._possible(commitment.name)]
        return e.disj((e.one_of(e.Read(commitment.variable), kept), commitment.on_course))

    def _goals(self, goal: m.Goal) -> Iterator[Goal]:
        """Yield the goal, or the parts of it that must all hold."""
        if isinstance(goal.meaning, Apply) and goal.meaning.op == "&":
            for part in goal.meaning.operands:
                yield Goal(condition(part, self.ended), atom_text(part))
        else:
            yield Goal(condition(goal.meaning, self.ended), goal.text or atom_text(goal.meaning))

    def _possible(self, commitment: str) -> tuple[Value, ...]:
        return self.system.variable[self.system.commitment[commitment].variable].domain

    def _belief(self, belief: m.Belief) -> Belief:
        events = tuple(
            Event(event.message, tuple(self._sendings((event.message,), event.payload)), event.low, event.high)
            for event in belief.events
        )
        when = _when(belief.condition)
        text = f"{belief.role}{when}: {' | '.join(event.text for event in belief.events)}"
        return Belief(belief.role, condition(belief.condition, self.seen), events, text, belief.span)

    def _decision(self, decision: m.Decision) -> Decision:
        steps = tuple(self._sendings(decision.messages))
        text = f"{' | '.join(decision.messages)}{_when(decision.condition)}"
        return Decision(condition(decision.condition, self.seen), steps, text, decision.span)

    @cached_property
    def _by_message(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for index, step in enumerate(self.system.steps):
            if step.kind in ("send", "exchange"):
                found.setdefault(step.event, []).append(index)
        return found

    def _sendings(self, messages: Iterable[str], payload: tuple[Value, ...] | None = None) -> Iterator[int]:
        """Yield the positions of the steps by which these messages are sent: any payload, or one."""
        for message in messages:
            for index in self._by_message.get(message, ()):
                if payload is None or tuple(value for _, value in self.system.steps[index].payload) == payload:
                    yield index


def _when(term: Term) -> str:
    return "" if term == TRUE else f" when {atom_text(term)}"
