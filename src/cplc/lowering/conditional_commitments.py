"""Conditional commitments (CTLcc) on the channel of promises: conditions of offered and closed commitments.

The modalities of MCMAS+ compare the states before and after an action of the debtor or creditor. In a protocol, the
lifecycle state already records that a commitment was released or delegated.
"""

from __future__ import annotations

from collections.abc import Iterable

from cplc.logic.expressions import FALSE
from cplc.logic.formulas import Conditional, Formula, Offer, Offering, Operation
from cplc.lowering.promises import is_in, kept, offered, promised, promises
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.system.model import System

_CLOSED: dict[Operation, str] = {"CaS": "withdrawn", "ReS": "released", "DeS": "delegated", "AsS": "assigned"}
"""The state in which the action leaves the commitment."""


def conditional(
    term: t.Conditional, model: CheckedModel, system: System, antecedent: Formula, consequent: Formula
) -> Conditional:
    """Return the modality over the system, of an antecedent and a consequent over it."""
    channel = _offering(term.between, model, system, term.modality)
    if term.other is None:
        return Conditional(channel, term.modality, antecedent, consequent)
    other = _offering(term.other, model, system, "SCC")
    handed_over_by_debtor = term.modality == "DeS"
    party = term.other.commitment or (term.other.debtor if handed_over_by_debtor else term.other.creditor)
    return Conditional(channel, term.modality, antecedent, consequent, other, party)


def _offering(between: t.Between, model: CheckedModel, system: System, operation: Operation) -> Offering:
    name, names = channel_of(between, model)
    offers = (_offer(system, commitment, operation) for commitment in names)
    possible = tuple(offer for offer in offers if offer.offered != FALSE or offer.ended != FALSE)
    return Offering(promises(system, name, names), possible)


def channel_of(between: t.Between, model: CheckedModel) -> tuple[str, tuple[str, ...]]:
    """Return the name of the channel and its commitments."""
    if between.commitment is not None:
        return between.commitment, (between.commitment,)
    parties = between.debtor, between.creditor
    names: Iterable[str] = (c.name for c in model.commitments if (c.debtor, c.creditor) == parties)
    return f"{between.debtor} -> {between.creditor}", tuple(names)


def _offer(system: System, commitment: str, operation: Operation) -> Offer:
    ended = is_in(system, commitment, _CLOSED[operation]) if operation in _CLOSED else FALSE
    return Offer(
        commitment,
        offered(system, commitment),
        promised(system, commitment),
        kept(system, commitment),
        ended,
    )
