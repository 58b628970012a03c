"""Golden tests of exported ISPL models; ``--update-golden`` writes the actual text."""

from __future__ import annotations

from pathlib import Path

import pytest

from cplc import __version__
from cplc.compilation import IsplCompilation
from cplc.source import Source

_ROOT = Path(__file__).parents[2]
_FOLDER = _ROOT / "tests" / "golden" / "rounds"
_MODELS = {"counter": _FOLDER / "counter.ispl", "train_gate": _ROOT / "examples" / "train_gate.ispl"}
_TARGETS = {"smv": ".smv", "ispl": ".exported.ispl", "json": ".json", "dot": ".dot"}


@pytest.mark.parametrize("target", _TARGETS)
@pytest.mark.parametrize("model", _MODELS)
def test_text(model: str, target: str, update_golden: bool) -> None:
    path = _MODELS[model]
    reading = IsplCompilation(Source(f"{model}.ispl", path.read_text(encoding="utf-8")))
    assert reading.ok
    questions = [one for one in reading.questions() if one.question.name.startswith("formula")]
    exported = reading.export(target, questions, states=target == "dot")
    text = exported.text.replace(f"cplc {__version__}", "cplc 1.0")
    golden = _FOLDER / f"{model}{_TARGETS[target]}"
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
