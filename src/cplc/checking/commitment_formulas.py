"""Formulas of the built-in checks about commitments: open, kept, consistent, and what those who answer can enforce.

Definition. κ(c), "c is kept", is ``open(c) U (fulfilled(c) | G (open(c) & on course(c)))``. If the content of c is a
path formula, a restart that takes c back while it is on course keeps it as well.
"""

from __future__ import annotations

from collections.abc import Callable

from cplc.language.groups import side_text
from cplc.language.lifecycle import ENDS_OF_ACTIVE, OPEN, OPERATIONS
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.system.model import Commitment, System

_DONE = ("fulfilled", *(one.target for one in OPERATIONS if one.by == "creditor" and one.target in ENDS_OF_ACTIVE))
"""Final states in which the debtor of an active commitment has not failed."""
_OTHER_ENDS = tuple(state for state in ENDS_OF_ACTIVE if state != "fulfilled")
"""Final states of an active commitment other than its fulfilment."""
_NOT_IN_FORCE = (*_DONE, "null", "conditional")
"""States in which a commitment that was on course is not broken: a restart may have taken it back."""


def is_open(commitment: Commitment) -> Formula:
    return f.Atom(e.one_of(e.Read(commitment.variable), OPEN), f"open({commitment.name})")


def is_on_course(commitment: Commitment) -> Formula:
    return f.Atom(commitment.on_course, f"{commitment.name} is on course", in_words=True)


def is_unsettled(commitment: Commitment) -> Formula:
    """Return that the commitment is open and would not be kept if nothing more happened."""
    if not commitment.content:
        return is_open(commitment)
    return f.And((is_open(commitment), f.Not(is_on_course(commitment))))


def is_kept(commitment: Commitment) -> Formula:
    """Return that the commitment is fulfilled or on course."""
    fulfilled = f.Atom(e.equal(e.Read(commitment.variable), e.Const("fulfilled")), f"fulfilled({commitment.name})")
    return f.Or((fulfilled, is_on_course(commitment))) if commitment.content else fulfilled


def is_judged_by_its_consequent(system: System, commitment: Commitment) -> bool:
    """Tell whether the debtor honours an active commitment by bringing its consequent about, at any time.

    This is so if nothing else ends the commitment. With a deadline it is also so, unless the debtor is assumed to act
    within so many ticks: otherwise no strategy controls time.
    """
    if commitment.content or (commitment.within is not None and system.bounded_members(commitment.debtors)):
        return False
    if commitment.within is not None:
        return True
    domain = system.variable[commitment.variable].domain
    taken_back = (step.kind == "restart" and commitment.variable in step.writes for step in system.steps)
    performed = (operation for step in system.steps for operation in step.operations)
    fulfilled = (one.verb == "fulfill" and one.commitment == commitment.name for one in performed)
    return not (any(state in domain for state in _OTHER_ENDS) or any(taken_back) or any(fulfilled))


def can_be_honoured(system: System, commitment: Commitment, *, uniform: bool) -> Formula:
    """Return that those who are answerable can keep the commitment on course until it is no longer in force.

    That is all debtors of a group together, some one of them alone, or each of them alone.

    A commitment to a condition is never on course. A restart ends no debt: the commitment is on course again once it is
    in force again. The formula combines two strategies: the first until the commitment is done or the second wins.
    """
    return answering(commitment, lambda group: _can_honour(system, commitment, group, uniform=uniform))


def answering(commitment: Commitment, able: Callable[[tuple[str, ...]], Formula]) -> Formula:
    """Return that the debtors who are answerable are able to do something."""
    if commitment.answerable == "all" or len(commitment.debtors) == 1:
        return able(commitment.debtors)
    alone = tuple(able((debtor,)) for debtor in commitment.debtors)
    return f.Or(alone) if commitment.answerable == "any" else f.And(alone)


def _can_honour(system: System, commitment: Commitment, group: tuple[str, ...], *, uniform: bool) -> Formula:
    """Return that a group has a strategy to keep the commitment until it is no longer in force."""
    ends = [state for state in _DONE if state in system.variable[commitment.variable].domain]
    done = f.Atom(
        e.one_of(e.Read(commitment.variable), ends), " | ".join(f"{state}({commitment.name})" for state in ends)
    )
    if not commitment.content:
        return f.Enforces(group, f.Until(is_open(commitment), done), uniform)
    idle = f.Atom(
        e.one_of(e.Read(commitment.variable), _NOT_IN_FORCE), f"{commitment.name} is not in force", in_words=True
    )
    lasting = f.Enforces(group, f.Globally(f.Or((is_on_course(commitment), idle))), uniform)
    return f.Enforces(
        group, f.Until(is_open(commitment), f.Or((done, f.And((is_on_course(commitment), lasting))))), uniform
    )


def are_consistent(system: System, one: Commitment, other: Commitment) -> Formula:
    """Return that some fair run keeps both in every state where both are in force and some fair run keeps each."""
    in_force = tuple(f.Atom(_in_force(system, c), f"{c.name} is in force", in_words=True) for c in (one, other))
    each = tuple(f.OnPaths("E", _kept(c)) for c in (one, other))
    both = f.OnPaths("E", f.And((_kept(one), _kept(other))))
    return f.OnPaths("A", f.Globally(f.Implies(f.And((*in_force, *each)), both)))


def _kept(commitment: Commitment) -> Formula:
    fulfilled = f.Atom(e.equal(e.Read(commitment.variable), e.Const("fulfilled")), f"fulfilled({commitment.name})")
    lasting = f.Globally(f.And((is_open(commitment), is_on_course(commitment))))
    gone = f.Atom(e.equal(e.Read(commitment.variable), e.Const("null")), f"null({commitment.name})")
    taken_back = f.And((is_on_course(commitment), f.Next(gone)))
    ways = f.Or((fulfilled, taken_back, lasting)) if commitment.content else fulfilled
    return f.Until(is_open(commitment), ways)


def _in_force(system: System, commitment: Commitment) -> e.Expr:
    active = e.equal(e.Read(commitment.variable), e.Const("active"))
    former = system.variable.get(f"{commitment.variable}.former")
    if former is None:
        return active
    waiting = e.equal(e.Read(commitment.variable), e.Const("pending"))
    return e.disj((active, e.conj((waiting, e.equal(e.Read(former.name), e.Const("active"))))))


def enforces(goal: f.Goal, uniform: bool, group: tuple[str, ...]) -> Formula:
    """Return that a group has a strategy for a goal."""
    return f.Enforces(group, goal, uniform)


def unable(commitment: Commitment) -> str:
    """Return who of those that are answerable fail, in words."""
    if len(commitment.debtors) == 1:
        return f"{commitment.debtor} alone cannot"
    debtors = side_text(commitment.debtor)
    return {
        "all": f"{debtors} together cannot",
        "any": f"no single one of {debtors} can",
        "each": f"not each of {debtors} alone can",
    }[commitment.answerable]
