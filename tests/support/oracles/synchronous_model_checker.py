"""Oracle for synchronous systems: enumeration of every round, formulas by their definitions.

Fairness has the meaning of MCMAS: the model is restricted to the states from which a fair run begins. Engines keep all
states, and formulas are about the fair ones.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import product

from tests.support.oracles.model_checker import Frozen, Naive, States, _greatest, _least, evaluate
from tests.support.oracles.path_tableau import Runs
from tests.support.oracles.synchronous_games import NaiveRoundGame

from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, Value
from cplc.logic.formulas import Formula, OnPaths, Taken

Round = tuple[str, ...]


@dataclass(frozen=True)
class NaiveRounds(Naive):
    @cached_property
    def initial(self) -> States:
        every = product(*(variable.initial for variable in self.system.variables))
        return frozenset(state for state in every if evaluate(self.system.start, self.thaw(state)))

    def after(self, state: Frozen, doing: Round) -> States:
        """Return where a round may lead, every player's rules by every choice of a change."""
        now = self.thaw(state)
        valuation = now | dict(zip(self.system.player, doing, strict=True))
        ways = []
        for player in self.system.players:
            for rule in player.rules:
                made = [change.updates for change in rule if evaluate(change.guard, valuation)]
                ways.append(made or [()])
        successors: set[Frozen] = set()
        for way in product(*ways):
            then: dict[str, Value] = dict(now)
            then.update((name, evaluate(value, now)) for updates in way for name, value in updates)
            if all(then[variable.name] in variable.domain for variable in self.system.variables):
                successors.add(tuple(then[variable.name] for variable in self.system.variables))
        return frozenset(successors)

    @cached_property
    def rounds(self) -> dict[Frozen, frozenset[tuple[Round, Frozen]]]:
        """Joint actions of each reachable state, and their successors."""
        rounds_of: dict[Frozen, frozenset[tuple[Round, Frozen]]] = {}
        new = set(self.initial)
        while new:
            state = new.pop()
            now = self.thaw(state)
            allowed = [[one.name for one in p.actions if evaluate(one.allowed, now)] for p in self.system.players]
            rounds_of[state] = frozenset((doing, to) for doing in product(*allowed) for to in self.after(state, doing))
            new |= {to for _, to in rounds_of[state]} - rounds_of.keys()
        return rounds_of

    @cached_property
    def reachable(self) -> States:
        """The states that count: with conditions of fairness those that begin a fair run."""
        every = frozenset(self.rounds)
        if not self.system.conditions:
            return every
        often = [self._recurrent(one) for one in self.system.conditions]

        def before(states: States, within: States) -> States:
            return frozenset(state for state in within if any(to in states for _, to in self.rounds[state]))

        def again(z: States) -> States:
            for goal in often:
                fixpoint = _least(lambda y, z=z, goal=goal: before((goal & z) | y, z))  # type: ignore[misc]
                z = z & fixpoint
            return z

        return _greatest(every, again)

    def _recurrent(self, condition: Expr | f.Regardless) -> States:
        if isinstance(condition, f.Regardless):
            return self._regardless.satisfying(condition.operand)
        return frozenset(state for state in self.rounds if evaluate(condition, self.thaw(state)))

    @cached_property
    def _regardless(self) -> NaiveRounds:
        return NaiveRounds(self.system.without_conditions)

    @cached_property
    def _next(self) -> dict[Frozen, States]:
        return {state: frozenset(to for _, to in self.rounds[state]) & self.reachable for state in self.reachable}

    def _surely(self, states: States) -> States:
        return frozenset(state for state in self.reachable if self._next[state] <= states)

    def runs(self, assuming: frozenset[str], along: Taken | None = None) -> Runs[Frozen, int | None]:
        moves = {state: [(0, to) for to in self._next[state]] for state in self.reachable}
        return Runs(moves, [], [self._recurrent(one) & self.reachable for one in self.system.conditions])

    def _satisfying(self, formula: Formula, assuming: frozenset[str]) -> States:
        match formula:
            case OnPaths(quantifier):
                path = None if self.system.conditions else f.ctl_path(formula)
                return self.by_tableau(formula) if path is None else self._ctl(quantifier, path)
            case f.Enforces(group, aim, uniform):
                game = NaiveRoundGame(self, group)
                return game.winning_uniformly(aim) if uniform else game.winning(aim)
            case f.Regardless():
                return self._recurrent(formula) & self.reachable
            case f.Adjacent(operand, same, choice, back):
                goal = self.satisfying(operand)
                pairs = [
                    (state, to)
                    for state in self.reachable
                    for doing, to in self.rounds[state]
                    if to in self.reachable and self._agree(state, to, same) and self._does(doing, choice)
                ]
                return (
                    frozenset(to for state, to in pairs if state in goal)
                    if back
                    else frozenset(state for state, to in pairs if to in goal)
                )
            case _:
                return super()._satisfying(formula, assuming)

    def _agree(self, state: Frozen, to: Frozen, same: tuple[tuple[str, str], ...]) -> bool:
        now, then = self.thaw(state), self.thaw(to)
        return all(now[one] == then[other] for one, other in same)

    def _does(self, doing: Round, choice: tuple[str, str] | None) -> bool:
        return choice is None or dict(zip(self.system.player, doing, strict=True))[choice[0]] == choice[1]

    def _ctl(self, quantifier: str, path: f.CtlPath) -> States:
        """Return the fixpoint, in which a path may end where no round is possible."""
        some = quantifier == "E"
        step = self._before if some else self._surely
        match path:
            case f.Next(operand):
                return step(self.satisfying(operand))
            case f.Finally(operand):
                goal = self.satisfying(operand)
                return _least(lambda z: goal | step(z))
            case f.Globally(operand):
                keep = self.satisfying(operand)
                return _greatest(keep, lambda z: keep & step(z))
            case f.Until(left, right):
                through, end = self.satisfying(left), self.satisfying(right)
                return _least(lambda z: end | (through & step(z)))
            case _:
                raise AssertionError(path)
