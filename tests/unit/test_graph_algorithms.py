"""Graph algorithms on random graphs, against definitions by reachability."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from cplc.statespace.graph_algorithms import (
    ComponentSearch,
    SearchTree,
    backward_reachable,
    members,
    shortest_path,
    strongly_connected_components,
)

Graph = list[list[int]]


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    size = draw(st.integers(1, 9))
    return [draw(st.lists(st.integers(0, size - 1), max_size=4)) for _ in range(size)]


def _reachable(graph: Graph, start: int, within: bytes) -> set[int]:
    reached, waiting = {start}, [start]
    while waiting:
        new = {target for target in graph[waiting.pop()] if within[target]} - reached
        reached |= new
        waiting += new
    return reached


@given(graphs(), st.data())
def test_components_are_mutually_reachable_and_follow_their_successors(graph: Graph, data: st.DataObject) -> None:
    within = bytes(data.draw(st.lists(st.integers(0, 1), min_size=len(graph), max_size=len(graph))))
    reach = {node: _reachable(graph, node, within) for node in members(within)}
    components = list(strongly_connected_components(graph.__getitem__, within))
    assert sorted(node for component in components for node in component) == list(members(within))
    complete: set[int] = set()
    for component in components:
        first = component[0]
        assert set(component) == {node for node in reach[first] if first in reach[node]}
        complete.update(component)
        assert reach[first] <= complete


@given(graphs())
def test_components_from_roots_are_those_that_the_roots_reach(graph: Graph) -> None:
    everything = b"\1" * len(graph)
    some = {
        node for component in strongly_connected_components(graph.__getitem__, everything, (0,)) for node in component
    }
    assert some == _reachable(graph, 0, everything)


@given(graphs(), st.integers(0, 8))
def test_open_nodes_reach_the_component_at_which_the_search_stops(graph: Graph, number: int) -> None:
    everything = b"\1" * len(graph)
    search = ComponentSearch(graph.__getitem__, everything)
    for at, component in enumerate(search.components_from(0)):
        assert all(component[0] in _reachable(graph, node, everything) for node in search.open)
        if at == number:
            break
    search.complete_open()
    assert search.open == []


@given(graphs(), st.data())
def test_backward_reachable_states_have_a_path_to_the_goal(graph: Graph, data: st.DataObject) -> None:
    flags = st.lists(st.integers(0, 1), min_size=len(graph), max_size=len(graph))
    through, goal = bytes(data.draw(flags)), bytes(data.draw(flags))
    before: Graph = [[source for source, after in enumerate(graph) if node in after] for node in range(len(graph))]
    allowed = bytes(map(max, through, goal))

    def leads_to_goal(node: int) -> bool:
        inside = bytes(through[at] and not goal[at] for at in range(len(graph)))
        passed = _reachable(graph, node, inside)
        return bool(goal[node]) or any(goal[target] for at in passed for target in graph[at])

    expected = [node for node in range(len(graph)) if allowed[node] and leads_to_goal(node)]
    assert list(members(backward_reachable(before.__getitem__, through, goal))) == expected


@given(graphs(), st.integers(0, 8))
def test_shortest_path_has_the_length_of_the_first_layer_with_the_goal(graph: Graph, goal: int) -> None:
    path = shortest_path(0, lambda node: ((node, target) for target in graph[node]), lambda _, target: target == goal)
    layer, length = {0}, 0
    while length <= len(graph) and goal not in (layer := {target for node in layer for target in graph[node]}):
        length += 1
    if path is None:
        assert goal not in layer
    else:
        assert len(path) == length + 1
        assert path[0][0] == 0
        assert path[-1][1] == goal
        assert all(target in graph[source] for source, target in path)


def test_search_tree_returns_the_edges_from_the_root() -> None:
    tree: SearchTree[int, str] = SearchTree((0,))
    tree.parents[1] = 0, "a"
    tree.parents[2] = 1, "b"
    assert tree.path_to(2) == (0, [("a", 1), ("b", 2)])
    assert tree.path_to(0) == (0, [])
    assert 3 not in tree
