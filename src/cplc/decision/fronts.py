"""Fronts of vectors of guaranteed figures: what one strategy can guarantee for several figures together.

On an acyclic model the sets of vectors compose exactly: union at the participant's choices, componentwise minimum at
the world's (it is adverse to each figure separately), weighted sums at chance. Dominated vectors are dropped. Where a
set grows too large it is thinned: a subset is still attained, the componentwise maximum of a cluster is still an upper
bound. Vectors are floating-point numbers; a plan that is read off a vector is evaluated exactly afterwards.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from cplc.decision.end_components import extremal_probabilities
from cplc.decision.game import ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.observation import Objective
from cplc.decision.value_iteration import OrderedMdp
from cplc.records import dataclass

Vector = tuple[float, ...]
Picks = tuple[tuple[int, int], ...]
"""For each transition that may follow, the vector of its target that the plan pursues there."""
Entry = tuple[Vector, Picks]
Side = Literal["attained", "upper"]

TOLERANCE = 1e-9
"""Bound of the rounding error of a component."""
_SAME = 1e-12


@dataclass(frozen=True)
class Front:
    """The vectors of each state."""

    model: Mdp
    entries: Sequence[Sequence[Entry]]
    thinned: bool
    """Some set was too large, so the vectors are bounds of one side."""

    def initial(self, cap: int, side: Side) -> list[Entry]:
        """Return the vectors from the initial states, of which the world picks one; picks are per initial state."""
        model = self.model
        sets = [
            [(vector, ((at, number),)) for number, (vector, _) in enumerate(self.entries[at])]
            for at in range(model.initial)
        ]
        return _Thinning(cap, side).minimum(sets)


def front(model: Mdp, objectives: Sequence[Objective], cap: int, side: Side) -> Front:
    """Return the front of every state of an acyclic model.

    States with the same actions, rewards and fronts of their targets have the same front, which is computed once.
    """
    thinning = _Thinning(cap, side)
    numbers = [0] * len(model)
    fronts: list[list[Entry]] = []
    computed: dict[object, int] = {}
    rewards = {step: tuple(one.reward(step) for one in objectives) for step in set(model.step)}
    for (state,) in OrderedMdp(model).sccs:
        if model.is_end(state):
            vector = tuple(float(one.goal_states[state]) if one.rewards is None else 0.0 for one in objectives)
            key: object = vector
        else:
            key = _state_key(model, state, rewards, numbers)
        number = computed.get(key)
        if number is None:
            number = computed[key] = len(fronts)
            actions = model.options(state)
            entries = [_action_entries(model, action, rewards, numbers, fronts, thinning) for action in actions]
            begin = model.outgoing(state).start if entries else 0
            merged = thinning.minimum(entries) if entries else [(vector, ())]
            fronts.append([(vector, tuple((at - begin, one) for at, one in picks)) for vector, picks in merged])
        numbers[state] = number
    shifted = [
        fronts[number] if model.is_end(state) else _shifted(fronts[number], model.outgoing(state).start)
        for state, number in enumerate(numbers)
    ]
    return Front(model, shifted, thinning.thinned)


def _shifted(entries: Sequence[Entry], begin: int) -> list[Entry]:
    """Return the entries of a state whose transitions begin here."""
    return [(vector, tuple([(begin + at, one) for at, one in picks])) for vector, picks in entries]


def _state_key(
    model: Mdp, state: int, rewards: Mapping[int, tuple[int, ...]], numbers: Sequence[int]
) -> tuple[object, ...]:
    return tuple([
        (
            model.kind[action] == ActionKind.BELIEF,
            *[
                (
                    model.chance[event],
                    *[(rewards[model.step[at]], numbers[model.target[at]]) for at in model.transitions(event)],
                )
                for event in model.events(action)
            ],
        )
        for action in model.options(state)
    ])  # fmt: skip


def _action_entries(
    model: Mdp,
    action: int,
    rewards: Mapping[int, tuple[int, ...]],
    numbers: Sequence[int],
    fronts: Sequence[Sequence[Entry]],
    thinning: _Thinning,
) -> list[Entry]:
    each = []
    for event in model.events(action):
        sets: list[list[Entry]] = []
        for at in model.transitions(event):
            amounts = rewards[model.step[at]]
            sets.append(
                [
                    (tuple(map(sum, zip(vector, amounts, strict=True))) if any(amounts) else vector, ((at, number),))
                    for number, (vector, _) in enumerate(fronts[numbers[model.target[at]]])
                ]
            )
        each.append(thinning.minimum(sets))
    if model.kind[action] != ActionKind.BELIEF:
        return thinning.pruned(entry for one in each for entry in one)
    chances = [model.chances[model.chance[event]] for event in model.events(action)]
    if all(one.low == one.high for one in chances):
        sums: list[Entry] = [((0.0,) * len(each[0][0][0]), ())]
        for chance, one in zip(chances, each, strict=True):
            share = float(chance.low)
            sums = thinning.pruned(
                (tuple(a + share * b for a, b in zip(total, vector, strict=True)), picks + more)
                for total, picks in sums
                for vector, more in one
            )
        return sums
    combined: list[tuple[list[Vector], Picks]] = [([], ())]
    for one in each:
        combined = [([*vectors, vector], picks + more) for vectors, picks in combined for vector, more in one]
    return thinning.pruned((_robust(chances, vectors), picks) for vectors, picks in combined)


def _robust(chances: Sequence[object], vectors: Sequence[Vector]) -> Vector:
    """Return the least mean of each component over the intervals of probabilities."""
    return tuple(
        float(sum(float(share) * value for share, value in zip(shares, values, strict=True)))
        for values in zip(*vectors, strict=True)
        for shares in (extremal_probabilities(chances, values, True),)  # type: ignore[arg-type]
    )


class _Thinning:
    """Prunes sets of vectors, and thins those that are too large."""

    def __init__(self, cap: int, side: Side) -> None:
        self.cap = cap
        self.side = side
        self.thinned = False

    def minimum(self, sets: Sequence[Sequence[Entry]]) -> list[Entry]:
        """Return the componentwise minima of one vector of each set."""
        result: list[Entry] = list(sets[0])
        for one in sets[1:]:
            result = self.pruned(
                (tuple(map(min, vector, other)), picks + more) for vector, picks in result for other, more in one
            )
        return result

    def pruned(self, entries: Iterable[Entry]) -> list[Entry]:
        """Return the entries that no other one dominates, thinned if they are too many."""
        result: list[Entry] = []
        for vector, picks in sorted(entries, key=lambda entry: entry[0], reverse=True):
            if not any(all(a >= b - _SAME for a, b in zip(other, vector, strict=True)) for other, _ in result):
                result.append((vector, picks))
        if len(result) <= self.cap:
            return result
        self.thinned = True
        size = -(-len(result) // self.cap)
        clusters = [result[at : at + size] for at in range(0, len(result), size)]
        if self.side == "attained":
            return [max(cluster, key=lambda entry: sum(entry[0])) for cluster in clusters]
        return [
            (tuple(max(values) for values in zip(*(vector for vector, _ in cluster), strict=True)), cluster[0][1])
            for cluster in clusters
        ]


def undominated(each: Iterable[tuple[Vector, tuple[Entry, ...]]]) -> list[tuple[Vector, tuple[Entry, ...]]]:
    """Return the vectors that no other one dominates, the greatest first."""
    result: list[tuple[Vector, tuple[Entry, ...]]] = []
    for vector, entries in sorted(each, key=lambda one: one[0], reverse=True):
        if not any(all(a >= b for a, b in zip(other, vector, strict=True)) for other, _ in result):
            result.append((vector, entries))
    return result
