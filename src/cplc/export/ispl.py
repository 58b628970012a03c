"""Export of protocols to ISPL for MCMAS 1.3.

The environment owns all variables and takes all steps: one action for each step, and `idle`, which changes nothing.
Each role is a passive agent that observes the variables of its local state. So the indistinguishability relations and
the number of reachable states are those of the system.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final, TypeVar, assert_never

from cplc.export.fairness import FairSystem, fair_system, needs_fairness
from cplc.export.ispl_formulas import (
    ALWAYS,
    IDENTIFIERS,
    IDLE,
    Ctl,
    CtlStar,
    FormulaNames,
    Vocabulary,
    is_ctl,
    last_step_bits,
    to_mcmas_operators,
    with_observers,
)
from cplc.export.request import Export, ExportedFormula, NotExpressible, Request
from cplc.export.templating import comment, header_lines, render, sanitized, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic import kleene
from cplc.logic.expressions import Expr
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.system.model import Step, System, Variable

# --- Specifications for MCMAS, which has one set of fairness constraints for a whole file
#
# Questions with different assumptions need different fairness constraints. A constant with a nondeterministic initial
# value selects the assumption: the constraints of a role apply where it is assumed, and each formula is restricted to
# the runs with its own assumption. So the model contains one copy of the system for each set of assumed roles. All
# agents observe the selector, so knowledge is unchanged.
#
# With a ``Fairness`` section MCMAS removes all states without fair runs, also for knowledge and from the initial
# states. Justice removes none, since every state has a just run. Conditions of the protocol's own ``fairness`` belong
# to the section if no formula depends on removed states; otherwise they become premises in CTL*: ``A ((G F a) ->
# …)``.


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


def _value_without_fair_runs(formula: Formula) -> kleene.Truth:
    """Return the value of the formula in states without fair runs; None if unknown (Kleene logic)."""
    match formula:
        case f.OnPaths(quantifier):
            return quantifier == "A"
        case f.Not(operand):
            return kleene.negation(_value_without_fair_runs(operand))
        case f.And(operands):
            return kleene.conjunction(map(_value_without_fair_runs, operands))
        case f.Iff():
            return None
        case f.Derived():
            return _value_without_fair_runs(formula.definition)
        case f.Atom() | f.PathOperator() | f.StateOperator():
            return None
        case _:
            assert_never(formula)


K = TypeVar("K", bound=Hashable)

_WIDTH: Final = 120
_MAX_NAME_LETTERS: Final = 48
"""Maximum length of identifiers that are made from formulas."""


def export(request: Request) -> Export:
    """Return the model with the formulas that CTL* with knowledge can express."""
    planned = plan_export(request.system, request.formulas)
    file = _File(planned)
    translated, left_out = [], list(planned.left_out)
    for one in planned.specifications:
        try:
            translated.append((one, file.formula(one)))
        except NotExpressible as problem:
            left_out.append(f"`{one.question.name}`: {problem} cannot be expressed")
    texts = [text for _, text in translated] or [ALWAYS]
    text = render(
        "ispl.j2",
        header=header_lines(request, _remarks(file), left_out),
        idle=IDLE,
        observed=file.observed(),
        groups=list(file.variables()),
        steps=[(s.name, file.vocabulary.steps[s.name], file.vocabulary.text(s.guard)) for s in file.system.steps],
        evolution=list(file.evolution()),
        agents=list(file.agents()),
        propositions=list(file.evaluation(any(re.search(rf"\b{ALWAYS}\b", text) for text in texts))),
        initial=list(file.initial()),
        coalitions=list(file.coalitions()),
        fairness=[(what, file.formula_names.propositions[holds]) for what, holds in planned.fairness_section],
        formulas=[(one.question.remarks, text) for one, text in translated] or [(["no formula was exported"], ALWAYS)],
        comment=comment,
        wrap=wrap,
    )
    return Export(text, tuple(left_out), comment="--", written=tuple(one.question.name for one, _ in translated))


@dataclass(frozen=True)
class _File:
    """Content of the file, with identifiers."""

    planned: ExportPlan

    @cached_property
    def bits(self) -> dict[str, frozenset[str]]:
        """Bits that record whether the last step is one of these."""
        specifications = self.planned.specifications
        parts = (part for one in specifications for part in f.subformulas(one.formula) if isinstance(part, f.Atom))
        read = frozenset().union(*(e.reads(part.condition) for part in parts))
        bits = last_step_bits((one.question.formula for one in specifications), self.planned.system)
        return {bit: steps for bit, steps in bits.items() if bit in read}

    @cached_property
    def system(self) -> System:
        """The system with the auxiliary variables of the file."""
        system = self.planned.system
        bits = tuple(Variable(bit, (False, True), (False,), "parity", "Env", bit) for bit in self.bits)
        system = with_observers((one.question.formula for one in self.planned.specifications), system)
        return replace(system, variables=(*system.variables, *bits) or (_DUMMY_VARIABLE,))

    @cached_property
    def vocabulary(self) -> Vocabulary:
        return Vocabulary(self.system)

    @cached_property
    def _conditions(self) -> dict[Expr, str]:
        """Conditions of the propositions, each with its original text."""
        parts = (part for one in self.planned.specifications for part in f.subformulas(one.formula))
        texts = {part.condition: part.text for part in parts if isinstance(part, f.Atom)}
        assumptions = (("fairness", holds) for one in self.planned.specifications for holds in one.assumptions)
        for what, holds in (*self.planned.fairness_section, *assumptions):
            texts.setdefault(holds, what if what == "fairness" else f"fair to {what}")
        return texts

    @cached_property
    def _coalitions(self) -> dict[frozenset[str], str]:
        parts = (part for one in self.planned.specifications for part in f.subformulas(one.formula))
        epistemic = (part for part in parts if isinstance(part, f.Knows))
        groups = (part.agents for part in epistemic if part.mode != "each" or len(part.agents) > 1)
        return {frozenset(group): " and ".join(group) for group in groups}

    @cached_property
    def formula_names(self) -> FormulaNames:
        propositions = abbreviated_names(self._conditions, self.vocabulary.taken)
        taken = (*self.vocabulary.taken, *propositions.values())
        return FormulaNames(propositions, self.vocabulary.agents, abbreviated_names(self._coalitions, taken))

    def formula(self, specification: Specification) -> str:
        if specification.assumptions or not is_ctl(specification.formula):
            ctl_star = CtlStar(self.formula_names, self.planned.system, specification.assumptions)
            return f"CTL* {ctl_star.text(specification.formula)}"
        return Ctl(self.formula_names).text(specification.formula)

    # --- what the template prints

    def observed(self) -> list[tuple[str, str]]:
        """Return the variables that all agents observe: name and type."""
        selector = (v for v in self.system.variables if v.name == self.planned.assuming)
        return [(self.vocabulary.variables[v.name], self.vocabulary.type_of(v)) for v in selector]

    def variables(self) -> Iterator[tuple[str, list[tuple[str, str, str]]]]:
        declared = [variable for variable in self.system.variables if variable.name != self.planned.assuming]
        for owner in dict.fromkeys(variable.owner for variable in declared):
            owned = (variable for variable in declared if variable.owner == owner)
            names = self.vocabulary.variables
            yield (
                owner,
                [(variable.name, names[variable.name], self.vocabulary.type_of(variable)) for variable in owned],
            )

    def evolution(self) -> Iterator[tuple[str, str]]:
        """Yield each assignment with its guard; in each state at most one applies to a variable."""
        for variable in self.system.variables:
            for step in self.system.steps:
                for value, condition in self._assigned(variable, step):
                    taken = f"Action = {self.vocabulary.steps[step.name]}"
                    yield (
                        f"{self.vocabulary.variables[variable.name]} = {value}",
                        f"{taken} and ({condition})" if condition else taken,
                    )
        for bit, steps in self.bits.items():
            name = self.vocabulary.variables[bit]
            taken = " or ".join(f"Action = {text}" for step, text in self.vocabulary.steps.items() if step in steps)
            if taken:
                yield f"{name} = true", taken
                yield f"{name} = false", f"!({taken})"

    def _assigned(self, variable: Variable, step: Step) -> Iterator[tuple[str, str | None]]:
        if variable.name in step.free:
            yield from ((self.vocabulary.value(value), None) for value in variable.initial)
            return
        for name, value in step.updates:
            if name == variable.name:
                yield from self.vocabulary.assigned(variable, value)

    def agents(self) -> Iterator[tuple[str, str, list[str]]]:
        for agent in self.system.agents:
            yield agent.name, self.vocabulary.agents[agent.name], [self.vocabulary.variables[v] for v in agent.local]

    def evaluation(self, always: bool) -> Iterator[tuple[str, str, str]]:
        """Yield the propositions; MCMAS requires one."""
        if always or not self.formula_names.propositions:
            yield "true", ALWAYS, self.vocabulary.text(e.TRUE, "Environment.")
        for condition, name in self.formula_names.propositions.items():
            yield self._conditions[condition], name, self.vocabulary.text(condition, "Environment.")

    def initial(self) -> Iterator[str]:
        for variable in self.system.variables:
            name = f"Environment.{self.vocabulary.variables[variable.name]}"
            values = " or ".join(f"{name} = {self.vocabulary.value(value)}" for value in variable.initial)
            yield values if len(variable.initial) == 1 else f"({values})"

    def coalitions(self) -> Iterator[tuple[str, list[str]]]:
        for group, name in self.formula_names.coalitions.items():
            yield name, [text for agent, text in self.vocabulary.agents.items() if agent in group]


_DUMMY_VARIABLE: Final = Variable("nothing", (False, True), (False,), "own", "Env", "nothing")
"""Variable of a system that has none; MCMAS requires one."""


def abbreviated_names(texts: Mapping[K, str], taken: Iterable[str]) -> dict[K, str]:
    """Return an identifier for each key that resembles its text."""
    used = list(taken)
    names: dict[K, str] = {}
    for key, text in texts.items():
        stem = sanitized(text)[:_MAX_NAME_LETTERS].rstrip("_")
        (names[key],) = unique_identifiers([stem], IDENTIFIERS, used).values()
        used.append(names[key])
    return names


def wrap(text: str) -> str:
    """Break the text into lines before connectives and after commas."""
    protected = re.sub(r"(?<!,) (?!(?:and|or|->|U|if|:) )", "\xa0", text)
    lines = textwrap.fill(
        protected,
        _WIDTH,
        initial_indent="  ",
        subsequent_indent="      ",
        break_on_hyphens=False,
        break_long_words=False,
    )
    return lines.replace("\xa0", " ")


def _remarks(file: _File) -> Iterator[str]:
    names = file.vocabulary.variables
    yield (
        f"The environment owns all variables and takes all steps. The action `{IDLE}`, enabled in every state, "
        "changes nothing. Each agent observes exactly the variables of its local state."
    )
    assuming = file.planned.assuming
    copies = len(file.system.variable[assuming].domain) if assuming is not None else 1
    bits = [names[bit] for bit in (*file.planned.bits, *file.bits)]
    if assuming is not None:
        yield (
            f"`{names[assuming]}` is the set of roles that are assumed to keep going. It is constant on each run and "
            "observable by all agents. A formula that depends on fairness holds vacuously where the set differs from "
            "its assumption."
        )
    if bits:
        yield f"History bits, which no agent observes and no step reads: {', '.join(bits)}."
    multiple = "as many" if copies == 1 else f"{copies} times as many"
    yield (
        f"The model has {multiple} reachable states as the system"
        + (", and more because of the history bits." if bits else ".")
    )
