"""What `docs/comparison.md` says that other tools do, and cannot do, is tried with those that are installed."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from tests.literate.blocks import blocks
from tests.reference_tools.mcmas import MCMAS, MCMAS_PLUS
from tests.reference_tools.nusmv import NUSMV, NUSMV_ARCTL

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


def _by_program(tool: str, asked: str, directory: Path) -> str:
    """Return what a program does with a model that asks one formula."""
    program, name = _PROGRAMS[tool]
    if not program:
        pytest.skip(f"{tool} is not installed, or no variable says where")
    text = _MODELS[name].replace("FORMULA", asked)
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
    said = done.stdout + done.stderr
    if done.returncode < 0:
        return "crashes"
    if re.search(r"is (TRUE|FALSE) in the model|-- specification .* is (true|false)", said, re.DOTALL):
        assert done.returncode == 0
        return "answers"
    assert re.search(r"syntax error|not supported", said), said[-1000:]
    return "refuses"


def _by_storm(asked: str) -> str:
    stormpy = pytest.importorskip("stormpy")
    try:
        return "answers" if len(stormpy.parse_properties(asked)) == 1 else "refuses"
    except RuntimeError:
        return "refuses"


@pytest.mark.parametrize(("tool", "asked", "does"), _ROWS, ids=[f"{tool}-{asked}" for tool, asked, _ in _ROWS])
def test_the_tool_does_what_the_page_says(tool: str, asked: str, does: str, tmp_path: Path) -> None:
    assert (_by_storm(asked) if tool == "Storm" else _by_program(tool, asked, tmp_path)) == does


@pytest.mark.skipif(not MCMAS_PLUS, reason="CPLC_MCMAS_PLUS is not set")
def test_commitment_is_false_too_often_where_the_page_says_so(tmp_path: Path) -> None:
    """That `cplc` finds it true is a transcript of that page."""
    (model,) = (one.text for one in blocks(_PAGE.with_name("ispl.md")) if one.options.get("file") == "projections.ispl")
    (tmp_path / "projections.ispl").write_text(model, encoding="ascii")
    command = [MCMAS_PLUS, "projections.ispl"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert re.findall(r"is (TRUE|FALSE) in the model", done.stdout) == ["FALSE"]


def test_every_tool_that_cannot_something_can_something_else() -> None:
    """Else a program that does not run at all would do what the page says."""
    table = _PAGE.read_text(encoding="utf-8").partition("| Tool | Asked |")[2]
    assert len(_ROWS) == len(table.strip().split("\n")) - 2 > 10
    assert {tool for tool, _, does in _ROWS if does == "answers"} == {tool for tool, _, _ in _ROWS}
    assert {*_PROGRAMS, "Storm"} == {tool for tool, _, _ in _ROWS}
