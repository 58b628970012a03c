"""Specifications for NuSMV, which has one set of fairness constraints for a whole file.

CTL formulas with finite evidence do not depend on justice. All other formulas require that the file's assumption is
their own or, in LTL, get additional assumptions as a premise: ``(G F a & G F b) -> …``. An existential property is
exported as its negation in LTL; with one initial state exactly one of the two holds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal

from cplc.export.ctl_star_to_ctl import to_ctl
from cplc.export.fairness import FairSystem, fair_system, needs_fairness, to_ltl
from cplc.export.request import ExportedFormula, NotExpressible
from cplc.logic.formulas import Formula, Not
from cplc.records import dataclass
from cplc.system.model import System

NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Translation:
    """A question with its translations."""

    question: ExportedFormula
    is_fair: bool
    """The truth of the formula may depend on fairness."""
    ctl: str | None
    ltl: str | None
    is_negated: bool
    """The LTL formula is the negation."""
    obstacle: str
    """Construct that neither logic can express; empty if one can."""


@dataclass(frozen=True, slots=True)
class Specification:
    question: ExportedFormula
    logic: Literal["CTL", "LTL"]
    text: str
    additional_roles: frozenset[str] = NOBODY
    """Assumed roles beyond those of the file."""
    is_negated: bool = False
    """The file contains the negation."""


@dataclass(frozen=True, slots=True)
class ExportPlan:
    fair: FairSystem
    assuming: frozenset[str]
    """Roles that the fairness constraints of the file assume."""
    is_fair: bool
    """The file has fairness constraints."""
    specifications: tuple[Specification, ...]
    left_out: tuple[str, ...]


Translator = Callable[[Formula], str]
"""Translates a formula, or raises `NotExpressible`."""


def plan_export(system: System, formulas: Sequence[ExportedFormula], ctl: Translator, ltl: Translator) -> ExportPlan:
    """Choose the fairness assumption with the fewest omissions; return the specifications under it."""
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
    except NotExpressible as problem:
        return None, str(problem)


def _specification(system: System, translation: Translation, assuming: frozenset[str]) -> Specification | None:
    """Return the specification in a file that assumes these roles; None if there is none."""
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
        return f"{name}: {translation.obstacle} cannot be expressed"
    theirs, ours = (", ".join(sorted(roles)) or "nobody" for roles in (translation.question.assuming, assuming))
    return (
        f"{name}: assumes {theirs}, but the fairness constraints of the file assume {ours}; "
        f"export it alone with --property {translation.question.name}"
    )
