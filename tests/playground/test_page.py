"""The playground as it was built, used in a headless Chromium: `make playground-test` builds it and runs this."""

from __future__ import annotations

import json
import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from tests.support.command_line_verdicts import EXAMPLES, ROOT, verdicts

_SCENARIOS = ROOT / "playground" / "tests" / "scenarios.mjs"
_PICTURES = ROOT / "build" / "pictures"
_CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")

pytestmark = pytest.mark.playground

if not _SCENARIOS.is_file():
    pytest.skip("the playground is not part of this copy", allow_module_level=True)

_NAMES = re.findall(r"^  async '([^']+)'", _SCENARIOS.read_text(encoding="utf-8"), re.MULTILINE)


@dataclass(frozen=True)
class _Outcome:
    why: str | None
    reported: Any


@pytest.fixture(scope="module")
def folder() -> Path:
    if "CPLC_PLAYGROUND" not in os.environ:
        pytest.skip("CPLC_PLAYGROUND names no folder with the playground")
    if which("node") is None or which(_CHROMIUM) is None:
        pytest.skip("there is no node or no Chromium")
    return Path(os.environ["CPLC_PLAYGROUND"]).resolve()


@pytest.fixture(scope="module")
def outcomes(folder: Path) -> dict[str, _Outcome]:
    """Return what became of each scenario; pictures of what was seen are left in `build/pictures`."""
    given = {"folder": str(folder), "pictures": str(_PICTURES)}
    command = ["node", str(_SCENARIOS.with_name("drive.mjs")), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    return {one["name"]: _Outcome(one["why"], one["told"]) for one in records}


@pytest.mark.parametrize("name", _NAMES)
def test_in_a_browser(outcomes: dict[str, _Outcome], name: str) -> None:
    assert outcomes[name].why is None


@pytest.mark.parametrize("example", EXAMPLES)
def test_verdicts_are_those_of_the_command_line(outcomes: dict[str, _Outcome], example: str) -> None:
    page_verdicts = outcomes["every example has its verdicts"].reported[example]
    assert page_verdicts == verdicts(f"examples/{example}")


@pytest.mark.parametrize(
    ("scenario", "arguments"),
    [
        ("parameters and channels count", ("examples/netbill.cpl", "-D", "customers=2", "--channels", "sync")),
        ("a link carries the protocol", ("examples/contract_net.cpl", "-D", "participants=3")),
    ],
)
def test_selected_options_are_used(outcomes: dict[str, _Outcome], scenario: str, arguments: tuple[str, ...]) -> None:
    assert outcomes[scenario].reported == verdicts(*arguments)
