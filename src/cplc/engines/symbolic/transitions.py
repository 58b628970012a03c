"""Image and preimage of single steps, without a transition relation where possible.

A step is split into ground variants: a condition, and constants that are assigned where it holds. The preimage of a set
is then ``condition & exists(written, set & constants)``, and the image ``exists(written, set & condition) &
constants``. A variable that keeps its value in a variant is not written by it. A step with too many variants has one
relation for each variable that it writes, over a second row of bits.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from copy import copy
from math import prod

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding, Unchanged
from cplc.logic.expressions import Const, Expr, Ite, Read, Value
from cplc.records import dataclass
from cplc.system.model import Step, System

MAX_VARIANTS = 64
"""Maximum number of ground variants; above it a step becomes relational."""


class Transition(ABC):
    """Image and preimage of one step."""

    name: str
    event: str
    """The message or scope; empty for a tick."""
    writes: frozenset[str]
    footprint: frozenset[str]
    """The variables that it reads or writes."""
    guard: Node
    out_of_range: Node
    """States where the guard holds and an assigned value is outside of its domain; the step is not taken there."""

    @abstractmethod
    def image(self, states: Node) -> Node:
        """Return the successors of the set."""

    @abstractmethod
    def preimage(self, states: Node) -> Node:
        """Return the predecessors of the set."""

    @abstractmethod
    def restricted_to(self, care: Node) -> Transition:
        """Return the step, taken in these states alone."""


@dataclass(frozen=True, slots=True)
class Variant:
    condition: Node
    written: Node
    """Cube of the written variables."""
    result: Node
    """Values of the written variables after the step."""


class Ground(Transition):
    """A step as variants that write constants."""

    def __init__(
        self, encoding: Encoding, step: Step, guard: Node, variants: Iterable[Variant], out_of_range: Node
    ) -> None:
        self._step = step
        self.name, self.event, self.writes, self.footprint = step.name, step.event, step.writes, step.footprint
        self.guard = guard
        self.variants = tuple(variants)
        self.out_of_range = out_of_range
        self._encoding = encoding
        self._and_exists = encoding.diagrams.and_exists
        self._nothing = encoding.false

    def restricted_to(self, care: Node) -> Ground:
        narrowed = (Variant(variant.condition & care, variant.written, variant.result) for variant in self.variants)
        possible = [variant for variant in narrowed if variant.condition != self._nothing]
        return Ground(self._encoding, self._step, self.guard & care, possible, self.out_of_range & care)

    def image(self, states: Node) -> Node:
        states_after = self._nothing
        for variant in self.variants:
            states_after = states_after | (
                self._and_exists(states, variant.condition, variant.written) & variant.result
            )
        return states_after

    def preimage(self, states: Node) -> Node:
        states_before = self._nothing
        for variant in self.variants:
            states_before = states_before | (
                self._and_exists(states, variant.result, variant.written) & variant.condition
            )
        return states_before


class Relational(Transition):
    """A step as one relation for each variable it writes; variables are quantified away as early as possible."""

    def __init__(self, encoding: Encoding, step: Step, guard: Node) -> None:
        diagrams = encoding.diagrams
        self._diagrams = diagrams
        self.name, self.event, self.writes, self.footprint = step.name, step.event, step.writes, step.footprint
        conditions: dict[int, Node] = {}
        relations: list[tuple[Node, frozenset[str] | None]] = []
        defined = guard
        for variable, expr in sorted(step.updates, key=lambda update: encoding.bits[update[0]]):
            relation = assigned = encoding.false
            for value, where in encoding.updates(variable, expr, encoding.true).items():
                then = encoding.stays(variable) if value is Unchanged.KEPT else encoding.becomes(variable, value)
                if then is None:
                    continue
                assigned = assigned | where
                relation = relation | (where & then)
                for level in encoding.bits[variable]:
                    bit = diagrams.literal(level)
                    is_set = where & (bit if value is Unchanged.KEPT else _bit_of(encoding, variable, level, value))
                    conditions[level] = conditions.get(level, encoding.false) | is_set
            defined = defined & assigned
            relations.append((relation, encoding.variables_in(relation)))
        self.guard = guard
        self.out_of_range = guard & ~defined
        self._defined = defined
        self._free = encoding.cube(step.free)
        self._initial = encoding.initial_values(step.free)
        self._images = _scheduled(encoding, step, relations)
        rows = [
            (level, then)
            for variable, _ in step.updates
            for level, then in zip(encoding.bits[variable], encoding.next_bits[variable], strict=True)
        ]
        self._back = diagrams.substitution((then, diagrams.literal(level)) for level, then in rows)
        self._compose = diagrams.substitution(conditions.items())

    def restricted_to(self, care: Node) -> Relational:
        narrowed = copy(self)
        narrowed.guard = self.guard & care
        narrowed.out_of_range = self.out_of_range & care
        narrowed._defined = self._defined & care
        return narrowed

    def image(self, states: Node) -> Node:
        product = states & self._defined
        for relation, forgotten in self._images:
            product = self._diagrams.and_exists(product, relation, forgotten)
        return self._diagrams.substitute(product, self._back) & self._initial

    def preimage(self, states: Node) -> Node:
        freed = self._diagrams.and_exists(states, self._initial, self._free)
        return self._diagrams.substitute(freed, self._compose) & self._defined


def _bit_of(encoding: Encoding, variable: str, level: int, value: Value) -> Node:
    levels = encoding.bits[variable]
    code = encoding.system.variable[variable].domain.index(value)
    is_one = code >> (len(levels) - 1 - levels.index(level)) & 1
    return encoding.true if is_one else encoding.false


def _scheduled(
    encoding: Encoding, step: Step, relations: list[tuple[Node, frozenset[str] | None]]
) -> list[tuple[Node, Node]]:
    """Return the relations in order, each with the cube of written variables that no later one reads."""
    pending = set(step.writes)
    needed: set[str] = set()
    images: list[tuple[Node, Node]] = []
    for relation, support in reversed(relations):
        reads = pending if support is None else support & pending
        images.append((relation, encoding.cube(reads - needed)))
        needed |= reads
    images.append((encoding.true, encoding.cube(pending - needed)))
    return images[::-1]


def transition(encoding: Encoding, step: Step, limit: int = MAX_VARIANTS) -> Transition:
    """Return the step in ground variants, or as relations if there are more than the limit."""
    guard = encoding.condition(step.guard)
    may_be_relational = all(name in encoding.next_bits for name, _ in step.updates)
    variants = _variants(encoding, step, guard, limit if may_be_relational else None)
    return variants or Relational(encoding, step, guard)


def _variants(encoding: Encoding, step: Step, guard: Node, limit: int | None) -> Ground | None:
    """Split the guard by the assigned values; None if there are more parts than the limit."""
    no_node = encoding.false
    out_of_range = no_node
    parts: list[tuple[Node, dict[str, Value]]] = [(guard, {})] if guard != no_node else []
    for variable, expr in step.updates:
        domain = encoding.system.variable[variable].domain
        split: list[tuple[Node, dict[str, Value]]] = []
        for condition, assigned in parts:
            for value, where in encoding.updates(variable, expr, condition).items():
                if value is Unchanged.KEPT:
                    split.append((where, assigned))
                elif value in domain:
                    split.append((where, {**assigned, variable: value}))
                else:
                    out_of_range = out_of_range | where
        parts = split
        if limit is not None and len(parts) > limit:
            return None
    variants = []
    for condition, assigned in parts:
        result = encoding.initial_values(step.free)
        for variable, value in sorted(assigned.items(), key=lambda item: encoding.bits[item[0]], reverse=True):
            result = encoding.is_value(variable, value) & result
        variants.append(Variant(condition, encoding.cube((*assigned, *step.free)), result))
    return Ground(encoding, step, guard, variants, out_of_range)


def doubled(system: System, limit: int = MAX_VARIANTS) -> frozenset[str]:
    """Return the variables of steps that may have too many variants; they need a second row of bits."""
    return frozenset(
        name
        for step in system.steps
        if prod(len(_assignable(system, variable, expr)) for variable, expr in step.updates) > limit
        for name, _ in step.updates
    )


def _assignable(system: System, variable: str, expr: Expr) -> set[Value | Unchanged]:
    """Return a superset of the values that the expression may assign."""
    values: set[Value | Unchanged] = set()
    visited: set[int] = set()
    stack = [expr]
    while stack:
        top = stack.pop()
        if id(top) in visited:
            continue
        visited.add(id(top))
        match top:
            case Const(value):
                values.add(value)
            case Ite(_, then, otherwise):
                stack += (then, otherwise)
            case Read(read):
                values |= {Unchanged.KEPT} if read == variable else set(system.variable[read].domain)
            case _:
                values |= set(system.variable[variable].domain)
    return values
