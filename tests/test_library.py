"""Every protocol of the standard library and of the examples means what its properties say."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.support.in_process import run_cplc

from cplc.runtime.file_access import shipped

_ROOT = Path(__file__).parents[1]
_EXAMPLES = _ROOT / "examples"
_TOUR = _ROOT / "docs" / "examples.md"


def _protocols() -> Iterator[object]:
    for path in sorted([*Path(str(shipped("stdlib"))).rglob("*.cpl"), *_EXAMPLES.glob("*.cpl")]):
        for name in re.findall(r"^protocol (\w+)", path.read_text("utf-8"), re.MULTILINE):
            yield pytest.param(path, name, id=f"{path.parent.name}-{path.stem}-{name}")


@pytest.mark.parametrize(("path", "name"), list(_protocols()))
def test_answers_are_as_expected(path: Path, name: str) -> None:
    ran = run_cplc("verify", str(path), "--protocol", name, "--format", "json", cwd=_ROOT)
    assert ran.code == 0, ran.everything
    verdicts = {result["verdict"] for result in json.loads(ran.output)["results"]}
    assert verdicts <= {"holds", "fails"}
    assert len(verdicts) == 2, "a protocol shows something that holds and something that fails"


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.ispl")), ids=lambda path: path.stem)
def test_models_in_ispl_hold(path: Path) -> None:
    ran = run_cplc("verify", str(path), "--strict", "--format", "json", cwd=_ROOT)
    assert ran.code == 0, ran.everything
    assert {result["verdict"] for result in json.loads(ran.output)["results"]} == {"holds"}


def test_examples_page_lists_every_example_and_failing_property() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \|.*\|.*\| (.*) \|$", _TOUR.read_text("utf-8"), re.MULTILINE)
    assert sorted(name for name, _ in rows) == sorted(path.name for path in _EXAMPLES.glob("*.*pl"))
    for name, failures in rows:
        text = (_EXAMPLES / name).read_text("utf-8")
        for property_name in re.findall(r"`(\w+)`(?=[,:])", failures):
            as_property = rf"property {property_name}\b(?:(?!\n *(?:property|check)\b).)*expect fails"
            as_check = rf"check .*\b{property_name} expect fails"
            assert re.search(f"{as_property}|{as_check}", text, re.DOTALL), f"{name}: {property_name}"


def test_library_and_examples_have_no_warnings() -> None:
    ran = run_cplc("check", str(shipped("stdlib")), str(_EXAMPLES), "--strict", cwd=_ROOT)
    assert ran.code == 0, ran.everything


def test_names_of_the_library_are_files_of_the_command_line(tmp_path: Path) -> None:
    by_name = run_cplc("verify", "std.agents.a2a", "--protocol", "UnsettledTask", "--format", "json", cwd=tmp_path)
    path = shipped("stdlib") / "agents" / "a2a.cpl"
    by_path = run_cplc("verify", str(path), "--protocol", "UnsettledTask", "--format", "json", cwd=tmp_path)
    names = [[result["name"] for result in json.loads(ran.output)["results"]] for ran in (by_name, by_path)]
    assert names[0] == names[1]
    (tmp_path / "std.requests").write_text("cpl 2\nprotocol Own { role A role B A -> B : m }\n", "utf-8")
    assert run_cplc("check", "std.requests", cwd=tmp_path).output == "std.requests: no problems\n"
    missing = run_cplc("check", "std.agents.nothing", cwd=tmp_path)
    assert missing.code == 2
    assert "cannot read `std.agents.nothing`" in missing.everything
