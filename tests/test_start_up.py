"""Start-up: the instructions of short commands, and the modules that they import."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from math import inf
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

COMMANDS: dict[str, tuple[str, ...]] = {
    "version": ("--version",),
    "check": ("check", "examples/netbill.cpl"),
    "verify": ("verify", "examples/netbill.cpl"),
}
"""Nothing is cached between runs, compiled bytecode excepted."""

MAX_RATIO = {"version": 1.2, "check": 4.0, "verify": 7.0}
"""Maximum instructions of a command, as a multiple of those of ``import click`` in a fresh process."""

UNNEEDED = {
    "version": {"cplc.compilation", "dataclasses", "dd", "jinja2", "lark", "oxidd", "textx"},
    "check": {"cplc.checking", "cplc.engines", "cplc.lowering", "cplc.syntax.recovery", "hashlib", "lark", "textx"},
    "verify": {
        "cplc.engines.games", "cplc.parameterised", "cplc.syntax.printer", "cplc.syntax.recovery", "difflib", "hashlib",
        "importlib.metadata", "lark", "numpy", "oxidd", "statistics", "subprocess", "tempfile", "textx",
    },
}  # fmt: skip


def environment() -> dict[str, str]:
    variables = {**os.environ, "CPLC_CACHE": "off", "PYTHONHASHSEED": "0"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    return variables


def run(*command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, check=True)


def instructions(*arguments: str) -> int:
    """Return the number of instructions of a second run of Python."""
    run(sys.executable, *arguments)
    counted = run("valgrind", "--tool=callgrind", "--callgrind-out-file=/dev/null", sys.executable, *arguments)
    collected = re.search(r"Collected : (\d+)", counted.stderr)
    assert collected, counted.stderr
    return int(collected[1])


@cache
def instructions_of_click() -> int:
    return instructions("-c", "import click")


@pytest.mark.skipif(not shutil.which("valgrind"), reason="valgrind counts the instructions")
@pytest.mark.parametrize("name", COMMANDS)
def test_start_up_takes_few_instructions(name: str) -> None:
    ratios: list[float] = []
    while (
        len(ratios) < 3 and min(ratios, default=inf) > MAX_RATIO[name]
    ):  # a loaded machine adds turns of waiting loops
        ratios.append(instructions("-m", "cplc", *COMMANDS[name]) / instructions_of_click())
    assert min(ratios) <= MAX_RATIO[name], ratios


@pytest.mark.parametrize("name", COMMANDS)
def test_start_up_imports_only_needed_modules(name: str) -> None:
    code = f"import sys; from cplc.cli.main import run; run({COMMANDS[name]!r}); print('modules:', *sys.modules)"
    imported = set(run(sys.executable, "-c", code).stdout.rpartition("modules:")[2].split())
    assert "click" in imported
    assert imported & UNNEEDED[name] == set()
