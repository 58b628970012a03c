"""Existential path quantification by fixpoints over states, with a tableau where no law applies.

``E`` of a conjunction of path formulas is decomposed into backward reachability and fair cycles:

* ``E(f | g) = E f | E g`` and ``E(p & f) = p & E f`` for a state formula p;
* ``E(f1 U f2 & rest)``, with state formulas to the left of each until: E[left of all U the first right side], and there
  ``E`` of the remainder, as in the reduction of CTL+ to CTL;
* ``E(X f & rest)``, or with a condition on the next step: unfold the rest by one step, then ``E`` of a conjunction;
* ``E(G p & F G q & G F r & G F does(a))``: a run through p to a fair cycle in ``p & q`` that satisfies each recurrence.

These laws place a new path quantifier at a later state of the path. This is sound because fairness of a run depends on
any of its suffixes alone, and each path quantifier starts a new past. Formulas with past operators are therefore never
decomposed; they, and formulas with temporal operators below ``G`` or to the left of an until, go to the tableau. ``A
f`` is ``!E !f``, so the laws of ``A`` are dual: ``A G f = AG A f`` for an f without past operators.

Where no run is fair, no formula ``E f`` holds: every fixpoint ends in states from which a fair run starts.

References: Emerson and Halpern, "Decision procedures and expressiveness in the temporal logic of branching time", 1985;
Emerson and Lei, "Modalities for model checking: branching time logic strikes back", 1987; Etessami and Holzmann,
"Optimizing Büchi automata", 2000.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import field
from functools import reduce
from itertools import product
from math import prod
from operator import and_, or_

from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.fairness import Demand, FairRuns
from cplc.engines.symbolic.reachability import ChainedFixpoints
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.logic.nnf import conjunction, conjuncts, disjuncts, to_nnf, until
from cplc.records import dataclass

_MAX_BRANCHES = 64
"""Maximum number of disjuncts of a conjunction; above it the tableau is used."""
_MAX_EVENTUALITIES = 6
"""Maximum number of eventualities in a conjunction; above it the tableau is used."""

Parts = tuple[Formula, ...]
"""Conjuncts."""


@dataclass(frozen=True)
class _ConjunctsByShape:
    """Conjuncts of a path formula by their shape."""

    state_formulas: list[Formula] = field(default_factory=list)
    """State formulas."""
    taken: list[f.Taken] = field(default_factory=list)
    not_taken: list[f.Taken] = field(default_factory=list)
    nexts: list[f.Next] = field(default_factory=list)
    eventualities: list[f.Until | f.Finally] = field(default_factory=list)
    """``F`` and ``U`` with a state formula to the left."""
    invariants: list[f.Globally] = field(default_factory=list)
    """``G`` of state formulas."""
    bounded_invariants: list[f.Globally] = field(default_factory=list)
    """``G<=k`` of state formulas."""
    timed: list[f.Until | f.Finally | f.Globally | f.Release] = field(default_factory=list)
    """Operators over state formulas that range over ticks, or whose window opens later."""
    persistence: list[f.Finally] = field(default_factory=list)
    """``F G`` of state formulas."""
    recurrence: list[f.Globally] = field(default_factory=list)
    """``G F`` of state formulas or steps."""
    tableau_only: list[Formula] = field(default_factory=list)

    @property
    def lasting(self) -> list[Formula]:
        """Conjuncts that hold at every suffix of a path if they hold at the path."""
        return [*self.invariants, *self.persistence, *self.recurrence]

    @property
    def needs_tableau(self) -> bool:
        """True if no fixpoint of this module decides the conjuncts together."""
        if self.bounded_invariants or self.timed or self.tableau_only:
            return True
        is_alone = len(self.eventualities) + len(self.nexts) + len(self.taken) + len(self.not_taken) == 1
        is_bounded = any(one.bound is not None for one in self.eventualities)
        return len(self.eventualities) > _MAX_EVENTUALITIES or (is_bounded and not is_alone)


class ExistsPath:
    """States from which some fair run satisfies a path formula, if these roles keep going."""

    def __init__(
        self,
        encoding: Encoding,
        fair_runs: FairRuns,
        numbers: dict[str, int],
        allowed: frozenset[int],
        assuming: frozenset[str],
        holds: Callable[[Formula], Node],
        *,
        may_end: bool,
    ) -> None:
        """With ``may_end``, runs that end in a deadlock count where no conjunct is about infinitely many positions."""
        self._encoding = encoding
        self._may_end = may_end
        self._fixpoints = fair_runs.fixpoints
        self._fair_runs = fair_runs
        self._numbers = numbers
        self._allowed = allowed
        self._assuming = assuming
        self._holds = holds
        self._cached: dict[frozenset[Formula], Node] = {}
        self._other_steps: dict[frozenset[int], ChainedFixpoints] = {}

    def satisfying(self, path: Formula) -> Node:
        """Return where some run satisfies the path formula; exact on reachable states."""
        return self._of(to_nnf(path))

    def failing(self, path: Formula) -> Node:
        """Return where some run violates the path formula."""
        return self._of(to_nnf(f.Not(path)))

    def satisfying_by_tableau(self, path: Formula) -> Node:
        """Return the same by the tableau alone."""
        return self._by_tableau(conjuncts(to_nnf(path)))

    def _of(self, *formulas: Formula) -> Node:
        """Return where ``E`` of the conjunction holds."""
        parts = tuple(dict.fromkeys(part for formula in formulas for part in conjuncts(formula)))
        key = frozenset(parts)
        states = self._cached.get(key)
        if states is None:
            states = self._cached[key] = self._split(parts)
            self._encoding.diagrams.collect_if_needed()
        return states

    # --- taking apart

    def _split(self, parts: Parts) -> Node:
        """Distribute ``E`` over the disjuncts."""
        choices = [_alternatives(part) for part in parts]
        # E distributes over disjunction: E (f | g) = E f | E g.
        if 1 < prod(map(len, choices)) <= _MAX_BRANCHES:
            return reduce(or_, (self._of(*choice) for choice in product(*choices)))
        return self._combined(parts)

    def _combined(self, parts: Parts) -> Node:
        by_shape = _by_shape(parts)
        # The first state decides a state formula: E (p & f) = p & E f.
        if by_shape.state_formulas:
            here = reduce(and_, map(self._holds, by_shape.state_formulas))
            return here & self._of(*(part for part in parts if not f.is_state_formula(part)))
        if (
            self._fixpoints.idles
            and by_shape.bounded_invariants
            and len(by_shape.bounded_invariants) + len(by_shape.lasting) == len(parts)
        ):
            # A run may idle for as long before it goes on.
            return self._of(*(part.operand for part in by_shape.bounded_invariants), *by_shape.lasting)
        if by_shape.timed and not by_shape.tableau_only and len(parts) - len(by_shape.lasting) == 1:
            return self._timed(by_shape.timed[0], by_shape)
        if by_shape.needs_tableau:
            return self._by_tableau(parts)
        if by_shape.nexts or by_shape.taken or by_shape.not_taken:
            return self._one_step(by_shape)
        if by_shape.eventualities:
            return self._meet_eventualities(by_shape)
        return self._lasting(by_shape)

    def _one_step(self, parts: _ConjunctsByShape) -> Node:
        """Unfold one step. Every eventuality is met now or remains; each recursive call has one operator less."""
        fixed = [*parts.taken, *map(f.Not, parts.not_taken), *parts.nexts, *parts.lasting]
        states = self._encoding.false
        through = self._invariant(parts)
        # E (p U f & g) = E (f & g), or p holds now and p U f remains at the next state.
        for promise in parts.eventualities:
            remaining = (other for other in parts.eventualities if other is not promise)
            states = states | self._of(_eventuality(promise), *remaining, *fixed)
            through = through & self._until_left(promise)
        goal = self._of(*(part.operand for part in parts.nexts), *parts.eventualities, *parts.lasting)
        return states | (through & self._preimage(goal, parts.taken, parts.not_taken))

    def _preimage(self, goal: Node, taken: Iterable[f.Taken], not_taken: Iterable[f.Taken]) -> Node:
        """Return where one of the steps, or idling if no step is required, leads to the goal."""
        steps, idle = self._allowed, self._fixpoints.idles
        for one in taken:
            steps, idle = steps & self._steps(one), False
        for one in not_taken:
            steps = steps - self._steps(one)
        before = self._fixpoints.preimage(goal, sorted(steps))
        return before | goal if idle else before

    def _steps(self, taken: f.Taken) -> frozenset[int]:
        return frozenset(self._numbers[name] for name in taken.steps if name in self._numbers)

    def _meet_eventualities(self, parts: _ConjunctsByShape) -> Node:
        """Choose the eventuality that is met first; the others and the lasting conjuncts remain."""
        through = self._invariant(parts)
        goal = self._encoding.false
        # E (p U f & q U g) = E [p & q U (E (f & q U g) | E (p U f & g))]: one of the eventualities is met first.
        for promise in parts.eventualities:
            remaining = (other for other in parts.eventualities if other is not promise)
            goal = goal | self._of(_eventuality(promise), *remaining, *parts.lasting)
            through = through & self._until_left(promise)
        bound = parts.eventualities[0].bound
        if bound is None:
            return self._fixpoints.backward(goal, through)
        return self._layers(through, goal, self._encoding.false, None, bound.high + 1)

    # --- windows of ticks

    def _timed(self, part: f.Until | f.Finally | f.Globally | f.Release, parts: _ConjunctsByShape) -> Node:
        """Return where a fair run satisfies the operator and the lasting conjuncts, one layer for each tick or step.

        A layer has the states with the same number of ticks left. Within it only other steps are taken, to states that
        decide the operator or before a tick into the next layer. Beyond the window any fair run goes on.
        """
        assert part.bound is not None
        bound, ticks, anywhere = part.bound, part.bound.ticks, self._invariant(parts)
        right = part.right if isinstance(part, f.Until | f.Release) else part.operand
        width = bound.high - bound.low
        nothing = self._encoding.false
        if isinstance(part, f.Until | f.Finally):
            through = anywhere & self._until_left(part)
            reaching = self._layers(through, self._of(right, *parts.lasting), nothing, ticks, width + 1)
            return self._layers(through, nothing, reaching, ticks, bound.low)
        still = () if ticks is None else (f.Globally(f.Not(ticks)),)
        keep = anywhere & self._holds(right)
        released = self._of(part.left, *parts.lasting) if isinstance(part, f.Release) else nothing
        enough, anyhow = keep & released, released
        if ticks is not None and self._may_stop(ticks):
            enough = enough | self._of(f.Globally(right), *still, *parts.lasting)
            anyhow = anyhow | self._of(*still, *parts.lasting)
        after = self._of(*parts.lasting)
        staying = self._layers(keep, enough, keep & after if ticks is None else after, ticks, ticks is not None)
        staying = self._layers(keep, enough, staying, ticks, width)
        return self._layers(anywhere, anyhow, staying, ticks, bound.low)

    def _may_stop(self, ticks: f.Taken) -> bool:
        """Return whether some fair run may take these steps finitely often; false if justice surely forbids it.

        They are taken again and again if a justice constraint of theirs alone waits for them in every state.
        """
        steps, reachable = self._steps(ticks), self._fixpoints.reachable
        return not any(
            steps.issuperset(waiting.steps) and reachable & ~waiting.states == self._encoding.false
            for waiting in self._fair_runs.justices(self._assuming)
        )

    def _layers(self, through: Node, goal: Node, states: Node, ticks: f.Taken | None, number: int) -> Node:
        """Return where a path reaches the goal or, after this number of ticks (or steps), one of the states."""
        by_ticks = () if ticks is None else (ticks,)
        other_steps = None if ticks is None else self._without(self._allowed & self._steps(ticks))
        for _ in range(number):
            layer = goal | (through & self._preimage(states, by_ticks, ()))
            if other_steps is not None:
                layer = other_steps.backward(layer, through)
            if layer == states:
                break
            states = layer
        return states

    def _without(self, excluded: frozenset[int]) -> ChainedFixpoints:
        """Return the fixpoints by the allowed steps but these."""
        fixpoints = self._other_steps.get(excluded)
        if fixpoints is None:
            fixpoints = self._other_steps[excluded] = self._fixpoints.restricted_to(self._allowed - excluded)
        return fixpoints

    def _invariant(self, parts: _ConjunctsByShape) -> Node:
        return reduce(and_, (self._holds(part.operand) for part in parts.invariants), self._encoding.true)

    def _until_left(self, promise: f.Until | f.Finally) -> Node:
        return self._holds(promise.left) if isinstance(promise, f.Until) else self._encoding.true

    def _lasting(self, parts: _ConjunctsByShape) -> Node:
        if not parts.lasting:
            return self._fair_runs.beginning(self._assuming, may_end=self._may_end)
        keep = self._invariant(parts)
        if not parts.persistence and not parts.recurrence:
            return self._fair_runs.within(keep, self._assuming)
        cycle = keep
        for part in parts.persistence:
            assert isinstance(part.operand, f.Globally)
            cycle = cycle & self._holds(part.operand.operand)
        # E (G p & F G q & G F r): a path within p leads to a fair run within p & q that satisfies r again and again.
        fair = self._fair_runs.within(cycle, self._assuming, tuple(map(self._demand, parts.recurrence)))
        return self._fixpoints.backward(fair, keep) if parts.persistence else fair

    def _demand(self, part: f.Globally) -> Demand:
        assert isinstance(part.operand, f.Finally)
        recurring = part.operand.operand
        return self._steps(recurring) & self._allowed if isinstance(recurring, f.Taken) else self._holds(recurring)

    # --- what is left

    def _by_tableau(self, parts: Parts) -> Node:
        from cplc.engines.symbolic.tableau import Tableau

        tableau = Tableau(
            self._encoding,
            self._fixpoints,
            sorted(self._allowed),
            self._steps,
            self._fair_runs.conditions(),
            self._fair_runs.justices(self._assuming),
            self._holds,
        )
        return tableau.satisfying(parts)


def _alternatives(part: Formula) -> tuple[Formula, ...]:
    """Return the disjuncts; ``p R q`` is ``G q | q U (p & q)``."""
    if (
        isinstance(part, f.Release)
        and part.bound is None
        and f.is_state_formula(part.right)
        and not f.has_past_operators(part.left)
    ):
        return f.Globally(part.right), *disjuncts(until(part.right, conjunction((part.right, part.left)), None))
    return disjuncts(part)


def _eventuality(promise: f.Until | f.Finally) -> Formula:
    return promise.right if isinstance(promise, f.Until) else promise.operand


def _by_shape(parts: Parts) -> _ConjunctsByShape:
    by_shape = _ConjunctsByShape()
    for part in parts:
        if f.is_state_formula(part):
            by_shape.state_formulas.append(part)
        elif f.has_past_operators(part):
            by_shape.tableau_only.append(part)
        elif isinstance(part, f.Taken):
            by_shape.taken.append(part)
        elif isinstance(part, f.Not) and isinstance(part.operand, f.Taken):
            by_shape.not_taken.append(part.operand)
        elif isinstance(part, f.Next):
            by_shape.nexts.append(part)
        elif isinstance(part, f.Until | f.Finally | f.Globally | f.Release) and _is_timed(part):
            by_shape.timed.append(part)
        elif isinstance(part, f.Until) and f.is_state_formula(part.left):
            by_shape.eventualities.append(part)
        elif isinstance(part, f.Finally):
            (by_shape.persistence if _is_persistence(part) else by_shape.eventualities).append(part)
        elif isinstance(part, f.Globally) and f.is_state_formula(part.operand):
            (by_shape.invariants if part.bound is None else by_shape.bounded_invariants).append(part)
        elif isinstance(part, f.Globally) and _is_recurrence(part):
            by_shape.recurrence.append(part)
        else:
            by_shape.tableau_only.append(part)
    return by_shape


def _is_timed(part: f.Until | f.Finally | f.Globally | f.Release) -> bool:
    """Return whether the layers of a window decide the operator."""
    bound = part.bound
    if bound is None or not (bound.low or bound.ticks):
        return False
    if isinstance(part, f.Until):
        return f.is_state_formula(part.left)
    if isinstance(part, f.Release):
        return f.is_state_formula(part.left) and f.is_state_formula(part.right)
    return isinstance(part, f.Finally) or f.is_state_formula(part.operand)


def _is_persistence(part: f.Finally) -> bool:
    """Return whether the formula is ``F G`` of a state formula."""
    always = part.operand
    if part.bound is not None or not isinstance(always, f.Globally) or always.bound is not None:
        return False
    return f.is_state_formula(always.operand)


def _is_recurrence(part: f.Globally) -> bool:
    """Return whether the formula is ``G F`` of a state formula or of a step."""
    again = part.operand
    if part.bound is not None or not isinstance(again, f.Finally) or again.bound is not None:
        return False
    return isinstance(again.operand, f.Taken) or f.is_state_formula(again.operand)
