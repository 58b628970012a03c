"""Variants of beliefs: set one probability, and scale the others of the belief in proportion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from cplc.sweeps.jobs import Assignments
from cplc.system.participant import Belief, Event, Participant


class BeliefError(ValueError):
    """The belief does not exist or cannot be set; the text gives the reason."""


def parts(name: str) -> tuple[str, str]:
    """Return the agent and the message of a name like ``Tom.pay`` or ``Tom.pay[2]``."""
    agent, point, message = name.partition(".")
    if not (agent and point and message):
        raise BeliefError(f"`{name}` is not of the form AGENT.MESSAGE")
    return agent, message


def probability(text: str) -> Fraction:
    """Return a number from 0 to 1, written as a decimal or a fraction."""
    try:
        number = Fraction(text)
    except (ValueError, ZeroDivisionError):
        raise BeliefError(f"`{text}` is not a probability") from None
    if not 0 <= number <= 1:
        raise BeliefError(f"`{text}` is not a probability between 0 and 1")
    return number


def believing(participant: Participant, beliefs: Assignments) -> Participant:
    """Return the participant with the beliefs among these that are its own."""
    for name, value in beliefs:
        agent, message = parts(name)
        if agent == participant.name:
            changed = _changed(participant.beliefs, message, probability(value))
            if changed == participant.beliefs and not _mentions(participant.beliefs, message):
                raise BeliefError(_no_belief_message(participant, message))
            participant = replace(participant, beliefs=changed)
    return participant


def _no_belief_message(participant: Participant, message: str) -> str:
    messages = dict.fromkeys(event.name.partition("[")[0] for belief in participant.beliefs for event in belief.events)
    hint = f"; there are {', '.join(messages)}" if messages else ""
    return f"`{participant.name}` has no belief about `{message}`{hint}"


def _mentions(beliefs: Sequence[Belief], message: str) -> bool:
    return any(_matches(event, message) for belief in beliefs for event in belief.events)


def _matches(event: Event, message: str) -> bool:
    """Tell whether the event is this message, or a member of its family."""
    return message in (event.name, event.name.partition("[")[0])


def _changed(beliefs: Sequence[Belief], message: str, value: Fraction) -> tuple[Belief, ...]:
    return tuple(_set(belief, message, value) if _mentions((belief,), message) else belief for belief in beliefs)


def _set(belief: Belief, message: str, value: Fraction) -> Belief:
    meant = [event for event in belief.events if _matches(event, message)]
    siblings = [event for event in belief.events if not _matches(event, message)]
    if any(event.low != event.high for event in belief.events):
        raise BeliefError(f"`{belief.text}` gives bounds; only a belief with single probabilities can be varied")
    if len(meant) > 1:
        raise BeliefError(f"`{belief.text}` names several instances of `{message}`: give one, such as `pay[1]`")
    rest = sum((event.low for event in siblings), Fraction(0))
    if rest == 0 and value != 1:
        raise BeliefError(f"`{belief.text}` gives its other events probability 0, so they cannot be scaled to the rest")

    def believed(event: Event) -> Event:
        chance = value if event is meant[0] else event.low * (1 - value) / rest if rest else Fraction(0)
        return replace(event, low=chance, high=chance)

    return replace(belief, events=tuple(map(believed, belief.events)))
