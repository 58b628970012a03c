"""Simulation, drawings and analysis of a text: answers to the page beside its verdicts, as JSON."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, Final

from cplc.compilation import Compilation, CplCompilation
from cplc.compilation.findings import analysis_finding
from cplc.compilation.participants import AnalysisOptions, participants
from cplc.drawing.graph import Graph, graph_svg
from cplc.drawing.protocol_diagrams import lifecycle_graph, message_graph, obligations_graph
from cplc.drawing.sequence import chart_svg, protocol_chart, run_chart
from cplc.drawing.state_diagrams import local_state_graph, state_graph
from cplc.report.decision_page import fragment
from cplc.report.run_report import ENDINGS, family, run_text
from cplc.simulation.random_walk import draw
from cplc.system.model import Claim, Commitment, System

Answer = dict[str, Any]

_WITHOUT_NUMPY: Final = AnalysisOptions(sensitivity=False)
"""Sensitivities are the only part of an analysis that needs numpy, which a browser lacks."""
_ENDINGS: Final = {"limit": "the number of steps is reached"}
MAX_STEPS: Final = 200
"""Maximum number of steps of a simulated run."""


def simulated(compilation: Compilation, data: Answer) -> Answer:
    """Return a random run: its chart and its steps in words."""
    seed = int(data.get("seed") or 1)
    system = compilation.system
    steps = min(MAX_STEPS, int(data.get("steps") or 30))
    run, _ = next(draw(system, "coverage", None, seed=seed, runs=1, most=steps, keep=1))
    if run is None:
        return {"text": "There is no initial state.", "svg": ""}
    text = "".join(f"{line}\n" for line in run_text(system, run.run, length=run.length))
    title = f"{system.name}: random run {seed}"
    svg = "" if system.players else chart_svg(run_chart(system, run.run, title, family))
    count = f"{run.length:,} step{'' if run.length == 1 else 's'}"
    return {
        "summary": f"Seed {seed}: {count}; {_ENDINGS.get(run.ending, ENDINGS[run.ending])}.",
        "text": text,
        "svg": svg,
    }


def drawn(compilation: Compilation, data: Answer) -> Answer:
    """Return the drawings that there are of the text, and one of them."""
    choices = _drawings(compilation)
    chosen = data["drawing"] if data.get("drawing") in choices else next(iter(choices))
    return {"choices": list(choices), "chosen": chosen, "svg": choices[chosen]()}


def _drawings(compilation: Compilation) -> dict[str, Callable[[], str]]:
    """Return the drawings by their titles; a family stands for its first member."""
    system = compilation.system
    name = system.name
    choices: dict[str, Callable[[], str]] = {}
    if isinstance(compilation, CplCompilation):
        choices["Messages in order"] = lambda: chart_svg(protocol_chart(system, name, family))
        choices["What messages wait for"] = lambda: graph_svg(message_graph(system, f"{name}: what messages wait for"))
        if system.commitments or system.claims:
            choices["Who owes whom"] = lambda: graph_svg(obligations_graph(system, f"{name}: who owes whom"))
    agents = {family(agent.name): agent for agent in reversed(system.agents)}
    for title, agent in reversed(agents.items()):
        choices[f"Role {title}"] = _graph_of(local_state_graph, system, agent)
    declared: list[Commitment | Claim] = [*system.commitments, *system.claims]
    for title, one in reversed({family(one.name): one for one in reversed(declared)}.items()):
        choices[f"{'Claim' if isinstance(one, Claim) else 'Commitment'} {title}"] = _graph_of(
            lifecycle_graph, system, one
        )
    choices["All states"] = lambda: graph_svg(state_graph(system, name))
    return choices


def _graph_of(graph: Callable[[System, Any, str], Graph], system: System, one: Any) -> Callable[[], str]:
    return lambda: graph_svg(graph(system, one, f"{system.name}: {one.name}"))


def analyzed(compilation: Compilation, _: Answer) -> Iterator[Answer]:
    """Yield the names of the participants, and what each can count on as soon as it is computed."""
    queries = participants(compilation) if isinstance(compilation, CplCompilation) else ()
    yield {"names": [query.label for query in queries]}
    for number, query in enumerate(queries, 1):
        yield {"shown": fragment(number, analysis_finding(query, _WITHOUT_NUMPY).section())}


def encoded(
    compilation: Callable[[], Compilation],
    answers: Callable[[Compilation, Answer], Iterator[Answer]],
    request: str,
    reason: Callable[[Exception], str],
) -> Iterator[str]:
    """Yield the answers as JSON, and the reason of the end; None if there are all."""
    try:
        subject = compilation()
        if not subject.ok:
            yield json.dumps({"end": "The text has errors."})
            return
        for answer in answers(subject, json.loads(request)):
            yield json.dumps(answer)
        yield json.dumps({"end": None})
    except Exception as problem:
        yield json.dumps({"end": reason(problem)})
