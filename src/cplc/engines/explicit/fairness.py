"""Fairness constraints (justice and fairness conditions), decided on strongly connected components."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from cplc.statespace.state_graph import StateGraph
from cplc.system.model import Justice


class FairnessConstraints:
    """The constraints that a run must meet infinitely often, a bit for each: justice, then fairness conditions.

    A justice is met by taking one of its steps, or in a state where none of them is enabled. Steps that are not
    ``permitted`` count neither as taken nor as enabled.
    """

    def __init__(
        self, graph: StateGraph, justice: Sequence[Justice], fairness: Sequence[bytes], permitted: bytes
    ) -> None:
        self._graph = graph
        self._justice = (1 << len(justice)) - 1
        self.met_by = [0] * len(permitted)
        """The constraints that each step meets."""
        for number, constraint in enumerate(justice):
            for step in constraint.steps:
                if permitted[step]:
                    self.met_by[step] |= 1 << number
        self._fairness = [(1 << number, holds) for number, holds in enumerate(fairness, len(justice))]
        self.number = len(justice) + len(fairness)
        self._everything = (1 << self.number) - 1

    def met_at(self, state: int) -> int:
        """Return the constraints that the state itself meets."""
        enabled = 0
        for step, _ in self._graph.edges(state):
            enabled |= self.met_by[step]
        met = self._justice & ~enabled
        for bit, holds in self._fairness:
            if holds[state]:
                met |= bit
        return met

    def met_within(self, part: Collection[int]) -> bool:
        """True if a run that visits all of these states, and takes all steps between them, is fair."""
        met = 0
        for state in part:
            enabled = 0
            for step, target in self._graph.edges(state):
                constraints = self.met_by[step]
                enabled |= constraints
                if target in part:
                    met |= constraints
            met |= self._justice & ~enabled
            for bit, holds in self._fairness:
                if holds[state]:
                    met |= bit
            if met == self._everything:
                return True
        return False
