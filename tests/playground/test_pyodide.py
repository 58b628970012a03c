"""The checker of the playground in Pyodide, without a browser: what Node alone can judge, with every change."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from shutil import which

import pytest
from tests.playground.verdicts import EXAMPLES, ROOT, has_numpy, verdicts

_SCRIPT = ROOT / "playground" / "tests" / "verdicts.mjs"
_NO_NUMPY = "participants are analysed with numpy, which this page was built without"

pytestmark = pytest.mark.playground

if not _SCRIPT.is_file():
    pytest.skip("the playground is not part of this copy", allow_module_level=True)


@pytest.fixture(scope="module")
def folder() -> Path:
    if "CPLC_PLAYGROUND" not in os.environ:
        pytest.skip("CPLC_PLAYGROUND names no folder with the playground")
    if which("node") is None:
        pytest.skip("there is no node")
    return Path(os.environ["CPLC_PLAYGROUND"]).resolve()


@pytest.fixture(scope="module")
def told(folder: Path) -> dict[str, list[list[str]]]:
    command = ["node", str(_SCRIPT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    found: dict[str, list[list[str]]] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("example", EXAMPLES)
def test_verdicts_are_those_of_the_command_line(folder: Path, told: dict[str, list[list[str]]], example: str) -> None:
    found = [[name, verdict] for name, verdict, _ in told[example]]
    assert found == verdicts(f"examples/{example}", has_numpy=has_numpy(folder))


def test_what_is_unknown_lacks_numpy(folder: Path, told: dict[str, list[list[str]]]) -> None:
    reasons = {reason for rows in told.values() for _, verdict, reason in rows if verdict == "unknown"}
    assert reasons == (set() if has_numpy(folder) else {_NO_NUMPY})
