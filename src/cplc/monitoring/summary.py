"""What all cases have come to, as a table and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from cplc.logs.protocol_vocabulary import family_of
from cplc.monitoring.findings import Rejected
from cplc.monitoring.monitor import Monitor
from cplc.records import dataclass
from cplc.simulation.run_statistics import FORGOTTEN, ON_COURSE

_ORDER = (
    "fulfilled", "violated", "compensated", "released", "expired", "withdrawn", "delegated", "assigned",
    ON_COURSE, FORGOTTEN, "satisfied", "accepted", "refused",
    "conditional", "active", "pending", "open", "challenged", "justified", "attacked", "defended", "unknown",
)  # fmt: skip


@dataclass(frozen=True)
class Summary:
    cases: int
    open: int
    """Cases that can go on, and are not back where they began."""
    over: int
    events: int
    accepted: int
    unreadable: int
    rejected: dict[str, int]
    """How many messages were not allowed, by kind."""
    found: dict[str, int]
    commitments: dict[str, dict[str, int]]
    """How many commitments and claims of each family are or ended in each state."""
    violations: dict[str, dict[str, int]]
    """How often each debtor violated each family of commitments."""

    @property
    def data(self) -> dict[str, object]:
        return {
            "cases": self.cases,
            "open": self.open,
            "over": self.over,
            "events": self.events,
            "accepted": self.accepted,
            "unreadable": self.unreadable,
            "rejected": self.rejected,
            "found": self.found,
            "commitments": self.commitments,
            "violations": self.violations,
        }


def summary(monitor: Monitor) -> Summary:
    """Return what all cases have come to so far, those that are open as they are now."""
    totals = monitor.totals
    endings: dict[str, Counter[str]] = {family_of(one.name): Counter() for one in monitor.system.commitments}
    endings |= {family_of(one.name): Counter() for one in monitor.system.claims}
    for (name, state), count in totals.endings.items():
        endings[family_of(name)][state] += count
    for name, state in monitor.standing:
        endings[family_of(name)][state] += 1
    violations: dict[str, Counter[str]] = {}
    for (debtor, name), count in totals.violations.items():
        violations.setdefault(debtor, Counter())[family_of(name)] += count
    kinds = [kind.kind for kind in Rejected.__subclasses__()]
    return Summary(
        totals.cases,
        len(monitor.cases),
        totals.over,
        totals.events,
        totals.accepted,
        totals.found["unreadable"],
        {kind: totals.found[kind] for kind in kinds if totals.found[kind]},
        {kind: count for kind, count in sorted(totals.found.items()) if count},
        {name: {state: found[state] for state in _ORDER if found[state]} for name, found in endings.items()},
        {debtor: dict(sorted(found.items())) for debtor, found in sorted(violations.items())},
    )


def summary_text(found: Summary) -> Iterator[str]:
    """Yield the lines of a table."""
    yield (
        f"{_count(found.events, 'event')} of {_count(found.cases, 'case')} ({found.open:,} open), "
        f"{found.accepted:,} as the protocol allows"
    )
    told = [f"{count:,} {kind}" for kind, count in found.rejected.items()]
    told += [f"{found.unreadable:,} unreadable"] if found.unreadable else []
    told += [f"{count:,} {kind}" for kind in ("back-in-time", "lost-track") if (count := found.found.get(kind))]
    if told:
        yield f"  {', '.join(told)}"
    states = [state for state in _ORDER if any(state in row for row in found.commitments.values())]
    if states:
        width = max(map(len, found.commitments))
        yield ""
        yield f"  {'':{width}}  {'  '.join(states)}"
        for name, row in found.commitments.items():
            cells = (
                f"{row.get(state, 0):>{len(state)},}" if state in row else f"{'.':>{len(state)}}" for state in states
            )
            yield f"  {name:{width}}  {'  '.join(cells)}"
    for debtor, row in found.violations.items():
        yield f"  {debtor} violated {', '.join(f'{name} {_times(count)}' for name, count in row.items())}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
