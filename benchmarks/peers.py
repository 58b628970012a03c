"""The tools that are measured on the same questions, each by a file in its own language.

Where a tool is to be found is said by a variable of the environment, Storm is a package of Python; what is not there is
left out. All run with the options that serve them best on these models: MCMAS reorders its variables (``-o 3``); of
NuSMV, with and without that, and of Storm, state by state and with decision diagrams, the faster run that answers
counts.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from benchmarks.families import Asked, Family
from benchmarks.process import Measured, measured

Verdict = str
"""``holds``, ``fails``, ``unknown``, or a probability."""


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    seconds: float
    """Processor time."""
    megabytes: float


@dataclass(frozen=True)
class Tool:
    name: str
    target: str
    """Export target."""
    commands: tuple[tuple[str, ...], ...]
    """Command lines, equivalent; the fastest counts."""
    true: re.Pattern[str]
    false: re.Pattern[str]

    def prepared(self, family: Family, n: int, question: Asked, folder: Path) -> Path | None:
        """Return the file that asks it this; None if its language cannot."""
        if question.agent and self.target != "prism":
            return None
        path = folder / f"model.{self.target}"
        command = [
            *_OURS,
            "export",
            str(family.file),
            *family.definitions(n),
            "--to",
            self.target,
            *_question(question),
        ]
        done = measured([*command, "-o", str(path), "--force"])
        if done.code:
            raise RuntimeError(done.output)
        is_whole = question.agent or not ("left out" in done.output or "is not written" in done.output)
        return path if is_whole else None

    def asked(self, path: Path, limit: float) -> Answer:
        runs = [measured([*command, path.name], limit, path.parent) for command in self.commands]
        best = min(runs, key=lambda run: (self._verdict(run) == "unknown", run.is_late, run.processor))
        return Answer(self._verdict(best), best.processor, best.megabytes)

    def _verdict(self, run: Measured) -> Verdict:
        if run.is_late:
            return "unknown"
        if self.true.search(run.output):
            return "holds"
        if self.false.search(run.output):
            return "fails"
        number = _NUMBER.search(run.output)
        return _probability(float(number[0])) if number else "unknown"


def _probability(value: float) -> Verdict:
    """Return what tools that work with floating-point numbers agree on."""
    return f"{value:.4f}"


_OURS: Final = (sys.executable, "-m", "cplc")
_NUMBER: Final = re.compile(r"^\d\.\d+(e-\d+)?$", re.MULTILINE)
_STORM: Final = (sys.executable, str(Path(__file__).with_name("storm.py")))
_SMV = (
    re.compile(r"^-- specification .*\bis true$", re.MULTILINE | re.DOTALL),
    re.compile(r"^-- specification .*\bis false$", re.MULTILINE | re.DOTALL),
)
_ISPL = (re.compile(r"Formula number 1: .* is TRUE"), re.compile(r"Formula number 1: .* is FALSE"))


def peers() -> Sequence[Tool]:
    """Return the tools that are here."""
    nusmv, arctl, mcmas = (os.environ.get(f"CPLC_{name}", "") for name in ("NUSMV", "NUSMV_ARCTL", "MCMAS"))
    storm = [
        Tool(
            "Storm",
            "prism",
            ((*_STORM, "sparse"), (*_STORM, "dd")),
            re.compile(r"^true$", re.MULTILINE),
            re.compile(r"^false$", re.MULTILINE),
        )
    ]
    tools = (
        Tool("NuSMV", "smv", ((nusmv, "-dcx"), (nusmv, "-dcx", "-dynamic")), *_SMV),
        Tool("NuSMV with ARCTL", "smv-arctl", ((arctl, "-dcx"), (arctl, "-dcx", "-dynamic")), *_SMV),
        Tool("MCMAS", "ispl", ((mcmas, "-o", "3"),), *_ISPL),
    )
    return [tool for tool in tools if tool.commands[0][0]] + (storm if find_spec("stormpy") else [])


def ours(family: Family, n: int, question: Asked, limit: float) -> Answer:
    """Ask `cplc` the same: start-up, reading, and a run that shows why included."""
    command = "analyze" if question.agent else "verify"
    shown = ["--format", "json"] if question.agent else ["--format", "concise", "--no-cache"]
    run = measured([*_OURS, command, str(family.file), *family.definitions(n), *_question(question), *shown], limit)
    if run.code == 2:
        raise RuntimeError(run.output)
    verdict = "unknown" if run.is_late else _guaranteed(run.output) if question.agent else _ours_said(run.output)
    return Answer(verdict, run.processor, run.megabytes)


def _ours_said(text: str) -> Verdict:
    word = re.search(r"^\S+ (holds|vacuous|fails) ", text, re.MULTILINE)
    return "unknown" if word is None else "fails" if word[1] == "fails" else "holds"


def _guaranteed(text: str) -> Verdict:
    """Return the least probability of what is looked at first."""
    first = json.loads(text)["agents"][0]["aspects"][0]
    return _probability(first["guaranteed"]["low"]["value"])


def _question(question: Asked) -> list[str]:
    if question.agent:
        return ["--agent", question.agent]
    return ["--formula", question.formula, *(["--assuming", question.assuming] if question.assuming else [])]
