"""Translation of a participant's goals, beliefs and decisions to conditions over the system."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property

from cplc.language.words import SILENT
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.expressions import Interpretation, condition
from cplc.lowering.lower import View
from cplc.lowering.promises import is_in, owed
from cplc.lowering.term_text import atom_text, content_text
from cplc.lowering.variable_names import copy_variable, state_variable
from cplc.records import dataclass
from cplc.semantics import model as m
from cplc.semantics.model import CheckedModel, Message
from cplc.semantics.terms import TRUE, InState, Stands, Term, Value, conjuncts_of, is_about_runs, subterms
from cplc.system.model import Commitment, System
from cplc.system.participant import Belief, Decision, Event, Goal, Participant, Worth


def lower_participant(declared: m.Participant, model: CheckedModel, system: System) -> tuple[System, Participant]:
    """Return the participant, and the system, which has its `participant_views`, with monitors of goals about runs."""
    formulas = [part for goal in declared.goals for part in conjuncts_of(goal.meaning) if is_about_runs(part)]
    about_runs: Mapping[Term, Expr] = {}
    if formulas:
        from cplc.lowering.goal_monitors import with_goal_monitors

        system, about_runs = with_goal_monitors(system, formulas, model)
    return system, _Lowering(declared, model, system, about_runs).participant()


def with_conformance_of_the_paper(participant: Participant, system: System) -> Participant:
    """Return the participant with conformance as Günay et al. (2015) define it.

    At the end, each commitment of which it is the debtor is fulfilled or expired; one that was never created is not.
    """
    mine = [one.variable for one in system.commitments if set(one.debtors) <= set(participant.agents)]
    ended = (e.disj((is_in(system, variable, "fulfilled"), is_in(system, variable, "expired"))) for variable in mine)
    return replace(participant, conforming=e.conj(ended))


def participant_views(declared: m.Participant, model: CheckedModel) -> Iterator[View]:
    """Yield the views of commitments in the conditions of the participant's beliefs and decisions."""
    views = _PlayedViews(frozenset(declared.roles), model)
    conditions = [belief.condition for belief in declared.beliefs]
    conditions += [decision.condition for decision in declared.decisions]
    for term in conditions:
        for state in _states(term, model):
            if (observer := views.observer(state.commitment, state.view)) is not None:
                yield observer, state.commitment


def _states(term: Term, model: CheckedModel) -> Iterator[InState | Stands]:
    return (part for part in subterms(term, model.meanings) if isinstance(part, InState | Stands))


@dataclass(frozen=True)
class _PlayedViews:
    """The views of commitments of the roles that a participant plays."""

    roles: frozenset[str]
    model: CheckedModel

    def observer(self, commitment: str, view: str | None) -> str | None:
        parties = (view,) if view is not None else self.model.members[commitment]
        return next((party for party in parties if party in self.roles), None)

    def __call__(self, commitment: str, view: str | None) -> Expr | None:
        observer = self.observer(commitment, view)
        return None if observer is None else e.Read(state_variable(commitment, observer))


@dataclass(frozen=True)
class _ParticipantInterpretation(Interpretation):
    """The interpretation of names for a participant that plays several roles, the receiver's copy first."""

    roles: frozenset[str] = frozenset()

    def _reader(self, message: Message) -> str | None:
        return next((role for role in (*message.receivers, message.sender) if role in self.roles), None)

    def sent(self, name: str) -> Expr:
        sender = self.model.message[name].sender
        return self.read(copy_variable(name, sender)) if sender in self.roles else e.FALSE

    def in_flight(self, name: str) -> Expr:
        return e.FALSE

    def variable(self, name: str) -> tuple[Expr, Expr]:
        if self.model.variable[name].role not in self.roles:
            return e.FALSE, e.Const(0)
        return e.TRUE, self.read(name)


class _Lowering:
    def __init__(
        self, declared: m.Participant, model: CheckedModel, system: System, about_runs: Mapping[Term, Expr]
    ) -> None:
        self.declared = declared
        self.about_runs = about_runs
        """The conditions of the goals that are formulas about the run."""
        self.model = model
        self.system = system
        roles = frozenset(declared.roles)
        self.seen = _ParticipantInterpretation(model, state=_PlayedViews(roles, model), roles=roles)
        self.ended = Interpretation(model, terminal=system.terminal)

    def participant(self) -> Participant:
        declared = self.declared
        return Participant(
            name=declared.name,
            agents=declared.roles,
            conforming=e.conj(
                self._conforms(commitment)
                for commitment in self.system.commitments
                if set(commitment.debtors) <= set(declared.roles)
            ),
            goals=tuple(goal for one in declared.goals for goal in self._goals(one)),
            worth=tuple(
                Worth(tuple(self._sendings(worth.messages)), worth.amount, worth.text) for worth in declared.worth
            ),
            beliefs=tuple(self._belief(belief) for belief in declared.beliefs),
            decisions=tuple(self._decision(decision) for decision in declared.decisions),
        )

    def _conforms(self, commitment: Commitment) -> e.Expr:
        """Return the condition that the commitment is neither owed nor violated."""
        name = commitment.name
        return e.negate(e.disj((is_in(self.system, commitment.variable, "violated"), owed(self.system, name))))

    def _goals(self, goal: m.Goal) -> Iterator[Goal]:
        """Yield the goal, or the parts of it that must all hold."""
        parts = conjuncts_of(goal.meaning)
        for part in parts:
            meaning = self.about_runs[part] if is_about_runs(part) else condition(part, self.ended)
            yield Goal(meaning, goal.text if goal.text and len(parts) == 1 else _goal_text(part))

    def _possible(self, commitment: str) -> tuple[Value, ...]:
        return self.system.variable[self.system.commitment[commitment].variable].domain

    def _belief(self, belief: m.Belief) -> Belief:
        events = tuple(map(self._event, belief.events))
        when = _when(belief.condition)
        within = "" if belief.within is None else f" within {belief.within}"
        text = f"{belief.role}{when}{within}: {' | '.join(event.text for event in belief.events)}"
        holds = condition(belief.condition, self.seen)
        return Belief(belief.role, holds, events, text, belief.span, belief.within)

    def _event(self, event: m.Event) -> Event:
        """Return the event with its steps; silence has none."""
        steps = tuple(self._sendings((event.message,), event.payload))
        return Event(event.message or SILENT, steps, event.low, event.high)

    def _decision(self, decision: m.Decision) -> Decision:
        steps = tuple(self._sendings(decision.messages))
        text = f"{' | '.join(decision.messages)}{_when(decision.condition)}"
        return Decision(condition(decision.condition, self.seen), steps, text, decision.span)

    @cached_property
    def _by_message(self) -> dict[str, list[int]]:
        sendings: dict[str, list[int]] = {}
        for index, step in enumerate(self.system.steps):
            if step.kind in ("send", "exchange"):
                sendings.setdefault(step.event, []).append(index)
        return sendings

    def _sendings(self, messages: Iterable[str], payload: tuple[Value, ...] | None = None) -> Iterator[int]:
        """Yield the positions of the steps by which these messages are sent: any payload, or one."""
        for message in messages:
            for index in self._by_message.get(message, ()):
                if payload is None or tuple(value for _, value in self.system.steps[index].payload) == payload:
                    yield index


def _goal_text(term: Term) -> str:
    return content_text(term) if is_about_runs(term) else atom_text(term)


def _when(term: Term) -> str:
    return "" if term == TRUE else f" when {atom_text(term)}"
