"""Translation of justice over steps (weak fairness) to state-based fairness (Büchi conditions), and of formulas to LTL.

Definition. A run satisfies a justice constraint iff infinitely often none of its steps is enabled or one is taken.

Claim. If its steps disable themselves, the constraint is equivalent to "infinitely often not enabled". Otherwise add a
bit that exactly these steps toggle; the constraint is equivalent to both "infinitely often set or not enabled" and
"infinitely often clear or not enabled".

Proof. In the first case each taken step leads to a state where none is enabled. In the second case, if the steps are
enabled forever from some point on, both conditions hold iff the bit toggles infinitely often; else both hold, as does
the constraint.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import assert_never

from cplc.export.expression_simplify import Domains, is_unsatisfiable
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Justice, Step, System, Variable


@dataclass(frozen=True, slots=True)
class JusticeCondition:
    """A condition that holds infinitely often on fair runs."""

    purpose: str
    role: str | None
    """The role whose fairness is assumed; None for an unconditional constraint."""
    holds: Expr
    message: str = ""
    """The message that the role keeps sending."""


@dataclass(frozen=True)
class FairSystem:
    """A system with state-based fairness."""

    system: System
    """The system, with toggle bits if needed; they belong to ``Env`` and no agent observes them."""
    bits: tuple[str, ...] = ()
    conditions: tuple[JusticeCondition, ...] = ()

    def conditions_for(self, assuming: frozenset[str]) -> tuple[tuple[str, Expr], ...]:
        """Return the conditions under the assumption that these roles keep going, each with its purpose."""
        return tuple(
            (c.purpose, c.holds)
            for c in self.conditions
            if c.role is None or not assuming.isdisjoint((c.role, c.message))
        )


def fair_system(system: System, assuming: frozenset[str]) -> FairSystem:
    """Return the system with state conditions for all justice under the assumption, and for all fairness."""
    names = {variable.name for variable in system.variables}
    bits: list[str] = []
    toggled_by: dict[int, list[str]] = {}
    conditions: list[JusticeCondition] = []
    for justice in system.constraints(assuming):
        idle = e.negate(system.waiting(justice))
        if disables_itself(system, justice):
            conditions.append(JusticeCondition(justice.name, justice.role, idle, justice.message))
            continue
        bit = _fresh(f"taken {justice.name}", {*names, *bits})
        bits.append(bit)
        for index in justice.steps:
            toggled_by.setdefault(index, []).append(bit)
        for flipped in (e.Read(bit), e.Not(e.Read(bit))):
            purpose = f"{justice.name}, again and again"
            conditions.append(JusticeCondition(purpose, justice.role, e.disj((flipped, idle)), justice.message))
    conditions += (JusticeCondition("fairness", None, condition) for condition in system.fairness)
    return FairSystem(_with_toggles(system, bits, toggled_by), tuple(bits), tuple(conditions))


def disables_itself(system: System, justice: Justice) -> bool:
    """Tell whether none of its steps is enabled immediately after one of them was taken."""
    enabled = system.waiting(justice)
    return all(is_unsatisfiable(*_enabled_next(system, system.steps[index], enabled)) for index in justice.steps)


def _enabled_next(system: System, step: Step, condition: Expr) -> tuple[Expr, Domains]:
    """Return that the step is enabled and the condition true after it, with the domains of all variables."""
    domains = {variable.name: variable.domain for variable in system.variables}
    chosen = {name: _fresh(f"{name}'", set(domains)) for name in step.free}
    after: dict[str, Expr] = dict(step.updates) | {name: e.Read(later) for name, later in chosen.items()}
    choices = {later: system.variable[name].initial for name, later in chosen.items()}
    return e.conj((step.guard, e.substitute(condition, after))), domains | choices


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


# --- formulas that depend on fairness


def needs_fairness(system: System, formula: Formula) -> bool:
    """Tell whether the truth of the formula may depend on the restriction to fair runs.

    Every finite run can be extended to a just run, by taking enabled steps in turn (machine closure). So without
    ``fairness`` in the file, formulas with finite evidence do not depend on fairness. With ``fairness``, every path
    quantifier does.
    """
    return any(_depends_on_fairness(system, part) for part in f.subformulas(formula))


def _depends_on_fairness(system: System, part: Formula) -> bool:
    if isinstance(part, f.Enforces):
        return True
    if not isinstance(part, f.OnPaths):
        return False
    if system.fairness:
        return True
    operator = f.ctl_path(part)
    is_finite = operator is not None and f.has_finite_evidence(part.quantifier, f.ctl_core(operator))
    return not is_finite and not f.is_state_formula(part.path)


# --- linear-time formulas


def to_ltl(formula: Formula) -> Formula | None:
    """Return an LTL formula that holds on all runs from a state iff the state satisfies this one; None if unknown.

    Covered are ``A path`` without inner quantifiers, and deterministic ACTL (Maidl, "The common fragment of CTL and
    LTL", 2000): at most one operand of each disjunction is temporal, so ``A`` can be dropped everywhere.
    """
    if f.is_propositional(formula):
        return formula
    match formula:
        case f.OnPaths("A", path, None):
            return path if _has_no_quantifier(path) else _linear_path(path)
        case f.Not(f.OnPaths("E", path, None)) if _has_no_quantifier(path):
            return f.Not(path)
        case f.And(operands):
            return _rebuilt(formula, list(map(to_ltl, operands)))
        case f.Implies(left, right) if f.is_propositional(left):
            return _rebuilt(formula, (left, to_ltl(right)))
        case f.Or(operands) if sum(not f.is_propositional(operand) for operand in operands) <= 1:
            return _rebuilt(formula, [part if f.is_propositional(part) else to_ltl(part) for part in operands])
        case f.Atom() | f.Not() | f.PathOperator() | f.StateOperator() | f.Derived():
            return None
        case _:
            assert_never(formula)


def _linear_path(path: Formula) -> Formula | None:
    """Return the path formula without inner quantifiers; None with past operators, where they cannot be dropped."""
    if f.mentions_past(path):
        return None
    if f.is_state_formula(path):
        return to_ltl(path)
    match path:
        case f.Next(operand) | f.Globally(operand):
            return _rebuilt(path, (to_ltl(operand),))
        case f.Until(left, right) | f.WeakUntil(left, right) if f.is_propositional(right):
            return _rebuilt(path, (to_ltl(left), right))
        case f.Release(left, right) if f.is_propositional(left):
            return _rebuilt(path, (left, to_ltl(right)))
        case f.Finally(operand):
            return path if f.is_propositional(operand) else None
        case f.Derived():
            return _linear_path(path.definition)
        case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.StateOperator():
            return None
        case _:
            assert_never(path)


def _rebuilt(formula: Formula, operands: Sequence[Formula | None]) -> Formula | None:
    defined = tuple(operand for operand in operands if operand is not None)
    return f.with_children(formula, defined) if len(defined) == len(operands) else None


def _has_no_quantifier(path: Formula) -> bool:
    quantifying = f.OnPaths | f.Enforces | f.KnownFrom | f.Knows
    return not any(isinstance(part, quantifying) for part in f.core_subformulas(path))
