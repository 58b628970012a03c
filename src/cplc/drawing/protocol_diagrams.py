"""Diagrams of a protocol: local states, commitment life cycles, obligations, message dependencies."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice
from typing import Final

from cplc.drawing.graph import Edge, Graph, Node, fold_families, merge_parallel_edges, truncate
from cplc.language.lifecycle import CLAIM_OPEN, OPEN, UNANSWERED
from cplc.logic.expressions import And, Const, Expr, Not, Or, Read, Value, conj, equal
from cplc.logic.formulas import Atom
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents
from cplc.report.run_report import family
from cplc.report.step_text import HIDDEN, acting, status_text, variable_text
from cplc.runtime.context import ResourceExhausted
from cplc.simulation.random_walk import RoundSampler
from cplc.statespace.interleaved import InterleavedRelation
from cplc.statespace.packing import Packing
from cplc.system.commitments import argument_of, standing_of, standing_text
from cplc.system.model import Agent, Claim, Commitment, State, Step, System, Variable
from cplc.system.printer import condition_text, content_text, expr_text, value_text
from cplc.system.satisfying_assignments import satisfying_assignments
from cplc.system.trace import Move

# --- Projection of the reachable states to some variables: the quotient graph of projected states


MAX_STATES: Final = 40_000
"""Maximum number of explored states."""
MAX_ROUND_STATES: Final = 5_000
"""Maximum number of explored states of a synchronous system."""


@dataclass(frozen=True)
class ProjectedGraph:
    """Projected states in order of discovery, and the transitions between them."""

    system: System
    """The component of the system that determines these variables."""
    projections: tuple[State, ...]
    first: int
    """Number of projected initial states, which come first."""
    steps: tuple[tuple[int, int, int], ...]
    """Source, position of the label, target; self-loops only of steps that write the variables."""
    is_complete: bool
    labels: tuple[str, ...]
    """The steps of the component, or the actions of an agent in a round."""


def projected_graph(
    system: System, variables: Iterable[str], limit: int = MAX_STATES, projections: int = MAX_STATES
) -> ProjectedGraph:
    """Return the projected reachable states of an interleaved system, possibly incomplete beyond the limits."""
    names = sorted(variables, key=list(system.variable).index)
    slices = IndependentComponents(system)
    about = conj(equal(Read(name), Const(system.variable[name].domain[0])) for name in names)
    part = slices.slice(slices.components_of(Atom(about, "")))
    relation = InterleavedRelation(part)
    packing, mask = relation.packing, relation.packing.mask(names)
    writing = [bool(step.writes.intersection(names)) for step in part.steps]
    starts = _starts(part, packing, limit)
    number: dict[int, int] = {}
    for state in starts[:limit]:
        number.setdefault(state & mask, len(number))
    first = len(number)
    reached = dict.fromkeys(starts[:limit])
    edges: dict[tuple[int, int, int], None] = {}
    waiting = list(reached)
    is_complete = len(starts) <= limit
    for state in waiting:
        here = number[state & mask]
        for step, target in relation.transitions(state):
            if target not in reached:
                if len(reached) >= limit or len(number) > projections:
                    is_complete = False
                    continue
                reached[target] = None
                waiting.append(target)
            successor = number.setdefault(target & mask, len(number))
            if here != successor or writing[step]:
                edges[here, step, successor] = None
    projected_states = tuple({name: packing.value(name, projection) for name in names} for projection in number)
    labels = tuple(step.name for step in part.steps)
    return ProjectedGraph(part, projected_states, first, tuple(edges), is_complete, labels)


def projected_rounds(
    system: System, variables: Iterable[str], agent: str | None, limit: int = MAX_ROUND_STATES
) -> ProjectedGraph:
    """Return the projected reachable states of a synchronous system, with the actions of one agent, or of all."""
    names = sorted(variables, key=list(system.variable).index)
    sampler = RoundSampler(system)
    domains = {variable.name: variable.initial for variable in system.variables}
    starts = list(islice(satisfying_assignments(domains, system.start), limit + 1))
    is_complete = len(starts) <= limit
    number: dict[tuple[Value, ...], int] = {}
    reached = {tuple(state.values()): state for state in starts[:limit]}
    for state in reached.values():
        number.setdefault(tuple(state[name] for name in names), len(number))
    first = len(number)
    labels: dict[str, int] = {}
    edges: dict[tuple[int, int, int], None] = {}
    waiting = list(reached.values())
    for state in waiting:
        here = number[tuple(state[name] for name in names)]
        try:
            moves = list(sampler.moves(state))
        except ResourceExhausted:
            is_complete = False
            continue
        for move in moves:
            key = tuple(move.state.values())
            if key not in reached:
                if len(reached) >= limit:
                    is_complete = False
                    continue
                reached[key] = move.state
                waiting.append(move.state)
            successor = number.setdefault(tuple(move.state[name] for name in names), len(number))
            label = labels.setdefault(_round_label(system, move, agent), len(labels))
            edges[here, label, successor] = None
    projected_states = tuple(dict(zip(names, projection, strict=True)) for projection in number)
    return ProjectedGraph(system, projected_states, first, tuple(edges), is_complete, tuple(labels))


def _round_label(system: System, move: Move, agent: str | None) -> str:
    """Return the action of an agent; without an agent, the actions of all that have a choice."""
    for player, action in zip(system.players, move.actions, strict=True):
        if player.agent == agent:
            return action
    return ", ".join(f"{player.agent}: {action}" for player, action in acting(system, move))


def _starts(system: System, packing: Packing, limit: int) -> list[int]:
    """Return initial states, at most one more than the limit."""
    states = [0]
    for variable in system.variables:
        bits = dict.fromkeys(packing.bits(variable.name, value) for value in variable.initial)
        states = [state | one for one in bits for state in states][: limit + 1]
    return states


# --- Dependencies and mutual exclusion of messages, derived from the guards of send steps
#
# A guard is a conjunction. A positive copy of another message is a prerequisite, a disjunction of copies an
# alternative prerequisite. A negated copy of another message by the same sender excludes that message.


@dataclass(frozen=True, slots=True)
class MessageDependency:
    """A message with groups of prerequisites, of each of which it needs one, and the messages that exclude it."""

    name: str
    sender: str
    receiver: str
    after: tuple[tuple[str, ...], ...]
    exclusive: tuple[str, ...]
    effects: tuple[str, ...]
    """Operations on commitments and claims."""

    @property
    def prerequisites_text(self) -> str:
        return ", ".join(" or ".join(group) for group in self.after)

    def renamed(self, rename: Callable[[str], str]) -> MessageDependency:
        after = tuple(dict.fromkeys(tuple(dict.fromkeys(map(rename, group))) for group in self.after))
        return replace(
            self,
            name=rename(self.name),
            sender=rename(self.sender),
            receiver=rename(self.receiver),
            after=tuple(group for group in after if rename(self.name) not in group),
            exclusive=tuple(one for one in dict.fromkeys(map(rename, self.exclusive)) if one != rename(self.name)),
            effects=tuple(dict.fromkeys(map(rename, self.effects))),
        )


def message_dependencies(system: System) -> tuple[MessageDependency, ...]:
    """Return the dependencies of each message, in the order of the protocol."""
    steps: dict[str, list[Step]] = {message.name: [] for message in system.messages}
    for step in system.steps:
        if step.event in steps and step.kind != "restart":
            steps[step.event].append(step)
    return tuple(
        MessageDependency(
            message.name,
            message.sender,
            message.receiver,
            tuple(
                dict.fromkeys(
                    group for step in _sendings(steps[message.name]) for group in _prerequisites(system, step)
                )
            ),
            tuple(
                dict.fromkeys(
                    one for step in _sendings(steps[message.name]) for one in _exclusive_messages(system, step)
                )
            ),
            tuple(dict.fromkeys(o.act for step in steps[message.name] for o in step.operations)),
        )
        for message in system.messages
    )


def _sendings(steps: Iterable[Step]) -> Iterator[Step]:
    return (step for step in steps if step.kind in ("send", "exchange"))


def _operands(guard: Expr) -> tuple[Expr, ...]:
    """Return the conjuncts as the guard has them; exclusions below a negated disjunction are not drawn."""
    return guard.operands if isinstance(guard, And) else (guard,)


def _prerequisites(system: System, step: Step) -> Iterator[tuple[str, ...]]:
    for part in _operands(step.guard):
        required = tuple(dict.fromkeys(one for one in _required_messages(system, part) if one != step.event))
        if required:
            yield required


def _required_messages(system: System, part: Expr) -> Iterator[str]:
    """Yield the messages of which a conjunct of a guard requires a copy."""
    match part:
        case Read(name) if system.variable[name].kind == "copy":
            yield system.variable[name].about
        case And(operands) | Or(operands):
            for operand in operands:
                yield from _required_messages(system, operand)
        case _:
            pass


def _exclusive_messages(system: System, step: Step) -> Iterator[str]:
    for part in _operands(step.guard):
        match part:
            case Not(Read(name)):
                variable = system.variable[name]
                sender = system.message[variable.about].sender if variable.about in system.message else ""
                if variable.kind == "copy" and variable.about != step.event and sender == variable.owner == step.actor:
                    yield variable.about
            case _:
                pass


def topological_order(needs: Sequence[MessageDependency]) -> tuple[MessageDependency, ...]:
    """Return the messages in topological order, with alternatives adjacent if possible.

    A dependency cycle is broken at its first message in the order of the protocol.
    """
    names = {need.name for need in needs}
    remaining = dict.fromkeys(needs)
    done: set[str] = set()
    ordered: list[MessageDependency] = []

    def is_ready(need: MessageDependency) -> bool:
        return all(any(one in done or one not in names for one in group) for group in need.after)

    while remaining:
        previous = ordered[-1] if ordered else None
        ready = [need for need in remaining if is_ready(need)] or [next(iter(remaining))]
        beside = [need for need in ready if previous is not None and need.name in previous.exclusive]
        chosen = (beside or ready)[0]
        del remaining[chosen]
        done.add(chosen.name)
        ordered.append(chosen)
    return tuple(ordered)


def alternatives(ordered: Sequence[MessageDependency]) -> tuple[tuple[MessageDependency, ...], ...]:
    """Return groups of adjacent, mutually exclusive messages."""
    groups: list[list[MessageDependency]] = []
    for need in ordered:
        if groups and all(need.name in one.exclusive and one.name in need.exclusive for one in groups[-1]):
            groups[-1].append(need)
        else:
            groups.append([need])
    return tuple(map(tuple, groups))


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
    legend = f"{one.name}, {' to '.join(one.parties)}: {_content(system, one)}. Arrows are steps that change its state."
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
        source, target = one.parties
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
