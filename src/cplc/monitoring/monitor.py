"""The monitor: is told what happens, and says what is wrong with it and what became of every promise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from cplc.logs.events import Event, Garbage
from cplc.lowering.term_text import content_text
from cplc.monitoring import findings as f
from cplc.monitoring.case_state import Case, MonitorTotals, ReorderBuffer
from cplc.monitoring.deadline_clock import Clock, clock_for
from cplc.monitoring.event_matching import EventResolver, ResolvedEvent, UnresolvedEvent
from cplc.monitoring.findings import Finding
from cplc.monitoring.lifecycle_log import LifecycleLog
from cplc.monitoring.rejection_explanation import expected, reason
from cplc.monitoring.snapshots import Unrestorable, check, restored, taken
from cplc.monitoring.state_tracker import States, StateTracker, StepSequence
from cplc.monitoring.status import Allowed, CommitmentReport, allowed, commitment_reports
from cplc.runtime.limits import ResourceExhausted
from cplc.semantics.terms import ages_in, speaks_of_ticks
from cplc.simulation.run_statistics import ON_COURSE
from cplc.system.model import System

if TYPE_CHECKING:
    from cplc.compilation import Compilation
    from cplc.semantics.model import CheckedModel

Deliveries = Literal["auto", "logged", "inferred"]

Watch = Callable[[States, ResolvedEvent, bool], None]
"""Is told the states that a case may be in, what happens then, and whether receipts are inferred."""

_MOST: Final = 1024
_ENDED: Final = 1 << 16
_LOST: Final[States] = ()
_NONE: Final[Mapping[str, str]] = {}


class Invalid(ValueError):
    """The protocol has errors, or is none that can be monitored; the text says which."""


class Monitor:
    """Watches any number of cases of one protocol.

    Feed it events in the order in which they happened; it returns what there is to say of each. An event that is not
    allowed changes nothing: whatever is possible after it was possible before.

    ``tick`` is how long a tick of the protocol's deadlines takes; without it time stands still, unless `pass_ticks`
    says otherwise. ``skew`` is by how much the clocks of a log may differ: events of a case are held back that long and
    put in order. ``deliveries`` says whether receipts are events of their own (``logged``) or go on unseen
    (``inferred``); ``auto`` infers them until the first receipt is fed. ``most`` is how many states of a case may be
    possible at once, where events leave something unsaid; a case of more is given up.
    """

    def __init__(
        self,
        protocol: Compilation,
        *,
        tick: timedelta | None = None,
        skew: timedelta = timedelta(0),
        deliveries: Deliveries = "auto",
        most: int = _MOST,
    ) -> None:
        if not protocol.ok:
            errors = [one.concise() for one in protocol.diagnostics if one.is_error]
            raise Invalid(errors[0] if errors else "the protocol means nothing")
        if tick is not None and tick <= timedelta(0):
            raise Invalid("a tick takes some time")
        if skew < timedelta(0):
            raise Invalid("a tolerance is not negative")
        self._model: CheckedModel = protocol.model
        self._clock: Clock = clock_for(protocol, tick)
        self._tracker = StateTracker(self._clock.system, most)
        players = {participant.name: participant.roles for participant in self._model.participants}
        if tick is not None and (what := counting_ticks(self._model)) is not None:
            raise Invalid(f"{what} counts ticks, which a log with times does not tell: leave the length of a tick out")
        self._asks = {one.name: content_text(one.consequent) for one in self._model.commitments}
        self._asks |= {one.name: content_text(one.content) for one in self._model.claims}
        self._resolver = EventResolver(self._tracker, players)
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
        """Is told of each message that may happen, before it does."""
        try:
            _ = self._tracker.initial
        except ResourceExhausted as limit:
            raise Invalid(f"{limit}; let more be possible") from None

    @classmethod
    def load(
        cls,
        path: str | Path,
        parameters: Mapping[str, str] = _NONE,
        *,
        channels: Literal["sync", "async"] | None = None,
        tick: timedelta | None = None,
        skew: timedelta = timedelta(0),
        deliveries: Deliveries = "auto",
        most: int = _MOST,
    ) -> Monitor:
        """Return a monitor of the protocol in a file; raise `Invalid` if there is something wrong with it."""
        from cplc.compilation import Compilation, load

        compilation = load(str(path), dict(parameters), channels)
        if not isinstance(compilation, Compilation):
            raise Invalid(compilation.concise())
        return cls(compilation, tick=tick, skew=skew, deliveries=deliveries, most=most)

    # --- being told

    def feed(self, event: Event | Garbage) -> list[Finding]:
        """Take what has happened; return all that is to be said of it, and of what it has let happen."""
        self.totals.events += 1
        if isinstance(event, Garbage):
            return self._told([f.Unreadable(event.place, "", None, event.reason)])
        if not self._skew or (event.time is None and event.case not in self._waiting):
            return self._told(self._judged(event))
        return self._told([finding for one in self._in_order(event) for finding in self._judged(one)])

    def advance(self, time: int) -> list[Finding]:
        """Let it be that late (in nanoseconds since 1970, UTC) in every case, so that deadlines run out."""
        findings: list[Finding] = []
        for name in list(self._waiting):
            for event in self._due(name, time - self._skew):
                findings += self._judged(event)
        if self._clock.tick:
            for name in list(self._cases):
                findings += self._until(name, time - self._skew)
        return self._told(findings)

    def pass_ticks(self, case: str, count: int = 1) -> list[Finding]:
        """Let ticks pass in one case: for protocols with deadlines where no times are known."""
        if self._clock.tick:
            raise ValueError("ticks pass by the times of events")
        open_case = self._cases.get(case)
        if open_case is None or open_case.states == _LOST:
            return []
        try:
            findings = list(self._ticks(case, open_case, count))
        except ResourceExhausted:
            return self._told([self._lose(case, open_case, "tick", open_case.place, None)])
        return self._told([*findings, *self._closed_if_over(case, open_case)])

    def finish(self, time: int | None = None) -> list[Finding]:
        """Say what is left at the end: let it be as late as the newest event, or this time; name what is open.

        What is under way arrives, where receipts are inferred. To go on with a log, take a snapshot before.
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
        """Have every finding told to somebody, as it is found; what is returned ends that."""
        number = max(self._listeners, default=0) + 1
        self._listeners[number] = callback

        def unsubscribe() -> None:
            self._listeners.pop(number, None)

        return unsubscribe

    def _told(self, findings: list[Finding]) -> list[Finding]:
        for finding in findings:
            self.totals.found[finding.kind] += 1
        if self._listeners:
            for finding in findings:
                for callback in list(self._listeners.values()):
                    callback(finding)
        return findings

    # --- being asked

    @property
    def totals(self) -> MonitorTotals:
        """What all cases have come to so far."""
        return self._lifecycle_log.totals

    @property
    def system(self) -> System:
        return self._tracker.system

    @property
    def tracker(self) -> StateTracker:
        """What follows the cases: for who watches more than findings."""
        return self._tracker

    @property
    def cases(self) -> tuple[str, ...]:
        """The cases that are open."""
        return tuple(self._cases)

    @property
    def standing(self) -> Iterator[tuple[str, str]]:
        """Every commitment and claim of the cases that are open, by name, with the state that it is in."""
        for case in self._cases.values():
            for position, status in case.statuses.items():
                if position < len(self._tracker.reported):
                    on_course = self._tracker.is_on_course(position, case.states)
                    yield self._tracker.reported[position].name, ON_COURSE if on_course else status.state

    def case_closed(self, case: str) -> bool:
        """Whether nothing can happen any more in a case (as long as it is remembered that it was there)."""
        return self._ended.get(case) == "over"

    def commitments(self, case: str) -> tuple[CommitmentReport, ...]:
        """Return how every commitment and claim of a case stands."""
        open_case = self._cases.get(case) or Case(self._tracker.initial)
        return commitment_reports(self._tracker, open_case, self._inferring, self._clock, self._asks)

    def allowed(self, agent: str, case: str) -> Allowed:
        """Return what a role, or a participant, may send now in a case, and what it owes there."""
        roles = self._resolver.roles(agent)
        if not roles:
            raise KeyError(f"`{agent}` is neither a role nor a participant of {self.system.name}")
        open_case = self._cases.get(case)
        states = self._tracker.initial if open_case is None else open_case.states
        if self.case_closed(case):
            states = _LOST
        return allowed(self._tracker, agent, roles, states, self._inferring, self.commitments(case))

    def close(self, case: str) -> None:
        """Forget a case but for what it has come to: somebody else knows that it is over."""
        open_case = self._cases.pop(case, None)
        self._waiting.pop(case, None)
        if open_case is not None:
            self._lifecycle_log.close(open_case)
            self._end(case, "over")

    # --- one event

    def _judged(self, event: Event) -> list[Finding]:
        """Hold an event against its case, and let it happen if it may."""
        is_receipt = event.kind == "received"
        inferring = self._inferring and not (is_receipt and self._deliveries == "auto")
        resolved = self._resolver.resolve(event)
        name = event.case
        open_case = self._cases.get(name)
        if open_case is not None and open_case.states == _LOST:
            return []
        if isinstance(resolved, UnresolvedEvent):
            return [self._rejection(event, resolved.kind, resolved.message, resolved.because, resolved.instead)]
        ended = self._ended.get(name) if open_case is None else None
        if (
            ended
            and is_receipt
            and (self._inferring or self._model.sync or (ended, self._deliveries) == ("over", "auto"))
        ):
            return []  # it was inferred, and with it the end
        if ended == "over":
            return [self._rejection(event, f.CaseOver, resolved.message)]
        case = open_case or Case(self._tracker.initial)
        findings: list[Finding] = []
        time = event.time
        if time is None:
            time = case.time
        elif case.time is not None and time < case.time:
            late = (case.time - time) / 1e9
            findings.append(f.BackInTime(event.place, name, event.time, resolved.message, late))
            time = case.time
        try:
            now = case
            if self._clock.next(case, time) is not None:
                now = replace(case, statuses=dict(case.statuses))
                self._expire_deadlines(name, now, time, LifecycleLog(self._tracker, self._clock))
            states = now.states
            if is_receipt and self._model.sync and self._has_arrived(resolved, states):
                return findings
            outcome = self._tracker.after(states, resolved.ways, inferring) if resolved.ways else None
            if outcome is None:
                if is_receipt and inferring and self._has_arrived(resolved, states):
                    return findings
                return [*findings, self._refused(event, resolved, states, inferring)]
        except ResourceExhausted:
            return [*findings, self._lose(name, case, resolved.message, event.place, event.time)]
        self._inferring = inferring
        if open_case is None:
            self.totals.cases += name not in self._ended
            self._ended.pop(name, None)
            self._cases[name] = case
        findings += self._expire_deadlines(name, case, time, self._lifecycle_log)
        case.time, case.place = time, event.place
        if event.time is not None and (self._newest is None or event.time > self._newest):
            self._newest = event.time
        self.totals.accepted += 1
        if self.watching is not None:
            self.watching(states, resolved, self._inferring)
        findings += self._lifecycle_log.go_on(name, case, outcome, resolved.message, event.place, time)
        return [*findings, *self._closed_if_over(name, case)]

    def _has_arrived(self, resolved: ResolvedEvent, states: States) -> bool:
        """Whether a message is there already, so that to be told of its receipt is no news."""
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
        """Let ticks pass, until none changes anything any more."""
        if self._tracker.tick is None:
            return
        ways: tuple[StepSequence, ...] = ((self._tracker.tick,),)
        for _ in range(count):
            outcome = self._tracker.after(case.states, ways, self._inferring)
            if outcome is None or outcome.states == case.states:
                return
            yield from self._lifecycle_log.go_on(name, case, outcome, None, case.place, None)

    def _expire_deadlines(self, name: str, case: Case, time: int | None, log: LifecycleLog) -> list[Finding]:
        """Let the deadlines of a case run out that do so before that time."""
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
        """Let a case be that late."""
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
        """Keep no more of a case than that it was there, where nothing else of it matters."""
        ending = self._tracker.ending(case.states, self._inferring)
        if ending is not None:
            yield from self._arrived(name, case)
            if ending == "anew":
                yield from self._lifecycle_log.restart(name, case)
            self._cases.pop(name, None)
            self._lifecycle_log.close(case)
            self._end(name, ending)

    def _arrived(self, name: str, case: Case) -> Iterator[Finding]:
        """Let what is under way arrive, where receipts go on unseen: nothing else can come before that any more."""
        while self._inferring and case.states and (arrival := self._tracker.arrival(case.states)) is not None:
            message, outcome = arrival
            yield from self._lifecycle_log.go_on(name, case, outcome, message, case.place, case.time)

    def _lose(self, name: str, case: Case, message: str, place: str, time: int | None) -> Finding:
        """Give a case up; what became of it so far counts as unknown."""
        self.totals.cases += name not in self._cases and name not in self._ended
        self._ended.pop(name, None)
        case.states = _LOST
        self._lifecycle_log.close(case, "unknown")
        self._cases[name] = case
        return f.LostTrack(place, name, time, message, self._tracker.most)

    def _end(self, name: str, how: Literal["over", "anew"]) -> None:
        """Remember that there was such a case, of so many of those that ended last."""
        self.totals.over += how == "over"
        self._ended.pop(name, None)
        self._ended[name] = how
        if len(self._ended) > _ENDED:
            del self._ended[next(iter(self._ended))]

    # --- clocks that differ

    def _in_order(self, event: Event) -> Iterator[Event]:
        """Hold the event back until nothing of its case that is older can be expected; yield what need not wait."""
        waiting = self._waiting.setdefault(event.case, ReorderBuffer())
        waiting.hold(event, self._skew)
        yield from self._due(event.case, (waiting.newest or 0) - self._skew)

    def _due(self, case: str, time: int | None) -> Iterator[Event]:
        """Yield the events of a case that wait no longer, in order: those up to a time, or all."""
        waiting = self._waiting[case]
        yield from waiting.due(time)
        if not waiting.events:
            del self._waiting[case]

    # --- stopping, and going on later

    def snapshot(self) -> dict[str, object]:
        """Return all that is known, as what JSON can say: another monitor of the same protocol goes on from there."""
        return taken(
            self._identity, self._cases, self._ended, self._waiting, self.totals, self._inferring, self._newest
        )

    def restore(self, snapshot: Mapping[str, object]) -> None:
        """Go on where the snapshot was taken; raise `Unrestorable` if it is of another protocol, or damaged."""
        check(snapshot, self._identity)
        try:
            state = restored(snapshot, self._tracker)
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as problem:
            raise Unrestorable(f"it is damaged: {str(problem)[:200]}") from None
        self._cases, self._ended, self._waiting, totals, self._inferring, self._newest = state
        self._lifecycle_log.totals = totals

    @property
    def _identity(self) -> tuple[System, str]:
        """What must be the same for one monitor to go on with what another has left."""
        return self._tracker.system, f"{self._clock.tick} {self._skew} {self._deliveries} {self._tracker.most}"


def counting_ticks(model: CheckedModel) -> str | None:
    """Return a content or guard that counts ticks itself, if there is one: deadlines are kept in real time."""
    contents = [(one.name, one.consequent) for one in model.commitments]
    contents += [(one.name, one.content) for one in model.claims]
    by_content = (f"`{name}`" for name, content in contents if speaks_of_ticks(content))
    by_guard = (f"the guard of `{one.name}`" for one in model.messages if any(ages_in(one.guard)))
    return next(iter((*by_content, *by_guard)), None)


def _nanoseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1) * 1000
