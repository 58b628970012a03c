"""Drawings are well-formed whatever is in them, always the same, and small enough to be looked at."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from random import Random
from xml.etree import ElementTree

import pytest

from cplc.compilation import Compilation, CplCompilation, load
from cplc.diagnostics.core import Diagnostic
from cplc.drawing import graph as graphs
from cplc.drawing.graph import MAX_NODES, Edge, Graph, Node, fold_families, graph_svg
from cplc.drawing.layout import MAX_WIDTH, Link, Size, layout, layout_within
from cplc.drawing.protocol_diagrams import lifecycle_graph, message_graph, obligations_graph
from cplc.drawing.quotient import bisimulation_classes, concurrent_arrows
from cplc.drawing.sequence import (
    MAX_ROWS,
    Chart,
    Event,
    chart_dot,
    chart_mermaid,
    chart_plantuml,
    chart_svg,
    protocol_chart,
    run_chart,
)
from cplc.drawing.state_diagrams import local_state_graph, state_graph
from cplc.report.run_report import family
from cplc.simulation.random_walk import draw
from cplc.system.model import Claim, Commitment, System

_EXAMPLES = Path(__file__).parents[2] / "examples"
_NASTY = '"]-->|end\n\\<b>&;#%{}`__**//'
_ID = r"[an]\d+(?:_\d+)?"
_QUOTED = r'"(?:[^"\\\n]|\\.)*"'
_LANGUAGES = {
    "mermaid": re.compile(
        rf"---|title: {_QUOTED}|flowchart TD|sequenceDiagram|  %% .*|  classDef first stroke-width:3px"
        rf'|  {_ID}[\[(]"[^"\n]*"[\])](?::::first)?|  {_ID} (?:-->|-\.->|---|-\.-)(?:\|"[^"\n]*"\|)? {_ID}'
        rf"|  participant {_ID} as [^;\n]+(?:;[^;\n]*)*|  (?:alt|else|loop) .*|  end"
        rf"|  {_ID}(?:->>|-->>|-x){_ID}: .+|  Note over {_ID}(?:,{_ID})?: .+"
    ),
    "plantuml": re.compile(
        rf"@startuml|@enduml|' .*|title .*|hide footbox|(?:rectangle|card|participant) \"[^\"\n]*\" as {_ID}"
        rf"(?: #line\.bold)?|{_ID} (?:-->|\.\.>|--|\.\.|->|->x) {_ID}(?: : .+)?|(?:alt|else|loop) .*|end"
        rf"|note over {_ID} : .+|== .+ =="
    ),
    "dot": re.compile(
        rf"// .*|digraph \{{|\}}|  label={_QUOTED}; labelloc=t(?:; nodesep=1)?"
        rf"|  node \[fontname={_QUOTED}, fontsize=11\]; edge \[fontname={_QUOTED}, fontsize=10\]"
        rf"|  \{{ rank=same; (?:node \[shape=point, width=0\.02\]; )?{_ID}(?: {_ID})* \}}"
        rf"|  {_ID}(?: -> {_ID})*(?: \[(?:\w+=(?:{_QUOTED}|[\w.]+)(?:, )?)+\])?"
    ),
}


def _compiled(path: Path) -> Compilation:
    compilation = load(str(path))
    assert not isinstance(compilation, Diagnostic)
    return compilation


def _system(name: str, **parameters: str) -> System:
    compilation = load(str(_EXAMPLES / f"{name}.cpl"), parameters)
    assert isinstance(compilation, CplCompilation)
    return compilation.system


def _accept(language: str, text: str) -> None:
    for line in text.splitlines():
        assert _LANGUAGES[language].fullmatch(line), (language, line)


def _check(graph: Graph) -> None:
    ElementTree.fromstring(graph_svg(graph))
    _accept("mermaid", graphs.mermaid(graph))
    _accept("plantuml", graphs.plantuml(graph))
    _accept("dot", graphs.dot(graph))


def _check_chart(chart: Chart) -> None:
    ElementTree.fromstring(chart_svg(chart))
    _accept("mermaid", chart_mermaid(chart))
    _accept("plantuml", chart_plantuml(chart))
    _accept("dot", chart_dot(chart))


@pytest.mark.parametrize("name", ["netbill", "persuasion", "insurance_claim", "deadlines", "agent_payments"])
def test_examples(name: str) -> None:
    system = _system(name)
    drawn, _ = next(draw(system, "coverage", None, seed=1, runs=1, most=30, keep=1))
    assert drawn is not None
    for graph in (
        message_graph(system, name),
        obligations_graph(system, name),
        obligations_graph(system, name, drawn.run.states[-1]),
    ):
        _check(graph)
    _check(local_state_graph(system, system.agents[0], name))
    _check_chart(protocol_chart(system, name, family))
    _check_chart(run_chart(system, drawn.run, name, family))


def test_no_name_is_a_command() -> None:
    graph = Graph(_NASTY, _NASTY, (Node("a", (_NASTY,)), Node("b", ("end",))), (Edge("a", "b", (_NASTY,)),), (_NASTY,))
    _check(graph)
    _check_chart(
        Chart(_NASTY, _NASTY, (_NASTY, "b"), (Event("message", _NASTY, "b", _NASTY, (_NASTY,)),), (), (_NASTY,))
    )


def test_nothing_to_draw() -> None:
    _check(Graph("", "", (), ()))
    _check_chart(Chart("", "", (), ()))
    _check_chart(Chart("", "", (), (Event("wide", "", "", "time passes", ("a note",)),)))


def test_large_graphs_are_summarised() -> None:
    system = _system("netbill", customers="40")
    for graph in (
        message_graph(system, ""),
        obligations_graph(system, ""),
        local_state_graph(system, system.agents[0], ""),
    ):
        assert len(graph.nodes) <= MAX_NODES
        assert graph.omissions
        _check(graph)
    drawn, _ = next(draw(system, "uniform", None, seed=1, runs=1, most=600, keep=1))
    assert drawn is not None
    chart = run_chart(system, drawn.run, "", family)
    assert len(chart.events) <= MAX_ROWS + 1
    assert chart.left_out
    _check_chart(chart)


def test_graph_without_families_is_truncated() -> None:
    nodes = tuple(Node(f"n{at}", (f"n{at}",)) for at in range(200))
    graph = fold_families(Graph("", "", nodes, tuple(Edge(f"n{at}", f"n{at + 1}") for at in range(199))), family)
    assert len(graph.nodes) == MAX_NODES
    assert "all but the first 59 of 200 nodes" in graph.omissions[0]


@pytest.mark.parametrize("width", [60, 400])
def test_nodes_and_labels_stand_apart(width: float) -> None:
    names = [f"n{at}" for at in range(30)]
    links = [Link(names[at], names[(at * 7 + step) % 30], Size(40, 16)) for at in range(30) for step in (1, 3)]
    plan = layout({name: Size(width, 30) for name in names}, links)
    nodes = [(x, y, width, 30.0) for x, y in plan.positions.values()]
    labels = [(*route.label, 40.0, 16.0) for route in plan.routes]
    boxes = [*nodes, *labels]
    for at, (x, y, wide, high) in enumerate(boxes):
        assert all(abs(x - a) >= (wide + w) / 2 or abs(y - b) >= (high + h) / 2 for a, b, w, h in boxes[:at])
        assert wide / 2 <= x <= plan.width - wide / 2
        assert high / 2 <= y <= plan.height - high / 2


@pytest.mark.parametrize("count", [3, 30, 60])
@pytest.mark.parametrize("shape", ["isolated", "star", "chain with long edges"])
def test_layout_fits_a_page(shape: str, count: int) -> None:
    names = [f"n{at}" for at in range(count)]
    pairs = {
        "isolated": [],
        "star": [(0, at) for at in range(1, count)],
        "chain with long edges": [(at, other) for at in range(count) for other in (at + 1, at + 5) if other < count],
    }[shape]
    plan = layout(
        {name: Size(180, 40) for name in names},
        [Link(names[one], names[other], Size(120, 16)) for one, other in pairs],
    )
    assert plan.width <= MAX_WIDTH


@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("count", [6, 14, 24, 40])
def test_layout_within_bounds_is_the_layout_if_that_fits(count: int, degree: int) -> None:
    names = [f"n{at}" for at in range(count)]
    sizes = {name: Size(90 + 7 * at % 50, 30) for at, name in enumerate(names)}
    links = [
        Link(names[at], names[(at * 5 + step * 3 + 1) % count], Size(60, 16))
        for at in range(count)
        for step in range(degree)
    ]
    plan = layout(sizes, links)
    assert layout_within(sizes, links, 0.0, plan.height) == (plan if plan.width <= MAX_WIDTH else None)
    assert layout_within(sizes, links, 0.0, plan.height - 1) is None


def test_graph_that_is_too_large_is_not_ordered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The layers alone are too wide, whatever the order."""
    monkeypatch.setattr("cplc.drawing.layout.reduce_crossings", lambda *_: pytest.fail("the layers were ordered"))
    names = [f"n{at}" for at in range(12)]
    links = [Link(one, other, Size(400, 16)) for one in names[:6] for other in names[6:]]
    assert layout_within({name: Size(700, 30) for name in names}, links, 0.0, 700.0) is None


def _drawn_width(graph: Graph) -> float:
    written = re.search(r'<svg [^>]*width="([\d.]+)"', graph_svg(graph))
    assert written is not None
    return float(written[1])


@pytest.mark.parametrize("path", sorted(_EXAMPLES.glob("*.*pl")), ids=lambda path: path.name)
def test_drawings_of_examples_fit_a_page(path: Path) -> None:
    compilation = _compiled(path)
    system = compilation.system
    agents = {family(agent.name): agent for agent in reversed(system.agents)}
    graphs = [local_state_graph(system, agent, agent.name) for agent in agents.values()]
    if isinstance(compilation, CplCompilation):
        declared: list[Commitment | Claim] = [*system.commitments, *system.claims]
        obligations = {family(one.name): one for one in declared}
        graphs += [lifecycle_graph(system, one, one.name) for one in obligations.values()]
        graphs += [obligations_graph(system, ""), message_graph(system, "")]
    assert max(map(_drawn_width, graphs)) <= MAX_WIDTH


def test_all_states_of_a_large_system_fit_a_page() -> None:
    graph = state_graph(_compiled(_EXAMPLES / "cryptographers.ispl").system, "")
    assert (len(graph.nodes), graph.more) == (40, 25)
    assert _drawn_width(graph) <= MAX_WIDTH


def test_long_texts_are_wrapped_and_not_cut() -> None:
    words = " ".join(f"word{at}" for at in range(60))
    name = "a" * 130
    svg = graph_svg(Graph("", words, (Node("a", (words,)), Node("b", (name,))), (Edge("a", "b", (words,)),)))
    texts = ["".join(text.itertext()) for text in ElementTree.fromstring(svg).iter("{http://www.w3.org/2000/svg}text")]
    assert "".join(text for text in texts if set(text) == {"a"}) == name
    assert sum(text.count("word59") for text in texts) == 3
    assert not any("…" in text for text in texts)
    chart = chart_svg(Chart("", "", ("A", "B"), (Event("message", "A", "B", words, (words,)),)))
    assert chart.count(">word0") == 2
    assert "…" not in chart


# --- smaller graphs with the same behaviour


def _random_graph(rng: Random, count: int) -> list[tuple[int, str, int]]:
    return [(rng.randrange(count), rng.choice("abc"), rng.randrange(count)) for _ in range(2 * count)]


def _traces(edges: list[tuple[int, str, int]], texts: list[str], state: int, length: int) -> frozenset[object]:
    """Return the tree of runs of this length as nested sets: equal trees are bisimilar to this depth."""
    following = (
        frozenset(
            (label, _traces(edges, texts, target, length - 1)) for source, label, target in edges if source == state
        )
        if length
        else frozenset()
    )
    return frozenset({(texts[state], following)})


@pytest.mark.parametrize("seed", range(20))
def test_bisimulation_classes_are_states_with_equal_trees(seed: int) -> None:
    rng = Random(seed)
    texts = [rng.choice("xy") for _ in range(6)]
    edges = _random_graph(rng, 6)
    classes = bisimulation_classes(texts, edges)
    trees = [_traces(edges, texts, state, 6) for state in range(6)]
    assert [[one == other for other in classes] for one in classes] == [
        [one == other for other in trees] for one in trees
    ]
    assert list(dict.fromkeys(classes)) == list(range(len(set(classes))))


def _product(machines: list[list[tuple[int, str, int]]], most: int) -> tuple[int, list[tuple[int, str, int]]]:
    """Return the interleaving of machines that start in 0, with a choice that all must have passed first."""
    states: dict[tuple[int, ...], int] = {(0,) * len(machines): 0}
    edges: list[tuple[int, str, int]] = []
    for state in (waiting := list(states)):
        for at, machine in enumerate(machines):
            for source, label, target in machine:
                if source == state[at] and len(states) < most:
                    after = (*state[:at], target, *state[at + 1 :])
                    if after not in states:
                        states[after] = len(states)
                        waiting.append(after)
                    edges.append((states[state], f"{label}{at}", states[after]))
    return len(states), edges


@pytest.mark.parametrize("seed", range(30))
def test_one_order_keeps_final_states_and_steps(seed: int) -> None:
    rng = Random(seed)
    machines = [_random_graph(rng, 3)[: rng.randrange(1, 6)] for _ in range(3)]
    count, edges = _product(machines, 500)
    arrows = concurrent_arrows(count, 1, edges)
    remaining = {0, *(target for *_, target in arrows)}
    sources = {source for source, *_ in edges}
    assert {state for state in range(count) if state not in sources} <= remaining
    assert {label for _, labels, _ in arrows for label in labels} == {label for _, label, _ in edges}
    out = {(source, label): target for source, label, target in edges}
    for source, labels, target in arrows:
        if len(labels) > 1:  # each order leads to the same state
            for order in (labels, labels[::-1]):
                here = source
                for label in order:
                    here = out[here, label]
                assert here == target


def test_independent_steps_are_one_arrow() -> None:
    count, edges = _product([[(0, "a", 1)], [(0, "b", 1)], [(0, "c", 1), (0, "d", 2)]], 100)
    assert count == 12
    arrows = concurrent_arrows(count, 1, edges)
    assert [labels for _, labels, _ in arrows] == [("a0", "b1"), ("c2",), ("d2",)]


def test_the_same_bytes_in_every_process() -> None:
    def drawn(seed: str) -> bytes:
        command = [sys.executable, "-m", "cplc", "draw", str(_EXAMPLES / "persuasion.cpl"), "--what", "messages"]
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        return subprocess.run(command, env=environment, capture_output=True, check=True).stdout

    assert drawn("1") == drawn("2") != b""


@pytest.mark.skipif("CPLC_DOT" not in os.environ, reason="CPLC_DOT names no Graphviz")
def test_graphviz_draws_it() -> None:
    system = _system("netbill")
    for text in (graphs.dot(message_graph(system, _NASTY)), chart_dot(protocol_chart(system, _NASTY, family))):
        done = subprocess.run(
            [os.environ["CPLC_DOT"], "-Tjson"], input=text, capture_output=True, text=True, check=True
        )
        assert json.loads(done.stdout)["objects"]
