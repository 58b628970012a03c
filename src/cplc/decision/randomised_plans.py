"""Randomised plans: whether tossing coins could pass where no deterministic plan does.

A *mixture* tosses a coin first and follows one of several plans. It guarantees at least the convex combination of what
they guarantee. *Upper bounds* are by weak duality: against one strategy of the world, fixed beforehand, a randomised
plan is no better than the best deterministic one; and with full observation, no plan gets more of a weighted sum of
figures than the value of the game for that sum, which has a deterministic optimal strategy.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction
from itertools import pairwise

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import extremal_probabilities
from cplc.decision.game import CERTAIN, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.observation import Objective, ObservedMdp
from cplc.decision.results import Number

_Pair = tuple[Fraction, Fraction]


def matrix_game(rows: Sequence[Sequence[Fraction]]) -> tuple[Fraction, list[Fraction]]:
    """Return the value of a matrix game, and an optimal mixture of its rows, whose player maximises.

    Simplex method on the linear programme of the other player, whose dual solution is the mixture. Bland's rule: no
    cycling.
    """
    height, width = len(rows), len(rows[0])
    shift = 1 - min(map(min, rows))
    # Invariant: each row of the tableau is an equation over the columns (choices, slacks); the last entry is its right
    # side, never negative. The last row holds the reduced costs, negated.
    tableau = [
        [value + shift for value in row] + [Fraction(at == other) for other in range(height)] + [Fraction(1)]
        for at, row in enumerate(rows)
    ]
    costs = [Fraction(-1)] * width + [Fraction(0)] * (height + 1)
    basis = [width + at for at in range(height)]
    while (entering := next((at for at in range(width + height) if costs[at] < 0), None)) is not None:
        ratios = [(row[-1] / row[entering], basis[at], at) for at, row in enumerate(tableau) if row[entering] > 0]
        leaving = min(ratios)[2]
        pivot = [value / tableau[leaving][entering] for value in tableau[leaving]]
        tableau = [
            pivot if at == leaving else [a - row[entering] * b for a, b in zip(row, pivot, strict=True)]
            for at, row in enumerate(tableau)
        ]
        costs = [a - costs[entering] * b for a, b in zip(costs, pivot, strict=True)]
        basis[leaving] = entering
    total = costs[-1]
    return 1 / total - shift, [one / total for one in costs[width : width + height]]


def normals(vectors: Sequence[Sequence[float]]) -> list[_Pair]:
    """Return the outer normals of what mixtures of these pairs of figures guarantee (the upper right hull)."""
    hull: list[_Pair] = []
    for x, y in sorted({(Fraction(x), Fraction(y)) for x, y in vectors}, reverse=True):
        if hull and y <= hull[-1][1]:
            continue
        while len(hull) > 1 and _turns_left(hull[-2], hull[-1], (x, y)):
            hull.pop()
        hull.append((x, y))
    between = [(y2 - y1, x1 - x2) for (x1, y1), (x2, y2) in pairwise(hull)]
    return [(Fraction(1), Fraction(0)), *between, (Fraction(0), Fraction(1))]


def _turns_left(one: _Pair, two: _Pair, three: _Pair) -> bool:
    """Return whether the second pair is not beyond the line between the others."""
    normal = three[1] - one[1], one[0] - three[0]
    return normal[0] * (two[0] - one[0]) + normal[1] * (two[1] - one[1]) <= 0


def resolved(whole: ObservedMdp, objective: Objective, low: Sequence[Number]) -> ObservedMdp:
    """Return the model in which the world does what is worst for these values of the states, and nothing else."""
    model = whole.model
    chances = [model.chances[CERTAIN]]
    result = Mdp(chances, model.initial)
    choices: dict[int, Hashable] = {}

    def transition(event: int) -> int:
        return min(model.transitions(event), key=value)

    def value(at: int) -> Number:
        return low[model.target[at]] + objective.reward(model.step[at])

    def mean(action: int) -> Number:
        several = [value(transition(event)) for event in model.events(action)]
        if model.kind[action] != ActionKind.BELIEF:
            return max(several)
        return sum(share * one for share, one in zip(probabilities(action), several, strict=True))

    def probabilities(action: int) -> list[Fraction]:
        several = [value(transition(event)) for event in model.events(action)]
        return extremal_probabilities(
            [model.chances[model.chance[event]] for event in model.events(action)], several, True
        )

    for state in range(len(model)):
        if not model.is_end(state):
            action = min(model.options(state), key=mean)
            numbers = [CERTAIN] * len(model.events(action))
            if model.kind[action] == ActionKind.BELIEF:
                numbers = [len(chances) + at for at in range(len(numbers))]
                chances += [EventProbability(-1, at, one, one) for at, one in enumerate(probabilities(action))]
            first = len(result.chance)
            events = list(model.events(action))
            choices.update((first + at, whole.choices[one]) for at, one in enumerate(events) if one in whole.choices)
            taken = [transition(event) for event in events]
            result.add_action(
                ActionKind(model.kind[action]),
                [(number, [(model.step[at], model.target[at])]) for number, at in zip(numbers, taken, strict=True)],
            )
        result.close()
    return ObservedMdp(result, whole.sets, choices)
