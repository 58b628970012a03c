"""Runs of targets over mutated inputs, in a process of its own each, and the findings of a run."""

from __future__ import annotations

import faulthandler
import json
import mmap
import os
import resource
import select
import signal
import struct
import sys
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Final

from tests.fuzz.budget import SECONDS, OverBudget, processor_time
from tests.fuzz.mutations import Material, mutated

_STACK: Final = 64 * 2**20
_DEPTH: Final = 20_000
"""Recursion limit of the command line."""
_MEMORY: Final = 4 * 2**30
_HARD: Final = 4
"""Seconds of processor time beyond the budget after which the kernel ends a process that is not in Python."""
_SILENT: Final = 600.0
"""Seconds by the clock without any input done, after which an input is taken to be blocked."""
_SHARED: Final = struct.Struct("qqddq")
_MINIMISING: Final = 10.0
"""Processor time for making one finding small."""
_MOST_OF_A_KIND: Final = 3
"""Findings of one kind that are kept."""


@dataclass(frozen=True)
class Target:
    """Something that reads what users give it: where inputs come from, and what is done with one.

    ``run`` returns normally for every input, right or wrong; an exception is a finding.
    """

    name: str
    material: Callable[[], Material]
    run: Callable[[bytes], None]
    ending: str = "txt"
    made: Callable[[Random, Material], bytes] = mutated

    @cached_property
    def texts(self) -> Material:
        return self.material()

    def input(self, seed: int, number: int) -> bytes:
        """Return input ``number``: the same for the same seed, everywhere."""
        return self.made(Random(f"{self.name}/{seed}/{number}"), self.texts)


@dataclass(frozen=True)
class Finding:
    """An input that takes too long or raises what is not declared."""

    target: str
    seed: int
    number: int
    kind: str
    """The exception and where it was raised: two of one kind are most likely one mistake."""
    detail: str
    data: bytes = b""

    def line(self) -> str:
        return f"{self.target} seed {self.seed} input {self.number}: {self.kind}"


@dataclass
class Figures:
    """Figures of the inputs that a target was run with."""

    target: str
    seed: int
    inputs: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_number: int = -1
    findings: list[Finding] = field(default_factory=list)

    def text(self) -> str:
        kinds = Counter(finding.kind for finding in self.findings)
        return (
            f"{self.target}: seed {self.seed}, {self.inputs:,} inputs in {self.seconds:.0f} s of processor time, "
            f"slowest {self.slowest:.2f} s (input {self.slowest_number}), {len(self.findings)} findings"
            + "".join(f"\n  {count:,} times {kind}" for kind, count in kinds.most_common())
        )


def outcome(target: Target, data: bytes, seconds: float = SECONDS) -> tuple[str, str] | None:
    """Return what is wrong with how a target takes an input: its kind and the details; None if nothing is."""
    try:
        with processor_time(seconds):
            target.run(data)
    except OverBudget as over:
        return f"over {seconds:g} s of processor time", _trace(over)
    except MemoryError as error:
        return "MemoryError", _trace(error)
    except Exception as error:  # whatever it is: nobody has declared it
        return f"{type(error).__name__}: {_place(error)}", _trace(error)
    return None


def _place(error: BaseException) -> str:
    """Return the last place in our own code."""
    frames = traceback.extract_tb(error.__traceback__)
    if isinstance(error, AssertionError) and error.args:
        return str(error.args[0])[:60]
    own = [frame for frame in frames if f"{os.sep}cplc{os.sep}" in frame.filename] or frames
    return f"{Path(own[-1].filename).name}:{own[-1].name}"


def _trace(error: BaseException) -> str:
    """Return the traceback, of a long one the ends."""
    lines = "".join(traceback.format_exception(error)).splitlines()
    return "\n".join(lines if len(lines) <= 80 else [*lines[:40], "…", *lines[-40:]])


def prepared(target: Target) -> None:
    """Take what every input needs (grammars, tables, modules) before time is measured."""
    sys.setrecursionlimit(max(sys.getrecursionlimit(), _DEPTH))
    for data in target.texts.texts[:3]:
        target.run(data)


def run_here(target: Target, seed: int, numbers: range, seconds: float) -> Figures:
    """Try inputs in this process until they, or so many seconds of processor time, are used up."""
    figures = Figures(target.name, seed)
    _soft_limit(resource.RLIMIT_STACK, _STACK)
    prepared(target)
    began = time.process_time()
    for number in numbers:
        before = time.process_time()
        if before - began >= seconds:
            break
        data = target.input(seed, number)
        wrong = outcome(target, data)
        _count(figures, number, time.process_time() - before)
        if wrong is not None:
            figures.findings.append(Finding(target.name, seed, number, *wrong, data))
    return figures


def _count(figures: Figures, number: int, took: float) -> None:
    figures.inputs += 1
    figures.seconds += took
    if took > figures.slowest:
        figures.slowest, figures.slowest_number = took, number


def _soft_limit(which: int, value: int) -> None:
    hard = resource.getrlimit(which)[1]
    resource.setrlimit(which, (value if hard == resource.RLIM_INFINITY else min(value, hard), hard))


# --- in processes of their own


def run(target: Target, seed: int, numbers: range, seconds: float, folder: Path) -> Figures:
    """Try inputs in processes that may end in any way; write each finding, made small, below a folder."""
    figures = Figures(target.name, seed)
    kinds = Counter[str]()
    here = numbers.start
    while here < numbers.stop and figures.seconds < seconds:
        here = _in_child(target, figures, range(here, numbers.stop), seconds - figures.seconds)
        for finding in figures.findings[kinds.total() :]:
            kinds[finding.kind] += 1
            if kinds[finding.kind] <= _MOST_OF_A_KIND:
                sys.stdout.write(f"{finding.line()}\n")
                sys.stdout.flush()
                _write(target, finding, folder)
    return figures


@dataclass(frozen=True)
class _Progress:
    """Memory that a child shares with its parent: the last input, and figures of those that have ended.

    A message for each of ten thousand inputs a second would take most of the time.
    """

    memory: mmap.mmap

    @classmethod
    def before(cls, number: int) -> _Progress:
        progress = cls(mmap.mmap(-1, _SHARED.size))
        progress.set(number - 1, Figures("", 0))
        return progress

    def set(self, last: int, figures: Figures) -> None:
        _SHARED.pack_into(
            self.memory, 0, last, figures.inputs, figures.seconds, figures.slowest, figures.slowest_number
        )

    @property
    def last(self) -> int:
        number: int = _SHARED.unpack_from(self.memory)[0]
        return number

    def add_to(self, figures: Figures) -> None:
        _, inputs, seconds, slowest, slowest_number = _SHARED.unpack_from(self.memory)
        figures.inputs += inputs
        figures.seconds += seconds
        if slowest > figures.slowest:
            figures.slowest, figures.slowest_number = slowest, slowest_number


def _in_child(target: Target, figures: Figures, numbers: range, seconds: float) -> int:
    """Try inputs in one child process until it ends; return the number to go on with."""
    progress = _Progress.before(numbers.start)
    _ = target.texts
    reader, writer = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads, which a test runner may have
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reader)
            _child(target, figures.seed, numbers, seconds, progress, writer)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    os.close(writer)
    for line in _lines(reader, child, progress):
        one = json.loads(line)
        figures.findings.append(Finding(**{**one, "data": bytes.fromhex(one["data"])}))
    status = os.waitpid(child, 0)[1]
    last = progress.last
    progress.add_to(figures)
    progress.memory.close()
    if os.WIFSIGNALED(status) and last >= numbers.start:
        name = signal.Signals(os.WTERMSIG(status)).name
        _count(figures, last, SECONDS + _HARD)
        figures.findings.append(
            Finding(target.name, figures.seed, last, f"ended by {name}", "", target.input(figures.seed, last))
        )
    elif status:
        raise RuntimeError(f"the process of target {target.name} failed at input {last}")
    return last + 1


def _lines(reader: int, child: int, progress: _Progress) -> Iterator[bytes]:
    """Yield the findings of a child until it ends; a child that stays at one input for a long time is ended."""
    rest, before = b"", progress.last
    with os.fdopen(reader, "rb", buffering=0) as stream:
        while True:
            if not select.select([stream], [], [], _SILENT)[0]:
                if progress.last == before:
                    os.kill(child, signal.SIGKILL)
                before = progress.last
                continue
            data = stream.read(1 << 16)
            if not data:
                return
            *lines, rest = (rest + data).split(b"\n")
            yield from lines


def _child(target: Target, seed: int, numbers: range, seconds: float, progress: _Progress, writer: int) -> None:
    faulthandler.enable()
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)
    _soft_limit(resource.RLIMIT_STACK, _STACK)
    _soft_limit(resource.RLIMIT_AS, _MEMORY)
    _soft_limit(resource.RLIMIT_CORE, 0)
    prepared(target)
    figures = Figures(target.name, seed)
    began = time.process_time()
    for number in numbers:
        before = time.process_time()
        figures.seconds = before - began
        if figures.seconds >= seconds:
            progress.set(number - 1, figures)
            return
        progress.set(number, figures)
        _soft_limit(resource.RLIMIT_CPU, int(before + SECONDS) + _HARD)
        data = target.input(seed, number)
        wrong = outcome(target, data)
        if wrong is not None:
            finding = Finding(target.name, seed, number, *wrong, data)
            _send(writer, {**asdict(finding), "data": data.hex()})
        _count(figures, number, time.process_time() - before)
        progress.set(number, figures)


def _send(writer: int, message: dict[str, object]) -> None:
    data = json.dumps(message).encode() + b"\n"
    while data:
        data = data[os.write(writer, data) :]


# --- findings


def _write(target: Target, finding: Finding, folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    small = finding.data if finding.kind.startswith("ended by") else minimised(target, finding)
    name = f"{finding.target}-{finding.seed}-{finding.number}"
    (folder / f"{name}.{target.ending}").write_bytes(small)
    (folder / f"{name}.original").write_bytes(finding.data)
    (folder / f"{name}.finding").write_text(f"{finding.line()}\n\n{finding.detail}\n", encoding="utf-8")


def minimised(target: Target, finding: Finding) -> bytes:
    """Return a smaller input with a finding of the same kind: stretches are left out as long as that is so."""
    is_slow = finding.kind.startswith("over")
    data, began = finding.data, time.process_time()

    def is_same(candidate: bytes) -> bool:
        wrong = outcome(target, candidate)
        return wrong is not None and wrong[0] == finding.kind

    size = len(data) // 2
    while size:
        at, smaller = 0, False
        while at < len(data):
            if time.process_time() - began > _MINIMISING * (1 + is_slow):
                return data
            candidate = data[:at] + data[at + size :]
            if is_same(candidate):
                data, smaller = candidate, True
            else:
                at += size
        if not smaller or size > len(data):
            size //= 2
    return data
