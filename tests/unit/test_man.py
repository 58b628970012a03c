"""The pages for `man` have the help of every command, and `groff` reports no errors."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest

from cplc.cli.main import commands, run

_CONTEXT = click.Context(commands)
_NAMES = commands.list_commands(_CONTEXT)


@pytest.mark.parametrize("name", [None, *_NAMES])
def test_a_page_has_every_option_and_example(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", *([name] if name else [])]) == 0
    page = capsys.readouterr().out
    page_text = page.replace("\\-", "-").replace("\\(aq", "'").replace("\\(ga", "`").replace("\\(ti", "~")
    page_text = page_text.replace("\\(ha", "^").replace("\\e", "\\")
    command = commands if name is None else commands.get_command(_CONTEXT, name)
    assert command is not None
    for option in (parameter for parameter in command.params if isinstance(parameter, click.Option)):
        if not option.hidden:
            assert option.opts[0] in page_text
    for example in re.findall(r"^  (cplc .*)$", command.epilog or "", re.MULTILINE):
        assert example in page_text
    for other in _NAMES:
        assert other == name or f"cplc-{other}" in page_text


@pytest.mark.skipif(shutil.which("groff") is None, reason="there is no groff")
@pytest.mark.parametrize("name", [None, *_NAMES])
def test_a_page_can_be_shown(name: str | None, capsys: pytest.CaptureFixture[str]) -> None:
    run(["man", *([name] if name else [])])
    page = capsys.readouterr().out
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-ww", "-k"], input=page, capture_output=True, encoding="utf-8", timeout=60
    )
    assert (shown.returncode, shown.stderr) == (0, "")
    text = re.sub(r".\x08|\x1b\[[\d;]*m", "", shown.stdout)
    for heading in ("NAME", "SYNOPSIS", "DESCRIPTION", "OPTIONS", "EXIT STATUS", "EXAMPLES", "SEE ALSO"):
        assert re.search(rf"^{heading}$", text, re.MULTILINE) or (heading == "EXIT STATUS" and name == "lsp"), heading


def test_pages_are_written(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["man", "--to", str(tmp_path / "man1")]) == 0
    assert {path.stem for path in (tmp_path / "man1").iterdir()} == {"cplc", *(f"cplc-{name}" for name in _NAMES)}
    assert run(["man", "nothing"]) == 2
    assert run(["man", "check", "--to", str(tmp_path)]) == 2
    assert "there is no command `nothing`" in capsys.readouterr().err
