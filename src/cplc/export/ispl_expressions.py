"""Identifiers and conditions of ISPL, the language of MCMAS.

MCMAS encodes bounded integers with unused codes, which falsify the number of reachable states. So integers become
values of enumerations, and arithmetic and order are expanded value by value.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import product
from typing import Final

from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import System, Variable

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
