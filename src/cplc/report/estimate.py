"""Report on statistical estimates for a participant: as a table, in one line each, and as data; no verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import isinf

from cplc.decision.results import Bounds, judged
from cplc.decision.statistical import CANDIDATE_SCHEDULERS, AspectEstimate, Estimate, Sampling, ValueEstimate
from cplc.logic.expressions import Value, value_text
from cplc.report.layout import Style, plain
from cplc.report.number_text import bounds_text, number_data, number_text, some
from cplc.system.participant import Participant, Threshold

Data = dict[str, object]
Asking = tuple[Threshold, bool, str]
"""A threshold, the expected answer, and the location of the threshold."""

_SCHEDULERS = {
    "computed": "the computed strategy of each figure is played, and what is open is decided in the worst way",
    "uniform": "what is open is decided by chance, every choice alike",
    "worst-seen": f"what is open is decided in the worst of {CANDIDATE_SCHEDULERS} ways that were tried",
    "best-seen": f"what is open is decided in the best of {CANDIDATE_SCHEDULERS} ways that were tried",
}


def scheduler_text(estimate: Estimate) -> str:
    """Return in words who decides what."""
    sampling = estimate.sampling
    if estimate.unnamed is not None:
        return "the given plan is played, and what is open is decided in the worst way for it"
    own = ", and so does the participant" if sampling.scheduler == "best-seen" else "; the participant goes by chance"
    return f"{_SCHEDULERS[sampling.scheduler]} ({sampling.scheduler})" + (own if estimate.decides else "")


def side(figure: AspectEstimate | ValueEstimate, threshold: Threshold) -> str:
    """Return on which side of the threshold the probability is, under this scheduler and with this confidence."""
    return {"holds": "above", "fails": "not above", "unknown": "too near to tell"}[judged(figure.bounds, threshold)]


def estimate_text(
    participant: Participant,
    estimate: Estimate,
    thresholds: Sequence[Asking],
    style: Style = plain,
    assumption: str = "",
) -> str:
    """Return the estimate as lines."""
    assuming = f", assuming {assumption}" if assumption else ""
    heading = f"{style(participant.name, 'strong')} plays {', '.join(participant.agents) or 'nobody'}{assuming}"
    return "".join(f"{line.rstrip()}\n" for line in (heading, *_lines(estimate, thresholds, style)))


def _lines(estimate: Estimate, thresholds: Sequence[Asking], style: Style) -> Iterator[str]:
    sampling = estimate.sampling
    runs = f"{sampling.runs:,} run{'' if sampling.runs == 1 else 's'}"
    how = f"an estimate from {runs} for each line, seed {sampling.seed}: {scheduler_text(estimate)}"
    yield f"  {style(how, 'warning')}"
    is_given = estimate.unnamed is not None
    sure = f"{100 * sampling.confidence:.6g} % sure"
    rows = [("", "estimate", sure, *(("guaranteed",) if is_given else ()), "asked" if thresholds else "", "")]
    for figure in estimate.every:
        mine = [one for one in thresholds if one[0].aspect == figure.aspect]
        name = "expected value" if figure.aspect == "value" else figure.aspect
        head = (name, *_numbers(figure, sampling), *((_guaranteed_text(figure.guaranteed),) if is_given else ()))
        for number, (threshold, _, _) in enumerate(mine):
            limit = f"{threshold.relation} {number_text(threshold.value)}"
            verdict_words = f"{style('unknown', 'warning')}: {side(figure, threshold)} here, which proves nothing"
            rows.append((*(("",) * len(head) if number else head), limit, verdict_words))
        if not mine:
            rows.append((*head, "", ""))
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for row in rows:
        cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=False))
        yield f"  {'  '.join((*cells, row[-1]))}"
    if estimate.unnamed:
        yield f"  {style(_silence_text(estimate.unnamed), 'warning')}"
    given_up = max(figure.unfinished for figure in estimate.figures)
    if given_up:
        why = f"had no end after {sampling.longest:,} steps"
        why += ", or the sum of their values has no model" if is_given else ""
        yield f"  up to {given_up:,} of the runs {why}: they count as either"
    yield style(f"  {estimate.steps:,} steps", "faint")


def _guaranteed_text(bounds: Bounds | None) -> str:
    return "" if bounds is None else bounds_text(bounds)


def _silence_text(unnamed: Sequence[Sequence[tuple[str, Value]]]) -> str:
    """Return in how many situations a given plan waits without saying so, with the first one."""
    count = "one situation" if len(unnamed) == 1 else f"{len(unnamed):,} situations"
    clauses = [f"`{name}` is {value_text(value)}" for name, value in unnamed[0]]
    where = f"where {some(clauses)}" if clauses else "before anything has happened"
    return f"it waits in {count} that the plan does not name, for example {where}"


def _numbers(figure: AspectEstimate | ValueEstimate, sampling: Sampling) -> tuple[str, str]:
    """Return the estimated figure and its interval."""
    if isinstance(figure, AspectEstimate):
        return f"{figure.goal_count / sampling.runs:.4f}", f"{figure.bounds.low:.4f}..{figure.bounds.high:.4f}"
    is_bounded = not isinf(figure.bounds.low) and not isinf(figure.bounds.high)
    between = f"{float(figure.bounds.low):.6g}..{float(figure.bounds.high):.6g}" if is_bounded else "no bounds"
    return f"{figure.mean:.6g}", between


def estimate_concise(participant: Participant, estimate: Estimate, thresholds: Sequence[Asking]) -> str:
    """Return one line for each threshold, or for each figure where nothing is asked."""
    lines: list[str] = []
    for figure in estimate.every:
        name = f"{participant.name}.{figure.aspect}"
        line = sentence(figure, estimate)
        mine = [one for one in thresholds if one[0].aspect == figure.aspect]
        for threshold, _, place in mine:
            limit = f"{threshold.relation} {number_text(threshold.value)}"
            lines.append(f"{place}: unknown {name}: {limit}; {line}")
        if not mine:
            lines.append(f"{name}: {line}")
    return "\n".join(lines)


def sentence(figure: AspectEstimate | ValueEstimate, estimate: Estimate) -> str:
    """Return the estimate of one figure in a sentence."""
    sampling = estimate.sampling
    number, between = _numbers(figure, sampling)
    how = f"scheduler {sampling.scheduler}" if estimate.unnamed is None else "of the given plan"
    exact = "" if figure.guaranteed is None else f", which guarantees {bounds_text(figure.guaranteed)}"
    return f"estimated {number}, {between} ({100 * sampling.confidence:.6g} % sure), {how}{exact}"


def estimate_data(
    participant: Participant, estimate: Estimate, thresholds: Sequence[Asking], assumption: str = ""
) -> Data:
    """Return the estimate as what JSON can say."""
    sampling = estimate.sampling
    return {
        "agent": participant.name,
        "plays": list(participant.agents),
        "assuming": assumption or None,
        "runs": sampling.runs,
        "seed": sampling.seed,
        "scheduler": sampling.scheduler,
        "confidence": sampling.confidence,
        "aspects": [
            {
                "aspect": figure.aspect,
                "wanted": figure.goal_count,
                "given_up": figure.unfinished,
                "low": figure.bounds.low,
                "high": figure.bounds.high,
                **_guaranteed_data(figure),
                "asked": _asked_data(figure, thresholds),
            }
            for figure in estimate.figures
        ],
        "expected": None
        if estimate.value is None
        else {
            "mean": estimate.value.mean,
            "low": None if isinf(estimate.value.bounds.low) else float(estimate.value.bounds.low),
            "high": None if isinf(estimate.value.bounds.high) else float(estimate.value.bounds.high),
            **_guaranteed_data(estimate.value),
            "asked": _asked_data(estimate.value, thresholds),
        },
        "values": None
        if estimate.values is None
        else [{"value": number_data(value), "share": float(share)} for value, share in estimate.values.chances],
        "steps": estimate.steps,
        **({} if estimate.unnamed is None else {"silent_in": [dict(one) for one in estimate.unnamed]}),
    }


def _guaranteed_data(figure: AspectEstimate | ValueEstimate) -> Data:
    """Return what a given plan guarantees, if one was given."""
    bounds = figure.guaranteed
    return {} if bounds is None else {"guaranteed": {"low": number_data(bounds.low), "high": number_data(bounds.high)}}


def _asked_data(figure: AspectEstimate | ValueEstimate, thresholds: Sequence[Asking]) -> list[Data]:
    return [
        {
            "relation": threshold.relation,
            "threshold": number_data(threshold.value),
            "verdict": "unknown",
            "expected": "holds" if expected else "fails",
            "as_expected": False,
            "under_this_scheduler": side(figure, threshold),
            "place": place,
        }
        for threshold, expected, place in thresholds
        if threshold.aspect == figure.aspect
    ]
