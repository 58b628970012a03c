"""How each question is asked of NuSMV, which knows one fairness for a whole file.

What CTL says of finitely many steps is the same under any justice. Everything else needs the file's fairness to be
its own; or, where it can be said in LTL, what it assumes beyond that stands before it: ``(G F a & G F b) -> …``.
What some run does is asked as its negation, which LTL can say of all runs: with one initial state each of the two holds
where the other fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from cplc.export.ctl_star_to_ctl import to_ctl
from cplc.export.fairness import FairSystem, fair_system, needs_fairness, to_ltl
from cplc.export.request import ExportedFormula
from cplc.export.smv_formulas import Unsaid
from cplc.logic.formulas import Formula, Not
from cplc.records import dataclass
from cplc.system.model import System

NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Translation:
    """One question as it can be asked."""

    question: ExportedFormula
    is_fair: bool
    """Whether fairness can make a difference."""
    ctl: str | None
    ltl: str | None
    is_negated: bool
    """Whether LTL says the negation."""
    obstacle: str
    """Why neither of them says it, if so."""


@dataclass(frozen=True, slots=True)
class Specification:
    question: ExportedFormula
    logic: Literal["CTL", "LTL"]
    text: str
    additional_roles: frozenset[str] = NOBODY
    """Whom it assumes besides those whom the file assumes."""
    is_negated: bool = False
    """Whether the file asks the negation."""


@dataclass(frozen=True, slots=True)
class ExportPlan:
    fair: FairSystem
    assuming: frozenset[str]
    """Whom the fairness of the file assumes."""
    is_fair: bool
    """Whether the file says anything of fairness."""
    asked: tuple[Specification, ...]
    left_out: tuple[str, ...]


Translator = Callable[[Formula], str]
"""Writes a formula, or raises `Unsaid`."""


def plan_export(system: System, formulas: Sequence[ExportedFormula], ctl: Translator, ltl: Translator) -> ExportPlan:
    """Choose the fairness that leaves out least, and say how each question is asked under it."""
    translations = [_translate(system, formula, ctl, ltl) for formula in formulas]
    fair_ones = [translation for translation in translations if translation.is_fair and not translation.obstacle]
    sets = list(dict.fromkeys(translation.question.assuming for translation in fair_ones))
    candidates = [frozenset.intersection(*sets), *sets] if sets else [NOBODY]
    assuming = max(
        candidates,
        key=lambda roles: sum(_specification(system, translation, roles) is not None for translation in translations),
    )
    specifications = [_specification(system, translation, assuming) for translation in translations]
    written = tuple(one for one in specifications if one is not None)
    is_fair = any(
        translation.is_fair for translation, one in zip(translations, specifications, strict=True) if one is not None
    )
    everybody = assuming.union(*(one.additional_roles for one in written))
    return ExportPlan(
        fair_system(system, everybody) if is_fair else FairSystem(system),
        assuming,
        is_fair,
        written,
        tuple(
            _omission_note(translation, assuming)
            for translation, one in zip(translations, specifications, strict=True)
            if one is None
        ),
    )


def _translate(system: System, question: ExportedFormula, say_ctl: Translator, say_ltl: Translator) -> Translation:
    branched = to_ctl(question.formula, all_states_fair=not system.fairness)
    ctl, obstacle = _attempt(say_ctl, branched)
    path, is_negated = to_ltl(question.formula), False
    if path is None and ctl is None and _starts_in_one_state(system):
        path, is_negated = to_ltl(Not(question.formula)), True
    ltl, _ = _attempt(say_ltl, path) if path is not None else (None, "")
    is_fair = ctl is None or needs_fairness(system, branched)
    return Translation(question, is_fair, ctl, ltl, is_negated, obstacle if ctl is None and ltl is None else "")


def _starts_in_one_state(system: System) -> bool:
    return all(len(variable.initial) == 1 for variable in system.variables)


def _attempt(say: Translator, formula: Formula) -> tuple[str | None, str]:
    try:
        return say(formula), ""
    except Unsaid as problem:
        return None, str(problem)


def _specification(system: System, translation: Translation, assuming: frozenset[str]) -> Specification | None:
    """Return how it is asked in a file that assumes these, if it can be."""
    assumed = translation.question.assuming
    additional_roles = _justice_names(system, assumed) - _justice_names(system, assuming)
    if translation.ctl is not None and (
        not translation.is_fair or _justice_names(system, assumed) == _justice_names(system, assuming)
    ):
        return Specification(translation.question, "CTL", translation.ctl)
    if translation.ltl is not None and _justice_names(system, assumed) >= _justice_names(system, assuming):
        return Specification(
            translation.question,
            "LTL",
            translation.ltl,
            assumed - assuming if additional_roles else NOBODY,
            translation.is_negated,
        )
    return None


def _justice_names(system: System, assuming: frozenset[str]) -> frozenset[str]:
    return frozenset(justice.name for justice in system.constraints(assuming))


def _omission_note(translation: Translation, assuming: frozenset[str]) -> str:
    name = f"`{translation.question.name}`"
    if translation.obstacle:
        return f"{name}, for it has {translation.obstacle}"
    theirs, ours = (", ".join(sorted(roles)) or "nobody" for roles in (translation.question.assuming, assuming))
    return (
        f"{name}, which assumes {theirs} where the file assumes {ours}; "
        f"--property {translation.question.name} exports it alone"
    )
