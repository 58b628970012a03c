"""Diagrams of states: the local states of a role, and all reachable states."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cplc.drawing.graph import Edge, Graph, Node, merge_parallel_edges, truncate
from cplc.drawing.projected_graph import ProjectedGraph, projected_graph, projected_rounds
from cplc.drawing.quotient import bisimulation_classes, concurrent_arrows
from cplc.language.lifecycle import UNANSWERED
from cplc.logic.expressions import value_text
from cplc.records import dataclass
from cplc.report.step_text import HIDDEN, variable_text
from cplc.system.model import Agent, State, Step, System, Variable

_MAX_DRAWN_STATES: Final = 40
_MAX_READABLE_STATES: Final = 16
"""With more states, independent steps of a role are drawn in one order."""
_MAX_SHARE_IN_ONE_ORDER: Final = 0.7
"""One order must save that many states."""
_MAX_PROJECTIONS: Final = 2_000
"""Maximum number of states before bisimilar ones are merged; with more, less detail is drawn."""
_MAX_SHOWN_VALUES: Final = 4
"""With more variables, only those that have not their initial value are shown."""


@dataclass(frozen=True)
class _LabelledStates:
    texts: Sequence[tuple[str, ...]]
    first: int
    """Number of initial states, which come first."""
    arrows: Sequence[tuple[int, tuple[str, ...], int]]
    """Source, label, target; a label of several steps means all of them, in any order."""
    is_complete: bool
    remarks: tuple[str, ...] = ()
    """Sentences on merged states and orders, for the legend."""


# --- a role


def local_state_graph(system: System, agent: Agent, title: str) -> Graph:
    """Return the local states of an agent and the transitions between them."""
    shown = [v for name in agent.local if (v := system.variable[name]).kind not in HIDDEN]
    if system.players:
        rounds = projected_rounds(system, [variable.name for variable in shown], agent.name)
        legend = f"Local states of {agent.name}; arrows are its actions. The initial state has a thick frame."
        return _graph_of_values(system, rounds, shown, title, legend)
    left_out: tuple[str, ...] = ()
    if any(variable.kind == "parity" for variable in map(system.variable.__getitem__, agent.local)):
        left_out = ("the alternating bits of messages that repeat",)
    states = _local_states(system, agent, shown)
    for fewer, omission in _variable_reductions(shown):
        if states.is_complete and len(states.texts) <= _MAX_DRAWN_STATES:
            break
        states = _local_states(system, agent, fewer)
        left_out = (*left_out, omission)
    if not states.is_complete:
        left_out = (*left_out, "states beyond the exploration limit")
    legend = (
        f"Local states of {agent.name}, as it observes them; arrows are steps. The initial state has a thick frame."
    )
    return _graph(states, title, legend, left_out)


def _local_states(system: System, agent: Agent, shown: list[Variable]) -> _LabelledStates:
    graph = projected_graph(system, [variable.name for variable in shown], projections=_MAX_PROJECTIONS)
    texts = [tuple(_own_values(system, agent, shown, projection)) for projection in graph.projections]
    return _in_one_order(_merged(graph, texts, [_step_name(step, agent) for step in graph.system.steps]))


def _variable_reductions(shown: list[Variable]) -> Iterator[tuple[list[Variable], str]]:
    """Yield smaller sets of variables, most detailed first, each with what it omits in addition to those before."""
    index = next((indices[0] for one in shown if (indices := _INDEX.findall(one.about))), None)
    if index is not None and any(_INDEX.findall(one.about) not in ([], [index]) for one in shown):
        shown = [one for one in shown if _INDEX.findall(one.about) in ([], [index])]
        yield shown, f"all members of families but {index}"
    if any(one.kind == "field" for one in shown):
        shown = [one for one in shown if one.kind != "field"]
        yield shown, "payloads of messages"
    if any(one.kind in _CLOCKS for one in shown) and any(one.kind not in _CLOCKS for one in shown):
        shown = [one for one in shown if one.kind not in _CLOCKS]
        yield shown, "clocks"
    if any(one.kind == "copy" for one in shown) and any(one.kind != "copy" for one in shown):
        yield [one for one in shown if one.kind != "copy"], "messages that change no status"


_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _own_values(system: System, agent: Agent, shown: Iterable[Variable], projection: State) -> Iterator[str]:
    """Yield the agent's own variables and views; messages are shown by the arrows."""
    by_agent = f" as {agent.name} sees it"
    for variable in shown:
        value = projection[variable.name]
        if variable.kind == "own" or (variable.kind in _VIEWS and value not in ("null", UNANSWERED, 0)):
            yield f"{variable_text(system, variable).removesuffix(by_agent)} = {value_text(value)}"


_CLOCKS: Final = ("clock", "remaining")
_VIEWS: Final = ("view", "standing", *_CLOCKS)
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
    graph = (
        projected_rounds(system, names, None)
        if system.players
        else projected_graph(system, names, projections=_MAX_PROJECTIONS)
    )
    what = "the actions of the agents that have a choice" if system.players else "steps"
    values = ", with the values that are not those of the first state" if len(shown) > _MAX_SHOWN_VALUES else ""
    legend = f"Reachable states{values}; arrows are {what}. Initial states have a thick frame."
    return _graph_of_values(system, graph, shown, title, legend)


def _graph_of_values(system: System, graph: ProjectedGraph, shown: list[Variable], title: str, legend: str) -> Graph:
    """Return the graph of projected states; only values that are not initial are shown if there are many variables."""
    fixed: State = graph.projections[0] if len(shown) > _MAX_SHOWN_VALUES else {}
    texts = [
        tuple(
            f"{variable_text(system, variable)} = {value_text(projection[variable.name])}"
            for variable in shown
            if variable.name not in fixed or fixed[variable.name] != projection[variable.name]
        )
        for projection in graph.projections
    ]
    left_out = () if graph.is_complete else ("states beyond the exploration limit",)
    return _graph(_merged(graph, texts, graph.labels), title, legend, left_out)


# --- smaller graphs with the same behaviour


def _merged(graph: ProjectedGraph, texts: list[tuple[str, ...]], labels: Sequence[str]) -> _LabelledStates:
    """Merge bisimilar states; of an incomplete graph none, since the futures of some states are not known."""
    edges = [(source, labels[label], target) for source, label, target in graph.steps]
    if not graph.is_complete:
        return _LabelledStates(texts, graph.first, [(a, (label,), b) for a, label, b in edges], False)
    classes = bisimulation_classes(texts, edges)
    member = {number: state for state, number in reversed(list(enumerate(classes)))}
    remark = f"States with the same text and the same futures are one: {len(texts)} are {len(member)}."
    return _LabelledStates(
        [texts[member[number]] for number in range(len(member))],
        len(set(classes[: graph.first])),
        list(dict.fromkeys((classes[source], (label,), classes[target]) for source, label, target in edges)),
        True,
        (remark,) if len(member) < len(texts) else (),
    )


def _in_one_order(states: _LabelledStates) -> _LabelledStates:
    """Take independent steps together if there are too many states to read."""
    if not states.is_complete or len(states.texts) <= _MAX_READABLE_STATES:
        return states
    edges = [(source, label, target) for source, labels, target in states.arrows for label in labels]
    arrows = concurrent_arrows(len(states.texts), states.first, edges)
    drawn_states = sorted(
        {*range(states.first), *(state for source, _, target in arrows for state in (source, target))}
    )
    if len(drawn_states) > _MAX_SHARE_IN_ONE_ORDER * len(states.texts):
        return states
    number = {state: at for at, state in enumerate(drawn_states)}
    return replace(
        states,
        texts=[states.texts[state] for state in drawn_states],
        arrows=[(number[source], labels, number[target]) for source, labels, target in arrows],
        remarks=(*states.remarks, _INDEPENDENT),
    )


_INDEPENDENT: Final = "Independent steps are drawn in one order: those on an arrow `in any order` may also come later."


def _graph(states: _LabelledStates, title: str, legend: str, left_out: tuple[str, ...]) -> Graph:
    """Return the drawing of numbered states."""
    nodes = tuple(
        Node(str(at), (str(at + 1), *text), "round", is_initial=at < states.first)
        for at, text in enumerate(states.texts)
    )
    edges = merge_parallel_edges(
        Edge(str(source), str(target), labels if len(labels) == 1 else ("in any order:", *labels))
        for source, labels, target in states.arrows
    )
    return truncate(Graph(title, " ".join((legend, *states.remarks)), nodes, edges, left_out), _MAX_DRAWN_STATES)
