"""Identifiers of the Concurrency Workbench's CCS, and conditions as tests of cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Final

from cplc.export.templating import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value, value_text
from cplc.records import dataclass
from cplc.system.model import System, Variable

IDENTIFIERS: Final = IdentifierSyntax(
    frozenset(
        [
            *(
                "proc",
                "set",
                "prop",
                "nil",
                "t",
                "where",
                "and",
                "end",
                "Aut",
                "start",
                "tt",
                "ff",
                "not",
                "min",
                "max",
            ),
            *("A", "E", "F", "G", "U", "W", "R", "X", "AF", "AG", "EF", "EG", "AX", "EX", "Main", "Internal", "Free"),
            *("Held", "Begin", "idle", "lock", "unlock", "settled"),
        ]
    ),
    folds_case=True,
)
"""Reserved words of the workbench, and names that the export introduces."""

Assignment = tuple[str, Value]
"""A variable and one of its values."""


@dataclass(frozen=True)
class Vocabulary:
    """Identifiers of processes, actions and properties, in one name space."""

    system: System
    propositions: tuple[str, ...] = ()
    """Original names of properties; they are added last, so that they change no other name."""
    probed: dict[Assignment, None] = field(default_factory=dict, compare=False)
    """Values that formulas refer to, recorded during translation."""

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """Identifiers by kind and owner; all distinct."""
        stems = {f"step {step.name}": step.name for step in self.system.steps}
        stems |= {f"process {step.name}": f"Do {step.name}" for step in self.system.steps}
        for variable in self.system.variables:
            stems |= {
                f"take {variable.name}": f"take {variable.name}",
                f"change {variable.name}": f"V {variable.name}",
            }
            for at in (_assignment_text(variable.name, value) for value in variable.domain):
                stems |= {f"{what} {at}": f"{what} {at}" for what in ("is", "get", "put")}
                stems[f"cell {at}"] = f"V {at}"
        stems |= {f"proposition {text}": text for text in self.propositions}
        twice = Counter(stems.values())
        texts = [name if twice[name] == 1 else f"{name} {n}" for n, name in enumerate(stems.values())]
        names = unique_identifiers(texts, IDENTIFIERS)
        return {key: names[text] for key, text in zip(stems, texts, strict=True)}

    def step(self, name: str) -> str:
        """Return the visible action of a step."""
        return self._names[f"step {name}"]

    def process(self, step: str) -> str:
        return self._names[f"process {step}"]

    def proposition(self, text: str) -> str:
        return self._names[f"proposition {text}"]

    def cell(self, variable: str, value: Value) -> str:
        return self._names[f"cell {_assignment_text(variable, value)}"]

    def get(self, variable: str, value: Value) -> str:
        return self._names[f"get {_assignment_text(variable, value)}"]

    def put(self, variable: str, value: Value) -> str:
        return self._names[f"put {_assignment_text(variable, value)}"]

    def change(self, variable: str) -> str:
        """Return the process that accepts any value."""
        return self._names[f"change {variable}"]

    def take(self, variable: str) -> str:
        return self._names[f"take {variable}"]

    def probe(self, variable: str, value: Value) -> str:
        self.probed[variable, value] = None
        return self._names[f"is {_assignment_text(variable, value)}"]

    def is_probed(self, variable: str, value: Value) -> bool:
        return (variable, value) in self.probed

    # --- conditions

    def condition(self, expr: Expr) -> str:
        """Return a condition as a state formula over the values that cells show; in brackets."""
        match expr:
            case e.Const(value):
                return "tt" if value else "ff"
            case e.Not(operand):
                return f"(not {self.condition(operand)})"
            case e.And(operands):
                return _joined(" /\\ ", map(self.condition, operands), "tt")
            case e.Or(operands):
                return _joined(" \\/ ", map(self.condition, operands), "ff")
            case _:
                plain = e.substitute(expr, {})
                return self._cases(plain) if e.reads(plain) else self.condition(plain)

    def _cases(self, expr: Expr) -> str:
        """Expand the expression by the values of its first variable (Shannon expansion)."""
        variable = self.system.variable[leftmost_variable(expr)]
        disjuncts = [
            self._case(variable, values, rest)
            for rest, values in cofactors(variable, expr).items()
            if not e.is_false(rest)
        ]
        return _joined(" \\/ ", disjuncts, "ff")

    def _case(self, variable: Variable, values: list[Value], rest: Expr) -> str:
        if len(values) == len(variable.domain):
            return self.condition(rest)
        test = f"<{', '.join(self.probe(variable.name, value) for value in values)}>tt"
        return f"({test} /\\ {self.condition(rest)})" if not e.is_true(rest) else f"({test})"


def _assignment_text(variable: str, value: Value) -> str:
    return f"{variable} {value_text(value)}"


def _joined(link: str, operands: Iterable[str], empty: str) -> str:
    texts = [text for text in operands if text != empty]
    if len(texts) < 2:
        return texts[0] if texts else empty
    return f"({link.join(texts)})"


def leftmost_variable(expr: Expr) -> str:
    """Return the leftmost variable of an expression."""
    stack = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, e.Read):
            return top.variable
        stack.extend(reversed(e.children(top)))
    raise AssertionError(expr)


def cofactors(variable: Variable, expr: Expr) -> dict[Expr, list[Value]]:
    """Return the cofactors of an expression with respect to a variable, each with its values."""
    by_cofactor: dict[Expr, list[Value]] = {}
    for value in variable.domain:
        by_cofactor.setdefault(e.substitute(expr, {variable.name: e.Const(value)}), []).append(value)
    return by_cofactor
