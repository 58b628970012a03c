"""Every protocol of the standard library and of the examples means what its properties say."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cplc.runtime.resources import shipped

_EXAMPLES = Path(__file__).parent.parent / "examples"
_TOUR = _EXAMPLES.parent / "docs" / "examples.md"


def _protocols() -> Iterator[object]:
    for path in sorted([*Path(str(shipped("stdlib"))).glob("*.cpl"), *_EXAMPLES.glob("*.cpl")]):
        for name in re.findall(r"^protocol (\w+)", path.read_text("utf-8"), re.MULTILINE):
            yield pytest.param(path, name, id=f"{path.parent.name}-{path.stem}-{name}")


@pytest.mark.parametrize(("path", "name"), list(_protocols()))
def test_answers_are_as_expected(path: Path, name: str) -> None:
    command = [sys.executable, "-m", "cplc", "verify", str(path), "--protocol", name, "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    verdicts = {result["verdict"] for result in json.loads(ran.stdout)["results"]}
    assert verdicts <= {"holds", "fails"}
    assert len(verdicts) == 2, "a protocol shows something that holds and something that fails"


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.ispl")), ids=lambda path: path.stem)
def test_models_in_ispl_hold(path: Path) -> None:
    command = [sys.executable, "-m", "cplc", "verify", str(path), "--strict", "--format", "json"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert {result["verdict"] for result in json.loads(ran.stdout)["results"]} == {"holds"}


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
    command = [sys.executable, "-m", "cplc", "check", str(shipped("stdlib")), str(_EXAMPLES), "--strict"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
