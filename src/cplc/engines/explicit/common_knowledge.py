"""Common knowledge: states linked by chains of which each pair looks the same to some agent."""

from __future__ import annotations

from collections.abc import Sequence


def common_knowledge_classes(views: Sequence[Sequence[int]], considered: bytes) -> list[int]:
    """Return for each state its group: those to which a chain leads whose states some agent takes for the next.

    ``views`` says, agent by agent, how it sees each state. Only states that are considered link others.
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
