"""Common knowledge: the transitive closure of the union of the agents' indistinguishability relations."""

from __future__ import annotations

from collections.abc import Sequence


def common_knowledge_classes(views: Sequence[Sequence[int]], considered: bytes) -> list[int]:
    """Return for each state the representative of its class in that closure, by union-find.

    ``views`` has, for each agent, its local state in each state. Only considered states connect others.
    """
    leader = list(range(len(considered)))

    def leading(state: int) -> int:
        while leader[state] != state:
            leader[state] = leader[leader[state]]
            state = leader[state]
        return state

    for local_states in views:
        first: dict[int, int] = {}
        for state, view in enumerate(local_states):
            if considered[state]:
                alike = first.setdefault(view, state)
                if alike != state:
                    leader[leading(state)] = leading(alike)
    return [leading(state) for state in range(len(considered))]
