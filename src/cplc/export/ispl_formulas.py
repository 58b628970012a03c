"""Translation of formulas for MCMAS: CTL with knowledge, or CTL* for other path formulas and for fairness assumptions.

MCMAS has neither social commitments nor atoms over steps. `to_mcmas_operators` expresses both by other operators: a
commitment by the knowledge of one more agent, a step by a bit that records the last step.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from itertools import product
from math import prod
from typing import Final, assert_never

from cplc.export.bounds import step_count
from cplc.export.fairness import needs_fairness
from cplc.export.request import NotExpressible, checked_length
from cplc.export.templating import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Read, Value
from cplc.logic.formulas import Connective, Formula
from cplc.records import dataclass
from cplc.system.model import Agent, Step, System, Variable

ALWAYS: Final = "always"
"""The proposition that holds in every state."""
_MAX_COMBINATIONS: Final = 4096
"""Maximum number of valuations that are enumerated to decide whether a condition is constant."""


# --- translation to operators of MCMAS


def to_mcmas_operators(formula: Formula, system: System) -> Formula:
    """Return an equivalent formula over operators of MCMAS; raise `NotExpressible`.

    The knowledge of a channel's observer becomes that of one more agent (see `observed_expressions`). The next step of
    a run is in a set iff the last step is in the set in the next state. Without conditions of ``fairness``, some run
    takes such a step iff one of them is enabled.
    """

    def translated(operand: Formula) -> Formula:
        return to_mcmas_operators(operand, system)

    if not system.fairness:
        reached, always = f.possibility(formula), f.invariant(formula)
        if isinstance(reached, f.Taken | f.Shorthand):
            return f.OnPaths("E", f.Finally(_enabled_somewhere(reached, system)))
        if isinstance(always, f.Not) and isinstance(always.operand, f.Taken | f.Shorthand):
            return f.OnPaths("A", f.Globally(f.Not(_enabled_somewhere(always.operand, system))))
    match formula:
        case f.KnownFrom(observed, operand, observer):
            for expr in observed:
                if isinstance(expr, Read):
                    continue
                _initially(expr, system)
                if any(not e.reads(expr).isdisjoint(step.free) for step in system.steps):
                    raise NotExpressible("commitments that a step changes nondeterministically")
            return f.Knows("each", (observer_name(observer),), translated(operand))
        case f.Taken(steps, text):
            return f.Next(f.Atom(e.Read(last_step_bit(steps, system)), f"last {text}"))
        case f.OnPaths(_, _, f.Taken()):
            raise NotExpressible("path quantifiers that are restricted to some steps")
        case f.Enforces():
            raise NotExpressible("strategies, whose semantics differs in MCMAS,")
        case f.Previous() | f.Since():
            raise NotExpressible("past operators")
        case f.Or() | f.Implies() | f.Iff() | f.Finally() | f.Globally() | f.WeakUntil():
            return f.with_children(formula, tuple(map(translated, f.children(formula))))
        case f.Derived():
            return translated(formula.definition)
        case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.StateOperator():
            return f.with_children(formula, tuple(map(translated, f.children(formula))))
        case _:
            assert_never(formula)


def observer_name(channel: str) -> str:
    """Return the name of the agent that observes the debtor's end of a channel."""
    return f"promises {channel}"


def observed_expressions(formulas: Iterable[Formula]) -> dict[str, tuple[Expr, ...]]:
    """Return the variables and conditions that each observer of a channel observes."""
    parts = (part for formula in formulas for part in f.core_subformulas(formula))
    return {observer_name(part.observer): part.observed for part in parts if isinstance(part, f.KnownFrom)}


def with_observers(formulas: Iterable[Formula], system: System) -> System:
    """Return the system with an agent for each observer of a channel.

    An agent observes variables only, so each observed condition becomes a variable.
    Invariant: after every step the variable has the value of the condition.
    """
    observed_by = observed_expressions(formulas)
    conditions: dict[Expr, None] = dict.fromkeys(
        expr for observed in observed_by.values() for expr in observed if not isinstance(expr, Read)
    )
    names = {expr: f"observed {number}" for number, expr in enumerate(conditions, start=1)}
    observed_variables = tuple(
        Variable(name, (False, True), (_initially(expr, system),), "own", "Env", name) for expr, name in names.items()
    )
    agents = tuple(
        Agent(name, "", tuple(expr.variable if isinstance(expr, Read) else names[expr] for expr in observed))
        for name, observed in observed_by.items()
    )
    return replace(
        system,
        variables=(*system.variables, *observed_variables),
        agents=(*system.agents, *agents),
        steps=tuple(_updating_observed(step, names, system) for step in system.steps),
    )


def _initially(condition: Expr, system: System) -> bool:
    """Return the value of a condition in the initial states; raise `NotExpressible` if it has both."""
    values = _possible_values(condition, {name: system.variable[name].initial for name in e.reads(condition)})
    if values not in ({True}, {False}):
        raise NotExpressible("commitments that exist in some initial states only")
    return values == {True}


def _updating_observed(step: Step, names: Mapping[Expr, str], system: System) -> Step:
    updates = dict(step.updates)
    changed = ((name, expr) for expr, name in names.items() if not e.reads(expr).isdisjoint(updates))
    more = tuple((name, _folded_constant(e.substitute(expr, updates), system)) for name, expr in changed)
    return replace(step, updates=(*step.updates, *more)) if more else step


def _folded_constant(condition: Expr, system: System) -> Expr:
    """Return a constant if the condition has the same value under every valuation."""
    values = _possible_values(condition, {name: system.variable[name].domain for name in e.reads(condition)})
    return e.Const(True in values) if len(values) == 1 else condition


def _possible_values(condition: Expr, domains: Mapping[str, tuple[Value, ...]]) -> set[bool]:
    """Return the possible values of a condition; both if there are too many valuations to enumerate."""
    if prod(map(len, domains.values())) > _MAX_COMBINATIONS:
        return {False, True}
    choices = product(*domains.values())
    return {e.is_true(e.partially_evaluate(condition, dict(zip(domains, choice, strict=True)))) for choice in choices}


def _enabled_somewhere(taken: Formula, system: System) -> Formula:
    """Return the states in which a step that satisfies the formula is enabled."""
    if isinstance(taken, f.Shorthand):
        return _enabled_somewhere(taken.operand, system)
    if not isinstance(taken, f.Taken):
        return f.with_children(taken, tuple(_enabled_somewhere(child, system) for child in f.children(taken)))
    return f.Atom(e.disj(step.guard for step in system.steps if step.name in taken.steps), f"possible {taken.text}")


def last_step_bit(steps: frozenset[str], system: System) -> str:
    """Return the name of the bit that these steps set and all other steps, and idling, clear."""
    named = [step.name for step in system.steps if step.name in steps]
    return f"last {', '.join(named) or 'none'}"


def last_step_bits(formulas: Iterable[Formula], system: System) -> dict[str, frozenset[str]]:
    """Return the last-step bits of the formulas, with the steps that set them."""
    parts = (part for formula in formulas for part in f.subformulas(formula))
    return {last_step_bit(part.steps, system): part.steps for part in parts if isinstance(part, f.Taken)}


# --- text


@dataclass(frozen=True, slots=True)
class FormulaNames:
    """Names of the propositions, agents and groups of formulas."""

    propositions: Mapping[Expr, str]
    agents: Mapping[str, str]
    coalitions: Mapping[frozenset[str], str]


@dataclass(frozen=True, slots=True)
class Ctl:
    """Writes CTL with knowledge."""

    formula_names: FormulaNames

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is atomic; raise `NotExpressible` if it is too long."""
        match formula:
            case f.Atom(condition, _):
                return _atom(condition, self.formula_names)
            case f.OnPaths(_, path) if f.is_state_formula(path):
                return self.text(path)
            case f.OnPaths(quantifier):
                operator = f.ctl_path(formula)
                assert operator is not None
                return _checked(self._path(quantifier, operator))
            case f.Knows(mode, agents, operand):
                return epistemic_text(mode, agents, self.text(operand), self.formula_names)
            case f.Enforces(group, goal):
                return _checked(self._enforces(self.formula_names.coalitions[frozenset(group)], goal))
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, [self.text(child) for child in f.children(formula)])
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise AssertionError(formula)
            case _:
                assert_never(formula)

    def _enforces(self, group: str, goal: f.Goal) -> str:
        match goal:
            case f.Next(operand):
                return f"(<{group}> X {self.text(operand)})"
            case f.Finally(operand):
                return f"(<{group}> F {self.text(operand)})"
            case f.Globally(operand):
                return f"(<{group}> G {self.text(operand)})"
            case f.Until(left, right):
                return f"(<{group}> ({self.text(left)} U {self.text(right)}))"
            case _:
                assert_never(goal)

    def _path(self, quantifier: str, path: f.CtlPath) -> str:
        if isinstance(path, f.Derived) and not isinstance(path, _Temporal):
            return self._path(quantifier, f.ctl_core(path))
        return _temporal(quantifier, path, self.text)


_Temporal = f.Next | f.Finally | f.Globally | f.Until | f.Release | f.WeakUntil


def _temporal(quantifier: str, path: _Temporal, text: Callable[[Formula], str]) -> str:
    """Return a temporal operator with its quantifier or, in CTL*, without one."""
    step, dual = f"{quantifier}X", "E" if quantifier else ""
    match path:
        case f.Next(operand):
            return f"({step} {text(operand)})"
        case f.Finally(operand, None) | f.Globally(operand, None):
            return f"({quantifier}{path.SYMBOL} {text(operand)})"
        case f.Finally(operand, bound) | f.Globally(operand, bound):
            assert bound is not None
            pattern = "{0} or {1}" if isinstance(path, f.Finally) else "{0} and {1}"
            return unroll(pattern, step, step_count(bound), text(operand))
        case f.Until(left, right, None):
            return f"{quantifier}({text(left)} U {text(right)})"
        case f.Until(left, right, f.Bound() as bound):
            return unroll("{0} or ({2} and {1})", step, step_count(bound), text(right), text(left))
        case f.Release(left, right, None) if quantifier != "E":
            return f"(!{dual}((!{text(left)}) U (!{text(right)})))"
        case f.WeakUntil(left, right, None) if quantifier != "E":
            one, other = text(left), text(right)
            return _checked(f"(!{dual}((!{other}) U ((!{one}) and (!{other}))))")
        case f.Release(left, right, None):
            one, other = text(left), text(right)
            return f"(E({other} U ({one} and {other})) or (EG {other}))"
        case f.WeakUntil(left, right, None):
            one, other = text(left), text(right)
            return f"(E({one} U {other}) or (EG {one}))"
        case f.Until() | f.Release() | f.WeakUntil():
            raise AssertionError(f"{path} is no formula of the language")
        case _:
            assert_never(path)


@dataclass(frozen=True, slots=True)
class CtlStar:
    """Writes CTL*; additional fairness assumptions become premises of path formulas."""

    formula_names: FormulaNames
    system: System
    assumptions: tuple[Expr, ...] = ()
    """Conditions that hold infinitely often on the fair runs."""

    def text(self, formula: Formula) -> str:
        """Return the formula, in brackets unless it is atomic; raise `NotExpressible` if it is too long."""
        match formula:
            case f.Atom(condition, _):
                return _atom(condition, self.formula_names)
            case f.OnPaths(quantifier, path):
                return _checked(self._on_paths(quantifier, self.text(path), needs_fairness(self.system, formula)))
            case f.Knows(mode, agents, operand):
                return epistemic_text(mode, agents, self.text(operand), self.formula_names)
            case f.Next() | f.Finally() | f.Globally() | f.Until() | f.Release() | f.WeakUntil(_, _, None):
                return _temporal("", formula, self.text)
            case f.Not() | f.And() | f.Or() | f.Implies() | f.Iff():
                return boolean(formula, [self.text(child) for child in f.children(formula)])
            case f.Derived():
                return self.text(formula.definition)
            case f.PathOperator() | f.StateOperator():
                raise AssertionError(formula)
            case _:
                assert_never(formula)

    def _on_paths(self, quantifier: str, path: str, is_fair: bool) -> str:
        assumptions = (
            [f"(G (F {_atom(condition, self.formula_names)}))" for condition in self.assumptions] if is_fair else []
        )
        if not assumptions:
            return f"({quantifier} {path})"
        link = "->" if quantifier == "A" else "and"
        return f"({quantifier} (({' and '.join(assumptions)}) {link} {path}))"


def is_ctl(formula: Formula) -> bool:
    """Tell whether every path quantifier applies to one operator of CTL, or to a state formula."""
    return all(
        f.ctl_path(part) is not None or f.is_state_formula(part.path)
        for part in f.subformulas(formula)
        if isinstance(part, f.OnPaths)
    )


def unroll(pattern: str, step: str, bound: int, now: str, meanwhile: str = "") -> str:
    """Return the expansion of a bounded operator: ``bound`` nested next-step operators."""
    text = now
    for _ in range(bound):
        text = _checked(f"({pattern.format(now, f'({step} {text})', meanwhile)})")
    return text


def epistemic_text(mode: str, agents: tuple[str, ...], operand: str, names: FormulaNames) -> str:
    if not agents:  # all reachable states: all are green, since no agent has red states
        return f"O({next(iter(names.agents.values()))}, {operand})"
    if mode == "each" and len(agents) == 1:
        return f"K({names.agents[agents[0]]}, {operand})"
    operator = {"each": "GK", "together": "DK", "common": "GCK"}[mode]
    return f"{operator}({names.coalitions[frozenset(agents)]}, {operand})"


def _checked(text: str) -> str:
    return checked_length(text, "bounds or equivalences")


def boolean(formula: Connective, operands: list[str]) -> str:
    """Return the operands joined by the connective of the formula."""
    match formula:
        case f.Not():
            return f"(!{operands[0]})"
        case f.And(()):
            return ALWAYS
        case f.Or(()):
            return f"(!{ALWAYS})"
        case f.And() | f.Or() if len(operands) == 1:
            return operands[0]
        case f.And():
            return _checked(f"({' and '.join(operands)})")
        case f.Or():
            return _checked(f"({' or '.join(operands)})")
        case f.Implies():
            return _checked(f"({operands[0]} -> {operands[1]})")
        case f.Iff():
            one, other = operands
            return _checked(f"(({one} -> {other}) and ({other} -> {one}))")
        case _:
            assert_never(formula)


def _atom(condition: Expr, names: FormulaNames) -> str:
    if isinstance(condition, e.Const):
        return ALWAYS if condition.value else f"(!{ALWAYS})"
    return names.propositions[condition]


# --- Identifiers and conditions of ISPL, the language of MCMAS
#
# MCMAS encodes bounded integers with unused codes, which falsify the number of reachable states. So integers become
# values of enumerations, and arithmetic and order are expanded value by value.


IDLE: Final = "idle"
"""The environment's action that changes nothing."""

_RESERVED: Final = """
    Semantics MultiAssignment SingleAssignment MA SA Agent Environment Obsvars Lobsvars Vars RedStates GreenStates
    Actions Action Protocol Evolution Evaluation InitStates Groups Fairness Formulae Other end boolean true false
    if and or AG EG AX EX AF EF A E U X F G K GK GCK DK O LTL CTL
    """
_EXPORT_WORDS: Final = "idle watch watching always"
IDENTIFIERS: Final = IdentifierSyntax(frozenset((*_RESERVED.split(), *_EXPORT_WORDS.split())))
"""Reserved words of MCMAS, and names that the export introduces."""

Cases = Mapping[Value, Expr]
"""Possible values of an expression, each with its condition; the conditions are mutually exclusive."""


@dataclass(frozen=True)
class Vocabulary:
    """Identifiers, in one name space, and conditions of a system in the file."""

    system: System

    @cached_property
    def agents(self) -> Mapping[str, str]:
        return unique_identifiers((agent.name for agent in self.system.agents), IDENTIFIERS)

    @cached_property
    def variables(self) -> Mapping[str, str]:
        return unique_identifiers((v.name for v in self.system.variables), IDENTIFIERS, self.agents.values())

    @cached_property
    def values(self) -> Mapping[Value, str]:
        """Identifiers of the values that are not Boolean."""
        domains = (variable.domain for variable in self.system.variables)
        originals = {str(value): value for domain in domains for value in domain if not isinstance(value, bool)}
        names = unique_identifiers(originals, IDENTIFIERS, (*self.agents.values(), *self.variables.values()))
        return {originals[text]: name for text, name in names.items()}

    @cached_property
    def steps(self) -> Mapping[str, str]:
        taken = (*self.agents.values(), *self.variables.values(), *self.values.values())
        return unique_identifiers((step.name for step in self.system.steps), IDENTIFIERS, taken)

    @cached_property
    def taken(self) -> tuple[str, ...]:
        return (
            *self.agents.values(), *self.variables.values(), *self.values.values(), *self.steps.values(),
        )  # fmt: skip

    def value(self, value: Value) -> str:
        return str(value).lower() if isinstance(value, bool) else self.values[value]

    def type_of(self, variable: Variable) -> str:
        if isinstance(variable.domain[0], bool):
            return "boolean"
        return f"{{{', '.join(map(self.value, variable.domain))}}}"

    # --- conditions

    def text(self, condition: Expr, prefix: str = "") -> str:
        """Return the condition; ``prefix`` qualifies variables outside the environment."""
        return _Writer(self, prefix).text(self.condition(condition))

    def condition(self, condition: Expr) -> Expr:
        """Return an equivalent condition over equalities of a variable with a value or a variable of its type."""
        match condition:
            case e.Const() | e.Read():
                return condition
            case e.Not(operand):
                return e.negate(self.condition(operand))
            case e.And(operands):
                return e.conj(map(self.condition, operands))
            case e.Or(operands):
                return e.disj(map(self.condition, operands))
            case e.Equal(e.Read(one), e.Read(other)) if self._same_type(one, other):
                return condition
            case e.Equal(left, right):
                lefts, rights = self.cases(left), self.cases(right)
                return e.disj(e.conj((lefts[value], rights[value])) for value in lefts if value in rights)
            case e.Less(left, right):
                pairs = product(self.cases(left).items(), self.cases(right).items())
                return e.disj(
                    e.conj((one, other)) for (value, one), (limit, other) in pairs if _number(value) < _number(limit)
                )
            case e.Ite(test, then, otherwise):
                return _case_split(self.condition(test), self.condition(then), self.condition(otherwise))
            case e.Arith():
                raise AssertionError(condition)

    def cases(self, expr: Expr) -> Cases:
        """Return the possible values of an expression with their conditions."""
        match expr:
            case e.Const(value):
                return {value: e.TRUE}
            case e.Read(name) if not isinstance(self.system.variable[name].domain[0], bool):
                return {value: e.Equal(expr, e.Const(value)) for value in self.system.variable[name].domain}
            case e.Arith(op, left, right):
                pairs = product(self.cases(left).items(), self.cases(right).items())
                return _merged_cases(
                    (e.arithmetic(op, _number(one), _number(other)), e.conj((when, also)))
                    for (one, when), (other, also) in pairs
                )
            case e.Ite(test, then, otherwise):
                return self._case_split(test, self.cases(then), self.cases(otherwise))
            case _:
                condition = self.condition(expr)
                return {True: condition, False: e.negate(condition)}

    def assigned(self, variable: Variable, value: Expr) -> Iterator[tuple[str, str | None]]:
        """Yield the possible next values with their conditions; None if unconditional."""
        if isinstance(value, e.Read) and self._same_type(value.variable, variable.name):
            yield self.variables[value.variable], None
            return
        for assigned_value, condition in self._changed_cases(variable, value).items():
            if assigned_value in variable.domain and not e.is_false(condition):
                yield self.value(assigned_value), None if e.is_true(condition) else self.text(condition)

    def _changed_cases(self, variable: Variable, value: Expr) -> Cases:
        """Return the possible next values with their conditions, without cases that leave the variable unchanged."""
        match value:
            case e.Read(variable.name):
                return {}
            case e.Ite(test, then, otherwise):
                return self._case_split(
                    test, self._changed_cases(variable, then), self._changed_cases(variable, otherwise)
                )
            case _:
                return self.cases(value)

    def _case_split(self, test: Expr, then: Cases, otherwise: Cases) -> Cases:
        condition = self.condition(test)
        chosen = ((value, e.conj((condition, when))) for value, when in then.items())
        alternatives = ((value, e.conj((e.negate(condition), when))) for value, when in otherwise.items())
        return _merged_cases((*chosen, *alternatives))

    def _same_type(self, one: str, other: str) -> bool:
        domains = (self.system.variable[one].domain, self.system.variable[other].domain)
        return set(domains[0]) == set(domains[1]) and type(domains[0][0]) is type(domains[1][0])


def _case_split(condition: Expr, then: Expr, otherwise: Expr) -> Expr:
    simplified = e.ite(condition, then, otherwise)
    if not isinstance(simplified, e.Ite):
        return simplified
    return e.disj((e.conj((condition, then)), e.conj((e.negate(condition), otherwise))))


def _merged_cases(cases: Iterable[tuple[Value, Expr]]) -> Cases:
    conditions_of: dict[Value, list[Expr]] = {}
    for value, condition in cases:
        if not e.is_false(condition):
            conditions_of.setdefault(value, []).append(condition)
    return {value: e.disj(conditions) for value, conditions in conditions_of.items()}


def _number(value: Value) -> int:
    assert isinstance(value, int)
    return value


@dataclass(frozen=True, slots=True)
class _Writer:
    vocabulary: Vocabulary
    prefix: str

    def text(self, condition: Expr) -> str:
        match condition:
            case e.And(operands):
                return " and ".join(map(self._operand, operands))
            case e.Or(operands):
                return " or ".join(map(self._operand, operands))
            case e.Const(value):
                same = self._name(self.vocabulary.system.variables[0].name)
                return f"{same} = {same}" if value else f"!({same} = {same})"
            case e.Read(name):
                return f"{self._name(name)} = true"
            case e.Not(e.Read(name)):
                return f"{self._name(name)} = false"
            case e.Not(e.Equal(left, right)):
                return f"{self._comparand(left)} <> {self._comparand(right)}"
            case e.Equal(left, right):
                return f"{self._comparand(left)} = {self._comparand(right)}"
            case e.Not(operand):
                return f"!({self.text(operand)})"
            case _:
                raise AssertionError(condition)

    def _operand(self, condition: Expr) -> str:
        text = self.text(condition)
        return f"({text})" if isinstance(condition, e.And | e.Or) else text

    def _comparand(self, side: Expr) -> str:
        match side:
            case e.Read(name):
                return self._name(name)
            case e.Const(value):
                return self.vocabulary.value(value)
            case _:
                raise AssertionError(side)

    def _name(self, variable: str) -> str:
        return self.prefix + self.vocabulary.variables[variable]
