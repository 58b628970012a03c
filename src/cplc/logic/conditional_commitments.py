"""Conditional commitments of CTLcc over a channel of promises, defined by knowledge.

At each state a commitment of a channel is promised, offered (conditional), or neither. A state t is accessible from s
iff every commitment promised at s is kept at t; every commitment offered at s is still offered or kept at t; and no
other commitment is promised at t. If nothing is offered at s, this is the accessibility relation of `C`.

Reference: El Kholy, Bentahar, El-Menshawy, Qu and Dssouli, "Conditional commitments: reasoning and model checking", ACM
Transactions on Software Engineering and Methodology 24(2), 2014.
"""

from __future__ import annotations

from itertools import product

from cplc.logic.commitments import OFFERED, Conditional, Offer, Offering
from cplc.logic.expressions import FALSE, TRUE, Expr, conj, disj, negate
from cplc.logic.formulas import And, Atom, Formula, Implies, KnownFrom, Not, Or


def conditional_meaning(formula: Conditional) -> Formula:
    """Return the definition of a modality by knowledge of observers of the channel.

    ``FuW`` and ``FuS`` hold where all promises are kept, so that the state itself is accessible. ``CaS``, ``ReS``,
    ``DeS`` and ``AsS`` hold where no strong commitment holds, but one would hold if the commitments closed by that
    operation were still offered.
    """
    channel, p, q = formula.channel, formula.antecedent, formula.consequent
    match formula.operation:
        case "WCC":
            return _weak(channel, p, q)
        case "SCC":
            return _strong(channel, p, q)
        case "FuW":
            return And((_all_kept(channel), _weak(channel, p, q), q))
        case "FuS":
            return And((_all_kept(channel), _weak(channel, p, q), p))
        case _:
            ended = Atom(disj(offer.ended for offer in channel.offers), f"{channel.name} {_ENDINGS[formula.operation]}")
            strong = _strong(channel, p, q)
            before = _strong(channel, p, q, with_ended=True)
            now = () if formula.other is None else (_strong(formula.other, p, q),)
            return And((ended, Not(p), Not(strong), before, *now))


_ENDINGS = {
    "CaS": "was cancelled",
    "ReS": "was released",
    "DeS": "was delegated",
    "AsS": "was assigned",
}


def _all_kept(channel: Offering) -> Formula:
    promises = channel.promises
    return Atom(conj((promises.bound, promises.caught_up)), f"all that {channel.name} promises is kept")


def _weak(channel: Offering, p: Formula, q: Formula, *, with_ended: bool = False) -> Formula:
    """Return the weak commitment: something is promised or offered, and all accessible states satisfy ``p -> q``."""
    offered = [_offered(offer, with_ended) for offer in channel.offers]
    stands = Atom(disj((channel.promises.bound, *offered)), f"{channel.name} promises or offers something")
    return And((stands, *_in_accessible_states(channel, Implies(p, q), with_ended)))


def _strong(channel: Offering, p: Formula, q: Formula, *, with_ended: bool = False) -> Formula:
    """Return the strong commitment: a weak one whose antecedent holds in some accessible state."""
    never = And(_in_accessible_states(channel, Not(p), with_ended))
    return And((_weak(channel, p, q, with_ended=with_ended), Not(never)))


def _in_accessible_states(channel: Offering, content: Formula, with_ended: bool) -> tuple[Formula, ...]:
    """Return formulas whose conjunction states that the content holds in every accessible state.

    There is one for each set of commitments that may be offered. Claim: let E be the set offered at s. Then t is
    accessible from s iff an observer of ``promised(c)`` for each c outside E cannot distinguish them, all promises of t
    are kept there, and each c in E is offered or kept at t. Proof: for c outside E, "promised at s and kept at t, or
    promised at neither" means that ``promised(c)`` has the same value at both, and that c is kept at t if promised
    there. A commitment in E is not promised at s, so it is not observed.
    """
    promises = channel.promises
    here = [_offered(offer, with_ended) for offer in channel.offers]
    possible = [(False,) if expr == FALSE else (False, True) for expr in here]
    cases: list[Formula] = []
    for chosen in product(*possible):
        is_here = conj(expr if taken else negate(expr) for expr, taken in zip(here, chosen, strict=True))
        if is_here == FALSE:
            continue
        taken = [offer for offer, is_taken in zip(channel.offers, chosen, strict=True) if is_taken]
        unobserved = {offer.promised for offer in taken}
        observed = tuple(expr for expr in promises.promised if expr not in unobserved)
        accessible = conj((promises.caught_up, *(disj((offer.offered, offer.fulfilled)) for offer in taken)))
        condition = Atom(
            accessible, f"all that {channel.name} promises is kept, and what it offers is kept or still offered", True
        )
        besides = f"{OFFERED}{', '.join(offer.name for offer in taken)}" if taken else ""
        knowledge = KnownFrom(observed, Implies(condition, content), channel.name + besides)
        if is_here == TRUE:
            return (knowledge,)
        cases.append(Or((Not(Atom(is_here, f"{channel.name} offers the same", True)), knowledge)))
    return tuple(cases)


def _offered(offer: Offer, with_ended: bool) -> Expr:
    return disj((offer.offered, offer.ended)) if with_ended else offer.offered
