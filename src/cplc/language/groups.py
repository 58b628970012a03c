"""Sides of commitments: one role, or a group of roles, by the text that names it, as in `{Ann, Bob}`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Answerable = Literal["all", "any", "each"]
"""Which debtors of a group can be held to what it owes: all together, some one of them alone, each of them alone."""


def side_of(roles: Iterable[str]) -> str:
    """Return the name of a role, or that of a group of several."""
    members_ = tuple(roles)
    return members_[0] if len(members_) == 1 else f"{{{', '.join(members_)}}}"


def members(side: str) -> tuple[str, ...]:
    """Return the roles of a side."""
    return tuple(side[1:-1].split(", ")) if side.startswith("{") else (side,)


def is_on(roles: Iterable[str], side: str) -> bool:
    """Return whether some of the roles belong to a side."""
    return not set(members(side)).isdisjoint(roles)


def is_promised(debtor: str, creditor: str, answerable: Answerable, by: str, to: str) -> bool:
    """Return whether a commitment is in the channel from the side ``by`` to the side ``to``.

    It is what ``by`` has promised without others: its debtors all belong to ``by``, or each is answerable and one does.
    It is promised to all of ``to``: they are among its creditors.
    """
    debtors, promisers = set(members(debtor)), set(members(by))
    is_own = debtors <= promisers or (answerable == "each" and not debtors.isdisjoint(promisers))
    return is_own and set(members(to)) <= set(members(creditor))


def binds_as_much(answerable: Answerable, reference: Answerable) -> bool:
    """Return whether debtors who are `answerable` can be held to all that those of the reference can be."""
    strength: tuple[Answerable, ...] = ("all", "any", "each")
    return strength.index(answerable) >= strength.index(reference)


def side_text(side: str, conjunction: str = "and") -> str:
    """Return the roles of a side, in words."""
    *roles, last = members(side)
    return f"{', '.join(roles)} {conjunction} {last}" if roles else last


def answerable_text(side: str, answerable: Answerable) -> str:
    """Return who answers for a side, in words."""
    if len(members(side)) == 1:
        return side
    if answerable == "any":
        return side_text(side, "or")
    return f"{side_text(side)} {'each' if answerable == 'each' else 'together'}"


def agreeing(side: str, singular: str, plural: str, answerable: Answerable = "all") -> str:
    """Return the form of a verb or pronoun that agrees with the side, or with those who answer for it."""
    return singular if len(members(side)) == 1 or answerable == "any" else plural
