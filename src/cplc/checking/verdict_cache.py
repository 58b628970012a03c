"""Verdict cache up to symmetry: formulas that a permutation of role instances maps to each other share one verdict."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import TypeVar

from cplc.logic.formulas import Formula
from cplc.reductions.symmetry import Symmetry
from cplc.runtime.limits import MemoryFilled, ResourceExhausted

T = TypeVar("T")

_DecisionKey = tuple[Formula, frozenset[str]]


class UpToSymmetry:
    """Decisions on formulas under sets of roles that keep going, each made once up to symmetry.

    If a decision exceeded a limit, symmetric ones do too.
    """

    def __init__(self, symmetry: Symmetry) -> None:
        self._symmetry = symmetry
        self._exactly: dict[_DecisionKey, bool | str] = {}
        self._known: dict[Hashable, bool | str] = {}
        self._unnamed: list[_DecisionKey] = []
        """Questions without a computed symmetry key: a single question needs none."""

    def answer(self, formula: Formula, assuming: frozenset[str], decide: Callable[[], bool]) -> bool:
        """Return the cached verdict, or decide the formula."""
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
        verdict = decided(decide)
        self._unnamed.append(question)
        return verdict

    def _once(self, question: _DecisionKey, decide: Callable[[], bool]) -> bool | str:
        """Return the verdict of a symmetric formula, or decide it."""
        while self._unnamed:
            first = self._unnamed.pop()
            self._known[self._key(first)] = self._exactly[first]
        key = self._key(question)
        if key not in self._known:
            self._known[key] = decided(decide)
        return self._known[key]

    def _key(self, question: _DecisionKey) -> Hashable:
        formula, assuming = question
        return self._symmetry.key(formula, assuming), assuming


def decided(decide: Callable[[], T]) -> T | str:
    """Return the decision, or the limit that was exceeded, to be cached.

    What is cached must not depend on earlier questions: if they filled the memory, a new engine decides once more.
    """
    reason = ""
    for _ in range(2):
        try:
            return decide()
        except MemoryFilled as limit:  # the engine is replaced outside of this clause, where its nodes are not held
            reason = str(limit)
        except ResourceExhausted as limit:
            return str(limit)
    return reason
