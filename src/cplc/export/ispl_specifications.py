"""How each question is asked of MCMAS, which knows one fairness for a whole file.

Questions that assume different roles need different fairness. A variable that never changes says which; its value is
any at first, everybody sees it, fairness towards a role is asked for where it says so, and a question only concerns
the runs where it says what the question assumes. So the file holds one copy of the system for each set of roles.

With a ``Fairness`` section MCMAS drops all states from which no fair run begins, for knowledge and for what is initial
as well. Justice alone can be met from every state, so it drops none. Conditions of the protocol's own ``fairness``
belong to the section where no question could tell that states are dropped; otherwise they stand before everything
that is said of runs, in CTL*: ``A ((G F a) -> …)``.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.ispl_formulas import Unsaid, to_mcmas_operators
from cplc.export.request import ExportedFormula
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
    """In words that MCMAS has."""
    assumptions: tuple[Expr, ...]
    """What must hold infinitely often beyond what the section says, where the formula speaks of runs."""


@dataclass(frozen=True)
class ExportPlan:
    system: System
    """The system with all that fairness needs besides."""
    bits: tuple[str, ...]
    """Those that flip with steps that can be taken again at once."""
    assuming: str | None
    """The variable that says which roles are assumed to keep going, if that differs from question to question."""
    fairness_section: tuple[tuple[str, Expr], ...]
    """What holds infinitely often on all runs of the file, each with what it is for."""
    asked: tuple[Specification, ...]
    left_out: tuple[str, ...]


def plan_export(system: System, questions: Sequence[ExportedFormula]) -> ExportPlan:
    """Say how each question is asked, and what it cannot be asked for."""
    rewritten, left_out = [], []
    for question in questions:
        try:
            rewritten.append((question, to_mcmas_operators(question.formula, system)))
        except Unsaid as problem:
            left_out.append(f"`{question.name}`, for it has {problem}")
    fair_ones = [question for question, formula in rewritten if needs_fairness(system, formula)]
    if not fair_ones:
        return ExportPlan(system, (), None, (), tuple(Specification(*one, ()) for one in rewritten), tuple(left_out))
    fair = fair_system(system, frozenset().union(*(question.assuming for question in fair_ones)))
    kinds = _RoleSets.of(system, fair_ones)
    fairness_section = _section(fair, kinds)
    assumptions: tuple[Expr, ...] = ()
    if not all(_ignores_dropped_states(formula) for _, formula in rewritten):
        fairness_section = tuple((what, holds) for what, holds in fairness_section if holds not in system.fairness)
        assumptions = system.fairness
    specifications = tuple(
        Specification(question, kinds.restricted(question, formula), assumptions)
        if needs_fairness(system, formula)
        else Specification(question, formula, ())
        for question, formula in rewritten
    )
    return ExportPlan(
        kinds.with_selector(fair.system), fair.bits, kinds.selector, fairness_section, specifications, tuple(left_out)
    )


@dataclass(frozen=True, slots=True)
class _RoleSets:
    """The sets of roles that questions assume; roles that no constraint speaks of do not count."""

    system: System
    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, system: System, questions: Iterable[ExportedFormula]) -> _RoleSets:
        role_sets = dict.fromkeys(_roles(system, question.assuming) for question in questions)
        return cls(system, tuple(role_sets))

    def restricted(self, question: ExportedFormula, formula: Formula) -> Formula:
        """Return that the formula holds where that is assumed which the question assumes."""
        if self.selector is None:
            return formula
        roles = _roles(self.system, question.assuming)
        is_selected = e.Equal(e.Read(self.variable), e.Const(_role_set_value(roles)))
        return f.Implies(f.Atom(is_selected, f"assuming {_role_list(roles)}"), formula)

    def applies_to(self, role: str | None) -> Expr:
        """Return where fairness towards this role is asked for."""
        asked_for = [_role_set_value(roles) for roles in self.sets if role is None or role in roles]
        if len(asked_for) == len(self.sets):
            return e.TRUE
        return e.one_of(e.Read(self.variable), asked_for)

    def with_selector(self, system: System) -> System:
        """Return the system with the variable, if there is anything to tell."""
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
        """The name of the one that says which roles are assumed to keep going."""
        name = "assuming"
        while name in self.system.variable:
            name += "'"
        return name


def _roles(system: System, assuming: frozenset[str]) -> frozenset[str]:
    return frozenset(j.role for j in system.constraints(assuming) if j.role is not None)


def _role_list(roles: frozenset[str]) -> str:
    return " and ".join(sorted(roles)) or "nobody"


def _role_set_value(roles: frozenset[str]) -> str:
    """Return the value that says so; it should look like no other name in the file."""
    return f"role {_role_list(roles)}" if roles else "no role"


def _section(fair: FairSystem, kinds: _RoleSets) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (condition.purpose, e.disj((e.negate(kinds.applies_to(condition.role)), condition.holds)))
        for condition in fair.conditions
    )


# --- what can tell that states are dropped


def _ignores_dropped_states(formula: Formula) -> bool:
    """Whether nothing changes where states without a fair run are dropped."""
    knowing = any(isinstance(part, f.Knows) for part in f.subformulas(formula))
    return not knowing and _value_without_fair_runs(formula) is True


def _value_without_fair_runs(formula: Formula) -> bool | None:
    """Return whether the formula holds where no fair run begins; None if that depends."""
    match formula:
        case f.OnPaths(quantifier):
            return quantifier == "A"
        case f.Not(operand):
            value = _value_without_fair_runs(operand)
            return None if value is None else not value
        case f.And(operands):
            return _conjunction(map(_value_without_fair_runs, operands))
        case f.Or(operands):
            value = _conjunction(_value_without_fair_runs(f.Not(operand)) for operand in operands)
            return None if value is None else not value
        case f.Implies(left, right):
            return _value_without_fair_runs(f.Or((f.Not(left), right)))
        case _:
            return None


def _conjunction(values: Iterable[bool | None]) -> bool | None:
    distinct = set(values)
    return False if False in distinct else None if None in distinct else True
