"""Decomposition of formulas: verdicts of several formulas, each on fewer components, that give the verdict of one.

Claim, conjuncts: ``A``, ``G``, ``X`` and ``H`` distribute over conjunction, at every state and path
(`cplc.reductions.components.conjuncts_of`). A formula holds iff its conjuncts do.

Claim, disjuncts: let p and q be state formulas that depend on disjoint unions of independent components. Then ``AG (p |
q)`` holds iff ``AG p`` or ``AG q`` holds, and ``EF (p & q)`` holds initially iff ``EF p`` and ``EF q`` do. For path
formulas it is false: no step is one of both components, so ``E F (does(a) & does(b))`` never holds.

Proof: the reachable states are the product of those of the components. If some state of one factor violates p, and
some state of another factor violates q, the state that consists of both is reachable and violates p | q. Dually, a
run to p and a run to q can be taken one after the other.

Claim, lasting violations: let p be ``AF x`` and q be ``AF y``, on disjoint unions of timed components that are free of
timelocks (`cplc.reductions.timed_components`). Then ``AG (p | q)`` holds iff ``AG p`` or ``AG q`` holds. Proof: a state
that violates p begins a fair run without x, and every state of this run violates p. Let one slice reach a violation
after m ticks and the other after n >= m. The first goes on along such a run for n - m ticks, and violates p there. So a
state of the whole system that violates both is reached after n ticks. For other formulas this is false: p may be
violated after one tick alone, and q after two.

A disjunction holds if one operand does; the converse is false if there are several initial states.

These decompositions serve verdicts alone. A run that refutes ``AG (p | q)`` is one of all components.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from cplc.logic import formulas as f
from cplc.logic.expressions import independent_parts
from cplc.logic.formulas import Formula
from cplc.reductions.components import IndependentComponents
from cplc.reductions.timed_components import TimedComponents


class Decomposition:
    """Decompositions of formulas by the components of one system."""

    def __init__(self, components: TimedComponents, is_timelock_free: Callable[[], bool]) -> None:
        self._components = components.independent
        self._timed = components
        self._is_timelock_free = is_timelock_free
        self._relevant: dict[tuple[Formula, bool], frozenset[str]] = {}

    def alternatives(self, formula: Formula) -> Sequence[Formula]:
        """Return invariants one of which holds iff this one does; empty if there are not several."""
        always = f.invariant(formula)
        if not isinstance(always, f.Or) or not all(map(f.is_state_formula, always.operands)):
            return ()
        groups = [part for group in self._independent(always.operands) for part in self._divided_in_time(group)]
        return [_always_some(group) for group in groups] if len(groups) > 1 else ()

    def _divided_in_time(self, group: tuple[Formula, ...]) -> list[tuple[Formula, ...]]:
        """Divide a group if it is about several components that ticks connect, and each violation lasts."""
        if len(group) == 1 or not self._timed.is_divided or not all(map(_is_violated_lastingly, group)):
            return [group]
        parts = _grouped((one, self._variables_of(one, self._timed)) for one in group)
        return parts if len(parts) > 1 and self._is_timelock_free() else [group]

    def separate_goals(self, formula: Formula) -> Sequence[Formula]:
        """Return questions of reachability all of which hold iff this one does; empty if there are not several."""
        reached = f.possibility(formula)
        if not isinstance(reached, f.And) or not all(map(f.is_state_formula, reached.operands)):
            return ()
        groups = self._independent(reached.operands)
        return [f.OnPaths("E", f.Finally(f.And(group))) for group in groups] if len(groups) > 1 else ()

    def sufficient(self, formula: Formula) -> Sequence[Formula]:
        """Return the operands of a disjunction, those on the fewest variables first."""
        operands = formula.operands if isinstance(formula, f.Or) else ()
        return sorted(operands, key=lambda operand: len(self._components.components_of(operand)))

    def _independent(self, formulas: Iterable[Formula]) -> list[tuple[Formula, ...]]:
        """Group the formulas so that different groups depend on disjoint components."""
        return _grouped((one, self._variables_of(one, self._components)) for one in formulas)

    def _variables_of(self, formula: Formula, components: IndependentComponents) -> frozenset[str]:
        key = formula, components is self._timed
        if key not in self._relevant:
            self._relevant[key] = components.components_of(formula)
        return self._relevant[key]


def _always_some(group: tuple[Formula, ...]) -> Formula:
    return f.OnPaths("A", f.Globally(f.Or(group) if len(group) > 1 else group[0]))


def _grouped(formulas: Iterable[tuple[Formula, frozenset[str]]]) -> list[tuple[Formula, ...]]:
    return [group for group, _ in independent_parts(formulas)]


def _is_violated_lastingly(formula: Formula) -> bool:
    """Return whether a state that violates the formula begins a fair run on which every state does."""
    return (
        isinstance(formula, f.OnPaths)
        and formula.quantifier == "A"
        and formula.along is None
        and isinstance(formula.path, f.Finally)
        and formula.path.bound is None
        and f.is_state_formula(formula.path.operand)
    )
