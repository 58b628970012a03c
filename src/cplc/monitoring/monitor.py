"""The runtime monitor: it consumes events and returns violations and changes of commitments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, timedelta, tzinfo
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cplc.diagnostics.core import Diagnostic
from cplc.language.durations import duration_text
from cplc.logs.events import Event, Garbage
from cplc.logs.mapping import Vocabulary, vocabulary_of
from cplc.lowering.term_text import content_text
from cplc.monitoring import findings as f
from cplc.monitoring.case_state import Case, MonitorTotals, ReorderBuffer
from cplc.monitoring.deadline_clock import Clock, clock_for
from cplc.monitoring.deadline_fields import BadDeadline, DeadlineFields
from cplc.monitoring.event_matching import EventResolver, ResolvedEvent, UnresolvedEvent
from cplc.monitoring.findings import Finding
from cplc.monitoring.lifecycle_log import LifecycleLog
from cplc.monitoring.rejection_explanation import expected, reason
from cplc.monitoring.snapshots import Unrestorable, check, restored, taken
from cplc.monitoring.state_tracker import Outcome, States, StateTracker, StepSequence
from cplc.monitoring.status import Allowed, CommitmentReport, allowed, commitment_reports
from cplc.runtime.context import ResourceExhausted
from cplc.semantics.terms import ages_in, speaks_of_ticks
from cplc.simulation.run_statistics import ON_COURSE
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.compilation import CplCompilation
    from cplc.decision.next_send import Advice
    from cplc.monitoring.instances_by_key import InstancesByKey
    from cplc.monitoring.open_values import OpenValues
    from cplc.semantics.model import CheckedModel

Deliveries = Literal["auto", "logged", "inferred"]

Watch = Callable[[States, ResolvedEvent, bool], None]
"""Receives the possible states of a case, the resolved event, and whether receipts are inferred."""

_MOST: Final = 1024
_ENDED: Final = 1 << 16
_LOST: Final[States] = ()
_NONE: Final[Mapping[str, str]] = {}
_SPARE_VALUES: Final = 2
"""Values of open types besides those that a case has at once: events that are rejected have values, too."""


class Invalid(ValueError):
    """Raised for a protocol with errors, or one that cannot be monitored; the text says why."""


class TicksNotDerivable(Invalid):
    """Raised for a protocol that counts ticks otherwise than by deadlines, where a tick has a length."""


class Monitor:
    """Monitors any number of cases of one protocol.

    Feed it events in their order; it returns the findings of each. A rejected event changes no state.

    ``tick`` is the length of a tick of the protocol's deadlines; without it no time passes, except by `pass_ticks`.
    With ``"none"``, the times of events say nothing about ticks: any number of them may pass between two events, and a
    finding is certain for each number.
    ``skew`` is the tolerated clock skew: events of a case are held back that long and reordered. ``deliveries`` says
    whether receipts are events of the log (``logged``) or unobservable (``inferred``); ``auto`` infers them until the
    first receipt is fed. ``most`` is the maximum number of candidate states per case; a case with more is given up.
    ``zone`` is that of dates without one in fields with deadlines.
    ``advises`` names the participants that `advise` may be asked about.
    """

    def __init__(
        self,
        protocol: CplCompilation,
        *,
        tick: timedelta | Literal["none"] | None = None,
        skew: timedelta = timedelta(0),
        deliveries: Deliveries = "auto",
        most: int = _MOST,
        zone: tzinfo = UTC,
        advises: Sequence[str] = (),
    ) -> None:
        self.has_silent_ticks = tick == "none"
        """True if any number of ticks may pass between two events."""
        tick = None if tick == "none" else tick
        _check(protocol, tick, skew)
        self._protocol = protocol
        self._by_key: InstancesByKey | None = None
        if protocol.model.blocks:
            from cplc.compilation.any_number import with_one_key
            from cplc.monitoring.instances_by_key import InstancesByKey

            protocol = with_one_key(protocol)
            self._by_key = InstancesByKey(dict(protocol.system.keys))
        if protocol.model.data:
            from cplc.semantics.data_values import with_values

            protocol = protocol.mutated(with_values(protocol.model, more=_SPARE_VALUES, for_logs=True))
        self._model: CheckedModel = protocol.model
        if not self.has_silent_ticks:
            tick = _length_of_tick(self._model, tick)
        self.tick = tick
        """The length of a tick: the given one, or that of the protocol."""
        self._advisers = {name: protocol.adviser(name) for name in advises}
        read = frozenset(one.name for adviser in self._advisers.values() for one in adviser.system.variables)
        self._clock: Clock = clock_for(protocol, tick, read)
        if self._advisers and self._clock.limits:
            raise Invalid("there is no advice where deadlines run in real time: give no length of a tick")
        self._tracker = StateTracker(self._clock.system, most, silent_ticks=self.has_silent_ticks)
        players = {participant.name: participant.roles for participant in self._model.participants}
        if tick is not None and (what := counting_ticks(self._model)) is not None:
            raise TicksNotDerivable(f"{what} counts ticks, which cannot be derived from times")
        self._asks = {one.name: content_text(one.consequent) for one in self._model.commitments}
        self._asks |= {one.name: content_text(one.content) for one in self._model.claims}
        self._resolver = EventResolver(self._tracker, players)
        self._open_values: OpenValues | None = None
        if self._model.data:
            from cplc.monitoring.open_values import OpenValues

            try:
                self._open_values = OpenValues(self._tracker)
            except ValueError as problem:
                raise Invalid(str(problem)) from None
        self._deadline_fields = DeadlineFields(self._model, 0 if tick is None else _nanoseconds(tick), zone)
        self._skew = _nanoseconds(skew)
        self._deliveries = deliveries
        self._inferring = deliveries != "logged" and not self._model.sync
        self._cases: dict[str, Case] = {}
        self._ended: dict[str, Literal["over", "anew"]] = {}
        self._waiting: dict[str, ReorderBuffer] = {}
        self._listeners: dict[int, Callable[[Finding], object]] = {}
        self._lifecycle_log = LifecycleLog(self._tracker, self._clock)
        self._newest: int | None = None
        self.watching: Watch | None = None
        """Receives each accepted event before it is applied."""
        try:
            _ = self._tracker.initial
        except ResourceExhausted as limit:
            raise Invalid(f"{limit}; raise the maximum number of possible states") from None

    @classmethod
    def load(
        cls,
        path: str | Path,
        parameters: Mapping[str, str] = _NONE,
        *,
        channels: Literal["sync", "async"] | None = None,
        tick: timedelta | Literal["none"] | None = None,
        skew: timedelta = timedelta(0),
        deliveries: Deliveries = "auto",
        most: int = _MOST,
        advises: Sequence[str] = (),
    ) -> Monitor:
        """Return a monitor of the protocol in a file. Raise `Invalid` if it has errors."""
        from cplc.compilation import CplCompilation, NotApplicable, load

        try:
            compilation = load(str(path), dict(parameters), channels)
        except NotApplicable as problem:
            raise Invalid(str(problem)) from None
        if isinstance(compilation, Diagnostic):
            raise Invalid(compilation.concise())
        if not isinstance(compilation, CplCompilation):
            raise Invalid(f"`{path}` is a model in ISPL; a monitor needs a protocol")
        return cls(compilation, tick=tick, skew=skew, deliveries=deliveries, most=most, advises=advises)

    # --- input

    def feed(self, event: Event | Garbage) -> list[Finding]:
        """Process an event; return its findings, and those of events that waited for it."""
        self.totals.events += 1
        if isinstance(event, Garbage):
            return self._told([f.Unreadable(event.place, "", None, event.reason)])
        if self._by_key is not None:
            from cplc.monitoring.instances_by_key import NoKey

            try:
                event = self._by_key.routed(event)
            except NoKey as problem:
                return self._told([self._rejection(event, f.BadPayload, event.message, (str(problem),))])
        if not self._skew or (event.time is None and event.case not in self._waiting):
            return self._told(self._judged(event))
        return self._told([finding for one in self._in_order(event) for finding in self._judged(one)])

    def advance(self, time: int) -> list[Finding]:
        """Advance the time of every case (in nanoseconds since 1970, UTC), so that deadlines expire."""
        findings: list[Finding] = []
        for name in list(self._waiting):
            for event in self._due(name, time - self._skew):
                findings += self._judged(event)
        if self._clock.tick:
            for name in list(self._cases):
                findings += self._until(name, time - self._skew)
        return self._told(findings)

    def pass_ticks(self, case: str, count: int = 1) -> list[Finding]:
        """Let ticks pass in one case, for logs without times."""
        if self._clock.tick or self.has_silent_ticks:
            raise ValueError(
                "ticks pass by the times of events" if self._clock.tick else "any number of ticks may pass"
            )
        return self._told([one for name in self._with_instances(case) for one in self._pass_ticks(name, count)])

    def _pass_ticks(self, case: str, count: int) -> list[Finding]:
        open_case = self._cases.get(case)
        if open_case is None or open_case.states == _LOST:
            return []
        try:
            findings = list(self._ticks(case, open_case, count))
        except ResourceExhausted:
            return [self._lose(case, open_case, "tick", open_case.place, None)]
        return [*findings, *self._closed_if_over(case, open_case)]

    def _with_instances(self, case: str) -> list[str]:
        """Return the names of a case and of its open instances by key."""
        if self._by_key is None:
            return [case]
        from cplc.monitoring.instances_by_key import split

        return [case, *(name for name in self._cases if name != case and split(name)[0] == case)]

    def finish(self, time: int | None = None) -> list[Finding]:
        """End the log at the time of the newest event, or at this time; return the open commitments.

        Where receipts are inferred, messages in transit arrive. To resume a log, take a snapshot before.
        """
        findings: list[Finding] = []
        for name in list(self._waiting):
            for event in self._due(name, None):
                findings += self._judged(event)
        end = self._newest if time is None else time
        if self._clock.tick and end is not None:
            for name in list(self._cases):
                findings += self._until(name, end)
        for name, case in self._cases.items():
            findings += self._arrived(name, case)
            for one in self.commitments(name):
                if one.state == "active" and not one.is_claim:
                    who = (one.name, one.debtor, one.creditor)
                    kind = f.OnCourse if one.on_course else f.Open
                    findings.append(kind(case.place, name, end, *who, one.state, one.since, one.due))
        return self._told(findings)

    def subscribe(self, callback: Callable[[Finding], object]) -> Callable[[], None]:
        """Call back with every finding; the returned function unsubscribes."""
        number = max(self._listeners, default=0) + 1
        self._listeners[number] = callback

        def unsubscribe() -> None:
            self._listeners.pop(number, None)

        return unsubscribe

    def _told(self, findings: list[Finding]) -> list[Finding]:
        for finding in findings:
            self.totals.finding_counts[finding.kind] += 1
        if self._listeners:
            for finding in findings:
                for callback in list(self._listeners.values()):
                    callback(finding)
        return findings

    # --- queries

    @property
    def totals(self) -> MonitorTotals:
        """Totals over all cases so far."""
        return self._lifecycle_log.totals

    @property
    def system(self) -> System:
        return self._tracker.system

    @cached_property
    def vocabulary(self) -> Vocabulary:
        """The names and the payloads of the protocol, for mappings."""
        players = frozenset(participant.name for participant in self._model.participants)
        return vocabulary_of(self._protocol.system, players)

    @property
    def tracker(self) -> StateTracker:
        """The state tracker, for observers of more than findings."""
        return self._tracker

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that are open."""
        return tuple(self._cases)

    @property
    def standing(self) -> Iterator[tuple[str, str]]:
        """Every commitment and claim of the open cases, by name, with its state."""
        for case in self._cases.values():
            for position, status in case.statuses.items():
                if position < len(self._tracker.reported):
                    on_course = self._tracker.is_on_course(position, case.states)
                    yield self._tracker.reported[position].name, ON_COURSE if on_course else status.state

    @staticmethod
    def instance(case: str, key: str, value: str | float | bool) -> str:
        """Return the name of an instance by key, which stands for a case in all queries."""
        from cplc.monitoring.instances_by_key import instance_name

        return instance_name(case, key, value)

    def case_closed(self, case: str) -> bool:
        """Tell whether a case has ended, as long as the monitor remembers it."""
        return self._ended.get(case) == "over"

    def is_lost(self, event: Event) -> bool:
        """Tell whether the case of an event was given up, since too many states are possible: nothing is decided."""
        name = event.case if self._by_key is None else self._by_key.routed(event).case
        open_case = self._cases.get(name)
        return open_case is not None and open_case.states == _LOST

    def commitments(self, case: str) -> tuple[CommitmentReport, ...]:
        """Return the status of every commitment and claim of a case."""
        open_case = self._cases.get(case) or Case(self._initial(case))
        return commitment_reports(self._tracker, open_case, self._inferring, self._clock, self._asks)

    def allowed(self, agent: str, case: str) -> Allowed:
        """Return what a role, or a participant, may send now in a case, and what it owes there."""
        roles = self._resolver.roles(agent)
        if not roles:
            raise KeyError(f"`{agent}` is neither a role nor a participant of {self.system.name}")
        open_case = self._cases.get(case)
        states = self._initial(case) if open_case is None else open_case.states
        if self.case_closed(case):
            states = _LOST
        result = allowed(self._tracker, agent, roles, states, self._inferring, self.commitments(case))
        if self._open_values is None:
            return result
        return self._open_values.allowed_in_log(result, {} if open_case is None else open_case.names)

    def advise(self, agent: str, case: str) -> Advice:
        """Return what each option of a participant is worth now in a case, the best one first."""
        if agent not in self._advisers:
            raise KeyError(f"this monitor does not advise `{agent}`: name it in `advises`")
        open_case = self._cases.get(case)
        if self.case_closed(case) or (open_case is not None and open_case.states == _LOST):
            raise KeyError(f"case {case} is closed, or too many states are possible")
        adviser = self._advisers[agent]
        states = self._tracker.initial if open_case is None else open_case.states
        every = [self._tracker.packing.unpack(state) for state in states]
        return adviser.advice_in([{one.name: state[one.name] for one in adviser.system.variables} for state in every])

    def close(self, case: str) -> None:
        """Close a case that ended outside of the protocol, with its instances; its commitments remain in the totals."""
        for name in self._with_instances(case):
            open_case = self._cases.pop(name, None)
            self._waiting.pop(name, None)
            if open_case is not None:
                self._lifecycle_log.close(open_case)
                self._end(name, "over")

    def _initial(self, case: str) -> States:
        return self._tracker.initial if self._by_key is None else self._tracker.initial_of(self._key_of(case))

    def _key_of(self, case: str) -> str | None:
        """Return the key of an instance by its name, nothing for what is in no block; None if there are no blocks."""
        if self._by_key is None:
            return None
        from cplc.monitoring.instances_by_key import key_of

        return key_of(case)

    # --- one event

    def _judged(self, event: Event) -> list[Finding]:
        """Check an event against its case, and apply it if it is allowed."""
        try:
            event = self._deadline_fields.in_ticks(event)
        except BadDeadline as problem:
            return [self._rejection(event, f.BadPayload, event.message, (str(problem),), ())]
        name = event.case
        open_case = self._cases.get(name)
        if open_case is not None and open_case.states == _LOST:
            return []
        case = open_case or Case(self._initial(name))
        if self._open_values is not None:
            from cplc.monitoring.open_values import NoValue

            try:
                event = self._open_values.translated(event, case)
            except NoValue as problem:
                return [self._rejection(event, f.BadPayload, event.message, (str(problem),))]
            except ResourceExhausted:
                return [self._lose(name, case, event.message, event.place, event.time)]
        resolved = self._resolver.resolve(event)
        if isinstance(resolved, UnresolvedEvent):
            return [self._rejection(event, resolved.kind, resolved.message, resolved.because, resolved.instead)]
        ended = self._ended.get(name) if open_case is None else None
        if ended and self._is_inferred_end(event, ended):
            return []
        if ended == "over":
            return [self._rejection(event, f.CaseOver, resolved.message)]
        findings: list[Finding] = []
        time = self._time_at(event, case)
        if event.time is not None and time is not None and event.time < time:
            findings.append(f.BackInTime(event.place, name, event.time, resolved.message, (time - event.time) / 1e9))
        inferring = self._inferring and not (event.kind == "received" and self._deliveries == "auto")
        try:
            states = self._states_at(name, case, time)
            outcome = self._outcome(event, resolved, states, inferring)
        except ResourceExhausted:
            return [*findings, self._lose(name, case, resolved.message, event.place, event.time)]
        if not isinstance(outcome, Outcome):
            if self._open_values is not None and isinstance(outcome, f.Rejected):
                outcome = replace(outcome, because=self._open_values.in_words(outcome.because, case.names))
            return [*findings, *self._rejected(name, outcome, time)]
        self._inferring = inferring
        self._open(name, case)
        findings += self._expire_deadlines(name, case, time, self._lifecycle_log)
        case.time, case.place = time, event.place
        self._accept(event)
        if self.watching is not None:
            self.watching(states, resolved, self._inferring)
        findings += self._lifecycle_log.go_on(name, case, outcome, resolved.message, event.place, time)
        return [*findings, *self._closed_if_over(name, case)]

    def _accept(self, event: Event) -> None:
        self.totals.accepted += 1
        if event.time is not None and (self._newest is None or event.time > self._newest):
            self._newest = event.time

    def _time_at(self, event: Event, case: Case) -> int | None:
        """Return the time of the event or, if it is older than the previous one or has no time, of its case."""
        if event.time is None or case.time is None:
            return case.time if event.time is None else event.time
        return max(event.time, case.time)

    def _is_inferred_end(self, event: Event, ended: Literal["over", "anew"]) -> bool:
        """Tell whether the event is a receipt that was inferred, and with it the end of its case."""
        is_inferred = self._inferring or self._model.sync or (ended, self._deliveries) == ("over", "auto")
        return event.kind == "received" and is_inferred

    def _states_at(self, name: str, case: Case, time: int | None) -> States:
        """Return the possible states after the deadlines that are due before that time; the case is unchanged."""
        if self._clock.next(case, time) is None:
            return case.states
        copy = replace(case, statuses=dict(case.statuses))
        self._expire_deadlines(name, copy, time, LifecycleLog(self._tracker, self._clock))
        return copy.states

    def _outcome(
        self, event: Event, resolved: ResolvedEvent, states: States, inferring: bool
    ) -> Outcome | Finding | None:
        """Return the effect of the event, or its rejection; None for a receipt that has been inferred before."""
        is_receipt = event.kind == "received"
        if is_receipt and self._model.sync and self._has_arrived(resolved, states):
            return None
        outcome = self._tracker.after(states, resolved.ways, inferring) if resolved.ways else None
        if outcome is not None:
            return outcome
        if is_receipt and inferring and self._has_arrived(resolved, states):
            return None
        return self._refused(event, resolved, states, inferring)

    def _rejected(self, name: str, rejection: Finding | None, time: int | None) -> Iterator[Finding]:
        if isinstance(rejection, f.TooLate) and name in self._cases and time is not None:
            # Its deadline has run out by this time: without this, the promise would still be reported as open.
            yield from self._until(name, time)
        yield from () if rejection is None else (rejection,)

    def _open(self, name: str, case: Case) -> None:
        """Open the case, unless it is open."""
        if name not in self._cases:
            self.totals.cases += name not in self._ended
            self._ended.pop(name, None)
            self._cases[name] = case

    def _has_arrived(self, resolved: ResolvedEvent, states: States) -> bool:
        """Tell whether a message was received already in all possible states."""
        received = (self._tracker.packing.condition(one.received) for one in resolved.messages)
        return any(all(condition(state) for state in states) for condition in received)

    def _refused(self, event: Event, resolved: ResolvedEvent, states: States, inferring: bool) -> Finding:
        kind, because = reason(self._tracker, states, inferring, resolved)
        senders = frozenset(message.sender for message in resolved.messages)
        instead = expected(self._tracker, states, inferring, senders)
        return self._rejection(event, kind, resolved.message, because, instead)

    @staticmethod
    def _rejection(
        event: Event,
        kind: type[f.Rejected],
        message: str,
        because: Sequence[str] = (),
        instead: Sequence[str] = (),
    ) -> Finding:
        return kind(event.place, event.case, event.time, message, event.sender, tuple(because), tuple(instead))

    # --- time

    def _ticks(self, name: str, case: Case, count: int) -> Iterator[Finding]:
        """Let ticks pass, until a tick has no effect."""
        if self._tracker.tick is None:
            return
        ways: tuple[StepSequence, ...] = ((self._tracker.tick,),)
        for _ in range(count):
            outcome = self._tracker.after(case.states, ways, self._inferring)
            if outcome is None or outcome.states == case.states:
                return
            yield from self._lifecycle_log.go_on(name, case, outcome, None, case.place, None)

    def _expire_deadlines(self, name: str, case: Case, time: int | None, log: LifecycleLog) -> list[Finding]:
        """Expire the deadlines of a case that are due before that time."""
        findings: list[Finding] = []
        while (following := self._clock.next(case, time)) is not None:
            due, position = following
            status = case.statuses[position]
            outcome = self._tracker.expire_deadline(case.states, position, status.state, self._inferring)
            findings += log.go_on(name, case, outcome, None, case.place, due)
            if case.statuses.get(position) == status:
                case.statuses[position] = status._replace(is_over=True)
        return findings

    def _until(self, name: str, time: int) -> list[Finding]:
        """Advance the time of a case."""
        case = self._cases[name]
        if case.states == _LOST or self._clock.next(case, time) is None:
            return []
        try:
            findings = self._expire_deadlines(name, case, time, self._lifecycle_log)
        except ResourceExhausted:
            return [self._lose(name, case, "tick", case.place, time)]
        return [*findings, *self._closed_if_over(name, case)]

    # --- the end of a case

    def _closed_if_over(self, name: str, case: Case) -> Iterator[Finding]:
        """Close a case that has ended, and remember only that it existed."""
        ending = self._tracker.ending(case.states, self._inferring, self._key_of(name))
        if ending is not None:
            yield from self._arrived(name, case)
            if ending == "anew":
                yield from self._lifecycle_log.restart(name, case)
            self._cases.pop(name, None)
            self._lifecycle_log.close(case)
            self._end(name, ending)

    def _arrived(self, name: str, case: Case) -> Iterator[Finding]:
        """Let messages in transit arrive, where receipts are inferred: no other event can precede them."""
        while self._inferring and case.states and (arrival := self._tracker.arrival(case.states)) is not None:
            message, outcome = arrival
            yield from self._lifecycle_log.go_on(name, case, outcome, message, case.place, case.time)

    def _lose(self, name: str, case: Case, message: str, place: str, time: int | None) -> Finding:
        """Give up a case; its commitments count as unknown."""
        self.totals.cases += name not in self._cases and name not in self._ended
        self._ended.pop(name, None)
        case.states = _LOST
        self._lifecycle_log.close(case, "unknown")
        self._cases[name] = case
        return f.LostTrack(place, name, time, message, self._tracker.most)

    def _end(self, name: str, how: Literal["over", "anew"]) -> None:
        """Remember the end of a case, for a limited number of the latest ones."""
        self.totals.over += how == "over"
        self._ended.pop(name, None)
        self._ended[name] = how
        if len(self._ended) > _ENDED:
            del self._ended[next(iter(self._ended))]

    # --- clock skew

    def _in_order(self, event: Event) -> Iterator[Event]:
        """Buffer the event until no older one of its case is expected; yield the events that are due."""
        waiting = self._waiting.setdefault(event.case, ReorderBuffer())
        waiting.hold(event, self._skew)
        yield from self._due(event.case, (waiting.newest or 0) - self._skew)

    def _due(self, case: str, time: int | None) -> Iterator[Event]:
        """Yield the buffered events of a case up to a time, or all, in order."""
        waiting = self._waiting[case]
        yield from waiting.due(time)
        if not waiting.events:
            del self._waiting[case]

    # --- snapshots

    def snapshot(self) -> dict[str, object]:
        """Return the state of the monitor as JSON values, for another monitor of the same protocol to resume."""
        return taken(
            self._identity, self._cases, self._ended, self._waiting, self.totals, self._inferring, self._newest
        )

    def restore(self, snapshot: Mapping[str, object]) -> None:
        """Resume from a snapshot. Raise `Unrestorable` if it belongs to another protocol, or is damaged."""
        check(snapshot, self._identity)
        try:
            state = restored(snapshot, self._tracker)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
            raise Unrestorable(f"it is damaged: {str(problem)[:200]}") from None
        self._cases, self._ended, self._waiting, totals, self._inferring, self._newest = state
        self._lifecycle_log.totals = totals

    @property
    def _identity(self) -> tuple[System, str]:
        """Fingerprint that must be equal for a monitor to resume from a snapshot."""
        ticks = "none" if self.has_silent_ticks else f"{self._clock.tick}"
        return self._tracker.system, f"{ticks} {self._skew} {self._deliveries} {self._tracker.most}"


def _check(protocol: CplCompilation, tick: timedelta | None, skew: timedelta) -> None:
    if not protocol.ok:
        errors = [one.concise() for one in protocol.diagnostics if one.is_error]
        raise Invalid(errors[0] if errors else "the protocol has no meaning")
    if tick is not None and tick <= timedelta(0):
        raise Invalid("the length of a tick must be positive")
    if skew < timedelta(0):
        raise Invalid("the tolerated clock skew must not be negative")


def _length_of_tick(model: CheckedModel, given: timedelta | None) -> timedelta | None:
    """Return the length of a tick, which the protocol may declare; raise `Invalid` where the two differ."""
    if model.tick is None:
        return given
    if given is not None and _nanoseconds(given) != model.tick:
        lengths = duration_text(_nanoseconds(given)), duration_text(model.tick)
        raise Invalid(f"a tick is {lengths[1]} by `clock tick` of {model.name}, and {lengths[0]} by --tick")
    return timedelta(microseconds=model.tick // 1000)


def default_tick(model: CheckedModel) -> Literal["none"] | None:
    """Return the length of a tick where none is given: none where no time passing would judge contents wrongly.

    `G<=1 ticks !poll` would be violated by a poll a day later, and no message would wait for an age.
    """
    return "none" if model.tick is None and counting_ticks(model) is not None else None


def counting_ticks(model: CheckedModel) -> str | None:
    """Return a content or guard that counts ticks, which real time does not provide, or None."""
    contents = [(one.name, one.consequent) for one in model.commitments]
    contents += [(one.name, one.content) for one in model.claims]
    by_content = (f"`{name}`" for name, content in contents if speaks_of_ticks(content))
    by_guard = (f"the guard of `{one.name}`" for one in model.messages if any(ages_in(one.guard)))
    return next(iter((*by_content, *by_guard)), None)


def _nanoseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1) * 1000
