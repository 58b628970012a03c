"""Answers that serve for all formulas that differ only in which role instances they name."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from cplc.engines.interface import ResourceExhausted
from cplc.system.formula import Formula
from cplc.system.symmetry import Symmetry

Asked = tuple[Formula, frozenset[str]]


class Alike:
    """Whether formulas hold initially, on runs where some roles keep going: each is decided once.

    So is, of formulas that an exchange of role instances maps to each other, one; and where that one was given up, the
    others are.
    """

    def __init__(self, symmetry: Symmetry) -> None:
        self._symmetry = symmetry
        self._exactly: dict[Asked, bool | str] = {}
        self._known: dict[Hashable, bool | str] = {}

    def answer(self, formula: Formula, assuming: frozenset[str], decide: Callable[[], bool]) -> bool:
        """Return what is known of the formula, or decide it."""
        asked = (formula, assuming)
        known = self._exactly.get(asked)
        if known is None:
            known = self._known.get(self._key(asked)) if self._exactly else None
            if known is None:
                known = _decided(decide)
            if self._exactly:
                self._known[self._key(asked)] = known
            self._exactly[asked] = known
        if isinstance(known, str):
            raise ResourceExhausted(known)
        return known

    def _key(self, asked: Asked) -> Hashable:
        """Return what is the same for formulas that are alike; the first of all is looked at when there is another."""
        if not self._known:
            self._known.update({self._key_of(first): known for first, known in self._exactly.items()})
        return self._key_of(asked)

    def _key_of(self, asked: Asked) -> Hashable:
        formula, assuming = asked
        return self._symmetry.key(formula, assuming), assuming


def _decided(decide: Callable[[], bool]) -> bool | str:
    """Return the answer, or why there is none."""
    try:
        return decide()
    except ResourceExhausted as limit:
        return str(limit)
