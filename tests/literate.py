"""Reads tests written in Markdown: models that announce their own diagnostics, and console transcripts.

Language tests (``tests/language``): every ```` ```cpl ```` block is one test, named after the heading above it.
``// error: [code] "text"`` or ``// warning: …`` at the end of a line announces one diagnostic that begins on that
line; the text, if it is given, is what the diagnostic underlines (a ``…`` at its end stands for the rest). What is
not announced must not come. In a ```` ```cpl verify ```` block every property and check is verified by every engine
and must come out as it expects; ``// vacuous`` announces that one holds vacuously. Further words of the fence:
``channels=sync``, ``strategies=uniform``, ``copies=9`` for a file that repeats the block, or ``name=value`` for a
parameter of the protocol. An ```` ```ispl ```` block is a model in that language, and announces with ``-- error: …``.
With ``verify`` every engine answers its formulas: they hold but where ``-- fails`` or ``-- vacuous`` stands, and it has
no deadlocks unless the fence says ``deadlocks``.

Console tests (``tests/cli``, and every transcript of the documentation): a ```` ```console ```` block holds
``$ cplc …`` lines, each with its output and, unless the exit code is 0, a last line ``[exit 1]``. A line ``...``
stands for any lines, and figures in seconds are not compared. ```` ```console process ```` runs them in a process
of their own. Standard output may go to a file, ``> FILE``. Pages that are told in order are played by
``tests/sequences.py``.

In both, a block with ``file=NAME`` puts a file beside the tests that follow it. A mistyped assertion, and a file
without tests, is an error of the test itself.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from unittest import mock

if TYPE_CHECKING:
    from cplc.diagnostics.core import Diagnostic
    from cplc.pipeline import Compilation, IsplReading
    from cplc.source import Source

Severity = Literal["error", "warning"]
Engine = Literal["symbolic", "explicit", "onthefly"]
ENGINES: tuple[Engine, ...] = ("symbolic", "explicit")
"""Those that answer every question; the third is asked what it can answer."""

_THIRD: tuple[Engine, ...] = ("onthefly",)

_FENCE = re.compile(r"^(`{3,})\s*(.*)$")
_HEADING = re.compile(r"^#{1,6}\s+(.*)$")
_ASSERTION = re.compile(
    r'(?://|--) (error|warning): \[([a-z0-9-]+)\](?: "((?:[^"\\]|\\.)*)")?\s*|// (vacuous)\s*$|-- (vacuous|fails)\s*$'
)
_LIKE_ASSERTION = re.compile(r"(?://|--)\s*(err|warn|vacuous)|--\s*fails", re.IGNORECASE)
_OPTIONS = ("channels", "strategies", "copies", "file")
_SECONDS = re.compile(r'\d+(\.\d+)? ?(ms|s)\b|(?<="seconds": )\d[\d.e+-]*')


class BadTest(Exception):
    """A test that says nothing, or does not say what it means."""


@dataclass(frozen=True)
class Block:
    """A fenced block: the words after its fence, its text, and the lines of the file that the text takes."""

    path: Path
    heading: str
    words: tuple[str, ...]
    text: str
    first_line: int

    @property
    def language(self) -> str:
        return self.words[0] if self.words else ""

    @property
    def options(self) -> dict[str, str]:
        return dict(word.split("=", 1) for word in self.words[1:] if "=" in word)

    @property
    def parameters(self) -> dict[str, str]:
        """What the fence says of the protocol's parameters."""
        return {name: value for name, value in self.options.items() if name not in _OPTIONS}

    @property
    def model(self) -> str:
        """The text of the file that the block stands for."""
        return self.text * int(self.options.get("copies", "1"))

    @property
    def flags(self) -> frozenset[str]:
        return frozenset(word for word in self.words[1:] if "=" not in word)

    def refuse(self, reason: str, line: int = 0) -> BadTest:
        return BadTest(f"{self.path}:{self.first_line + line}: {reason}")


@dataclass(frozen=True)
class Announced:
    """A diagnostic that the line of a model announces; lines count from one within the model."""

    line: int
    severity: Severity
    code: str
    text: str | None


@dataclass(frozen=True)
class LanguageTest:
    name: str
    block: Block
    files: Mapping[str, str]
    announced: tuple[Announced, ...]
    answers: Mapping[int, str]
    """What comes of the formulas or properties on some lines, where that is not what it should be."""

    @property
    def verifies(self) -> bool:
        return "verify" in self.block.flags


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


@dataclass
class _Names:
    """Gives each test of a file a name of its own."""

    seen: dict[str, int] = field(default_factory=dict)

    def next(self, heading: str) -> str:
        name = re.sub(r"\W+", "-", heading.lower()).strip("-") or "untitled"
        self.seen[name] = count = self.seen.get(name, 0) + 1
        return name if count == 1 else f"{name}-{count}"


def blocks(path: Path) -> Iterator[Block]:
    """Yield the fenced blocks of a Markdown file."""
    heading, fence, words, first = path.stem, "", (), 0
    lines: list[str] = []
    for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
        if fence:
            if line.rstrip() == fence:
                yield Block(path, heading, words, "".join(f"{text}\n" for text in lines), first)
                fence = ""
            else:
                lines.append(line)
        elif found := _FENCE.match(line):
            fence, words, first, lines = found[1], tuple(found[2].split()), number + 1, []
        elif found := _HEADING.match(line):
            heading = found[1].strip()
    if fence:
        raise BadTest(f"{path}:{first - 1}: this block has no end")


def language_tests(path: Path) -> list[LanguageTest]:
    tests: list[LanguageTest] = []
    files: dict[str, str] = {}
    names = _Names()
    for block in blocks(path):
        if "file" in block.options:
            files[block.options["file"]] = block.text
        elif block.language in ("cpl", "ispl"):
            announced, answers = _assertions(block)
            tests.append(LanguageTest(names.next(block.heading), block, dict(files), announced, answers))
            if block.flags - ({"verify"} if block.language == "cpl" else {"verify", "deadlocks"}):
                raise block.refuse(f"what does {sorted(block.flags)} mean?")
            if (
                block.language == "cpl"
                and "verify" in block.flags
                and not re.search(r"\b(property|check)\b", block.text)
            ):
                raise block.refuse("there is nothing to verify here")
    if not tests:
        raise BadTest(f"{path}: there is no test in this file")
    return tests


def _assertions(block: Block) -> tuple[tuple[Announced, ...], Mapping[int, str]]:
    announced: list[Announced] = []
    answers: dict[int, str] = {}
    for number, line in enumerate(block.text.split("\n"), 1):
        like = _LIKE_ASSERTION.search(line)
        position = like.start() if like else len(line)
        while position < len(line):
            found = _ASSERTION.match(line, position)
            if not found:
                raise block.refuse(f'this is not of the form `// error: [code] "text"`: {line[position:]}', number - 1)
            if found[4] or found[5]:
                answers[number] = found[4] or found[5]
            else:
                severity: Severity = "error" if found[1] == "error" else "warning"
                text = None if found[3] is None else re.sub(r"\\(.)", r"\1", found[3])
                announced.append(Announced(number, severity, found[2], text))
            position = found.end()
    return tuple(announced), answers


def check_language(test: LanguageTest, directory: Path) -> None:
    """Fail unless the model has the diagnostics and verdicts that it announces, and no other."""
    from cplc.pipeline import Compilation, IsplReading
    from cplc.source import Source

    if test.block.language == "ispl":
        source = Source("test.ispl", test.block.model)
        reading = IsplReading(source, strategies=_strategies(test.block, test.block.options.get("strategies", "full")))
        _compare_diagnostics(test, source, reading.diagnostics)
        if test.verifies:
            _compare_answers(test, reading)
        return
    for name, text in test.files.items():
        target = directory / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    channels = _channels(test.block, test.block.options.get("channels"))
    path = directory / "test.cpl"
    path.write_text(test.block.model, encoding="utf-8")
    source = Source(str(path), test.block.model)
    strategies = _strategies(test.block, test.block.options.get("strategies", "full"))
    compilation = Compilation(
        source, path=path, parameters=test.block.parameters, channels=channels, strategies=strategies
    )
    _compare_diagnostics(test, source, compilation.diagnostics)
    if test.verifies:
        assert compilation.ok
        assert not list(compilation.system.problems())
        _compare_verdicts(test, compilation)


def _channels(block: Block, word: str | None) -> Literal["sync", "async"] | None:
    match word:
        case None | "sync" | "async":
            return word
        case _:
            raise block.refuse(f"channels are sync or async, not {word}")


def _strategies(block: Block, word: str) -> Literal["full", "uniform"]:
    match word:
        case "full" | "uniform":
            return word
        case _:
            raise block.refuse(f"strategies are full or uniform, not {word}")


def _compare_diagnostics(test: LanguageTest, source: Source, diagnostics: tuple[Diagnostic, ...]) -> None:
    missing = list(test.announced)
    surplus: list[str] = []
    for diagnostic in diagnostics:
        match = next((one for one in missing if _is_announced(one, source, diagnostic)), None)
        if match:
            missing.remove(match)
            continue
        line = diagnostic.span.position[0]
        where = f"line {test.block.first_line + line - 1}" if diagnostic.span.source == source else "elsewhere"
        text = diagnostic.span.text[:80]
        surplus.append(f'  {where}: {diagnostic.severity}: [{diagnostic.code}] "{text}"  ({diagnostic.concise()})')
    problems = [
        *(["not announced:", *surplus] if surplus else []),
        *(["announced, but did not come:"] if missing else []),
        *(f"  line {test.block.first_line + one.line - 1}: [{one.code}] {one.text or ''}" for one in missing),
    ]
    if problems:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *problems]))


def _is_announced(announced: Announced, source: Source, diagnostic: Diagnostic) -> bool:
    text = diagnostic.span.text
    return (
        diagnostic.span.source == source
        and announced.line == diagnostic.span.position[0]
        and announced.severity == diagnostic.severity
        and announced.code == diagnostic.code
        and (
            announced.text is None
            or announced.text == text
            or (announced.text.endswith("…") and text.startswith(announced.text[:-1]))
        )
    )


def _compare_answers(test: LanguageTest, reading: IsplReading) -> None:
    """Fail unless the formulas of a model in ISPL have the verdicts that are announced, by every engine."""
    from cplc.engines.onthefly import supports

    wrong: list[str] = []
    for engine in (*ENGINES, *_THIRD):
        asked = [one for one in reading.questions() if engine != "onthefly" or supports(one.question.formula)]
        for result in reading.verify(asked, engine):
            if result.question.name.startswith("formula"):
                line = result.question.span.position[0] if result.question.span else 0
                expected = test.answers.get(line, "holds")
            else:
                line, expected = 0, "fails" if "deadlocks" in test.block.flags else "holds"
            if result.answer != expected:
                where = f"  line {test.block.first_line + line - 1}: `{result.question.name}` ({engine})"
                wrong.append(f"{where}: {result.answer}, expected: {expected} {result.reason or ''}")
    if wrong:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *wrong]))


def _compare_verdicts(test: LanguageTest, compilation: Compilation) -> None:
    from cplc.engines.onthefly import supports

    wrong: list[str] = []
    lines = set()
    for engine in (*ENGINES, *_THIRD):
        asked = [one for one in compilation.questions() if engine != "onthefly" or supports(one.question.formula)]
        for result in compilation.verify(asked, engine):
            span = result.question.span
            line = span.position[0] if span else 0
            lines.add(line)
            where = f"  line {test.block.first_line + line - 1}: `{result.question.name}` ({engine})"
            if not result.as_expected:
                reason = f": {result.reason}" if result.reason else ""
                wrong.append(f"{where}: {result.answer}{reason}, expected: {result.question.expected}")
            elif (result.answer == "vacuous") != (test.answers.get(line) == "vacuous"):
                wrong.append(f"{where}: {result.answer}")
    wrong.extend(
        f"  line {test.block.first_line + line - 1}: nothing is verified here" for line in test.answers.keys() - lines
    )
    if wrong:
        raise AssertionError("\n".join([f"{test.block.path}:{test.block.first_line}", *wrong]))


# --- console transcripts ----------------------------------------------------------------------


def console_tests(path: Path) -> list[ConsoleTest]:
    tests: list[ConsoleTest] = []
    files: dict[str, str] = {}
    names = _Names()
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
    found: list[Command] = []
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
        found.append(Command(lines[start][2:], tuple(expected), code))
        _ = found[-1].arguments
    return tuple(found)


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
    from cplc.cli.main import run

    output = io.StringIO()
    written = io.StringIO()
    given = (directory / command.input).read_bytes() if command.input else b""
    with (
        chdir(directory),
        mock.patch.dict(os.environ, {"COLUMNS": "80", **command.environment}),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(given), encoding="utf-8")),
        redirect_stdout(written if command.output else output),
        redirect_stderr(output),
    ):
        code = run(command.arguments)
    if command.output:
        (directory / command.output).write_text(written.getvalue(), encoding="utf-8")
    return output.getvalue(), code


def _as_process(command: Command, directory: Path) -> tuple[str, int]:
    source = str(Path(__file__).parents[1] / "src")
    if command.output:
        raise BadTest(f"what a process of its own says is not written to a file: {command.line}")
    done = subprocess.run(
        [sys.executable, "-m", "cplc", *command.arguments],
        cwd=directory,
        env={**os.environ, "COLUMNS": "80", "PYTHONPATH": source, **command.environment},
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
