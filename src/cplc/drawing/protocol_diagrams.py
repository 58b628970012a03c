"""Diagrams of a protocol: commitment life cycles, obligations, message dependencies."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from cplc.drawing.graph import Edge, Graph, Node, fold_families, merge_parallel_edges
from cplc.drawing.projected_graph import ProjectedGraph, projected_graph
from cplc.language.groups import members
from cplc.language.lifecycle import CLAIM_OPEN, OPEN, UNANSWERED
from cplc.logic.expressions import And, Expr, Not, Or, Read, value_text
from cplc.records import dataclass
from cplc.report.run_report import family
from cplc.report.step_text import status_text
from cplc.system.commitments import argument_of, standing_of, standing_text
from cplc.system.model import Agent, Claim, Commitment, State, Step, System
from cplc.system.printer import condition_text, content_text, expr_text

# --- Dependencies and mutual exclusion of messages, derived from the guards of send steps
#
# A guard is a conjunction. A positive copy of another message is a prerequisite, a disjunction of copies an
# alternative prerequisite. A negated copy of another message by the same sender excludes that message.


@dataclass(frozen=True, slots=True)
class MessageDependency:
    """A message with groups of prerequisites, of each of which it needs one, and the messages that exclude it."""

    name: str
    sender: str
    receivers: tuple[str, ...]
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
            receivers=tuple(dict.fromkeys(map(rename, self.receivers))),
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
            message.receivers,
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


_MAX_TEXT_LENGTH: Final = 160


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
        is_dashed = isinstance(one, Claim) or value not in (None, *_OPEN)
        edges += [Edge(by, to, lines, is_dashed=is_dashed) for by in members(source) for to in members(target)]
    nodes = tuple(Node(agent.name, (agent.name, *_powers_of(system, agent))) for agent in system.agents)
    legend = (
        "Arrows lead from debtor to creditor; dashed arrows are claims."
        if state is None
        else "Arrows lead from debtor to creditor; dashed arrows are settled commitments or claims."
    )
    return fold_families(Graph(title, legend, nodes, tuple(edges)), family, 24)


def _powers_of(system: System, agent: Agent) -> Iterator[str]:
    """Yield what the agent may do to commitments of others."""
    verbs: dict[str, dict[str, None]] = {}
    for power in system.powers:
        if power.role == agent.name:
            verbs.setdefault(power.commitment, {})[power.verb] = None
    for commitment, permitted in verbs.items():
        yield f"may {', '.join(permitted)} {commitment}"


_OPEN: Final = (*OPEN, *CLAIM_OPEN)


# --- message dependencies


def message_graph(system: System, title: str) -> Graph:
    """Return the dependencies and mutual exclusion of messages."""
    dependencies = message_dependencies(system)
    nodes = tuple(
        Node(one.name, (one.name, f"{one.sender} → {', '.join(one.receivers)}", *one.effects), is_initial=not one.after)
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
