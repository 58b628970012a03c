"""Systems with something to look at that the protocol itself does not remember.

An observer adds variables of `Env` that no guard of the protocol reads. The steps of the system keep their positions,
and a run of the one, with the observer left out, is a run of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from cplc.system.expr import FALSE, Expr, Read, disj, ite, negate
from cplc.system.model import Operation, Step, System, Variable

PASSED_ON = "passed on"
RENEWED = "made anew"

_HANDING_OVER = ("delegate", "assign")


def circles_of_hand_overs(system: System) -> tuple[frozenset[str], ...]:
    """Return the sets of commitments that can be handed over to each other: strongly connected components.

    Only within one of them can a commitment be handed over for ever, as there are finitely many.
    """
    targets: dict[str, set[str]] = {}
    for operation in (operation for step in system.steps for operation in step.operations):
        if _hands_over(operation) and operation.target is not None:
            targets.setdefault(operation.commitment, set()).add(operation.target)
    reachable = {name: _reachable(name, targets) for name in targets}
    return tuple(
        dict.fromkeys(
            frozenset(other for other in reachable[name] if name in reachable.get(other, ()))
            for name in targets
            if name in reachable[name]
        )
    )


def with_hand_overs(system: System, circles: tuple[frozenset[str], ...]) -> System:
    """Add two bits for each circle.

    The first one changes when a commitment is delegated or assigned within the circle, the second when one of the
    circle is created or taken back by a restart. Of one circle, the runs are those on which the first changes
    infinitely often.
    """
    observers = [_observer(system, number, circle) for number, circle in enumerate(circles)]
    steps = []
    for step in system.steps:
        observed = [update for observer in observers for update in observer(step)]
        updates = tuple((name, value) for name, value in observed if value != Read(name))
        steps.append(replace(step, updates=step.updates + updates))
    bits = [_truth_value(name(n)) for n in range(len(circles)) for name in (observed_hand_over, observed_renewal)]
    passed = Read(observed_hand_over(0))
    return replace(
        system,
        variables=(*system.variables, *bits),
        steps=tuple(steps),
        fairness=(*system.fairness, passed, negate(passed)) if len(circles) == 1 else system.fairness,
    )


def observed_hand_over(circle: int) -> str:
    """Return the bit that changes when a commitment is handed over within the circle."""
    return f"{PASSED_ON} {circle + 1}" if circle else PASSED_ON


def observed_renewal(circle: int) -> str:
    """Return the bit that changes when a commitment of the circle is made anew."""
    return f"{RENEWED} {circle + 1}" if circle else RENEWED


def _observer(
    system: System, number: int, circle: frozenset[str]
) -> Callable[[Step], tuple[tuple[str, Expr], tuple[str, Expr]]]:
    variables = {variable.name for variable in system.variables if variable.about in circle}
    passed_on, renewed = observed_hand_over(number), observed_renewal(number)

    def observed(step: Step) -> tuple[tuple[str, Expr], tuple[str, Expr]]:
        passing = disj(o.applicable for o in step.operations if _hands_over(o) and circle.issuperset(_both_ends(o)))
        making = (o.applicable for o in step.operations if o.verb == "create" and o.commitment in circle)
        renewing = negate(FALSE) if any(map(step.takes_back, variables)) else disj(making)
        return (passed_on, _flipped(passed_on, passing)), (renewed, _flipped(renewed, renewing))

    return observed


def _reachable(start: str, targets: Mapping[str, set[str]]) -> frozenset[str]:
    """Return what the commitment can be handed over to in one or more steps."""
    reached: set[str] = set()
    pending = [start]
    while pending:
        fresh = targets.get(pending.pop(), set()) - reached
        reached |= fresh
        pending += fresh
    return frozenset(reached)


def _hands_over(operation: Operation) -> bool:
    return operation.verb in _HANDING_OVER


def _both_ends(operation: Operation) -> tuple[str, ...]:
    return (operation.commitment,) if operation.target is None else (operation.commitment, operation.target)


def _flipped(name: str, when: Expr) -> Expr:
    return ite(when, negate(Read(name)), Read(name))


def _truth_value(name: str) -> Variable:
    return Variable(name, (False, True), (False,), "own", "Env", "")
