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

from cplc.export.expression_simplify import Domains, never, substitute
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice, Step, System, Variable


@dataclass(frozen=True, slots=True)
class Condition:
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
    conditions: tuple[Condition, ...] = ()

    def met(self, assuming: frozenset[str]) -> tuple[tuple[str, Expr], ...]:
        """Return what holds infinitely often when these roles keep going, each with what it is for."""
        return tuple((c.purpose, c.holds) for c in self.conditions if c.role is None or c.role in assuming)


def fair_system(system: System, assuming: frozenset[str]) -> FairSystem:
    """Return the system with a condition for all justice that holds when these roles keep going, and all fairness."""
    names = {variable.name for variable in system.variables}
    bits: list[str] = []
    flipped_by: dict[int, list[str]] = {}
    conditions: list[Condition] = []
    for justice in system.constraints(assuming):
        idle = e.negate(system.enabled(justice))
        if switches_itself_off(system, justice):
            conditions.append(Condition(justice.name, justice.role, idle))
            continue
        bit = _fresh(f"taken {justice.name}", {*names, *bits})
        bits.append(bit)
        for index in justice.steps:
            flipped_by.setdefault(index, []).append(bit)
        for flipped in (e.Read(bit), e.Not(e.Read(bit))):
            purpose = f"{justice.name}, again and again"
            conditions.append(Condition(purpose, justice.role, e.disj((flipped, idle))))
    conditions += (Condition("fairness", None, condition) for condition in system.fairness)
    return FairSystem(_flipping(system, bits, flipped_by), tuple(bits), tuple(conditions))


def switches_itself_off(system: System, justice: Justice) -> bool:
    """Whether none of its steps is ever enabled right after one of them was taken."""
    enabled = system.enabled(justice)
    return all(never(*_afterwards(system, system.steps[index], enabled)) for index in justice.steps)


def _afterwards(system: System, step: Step, condition: Expr) -> tuple[Expr, Domains]:
    """Return that the step is possible and the condition true after it, and the domains of what is read there."""
    domains = {variable.name: variable.domain for variable in system.variables}
    chosen = {name: _fresh(f"{name}'", set(domains)) for name in step.free}
    after: dict[str, Expr] = dict(step.updates) | {name: e.Read(later) for name, later in chosen.items()}
    choices = {later: system.variable[name].initial for name, later in chosen.items()}
    return e.conj((step.guard, substitute(condition, after))), domains | choices


def _flipping(system: System, bits: Sequence[str], flipped_by: Mapping[int, Sequence[str]]) -> System:
    if not bits:
        return system
    added = tuple(Variable(bit, (False, True), (False,), "parity", "Env", bit) for bit in bits)
    steps = tuple(
        replace(step, updates=(*step.updates, *((bit, e.Not(e.Read(bit))) for bit in flipped_by.get(index, ()))))
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
    return any(_asks_for_fair_runs(system, part) for part in f.subformulas(formula))


def _asks_for_fair_runs(system: System, part: Formula) -> bool:
    match part:
        case f.Enforces():
            return True
        case f.OnPaths() if system.fairness:
            return True
        case f.OnPaths(quantifier, path):
            return not _is_finite(quantifier, f.ctl_path(part)) and not f.is_state_formula(path)
        case _:
            return False


def _is_finite(quantifier: str, path: f.Path | None) -> bool:
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


def linear(formula: Formula) -> Formula | None:
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
            found = [linear(operand) for operand in operands]
            return None if None in found else f.And(tuple(part for part in found if part is not None))
        case f.Implies(left, right) if _is_condition(left):
            return _over(formula, (left, linear(right)))
        case f.Or(operands) if sum(not _is_condition(operand) for operand in operands) <= 1:
            return _over(formula, [part if _is_condition(part) else linear(part) for part in operands])
        case f.OnPaths("A", path, None):
            return _linear_path(path)
        case _ if _is_condition(formula):
            return formula
        case _:
            return None


def _linear_path(path: Formula) -> Formula | None:
    """Return what is said of a run with the quantifiers in it dropped; with past in it they could not be."""
    if any(isinstance(part, f.Past) for part in f.subformulas(path)):
        return None
    match path:
        case f.Next(operand) | f.Globally(operand):
            return _over(path, (linear(operand),))
        case f.Finally(operand) if _is_condition(operand):
            return path
        case f.Until(left, right) | f.WeakUntil(left, right) if _is_condition(right):
            return _over(path, (linear(left), right))
        case f.Release(left, right) if _is_condition(left):
            return _over(path, (left, linear(right)))
        case _ if f.is_state_formula(path):
            return linear(path)
        case _:
            return None


def _over(formula: Formula, operands: Sequence[Formula | None]) -> Formula | None:
    found = tuple(operand for operand in operands if operand is not None)
    return f.with_children(formula, found) if len(found) == len(operands) else None


def _is_condition(formula: Formula) -> bool:
    """Whether it is a Boolean combination of conditions on the present state."""
    match formula:
        case f.Atom():
            return True
        case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
            return all(map(_is_condition, f.children(formula)))
        case _:
            return False


def _has_no_quantifier(path: Formula) -> bool:
    return not any(
        isinstance(part, f.OnPaths | f.Enforces | f.Commits | f.Fulfils | f.Conditional | f.KnownFrom | f.Knows)
        for part in f.subformulas(path)
    )
