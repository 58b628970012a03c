"""Transcripts in Markdown and their execution (``tests/cli``, and every page of the documentation).

A ```` ```console ```` block holds
``$ cplc …`` lines, each with its output and, unless the exit code is 0, a last line ``[exit 1]``. A line ``...``
stands for any lines, and figures in seconds are not compared. ```` ```console process ```` runs them in a process
of their own. Standard output may go to a file, ``> FILE``. Pages that are told in order are played by
``tests/support/literate/page_sequences.py``.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.support.in_process import run_cplc, without_width
from tests.support.literate.blocks import BadTest, Block, Names, blocks

_SECONDS = re.compile(r'\d+(\.\d+)? ?(ms|s)\b|(?<="seconds": )\d[\d.e+-]*')


@dataclass(frozen=True)
class Command:
    """One line of a transcript: what is typed, and what is expected to come."""

    line: str
    expected: tuple[str, ...]
    exit_code: int

    @property
    def arguments(self) -> list[str]:
        return self._parts[1]

    @property
    def environment(self) -> dict[str, str]:
        return self._parts[0]

    @property
    def input(self) -> str | None:
        """The file that standard input comes from."""
        return self._parts[2]

    @property
    def output(self) -> str | None:
        """The file that standard output goes to."""
        return self._parts[3]

    @property
    def _parts(self) -> tuple[dict[str, str], list[str], str | None, str | None]:
        words = shlex.split(self.line)
        environment = {}
        while words and re.fullmatch(r"[A-Z_]+=.*", words[0]):
            name, _, value = words.pop(0).partition("=")
            environment[name] = value
        source = target = None
        if len(words) > 2 and words[-2] == ">":
            target = words[-1]
            words = words[:-2]
        if len(words) > 2 and words[-2] == "<":
            source = words[-1]
            words = words[:-2]
        if not words or words[0] != "cplc" or {"|", ">", "2>", "&&", ";"} & set(words):
            raise BadTest(f"only `cplc` is run, with `< FILE` and `> FILE` at most: {self.line}")
        return environment, words[1:], source, target


@dataclass(frozen=True)
class ConsoleTest:
    name: str
    block: Block
    files: Mapping[str, str]
    commands: tuple[Command, ...]


def console_tests(path: Path) -> list[ConsoleTest]:
    tests: list[ConsoleTest] = []
    files: dict[str, str] = {}
    names = Names()
    for block in blocks(path):
        if "file" in block.options:
            files[block.options["file"]] = block.text
        elif block.language == "console":
            if block.flags - {"process"}:
                raise block.refuse(f"what does {sorted(block.flags)} mean?")
            tests.append(ConsoleTest(names.next(block.heading), block, dict(files), commands(block)))
    if not tests:
        raise BadTest(f"{path}: there is no transcript in this file")
    return tests


def commands(block: Block) -> tuple[Command, ...]:
    """Return what a transcript types and expects."""
    collected: list[Command] = []
    lines = block.text.split("\n")[:-1]
    starts = [number for number, line in enumerate(lines) if line.startswith("$ ")]
    if not starts or starts[0] != 0:
        raise block.refuse("a transcript begins with `$ `")
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        expected = lines[start + 1 : end]
        code = 0
        if expected and (ended := re.fullmatch(r"\[exit (\d+)\]", expected[-1])):
            code = int(ended[1])
            expected = expected[:-1]
        if any(line.startswith("[exit") for line in expected):
            raise block.refuse("the exit code stands in the last line of a command", start)
        collected.append(Command(lines[start][2:], tuple(expected), code))
        _ = collected[-1].arguments
    return tuple(collected)


def check_console(test: ConsoleTest, directory: Path, *, update: bool) -> None:
    """Run the commands in the directory; fail unless they say what the transcript says, or rewrite it."""
    for name, text in test.files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    runs = _in_process if "process" not in test.block.flags else _as_process
    actual = [(command, *runs(command, directory)) for command in test.commands]
    wrong = [one for one in actual if not _agrees(*one)]
    if wrong and update:
        _rewrite(test.block, actual)
    elif wrong:
        command, output, code = wrong[0]
        raise AssertionError(
            f"{test.block.path}:{test.block.first_line}: $ {command.line}\n"
            f"--- expected\n{_transcript(command.expected, command.exit_code)}\n"
            f"--- came\n{_transcript(tuple(_lines(output)), code)}"
        )


def _in_process(command: Command, directory: Path) -> tuple[str, int]:
    ended = run_cplc(
        *command.arguments,
        cwd=directory,
        given=(directory / command.input).read_bytes() if command.input else b"",
        environment=command.environment,
        merged=command.output is None,
    )
    if command.output:
        (directory / command.output).write_text(ended.output, encoding="utf-8", newline="")
        return ended.errors, ended.code
    return ended.output, ended.code


def _as_process(command: Command, directory: Path) -> tuple[str, int]:
    source = str(Path(__file__).parents[3] / "src")
    if command.output:
        raise BadTest(f"what a process of its own says is not written to a file: {command.line}")
    done = subprocess.run(
        [sys.executable, "-m", "cplc", *command.arguments],
        cwd=directory,
        env={**without_width(os.environ), "PYTHONPATH": source, **command.environment},
        input=(directory / command.input).read_bytes() if command.input else b"",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
        check=False,
    )
    return done.stdout.decode("utf-8"), done.returncode


def _lines(output: str) -> list[str]:
    return [line.rstrip() for line in output.rstrip("\n").split("\n")] if output.strip() else []


def _transcript(lines: tuple[str, ...], code: int) -> str:
    return "\n".join([*lines, *([f"[exit {code}]"] if code else [])])


def _agrees(command: Command, output: str, code: int) -> bool:
    if code != command.exit_code:
        return False
    pattern = "".join(
        r"(?:.*\n)*?" if line == "..." else f"{re.escape(_normal(line.rstrip()))}\n" for line in command.expected
    )
    return bool(re.fullmatch(pattern, "".join(f"{_normal(line)}\n" for line in _lines(output))))


def _normal(line: str) -> str:
    return _SECONDS.sub("0 s", line)


def _rewrite(block: Block, actual: list[tuple[Command, str, int]]) -> None:
    """Put what came in place of what was expected; what agrees stays as it is written."""
    text = block.path.read_text(encoding="utf-8")
    parts = []
    for command, output, code in actual:
        lines = command.expected if _agrees(command, output, code) else tuple(_lines(output))
        parts.append("\n".join(filter(None, [f"$ {command.line}", _transcript(lines, code)])) + "\n")
    # Blocks are rewritten in their order, so of those that are the same it is the first that is left.
    before, after = (f"```{' '.join(block.words)}\n{content}```" for content in (block.text, "".join(parts)))
    assert before in text, "the file has changed meanwhile"
    block.path.write_text(text.replace(before, after, 1), encoding="utf-8")
