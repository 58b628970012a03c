"""Symbolic LTL tableau: the product of the system with the closure of a path formula, past operators included.

A product state is a state of the system with one bit for every formula promised for the next position, one for every
formula remembered from the previous position, and one for every set of steps that tells whether the next step is in it.
The formulas that a position satisfies are conditions on the product state:

* ``f U g``: g here, or f here and ``f U g`` promised; likewise for ``X``, ``F``, ``G`` and ``R``;
* ``f S g``: g here, or f here and ``f S g`` remembered; likewise for ``Y``, ``O`` and ``H``;
* ``F<=k f``: f here, or ``F<=j f`` promised for some j < k, encoded as the least such number j. Dually the greatest one
  for ``G<=k``.

Promises must be fulfilled at the next position. Promising less than what will hold is allowed, since formulas are free
of negation but for states and steps.

Claim: if no until is promised forever without its right side ever holding, every formula satisfied by the promises of a
position holds on the run. Conversely, a run with exactly the promises that hold on it is a run of the product.

The preimage of a set T of product states needs no relation between states of the system: first the positions whose
promises T fulfils, ``exists(then. T[now := then] & (promised -> satisfied[now := then]))``, which depends on the new
state alone; then the preimages of the steps; then the remembered formulas are replaced by those satisfied before.

References: Lichtenstein and Pnueli, "Checking that finite state concurrent programs satisfy their linear
specification", 1985; Clarke, Grumberg and Hamaguchi, "Another look at LTL model checking", 1997; Kesten, Pnueli and
Raviv, "Algorithmic verification of linear temporal logic specifications", 1998.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import reduce
from operator import and_, or_
from typing import assert_never

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.fairness import WaitingSteps
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.logic.nnf import HAS_PREDECESSOR, opened
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted


@dataclass(frozen=True)
class _Memory:
    level: int
    at_first: bool
    satisfied: Node
    """Condition under which the next position remembers the formula."""


@dataclass(frozen=True)
class _StepClass:
    """Steps that the formula does not distinguish."""

    steps: tuple[int, ...]
    idle: bool
    taken: Node
    """Values of the step bits before such a step."""


class Tableau:
    """The product of the system with the tableau of a conjunction of path formulas in normal form."""

    def __init__(
        self,
        encoding: Encoding,
        fixpoints: ChainedFixpoints,
        allowed: Sequence[int],
        steps_of: Callable[[f.Taken], frozenset[int]],
        conditions: Iterable[Node],
        justices: Iterable[WaitingSteps],
        holds: Callable[[Formula], Node],
    ) -> None:
        self._encoding = encoding
        self._diagrams = encoding.diagrams
        self._fixpoints = fixpoints
        self._allowed = allowed
        self._steps_of = steps_of
        self._conditions = list(conditions)
        self._justices = list(justices)
        self._holds = holds
        self._free = list(reversed(encoding.spare))
        self._satisfied: dict[Formula, Node] = {}
        self._rows: list[tuple[int, int]] = []
        self._promise_relations: list[Node] = []
        """Conditions that promises impose, over those made and those at the next position."""
        self._acceptance_conditions: list[Node] = []
        """Sets that a run must visit infinitely often."""
        self._memories: list[_Memory] = []
        self._bits: dict[frozenset[int], int] = {}

    def satisfying(self, parts: Iterable[Formula]) -> Node:
        """Return where a fair run satisfies all of these formulas; exact on reachable states."""
        keep, first = self._fixpoints.reachable, self._encoding.true
        for part in parts:
            always = part.operand if isinstance(part, f.Globally) and part.bound is None else None
            if always is None:
                first = first & self._of(part)
            elif isinstance(always, f.Finally) and always.bound is None:
                self._acceptance_conditions.append(self._of(always.operand))
            else:
                keep = keep & self._of(always)
        self._prepare()
        fair = self._fair(keep) & first
        start = self._diagrams.conjunction((memory.level, memory.at_first) for memory in self._memories)
        return self._diagrams.and_exists(fair, start, self._cube)

    # --- what a position satisfies

    def _of(self, formula: Formula) -> Node:
        satisfied = self._satisfied.get(formula)
        if satisfied is None:
            satisfied = self._satisfied[formula] = self._evaluated(formula)
            self._diagrams.collect_if_needed()
        return satisfied

    def _evaluated(self, formula: Formula) -> Node:
        """Evaluate a formula in negation normal form; promises are implied by what is promised, so none is negated."""
        if f.is_state_formula(formula):
            return self._holds(formula)
        match formula:
            case f.And(operands):
                return reduce(and_, map(self._of, operands))
            case f.Or(operands):
                return reduce(or_, map(self._of, operands))
            case f.Taken():
                return self._taken(formula)
            case f.Not(operand):
                assert isinstance(operand, f.Taken) or operand == HAS_PREDECESSOR, f"{formula} is not in normal form"
                return ~self._of(operand)
            case f.Next(operand):
                return self._next(self._of(operand))
            case f.Until(left, right, None):
                return self._until(self._of(left), self._of(right))
            case f.Until(_, _, f.Bound(low=low)) | f.Release(_, _, f.Bound(low=low)) if low:
                return self._of(opened(formula))
            case f.Finally(_, f.Bound(low=low)) | f.Globally(_, f.Bound(low=low)) if low:
                return self._of(opened(formula))
            case f.Until(left, right, bound):
                assert bound is not None
                return self._bounded_until(self._of(left), self._of(right), bound)
            case f.Release(left, right, None):
                return self._release(self._of(left), self._of(right))
            case f.Release(left, right, bound):
                assert bound is not None
                assert left == f.UNSATISFIABLE, f"{formula} is not in normal form"
                return self._bounded_globally(self._of(right), bound)
            case f.Previous(operand):
                bit = self._allocate_bit()
                self._memories.append(_Memory(bit, False, self._of(operand)))
                return self._diagrams.literal(bit)
            case f.Since(left, right):
                return self._past(False, lambda before: self._of(right) | (self._of(left) & before))
            case f.Historically(operand):
                return self._past(True, lambda before: self._of(operand) & before)
            case f.Derived():
                return self._of(formula.definition)
            case f.Atom() | f.StateOperator():
                raise AssertionError(f"{formula} is a state formula")
            case _:
                assert_never(formula)

    def _allocate_bit(self) -> int:
        if not self._free:
            raise ResourceExhausted(f"the tableau of the path formula needs more than {len(self._encoding.spare)} bits")
        return self._free.pop()

    def _allocate_pair(self) -> Node:
        """Return a new bit with a second one directly below it for the next position."""
        now, then = self._allocate_bit(), self._allocate_bit()
        self._rows.append((now, then))
        return self._diagrams.literal(now)

    def _next(self, fulfilled: Node) -> Node:
        promised = self._allocate_pair()
        self._promise_relations.append(~promised | self._at_next(fulfilled))
        return promised

    def _at_next(self, satisfied: Node) -> Node:
        """Return the condition over the promises of the next position."""
        rows = self._diagrams.substitution((now, self._diagrams.literal(then)) for now, then in self._rows)
        return self._diagrams.substitute(satisfied, rows) if self._rows else satisfied

    def _until(self, left: Node, right: Node) -> Node:
        promised = self._allocate_pair()
        satisfied = right | (left & promised)
        self._promise_relations.append(~promised | self._at_next(satisfied))
        self._acceptance_conditions.append(~promised | right)
        return satisfied

    def _release(self, left: Node, right: Node) -> Node:
        promised = self._allocate_pair()
        satisfied = right & (left | promised)
        self._promise_relations.append(~promised | self._at_next(satisfied))
        return satisfied

    def _past(self, at_first: bool, satisfied: Callable[[Node], Node]) -> Node:
        bit = self._allocate_bit()
        condition = satisfied(self._diagrams.literal(bit))
        self._memories.append(_Memory(bit, at_first, condition))
        return condition

    def _taken(self, taken: f.Taken) -> Node:
        steps = self._steps_of(taken).intersection(self._allowed)
        if not steps:
            return self._encoding.false
        if steps not in self._bits:
            self._bits[steps] = self._allocate_bit()
        return self._diagrams.literal(self._bits[steps])

    # --- numbers as promises, the least significant bit first

    def _number(self, limit: int) -> list[tuple[Node, Node]]:
        """Return the bits of a number up to the limit, least significant first, each with that of the next position."""
        bits = []
        for _ in range(limit.bit_length()):
            now = self._allocate_pair()
            bits.append((now, self._diagrams.literal(self._rows[-1][1])))
        return bits

    def _bounded_until(self, left: Node, right: Node, bound: f.Bound) -> Node:
        """Encode ``left U<=number right`` as the promise of the number that is left at the next position.

        In steps it decreases at each step. In ticks it decreases at ticks alone, and is not promised forever. A step
        bit of a duty is that of the next position, like the step bits of what is satisfied there.
        """
        high, ticks = bound.high, bound.ticks
        limit = high if ticks is None else high + 1
        bits = self._number(limit)
        promised = self._below(bits, limit)
        less, equal = self._encoding.false, self._encoding.true
        for now, then in bits:
            less = (now & ~then) | (self._same(now, then) & less)
            equal = equal & self._same(now, then)
        continued = promised
        if ticks is not None:
            tick = self._taken(ticks)
            less = less | (~tick & equal)
            continued = (tick & self._below(bits, high)) | (~tick & promised)
            self._acceptance_conditions.append(~promised | right)
        self._promise_relations.append(~promised | self._at_next(right) | (self._at_next(left) & less))
        return right | (left & continued)

    def _bounded_globally(self, operand: Node, bound: f.Bound) -> Node:
        """Encode ``G<=number`` as the promise of a number of positions, or of ticks and one more."""
        high, ticks = bound.high, bound.ticks
        limit = high if ticks is None else high + 1
        bits = self._number(limit)
        more, equal, one_less = self._encoding.false, self._encoding.true, self._encoding.false
        for now, then in bits:
            more = (~now & then) | (self._same(now, then) & more)
        for now, then in reversed(bits):
            one_less = (now & ~then & equal) | (~now & then & one_less)
            equal = equal & self._same(now, then)
        continued = ~self._below(bits, limit)
        if ticks is not None:
            tick = self._taken(ticks)
            one_less = tick & one_less
            continued = (tick & ~self._below(bits, high)) | (~tick & continued)
        self._promise_relations.append(self._is_zero(bits) | (self._at_next(operand) & (more | equal | one_less)))
        return operand & continued

    def _is_zero(self, bits: Sequence[tuple[Node, Node]]) -> Node:
        return reduce(and_, (~now for now, _ in bits), self._encoding.true)

    def _below(self, bits: Sequence[tuple[Node, Node]], limit: int) -> Node:
        less = self._encoding.false
        for position, (now, _) in enumerate(bits):
            less = (~now | less) if limit >> position & 1 else (~now & less)
        return less

    def _same(self, one: Node, other: Node) -> Node:
        return (one & other) | (~one & ~other)

    # --- steps of the product

    def _prepare(self) -> None:
        diagrams = self._diagrams
        self._to_then = diagrams.substitution((now, diagrams.literal(then)) for now, then in self._rows)
        self._next_row = diagrams.cube([then for _, then in self._rows] + list(self._bits.values()))
        self._cube = diagrams.cube(
            [now for now, _ in self._rows] + list(self._bits.values()) + [memory.level for memory in self._memories]
        )
        self._recall = diagrams.substitution((memory.level, memory.satisfied) for memory in self._memories)
        kinds: dict[frozenset[int], list[int]] = {frozenset(): []}
        for index in self._allowed:
            kinds.setdefault(frozenset(bit for steps, bit in self._bits.items() if index in steps), []).append(index)
        self._step_classes = tuple(
            _StepClass(
                tuple(steps),
                self._fixpoints.idles and not bits,
                diagrams.conjunction((level, level in bits) for level in self._bits.values()),
            )
            for bits, steps in kinds.items()
        )
        self._class_of = {index: kind for kind in self._step_classes for index in kind.steps}

    def _arriving(self, states: Node) -> Node:
        """Return the positions, with the promises made before them, that lead into the set of product states."""
        arriving = self._diagrams.substitute(states, self._to_then) if self._rows else states
        if not self._promise_relations:
            return self._diagrams.exists(arriving, self._next_row)
        *duties, last = self._promise_relations
        for duty in duties:
            arriving = arriving & duty
        return self._diagrams.and_exists(arriving, last, self._next_row)

    def _leaving(self, positions: Node, kind: _StepClass) -> Node:
        """Set the memory and step bits of positions before a step of this class."""
        return (self._diagrams.substitute(positions, self._recall) if self._memories else positions) & kind.taken

    def _preimage(self, states: Node, indices: Iterable[int] | None = None) -> Node:
        """Return the product states from which one of the steps leads into the set; for None any step or idling."""
        arriving = self._arriving(states)
        positions = self._encoding.false
        selected = None if indices is None else frozenset(indices)
        for kind in self._step_classes:
            part = arriving if kind.idle and selected is None else self._encoding.false
            for index in kind.steps:
                if selected is None or index in selected:
                    part = part | self._fixpoints.transitions[index].preimage(arriving)
            positions = positions | self._leaving(part, kind)
        self._diagrams.collect_if_needed()
        return positions

    def _backward(self, goal: Node, within: Node) -> Node:
        """Return the product states that lead to the goal within a set.

        Invariant: the last ``unchanged`` steps find nothing new.
        """
        leading = goal & within
        ways = [(None, kind) for kind in self._step_classes if kind.idle]
        groups = [index for group in self._fixpoints.groups for index in group.steps]
        ungrouped = [index for index in self._allowed if index not in set(groups)]
        steps = [*ways, *((index, self._class_of[index]) for index in (*groups, *ungrouped))]
        unchanged, arriving = 0, self._arriving(leading)
        while True:
            for index, kind in steps:
                part = arriving if index is None else self._fixpoints.transitions[index].preimage(arriving)
                more = leading | (self._leaving(part, kind) & within)
                if more == leading:
                    unchanged += 1
                    if unchanged >= len(steps):
                        return leading
                else:
                    leading, unchanged = more, 0
                    arriving = self._arriving(leading)
                    self._diagrams.collect_if_needed()

    # --- fair runs

    def _fair(self, states: Node) -> Node:
        """Return where a run stays in the set and meets every constraint infinitely often (Emerson and Lei)."""
        conditions = [*self._conditions, *self._acceptance_conditions]
        while True:
            before = states
            # Invariant: every state with a fair run in the given set is in `states`.
            states = states & self._preimage(states)
            for condition in conditions:
                states = self._reaching(states & condition & self._preimage(states), states)
            for justice in self._justices:
                idle = states & ~justice.states & self._preimage(states)
                states = self._reaching(idle | (states & self._preimage(states, justice.steps)), states)
            if states == before:
                return states

    def _reaching(self, goal: Node, states: Node) -> Node:
        return states if states == goal else self._backward(goal, states)
