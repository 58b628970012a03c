"""Decision models in the language of PRISM: Storm finds the same probabilities in them."""

from __future__ import annotations

import importlib.util
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.decision_models import ecommerce
from tests.support.generators.participants import little_games
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation, load
from cplc.compilation.participants import participants
from cplc.decision import analyse
from cplc.export import Origin, Request
from cplc.export.prism_mdp import export
from cplc.system.model import System
from cplc.system.participant import Participant

pytestmark = pytest.mark.skipif(importlib.util.find_spec("stormpy") is None, reason="Storm is not there")
_NEAR = 1e-9
_WITH_AGENTS = [
    place
    for place in sorted(Path(__file__).parents[2].glob("examples/*.cpl"))
    if re.search(r"^ *agent ", place.read_text(encoding="utf-8"), re.MULTILINE)
]


def _asked(system: System, participant: Participant, folder: Path) -> tuple[int, dict[str, float]]:
    """Return the number of Storm's states, and what it finds."""
    stormpy: Any = importlib.import_module("stormpy")
    exported = export(Request(system, (), Origin("a.cpl", "0")), participant)
    place = folder / "model.prism"
    place.write_text(exported.text, encoding="utf-8")
    program = stormpy.parse_prism_program(str(place))
    properties = stormpy.parse_properties(exported.beside[0][1], program)
    model = stormpy.build_model(program, properties)
    environment = importlib.import_module("stormpy.environments").exact()
    values = {}
    for one in properties:
        result = stormpy.model_checking(model, one, environment=environment)
        values[one.get_name()] = float(result.get_value(model.initial_states[0]))
    return model.nr_states, values


@pytest.mark.parametrize("copies", [1, 2])
def test_storm_agrees_on_the_trade(copies: int, tmp_path: Path) -> None:
    system, participant = ecommerce(copies)
    states, values = _asked(system, participant, tmp_path)
    assert states == 20**copies
    assert abs(values["conformance_min"] - 0.846415**copies) < _NEAR
    assert abs(analyse(system, participant).figure("conformance").guaranteed.middle - 0.846415**copies) < _NEAR


@pytest.mark.parametrize("place", _WITH_AGENTS, ids=lambda place: place.stem)
def test_storm_agrees_on_files(place: Path, tmp_path: Path) -> None:
    """The best is the same; the guaranteed is no less, for Storm lets the participant harm itself."""
    compilation = load(str(place), {"copies": "2"} if place.stem == "ecommerce" else {})
    assert isinstance(compilation, CplCompilation)
    for query in participants(compilation):
        _, values = _asked(query.system, query.participant, tmp_path)
        mine = analyse(query.system, query.participant, fairness=False, sensitivity=False)
        for figure in mine.figures:
            if figure.aspect != "benefit":
                assert abs(values[f"{figure.aspect}_max"] - figure.best.middle) < _NEAR
                assert values[f"{figure.aspect}_min"] < figure.guaranteed.middle + _NEAR
        if mine.gain is not None:
            assert abs(values["value_max"] - mine.gain.best.middle) < _NEAR


@pytest.mark.parametrize("place", _WITH_AGENTS, ids=lambda place: place.stem)
def test_storm_agrees_on_minimum_without_decisions(place: Path, tmp_path: Path) -> None:
    """The participant's decisions are left open for both, since in models of PRISM one side makes all choices."""
    compilation = load(str(place), {"copies": "2"} if place.stem == "ecommerce" else {})
    assert isinstance(compilation, CplCompilation)
    for query in participants(compilation):
        passive = replace(query.participant, agents=(), decisions=())
        _, values = _asked(query.system, passive, tmp_path)
        mine = analyse(query.system, passive, fairness=False, sensitivity=False)
        for figure in mine.figures:
            if figure.aspect != "benefit":
                assert abs(values[f"{figure.aspect}_min"] - figure.guaranteed.middle) < _NEAR
                assert abs(values[f"{figure.aspect}_max"] - figure.best.middle) < _NEAR
        if mine.gain is not None:
            assert abs(values["value_min"] - mine.gain.guaranteed.middle) < _NEAR
            assert abs(values["value_max"] - mine.gain.best.middle) < _NEAR


_WITHIN_BOUNDS = """
protocol Shop sync {
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay | order, ship)
  Seller -> Buyer : offer                     means create goods
  Buyer -> Seller : pay       after offer
  Buyer -> Seller : order     after offer
  Buyer -> Seller : refuse    after offer     means expire goods
  Seller -> Buyer : ship      after pay | order
  Seller -> Buyer : keep      after pay | order  means violate goods
  choice pay | order | refuse
  choice ship | keep
  agent Alice plays Buyer {
    goal ship
    value pay: -2, ship: +5
    believes Buyer: pay 0.3..0.6 | order 0.1..0.4 | refuse 0.2..0.3
    believes Seller when pay | order: ship 0.85..0.95 | keep 0.05..0.15
  }
}
"""


def test_storm_agrees_on_bounds(tmp_path: Path) -> None:
    (tmp_path / "shop.cpl").write_text(_WITHIN_BOUNDS, encoding="utf-8")
    compilation = load(str(tmp_path / "shop.cpl"), {})
    assert isinstance(compilation, CplCompilation)
    (query,) = participants(compilation)
    _, values = _asked(query.system, query.participant, tmp_path)
    mine = analyse(query.system, query.participant, exact=True)
    assert mine.figure("achievement").guaranteed.low == Fraction(7, 10) * Fraction(85, 100)
    assert abs(values["achievement_min"] - 0.595) < _NEAR
    assert abs(values["achievement_max"] - mine.figure("achievement").best.middle) < _NEAR
    assert mine.gain is not None
    assert abs(values["value_min"] - mine.gain.guaranteed.middle) < _NEAR
    assert abs(values["value_max"] - mine.gain.best.middle) < _NEAR


@examples(40)
@given(st.data())
def test_storm_agrees_on_random_games(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    system, participant = data.draw(little_games())
    participant = replace(participant, agents=())
    _, values = _asked(system, replace(participant, worth=()), tmp_path_factory.mktemp("storm"))
    mine = analyse(system, participant, fairness=False, sensitivity=False)
    for aspect in ("conformance", "achievement"):
        figure = mine.figure(aspect)
        assert abs(values[f"{aspect}_min"] - figure.guaranteed.middle) < _NEAR
        assert abs(values[f"{aspect}_max"] - figure.best.middle) < _NEAR


@examples(15)
@given(st.data())
def test_storm_agrees_on_expected_value(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    system, participant = data.draw(little_games(circles=False))
    worth = tuple(replace(one, amount=abs(one.amount)) for one in participant.worth)
    participant = replace(participant, agents=(), worth=worth)
    _, values = _asked(system, participant, tmp_path_factory.mktemp("storm"))
    gain = analyse(system, participant, sensitivity=False).gain
    if gain is not None:
        assert abs(values["value_min"] - gain.guaranteed.middle) < _NEAR
        assert abs(values["value_max"] - gain.best.middle) < _NEAR
