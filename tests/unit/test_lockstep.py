"""The comparison of a system with the reference notices when they differ."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from tests.reference.lockstep import Difference, Lockstep
from tests.reference.semantics import Reference
from tests.support.case_files import cases, checked, compiled

from cplc.logic.expressions import FALSE, Const, Not, Read, conj
from cplc.system.model import System

CASE = next(case for case in cases() if str(case) == "deadline async")


def walk(change: Callable[[System], System]) -> None:
    reference = Reference(checked(CASE))
    lockstep = Lockstep(reference, reference.explore(), change(compiled(CASE).system))
    lockstep.walk()
    lockstep.compare_local_states()


def without_update(system: System, kind: str) -> System:
    """Forget the commitments in what steps of this kind write."""
    states = {commitment.variable for commitment in system.commitments}
    steps = tuple(
        replace(step, updates=tuple(u for u in step.updates if u[0] not in states)) if step.kind == kind else step
        for step in system.steps
    )
    return replace(system, steps=steps)


def without_effect(system: System) -> System:
    return without_update(system, "receive")


def without_deadline(system: System) -> System:
    return without_update(system, "tick")


def without_step(system: System) -> System:
    return replace(system, steps=system.steps[1:])


def with_guard(system: System) -> System:
    first, *rest = system.steps
    return replace(system, steps=(replace(first, guard=FALSE), *rest))


def remembering(system: System) -> System:
    """Let the tick alternate a bit that means nothing."""
    spare = replace(system.variables[0], name="spare", domain=(False, True), initial=(False,), kind="former")
    steps = tuple(
        replace(step, updates=(*step.updates, ("spare", Not(Read("spare"))))) if step.kind == "tick" else step
        for step in system.steps
    )
    return replace(system, variables=(*system.variables, spare), steps=steps)


def knowing_too_much(system: System) -> System:
    """Let every agent see every variable."""
    everything = tuple(variable.name for variable in system.variables)
    return replace(system, agents=tuple(replace(agent, local=everything) for agent in system.agents))


def with_other_start(system: System) -> System:
    lifecycle = system.commitments[0].variable
    variables = tuple(
        replace(variable, initial=("active",)) if variable.name == lifecycle else variable
        for variable in system.variables
    )
    return replace(system, variables=variables)


def test_unchanged_system_matches_reference() -> None:
    walk(lambda system: system)


@pytest.mark.parametrize(
    "change",
    [
        without_effect,
        without_deadline,
        without_step,
        with_guard,
        remembering,
        knowing_too_much,
        with_other_start,
    ],
)
def test_changed_system_differs_from_reference(change: Callable[[System], System]) -> None:
    with pytest.raises(Difference):
        walk(change)


def test_operations_that_are_always_applicable_are_not_those_of_the_reference() -> None:
    reference = Reference(checked(CASE))
    system = compiled(CASE).system
    steps = tuple(
        replace(step, operations=tuple(replace(op, applicable=conj([Const(True)])) for op in step.operations))
        for step in system.steps
    )
    lockstep = Lockstep(reference, reference.explore(), replace(system, steps=steps))
    lockstep.walk()
    assert lockstep.inapplicable != reference.inapplicable
