"""Comparison of the analysis of decisions with the judge, on one protocol."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from tests.reference.decisions import ASPECTS, Game, Outcome, Plan, Requirement, co_operation, is_met
from tests.reference.timed import bounds_of
from tests.support.generators.decision_games import NAME, Draft

from cplc.compilation import CplCompilation
from cplc.compilation.participants import participants
from cplc.decision import Analysis, Bounds, analyse
from cplc.decision.occupation_measures import is_available
from cplc.decision.randomised_plans import matrix_game
from cplc.decision.results import PlanFigures
from cplc.semantics.model import CheckedModel
from cplc.source import Source
from cplc.system.participant import Threshold

_CLOSE = 1e-9
POSITIONS, PLANS = 1000, 300
"""Maximum number of positions and plans of a game."""


class DecisionDisagreement(AssertionError):
    """The analysis and the judge differ."""


def compare(draft: Draft, lines: Sequence[Sequence[Requirement]], counts: Counter[str]) -> None:
    """Raise `DecisionDisagreement` where the analysis contradicts the judge; count what was compared."""
    for mistake in mistakes(draft, lines, counts):
        text = "\n".join(" ".join(map(_shown, line)) for line in lines)
        raise DecisionDisagreement(f"{mistake}\nlines:\n{text}\n{draft.text()}")


def _shown(requirement: Requirement) -> str:
    aspect, relation, value = requirement
    return f"{aspect} {relation} {value}"


def analysis_of(
    text: str, lines: Sequence[Sequence[Requirement]], *, exact: bool = True, name: str = NAME, reduction: bool = True
) -> Analysis:
    """Return the analysis of the participant, with these lines of thresholds."""
    (query,) = participants(CplCompilation(Source("game.cpl", text)), [name])
    thresholds = [[Threshold(aspect, relation, value) for aspect, relation, value in line] for line in lines]  # type: ignore[arg-type]
    assumed = frozenset(query.assumed)
    return analyse(
        query.system, query.participant, thresholds,
        assumed=assumed, exact=exact, reduction=reduction, sensitivity=False,
    )  # fmt: skip


def game_of(model: CheckedModel, draft: Draft, more: Collection[str] = (), *, limit: int, plans: int) -> Game:
    """Return the judge's game under the assumptions of the draft, and with these roles that keep going besides."""
    plain, bounds = bounds_of(model, draft.assumed)
    members = {role.name for role in model.roles for name in plain if role.family == name}
    return Game(model, NAME, {*plain, *members, *bounds, *more}, bounds=bounds, limit=limit, plans=plans)


def mistakes(draft: Draft, lines: Sequence[Sequence[Requirement]], counts: Counter[str]) -> Iterator[str]:
    """Yield every difference between the analysis and the judge."""
    compilation = CplCompilation(Source("game.cpl", draft.text()))
    model = compilation.model
    game = game_of(model, draft, limit=POSITIONS, plans=PLANS)
    together = game_of(model, draft, game.other_roles, limit=POSITIONS, plans=PLANS)
    _ = game.plans, together.plans
    analysis = analysis_of(draft.text(), lines)
    counts["games"] += 1
    differences = list(_differences(draft, lines, model, game, together, analysis, counts))
    if differences:
        # A plan may wait in one component for what comes in another; the analysis by components leaves that out.
        counts["compared without components"] += 1
        whole = analysis_of(draft.text(), lines, reduction=False)
        differences = list(_differences(draft, lines, model, game, together, whole, counts))
        differences += _overclaims(lines, game, analysis)
    yield from differences


def _overclaims(lines: Sequence[Sequence[Requirement]], game: Game, analysis: Analysis) -> Iterator[str]:
    """Yield what the analysis says to be guaranteed, and is not."""
    for figure in analysis.figures:
        right = game.alone()[ASPECTS.index(figure.aspect)]
        if figure.guaranteed.low > right + Fraction(_CLOSE):
            yield f"{figure.aspect} alone is {figure.guaranteed.low}, and it is only {right}"
    for line, result in zip(lines, analysis.lines, strict=True):
        if result.verdict in ("take part", "indifferent") and game.verdict(line) != result.verdict:
            yield f"{result.verdict}, and it is {game.verdict(line)}"


def _differences(
    draft: Draft,
    lines: Sequence[Sequence[Requirement]],
    model: CheckedModel,
    game: Game,
    together: Game,
    analysis: Analysis,
    counts: Counter[str],
) -> Iterator[str]:
    yield from _figures(game, together, analysis, counts)
    for line, result in zip(lines, analysis.lines, strict=True):
        expected = game.verdict(line)
        counts[f"{expected}: {result.verdict}"] += 1
        if not _agree(expected, result.verdict):
            yield f"{result.verdict}, and it is {expected}"
        by_chance = not game.staying_away.meets(line) and _some_mixture_meets(game.plans, line)
        if result.verdict == "stay away" and by_chance:
            yield "stay away, and a mixture of plans meets it"
        if result.reason == "only by tossing a coin":
            counts["only by tossing a coin"] += 1
            if not by_chance:
                # Coins that are tossed later may do better than a mixture; the certificate of the plan is exact.
                counts["only by tossing a coin later"] += 1
                if not is_available():
                    yield "only by tossing a coin, and no mixture of plans meets it"
        if result.plan is not None:
            yield from _plan(result.plan.figures, game.plans, counts)
        if result.front:
            yield from _front(result.front, game, counts)
        if expected == "stay away" and result.verdict == "stay away":
            needed = set(co_operation(lambda roles: game_of(model, draft, roles, limit=POSITIONS, plans=PLANS), line))
            counts["co-operation"] += bool(needed)
            if set(map(frozenset, result.sufficient)) != set(map(frozenset, needed)):
                yield f"it depends on {result.sufficient}, and it is {needed}"


def mixture_slack(points: Sequence[Sequence[Fraction]], least: Sequence[Fraction]) -> Fraction:
    """Return by how much the best convex combination of the points is above these bounds in every component."""
    slack = [[value - bound for value, bound in zip(point, least, strict=True)] for point in points]
    return matrix_game(slack)[0]


def _some_mixture_meets(plans: Sequence[Plan], line: Sequence[Requirement]) -> bool:
    """Return whether the convex combination of what plans guarantee meets the line, for some probabilities."""
    chosen = list(dict.fromkeys(plan.figures for plan in plans))
    slack = [[figures[ASPECTS.index(aspect)] - value for aspect, _, value in line] for figures in chosen]
    _, weights = matrix_game(slack)
    mixed = [sum(w * row[at] for w, row in zip(weights, slack, strict=True)) for at in range(len(line))]
    return all(is_met(Fraction(one), relation, Fraction(0)) for one, (_, relation, _) in zip(mixed, line, strict=True))


def _agree(expected: str, verdict: str) -> bool:
    """A line that only a randomised plan might meet may be undecided."""
    return verdict == expected or (verdict == "undecided" and expected == "stay away")


def _figures(game: Game, together: Game, analysis: Analysis, counts: Counter[str]) -> Iterator[str]:
    alone, kept_going, away = game.alone(), together.alone(), game.staying_away.figures
    rows: list[tuple[str, Bounds, Bounds | None, Bounds | None]] = [
        (figure.aspect, figure.guaranteed, figure.kept_going, figure.staying_away) for figure in analysis.figures
    ]
    if analysis.gain is not None:
        gain = analysis.gain
        rows.append(("value", gain.guaranteed, gain.kept_going, gain.staying_away))
    for aspect, *bounds in rows:
        at = ASPECTS.index(aspect)
        rights = (("alone", alone), ("if the others keep going", together.alone()), ("staying away", away))
        for (kind, right), one in zip(rights, bounds, strict=True):
            counts[f"figures {kind}"] += one is not None
            if one is not None and one.low < one.high and _is_within(one, right[at]):
                counts["figures with bounds"] += 1
            elif one is not None and not _is_exact(one, right[at]):
                yield f"{aspect} {kind} is {one.low}..{one.high}, and it is {right[at]}"
        if bounds[1] is None and kept_going[at] != alone[at]:
            yield f"{aspect} is {kept_going[at]} if the others keep going, which is not said"


def _front(front: Sequence[PlanFigures], game: Game, counts: Counter[str]) -> Iterator[str]:
    """Yield a mistake for a point that no plan has; not all points need to be listed."""
    for point in front:
        yield from _plan(point.figures, game.plans, counts)
    aspects = [aspect for aspect, _ in front[0].figures]
    points = {tuple(bounds.low for _, bounds in point.figures) for point in front}
    counts["fronts with all points" if points == game.front(aspects) else "fronts with some points"] += 1


def _is_within(bounds: Bounds, right: Fraction) -> bool:
    return float(bounds.low) - _CLOSE < right < float(bounds.high) + _CLOSE


def _is_exact(bounds: Bounds, right: Fraction) -> bool:
    return abs(float(bounds.low) - right) < _CLOSE and abs(float(bounds.high) - right) < _CLOSE


def _plan(figures: Collection[tuple[str, Bounds]], plans: Sequence[Plan], counts: Counter[str]) -> Iterator[str]:
    """Yield a mistake if no plan has these figures together."""
    counts["plans"] += 1
    positions = [(ASPECTS.index(aspect), bounds) for aspect, bounds in figures]
    if not any(all(_is_exact(bounds, plan.figures[at]) for at, bounds in positions) for plan in plans):
        shown = ", ".join(f"{aspect} {bounds.low}" for aspect, bounds in figures)
        yield f"no plan has {shown} together"


def lines_for(game: Game, picks: Sequence[int]) -> list[list[Requirement]]:
    """Return lines of thresholds near the figures of plans: met by one plan, by none, and exactly at its edge."""
    plans: list[Outcome] = [plan.figures for plan in [*game.participating, game.staying_away]]
    lines = []
    for pick in picks:
        figures = plans[pick % len(plans)]
        relation = (">", ">=")[pick // 7 % 2]
        aspects = [ASPECTS[at] for at in range(4) if pick >> at & 1] or ["achievement", "conformance"]
        other = plans[pick // 3 % len(plans)]
        line = []
        for aspect in aspects:
            at = ASPECTS.index(aspect)
            value = (figures if pick // 5 % 2 else other)[at]
            if aspect != "value" and (value == 1 or not 0 <= value <= 1):
                line.append((aspect, ">=", value))
            else:
                line.append((aspect, relation, value))
        lines.append(line)
    return lines
