"""Vacuity that the text alone shows: quantifiers over nothing, and implications with a constant side.

Constants are worked out while formulas are instantiated, so this has to be noted before they are gone. A quantifier or
an implication is one place of the text. That it has no instance for some values of the loops around it, or is true for
some of them, is usual, as in ``forall j in 1..i - 1`` and in ``i != j -> …``; only where it is so for all of them does
the place make the formula true without saying anything.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from cplc.records import dataclass
from cplc.semantics import resolved

Positive = bool | None
"""True if the truer a part is the truer is the whole; None where that cannot be said."""


@dataclass(slots=True)
class _QuantifierRecord:
    quantified: resolved.Quantified
    positive: Positive
    instances: int = 0

    @property
    def is_vacuous(self) -> bool:
        return not self.instances and self.positive is (self.quantified.kind == "forall")


@dataclass(slots=True)
class _Implication:
    """An implication, with how many instances it has had so far and how many of them a constant makes true."""

    written: resolved.Apply
    positive: Positive
    instances: int = 0
    false_left: int = 0
    true_right: int = 0

    @property
    def is_vacuous(self) -> bool:
        return self.positive is True and 0 < self.instances == self.false_left + self.true_right

    def contains(self, other: _Implication) -> bool:
        """Return whether the other one is written within this one, which may be true for that reason alone."""
        outer, inner = self.written.span, other.written.span
        return outer.source is inner.source and outer != inner and outer.start <= inner.start and inner.end <= outer.end

    @property
    def sentence(self) -> str:
        written = " ".join(self.written.span.text.split())
        side, value = ("left", "false") if self.false_left else ("right", "true")
        return f"the {side} side of `{written}` is {value} whatever the protocol does"


@dataclass(slots=True)
class VacuityRecorder:
    """The quantifiers and implications of one formula or fact, with how many instances each has had so far."""

    _positive: Positive = True
    _quantifiers: list[_QuantifierRecord] = field(default_factory=list)
    _implications: list[_Implication] = field(default_factory=list)
    _facts: dict[tuple[str, Positive], None] = field(default_factory=dict)

    @contextmanager
    def below(self, operator: resolved.Apply, operand: int) -> Iterator[None]:
        """Read this operand of the operator."""
        before = self._positive
        self._positive = _combined(before, _effect(operator.op, operand))
        try:
            yield
        finally:
            self._positive = before

    def enter(self, quantified: resolved.Quantified) -> _QuantifierRecord:
        self._quantifiers.append(_QuantifierRecord(quantified, self._positive))
        return self._quantifiers[-1]

    def fact(self, name: str) -> None:
        self._facts[name, self._positive] = None

    def implication(self, written: resolved.Apply, *, false_left: bool = False, true_right: bool = False) -> None:
        """Note one instance of an implication."""
        self._implications.append(_Implication(written, self._positive, 1, false_left, true_right))

    def constant_implications(self, facts: Mapping[str, VacuityRecorder]) -> tuple[str, ...]:
        """Return what there is to say of implications that a constant makes true, those of facts included."""
        arrows: dict[tuple[int, Positive], _Implication] = {}
        for here, positive in self._with_facts(facts):
            for implication in here._implications:
                effect = _combined(positive, implication.positive)
                total = arrows.setdefault((id(implication.written), effect), _Implication(implication.written, effect))
                total.instances += implication.instances
                total.false_left += implication.false_left
                total.true_right += implication.true_right
        silent = sorted((one for one in arrows.values() if one.is_vacuous), key=lambda one: one.written.span.start)
        innermost = (one for one in silent if not any(one.contains(other) for other in silent))
        return tuple(dict.fromkeys(one.sentence for one in innermost))

    def _with_facts(self, facts: Mapping[str, VacuityRecorder]) -> Iterator[tuple[VacuityRecorder, Positive]]:
        """Yield this and every fact that it speaks of, each with what its becoming truer makes of the whole."""
        visited: set[tuple[str, Positive]] = set()
        pending: list[tuple[VacuityRecorder, Positive]] = [(self, True)]
        while pending:
            here, positive = pending.pop()
            yield here, positive
            for name, polarity in here._facts:
                inner = name, _combined(positive, polarity)
                if inner not in visited and name in facts:
                    visited.add(inner)
                    pending.append((facts[name], inner[1]))

    def vacuous_quantifiers(self, facts: Mapping[str, VacuityRecorder]) -> tuple[str, ...]:
        """Return the quantifiers that say nothing, those of facts included."""
        ranges: dict[tuple[int, Positive], _QuantifierRecord] = {}
        for here, positive in self._with_facts(facts):
            for quantifier in here._quantifiers:
                effect = _combined(positive, quantifier.positive)
                total = ranges.setdefault(
                    (id(quantifier.quantified), effect), _QuantifierRecord(quantifier.quantified, effect)
                )
                total.instances += quantifier.instances
        silent = [total.quantified for total in ranges.values() if total.is_vacuous]
        silent.sort(key=lambda quantified: quantified.span.start)
        return tuple(dict.fromkeys(" ".join(quantifier.span.text.partition(":")[0].split()) for quantifier in silent))


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
