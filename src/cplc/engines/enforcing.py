"""Which of the games a formula about a group asks to be played, and the states and strategies that win it."""

from __future__ import annotations

from collections.abc import Callable

from cplc.engines.games import Arena, Game, Plan, Solution
from cplc.engines.games_uniform import Search
from cplc.engines.interface import S
from cplc.system.formula import Enforces, Finally, Formula, Globally, Next, Until
from cplc.system.model import System


def solution(
    arena: Arena[S], system: System, formula: Enforces, assuming: frozenset[str], satisfying: Callable[[Formula], S]
) -> Solution[S]:
    """Return where the group can enforce its goal; ``satisfying`` says where what the goal speaks of is so.

    What is so now, or next, is best kept by refraining, and refraining takes no knowledge: there uniform strategies
    win wherever any do.
    """
    game = Game(arena, system, formula.group, assuming)
    match formula.goal:
        case Next(operand):
            won = game.coming(satisfying(operand))
        case Globally(operand):
            won = game.keeping(satisfying(operand))
        case Finally(operand):
            return _reaching(game, arena.everything, satisfying(operand), uniform=formula.uniform)
        case Until(left, right):
            return _reaching(game, satisfying(left), satisfying(right), uniform=formula.uniform)
    return Solution(won, (Plan(won, choices=() if formula.uniform else None),))


def _reaching(game: Game[S], through: S, goal: S, *, uniform: bool) -> Solution[S]:
    if uniform:
        return Search(game, through, goal).solution()
    plan = game.reaching(through, goal)
    return Solution(plan.won, (plan,))
