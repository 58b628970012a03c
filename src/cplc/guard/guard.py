"""The guard of a participant: it decides on messages, records them durably, and reports its decisions."""

from __future__ import annotations

import asyncio
import functools
import inspect
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Literal, ParamSpec, TypeVar

from cplc.guard.decisions import Decision, Refused
from cplc.guard.journal import DamagedJournal, Durability, Journal, JournalFailed
from cplc.logs.events import Event, Garbage, Record
from cplc.logs.mapping import LogMapping, Translator, family_of
from cplc.monitoring.findings import Finding, LostTrack, Rejected
from cplc.monitoring.monitor import Monitor
from cplc.monitoring.snapshots import Unrestorable
from cplc.monitoring.status import Allowed

Mode = Literal["enforce", "report"]
Payloads = Literal["complete", "any"]
"""Requirement on payloads: each field has to be there, or a missing one may have any value, as for a monitor."""
Way = Literal["sent", "message", "received"]
P = ParamSpec("P")
R = TypeVar("R")

MAX_RECORDS: Final = 100_000
"""Records of a journal before it is replaced by a snapshot."""
_NONE: Final[Mapping[str, object]] = {}


class Guard:
    """Decides before a message is sent whether the protocol allows it now.

    A message that is not allowed changes nothing. With ``mode="enforce"`` it is refused, and so is one that cannot be
    decided; with ``"report"`` both pass and are reported. With a journal, an allowed message passes only after its
    record is durable, and a guard that is opened with the same journal resumes there. All methods may be called from
    any thread and any event loop.
    """

    def __init__(
        self,
        monitor: Monitor,
        *,
        mode: Mode = "enforce",
        journal: str | Path | None = None,
        durability: Durability = "fsync",
        mapping: LogMapping | None = None,
        payloads: Payloads = "complete",
        clock: Callable[[], int] = time.time_ns,
    ) -> None:
        self.monitor = monitor
        self.mode: Mode = mode
        self._clock = clock
        mapping = mapping or LogMapping()
        if mapping.vocabulary is None:
            mapping = replace(mapping, vocabulary=monitor.vocabulary)
        self._translator = Translator(mapping)
        self._required = monitor.vocabulary.payloads if payloads == "complete" else {}
        self._lock = threading.Lock()
        self._listeners: list[Callable[[Decision], object]] = []
        self._number = 0
        self._recorded = 0
        self.aliases: dict[str, str] = {}
        """Cases by further names that messages gave them, such as the task that a server began."""
        self.last_batch: tuple[Event, ...] = ()
        """Messages whose record an earlier run wrote last: it may have ended before they left."""
        self._journal: Journal | None = None
        if journal is not None:
            self._journal = Journal(Path(journal), str(monitor.snapshot()["of"]), durability)
            try:
                self._resume(self._journal)
            except BaseException:
                self._journal.close()
                raise

    @classmethod
    def load(
        cls,
        path: str | Path,
        parameters: Mapping[str, str] | None = None,
        *,
        tick: timedelta | Literal["none"] | None = None,
        mode: Mode = "enforce",
        journal: str | Path | None = None,
        durability: Durability = "fsync",
        mapping: LogMapping | None = None,
        payloads: Payloads = "complete",
    ) -> Guard:
        """Return a guard of the protocol in a file. Raise `cplc.monitoring.monitor.Invalid` if it has errors."""
        monitor = Monitor.load(path, parameters or {}, tick=tick)
        return cls(monitor, mode=mode, journal=journal, durability=durability, mapping=mapping, payloads=payloads)

    # --- decisions

    def decide(self, event: Event | Garbage, *, alias: str | None = None) -> Decision:
        """Decide on a message, and return once an allowed one is durable. ``alias`` is another name of its case."""
        decision, number = self._decided(event, alias)
        if number and self._journal is not None:
            try:
                self._journal.commit(number)
            except JournalFailed as problem:
                decision = self._unknown(event, str(problem))
        return self._announced(decision)

    async def adecide(self, event: Event | Garbage, *, alias: str | None = None) -> Decision:
        """As `decide`, without blocking the event loop while a record is written."""
        decision, number = self._decided(event, alias)
        if number and self._journal is not None:
            try:
                await asyncio.get_running_loop().run_in_executor(None, self._journal.commit, number)
            except JournalFailed as problem:
                decision = self._unknown(event, str(problem))
        return self._announced(decision)

    def send(
        self,
        message: str,
        case: str,
        sender: str,
        *,
        recipients: Iterable[str] = (),
        values: Mapping[str, object] = _NONE,
    ) -> Decision:
        """Decide on a message that is about to be sent. Raise `Refused` if it may not go."""
        return _passed(self.decide(self._event("sent", message, case, sender, recipients, values)))

    async def asend(
        self,
        message: str,
        case: str,
        sender: str,
        *,
        recipients: Iterable[str] = (),
        values: Mapping[str, object] = _NONE,
    ) -> Decision:
        """As `send`, for an event loop."""
        return _passed(await self.adecide(self._event("sent", message, case, sender, recipients, values)))

    def receive(
        self,
        message: str,
        case: str,
        sender: str,
        *,
        recipients: Iterable[str] = (),
        values: Mapping[str, object] = _NONE,
    ) -> Decision:
        """Decide on a message that has arrived. Raise `Refused` if nothing should be done about it."""
        return _passed(self.decide(self._event("message", message, case, sender, recipients, values)))

    async def areceive(
        self,
        message: str,
        case: str,
        sender: str,
        *,
        recipients: Iterable[str] = (),
        values: Mapping[str, object] = _NONE,
    ) -> Decision:
        """As `receive`, for an event loop."""
        return _passed(await self.adecide(self._event("message", message, case, sender, recipients, values)))

    def event_of(self, fields: Mapping[str, object], *, place: str = "guard") -> Event | Garbage | None:
        """Return the event of a record by the mapping; None if the mapping leaves it out."""
        event = self._translator.event(Record(place, 0, fields))
        if isinstance(event, Event) and event.time is None:
            return replace(event, time=self._time())
        return event

    def allowed(self, agent: str, case: str) -> Allowed:
        """Return what a role, or a participant, may send now in a case, and what it owes there."""
        with self._lock:
            return self.monitor.allowed(agent, self.aliases.get(case, case))

    def advance(self) -> list[Finding]:
        """Let deadlines run out until now; return what follows from that."""
        with self._lock:
            return self.monitor.advance(self._clock())

    def _event(
        self,
        kind: Way,
        message: str,
        case: str,
        sender: str,
        recipients: Iterable[str],
        values: Mapping[str, object],
    ) -> Event:
        return Event("guard", case, message, sender, tuple(recipients) or None, {}, dict(values), self._time(), kind)

    def _time(self) -> int | None:
        return self._clock() if self.monitor.tick is not None else None

    def _decided(self, event: Event | Garbage, alias: str | None) -> tuple[Decision, int]:
        """Decide, and add a message that may go to the journal; return its number there."""
        if isinstance(event, Garbage):
            return self._unknown(event, event.reason), 0
        with self._lock:
            if event.case in self.aliases:
                event = replace(event, case=self.aliases[event.case])
            required = self._required.get(family_of(event.message), ())
            if event.kind != "received" and (missing := [one for one in required if one not in event.values]):
                return self._unknown(event, f"its payload lacks `{'`, `'.join(missing)}`"), 0
            self._number += 1
            event = replace(event, place=f"guard:{self._number}")
            findings = tuple(self.monitor.feed(event))
            rejected = next((one for one in findings if isinstance(one, Rejected)), None)
            if rejected is not None:
                decision = self._illegal(event, rejected, findings)
            elif self.monitor.is_lost(event):
                lost = next(
                    (one.text for one in findings if isinstance(one, LostTrack)), "too many states are possible"
                )
                decision = self._unknown(event, lost)
            else:
                decision = Decision("allowed", True, event.case, event.message, event.sender, findings=findings)
            if alias is not None and decision.verdict == "allowed" and alias != event.case:
                self.aliases[alias] = event.case
            if self._journal is None or decision.verdict != "allowed":
                return decision, 0
            if self._recorded >= MAX_RECORDS:
                try:
                    self._journal.rewrite(self._snapshot)
                except JournalFailed as problem:
                    return self._unknown(event, str(problem)), 0
                self._recorded = 0
                return decision, 0  # the snapshot has it
            self._recorded += 1
            return decision, self._journal.append(_record(event, alias))

    def _illegal(self, event: Event, rejected: Rejected, findings: tuple[Finding, ...]) -> Decision:
        reason = "; ".join(rejected.because) or rejected.predicate
        passes = self.mode == "report"
        return Decision(
            "illegal", passes, event.case, rejected.message, event.sender, reason, rejected.instead, findings
        )

    def _unknown(self, event: Event | Garbage, reason: str) -> Decision:
        passes = self.mode == "report"
        if isinstance(event, Garbage):
            return Decision("unknown", passes, "", event.place, None, reason)
        return Decision("unknown", passes, event.case, event.message, event.sender, reason)

    # --- reports

    def subscribe(self, callback: Callable[[Decision], object]) -> Callable[[], None]:
        """Call back with every decision; the returned function unsubscribes."""
        self._listeners.append(callback)
        return lambda: self._listeners.remove(callback)

    def _announced(self, decision: Decision) -> Decision:
        for callback in list(self._listeners):
            callback(decision)
        return decision

    # --- recovery

    def _resume(self, journal: Journal) -> None:
        for record in journal.recovered:
            if "snapshot" in record:
                try:
                    self.monitor.restore(record["snapshot"])
                except Unrestorable as problem:
                    raise DamagedJournal(f"`{journal.path}`: {problem}") from None
                self.aliases = dict(record["aliases"])
                continue
            self._number += 1
            event = _event_of(record, self._number)
            if any(isinstance(one, Rejected | LostTrack) for one in self.monitor.feed(event)):
                raise DamagedJournal(f"record {self._number} of `{journal.path}` is not allowed by the protocol")
            if "alias" in record:
                self.aliases[record["alias"]] = event.case
        self._recorded = len(journal.recovered)
        self.last_batch = tuple(_event_of(one, 0) for one in journal.last_batch if "snapshot" not in one)
        journal.recovered.clear()

    def _snapshot(self) -> dict[str, Any]:
        return {"snapshot": self.monitor.snapshot(), "aliases": self.aliases}

    def close(self) -> None:
        """Write what is pending, and let another process use the journal."""
        if self._journal is not None:
            self._journal.close()
            self._journal = None

    def __enter__(self) -> Guard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    # --- functions that send

    def sends(
        self,
        message: str,
        *,
        case: str | Callable[..., str],
        sender: str,
        recipients: Iterable[str] = (),
        values: Iterable[str] | Callable[..., Mapping[str, object]] = (),
        returns: str | None = None,
        returned_by: str | None = None,
    ) -> Callable[[Callable[P, R]], Callable[P, R]]:
        """Decorate a function, or a coroutine function, that sends a message when it is called.

        ``case`` is the name of the argument that is the case, and ``values`` those of the payload; or functions of the
        arguments. Once the function has returned, the message ``returns`` has arrived from ``returned_by``.
        """

        def decorate(function: Callable[P, R]) -> Callable[P, R]:
            signature = inspect.signature(function)

            def bound(*args: object, **kwargs: object) -> tuple[str, Mapping[str, object]]:
                arguments = signature.bind(*args, **kwargs)
                arguments.apply_defaults()
                given = arguments.arguments
                of_case = given[case] if isinstance(case, str) else case(**given)
                payload = values(**given) if callable(values) else {name: given[name] for name in values}
                return str(of_case), payload

            if inspect.iscoroutinefunction(function):

                @functools.wraps(function)
                async def guarded(*args: P.args, **kwargs: P.kwargs) -> Any:
                    name, payload = bound(*args, **kwargs)
                    await self.asend(message, name, sender, recipients=recipients, values=payload)
                    result = await function(*args, **kwargs)
                    if returns is not None:
                        await self.areceive(returns, name, returned_by or "")
                    return result

                return guarded  # type: ignore[return-value]

            @functools.wraps(function)
            def guarded_function(*args: P.args, **kwargs: P.kwargs) -> R:
                name, payload = bound(*args, **kwargs)
                self.send(message, name, sender, recipients=recipients, values=payload)
                result = function(*args, **kwargs)
                if returns is not None:
                    self.receive(returns, name, returned_by or "")
                return result

            return guarded_function

        return decorate


def _passed(decision: Decision) -> Decision:
    if not decision.passes:
        raise Refused(decision)
    return decision


def _record(event: Event, alias: str | None) -> dict[str, Any]:
    record: dict[str, Any] = {"case": event.case, "message": event.message, "kind": event.kind}
    if event.sender is not None:
        record["sender"] = event.sender
    if event.recipients is not None:
        record["recipients"] = list(event.recipients)
    if event.bindings:
        record["bindings"] = dict(event.bindings)
    if event.values:
        record["values"] = dict(event.values)
    if event.time is not None:
        record["time"] = event.time
    if alias is not None:
        record["alias"] = alias
    return record


def _event_of(record: Mapping[str, Any], number: int) -> Event:
    recipients = record.get("recipients")
    return Event(
        f"guard:{number}",
        record["case"],
        record["message"],
        record.get("sender"),
        None if recipients is None else tuple(recipients),
        record.get("bindings", {}),
        record.get("values", {}),
        record.get("time"),
        record["kind"],
    )
