"""Decision problem of a participant: its goals, its beliefs about other agents, and its own decisions.

A *participant* plays agents of the system. Its beliefs assign probabilities to the sends of an agent where a condition
holds. It chooses its own sends to its advantage. Everything else, including which agent moves first, is chosen by an
adversary. A run ends where no step but a tick that changes nothing is enabled, and no round restarts; until then a step
is taken whenever one is enabled.
"""

from __future__ import annotations

from dataclasses import field
from fractions import Fraction
from typing import Literal

from cplc.logic.expressions import Expr
from cplc.records import dataclass
from cplc.source import Span


@dataclass(frozen=True, slots=True)
class Event:
    """The sending of a message, or of one payload of it, with its believed probability."""

    name: str
    steps: tuple[int, ...]
    """Positions in the system's steps; with several payloads the choice among them is open."""
    low: Fraction
    high: Fraction
    """Equal to ``low`` if the probability is known."""


@dataclass(frozen=True, slots=True)
class Belief:
    """A probability for each event of an exclusive choice, for states where the condition holds and all are enabled.

    Where the condition holds and some event is impossible, the belief has no effect and the other events are open.
    """

    agent: str
    condition: Expr
    events: tuple[Event, ...]
    """Some probabilities within the bounds sum to one; exactly, if all bounds are equal."""
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)
    within: int | None = None
    """The most ticks from the draw of an outcome until it comes."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The participant takes its sends ``steps`` only where the condition holds."""

    condition: Expr
    steps: tuple[int, ...]
    text: str
    span: Span | None = field(default=None, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Goal:
    condition: Expr
    text: str


@dataclass(frozen=True, slots=True)
class Worth:
    """Reward of the participant for each time that one of these steps is taken."""

    steps: tuple[int, ...]
    amount: Fraction
    text: str


@dataclass(frozen=True)
class Participant:
    name: str
    agents: tuple[str, ...]
    """The agents of the system that it plays."""
    conforming: Expr
    """Condition on the last state of a run: the participant has kept its own commitments."""
    goals: tuple[Goal, ...]
    worth: tuple[Worth, ...]
    beliefs: tuple[Belief, ...]
    decisions: tuple[Decision, ...]
    """Its own sends without belief or decision may be taken whenever they are enabled."""


Aspect = Literal["conformance", "achievement", "benefit", "value"]
"""The probabilities to keep its commitments, to achieve its goals and to gain, and the expected total value."""


@dataclass(frozen=True, slots=True)
class Threshold:
    """Lower bound on a guaranteed figure."""

    aspect: Aspect
    relation: Literal[">", ">="]
    value: Fraction
