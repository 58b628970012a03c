"""JSON of `cplc analyze` and `cplc breaking` conforms to its schemas, without any field that these lack."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from cplc.cli.main import run

_ROOT = Path(__file__).parents[2]
_EXAMPLES = sorted((_ROOT / "examples").rglob("*.cpl"))
_ANALYZED = [path for path in _EXAMPLES if "\n  agent " in path.read_text(encoding="utf-8")]
_CIRCLES = """protocol Calls {
  role Caller
  role Called
  Caller -> Called : ring   repeatable
  Called -> Caller : answer   after ring
  agent Cora plays Caller {
    value ring: -1, answer: +5
    goal answer
  }
  agent Dora plays Called { value answer: -2 }
  analyze Cora: achievement > 0.5 expect fails
}
"""


def _closed(schema: Any) -> Any:
    """Return a schema that allows no fields but those it names."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: _closed(value) for key, value in schema.items()}
    return {**inside, "additionalProperties": False} if "properties" in schema else inside


def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads((_ROOT / "docs" / "schema" / name).read_text(encoding="utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(_closed(schema))


_ANALYZE, _BREAKING = _validator("analyze-1.json"), _validator("breaking-1.json")


def _said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    run([*words, "--format", "json"])

    def refuse(number: str) -> None:
        raise AssertionError(f"{number} is no JSON")

    return json.loads(capsys.readouterr().out, parse_constant=refuse)


@pytest.mark.parametrize("path", _ANALYZED, ids=lambda path: path.stem)
def test_analyses_of_all_examples(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    documents = _said(capsys, "analyze", str(path))
    assert [error.message for error in _ANALYZE.iter_errors(documents)] == []
    assert documents["agents"]


def test_other_analyses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    market = str(_ROOT / "examples" / "marketplace.cpl")
    circles = tmp_path / "calls.cpl"
    circles.write_text(_CIRCLES, encoding="utf-8")
    wrong = tmp_path / "wrong.cpl"
    wrong.write_text("protocol P { role }", encoding="utf-8")
    plan = tmp_path / "plan.json"
    plan.write_text('{"situations": [{"sees": {"ask[1]": true}, "steps": ["offer[1]"]}]}', encoding="utf-8")
    for words in (
        [market, "--agent", "Tom", "--exact"],
        [market, "--agent", "Tom", "--runs", "50", "--plan", str(plan)],
        [market, "--agent", "Tom", "--runs", "50", "--scheduler", "worst-seen"],
        [market, "--agent", "Tom", "--compare", market, "-C", "pieces=1"],
        [str(circles)],
        [str(circles), "--compare", str(circles)],
        [str(wrong)],
    ):
        assert [error.message for error in _ANALYZE.iter_errors(_said(capsys, "analyze", *words))] == [], words


def test_unbounded_value_is_null_in_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An agent that may ring as often as it likes loses without bound, if the environment allows it."""
    circles = tmp_path / "calls.cpl"
    circles.write_text(_CIRCLES, encoding="utf-8")
    dora = next(one for one in _said(capsys, "analyze", str(circles), "--agent", "Dora")["agents"])
    assert dora["value"]["expected"]["guaranteed"]["low"]["value"] is not None
    ringing = circles.read_text(encoding="utf-8").replace("value answer: -2", "value answer: -2, ring: -1")
    circles.write_text(ringing, encoding="utf-8")
    dora = next(one for one in _said(capsys, "analyze", str(circles), "--agent", "Dora")["agents"])
    assert dora["value"]["expected"]["guaranteed"]["low"] == {"value": None, "exact": "-inf"}


def test_comparisons_of_versions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    old, new, wrong = tmp_path / "old.cpl", tmp_path / "new.cpl", tmp_path / "wrong.cpl"
    text = """protocol P {
  role A
  role B
  commitment c = C(B, A, pay, ship)
  B -> A : offer   means create c
  A -> B : pay     after offer
  B -> A : ship    after pay
}
"""
    old.write_text(text, encoding="utf-8")
    new.write_text(text.replace("   means create c", "").replace("after pay", "after offer"), encoding="utf-8")
    wrong.write_text("protocol P { role }", encoding="utf-8")
    pairs = [(old, new), (new, old), (old, old), (old, wrong), *((path, path) for path in _EXAMPLES[:4])]
    documents = [_said(capsys, "breaking", str(first), str(second), "--timeout", "60") for first, second in pairs]
    assert [error.message for one in documents for error in _BREAKING.iter_errors(one)] == []
    assert documents[0]["comparison"]["newly"]
    assert documents[0]["comparison"]["promises"]
    assert documents[1]["comparison"]["no_longer"]
