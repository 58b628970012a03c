"""Path formulas to generalised Büchi automata with acceptance marks on edges.

The automaton is built by tableau expansion (Couvreur 1999; Gastin and Oddoux 2001). It does not depend on a system:
state formulas are labels that the product with a system evaluates, and steps occur by their names.
"""

from __future__ import annotations

from collections.abc import Iterator

from cplc.automata.gba_simplify import BuchiAutomaton, Edge, simplify
from cplc.automata.ltl_expansion import Expansion, GbaState, GbaTransition, numbers
from cplc.logic.formulas import Formula, Taken
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

LIMIT = 200_000
"""Maximum number of branches of the expansion of a formula."""
_STATE_LIMIT_DIVISOR = 40
"""A state may have at most this part of the limit as transitions, which are compared pairwise."""


@dataclass(frozen=True, slots=True)
class LabelledEdge:
    """An edge from the current state of the path to the next."""

    target: int
    labels: tuple[tuple[Formula, bool], ...]
    """State formulas with the value that they must have in the current state."""
    taken: tuple[tuple[Taken, bool], ...]
    """Sets of steps that the next step must be in, or must not. Idling is in none of them."""
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A generalised Büchi automaton: a path satisfies the formula if some run over it sees every mark infinitely often.

    A run starts in one of the ``initial`` states at the first state of the path, and takes one edge for each state of
    the path. Without marks every infinite run accepts; without initial states no path is accepted.
    """

    initial: tuple[int, ...]
    edges: tuple[tuple[LabelledEdge, ...], ...]
    """Edges by their source."""
    marks: int
    """Number of marks; they are numbered from 0."""

    @property
    def labels(self) -> tuple[Formula, ...]:
        """The state formulas that occur, without duplicates."""
        every = (formula for edges in self.edges for edge in edges for formula, _ in edge.labels)
        return tuple(dict.fromkeys(every))

    def accepts_everything(self, state: int) -> bool:
        """Return whether every path is accepted from this state."""
        every = frozenset(range(self.marks))
        return any(
            edge.target == state and not edge.labels and not edge.taken and edge.marks == every
            for edge in self.edges[state]
        )


def automaton(path: Formula, limit: int = LIMIT) -> Automaton:
    """Return the automaton of a path formula; its maximal state formulas become labels."""
    obligations = Expansion(limit)
    number: dict[GbaState, int] = {}
    waiting: list[GbaState] = []

    def numbered(position: GbaState) -> int:
        if position not in number:
            number[position] = len(number)
            waiting.append(position)
        return number[position]

    initial = tuple(map(numbered, obligations.start(path)))
    moves: list[list[GbaTransition]] = []
    for position in waiting:  # grows
        moves.append(undominated(obligations.transitions(position), obligations, limit // _STATE_LIMIT_DIVISOR))
        for move in moves[-1]:
            numbered(move.after)
    promises = 0
    for move in (move for several in moves for move in several):
        promises |= move.pending_acceptance
    arcs = [
        [Edge(number[move.after], move.literals, promises & ~move.pending_acceptance) for move in some]
        for some in moves
    ]
    return _numbered_automaton(simplify(BuchiAutomaton(initial, arcs, promises)), obligations)


def undominated(moves: Iterator[GbaTransition], obligations: Expansion, limit: int) -> list[GbaTransition]:
    """Return the transitions that no other one dominates.

    A transition dominates another if it has fewer literals, postpones no more eventualities, and leads to a state with
    fewer obligations: a run can follow the other one from there.
    """
    best: dict[GbaTransition, int] = {}
    # Invariant: no transition in `best` dominates another one, and each one so far is dominated by one of them.
    for move in moves:
        relevant = obligations.relevant(move.after.obligations)
        if any(_dominates(other, of_other, move) for other, of_other in best.items()):
            continue
        for worse in [other for other in best if _dominates(move, relevant, other)]:
            del best[worse]
        best[move] = relevant
        if len(best) > limit:
            raise ResourceExhausted(f"a state of a path automaton has more than {limit:,} transitions")
    return list(best)


def _dominates(better: GbaTransition, relevant: int, worse: GbaTransition) -> bool:
    """Return whether the first transition dominates the second."""
    return not (
        better.literals & ~worse.literals
        or better.pending_acceptance & ~worse.pending_acceptance
        or better.after.obligations & ~worse.implied
        or better.after.before ^ worse.after.before & relevant
    )


def _numbered_automaton(arcs: BuchiAutomaton, obligations: Expansion) -> Automaton:
    """Return the automaton with formulas as labels and marks numbered from 0."""
    mark = {one: index for index, one in enumerate(numbers(arcs.marks))}

    def edge(arc: Edge) -> LabelledEdge:
        literals = [obligations.formula(one) for one in numbers(arc.literals)]
        return LabelledEdge(
            arc.target,
            tuple((formula, holds) for formula, holds in literals if not isinstance(formula, Taken)),
            tuple((formula, holds) for formula, holds in literals if isinstance(formula, Taken)),
            frozenset(mark[one] for one in numbers(arc.marks)),
        )

    return Automaton(arcs.initial, tuple(tuple(map(edge, some)) for some in arcs.leaving), len(mark))
