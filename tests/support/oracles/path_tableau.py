"""Tableau for path formulas, by explicit enumeration: the states in which a satisfying fair run begins.

A path formula is brought down to seven kinds. Along a run it is decided at every position, by what is seen there, by
what will be (a guess for each ``Next`` and ``Until``) and by what was (a memory for each ``Yesterday`` and ``Since``).
Positions with every such guess that is consistent are the nodes of a graph. A run of the system has exactly one way
through it, and that way is endless and delivers what it promises. So a formula holds of some fair run from a state
iff from one of its positions there, with nothing remembered, a strongly connected part can be reached that delivers
every promise, meets every justice and every condition of fairness. No obligation is followed, as automata do it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Generic, TypeVar

S = TypeVar("S", bound=Hashable)
M = TypeVar("M", bound=Hashable)


# --- path formulas


@dataclass(frozen=True)
class Seen:
    """A condition on the present state and the move taken in it."""

    what: Hashable


@dataclass(frozen=True)
class No:
    operand: Path


@dataclass(frozen=True)
class Both:
    left: Path
    right: Path


@dataclass(frozen=True)
class Next:
    operand: Path


@dataclass(frozen=True)
class Until:
    left: Path
    right: Path


@dataclass(frozen=True)
class Yesterday:
    operand: Path


@dataclass(frozen=True)
class Since:
    left: Path
    right: Path


Path = Seen | No | Both | Next | Until | Yesterday | Since

ALWAYS_SO = Seen(())
"""True everywhere; nobody else is to look for the empty tuple."""


def no(operand: Path) -> Path:
    return operand.operand if isinstance(operand, No) else No(operand)


def every(operands: Iterable[Path]) -> Path:
    conjunction: Path = ALWAYS_SO
    for operand in operands:
        conjunction = operand if conjunction == ALWAYS_SO else Both(conjunction, operand)
    return conjunction


def some(operands: Iterable[Path]) -> Path:
    return no(every(no(operand) for operand in operands))


def implies(left: Path, right: Path) -> Path:
    return no(Both(left, no(right)))


def iff(left: Path, right: Path) -> Path:
    return Both(implies(left, right), implies(right, left))


def until(left: Path, right: Path, bound: int | None = None) -> Path:
    """Return until; within so many steps it is so now, or so next within one step less."""
    if bound is None:
        return Until(left, right)
    unfolded = right
    for _ in range(bound):
        unfolded = some((right, Both(left, Next(unfolded))))
    return unfolded


def eventually(operand: Path, bound: int | None = None) -> Path:
    return until(ALWAYS_SO, operand, bound)


def globally(operand: Path, bound: int | None = None) -> Path:
    return no(eventually(no(operand), bound))


def weak_until(left: Path, right: Path) -> Path:
    return some((Until(left, right), globally(left)))


def release(left: Path, right: Path) -> Path:
    return no(Until(no(left), no(right)))


def once(operand: Path) -> Path:
    return Since(ALWAYS_SO, operand)


def historically(operand: Path) -> Path:
    return no(once(no(operand)))


def operands(path: Path) -> tuple[Path, ...]:
    match path:
        case Seen():
            return ()
        case No(operand) | Next(operand) | Yesterday(operand):
            return (operand,)
        case Both(left, right) | Until(left, right) | Since(left, right):
            return (left, right)


# --- runs


@dataclass(frozen=True)
class Runs(Generic[S, M]):
    """A graph with named moves out of each state, the idle one among them, and what makes its runs fair."""

    moves: Mapping[S, Collection[tuple[M, S]]]
    justice: Sequence[tuple[frozenset[S], frozenset[M]]]
    """States in which each justice constraint waits, and the moves that serve it."""
    often: Sequence[frozenset[S]]
    """Sets of states to be visited infinitely often."""

    def satisfying(self, path: Path, sees: Callable[[Hashable, S, M], bool]) -> frozenset[S]:
        """Return where some fair run begins of which the path formula holds."""
        return _Search(self, _Tableau(path), sees).found()


Bits = tuple[bool, ...]


@dataclass(frozen=True, eq=False)
class _Position:
    """One consistent way to decide every part of the formula."""

    holds: bool
    """The formula itself."""
    promised: Bits
    """Guesses that the next position must fulfil for this one."""
    delivered: Bits
    """Guesses that it fulfils for the previous position."""
    remembered: Bits
    """Memory of the next position."""
    settled: Bits
    """For each until: it is not promised, or kept here."""


class _Tableau:
    """The positions of a path formula."""

    def __init__(self, path: Path) -> None:
        self.parts = tuple(dict.fromkeys(_inside_out(path)))
        number = {part: n for n, part in enumerate(self.parts)}
        self._operands = [tuple(number[operand] for operand in operands(part)) for part in self.parts]
        self._seen = tuple(n for n, part in enumerate(self.parts) if isinstance(part, Seen))
        self._ahead = tuple(n for n, part in enumerate(self.parts) if isinstance(part, Next | Until))
        self._behind = tuple(n for n, part in enumerate(self.parts) if isinstance(part, Yesterday | Since))
        self.seen = tuple(part.what for part in self.parts if isinstance(part, Seen))
        self.at_first = (False,) * len(self._behind)
        self._known: dict[tuple[Bits, Bits], dict[Bits, list[_Position]]] = {}

    def positions(self, letter: Bits, memory: Bits) -> dict[Bits, list[_Position]]:
        """Return the positions where this is seen and remembered, by what they deliver."""
        if (letter, memory) not in self._known:
            positions_by_memory: dict[Bits, list[_Position]] = {}
            for promised in product((False, True), repeat=len(self._ahead)):
                position = self._position(letter, memory, promised)
                positions_by_memory.setdefault(position.delivered, []).append(position)
            self._known[letter, memory] = positions_by_memory
        return self._known[letter, memory]

    def _position(self, letter: Bits, memory: Bits, promised: Bits) -> _Position:
        given = {
            **dict(zip(self._seen, letter, strict=True)),
            **dict(zip(self._ahead, promised, strict=True)),
            **dict(zip(self._behind, memory, strict=True)),
        }
        true: list[bool] = []
        for n, part in enumerate(self.parts):
            below = [true[operand] for operand in self._operands[n]]
            match part:
                case Seen() | Next() | Yesterday():
                    true.append(given[n])
                case No():
                    true.append(not below[0])
                case Both():
                    true.append(below[0] and below[1])
                case Until() | Since():
                    true.append(below[1] or (below[0] and given[n]))

        def handed_on(n: int) -> bool:
            """Return what a neighbouring position has to know of a part: itself where it spans, or its operand."""
            return true[self._operands[n][0] if isinstance(self.parts[n], Next | Yesterday) else n]

        return _Position(
            true[-1],
            promised,
            tuple(map(handed_on, self._ahead)),
            tuple(map(handed_on, self._behind)),
            tuple(not true[n] or true[self._operands[n][1]] for n in self._ahead if isinstance(self.parts[n], Until)),
        )


def _inside_out(path: Path) -> Iterator[Path]:
    for operand in operands(path):
        yield from _inside_out(operand)
    yield path


@dataclass(frozen=True, eq=False)
class _Move(Generic[S]):
    """All moves from one state to another that look alike to the formula and to justice."""

    target: S
    visible: Bits
    served: Bits
    """Each justice: it does not wait here, or is served by the move; each set: it is visited."""


_Node = tuple[S, _Move[S], _Position]


class _Search(Generic[S, M]):
    """One formula on one graph."""

    def __init__(self, runs: Runs[S, M], tableau: _Tableau, sees: Callable[[Hashable, S, M], bool]) -> None:
        self.runs, self.tableau, self.sees = runs, tableau, sees
        self._good: dict[_Node[S], bool] = {}
        """True if an endless fair way begins at a node, for those that are done."""

    def found(self) -> frozenset[S]:
        starts = {
            state: [node for node in self._nodes(state, self.tableau.at_first, None) if node[2].holds]
            for state in self.runs.moves
        }
        self._explore(node for nodes in starts.values() for node in nodes)
        return frozenset(state for state, nodes in starts.items() if any(self._good[node] for node in nodes))

    @cached_property
    def _moves(self) -> dict[S, list[_Move[S]]]:
        moves_of: dict[S, list[_Move[S]]] = {}
        for state, moves in self.runs.moves.items():
            alike = {
                (
                    target,
                    tuple(what == () or self.sees(what, state, move) for what in self.tableau.seen),
                    (
                        *(state not in waits or move in served for waits, served in self.runs.justice),
                        *(state in often for often in self.runs.often),
                    ),
                ): None
                for move, target in moves
            }
            moves_of[state] = [_Move(*move) for move in alike]
        return moves_of

    def _nodes(self, state: S, memory: Bits, promised: Bits | None) -> Iterator[_Node[S]]:
        """Yield the nodes at a state with this memory that deliver what was promised."""
        for move in self._moves[state]:
            positions = self.tableau.positions(move.visible, memory)
            chosen = positions.values() if promised is None else [positions.get(promised, [])]
            for alike in chosen:
                for position in alike:
                    yield (state, move, position)

    def _following(self, node: _Node[S]) -> Iterator[_Node[S]]:
        _, move, position = node
        return self._nodes(move.target, position.remembered, position.promised)

    def _explore(self, starts: Iterable[_Node[S]]) -> None:
        """Find the strongly connected parts, innermost first; Tarjan's algorithm without recursion."""
        index: dict[_Node[S], int] = {}
        low: dict[_Node[S], int] = {}
        stack: list[_Node[S]] = []
        for start in starts:
            if start in index:
                continue
            index[start] = low[start] = len(index)
            stack.append(start)
            work = [(start, self._following(start))]
            while work:
                node, targets = work[-1]
                for target in targets:
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        work.append((target, self._following(target)))
                        break
                    if target not in self._good:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        cut = next(n for n in range(len(stack) - 1, -1, -1) if stack[n] == node)
                        self._decide(frozenset(stack[cut:]))
                        del stack[cut:]

    def _decide(self, part: frozenset[_Node[S]]) -> None:
        """Decide the nodes of one part; the parts that it leads to have been decided."""
        inside = [(node, target) for node in part for target in self._following(node)]
        goes_on = any(target in part for _, target in inside)
        met = zip(*((*move.served, *position.settled) for _, move, position in part), strict=True)
        good = (goes_on and all(map(any, met))) or any(self._good.get(target, False) for _, target in inside)
        for node in part:
            self._good[node] = good
