"""Online decision support: what each option of a participant in the middle of a run is worth from here on.

A participant sees some events of the run. *State estimation* gives the states in which the run may be; steps that it
does not see are inferred only where an observed event needs them, so beliefs about what may still come are drawn
again. Each option, a send or waiting, is assessed by the decision analysis of the system that begins after it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from fractions import Fraction
from functools import cached_property

from cplc.decision.analysis import guarantees
from cplc.decision.game import SEND_KINDS, Attitude
from cplc.decision.part_plans import Status
from cplc.decision.results import Bounds
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import State, Step, System, Variable
from cplc.system.participant import Aspect, Participant, Threshold, Worth

MAX_CANDIDATES = 64
"""Maximum number of states in which a run may be."""
MAX_HIDDEN_STATES = 20_000
_CLOSE = 1e-9
_BEGINNING, _PAST = "beginning of the rest", "past value"
_PREFERENCE: Mapping[Status, int] = {"passes": 2, "unknown": 1, "fails": 0}


class NotARun(ValueError):
    """Raised for observed events that no run of the protocol has; the text names the first such event."""


@dataclass(frozen=True, slots=True)
class Option:
    """A send, or waiting, with what is guaranteed from then on if the participant goes on in the best way."""

    message: str
    """The message; empty for waiting."""
    payload: tuple[tuple[str, Value], ...]
    figures: tuple[tuple[Aspect, Bounds], ...]
    """Each figure alone; the value counts what has been earned and spent before."""
    lines: tuple[Status, ...]
    """The status of each line of thresholds: one plan for the rest of the run meets it, none does, or unknown."""

    def figure(self, aspect: Aspect) -> Bounds:
        return dict(self.figures)[aspect]

    @property
    def text(self) -> str:
        """The option as it is written: ``bid(3)``, or ``wait``."""
        values = ", ".join(str(value) for _, value in self.payload)
        return (f"{self.message}({values})" if values else self.message) or "wait"


@dataclass(frozen=True, slots=True)
class Advice:
    """The options of a participant, the best one first."""

    agent: str
    options: tuple[Option, ...]
    candidates: int
    """Number of states in which the run may be, as far as the participant knows."""

    @property
    def best(self) -> Option:
        return self.options[0]

    @property
    def send(self) -> str | None:
        """The message to send now; None if it is best to wait."""
        return self.best.message or None

    def option(self, text: str) -> Option:
        """Return an option by its text or message."""
        return next(one for one in self.options if text in (one.text, one.message or "wait"))


_KINDS = {"": ("exchange", "send", "receive"), "send": ("exchange", "send"), "receive": ("receive",)}
"""The kinds of steps that an event may be, by its first word."""


@dataclass(frozen=True, slots=True)
class _Event:
    """An observed event: a message sent, received, or both."""

    kind: str
    message: str
    payload: str

    def allows(self, step: Step) -> bool:
        values = ",".join(str(value) for _, value in step.payload)
        return not self.payload or step.kind == "receive" or values == self.payload


@dataclass(frozen=True)
class Adviser:
    """Advice to one participant of one system; its tables are shared by all questions."""

    system: System
    participant: Participant
    lines: tuple[tuple[Threshold, ...], ...] = ()
    assumed: frozenset[str] = frozenset()
    _cache: dict[tuple[tuple[int, ...], Fraction], Advice] = field(default_factory=dict)

    @cached_property
    def relation(self) -> InterleavedRelation:
        return InterleavedRelation(self.system)

    @cached_property
    def _local(self) -> tuple[str, ...]:
        agents = {agent.name: agent for agent in self.system.agents}
        names = (name for role in self.participant.agents for name in agents[role].local)
        return tuple(dict.fromkeys(names))

    @cached_property
    def _visible_bits(self) -> int:
        return self.relation.packing.mask(self._local)

    # --- state estimation

    def after(self, observed: Sequence[str]) -> tuple[tuple[int, ...], Fraction]:
        """Return the packed states in which a run with these events may be, and the value of what was sent.

        An event is a message with or without its payload, ``offer[1]`` or ``bid(3)``: sent and, without delay,
        received. ``send offer[1]`` and ``receive offer[1]`` name one of the two.
        """
        states = set(self.relation.initial_states())
        value = Fraction(0)
        for position, text in enumerate(observed, 1):
            event = self._event(text)
            following = {target for state in self._hidden_closure(states) for target in self._by_event(state, event)}
            if not following:
                raise NotARun(f"event {position}, `{text}`, is not possible there")
            states = following
            value += self._worth_of(event)
        return tuple(sorted(self._earliest(states))), value

    def _event(self, text: str) -> _Event:
        kind, _, name = text.rpartition(" ") if "(" not in text else text.partition("(")[0].rpartition(" ")
        message = name.partition("(")[0]
        payload = text.partition("(")[2].removesuffix(")").replace(" ", "")
        if kind not in _KINDS or message not in self.system.message:
            raise NotARun(f"`{text}` is no message of {self.system.name}")
        return _Event(kind, message, payload)

    def _by_event(self, state: int, event: _Event) -> Iterator[int]:
        """Yield the states after an event; a receipt that the participant does not see is left open."""
        message = self.system.message[event.message]
        mine = frozenset(self.participant.agents)
        for at in self._steps_of.get(event.message, ()):
            step = self.system.steps[at]
            if step.kind not in _KINDS[event.kind] or not event.allows(step):
                continue
            for target in self.relation.by_step(state, at):
                is_open = message.sender in mine and mine.isdisjoint(message.receivers)
                if step.kind == "send" and not event.kind and not is_open:
                    yield from self._received(target, event.message)
                elif step.kind != "receive" or event.kind or step.actor in mine:
                    yield target

    def _received(self, state: int, message: str) -> Iterator[int]:
        for at in self._steps_of[message]:
            if self.system.steps[at].kind == "receive":
                yield from self.relation.by_step(state, at)

    @cached_property
    def _steps_of(self) -> dict[str, list[int]]:
        steps: dict[str, list[int]] = {}
        for at, step in enumerate(self.system.steps):
            steps.setdefault(step.event, []).append(at)
        return steps

    def _worth_of(self, event: _Event) -> Fraction:
        """Return the value of the send; that of an own message is counted where it is sent."""
        if event.kind == "receive" and self.system.message[event.message].sender in self.participant.agents:
            return Fraction(0)
        steps = [at for at in self._steps_of.get(event.message, ()) if event.allows(self.system.steps[at])]
        return sum((one.amount for one in self.participant.worth if not set(steps).isdisjoint(one.steps)), Fraction(0))

    @cached_property
    def _hidden(self) -> tuple[int, ...]:
        """The steps of others that the participant does not see."""
        local, mine = frozenset(self._local), frozenset(self.participant.agents)
        return tuple(
            at
            for at, step in enumerate(self.system.steps)
            if step.actor not in mine and not step.writes & local and step.kind not in ("restart", "tick")
        )

    def _hidden_closure(self, states: set[int]) -> set[int]:
        """Return these states and all that steps lead to that the participant does not see."""
        reached, fresh = set(states), list(states)
        while fresh:
            state = fresh.pop()
            for at in self._hidden:
                for target in self.relation.by_step(state, at):
                    if target not in reached and target & self._visible_bits == state & self._visible_bits:
                        if len(reached) >= MAX_HIDDEN_STATES:
                            raise ResourceExhausted(f"the run may be in more than {MAX_HIDDEN_STATES:,} states")
                        reached.add(target)
                        fresh.append(target)
        return reached

    def _earliest(self, states: set[int]) -> set[int]:
        """Return the states that no hidden step leads to from another one of them."""
        if len(states) == 1:
            return states
        later: set[int] = set()
        for state in sorted(states):
            if state not in later:
                later |= (self._hidden_closure({state}) & states) - {state}
        earliest = states - later or states
        if len(earliest) > MAX_CANDIDATES:
            raise ResourceExhausted(f"the run may be in more than {MAX_CANDIDATES} states")
        return earliest

    # --- options

    def advice_after(self, observed: Sequence[str]) -> Advice:
        """Return what each option is worth after these events."""
        return self.advice(*self.after(observed))

    def advice_in(self, states: Sequence[State]) -> Advice:
        """Return what each option is worth in one of these states; each message that was sent counts once."""
        packed = sorted({self.relation.packing.pack(state) for state in states})
        return self.advice(packed, min(map(self._value_in, packed)))

    def _value_in(self, state: int) -> Fraction:
        value = Fraction(0)
        for one in self.participant.worth:
            events = {self.system.steps[at].event for at in one.steps}
            sent = (self.relation.packing.condition(self.system.message[event].sent)(state) for event in events)
            value += one.amount * sum(sent)
        return value

    def advice(self, states: Sequence[int], value: Fraction = Fraction(0)) -> Advice:
        """Return what each option is worth in a run that is in one of these states."""
        key = tuple(states), value
        if key not in self._cache:
            options = sorted(self._options(states, value), key=self._preference, reverse=True)
            self._cache[key] = Advice(self.participant.name, tuple(options), len(states))
        return self._cache[key]

    def _options(self, states: Sequence[int], value: Fraction) -> Iterator[Option]:
        sends = [self._send(step, following, value) for step, following in self._possible_sends(states)]
        yield from sends
        yield self._waiting(self._states(states), value, sends)

    def _possible_sends(self, states: Sequence[int]) -> Iterator[tuple[Step, list[int]]]:
        """Yield the sends that the participant may decide on, with the states after them."""
        mine = frozenset(self.participant.agents)
        believed = {at for one in self.participant.beliefs for event in one.events for at in event.steps}
        for at, step in enumerate(self.system.steps):
            if step.kind in SEND_KINDS and step.actor in mine and at not in believed:
                following = {target for state in states for target in self.relation.by_step(state, at)}
                if following and all(self._allows(at, state) for state in states):
                    yield step, sorted(following)

    def _allows(self, at: int, state: int) -> bool:
        """Return whether the decisions of the participant allow this send."""
        packing = self.relation.packing
        rules = (one.condition for one in self.participant.decisions if at in one.steps)
        return all(packing.condition(condition)(state) for condition in rules)

    def _states(self, states: Sequence[int]) -> list[State]:
        return [self.relation.packing.unpack(state) for state in states]

    def _send(self, step: Step, following: Sequence[int], value: Fraction) -> Option:
        at = self.system.steps.index(step)
        gained = sum((one.amount for one in self.participant.worth if at in one.steps), Fraction(0))
        figures, lines = self._guarantees(self._states(following), value + gained, Attitude.FREE)
        return Option(step.event, step.payload, figures, lines)

    def _waiting(self, states: Sequence[State], value: Fraction, sends: Sequence[Option]) -> Option:
        """Return the worth of waiting: that of the best plan from here, unless that begins with a send.

        Where it does, waiting is worth at least as much as never sending again.
        """
        figures, lines = self._guarantees(states, value, Attitude.FREE)
        if not sends:
            return Option("", (), figures, lines)
        never, never_lines = self._guarantees(states, value, Attitude.STAYS_AWAY)
        worth = []
        for (aspect, best), (_, least) in zip(figures, never, strict=True):
            is_better = all(best.low > one.figure(aspect).high + _CLOSE for one in sends)
            worth.append((aspect, best if is_better else Bounds(least.low, best.high)))
        met_later = [
            status if status == least or all(one.lines[at] != "passes" for one in sends) else "unknown"
            for at, (status, least) in enumerate(zip(lines, never_lines, strict=True))
        ]
        return Option("", (), tuple(worth), tuple(met_later))

    def _guarantees(
        self, states: Sequence[State], value: Fraction, attitude: Attitude
    ) -> tuple[tuple[tuple[Aspect, Bounds], ...], tuple[Status, ...]]:
        system, participant = begun(self.system, self.participant, states, value)
        return guarantees(system, participant, self.lines, attitude=attitude, assumed=self.assumed)

    @staticmethod
    def _preference(option: Option) -> tuple[float, ...]:
        """Return the order of options: thresholds that are met, value, goals, commitments; waiting wins ties."""
        figures = {aspect: float(bounds.low) for aspect, bounds in option.figures}
        return (
            sum(_PREFERENCE[line] for line in option.lines),
            *(round(figures.get(aspect, 0.0), 9) for aspect in ("value", "achievement", "conformance")),
            not option.message,
        )


def begun(
    system: System, participant: Participant, states: Sequence[State], value: Fraction
) -> tuple[System, Participant]:
    """Return the system that begins in one of these states, and the participant with this value from before.

    Where there are several states the world picks one, by a hidden step before all others.
    """
    variables = [replace(one, initial=(states[0][one.name],)) for one in system.variables]
    steps = list(system.steps)
    if len(states) > 1:
        numbers = tuple(range(len(states)))
        variables.append(Variable(_BEGINNING, numbers, numbers, "own", "Env", _BEGINNING))
        variables.append(Variable(f"{_BEGINNING} over", (False, True), (False,), "own", "Env", _BEGINNING))
        over = e.one_of(e.Read(f"{_BEGINNING} over"), [True])
        steps = [replace(one, guard=e.conj((over, one.guard))) for one in steps]
        steps += [_entering(number, state, e.negate(over)) for number, state in enumerate(states)]
    if value:
        variables.append(Variable(_PAST, (False, True), (False,), "own", "Env", _PAST))
        past = e.one_of(e.Read(_PAST), [False])
        steps.append(Step(_PAST, "receive", "Env", "", (), past, ((_PAST, e.Const(True)),)))
        participant = replace(participant, worth=(*participant.worth, Worth((len(steps) - 1,), value, _PAST)))
    return replace(system, variables=tuple(variables), steps=tuple(steps)), participant


def _entering(number: int, state: State, before: Expr) -> Step:
    guard = e.conj((before, e.one_of(e.Read(_BEGINNING), [number])))
    updates = tuple((name, e.Const(value)) for name, value in state.items())
    return Step(
        f"{_BEGINNING} {number}", "receive", "Env", "", (), guard, (*updates, (f"{_BEGINNING} over", e.Const(True)))
    )
