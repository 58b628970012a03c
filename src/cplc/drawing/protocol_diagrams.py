"""Diagrams of a protocol: local states, commitment life cycles, obligations, message dependencies."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cplc.drawing.graph import Edge, Graph, Node, fold_families, merge_parallel_edges, truncate
from cplc.drawing.message_dependencies import message_dependencies
from cplc.drawing.projected_states import ProjectedGraph, projected_graph, projected_rounds
from cplc.language.lifecycle import CLAIM_OPEN, OPEN, UNANSWERED
from cplc.report.run_report import family
from cplc.report.step_text import HIDDEN, status_text, value_text, variable_text
from cplc.system.commitments import argument_of, standing_of, standing_text
from cplc.system.model import Agent, Claim, Commitment, State, Step, System, Variable
from cplc.system.printer import condition_text, content_text, expr_text

_MAX_TEXT_LENGTH: Final = 60
_MAX_DRAWN_STATES: Final = 40
_MAX_SHOWN_VALUES: Final = 4
"""With more variables, only those that have not their initial value are shown."""


# --- a role


def local_state_graph(system: System, agent: Agent, title: str) -> Graph:
    """Return the local states of an agent and the transitions between them."""
    shown = [v for name in agent.local if (v := system.variable[name]).kind not in HIDDEN]
    if system.players:
        graph = projected_rounds(system, [variable.name for variable in shown], agent.name)
        legend = f"Local states of {agent.name}; arrows are its actions. The initial state has a thick frame."
        return _state_nodes(system, graph, shown, title, legend)
    left_out: tuple[str, ...] = ()
    if any(variable.kind == "parity" for variable in map(system.variable.__getitem__, agent.local)):
        left_out = ("the alternating bits of messages that repeat",)
    graph = _projected(system, shown)
    for fewer, omission in _variable_reductions(shown):
        if graph.is_complete and len(graph.projections) <= _MAX_DRAWN_STATES:
            break
        graph = _projected(system, fewer)
        shown, left_out = fewer, (*left_out, omission)
    if not graph.is_complete:
        left_out = (*left_out, "states beyond the exploration limit")
    nodes = tuple(
        Node(str(at), (str(at + 1), *_own_values(system, shown, projection)), "round", is_initial=at < graph.first)
        for at, projection in enumerate(graph.projections)
    )
    edges = merge_parallel_edges(
        Edge(str(source), str(target), (_step_name(graph.system.steps[step], agent),))
        for source, step, target in graph.steps
    )
    legend = f"Local states of {agent.name}; arrows are steps. The initial state has a thick frame."
    return truncate(Graph(title, legend, nodes, edges, left_out), _MAX_DRAWN_STATES)


def _projected(system: System, shown: Iterable[Variable]) -> ProjectedGraph:
    return projected_graph(system, [variable.name for variable in shown], projections=20 * _MAX_DRAWN_STATES)


def _variable_reductions(shown: list[Variable]) -> Iterator[tuple[list[Variable], str]]:
    """Yield successively smaller sets of variables, each with the omission."""
    index = next((indices[0] for one in shown if (indices := _INDEX.findall(one.about))), None)
    if index is not None and any(_INDEX.findall(one.about) not in ([], [index]) for one in shown):
        shown = [one for one in shown if _INDEX.findall(one.about) in ([], [index])]
        yield shown, f"all members of families but {index}"
    if any(one.kind == "field" for one in shown):
        shown = [one for one in shown if one.kind != "field"]
        yield shown, "payloads of messages"
    if any(one.kind in _VIEWS for one in shown) and any(one.kind == "copy" for one in shown):
        shown = [one for one in shown if one.kind not in _VIEWS]
        yield shown, "clocks and views of commitments"


_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _own_values(system: System, shown: Iterable[Variable], projection: State) -> Iterator[str]:
    """Yield the agent's own variables and views; messages are shown by the arrows."""
    for variable in shown:
        value = projection[variable.name]
        if variable.kind == "own" or (variable.kind in _VIEWS and value not in ("null", UNANSWERED, 0)):
            yield f"{variable_text(system, variable)} = {value_text(value)}"


_VIEWS: Final = ("view", "standing", "clock", "remaining")
"""Kinds of variables by which an agent observes commitments and claims."""


def _step_name(step: Step, agent: Agent) -> str:
    if step.kind == "exchange":
        return f"{'send' if step.actor == agent.name else 'receive'} {step.name.removeprefix('exchange ')}"
    return step.name


# --- all states


def state_graph(system: System, title: str) -> Graph:
    """Return the reachable states of the system, and the transitions between them."""
    shown = [variable for variable in system.variables if variable.kind not in HIDDEN]
    names = [variable.name for variable in shown]
    graph = projected_rounds(system, names, None) if system.players else _projected(system, shown)
    what = "the actions of the agents that have a choice" if system.players else "steps"
    values = ", with the values that are not those of the first state" if len(shown) > _MAX_SHOWN_VALUES else ""
    legend = f"Reachable states{values}; arrows are {what}. Initial states have a thick frame."
    return _state_nodes(system, graph, shown, title, legend)


def _state_nodes(system: System, graph: ProjectedGraph, shown: list[Variable], title: str, legend: str) -> Graph:
    """Return the graph of projected states; only values that are not initial are shown if there are many variables."""
    fixed: State = graph.projections[0] if len(shown) > _MAX_SHOWN_VALUES else {}
    nodes = tuple(
        Node(
            str(at),
            (
                str(at + 1),
                *(
                    f"{variable_text(system, variable)} = {value_text(projection[variable.name])}"
                    for variable in shown
                    if variable.name not in fixed or fixed[variable.name] != projection[variable.name]
                ),
            ),
            "round",
            is_initial=at < graph.first,
        )
        for at, projection in enumerate(graph.projections)
    )
    edges = merge_parallel_edges(
        Edge(str(source), str(target), (graph.labels[step],)) for source, step, target in graph.steps
    )
    left_out = () if graph.is_complete else ("states beyond the exploration limit",)
    return truncate(Graph(title, legend, nodes, edges, left_out), _MAX_DRAWN_STATES)


# --- a commitment


def lifecycle_graph(system: System, one: Commitment | Claim, title: str) -> Graph:
    """Return the life cycle of a commitment or claim, with its standings, and the transitions between them."""
    dialogue = [name for name in (standing_of(one.name), argument_of(one.name)) if name in system.variable]
    projected = projected_graph(system, [one.variable, *dialogue])
    values = [str(projection[one.variable]) for projection in projected.projections]
    starts = set(values[: projected.first])
    edges = [
        Edge(values[source], values[target], (projected.system.steps[step].name,))
        for source, step, target in projected.steps
        if values[source] != values[target]
    ]
    nodes = [Node(value, (value,), "round", is_initial=value in starts) for value in dict.fromkeys(values)]
    parties = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
    legend = (
        f"{one.name}, {parties[0]} to {parties[1]}: {_content(system, one)}. Arrows are steps that change its state."
    )
    if dialogue:
        standings, moves = _standings(system, one, projected)
        nodes += standings
        edges += moves
        legend += " Dashed arrows are steps that change its standing while it is open; the two are independent."
    left_out = () if projected.is_complete else ("transitions beyond the exploration limit",)
    return fold_families(Graph(title, legend, tuple(nodes), merge_parallel_edges(edges), left_out), family)


def _standings(system: System, one: Commitment | Claim, projected: ProjectedGraph) -> tuple[list[Node], list[Edge]]:
    """Return the standings while the commitment or claim is open, and the transitions between them."""
    texts = [standing_text(system, one.name, projection) or UNANSWERED for projection in projected.projections]
    is_open = [str(projection[one.variable]) in _OPEN for projection in projected.projections]
    edges = [
        Edge(
            _standing_key(texts[source]),
            _standing_key(texts[target]),
            (projected.system.steps[step].name,),
            is_dashed=True,
        )
        for source, step, target in projected.steps
        if is_open[target] and texts[source] != texts[target]
    ]
    shown = dict.fromkeys(text for at, text in enumerate(texts) if is_open[at])
    nodes = [
        Node(_standing_key(text), (text,), is_initial=text == UNANSWERED)
        for text in dict.fromkeys([UNANSWERED, *shown])
    ]
    return nodes, edges


def _standing_key(text: str) -> str:
    return f"standing {text}"


def _content(system: System, one: Commitment | Claim) -> str:
    if isinstance(one, Claim):
        return _short(one.formula or expr_text(one.content))
    return f"if {_short(condition_text(system, one.antecedent))} then {_short(content_text(system, one))}"


def _short(text: str) -> str:
    return text if len(text) <= _MAX_TEXT_LENGTH else f"{text[: _MAX_TEXT_LENGTH - 1].rstrip()}…"


# --- obligations


def obligations_graph(system: System, title: str, state: State | None = None) -> Graph:
    """Return the commitments between agents: all of the protocol, or those in a state of a run."""
    obligations: list[Commitment | Claim] = [*system.commitments, *system.claims]
    edges: list[Edge] = []
    for one in obligations:
        source, target = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
        value = None if state is None else value_text(state[one.variable])
        if value == "null":
            continue
        lines = (one.name if state is None else f"{one.name}: {status_text(system, one, state)}", _content(system, one))
        edges.append(Edge(source, target, lines, is_dashed=isinstance(one, Claim) or value not in (None, *_OPEN)))
    nodes = tuple(Node(agent.name, (agent.name,)) for agent in system.agents)
    legend = (
        "Arrows lead from debtor to creditor; dashed arrows are claims."
        if state is None
        else "Arrows lead from debtor to creditor; dashed arrows are settled commitments or claims."
    )
    return fold_families(Graph(title, legend, nodes, tuple(edges)), family, 24)


_OPEN: Final = (*OPEN, *CLAIM_OPEN)


# --- message dependencies


def message_graph(system: System, title: str) -> Graph:
    """Return the dependencies and mutual exclusion of messages."""
    dependencies = message_dependencies(system)
    nodes = tuple(
        Node(one.name, (one.name, f"{one.sender} → {one.receiver}", *one.effects), is_initial=not one.after)
        for one in dependencies
    )
    names = {one.name for one in dependencies}
    edges = [
        Edge(other, one.name, is_dashed=len(group) > 1)
        for one in dependencies
        for group in one.after
        for other in group
        if other in names
    ]
    pairs = dict.fromkeys(
        (one.name, other) if one.name < other else (other, one.name) for one in dependencies for other in one.exclusive
    )
    edges += [Edge(one, other, ("or",), is_dashed=True, is_mutual=True) for one, other in pairs if other in names]
    legend = (
        "Arrows lead from a message to those that require it; dashed arrows are alternative prerequisites. "
        "Messages joined by `or` exclude each other."
    )
    return fold_families(Graph(title, legend, nodes, tuple(edges)), family)
