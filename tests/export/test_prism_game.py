"""Explored games in the language of PRISM-games: their values are the guaranteed figures, and Storm confirms them.

Storm does not solve games. It confirms a value by two Markov decision processes: with the optimal choices of the
participant, the world cannot get below it; with those of the world, the participant cannot get above.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import cplc
from cplc.cli.main import run
from cplc.compilation.explored_game import explored_game
from cplc.compilation.participants import ParticipantQuery, participants
from cplc.decision.mdp import explore
from cplc.decision.value_iteration import OrderedMdp, ReachabilityObjective, solve
from cplc.export import prism_game
from cplc.export.prism_game import Distribution, StochasticGame

_EXAMPLES = Path(__file__).parents[2] / "examples"
_NEAR = 1e-9


def _query(name: str, parameters: dict[str, str], position: int) -> ParticipantQuery:
    text = (_EXAMPLES / f"{name}.cpl").read_text(encoding="utf-8")
    return participants(cplc.compile(text, parameters=parameters))[position]


_QUERIES = [
    pytest.param(name, parameters, position, id=f"{name}-{query.participant.name}-{position}")
    for name, parameters in (
        ("ecommerce", {"copies": "1"}),
        ("ecommerce_paper", {"copies": "1"}),
        ("marketplace", {}),
        ("translation", {}),
        ("agent_payments", {}),
    )
    for position, query in enumerate(
        participants(cplc.compile((_EXAMPLES / f"{name}.cpl").read_text(encoding="utf-8"), parameters=parameters))
    )
]
Choice = Callable[[Sequence[Fraction]], Fraction]


def _values(game: StochasticGame, label: str, own: Choice, world: Choice) -> list[Fraction]:
    """Return the value of each state, where the owner of a state picks the value of a move; the game is acyclic."""
    values: dict[int, Fraction] = {}
    goal = set(game.labels[label])
    stack = [0]
    while stack:
        state = stack[-1]
        missing = [target for move in game.moves[state] for _, target in move if target not in values]
        if missing:
            stack += missing
            continue
        stack.pop()
        moves = [_mean(move, values) for move in game.moves[state]]
        choose = own if state in game.owned else world
        values[state] = choose(moves) if moves else Fraction(int(state in goal))
    return [values.get(state, Fraction(0)) for state in range(len(game.moves))]


def _mean(move: Distribution, values: Any) -> Fraction:
    return sum((share * values[target] for share, target in move), Fraction(0))


@pytest.mark.parametrize(("name", "parameters", "position"), _QUERIES)
def test_value_of_game_is_guaranteed_figure(name: str, parameters: dict[str, str], position: int) -> None:
    query = _query(name, parameters, position)
    game = explored_game(query)
    explored = explore(query.system, query.participant, 50_000, assumed=frozenset(query.assumed))
    test = explored.game.packing.condition(query.participant.conforming)
    model = explored.model
    ends = bytes(model.is_end(at) and test(explored.game.packed(one)) for at, one in enumerate(explored.states))
    objective = ReachabilityObjective(ends, True, exact=True, fairness=False)
    expected = solve(OrderedMdp(model), objective).bounds(range(model.initial), True)
    assert _values(game, "conforming", max, min)[0] == expected.low == expected.high


_STORM = importlib.util.find_spec("stormpy") is not None


def _storm(text: str, folder: Path, *formulas: str) -> list[float]:
    stormpy: Any = importlib.import_module("stormpy")
    place = folder / "game.prism"
    place.write_text(text, encoding="utf-8")
    program = stormpy.parse_prism_program(str(place))
    properties = stormpy.parse_properties(";".join(formulas), program)
    model = stormpy.build_model(program, properties)
    exact = importlib.import_module("stormpy.environments").exact()
    results = [stormpy.model_checking(model, one, environment=exact) for one in properties]
    return [float(result.get_value(model.initial_states[0])) for result in results]


def _as_decision_process(game: StochasticGame, query: ParticipantQuery) -> str:
    request = cplc.compile("protocol P sync { role A role B A -> B : m }").to_be_exported(())
    text = prism_game.export(request, game, query.label).text
    return "mdp\n" + text[text.index("module game") :]


def _keeping_optimal(game: StochasticGame, values: list[Fraction], *, own: bool) -> StochasticGame:
    """Return the game with the optimal moves only, of the participant or of the world."""
    moves = [
        [move for move in each if (state in game.owned) is not own or _mean(move, values) == values[state]]
        for state, each in enumerate(game.moves)
    ]
    return StochasticGame(moves, game.owned, game.labels)


@pytest.mark.skipif(not _STORM, reason="Storm is not installed")
@pytest.mark.parametrize(("name", "parameters", "position"), _QUERIES)
def test_storm_confirms_values(name: str, parameters: dict[str, str], position: int, tmp_path: Path) -> None:
    query = _query(name, parameters, position)
    game = explored_game(query)
    for label in [label for label in game.labels if label != "over"]:
        least, most = f'Pmin=? [F "{label}"]', f'Pmax=? [F "{label}"]'
        values = _values(game, label, max, min)
        bounds = _storm(_as_decision_process(game, query), tmp_path, least, most)
        assert bounds[0] == pytest.approx(float(_values(game, label, min, min)[0]), abs=_NEAR)
        assert bounds[1] == pytest.approx(float(_values(game, label, max, max)[0]), abs=_NEAR)
        (below,) = _storm(_as_decision_process(_keeping_optimal(game, values, own=True), query), tmp_path, least)
        (above,) = _storm(_as_decision_process(_keeping_optimal(game, values, own=False), query), tmp_path, most)
        assert below == pytest.approx(float(values[0]), abs=_NEAR)
        assert above == pytest.approx(float(values[0]), abs=_NEAR)


def test_players_and_properties_are_written(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(_EXAMPLES / "marketplace.cpl")
    assert run(["export", path, "--to", "prism", "--agent", "Tom", "--game"]) == 0
    text = capsys.readouterr().out
    assert "player participant\n  [participant]\nendplayer" in text
    assert '"achieving_guaranteed": <<participant>> Pmax=? [ F "achieving" ];' in text


def test_large_game_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(_EXAMPLES / "ecommerce.cpl")
    assert run(["export", path, "--to", "prism", "--agent", "Alice", "--game", "-D", "copies=9"]) == 3
    assert "the game is too large: more than 50,000 states" in capsys.readouterr().err
    assert run(["export", path, "--to", "prism", "--game"]) == 2


def test_games_of_all_assumptions_are_exported(tmp_path: Path) -> None:
    place = tmp_path / "tara.prism"
    example = str(_EXAMPLES / "translation.cpl")
    assert run(["export", example, "--to", "prism", "--agent", "Tara", "--game", "-o", str(place)]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "tara.2.prism", "tara.2.props", "tara.prism", "tara.props",
    ]  # fmt: skip
    assert "Game of Tara against" in place.read_text()
    assert "Game of Tara assuming Client against" in (tmp_path / "tara.2.prism").read_text()
