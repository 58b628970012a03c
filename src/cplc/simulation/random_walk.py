"""Random walks: through interleaved systems by compiled successor tables, through synchronous ones by rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import islice, product
from typing import Final, Literal

from cplc.logic.expressions import Expr, Value, reads
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.rng import RandomSource
from cplc.simulation.run_statistics import Ending, Statistics, StatisticsCollector
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import MemoTable, Packing
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.participant import Belief, Participant
from cplc.system.satisfying_assignments import independent_groups, satisfying_assignments
from cplc.system.trace import Move, Run

# --- Schedulers of random runs: uniform, by coverage, or by a participant's beliefs and decisions


Bias = Literal["coverage", "uniform", "beliefs"]

Ways = Sequence[tuple[int, int]]
"""The enabled steps by index with their successors, in order and not empty."""

Chooser = Callable[[int, Ways], int | None]
"""Returns the position of the chosen step; None if the participant refuses all of them."""

_ANYTHING: Final = 4
"""One choice in this many is uniform, so that rare steps are not always taken in the same order."""


def uniform(dice: RandomSource) -> Chooser:
    """Choose uniformly."""
    return lambda _, ways: dice.below(len(ways))


def coverage(dice: RandomSource, steps: int) -> Chooser:
    """Prefer the steps that were taken least often; ``steps`` is the number of steps of the system."""
    taken = [0] * steps

    def choose(_: int, ways: Ways) -> int:
        if dice.below(_ANYTHING):
            counts = [taken[step] for step, _ in ways]
            fewest = min(counts)
            rare = [position for position, count in enumerate(counts) if count == fewest]
            chosen = rare[dice.below(len(rare))]
        else:
            chosen = dice.below(len(ways))
        taken[ways[chosen][0]] += 1
        return chosen

    return choose


def beliefs(dice: RandomSource, packing: Packing, participant: Participant) -> Chooser:
    """Choose by the participant's beliefs about others and its own decisions; the rest is uniform.

    The events of one belief count as one alternative: first the alternative is drawn, then the event.
    """
    believed = [_Believed(packing, belief) for belief in participant.beliefs]
    decided = [(_condition(packing, one.condition), frozenset(one.steps)) for one in participant.decisions]

    def choose(state: int, ways: Ways) -> int | None:
        refused: set[int] = set()
        allowed: set[int] = set()
        for applies, steps in decided:
            (allowed if applies(state) else refused).update(steps)
        refused -= allowed
        possible = {step for step, _ in ways}
        positions = [position for position, (step, _) in enumerate(ways) if step not in refused]
        units: list[tuple[_Believed | None, list[int]]] = []
        for belief in believed:
            if belief.steps & possible and belief.applies(state) and all(possible & event for event in belief.events):
                units.append((belief, [at for at in positions if ways[at][0] in belief.steps]))
                positions = [at for at in positions if ways[at][0] not in belief.steps]
        units += [(None, [position]) for position in positions]
        if not units:
            return None
        unit, members = units[dice.below(len(units))]
        if unit is not None:
            event = unit.events[dice.weighted(unit.weights)]
            members = [at for at in members if ways[at][0] in event] or members
        return members[dice.below(len(members))]

    return choose


class _Believed:
    """A belief, compiled for packed states."""

    def __init__(self, packing: Packing, belief: Belief) -> None:
        self.applies = _condition(packing, belief.condition)
        self.events = [frozenset(event.steps) for event in belief.events]
        self.steps = frozenset[int]().union(*self.events)
        self.weights = _between(belief)


def _between(belief: Belief) -> list[Fraction]:
    """Return probabilities within the bounds that sum to one, all at the same relative position between them."""
    low = sum((event.low for event in belief.events), Fraction(0))
    wide = sum((event.high - event.low for event in belief.events), Fraction(0))
    share = (1 - low) / wide if wide else Fraction(0)
    return [event.low + share * (event.high - event.low) for event in belief.events]


def _condition(packing: Packing, condition: Expr) -> Callable[[int], bool]:
    mask, table = packing.mask(reads(condition)), MemoTable(packing.condition(condition))
    return lambda state: table[state & mask]


# --- Random rounds of a synchronous system: one action of each player, then one of the outcomes of the joint action
#
# Actions are drawn player by player, so that the joint actions, whose number is a product, need not be enumerated.
# Only where a joint action leads to no state are all of them tried.


MAX_JOINT_ACTIONS: Final = 100_000
"""Maximum number of joint actions that are tried in one state."""
_MAX_OUTCOMES: Final = 10_000
_MAX_INITIAL: Final = 100_000
"""Maximum number of initial values of dependent variables to draw from."""
_MAX_MEMO_ENTRIES: Final = 50_000
_UNIFORM_ODDS: Final = 4
"""One choice in this many is uniform, so that rare actions are not always taken in the same order."""

JointAction = tuple[str, ...]
_Key = tuple[Value, ...]


class RoundSampler:
    """The rounds of one system, computed by the interpreter and memoized."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._interpreter = Interpreter(system)
        self._allowed: dict[_Key, list[list[str]]] = {}
        self._outcomes: dict[tuple[_Key, JointAction], list[State]] = {}
        self._final: dict[_Key, bool] = {}

    def allowed(self, state: State) -> list[list[str]]:
        """Return the allowed actions of each player."""
        key = tuple(state.values())
        actions = self._allowed.get(key)
        if actions is None:
            if len(self._allowed) >= _MAX_MEMO_ENTRIES:
                self._allowed.clear()
            actions = self._allowed[key] = [self._interpreter.allowed(player, state) for player in self.system.players]
        return actions

    def outcomes(self, state: State, actions: JointAction) -> list[State]:
        """Return the states that the joint action may lead to, each once."""
        key = tuple(state.values()), actions
        states = self._outcomes.get(key)
        if states is None:
            if len(self._outcomes) >= _MAX_MEMO_ENTRIES:
                self._outcomes.clear()
            every = islice(self._interpreter.after_round(state, actions), _MAX_OUTCOMES)
            states = self._outcomes[key] = list({tuple(after.values()): after for after in every}.values())
        return states

    def moves(self, state: State, given: Mapping[int, str] | None = None) -> Iterator[Move]:
        """Yield the rounds in which the players at these positions do the given actions."""
        chosen = given or {}
        options = [
            [action for action in allowed if position not in chosen or action == chosen[position]]
            for position, allowed in enumerate(self.allowed(state))
        ]
        for number, actions in enumerate(product(*options)):
            if number >= MAX_JOINT_ACTIONS:
                raise ResourceExhausted(f"more than {MAX_JOINT_ACTIONS:,} joint actions in one state")
            yield from (Move(None, after, actions) for after in self.outcomes(state, actions))

    def is_final(self, state: State) -> bool:
        """Return whether no round leads to another state: a deadlock, or a state that repeats forever."""
        key = tuple(state.values())
        if key not in self._final:
            if len(self._final) >= _MAX_MEMO_ENTRIES:
                self._final.clear()
            try:
                self._final[key] = all(move.state == state for move in self.moves(state))
            except ResourceExhausted:
                self._final[key] = False
        return self._final[key]

    def draw(self, state: State, dice: RandomSource, taken: Counter[tuple[int, str]] | None = None) -> Move | None:
        """Return a random round, None in a deadlock; ``taken`` counts actions, of which the rarest are preferred."""
        allowed = self.allowed(state)
        if not all(allowed):
            return None
        actions = tuple(
            some[0] if len(some) == 1 else self._drawn(position, some, dice, taken)
            for position, some in enumerate(allowed)
        )
        outcomes = self.outcomes(state, actions)
        if not outcomes:
            moves = list(self.moves(state))
            if not moves:
                return None
            actions = moves[dice.below(len(moves))].actions
            outcomes = self.outcomes(state, actions)
        if taken is not None:
            taken.update(enumerate(actions))
        return Move(None, outcomes[dice.below(len(outcomes)) if len(outcomes) > 1 else 0], actions)

    @staticmethod
    def _drawn(position: int, some: Sequence[str], dice: RandomSource, taken: Counter[tuple[int, str]] | None) -> str:
        if taken is not None and dice.below(_UNIFORM_ODDS):
            counts = [taken[position, action] for action in some]
            fewest = min(counts)
            some = [action for action, count in zip(some, counts, strict=True) if count == fewest]
        return some[dice.below(len(some))]


def draw_initial_state(system: System, dice: RandomSource, given: Mapping[str, Value] | None = None) -> State | None:
    """Return a random initial state with the given values; None if there is none.

    The initial condition divides the variables into independent groups; each group is drawn uniformly.
    """
    fixed = given or {}
    domains = {
        variable.name: (fixed[variable.name],) if variable.name in fixed else tuple(dict.fromkeys(variable.initial))
        for variable in system.variables
    }
    state: State = {}
    for names, condition in independent_groups(domains, system.start):
        every = satisfying_assignments({name: domains[name] for name in names}, condition)
        ways = list(islice(every, _MAX_INITIAL))
        if not ways:
            return None
        state |= ways[dice.below(len(ways)) if len(ways) > 1 else 0]
    return {name: state[name] for name in domains}


_OFTEN: Final = 100
_KEPT_VALUES: Final = 4_000_000
"""Maximum number of variable values that are stored of displayed runs; later steps are only counted."""


@dataclass(frozen=True)
class RandomWalk:
    """A run on packed states, of which a prefix is stored."""

    start: int
    steps: tuple[tuple[int, int], ...]
    """The stored prefix: steps with their successors."""
    length: int
    ending: Ending


Watch = Callable[[int, int, int], None]
"""Receives each step: the state before, the step, the state after."""


class RandomWalker:
    """Generates random runs of one system; all runs share its successor tables."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._relation = InterleavedRelation(system)
        self.packing = self._relation.packing
        self._ticks = frozenset(index for index, step in enumerate(system.steps) if step.kind == "tick")
        self._initial = [
            list(dict.fromkeys(self.packing.bits(variable.name, value) for value in variable.initial))
            for variable in system.variables
        ]

    def start(self, dice: RandomSource) -> int:
        """Return a random initial state."""
        return sum(bits[dice.below(len(bits))] if len(bits) > 1 else bits[0] for bits in self._initial)

    def ways(self, state: int) -> Ways:
        """Return the enabled steps with their successors, without ticks that change nothing."""
        ways = self._relation.transitions(state)
        if self._ticks:
            ways = [(step, target) for step, target in ways if target != state or step not in self._ticks]
        return ways

    def walk(self, start: int, choose: Chooser, most: int, *, keep: int, watch: Watch) -> RandomWalk:
        """Generate one run of at most ``most`` steps; store the first ``keep`` of them."""
        state = start
        prefix: list[tuple[int, int]] = []
        for length in range(most):
            ways = self.ways(state)
            if not ways:
                return RandomWalk(start, tuple(prefix), length, self._at_rest(state))
            chosen = choose(state, ways)
            if chosen is None:
                return RandomWalk(start, tuple(prefix), length, "refused")
            step, target = ways[chosen]
            watch(state, step, target)
            if length < keep:
                prefix.append((step, target))
            state = target
        return RandomWalk(start, tuple(prefix), most, "limit" if self.ways(state) else self._at_rest(state))

    def _at_rest(self, state: int) -> Ending:
        return "time" if self._relation.transitions(state) else "nothing"

    def run(self, walk: RandomWalk) -> Run:
        """Return the stored prefix as a run on unpacked states."""
        unpack = self.packing.unpack
        return Run(unpack(walk.start), tuple(Move(step, unpack(target)) for step, target in walk.steps))


@dataclass(frozen=True)
class DrawnRun:
    """A stored prefix of a run, with the length of the run and the reason of its end."""

    run: Run
    length: int
    ending: Ending


def draw(
    system: System,
    bias: Bias,
    participant: Participant | None,
    *,
    seed: int,
    runs: int,
    most: int,
    keep: int,
    on_step: Callable[[int, int], None] | None = None,
) -> Iterator[tuple[DrawnRun | None, Statistics]]:
    """Yield each of the first ``keep`` random runs with the statistics of all runs so far.

    After these, statistics alone follow with every hundredth run and the last one. ``on_step`` receives each step with
    the number of its run; in a synchronous system nothing.
    """
    if system.players:
        yield from _draw_rounds(system, bias, seed=seed, runs=runs, most=most, keep=keep)
        return
    walker, dice = RandomWalker(system), RandomSource(seed)
    choose = _chooser(walker, dice, bias, participant)
    tally = StatisticsCollector(system, walker.packing)
    max_kept_steps = _max_kept_steps(system, min(keep, runs))
    for number in range(runs):
        start = walker.start(dice)
        tally.begin(start)
        watch = tally.step if on_step is None else _telling(tally.step, on_step, number)
        walk = walker.walk(start, choose, most, keep=max_kept_steps if number < keep else 0, watch=watch)
        tally.end(walk.length, walk.ending)
        if number < keep:
            yield DrawnRun(walker.run(walk), walk.length, walk.ending), tally.statistics
        elif number % _OFTEN == 0 or number == runs - 1:
            yield None, tally.statistics


def _max_kept_steps(system: System, kept_runs: int) -> int:
    return _KEPT_VALUES // (max(1, len(system.variables)) * max(1, kept_runs))


def _draw_rounds(
    system: System, bias: Bias, *, seed: int, runs: int, most: int, keep: int
) -> Iterator[tuple[DrawnRun | None, Statistics]]:
    """Yield random runs of a synchronous system; its statistics count the actions of players."""
    sampler, dice = RoundSampler(system), RandomSource(seed)
    max_kept_steps = _max_kept_steps(system, min(keep, runs))
    endings: Counter[Ending] = Counter()
    taken: Counter[tuple[int, str]] = Counter()
    steps = longest = 0
    for number in range(runs):
        start = state = draw_initial_state(system, dice)
        if start is None or state is None:
            raise ValueError("the system has no initial state")
        prefix: list[Move] = []
        length = 0
        while length < most and not sampler.is_final(state):
            move = sampler.draw(state, dice, taken if bias == "coverage" else None)
            assert move is not None  # the state is not final
            if bias != "coverage":
                taken.update(enumerate(move.actions))
            if length < max_kept_steps and number < keep:
                prefix.append(move)
            state = move.state
            length += 1
        ending: Ending = "nothing" if sampler.is_final(state) else "limit"
        endings[ending] += 1
        steps, longest = steps + length, max(longest, length)
        is_kept = number < keep
        if is_kept or number % _OFTEN == 0 or number == runs - 1:
            counts = tuple(
                (f"{player.agent}: {action.name}", taken[position, action.name])
                for position, player in enumerate(system.players)
                for action in player.actions
            )
            statistics = Statistics(number + 1, steps, longest, dict(endings), (), counts)
            yield (DrawnRun(Run(start, tuple(prefix)), length, ending) if is_kept else None), statistics


def _telling(watch: Watch, on_step: Callable[[int, int], None], number: int) -> Watch:
    def both(before: int, step: int, after: int) -> None:
        watch(before, step, after)
        on_step(number, step)

    return both


def _chooser(walker: RandomWalker, dice: RandomSource, bias: Bias, participant: Participant | None) -> Chooser:
    match bias:
        case "coverage":
            return coverage(dice, len(walker.system.steps))
        case "uniform":
            return uniform(dice)
        case "beliefs":
            if participant is None:
                raise ValueError("the bias `beliefs` needs a participant")
            return beliefs(dice, walker.packing, participant)
