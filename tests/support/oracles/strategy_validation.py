"""Validation of strategies: each is played, by the definitions, against everything that others may do.

It shares no code with the engines, nor with the interpreter that replays evidence. The states that the strategy should
win from are worked out here, and so is the claim that no strategy wins from all initial states.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tests.support.oracles.model_checker import Frozen, Naive, States
from tests.support.oracles.synchronous_games import NaiveRoundGame
from tests.support.oracles.synchronous_model_checker import NaiveRounds

from cplc.logic.formulas import Enforces
from cplc.system.trace import Evidence


def strategy_mistakes(naive: Naive, evidence: Evidence, assuming: frozenset[str] = frozenset()) -> Iterator[str]:
    """Yield what is wrong with a strategy; evidence that only begins to show one is not judged."""
    formula = evidence.formula
    assert isinstance(formula, Enforces)
    assert evidence.holds
    judge = _InRounds(naive, formula) if isinstance(naive, NaiveRounds) else _OneByOne(naive, formula, assuming)
    names = [variable.name for variable in naive.system.variables]
    starts = frozenset(tuple(state[name] for name in names) for state in evidence.starts)
    start = tuple(evidence.run.start[name] for name in names)
    needed = naive.initial & naive.reachable if evidence.scope == "all initial" else frozenset({start})
    if formula.uniform:
        looks = {judge.together(state) for state in needed}
        needed = frozenset(state for state in naive.reachable if judge.together(state) in looks)
    if start not in starts or starts != needed:
        yield "the strategy is not played from the states that it has to win from"
    if (start in naive.initial) != (evidence.scope != "state"):
        yield "the strategy is for an initial state and does not say so, or says so and is not"
    if not evidence.exhaustive:
        yield from judge.by_sight(evidence)
        if not starts <= judge.succeeding(evidence):
            yield "the strategy does not win from all states that it is shown for"
    if evidence.scope == "one initial" and any(naive.initial <= won for won in judge.all_winning()):
        yield "a strategy wins from every initial state, and none is shown"


class _Judge:
    naive: Naive
    formula: Enforces

    def together(self, state: Frozen) -> tuple[Frozen, ...]:
        """Return what the members see together."""
        return tuple(self.naive.look(member, state) for member in self.formula.group)

    def by_sight(self, evidence: Evidence) -> Iterator[str]:
        """Yield that a member goes by what it does not see."""
        for advice in evidence.strategy:
            if self.formula.uniform:
                agent = advice.agent or ""
                actions = dict[Frozen, set[bool]]()
                for state in self.naive.reachable:
                    applies = advice.applies(self.naive.thaw(state))
                    actions.setdefault(self.naive.look(agent, state), set()).add(applies)
                if any(len(values) > 1 for values in actions.values()):
                    yield f"{agent} does different things where it sees the same"

    def certain(self, succeeding: States) -> States:
        lost = {self.together(state) for state in self.naive.reachable if state not in succeeding}
        return frozenset(state for state in succeeding if self.together(state) not in lost)

    def succeeding(self, evidence: Evidence) -> States:
        """Return where the strategy that is shown succeeds."""
        raise NotImplementedError

    def all_winning(self) -> Iterator[States]:
        """Yield for each strategy, or for one that is best everywhere, the states that it wins from."""
        if self.formula.uniform:
            yield from map(self.certain, self.successes())
        else:
            yield self.naive.satisfying(self.formula, self.assuming)

    assuming: frozenset[str] = frozenset()

    def successes(self) -> Iterator[States]:
        raise NotImplementedError


class _OneByOne(_Judge):
    """Sends are insisted on."""

    def __init__(self, naive: Naive, formula: Enforces, assuming: frozenset[str]) -> None:
        self.naive, self.formula, self.assuming = naive, formula, assuming
        self.game = naive.game(formula.group, assuming)

    def succeeding(self, evidence: Evidence) -> States:
        insists: Mapping[Frozen, frozenset[int]] = {
            state: frozenset(one.step for one in evidence.strategy if one.applies(self.naive.thaw(state)))
            for state in self.naive.reachable
        }
        return self.game.succeeding(insists, self.naive.as_path(self.formula.goal), self.naive.sees(self.assuming))

    def successes(self) -> Iterator[States]:
        goal, sees = self.naive.as_path(self.formula.goal), self.naive.sees(self.assuming)
        return self.game.successes_of_uniform_strategies(self.naive.look, goal, sees)


class _InRounds(_Judge):
    """Actions are chosen; where a strategy says nothing a member may do anything."""

    def __init__(self, naive: NaiveRounds, formula: Enforces) -> None:
        self.naive, self.formula = naive, formula
        self.game = NaiveRoundGame(naive, formula.group)

    def succeeding(self, evidence: Evidence) -> States:
        choices = {state: self._choices(evidence, state) for state in self.game.naive.rounds}

        def step(states: States) -> States:
            return frozenset(
                state
                for state in self.game.playable
                if all(self.game.leaves_only(state, chosen, states) for chosen in choices[state])
            )

        return self.game.solved(self.formula.goal, step)

    def _choices(self, evidence: Evidence, state: Frozen) -> list[dict[str, str]]:
        """Return all ways in which the members may act together when they follow the strategy."""
        here = self.naive.thaw(state)
        ways: dict[str, list[str]] = {}
        for player in self.game.members:
            allowed = self.game.allowed(player, state)
            advised = {
                player.actions[one.step].name
                for one in evidence.strategy
                if one.choice == player.choice and one.applies(here)
            }
            ways[player.choice] = [name for name in allowed if name in advised] or allowed
        return [dict(zip(ways, actions, strict=True)) for actions in product(*ways.values())]

    def successes(self) -> Iterator[States]:
        return self.game.successes_of_uniform_strategies(self.formula.goal)
