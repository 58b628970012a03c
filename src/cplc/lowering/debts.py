"""Debts of a lowered system: conditions over the lifecycle variables of `Env`."""

from __future__ import annotations

from cplc.logic.expressions import FALSE, Const, Read, conj, equal
from cplc.lowering.lifecycle_analysis import follows_variable
from cplc.lowering.promises import in_force, owed
from cplc.system.debts import Debt
from cplc.system.model import System


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
