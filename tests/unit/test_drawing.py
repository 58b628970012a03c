"""Drawings are well-formed whatever is in them, always the same, and small enough to be looked at."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from cplc.compilation import CplCompilation, load
from cplc.drawing import graph as graphs
from cplc.drawing.graph import MAX_NODES, Edge, Graph, Node, fold_families, graph_svg
from cplc.drawing.layout import Link, Size, layout
from cplc.drawing.protocol_diagrams import local_state_graph, message_graph, obligations_graph
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
from cplc.report.run_report import family
from cplc.simulation.random_walk import draw
from cplc.system.model import System

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
        assert graph.left_out
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
    assert "all but the first 59 of 200 nodes" in graph.left_out[0]


def test_nodes_stand_apart() -> None:
    names = [f"n{at}" for at in range(30)]
    links = [Link(names[at], names[(at * 7 + step) % 30], Size(40, 16)) for at in range(30) for step in (1, 3)]
    plan = layout({name: Size(60, 30) for name in names}, links)
    positions = list(plan.positions.values())
    for at, (x, y) in enumerate(positions):
        assert all(abs(x - a) >= 60 or abs(y - b) >= 30 for a, b in positions[:at])
        assert 0 <= x <= plan.width
        assert 0 <= y <= plan.height


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
