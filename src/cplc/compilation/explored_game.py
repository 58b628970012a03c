"""The explored game of a participant as a table of two players and chance, for export to other tools."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from cplc.compilation.participants import ParticipantQuery
from cplc.decision.belief_draws import EventProbability
from cplc.decision.game import ActionKind
from cplc.decision.mdp import ExploredMdp, explore
from cplc.export.prism_game import Distribution, StochasticGame
from cplc.export.prism_mdp import extreme_distributions
from cplc.logic.expressions import Expr, conj
from cplc.system.participant import Event

MAX_EXPORTED_STATES = 50_000


def explored_game(query: ParticipantQuery, limit: int = MAX_EXPORTED_STATES) -> StochasticGame:
    """Return the game of a participant; raise `ResourceExhausted` above so many states.

    Choices that follow another one in the same state get a state of their own: first the world picks an action, then
    the participant or chance an event of it, then the world a transition.
    """
    explored = explore(query.system, query.participant, limit, assumed=frozenset(query.assumed))
    table = _Table(explored)
    conditions = {"conforming": query.participant.conforming}
    if query.participant.goals:
        conditions["achieving"] = conj(goal.condition for goal in query.participant.goals)
    return StochasticGame(table.moves, frozenset(table.owned), {"over": table.ends(), **_labels(table, conditions)})


def _labels(table: _Table, conditions: dict[str, Expr]) -> dict[str, list[int]]:
    game, states = table.explored.game, table.explored.states
    labels = {}
    for name, condition in conditions.items():
        test = game.packing.condition(condition)
        labels[name] = [at for at in table.ends() if test(game.packed(states[at - table.first]))]
    return labels


class _Table:
    """The moves in each state: those of the explored model, and intermediate ones after them."""

    def __init__(self, explored: ExploredMdp) -> None:
        self.explored = explored
        self.model = model = explored.model
        self.first = 0 if model.initial == 1 else 1
        """Number of the first state of the model: before several initial ones, the world picks one."""
        self.moves: list[list[Distribution]] = [[] for _ in range(len(model) + self.first)]
        self.owned: set[int] = set()
        if self.first:
            self.moves[0] = [_surely(at + 1) for at in range(model.initial)]
        for state in range(len(model)):
            actions = list(model.options(state))
            at = state + self.first
            if len(actions) == 1 and model.kind[actions[0]] == ActionKind.CONTROLLED:
                self._choices(at, actions[0])
                continue
            for action in actions:
                self.moves[at] += self._world_moves(action)

    def ends(self) -> list[int]:
        return [at + self.first for at in range(len(self.model)) if self.model.is_end(at)]

    def _world_moves(self, action: int) -> Sequence[Distribution]:
        """Return the moves of the world by one action."""
        model = self.model
        match model.kind[action]:
            case ActionKind.CONTROLLED:
                own = self._new([])
                self._choices(own, action)
                return [_surely(own)]
            case ActionKind.BELIEF:
                targets = [self._after(event) for event in model.events(action)]
                chances = [model.chances[model.chance[event]] for event in model.events(action)]
                return [list(zip(shares, targets, strict=True)) for shares in _extremes(chances)]
            case _:
                return [
                    _surely(model.target[at] + self.first)
                    for event in model.events(action)
                    for at in model.transitions(event)
                ]

    def _choices(self, at: int, action: int) -> None:
        """Let the participant choose an event of the action in this state."""
        self.owned.add(at)
        self.moves[at] = [_surely(self._after(event)) for event in self.model.events(action)]

    def _after(self, event: int) -> int:
        """Return the state after an event, where the world picks a transition if there are several."""
        targets: dict[int, None] = dict.fromkeys(
            self.model.target[at] + self.first for at in self.model.transitions(event)
        )
        if len(targets) == 1:
            return next(iter(targets))
        return self._new([_surely(target) for target in targets])

    def _new(self, moves: list[Distribution]) -> int:
        self.moves.append(moves)
        return len(self.moves) - 1


def _surely(target: int) -> Distribution:
    return ((Fraction(1), target),)


def _extremes(chances: Sequence[EventProbability]) -> Sequence[Sequence[Fraction]]:
    """Return the extreme points of the distributions within the bounds."""
    return extreme_distributions([Event("", (), one.low, one.high) for one in chances])
