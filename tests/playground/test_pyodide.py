"""The checker of the playground in Pyodide, without a browser: what Node alone can judge, with every change."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from shutil import which

import pytest
from tests.support.command_line_verdicts import EXAMPLES, ROOT, verdicts

_SCRIPT = ROOT / "playground" / "tests" / "verdicts.mjs"

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
def page_verdicts(folder: Path) -> dict[str, list[list[str]]]:
    command = ["node", str(_SCRIPT), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=True)
    verdicts: dict[str, list[list[str]]] = json.loads(done.stdout)
    return verdicts


@pytest.mark.parametrize("example", EXAMPLES)
def test_verdicts_are_those_of_the_command_line(page_verdicts: dict[str, list[list[str]]], example: str) -> None:
    assert page_verdicts[example] == verdicts(f"examples/{example}")
