"""Justice as conditions on states, for targets whose fairness speaks of nothing else.

A justice is met where none of its steps is enabled, or by taking one. Where taking one always leads to a state in
which none is enabled, "infinitely often not enabled" says the same: who takes one infinitely often comes to such
states infinitely often. Otherwise a bit is added that flips with these steps and nothing else, and "infinitely often
set or not enabled" together with "infinitely often clear or not enabled" says it: if the steps stay enabled from some
point on, both together ask for infinitely many flips.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cplc.export.expression_simplify import Domains, is_unsatisfiable, substitute
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice, Step, System, Variable


@dataclass(frozen=True, slots=True)
class JusticeCondition:
    """What must hold infinitely often."""

    purpose: str
    role: str | None
    """The role that must be assumed to keep going; None where it always holds."""
    holds: Expr


@dataclass(frozen=True)
class FairSystem:
    """A system in which fairness is a matter of states."""

    system: System
    """The system itself, or with bits added; these belong to ``Env`` and nobody sees them."""
    bits: tuple[str, ...] = ()
    conditions: tuple[JusticeCondition, ...] = ()

    def met(self, assuming: frozenset[str]) -> tuple[tuple[str, Expr], ...]:
        """Return what holds infinitely often when these roles keep going, each with what it is for."""
        return tuple((c.purpose, c.holds) for c in self.conditions if c.role is None or c.role in assuming)


def fair_system(system: System, assuming: frozenset[str]) -> FairSystem:
    """Return the system with a condition for all justice that holds when these roles keep going, and all fairness."""
    names = {variable.name for variable in system.variables}
    bits: list[str] = []
    toggled_by: dict[int, list[str]] = {}
    conditions: list[JusticeCondition] = []
    for justice in system.constraints(assuming):
        idle = e.negate(system.enabled(justice))
        if disables_itself(system, justice):
            conditions.append(JusticeCondition(justice.name, justice.role, idle))
            continue
        bit = _fresh(f"taken {justice.name}", {*names, *bits})
        bits.append(bit)
        for index in justice.steps:
            toggled_by.setdefault(index, []).append(bit)
        for flipped in (e.Read(bit), e.Not(e.Read(bit))):
            purpose = f"{justice.name}, again and again"
            conditions.append(JusticeCondition(purpose, justice.role, e.disj((flipped, idle))))
    conditions += (JusticeCondition("fairness", None, condition) for condition in system.fairness)
    return FairSystem(_with_toggles(system, bits, toggled_by), tuple(bits), tuple(conditions))


def disables_itself(system: System, justice: Justice) -> bool:
    """Whether none of its steps is ever enabled right after one of them was taken."""
    enabled = system.enabled(justice)
    return all(is_unsatisfiable(*_enabled_next(system, system.steps[index], enabled)) for index in justice.steps)


def _enabled_next(system: System, step: Step, condition: Expr) -> tuple[Expr, Domains]:
    """Return that the step is possible and the condition true after it, and the domains of what is read there."""
    domains = {variable.name: variable.domain for variable in system.variables}
    chosen = {name: _fresh(f"{name}'", set(domains)) for name in step.free}
    after: dict[str, Expr] = dict(step.updates) | {name: e.Read(later) for name, later in chosen.items()}
    choices = {later: system.variable[name].initial for name, later in chosen.items()}
    return e.conj((step.guard, substitute(condition, after))), domains | choices


def _with_toggles(system: System, bits: Sequence[str], toggled_by: Mapping[int, Sequence[str]]) -> System:
    if not bits:
        return system
    added = tuple(Variable(bit, (False, True), (False,), "parity", "Env", bit) for bit in bits)
    steps = tuple(
        replace(step, updates=(*step.updates, *((bit, e.Not(e.Read(bit))) for bit in toggled_by.get(index, ()))))
        for index, step in enumerate(system.steps)
    )
    return replace(system, variables=(*system.variables, *added), steps=steps)


def _fresh(name: str, taken: set[str]) -> str:
    while name in taken:
        name += "'"
    return name


# --- which formulas ask for fair runs


def needs_fairness(system: System, formula: Formula) -> bool:
    """Whether it can make a difference that only fair runs count.

    Every justice can be met from every state, by taking its steps in turn. So without ``fairness`` in the file every
    finite beginning of a run is that of a fair run, and what CTL says of finitely many steps needs no fair run. With
    it, everything said of runs does.
    """
    return any(_depends_on_fairness(system, part) for part in f.subformulas(formula))


def _depends_on_fairness(system: System, part: Formula) -> bool:
    match part:
        case f.Enforces():
            return True
        case f.OnPaths() if system.fairness:
            return True
        case f.OnPaths(quantifier, path):
            return not _has_finite_evidence(quantifier, f.ctl_path(part)) and not f.is_state_formula(path)
        case _:
            return False


def _has_finite_evidence(quantifier: str, path: f.Path | None) -> bool:
    """Whether a run that does what ``E`` asks, or breaks what ``A`` asks, has done so after finitely many steps."""
    match path:
        case f.Next():
            return True
        case f.Finally(_, bound) | f.Until(_, _, bound):
            return quantifier == "E" or bound is not None
        case f.Globally(_, bound):
            return quantifier == "A" or bound is not None
        case f.WeakUntil() | f.Release():
            return quantifier == "A"
        case None:
            return False


# --- formulas of linear time


def to_ltl(formula: Formula) -> Formula | None:
    """Return a path formula that every run from a state satisfies iff the state satisfies this; None if unknown.

    Besides ``A`` over anything without quantifiers inside these are the deterministic formulas of ACTL (Maidl, 2000):
    there ``A`` can be dropped throughout, because at most one of the operands of an alternative speaks of runs, and a
    condition on states tells when it is that operand's turn.
    """
    match formula:
        case f.Atom():
            return formula
        case f.OnPaths("A", path, None) if _has_no_quantifier(path):
            return path
        case f.Not(f.OnPaths("E", path, None)) if _has_no_quantifier(path):
            return f.Not(path)
        case f.And(operands):
            translated = [to_ltl(operand) for operand in operands]
            return None if None in translated else f.And(tuple(part for part in translated if part is not None))
        case f.Implies(left, right) if _is_boolean(left):
            return _over(formula, (left, to_ltl(right)))
        case f.Or(operands) if sum(not _is_boolean(operand) for operand in operands) <= 1:
            return _over(formula, [part if _is_boolean(part) else to_ltl(part) for part in operands])
        case f.OnPaths("A", path, None):
            return _linear_path(path)
        case _ if _is_boolean(formula):
            return formula
        case _:
            return None


def _linear_path(path: Formula) -> Formula | None:
    """Return what is said of a run with the quantifiers in it dropped; with past in it they could not be."""
    if any(isinstance(part, f.Past) for part in f.subformulas(path)):
        return None
    match path:
        case f.Next(operand) | f.Globally(operand):
            return _over(path, (to_ltl(operand),))
        case f.Finally(operand) if _is_boolean(operand):
            return path
        case f.Until(left, right) | f.WeakUntil(left, right) if _is_boolean(right):
            return _over(path, (to_ltl(left), right))
        case f.Release(left, right) if _is_boolean(left):
            return _over(path, (left, to_ltl(right)))
        case _ if f.is_state_formula(path):
            return to_ltl(path)
        case _:
            return None


def _over(formula: Formula, operands: Sequence[Formula | None]) -> Formula | None:
    defined = tuple(operand for operand in operands if operand is not None)
    return f.with_children(formula, defined) if len(defined) == len(operands) else None


def _is_boolean(formula: Formula) -> bool:
    """Whether it is a Boolean combination of conditions on the present state."""
    match formula:
        case f.Atom():
            return True
        case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
            return all(map(_is_boolean, f.children(formula)))
        case _:
            return False


def _has_no_quantifier(path: Formula) -> bool:
    return not any(
        isinstance(part, f.OnPaths | f.Enforces | f.Commits | f.Fulfils | f.Conditional | f.KnownFrom | f.Knows)
        for part in f.subformulas(path)
    )
