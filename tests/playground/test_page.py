"""The playground as it was built, used in a headless Chromium: `make playground-test` builds it and runs this."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

_ROOT = Path(__file__).parents[2]
_SCENARIOS = _ROOT / "playground" / "tests" / "scenarios.mjs"
_PICTURES = _ROOT / "build" / "pictures"

pytestmark = pytest.mark.playground

if not _SCENARIOS.is_file():
    pytest.skip("the playground is not part of this copy", allow_module_level=True)

_NAMES = re.findall(r"^  async '([^']+)'", _SCENARIOS.read_text(encoding="utf-8"), re.MULTILINE)


@dataclass(frozen=True)
class _Outcome:
    why: str | None
    told: Any


@pytest.fixture(scope="module")
def folder() -> Path:
    if "CPLC_PLAYGROUND" not in os.environ:
        pytest.skip("CPLC_PLAYGROUND names no folder with the playground")
    return Path(os.environ["CPLC_PLAYGROUND"]).resolve()


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, _Outcome]:
    """Return what became of each scenario; pictures of what was seen are left in `build/pictures`."""
    given = {"folder": str(folder), "pictures": str(_PICTURES)}
    command = ["node", str(_SCENARIOS.with_name("drive.mjs")), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    said = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    return {one["name"]: _Outcome(one["why"], one["told"]) for one in said}


@pytest.mark.parametrize("name", _NAMES)
def test_in_a_browser(outcomes: dict[str, _Outcome], name: str) -> None:
    assert outcomes[name].why is None


def _verdicts(*arguments: str) -> list[tuple[str, str, str]]:
    """Return the name, the kind and the verdict of each result of the command line."""
    command = [sys.executable, "-m", "cplc", "verify", "--no-cache", "--format", "json", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, cwd=_ROOT)
    return [(one["name"], one["kind"], one["verdict"]) for one in json.loads(done.stdout)["results"]]


_EXAMPLES = sorted(path.name for path in (_ROOT / "examples").glob("*.*pl"))


@pytest.mark.parametrize("example", _EXAMPLES)
def test_verdicts_are_those_of_the_command_line(folder: Path, outcomes: dict[str, _Outcome], example: str) -> None:
    has_numpy = bool(json.loads((folder / "manifest.json").read_text(encoding="utf-8"))["wheels"])
    expected = [
        [name, "unknown" if kind == "analysis" and not has_numpy else verdict]
        for name, kind, verdict in _verdicts(f"examples/{example}")
    ]
    assert expected
    assert outcomes["every example has its verdicts"].told[example] == expected


def test_parameters_give_the_verdicts_of_the_command_line(outcomes: dict[str, _Outcome]) -> None:
    told = outcomes["parameters and channels count"].told
    assert told == [[name, verdict] for name, _, verdict in _verdicts("examples/netbill.cpl", "-D", "customers=2")]
    told = outcomes["a link carries the protocol"].told
    arguments = ("examples/contract_net.cpl", "-D", "participants=3")
    assert told == [[name, verdict] for name, _, verdict in _verdicts(*arguments)]
