"""How each question is asked of NuSMV, which knows one fairness for a whole file.

What CTL says of finitely many steps is the same under any justice. Everything else needs the file's fairness to be
its own; or, where it can be said in LTL, what it assumes beyond that stands before it: ``(G F a & G F b) -> …``.
What some run does is asked as its negation, which LTL can say of all runs: with one initial state each of the two holds
where the other fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from cplc.export.ctl_star_to_ctl import branching
from cplc.export.fairness import FairSystem, fair_system, linear, needs_fairness
from cplc.export.request import ExportedFormula
from cplc.export.smv_logic import Unsaid
from cplc.logic.formulas import Formula, Not
from cplc.records import dataclass
from cplc.system.model import System

NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Asking:
    """One question as it can be asked."""

    question: ExportedFormula
    is_fair: bool
    """Whether fairness can make a difference."""
    ctl: str | None
    ltl: str | None
    is_negated: bool
    """Whether LTL says the negation."""
    hindrance: str
    """Why neither of them says it, if so."""


@dataclass(frozen=True, slots=True)
class Asked:
    question: ExportedFormula
    logic: Literal["CTL", "LTL"]
    text: str
    beyond: frozenset[str] = NOBODY
    """Whom it assumes besides those whom the file assumes."""
    is_negated: bool = False
    """Whether the file asks the negation."""


@dataclass(frozen=True, slots=True)
class Plan:
    fair: FairSystem
    assuming: frozenset[str]
    """Whom the fairness of the file assumes."""
    is_fair: bool
    """Whether the file says anything of fairness."""
    asked: tuple[Asked, ...]
    left_out: tuple[str, ...]


Say = Callable[[Formula], str]
"""Writes a formula, or raises `Unsaid`."""


def plan(system: System, formulas: Sequence[ExportedFormula], ctl: Say, ltl: Say) -> Plan:
    """Choose the fairness that leaves out least, and say how each question is asked under it."""
    ways = [_asking(system, formula, ctl, ltl) for formula in formulas]
    fair_ones = [way for way in ways if way.is_fair and not way.hindrance]
    sets = list(dict.fromkeys(way.question.assuming for way in fair_ones))
    candidates = [frozenset.intersection(*sets), *sets] if sets else [NOBODY]
    assuming = max(candidates, key=lambda roles: sum(_asked(system, way, roles) is not None for way in ways))
    asked = [_asked(system, way, assuming) for way in ways]
    written = tuple(one for one in asked if one is not None)
    is_fair = any(way.is_fair for way, one in zip(ways, asked, strict=True) if one is not None)
    everybody = assuming.union(*(one.beyond for one in written))
    return Plan(
        fair_system(system, everybody) if is_fair else FairSystem(system),
        assuming,
        is_fair,
        written,
        tuple(_why(way, assuming) for way, one in zip(ways, asked, strict=True) if one is None),
    )


def _asking(system: System, question: ExportedFormula, say_ctl: Say, say_ltl: Say) -> Asking:
    branched = branching(question.formula, always_goes_on=not system.fairness)
    ctl, hindrance = _said(say_ctl, branched)
    path, is_negated = linear(question.formula), False
    if path is None and ctl is None and _starts_in_one_state(system):
        path, is_negated = linear(Not(question.formula)), True
    ltl, _ = _said(say_ltl, path) if path is not None else (None, "")
    is_fair = ctl is None or needs_fairness(system, branched)
    return Asking(question, is_fair, ctl, ltl, is_negated, hindrance if ctl is None and ltl is None else "")


def _starts_in_one_state(system: System) -> bool:
    return all(len(variable.initial) == 1 for variable in system.variables)


def _said(say: Say, formula: Formula) -> tuple[str | None, str]:
    try:
        return say(formula), ""
    except Unsaid as problem:
        return None, str(problem)


def _asked(system: System, way: Asking, assuming: frozenset[str]) -> Asked | None:
    """Return how it is asked in a file that assumes these, if it can be."""
    wanted = way.question.assuming
    beyond = _names(system, wanted) - _names(system, assuming)
    if way.ctl is not None and (not way.is_fair or _names(system, wanted) == _names(system, assuming)):
        return Asked(way.question, "CTL", way.ctl)
    if way.ltl is not None and _names(system, wanted) >= _names(system, assuming):
        return Asked(way.question, "LTL", way.ltl, wanted - assuming if beyond else NOBODY, way.is_negated)
    return None


def _names(system: System, assuming: frozenset[str]) -> frozenset[str]:
    return frozenset(justice.name for justice in system.constraints(assuming))


def _why(way: Asking, assuming: frozenset[str]) -> str:
    name = f"`{way.question.name}`"
    if way.hindrance:
        return f"{name}, for it has {way.hindrance}"
    theirs, ours = (", ".join(sorted(roles)) or "nobody" for roles in (way.question.assuming, assuming))
    return (
        f"{name}, which assumes {theirs} where the file assumes {ours}; --property {way.question.name} exports it alone"
    )
