"""Optimal strategies of the participant, as choices per observation."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

from cplc.decision.mdp import ActionKind, Mdp
from cplc.decision.results import Number, OptimalStrategy, Situation
from cplc.decision.value_bounds import OrderedMdp
from cplc.logic.expressions import Value
from cplc.system.model import State, System

RELATIVE_TOLERANCE = 1e-12


def advice(
    system: System,
    agents: Sequence[str],
    ordered: OrderedMdp,
    values: Sequence[Number],
    unpack: Callable[[int], State],
) -> OptimalStrategy | None:
    """Return the optimal choices per observation where they matter; None if no choice matters.

    The model is partially observable to the participant. If in every observation some choice is optimal in all states
    with it, and all runs end, then the strategy that follows the observations is optimal.
    """
    model = ordered.model
    names = [name for agent in system.agents if agent.name in agents for name in agent.local]
    offered: dict[tuple[Value, ...], tuple[set[int], set[int]]] = {}
    for state, action in _decisions(model):
        worth = {
            model.step[model.transitions(event)[0]]: _worst_value(model, event, values)
            for event in model.events(action)
        }
        most = max(worth.values())
        good = {step for step, value in worth.items() if value == most or _is_optimal(value, most)}
        valuation = unpack(state)
        view = tuple(valuation[name] for name in names)
        best, every = offered.setdefault(view, (set(good), set(worth)))
        best &= good
        every |= set(worth)
    matter = {view: best for view, (best, every) in offered.items() if best != every}
    if not matter:
        return None
    telling = [at for at in range(len(names)) if len({view[at] for view in offered}) > 1]
    situations = tuple(
        Situation(
            tuple((names[at], view[at]) for at in telling), tuple(system.steps[step].name for step in sorted(best))
        )
        for view, best in matter.items()
    )
    return OptimalStrategy(situations, ordered.is_acyclic and all(best for best, _ in offered.values()))


def _decisions(model: Mdp) -> Iterator[tuple[int, int]]:
    """Yield each state with its controlled action that has several events."""
    for state in range(len(model)):
        for action in model.options(state):
            if model.kind[action] == ActionKind.CONTROLLED and len(model.events(action)) > 1:
                yield state, action


def _worst_value(model: Mdp, event: int, values: Sequence[Number]) -> Number:
    return min(values[model.target[transition]] for transition in model.transitions(event))


def _is_optimal(value: Number, most: Number) -> bool:
    return not isinstance(most, Fraction) and float(value) >= most - abs(most) * RELATIVE_TOLERANCE
