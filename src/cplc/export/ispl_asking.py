"""How each question is asked of MCMAS, which knows one fairness for a whole file.

With a `Fairness` section MCMAS drops all states from which no fair run begins, for knowledge and for what is initial
as well. Justice alone can be met from every state, so nothing is dropped and the section says what it should. It holds
what all questions assume that ask for fair runs at all; the rest stands before what a question says of runs, in CTL*:
``A ((G F a) -> …)``. Conditions of the protocol's own ``fairness`` belong to the section only where no question could
tell that states are dropped, and stand before what is said of runs otherwise.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.ispl_logic import Unsaid, reduced
from cplc.export.request import ExportedFormula
from cplc.system import formula as f
from cplc.system.expr import Expr
from cplc.system.formula import Formula
from cplc.system.model import System


@dataclass(frozen=True, slots=True)
class Asked:
    question: ExportedFormula
    formula: Formula
    """In words that MCMAS has."""
    assumed: tuple[tuple[str, Expr], ...]
    """What holds infinitely often beyond what the section says on the runs it speaks of, each with what it is for."""


@dataclass(frozen=True, slots=True)
class Plan:
    fair: FairSystem
    assuming: frozenset[str]
    """Whom the section assumes."""
    section: tuple[tuple[str, Expr], ...]
    """What holds infinitely often on all runs of the file, each with what it is for."""
    asked: tuple[Asked, ...]
    left_out: tuple[str, ...]


def plan(system: System, questions: Sequence[ExportedFormula]) -> Plan:
    """Say how each question is asked, and what it cannot be asked for."""
    said, left_out = [], []
    for question in questions:
        try:
            said.append((question, reduced(question.formula, system)))
        except Unsaid as problem:
            left_out.append(f"`{question.name}`, for it has {problem}")
    fair_ones = [question.assuming for question, formula in said if needs_fairness(system, formula)]
    if not fair_ones:
        asked = tuple(Asked(question, formula, ()) for question, formula in said)
        return Plan(FairSystem(system), frozenset(), (), asked, tuple(left_out))
    fair = fair_system(system, frozenset().union(*fair_ones))
    assuming = frozenset.intersection(*fair_ones)
    section = fair.met(assuming)
    if not all(_cannot_tell(formula) for _, formula in said):
        section = tuple((what, holds) for what, holds in section if holds not in system.fairness)
    met = {holds for _, holds in section}

    def asking(question: ExportedFormula, formula: Formula) -> Asked:
        if not needs_fairness(system, formula):
            return Asked(question, formula, ())
        more = {holds: what for what, holds in fair.met(question.assuming) if holds not in met}
        return Asked(question, formula, tuple((what, holds) for holds, what in more.items()))

    return Plan(fair, assuming, section, tuple(asking(*one) for one in said), tuple(left_out))


def _cannot_tell(formula: Formula) -> bool:
    """Whether nothing changes where states without a fair run are dropped."""
    knowing = any(isinstance(part, f.Knows) for part in f.subformulas(formula))
    return not knowing and _without_runs(formula) is True


def _without_runs(formula: Formula) -> bool | None:
    """Return whether the formula holds where no fair run begins; None if that depends."""
    match formula:
        case f.OnPaths(quantifier):
            return quantifier == "A"
        case f.Not(operand):
            known = _without_runs(operand)
            return None if known is None else not known
        case f.And(operands):
            return _all(map(_without_runs, operands))
        case f.Or(operands):
            known = _all(_without_runs(f.Not(operand)) for operand in operands)
            return None if known is None else not known
        case f.Implies(left, right):
            return _without_runs(f.Or((f.Not(left), right)))
        case _:
            return None


def _all(known: Iterable[bool | None]) -> bool | None:
    found = set(known)
    return False if False in found else None if None in found else True
