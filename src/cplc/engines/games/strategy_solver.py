"""Solving ATL formulas: select the game for a formula, and return its winning region and strategies."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeVar, assert_never

from cplc.engines.games.fixpoints import Arena, Game, Solution, Strategy
from cplc.engines.games.synchronous import Goal, RoundArena, RoundGame
from cplc.engines.games.uniform import (
    StepObjective,
    StrategySearch,
    SynchronousUniformSearch,
    UniformStrategySearch,
    distributed_knowledge,
    joint_observation,
)
from cplc.engines.interface import S
from cplc.logic.expressions import reads
from cplc.logic.formulas import Atom, Enforces, Finally, Formula, Globally, Next, Until, subformulas
from cplc.reductions.components import IndependentComponents
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import System

V = TypeVar("V")


def solution(
    arena: Arena[S] | RoundArena[S],
    system: System,
    formula: Enforces,
    assuming: frozenset[str],
    counting: S,
    satisfying: Callable[[Formula], S],
) -> Solution[S]:
    """Return the winning region and strategies of a formula.

    ``counting`` are the states that count: those among which members distinguish. ``satisfying`` evaluates the operands
    of the goal.
    """
    if isinstance(arena, RoundArena):
        return _round_solution(arena, system, formula, counting, satisfying)
    return _step_solution(arena, system, formula, assuming, counting, satisfying)


def _step_solution(
    arena: Arena[S],
    system: System,
    formula: Enforces,
    assuming: frozenset[str],
    counting: S,
    satisfying: Callable[[Formula], S],
) -> Solution[S]:
    """Return the solution where steps are interleaved.

    For ``X`` and ``G`` the optimal strategy is to refrain, unless members can stop the clock. Refraining is uniform. It
    wins uniformly from a state if it succeeds from all states that the members together cannot distinguish from it.
    """
    game = Game(arena, system, formula.group, assuming)
    goal = formula.goal
    match goal:
        case Next(operand):
            objective = StepObjective(Next, arena.everything, satisfying(operand))
        case Globally(operand):
            objective = StepObjective(Globally, satisfying(operand), arena.nothing)
        case Finally(operand):
            objective = StepObjective(Finally, arena.everything, satisfying(operand))
        case Until(left, right):
            objective = StepObjective(Until, satisfying(left), satisfying(right))
        case _:
            assert_never(goal)
    if isinstance(goal, Finally | Until):
        return _reaching(game, formula, assuming, objective, counting)
    if not formula.uniform:
        plan = objective.solved(game, None)
        return Solution(plan.winning_region, (plan,))
    if game.refraining_is_best:
        won = objective.solved(game, None).winning_region
        won = distributed_knowledge(arena, joint_observation(system, formula.group), won, counting)
        return Solution(won, (Strategy(won),))
    return _searched(UniformStrategySearch(game, objective, counting))


def _round_solution(
    arena: RoundArena[S], system: System, formula: Enforces, counting: S, satisfying: Callable[[Formula], S]
) -> Solution[S]:
    """Return the solution in a synchronous system."""
    game = RoundGame(arena, system, formula.group, counting)
    aim = formula.goal
    if isinstance(aim, Until):
        goal = Goal(Until, satisfying(aim.left), satisfying(aim.right))
    else:
        goal = Goal(type(aim), counting, satisfying(aim.operand))
    if system.conditions:
        if formula.uniform:
            raise ResourceExhausted("uniform strategies are not decided under fairness conditions")
        recurrent = [*map(arena.where, system.fairness), *map(satisfying, system.recurring)]
        return Solution(game.solve_under_fairness(goal, recurrent), ())
    if formula.uniform:
        return _searched(SynchronousUniformSearch(game, goal))
    plan = game.solve(goal)
    return Solution(plan.winning_region, (plan,))


def _reaching(
    game: Game[S], formula: Enforces, assuming: frozenset[str], objective: StepObjective[S], counting: S
) -> Solution[S]:
    """Solve a reachability goal; uniformly, first with observations of what the goal depends on.

    A strategy with fewer observations is uniform as well. More observations can help as a memory, but not if all states
    won with full observation are won already.
    """
    plan = objective.solved(game, None)
    if not formula.uniform:
        return Solution(plan.winning_region, (plan,))
    arena = game.arena
    possible = distributed_knowledge(
        arena, joint_observation(game.system, formula.group), plan.winning_region, counting
    )
    searches = [UniformStrategySearch(game, objective, counting)]
    near = _near(game.system, formula)
    if near is not None:
        searches.insert(
            0,
            UniformStrategySearch(Game(arena, game.system, formula.group, assuming, near), objective, counting),
        )
        narrow = searches[0].solution()
        if arena.is_empty(arena.difference(possible, narrow.winning_region)):
            return replace(narrow, joint_strategy=lambda starts: _joint(searches, starts))
    return _searched(searches[-1], searches)


def _searched(search: StrategySearch[S, V], searches: Sequence[StrategySearch[S, V]] = ()) -> Solution[S]:
    return replace(search.solution(), joint_strategy=lambda starts: _joint(searches or (search,), starts))


def _joint(searches: Sequence[StrategySearch[S, V]], starts: S) -> Strategy[S] | None:
    """Return a strategy that wins from all of these states, by the first search that finds one."""
    for search in searches:
        plan = search.joint_strategy(starts)
        if plan is not None:
            return plan
    return None


def _near(system: System, formula: Enforces) -> frozenset[str] | None:
    """Return the variables that the goal depends on, unless these are all variables."""
    parts = tuple(subformulas(formula.goal))[1:]
    slices = IndependentComponents(system)
    near = slices.component_closure(name for part in parts if isinstance(part, Atom) for name in reads(part.condition))
    is_plain = all(slices.components_of(part) <= near for part in parts)
    return near if is_plain and len(near) < len(system.variables) else None
