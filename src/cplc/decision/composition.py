"""Composition of independent components: the model of the whole by interleaving, without exploring it.

Definition. A state of the composition has a state of each component. Its actions are those of all components; each
changes its component and nothing else (as in Plateau's stochastic automata networks).

Claim. Where the participant never chooses and nobody may stay silent, its figures are those of the whole game.

Proof. The whole game draws the outcomes of all beliefs that are due before it orders other steps, and here a draw and a
forced step that follows it at once are one event. A component neither enables nor disables what others do, and all
its steps are forced. So the world loses nothing by going on in another component between a draw and its step, or by
putting off the draw: the same runs of each component remain, with the same probabilities.

States are numbers with the state of each component as a digit, so arrays describe them all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import product
from math import prod
from operator import or_
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from cplc.decision.backward_induction import depths_of, states_of_depths
from cplc.decision.belief_draws import EventProbability, event_probabilities
from cplc.decision.component_partition import Component
from cplc.decision.components import ComponentMdp
from cplc.decision.game import NO_STEP, ActionKind, Attitude, Game
from cplc.decision.mdp import ExploredMdp, Mdp
from cplc.decision.mdp_arrays import Indices, flat_array, indices, members_of, starts_of
from cplc.decision.results import Number
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.participant import Participant

Values = NDArray[Any]


def composed(
    whole: Component,
    parts: Sequence[tuple[Component, ComponentMdp]],
    attitude: Attitude,
    assumed: frozenset[str],
    limit: int,
) -> ExploredMdp | None:
    """Return the composition of components, each with a model that is isomorphic to it; None for other games."""
    if len(parts) < 2 or not all(map(_is_forced, (built for _, built in parts))):
        return None
    count = 1
    for _, built in parts:
        count *= built.states
    if count > limit:
        raise ResourceExhausted(f"more than {limit:,} states")
    game = Game(whole.system, whole.participant, attitude, assumed)
    digits = [_Digit(component, built, game, whole.participant) for component, built in parts]
    _add_findings(game, digits, count)
    return ExploredMdp(ComposedMdp(game.chances, digits), game, _States(digits))


def _is_forced(built: ComponentMdp) -> bool:
    """Return whether the world alone moves, and never may stay silent."""
    model = built.explored.model
    kinds = set(model.kind)
    is_stuck = built.explored.findings.stuck is not None
    return kinds <= {ActionKind.STEP, ActionKind.BELIEF} and model.initial == 1 and not is_stuck and built.is_acyclic


class _Digit:
    """The states of one component as digits of those of the whole."""

    def __init__(self, component: Component, built: ComponentMdp, game: Game, participant: Participant) -> None:
        model, own = built.explored.model, built.explored.game
        assert isinstance(own, Game)
        self.size = len(model)
        self.findings = built.explored.findings
        self.beliefs = component.beliefs
        self.number = {state: at for at, state in enumerate(built.explored.states)}
        names = dict(zip(built.component.order, component.order, strict=True))
        tables = [(own.beliefs[at], game.beliefs[belief]) for at, belief in enumerate(component.beliefs)]
        self.packed = []
        for state in built.explored.states:
            values = own.packing.unpack(own.packed(state))
            packed = sum(game.packing.bits(new, values[old]) for old, new in names.items())
            self.packed.append(packed | sum(other.with_drawn(0, one.field(state)) for one, other in tables))
        _, chances = event_probabilities(participant)
        numbers = [0] + [chances[component.beliefs[one.belief], one.event] for one in model.chances[1:]]
        self.chance = np.array(numbers, np.int64)[indices(model.chance)]
        steps = np.array([*component.steps, NO_STEP], np.int64)
        local = indices(model.step)
        self.step = steps[np.where(local == NO_STEP, len(component.steps), local)]
        self.first_action, self.first_event, self.first_transition = starts_of(model)
        self.target = indices(model.target)
        self.kind = np.frombuffer(bytes(model.kind), np.uint8)
        self.depth = depths_of(model)


def _add_findings(game: Game, digits: Sequence[_Digit], count: int) -> None:
    """Record the findings about the beliefs of each component, with the others in their first state."""
    first = sum(digit.packed[0] for digit in digits)
    findings = game.diagnostics
    for digit in digits:

        def example(state: int, digit: _Digit = digit) -> int:
            return first - digit.packed[0] + digit.packed[digit.number[state]]

        for belief, (times, state) in digit.findings.partial.items():
            findings.partial[digit.beliefs[belief]] = times * (count // digit.size), example(state)
        for (one, other), state in digit.findings.overlapping.items():
            findings.overlapping[digit.beliefs[one], digit.beliefs[other]] = example(state)
        findings.applied.update(digit.beliefs[belief] for belief in digit.findings.applied)


@dataclass(frozen=True)
class _States(Sequence[int]):
    """The packed states of the game."""

    digits: Sequence[_Digit]

    def __len__(self) -> int:
        return prod(digit.size for digit in self.digits)

    @overload
    def __getitem__(self, at: int, /) -> int: ...

    @overload
    def __getitem__(self, at: slice, /) -> list[int]: ...

    def __getitem__(self, at: int | slice, /) -> int | list[int]:
        if isinstance(at, slice):
            return [self[one] for one in range(*at.indices(len(self)))]
        packed = 0
        for digit in reversed(self.digits):
            at, place = divmod(at, digit.size)
            packed |= digit.packed[place]
        return packed

    def __iter__(self) -> Iterator[int]:
        return (reduce(or_, each) for each in product(*(digit.packed for digit in self.digits)))


_ARRAYS = frozenset({"first_action", "kind", "first_event", "chance", "first_transition", "target", "step"})


class ComposedMdp(Mdp):
    """The composition; its arrays are filled when they are first read, its values may be computed without them."""

    is_composed = True

    def __init__(self, chances: Sequence[EventProbability], digits: Sequence[_Digit]) -> None:
        self.chances = list(chances)
        self.initial = 1
        self.digits = digits
        self.strides = [prod(digit.size for digit in digits[at + 1 :]) for at in range(len(digits))]
        self.longest_path = sum(int(digit.depth.max()) for digit in digits)
        self.most_events = max(int(np.diff(digit.first_event).max(initial=1)) for digit in digits)

    def __getattr__(self, name: str) -> Any:
        if name not in _ARRAYS:
            raise AttributeError(name)
        _fill(self, self.digits, self.strides)
        return self.__dict__[name]

    def __len__(self) -> int:
        return prod(digit.size for digit in self.digits)

    def has(self, kind: ActionKind) -> bool:
        return any(kind in digit.kind for digit in self.digits)

    def with_chances(self, chances: Sequence[EventProbability]) -> Mdp:
        return ComposedMdp(chances, self.digits)

    def terminal_states(self) -> list[int]:
        states = np.zeros(1, np.int64)
        for digit, stride in zip(self.digits, self.strides, strict=True):
            ends = np.flatnonzero(np.diff(digit.first_action) == 0) * stride
            states = (states[:, None] + ends).ravel()
        result: list[int] = states.tolist()
        return result

    def depths(self) -> Indices:
        depth = np.zeros(1, np.int64)
        for digit in self.digits:
            depth = (depth[:, None] + digit.depth).ravel()
        return depth

    def reachability_values(self, goal_states: bytes, worst: bool) -> list[Number] | None:
        """Return the values by backward induction over all states of a depth; None if probabilities are intervals."""
        if any(one.low != one.high for one in self.chances):
            return None
        tables = [_Table(digit, stride, self.chances) for digit, stride in zip(self.digits, self.strides, strict=True)]
        choose = np.minimum if worst else np.maximum
        by_depth = states_of_depths(self.depths())
        values = np.frombuffer(goal_states, np.uint8).astype(float)
        for level in by_depth[1:]:
            for first in range(0, len(level), _CHUNK):
                states = level[first : first + _CHUNK]
                result = np.full(len(states), np.inf if worst else -np.inf)
                for table in tables:
                    table.choose(values, states, result, choose)
                values[states] = result
        numbers: list[Number] = values.tolist()
        return numbers


_CHUNK = 1 << 16
"""Number of states whose values are computed at a time: these fit into the cache of the processor."""


class _Table:
    """The actions of one component, each row padded to the same number of events and transitions."""

    def __init__(self, digit: _Digit, stride: int, chances: Sequence[EventProbability]) -> None:
        self.stride = stride
        self.size = digit.size
        low = np.array([float(one.low) for one in chances])
        self.actions: list[tuple[Values, list[tuple[Values, list[Indices]]]]] = []
        for number in range(int(np.diff(digit.first_action).max(initial=0))):
            action = digit.first_action[:-1] + number
            exists = action < digit.first_action[1:]
            action = np.where(exists, action, 0)
            sizes = np.diff(digit.first_event)[action]
            is_chance = digit.kind[action] == ActionKind.BELIEF
            events = []
            for place in range(int(sizes.max(initial=0))):
                event = digit.first_event[action] + np.minimum(place, sizes - 1)
                share = np.where(is_chance, low[digit.chance[event]], 1.0) * (exists & (place < sizes))
                widths = np.diff(digit.first_transition)[event]
                moves = []
                for at in range(int(widths.max(initial=0))):
                    target = digit.target[digit.first_transition[event] + np.minimum(at, widths - 1)]
                    moves.append(np.where(exists, (target - np.arange(self.size)) * stride, 0))
                events.append((share, moves))
            self.actions.append((exists, events))

    def choose(self, values: Values, states: Indices, result: Values, choose: np.ufunc) -> None:
        """Replace the result of each state by the value of an action of the component that is preferred to it."""
        place = states // self.stride % self.size
        for exists, events in self.actions:
            mean = np.zeros(len(states))
            for share, moves in events:
                reached = values[states + moves[0][place]]
                for move in moves[1:]:
                    choose(reached, values[states + move[place]], out=reached)
                mean += share[place] * reached
            choose(result, mean, out=result, where=exists[place])


def _fill(model: ComposedMdp, digits: Sequence[_Digit], strides: Sequence[int]) -> None:
    count = len(model)
    numbers = np.arange(count)
    places = [numbers // stride % digit.size for digit, stride in zip(digits, strides, strict=True)]
    # The actions, events and transitions of each state of a component are contiguous.
    events = [digit.first_event[digit.first_action] for digit in digits]
    transitions = [digit.first_transition[first] for digit, first in zip(digits, events, strict=True)]
    first_action, actions = _joined([digit.first_action for digit in digits], places)
    kind = _interleaved([digit.kind for digit in digits], actions)
    first_event = _cumulated(_interleaved([np.diff(digit.first_event) for digit in digits], actions))
    _, of_events = _joined(events, places)
    chance = _interleaved([digit.chance for digit in digits], of_events)
    first_transition = _cumulated(_interleaved([np.diff(digit.first_transition) for digit in digits], of_events))
    first_outgoing, of_transitions = _joined(transitions, places)
    step = _interleaved([digit.step for digit in digits], of_transitions)
    target = np.repeat(numbers, np.diff(first_outgoing))
    for digit, stride, first, (members, at) in zip(digits, strides, transitions, of_transitions, strict=True):
        source = np.repeat(np.arange(digit.size), np.diff(first))
        target[at] += ((digit.target - source) * stride)[members]
    model.first_action, model.first_event, model.first_transition = map(
        flat_array, (first_action, first_event, first_transition)
    )
    model.kind = bytearray(kind.astype(np.uint8).tobytes())
    model.chance, model.target, model.step = map(flat_array, (chance, target, step))


def _joined(firsts: Sequence[Indices], places: Sequence[Indices]) -> tuple[Indices, list[tuple[Indices, Indices]]]:
    """Return where the members of each state begin, and for each component its members with their places."""
    counts = [np.diff(first)[place] for first, place in zip(firsts, places, strict=True)]
    begins = _cumulated(sum(counts[1:], start=counts[0]))
    offset = begins[:-1].copy()
    each = []
    for first, place, mine in zip(firsts, places, counts, strict=True):
        members, _ = members_of(first, place)
        shift = np.repeat(offset - (np.cumsum(mine) - mine), mine)
        each.append((members, shift + np.arange(len(members))))
        offset += mine
    return begins, each


def _interleaved(columns: Sequence[Values], members: Sequence[tuple[Indices, Indices]]) -> Indices:
    """Return a column of the whole from those of the components, given the places of their members."""
    result = np.zeros(sum(len(at) for _, at in members), np.int64)
    for column, (mine, at) in zip(columns, members, strict=True):
        result[at] = column[mine]
    return result


def _cumulated(sizes: Indices) -> Indices:
    return np.concatenate((np.zeros(1, np.int64), np.cumsum(sizes)))
