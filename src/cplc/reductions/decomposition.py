"""Decomposition of formulas: verdicts of several formulas, each on fewer components, that give the verdict of one.

Claim, conjuncts: ``A``, ``G``, ``X`` and ``H`` distribute over conjunction, at every state and path
(`cplc.reductions.components.conjuncts_of`). A formula holds iff its conjuncts do.

Claim, disjuncts: let p and q be state formulas that depend on disjoint unions of components. Then ``AG (p | q)`` holds
iff ``AG p`` or ``AG q`` holds, and ``EF (p & q)`` holds initially iff ``EF p`` and ``EF q`` do. For path formulas it is
false: no step is one of both components, so ``E F (does(a) & does(b))`` never holds.

Proof: the reachable states are the product of those of the components. If some state of one factor violates p, and some
state of another factor violates q, the state that consists of both is reachable and violates p | q. Dually, a run to p
and a run to q can be taken one after the other.

A disjunction holds if one operand does; the converse is false if there are several initial states.

These decompositions serve verdicts alone. A run that refutes ``AG (p | q)`` is one of all components.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from cplc.logic.formulas import And, Finally, Formula, Globally, OnPaths, Or, invariant, is_state_formula, possibility
from cplc.reductions.components import IndependentComponents, conjuncts_of


class Decomposition:
    """Decompositions of formulas by the independent components of one system."""

    def __init__(self, components: IndependentComponents) -> None:
        self._components = components
        self._relevant: dict[Formula, frozenset[str]] = {}

    def conjuncts(self, formula: Formula) -> tuple[Formula, ...]:
        """Return formulas all of which hold iff this one does."""
        return conjuncts_of(formula)

    def alternatives(self, formula: Formula) -> Sequence[Formula]:
        """Return invariants one of which holds iff this one does; empty if there are not several."""
        always = invariant(formula)
        if not isinstance(always, Or) or not all(map(is_state_formula, always.operands)):
            return ()
        groups = self._independent(always.operands)
        return [_always_some(group) for group in groups] if len(groups) > 1 else ()

    def separate_goals(self, formula: Formula) -> Sequence[Formula]:
        """Return questions of reachability all of which hold iff this one does; empty if there are not several."""
        reached = possibility(formula)
        if not isinstance(reached, And) or not all(map(is_state_formula, reached.operands)):
            return ()
        groups = self._independent(reached.operands)
        return [OnPaths("E", Finally(And(group))) for group in groups] if len(groups) > 1 else ()

    def sufficient(self, formula: Formula) -> Sequence[Formula]:
        """Return the operands of a disjunction, those on the fewest variables first."""
        operands = formula.operands if isinstance(formula, Or) else ()
        return sorted(operands, key=lambda operand: len(self._components.components_of(operand)))

    def _independent(self, formulas: Iterable[Formula]) -> list[tuple[Formula, ...]]:
        """Group the formulas so that different groups depend on disjoint components."""
        groups: list[tuple[frozenset[str], tuple[Formula, ...]]] = []
        for formula in formulas:
            variables = self._relevant.get(formula)
            if variables is None:
                variables = self._relevant[formula] = self._components.components_of(formula)
            members: tuple[Formula, ...] = (formula,)
            apart = []
            for group_variables, group in groups:
                if group_variables & variables:
                    variables, members = group_variables | variables, group + members
                else:
                    apart.append((group_variables, group))
            groups = [*apart, (variables, members)]
        return [group for _, group in groups]


def _always_some(group: tuple[Formula, ...]) -> Formula:
    return OnPaths("A", Globally(Or(group) if len(group) > 1 else group[0]))
