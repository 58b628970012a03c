"""Path formulas to generalised Büchi automata that are built on demand, for searches that stop early.

The states and transitions are those of `cplc.automata.path_automaton`, without simplification of the whole automaton.
Acceptance is by marks on edges (Couvreur, "On-the-fly verification of linear temporal logic", 1999): an edge has the
mark of every eventuality that it does not postpone.
"""

from __future__ import annotations

from collections.abc import Callable

from cplc.automata.ltl_expansion import Expansion, GbaState, numbers
from cplc.automata.path_automaton import LIMIT, undominated
from cplc.logic import formulas as f
from cplc.logic.claims import Claim
from cplc.logic.expressions import Const, Equal
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

Demand = tuple[f.Taken, bool]
"""A set of steps to which the next step must belong, or must not."""

MAX_STATES = 1 << 14
_NEXT_STATE = f.Atom(Equal(Const(0), Const(0)), "true")
"""Holds in every state. An obligation, unlike a constant: a path meets ``X`` only if there is a next state."""


@dataclass(frozen=True, slots=True)
class Edge:
    claims: tuple[Claim, ...]
    """State formulas with their required values, the cheapest first."""
    demands: tuple[Demand, ...]
    marks: int
    """A bit for each eventuality that is not postponed."""
    target: int

    @property
    def may_idle(self) -> bool:
        return not any(value for _, value in self.demands)


class LazyAutomaton:
    """The automaton of a path formula, or of its negation. State ``done`` accepts every path."""

    def __init__(self, path: Formula, value: bool, is_plain: Callable[[Formula], bool]) -> None:
        """``is_plain`` tells which state formulas are cheap to evaluate."""
        self._is_plain = is_plain
        self._expansion = Expansion(LIMIT)
        formula = _with_next_states(path)
        self._initial = self._expansion.start(formula if value else f.Not(formula))
        closure, eventualities = self._expansion.closure(self._initial)
        self._mark = {one: 1 << number for number, one in enumerate(eventualities)}
        self.marks = len(self._mark)
        self.all_marks = (1 << self.marks) - 1
        self.ends = not any(map(self._expansion.lasts, closure))
        """True if every path that satisfies the formula has a good prefix."""
        self._positions: list[GbaState | None] = []
        self._number: dict[GbaState | None, int] = {}
        self._edges: list[tuple[Edge, ...] | None] = []
        self.done = self._state(GbaState(0, 0))
        self.first = self._state(self._initial[0] if len(self._initial) == 1 else None)

    def edges(self, state: int) -> tuple[Edge, ...]:
        edges = self._edges[state]
        if edges is None:
            edges = self._edges[state] = self._leaving(self._positions[state])
        return edges

    def _state(self, position: GbaState | None) -> int:
        """Return the number of a state; None is the first state, if it unites several initial ones."""
        state = self._number.get(position)
        if state is None:
            if len(self._positions) >= MAX_STATES:
                raise ResourceExhausted(f"the automaton of a path formula has more than {MAX_STATES:,} states")
            state = self._number[position] = len(self._positions)
            self._positions.append(position)
            self._edges.append(None)
        return state

    def _leaving(self, position: GbaState | None) -> tuple[Edge, ...]:
        expansion = self._expansion
        sources = self._initial if position is None else [position]
        transitions = (transition for source in sources for transition in expansion.transitions(source))
        edges: list[tuple[tuple[int, int], Edge]] = []
        for transition in undominated(transitions, expansion, MAX_STATES):
            literals = [expansion.formula(one) for one in numbers(transition.literals)]
            claims = [(formula, holds) for formula, holds in literals if not isinstance(formula, f.Taken)]
            marks = self.all_marks
            for one in numbers(transition.pending_acceptance):
                marks &= ~self._mark[one]
            edge = Edge(
                tuple(sorted(claims, key=lambda claim: not self._is_plain(claim[0]))),
                tuple((formula, holds) for formula, holds in literals if isinstance(formula, f.Taken)),
                marks,
                self._state(transition.after),
            )
            edges.append(((len(claims), transition.after.obligations.bit_count()), edge))
        return tuple(dict.fromkeys(edge for _, edge in sorted(edges, key=lambda ranked: ranked[0])))


def _with_next_states(formula: Formula) -> Formula:
    """Return an equivalent formula in which the operand of each ``X`` is an obligation, even if it is constant."""
    if f.is_state_formula(formula):
        return formula
    same = f.with_children(formula, tuple(map(_with_next_states, f.children(formula))))
    if isinstance(same, f.Next) and any(map(_is_constant, f.subformulas(same.operand))):
        return f.Next(f.And((same.operand, _NEXT_STATE)))
    return same


def _is_constant(formula: Formula) -> bool:
    return formula in (f.And(()), f.Or(())) or (isinstance(formula, f.Atom) and isinstance(formula.condition, Const))
