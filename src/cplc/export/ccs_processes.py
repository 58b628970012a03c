"""Steps as processes: take the lock, find out whether the guard holds, be seen, write, and let the lock go.

Until it is seen a step has changed nothing and can always give up, so it matters to nobody that it tried. Once it is
seen it can do but one thing, to finish, and nobody else can do anything. So what is seen is the system's own steps.

An update reads what was before the step. Updates are written in an order in which none reads what was written; where
there is none, a cell keeps its value beside the new one until it is told to take it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field
from itertools import product
from typing import Final

from cplc.export.ccs_expressions import Vocabulary, branches, first_read
from cplc.export.expression_simplify import substitute
from cplc.export.request import CannotExport
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value
from cplc.records import dataclass
from cplc.system.model import Step, System

_MOST: Final = 20_000
"""No step has more actions than this."""

Update = tuple[str, Expr]


@dataclass(frozen=True, slots=True)
class Process:
    """One definition: a choice between actions, each with what comes after it."""

    name: str
    text: str


def processes(vocabulary: Vocabulary, step: Step, buffered: frozenset[str]) -> tuple[Process, ...]:
    """Return the definitions for one step; these cells keep their value beside the new one."""
    return _Writing(vocabulary, step, buffered).definitions()


def kept_beside(system: System) -> frozenset[str]:
    """Return the variables for which some step needs both, the value before and the new one."""
    return frozenset(name for step in system.steps for name in _ordered(step)[1])


def _ordered(step: Step) -> tuple[list[Update], list[str]]:
    """Return the updates in the order of writing, and what is read after that all the same."""
    remaining = {name: substitute(value, _facts(step.guard)) for name, value in step.updates}
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


def _facts(guard: Expr) -> Mapping[str, Expr]:
    """Return the values that the guard leaves to variables."""
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
    """A choice of actions; the first of a step, or one that is reached from several others, gets a name."""

    choices: list[tuple[str, _Node]] = field(default_factory=list)
    uses: int = 0


@dataclass
class _Writing:
    vocabulary: Vocabulary
    step: Step
    kept: frozenset[str]
    _made: int = 0

    def definitions(self) -> tuple[Process, ...]:
        begin = _Node()
        begin.uses = 2
        self._then(begin, "'lock", self._testing(substitute(self.step.guard, {}), begin, {}))
        return tuple(self._named(begin))

    def _then(self, node: _Node, action: str, after: _Node) -> None:
        self._made += 1
        if self._made > _MOST:
            raise CannotExport(f"the step `{self.step.name}` has too many cases to be written in CCS")
        after.uses += 1
        node.choices.append((action, after))

    def _testing(self, guard: Expr, begin: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return what finds out about the guard; it may always give up, and does where the guard does not hold."""
        if guard not in nodes:
            node = nodes[guard] = _Node()
            if e.is_true(guard):
                self._seen(node, begin)
            elif not e.is_false(guard):
                variable = self.vocabulary.system.variable[first_read(guard)]
                for rest, values in branches(variable, guard).items():
                    for value in values if not e.is_false(rest) else ():
                        action = self.vocabulary.get(variable.name, value)
                        self._then(node, action, self._testing(rest, begin, nodes))
            self._then(node, "'unlock", begin)
        return nodes[guard]

    def _seen(self, node: _Node, begin: _Node) -> None:
        """Be seen; where variables are free, the choice is made with that."""
        free = [(name, self.vocabulary.system.variable[name].initial) for name in self.step.free]
        updates = _ordered(self.step)[0]
        finish = self._finish(begin)
        for chosen in product(*(values for _, values in free)):
            after = finish
            for (name, _), value in reversed(list(zip(free, chosen, strict=True))):
                after = self._before(f"'{self.vocabulary.put(name, value)}", after)
            for name, update in reversed(updates):
                after = self._updating(name, update, after, {})
            self._then(node, self.vocabulary.step(self.step.name), after)

    def _before(self, action: str, after: _Node) -> _Node:
        node = _Node()
        self._then(node, action, after)
        return node

    def _finish(self, begin: _Node) -> _Node:
        after = self._before("'unlock", begin)
        for name, _ in reversed(self.step.updates):
            if name in self.kept:
                after = self._before(f"'{self.vocabulary.take(name)}", after)
        for name in reversed(self.step.free):
            if name in self.kept:
                after = self._before(f"'{self.vocabulary.take(name)}", after)
        return after

    def _updating(self, name: str, value: Expr, after: _Node, nodes: dict[Expr, _Node]) -> _Node:
        """Return what finds out the new value and writes it."""
        if value not in nodes:
            match value:
                case e.Const(constant):
                    written = self._in_domain(name, constant)
                    nodes[value] = self._before(f"'{self.vocabulary.put(name, written)}", after)
                case _:
                    node = nodes[value] = _Node()
                    variable = self.vocabulary.system.variable[first_read(value)]
                    for rest, values in branches(variable, value).items():
                        for one in values:
                            action = self.vocabulary.get(variable.name, one)
                            self._then(node, action, self._updating(name, rest, after, nodes))
        return nodes[value]

    def _in_domain(self, name: str, value: Value) -> Value:
        """Return the value as the domain has it; one outside cannot occur, and then any will do."""
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
