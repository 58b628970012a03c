"""Interpreter of a system: concrete states and steps by the definitions of `cplc.system.model`.

It shares no code with the engines, so it can check their results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import product

from cplc.logic.expressions import And, Arith, Const, Equal, Expr, Ite, Less, Not, Or, Read, Value
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Justice, State, System
from cplc.system.synchronous import Change, Player


def value(expr: Expr, state: State) -> Value:
    """Return the value of the expression in the state."""
    match expr:
        case Read(variable):
            return state[variable]
        case Const(constant):
            return constant
        case And(operands):
            return all(value(operand, state) for operand in operands)
        case Or(operands):
            return any(value(operand, state) for operand in operands)
        case Not(operand):
            return not value(operand, state)
        case Equal(left, right):
            return value(left, state) == value(right, state)
        case Less(left, right):
            return _number(left, state) < _number(right, state)
        case Ite(condition, then, otherwise):
            return value(then if value(condition, state) else otherwise, state)
        case Arith(op, left, right):
            return _arithmetic(op, _number(left, state), _number(right, state))


def holds(condition: Expr, state: State) -> bool:
    """Return whether the condition is true in the state."""
    return bool(value(condition, state))


def _number(expr: Expr, state: State) -> int:
    number = value(expr, state)
    if not isinstance(number, int):
        raise TypeError(f"{number!r} is not a number")
    return number


def _arithmetic(op: str, left: int, right: int) -> int:
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case "/":
            return int(Fraction(left, right)) if right else 0
        case "%":
            return left % right if right else 0
        case _:
            raise ValueError(f"no such operation: {op}")


Key = frozenset[tuple[str, Value]]


def key(state: State) -> Key:
    """Return a hashable key of the state."""
    return frozenset(state.items())


class Interpreter:
    """The states and steps of one system. The idle step is not among the steps."""

    def __init__(self, system: System) -> None:
        self.system = system
        # In Python 1 == True; a state contains the value as its domain has it.
        self._canonical_values = {variable.name: {one: one for one in variable.domain} for variable in system.variables}
        self._leads_to_cache: dict[tuple[Key, tuple[str, ...], Key], bool] = {}

    def initial_states(self) -> Iterator[State]:
        names = [variable.name for variable in self.system.variables]
        for values in product(*(variable.initial for variable in self.system.variables)):
            state = dict(zip(names, values, strict=True))
            if holds(self.system.start, state):
                yield state

    def is_initial(self, state: State) -> bool:
        return (
            self.is_state(state)
            and all(state[variable.name] in variable.initial for variable in self.system.variables)
            and holds(self.system.start, state)
        )

    def is_state(self, state: State) -> bool:
        """Tell whether the state assigns to exactly the variables of the system, each a value of its domain."""
        return state.keys() == self.system.variable.keys() and all(
            state[variable.name] in variable.domain for variable in self.system.variables
        )

    def is_enabled(self, state: State, step: int) -> bool:
        return holds(self.system.steps[step].guard, state)

    def is_waiting(self, state: State, justice: Justice) -> bool:
        """Tell whether the constraint waits in the state for one of its steps."""
        return holds(self.system.waiting(justice), state)

    def enabled(self, state: State) -> tuple[int, ...]:
        return tuple(step for step in range(len(self.system.steps)) if self.is_enabled(state, step))

    def after(self, state: State, step: int) -> tuple[State, ...]:
        """Return the successors by the step: none if it is not enabled, several if it frees variables."""
        if not self.is_enabled(state, step):
            return ()
        taken = self.system.steps[step]
        changed = state | {name: self._canonical(name, value(update, state)) for name, update in taken.updates}
        initial = (self.system.variable[name].initial for name in taken.free)
        return tuple(changed | dict(zip(taken.free, values, strict=True)) for values in product(*initial))

    def allowed(self, player: Player, state: State) -> list[str]:
        """Return the actions that a player may perform in the state."""
        return [action.name for action in player.actions if holds(action.allowed, state)]

    def rounds(self, state: State) -> Iterator[tuple[str, ...]]:
        """Yield the allowed joint actions in the state, in the order of the players."""
        return product(*(self.allowed(player, state) for player in self.system.players))

    def after_round(self, state: State, actions: Sequence[str]) -> Iterator[State]:
        """Yield the successors by a joint action, if all of its actions are allowed."""
        chosen = self._with_choices(state, actions)
        if chosen is None:
            return
        ways = []
        for rule in (rule for player in self.system.players for rule in player.rules):
            made = [change for change in rule if holds(change.guard, chosen)]
            ways.append(
                [
                    {name: self._canonical(name, value(update, state)) for name, update in change.updates}
                    for change in made
                ]
                or [{}]
            )
        for way in product(*ways):
            target = state.copy()
            for changes in way:
                target |= changes
            if self.is_state(target):
                yield target

    def leads_to(self, state: State, actions: Sequence[str], target: State) -> bool:
        """Tell whether this joint action may lead from one state to the other; cached, since runs share rounds."""
        round_key = key(state), tuple(actions), key(target)
        if round_key not in self._leads_to_cache:
            self._leads_to_cache[round_key] = self._may_lead(state, actions, target)
        return self._leads_to_cache[round_key]

    def _may_lead(self, state: State, actions: Sequence[str], target: State) -> bool:
        """Decide rule by rule, without enumerating combinations of changes."""
        chosen = self._with_choices(state, actions)
        if chosen is None or not self.is_state(target):
            return False
        unwritten = set(state)
        for rule in (rule for player in self.system.players for rule in player.rules):
            written = {name for change in rule for name, _ in change.updates}
            unwritten -= written
            if not self._may_write(rule, written, state, chosen, target):
                return False
        return all(state[name] == target[name] for name in unwritten)

    def _may_write(self, rule: Sequence[Change], written: set[str], state: State, chosen: State, target: State) -> bool:
        """Tell whether the rule may give its variables their values in the target."""
        changed = {name for name in written if target[name] != state[name]}
        for change in rule:
            if all(value(update, state) == target[name] for name, update in change.updates):
                changed_elsewhere = changed.difference(name for name, _ in change.updates) if changed else changed
                if not changed_elsewhere and holds(change.guard, chosen):
                    return True
        return not changed and not any(holds(change.guard, chosen) for change in rule)

    def _with_choices(self, state: State, actions: Sequence[str]) -> State | None:
        """Return the state extended by the choices of the players, if all of them are allowed."""
        players = self.system.players
        if len(actions) != len(players) or not all(
            any(action.name == done and holds(action.allowed, state) for action in player.actions)
            for player, done in zip(players, actions, strict=True)
        ):
            return None
        return state | {player.choice: done for player, done in zip(players, actions, strict=True)}

    def _canonical(self, name: str, assigned: Value) -> Value:
        """Return the value as the domain has it; a value out of range unchanged."""
        return self._canonical_values[name].get(assigned, assigned)


@memoize_per_system
def interpreter_of(system: System) -> Interpreter:
    """Return the interpreter of a system, with its caches."""
    return Interpreter(system)
