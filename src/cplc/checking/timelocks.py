"""Timelocks: reachable states from which time can never pass again, so that no fair run begins there.

The clock stands still for good if what must happen before the next tick never can: roles that act within no tick and
wake each other up without end, or a message that is due and never possible. That is a fault of the bounds, not of the
protocol: path quantifiers range over no run there, so whatever an `A` claims of it is true. With a timelock a verdict
is therefore `unknown`, unless it rests on a fair run that is its own witness: `E` that holds, `A` that fails.

Conditions of fairness of the file may exclude states on purpose (`cplc.checking.realizability`), so they do not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from cplc.checking.realizability import Realizability
from cplc.checking.results import Answer, ExcludedStates, Remark
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.system.interpreter import Interpreter
from cplc.system.model import System
from cplc.system.trace import Move, Run


def timelock_remark(realizability: Realizability, assuming: frozenset[str]) -> Remark | None:
    """Return the remark with a shortest run into a timelock, and the steps that go round there; None without one."""
    locked = realizability.excluded(assuming)
    if locked is None:
        return None
    system, run = locked.system, locked.run
    continued = _standing_still(system, run)
    where = "some reachable state" if locked.states is None else f"{locked.states:,} of the reachable states"
    reason = "; ".join(_waiting_for(system, continued))
    message = f"a timelock: from {where} on time can never pass again{f', for {reason}' if reason else ''}"
    return Remark("timelock", message, excluded=ExcludedStates(locked.states, locked.reachable, continued, system))


def _standing_still(system: System, run: Run) -> Run:
    """Return the run continued by steps that are no ticks, until a state repeats or nothing is possible."""
    interpreter = Interpreter(system)
    moves, visited = list(run.moves), [run.states[-1]]
    while True:
        here = visited[-1]
        possible = (step for step in interpreter.enabled(here) if system.steps[step].kind != "tick")
        following = next((Move(step, after) for step in possible for after in interpreter.after(here, step)), None)
        if following is None:
            return Run(run.start, tuple(moves))
        moves.append(following)
        if following.state in visited:
            return Run(run.start, tuple(moves), len(run.moves) + visited.index(following.state))
        visited.append(following.state)


def _waiting_for(system: System, run: Run) -> Iterator[str]:
    """Yield what happens on and on while the clock stands, or what it waits for."""
    if run.loop is not None:
        names = dict.fromkeys(system.steps[move.step].name for move in run.moves[run.loop :] if move.step is not None)
        yield f"{' and '.join(f'`{name}`' for name in names)} {'happens' if len(names) == 1 else 'happen'} without end"


def rests_on_fair_run(formula: Formula, answer: Answer) -> bool:
    """Tell whether a fair run shows the answer: some `E` makes it true, or some `A` false."""
    return answer in ("holds", "fails") and all(_shown(formula, positive=answer == "holds"))


def _shown(formula: Formula, *, positive: bool) -> Iterator[bool]:
    """Yield, for each operator that fair runs decide, whether a run shows the wanted value."""
    match formula:
        case f.Atom() | f.Taken():
            return
        case f.Not(operand):
            yield from _shown(operand, positive=not positive)
        case f.OnPaths(quantifier, path):
            yield (quantifier == "E") == positive
            yield from _shown(path, positive=positive)
        case f.Knows() | f.KnownFrom() | f.Enforces() | f.Adjacent() | f.Regardless():
            yield False
        case f.Derived():
            yield from _shown(formula.definition, positive=positive)
        case f.And() | f.Next() | f.Until() | f.Release() | f.Previous() | f.Since():
            for child in f.children(formula):
                yield from _shown(child, positive=positive)
        case _:
            assert_never(formula)
