"""Decision models in the language of PRISM: Storm finds the same probabilities in them."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.support.decision_models import ecommerce

from cplc.decision import analyse
from cplc.export import Origin, Request
from cplc.export.prism_mdp import export
from cplc.system.model import System
from cplc.system.participant import Participant

pytestmark = pytest.mark.skipif(importlib.util.find_spec("stormpy") is None, reason="Storm is not there")
_NEAR = 1e-9


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
