"""Questions with deadlines, timed against untimed: ``python -m benchmarks.timed``.

NetBill with n customers is asked whether payments are answered: at last, if all keep going, and within two ticks, if
all act within one. Both are measured in one run, as seconds of processor time with start-up, and so is NuSMV on a model
of the timed protocol that is written by hand, with bounds of RTCTL, if `CPLC_NUSMV` names it. All verdicts must agree.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from benchmarks.process import Measured, measured

_ROOT = Path(__file__).parents[1]
UNTIMED: Final = _ROOT / "examples" / "netbill.cpl"
TIMED: Final = _ROOT / "benchmarks" / "protocols" / "netbill_deadlines.cpl"
SIZES: Final = (2, 5, 10, 20)
_VERDICT = re.compile(r"^-- specification .* is (true|false)$", re.MULTILINE)
_RUNS = 3
"""Number of runs, of which the fastest counts."""


@dataclass(frozen=True)
class Row:
    """The seconds of one size; None for a tool that is not there, or that gave up."""

    n: int
    untimed: float | None
    timed: float | None
    nusmv: float | None

    @property
    def ratio(self) -> float | None:
        """The timed question as a multiple of the untimed one."""
        return self.timed / self.untimed if self.timed and self.untimed else None


def formula(ticks: int | None) -> str:
    """Return that every payment is answered, within so many ticks or at last."""
    bound = "" if ticks is None else f"<={ticks} ticks"
    return f"forall c in Cus: AG (pay[c] -> AF{bound} (deliver[c] | fail[c]))"


def smv_model(n: int, ticks: int) -> str:
    """Return the model that is written by hand, with n customers and the question about each."""
    customer = TIMED.with_suffix(".smv").read_text(encoding="utf-8")
    customers = "".join(f"  c{i} : customer;\n" for i in range(1, n + 1))
    specifications = "".join(f"CTLSPEC AG (c{i}.paid -> ABF 1..{ticks} c{i}.answered)\n" for i in range(1, n + 1))
    return f"{customer}\nMODULE main\nVAR\n{customers}{specifications}"


def nusmv_verdicts(program: str, n: int, ticks: int, limit: float = 600.0) -> tuple[list[bool], Measured]:
    """Return the verdict on each customer."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.smv"
        path.write_text(smv_model(n, ticks), encoding="utf-8")
        run = measured([program, "-dcx", path.name], limit, path.parent)
    return [
        word == "true" for word in re.findall(r"^-- specification .* is (true|false)$", run.output, re.MULTILINE)
    ], run


def _ours(file: Path, n: int, question: Sequence[str], limit: float) -> float | None:
    command = [sys.executable, "-m", "cplc", "verify", str(file), "-D", f"customers={n}", "--no-cache", *question]
    runs = [measured([*command, "--format", "concise"], limit) for _ in range(_RUNS)]
    if all(run.is_late for run in runs):
        return None
    wrong = [run.output for run in runs if not run.is_late and " holds " not in run.output]
    if wrong:
        raise AssertionError(f"{file.name}, n = {n}: {wrong[0]}")
    return min(run.processor for run in runs if not run.is_late)


def _nusmv(n: int, limit: float) -> float | None:
    program = os.environ.get("CPLC_NUSMV", "")
    if not program:
        return None
    runs = []
    for _ in range(_RUNS):
        verdicts, run = nusmv_verdicts(program, n, 2, limit)
        if run.is_late:
            return None
        if verdicts != [True] * n:
            raise AssertionError(f"NuSMV, n = {n}: {run.output}")
        runs.append(run)
    return min(run.processor for run in runs)


def rows(sizes: Sequence[int], limit: float) -> Iterator[Row]:
    """Measure each size."""
    for n in sizes:
        untimed = _ours(UNTIMED, n, ["--formula", formula(None), "--assuming", "all"], limit)
        timed = _ours(TIMED, n, ["--formula", formula(2), "--assuming", "all within 1"], limit)
        yield Row(n, untimed, timed, _nusmv(n, limit))


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.timed", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="numbers of customers")
    parser.add_argument("--limit", type=float, default=100.0, help="seconds of a processor for one question")
    options = parser.parse_args()
    print(f"{'n':>3} {'untimed':>9} {'timed':>9} {'ratio':>7} {'NuSMV':>9}")
    for row in rows(options.sizes, options.limit):
        ratio = "–" if row.ratio is None else f"{row.ratio:.2f}"
        print(f"{row.n:>3} {_shown(row.untimed)} {_shown(row.timed)} {ratio:>7} {_shown(row.nusmv)}", flush=True)
    return 0


def _shown(seconds: float | None) -> str:
    return f"{'–':>9}" if seconds is None else f"{seconds:7.2f} s"


if __name__ == "__main__":
    sys.exit(main())
