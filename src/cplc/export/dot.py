"""Export to Graphviz: agents, messages and commitments, or the state space."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, product
from typing import Final

from cplc.export.request import CannotExport, Export, Request
from cplc.export.templating import header_lines, render
from cplc.logic.expressions import Value, value_text
from cplc.records import dataclass
from cplc.system.interpreter import Interpreter
from cplc.system.model import Message, State, System
from cplc.system.printer import condition_text, content_text, expr_text
from cplc.system.satisfying_assignments import satisfying_assignments

# --- Bounded breadth-first exploration of the reachable states, for drawings


_MAX_EDGES: Final = 1_000_000
"""Maximum number of transitions."""

Values = tuple[Value, ...]
"""A state: the value of each variable, in the order of the system."""


@dataclass(frozen=True, slots=True)
class StateGraph:
    """Reachable states in the order of their distance from the initial ones."""

    initial: tuple[Values, ...]
    states: tuple[Values, ...]
    edges: tuple[tuple[Values, str, Values], ...]
    """Transitions from these states, also to unexplored ones, with the names of steps; no idle steps.

    A round is named by the actions of agents that have a choice.
    """
    complete: bool
    """All reachable states were explored."""


def explore(system: System, max_states: int) -> StateGraph:
    """Return up to ``max_states`` states and their outgoing transitions."""
    names, interpreter = [variable.name for variable in system.variables], Interpreter(system)
    initial = satisfying_assignments({variable.name: variable.initial for variable in system.variables}, system.start)
    starts = tuple(tuple(state.values()) for state in islice(initial, max_states + 1))
    reached = dict.fromkeys(starts[:max_states])
    waiting = deque(reached)
    edges: list[tuple[Values, str, Values]] = []
    complete = len(starts) <= max_states
    while waiting:
        values = waiting.popleft()
        before = dict(zip(names, values, strict=True))
        ahead = list(islice(_successors(interpreter, before), _MAX_EDGES - len(edges) + 1))
        if len(edges) + len(ahead) > _MAX_EDGES:
            raise CannotExport(f"there are more than {_MAX_EDGES:,} transitions, too many for a drawing")
        for name, after in ahead:
            target = tuple(after[name] for name in names)
            edges.append((values, name, target))
            if target not in reached and len(reached) < max_states:
                reached[target] = None
                waiting.append(target)
            complete = complete and target in reached
    return StateGraph(starts[:max_states], tuple(reached), tuple(edges), complete)


def _successors(interpreter: Interpreter, before: State) -> Iterator[tuple[str, State]]:
    """Yield the successors of a state with the names of steps or rounds."""
    system = interpreter.system
    for number, step in enumerate(system.steps):
        yield from ((step.name, after) for after in interpreter.after(before, number))
    if system.players:
        allowed = [interpreter.allowed(player, before) for player in system.players]
        for actions in product(*allowed):
            done = [
                f"{player.agent}: {action}"
                for player, action, choices in zip(system.players, actions, allowed, strict=True)
                if len(choices) > 1
            ]
            yield from ((", ".join(done) or "next", after) for after in interpreter.after_round(before, actions))


MAX_DRAWN_STATES: Final = 200
"""Maximum number of states that are drawn individually."""
MAX_EXPLORED_STATES: Final = 10_000
"""Maximum number of states that are explored."""


@dataclass(frozen=True, slots=True)
class Node:
    name: str
    lines: tuple[str, ...]
    style: str


@dataclass(frozen=True, slots=True)
class Edge:
    source: str
    target: str
    lines: tuple[str, ...] = ()
    style: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    remark: str
    nodes: Sequence[Node]
    edges: Sequence[Edge]
    left_out: tuple[str, ...] = ()


def export(request: Request) -> Export:
    """Return the drawing, without formulas; a model in ISPL is always drawn as its state space."""
    drawn = request.states or request.system.is_synchronous
    drawing = _states(request.system) if drawn else _overview(request.system)
    text = render(
        "dot.j2",
        header=header_lines(request, (drawing.remark,), drawing.left_out),
        name=request.system.name,
        drawing=drawing,
        quoted=quoted,
    )
    return Export(text, drawing.left_out, comment="//")


def quoted(*lines: str) -> str:
    """Return the lines as one string of DOT."""
    escaped = (line.replace("\\", "\\\\").replace('"', '\\"') for line in lines)
    return '"{}"'.format("\\n".join(escaped))


# --- agents, messages and commitments


def _overview(system: System) -> Drawing:
    return Drawing(
        "Boxes are agents, rounded boxes commitments and claims. Solid arrows lead from the sender to the message and "
        "on to the receiver; dashed arrows show its operations on commitments and claims."
        + (" Dotted arrows show powers of third parties." if system.powers else ""),
        [*_agents(system), *_standings(system), *_messages(system)],
        [*power_edges(system), *(edge for message in system.messages for edge in _message_edges(system, message))],
    )


def _agents(system: System) -> Iterator[Node]:
    for agent in system.agents:
        yield Node(f"agent {agent.name}", (agent.name,), "shape=box, style=bold")


def _standings(system: System) -> Iterator[Node]:
    for one in system.commitments:
        limits = [
            f"{word} {'at most ' if f'{one.variable}.{word}' in system.variable else ''}{n}"
            for word, n in (("within", one.within), ("expires", one.expires))
            if n is not None
        ]
        what = f"{_short(condition_text(system, one.antecedent))} ⇒ {_short(content_text(system, one))}"
        lines = (one.name, f"{one.debtor} → {one.creditor}", what, *limits)
        yield Node(one.name, lines, "shape=box, style=rounded")
    for claim in system.claims:
        lines = (claim.name, f"{claim.maker} → {claim.addressee}", _short(claim.formula or expr_text(claim.content)))
        yield Node(claim.name, lines, 'shape=box, style="rounded,dashed"')


def power_edges(system: System) -> Iterator[Edge]:
    """Yield dotted arrows from roles to the commitments of others that they have powers over."""
    verbs: dict[tuple[str, str], dict[str, None]] = {}
    for power in system.powers:
        verbs.setdefault((power.role, power.commitment), {})[f"may {power.verb}"] = None
    for (role, commitment), permitted in verbs.items():
        yield Edge(f"agent {role}", commitment, tuple(permitted), "style=dotted")


def _messages(system: System) -> Iterator[Node]:
    for message in system.messages:
        text = f"{message.name}({', '.join(message.parameters)})" if message.parameters else message.name
        yield Node(f"message {message.name}", (text,), "shape=plaintext")


def _message_edges(system: System, message: Message) -> Iterator[Edge]:
    name = f"message {message.name}"
    yield Edge(f"agent {message.sender}", name, style="arrowhead=none")
    yield from (Edge(name, f"agent {receiver}") for receiver in message.receivers)
    done: dict[str, dict[str, None]] = {}
    for step in system.steps:
        for operation in step.operations if step.event == message.name and step.kind != "restart" else ():
            joined = f" {operation.joined} {operation.target}" if operation.target is not None else ""
            done.setdefault(operation.commitment, {})[f"{operation.verb}{joined}"] = None
    for one, verbs in done.items():
        yield Edge(name, one, tuple(verbs), "style=dashed")


def _short(text: str, most: int = 40) -> str:
    return text if len(text) <= most else f"{text[: most - 1].rstrip()}…"


# --- reachable states


def _states(system: System) -> Drawing:
    graph = explore(system, MAX_EXPLORED_STATES)
    if graph.complete and len(graph.states) <= MAX_DRAWN_STATES:
        return _state_drawing(system, graph)
    alike = _quotient_drawing(system, graph) if graph.complete else None
    if alike is not None:
        return alike
    first = StateGraph(
        graph.initial[:MAX_DRAWN_STATES],
        graph.states[:MAX_DRAWN_STATES],
        tuple(edge for edge in graph.edges if edge[0] in set(graph.states[:MAX_DRAWN_STATES])),
        complete=False,
    )
    total = f"{len(graph.states):,}" if graph.complete else f"more than {MAX_EXPLORED_STATES:,}"
    return _state_drawing(system, first, (f"all states but the first {MAX_DRAWN_STATES} of {total}",))


_STEPS_REMARK: Final = (
    "Boxes are reachable states, labelled by the differences from the initial values: `m@A` means that A has its "
    "copy of m, `m` that all agents have theirs. A black point leads to the initial states. The idle step, enabled in "
    "every state, is omitted."
)
_ROUNDS_REMARK: Final = (
    "Boxes are reachable states, labelled by the differences from the initial values. A black point leads to the "
    "initial states. Arrows show the actions of the agents that have a choice."
)


def _state_drawing(system: System, graph: StateGraph, left_out: tuple[str, ...] = ()) -> Drawing:
    number = {state: str(n) for n, state in enumerate(graph.states)}
    fixed = [variable.initial[0] if len(variable.initial) == 1 else None for variable in system.variables]
    nodes = [Node(name, _differences(system, state, fixed), "shape=box") for state, name in number.items()]
    steps: dict[tuple[str, str], dict[str, None]] = {}
    for source, step, target in graph.edges:
        steps.setdefault((number[source], number.get(target, "more")), {})[step] = None
    if any(target == "more" for _, target in steps):
        nodes.append(Node("more", ("…",), "shape=plaintext"))
    return Drawing(
        _ROUNDS_REMARK if system.is_synchronous else _STEPS_REMARK,
        [*nodes, _INITIAL_NODE],
        [*_initial_edges(number[state] for state in graph.initial), *_steps(steps)],
        left_out,
    )


def _quotient_drawing(system: System, graph: StateGraph) -> Drawing | None:
    """Draw the quotient by equal commitments and claims, unless it is trivial or too large."""
    standing = [n for n, variable in enumerate(system.variables) if variable.kind in ("commitment", "claim")]

    def part(state: Values) -> Values:
        return tuple(state[n] for n in standing)

    members: dict[Values, int] = {}
    for state in graph.states:
        members[part(state)] = members.get(part(state), 0) + 1
    if not 1 < len(members) <= MAX_DRAWN_STATES:
        return None
    number = {values: str(n) for n, values in enumerate(members)}
    names = [system.variables[n].name for n in standing]
    steps: dict[tuple[str, str], dict[str, None]] = {}
    for source, step, target in graph.edges:
        if part(source) != part(target):
            steps.setdefault((number[part(source)], number[part(target)]), {})[step] = None
    nodes = [
        Node(
            number[values],
            (*(f"{name} = {value_text(value)}" for name, value in zip(names, values, strict=True)), _count(size)),
            "shape=box",
        )
        for values, size in members.items()
    ]
    return Drawing(
        "Boxes are classes of reachable states with equal commitments and claims. An arrow means that the step leads "
        "from some state of one class to some state of the other. Steps that change no commitment or claim are "
        "omitted.",
        [*nodes, _INITIAL_NODE],
        [*_initial_edges(dict.fromkeys(number[part(state)] for state in graph.initial)), *_steps(steps)],
        (f"differences between the {len(graph.states):,} states other than commitments and claims",),
    )


_INITIAL_NODE: Final = Node("begin", (), "shape=point")


def _initial_edges(targets: Iterable[str]) -> Iterator[Edge]:
    return (Edge("begin", target) for target in targets)


def _steps(steps: dict[tuple[str, str], dict[str, None]]) -> Iterator[Edge]:
    return (Edge(source, target, tuple(names)) for (source, target), names in steps.items())


def _count(states: int) -> str:
    return f"{states:,} states" if states != 1 else "1 state"


def _differences(system: System, state: Values, fixed: Sequence[Value | None]) -> tuple[str, ...]:
    lines: dict[str, None] = {}
    everywhere = _received(system, state)
    for variable, value, usual in zip(system.variables, state, fixed, strict=True):
        if usual is not None and value == usual:
            continue
        match value:
            case True if variable.about in everywhere and variable.kind == "copy":
                lines[variable.about] = None
            case bool():
                lines[variable.name if value else f"!{variable.name}"] = None
            case _:
                lines[f"{variable.name} = {value_text(value)}"] = None
    return tuple(lines)


def _received(system: System, state: Values) -> set[str]:
    """Return the messages of which every agent has its copy."""
    copies = [(v.about, value) for v, value in zip(system.variables, state, strict=True) if v.kind == "copy"]
    return {about for about, _ in copies} - {about for about, value in copies if value is False}
