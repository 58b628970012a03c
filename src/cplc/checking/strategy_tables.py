"""Strategy tables: a winning strategy as a short table of situations and the sends to insist on.

A strategy of an engine is a set of states for each send. The table covers the situations reachable under the strategy.
A decision tree, grown by information gain (Quinlan 1986), separates them by few variables. Each path of the tree to a
send is a case of the table.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from math import log2
from typing import TypeVar

from cplc.checking.strategy_play import (
    RoundPlay,
    StepPlay,
    can_list_initial_states,
    is_send_of,
    propositional_value,
)
from cplc.engines.games.fixpoints import Strategy
from cplc.engines.interface import Engine, S
from cplc.logic.expressions import Value
from cplc.logic.formulas import Enforces, Formula, children, is_propositional
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State, System, VariableKind
from cplc.system.trace import Advice, Evidence, Run, Scope, Test

MAX_STARTS = 1_000
"""Maximum number of states from which a strategy is played; with more it is not validated."""
MAX_SHOWN_SITUATIONS = 200
"""Maximum number of situations in the table if there are too many to explore."""
SAMPLE_SIZE = 200

_Choice = int | None
Starts = tuple[State, ...]
Play = TypeVar("Play", StepPlay, RoundPlay)


def strategy_evidence(engine: Engine[S], formula: Enforces, state: State, assuming: frozenset[str]) -> Evidence:
    """Return the strategy by which the group enforces its goal from a reachable state, as the engine claims."""
    plan, scope = _strategy(engine, formula, state, assuming)
    starts = _starts(engine, formula, state, scope)
    engine = engine.as_played_by(formula.group)
    system = engine.system
    are_all = len(starts) <= MAX_STARTS and can_list_initial_states(system)
    shown = Evidence(formula, True, Run(state, ()), starts=starts[:MAX_STARTS], scope=scope)
    if system.is_synchronous:
        return _enforced_in_rounds(engine, formula, plan, shown, assuming, are_all)
    assert plan is not None, "a state that is not won has no strategy"
    choose, truth = _choosing(engine, plan), _truth(engine, assuming)
    play, is_played = _played(lambda starts: StepPlay(system, formula, starts, choose, truth), shown.starts, are_all)
    situations = len(play.transitions) if play.is_complete else min(MAX_SHOWN_SITUATIONS, len(play.transitions))
    visited = [here for here, over in zip(play.states[:situations], play.over, strict=False) if not over]
    is_shown = is_played and all(map(is_propositional, children(formula.goal)))
    advice = tuple(_tables(system, formula, visited, choose))
    return replace(shown, exhaustive=not is_shown, strategy=advice)


def _strategy(
    engine: Engine[S], formula: Enforces, state: State, assuming: frozenset[str]
) -> tuple[Strategy[S] | None, Scope]:
    """Return a strategy that wins from the state; for an initial state, from all initial states if possible."""
    scope: Scope = "state"
    initial = engine.beginning
    if engine.contains(initial, state):
        scope = "one initial"
        try:
            plan = engine.strategy(formula, initial, assuming)
        except ResourceExhausted:
            scope = "undecided"
        else:
            if plan is not None:
                return plan, "all initial"
    return engine.strategy(formula, engine.singleton(state), assuming), scope


def _starts(engine: Engine[S], formula: Enforces, state: State, scope: Scope) -> tuple[State, ...]:
    """Return the states that a strategy has to win from, this one first; at most one more than `MAX_STARTS`."""
    states = engine.beginning if scope == "all initial" else engine.singleton(state)
    if formula.uniform:
        states = engine.indistinguishable(formula.group, states)
    starts, rest = [state], engine.difference(states, engine.singleton(state))
    while len(starts) <= MAX_STARTS and not engine.is_empty(rest):
        starts.append(engine.pick(rest))
        rest = engine.difference(rest, engine.singleton(starts[-1]))
    return tuple(starts)


def _truth(engine: Engine[S], assuming: frozenset[str]) -> Callable[[Formula, State], bool]:
    """Return the function that evaluates operands of the goal."""

    def truth(operand: Formula, here: State) -> bool:
        if is_propositional(operand):
            return propositional_value(operand, here)
        return engine.contains(engine.satisfying(operand, assuming), here)

    return truth


def _played(play_from: Callable[[Starts], Play], starts: Starts, are_all: bool) -> tuple[Play, bool]:
    """Return the play from all starts or, if that is too long, from one; and whether all were played completely."""
    play = play_from(starts if are_all else starts[:1])
    is_played = play.is_complete and are_all
    if are_all and not play.is_complete and len(starts) > 1:
        play = play_from(starts[:1])
    return play, is_played


def _enforced_in_rounds(
    engine: Engine[S],
    formula: Enforces,
    plan: Strategy[S] | None,
    shown: Evidence,
    assuming: frozenset[str],
    are_all: bool,
) -> Evidence:
    """Return the strategy in a synchronous system: a table for each member that has a choice.

    Under fairness conditions there is no strategy to show.
    """
    system = engine.system
    if plan is None:
        return replace(shown, exhaustive=True, scope="state")

    def advised(here: State) -> dict[str, tuple[str]]:
        joint = next((joint for joint, where in plan.chosen if engine.contains(where, here)), ())
        return {choice: (action,) for choice, action in joint}

    truth = _truth(engine, assuming)
    play, is_played = _played(lambda starts: RoundPlay(system, formula, starts, advised, truth), shown.starts, are_all)
    visited = [here for here, over in zip(play.states, play.over, strict=False) if not over]
    advice = tuple(
        _round_tables(system, formula, visited[: None if play.is_complete else MAX_SHOWN_SITUATIONS], advised)
    )
    is_shown = is_played and all(map(is_propositional, children(formula.goal)))
    return replace(shown, exhaustive=not is_shown, strategy=advice)


def _round_tables(
    system: System, formula: Enforces, visited: Sequence[State], advised: Callable[[State], dict[str, tuple[str]]]
) -> Iterator[Advice]:
    for player in system.players:
        if player.agent not in formula.group:
            continue
        names = _readable(system, system.agent[player.agent].local if formula.uniform else system.variable)
        number = {action.name: position for position, action in enumerate(player.actions)}
        situations: dict[tuple[Value, ...], _Situation] = {}
        for state in visited:
            choice = advised(state).get(player.choice)
            has_choice = sum(holds(action.allowed, state) for action in player.actions) > 1
            if choice is not None and has_choice:
                observation = tuple(state[name] for name in names)
                situations.setdefault(observation, _Situation(state, number[choice[0]], frozenset()))
        for advice in _table(list(situations.values()), names, player.agent if formula.uniform else None):
            yield replace(advice, choice=player.choice)


def _choosing(engine: Engine[S], plan: Strategy[S]) -> Callable[[State], list[int]]:
    def choose(state: State) -> list[int]:
        return [step for step, where in plan.insisted if engine.contains(where, state)]

    return choose


# --- tables


@dataclass(frozen=True)
class _Situation:
    """An observation, the choice there, and the other choices that are harmless since they are not enabled."""

    state: State
    choice: _Choice
    harmless: frozenset[int]

    def accepts(self, choice: _Choice) -> bool:
        return choice == self.choice or (self.choice is None and choice in self.harmless)


def _tables(
    system: System, formula: Enforces, visited: Sequence[State], choose: Callable[[State], list[int]]
) -> Iterator[Advice]:
    if not formula.uniform:
        names = _readable(system, system.variable)
        members: list[Sequence[str]] = [formula.group]
        if any(len(choose(state)) > 1 for state in visited):
            members = [(agent,) for agent in dict.fromkeys(formula.group)]
        for some in members:
            yield from _table(_situations(system, visited, choose, some, names), names, None)
        return
    for agent in dict.fromkeys(formula.group):
        names = _readable(system, system.agent[agent].local)
        yield from _table(_situations(system, visited, choose, (agent,), names), names, agent)


_RANK: dict[VariableKind, int] = {"copy": 0, "own": 1, "commitment": 2, "claim": 2, "field": 3, "view": 4}


def _readable(system: System, names: Iterable[str]) -> list[str]:
    """Sort the variables, the most readable kinds first."""
    return sorted(names, key=lambda name: _RANK.get(system.variable[name].kind, 5))


def _situations(
    system: System,
    visited: Sequence[State],
    choose: Callable[[State], list[int]],
    group: Sequence[str],
    names: Sequence[str],
) -> list[_Situation]:
    """Return the observations of these members under the strategy with their choices, each once."""
    interpreter = Interpreter(system)
    situations: dict[tuple[Value, ...], _Situation] = {}
    chosen = [[step for step in choose(state) if is_send_of(system.steps[step], group)] for state in visited]
    used = frozenset(step for steps in chosen for step in steps)
    for state, steps in zip(visited, chosen, strict=True):
        observation = tuple(state[name] for name in names)
        harmless = frozenset(step for step in used if not interpreter.is_enabled(state, step))
        if observation in situations:
            harmless &= situations[observation].harmless
        situations[observation] = _Situation(state, steps[0] if steps else None, harmless)
    return list(situations.values())


def _table(situations: list[_Situation], names: Sequence[str], agent: str | None) -> Iterator[Advice]:
    used = dict.fromkeys(one.choice for one in situations if one.choice is not None)
    cases = _cases(situations, names, tuple(used))
    for step in used:
        mine = dict.fromkeys(_shortened(case, step, situations) for case, choice in cases if choice == step)
        yield Advice(step, tuple(_without_repeats(list(mine), step, situations)), agent)


_Case = tuple[Test, ...]


def _cases(situations: list[_Situation], names: Sequence[str], used: tuple[int, ...]) -> list[tuple[_Case, _Choice]]:
    """Return the paths of a decision tree that is right in every situation, grown from a sample that is extended."""
    sample = situations[:SAMPLE_SIZE]
    while True:
        # Counterexample-guided: situations that the tree gets wrong join the sample, so it grows until none is left.
        cases = list(_grown(sample, names, used, ()))
        wrong = [
            one
            for one in situations
            if not any(_meets(one.state, case) and one.accepts(choice) for case, choice in cases)
        ]
        if not wrong:
            return cases
        sample = sample + wrong[:SAMPLE_SIZE]


def _grown(
    situations: list[_Situation], names: Sequence[str], used: tuple[int, ...], above: _Case
) -> Iterator[tuple[_Case, _Choice]]:
    for choice in (None, *used):
        if all(one.accepts(choice) for one in situations):
            yield above, choice
            return
    name, value = _best_test(situations, names, used)
    for is_so in (True, False):
        part = [one for one in situations if (one.state[name] == value) == is_so]
        yield from _grown(part, names, used, (*above, (name, value, is_so)))


def _best_test(situations: list[_Situation], names: Sequence[str], used: tuple[int, ...]) -> tuple[str, Value]:
    """Return the test with the greatest information gain that separates some situations."""
    telling = [one for one in situations if one.choice is not None or not one.harmless.issuperset(used)]
    best: tuple[float, str, Value] | None = None
    for name in names:
        for value in dict.fromkeys(one.state[name] for one in telling):
            parts = ([one for one in telling if one.state[name] == value],
                     [one for one in telling if one.state[name] != value])  # fmt: skip
            if all(parts):
                doubt = sum(len(part) * _entropy(part) for part in parts)
                if best is None or doubt < best[0] - 1e-9:
                    best = doubt, name, value
    assert best is not None, "situations that look alike ask for different choices"
    return best[1], best[2]


def _entropy(situations: list[_Situation]) -> float:
    shares = [number / len(situations) for number in Counter(one.choice for one in situations).values()]
    return -sum(share * log2(share) for share in shares)


def _meets(state: State, case: _Case) -> bool:
    return all((state[name] == value) == is_so for name, value, is_so in case)


def _shortened(case: _Case, step: int, situations: list[_Situation]) -> _Case:
    """Remove tests that make no difference in the situations, negative ones first."""
    against = [one.state for one in situations if not one.accepts(step)]
    for test in sorted(case, key=lambda test: test[2]):
        fewer = tuple(other for other in case if other != test)
        if not any(_meets(state, fewer) for state in against):
            case = fewer
    return case


def _without_repeats(cases: list[_Case], step: int, situations: list[_Situation]) -> list[_Case]:
    """Remove cases that other cases subsume."""
    needed = [one.state for one in situations if one.choice == step]
    for case in list(cases):
        remaining = [other for other in cases if other != case]
        if all(any(_meets(state, other) for other in remaining) for state in needed):
            cases = remaining
    return cases
