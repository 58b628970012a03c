"""Names of the variables of a system."""

from __future__ import annotations


def copy_variable(message: str, role: str) -> str:
    """Return the name of the flag that a role's copy of a message is set."""
    return f"{message}@{role}"


def field_variable(message: str, parameter: str, role: str) -> str:
    """Return the name of a payload value in a role's copy."""
    return f"{message}.{parameter}@{role}"


def parity_variable(message: str, role: str) -> str:
    """Return the name of the alternating bit in a role's copy of a repeatable message."""
    return f"{message}#@{role}"


def state_variable(commitment: str, observer: str | None) -> str:
    """Return the name of the lifecycle state in a role's view, or in `Env` (None)."""
    return commitment if observer is None else f"{commitment}@{observer}"


def clock_variable(name: str) -> str:
    return f"{name}.clock"


def remaining_variable(name: str, clause: str) -> str:
    """Return the name of the ticks that remain of a deadline that was copied from a payload."""
    return f"{name}.{clause}"


def age_variable(name: str) -> str:
    return f"{name}.age"


def flight_variable(message: str) -> str:
    """Return the name of the ticks that a message has been in flight."""
    return f"{message}.flight"


def transit_variable(message: str, receiver: str) -> str:
    """Return the name of the condition that a message is in flight on a channel that loses or duplicates it."""
    return f"{message}@{receiver}.transit"


def place_variable(sender: str, receiver: str, place: int) -> str:
    """Return the name of the message in a place of the queue of a channel; the next one to arrive is in place 1."""
    return f"{sender}->{receiver}.{place}"


def queued_variable(sender: str, receiver: str, place: int, message: str, parameter: str) -> str:
    """Return the name of a payload value of a message in a place of a queue."""
    return f"{place_variable(sender, receiver, place)}.{message}.{parameter}"


def losses_variable(message: str, receiver: str) -> str:
    """Return the name of the losses of a message since it last arrived."""
    return f"{message}@{receiver}.losses"


def duplicates_variable(message: str, receiver: str) -> str:
    """Return the name of the duplicates of the last sending that may still be made."""
    return f"{message}@{receiver}.duplicates"


def due_variable(message: str) -> str:
    """Return the name of the ticks since a message became due."""
    return f"{message}.due"


def former_variable(name: str) -> str:
    return f"{name}.former"


def follows_variable(name: str) -> str:
    return f"{name}.follows"


def goal_variable(number: int) -> str:
    """Return the name for a goal about runs, which no declaration can have."""
    return f"goal {number}"


def monitor_variable(name: str) -> str:
    return f"{name}.monitor"
