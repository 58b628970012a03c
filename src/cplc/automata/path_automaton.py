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
"""More ways than this to meet the obligations of a formula are not looked at."""
_STATE_LIMIT_DIVISOR = 40
"""One state of the automaton has no more than this part of the ways: each is compared with each."""


@dataclass(frozen=True, slots=True)
class LabelledEdge:
    """One way to go on, from the present state of the path to the next."""

    target: int
    labels: tuple[tuple[Formula, bool], ...]
    """State formulas that must hold, or must not, in the present state."""
    taken: tuple[tuple[Taken, bool], ...]
    """What the step from the present state to the next must be, or must not be. Idling is none of the steps."""
    marks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Automaton:
    """A path satisfies the formula if some run over it sees every mark infinitely often.

    The run begins in one of the ``initial`` states at the first state of the path. It takes one edge for each state
    of the path. With no marks every infinite run will do; with no initial states no path satisfies the formula.
    """

    initial: tuple[int, ...]
    edges: tuple[tuple[LabelledEdge, ...], ...]
    """By the state they leave."""
    marks: int
    """How many there are; they are numbered from 0."""

    @property
    def labels(self) -> tuple[Formula, ...]:
        """The state formulas that are asked for, each one once."""
        every = (formula for edges in self.edges for edge in edges for formula, _ in edge.labels)
        return tuple(dict.fromkeys(every))

    def accepts_everything(self, state: int) -> bool:
        """Whether nothing is asked of a path any more, as soon as the automaton is there."""
        every = frozenset(range(self.marks))
        return any(
            edge.target == state and not edge.labels and not edge.taken and edge.marks == every
            for edge in self.edges[state]
        )


def automaton(path: Formula, limit: int = LIMIT) -> Automaton:
    """Return the automaton of a path formula; what a state decides in it is a label, whatever it is."""
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
        moves.append(_undominated(obligations.transitions(position), obligations, limit // _STATE_LIMIT_DIVISOR))
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


def _undominated(moves: Iterator[GbaTransition], obligations: Expansion, limit: int) -> list[GbaTransition]:
    """Return the moves without those that some other makes needless.

    One does if it asks less of the present and of the step, postpones no more, and leaves no more to do: from there on
    it can follow the other, step for step.
    """
    best: dict[GbaTransition, int] = {}
    for move in moves:
        relevant = obligations.relevant(move.after.obligations)
        if any(_dominates(other, of_other, move) for other, of_other in best.items()):
            continue
        for worse in [other for other in best if _dominates(move, relevant, other)]:
            del best[worse]
        best[move] = relevant
        if len(best) > limit:
            raise ResourceExhausted(f"a formula about paths has more than {limit:,} ways to begin")
    return list(best)


def _dominates(better: GbaTransition, relevant: int, worse: GbaTransition) -> bool:
    return not (
        better.literals & ~worse.literals
        or better.pending_acceptance & ~worse.pending_acceptance
        or better.after.obligations & ~worse.implied
        or better.after.before ^ worse.after.before & relevant
    )


def _numbered_automaton(arcs: BuchiAutomaton, obligations: Expansion) -> Automaton:
    """Return it with formulas for numbers, and marks numbered from 0."""
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
