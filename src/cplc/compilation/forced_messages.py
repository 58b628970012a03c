"""Messages that an assumption forces although they give a commitment up: by release, withdrawal or violation.

`assuming Seller` says that no message of the Seller is due from some point on and never sent, refusals included. One
in a `choice` is not forced, since it is not due once another one is sent.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from typing import Final

from cplc.semantics.model import Bound, CheckedModel, Message

_GIVES_UP: Final[Mapping[str, str]] = {"release": "releases", "withdraw": "withdraws", "violate": "violates"}
_OFFER: Final = "; `assuming "
MAX_MESSAGES: Final = 12
"""Maximum number of messages of an assumption that is offered."""


def forced_note(model: CheckedModel, assuming: Collection[str], bounds: Mapping[str, int]) -> str | None:
    """Return the note that names these messages, and offers to assume the remaining ones; None if there are none.

    ``bounds`` has the bound of each bounded message.
    """
    assumed = [one for one in model.messages if one.sender in assuming or one.name in assuming]
    forced = {one.name: given_up for one in assumed if (given_up := _given_up(one))}
    if not forced:
        return None
    families = dict.fromkeys(_family(name) for name in forced)
    effects = {_family(name): text for name, text in forced.items()}
    texts = [f"`{family}`, which {effects[family]}" for family in families]
    remaining = dict.fromkeys(_family(one.name) for one in assumed if _family(one.name) not in families)
    limits = {bounds.get(one.name) for one in assumed if one.name not in forced}
    offer = ""
    if 0 < len(remaining) <= MAX_MESSAGES and len(limits) == 1:
        ticks = limits.pop()
        within = "" if ticks is None else f" within {ticks}"
        offer = f"{_OFFER}{', '.join(remaining)}{within}` leaves {'it' if len(families) == 1 else 'them'} out"
    return f"what is assumed forces {'; and '.join(texts)}{offer}"


def without_offer(note: str) -> str:
    """Return which messages the note names, without the assumption that it offers."""
    return note.partition(_OFFER)[0]


def _given_up(message: Message) -> str:
    """Return what a message gives up that is sent for certain once it is due; empty if there is nothing."""
    if message.rivals:
        return ""
    performed = [one for one in message.operations if one.verb in _GIVES_UP]
    return " and ".join(f"{_GIVES_UP[one.verb]} `{_family(one.commitment)}`" for one in performed)


def _family(name: str) -> str:
    return re.sub(r"\[[^\]]*\]", "", name)


def bounds_text(model: CheckedModel, bounds: tuple[Bound, ...]) -> tuple[tuple[str, int], ...]:
    """Return each role of which all messages have one bound, or else each message, with the bound."""
    ticks = {message: bound.ticks for bound in bounds for message in bound.messages}
    texts: dict[str, int] = {}
    for role in model.roles:
        own = [message.name for message in model.messages if message.sender == role.name]
        if own and len({ticks.get(name) for name in own}) == 1 and own[0] in ticks:
            texts[role.name] = ticks[own[0]]
        else:
            texts |= {name: ticks[name] for name in own if name in ticks}
    return tuple(texts.items())
