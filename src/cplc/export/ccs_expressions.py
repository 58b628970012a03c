"""Names in CCS as the Concurrency Workbench of the New Century reads it, and conditions as tests."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import field
from functools import cached_property
from typing import Final

from cplc.export.expression_simplify import substitute
from cplc.export.identifiers import IdentifierSyntax, unique_identifiers
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import System, Variable
from cplc.system.printer import value_text

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
"""Words of the workbench, and those that the export itself uses."""

At = tuple[str, Value]
"""A variable and one of its values."""


@dataclass(frozen=True)
class Vocabulary:
    """What everything is called: one name for each thing, be it a process, an action or a property."""

    system: System
    propositions: tuple[str, ...] = ()
    """What properties are called before that; they come last, so that they change no other name."""
    probed: dict[At, None] = field(default_factory=dict, compare=False)
    """The values that some formula asks for, noted when it is written."""

    @cached_property
    def _names(self) -> Mapping[str, str]:
        """What each thing is called, by its kind and what it belongs to; no two may have one name."""
        stems = {f"step {step.name}": step.name for step in self.system.steps}
        stems |= {f"process {step.name}": f"Do {step.name}" for step in self.system.steps}
        for variable in self.system.variables:
            stems |= {
                f"take {variable.name}": f"take {variable.name}",
                f"change {variable.name}": f"V {variable.name}",
            }
            for at in (_at(variable.name, value) for value in variable.domain):
                stems |= {f"{what} {at}": f"{what} {at}" for what in ("is", "get", "put")}
                stems[f"cell {at}"] = f"V {at}"
        stems |= {f"proposition {text}": text for text in self.propositions}
        twice = Counter(stems.values())
        texts = [name if twice[name] == 1 else f"{name} {n}" for n, name in enumerate(stems.values())]
        names = unique_identifiers(texts, IDENTIFIERS)
        return {key: names[text] for key, text in zip(stems, texts, strict=True)}

    def step(self, name: str) -> str:
        """The visible action."""
        return self._names[f"step {name}"]

    def process(self, step: str) -> str:
        return self._names[f"process {step}"]

    def proposition(self, text: str) -> str:
        return self._names[f"proposition {text}"]

    def cell(self, variable: str, value: Value) -> str:
        return self._names[f"cell {_at(variable, value)}"]

    def get(self, variable: str, value: Value) -> str:
        return self._names[f"get {_at(variable, value)}"]

    def put(self, variable: str, value: Value) -> str:
        return self._names[f"put {_at(variable, value)}"]

    def change(self, variable: str) -> str:
        """The process that takes any value."""
        return self._names[f"change {variable}"]

    def take(self, variable: str) -> str:
        return self._names[f"take {variable}"]

    def probe(self, variable: str, value: Value) -> str:
        self.probed[variable, value] = None
        return self._names[f"is {_at(variable, value)}"]

    def is_probed(self, variable: str, value: Value) -> bool:
        return (variable, value) in self.probed

    # --- conditions

    def condition(self, expr: Expr) -> str:
        """Return a state formula that asks cells for their values; closed, so that it can stand anywhere."""
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
                plain = substitute(expr, {})
                return self._cases(plain) if e.reads(plain) else self.condition(plain)

    def _cases(self, expr: Expr) -> str:
        """Distinguish by the values of the first variable that is read."""
        variable = self.system.variable[first_read(expr)]
        disjuncts = [
            self._case(variable, values, rest)
            for rest, values in branches(variable, expr).items()
            if not e.is_false(rest)
        ]
        return _joined(" \\/ ", disjuncts, "ff")

    def _case(self, variable: Variable, values: list[Value], rest: Expr) -> str:
        if len(values) == len(variable.domain):
            return self.condition(rest)
        test = f"<{', '.join(self.probe(variable.name, value) for value in values)}>tt"
        return f"({test} /\\ {self.condition(rest)})" if not e.is_true(rest) else f"({test})"


def _at(variable: str, value: Value) -> str:
    return f"{variable} {value_text(value)}"


def _joined(link: str, operands: Iterable[str], empty: str) -> str:
    texts = [text for text in operands if text != empty]
    if len(texts) < 2:
        return texts[0] if texts else empty
    return f"({link.join(texts)})"


def first_read(expr: Expr) -> str:
    """Return the variable that stands leftmost."""
    stack = [expr]
    while stack:
        top = stack.pop()
        if isinstance(top, e.Read):
            return top.variable
        stack.extend(reversed(e.children(top)))
    raise AssertionError(expr)


def branches(variable: Variable, expr: Expr) -> dict[Expr, list[Value]]:
    """Return what is left of the expression for the values of a variable, and for which values."""
    cofactors: dict[Expr, list[Value]] = {}
    for value in variable.domain:
        cofactors.setdefault(substitute(expr, {variable.name: e.Const(value)}), []).append(value)
    return cofactors
