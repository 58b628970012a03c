"""The Markov decision process (MDP) of a participant, with an adversary and intervals of probabilities.

Three levels in flat arrays: a state has actions, an action has events, an event has transitions. The adversary (the
world of `cplc.decision.game`) chooses the action and the transition. The events of a belief occur with their
probabilities. The participant chooses the event of a controlled action. Every other action has a single event. A
state without actions is terminal (an end). The model is a turn-based stochastic game folded into one table; with
point probabilities and no controlled action it is an MDP in the sense of Puterman (1994).
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from cplc.decision.belief_draws import EventProbability, GameDiagnostics
from cplc.decision.game import ActionKind, Attitude, Game, Option
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.model import State, System
from cplc.system.participant import Participant

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from cplc.decision.belief_automaton import BeliefAutomaton
    from cplc.decision.results import Number
    from cplc.decision.symmetric_agents import Family

Semantics = Literal["game", "paper"]
"""The game of `cplc.decision.game`, or the automaton of `cplc.decision.belief_automaton`."""


@dataclass
class Mdp:
    """An MDP in flat arrays; `explore` fills it, and nothing changes it afterwards."""

    chances: list[EventProbability]
    initial: int = 0
    """Number of initial states; they come first."""
    first_action: array[int] = field(default_factory=lambda: array("I", (0,)))
    kind: bytearray = field(default_factory=bytearray)
    first_event: array[int] = field(default_factory=lambda: array("I", (0,)))
    chance: array[int] = field(default_factory=lambda: array("I"))
    """The index of the probability of each event."""
    first_transition: array[int] = field(default_factory=lambda: array("I", (0,)))
    target: array[int] = field(default_factory=lambda: array("I"))
    step: array[int] = field(default_factory=lambda: array("I"))

    is_composed = False
    """True for a composition of components (`cplc.decision.composition`), whose arrays are filled on demand."""
    longest_path = 0
    """The length of the longest path of a composition."""
    most_events = 0
    """The largest number of events of an action of a composition."""

    def __len__(self) -> int:
        return len(self.first_action) - 1

    def has(self, kind: ActionKind) -> bool:
        """Return whether some action is of this kind."""
        return kind in self.kind

    def terminal_states(self) -> list[int]:
        return [state for state in range(len(self)) if self.is_end(state)]

    def depths(self) -> NDArray[np.int64] | None:
        """Return the length of the longest path from each state to an end, if it is known without a search."""
        return None

    def reachability_values(self, goal_states: bytes, worst: bool) -> list[Number] | None:
        """Return what each composed state is worth, without arrays; None if they are needed."""
        return None

    def with_chances(self, chances: Sequence[EventProbability]) -> Mdp:
        """Return the MDP with other probabilities; an event of probability 0 must stay one."""
        return replace(self, chances=list(chances))

    def options(self, state: int) -> range:
        return range(self.first_action[state], self.first_action[state + 1])

    def events(self, action: int) -> range:
        return range(self.first_event[action], self.first_event[action + 1])

    def transitions(self, event: int) -> range:
        return range(self.first_transition[event], self.first_transition[event + 1])

    def is_end(self, state: int) -> bool:
        return self.first_action[state] == self.first_action[state + 1]

    def outgoing(self, state: int) -> range:
        """Return the transitions of the state, which are contiguous."""
        begin, end = self.first_action[state], self.first_action[state + 1]
        return range(self.first_transition[self.first_event[begin]], self.first_transition[self.first_event[end]])

    def after(self, state: int) -> array[int]:
        outgoing = self.outgoing(state)
        return self.target[outgoing.start : outgoing.stop]

    def add_action(self, kind: ActionKind, events: Sequence[tuple[int, Sequence[tuple[int, int]]]]) -> None:
        """Add an action to the state under construction: events as probability index, steps and targets."""
        self.kind.append(kind)
        for chance, transitions in events:
            self.chance.append(chance)
            for step, target in transitions:
                self.step.append(step)
                self.target.append(target)
            self.first_transition.append(len(self.target))
        self.first_event.append(len(self.chance))

    def close(self) -> None:
        """Complete the state under construction."""
        self.first_action.append(len(self.kind))


@dataclass(frozen=True)
class ExploredMdp:
    """The MDP of a system with a participant."""

    model: Mdp
    game: Game | BeliefAutomaton
    states: Sequence[int]

    @property
    def findings(self) -> GameDiagnostics:
        return self.game.diagnostics


def explore(
    system: System,
    participant: Participant,
    limit: int,
    *,
    attitude: Attitude = Attitude.FREE,
    assumed: frozenset[str] = frozenset(),
    families: Sequence[Family] = (),
    semantics: Semantics = "game",
) -> ExploredMdp:
    """Return the MDP over the reachable states of the game; raise `ResourceExhausted` beyond the limit.

    With families of symmetric agents, one state represents all that differ by an exchange of members.
    """
    game: Game | BeliefAutomaton
    if semantics == "paper":
        from cplc.decision.belief_automaton import BeliefAutomaton

        game = BeliefAutomaton(system, participant)
    else:
        game = Game(system, participant, attitude, assumed, families)
    states = game.initial(limit)
    number = {state: at for at, state in enumerate(states)}
    model = Mdp(game.chances, len(states))

    def numbered(option: Option) -> list[tuple[int, list[tuple[int, int]]]]:
        events = []
        for chance, transitions in option[1]:
            numbers = []
            for step, target in transitions:
                at = number.setdefault(target, len(states))
                if at == len(states):
                    states.append(target)
                numbers.append((step, at))
            events.append((chance, numbers))
        return events

    position = 0
    while position < len(states):
        for option in game.options(states[position]):
            model.add_action(option[0], numbered(option))
        model.close()
        position += 1
        if len(states) > limit:
            raise ResourceExhausted(f"more than {limit:,} states")
    return ExploredMdp(model, game, states)


def without_control(model: Mdp) -> Mdp:
    """Return the MDP in which the adversary makes the participant's choices."""
    result = Mdp(model.chances, model.initial)
    for state in range(len(model)):
        for action in model.options(state):
            events = [
                (model.chance[event], [(model.step[at], model.target[at]) for at in model.transitions(event)])
                for event in model.events(action)
            ]
            if model.kind[action] == ActionKind.CONTROLLED:
                for event in events:
                    result.add_action(ActionKind.STEP, [event])
            else:
                result.add_action(ActionKind(model.kind[action]), events)
        result.close()
    return result


# --- Diagnostics of beliefs that the construction of an MDP collects


@dataclass(frozen=True)
class ModelDiagnostics:
    """Findings about the beliefs, each with an example state that is computed on demand."""

    partial: dict[int, tuple[int, Callable[[], State]]]
    overlapping: dict[tuple[int, int], Callable[[], State]]
    applied: frozenset[int]
    stuck: Callable[[], State] | None
