"""Specifications for NuSMV, which has one set of fairness constraints for a whole file.

CTL formulas with finite evidence do not depend on justice. All other formulas require that the file's assumption is
their own or, in LTL, get additional assumptions as a premise: ``(G F a & G F b) -> …``. An existential property is
exported as its negation in LTL; with one initial state exactly one of the two holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal, assert_never

from cplc.export.fairness import FairSystem, fair_system, needs_fairness, to_ltl
from cplc.export.request import ExportedFormula, NotExpressible
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula, Not
from cplc.records import dataclass
from cplc.system.model import System

# --- Translation of CTL* formulas to CTL by distribution laws: ``E (p & X (q | F r))`` is ``p & EX (q | EF r)``
#
# Every finite prefix of a run can be extended by every fair run from its last state. So ``E`` distributes over ``X``,
# ``F``, the right operand of ``U``, disjunctions, and conjunctions with state formulas. Other formulas are unchanged.


def to_ctl(formula: Formula, *, all_states_fair: bool) -> Formula:
    """Return an equivalent formula, in CTL where the laws suffice.

    ``all_states_fair``: a fair run starts in every state.
    """
    parts = tuple(to_ctl(child, all_states_fair=all_states_fair) for child in f.children(formula))
    rebuilt = f.with_children(formula, parts) if parts else formula
    if not isinstance(rebuilt, f.OnPaths) or rebuilt.along is not None or f.ctl_path(rebuilt) is not None:
        return rebuilt
    quantifier, path = rebuilt.quantifier, rebuilt.path
    if f.is_state_formula(path):
        return path if all_states_fair else rebuilt
    laws = _Distribution(all_states_fair)
    rewritten = laws.exists(path if quantifier == "E" else _not(path))
    if rewritten is None:
        return rebuilt
    return rewritten if quantifier == "E" else f.Not(rewritten)


class _Distribution:
    def __init__(self, all_states_fair: bool) -> None:
        self._always_goes_on = all_states_fair

    def exists(self, path: Formula) -> Formula | None:
        """Return a CTL formula equivalent to ``E path``; None if the laws do not suffice."""
        if f.is_state_formula(path):
            return path if self._always_goes_on else f.OnPaths("E", path)
        match path:
            case f.Not(operand):
                inside = _not(operand)
                return None if isinstance(inside, f.Not) else self.exists(inside)
            case f.And(operands):
                return self._conjunction(operands)
            case f.Or(operands):
                return _joined(f.Or, map(self.exists, operands))
            case f.Implies(left, right):
                return self.exists(f.Or((f.Not(left), right)))
            case f.Next(operand) | f.Finally(operand):
                return self._rebuilt(path, (operand,))
            case f.Globally(operand):
                return f.OnPaths("E", path) if f.is_state_formula(operand) else None
            case f.Until(left, right) if f.is_state_formula(left):
                return self._rebuilt(path, (left, right))
            case f.WeakUntil(left, right, None):
                if not f.is_state_formula(left):
                    return None
                return _joined(f.Or, (self.exists(f.Until(left, right)), f.OnPaths("E", f.Globally(left))))
            case f.Release(left, right, None) if f.is_state_formula(right):
                return self.exists(f.WeakUntil(right, f.And((right, left))))
            case f.Derived():
                return self.exists(path.definition)
            case f.PathOperator():
                return None
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{path} is a state formula")
            case _:
                assert_never(path)

    def _rebuilt(self, path: Formula, operands: tuple[Formula, ...]) -> Formula | None:
        """Distribute ``E`` over the operator to its last operand."""
        last = self.exists(operands[-1])
        return None if last is None else f.OnPaths("E", f.with_children(path, (*operands[:-1], last)))

    def _conjunction(self, operands: tuple[Formula, ...]) -> Formula | None:
        flat = [part for operand in operands for part in _conjuncts(operand)]
        now = [part for part in flat if f.is_state_formula(part)]
        nexts = [part.operand for part in flat if isinstance(part, f.Next)]
        path_formulas = [part for part in flat if not f.is_state_formula(part) and not isinstance(part, f.Next)]
        always = [part.operand for part in path_formulas if isinstance(part, f.Globally) and part.bound is None]
        if len(always) == len(path_formulas) > 1:
            path_formulas = [f.Globally(f.And(tuple(always)))]
        match nexts, path_formulas:
            case _, []:
                later = self.exists(f.Next(f.And(tuple(nexts))))
            case [], [other]:
                later = self.exists(other)
            case _:
                later = None
        return _joined(f.And, (*now, later))


def _conjuncts(path: Formula) -> tuple[Formula, ...]:
    """Return the conjuncts, with negations pushed inwards."""
    pushed = _not(path.operand) if isinstance(path, f.Not) and not f.is_state_formula(path) else path
    if isinstance(pushed, f.And):
        return tuple(part for operand in pushed.operands for part in _conjuncts(operand))
    return (pushed,)


def _joined(kind: type[f.And | f.Or], parts: Iterable[Formula | None]) -> Formula | None:
    operands = tuple(parts)
    defined = tuple(part for part in operands if part is not None)
    return kind(defined) if len(defined) == len(operands) else None


def _not(path: Formula) -> Formula:
    """Return the negation, pushed below one operator where a dual exists."""
    if f.is_state_formula(path):
        return f.Not(path)
    match path:
        case f.Not(operand):
            return operand
        case f.And(operands):
            return f.Or(tuple(map(_not, operands)))
        case f.Or(operands):
            return f.And(tuple(map(_not, operands)))
        case f.Implies(left, right):
            return f.And((left, _not(right)))
        case f.Iff(left, right):
            return f.Or((f.And((left, _not(right))), f.And((_not(left), right))))
        case f.Next(operand):
            return f.Next(_not(operand))
        case f.Finally(operand, bound):
            return f.Globally(_not(operand), bound)
        case f.Globally(operand, bound):
            return f.Finally(_not(operand), bound)
        case f.Until(left, right, None):
            return f.WeakUntil(_not(right), f.And((_not(left), _not(right))))
        case f.WeakUntil(left, right, None):
            return f.Until(_not(right), f.And((_not(left), _not(right))))
        case f.Release(left, right, None):
            return f.Until(_not(left), _not(right))
        case f.PathOperator() | f.Shorthand():
            return f.Not(path)
        case f.Derived():
            return _not(path.definition)
        case f.Atom() | f.StateOperator():
            raise AssertionError(f"{path} is a state formula")
        case _:
            assert_never(path)


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
