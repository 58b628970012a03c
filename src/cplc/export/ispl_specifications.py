"""Specifications for MCMAS, which has one set of fairness constraints for a whole file.

Questions with different assumptions need different fairness constraints. A constant with a nondeterministic initial
value selects the assumption: the constraints of a role apply where it is assumed, and each formula is restricted to the
runs with its own assumption. So the model contains one copy of the system for each set of assumed roles. All agents
observe the selector, so knowledge is unchanged.

With a ``Fairness`` section MCMAS removes all states without fair runs, also for knowledge and from the initial states.
Justice removes none, since every state has a just run. Conditions of the protocol's own ``fairness`` belong to the
section if no formula depends on removed states; otherwise they become premises in CTL*: ``A ((G F a) -> …)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import assert_never

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.ispl_formulas import to_mcmas_operators
from cplc.export.request import ExportedFormula, NotExpressible
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable


@dataclass(frozen=True, slots=True)
class Specification:
    question: ExportedFormula
    formula: Formula
    """The formula over operators of MCMAS."""
    assumptions: tuple[Expr, ...]
    """Fairness conditions beyond the section: premises of each path formula."""


@dataclass(frozen=True)
class ExportPlan:
    system: System
    """The system with the auxiliary variables of fairness."""
    bits: tuple[str, ...]
    """Bits that steps toggle which do not disable themselves."""
    assuming: str | None
    """The variable that selects the assumed roles, if questions differ in them."""
    fairness_section: tuple[tuple[str, Expr], ...]
    """Conditions of the ``Fairness`` section, each with its purpose."""
    specifications: tuple[Specification, ...]
    left_out: tuple[str, ...]


def plan_export(system: System, questions: Sequence[ExportedFormula]) -> ExportPlan:
    """Return the specifications and their fairness constraints, with notes on omissions."""
    rewritten, left_out = [], []
    for question in questions:
        try:
            rewritten.append((question, to_mcmas_operators(question.formula, system)))
        except NotExpressible as problem:
            left_out.append(f"`{question.name}`: {problem} cannot be expressed")
    fair_ones = [question for question, formula in rewritten if needs_fairness(system, formula)]
    if not fair_ones:
        return ExportPlan(system, (), None, (), tuple(Specification(*one, ()) for one in rewritten), tuple(left_out))
    fair = fair_system(system, frozenset().union(*(question.assuming for question in fair_ones)))
    selection = _RoleSets.of(system, fair_ones)
    fairness_section = _section(fair, selection)
    assumptions: tuple[Expr, ...] = ()
    if not all(_ignores_dropped_states(formula) for _, formula in rewritten):
        fairness_section = tuple((what, holds) for what, holds in fairness_section if holds not in system.fairness)
        assumptions = system.fairness
    specifications = tuple(
        Specification(question, selection.restricted(question, formula), assumptions)
        if needs_fairness(system, formula)
        else Specification(question, formula, ())
        for question, formula in rewritten
    )
    return ExportPlan(
        selection.with_selector(fair.system),
        fair.bits,
        selection.selector,
        fairness_section,
        specifications,
        tuple(left_out),
    )


@dataclass(frozen=True, slots=True)
class _RoleSets:
    """Sets of roles that questions assume, without roles that no constraint mentions."""

    system: System
    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, system: System, questions: Iterable[ExportedFormula]) -> _RoleSets:
        role_sets = dict.fromkeys(_roles(system, question.assuming) for question in questions)
        return cls(system, tuple(role_sets))

    def restricted(self, question: ExportedFormula, formula: Formula) -> Formula:
        """Return the formula restricted to the runs with the assumption of the question."""
        if self.selector is None:
            return formula
        roles = _roles(self.system, question.assuming)
        is_selected = e.Equal(e.Read(self.variable), e.Const(_role_set_value(roles)))
        return f.Implies(f.Atom(is_selected, f"assuming {_role_list(roles)}"), formula)

    def applies_to(self, role: str | None) -> Expr:
        """Return the condition under which fairness of this role is assumed."""
        asked_for = [_role_set_value(roles) for roles in self.sets if role is None or role in roles]
        if len(asked_for) == len(self.sets):
            return e.TRUE
        return e.one_of(e.Read(self.variable), asked_for)

    def with_selector(self, system: System) -> System:
        """Return the system with the selector, if one is needed."""
        if self.selector is None:
            return system
        names = tuple(map(_role_set_value, self.sets))
        variable = Variable(self.variable, names, names, "own", "Env", self.variable)
        return replace(system, variables=(*system.variables, variable))

    @property
    def selector(self) -> str | None:
        return self.variable if len(self.sets) > 1 else None

    @property
    def variable(self) -> str:
        """Name of the selector."""
        name = "assuming"
        while name in self.system.variable:
            name += "'"
        return name


def _roles(system: System, assuming: frozenset[str]) -> frozenset[str]:
    return frozenset(j.role for j in system.constraints(assuming) if j.role is not None)


def _role_list(roles: frozenset[str]) -> str:
    return " and ".join(sorted(roles)) or "nobody"


def _role_set_value(roles: frozenset[str]) -> str:
    """Return the selector's value for these roles; it differs from other names of the file."""
    return f"role {_role_list(roles)}" if roles else "no role"


def _section(fair: FairSystem, selection: _RoleSets) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (condition.purpose, e.disj((e.negate(selection.applies_to(condition.role)), condition.holds)))
        for condition in fair.conditions
    )


# --- dependence on states without fair runs


def _ignores_dropped_states(formula: Formula) -> bool:
    """Tell whether removing states without fair runs preserves the truth of the formula."""
    knowing = any(isinstance(part, f.Knows) for part in f.subformulas(formula))
    return not knowing and _value_without_fair_runs(formula) is True


def _value_without_fair_runs(formula: Formula) -> bool | None:
    """Return the value of the formula in states without fair runs; None if unknown (Kleene logic)."""
    match formula:
        case f.OnPaths(quantifier):
            return quantifier == "A"
        case f.Not(operand):
            value = _value_without_fair_runs(operand)
            return None if value is None else not value
        case f.And(operands):
            return _conjunction(map(_value_without_fair_runs, operands))
        case f.Iff():
            return None
        case f.Derived():
            return _value_without_fair_runs(formula.definition)
        case (
            f.Atom() | f.Next() | f.Until() | f.Release() | f.Previous() | f.Since() | f.Taken()
            | f.Enforces() | f.KnownFrom() | f.Knows() | f.Adjacent() | f.Regardless()
        ):  # fmt: skip
            return None
        case _:
            assert_never(formula)


def _conjunction(values: Iterable[bool | None]) -> bool | None:
    distinct = set(values)
    return False if False in distinct else None if None in distinct else True
