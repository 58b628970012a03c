"""Decision diagrams: all backends build the same functions."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cplc.engines.symbolic import bdd
from cplc.engines.symbolic.bdd import BACKENDS, Diagrams, Node, Substitution, diagrams
from cplc.runtime.context import Context, ResourceExhausted, use_context

LEVELS = 5
Assignment = tuple[bool, ...]
ALL: list[Assignment] = list(product((False, True), repeat=LEVELS))
Table = frozenset[Assignment]
"""A function as the assignments that satisfy it."""

tables = st.frozensets(st.sampled_from(ALL))
levels = st.frozensets(st.integers(0, LEVELS - 1))


@pytest.fixture(params=BACKENDS, scope="module")
def manager(request: pytest.FixtureRequest) -> Diagrams[Node, Substitution]:
    pytest.importorskip(request.param)
    return diagrams(LEVELS, backend=request.param)


def build(manager: Diagrams[Node, Substitution], table: Table) -> Node:
    result = manager.false
    for assignment in table:
        result = result | manager.conjunction(enumerate(assignment))
    return result


def quantified(table: Table, hidden: frozenset[int]) -> Table:
    """Return what agrees outside the hidden levels with a member."""

    def seen(assignment: Assignment) -> Assignment:
        return tuple(value for level, value in enumerate(assignment) if level not in hidden)

    views = {seen(assignment) for assignment in table}
    return frozenset(assignment for assignment in ALL if seen(assignment) in views)


def composed(table: Table, replaced: dict[int, Table]) -> Table:
    def image(assignment: Assignment) -> Assignment:
        return tuple(
            assignment in replaced[level] if level in replaced else value for level, value in enumerate(assignment)
        )

    return frozenset(assignment for assignment in ALL if image(assignment) in table)


@given(tables, tables)
def test_equal_functions_are_equal_nodes(manager: Diagrams[Node, Substitution], one: Table, other: Table) -> None:
    left, right = build(manager, one), build(manager, other)
    assert (left == right) == (one == other)
    assert left & right == build(manager, one & other)
    assert left | right == build(manager, one | other)
    assert ~left == build(manager, frozenset(ALL) - one)
    assert hash(left & right) == hash(right & left)


@given(tables, tables, levels)
def test_quantification(
    manager: Diagrams[Node, Substitution], one: Table, other: Table, hidden: frozenset[int]
) -> None:
    left, right, cube = build(manager, one), build(manager, other), manager.cube(hidden)
    assert manager.exists(left, cube) == build(manager, quantified(one, hidden))
    assert manager.and_exists(left, right, cube) == build(manager, quantified(one & other, hidden))


@given(tables, st.dictionaries(st.integers(0, LEVELS - 1), tables, max_size=LEVELS))
def test_substitution_is_simultaneous(
    manager: Diagrams[Node, Substitution], table: Table, replaced: dict[int, Table]
) -> None:
    prepared = manager.substitution((level, build(manager, by)) for level, by in replaced.items())
    assert manager.substitute(build(manager, table), prepared) == build(manager, composed(table, replaced))


@given(tables)
def test_counting_picking_and_support(manager: Diagrams[Node, Substitution], table: Table) -> None:
    function = build(manager, table)
    assert manager.count(function) == len(table)
    relevant = frozenset(level for level in range(LEVELS) if quantified(table, frozenset({level})) != table)
    assert manager.support(function) == relevant
    if table:
        chosen = manager.pick(function)
        assert tuple(chosen.get(level, False) for level in range(LEVELS)) == min(table)


def test_branches_respect_negation(manager: Diagrams[Node, Substitution]) -> None:
    function = ~(manager.literal(1) & ~manager.literal(3))
    assert manager.branches(function) == (1, manager.true, manager.literal(3))
    assert manager.branches(~function) == (1, manager.false, ~manager.literal(3))


@pytest.mark.parametrize("backend", BACKENDS)
def test_counts_are_exact_beyond_floating_point(backend: str) -> None:
    pytest.importorskip(backend)
    manager = diagrams(200, backend=backend)
    assert manager.count(~manager.cube(range(200))) == 2**200 - 1


@pytest.mark.parametrize("backend", BACKENDS)
def test_too_many_nodes_are_reported(backend: str) -> None:
    pytest.importorskip(backend)
    manager = diagrams(40, backend=backend, node_limit=1000)
    manager.collect_if_needed()
    pairs = manager.true
    for level in range(10):
        one, other = manager.literal(level), manager.literal(level + 20)
        pairs = pairs & ((one & other) | (~one & ~other))
    assert manager.size(pairs) > 1000
    with pytest.raises(ResourceExhausted, match="1,000 nodes"):
        manager.collect_if_needed()


@pytest.mark.parametrize("backend", BACKENDS)
def test_memory_limit_governs_nodes(backend: str) -> None:
    pytest.importorskip(backend)
    limits = []
    for size in (2**28, 2**30, 2**33):
        with use_context(Context(memory_limit=size)):
            limits.append(diagrams(40, backend=backend).node_limit)
    assert limits[1] == pytest.approx(4 * limits[0], rel=0.01)
    assert limits[2] == pytest.approx(8 * limits[1], rel=0.01)


def test_full_manager_collected_while_library_collects() -> None:
    manager = diagrams(40, backend="oxidd", node_limit=100_000)

    def fill() -> None:
        pairs = manager.true
        for level in range(20):
            one, other = manager.literal(level), manager.literal(level + 20)
            pairs = pairs & ((one & other) | (~one & ~other))

    for _ in range(5):
        with suppress(MemoryError):
            fill()
            pytest.fail("there is room for more than there ought to be")
        manager.collect()
        assert manager.nodes() < 50_000
        assert manager.count(manager.literal(0) & ~manager.literal(20)) == 2**38


def test_dead_nodes_do_not_count_as_needed() -> None:
    manager = diagrams(40, node_limit=1000)
    for offset in range(8, 20):
        pairs = manager.true
        for level in range(8):
            one, other = manager.literal(level), manager.literal(level + offset)
            pairs = pairs & ((one & other) | (~one & ~other))
        del pairs, one, other
        manager.collect_if_needed()
    assert manager.peak > 1000


def test_the_first_installed_library_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    assert diagrams(3).name == "oxidd"

    def missing(levels: int, node_limit: int) -> Diagrams[Node, Substitution]:
        raise ImportError

    taken: list[str] = []
    for name, following in (("_Oxidd", "dd.cudd"), ("_Cudd", "dd.autoref")):
        monkeypatch.setattr(bdd, name, missing)
        pytest.importorskip(following)
        taken.append(diagrams(3).name)
    assert taken == ["dd.cudd", "dd.autoref"]


def test_an_unknown_library_is_refused() -> None:
    make: Callable[..., object] = diagrams
    with pytest.raises(ValueError, match=r"dd\.cudd"):
        make(3, backend="buddy")
