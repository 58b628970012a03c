"""Folding of lassos: a loop that goes round twice, because of the alternating bit of a message, is shown once."""

from __future__ import annotations

from cplc.system.model import State, Step, System
from cplc.system.trace import Move, Run


def shortest_lasso(system: System, run: Run) -> Run:
    """Return the run with the shortest loop of the same steps.

    Definition. Two states are alike if they differ in alternating bits alone. Such a bit only tells a message from its
    repetition, so whatever can follow one of the states can follow the other, with the same messages.
    """
    if run.loop is None:
        return run
    loop, states = run.moves[run.loop :], run.states[run.loop :]
    bits = frozenset(variable.name for variable in system.variables if variable.kind == "parity")
    for period in range(1, len(loop) // 2 + 1) if bits else ():
        repeats = len(loop) % period == 0 and all(
            _are_alike(states[at], states[at + period], bits) and _same_step(system, loop[at], loop[at + period])
            for at in range(len(loop) - period)
        )
        if repeats:
            return Run(run.start, run.moves[: run.loop + period], run.loop)
    return run


def _are_alike(one: State, other: State, bits: frozenset[str]) -> bool:
    return all(value == other[name] for name, value in one.items() if name not in bits)


def _same_step(system: System, one: Move, other: Move) -> bool:
    if one.actions or other.actions or one.step is None or other.step is None:
        return one.actions == other.actions and one.step == other.step
    return _identity(system.steps[one.step]) == _identity(system.steps[other.step])


def _identity(step: Step) -> tuple[object, ...]:
    return step.kind, step.event, step.actor, step.payload
