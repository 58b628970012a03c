"""Comparison of two versions of ``cplc`` as black boxes: does a restructuring of the sources change any answer?

``python -m tests.same_answers OLD/bin/cplc NEW/bin/cplc`` runs the same command lines with both programs on every
protocol of this repository, and compares exit codes, standard output and standard error byte for byte. Version numbers,
elapsed times and absolute paths are masked first. A renaming that rewords messages is described by ``--allow FILE``,
with lines ``old text => new text`` that are applied to the output of the old version. ``--kinds structure`` compares
only systems, verdicts, runs and exit codes. ``--hash-seeds 1 2`` with the same program twice finds output that depends
on the order of sets. A run that takes too long is reported as skipped, never as equal.

Most of the time of a small run is the start of Python. A console script is therefore loaded once for each worker, and
each command line runs in a fork of that process; ``--fresh`` starts a new process for each instead.
"""

from __future__ import annotations

import argparse
import json
import os
import queue
import re
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import unified_diff
from fnmatch import fnmatch
from itertools import zip_longest
from math import ceil
from pathlib import Path
from time import monotonic
from typing import Any, Final

ROOT: Final = Path(__file__).parents[1]
PATTERNS: Final = ("examples/**/*.cpl", "examples/**/*.ispl", "stdlib/**/*.cpl", "tests/cases*/**/*.cpl")
LIMIT_SECONDS: Final = 20.0
WAITING: Final = 6
"""Seconds that may pass for each second of processor time, where the machine has other work."""
STARTUP_SECONDS: Final = 60.0
"""Time for loading a program before its first command line."""
MAX_DIFF_LINES: Final = 14
MAX_LINE_LENGTH: Final = 160
WARMING: Final = ("check", "examples/netbill.cpl")
"""The command line that a loaded program runs before all others, for parsers take longer to make than to use."""
KINDS: Final = (
    "coverage",
    "verify",
    "analyze",
    "draw",
    "export",
    "system",
    "lower",
    "stats",
    "simulate",
    "check",
    "format",
    "explain",
    "help",
)
"""Kinds of comparison, the slow ones first."""
NOT_FOR_ISPL: Final = frozenset({"analyze"})
LONG_COVERAGE: Final = frozenset(
    f"examples/{name}.cpl"
    for name in ("netbill_dialogue", "persuasion", "pnaws", "purchase", "quote_to_cash", "travel_agency")
)
"""Files whose mutants take longer than the time limit."""
AGENT, COMMITMENT = "(first agent)", "(first commitment)"
"""Placeholders in command lines for names of the system."""


class Unusable(Exception):
    """A program or file of replacements that cannot be used."""


# --- running a command line


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of one command line."""

    code: int
    output: str
    errors: str


class Program:
    """One version of ``cplc``; each command line is a process of its own."""

    def __init__(self, executable: Path, hash_seed: str = "0") -> None:
        self.executable = executable
        self.environment = {
            **{n: value for n, value in os.environ.items() if not n.startswith(("COLUMNS", "CPLC_", "PYTHON"))},
            "CPLC_CACHE": "off",
            "PYTHONHASHSEED": hash_seed,
            "LC_ALL": "C.UTF-8",
            "NO_COLOR": "1",
            "TERM": "dumb",
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._is_stopped = False

    def run(self, arguments: Sequence[str], standard_input: Path | None, seconds: float) -> Outcome | None:
        """Return what a command line gives, or nothing where it takes longer than that."""
        self._require_running()
        with open(standard_input or os.devnull, "rb") as reader:
            self._process = subprocess.Popen(
                [self.executable, *arguments],
                cwd=ROOT,
                env=self.environment,
                stdin=reader,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                start_new_session=True,
            )
        try:
            output, errors = self._process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            self.close()
            return None
        return Outcome(self._process.returncode, decoded(output), decoded(errors))

    def stop(self) -> None:
        """Kill what is still running, and start nothing more: a worker may be in the middle of its plan."""
        self._is_stopped = True
        self.close()

    def _require_running(self) -> None:
        if self._is_stopped:
            raise Unusable(f"{self.executable} was stopped")

    def close(self) -> None:
        """Kill what is still running, with its descendants."""
        if process := self._process:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            for stream in (process.stdout, process.stderr):
                if stream is not None:
                    stream.close()
        self._process = None


_CONSOLE_SCRIPT: Final = re.compile(
    r"\A#!(?P<python>/\S*python[\d.]*)\n(?s:.*?)^from (?P<package>\w+)\S* import ", re.MULTILINE
)

_SERVER: Final = """
import gc, importlib, json, os, pkgutil, resource, socket, sys
executable, package, descriptor, *warming = sys.argv[1:]
sys.path[0] = os.path.dirname(executable)
with open(executable, encoding="utf-8") as reader:
    script = compile(reader.read(), executable, "exec")
for module in pkgutil.walk_packages(importlib.import_module(package).__path__, package + "."):
    if not module.name.endswith("__main__"):
        try:
            importlib.import_module(module.name)
        except Exception:
            pass
end, os._exit = os._exit, sys.exit
sys.argv[:] = [executable, *warming]
try:
    exec(script, {"__name__": "__main__", "__file__": executable})
except SystemExit:
    pass
os._exit = end
gc.collect()
gc.freeze()
connection = socket.socket(fileno=int(descriptor))
requests = connection.makefile("rb")
connection.sendall(b"ready\\n")
for line in requests:
    arguments, seconds, *files = json.loads(line)
    child = os.fork()
    if not child:
        connection.close()
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
        flags = os.O_WRONLY | os.O_CREAT | os.O_TRUNC
        for number, file in enumerate(files):
            opened = os.open(file, flags if number else os.O_RDONLY, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        sys.argv[:] = [executable, *arguments]
        exec(script, {"__name__": "__main__", "__file__": executable})
        sys.exit()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    connection.sendall(b"%d\\n" % code)
"""


class LoadedProgram(Program):
    """One version of ``cplc`` that is loaded once; each command line runs in a fork of the loaded process.

    The time limit is one of processor time, so that few runs are skipped on a busy machine.
    """

    def __init__(self, executable: Path, hash_seed: str, python: str, package: str) -> None:
        super().__init__(executable, hash_seed)
        self._python = python
        self._package = package
        self._connection: socket.socket | None = None
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def run(self, arguments: Sequence[str], standard_input: Path | None, seconds: float) -> Outcome | None:
        self._require_running()
        if self._connection is None:
            self._load()
        assert self._connection is not None
        assert self._folder is not None
        files = [str(standard_input or os.devnull), *(str(Path(self._folder.name, name)) for name in ("out", "err"))]
        self._connection.sendall(json.dumps([arguments, ceil(seconds), *files]).encode() + b"\n")
        code = self._answer(seconds * WAITING)
        if code is None:
            self.close()
            return None
        if int(code) in {-signal.SIGXCPU, -signal.SIGKILL}:
            return None
        return Outcome(int(code), *(decoded(Path(file).read_bytes()) for file in files[1:]))

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None
        super().close()
        if self._folder is not None:
            self._folder.cleanup()
        self._folder = None

    def _load(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="same-answers-")
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [self._python, "-c", _SERVER, self.executable, self._package, str(theirs.fileno()), *WARMING],
                cwd=ROOT,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
        self._connection = ours
        if self._answer(STARTUP_SECONDS) is None:
            self.close()
            raise Unusable(f"{self.executable} cannot be loaded; try --fresh")

    def _answer(self, seconds: float) -> bytes | None:
        assert self._connection is not None
        if not select.select([self._connection], [], [], seconds)[0]:
            return None
        return self._connection.recv(100) or None


def program(executable: Path, hash_seed: str = "0", *, fresh: bool = False) -> Program:
    """Return the program of an executable, loaded once where it is the console script of a package."""
    if not (executable.is_file() and os.access(executable, os.X_OK)):
        raise Unusable(f"{executable} is no executable file")
    with executable.open(encoding="utf-8", errors="replace") as reader:
        script = _CONSOLE_SCRIPT.match(reader.read(10_000))
    if fresh or script is None:
        return Program(executable, hash_seed)
    return LoadedProgram(executable, hash_seed, script["python"], script["package"])


def decoded(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")


# --- command lines to compare


@dataclass(frozen=True, slots=True)
class Comparison:
    """One command line that both versions run."""

    kind: str
    arguments: tuple[str, ...]
    standard_input: Path | None = None

    def __str__(self) -> str:
        source = f" < {self.standard_input.relative_to(ROOT)}" if self.standard_input else ""
        return f"{self.kind}: cplc {' '.join(self.arguments)}{source}"


@dataclass(frozen=True, slots=True)
class Features:
    """The command lines of both versions: everything that the help of either one lists."""

    commands: tuple[str, ...] = ()
    engines: tuple[str, ...] = ()
    counting_engines: tuple[str, ...] = ()
    targets: tuple[str, ...] = ()
    drawings: tuple[str, ...] = ()
    drawing_formats: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()


def features(programs: Sequence[Program]) -> Features:
    """Read the features of programs from their helps."""

    def output(*arguments: str) -> list[str]:
        outcomes = [one.run(arguments, None, STARTUP_SECONDS) for one in programs]
        return [outcome.output for outcome in outcomes if outcome]

    def values(command: str, option: str) -> tuple[str, ...]:
        pattern = re.compile(rf"^ +{option} \[([^\]]+)\]", re.MULTILINE)
        helps = output(command, "--help")
        return _union(re.sub(r"\s", "", match[1]).split("|") for text in helps if (match := pattern.search(text)))

    commands = _union(
        re.findall(r"^  (\w[\w-]*)", text.split("\nCommands:\n")[-1].split("\n\n")[0], re.MULTILINE)
        for text in output("--help")
    )
    return Features(
        commands=commands,
        engines=values("verify", "--engine"),
        counting_engines=values("stats", "--engine"),
        targets=values("export", "--to"),
        drawings=values("draw", "--what"),
        drawing_formats=values("draw", "--to"),
        rules=_union(re.findall(r"^([a-z][a-z0-9-]+)  ", text, re.MULTILINE) for text in output("explain")),
    )


def _union(groups: Iterator[list[str]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for group in groups for name in group))


def protocols(globs: Collection[str] = ()) -> list[str]:
    """Return the files to compare, as paths below the root of the repository."""
    paths = {path.relative_to(ROOT).as_posix() for pattern in PATTERNS for path in ROOT.glob(pattern)}
    return sorted(path for path in paths if not globs or any(fnmatch(path, one) for one in globs))


def comparisons(files: Sequence[str], available: Features, kinds: Collection[str] = KINDS) -> list[Comparison]:
    """Return all comparisons, the slow kinds first."""
    plan = [
        Comparison(kind, arguments, ROOT / file if "-" in arguments else None)
        for file in files
        for kind in kinds
        for arguments in command_lines(kind, file, available)
    ]
    plan += [Comparison("explain", ("explain", code)) for code in available.rules]
    plan += [Comparison("explain", ("explain",)), Comparison("help", ("--help",))]
    plan += [Comparison("help", (command, "--help")) for command in available.commands]
    return sorted((one for one in plan if one.kind in kinds), key=lambda one: KINDS.index(one.kind))


def command_lines(kind: str, file: str, available: Features) -> Iterator[tuple[str, ...]]:
    """Yield the command lines of one kind for one file."""
    if file.endswith(".ispl") and kind in NOT_FOR_ISPL:
        return
    match kind:
        case "system":
            yield ("export", file, "--to", "json")
        case "export":
            for target in available.targets:
                if target != "json":
                    yield ("export", file, "--to", target)
        case "verify":
            for engine in available.engines:
                yield ("verify", file, "--engine", engine, "--format", "json", "--detail", "everything")
            yield ("verify", file, "--detail", "everything")
        case "check":
            yield ("check", file)
            yield ("check", file, "--format", "json")
        case "format":
            yield ("fmt", "-") if file.endswith(".cpl") else ("fmt", "--diff", file)
        case "stats":
            yield ("stats", file)
            for engine in available.counting_engines:
                yield ("stats", file, "--engine", engine, "--format", "json")
        case "analyze" if re.search(r"^\s*analyze\b", (ROOT / file).read_text(encoding="utf-8"), re.MULTILINE):
            yield ("analyze", file)
            yield ("analyze", file, "--format", "json")
        case "coverage" if file not in LONG_COVERAGE:
            yield (kind, file)
        case "lower":
            yield (kind, file)
        case "simulate":
            yield (kind, file, "--seed", "1", "--steps", "40", "--format", "json")
        case "draw":
            for drawing in available.drawings:
                named = {"role": ("--name", AGENT), "commitment": ("--name", COMMITMENT)}.get(drawing, ())
                for target in available.drawing_formats:
                    if drawing == "chart" or target == "svg":
                        yield (kind, file, "--what", drawing, *named, "--to", target)
        case _:
            return


def named(arguments: tuple[str, ...], system: str) -> tuple[str, ...]:
    """Replace placeholders by names of a system that was exported as JSON."""
    with suppress(ValueError):
        exported = json.loads(system)
        names = {
            AGENT: [one["name"] for one in exported.get("agents", ())],
            COMMITMENT: [one["name"] for part in ("commitments", "claims") for one in exported.get(part, ())],
        }
        return tuple(names[one][0] if names.get(one) else one for one in arguments)
    return arguments


# --- what is compared of an outcome


@dataclass(frozen=True, slots=True)
class Masking:
    """Removes what legitimately differs between the outputs of two versions."""

    version: str
    folders: tuple[Path, ...] = ()

    def __call__(self, text: str) -> str:
        for folder in sorted((str(one) for one in self.folders if one != one.parent), key=len, reverse=True):
            text = text.replace(folder + "/", "")
        if self.version:
            text = re.sub(rf"(?<![\w.]){re.escape(self.version)}(?![\w]|\.\d)", "VERSION", text)
        text = re.sub(r'("(?:\w+_)?seconds": )[\d.]+(?:e[+-]?\d+)?', r"\g<1>0", text)
        return re.sub(r"\b(in|after|took) \d+(?:\.\d+)? (?:s|ms|seconds?|minutes?)\b", r"\1 TIME", text)


def masking(one: Program) -> Masking:
    """Return the masking of a program: its version and the folders that only it has."""
    outcome = one.run(["--version"], None, STARTUP_SECONDS)
    if outcome is None or outcome.code:
        raise Unusable(f"{one.executable} --version fails")
    version = re.search(r"\d[\w.+-]*", outcome.output)
    environment = one.executable.absolute().parents[1]
    return Masking(version[0] if version else "", (environment, environment.parent, environment.resolve(), ROOT))


@dataclass(frozen=True, slots=True)
class Replacements:
    """Intended differences: texts of the old version, and what the new one says instead."""

    pairs: tuple[tuple[str, str], ...] = ()
    used: set[str] = field(default_factory=set)

    def __call__(self, text: str) -> str:
        for old, new in self.pairs:
            if old in text:
                self.used.add(old)
                text = text.replace(old, new)
        return text

    @property
    def unused(self) -> list[str]:
        return [old for old, _ in self.pairs if old not in self.used]


def read_replacements(text: str) -> Replacements:
    """Read lines ``old text => new text``; lines that are blank or begin with ``#`` are left out."""
    pairs = []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.startswith("#"):
            old, arrow, new = line.partition(" =>")
            if not arrow or not old.strip():
                raise Unusable(f"line {number} of the replacements is not `old text => new text`: {line}")
            pairs.append((old.strip(), new.strip()))
    return Replacements(tuple(pairs))


def exactly(kind: str, outcome: Outcome) -> str:
    """Return everything of an outcome."""
    return f"exit code {outcome.code}\n{outcome.output}\nstandard error:\n{outcome.errors}"


def unwrapped(kind: str, outcome: Outcome) -> str:
    """Return everything of an outcome; helps word by word, for a longer word moves the ends of lines."""
    text = exactly(kind, outcome)
    return "\n".join(text.split()) if kind == "help" else text


def structure(kind: str, outcome: Outcome) -> str:
    """Return the part of an outcome that no renaming of ours may change: systems, verdicts, runs and exit codes."""
    shown: Any = None
    if outcome.output.startswith("{"):
        try:
            shown = _projected(kind, json.loads(outcome.output))
        except (ValueError, KeyError, TypeError, AttributeError):  # another form than expected: all of it counts
            shown = outcome.output
    text = f"exit code {outcome.code}\n"
    return text if shown is None else text + json.dumps(shown, indent=1, sort_keys=True)


def _projected(kind: str, document: dict[str, Any]) -> object:
    if kind == "system":
        return {name: value for name, value in document.items() if name not in _ABOUT_THE_FILE}
    if kind == "verify":
        return [
            {name: one.get(name) for name in ("name", "verdict", "expected", "as_expected")} | {"runs": [*runs(one)]}
            for one in document["results"]
        ]
    return None


_ABOUT_THE_FILE: Final = frozenset({"format", "format_version", "exported_by", "source"})


def runs(value: object) -> Iterator[dict[str, Any]]:
    """Yield all runs in a value of JSON as their start, names of steps, changes and loop."""
    if isinstance(value, dict):
        if isinstance(value.get("start"), dict) and isinstance(value.get("steps"), list):
            steps = [[one.get("step"), one.get("writes")] for one in value["steps"] if isinstance(one, dict)]
            yield {"start": value["start"], "steps": steps, "loop": value.get("loop")}
        for part in value.values():
            yield from runs(part)
    elif isinstance(value, list):
        for part in value:
            yield from runs(part)


def difference(old: str, new: str) -> list[str]:
    """Return a unified diff of few short lines, empty where both texts are the same."""
    if old == new:
        return []
    lines = list(unified_diff(old.split("\n"), new.split("\n"), lineterm="", n=1))[2:]
    removed = [line for line in lines if line.startswith("-")]
    added = [line for line in lines if line.startswith("+")]
    shown = {}
    for ours, theirs in zip_longest(removed, added, fillvalue=""):
        same = next((at for at, (one, other) in enumerate(zip(ours[1:], theirs[1:], strict=False)) if one != other), 0)
        shown[ours], shown[theirs] = _excerpt(ours, same), _excerpt(theirs, same)
    short = [shown.get(line, _excerpt(line, 0)) for line in lines[:MAX_DIFF_LINES]]
    return short + ([f"… {len(lines) - MAX_DIFF_LINES} more lines"] if len(lines) > MAX_DIFF_LINES else [])


def _excerpt(line: str, position: int) -> str:
    """Shorten a long line to what stands around a position."""
    if len(line) <= MAX_LINE_LENGTH:
        return line
    begin = min(max(0, position - 40), len(line) - MAX_LINE_LENGTH)
    end = begin + MAX_LINE_LENGTH
    return f"{line[0]}{'…' * (begin > 0)}{line[begin + 1 : end]}{'…' * (end < len(line))}"


# --- comparing everything


@dataclass
class Report:
    """Counts of the comparisons so far."""

    equal: Counter[str] = field(default_factory=Counter)
    different: Counter[str] = field(default_factory=Counter)
    skipped: Counter[str] = field(default_factory=Counter)

    def add(self, one: Comparison, result: list[str] | str) -> str:
        """Count a diff, or the reason of a skipped comparison, and return how to report it."""
        if isinstance(result, str):
            self.skipped[one.kind] += 1
            return f"skipped: {one}: {result}\n"
        if not result:
            self.equal[one.kind] += 1
            return ""
        self.different[one.kind] += 1
        return "\n".join([f"different: {one}", *("  " + line for line in result), ""])

    @property
    def is_same(self) -> bool:
        return not self.different and bool(self.equal)

    def table(self) -> Iterator[str]:
        yield f"{'kind':<10}{'compared':>10}{'equal':>10}{'different':>11}{'skipped':>9}"
        for kind in (*KINDS, "all"):
            same, changed, skipped = (
                sum(counts.values()) if kind == "all" else counts[kind]
                for counts in (self.equal, self.different, self.skipped)
            )
            if kind == "all" or same + changed + skipped:
                yield f"{kind:<10}{same + changed:>10}{same:>10}{changed:>11}{skipped:>9}"


@dataclass(frozen=True)
class Comparer:
    """Compares outcomes of two versions; each worker has its own pair of programs."""

    masks: tuple[Masking, Masking]
    replacements: Replacements = field(default_factory=Replacements)
    view: Callable[[str, Outcome], str] = exactly
    seconds: float = LIMIT_SECONDS

    def compare(self, one: Comparison, old: Program, new: Program) -> list[str] | str:
        """Return the difference between the versions, or why there is no answer."""
        arguments = one.arguments
        if AGENT in arguments or COMMITMENT in arguments:
            exported = old.run(["export", arguments[1], "--to", "json"], None, self.seconds)
            arguments = named(arguments, exported.output if exported else "")
        shown = [] if arguments == one.arguments else [f"$ cplc {' '.join(arguments)}"]
        texts = []
        for who, program_, mask in (("old", old, self.masks[0]), ("new", new, self.masks[1])):
            outcome = program_.run(arguments, one.standard_input, self.seconds)
            if outcome is None:
                return f"the {who} version takes more than {self.seconds:g} s"
            output, errors = mask(outcome.output), mask(outcome.errors)
            if who == "old":
                output, errors = self.replacements(output), self.replacements(errors)
            texts.append(self.view(one.kind, Outcome(outcome.code, output, errors)))
        return [*shown, *lines] if (lines := difference(*texts)) else []


def compare_all(
    plan: Sequence[Comparison],
    pairs: Sequence[tuple[Program, Program]],
    comparer: Comparer,
    tell: Callable[[str], object],
    progress: Callable[[str], object],
) -> Report:
    """Make all comparisons, one at a time with each pair of programs."""
    waiting: queue.SimpleQueue[Comparison] = queue.SimpleQueue()
    results: queue.SimpleQueue[tuple[Comparison, list[str] | str | Exception]] = queue.SimpleQueue()
    for one in plan:
        waiting.put(one)

    def work(old: Program, new: Program) -> None:
        with suppress(queue.Empty):
            while True:
                one = waiting.get_nowait()
                try:
                    results.put((one, comparer.compare(one, old, new)))
                except Exception as error:  # of a worker: the main thread raises it
                    results.put((one, error))

    for pair in pairs:
        threading.Thread(target=work, args=pair, daemon=True).start()
    report = Report()
    begin = monotonic()
    for count in range(1, len(plan) + 1):
        one, result = results.get()
        if isinstance(result, Exception):
            raise result
        if text := report.add(one, result):
            tell(text)
        progress(f"{count} of {len(plan)} after {monotonic() - begin:.0f} s: {one.kind}")
    return report


def main(arguments: Sequence[str] | None = None) -> int:
    """Compare two versions, and return the exit code."""
    options = _options().parse_args(arguments)
    pairs: list[tuple[Program, Program]] = []
    try:
        executables = (options.old, options.new)
        for _ in range(options.jobs):
            old, new = (
                program(path.absolute(), seed, fresh=options.fresh)
                for path, seed in zip(executables, options.hash_seeds, strict=True)
            )
            pairs.append((old, new))
        replacements = read_replacements(options.allow.read_text(encoding="utf-8") if options.allow else "")
        view = structure if options.kinds == "structure" else unwrapped if options.allow else exactly
        comparer = Comparer((masking(pairs[0][0]), masking(pairs[0][1])), replacements, view, options.seconds)
        plan = comparisons(protocols(options.files), features(pairs[0]), options.only)
        report = compare_all(plan, pairs, comparer, _tell, _progress)
    except (Unusable, OSError) as problem:
        sys.stderr.write(f"same_answers: {problem}\n")
        return 2
    except KeyboardInterrupt:
        sys.stderr.write("\ninterrupted\n")
        return 130
    finally:
        for pair in pairs:
            for one in pair:
                one.stop()
    _progress("")
    _tell("".join(f"never needed: {text}\n" for text in replacements.unused))
    _tell("\n".join([*report.table(), ""]))
    if not report.equal and not report.different:
        _tell("nothing was compared\n")
    return 0 if report.is_same else 1


def _options() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests.same_answers", description=__doc__)
    parser.add_argument("old", type=Path, help="executable of the old version")
    parser.add_argument("new", type=Path, help="executable of the new version")
    parser.add_argument("--files", nargs="+", default=[], metavar="GLOB", help="only these files: 'examples/n*'")
    parser.add_argument("--only", nargs="+", default=list(KINDS), choices=KINDS, metavar="KIND", help=", ".join(KINDS))
    parser.add_argument("--kinds", choices=["all", "structure"], default="all", help="what to compare of each outcome")
    parser.add_argument("--allow", type=Path, metavar="FILE", help="intended differences: `old text => new text`")
    parser.add_argument("--jobs", type=int, choices=[1, 2], default=2, help="number of workers")
    parser.add_argument(
        "--seconds",
        type=float,
        default=LIMIT_SECONDS,
        help="time limit of a run: processor time, with --fresh elapsed time",
    )
    parser.add_argument(
        "--hash-seeds", nargs=2, default=["0", "0"], metavar="SEED", help="PYTHONHASHSEED of the old and new version"
    )
    parser.add_argument("--fresh", action="store_true", help="start a new process for each command line")
    return parser


def _tell(text: str) -> None:
    sys.stdout.write(text.encode("utf-8", "backslashreplace").decode())
    sys.stdout.flush()


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
    elif text and (int(text.split()[0]) % 100 == 0):
        sys.stderr.write(text + "\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main())
