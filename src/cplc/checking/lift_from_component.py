"""Lifting of runs from a component to the whole system: the same steps, while the other components stutter."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.system.interpreter import Interpreter, Key, key
from cplc.system.model import State, System
from cplc.system.trace import Evidence, Run


def lifting_problems(whole: System, part: System, evidence: Evidence) -> Iterator[str]:
    """Yield why evidence on the component is no evidence on the whole; loops are run once."""
    yield from _ComponentLift(whole, part).evidence(evidence, None)


class _ComponentLift:
    def __init__(self, whole: System, part: System) -> None:
        self.interpreter = Interpreter(whole)
        self.part = part
        self.step = {step.name: index for index, step in enumerate(whole.steps)}
        self.seen: set[tuple[int, Key]] = set()

    def evidence(self, evidence: Evidence, start: State | None) -> Iterator[str]:
        """Check evidence from this state of the whole; without a state, from an initial one."""
        begin = self.initial(evidence.run.start) if start is None else start
        if (id(evidence), key(begin)) in self.seen:
            return
        self.seen.add((id(evidence), key(begin)))
        states: list[State] = []
        yield from self.run(evidence.run, begin, states)
        for position, part in evidence.parts:
            if position < len(states):
                yield from self.evidence(part, states[position])
        if evidence.elsewhere is not None:
            other_states: list[State] = []
            yield from self.run(evidence.elsewhere, self.initial(evidence.elsewhere.start), other_states)
            if evidence.alternative is not None and len(other_states) > len(evidence.elsewhere.moves):
                yield from self.evidence(evidence.alternative, other_states[-1])

    def initial(self, state: State) -> State:
        return {variable.name: variable.initial[0] for variable in self.interpreter.system.variables} | state

    def run(self, run: Run, start: State, states: list[State]) -> Iterator[str]:
        states.append(start)
        for move in run.moves:
            after = states[-1]
            if move.step is not None:
                name = self.part.steps[move.step].name
                possible = self.interpreter.after(after, self.step[name])
                successor = next((state for state in possible if move.state.items() <= state.items()), None)
                if successor is None:
                    yield f"`{name}` is possible in a part of the system and not in the whole"
                    return
                after = successor
            states.append(after)
