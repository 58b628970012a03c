"""Explicit-state ISPL models of the game of one agent against all others, for MCMAS.

In each round the agent chooses a send, or none, by its observation, and the environment takes one step. Each justice
constraint becomes a fairness condition over a bit that records whether the constraint was disabled or served.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from tests.support.oracles.model_checker import Frozen, Naive, States

from cplc.logic import formulas as f


def game_as_ispl(naive: Naive, formula: f.Enforces, assuming: frozenset[str] = frozenset()) -> str:
    """Return the model with the formula."""
    return "\n".join(_Model(naive, formula, assuming).lines())


class _Model:
    def __init__(self, naive: Naive, formula: f.Enforces, assuming: frozenset[str]) -> None:
        (self.agent,) = formula.group
        self.naive, self.goal, self.assuming = naive, formula.goal, assuming
        game = naive.game(formula.group, assuming)
        self.own = game.own
        self.justice = [*game.justice, *(frozenset({step}) for step in sorted(game.own))]
        self.states = sorted(naive.reachable, key=repr)
        self.number = {state: n for n, state in enumerate(self.states)}
        looks = list(dict.fromkeys(naive.look(self.agent, state) for state in self.states))
        self.look = {state: looks.index(naive.look(self.agent, state)) for state in self.states}
        self.moves = {state: sorted(naive.edges[state], key=repr) for state in self.states}
        self.steps = {step for moves in self.moves.values() for step, _ in moves}

    def lines(self) -> Iterator[str]:
        yield "Semantics = SA;"
        yield from self._environment()
        yield from self._player()
        yield "Evaluation"
        for name, states in self._propositions():
            yield f"  {name} if {self._one_of(states)};"
        for number in range(len(self.justice)):
            yield f"  fair{number} if Environment.served{number} = true;"
        yield "end Evaluation"
        initial = _any(
            f"(Environment.{self._at(state)} and Environment.{self._observed(state)})" for state in self._initial
        )
        served = "".join(f" and Environment.served{number} = true" for number in range(len(self.justice)))
        yield f"InitStates ({initial}) and Player.idle = true{served}; end InitStates"
        yield "Groups us = {Player}; end Groups"
        if self.justice:
            yield f"Fairness {' '.join(f'fair{number};' for number in range(len(self.justice)))} end Fairness"
        match self.goal:
            case f.Until():
                goal = "(way U goal)"
            case f.Next() | f.Finally() | f.Globally():
                goal = f"{type(self.goal).__name__[0].replace('N', 'X')} goal"
        yield f"Formulae <us> {goal}; end Formulae"

    @property
    def _initial(self) -> list[Frozen]:
        return [state for state in self.states if state in self.naive.initial]

    def _propositions(self) -> Iterator[tuple[str, States]]:
        operands = f.children(self.goal)
        for name, operand in zip(("goal",) if len(operands) == 1 else ("way", "goal"), operands, strict=True):
            yield name, self.naive.satisfying(operand, self.assuming)

    def _at(self, state: Frozen) -> str:
        return f"now = s{self.number[state]}"

    def _observed(self, state: Frozen) -> str:
        return f"look = l{self.look[state]}"

    def _one_of(self, states: States) -> str:
        first = f"Environment.{self._at(self.states[0])}"
        return _any(f"Environment.{self._at(state)}" for state in states) or f"({first} and !({first}))"

    # --- the environment

    def _environment(self) -> Iterator[str]:
        looks = sorted(set(self.look.values()))
        yield "Agent Environment"
        yield "  Vars:"
        yield f"    now : {{{', '.join(f's{number}' for number in range(len(self.states)))}}};"
        yield f"    look : {{{', '.join(f'l{number}' for number in looks)}}};"
        yield from (f"    served{number} : boolean;" for number in range(len(self.justice)))
        yield "  end Vars"
        actions = dict.fromkeys(action for state in self.states for action, _, _ in self._transitions(state))
        yield f"  Actions = {{wait, {', '.join(actions)}}};" if actions else "  Actions = {wait};"
        yield "  Protocol:"
        for state in self.states:
            possible = dict.fromkeys(["wait", *(action for action, _, _ in self._transitions(state))])
            yield f"    {self._at(state)} : {{{', '.join(possible)}}};"
        yield "  end Protocol"
        yield "  Evolution:"
        for state in self.states:
            for action, when, target in self._transitions(state):
                taken = f"{self._at(state)} and Action = {action}{when}"
                yield f"    {self._at(target)} if {taken};"
                yield f"    {self._observed(target)} if {taken};"
            yield from self._served(state)
        yield "    now = s0 if now = s0 and !(now = s0);"
        yield "  end Evolution"
        yield "end Agent"

    def _transitions(self, state: Frozen) -> Iterator[tuple[str, str, Frozen]]:
        """Yield the environment's action, the agent's action that it requires, and the successor."""
        count: dict[int, int] = {}
        for step, target in self.moves[state]:
            count[step] = count.get(step, 0) + 1
            if step in self.own:
                yield f"serve{count[step]}", f" and Player.Action = send{step}", target
            else:
                yield f"step{step}x{count[step]}", "", target

    def _served(self, state: Frozen) -> Iterator[str]:
        """Yield the updates of the bit of each constraint: served or disabled."""
        enabled = {step for step, _ in self.moves[state]}
        for number, justice in enumerate(self.justice):
            theirs = justice & enabled - self.own
            for choice in self._choices(self.look[state]):
                here = f"{self._at(state)} and Player.Action = {choice}"
                mine = {step for step in justice & enabled & self.own if choice == f"send{step}"}
                serving = [
                    f"Action = {action}"
                    for action in dict.fromkeys(action for action, _, _ in self._transitions(state))
                    if any(action.startswith(f"step{step}x") for step in theirs)
                    or (mine and action.startswith("serve") and self._takes(state, action, mine))
                ]
                if not theirs and not mine:
                    yield f"    served{number} = true if {here};"
                else:
                    yield f"    served{number} = true if {here} and ({_any(serving)});"
                    yield f"    served{number} = false if {here} and !({_any(serving)});"

    def _takes(self, state: Frozen, action: str, steps: set[int]) -> bool:
        sends = {f" and Player.Action = send{step}" for step in steps}
        return any(one == action and when in sends for one, when, _ in self._transitions(state))

    # --- the agent

    def _choices(self, look: int) -> list[str]:
        """Return the agent's actions under an observation: sends enabled in some such state, or none."""
        possible = {
            step
            for state in self.states
            if self.look[state] == look
            for step, _ in self.moves[state]
            if step in self.own
        }
        return ["refrain", *(f"send{step}" for step in sorted(possible))]

    def _player(self) -> Iterator[str]:
        looks = sorted(set(self.look.values()))
        actions = dict.fromkeys(choice for look in looks for choice in self._choices(look))
        yield "Agent Player"
        yield "  Lobsvars = {look};"
        yield "  Vars: idle : boolean; end Vars"
        yield f"  Actions = {{{', '.join(actions)}}};"
        yield "  Protocol:"
        for look in looks:
            yield f"    Environment.look = l{look} : {{{', '.join(self._choices(look))}}};"
        yield "  end Protocol"
        yield "  Evolution: idle = true if idle = true; end Evolution"
        yield "end Agent"


def _any(conditions: Iterable[str]) -> str:
    return " or ".join(conditions)
