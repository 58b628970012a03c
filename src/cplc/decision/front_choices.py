"""The plan of a vector of a Pareto front: its choices by what the participant observes."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from cplc.decision.fronts import Entry, Front
from cplc.decision.observation import ObservedMdp


def choices_of(whole: ObservedMdp, vectors: Front, entry: Entry) -> dict[Hashable, set[Hashable]]:
    """Return the choices that a plan makes at each information set that it reaches, the earliest first."""
    targets = whole.model.target
    choices: dict[Hashable, set[Hashable]] = {}
    new = list(entry[1])
    visited = set(new)
    for state, number in new:
        picks = dict(vectors.entries[state][number][1])
        for choice, transitions in whole.offers.get(state, ()):
            if any(at in picks for at in transitions):
                choices.setdefault(whole.sets[state], set()).add(choice)
        for at, chosen in picks.items():
            after = targets[at], chosen
            if after not in visited:
                visited.add(after)
                new.append(after)
    return choices


def choices_by_histories(
    whole: ObservedMdp, vectors: Front, entry: Entry, histories: ObservedMdp, origin: Sequence[int]
) -> dict[Hashable, Hashable] | None:
    """Return the choices of a plan by the history of local states; None if it would have to see more."""
    model, deep = whole.model, histories.model
    choices: dict[Hashable, Hashable] = {}
    new = [(at, number) for at, (_, number) in zip(range(deep.initial), entry[1], strict=True)]
    visited = set(new)
    for node, number in new:
        state = origin[node]
        picks = dict(vectors.entries[state][number][1])
        for action, deeper in zip(model.options(state), deep.options(node), strict=True):
            for event, below in zip(model.events(action), deep.events(deeper), strict=True):
                taken = [at in picks for at in model.transitions(event)]
                if event in whole.choices and any(taken):
                    place = histories.sets[node]
                    if choices.setdefault(place, whole.choices[event]) != whole.choices[event]:
                        return None
                for at, under in zip(model.transitions(event), deep.transitions(below), strict=True):
                    if at in picks:
                        after = deep.target[under], picks[at]
                        if after not in visited:
                            visited.add(after)
                            new.append(after)
    return choices
