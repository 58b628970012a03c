"""Quantifiers that range over nothing, where that makes a formula true without saying anything.

A quantifier is one place of the text. That it has no instance for some values of the loops around it is usual, as in
``forall j in 1..i - 1``; only where it never has one does it say nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from cplc.records import dataclass
from cplc.semantics import tree

Positive = bool | None
"""Whether the truer a part is the truer is the whole; None where that cannot be said."""


@dataclass(slots=True)
class _Range:
    quantified: tree.Quantified
    positive: Positive
    instances: int = 0

    @property
    def says_nothing(self) -> bool:
        return not self.instances and self.positive is (self.quantified.kind == "forall")


@dataclass(slots=True)
class Ranges:
    """The quantifiers of one formula or fact, with how many instances each has had so far."""

    _positive: Positive = True
    _found: list[_Range] = field(default_factory=list)
    _facts: dict[tuple[str, Positive], None] = field(default_factory=dict)

    @contextmanager
    def below(self, operator: tree.Apply, operand: int) -> Iterator[None]:
        """Read this operand of the operator."""
        before = self._positive
        self._positive = _combined(before, _effect(operator.op, operand))
        try:
            yield
        finally:
            self._positive = before

    def enter(self, quantified: tree.Quantified) -> _Range:
        self._found.append(_Range(quantified, self._positive))
        return self._found[-1]

    def fact(self, name: str) -> None:
        self._facts[name, self._positive] = None

    def nothing(self, facts: Mapping[str, Ranges]) -> tuple[str, ...]:
        """Return the quantifiers that say nothing, those of facts included."""
        ranges: dict[tuple[int, Positive], _Range] = {}
        seen: set[tuple[str, Positive]] = set()
        pending: list[tuple[Ranges, Positive]] = [(self, True)]
        while pending:
            here, positive = pending.pop()
            for found in here._found:
                effect = _combined(positive, found.positive)
                known = ranges.setdefault((id(found.quantified), effect), _Range(found.quantified, effect))
                known.instances += found.instances
            for name, polarity in here._facts:
                inner = name, _combined(positive, polarity)
                if inner not in seen and name in facts:
                    seen.add(inner)
                    pending.append((facts[name], inner[1]))
        silent = [known.quantified for known in ranges.values() if known.says_nothing]
        silent.sort(key=lambda quantified: quantified.span.start)
        return tuple(dict.fromkeys(" ".join(found.span.text.partition(":")[0].split()) for found in silent))


def _effect(op: str, operand: int) -> Positive:
    """Return what becoming truer makes of an operator: truer, less true, or it cannot be said."""
    match op, operand:
        case ("!", _) | ("->", 0):
            return False
        case ("therefore", 0) | ("<->" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "%", _):
            return None
        case _:
            return True


def _combined(outer: Positive, inner: Positive) -> Positive:
    return None if outer is None or inner is None else outer is inner
