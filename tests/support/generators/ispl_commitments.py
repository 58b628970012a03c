"""Random ISPL models with shared variables, and a formula for each commitment operator."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.support.generators.ispl_models import _TYPES, Features, Models, _Variable

OPERATORS = ("C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "Tr")
"""Operators of MCMAS+; its grammar lacks the arguments of ``AsS``."""
_ACTS = ("Fulfill", "Cancel", "Release", "Delegate")


class _SharingModels(Models):
    """Models in which variables of one name have one type, and actions are those of commitment operations."""

    def __init__(self, chance: Random, *, deadlocks: bool) -> None:
        self._types = {name: chance.choice(_TYPES) for name in "xy"}
        super().__init__(chance, Features(deadlocks=deadlocks, fairness=False, games=False, linear=False))
        for name in self._agents:
            acts = chance.sample([f"{act}_{name}" for act in _ACTS], len(self._actions[name]) - 1)
            self._actions[name] = ["a", *acts]

    def _variables(self, agent: str) -> list[_Variable]:
        names = "xy"[: self._chance.choice((1, 2, 2))]
        return [_Variable(agent, name, values, type_) for name in names for type_, values in (self._types[name],)]

    def _protocol(self, name: str, readable: list[_Variable]) -> Iterator[str]:
        """Yield at least one line: without any, the environment of MCMAS also takes undeclared actions."""
        yield from list(super()._protocol(name, readable)) or ["    Other : {a};"]

    def formulas_by_operator(self) -> list[tuple[str, str]]:
        """Return a formula for each operator."""
        roles = [name for name in self._agents if name != "Environment"]
        formulas = []
        for operator in OPERATORS:
            debtor, creditor, *rest = self._chance.sample(roles, len(roles))
            p, q = (self._chance.choice(("p0", "p1", "p2")) for _ in range(2))
            match operator:
                case "C" | "Fu":
                    formula = f"{operator}({debtor}, {creditor}, {p})"
                case "DeS" if rest:
                    formula = f"DeS({debtor}, {creditor}, {rest[0]}, {p}, {q})"
                case "DeS":
                    continue
                case _:
                    formula = f"{operator}({debtor}, {creditor}, {p}, {q})"
            formulas.append(
                (operator, self._chance.choice(("AG ({})", "EF ({})", "EF (!({}))", "({})")).format(formula))
            )
        return formulas


def commitment_model(chance: Random, *, deadlocks: bool = True) -> tuple[str, list[tuple[str, str]]]:
    """Return a random model of two or three agents, and its formulas with their operators."""
    while True:
        made = _SharingModels(chance, deadlocks=deadlocks)
        if len([name for name in made._agents if name != "Environment"]) > 1:
            break
    formulas_by_operator = made.formulas_by_operator()
    formulas = "".join(f"  {formula};\n" for _, formula in formulas_by_operator)
    return f"{made.text(0).partition('Formulae')[0]}Formulae\n{formulas}end Formulae\n", formulas_by_operator
