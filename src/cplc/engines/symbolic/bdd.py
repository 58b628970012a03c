"""Binary decision diagrams (BDDs): one interface to three libraries.

A diagram is a function of Boolean variables, which are numbered by level, 0 at the top. Diagrams are canonical within a
manager: equal functions are equal nodes. Nodes are combined with ``&``, ``|`` and ``~``. The order is never changed.
Operations raise MemoryError if the manager is full, and `collect_if_needed` raises ResourceExhausted if more nodes are
alive than allowed.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from importlib.machinery import PathFinder
from importlib.util import find_spec, module_from_spec
from threading import Lock
from time import sleep
from types import ModuleType
from typing import TYPE_CHECKING, Any, Generic, NewType, Protocol, Self, TypeVar, cast

from cplc.runtime.context import ResourceExhausted, current

if TYPE_CHECKING:
    from oxidd.bcdd import BCDDFunction, BCDDManager, BCDDSubstitution
    from oxidd.util import BooleanOperator


class Node(Protocol):
    """A Boolean function."""

    def __and__(self, other: Self, /) -> Self: ...
    def __or__(self, other: Self, /) -> Self: ...
    def __invert__(self, /) -> Self: ...
    def __hash__(self) -> int: ...


Substitution = NewType("Substitution", object)
"""Result of `Diagrams.substitution`; valid for one manager."""

N = TypeVar("N", bound=Node)
U = TypeVar("U")

NODE_LIMIT = 16_000_000
"""Maximum number of live nodes if no memory limit is known."""
_NODE_MEMORY_FRACTION = 0.7
"""Fraction of the memory limit for the nodes of one manager, dead ones included."""
_BYTES_PER_NODE = {"oxidd": 40, "dd.cudd": 64, "dd.autoref": 800}
"""Memory of a node, including its entry in the unique table (oxidd: 36 to 38 measured)."""
_BYTES_PER_CACHE_ENTRY = 20
_MIN_MEMORY_PER_CACHE_BYTE = 64
"""The operation cache takes at most this part of the memory limit."""
_MIN_NODES_TO_COLLECT = 1 << 20
_MIN_CAPACITY = 1 << 20
_MAX_SUPPORT_NODES = 4000
NODES_PER_UNIT = 16
"""Number of nodes made per unit of work."""
_POLL_SECONDS = 0.001
"""Seconds between two looks at a running collector."""
_MAX_POLLS = 1000
"""Maximum number of looks until the number of nodes is exact after a collection."""


class Diagrams(ABC, Generic[N, U]):
    """A manager with a fixed number of levels."""

    name: str
    true: N
    false: N

    def __init__(self, levels: int, node_limit: int) -> None:
        self.levels = levels
        self.node_limit = node_limit
        self.memory_limit: int | None = None
        """Memory limit in bytes from which the node limit was derived; None if it was given."""
        self.is_exhausted = False
        """True if some operation exceeded the limit."""
        self.peak = 0
        self._charged = 0
        """Number of nodes that were charged as work."""
        self._next_collection = min(_MIN_NODES_TO_COLLECT, node_limit)

    @abstractmethod
    def literal(self, level: int) -> N:
        """Return the variable of this level as a function."""

    @abstractmethod
    def exists(self, function: N, cube: N) -> N:
        """Quantify the variables of the cube existentially."""

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
        """Return the top level of a function that is not constant, and its cofactors for false and true."""

    def level(self, function: N) -> int:
        """Return the top level of a function that is not constant."""
        return self.branches(function)[0]

    @abstractmethod
    def nodes(self) -> int:
        """Return the number of nodes in the manager, dead ones included."""

    @abstractmethod
    def collect(self) -> None:
        """Free dead nodes."""

    @abstractmethod
    def size(self, function: N) -> int:
        """Return the number of nodes of a function."""

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

    def collect_if_needed(self) -> None:
        """Free dead nodes if there are many; raise ResourceExhausted if too many nodes are alive or work is used up."""
        held = self.nodes()
        current().charge(1 + max(0, held - self._charged) // NODES_PER_UNIT)
        self._charged = held
        self.peak = max(self.peak, held)
        if held <= self._next_collection:
            return
        self.collect()
        alive = self._charged = self.nodes()
        if alive > self.node_limit:
            raise self.exhausted()
        self._next_collection = min(max(_MIN_NODES_TO_COLLECT, 2 * alive), self.node_limit)

    def exhausted(self) -> ResourceExhausted:
        """Record that the manager is too small; return the error that names the limit in force."""
        self.is_exhausted = True
        reason = f"the decision diagrams need more than {self.node_limit:,} nodes"
        if self.memory_limit is not None:
            size = f"{self.memory_limit // 2**20} MB"
            reason += f", which do not fit in the memory limit of {size}; raise it with `--memory`"
        return ResourceExhausted(reason)

    def count(self, function: N) -> int:
        """Return the exact number of satisfying assignments of all levels."""
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
            # Each level that an edge skips doubles the assignments.
            below[node] = sum(below[child] << (top[child] - level - 1) for child in (low, high))
            top[node] = level
            stack.pop()
        return below[function] << top[function]

    def pick(self, function: N) -> dict[int, bool]:
        """Return the first satisfying assignment, false before true from the top; missing levels are false."""
        chosen: dict[int, bool] = {}
        while function != self.true:
            level, low, high = self.branches(function)
            chosen[level] = low == self.false
            function = high if low == self.false else low
        return chosen

    def value(self, function: N, assignment: Mapping[int, bool]) -> bool:
        """Return the value under an assignment of all levels that the function depends on."""
        while function not in (self.true, self.false):
            level, low, high = self.branches(function)
            function = high if assignment[level] else low
        return function == self.true

    def support(self, function: N) -> frozenset[int] | None:
        """Return the levels that a function depends on; None if the diagram is too large to traverse."""
        if self.size(function) > _MAX_SUPPORT_NODES:
            return None
        levels: set[int] = set()
        visited: set[N] = {self.true, self.false}
        stack = [function]
        while stack:
            node = stack.pop()
            if node in visited:
                continue
            visited.add(node)
            level, low, high = self.branches(node)
            levels.add(level)
            stack += (low, high)
        return frozenset(levels)


_import_lock = Lock()


def _compiled_oxidd() -> Any:
    """Return the compiled module of oxidd, without its package.

    The package reads the metadata of all installed distributions, which took 9 % of a short run of `cplc verify`.
    """
    name = "oxidd._oxidd"
    with _import_lock:
        package = None if name in sys.modules else find_spec("oxidd")
        compiled = package and PathFinder.find_spec(name, package.submodule_search_locations)
        if compiled is None or compiled.loader is None:
            return import_module(name)
        module: ModuleType = module_from_spec(compiled)
        compiled.loader.exec_module(module)
        return sys.modules.setdefault(name, module)


class _Oxidd(Diagrams["BCDDFunction", "BCDDSubstitution"]):
    """Diagrams with complement edges of the oxidd library, in one thread.

    The library collects garbage only when the manager is nearly full, in a thread of its own, and operations may then
    fail although there is room. Therefore twice the allowed number of nodes is reserved, and `collect_if_needed`
    collects. Memory of nodes is allocated as they are made, that of the cache at once, so its size depends on the
    number of levels.
    """

    name = "oxidd"

    def __init__(self, levels: int, node_limit: int) -> None:
        library = _compiled_oxidd()
        super().__init__(levels, node_limit)
        cache = 1 << (14 if levels <= 32 else 16 if levels <= 96 else 18)
        memory = current().memory_limit
        while memory is not None and cache * _BYTES_PER_CACHE_ENTRY * _MIN_MEMORY_PER_CACHE_BYTE > memory:
            cache //= 2
        self._capacity = max(_MIN_CAPACITY, 2 * node_limit)
        self._manager: BCDDManager = library.BCDDManager(self._capacity, cache, 1)
        self._manager.add_vars(levels)
        self._and: BooleanOperator = library.BooleanOperator.AND
        self._make_substitution: Callable[..., BCDDSubstitution] = library.BCDDFunction.make_substitution
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
        cofactors = function.cofactors()
        if cofactors is None:
            raise ValueError("a constant has no branches")
        return self.level(function), cofactors[1], cofactors[0]

    def level(self, function: BCDDFunction) -> int:
        level = function.node_level()
        if level is None:
            raise ValueError("a constant has no level")
        return level

    def nodes(self) -> int:
        return self._manager.approx_num_inner_nodes()

    def collect(self) -> None:
        """Free dead nodes.

        The library's own collector starts when the manager is nearly full. While it runs, `gc` returns at once without
        freeing anything and is not counted. Freed nodes become usable, and leave the approximate number of nodes, when
        the collector has finished. That number may remain slightly wrong after the manager was full.
        """
        manager = self._manager
        while True:
            collections = manager.gc_count()
            dropped = manager.gc()
            if manager.gc_count() != collections and not dropped:
                break
            if not dropped:
                sleep(_POLL_SECONDS)
        for _ in range(_MAX_POLLS):
            if manager.approx_num_inner_nodes() <= manager.num_inner_nodes() + self._capacity // 100:
                break
            sleep(_POLL_SECONDS)

    def size(self, function: BCDDFunction) -> int:
        return function.node_count()

    def count(self, function: BCDDFunction) -> int:
        return function.sat_count(self.levels)

    def value(self, function: BCDDFunction, assignment: Mapping[int, bool]) -> bool:
        return function.eval(assignment.items())


class _DDFunction(Node, Protocol):
    """A function of the dd library; its branches ignore the complement of the edge to it."""

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
    """Common part of the two managers of the dd library."""

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

    def level(self, function: _DDFunction) -> int:
        return function.level

    def nodes(self) -> int:
        return len(self._manager)

    def collect(self) -> None:
        """Do nothing: the library collects by itself."""

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
    """Diagrams in pure Python, where no compiled library is installed."""

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
"""Backends in order of preference."""


def diagrams(levels: int, *, backend: str | None = None, node_limit: int | None = None) -> Diagrams[Node, Substitution]:
    """Return a manager of the given backend, or of the first one installed.

    Without a limit on nodes, the memory limit in force determines it.
    """
    if backend is not None and backend not in BACKENDS:
        raise ValueError(f"unknown backend `{backend}` for decision diagrams; choose from {', '.join(BACKENDS)}")
    for name in BACKENDS if backend is None else (backend,):
        try:
            return _manager(name, levels, node_limit)
        except ImportError:
            if backend is not None:
                raise
    raise ResourceExhausted("no library for decision diagrams is installed")


def _manager(name: str, levels: int, node_limit: int | None) -> Diagrams[Node, Substitution]:
    kinds = {"oxidd": _Oxidd, "dd.cudd": _Cudd, "dd.autoref": _Autoref}
    memory = current().memory_limit if node_limit is None else None
    if node_limit is None:
        node_limit = NODE_LIMIT if memory is None else nodes_within(memory, name)
    manager = cast("Diagrams[Node, Substitution]", kinds[name](levels, node_limit))
    manager.memory_limit = memory
    return manager


def nodes_within(memory: int, backend: str) -> int:
    """Return the maximum number of live nodes under a memory limit: half of those that fit.

    The other half is for dead nodes, and for temporary nodes of one operation.
    """
    return max(1, int(memory * _NODE_MEMORY_FRACTION) // (2 * _BYTES_PER_NODE[backend]))
