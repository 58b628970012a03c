"""Syntactic vacuity: quantifiers over empty ranges, and implications with a constant side.

Instantiation folds constants, so they are recorded before they disappear. A quantifier or an implication is one place
of the text with many instances. An empty range, or a constant side, for some values of the loops around it is usual, as
in ``forall j in 1..i - 1`` and in ``i != j -> …``. Only if it holds for all instances is the place vacuous.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field

from cplc.records import dataclass
from cplc.semantics import resolved

Positive = bool | None
"""The polarity of a part: true if the whole is monotone in it, false if antitone, None if neither."""


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
    """An implication, with the number of its instances and of those that a constant makes true."""

    written: resolved.Apply
    positive: Positive
    instances: int = 0
    false_left: int = 0
    true_right: int = 0

    @property
    def is_vacuous(self) -> bool:
        return self.positive is True and 0 < self.instances == self.false_left + self.true_right

    def contains(self, other: _Implication) -> bool:
        """Return whether the other implication is nested in this one, which may be the only reason for its vacuity."""
        outer, inner = self.written.span, other.written.span
        return outer.source is inner.source and outer != inner and outer.start <= inner.start and inner.end <= outer.end

    @property
    def sentence(self) -> str:
        written = " ".join(self.written.span.text.split())
        side, value = ("left", "false") if self.false_left else ("right", "true")
        return f"the {side} side of `{written}` is {value} whatever the protocol does"


@dataclass(slots=True)
class VacuityRecorder:
    """Counts the instances of the quantifiers and implications of one formula or fact."""

    _positive: Positive = True
    _quantifiers: list[_QuantifierRecord] = field(default_factory=list)
    _implications: list[_Implication] = field(default_factory=list)
    _facts: dict[tuple[str, Positive], None] = field(default_factory=dict)

    @contextmanager
    def below(self, operator: resolved.Apply, operand: int) -> Iterator[None]:
        """Record the instances below with the polarity of this operand."""
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
        """Record one instance of an implication."""
        self._implications.append(_Implication(written, self._positive, 1, false_left, true_right))

    def constant_implications(self, facts: Mapping[str, VacuityRecorder]) -> tuple[str, ...]:
        """Return explanations of implications that a constant makes true, those of facts included."""
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
        """Yield this record and those of all its facts, each with its polarity in the whole."""
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
        """Return the vacuous quantifiers, those of facts included."""
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
    """Return the polarity of an operand."""
    match op, operand:
        case ("!", _) | ("->", 0):
            return False
        case ("therefore", 0) | ("<->" | "=" | "!=" | "<" | "<=" | ">" | ">=" | "+" | "-" | "*" | "%", _):
            return None
        case _:
            return True


def _combined(outer: Positive, inner: Positive) -> Positive:
    return None if outer is None or inner is None else outer is inner
