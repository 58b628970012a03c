"""Commitment channels for tests: of shared variables, as in MCMAS+, and of given conditions."""

from __future__ import annotations

from collections.abc import Sequence

from cplc.logic.commitments import Channel, Commits, Fulfils, Offer, Offering
from cplc.logic.expressions import Expr, conj, disj, negate
from cplc.logic.formulas import Formula
from cplc.system.commitments import shared_variables
from cplc.system.model import System


def between(system: System, debtor: str, creditor: str) -> Channel:
    """Return the channel of what two agents of a system share."""
    ours, theirs = system.agent[debtor].local, system.agent[creditor].local
    return shared_variables(f"{debtor} -> {creditor}", ours, theirs, system.shared_between(debtor, creditor))


def commits(system: System, debtor: str, creditor: str, content: Formula) -> Commits:
    return Commits(between(system, debtor, creditor), content)


def fulfils(system: System, debtor: str, creditor: str, content: Formula) -> Fulfils:
    return Fulfils(between(system, debtor, creditor), content)


def promises(name: str, ends: Sequence[tuple[Expr, Expr]]) -> Channel:
    """Return the channel of promises of which each has a condition for its debtor's and its creditor's end."""
    debtors = tuple(debtor for debtor, _ in ends)
    caught_up = conj(disj((negate(debtor), creditor)) for debtor, creditor in ends)
    return Channel(name, debtors, disj(debtors), caught_up)


def offering(name: str, ends: Sequence[tuple[Expr, Expr]], other_ends: Sequence[tuple[Expr, Expr]]) -> Offering:
    """Return the channel of these promises, with conditions for offered and ended ones that are not promised."""
    offers = tuple(
        Offer(f"{name}{number}", conj((negate(debtor), offered)), debtor, creditor, _closed(debtor, offered, ended))
        for number, ((debtor, creditor), (offered, ended)) in enumerate(zip(ends, other_ends, strict=True))
    )
    return Offering(promises(name, ends), offers)


def _closed(debtor: Expr, offered: Expr, ended: Expr) -> Expr:
    return conj((negate(debtor), negate(offered), ended))
