"""The checks about debts, and `live`, against their definitions on the states of the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import pytest
from hypothesis import assume, given, note
from tests.reference.promises import is_in_force, is_on_course
from tests.reference.semantics import Reference
from tests.reference.states import Graph, TooLarge, World
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.source import Source

STATES = 600
OPEN = ("conditional", "active", "pending")


class Judge:
    """The definitions, on all reachable states."""

    def __init__(self, reference: Reference, graph: Graph) -> None:
        self.reference = reference
        self.graph = graph
        self.worlds = [reference.world(state) for state in graph.states]
        self.names = tuple(reference.model.commitment)

    def is_owed(self, world: World, name: str) -> bool:
        return is_in_force(world, name) and not is_on_course(self.reference, world, name)

    def is_left(self, number: int, over: Callable[[World], bool]) -> bool:
        """True if only ticks are possible from a state on, and something is left over in all states they lead to."""
        visited: set[int] = set()
        while number not in visited:
            visited.add(number)
            moves = self.graph.steps[number]
            if any(move.kind != "tick" for move, _ in moves) or not over(self.worlds[number]):
                return False
            number = next((after for _, after in moves), number)
        return True

    def deadlock_free(self) -> bool:
        def over(world: World, name: str) -> bool:
            life = world.env[name]
            if not self.is_owed(world, name) or (life.state == "pending" and life.follows is None):
                return False
            return life.follows is None or not is_in_force(world, life.follows)

        return self._nothing_left(over)

    def no_dangling(self) -> bool:
        def over(world: World, name: str) -> bool:
            life = world.env[name]
            return life.state in OPEN and (life.follows is None or world.env[life.follows].state not in OPEN)

        return self._nothing_left(over)

    def _nothing_left(self, over: Callable[[World, str], bool]) -> bool:
        return not any(
            self.is_left(number, lambda world, name=name: over(world, name))  # type: ignore[misc]
            for number in range(len(self.worlds))
            for name in self.names
        )

    def no_debt_forgotten(self) -> bool:
        """A commitment that waits for another one that is taken back as well is owed through that one."""
        for number, world in enumerate(self.worlds):
            for move, after in self.graph.steps[number]:
                if move.kind != "restart":
                    continue
                for name in self.names:
                    if self.worlds[after].env[name].state == "null" and self.is_owed(world, name):
                        follows = world.env[name].follows
                        stands = follows is not None and is_in_force(world, follows)
                        if not stands or self.worlds[after].env[str(follows)].state != "null":
                            return False
                        if self.is_owed(world, str(follows)):
                            return False
        return True

    def live(self) -> bool:
        received = {
            move.event for moves in self.graph.steps for move, _ in moves if move.kind in ("receive", "exchange")
        }
        return received == {message.name for message in self.reference.model.messages}


@pytest.mark.parametrize("engine", ["explicit", "symbolic", "reduced", "onthefly"])
@examples(25)
@given(sample=protocols())
def test_debts_left_and_forgotten_match_reference(
    engine: Literal["explicit", "symbolic", "reduced", "onthefly"], sample: Sample
) -> None:
    note(sample.text)
    compilation = CplCompilation(Source("generated.cpl", sample.text))
    assume(compilation.ok and not compilation.model.fairness)
    reference = Reference(compilation.model)
    try:
        graph = reference.explore(STATES)
    except TooLarge:
        assume(False)
        raise
    assume(not reference.out_of_range)
    judge = Judge(reference, graph)
    names = ["deadlock_free", "no_debt_forgotten", "live"]
    for result in compilation.verify(compilation.questions(names), engine):
        name = result.question.name
        assert result.answer in {"holds", "fails"}, (name, result.reason)
        assert (result.answer == "holds") == getattr(judge, name)(), name
    question = compilation._check("no_dangling")
    (result,) = compilation.verify([question], engine)
    assert (result.answer == "holds") == judge.no_dangling(), "no_dangling"
