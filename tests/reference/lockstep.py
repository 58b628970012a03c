"""Lockstep comparison of the reference interpreter with a lowered system, up to the first difference.

The system is evaluated here, from the definitions of its expressions and steps, by no engine.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import product

from tests.reference.semantics import Reference
from tests.reference.states import Graph, Inapplicable, Move, State

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.system.model import Step, System

Valuation = dict[str, Value]


def value(expr: Expr, state: Mapping[str, Value]) -> Value:
    """Return the value of an expression in a state of the system."""
    match expr:
        case e.Const(constant):
            return constant
        case e.Read(variable):
            return state[variable]
        case e.Not(operand):
            return not value(operand, state)
        case e.And(operands):
            return all(value(operand, state) for operand in operands)
        case e.Or(operands):
            return any(value(operand, state) for operand in operands)
        case e.Equal(left, right):
            return value(left, state) == value(right, state)
        case e.Less(left, right):
            return _number(left, state) < _number(right, state)
        case e.Arith(op, left, right):
            one, other = _number(left, state), _number(right, state)
            match op:
                case "+":
                    return one + other
                case "-":
                    return one - other
                case "*":
                    return one * other
                case "%":
                    return one % other if other else 0
                case "/":
                    raise AssertionError("no protocol divides")
        case e.Ite(condition, then, otherwise):
            return value(then if value(condition, state) else otherwise, state)


def _number(expr: Expr, state: Mapping[str, Value]) -> int:
    number = value(expr, state)
    assert isinstance(number, int), f"{expr} is no number"
    return number


def initial(system: System) -> list[Valuation]:
    choices = product(*(variable.initial for variable in system.variables))
    return [dict(zip((v.name for v in system.variables), values, strict=True)) for values in choices]


def taken(system: System, step: Step, state: Valuation) -> Iterator[Valuation]:
    """Yield where an enabled step leads; every value must be of the variable's domain."""
    after = state | {name: value(update, state) for name, update in step.updates}
    for name, new in after.items():
        assert new in system.variable[name].domain, f"{step.name} makes {name} = {new!r}"
    for values in product(*(system.variable[name].initial for name in step.free)):
        yield after | dict(zip(step.free, values, strict=True))


def _label(step: Step) -> Move:
    _, _, receiver = step.name.partition("@")
    receiver = receiver.removesuffix(" further").removesuffix(" again") if step.kind != "send" else ""
    payload = tuple(sent for _, sent in step.payload)
    return Move(step.kind, step.event, payload, receiver, step.is_further, step.is_duplicate)


class Difference(AssertionError):
    """The two differ; the text says how, and the steps that lead there."""


class Lockstep:
    """Both walked from their initial states, step by step of the same name."""

    def __init__(self, reference: Reference, graph: Graph, system: System) -> None:
        self.reference, self.graph, self.system = reference, graph, system
        self.names = [variable.name for variable in system.variables]
        self.found: dict[tuple[Value, ...], int] = {}
        """The states of the system that were met, and the state of the reference that each goes with."""
        self.came_by: dict[tuple[Value, ...], tuple[tuple[Value, ...], Move] | None] = {}
        self.inapplicable: set[Inapplicable] = set()

    def walk(self) -> None:
        """Meet all states; raise where something differs."""
        waiting: list[Valuation] = []
        beginnings = {self._observation_in_reference(n): n for n in self.graph.initial}
        for state in initial(self.system):
            observation = self._observation_in_system(state)
            if observation not in beginnings:
                raise Difference(f"initial state {observation} only in the system")
            self._meet(state, beginnings[observation], None, waiting)
        if len(waiting) != len(beginnings):
            raise Difference("the reference has other initial states")
        while waiting:
            state = waiting.pop(0)
            self._compare_steps(state, waiting)
        if len(set(self.found.values())) != len(self.found):
            raise Difference(f"{len(self.found)} states of the system for {len(self.graph.states)}: {self._twins()}")
        if len(self.found) != len(self.graph.states):
            raise Difference("the reference has more states")

    def _meet(
        self, state: Valuation, number: int, by: tuple[tuple[Value, ...], Move] | None, waiting: list[Valuation]
    ) -> None:
        key = tuple(state[name] for name in self.names)
        if key in self.found:
            if self.found[key] != number:
                raise Difference(f"one state of the system for two, after {self._run(key)} and {by}")
            return
        self.found[key], self.came_by[key] = number, by
        ours, theirs = self._observation_in_reference(number), self._observation_in_system(state)
        if ours != theirs:
            difference = {name: (ours.get(name), theirs.get(name)) for name in ours | theirs}
            difference = {name: pair for name, pair in difference.items() if pair[0] != pair[1]}
            raise Difference(f"after {self._run(key)} (reference, system): {difference}")
        waiting.append(state)

    def _compare_steps(self, state: Valuation, waiting: list[Valuation]) -> None:
        key = tuple(state[name] for name in self.names)
        number = self.found[key]
        ours: dict[Move, list[int]] = {}
        for move, target in self.graph.steps[number]:
            ours.setdefault(move, []).append(target)
        theirs: dict[Move, Step] = {}
        for step in self.system.steps:
            if value(step.guard, state):
                if _label(step) in theirs:
                    raise Difference(f"two steps {_label(step)}")
                theirs[_label(step)] = step
        if ours.keys() != theirs.keys():
            more, less = set(ours) - set(theirs), set(theirs) - set(ours)
            raise Difference(f"after {self._run(key)} only the reference has {more}, only the system {less}")
        for move, step in theirs.items():
            self._note_operations(step, state)
            targets = {self._observation_in_reference(n): n for n in ours[move]}
            reached = list(taken(self.system, step, state))
            if len(reached) != len(targets):
                raise Difference(f"after {self._run(key)} {move} leads to {len(targets)} and {len(reached)} states")
            for after in reached:
                if len(reached) == 1:
                    self._meet(after, ours[move][0], (key, move), waiting)
                    continue
                observation = self._observation_in_system(after)
                if observation not in targets:
                    raise Difference(f"after {self._run(key)} {move} leads to {observation} only in the system")
                self._meet(after, targets[observation], (key, move), waiting)

    def _note_operations(self, step: Step, state: Valuation) -> None:
        for operation in step.operations:
            if not value(operation.applicable, state):
                state_name = str(value(operation.state_before, state))
                self.inapplicable.add(Inapplicable(step.event, operation.verb, operation.commitment, state_name))

    # --- what can be seen of a state

    def _observation_in_reference(self, number: int) -> Observation:
        model, world = self.reference.model, self.reference.world(self.graph.states[number])
        observation: dict[str, object] = {}
        for message in model.messages:
            observation[f"sent {message.name}"] = world.sent[message.name] is not None
            observation[f"received {message.name}"] = world.received[message.name] is not None
            observation[f"in flight {message.name}"] = world.in_flight(message.name)
            for at in (message.sender, *message.receivers):
                is_set = self.reference.copy(world, message.name, at)
                observation[f"payload {message.name}@{at}"] = None if is_set is None else is_set.payload
        observation |= world.own
        observation |= {f"commitment {name}": life.state for name, life in world.env.items()}
        observation |= {f"view {name}@{role}": life.state for (name, role), life in world.views.items()}
        observation |= {f"standing {name}": life.standing for name, life in world.env.items()}
        observation |= {f"standing {name}@{role}": life.standing for (name, role), life in world.views.items()}
        arguments = {f"{name}.with": life.moved_with or "none" for name, life in world.env.items()}
        observation |= {name: claim for name, claim in arguments.items() if name in self.system.variable}
        return Observation(observation)

    def _observation_in_system(self, state: Valuation) -> Observation:
        observation: dict[str, object] = {}
        for message in self.system.messages:
            observation[f"sent {message.name}"] = value(message.sent, state)
            observation[f"received {message.name}"] = value(message.received, state)
            observation[f"in flight {message.name}"] = value(message.in_flight, state)
            for at in (message.sender, *message.receivers):
                flag = state[f"{message.name}@{at}"]
                payload = tuple(
                    state[v.name]
                    for v in self.system.variables
                    if (v.kind, v.owner, v.about) == ("field", at, message.name)
                )
                observation[f"payload {message.name}@{at}"] = payload if flag else None
        observation |= {v.about: state[v.name] for v in self.system.variables if v.kind == "own"}
        for commitment in self.system.commitments:
            observation[f"commitment {commitment.name}"] = state[commitment.variable]
            observation |= {f"view {commitment.name}@{role}": state[variable] for role, variable in commitment.views}
        for claim in self.system.claims:
            observation[f"commitment {claim.name}"] = state[claim.variable]
            observation |= {f"view {claim.name}@{role}": state[variable] for role, variable in claim.views}
        variables = [(one.variable, one.views) for one in self.system.commitments]
        for variable, views in (*variables, *((one.variable, one.views) for one in self.system.claims)):
            for name in (variable, *(view for _, view in views)):
                observation[f"standing {name}"] = state.get(f"{name}.standing", "unanswered")
        observation |= {v.name: state[v.name] for v in self.system.variables if v.kind == "argument"}
        return Observation(observation)

    # --- local states

    def compare_local_states(self) -> None:
        """Each role must tell the same states apart; pairs must share something in both or neither."""
        for agent in self.system.agents:
            if agent.name == "Env":
                continue
            pairs = {
                (
                    tuple(self.reference.local(self.graph.states[number], agent.name).items()),
                    tuple(key[self.names.index(name)] for name in agent.local),
                )
                for key, number in self.found.items()
            }
            if not len(pairs) == len({ours for ours, _ in pairs}) == len({theirs for _, theirs in pairs}):
                raise Difference(f"{agent.name} tells other states apart: its local state is {agent.local}")

    # --- words

    def _run(self, key: tuple[Value, ...]) -> str:
        moves: list[str] = []
        by = self.came_by[key]
        while by is not None:
            key, move = by
            moves.insert(0, f"{move.kind} {move.event}{move.payload or ''}")
            by = self.came_by[key]
        return "[" + "; ".join(moves) + "]"

    def _twins(self) -> str:
        first: dict[int, tuple[Value, ...]] = {}
        for key, number in self.found.items():
            if number in first:
                other = first[number]
                differ = [(n, a, b) for n, a, b in zip(self.names, other, key, strict=True) if a != b]
                return f"after {self._run(other)} and {self._run(key)}: {differ}"
            first[number] = key
        return ""


class Observation(dict[str, object]):
    """The observation of a state by names; compared and hashed by content."""

    def __hash__(self) -> int:  # type: ignore[override]
        return hash(frozenset(self.items()))


def hazardous(lockstep: Lockstep) -> bool:
    """Return whether a visited state is a hazard of the system."""
    return any(
        value(condition, dict(zip(lockstep.names, key, strict=True)))
        for key in lockstep.found
        for _, condition, _ in lockstep.system.hazards
    )


__all__ = ["Difference", "Lockstep", "State", "hazardous"]
