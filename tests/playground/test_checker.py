"""Answers of the playground's checker, from the same module in this Python."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.support.command_line_verdicts import ROOT, verdicts

if not (ROOT / "playground" / "checker.py").is_file():
    pytest.skip("the playground is not part of this copy", allow_module_level=True)

from playground.build import topics

from playground import checker

_SHOP = """protocol Shop(most: 1..9 = 2) {
  role Buyer
  role Seller
  Buyer -> Seller : order
  Seller -> Buyer : ship after order
  property shipped: AG (order -> AF ship)
}
"""
_LACKING = ("oxidd", "numpy", "pygls", "fcntl", "resource", "termios", "sqlite3", "ssl", "_ssl", "_multiprocessing")
"""Modules that Pyodide lacks, or has only as separate packages."""


def _asked(text: str, **chosen: object) -> str:
    return json.dumps({"name": "shop.cpl", "text": text, **chosen})


def _checked(text: str, **chosen: object) -> Any:
    return json.loads(checker.checked(_asked(text, **chosen)))


def _verified(text: str, **chosen: object) -> list[Any]:
    return [json.loads(records) for records in checker.verified(_asked(text, **chosen))]


def test_options_of_a_text_are_listed() -> None:
    two = f"protocol First {{ role A role B A -> B : m }}\n{_SHOP}"
    choices = _checked(two)
    assert choices["protocols"] == ["First", "Shop"]
    assert choices["parameters"] == [{"name": "most", "default": "2"}]
    assert _checked(two, protocol="First")["parameters"] == []
    assert choices["ok"]


def test_positions_are_utf_16() -> None:
    text = "// 🛒é\n" + _SHOP.replace("AF ship", "AF shipp")
    (diagnostic,) = _checked(text)["diagnostics"]
    units = text.encode("utf-16-le")
    place = diagnostic["place"]
    assert units[2 * place["from"] : 2 * place["to"]].decode("utf-16-le") == "shipp"
    assert (place["line"], place["column"]) == (7, 37)
    assert diagnostic["code"] == "unknown-name"
    assert [edit["text"] for fix in diagnostic["fixes"] for edit in fix["edits"]] == ["ship"]


def test_answers_are_streamed_with_an_end() -> None:
    announcement, result, *usual, end = _verified(_SHOP)
    names = ["shipped", "live", "deadlock_free", "no_debt_forgotten", "sound"]
    assert announcement == {"asked": names}
    assert [one["result"]["name"] for one in usual] == names[1:]
    assert (result["result"]["verdict"], result["result"]["standing"]) == ("fails", "not as expected")
    assert "<svg" in result["shown"]
    assert end == {"end": None}


def test_small_systems_use_explicit_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _verified(_SHOP)[1]["result"]["engine"] == "explicit"
    monkeypatch.setattr(checker, "FEW_STATES", 1)
    assert _verified(_SHOP)[1]["result"]["engine"] == "symbolic"
    assert _verified(_SHOP, engine="onthefly")[1]["result"]["engine"] == "onthefly"


def test_errors_reported_instead_of_verdicts() -> None:
    announcement, end = _verified(_SHOP.replace("-> Seller", "-> Seler"))
    assert [one["code"] for one in announcement["diagnostics"]] == ["unknown-name"]
    assert end == {"end": None}


def test_parameter_values_are_used() -> None:
    assert [one["code"] for one in _checked(_SHOP, parameters={"most": "10"})["diagnostics"]] == ["value-out-of-range"]
    assert _checked(_SHOP, parameters={"most": ""})["ok"]


def test_a_formula_is_asked_instead_of_the_file() -> None:
    announcement, result, _ = _verified(_SHOP, formula="EF ship")
    assert announcement == {"asked": ["formula"]}
    assert result["result"]["verdict"] == "holds"
    assert _verified(_SHOP, formula="EF (ship")[0]["formula"]


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (MemoryError(), "memory is exhausted"),
        (RecursionError(), "it is nested too deeply for a browser"),
        (KeyError("x"), "this is a bug in cplc: KeyError: 'x'"),
    ],
)
def test_exception_ends_answers_with_reason(monkeypatch: pytest.MonkeyPatch, error: Exception, why: str) -> None:
    def broken(_: checker.Wanted) -> Any:
        raise error

    monkeypatch.setattr(checker.Wanted, "reading", property(broken))
    assert _checked(_SHOP)["end"] == why
    assert _verified(_SHOP) == [{"end": why}]


def _explored(answers: Callable[[str], Iterator[str]], text: str, **chosen: object) -> list[Any]:
    return [json.loads(record) for record in answers(_asked(text, **chosen))]


def test_a_run_is_simulated_by_its_seed() -> None:
    run, end = _explored(checker.simulated, _SHOP, seed="7", steps="1")
    assert run["summary"] == "Seed 7: 1 step; the number of steps is reached."
    assert "Buyer -> Seller : order" in run["text"]
    assert "random run 7" in run["svg"]
    assert end == {"end": None}
    assert _explored(checker.simulated, _SHOP, seed="7", steps="1")[0] == run


def test_drawings_are_listed_and_each_is_drawn() -> None:
    text = _SHOP.replace("  Buyer ->", "  commitment c = C(Seller, Buyer, order, ship)\n  Buyer ->", 1)
    drawing, end = _explored(checker.drawn, text)
    assert drawing["chosen"] == "Messages in order"
    assert end == {"end": None}
    assert drawing["choices"][2:] == ["Who owes whom", "Role Buyer", "Role Seller", "Commitment c", "All states"]
    for title in drawing["choices"]:
        (one, _) = _explored(checker.drawn, text, drawing=title)
        assert one["chosen"] == title
        assert one["svg"].startswith("<svg")
    assert _explored(checker.drawn, _SHOP, drawing="Commitment c")[0]["chosen"] == "Messages in order"


def test_participants_are_analyzed_in_turn() -> None:
    text = (ROOT / "examples" / "ecommerce.cpl").read_text(encoding="utf-8")
    names, *shown, end = _explored(checker.analyzed, text)
    assert len(shown) == len(names["names"]) > 0
    for name, one in zip(names["names"], shown, strict=True):
        assert f"<h2>{name}" in one["shown"]
    assert end == {"end": None}
    assert _explored(checker.analyzed, _SHOP) == [{"names": []}, {"end": None}]


@pytest.mark.parametrize("answers", [checker.simulated, checker.drawn, checker.analyzed])
def test_a_text_with_errors_is_not_explored(answers: Callable[[str], Iterator[str]]) -> None:
    assert _explored(answers, "protocol {") == [{"end": "The text has errors."}]


@pytest.mark.parametrize("path", sorted((ROOT / "playground" / "tour").glob("*.cpl")), ids=lambda path: path.name)
def test_tour_says_what_is_verified(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    records = _verified(text)
    results = [one["result"] for one in records if "result" in one]
    assert {one["standing"] for one in results} == {"as expected"}
    comment = " ".join(line for line in text.splitlines() if line.startswith("//"))
    failing = [one["name"] for one in results if one["verdict"] == "fails"]
    assert bool(failing) == ("fails" in comment or "refutes" in comment or "breaks" in comment)
    assert all(f"`{name}`" in comment for name in failing)
    assert _checked(text)["diagnostics"] == []


def test_each_example_has_a_topic() -> None:
    named = [name for topic in topics() for name in topic["names"]]
    assert sorted(named) == sorted(path.name for path in (ROOT / "examples").glob("*.*pl"))


@pytest.mark.parametrize("example", ["netbill.cpl", "ecommerce.cpl", "marketplace.cpl"])
def test_nothing_is_imported_that_a_browser_lacks(example: str) -> None:
    """In a Python that cannot import any of it, a file is checked and verified all the same."""
    script = f"""
import json, sys
for name in {_LACKING!r}:
    sys.modules[name] = None
sys.path.insert(0, {str(ROOT)!r})
from playground import checker
from playground.build import topics
checker.prepare()
request = sys.stdin.read()
for line in checker.verified(request):
    print(line)
for answers in (checker.simulated, checker.drawn, checker.analyzed):
    assert json.loads(list(answers(request))[-1]) == {{"end": None}}
"""
    text = (ROOT / "examples" / example).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], input=_asked(text), capture_output=True, text=True, check=True, timeout=120
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[-1] == {"end": None}
    given_verdicts = [[one["result"]["name"], one["result"]["verdict"]] for one in records if "result" in one]
    assert given_verdicts == verdicts(f"examples/{example}")
