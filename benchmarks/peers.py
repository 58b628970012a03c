"""The tools that are measured on the same questions, each by a file in its own language.

Where a tool is to be found is said by a variable of the environment; without it the tool is left out. All run with the
options that serve them best on these models: MCMAS orders its variables anew (``-o 3``); of NuSMV, with and without
that, the faster run counts.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

from benchmarks.families import Asked, Family
from benchmarks.process import Measured, measured

Verdict = Literal["holds", "fails", "unknown"]


@dataclass(frozen=True)
class Answer:
    verdict: Verdict
    seconds: float
    """Of the processor."""
    megabytes: float


@dataclass(frozen=True)
class Tool:
    name: str
    target: str
    """What is exported for it."""
    commands: tuple[tuple[str, ...], ...]
    """Which begin with the program; all say the same."""
    true: re.Pattern[str]
    false: re.Pattern[str]

    def prepared(self, family: Family, n: int, asked: Asked, folder: Path) -> Path | None:
        """Return the file that asks it this; None if its language cannot."""
        path = folder / f"model.{self.target}"
        command = [*_OURS, "export", str(family.file), *family.definitions(n), "--to", self.target, *_question(asked)]
        done = measured([*command, "-o", str(path), "--force"])
        if done.code:
            raise RuntimeError(done.said)
        return None if "left out" in done.said or "is not written" in done.said else path

    def asked(self, path: Path, limit: float) -> Answer:
        runs = [measured([*command, path.name], limit, path.parent) for command in self.commands]
        best = min(runs, key=lambda run: (run.is_late, run.processor))
        return Answer(self._verdict(best), best.processor, best.megabytes)

    def _verdict(self, run: Measured) -> Verdict:
        if run.is_late:
            return "unknown"
        if self.true.search(run.said):
            return "holds"
        return "fails" if self.false.search(run.said) else "unknown"


_OURS: Final = (sys.executable, "-m", "cplc")
_SMV = (
    re.compile(r"^-- specification .*\bis true$", re.MULTILINE | re.DOTALL),
    re.compile(r"^-- specification .*\bis false$", re.MULTILINE | re.DOTALL),
)
_ISPL = (re.compile(r"Formula number 1: .* is TRUE"), re.compile(r"Formula number 1: .* is FALSE"))


def peers() -> Sequence[Tool]:
    """Return the tools that are here."""
    nusmv, arctl, mcmas = (os.environ.get(f"CPLC_{name}", "") for name in ("NUSMV", "NUSMV_ARCTL", "MCMAS"))
    tools = (
        Tool("NuSMV", "smv", ((nusmv, "-dcx"), (nusmv, "-dcx", "-dynamic")), *_SMV),
        Tool("NuSMV with ARCTL", "smv-arctl", ((arctl, "-dcx"), (arctl, "-dcx", "-dynamic")), *_SMV),
        Tool("MCMAS", "ispl", ((mcmas, "-o", "3"),), *_ISPL),
    )
    return [tool for tool in tools if tool.commands[0][0]]


def ours(family: Family, n: int, asked: Asked, limit: float) -> Answer:
    """Ask `cplc` the same: start-up, reading, and a run that shows why included."""
    command = [*_OURS, "verify", str(family.file), *family.definitions(n), *_question(asked), "--no-cache"]
    run = measured([*command, "--format", "concise"], limit)
    word = re.search(r"^\S+ (holds|vacuous|fails) ", run.said, re.MULTILINE)
    if run.code == 2:
        raise RuntimeError(run.said)
    verdict: Verdict = "unknown" if run.is_late or word is None else "fails" if word[1] == "fails" else "holds"
    return Answer(verdict, run.processor, run.megabytes)


def _question(asked: Asked) -> list[str]:
    return ["--formula", asked.formula, *(["--assuming", asked.assuming] if asked.assuming else [])]
