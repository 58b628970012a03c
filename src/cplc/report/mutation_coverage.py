"""Report on mutation coverage: the changes of a protocol that its properties detect."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from cplc.control_characters import printable
from cplc.diagnostics.render import place_data
from cplc.mutation.coverage import Outcome, Verdict
from cplc.report.json_data import Data
from cplc.report.layout import Part, Style, plain
from cplc.report.step_text import place

_PARTS: dict[Verdict, Part] = {"noticed": "good", "unnoticed": "bad", "no effect": "warning", "unknown": "warning"}


def outcome_text(outcome: Outcome, style: Style = plain) -> str:
    """Return one change and what becomes of it, as a line."""
    verdict = style(f"{outcome.verdict:<10}", _PARTS[outcome.verdict])
    by = f", by {style(outcome.by, 'strong')}" if outcome.by else ""
    return f"{verdict} if {printable(outcome.mutant.change)}{by}{style(f'  {place(outcome.mutant.span)}', 'place')}\n"


def outcome_concise(outcome: Outcome) -> str:
    by = f" by {outcome.by}" if outcome.by else ""
    return f"{place(outcome.mutant.span)}: {outcome.verdict}{by}: {printable(outcome.mutant.change)}\n"


def outcome_data(outcome: Outcome) -> Data:
    return {
        "kind": outcome.mutant.kind,
        "subject": outcome.mutant.subject,
        "change": outcome.mutant.change,
        "verdict": outcome.verdict,
        "by": outcome.by,
        "place": place_data(outcome.mutant.span),
    }


def share(outcomes: Sequence[Outcome]) -> float:
    """Return how many percent of the changes that make a difference are noticed."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    different = counts.total() - counts["no effect"]
    return 100 * counts["noticed"] / different if different else 100.0


def summary(outcomes: Sequence[Outcome]) -> str:
    """Return the count of each verdict."""
    counts = Counter(outcome.verdict for outcome in outcomes)
    counted = ", ".join(f"{counts[verdict]} {_SUMMED[verdict]}" for verdict in _SUMMED if counts[verdict])
    noticed = f"{share(outcomes):.0f} % of those that make a difference noticed"
    return f"{len(outcomes)} changes: {counted or 'none'}; {noticed}\n"


_SUMMED: dict[Verdict, str] = {
    "noticed": "noticed",
    "unnoticed": "unnoticed",
    "no effect": "without effect",
    "unknown": "unknown",
}
