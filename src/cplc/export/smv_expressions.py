"""Names and expressions of SMV, in the dialect of NuSMV 2.6 or in the one before it that knows ARCTL."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import cached_property
from itertools import product
from typing import Final

from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import System, Variable

STEP: Final = "step"
"""The input that names the step to be taken."""
IDLE: Final = "idle"
NEVER: Final = "never"
"""A value that nothing ever has."""

_WORDS: Final = (
    "MODULE DEFINE MDEFINE CONSTANTS VAR IVAR FROZENVAR FUN INIT TRANS INVAR SPEC CTLSPEC LTLSPEC PSLSPEC "
    "COMPUTE NAME INVARSPEC FAIRNESS JUSTICE COMPASSION ISA ASSIGN CONSTRAINT SIMPWFF CTLWFF LTLWFF "
    "PSLWFF COMPWFF IN MIN MAX MIRROR PRED PREDICATES process array of boolean integer real word word1 "
    "bool signed unsigned extend resize sizeof uwconst swconst toint count floor EX AX EF AF EG AG E F O "
    "G H X Y Z A U S V T BU EBF ABF EBG ABG case esac mod next init union in xor xnor self TRUE FALSE abs "
    "max min READ WRITE CONSTARRAY typeof EAX AAX EAF AAF EAG AAG EA AA W REACHABLE START OUTPUT INPUT "
    "IMPLEMENTS STATE GOTO GAME PLAYER_1 PLAYER_2 main step idle never relation clock wordarray time "
)
IDENTIFIERS: Final = IdentifierSyntax(frozenset(_WORDS.split()))
"""Words of every version, and those that the export itself uses."""


@dataclass(frozen=True, slots=True)
class Dialect:
    true: str
    false: str
    has_negative_ranges: bool


NUSMV: Final = Dialect("TRUE", "FALSE", has_negative_ranges=True)
NUSMV_2_2: Final = Dialect("1", "0", has_negative_ranges=False)


@dataclass(frozen=True)
class Vocabulary:
    """What everything in a system is called in the file, and how its expressions are written."""

    system: System
    dialect: Dialect = NUSMV

    @cached_property
    def words(self) -> Mapping[str, str]:
        """The values that are words; in SMV they share one space of names with all the rest."""
        domains = (variable.domain for variable in self.system.variables)
        return unique_identifiers(
            (value for domain in domains for value in domain if isinstance(value, str)), IDENTIFIERS
        )

    @cached_property
    def variables(self) -> Mapping[str, str]:
        return unique_identifiers(
            (variable.name for variable in self.system.variables), IDENTIFIERS, self.words.values()
        )

    @cached_property
    def steps(self) -> Mapping[str, str]:
        taken = (*self.words.values(), *self.variables.values())
        return unique_identifiers((step.name for step in self.system.steps), IDENTIFIERS, taken)

    @cached_property
    def guards(self) -> Mapping[str, str]:
        """The name of the condition for each step."""
        taken = (*self.words.values(), *self.variables.values(), *self.steps.values())
        names = unique_identifiers((f"can {step.name}" for step in self.system.steps), IDENTIFIERS, taken)
        return {step.name: names[f"can {step.name}"] for step in self.system.steps}

    def fresh(self, names: Iterable[str]) -> Mapping[str, str]:
        """Return names for more than what the system has."""
        taken = (self.words, self.variables, self.steps, self.guards)
        return unique_identifiers(names, IDENTIFIERS, (name for group in taken for name in group.values()))

    # --- values

    def value(self, value: Value) -> str:
        match value:
            case bool():
                return self.dialect.true if value else self.dialect.false
            case int():
                return str(value)
            case str():
                return self.words[value]

    def values(self, values: Iterable[Value]) -> str:
        """Return the choice between these."""
        texts = [self.value(value) for value in values]
        return texts[0] if len(texts) == 1 else f"{{{', '.join(texts)}}}"

    def type_of(self, variable: Variable) -> str:
        """Return the domain; where there is one value alone one more, since NuSMV assigns nothing to a constant."""
        if isinstance(variable.domain[0], bool):
            return "boolean"
        numbers = [value for value in variable.domain if isinstance(value, int)]
        if len(variable.domain) == 1:
            return f"{numbers[0]}..{numbers[0] + 1}" if numbers else f"{{{self.value(variable.domain[0])}, {NEVER}}}"
        is_written = numbers and (numbers[0] >= 0 or self.dialect.has_negative_ranges)
        if is_written and numbers == list(range(numbers[0], numbers[0] + len(variable.domain))):
            return f"{numbers[0]}..{numbers[-1]}"
        return f"{{{', '.join(map(self.value, variable.domain))}}}"

    # --- expressions

    @cached_property
    def _known(self) -> Mapping[Expr, str]:
        """The guards that are worth a name."""
        worth = (step for step in reversed(self.system.steps) if isinstance(step.guard, e.And | e.Or))
        return {step.guard: self.guards[step.name] for step in worth}

    def text(self, expr: Expr) -> str:
        """Return the expression, in brackets unless it is one word or a negation; guards go by their names."""
        return self._known.get(expr) or self.written_out(expr)

    def written_out(self, expr: Expr) -> str:
        """Return the same, and what a guard's name stands for."""
        match expr:
            case e.Const(value):
                return self.value(value)
            case e.Read(name):
                return self.variables[name]
            case e.Not(operand):
                return f"!{self.text(operand)}"
            case e.And(()) | e.Or(()):
                return self.value(isinstance(expr, e.And))
            case e.And((operand,)) | e.Or((operand,)):
                return self.text(operand)
            case e.And(operands):
                return self._infix("&", operands)
            case e.Or(operands):
                return self._infix("|", operands)
            case e.Equal(e.Const(value), other) | e.Equal(other, e.Const(value)) if not self._may_be(other, value):
                return self.dialect.false
            case e.Equal(left, right):
                return self._infix("=", (left, right))
            case e.Less(left, right):
                return self._infix("<", (left, right))
            case e.Arith("%", left, right):
                return self._remainder(left, right)
            case e.Arith("/", left, right) if 0 in (_number_values(self.system, right) or ()):
                quotient = self._infix("/", (left, right))
                return f"case {self.text(right)} = 0 : 0; {self.dialect.true} : {quotient}; esac"
            case e.Arith(op, left, right):
                return self._infix(op, (left, right))
            case e.Ite():
                return f"case {' '.join(f'{when} : {then};' for when, then in self.cases(expr))} esac"

    def cases(self, expr: Expr) -> list[tuple[str, str]]:
        """Return the conditions and values of a distinction, the last condition always true."""
        return [(self._when(when), self.text(then)) for when, then in _distinguished(expr)]

    def cases_within(self, expr: Expr, domain: tuple[Value, ...]) -> list[tuple[str | None, str]]:
        """Return the same for an assignment, with no value outside the domain; the last condition is None.

        NuSMV refuses an assignment that could leave the domain, even where a guard keeps that from happening.
        """
        distinction = _distinguished(expr)
        return [(None if when is None else self.text(when), self._within(then, domain)) for when, then in distinction]

    def _when(self, condition: Expr | None) -> str:
        return self.dialect.true if condition is None else self.text(condition)

    def _within(self, expr: Expr, domain: tuple[Value, ...]) -> str:
        possible_numbers = _number_values(self.system, expr)
        if possible_numbers is None:
            is_inside = not isinstance(expr, e.Const) or isinstance(expr.value, bool) or expr.value in domain
            return self.text(expr) if is_inside else self.value(domain[0])
        numbers = [value for value in domain if isinstance(value, int)]
        text = self.text(expr)
        if possible_numbers <= set(numbers):
            return text
        allowed = f"{{{', '.join(map(str, numbers))}}}"
        return f"case {text} in {allowed} : {text}; {self.dialect.true} : {numbers[0]}; esac"

    def _may_be(self, expr: Expr, value: Value) -> bool:
        """Whether the value is in the domain, where that is easy to tell; a name outside of all would be unknown."""
        return not isinstance(expr, e.Read) or value in self.system.variable[expr.variable].domain

    def _infix(self, operator: str, operands: Iterable[Expr]) -> str:
        return f"({f' {operator} '.join(map(self.text, operands))})"

    def _remainder(self, left: Expr, right: Expr) -> str:
        """Return the remainder with the sign of the divisor, 0 for a divisor of 0, one case for each divisor.

        NuSMV's own has the sign of the dividend and refuses 0.
        """
        dividends, divisors = _number_values(self.system, left), _number_values(self.system, right)
        assert dividends is not None
        assert divisors is not None
        text, divisor_text = self.text(left), self.text(right)
        remainders = {divisor: self._remainder_by(text, divisor, dividends) for divisor in sorted(divisors)}
        if len(remainders) == 1:
            return next(iter(remainders.values()))
        cases = " ".join(f"{divisor_text} = {divisor} : {value};" for divisor, value in remainders.items())
        return f"case {cases} {self.dialect.true} : 0; esac"

    def _remainder_by(self, text: str, divisor: int, dividends: frozenset[int]) -> str:
        if divisor == 0:
            return "0"
        if divisor > 0 and min(dividends) >= 0:
            return f"({text} mod {divisor})"
        remainders = {value % divisor for value in dividends}
        groups = [
            (remainder, sorted(v for v in dividends if v % divisor == remainder)) for remainder in sorted(remainders)
        ]
        *cases, (last, _) = groups
        arms = " ".join(f"{text} in {{{', '.join(map(str, values))}}} : {value};" for value, values in cases)
        return f"case {arms} {self.dialect.true} : {last}; esac" if cases else str(last)


def _distinguished(expr: Expr) -> list[tuple[Expr | None, Expr]]:
    """Return the conditions and values of a distinction, None for otherwise."""
    cases: list[tuple[Expr | None, Expr]] = []
    while isinstance(expr, e.Ite):
        cases.append((expr.condition, expr.then))
        expr = expr.otherwise
    return [*cases, (None, expr)]


def _number_values(system: System, expr: Expr) -> frozenset[int] | None:
    """Return every number that it may be, and perhaps more; None if it is no number."""
    match expr:
        case e.Const(value):
            return frozenset([value]) if isinstance(value, int) and not isinstance(value, bool) else None
        case e.Read(name):
            domain = system.variable[name].domain
            numbers = frozenset(v for v in domain if isinstance(v, int) and not isinstance(v, bool))
            return numbers if len(numbers) == len(domain) else None
        case e.Arith(op, left, right):
            lefts, rights = _number_values(system, left), _number_values(system, right)
            assert lefts is not None
            assert rights is not None
            return frozenset(e.arithmetic(op, one, other) for one, other in product(lefts, rights))
        case e.Ite(_, then, otherwise):
            one, other = _number_values(system, then), _number_values(system, otherwise)
            return None if one is None or other is None else one | other
        case _:
            return None
