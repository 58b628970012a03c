"""Systems with something to look at that the protocol itself does not remember.

An observer adds variables of `Env` that no guard of the protocol reads. The steps of the system keep their positions,
and a run of the one, with the observer left out, is a run of the other.
"""

from __future__ import annotations

from dataclasses import replace

from cplc.system.expr import FALSE, Expr, Read, disj, ite, negate
from cplc.system.model import Operation, System, Variable

PASSED_ON = "passed on"
RENEWED = "made anew"

_HANDING_OVER = ("delegate", "assign")


def with_hand_overs(system: System) -> System:
    """Add two bits, and runs on which the first changes infinitely often.

    The first one changes when a commitment is delegated or assigned, the second when one of those that are
    delegated or assigned, or that it may be handed over to, is created or taken back by a restart.
    """
    operations = [operation for step in system.steps for operation in step.operations]
    handed = {name for operation in operations if _hands_over(operation) for name in _both_ends(operation)}
    variables = {variable.name for variable in system.variables if variable.about in handed}
    steps = []
    for step in system.steps:
        passing = disj(operation.applicable for operation in step.operations if _hands_over(operation))
        making = (o.applicable for o in step.operations if o.verb == "create" and o.commitment in handed)
        renewing = negate(FALSE) if any(map(step.takes_back, variables)) else disj(making)
        observed = ((PASSED_ON, _flipped(PASSED_ON, passing)), (RENEWED, _flipped(RENEWED, renewing)))
        updates = tuple((name, value) for name, value in observed if value != Read(name))
        steps.append(replace(step, updates=step.updates + updates))
    return replace(
        system,
        variables=(*system.variables, _truth_value(PASSED_ON), _truth_value(RENEWED)),
        steps=tuple(steps),
        fairness=(*system.fairness, Read(PASSED_ON), negate(Read(PASSED_ON))),
    )


def hands_over(system: System) -> bool:
    """Whether any commitment is ever delegated or assigned."""
    return any(_hands_over(operation) for step in system.steps for operation in step.operations)


def _hands_over(operation: Operation) -> bool:
    return operation.verb in _HANDING_OVER


def _both_ends(operation: Operation) -> tuple[str, ...]:
    return (operation.commitment,) if operation.target is None else (operation.commitment, operation.target)


def _flipped(name: str, when: Expr) -> Expr:
    return ite(when, negate(Read(name)), Read(name))


def _truth_value(name: str) -> Variable:
    return Variable(name, (False, True), (False,), "own", "Env", "")
