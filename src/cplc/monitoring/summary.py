"""Summary of all cases, as a table and as data."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from cplc.language.lifecycle import CLAIM_STATES, COMMITMENT_STATES
from cplc.logs.mapping import family_of
from cplc.monitoring.findings import Rejected
from cplc.monitoring.monitor import Monitor
from cplc.records import dataclass
from cplc.simulation.run_statistics import FORGOTTEN, ON_COURSE

_FIRST = (
    "fulfilled", "violated", "compensated", "released", "expired", "withdrawn", "delegated", "assigned",
    ON_COURSE, FORGOTTEN, "satisfied", "accepted", "refused",
    "conditional", "active", "pending", "open", "challenged", "justified", "attacked", "defended",
)  # fmt: skip
_STATES = (state.name for state in (*COMMITMENT_STATES, *CLAIM_STATES) if state.name not in ("null", *_FIRST))
_ORDER = (*_FIRST, *_STATES, "unknown")
"""The order of the columns."""
_DEFAULT_WIDTH: Final = 80


@dataclass(frozen=True)
class Summary:
    cases: int
    open: int
    """Cases in which events are possible and that are not back in their initial states."""
    over: int
    events: int
    accepted: int
    unreadable: int
    rejected: dict[str, int]
    """The number of rejected events, by kind."""
    finding_counts: dict[str, int]
    commitments: dict[str, dict[str, int]]
    """The number of commitments and claims, by family and state."""
    violations: dict[str, dict[str, int]]
    """The number of violations, by debtor and family of commitments."""

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
            "found": self.finding_counts,
            "commitments": self.commitments,
            "violations": self.violations,
        }


def summary(monitor: Monitor) -> Summary:
    """Return the summary of all cases so far; open ones count with their present states."""
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
        totals.finding_counts["unreadable"],
        {kind: totals.finding_counts[kind] for kind in kinds if totals.finding_counts[kind]},
        {kind: count for kind, count in sorted(totals.finding_counts.items()) if count},
        {name: {state: counts[state] for state in _ORDER if counts[state]} for name, counts in endings.items()},
        {debtor: dict(sorted(counts.items())) for debtor, counts in sorted(violations.items())},
    )


def summary_text(totals: Summary, width: int = _DEFAULT_WIDTH) -> Iterator[str]:
    """Yield the totals, with a table of commitments, or a list if the table is wider than that."""
    yield (
        f"{_count(totals.events, 'event')} of {_count(totals.cases, 'case')} ({totals.open:,} open), "
        f"{totals.accepted:,} as the protocol allows"
    )
    problems = [f"{count:,} {kind}" for kind, count in totals.rejected.items()]
    problems += [f"{totals.unreadable:,} unreadable"] if totals.unreadable else []
    problems += [
        f"{count:,} {kind}" for kind in ("back-in-time", "lost-track") if (count := totals.finding_counts.get(kind))
    ]
    if problems:
        yield from _joined(problems, width)
    if any(totals.commitments.values()):
        yield ""
        table = list(_table(totals.commitments))
        yield from table if max(map(len, table)) <= width else _list(totals.commitments)
    for debtor, row in totals.violations.items():
        yield f"  {debtor} violated {', '.join(f'{name} {_times(count)}' for name, count in row.items())}"


def _joined(parts: Sequence[str], width: int) -> Iterator[str]:
    """Yield the parts with commas between them, in indented lines that break between two parts."""
    line = f"  {parts[0]}"
    for part in parts[1:]:
        if len(line) + len(part) + 3 > width:
            yield f"{line},"
            line = f"  {part}"
        else:
            line = f"{line}, {part}"
    yield line


def _table(commitments: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a line for each commitment, with a column for each state in which one is."""
    states = [state for state in _ORDER if any(state in row for row in commitments.values())]
    width = max(map(len, commitments))
    yield f"  {'':{width}}  {'  '.join(states)}"
    for name, row in commitments.items():
        cells = (f"{row.get(state, 0):>{len(state)},}" if state in row else f"{'.':>{len(state)}}" for state in states)
        yield f"  {name:{width}}  {'  '.join(cells)}"


def _list(commitments: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a line for each commitment, with its states."""
    width = max(map(len, commitments))
    for name, row in commitments.items():
        states = ", ".join(f"{state} {count:,}" for state, count in row.items())
        yield f"  {name:{width}}  {states or 'never made'}"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _times(number: int) -> str:
    return "once" if number == 1 else f"{number:,} times"
