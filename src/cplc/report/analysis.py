"""Report on the decision analysis of a participant: as a table, in one line each, and as data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import inf, isinf, log10

from cplc.control_characters import printable
from cplc.decision.results import (
    Analysis,
    AnalysisRemark,
    AnalysisStatistics,
    Bounds,
    Figure,
    OptimalStrategy,
    TotalReward,
    judged,
)
from cplc.logic import expressions as e
from cplc.report.decision_text import advice_lines, sensitivity_lines
from cplc.report.layout import Layout, Style, plain
from cplc.report.number_text import LEVEL, bounds_text, number_data, number_text, some
from cplc.report.plan_text import JudgedLine, line_data, line_findings, plan_lines, verdict_text
from cplc.system.interpreter import holds
from cplc.system.model import State, System
from cplc.system.participant import Aspect, Participant

Data = dict[str, object]
Judged = JudgedLine

# --- text


def analysis_text(
    system: System,
    participant: Participant,
    analysis: Analysis,
    judged: Sequence[Judged],
    style: Style | Layout = plain,
    assumption: str = "",
) -> str:
    """Return all that was found out about one participant, as lines; sentences are not broken."""
    lines = _lines(system, participant, analysis, judged, Layout.of(style), assumption)
    return "".join(f"{line.rstrip()}\n" for line in lines)


def _lines(
    system: System,
    participant: Participant,
    analysis: Analysis,
    judged: Sequence[Judged],
    layout: Layout,
    assumption: str,
) -> Iterator[str]:
    style = layout.style
    assuming = f", assuming {assumption}" if assumption else ""
    semantics = "" if analysis.work.printed_states is None else ", in the automaton of its beliefs (--semantics paper)"
    played = ", ".join(participant.agents) or "nobody"
    yield f"{style(participant.name, 'strong')} plays {played}{assuming}{semantics}"
    for line in judged:
        yield from plan_lines(system, line, style)
    yield from _table(analysis, layout.width)
    for figure in analysis.figures:
        if figure.unsolved:
            yield f"  {figure.aspect} is not known: {figure.unsolved}"
    if analysis.gain is not None:
        yield from (f"  {line}" for line in _gain_lines(analysis.gain))
    for text in _late_sends(system, participant, analysis):
        yield f"  {text}"
    for text in _ending_lines(system, participant, analysis.figures):
        yield f"  {text}"
    yield from (f"  {line}" for line in sensitivity_lines(participant, analysis.sensitivities, layout.width))
    yield from advice_lines(system, analysis.figures)
    for remark in analysis.remarks:
        yield f"  {style('warning', 'warning')}: {_remark_text(participant, remark)}"
        if remark.state is not None and (where := state_text(system, remark.state)):
            yield f"    for example {where}"
    work = analysis.work
    parts = "" if work.parts == 1 else f" of {work.parts} independent parts, equal ones counted once"
    yield style(f"  {work.states:,} states{parts}: {work.method}", "faint")
    if work.printed_states is not None:
        yield style(f"  states of the whole automaton: {_counted(work.printed_states)} as printed", "faint")
    if work.reconstructed_states is not None:
        text = f"  as in the paper's table: {_counted(work.reconstructed_states)} (a reconstruction)"
        yield style(text, "faint")


def _counted(number: int) -> str:
    """Return a number of states, a very large one by its order of magnitude."""
    return f"{number:,}" if number <= _LARGEST_COUNT else f"about 10^{int(log10(number))}"


_LARGEST_COUNT = 2**53
"""The largest number that every reader of JSON can hold."""


def _table(analysis: Analysis, width: int) -> Iterator[str]:
    """Yield a table of the figures, each of the strategy that is best for it alone."""
    columns: list[tuple[str, list[str]]] = [
        ("", []), ("guaranteed", []), ("if others keep going", []), ("staying away", []), ("at best", []),
    ]  # fmt: skip
    rows: list[tuple[str, str, Bounds | None, Bounds | None, Bounds | None, Bounds | None]] = [
        (figure.aspect, figure.unsolved, figure.guaranteed, figure.kept_going, figure.staying_away, figure.best)
        for figure in analysis.figures
    ]
    gain = analysis.gain
    if gain is not None and not (gain.guaranteed.low == -inf and gain.guaranteed.high == inf):
        rows.append(("expected value", "", gain.guaranteed, gain.kept_going, gain.staying_away, gain.best))
    for name, unsolved, *numbers in rows:
        columns[0][1].append(name)
        for (_, cells), bounds in zip(columns[1:], numbers, strict=True):
            cells.append("?" if unsolved else "" if bounds is None else bounds_text(bounds))
    shown = [(head, cells) for head, cells in columns if not head or any(cells)]
    if sum(max(map(len, (head, *cells))) + 2 for head, cells in shown) > width:
        shown = [(_SHORT_HEADS.get(head, head), cells) for head, cells in shown]
    widths = [max(map(len, (head, *cells))) for head, cells in shown]
    for row in ([head for head, _ in shown], *zip(*(cells for _, cells in shown), strict=True)):
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))


_SHORT_HEADS = {"if others keep going": "with others", "staying away": "away"}
"""Heads of columns where the lines are short."""


def _gain_lines(gain: TotalReward) -> Iterator[str]:
    least, most = gain.guaranteed, gain.best
    if least.low == -inf and least.high == inf:
        yield f"expected value is not known: {gain.unknown}"
        return
    if isinf(least.low) or isinf(most.high):
        yield "  (runs may go round as often as they like in a circle that adds to the sum each time)"
    level = number_text(LEVEL * 100)
    if gain.distribution is not None:
        risk, mean = gain.distribution.value_at_risk(LEVEL), gain.distribution.conditional_value_at_risk(LEVEL)
        yield f"in the worst {level}% of cases {number_text(risk)} or less, {number_text(mean)} on average"
    elif (sure := gain.guaranteed_quantile(1 - LEVEL)) is not None and (
        best := gain.guaranteed_quantile(1 - LEVEL, at_best=True)
    ) is not None:
        cases = f"in {number_text(100 - LEVEL * 100)}% of cases"
        more = "" if best == sure else f" is guaranteed, {number_text(best)} or more at best"
        yield f"{cases} {number_text(sure)} or more{more}"
    elif gain.unknown:
        yield f"how its value is distributed is not known: {gain.unknown}"


_WORDS: dict[Aspect, tuple[str, str]] = {
    "conformance": ("keeps its commitments", "does not keep its commitments"),
    "achievement": ("achieves its goals", "does not achieve its goals"),
    "benefit": ("gains", "does not gain"),
}


def _ending_lines(system: System, participant: Participant, figures: Sequence[Figure]) -> Iterator[str]:
    """Yield how it may end, an example of each kind, with what decides there."""
    endings: dict[str, list[dict[Aspect, str]]] = {}
    for figure in figures:
        for ending in figure.endings:
            why = ""
            if not ending.is_goal and figure.aspect == "conformance":
                why = _broken(system, participant, ending.state)
            elif not ending.is_goal and figure.aspect == "achievement":
                why = _missed(participant, ending.state)
            where = state_text(system, ending.state) or "where nothing happens"
            kinds = endings.setdefault(where, [])
            # The same messages may lead to different ends, for example in time and too late.
            kind = next((one for one in kinds if figure.aspect not in one), None)
            if kind is None:
                kinds.append(kind := {})
            kind[figure.aspect] = _WORDS[figure.aspect][0 if ending.is_goal else 1] + why
    for where, kinds in endings.items():
        for number, kind in enumerate(kinds):
            yield f"{where} it {'is also possible that it ' if number else ''}{' and '.join(kind.values())}"


def _late_sends(system: System, participant: Participant, analysis: Analysis) -> Iterator[str]:
    """Yield the deadlines that may pass before the participant's own sends, where nothing bounds these."""
    bounded = {one.sender for one in system.bounded}
    roles = [role for role in participant.agents if role not in bounded]
    late = [f"`{one.name}`" for one in system.commitments if set(one.debtors) <= set(roles) and one.within is not None]
    is_unsure = any(
        figure.aspect == "conformance" and not figure.unsolved and figure.guaranteed.high < 1
        for figure in analysis.figures
    )
    if late and is_unsure:
        deadlines = f"the deadline of {some(late)}" if len(late) == 1 else f"the deadlines of {some(late)}"
        wish = ", ".join(f"{role} within 0" for role in roles)
        passing = f"any number of ticks may pass before it sends, and {deadlines} with them"
        yield f"note: {passing}; `assuming {wish}` says that it acts at once{_other_delays(system, participant)}"


def _other_delays(system: System, participant: Participant) -> str:
    """Return what else may take any number of ticks: sends of other roles, and messages in flight."""
    bounded = {one.sender for one in system.bounded}
    senders = {message.sender for message in system.messages}
    waiting = [
        agent.name
        for agent in system.agents
        if agent.name in senders and agent.name not in bounded and agent.name not in participant.agents
    ]
    # A channel with a bound on its delay keeps time from passing while a message is in flight.
    ticks = [step.guard if step.unbounded is None else step.unbounded for step in system.steps if step.kind == "tick"]
    stops = frozenset(name for guard in ticks for name in e.reads(guard))
    received = {step.event for step in system.steps if step.kind == "receive"}
    unbounded = []
    if waiting:
        unbounded.append(f"the sends of {some(waiting)}")
    if any(one.name in received and not e.reads(one.in_flight) <= stops for one in system.messages):
        unbounded.append("messages in flight (`channel within 0`)")
    return f"; a bound is also needed for {' and for '.join(unbounded)}" if unbounded else ""


def _missed(participant: Participant, state: State) -> str:
    """Return which goals are not reached at an end, of those that it decides."""
    goals = [goal for goal in participant.goals if e.reads(goal.condition) <= state.keys()]
    missed = [f"`{printable(goal.text)}`" for goal in goals if not holds(goal.condition, state)]
    return f" ({some(missed)} {'is' if len(missed) == 1 else 'are'} false)" if missed else ""


def _broken(system: System, participant: Participant, state: State) -> str:
    """Return which of its commitments the participant has not kept at an end."""
    open_ = [
        f"`{commitment.name}` is {state[commitment.variable]}"
        for commitment in system.commitments
        if set(commitment.debtors) <= set(participant.agents)
        and commitment.variable in state
        and state[commitment.variable] in _NOT_KEPT
    ]
    return f" ({some(open_)})" if open_ else ""


_NOT_KEPT = frozenset(("active", "pending", "violated"))


def state_text(system: System, state: State) -> str:
    """Return what has happened in a state: the messages received, and those under way."""
    happened = [message.name for message in system.messages if _is_set(message.received, state)]
    under_way = [
        message.name
        for message in system.messages
        if _is_set(message.sent, state) and not _is_set(message.received, state)
    ]
    clauses = [_listed("after", happened), _listed("with", under_way, " under way")]
    return ", ".join(filter(None, clauses))


def _listed(word: str, names: Sequence[str], end: str = "") -> str:
    if not names:
        return ""
    return f"{word} {some([f'`{name}`' for name in names])}{end}"


def _is_set(copy: e.Expr, state: State) -> bool:
    return isinstance(copy, e.Read) and state.get(copy.variable) is True


def _remark_text(participant: Participant, remark: AnalysisRemark) -> str:
    beliefs = [participant.beliefs[index].text for index in remark.beliefs]
    omitted = [f"`{printable(text)}`" for text in beliefs if text not in remark.text]
    return printable(remark.text) + (f" ({'; '.join(omitted)})" if omitted else "")


# --- one line each


def analysis_concise(participant: Participant, analysis: Analysis, judged: Sequence[Judged]) -> str:
    """Return one line for each threshold, or for each figure where nothing is asked."""
    name = participant.name
    lines = [f"{line.place}: {verdict_text(line)} {name}: {_concise(line)}" for line in judged]
    aspects_in_lines = {one.aspect for line in judged for one in line.thresholds}
    for figure in analysis.figures:
        if figure.aspect not in aspects_in_lines:
            bounds = f"guaranteed {bounds_text(figure.guaranteed)}, at best {bounds_text(figure.best)}"
            lines.append(f"{name}.{figure.aspect}: {figure.unsolved or bounds}")
    return "\n".join(lines)


def _concise(line: Judged) -> str:
    return "; ".join((line.text, *filter(None, (line.result.reason,)), *line_findings(line.result)))


# --- data


def analysis_data(participant: Participant, analysis: Analysis, judged: Sequence[Judged], assumption: str = "") -> Data:
    """Return all that was found out about one participant as what JSON can say."""
    return {
        "agent": participant.name,
        "plays": list(participant.agents),
        "assuming": assumption or None,
        "lines": list(map(line_data, judged)),
        "aspects": [_figure_data(figure, judged) for figure in analysis.figures],
        "value": None if analysis.gain is None else _gain_data(analysis.gain),
        "sensitivities": [
            {
                "aspect": one.aspect,
                "belief": participant.beliefs[one.belief].text,
                "message": participant.beliefs[one.belief].events[one.event].name,
                "probability": number_data(one.probability),
                "slope": one.slope,
                "if_never": one.at_zero,
                "if_always": one.at_one,
                "flips_at": one.flips,
            }
            for one in analysis.sensitivities
        ],
        "remarks": [
            {
                "code": remark.kind,
                "message": remark.text,
                "beliefs": [participant.beliefs[index].text for index in remark.beliefs],
                "state": remark.state,
            }
            for remark in analysis.remarks
        ],
        "work": _work_data(analysis.work),
    }


def _work_data(work: AnalysisStatistics) -> Data:
    data: Data = {
        "parts": work.parts,
        "distinct_parts": work.distinct,
        "states": work.states,
        "ends": work.ends,
        "method": work.method,
    }
    if work.printed_states is not None:
        sizes = {"printed_states": work.printed_states, "reconstructed_states": work.reconstructed_states}
        data |= {name: None if size is None or size > _LARGEST_COUNT else size for name, size in sizes.items()}
    return data


def _bounds_data(bounds: Bounds) -> Data:
    return {"low": number_data(bounds.low), "high": number_data(bounds.high)}


def _figure_data(figure: Figure, lines: Sequence[Judged]) -> Data:
    return {
        "aspect": figure.aspect,
        "guaranteed": _bounds_data(figure.guaranteed),
        "best": _bounds_data(figure.best),
        "kept_going": None if figure.kept_going is None else _bounds_data(figure.kept_going),
        "staying_away": None if figure.staying_away is None else _bounds_data(figure.staying_away),
        "unknown": figure.unsolved or None,
        "asked": [
            {
                "relation": threshold.relation,
                "threshold": number_data(threshold.value),
                "verdict": judged(figure.guaranteed, threshold),
                "expected": "holds" if line.expected else "fails",
                "as_expected": line.is_as_expected,
                "place": line.place,
            }
            for line in lines
            for threshold in line.thresholds
            if threshold.aspect == figure.aspect
        ],
        "endings": [
            {"state": ending.state, "wanted": ending.is_goal, "because": ending.reason or None}
            for ending in figure.endings
        ],
        "advice": None if figure.advice is None else _advice_data(figure.advice),
    }


def _advice_data(advice: OptimalStrategy) -> Data:
    return {
        "by_what_it_sees": advice.is_observation_based,
        "situations": [
            {"sees": dict(situation.observation), "steps": list(situation.steps)} for situation in advice.situations
        ],
        **({"never": list(advice.never)} if advice.never else {}),
    }


def _gain_data(gain: TotalReward) -> Data:
    distribution = gain.distribution
    return {
        "expected": {
            "guaranteed": _bounds_data(gain.guaranteed),
            "best": _bounds_data(gain.best),
            "kept_going": None if gain.kept_going is None else _bounds_data(gain.kept_going),
            "staying_away": None if gain.staying_away is None else _bounds_data(gain.staying_away),
        },
        "unknown": gain.unknown or None,
        "distribution": None
        if distribution is None
        else [{"value": number_data(value), "probability": number_data(p)} for value, p in distribution.chances],
        "value_at_risk": None if distribution is None else number_data(distribution.value_at_risk(LEVEL)),
        "shortfall": None if distribution is None else number_data(distribution.conditional_value_at_risk(LEVEL)),
        "level": float(LEVEL),
        "at_least": [
            {
                "value": number_data(one.value),
                "guaranteed": _bounds_data(one.guaranteed),
                "best": _bounds_data(one.best),
            }
            for one in gain.levels
        ],
    }
