"""Sides of commitments: a role or a group of roles, and the channels of promises between sides."""

from __future__ import annotations

from cplc.semantics.model import Commitment


def roles_on(side: str) -> list[str]:
    """Return the roles of one side, by the text that names them."""
    return [name.strip() for name in side.strip("{}").split(",")]


def in_channel(commitment: Commitment, by: str, to: str) -> bool:
    """Return whether one side has promised it, without roles of another, to every role of the other side."""
    promisers, addressees = roles_on(by), roles_on(to)
    debtors = roles_on(commitment.debtor)
    if commitment.answerable == "each":
        is_own = any(debtor in promisers for debtor in debtors)
    else:
        is_own = all(debtor in promisers for debtor in debtors)
    return is_own and all(one in roles_on(commitment.creditor) for one in addressees)
