"""Answers of the playground's checker, from the same module in this Python."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.support.command_line_verdicts import ROOT, verdicts

if not (ROOT / "playground" / "checker.py").is_file():
    pytest.skip("the playground is not part of this copy", allow_module_level=True)

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


@pytest.mark.parametrize("example", ["netbill.cpl", "ecommerce.cpl", "marketplace.cpl"])
def test_nothing_is_imported_that_a_browser_lacks(example: str) -> None:
    """In a Python that cannot import any of it, a file is checked and verified all the same."""
    script = f"""
import json, sys
for name in {_LACKING!r}:
    sys.modules[name] = None
sys.path.insert(0, {str(ROOT)!r})
from playground import checker
checker.prepare()
for line in checker.verified(sys.stdin.read()):
    print(line)
"""
    text = (ROOT / "examples" / example).read_text(encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-c", script], input=_asked(text), capture_output=True, text=True, check=True, timeout=120
    )
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert records[-1] == {"end": None}
    given_verdicts = [[one["result"]["name"], one["result"]["verdict"]] for one in records if "result" in one]
    assert given_verdicts == verdicts(f"examples/{example}")
