"""Mermaid, PlantUML and Graphviz output of graphs. Node ids are generated; all texts are quoted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.drawing.graph import Edge, Graph
from cplc.drawing.quoting import dot_text, mermaid_text, plantuml_text, remark


def mermaid(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _mermaid(graph))


def _mermaid(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    yield from mermaid_heading("flowchart TD", graph.title, graph.legend, *graph.left_out)
    for node in graph.nodes:
        opened, closed = _MERMAID[node.shape]
        first = ":::first" if node.is_initial else ""
        yield f'  {ids[node.key]}{opened}"{mermaid_text(*node.lines)}"{closed}{first}'
    for edge in graph.edges:
        label = f'|"{mermaid_text(*edge.lines)}"|' if edge.lines else ""
        yield f"  {ids[edge.source]} {_mermaid_arrow(edge)}{label} {ids[edge.target]}"
    yield "  classDef first stroke-width:3px"


_MERMAID: Final = {"box": ("[", "]"), "round": ("(", ")"), "plain": ("[", "]")}


def mermaid_heading(kind: str, title: str, *remarks: str) -> Iterator[str]:
    """Yield the front matter and first lines of a Mermaid file; the title is quoted for YAML."""
    escaped = remark(title).replace("\\", "\\\\").replace('"', '\\"')
    yield "---"
    yield f'title: "{escaped}"'
    yield "---"
    yield kind
    for text in remarks:
        yield f"  %% {remark(text)}"


def _mermaid_arrow(edge: Edge) -> str:
    if edge.is_mutual:
        return "-.-" if edge.is_dashed else "---"
    return "-.->" if edge.is_dashed else "-->"


def plantuml(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _plantuml(graph))


def _plantuml(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    yield "@startuml"
    for line in (graph.legend, *graph.left_out):
        yield f"' {remark(line)}"
    yield f"title {plantuml_text(graph.title)}"
    for node in graph.nodes:
        shape = "rectangle" if node.shape == "box" else "card"
        yield f'{shape} "{plantuml_text(*node.lines)}" as {ids[node.key]}{" #line.bold" if node.is_initial else ""}'
    for edge in graph.edges:
        arrow = ("." if edge.is_dashed else "-") * 2 + ("" if edge.is_mutual else ">")
        label = f" : {plantuml_text(*edge.lines)}" if edge.lines else ""
        yield f"{ids[edge.source]} {arrow} {ids[edge.target]}{label}"
    yield "@enduml"


def dot(graph: Graph) -> str:
    return "".join(f"{line}\n" for line in _dot(graph))


def _dot(graph: Graph) -> Iterator[str]:
    ids = _ids(graph)
    for line in (graph.legend, *graph.left_out):
        yield f"// {remark(line)}"
    yield "digraph {"
    yield f"  label={dot_text(graph.title)}; labelloc=t"
    yield '  node [fontname="sans-serif", fontsize=11]; edge [fontname="sans-serif", fontsize=10]'
    for node in graph.nodes:
        style = {"box": "shape=box", "round": "shape=box, style=rounded", "plain": "shape=plaintext"}[node.shape]
        bold = ", penwidth=2" if node.is_initial else ""
        yield f"  {ids[node.key]} [label={dot_text(*node.lines)}, {style}{bold}]"
    for edge in graph.edges:
        marks = [f"label={dot_text(*edge.lines)}"] if edge.lines else []
        marks += ["style=dashed"] if edge.is_dashed else []
        marks += ["dir=none"] if edge.is_mutual else []
        written = f" [{', '.join(marks)}]" if marks else ""
        yield f"  {ids[edge.source]} -> {ids[edge.target]}{written}"
    yield "}"


def _ids(graph: Graph) -> dict[str, str]:
    return {node.key: f"n{at}" for at, node in enumerate(graph.nodes)}
