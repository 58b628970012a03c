"""Steps as CCS processes: acquire the lock, evaluate the guard, act visibly, write cells, release the lock.

Invariant: before its visible action a step has changed nothing and can abort; after it, the remaining actions are
deterministic and all other steps are blocked by the lock. So exactly the steps of the system are visible.

An update reads the state before the step. Updates are ordered such that no update reads a cell that was written
before. Where dependencies are cyclic, a buffered cell holds the new value until the step commits it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product
from typing import Final

from cplc.export.ccs_expressions import Vocabulary, cofactors, leftmost_variable
from cplc.export.expression_simplify import substitute
from cplc.export.request import CannotExport
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import Step, System

_MAX_STEP_ACTIONS: Final = 20_000
"""Maximum number of actions of one step."""

Update = tuple[str, Expr]


@dataclass(frozen=True, slots=True)
class Process:
    """One definition: a choice between action prefixes."""

    name: str
    text: str


def processes(vocabulary: Vocabulary, step: Step, buffered: frozenset[str]) -> tuple[Process, ...]:
    """Return the definitions for one step."""
    return _StepWriter(vocabulary, step, buffered).definitions()


def buffered_variables(system: System) -> frozenset[str]:
    """Return the variables whose old value some step reads after it writes the new one."""
    return frozenset(name for step in system.steps for name in _ordered(step)[1])


def _ordered(step: Step) -> tuple[list[Update], list[str]]:
    """Return the updates in the order of writing, and the variables that are read after they are written."""
    remaining = {name: substitute(value, _guard_constants(step.guard)) for name, value in step.updates}
    order: list[Update] = []
    late: list[str] = []
    while remaining:
        read_by_others = Counter(name for target, value in remaining.items() for name in e.reads(value) - {target})
        chosen = next((name for name in remaining if not read_by_others[name]), None)
        if chosen is None:
            chosen = min(remaining, key=lambda name: read_by_others[name])
            late.append(chosen)
        order.append((chosen, remaining.pop(chosen)))
    return order, late


def _guard_constants(guard: Expr) -> Mapping[str, Expr]:
    """Return the variables that the guard makes constant."""
    constants: dict[str, Expr] = {}
    for part in guard.operands if isinstance(guard, e.And) else (guard,):
        match part:
            case e.Read(name):
                constants[name] = e.TRUE
            case e.Not(e.Read(name)):
                constants[name] = e.FALSE
            case e.Equal(e.Read(name), e.Const() as value) | e.Equal(e.Const() as value, e.Read(name)):
                constants[name] = value
            case _:
                pass
    return constants


@dataclass(eq=False)
class _Node:
    """A choice of actions; the initial node and nodes with several predecessors are named."""

    choices: list[tuple[str, _Node]] = field(default_factory=list)
    uses: int = 0


@dataclass
class _StepWriter:
    vocabulary: Vocabulary
    step: Step
    buffered_cells: frozenset[str]
    _action_count: int = 0

    def definitions(self) -> tuple[Process, ...]:
        begin = _Node()
        begin.uses = 2
        self._add(begin, "'lock", self._guard_test(substitute(self.step.guard, {}), begin, {}))
        return tuple(self._named(begin))

    def _add(self, node: _Node, action: str, after: _Node) -> None:
        self._action_count += 1
        if self._action_count > _MAX_STEP_ACTIONS:
            raise CannotExport(f"the step `{self.step.name}` has too many cases for an export to CCS")
        after.uses += 1
        node.choices.append((action, after))

    def _guard_test(self, guard: Expr, begin: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return the node that evaluates the guard; it can always abort, and must where the guard is false."""
        if guard not in nodes:
            node = nodes[guard] = _Node()
            if e.is_true(guard):
                self._visible_action(node, begin)
            elif not e.is_false(guard):
                variable = self.vocabulary.system.variable[leftmost_variable(guard)]
                for rest, values in cofactors(variable, guard).items():
                    for value in values if not e.is_false(rest) else ():
                        action = self.vocabulary.get(variable.name, value)
                        self._add(node, action, self._guard_test(rest, begin, nodes))
            self._add(node, "'unlock", begin)
        return nodes[guard]

    def _visible_action(self, node: _Node, begin: _Node) -> None:
        """Add the visible action, one for each choice of values of free variables."""
        free = [(name, self.vocabulary.system.variable[name].initial) for name in self.step.free]
        updates = _ordered(self.step)[0]
        finish = self._epilogue(begin)
        for chosen in product(*(values for _, values in free)):
            after = finish
            for (name, _), value in reversed(list(zip(free, chosen, strict=True))):
                after = self._prefix(f"'{self.vocabulary.put(name, value)}", after)
            for name, update in reversed(updates):
                after = self._update(name, update, after, {})
            self._add(node, self.vocabulary.step(self.step.name), after)

    def _prefix(self, action: str, after: _Node) -> _Node:
        node = _Node()
        self._add(node, action, after)
        return node

    def _epilogue(self, begin: _Node) -> _Node:
        after = self._prefix("'unlock", begin)
        for name, _ in reversed(self.step.updates):
            if name in self.buffered_cells:
                after = self._prefix(f"'{self.vocabulary.take(name)}", after)
        for name in reversed(self.step.free):
            if name in self.buffered_cells:
                after = self._prefix(f"'{self.vocabulary.take(name)}", after)
        return after

    def _update(self, name: str, value: Expr, after: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return the node that evaluates the new value and writes it."""
        if value not in nodes:
            match value:
                case e.Const(constant):
                    written = self._in_domain(name, constant)
                    nodes[value] = self._prefix(f"'{self.vocabulary.put(name, written)}", after)
                case _:
                    node = nodes[value] = _Node()
                    variable = self.vocabulary.system.variable[leftmost_variable(value)]
                    for rest, values in cofactors(variable, value).items():
                        for one in values:
                            action = self.vocabulary.get(variable.name, one)
                            self._add(node, action, self._update(name, rest, after, nodes))
        return nodes[value]

    def _in_domain(self, name: str, value: Value) -> Value:
        """Return the equal value of the domain; a value outside cannot occur and is replaced arbitrarily."""
        domain = self.vocabulary.system.variable[name].domain
        return next((one for one in domain if one == value), domain[0])

    # --- names

    def _named(self, begin: _Node) -> Iterator[Process]:
        stem = self.vocabulary.process(self.step.name)
        names: dict[int, str] = {id(begin): stem}
        waiting = [begin]

        def text(node: _Node) -> str:
            if len(node.choices) == 1 and node.uses < 2:
                ((action, after),) = node.choices
                return f"{action}.{text(after)}"
            if id(node) not in names:
                names[id(node)] = f"{stem}-{len(names)}"
                waiting.append(node)
            return names[id(node)]

        while waiting:
            node = waiting.pop(0)
            choices = " + ".join(f"{action}.{text(after)}" for action, after in node.choices)
            yield Process(names[id(node)], choices)
