"""Agreement of the extension for VS Code with the program."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from cplc import __version__
from cplc.server.parameters import ASK, LIST, SET
from cplc.server.verdicts import ASKED, CANCEL, RESULTS, SHOW, VERIFY
from cplc.source import Source
from cplc.syntax.parser import parse

_FOLDER = Path(__file__).parents[2] / "vscode-extension"

if not _FOLDER.is_dir():
    pytest.skip("the extension is not part of this copy", allow_module_level=True)


def _read(name: str) -> Any:
    return json.loads((_FOLDER / name).read_text(encoding="utf-8"))


def _filled(body: str) -> str:
    """Return a snippet with its places filled as the editor does."""
    values = dict(re.findall(r"\$\{(\d+):([^{}]*)\}", body))
    return re.sub(r"\$\{?(\d+)(?::[^{}]*\})?", lambda place: values.get(place[1], ""), body)


def test_every_snippet_can_be_read() -> None:
    for name, snippet in _read("snippets/cpl.json").items():
        text = _filled("\n".join(snippet["body"]))
        inside = text if text.startswith("protocol") else f"protocol P {{\n{text}\n}}"
        file, problems = parse(Source("snippet.cpl", inside))
        assert problems == (), name
        assert file.protocols, name


def test_the_client_uses_what_the_server_has() -> None:
    client = "".join(path.read_text(encoding="utf-8") for path in sorted((_FOLDER / "src").glob("*.ts")))
    of_server = {ASKED, CANCEL, LIST, RESULTS, SET, SHOW, VERIFY}
    of_client = {ASK, *(command["command"] for command in _read("package.json")["contributes"]["commands"])}
    assert set(re.findall(r"'(cplc\.[a-zA-Z]+)'", client)) - {"cplc.run"} == of_server | of_client
    oldest = re.search(r"OLDEST = \[(\d+), (\d+), (\d+)\]", client)
    assert oldest is not None
    assert tuple(map(int, oldest.groups())) <= tuple(int(part) for part in __version__.split(".")[:3])


def test_nothing_is_tied_to_a_registry() -> None:
    assert '"resolved"' not in (_FOLDER / "package-lock.json").read_text(encoding="utf-8")


def test_clients_may_say_that_they_use_standard_input() -> None:
    done = subprocess.run([sys.executable, "-m", "cplc", "lsp", "--stdio"], input=b"", capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
