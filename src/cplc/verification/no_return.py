"""The point of no return: on a run to where a group can no longer do what it ought to, the step that settled it."""

from __future__ import annotations

from cplc.engines.interface import Engine, S
from cplc.system.expr import TRUE, Expr, Read, one_of, reads
from cplc.system.formula import Atom, Enforces, Formula, Globally, Implies, OnPaths
from cplc.system.model import System
from cplc.system.trace import Evidence
from cplc.verification.checks import OPEN
from cplc.verification.results import NoReturn


def point_of_no_return(engine: Engine[S], evidence: Evidence, assuming: frozenset[str]) -> NoReturn | None:
    """Return where ``A G (owed -> <<group>> goal)`` was lost on the run that shows that it fails."""
    match evidence.formula:
        case OnPaths("A", Globally(Implies(owed, Enforces() as able)), None):
            pass
        case OnPaths("A", Globally(Enforces() as able), None):
            owed = Atom(TRUE, "true")
        case _:
            return None
    if evidence.holds or evidence.run.loop is not None:
        return None
    states = evidence.run.states
    is_owed = there = engine.satisfying(owed, assuming)
    if (lifecycle := _lifecycle(engine.system, owed)) is not None:
        there = engine.either(is_owed, engine.where(lifecycle))
    can = [engine.contains(engine.satisfying(able, assuming), state) for state in states]
    end = next(n for n, state in enumerate(states) if not can[n] and engine.contains(is_owed, state))
    begin = end
    while begin and engine.contains(there, states[begin - 1]):
        begin -= 1
    step = next((n + 1 for n in range(end - 1, begin - 1, -1) if can[n]), None)
    return NoReturn(able, step, begin)


def _lifecycle(system: System, owed: Formula) -> Expr | None:
    """Return when the commitment is open whose state is what is asked for: it binds before it is active, too."""
    if isinstance(owed, Atom):
        for commitment in system.commitments:
            if reads(owed.condition) == {commitment.variable}:
                return one_of(Read(commitment.variable), OPEN)
    return None
