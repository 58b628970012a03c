"""Export of a participant's Markov decision process to PRISM and Storm: beliefs are probabilistic, other steps are not.

The model is one module. Each step outside beliefs is a command; each belief is a command with a distribution over its
events. If an event has several payloads, its number is stored in ``chosen`` and the payload is chosen next.

A belief with probability intervals is a command for each extreme point of its credal set. All other distributions are
convex combinations of extreme points, so minimal and maximal probabilities are attained at these.
PRISM resolves all nondeterminism by one player, so decisions of the participant are minimised or maximised with the
rest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cached_property
from itertools import product

from cplc.export.prism_formulas import IDENTIFIERS, Vocabulary
from cplc.export.request import CannotExport, Export, Request
from cplc.export.templating import IdentifierSyntax, comment, header_lines, render, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.system.model import Step, System
from cplc.system.participant import Belief, Event, Participant

_LEXICON = IdentifierSyntax(IDENTIFIERS.reserved | {"chosen", "protocol", "over", "some_step", "value"})
_MAX_INTERVALS = 8
_OBJECTIVES = (("conformance", "conforming"), ("achievement", "achieving"))


def export(request: Request, participant: Participant) -> Export:
    """Return the Markov decision process, with the properties in a companion file."""
    for belief in participant.beliefs:
        if sum(event.low != event.high for event in belief.events) > _MAX_INTERVALS:
            raise CannotExport(
                f"a belief about `{belief.agent}` has intervals for more than {_MAX_INTERVALS} probabilities, "
                "which have too many extreme distributions"
            )
    model = _MdpModel(request.system, participant)
    vocabulary = model.vocabulary
    is_deterministic_start = all(len(variable.initial) == 1 for variable in request.system.variables)
    variables = [
        (
            vocabulary.variables[variable.name],
            variable.name,
            vocabulary.type_of(variable),
            vocabulary.value(variable.initial[0]) if is_deterministic_start else None,
        )
        for variable in request.system.variables
    ]
    variables.append(
        ("chosen", "chosen", f"[0..{max(1, len(model.pending))}]", "0" if is_deterministic_start else None)
    )
    initial = [vocabulary.one_of(variable, variable.initial) for variable in request.system.variables]
    achieving = e.conj(goal.condition for goal in participant.goals)
    text = render(
        "prism_mdp.j2",
        header=header_lines(request, _remarks(model)),
        words=[(vocabulary.words[word], word, code) for word, code in vocabulary.codes.items()],
        formulas=list(model.formulas()),
        variables=variables,
        commands=list(model.commands()),
        initial=[] if is_deterministic_start else [*initial, "(chosen = 0)"],
        labels=[
            ("over", "over"),
            ("conforming", f"over & {vocabulary.written_out(participant.conforming)}"),
            ("achieving", f"over & {vocabulary.written_out(achieving)}"),
        ],
        rewards=list(model.rewards()),
        comment=comment,
    )
    notes = ("benefit, because the accumulated value of messages is not part of a state",) if participant.worth else ()
    return Export(text, notes, ((".props", _properties(participant)),), "//")


def _properties(participant: Participant) -> str:
    lines = [
        f'"{aspect} {word}": P{word}=? [F "{label}"];'.replace(f"{aspect} {word}", f"{aspect}_{word}")
        for aspect, label in _OBJECTIVES
        for word in ("min", "max")
        if aspect == "conformance" or participant.goals
    ]
    if participant.worth:
        lines += [f'"value_{word}": R{{"value"}}{word}=? [F "over"];' for word in ("min", "max")]
    return "\n".join(lines) + "\n"


def _remarks(model: _MdpModel) -> Iterator[str]:
    yield (
        f"Markov decision process of {model.participant.name}: events of beliefs are probabilistic, all other steps "
        "nondeterministic. A run ends where `over` holds. Minimal probabilities are computed without fairness."
    )
    if any(event.low != event.high for belief in model.participant.beliefs for event in belief.events):
        yield (
            "Beliefs with probability intervals have a command for each extreme distribution; all other distributions "
            "are convex combinations of these."
        )
    if any(belief.within is not None for belief in model.participant.beliefs):
        yield "Bounds of beliefs in ticks (`believes R within k`) are left out: an outcome may come later."
    if model.has_decisions:
        yield (
            "Decisions of the participant are nondeterministic like the rest, so the minimal probability may be less "
            "than the probability that the participant can guarantee."
        )


@dataclass(frozen=True, slots=True)
class _Command:
    action: str
    guard: str
    updates: str


@dataclass(frozen=True)
class _MdpModel:
    system: System
    participant: Participant

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.system)

    @cached_property
    def pending(self) -> dict[tuple[int, int], int]:
        """Numbers of the events of beliefs that have several steps or payloads."""
        several = [
            (at, position)
            for at, belief in enumerate(self.participant.beliefs)
            for position, event in enumerate(belief.events)
            if len(event.steps) > 1 or any(self.system.steps[step].free for step in event.steps)
        ]
        return {which: number for number, which in enumerate(several, 1)}

    @cached_property
    def _names(self) -> dict[str, str]:
        vocabulary = self.vocabulary
        groups = (vocabulary.words, vocabulary.variables, vocabulary.steps)
        beliefs = self.participant.beliefs
        stems = [f"{what} {at}" for what in ("applies", "event") for at in range(len(beliefs))]
        stems += [
            f"event {at} extreme {number}"
            for at, belief in enumerate(beliefs)
            for number in range(1, len(extreme_distributions(belief.events)))
        ]
        stems += [f"event {number} takes {step.name}" for number in self.pending.values() for step in self.system.steps]
        return dict(unique_identifiers(stems, _LEXICON, (name for group in groups for name in group.values())))

    @cached_property
    def has_decisions(self) -> bool:
        return any(self._is_own(step) for step in self.system.steps)

    def _is_own(self, step: Step) -> bool:
        return step.kind in ("send", "exchange") and step.actor in self.participant.agents

    def _applies(self, belief: Belief) -> Expr:
        possible = (e.disj(self.system.steps[step].guard for step in event.steps) for event in belief.events)
        return e.conj((belief.condition, *possible))

    def formulas(self) -> Iterator[tuple[str, str]]:
        text = self.vocabulary.written_out
        for at, belief in enumerate(self.participant.beliefs):
            yield self._names[f"applies {at}"], text(self._applies(belief))
        every = [text(self._applies(belief)) for belief in self.participant.beliefs]
        every += [self._free_guard(at) for at in range(len(self.system.steps))]
        some = [one for one in every if one != "false"]
        yield "over", f"chosen = 0 & !({' | '.join(some) or 'false'})"

    def _free_guard(self, at: int) -> str:
        """Return the guard of a step as a nondeterministic command, outside of all beliefs."""
        step = self.system.steps[at]
        if step.kind == "restart":
            return "false"
        conditions = [self.vocabulary.written_out(step.guard)]
        conditions += [
            f"!{self._names[f'applies {number}']}"
            for number, belief in enumerate(self.participant.beliefs)
            if any(at in event.steps for event in belief.events)
        ]
        if self._is_own(step):
            conditions += [
                self.vocabulary.written_out(one.condition) for one in self.participant.decisions if at in one.steps
            ]
        if step.kind == "tick":
            changes = (e.negate(e.equal(e.Read(name), value)) for name, value in step.updates)
            conditions.append(self.vocabulary.written_out(e.disj(changes)))
        return f"({' & '.join(conditions)})"

    def commands(self) -> Iterator[_Command]:
        for at, step in enumerate(self.system.steps):
            if step.kind != "restart":
                for updates in self._updates(step):
                    action = self.vocabulary.steps[step.name]
                    yield _Command(action, f"chosen = 0 & !over & {self._free_guard(at)}", updates)
        for at, belief in enumerate(self.participant.beliefs):
            guard = f"chosen = 0 & !over & {self._names[f'applies {at}']}"
            for number, probabilities in enumerate(extreme_distributions(belief.events)):
                parts = [
                    f"{_number(probability)} : {self._outcome(at, position)}"
                    for position, probability in enumerate(probabilities)
                    if probability
                ]
                yield _Command(self._belief_action(at, number), guard, " + ".join(parts))
        for (at, position), number in self.pending.items():
            for index in self.participant.beliefs[at].events[position].steps:
                step = self.system.steps[index]
                for updates in self._updates(step):
                    action = self._names[f"event {number} takes {step.name}"]
                    guard = f"chosen = {number} & {self.vocabulary.written_out(step.guard)}"
                    yield _Command(action, guard, _joined_updates(updates, "(chosen' = 0)"))
        yield _Command("", "over", "true")

    def _belief_action(self, at: int, number: int) -> str:
        """Return the action of a belief for the extreme distribution of that number."""
        return self._names[f"event {at} extreme {number}" if number else f"event {at}"]

    def _outcome(self, at: int, position: int) -> str:
        if (at, position) in self.pending:
            return f"(chosen' = {self.pending[at, position]})"
        (step,) = self.participant.beliefs[at].events[position].steps
        return next(self._updates(self.system.steps[step]))

    def _updates(self, step: Step) -> Iterator[str]:
        vocabulary = self.vocabulary
        fixed = [(name, vocabulary.written_out(value)) for name, value in step.updates]
        for chosen in product(*(self.system.variable[name].initial for name in step.free)):
            assigned = [*fixed, *zip(step.free, map(vocabulary.value, chosen), strict=True)]
            yield " & ".join(f"({vocabulary.variables[name]}' = {value})" for name, value in assigned) or "true"

    def rewards(self) -> Iterator[tuple[str, str]]:
        """Yield the reward of each action; the reward of a belief is its expectation."""
        if not self.participant.worth:
            return
        worth = [
            sum((one.amount for one in self.participant.worth if at in one.steps), Fraction(0))
            for at in range(len(self.system.steps))
        ]
        steps = self.system.steps
        yield from (
            (self.vocabulary.steps[step.name], _number(worth[at])) for at, step in enumerate(steps) if worth[at]
        )
        for at, belief in enumerate(self.participant.beliefs):
            for number, probabilities in enumerate(extreme_distributions(belief.events)):
                certain = (
                    probability * worth[belief.events[position].steps[0]]
                    for position, probability in enumerate(probabilities)
                    if (at, position) not in self.pending
                )
                mean = sum(certain, Fraction(0))
                if mean:
                    yield self._belief_action(at, number), _number(mean)
        for (at, position), number in self.pending.items():
            for index in self.participant.beliefs[at].events[position].steps:
                if worth[index]:
                    yield self._names[f"event {number} takes {steps[index].name}"], _number(worth[index])


def extreme_distributions(events: Sequence[Event]) -> tuple[tuple[Fraction, ...], ...]:
    """Return the extreme points of the distributions within the bounds; all others are convex combinations."""
    open_ = [at for at, event in enumerate(events) if event.low != event.high]
    distributions: dict[tuple[Fraction, ...], None] = {}
    for rest in open_ or range(1):
        at_bounds = [at for at in open_ if at != rest]
        for full in product((False, True), repeat=len(at_bounds)):
            probabilities = [event.low for event in events]
            for at, is_full in zip(at_bounds, full, strict=True):
                probabilities[at] = events[at].high if is_full else events[at].low
            probabilities[rest] += 1 - sum(probabilities, Fraction(0))
            if events[rest].low <= probabilities[rest] <= events[rest].high:
                distributions[tuple(probabilities)] = None
    return tuple(distributions)


def _joined_updates(updates: str, more: str) -> str:
    return more if updates == "true" else f"{updates} & {more}"


def _number(number: Fraction) -> str:
    if number.denominator == 1:
        return str(number.numerator) if number >= 0 else f"({number.numerator})"
    return f"({number.numerator}/{number.denominator})"
