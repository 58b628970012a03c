"""Small random models in ISPL whose agents share variables, with a formula for each operator on commitments."""

from __future__ import annotations

from collections.abc import Iterator
from random import Random

from tests.ispl_models import _TYPES, Models, Wanted, _Variable

OPERATORS = ("C", "Fu", "WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "Tr")
"""Those that MCMAS+ reads: of ``AsS`` its grammar has the word alone."""
_ACTS = ("Fulfill", "Cancel", "Release", "Delegate")


class _Sharing(Models):
    """Variables of one name have one type, and actions have the names that commitments go by."""

    def __init__(self, chance: Random, *, deadlocks: bool) -> None:
        self._types = {name: chance.choice(_TYPES) for name in "xy"}
        super().__init__(chance, Wanted(deadlocks=deadlocks, fairness=False, games=False, linear=False))
        for name in self._agents:
            acts = chance.sample([f"{act}_{name}" for act in _ACTS], len(self._actions[name]) - 1)
            self._actions[name] = ["a", *acts]

    def _variables(self, agent: str) -> list[_Variable]:
        names = "xy"[: self._chance.choice((1, 2, 2))]
        return [_Variable(agent, name, values, type_) for name in names for type_, values in (self._types[name],)]

    def _protocol(self, name: str, seen: list[_Variable]) -> Iterator[str]:
        """Never nothing: an environment that may do anything does in MCMAS what is none of its actions as well."""
        yield from list(super()._protocol(name, seen)) or ["    Other : {a};"]

    def asked(self) -> list[tuple[str, str]]:
        """Return a formula for each operator, and which one it is about."""
        others = [name for name in self._agents if name != "Environment"]
        found = []
        for operator in OPERATORS:
            debtor, creditor, *rest = self._chance.sample(others, len(others))
            p, q = (self._chance.choice(("p0", "p1", "p2")) for _ in range(2))
            match operator:
                case "C" | "Fu":
                    said = f"{operator}({debtor}, {creditor}, {p})"
                case "DeS" if rest:
                    said = f"DeS({debtor}, {creditor}, {rest[0]}, {p}, {q})"
                case "DeS":
                    continue
                case _:
                    said = f"{operator}({debtor}, {creditor}, {p}, {q})"
            found.append((operator, self._chance.choice(("AG ({})", "EF ({})", "EF (!({}))", "({})")).format(said)))
        return found


def committing(chance: Random, *, deadlocks: bool = True) -> tuple[str, list[tuple[str, str]]]:
    """Return a random model of two or three agents, and what it asks: the operators with their formulas."""
    while True:
        made = _Sharing(chance, deadlocks=deadlocks)
        if len([name for name in made._agents if name != "Environment"]) > 1:
            break
    asked = made.asked()
    formulas = "".join(f"  {formula};\n" for _, formula in asked)
    return f"{made.text(0).partition('Formulae')[0]}Formulae\n{formulas}end Formulae\n", asked
