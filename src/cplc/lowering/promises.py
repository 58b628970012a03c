"""The channel of promises: promised and kept commitments, as conditions over the variables of `Env`.

A commitment is *in force* while it is active, or pending and was active before. It is *on course* while it is open and
its content holds if nothing more ever happens; a state condition is never on course. It is *owed* while it is in force
and not on course. It is *promised* while it is in force, and once it is fulfilled. It is *kept* once it is fulfilled,
and while it is in force and on course.
"""

from __future__ import annotations

from collections.abc import Iterable

from cplc.logic.expressions import Const, Expr, Read, conj, disj, equal, negate
from cplc.logic.formulas import Channel
from cplc.lowering.lifecycle_analysis import former_variable
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
