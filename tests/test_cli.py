"""Every transcript in tests/cli and in the documentation is what the command line says."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from tests.support.literate.blocks import blocks
from tests.support.literate.console import ConsoleTest, check_console, console_tests
from tests.support.literate.page_sequences import play, steps, tales

from cplc.cli.main import commands

_ROOT = Path(__file__).parents[1]
_TALES = tales()
_TOLD = {page for _, pages in _TALES for page in pages}
_FILES = [
    *sorted((_ROOT / "tests" / "cli").glob("**/*.md")),
    *(
        path
        for path in [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("**/*.md"))]
        if path not in _TOLD and any(block.language == "console" for block in blocks(path))
    ),
]


@pytest.mark.quick(cases=50)
@pytest.mark.parametrize(
    "test",
    [pytest.param(test, id=f"{path.stem}::{test.name}") for path in _FILES for test in console_tests(path)],
)
def test_transcript(test: ConsoleTest, tmp_path: Path, update_golden: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLC_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "examples").symlink_to(_ROOT / "examples", target_is_directory=True)
    check_console(test, tmp_path, update=update_golden)


@pytest.mark.parametrize("pages", [pytest.param(pages, id=name) for name, pages in _TALES])
def test_page_sequences(pages: tuple[Path, ...], tmp_path: Path, update_golden: bool) -> None:
    (tmp_path / "examples").symlink_to(_ROOT / "examples", target_is_directory=True)
    play(steps(pages), tmp_path, update=update_golden)


_MANUAL = [_ROOT / "README.md", *sorted((_ROOT / "docs").glob("**/*.md"))]
_INLINE = re.compile(r"`(?:\.venv/bin/)?(cplc [a-z][^`]*)`")
_TYPED = re.compile(r"^(?:\.venv/bin/)?(cplc .*)")


def _mentioned(path: Path) -> Iterator[str]:
    """Yield the commands of a page that are no transcripts: what to type in a shell, and what stands in the text."""
    text = path.read_text(encoding="utf-8")
    for block in blocks(path):
        if block.language in ("sh", "yaml"):
            yield from (typed[1] for line in block.text.splitlines() if (typed := _TYPED.match(line.strip(" -"))))
    yield from _INLINE.findall(re.sub(r"^(`{3,}).*?^\1", "", text, flags=re.MULTILINE | re.DOTALL))


@pytest.mark.parametrize("path", _MANUAL, ids=lambda path: path.relative_to(_ROOT).as_posix())
def test_commands_that_are_not_run_have_only_options_that_exist(path: Path) -> None:
    for line in _mentioned(path):
        words = shlex.split(re.split(r" [|>&]|…", line)[0], comments=True)[1:]
        command: click.Command = commands
        context = click.Context(command)
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            subcommand = command.get_command(context, words[0])
            assert subcommand, f"{path.name}: there is no such command: {line}"
            command, words = subcommand, words[1:]
        options = {option for one in command.get_params(context) for option in (*one.opts, *one.secondary_opts)}
        used = {word.partition("=")[0] for word in words if re.match(r"--?[a-zA-Z]", word)}
        assert used <= {*options, "--help", "-h"}, f"{path.name}: {line}"
