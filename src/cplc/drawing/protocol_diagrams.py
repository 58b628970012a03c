"""What can be drawn of a protocol besides its runs: roles, commitments, who owes whom, and what messages wait for."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from cplc.drawing.graph import Edge, Graph, Node, fold_families, merge_parallel_edges, truncate
from cplc.drawing.message_dependencies import needs
from cplc.drawing.projected_states import ProjectedGraph, projected_graph
from cplc.report.run_report import family
from cplc.report.step_text import HIDDEN, status_text, value_text, variable_text
from cplc.system.model import Agent, Claim, Commitment, State, Step, System, Variable
from cplc.system.printer import condition_text, content_text, expr_text
from cplc.system.standings import UNANSWERED, argument_of, standing_of, standing_text

_MAX_TEXT_LENGTH: Final = 60
_MAX_DRAWN_STATES: Final = 40


# --- a role


def local_state_graph(system: System, agent: Agent, title: str) -> Graph:
    """Return the states of an agent as it sees itself, and what leads from one to the next."""
    shown = [v for name in agent.local if (v := system.variable[name]).kind not in HIDDEN]
    left_out: tuple[str, ...] = ()
    if any(variable.kind == "parity" for variable in map(system.variable.__getitem__, agent.local)):
        left_out = ("the alternating bits of messages that repeat",)
    graph = _projected(system, shown)
    for fewer, omission in _variable_reductions(shown):
        if graph.is_complete and len(graph.looks) <= _MAX_DRAWN_STATES:
            break
        graph = _projected(system, fewer)
        shown, left_out = fewer, (*left_out, omission)
    if not graph.is_complete:
        left_out = (*left_out, "states that are found late: there are more than can be looked at")
    nodes = tuple(
        Node(str(at), (str(at + 1), *_own_values(system, shown, look)), "round", is_initial=at < graph.first)
        for at, look in enumerate(graph.looks)
    )
    edges = merge_parallel_edges(
        Edge(str(source), str(target), (_step_name(graph.system.steps[step], agent),))
        for source, step, target in graph.steps
    )
    legend = (
        f"States as {agent.name} sees them; arrows say what leads from one to the next. The first has a thick frame."
    )
    return truncate(Graph(title, legend, nodes, edges, left_out), _MAX_DRAWN_STATES)


def _projected(system: System, shown: Iterable[Variable]) -> ProjectedGraph:
    return projected_graph(system, [variable.name for variable in shown], looks=20 * _MAX_DRAWN_STATES)


def _variable_reductions(shown: list[Variable]) -> Iterator[tuple[list[Variable], str]]:
    """Yield fewer and fewer variables, and what is left out by that."""
    index = next((indices[0] for one in shown if (indices := _INDEX.findall(one.about))), None)
    if index is not None and any(_INDEX.findall(one.about) not in ([], [index]) for one in shown):
        shown = [one for one in shown if _INDEX.findall(one.about) in ([], [index])]
        yield shown, f"all members of families but {index}"
    if any(one.kind == "field" for one in shown):
        shown = [one for one in shown if one.kind != "field"]
        yield shown, "what messages carry"
    if any(one.kind in _VIEWS for one in shown) and any(one.kind == "copy" for one in shown):
        shown = [one for one in shown if one.kind not in _VIEWS]
        yield shown, "clocks and views of commitments"


_INDEX: Final = re.compile(r"\[[^\]]*\]")


def _own_values(system: System, shown: Iterable[Variable], look: State) -> Iterator[str]:
    """Yield what an agent keeps itself; messages are told by the arrows."""
    for variable in shown:
        value = look[variable.name]
        if variable.kind == "own" or (variable.kind in _VIEWS and value not in ("null", UNANSWERED, 0)):
            yield f"{variable_text(system, variable)} = {value_text(value)}"


_VIEWS: Final = ("view", "standing", "clock")
"""What an agent sees of commitments and claims."""


def _step_name(step: Step, agent: Agent) -> str:
    if step.kind == "exchange":
        return f"{'send' if step.actor == agent.name else 'receive'} {step.name.removeprefix('exchange ')}"
    return step.name


# --- a commitment


def lifecycle_graph(system: System, one: Commitment | Claim, title: str) -> Graph:
    """Return the states that a commitment or claim comes to, its standings beside them, and the steps between them."""
    dialogue = [name for name in (standing_of(one.name), argument_of(one.name)) if name in system.variable]
    projected = projected_graph(system, [one.variable, *dialogue])
    values = [str(look[one.variable]) for look in projected.looks]
    starts = set(values[: projected.first])
    edges = [
        Edge(values[source], values[target], (projected.system.steps[step].name,))
        for source, step, target in projected.steps
        if values[source] != values[target]
    ]
    nodes = [Node(value, (value,), "round", is_initial=value in starts) for value in dict.fromkeys(values)]
    parties = (one.maker, one.addressee) if isinstance(one, Claim) else (one.debtor, one.creditor)
    legend = (
        f"{one.name}, {parties[0]} to {parties[1]}: {_content(system, one)}. Arrows say which steps change its state."
    )
    if dialogue:
        standings, moves = _standings(system, one, projected)
        nodes += standings
        edges += moves
        legend += " Dashed ones say which change its standing while it is open; the two are independent."
    left_out = () if projected.is_complete else ("what happens late: there are more states than can be looked at",)
    return fold_families(Graph(title, legend, tuple(nodes), merge_parallel_edges(edges), left_out), family)


def _standings(system: System, one: Commitment | Claim, projected: ProjectedGraph) -> tuple[list[Node], list[Edge]]:
    """Return the standings of what is open, and the steps that lead from one to another."""
    texts = [standing_text(system, one.name, look) or UNANSWERED for look in projected.looks]
    is_open = [str(look[one.variable]) in _OPEN for look in projected.looks]
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


# --- who owes whom


def obligations_graph(system: System, title: str, state: State | None = None) -> Graph:
    """Return who commits to whom to what, ever or, with a state of a run, there."""
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
        "An arrow goes from who commits to whom; dashed ones are claims."
        if state is None
        else "An arrow goes from who commits to whom; dashed ones owe nothing any more, or are claims."
    )
    return fold_families(Graph(title, legend, nodes, tuple(edges)), family, 24)


_OPEN: Final = ("conditional", "active", "pending", "open")


# --- what messages wait for


def message_graph(system: System, title: str) -> Graph:
    """Return which message waits for which, and which exclude each other."""
    dependencies = needs(system)
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
        "An arrow goes from a message to one that waits for it; dashed ones say that one of several is enough. "
        "Of two messages with `or` between them at most one is sent."
    )
    return fold_families(Graph(title, legend, nodes, tuple(edges)), family)
