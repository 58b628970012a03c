"""Random walks: through interleaved systems by compiled successor tables, through synchronous ones by rounds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Final

from cplc.records import dataclass
from cplc.simulation.rng import RandomSource
from cplc.simulation.round_sampler import RoundSampler, draw_initial_state
from cplc.simulation.run_statistics import Ending, Statistics, StatisticsCollector
from cplc.simulation.scheduler_weights import Bias, Chooser, Ways, beliefs, coverage, uniform
from cplc.statespace.interleaved import InterleavedRelation
from cplc.system.model import System
from cplc.system.participant import Participant
from cplc.system.trace import Move, Run

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
