"""The real VS Code with the packaged extension, driven in a browser: `make editor` installs it all and runs this."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]
_EXTENSION = _ROOT / "vscode-extension"
_SCENARIOS = _EXTENSION / "tests" / "editor" / "scenarios.mjs"
_PICTURES = _ROOT / "build" / "pictures"

pytestmark = pytest.mark.editor

if not _SCENARIOS.is_file():
    pytest.skip("the extension is not part of this copy", allow_module_level=True)

_NAMES = re.findall(r"^  async '([^']+)'", _SCENARIOS.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture(scope="module")
def outcomes() -> dict[str, str | None]:
    """Return why each scenario failed, or None; pictures of what was seen are left in `build/pictures`."""
    if "CPLC_EDITOR" not in os.environ:
        pytest.skip("CPLC_EDITOR names no folder with VS Code")
    home = Path(os.environ["CPLC_EDITOR"]).resolve()
    given = {
        "home": str(home),
        "vsix": str(_EXTENSION / "cplc.vsix"),
        "workspace": str(_SCENARIOS.with_name("workspace")),
        "pictures": str(_PICTURES),
        "command": [str(Path(sys.executable).with_name("cplc")), "lsp"],
    }
    command = [str(home / "bin" / "node"), str(_SCENARIOS.with_name("drive.mjs")), json.dumps(given)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=900, check=False)
    records = [json.loads(line) for line in done.stdout.splitlines()]
    assert done.returncode == 0, done.stderr
    return {one["name"]: one["why"] for one in records}


@pytest.mark.parametrize("name", _NAMES)
def test_in_vs_code(outcomes: dict[str, str | None], name: str) -> None:
    assert outcomes[name] is None
