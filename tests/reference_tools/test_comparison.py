"""Claims of `docs/comparison.md` about other tools are checked with installed ones."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.reference_tools.mcmas import MCMAS, MCMAS_PLUS
from tests.reference_tools.nusmv import NUSMV, NUSMV_ARCTL
from tests.support.literate.blocks import blocks

_PAGE = Path(__file__).parents[2] / "docs" / "comparison.md"
_ROWS = re.findall(
    r"^\| ([\w+-]+) [\d.]+ \| `([^`]+)` \| (answers|refuses|crashes)", _PAGE.read_text("utf-8"), re.MULTILINE
)
_MODELS = {block.options["file"]: block.text for block in blocks(_PAGE) if "file" in block.options}
_PROGRAMS = {
    "MCMAS": (MCMAS, "tiny.ispl"),
    "MCMAS+": (MCMAS_PLUS, "tiny.ispl"),
    "NuSMV": (NUSMV, "tiny.smv"),
    "NuSMV-ARCTL": (NUSMV_ARCTL, "tiny.smv"),
}


def _by_program(tool: str, formula: str, directory: Path) -> str:
    """Return the reaction of a program to a model with one formula."""
    program, name = _PROGRAMS[tool]
    if not program:
        pytest.skip(f"{tool} is not installed, or no variable says where")
    text = _MODELS[name].replace("FORMULA", formula)
    if tool == "NuSMV":
        text = text.replace(":= 0", ":= FALSE").replace(", 1}", ", TRUE}")
    (directory / name).write_text(text, encoding="ascii")
    done = subprocess.run(
        [program, name],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
        stdin=subprocess.DEVNULL,
    )
    output = done.stdout + done.stderr
    if done.returncode < 0:
        return "crashes"
    if re.search(r"is (TRUE|FALSE) in the model|-- specification .* is (true|false)", output, re.DOTALL):
        assert done.returncode == 0
        return "answers"
    assert re.search(r"syntax error|not supported", output), output[-1000:]
    return "refuses"


def _by_storm(formula: str) -> str:
    stormpy = pytest.importorskip("stormpy")
    try:
        return "answers" if len(stormpy.parse_properties(formula)) == 1 else "refuses"
    except RuntimeError:
        return "refuses"


@pytest.mark.parametrize(("tool", "formula", "does"), _ROWS, ids=[f"{tool}-{formula}" for tool, formula, _ in _ROWS])
def test_tool_behaves_as_documented(tool: str, formula: str, does: str, tmp_path: Path) -> None:
    assert (_by_storm(formula) if tool == "Storm" else _by_program(tool, formula, tmp_path)) == does


@pytest.mark.skipif(not MCMAS_PLUS, reason="CPLC_MCMAS_PLUS is not set")
def test_documented_false_negative_of_commitment(tmp_path: Path) -> None:
    """The true verdict of `cplc` is a transcript of that page."""
    (model,) = (one.text for one in blocks(_PAGE.with_name("ispl.md")) if one.options.get("file") == "projections.ispl")
    (tmp_path / "projections.ispl").write_text(model, encoding="ascii")
    command = [MCMAS_PLUS, "projections.ispl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert re.findall(r"is (TRUE|FALSE) in the model", done.stdout) == ["FALSE"]


def test_each_tool_accepts_some_formula() -> None:
    """Otherwise a program that does not run at all would pass."""
    table = _PAGE.read_text(encoding="utf-8").partition("| Tool | Input |")[2]
    assert len(_ROWS) == len(table.strip().split("\n")) - 2 > 10
    assert {tool for tool, _, does in _ROWS if does == "answers"} == {tool for tool, _, _ in _ROWS}
    assert {*_PROGRAMS, "Storm"} == {tool for tool, _, _ in _ROWS}
