"""Path formulas to generalised Büchi automata with acceptance marks on edges.

The automaton is built by tableau expansion (Couvreur 1999; Gastin and Oddoux 2001). It does not depend on a system:
state formulas are labels that the product with a system evaluates, and steps occur by their names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

from cplc.automata.ltl_expansion import Expansion, GbaState, GbaTransition, numbers
from cplc.logic.formulas import Formula, Taken
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.graph_algorithms import strongly_connected_components

# --- Simplification of generalised Büchi automata: smaller automata with the same language


@dataclass(frozen=True, slots=True)
class Edge:
    """An edge of an automaton; literals and marks are bit masks."""

    target: int
    literals: int
    marks: int


@dataclass(frozen=True, slots=True)
class BuchiAutomaton:
    """A generalised Büchi automaton: a run accepts if it sees every mark infinitely often."""

    initial: tuple[int, ...]
    leaving: Sequence[Sequence[Edge]]
    marks: int


def simplify(arcs: BuchiAutomaton) -> BuchiAutomaton:
    """Return a smaller automaton with the same language: apply all simplifications until none helps."""
    while True:
        size = _size(arcs)
        arcs = _merge_equal_states(_without_redundant_edges(_with_necessary_marks(_without_dead_ends(arcs))))
        if _size(arcs) == size:
            return arcs


def _size(arcs: BuchiAutomaton) -> tuple[int, int, int, int]:
    return len(arcs.initial), len(arcs.leaving), sum(map(len, arcs.leaving)), arcs.marks.bit_count()


def _inner(arcs: BuchiAutomaton, part: Collection[int]) -> list[Edge]:
    return [arc for state in part for arc in arcs.leaving[state] if arc.target in part]


def _accepts(inner: Sequence[Edge], marks: int) -> bool:
    """Return whether a run can stay in these edges of one component and accept."""
    union = 0
    for arc in inner:
        union |= arc.marks
    return bool(inner) and union == marks


def _without_dead_ends(arcs: BuchiAutomaton) -> BuchiAutomaton:
    """Remove states from which no run accepts, and unreachable states."""
    alive = set[int]()
    for part in _components(arcs):
        # Reverse topological order: `alive` is final for all states outside of this component that it reaches.
        onward = any(arc.target in alive for state in part for arc in arcs.leaving[state])
        if onward or _accepts(_inner(arcs, part), arcs.marks):
            alive |= part
    return _renumbered(arcs, {state: state for state in alive})


def _with_necessary_marks(arcs: BuchiAutomaton) -> BuchiAutomaton:
    """Renumber the marks, and retain in each component only those that matter there.

    No run leaves a component twice, so marks on edges between components do not matter. In an accepting component, a
    mark is redundant if it always occurs together with another one, or on all edges.
    """
    parts = [(part, _inner(arcs, part)) for part in _components(arcs)]
    needed_marks = [_needed(inner, arcs.marks) if _accepts(inner, arcs.marks) else [] for _, inner in parts]
    rejecting = any(inner and not _accepts(inner, arcs.marks) for _, inner in parts)
    number = max([int(rejecting), *map(len, needed_marks)])
    every = (1 << number) - 1
    leaving = list(arcs.leaving)
    for (part, inner), needed in zip(parts, needed_marks, strict=True):
        rest = every & ~((1 << len(needed)) - 1) if _accepts(inner, arcs.marks) else 0

        def renumbered(arc: Edge, part: set[int] = part, needed: list[int] = needed, rest: int = rest) -> Edge:
            marks = sum(1 << index for index, mark in enumerate(needed) if arc.marks >> mark & 1)
            return replace(arc, marks=rest | marks if arc.target in part else 0)

        for state in part:
            leaving[state] = list(dict.fromkeys(map(renumbered, arcs.leaving[state])))
    return BuchiAutomaton(arcs.initial, leaving, every)


def _needed(inner: Sequence[Edge], marks: int) -> list[int]:
    """Return the marks on these edges that no other mark implies."""
    masks = {arc.marks for arc in inner}
    every = [mark for mark in range(marks.bit_length()) if marks >> mark & 1]
    necessary = [mark for mark in every if any(not mask >> mark & 1 for mask in masks)]
    for mark in [*necessary]:
        remaining = [other for other in necessary if other != mark]
        if any(all(mask >> mark & 1 for mask in masks if mask >> other & 1) for other in remaining):
            necessary = remaining
    return necessary


def _without_redundant_edges(arcs: BuchiAutomaton) -> BuchiAutomaton:
    """Remove an edge if others to the same state require no more and together have all of its marks.

    A run that takes the edge infinitely often can take the others in turn.
    """
    leaving: list[list[Edge]] = []
    for some in arcs.leaving:
        remaining = [*some]
        for arc in sorted(some, key=lambda arc: -arc.literals.bit_count()):
            marks, spared = 0, False
            for other in remaining:
                if other is not arc and other.target == arc.target and not other.literals & ~arc.literals:
                    marks, spared = marks | other.marks, True
            if spared and not arc.marks & ~marks:
                remaining = [other for other in remaining if other is not arc]
        leaving.append(remaining)
    return replace(arcs, leaving=leaving)


def _merge_equal_states(arcs: BuchiAutomaton) -> BuchiAutomaton:
    """Merge states with the same outgoing edges, where self-loops count as equal.

    Marks on the edges of a state that lies on no cycle do not matter.
    """
    same: dict[int, int] = {}
    marked: dict[frozenset[Edge], int] = {}
    plain: dict[frozenset[Edge], int] = {}
    for part in _components(arcs):
        # Reverse topological order: successors outside of this component have their representatives already.
        comes_back = bool(_inner(arcs, part))
        for state in part:
            leaving = [replace(arc, target=same.get(arc.target, arc.target)) for arc in arcs.leaving[state]]
            unmarked = frozenset(replace(arc, marks=0) for arc in leaving)
            if comes_back:
                looping = frozenset(replace(arc, target=-1) if arc.target == state else arc for arc in leaving)
                same[state] = marked.setdefault(looping, state)
            else:
                same[state] = plain.get(unmarked, state)
            plain.setdefault(unmarked, same[state])
    return _renumbered(arcs, same)


def _renumbered(arcs: BuchiAutomaton, same: dict[int, int]) -> BuchiAutomaton:
    """Return the automaton with each state replaced as mapped, renumbered in the order of discovery."""
    number: dict[int, int] = {}
    waiting: list[int] = []

    def numbered(state: int) -> int:
        if same[state] not in number:
            number[same[state]] = len(number)
            waiting.append(same[state])
        return number[same[state]]

    initial = tuple(dict.fromkeys(numbered(state) for state in arcs.initial if state in same))
    leaving: list[list[Edge]] = []
    for state in waiting:  # grows
        retained = (replace(arc, target=numbered(arc.target)) for arc in arcs.leaving[state] if arc.target in same)
        leaving.append(list(dict.fromkeys(retained)))
    return BuchiAutomaton(initial, leaving, arcs.marks)


def _components(arcs: BuchiAutomaton) -> Iterator[set[int]]:
    """Yield the reachable strongly connected components in reverse topological order."""
    after = [[arc.target for arc in leaving] for leaving in arcs.leaving]
    return map(set, strongly_connected_components(after.__getitem__, b"\1" * len(after), arcs.initial))


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
