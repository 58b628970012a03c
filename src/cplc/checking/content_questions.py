"""Formulas of the built-in checks for commitments whose content is a path formula.

Definition. κ(c), "c is kept", is ``open(c) U (fulfilled(c) | G (open(c) & on course(c)))``. If the content of c is a
path formula, a restart that takes c back while it is on course keeps it as well.
"""

from __future__ import annotations

from cplc.language.lifecycle import ENDS_OF_ACTIVE, OPEN, OPERATIONS
from cplc.logic.expressions import Const, Expr, Read, conj, disj, equal, one_of
from cplc.logic.formulas import And, Atom, Enforces, Formula, Globally, Implies, Next, Not, OnPaths, Or, Until
from cplc.system.model import Commitment, System

_DONE = ("fulfilled", *(one.target for one in OPERATIONS if one.by == "creditor" and one.target in ENDS_OF_ACTIVE))
"""Final states in which the debtor of an active commitment has not failed."""
_OTHER_ENDS = tuple(state for state in ENDS_OF_ACTIVE if state != "fulfilled")
"""Final states of an active commitment other than its fulfilment."""
_NOT_IN_FORCE = (*_DONE, "null", "conditional")
"""States in which a commitment that was on course is not broken: a restart may have taken it back."""


def is_open(commitment: Commitment) -> Formula:
    return Atom(one_of(Read(commitment.variable), OPEN), f"open({commitment.name})")


def is_on_course(commitment: Commitment) -> Formula:
    return Atom(commitment.on_course, f"{commitment.name} is on course", in_words=True)


def is_unsettled(commitment: Commitment) -> Formula:
    """Return that the commitment is open and would not be kept if nothing more happened."""
    if not commitment.content:
        return is_open(commitment)
    return And((is_open(commitment), Not(is_on_course(commitment))))


def is_kept(commitment: Commitment) -> Formula:
    """Return that the commitment is fulfilled or on course."""
    fulfilled = Atom(equal(Read(commitment.variable), Const("fulfilled")), f"fulfilled({commitment.name})")
    return Or((fulfilled, is_on_course(commitment))) if commitment.content else fulfilled


def is_judged_by_its_consequent(system: System, commitment: Commitment) -> bool:
    """Tell whether the debtor honours an active commitment by bringing its consequent about, at any time.

    This is so if nothing else ends the commitment. With a deadline it is also so: no strategy controls time.
    """
    if commitment.content or commitment.within is not None:
        return not commitment.content
    domain = system.variable[commitment.variable].domain
    taken_back = (step.kind == "restart" and commitment.variable in step.writes for step in system.steps)
    performed = (operation for step in system.steps for operation in step.operations)
    fulfilled = (one.verb == "fulfill" and one.commitment == commitment.name for one in performed)
    return not (any(state in domain for state in _OTHER_ENDS) or any(taken_back) or any(fulfilled))


def can_be_honoured(system: System, commitment: Commitment, *, uniform: bool) -> Formula:
    """Return that the debtor has a strategy to keep the commitment on course until it is no longer in force.

    A commitment to a condition is never on course. A restart ends no debt: the commitment is on course again once it is
    in force again. The formula combines two strategies: the first until the commitment is done or the second wins.
    """
    group = (commitment.debtor,)
    ends = [state for state in _DONE if state in system.variable[commitment.variable].domain]
    done = Atom(one_of(Read(commitment.variable), ends), " | ".join(f"{state}({commitment.name})" for state in ends))
    if not commitment.content:
        return Enforces(group, Until(is_open(commitment), done), uniform)
    idle = Atom(one_of(Read(commitment.variable), _NOT_IN_FORCE), f"{commitment.name} is not in force", in_words=True)
    lasting = Enforces(group, Globally(Or((is_on_course(commitment), idle))), uniform)
    return Enforces(group, Until(is_open(commitment), Or((done, And((is_on_course(commitment), lasting))))), uniform)


def are_consistent(system: System, one: Commitment, other: Commitment) -> Formula:
    """Return that some fair run keeps both wherever both are in force and some fair run keeps each."""
    in_force = tuple(Atom(_in_force(system, c), f"{c.name} is in force", in_words=True) for c in (one, other))
    each = tuple(OnPaths("E", _kept(c)) for c in (one, other))
    both = OnPaths("E", And((_kept(one), _kept(other))))
    return OnPaths("A", Globally(Implies(And((*in_force, *each)), both)))


def _kept(commitment: Commitment) -> Formula:
    fulfilled = Atom(equal(Read(commitment.variable), Const("fulfilled")), f"fulfilled({commitment.name})")
    lasting = Globally(And((is_open(commitment), is_on_course(commitment))))
    gone = Atom(equal(Read(commitment.variable), Const("null")), f"null({commitment.name})")
    taken_back = And((is_on_course(commitment), Next(gone)))
    ways = Or((fulfilled, taken_back, lasting)) if commitment.content else fulfilled
    return Until(is_open(commitment), ways)


def _in_force(system: System, commitment: Commitment) -> Expr:
    active = equal(Read(commitment.variable), Const("active"))
    former = system.variable.get(f"{commitment.variable}.former")
    if former is None:
        return active
    waiting = equal(Read(commitment.variable), Const("pending"))
    return disj((active, conj((waiting, equal(Read(former.name), Const("active"))))))
