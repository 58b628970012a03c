"""Print how often MCMAS+ agrees on commitments: ``python -m tests.reference_tools.commitments_table [MODELS]``.

A line for each operator: on how many random models both gave a verdict, on how many the verdicts differ, and the
smallest model on which they do. ``CPLC_MCMAS_PLUS`` names the program.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from tests.reference_tools.mcmas import MCMAS_PLUS, ask_partially
from tests.support.generators.ispl_commitments import OPERATORS, commitment_model

from cplc.compilation import IsplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.source import Source


@dataclass(frozen=True)
class Compared:
    """The verdicts of both programs on one formula of one model."""

    operator: str
    formula: str
    ours: bool
    theirs: bool
    states: int
    text: str


def compared(chance: Random) -> Iterator[Compared]:
    """Compare both on a random model; yield nothing for erroneous, empty or too large models."""
    text, formulas = commitment_model(chance)
    reading = IsplCompilation(Source("model.ispl", text))
    if not reading.ok:
        return
    engine = ExplicitEngine(reading.system)
    if engine.is_empty(engine.initial):
        return
    try:
        _, theirs, _ = ask_partially(text, seconds=20, program=MCMAS_PLUS)
    except subprocess.TimeoutExpired:
        return
    if len(theirs) != len(formulas):
        return
    states = engine.count(engine.reachable)
    for (operator, formula), one, verdict in zip(formulas, reading.questions(), theirs, strict=False):
        yield Compared(operator, formula, engine.is_valid(one.question.formula), verdict, states, text)


def main(models: int) -> None:
    """Write a line for each operator, then the smallest models on which verdicts differ."""
    comparisons = [one for seed in range(models) for one in compared(Random(seed))]
    asked_of = Counter(one.operator for one in comparisons)
    differ = [one for one in comparisons if one.ours != one.theirs]
    sys.stdout.write("operator   asked  differ\n")
    for operator in OPERATORS:
        different = sum(one.operator == operator for one in differ)
        sys.stdout.write(f"{operator:<8} {asked_of[operator]:>7} {different:>7}\n")
    for operator in OPERATORS:
        smallest = min((one for one in differ if one.operator == operator), key=lambda one: one.states, default=None)
        if smallest is not None:
            sys.stdout.write(f"\n{smallest.formula}: {smallest.ours}, MCMAS+ says {smallest.theirs}\n{smallest.text}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
