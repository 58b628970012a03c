"""The channel of promises: promised and kept commitments, as conditions over the variables of `Env`.

A commitment is *in force* while it is active, or pending and was active before. It is *on course* while it is open and
its content holds if nothing more ever happens; a state condition is never on course. It is *owed* while it is in force
and not on course. It is *promised* while it is in force, and once it is fulfilled. It is *kept* once it is fulfilled,
and while it is in force and on course.
"""

from __future__ import annotations

from collections.abc import Iterable

from cplc.logic.commitments import Channel, Conditional, Offer, Offering, Operation
from cplc.logic.expressions import FALSE, Const, Expr, Read, conj, disj, equal, negate
from cplc.logic.formulas import Formula
from cplc.lowering.variable_names import follows_variable, former_variable
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.system.debts import Debt
from cplc.system.model import System


def in_force(system: System, commitment: str) -> Expr:
    """Return the condition that a commitment is active, or pending and was active before."""
    waiting = conj((is_in(system, commitment, "pending"), is_in(system, former_variable(commitment), "active")))
    return disj((is_in(system, commitment, "active"), waiting))


def on_course(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is open and its content holds if nothing more ever happens."""
    return system.commitment[commitment].on_course


def offered(system: System, commitment: str) -> Expr:
    """Return the condition that a commitment is conditional, or pending and was conditional before."""
    waiting = conj((is_in(system, commitment, "pending"), is_in(system, former_variable(commitment), "conditional")))
    return disj((is_in(system, commitment, "conditional"), waiting))


def owed(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is in force and not on course."""
    return conj((in_force(system, commitment), negate(on_course(system, commitment))))


def kept(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is fulfilled, or in force and on course."""
    lasting = conj((in_force(system, commitment), on_course(system, commitment)))
    return disj((is_in(system, commitment, "fulfilled"), lasting))


def promised(system: System, commitment: str) -> Expr:
    """Return the condition that the commitment is in force or kept."""
    return disj((in_force(system, commitment), kept(system, commitment)))


def promises(system: System, name: str, commitments: Iterable[str]) -> Channel:
    """Return the channel of these commitments: each has an end for `promised` and an end for `kept`."""
    names = tuple(commitments)
    ends = {commitment: (promised(system, commitment), kept(system, commitment)) for commitment in names}
    ever = tuple(debtors for debtors, _ in ends.values() if not isinstance(debtors, Const))
    # `kept` implies `promised`, so the ends differ only where a commitment is promised and not kept.
    caught_up = conj(disj((negate(debtors), creditors)) for debtors, creditors in ends.values())
    return Channel(name, ever, disj(ever), caught_up)


def is_in(system: System, variable: str, state: str) -> Expr:
    """Return the condition that a variable has a value; false if the variable or the value does not exist."""
    declared = system.variable.get(variable)
    if declared is None or state not in declared.domain:
        return Const(False)
    return equal(Read(variable), Const(state))


def debts_of(system: System) -> dict[str, Debt]:
    """Return when each commitment is owed, suspended, or waits for another one."""
    return {commitment.name: _debt(system, commitment.name) for commitment in system.commitments}


def _debt(system: System, name: str) -> Debt:
    waiting = system.variable.get(follows_variable(name))
    targets = () if waiting is None else tuple(str(value) for value in waiting.domain if value != "none")
    follows = Read(follows_variable(name))
    pending = equal(Read(name), Const("pending")) if "pending" in system.variable[name].domain else FALSE
    suspended = pending if waiting is None else conj((pending, equal(follows, Const("none"))))
    waits_for = tuple((target, conj((pending, equal(follows, Const(target))))) for target in targets)
    return Debt(owed(system, name), in_force(system, name), suspended, waits_for)


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
