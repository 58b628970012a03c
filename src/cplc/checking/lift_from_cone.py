"""Lifting of evidence from the cone of influence to the system: the same steps, with all variables.

If the variables outside the cone repeat only after several rounds of a lasso, the lasso is unrolled that often.
"""

from __future__ import annotations

from dataclasses import replace

from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Move, Run

MAX_UNROLLINGS = 8
"""Maximum number of rounds until a lasso closes in all variables."""


class LassoNotClosed(Exception):
    """Some lasso does not close in the variables outside the cone."""


def lift_to_wide(evidence: Evidence, wide: System) -> Evidence:
    """Return the evidence with all variables of the system. Raise `LassoNotClosed` if a lasso does not close."""
    widening = _ConeLift(wide)
    return widening.evidence(evidence, widening.initial(evidence.run.start))


class _ConeLift:
    def __init__(self, wide: System) -> None:
        self._interpreter = Interpreter(wide)
        self._first = {variable.name: variable.initial[0] for variable in wide.variables}

    def initial(self, state: State) -> State:
        return self._first | state

    def evidence(self, evidence: Evidence, start: State) -> Evidence:
        run = self._run(evidence.run, start)
        states = run.states
        parts = tuple((position, self.evidence(part, states[position])) for position, part in evidence.parts)
        if evidence.elsewhere is None:
            return replace(evidence, run=run, parts=parts)
        elsewhere = self._run(evidence.elsewhere, self.initial(evidence.elsewhere.start))
        end = elsewhere.states[-1]
        return replace(
            evidence,
            run=run,
            parts=parts,
            elsewhere=elsewhere,
            alternative=evidence.alternative and self.evidence(evidence.alternative, end),
            lasting=evidence.lasting and self.evidence(evidence.lasting, end),
        )

    def _run(self, run: Run, start: State) -> Run:
        if run.loop is None:
            return Run(start, tuple(self._moves(run.moves, start)))
        moves = self._moves(run.moves, start)
        loop = run.loop
        for _ in range(MAX_UNROLLINGS):
            states = Run(start, tuple(moves)).states
            if states[-1] == states[loop]:
                return Run(start, tuple(moves), loop)
            loop = len(states) - 1
            moves += self._moves(run.moves[run.loop :], states[-1])
        raise LassoNotClosed

    def _moves(self, moves: tuple[Move, ...], state: State) -> list[Move]:
        lifted = []
        for move in moves:
            if move.step is not None:
                state = next(
                    after for after in self._interpreter.after(state, move.step) if move.state.items() <= after.items()
                )
            lifted.append(replace(move, state=state))
        return lifted
