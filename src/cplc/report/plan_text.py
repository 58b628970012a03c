"""Text of the answer to a line of thresholds: the verdict, what one plan guarantees, and on whom it depends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.decision.results import VERDICT_OF_PLAN, Bounds, LineResult, PlanFigures, PlanVerdict
from cplc.records import dataclass
from cplc.report.decision_text import strategy_lines
from cplc.report.layout import Part, Style, plain
from cplc.report.number_text import bounds_text, money, number_data, percent
from cplc.system.model import System
from cplc.system.participant import Aspect, Threshold

Data = dict[str, object]


@dataclass(frozen=True, slots=True)
class JudgedLine:
    """The answer to a line, with the expected one, the text of the line and its location."""

    result: LineResult
    expected: bool
    text: str
    place: str
    sentences: tuple[str, ...] = ()
    """The answer for people, and what costs most."""
    source: tuple[str, int, int] | None = None
    """File, line and column, for a link."""

    @property
    def is_as_expected(self) -> bool:
        return VERDICT_OF_PLAN[self.result.verdict] == ("holds" if self.expected else "fails")

    @property
    def thresholds(self) -> tuple[Threshold, ...]:
        return self.result.thresholds


def verdict_text(line: JudgedLine, style: Style = plain) -> str:
    """Return the verdict, and whether it is the expected one where that is not the same."""
    verdict = line.result.verdict
    text = style(verdict, _part(line))
    if verdict == "undecided" or line.expected:
        return text
    return f"{text} ({expectation_text(line)})"


def expectation_text(line: JudgedLine) -> str:
    """Return how the verdict compares with the one that the file expects not to hold."""
    return "as expected" if line.result.verdict == "stay away" else "expected to stay away"


def _part(line: JudgedLine) -> Part:
    if line.result.verdict == "undecided":
        return "warning"
    return "good" if line.is_as_expected else "bad"


def line_findings(result: LineResult) -> Iterator[str]:
    """Yield the findings about a line, each as a clause."""
    if result.plan is not None:
        yield f"one plan guarantees {_figures(result.plan)}"
    if result.verdict == "stay away":
        yield "no plan that takes part guarantees this" if result.staying_away else "no plan guarantees this"
    if result.staying_away:
        yield "staying away meets it"
    if result.sufficient:
        sets = " or ".join(_together(names) for names in result.sufficient)
        yield f"it passes if {sets} keep{'s' if len(result.sufficient[0]) == 1 else ''} going"


def plan_lines(system: System, line: JudgedLine, style: Style) -> Iterator[str]:
    """Yield the lines about one line of thresholds."""
    result = line.result
    for sentence in line.sentences:
        yield f"  {sentence}"
    yield f"  {line.text}: {verdict_text(line, style)}  {style(line.place, 'place')}"
    if result.reason:
        yield f"    {result.reason}"
    for finding in line_findings(result):
        yield f"    {finding}"
    if result.plan is not None and result.plan.plan is not None and result.plan.plan.situations:
        yield "    the plan:"
        yield from (f"  {one}" for one in strategy_lines(system, result.plan.plan))
    if len(result.front) > 1:
        yield f"    {FRONT if result.is_front_complete else INCOMPLETE_FRONT}:"
        yield from (f"      {_figures(point)}" for point in result.front)


FRONT = "what is possible together"
INCOMPLETE_FRONT = "plans found, in a model with cycles (there may be others between them)"


def front_rows(result: LineResult) -> tuple[tuple[str, ...], ...]:
    """Return a heading and a row of figures for each Pareto point, the best of the first figure first."""
    if len(result.front) < 2:
        return ()
    heading = tuple(aspect for aspect, _ in result.front[0].figures)
    points = sorted(result.front, key=lambda point: [-float(bounds.low) for _, bounds in point.figures])
    rows = (
        tuple(money(bounds.low) if aspect == "value" else percent(bounds.low) for aspect, bounds in point.figures)
        for point in points
    )
    return (heading, *rows)


def _figures(point: PlanFigures) -> str:
    return ", ".join(f"{aspect} {bounds_text(bounds)}" for aspect, bounds in point.figures)


def _together(names: Sequence[str]) -> str:
    return " and ".join(f"`{name}`" for name in names)


# --- data


def line_data(line: JudgedLine) -> Data:
    """Return the answer to a line for JSON."""
    result = line.result
    verdict: PlanVerdict = result.verdict
    return {
        "text": line.text,
        "place": line.place,
        "sentence": " ".join(line.sentences),
        "verdict": verdict,
        "expected": "take part" if line.expected else "stay away",
        "as_expected": line.is_as_expected,
        "reason": result.reason or None,
        "thresholds": [
            {"aspect": one.aspect, "relation": one.relation, "threshold": number_data(one.value)}
            for one in result.thresholds
        ],
        "plan": None if result.plan is None else _plan_data(result.plan),
        "staying_away": result.staying_away,
        "sufficient": [list(names) for names in result.sufficient],
        "pareto": [_plan_data(point) for point in result.front],
        "pareto_complete": result.is_front_complete,
        "pareto_limit": [[number_data(one) for one in corner] for corner in result.front_limit],
    }


def _plan_data(point: PlanFigures) -> Data:
    situations = () if point.plan is None else point.plan.situations
    return {
        "figures": [_figure_data(aspect, bounds) for aspect, bounds in point.figures],
        "situations": [{"sees": dict(one.observation), "steps": list(one.steps)} for one in situations],
        **({"never": list(point.plan.never)} if point.plan is not None and point.plan.never else {}),
    }


def _figure_data(aspect: Aspect, bounds: Bounds) -> Data:
    return {"aspect": aspect, "low": number_data(bounds.low), "high": number_data(bounds.high)}
