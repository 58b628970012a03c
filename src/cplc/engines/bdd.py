"""Binary decision diagrams: one small interface of our own over three libraries.

Diagrams are functions of Boolean variables that are numbered by level, 0 at the top. They are canonical within one
manager, so equality of functions is equality of nodes; nodes are combined with ``&``, ``|`` and ``~``. Nothing is
ever reordered. Operations raise MemoryError when the manager is full and `tidy` raises ResourceExhausted when more
nodes are alive than allowed.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Generic, NewType, Protocol, Self, TypeVar, cast

from cplc.engines.interface import ResourceExhausted
from cplc.engines.work import charge

if TYPE_CHECKING:
    from oxidd.bcdd import BCDDFunction, BCDDSubstitution


class Node(Protocol):
    """A Boolean function."""

    def __and__(self, other: Self, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __invert__(self, /) -> Self: ...
    def __hash__(self) -> int: ...


Substitution = NewType("Substitution", object)
"""What `Diagrams.substitution` returns; of one manager only."""

N = TypeVar("N", bound=Node)
U = TypeVar("U")

NODE_LIMIT = 16_000_000
_FIRST_COLLECTION = 1 << 20
_LEAST_CAPACITY = 1 << 20
_SUPPORT_EFFORT = 4000
NODES_PER_UNIT = 16
"""Nodes that are made in the time of one unit of work."""


class Diagrams(ABC, Generic[N, U]):
    """A manager with a fixed number of levels."""

    name: str
    true: N
    false: N

    def __init__(self, levels: int, node_limit: int) -> None:
        self.levels = levels
        self.node_limit = node_limit
        self.peak = 0
        self._charged = 0
        """The nodes that work was charged for already."""
        self._next_collection = min(_FIRST_COLLECTION, node_limit)

    @abstractmethod
    def literal(self, level: int) -> N:
        """Return the function that is true where this variable is."""

    @abstractmethod
    def exists(self, function: N, cube: N) -> N:
        """Quantify the variables of a cube away."""

    @abstractmethod
    def and_exists(self, left: N, right: N, cube: N) -> N:
        """Return ``exists(left & right, cube)`` without building the conjunction."""

    @abstractmethod
    def substitution(self, pairs: Iterable[tuple[int, N]]) -> U:
        """Prepare the simultaneous replacement of variables by functions."""

    @abstractmethod
    def substitute(self, function: N, substitution: U) -> N: ...

    @abstractmethod
    def branches(self, function: N) -> tuple[int, N, N]:
        """Return the top level of a function that is not constant, and what is left where it is false and true."""

    @abstractmethod
    def nodes(self) -> int:
        """Return how many nodes the manager holds, dead ones included."""

    @abstractmethod
    def collect(self) -> None:
        """Drop dead nodes."""

    @abstractmethod
    def size(self, function: N) -> int:
        """Return how many nodes a function has."""

    def cube(self, levels: Iterable[int]) -> N:
        """Return the conjunction of variables."""
        result = self.true
        for level in sorted(levels, reverse=True):
            result = self.literal(level) & result
        return result

    def conjunction(self, literals: Iterable[tuple[int, bool]]) -> N:
        """Return the conjunction of variables and negated variables."""
        result = self.true
        for level, value in sorted(literals, reverse=True):
            literal = self.literal(level)
            result = (literal if value else ~literal) & result
        return result

    def tidy(self) -> None:
        """Drop dead nodes if there are many; raise ResourceExhausted if too many are alive or too much work is done."""
        held = self.nodes()
        charge(1 + max(0, held - self._charged) // NODES_PER_UNIT)
        self._charged = held
        self.peak = max(self.peak, held)
        if held <= self._next_collection:
            return
        self.collect()
        alive = self._charged = self.nodes()
        if alive > self.node_limit:
            raise ResourceExhausted(f"the decision diagrams need more than {self.node_limit} nodes")
        self._next_collection = min(max(_FIRST_COLLECTION, 2 * alive), self.node_limit)

    def count(self, function: N) -> int:
        """Return the exact number of assignments to all levels that satisfy it."""
        below: dict[N, int] = {self.false: 0, self.true: 1}
        top: dict[N, int] = {self.false: self.levels, self.true: self.levels}
        stack = [function]
        while stack:
            node = stack[-1]
            if node in below:
                stack.pop()
                continue
            level, low, high = self.branches(node)
            missing = [child for child in (low, high) if child not in below]
            if missing:
                stack.extend(missing)
                continue
            below[node] = sum(below[child] << (top[child] - level - 1) for child in (low, high))
            top[node] = level
            stack.pop()
        return below[function] << top[function]

    def pick(self, function: N) -> dict[int, bool]:
        """Return the first satisfying assignment, false before true from the top; what is left out is false."""
        chosen: dict[int, bool] = {}
        while function != self.true:
            level, low, high = self.branches(function)
            chosen[level] = low == self.false
            function = high if low == self.false else low
        return chosen

    def value(self, function: N, assignment: Mapping[int, bool]) -> bool:
        """Return the value of a function under an assignment to all levels it depends on."""
        while function not in (self.true, self.false):
            level, low, high = self.branches(function)
            function = high if assignment[level] else low
        return function == self.true

    def support(self, function: N) -> frozenset[int] | None:
        """Return the levels that a function depends on, or None if it is too large to say quickly."""
        if self.size(function) > _SUPPORT_EFFORT:
            return None
        found: set[int] = set()
        seen: set[N] = {self.true, self.false}
        stack = [function]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            level, low, high = self.branches(node)
            found.add(level)
            stack += (low, high)
        return frozenset(found)


class _Oxidd(Diagrams["BCDDFunction", "BCDDSubstitution"]):
    """Diagrams with complement edges of the oxidd library, in one thread.

    The library collects garbage by itself only when the manager is nearly full, and may then fail although there is
    room; so twice the allowed number of nodes is reserved (memory is taken as it is used) and `tidy` collects.
    """

    name = "oxidd"

    def __init__(self, levels: int, node_limit: int) -> None:
        from oxidd.bcdd import BCDDFunction, BCDDManager
        from oxidd.util import BooleanOperator

        super().__init__(levels, node_limit)
        cache = 1 << (14 if levels <= 32 else 16 if levels <= 96 else 18)
        self._manager = BCDDManager(max(_LEAST_CAPACITY, 2 * node_limit), cache, 1)
        self._manager.add_vars(levels)
        self._and = BooleanOperator.AND
        self._make_substitution = BCDDFunction.make_substitution
        self.true = self._manager.true()
        self.false = self._manager.false()

    def literal(self, level: int) -> BCDDFunction:
        return self._manager.var(level)

    def exists(self, function: BCDDFunction, cube: BCDDFunction) -> BCDDFunction:
        return function.exists(cube)

    def and_exists(self, left: BCDDFunction, right: BCDDFunction, cube: BCDDFunction) -> BCDDFunction:
        return left.apply_exists(self._and, right, cube)

    def substitution(self, pairs: Iterable[tuple[int, BCDDFunction]]) -> BCDDSubstitution:
        return self._make_substitution(pairs)

    def substitute(self, function: BCDDFunction, substitution: BCDDSubstitution) -> BCDDFunction:
        return function.substitute(substitution)

    def branches(self, function: BCDDFunction) -> tuple[int, BCDDFunction, BCDDFunction]:
        level = function.node_level()
        cofactors = function.cofactors()
        if level is None or cofactors is None:
            raise ValueError("a constant has no branches")
        return level, cofactors[1], cofactors[0]

    def nodes(self) -> int:
        return self._manager.approx_num_inner_nodes()

    def collect(self) -> None:
        self._manager.gc()

    def size(self, function: BCDDFunction) -> int:
        return function.node_count()

    def count(self, function: BCDDFunction) -> int:
        return function.sat_count(self.levels)

    def value(self, function: BCDDFunction, assignment: Mapping[int, bool]) -> bool:
        return function.eval(assignment.items())


class _DDFunction(Node, Protocol):
    """A function of the dd library; its low and high branches disregard the negation of the edge to it."""

    level: int
    low: _DDFunction
    high: _DDFunction
    negated: bool
    dag_size: int


class _DDManager(Protocol):
    true: _DDFunction
    false: _DDFunction

    def configure(self, **options: bool) -> object: ...
    def declare(self, *names: str) -> None: ...
    def var(self, name: str) -> _DDFunction: ...
    def apply(self, operator: str, left: _DDFunction, right: _DDFunction) -> _DDFunction: ...
    def let(self, definitions: dict[str, _DDFunction], function: _DDFunction) -> _DDFunction: ...
    def support(self, function: _DDFunction) -> set[str]: ...
    def exist(self, names: set[str], function: _DDFunction) -> _DDFunction: ...
    def __len__(self) -> int: ...


class _DD(Diagrams[_DDFunction, dict[str, _DDFunction]]):
    """What the two managers of the dd library have in common."""

    def __init__(self, levels: int, node_limit: int, manager: _DDManager) -> None:
        super().__init__(levels, node_limit)
        manager.configure(reordering=False)
        self._manager = manager
        self._names = tuple(f"b{level}" for level in range(levels))
        manager.declare(*self._names)
        self.true = manager.true
        self.false = manager.false

    def literal(self, level: int) -> _DDFunction:
        return self._manager.var(self._names[level])

    def exists(self, function: _DDFunction, cube: _DDFunction) -> _DDFunction:
        return self._manager.exist(self._manager.support(cube), function)

    def and_exists(self, left: _DDFunction, right: _DDFunction, cube: _DDFunction) -> _DDFunction:
        return self.exists(left & right, cube)

    def substitution(self, pairs: Iterable[tuple[int, _DDFunction]]) -> dict[str, _DDFunction]:
        return {self._names[level]: function for level, function in pairs}

    def substitute(self, function: _DDFunction, substitution: dict[str, _DDFunction]) -> _DDFunction:
        return self._manager.let(substitution, function) if substitution else function

    def branches(self, function: _DDFunction) -> tuple[int, _DDFunction, _DDFunction]:
        if function.negated:
            return function.level, ~function.low, ~function.high
        return function.level, function.low, function.high

    def nodes(self) -> int:
        return len(self._manager)

    def collect(self) -> None:
        """Nothing to do: the library collects by itself."""

    def size(self, function: _DDFunction) -> int:
        return function.dag_size


class _Cudd(_DD):
    """CUDD by way of dd."""

    name = "dd.cudd"

    def __init__(self, levels: int, node_limit: int) -> None:
        library = import_module("dd.cudd")
        super().__init__(levels, node_limit, library.BDD())
        self._and_exists = library.and_exists
        self._cubes: dict[_DDFunction, set[str]] = {}

    def exists(self, function: _DDFunction, cube: _DDFunction) -> _DDFunction:
        return self._manager.apply(r"\E", cube, function)

    def and_exists(self, left: _DDFunction, right: _DDFunction, cube: _DDFunction) -> _DDFunction:
        names = self._cubes.get(cube)
        if names is None:
            names = self._cubes[cube] = self._manager.support(cube)
        return cast(_DDFunction, self._and_exists(left, right, names))


class _Autoref(_DD):
    """Diagrams in plain Python, for places without compiled libraries."""

    name = "dd.autoref"

    def __init__(self, levels: int, node_limit: int) -> None:
        library = import_module("dd.autoref")
        manager = library.BDD()
        # When a manager and its functions go at once, in any order, the library complains of functions that are left.
        silent = type("Manager", (import_module("dd.bdd").BDD,), {"__del__": lambda _: None})
        manager._bdd = silent()
        manager.vars = manager._bdd.vars
        super().__init__(levels, node_limit, manager)
        # Operations call themselves once or twice for each level.
        sys.setrecursionlimit(max(sys.getrecursionlimit(), 1000 + 4 * levels))
        self._collect = library.BDD.collect_garbage

    def collect(self) -> None:
        self._collect(self._manager)


BACKENDS = ("oxidd", "dd.cudd", "dd.autoref")
"""In order of preference."""


def diagrams(levels: int, *, backend: str | None = None, node_limit: int | None = None) -> Diagrams[Node, Substitution]:
    """Return a manager of the backend asked for, or of the first that is installed."""
    kinds = {"oxidd": _Oxidd, "dd.cudd": _Cudd, "dd.autoref": _Autoref}
    limit = NODE_LIMIT if node_limit is None else node_limit
    if backend is not None:
        if backend not in kinds:
            raise ValueError(f"no decision diagrams are called {backend}; there are {', '.join(BACKENDS)}")
        return cast("Diagrams[Node, Substitution]", kinds[backend](levels, limit))
    for name in BACKENDS:
        try:
            return cast("Diagrams[Node, Substitution]", kinds[name](levels, limit))
        except ImportError:
            continue
    raise ResourceExhausted("no library for decision diagrams is installed")
