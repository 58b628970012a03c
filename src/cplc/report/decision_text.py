"""Text of sensitivities and optimal strategies: the beliefs that a figure depends on, and the best actions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from cplc.control_characters import printable
from cplc.decision.results import WAIT, Figure, OptimalStrategy, Sensitivity, Situation
from cplc.logic.expressions import Value, value_text
from cplc.records import dataclass
from cplc.report.folded_rules import folded_rules
from cplc.report.number_text import MOST, number_text
from cplc.report.step_text import variable_text
from cplc.system.model import System
from cplc.system.participant import Aspect, Participant


@dataclass(frozen=True, slots=True)
class Hinge:
    """A probability that a figure depends on, shared by copies with the same influence."""

    sensitivity: Sensitivity
    message: str
    about: str
    """The owner of the belief, and its place."""


def hinges(participant: Participant, sensitivities: Sequence[Sensitivity]) -> tuple[Hinge, ...]:
    """Return the probabilities that the figures depend on, the most influential first.

    Of two events that exclude each other the first is enough, and of copies that count the same the first as well.
    """
    groups: dict[tuple[object, ...], list[Hinge]] = {}
    for one in sensitivities:
        belief = participant.beliefs[one.belief]
        if (one.at_zero == one.at_one and one.flips is None) or (len(belief.events) == 2 and one.event == 1):
            continue
        name, about = belief.events[one.event].name, printable(belief.text.partition(": ")[0])
        counts = one.probability, *(None if it is None else f"{it:.6g}" for it in (one.at_zero, one.at_one, one.flips))
        groups.setdefault((one.aspect, name.partition("[")[0], *counts), []).append(Hinge(one, name, about))
    return tuple(_together(alike) for alike in groups.values())


def _together(alike: Sequence[Hinge]) -> Hinge:
    first = alike[0]
    return Hinge(first.sensitivity, first.message, (f"{len(alike)} alike: " if len(alike) > 1 else "") + first.about)


def sensitivity_lines(participant: Participant, sensitivities: Sequence[Sensitivity], width: int) -> Iterator[str]:
    """Yield a table of the probabilities on which figures hang, the weightiest first; the expected value comes last.

    Where the table is too wide, rows have several lines.
    """
    every = hinges(participant, sensitivities)
    rows = _merged([row for row in every if row.sensitivity.aspect != "value"])
    values = [(row, "expected value", "") for row in every if row.sensitivity.aspect == "value"]
    if not every:
        return
    table: list[_Row] = [("depends on", "believed", "if never", "if always", "flips at", "")]
    for row, aspects, flips in (*rows[:MOST], *values[:MOST]):
        one = row.sensitivity
        figures = number_text(one.probability), f"{one.at_zero:.6g}", f"{one.at_one:.6g}", flips
        table.append((f"{aspects}: {row.message}", *figures, row.about))
    yield from _table_lines(table, width)
    more = max(0, len(rows) - MOST) + max(0, len(values) - MOST)
    if more:
        yield f"and {more} more that count less"


_Row = tuple[str, str, str, str, str, str]


def _table_lines(table: Sequence[_Row], width: int) -> Iterator[str]:
    """Yield the rows; the last cell is below them if the table is too wide, and the first one above if it still is."""
    widths = [max(len(row[column]) for row in table) for column in range(6)]
    total = sum(widths) + 2 * len(widths)
    is_about_below, is_name_above = total > width, total - widths[5] - 2 > width
    if is_name_above:
        widths[0] = len(table[0][0])
    for number, (name, *figures, about) in enumerate(table):
        is_above = is_name_above and number > 0
        if is_above:
            yield f"{name}, {about}"
        cells = ["" if is_above else name, *figures, *([] if is_about_below else [about])]
        yield "  ".join(cell.ljust(column) for cell, column in zip(cells, widths, strict=False))
        if is_about_below and not is_above and about:
            yield f"  {about}"


def _merged(rows: Sequence[Hinge]) -> list[tuple[Hinge, str, str]]:
    """Return each with the aspects that depend on it alike, and the values at which their verdicts flip."""
    groups: dict[tuple[object, ...], list[Hinge]] = {}
    for row in rows:
        one = row.sensitivity
        key = row.message, row.about, one.probability, f"{one.at_zero:.6g}", f"{one.at_one:.6g}"
        groups.setdefault(key, []).append(row)
    return [(alike[0], ", ".join(row.sensitivity.aspect for row in alike), _flips(alike)) for alike in groups.values()]


def _flips(alike: Sequence[Hinge]) -> str:
    each = {row.sensitivity.aspect: row.sensitivity.flips for row in alike}
    flip_texts = {aspect: f"{flips:.6g}" for aspect, flips in each.items() if flips is not None}
    if len(flip_texts) == len(each) and len(set(flip_texts.values())) == 1:
        return next(iter(flip_texts.values()))
    return ", ".join(text if len(each) == 1 else f"{text} ({aspect})" for aspect, text in flip_texts.items())


def advice_lines(system: System, figures: Sequence[Figure]) -> Iterator[str]:
    """Yield what is best in which situation, once for all aspects for which the same is."""
    same: dict[OptimalStrategy, list[Aspect]] = {}
    for figure in figures:
        if figure.advice is not None:
            same.setdefault(figure.advice, []).append(figure.aspect)
    for advice, aspects in same.items():
        best = f"  best for {' and '.join(aspects)}"
        if not advice.situations:
            yield f"{best} is not listed, since alike agents were counted"
            continue
        yield f"{best}:"
        yield from strategy_lines(system, advice)


def strategy_lines(system: System, strategy: OptimalStrategy) -> Iterator[str]:
    """Yield the rules of a strategy, and how many situations they leave out."""
    folded = folded_rules(system, strategy.situations)
    for text in folded:
        yield f"    {text}"
    if folded:
        return
    situations_left = len(strategy.situations)
    for rule in rules_of(system, strategy.situations):
        situations_left -= rule.times
        own = {step.partition(" ")[2].partition("(")[0] for step in rule.steps}
        sees = ", ".join(
            _seen(system, name, value)
            for name, value in rule.observation
            if value or system.variable[name].about not in own  # nothing is sent after itself
        )
        steps = " or ".join("wait" if step == WAIT else f"`{step.partition(' ')[2]}`" for step in rule.steps)
        yield f"    {steps} {sees}".rstrip()
    if situations_left:
        yield f"    and more in {situations_left} other situations"


@dataclass(frozen=True, slots=True)
class Rule:
    """An optimal choice for several situations, and the conditions that tell them from all other situations."""

    observation: tuple[tuple[str, Value], ...]
    steps: tuple[str, ...]
    times: int


def rules_of(system: System, situations: Sequence[Situation]) -> Iterator[Rule]:
    """Yield few rules for many situations, each optimal in every situation to which it applies.

    What one of its steps brings about itself is said before it only where nothing else tells.
    """
    remaining = list(situations)
    for _ in range(MOST):
        if not remaining:
            return
        first = min(remaining, key=lambda one: len(one.steps) or len(one.observation) + 2)
        own = {step.partition(" ")[2].partition("(")[0] for step in first.steps}
        telling = [pair for pair in first.observation if system.variable[pair[0]].about not in own]
        other_observations = [set(one.observation) for one in situations if not _covers(first, one)]
        sees = _telling(telling, other_observations)
        if sees is None:
            sees = _telling(first.observation, other_observations) or first.observation
        covered = [one for one in remaining if _covers(first, one) and set(sees) <= set(one.observation)]
        remaining = [one for one in remaining if one not in covered]
        yield Rule(sees, first.steps, len(covered))


def _covers(rule: Situation, other: Situation) -> bool:
    """True if an optimal choice of one situation is optimal in the other."""
    return set(rule.steps) <= set(other.steps) if rule.steps else not other.steps


def _telling(
    observation: Sequence[tuple[str, Value]], other_observations: Sequence[Set[tuple[str, Value]]]
) -> tuple[tuple[str, Value], ...] | None:
    """Return few of the things seen that are not all so in any of the others, in their order, if there are such."""
    chosen: set[tuple[str, Value]] = set()
    while other_observations:
        best = max(observation, key=lambda pair: sum(pair not in one for one in other_observations), default=None)
        if best is None or all(best in one for one in other_observations):
            return None
        chosen.add(best)
        other_observations = [one for one in other_observations if best in one]
    return tuple(pair for pair in observation if pair in chosen)


def _seen(system: System, name: str, value: Value) -> str:
    variable = system.variable[name]
    if variable.kind == "copy":
        return f"{'after' if value else 'before'} `{variable.about}`"
    return f"while {variable_text(system, variable)} is {value_text(value)}"
