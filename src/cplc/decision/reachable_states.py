"""Reachable states of a large Markov decision process (MDP), with arrays: a breadth-first search by whole frontiers."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cplc.decision.game import NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.mdp_arrays import indices, members_of, starts_of

Mask = NDArray[np.bool_]


def reachable(model: Mdp, *, acting: bool = False) -> Mask:
    """Return whether each state is reachable; with ``acting`` the participant never waits where it can send."""
    first_action, first_event, first_transition = starts_of(model)
    open_events = np.ones(len(first_event) and first_event[-1], bool)
    if acting:
        controlled, sends = _controlled_events(model)
        action_of = np.repeat(np.arange(len(first_event) - 1), np.diff(first_event))
        can_send = np.bincount(action_of, weights=controlled & sends, minlength=len(first_event) - 1) > 0
        open_events = ~controlled | sends | ~can_send[action_of]
    is_open = np.repeat(open_events, np.diff(first_transition))
    outgoing = first_transition[first_event[first_action]]
    target = indices(model.target)[is_open]
    first = np.concatenate(([0], np.cumsum(is_open)))[outgoing]
    reached = np.zeros(len(model), bool)
    frontier = np.arange(model.initial)
    while len(frontier):
        reached[frontier] = True
        after = np.unique(target[members_of(first, frontier)[0]])
        frontier = after[~reached[after]]
    return reached


def terminal_states(model: Mdp) -> list[int]:
    result: list[int] = np.flatnonzero(np.diff(indices(model.first_action)) == 0).tolist()
    return result


def has_reachable_send(model: Mdp) -> bool:
    """Return whether the participant sends something on some run."""
    first_action, first_event, _ = starts_of(model)
    controlled, sends = _controlled_events(model)
    events_of = np.diff(first_event[first_action])
    return bool((np.repeat(reachable(model), events_of) & controlled & sends).any())


def _controlled_events(model: Mdp) -> tuple[Mask, Mask]:
    """Return which events belong to controlled actions, and which begin with a step."""
    _, first_event, first_transition = starts_of(model)
    controlled = np.frombuffer(bytes(model.kind), np.uint8) == ActionKind.CONTROLLED
    sends = indices(model.step)[first_transition[:-1]] != NO_STEP
    return np.repeat(controlled, np.diff(first_event)), sends
