"""Choices observed in logs: the alternatives that an agent had, each time it sent a message."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from cplc.monitoring.event_matching import ResolvedEvent
from cplc.monitoring.state_tracker import States, StateTracker
from cplc.records import dataclass

Sends = frozenset[int]
"""Positions of sends in the system's steps."""


@dataclass
class ObservedChoices:
    """Counts the messages sent and the alternatives chosen.

    Two sends of one agent are alternatives in a state if both are enabled, and one of them, once delivered, disables
    the other; so are payloads of one message. A choice is a class of the transitive closure.
    """

    tracker: StateTracker
    sent: Counter[str] = field(default_factory=Counter)
    """How often each message was sent, if its instance is known."""
    unclear: Counter[str] = field(default_factory=Counter)
    """Messages whose instance is ambiguous."""
    decided: dict[Sends, Counter[Sends]] = field(default_factory=dict)
    """For each choice, how often each of its sends was taken; several sends if the log is ambiguous."""

    def __post_init__(self) -> None:
        steps = self.tracker.system.steps
        self._receipt = {at: self.tracker.receipt.get(steps[at].event) for at in self.tracker.visible_steps}
        self._candidates: dict[int, tuple[int, ...]] = {}

    def watch(self, states: States, resolved: ResolvedEvent, inferring: bool) -> None:
        """Count a message before it changes the states."""
        steps = self.tracker.system.steps
        taken: dict[int, list[int]] = {}
        for way in resolved.ways:
            if steps[way[0]].kind not in ("send", "exchange"):
                return
            if moments := self.tracker.states_before(states, way, inferring):
                taken[way[0]] = moments
        names = {steps[send].event for send in taken}
        if len(names) == 1:
            self.sent[names.pop()] += 1
        elif names:
            self.unclear[resolved.message] += 1
        if taken:
            send, moments = next(iter(taken.items()))
            choice = max((self._choice(state, send) for state in moments), key=len)
            if len(choice) > 1 and (chosen := choice.intersection(taken)):
                self.decided.setdefault(choice, Counter())[chosen] += 1

    def _choice(self, state: int, send: int) -> Sends:
        """Return the choice of a send in a state: its class of alternatives."""
        alternatives = {send}
        waiting = [send]
        while waiting:
            one = waiting.pop()
            for other in self._conflicting_sends(one):
                if other not in alternatives and self._excludes(state, one, other):
                    alternatives.add(other)
                    waiting.append(other)
        return frozenset(alternatives)

    def _conflicting_sends(self, send: int) -> tuple[int, ...]:
        """Return the sends of the same agent that may disable this one, or that it may disable."""
        if send not in self._candidates:
            steps = self.tracker.system.steps
            mine = self._writes(send), steps[send].footprint
            self._candidates[send] = tuple(
                other
                for other in self.tracker.visible_steps
                if other != send
                and steps[other].actor == steps[send].actor
                and (mine[0] & steps[other].footprint or self._writes(other) & mine[1])
            )
        return self._candidates[send]

    def _writes(self, send: int) -> frozenset[str]:
        steps, receipt = self.tracker.system.steps, self._receipt[send]
        return steps[send].writes if receipt is None else steps[send].writes | steps[receipt].writes

    def _excludes(self, state: int, one: int, other: int) -> bool:
        """Tell whether both sends are enabled in the state, and one of them disables the other."""
        taken, steps = self.tracker.relation.by_step, self.tracker.system.steps
        if not taken(state, other):
            return False
        return (
            steps[one].event == steps[other].event
            or not self._is_possible_after(state, one, other)
            or not self._is_possible_after(state, other, one)
        )

    def _is_possible_after(self, state: int, first: int, second: int) -> bool:
        taken, receipt = self.tracker.relation.by_step, self._receipt[first]
        arrived = (
            end
            for sent in taken(state, first)
            for end in ((taken(sent, receipt) or [sent]) if receipt is not None else [sent])
        )
        return any(taken(end, second) for end in arrived)
