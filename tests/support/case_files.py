"""Reader of the cases: small protocols whose counts and verdicts were worked out independently of this program."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from cplc.compilation import CplCompilation
from cplc.semantics.model import CheckedModel
from cplc.source import Source

CASES = Path(__file__).parents[1] / "cases"
EXTRA = CASES.parent / "cases_extra"
"""Corner cases of the language: verdicts argued by hand, counts those of the reference interpreter."""


@dataclass(frozen=True)
class Verdict:
    formula: str
    assuming: tuple[str, ...]
    holds: bool


@dataclass(frozen=True)
class Case:
    """One protocol under one choice of parameters and channels."""

    path: Path
    parameters: tuple[tuple[str, int], ...]
    sync: bool
    reachable_states: int
    inapplicable_operations: tuple[str, ...]
    verdicts: tuple[Verdict, ...]

    def __str__(self) -> str:
        parameters = "".join(f" {name}={value}" for name, value in self.parameters)
        return f"{self.path.stem}{parameters} {'sync' if self.sync else 'async'}"


def cases() -> list[Case]:
    return [*_cases(CASES), *_cases(EXTRA)]


def _cases(folder: Path) -> list[Case]:
    return [
        Case(
            folder / entry["file"],
            tuple(entry["parameters"].items()),
            entry["sync"],
            entry["reachable_states"],
            tuple(entry["inapplicable_operations"]),
            tuple(Verdict(v["formula"], tuple(v["assuming"]), v["holds"]) for v in entry["verdicts"]),
        )
        for entry in json.loads((folder / "verdicts.json").read_text(encoding="utf-8"))
    ]


def compiled(case: Case) -> CplCompilation:
    """Return the compilation of a case, its formulas declared as properties at the end of the protocol."""
    text = case.path.read_text(encoding="utf-8").rstrip()
    assert text.endswith("}")
    properties = "".join(
        f"  property case{number}{' assuming ' + ', '.join(verdict.assuming) if verdict.assuming else ''}: "
        f"{verdict.formula}\n"
        for number, verdict in enumerate(case.verdicts)
    )
    return CplCompilation(
        Source(case.path.name, f"{text[:-1]}\n{properties}}}\n"),
        case.path,
        {name: str(value) for name, value in case.parameters},
        "sync" if case.sync else "async",
    )


def checked(case: Case) -> CheckedModel:
    compilation = compiled(case)
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    return compilation.model
