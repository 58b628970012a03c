"""Concrete amounts of counterexamples: the ones that evidence over few ordered amounts stands for.

The amounts of a run are chosen one after the other in a finite order that has as many amounts as `k` choices can tell
apart (`cplc.semantics.data_values`). Here the same choices are made in the order of all amounts, so that nothing lies
between two of them exactly where the evidence says so: the strategy of the second player in the game of Ehrenfeucht and
Fraisse.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from itertools import pairwise
from typing import Any

from cplc.checking.results import Result
from cplc.language.amounts import Amounts, amounts_of, number_in
from cplc.source import Source, Span
from cplc.system.model import OpenDomain, System
from cplc.system.trace import Evidence, Run


def with_concrete_amounts(result: Result) -> Result:
    """Return the result with amounts for which its evidence is true."""
    if result.evidence is None:
        return result
    names: dict[str, str] = {}
    for domain in result.system.open_domains:
        amounts = amounts_of(domain.type)
        if domain.is_ordered and amounts is not None:
            values = tuple(sorted({*domain.constants, *domain.free}, key=number_in))
            chosen = dict.fromkeys(_chosen(result.evidence, result.system, frozenset(values)))
            names |= _concrete(domain, values, amounts, tuple(chosen))
    names = {name: text for name, text in names.items() if name != text}
    return _Renaming(names).of(result) if names else result


def _chosen(evidence: Evidence, system: System, values: frozenset[str]) -> Iterator[str]:
    """Yield the values of a domain in the order in which the runs of the evidence choose them."""
    own = {one.name for one in system.variables if one.kind == "own"}
    for run in _runs(evidence):
        initial = (value for name, value in run.start.items() if name in own)
        yield from (value for value in initial if isinstance(value, str) and value in values)
        for move in run.moves:
            payload = () if move.step is None else system.steps[move.step].payload
            yield from (value for _, value in payload if isinstance(value, str) and value in values)


def _runs(evidence: Evidence) -> Iterator[Run]:
    yield evidence.run
    for _, part in evidence.parts:
        yield from _runs(part)


def _concrete(domain: OpenDomain, texts: tuple[str, ...], amounts: Amounts, chosen: tuple[str, ...]) -> dict[str, str]:
    """Return an amount for each value of an ordered domain, such that both are in the same order."""
    values = [amounts.units(text) or 0 for text in texts]
    anchors = {-1: amounts.lowest - 1, len(values): amounts.highest + 1}
    anchors |= {values.index(units): units for text in domain.constants if (units := amounts.units(text)) is not None}
    positions = [position for text in chosen if (position := texts.index(text)) not in anchors]
    for number, position in enumerate(positions, 1):
        low, high = _around(position, sorted(anchors))
        anchors[position] = _answer(
            position - low - 1,
            high - position - 1,
            (anchors[low], anchors[high]),
            2 ** max(0, domain.choices - number) - 1,
            values[position],
        )
    at = sorted(anchors)
    for low, high in pairwise(at):
        inside = range(low + 1, high)
        fitting = all(anchors[low] < values[position] < anchors[high] for position in inside)
        width = anchors[high] - anchors[low]
        for position in inside:
            even = anchors[low] + (position - low) * width // (high - low)
            anchors[position] = values[position] if fitting else even
    return {text: amounts.text(anchors[position]) for position, text in enumerate(texts)}


def _around(position: int, anchors: list[int]) -> tuple[int, int]:
    at = bisect_left(anchors, position)
    return anchors[at - 1], anchors[at]


def _answer(below: int, above: int, around: tuple[int, int], large: int, usual: int) -> int:
    """Return an amount between two others with as many amounts on each side, where these are fewer than ``large``.

    Otherwise both sides have at least so many, and room for the values that are not chosen.
    """
    low, high = around
    if high - low - 1 == below + above + 1 or below < large:
        return low + below + 1
    if above < large:
        return high - above - 1
    first, last = low + below + 1, high - above - 1
    return min(max(usual, first), last)


class _Renaming:
    """Replaces amounts in values and texts of a result."""

    def __init__(self, names: dict[str, str]) -> None:
        self._names = names
        longest_first = sorted(map(re.escape, names), key=len, reverse=True)
        self._pattern = re.compile(rf"(?<![\w.-])(?:{'|'.join(longest_first)})(?![\w.])")
        self._renamed: dict[int, tuple[Any, Any]] = {}

    def of(self, value: Any) -> Any:
        """Return the value with concrete amounts; itself where it has none to replace."""
        if isinstance(value, str):
            return self._pattern.sub(lambda match: self._names[match.group()], value)
        if isinstance(value, Span | Source | int | float | type(None)):
            return value
        if id(value) not in self._renamed:
            self._renamed[id(value)] = value, self._rebuilt(value)
        return self._renamed[id(value)][1]

    def _rebuilt(self, value: Any) -> Any:
        if isinstance(value, dict):
            return {self.of(key): self.of(one) for key, one in value.items()}
        if isinstance(value, tuple | frozenset | list):
            parts = [self.of(one) for one in value]
            same = all(one is other for one, other in zip(parts, value, strict=True))
            return value if same else type(value)(parts)
        if is_dataclass(value) and not isinstance(value, type):
            parts_by_name = {one.name: getattr(value, one.name) for one in fields(value)}
            changed = {name: new for name, part in parts_by_name.items() if (new := self.of(part)) is not part}
            return replace(value, **changed) if changed else value
        return value
