"""Answers that serve for all formulas that differ only in which role instances they name."""

from __future__ import annotations

from collections.abc import Callable, Hashable

from cplc.logic.formulas import Formula
from cplc.reductions.symmetry import Symmetry
from cplc.runtime.limits import ResourceExhausted

_DecisionKey = tuple[Formula, frozenset[str]]


class UpToSymmetry:
    """Whether formulas hold initially or somewhere, on runs where some roles keep going: each is decided once.

    So is, of formulas that an exchange of role instances maps to each other, one; and where that one was given up, the
    others are.
    """

    def __init__(self, symmetry: Symmetry) -> None:
        self._symmetry = symmetry
        self._exactly: dict[_DecisionKey, bool | str] = {}
        self._known: dict[Hashable, bool | str] = {}
        self._unnamed: list[_DecisionKey] = []
        """Those whose keys nobody wanted to know yet: as long as a formula is the only one, none is alike."""

    def answer(self, formula: Formula, assuming: frozenset[str], decide: Callable[[], bool]) -> bool:
        """Return what is known of the formula, or decide it."""
        question = (formula, assuming)
        verdict = self._exactly.get(question)
        if verdict is None:
            verdict = self._exactly[question] = (
                self._once(question, decide) if self._exactly else self._first(question, decide)
            )
        if isinstance(verdict, str):
            raise ResourceExhausted(verdict)
        return verdict

    def _first(self, question: _DecisionKey, decide: Callable[[], bool]) -> bool | str:
        verdict = _decided(decide)
        self._unnamed.append(question)
        return verdict

    def _once(self, question: _DecisionKey, decide: Callable[[], bool]) -> bool | str:
        """Return what is known of a formula that is alike, or decide it."""
        while self._unnamed:
            first = self._unnamed.pop()
            self._known[self._key(first)] = self._exactly[first]
        key = self._key(question)
        if key not in self._known:
            self._known[key] = _decided(decide)
        return self._known[key]

    def _key(self, question: _DecisionKey) -> Hashable:
        formula, assuming = question
        return self._symmetry.key(formula, assuming), assuming


def _decided(decide: Callable[[], bool]) -> bool | str:
    """Return the answer, or why there is none."""
    try:
        return decide()
    except ResourceExhausted as limit:
        return str(limit)
