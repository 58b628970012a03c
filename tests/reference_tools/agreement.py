"""Random comparison with other model checkers: counts of reachable states, and verdicts on random formulas.

``python -m tests.reference_tools.agreement --minutes 30 --seed 1`` draws protocols with properties, and systems with
formulas, exports them to every tool that the environment names (`CPLC_MCMAS`, `CPLC_NUSMV`, `CPLC_NUSMV_ARCTL`), and
compares the tool's verdicts with ours. Disagreements are shrunk by Hypothesis and printed; the run continues.
`test_exports.py` makes some of the same comparisons.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from time import monotonic

from hypothesis import strategies as st
from tests.agreement import MODALITIES, Disagreement, Figures, run
from tests.reference_tools.judges import JUDGES, Judge
from tests.reference_tools.tool_answer import printed_count
from tests.support.generators.logic_formulas import operators
from tests.support.generators.property_formulas import protocols
from tests.support.generators.systems import roles, systems

from cplc.compilation import BoundQuestion, CplCompilation, count_reachable
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export import ExportedFormula, Origin, Request, export
from cplc.logic.formulas import And, OnPaths
from cplc.source import Source

BATCH = 5
"""Number of protocols, or systems, per seed; a disagreement ends a batch."""
SECONDS = 5.0
"""Time limit of a tool for one file."""
FORMULAS = 4
"""Number of formulas per system or protocol."""
EXTRA_STATES = ("toggle bit", "History bits")
"""Phrases of exported headers that announce additional states for fairness."""


def compare_counts(judge: Judge, request: Request, seconds: float = 120) -> None:
    """Compare the number of states of the export without formulas, unless fairness adds variables."""
    text = export(judge.target, replace(request, formulas=())).text
    if not any(comment in text for comment in EXTRA_STATES):
        counted, expected = judge.ask(text, seconds=seconds).states, printed_count(count_reachable(request.system))
        if counted not in (None, expected):
            raise Disagreement(f"{judge.name} counts {counted} states instead of {expected}\n{text}")


def compare_verdicts(
    judge: Judge, compilation: CplCompilation, questions: tuple[BoundQuestion, ...], seconds: float = 120
) -> dict[str, bool]:
    """Compare the verdicts of the formulas that one file can contain, and return them."""
    exported = compilation.export(judge.target, questions)
    assert len(exported.written) + len(exported.notes) == len(questions)
    try:
        theirs = judge.verdicts(exported, seconds=seconds)
    except subprocess.TimeoutExpired:
        if len(questions) == 1:
            raise
        apart = (compare_verdicts(judge, compilation, (one,), seconds) for one in questions)
        return {name: verdict for verdicts in apart for name, verdict in verdicts.items()}
    for result in compilation.verify([one for one in questions if one.question.name in theirs]):
        name = result.question.name
        if result.answer == "unknown" and "fair run begins in an initial state" in (result.reason or ""):
            del theirs[name]  # the tool's answer is about no run
        elif result.answer == "unknown" or theirs[name] != (result.answer != "fails"):
            raise Disagreement(
                f"{judge.name} says {theirs[name]} of {name}, which {result.answer} ({result.reason})\n{exported.text}"
            )
    return theirs


def compare_protocol(
    judge: Judge, compilation: CplCompilation, questions: tuple[BoundQuestion, ...], seconds: float = 120
) -> dict[str, bool]:
    """Compare the number of states and the verdict of every expressible formula; return the verdicts."""
    compare_counts(judge, compilation.to_be_exported(questions), seconds)
    verdicts = compare_verdicts(judge, compilation, questions, seconds)
    for one in questions:
        if one.question.name not in verdicts:
            verdicts |= compare_verdicts(judge, compilation, (one,), seconds)
    return verdicts


def compare_system(judge: Judge, request: Request, seconds: float = 20) -> dict[str, bool]:
    """Compare a system with its formulas; return the verdicts that do not depend on states without fair runs."""
    engine = ExplicitEngine(request.system)
    compare_counts(judge, request, seconds)
    theirs = judge.verdicts(export(judge.target, request), seconds=seconds)
    compared = {}
    for one in request.formulas:
        if one.name in theirs and (judge.empty_quantifiers or some_run_begins(engine, one.assuming)):
            compared[one.name] = theirs[one.name]
            if theirs[one.name] != engine.is_valid(one.formula, one.assuming):
                raise Disagreement(f"{judge.name} says {theirs[one.name]} of {one}\n{request}")
    return compared


def some_run_begins(engine: ExplicitEngine, assuming: frozenset[str]) -> bool:
    """Tell whether every initial state has a fair run; otherwise tools differ in semantics."""
    begins = engine.satisfying(OnPaths("E", And(())), assuming)
    return engine.is_empty(engine.difference(engine.initial, begins))


# --- long runs


def protocols_compared(judge: Judge, figures: Figures) -> Callable[[st.DataObject], None]:
    def compare(data: st.DataObject) -> None:
        sample = data.draw(protocols(formula_count=FORMULAS, commitments=data.draw(st.booleans())))
        compilation = CplCompilation(Source("generated.cpl", sample.text))
        if not compilation.ok:
            raise Disagreement("\n".join([*(d.concise() for d in compilation.diagnostics), sample.text]))
        questions = tuple(one for one in compilation.questions() if one.question.kind == "property")
        if not judge.empty_quantifiers and any(one.system.fairness for one in questions):
            return
        try:
            with figures.timed(judge.name):
                verdicts = compare_protocol(judge, compilation, questions, SECONDS)
        except subprocess.TimeoutExpired:
            figures.unknown[f"{judge.name}: too long"] += 1
            return
        except Disagreement as apart:
            raise Disagreement(f"{apart}\n{sample.text}") from None
        _count(figures, f"protocols, {judge.name}", verdicts)
        figures.states += count_reachable(compilation.system)
        for number, formula in enumerate(sample.formulas):
            if f"p{number}" in verdicts:
                figures.operators.update(set(MODALITIES.findall(formula)))

    return compare


def systems_compared(judge: Judge, figures: Figures) -> Callable[[st.DataObject], None]:
    def compare(data: st.DataObject) -> None:
        system = data.draw(systems())
        drawn = [data.draw(st.tuples(judge.formulas(system), roles(system))) for _ in range(FORMULAS)]
        formulas = [ExportedFormula(f"f{n}", formula, "", assuming) for n, (formula, assuming) in enumerate(drawn)]
        try:
            with figures.timed(judge.name):
                verdicts = compare_system(judge, Request(system, formulas, Origin("-", "0")), SECONDS)
        except subprocess.TimeoutExpired:
            figures.unknown[f"{judge.name}: too long"] += 1
            return
        _count(figures, f"systems, {judge.name}", verdicts)
        figures.states += count_reachable(system)
        for one in formulas:
            if one.name in verdicts:
                figures.operators.update(set(operators(one.formula)))

    return compare


def _count(figures: Figures, kind: str, verdicts: dict[str, bool]) -> None:
    figures.pairs += len(verdicts)
    figures.formulas += len(verdicts)
    figures.verdicts.update(f"{kind}: {str(verdict).lower()}" for verdict in verdicts.values())


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reference_tools.agreement", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="duration of the run")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tools", nargs="*", choices=[judge.name for judge in JUDGES], help="all by default")
    parser.add_argument("--only", choices=["protocols", "systems"])
    options = parser.parse_args(arguments)
    judges = [judge for judge in JUDGES if judge.program and (not options.tools or judge.name in options.tools)]
    for judge in JUDGES:
        if not judge.program and (not options.tools or judge.name in options.tools):
            sys.stderr.write(f"{judge.name} is skipped: no variable of the environment names the program\n")
    figures, number, begin = Figures(), options.seed * 1_000_003, monotonic()
    kinds = [
        kind
        for name, kind in (("protocols", protocols_compared), ("systems", systems_compared))
        if options.only in (None, name)
    ]
    while judges and monotonic() - begin < 60 * options.minutes:
        for judge in judges:
            for kind in kinds:
                run(kind(judge, figures), BATCH, number, figures)
                number += 1
        sys.stderr.write(f"\r{figures.pairs} pairs, {len(figures.disagreements)} disagreements ")
        sys.stderr.flush()
    sys.stderr.write("\n")
    sys.stdout.write("\n".join(figures.lines()) + "\n")
    return 1 if figures.disagreements else 0


if __name__ == "__main__":
    raise SystemExit(main())
