"""Restriction of a Markov decision process (MDP) to the choices of a plan, with arrays.

The result is that of `cplc.decision.observation.fixed`, which restricts small models action by action.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from cplc.decision.game import NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.mdp_arrays import Indices, flat_array, members_of, starts_of
from cplc.records import dataclass

_UNDECIDED = -1
_IMPOSSIBLE = -2


@dataclass(frozen=True)
class NumberedChoices:
    """The controlled events of a model with their information sets and choices as numbers."""

    model: Mdp
    first_action: Indices
    first_event: Indices
    first_transition: Indices
    events: Indices
    """The events of controlled actions, ascending."""
    set_of: Indices
    """The number of the information set of each of them."""
    choice_of: Indices
    sets: Mapping[Hashable, int]
    names: Sequence[Hashable]
    """The choices by their numbers."""
    numbers: Mapping[Hashable, int]


def numbered(model: Mdp, sets: Sequence[Hashable], choices: Mapping[int, Hashable]) -> NumberedChoices:
    """Number the information sets, and the choices of events; waiting has number 0."""
    first_action, first_event, first_transition = starts_of(model)
    kind = np.frombuffer(bytes(model.kind), np.uint8)
    is_controlled = np.repeat(kind == ActionKind.CONTROLLED, np.diff(first_event))
    events = np.flatnonzero(is_controlled)
    state_of_action = np.repeat(np.arange(len(model)), np.diff(first_action))
    states = np.repeat(state_of_action, np.diff(first_event))[events]
    set_numbers: dict[Hashable, int] = {}
    numbers: dict[Hashable, int] = {NO_STEP: 0}
    set_of = [set_numbers.setdefault(sets[state], len(set_numbers)) for state in states.tolist()]
    choice_of = [numbers.setdefault(choices[event], len(numbers)) for event in events.tolist()]
    return NumberedChoices(
        model,
        first_action,
        first_event,
        first_transition,
        events,
        np.array(set_of, np.int64),
        np.array(choice_of, np.int64),
        set_numbers,
        list(numbers),
        numbers,
    )


def with_plan(whole: NumberedChoices, plan: Mapping[Hashable, Hashable]) -> tuple[Mdp, dict[int, Hashable]]:
    """Return the model in which the participant follows the plan where it decides, and the choice of each event.

    The events of a decided action that stay become one event.
    """
    model, count = whole.model, len(whole.first_event) - 1
    action_of = np.repeat(np.arange(count), np.diff(whole.first_event))
    plan_choice = np.full(len(whole.sets), _UNDECIDED)
    for place, choice in plan.items():
        if place in whole.sets:
            plan_choice[whole.sets[place]] = whole.numbers.get(choice, _IMPOSSIBLE)
    planned = plan_choice[whole.set_of]
    decided = planned != _UNDECIDED
    events, planned, choice_of = whole.events[decided], planned[decided], whole.choice_of[decided]
    actions = action_of[events]
    taken = choice_of == planned
    taken |= (choice_of == 0) & ~_in_any(taken, actions, count)
    taken |= ~_in_any(taken, actions, count)
    keep = np.ones(len(action_of), bool)
    keep[events] = taken
    merged = np.zeros(count, bool)
    merged[actions] = True
    remaining = np.flatnonzero(keep)
    transitions, sizes = members_of(whole.first_transition, remaining)
    actions_left = action_of[remaining]
    follows = np.concatenate(([False], actions_left[1:] == actions_left[:-1])) & merged[actions_left]
    leaders = np.flatnonzero(~follows)
    new_events = remaining[leaders]
    new_actions = action_of[new_events]
    sources = np.where(merged[new_actions], whole.first_event[new_actions], new_events)
    chance = np.array(model.chance, np.uint32)[sources]
    begins = np.concatenate((np.cumsum(sizes) - sizes, [sizes.sum()]))
    result = Mdp(
        model.chances,
        model.initial,
        model.first_action,
        model.kind,
        flat_array(np.concatenate(([0], np.cumsum(np.bincount(new_actions, minlength=count))))),
        flat_array(chance),
        flat_array(np.concatenate((begins[leaders], begins[-1:]))),
        flat_array(np.array(model.target, np.uint32)[transitions]),
        flat_array(np.array(model.step, np.uint32)[transitions]),
    )
    return result, _choices(whole, plan, new_events)


def _in_any(taken: NDArray[np.bool_], actions: Indices, count: int) -> NDArray[np.bool_]:
    """Return for each event whether one of its action is taken."""
    return np.bincount(actions, weights=taken, minlength=count)[actions] > 0


def _choices(whole: NumberedChoices, plan: Mapping[Hashable, Hashable], new_events: Indices) -> dict[int, Hashable]:
    """Return the choice of each controlled event of the new model, given the old event of each."""
    at = np.searchsorted(whole.events, new_events)
    at = np.minimum(at, max(len(whole.events) - 1, 0))
    mine = np.flatnonzero(whole.events[at] == new_events) if len(whole.events) else np.zeros(0, np.int64)
    names = whole.names
    decided = [plan.get(place, _OPEN) for place in whole.sets]
    choices: dict[int, Hashable] = {}
    for new, number, place in zip(
        mine.tolist(), whole.choice_of[at[mine]].tolist(), whole.set_of[at[mine]].tolist(), strict=True
    ):
        choice = decided[place]
        choices[new] = names[number] if choice is _OPEN else choice
    return choices


_OPEN = object()
