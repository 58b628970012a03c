"""DOT drawings are parsed by pydot and show the whole system."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pydot
import pytest
from hypothesis import given
from tests.support.generators.systems import systems
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation, load
from cplc.export import Origin, Request, export
from cplc.export.dot import MAX_DRAWN_STATES, quoted
from cplc.system.model import System

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated - use:DeprecationWarning")  # pydot's own calls

_ROOT = Path(__file__).parents[2]
_FILES = sorted((*_ROOT.glob("examples/*.cpl"), *_ROOT.glob("tests/cases/*.cpl")))


def _system(path: Path) -> System:
    compilation = load(str(path))
    assert isinstance(compilation, CplCompilation)
    return compilation.system


def _drawn(system: System, *, states: bool) -> tuple[pydot.Dot, tuple[str, ...]]:
    exported = export("dot", Request(system, (), Origin("a.cpl", "0"), states))
    graphs = pydot.graph_from_dot_data(exported.text)
    assert graphs is not None
    assert len(graphs) == 1
    return graphs[0], exported.notes


def _label(item: pydot.Node | pydot.Edge) -> str:
    return str(item.get("label") or "").strip('"')


def _nodes(graph: pydot.Dot) -> dict[str, pydot.Node]:
    return {node.get_name(): node for node in graph.get_nodes() if node.get_name() not in ("node", "edge")}


@pytest.mark.parametrize("path", _FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_agents_messages_and_commitments_are_drawn(path: Path) -> None:
    system = _system(path)
    graph, notes = _drawn(system, states=False)
    assert notes == ()
    names = {f'"agent {agent.name}"' for agent in system.agents}
    names |= {f'"message {message.name}"' for message in system.messages}
    names |= {f'"{commitment.name}"' for commitment in system.commitments}
    names |= {f'"{claim.name}"' for claim in system.claims}
    assert set(_nodes(graph)) == names
    edges = {(edge.get_source(), edge.get_destination()) for edge in graph.get_edges()}
    for message in system.messages:
        assert (f'"agent {message.sender}"', f'"message {message.name}"') in edges
        assert all((f'"message {message.name}"', f'"agent {one}"') in edges for one in message.receivers)
    touched = {
        (f'"message {step.event}"', f'"{operation.commitment}"')
        for step in system.steps
        if step.kind != "restart"
        for operation in step.operations
    }
    powers = {(f'"agent {power.role}"', f'"{power.commitment}"') for power in system.powers}
    sent_and_received = sum(1 + len(message.receivers) for message in system.messages)
    assert len(edges) == sent_and_received + len(touched) + len(powers)
    assert touched | powers <= edges


@examples(20)
@given(systems(states=24))
def test_every_state_and_step_is_drawn(system: System) -> None:
    graph, notes = _drawn(system, states=True)
    naive = Naive(system)
    assert notes == ()
    assert len(_nodes(graph)) == len(naive.reachable) + 1
    drawn = Counter(
        name for edge in graph.get_edges() if edge.get_source() != '"begin"' for name in _label(edge).split("\\n")
    )
    taken = Counter(system.steps[step].name for edges in naive.edges.values() for step, _ in edges)
    assert drawn == taken
    begin = {edge.get_destination() for edge in graph.get_edges() if edge.get_source() == '"begin"'}
    assert len(begin) == len(naive.initial)


def test_large_state_space_drawn_as_quotient() -> None:
    compilation = load(str(_ROOT / "examples" / "netbill.cpl"), {"customers": "2"})
    assert isinstance(compilation, CplCompilation)
    graph, notes = _drawn(compilation.system, states=True)
    assert notes == ("differences between the 441 states other than commitments and claims",)
    sizes = [int(_label(node).split("\\n")[-1].split()[0]) for node in _nodes(graph).values() if _label(node)]
    assert sum(sizes) == 441


def test_trivial_quotient_replaced_by_first_states() -> None:
    graph, notes = _drawn(_system(_ROOT / "examples" / "dining_cryptographers.cpl"), states=True)
    assert notes == ("all states but the first 200 of 868",)
    assert len(_nodes(graph)) == MAX_DRAWN_STATES + 2
    assert any(edge.get_destination() == '"more"' for edge in graph.get_edges())


def test_strings_are_quoted() -> None:
    assert quoted('say "so"', "back\\slash") == '"say \\"so\\"\\nback\\\\slash"'


@pytest.mark.parametrize("states", [False, True])
def test_text(states: bool, update_golden: bool) -> None:
    folder = _ROOT / "tests" / "golden" / "export"
    system = _system(folder / "trade.cpl")
    text = export("dot", Request(system, (), Origin("trade.cpl", "1.0"), states)).text
    golden = folder / ("trade_async.states.dot" if states else "trade_async.dot")
    if update_golden:
        golden.write_text(text, encoding="utf-8")
    assert text == golden.read_text(encoding="utf-8")
