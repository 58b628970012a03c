"""Several thresholds of one plan against the multi-objective model checking of Storm.

Storm decides ``multi(...)`` for one player. So the games compared are those of the judge in which the world never has a
choice and the participant sees everything. Storm lets plans toss coins: it compares with the convex hull of the points.
"""

from __future__ import annotations

import importlib
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.reference.decisions import ASPECTS, Distribution, Game, NotAGame, Requirement, TooManyPlans
from tests.support.decision_verdicts import mixture_slack
from tests.support.generators.decision_games import NAME, Draft, decision_games
from tests.support.protocol_analysis import checked
from tests.support.random_examples import examples

_storm = pytest.mark.skipif(find_spec("stormpy") is None, reason="Storm is not installed")
_EXAMPLES = Path(__file__).parents[2] / "examples"


class _WorldChooses(Exception):
    """The world has a choice in some position."""


def _choices(game: Game, number: int) -> list[Distribution | None]:
    """Return the participant's choices in a position, each a distribution; None is the end of the run."""
    position = game.positions[number]
    own = [one for several in position.actions.values() for one in several]
    ends = position.may_end or not position.options
    if (
        len(position.options) + ends > 1
        or (own and position.options)
        or len(own) > sum(map(bool, position.actions.values()))
    ):
        raise _WorldChooses
    return [*own, *position.options, *([None] if ends else [])]


def _program(game: Game) -> str:
    """Return the game as an MDP in the language of PRISM, with labels and a reward for the figures of ends."""
    if len(game.start) > 1:
        raise _WorldChooses
    count = len(game.positions)
    least = min((one.node.score.value for one in game.positions), default=Fraction(0))
    lines = ["mdp", "module game", f"  s : [0..{count + 1}] init {count};"]
    (start,) = game.start
    lines.append(f"  [] s = {count} -> {_branches(start)};")
    labels: dict[str, list[str]] = {aspect: [] for aspect in ASPECTS[:3]}
    rewards = []
    for number in range(count):
        for at, choice in enumerate(_choices(game, number)):
            if choice is None:
                ending = game.end(game.positions[number].node)
                lines.append(f"  [end{number}] s = {number} -> (s' = {count + 1 + number});")
                rewards.append(f"  [end{number}] true : {ending[3] - least};")
                for aspect, holds in zip(ASPECTS[:3], ending, strict=False):
                    labels[aspect] += [f"s = {count + 1 + number}"] if holds else []
            else:
                lines.append(f"  [c{number}x{at}] s = {number} -> {_branches(choice)};")
        lines.append(f"  [] s = {count + 1 + number} -> true;")
    lines[2] = f"  s : [0..{2 * count}] init {count};"
    lines.append("endmodule")
    lines += ['rewards "value"', *rewards, "endrewards"]
    lines += [f'label "{aspect}" = {" | ".join(states) or "false"};' for aspect, states in labels.items()]
    return "\n".join(lines) + "\n"


def _branches(distribution: Distribution) -> str:
    return " + ".join(f"{chance} : (s' = {number})" for chance, number in distribution)


def _formula(game: Game, line: Sequence[Requirement]) -> str:
    least = min((one.node.score.value for one in game.positions), default=Fraction(0))
    parts = []
    for aspect, relation, value in line:
        if aspect == "value":
            parts.append(f'R{{"value"}}{relation}{float(value - least)} [C]')
        else:
            parts.append(f'P{relation}{float(value)} [F "{aspect}"]')
    return f"multi({', '.join(parts)})"


def _storm_meets(game: Game, line: Sequence[Requirement], folder: Path) -> bool:
    stormpy: Any = importlib.import_module("stormpy")
    place = folder / "game.prism"
    place.write_text(_program(game), encoding="utf-8")
    program = stormpy.parse_prism_program(str(place))
    properties = stormpy.parse_properties(_formula(game, line), program)
    model = stormpy.build_model(program, properties)
    result = stormpy.model_checking(model, properties[0])
    return bool(result.forall_true())


def _points(game: Game, aspects: Sequence[str]) -> list[tuple[Fraction, ...]]:
    away = game.staying_away.figures
    return [*game.composed_front(aspects), tuple(away[ASPECTS.index(aspect)] for aspect in aspects)]


def _lines(points: Sequence[tuple[Fraction, ...]], aspects: Sequence[str]) -> Iterator[list[Requirement]]:
    """Yield thresholds a little below a mean of two points, and above: Storm computes in floating point."""
    for one, two in zip(points, [*points[1:], points[0]], strict=True):
        for step in (-Fraction(1, 100), Fraction(1, 50), Fraction(1, 5)):
            mean = [(a + b) / 2 + step for a, b in zip(one, two, strict=True)]
            yield [(aspect, ">=", value) for aspect, value in zip(aspects, mean, strict=True)]


def _compare(game: Game, aspects: Sequence[str], folder: Path) -> Counter[bool]:
    """Compare lines of thresholds; return how many are met."""
    counts: Counter[bool] = Counter()
    points = _points(game, aspects)
    for line in _lines(points, aspects):
        if all(aspect == "value" or 0 <= value <= 1 for aspect, _, value in line):
            meets = mixture_slack(points, [value for _, _, value in line]) >= 0
            assert _storm_meets(game, line, folder) == meets, (line, points)
            counts[meets] += 1
    return counts


@_storm
@pytest.mark.parametrize("aspects", [("conformance", "value"), ("conformance", "achievement", "benefit")])
def test_storm_agrees_on_the_translator(aspects: Sequence[str], tmp_path: Path) -> None:
    model = checked((_EXAMPLES / "translation.cpl").read_text())
    counts = _compare(Game(model, "Tara", ["Client"], full_observation=True), aspects, tmp_path)
    assert counts[True]
    assert counts[False]


@_storm
@examples(30)
@given(decision_games(), st.sampled_from((("conformance", "achievement"), ("achievement", "value"), ASPECTS)))
def test_storm_agrees_on_games_without_choices_of_the_world(
    tmp_path_factory: pytest.TempPathFactory, draft: Draft, aspects: Sequence[str]
) -> None:
    try:
        model = checked(draft.text())
        other_roles = Game(model, NAME, limit=400).other_roles
        game = Game(model, NAME, other_roles, full_observation=True, limit=400)
        _program(game)
    except (TooManyPlans, NotAGame, _WorldChooses):
        assume(False)
        raise
    counts = _compare(game, aspects, tmp_path_factory.mktemp("storm"))
    event(f"met: {counts[True]}, not met: {counts[False]}")
