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
from cplc.export.ispl_logic import Unsaid, reduced
from cplc.export.request import ExportedFormula
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import System, Variable


@dataclass(frozen=True, slots=True)
class Asked:
    question: ExportedFormula
    formula: Formula
    """In words that MCMAS has."""
    assumed: tuple[Expr, ...]
    """What must hold infinitely often beyond what the section says, where the formula speaks of runs."""


@dataclass(frozen=True)
class Plan:
    system: System
    """The system with all that fairness needs besides."""
    bits: tuple[str, ...]
    """Those that flip with steps that can be taken again at once."""
    assuming: str | None
    """The variable that says which roles are assumed to keep going, if that differs from question to question."""
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
    fair_ones = [question for question, formula in said if needs_fairness(system, formula)]
    if not fair_ones:
        return Plan(system, (), None, (), tuple(Asked(*one, ()) for one in said), tuple(left_out))
    fair = fair_system(system, frozenset().union(*(question.assuming for question in fair_ones)))
    kinds = _Kinds.of(system, fair_ones)
    section = _section(fair, kinds)
    assumed: tuple[Expr, ...] = ()
    if not all(_cannot_tell(formula) for _, formula in said):
        section = tuple((what, holds) for what, holds in section if holds not in system.fairness)
        assumed = system.fairness
    asked = tuple(
        Asked(question, kinds.concerning(question, formula), assumed)
        if needs_fairness(system, formula)
        else Asked(question, formula, ())
        for question, formula in said
    )
    return Plan(kinds.telling(fair.system), fair.bits, kinds.told_by, section, asked, tuple(left_out))


@dataclass(frozen=True, slots=True)
class _Kinds:
    """The sets of roles that questions assume; roles that no constraint speaks of do not count."""

    system: System
    sets: tuple[frozenset[str], ...]

    @classmethod
    def of(cls, system: System, questions: Iterable[ExportedFormula]) -> _Kinds:
        found = dict.fromkeys(_roles(system, question.assuming) for question in questions)
        return cls(system, tuple(found))

    def concerning(self, question: ExportedFormula, formula: Formula) -> Formula:
        """Return that the formula holds where that is assumed which the question assumes."""
        if self.told_by is None:
            return formula
        roles = _roles(self.system, question.assuming)
        told = e.Equal(e.Read(self.variable), e.Const(_word(roles)))
        return f.Implies(f.Atom(told, f"assuming {_said(roles)}"), formula)

    def where(self, role: str | None) -> Expr:
        """Return where fairness towards this role is asked for."""
        asked_for = [_word(roles) for roles in self.sets if role is None or role in roles]
        if len(asked_for) == len(self.sets):
            return e.TRUE
        return e.one_of(e.Read(self.variable), asked_for)

    def telling(self, system: System) -> System:
        """Return the system with the variable, if there is anything to tell."""
        if self.told_by is None:
            return system
        names = tuple(map(_word, self.sets))
        variable = Variable(self.variable, names, names, "own", "Env", self.variable)
        return replace(system, variables=(*system.variables, variable))

    @property
    def told_by(self) -> str | None:
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


def _said(roles: frozenset[str]) -> str:
    return " and ".join(sorted(roles)) or "nobody"


def _word(roles: frozenset[str]) -> str:
    """Return the value that says so; it should look like no other name in the file."""
    return f"role {_said(roles)}" if roles else "no role"


def _section(fair: FairSystem, kinds: _Kinds) -> tuple[tuple[str, Expr], ...]:
    return tuple(
        (condition.purpose, e.disj((e.negate(kinds.where(condition.role)), condition.holds)))
        for condition in fair.conditions
    )


# --- what can tell that states are dropped


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
