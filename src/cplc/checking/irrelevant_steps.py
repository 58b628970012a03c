"""Irrelevant steps of a run: those that change nothing on which the formula depends (dynamic slicing of runs).

Definition. A step is awaited on a run if it could write a variable of an atom of the formula, or one that the guard of
an awaited step reads which the run never enables. The relevant variables are the least set that contains the variables
of the atoms, what the guards of awaited steps read, and for each step of the run that changes a relevant variable, what
its guard reads and the values that it writes to relevant variables. A step of the run is irrelevant if it changes no
relevant variable and the formula does not name it (``does(…)``).

Claim. Without its irrelevant steps, the run is a run of the protocol up to fairness, and a stutter-invariant formula
has the same value on it.

Proof. By induction on the run, the relevant variables have the same values before each relevant step. So the step is
enabled, and writes the same values to them. An irrelevant step leaves them as they are: it is a stutter step for the
formula.

A run on which roles keep going has such steps, since the others must go on too. Reference: Korel and Laski, "Dynamic
program slicing", 1988.
"""

from __future__ import annotations

from typing import assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import reads
from cplc.logic.formulas import Formula
from cplc.reductions.stutter import is_stutter_invariant_everywhere
from cplc.system.interpreter import holds
from cplc.system.model import System
from cplc.system.trace import Run


def irrelevant_steps(system: System, formula: Formula, run: Run) -> frozenset[int]:
    """Return the positions of the irrelevant moves of the run; none if the formula is not stutter-invariant.

    Moves that violate a commitment count as relevant: the report names them. Rounds of players are all relevant.
    """
    named = _named(formula)
    if named is None:
        return frozenset()
    variables, steps = named
    changing = _relevant_moves(system, variables, steps, run)
    lives = [one.variable for one in system.commitments]
    states = run.states

    def is_irrelevant(position: int) -> bool:
        before, after = states[position], states[position + 1]
        is_violation = any(after[name] == "violated" != before[name] for name in lives)
        return run.moves[position].step is not None and position not in changing and not is_violation

    return frozenset(filter(is_irrelevant, range(len(run.moves))))


def _named(formula: Formula) -> tuple[set[str], set[str]] | None:
    """Return the variables and steps that the formula names; None if stutter steps may change its value."""
    variables: set[str] = set()
    steps: set[str] = set()
    for part in f.core_subformulas(formula):
        match part:
            case f.Atom(condition):
                variables |= reads(condition)
            case f.Taken(names):
                steps.update(names)
            case f.OnPaths(path=path, along=None) if is_stutter_invariant_everywhere(path):
                pass
            case f.Until(bound=f.Bound(ticks=f.Taken(names))) | f.Release(bound=f.Bound(ticks=f.Taken(names))):
                steps.update(names)
            case f.Not() | f.And() | f.Until() | f.Release() | f.Since():
                pass
            case f.OnPaths() | f.Next() | f.Previous():
                return None
            case f.Enforces() | f.KnownFrom() | f.Knows() | f.Adjacent() | f.Regardless():
                return None
            case _:
                assert_never(part)
    return variables, steps


def _relevant_moves(system: System, variables: set[str], named: set[str], run: Run) -> set[int]:
    """Return the positions of the moves by named steps, and of those that change a relevant variable."""
    relevant = variables | _awaited(system, variables, named, run)
    states, moves = run.states, set[int]()
    size = -1
    # Invariant: what the moves in `moves` read is in `relevant`, but for changes of variables that were added since.
    while size != len(relevant):
        size = len(relevant)
        for position, move in enumerate(run.moves):
            if move.step is None:
                continue
            step = system.steps[move.step]
            is_change = any(states[position][name] != move.state[name] for name in step.writes & relevant)
            if is_change or step.name in named:
                moves.add(position)
                relevant = relevant.union(
                    reads(step.guard), *(reads(value) for name, value in step.updates if name in relevant)
                )
    return moves


def _awaited(system: System, variables: set[str], named: set[str], run: Run) -> set[str]:
    """Return the variables that the guards of awaited steps read: they tell why the awaited does not happen."""
    steps = [step for step in system.steps if step.name in named or not variables.isdisjoint(step.writes)]
    awaited, read = {step.name for step in steps}, set[str]()
    # Invariant: `steps` are the awaited steps whose guards were not looked at.
    while steps:
        guard = steps.pop().guard
        read |= reads(guard)
        if not any(holds(guard, state) for state in run.states):
            more = [one for one in system.steps if one.name not in awaited and not reads(guard).isdisjoint(one.writes)]
            awaited.update(one.name for one in more)
            steps += more
    return read
