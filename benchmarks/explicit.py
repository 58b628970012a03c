"""Measure the explicit engine: ``python -m benchmarks.explicit [largest number of states]``.

Prints, for systems of growing size, the time to enumerate the reachable states and to decide one formula of each
kind, and the memory used so far.
"""

from __future__ import annotations

import resource
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from time import process_time

from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Fulfils
from cplc.logic.expressions import Arith, Const, Equal, Expr, Less, Read, conj, negate
from cplc.source import Source
from cplc.system.commitments import shared_variables
from cplc.system.model import Agent, Justice, Shared, Step, System, Variable


def counters(number: int, size: int) -> System:
    """Return independent counters modulo ``size``, each turned by an agent of its own."""
    names = [f"count@{index}" for index in range(number)]
    domain = tuple(range(size))
    return System(
        f"{number} counters modulo {size}",
        (),
        tuple(Variable(name, domain, (0,), "own", f"A[{index}]", name) for index, name in enumerate(names)),
        tuple(Agent(f"A[{index}]", "A", (name,)) for index, name in enumerate(names)),
        (),
        (),
        (),
        tuple(
            Step(
                f"turn {name}",
                "send",
                f"A[{index}]",
                name,
                (),
                Less(Read(name), Const(size)),
                ((name, Arith("%", Arith("+", Read(name), Const(1)), Const(size))),),
            )
            for index, name in enumerate(names)
        ),
        tuple(Justice(f"turn {name}", (index,), None) for index, name in enumerate(names)),
        (),
    )


def rings(number: int, messages: int) -> System:
    """Return pairs of a client and the server that send each other messages in turn, one in flight at a time."""
    variables: list[Variable] = []
    shared: list[Shared] = []
    steps: list[Step] = []
    for pair in range(number):
        client = f"C[{pair}]"
        copies = [(f"m{index}[{pair}]@{client}", f"m{index}[{pair}]@S") for index in range(messages)]
        for index, (ours, theirs) in enumerate(copies):
            variables += [
                Variable(ours, (False, True), (False,), "copy", client, f"m{index}[{pair}]"),
                Variable(theirs, (False, True), (False,), "copy", "S", f"m{index}[{pair}]"),
            ]
            shared.append(Shared(client, "S", ours, theirs))
            sent, received = (ours, theirs) if index % 2 == 0 else (theirs, ours)
            before = [Read(copies[index - 1][index % 2 == 0])] if index else []
            idle = [_no_difference(*pair_of_copies) for pair_of_copies in copies]
            guard = conj([*before, *idle, negate(Read(sent))])
            name = f"m{index}[{pair}]"
            actor, other = (client, "S") if index % 2 == 0 else ("S", client)
            steps += [
                Step(f"send {name}", "send", actor, name, (), guard, ((sent, Const(True)),)),
                Step(
                    f"receive {name}",
                    "receive",
                    other,
                    name,
                    (),
                    conj((Read(sent), negate(Read(received)))),
                    ((received, Const(True)),),
                ),
            ]
        everything = [name for copy in copies for name in copy]
        steps.append(
            Step(
                f"restart {pair}",
                "restart",
                "Env",
                str(pair),
                (),
                conj(Read(name) for name in copies[-1]),
                tuple((name, Const(False)) for name in everything),
            )
        )
    agents = [Agent("S", "S", tuple(v.name for v in variables if v.owner == "S"))]
    agents += [
        Agent(f"C[{pair}]", "C", tuple(v.name for v in variables if v.owner == f"C[{pair}]")) for pair in range(number)
    ]
    justice = tuple(
        Justice(step.name, (index,), step.actor if step.kind == "send" else None) for index, step in enumerate(steps)
    )
    return System(
        f"{number} pairs, {messages} messages each",
        (),
        tuple(variables),
        tuple(agents),
        tuple(shared),
        (),
        (),
        tuple(steps),
        justice,
        (),
    )


def _no_difference(one: str, other: str) -> Expr:
    return Equal(Read(one), Read(other))


def questions(system: System) -> Iterator[tuple[str, f.Formula]]:
    """Yield a formula of each kind, over the last variable."""
    variable = system.variables[-1]
    last = f.Atom(Equal(Read(variable.name), Const(variable.domain[-1])), "last")
    yield "EF", f.OnPaths("E", f.Finally(last))
    yield "AF", f.OnPaths("A", f.Finally(last))
    yield "AX", f.OnPaths("A", f.Next(last))
    yield "EGF", f.OnPaths("E", f.Globally(f.Finally(last)))
    yield "AFG", f.OnPaths("A", f.Finally(f.Globally(last)))
    yield "K", f.Knows("each", (system.agents[0].name,), last)
    yield "CK", f.Knows("common", tuple(agent.name for agent in system.agents), f.Not(last))
    for pair in system.shared[:1]:
        ours, theirs = (system.agent[name].local for name in (pair.first, pair.second))
        copies = system.shared_between(pair.first, pair.second)
        channel = shared_variables(f"{pair.first} -> {pair.second}", ours, theirs, copies)
        yield "C", Commits(channel, last)
        yield "Fu", Fulfils(channel, last)


def timed(action: Callable[[], object]) -> float:
    begin = process_time()
    action()
    return process_time() - begin


def report(system: System, assuming: frozenset[str]) -> None:
    engine = ExplicitEngine(system)
    seconds = timed(lambda: engine.reachable)
    states = engine.count(engine.reachable)
    print(f"{system.name}: {states:,} states in {seconds:.2f} s, {states / seconds:,.0f} states/s")
    for name, formula in questions(system):
        seconds = timed(lambda formula=formula: engine.satisfying(formula, assuming))  # type: ignore[misc]
        print(f"    {name:3} {seconds:6.2f} s")
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"    {used:,.0f} MB at most so far")


def netbill(customers: int) -> System:
    path = Path(__file__).parents[1] / "examples" / "netbill.cpl"
    source = Source(path.name, path.read_text(encoding="utf-8"))
    return CplCompilation(source, path, {"customers": str(customers)}).system


def systems() -> Iterator[tuple[int, System]]:
    yield 10_000, counters(4, 10)
    yield 83_521, rings(4, 8)
    yield 194_481, netbill(4)
    yield 100_000, counters(5, 10)
    yield 1_000_000, counters(6, 10)
    yield 1_419_857, rings(5, 8)


def main() -> None:
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else 1_500_000
    for size, system in systems():
        if size <= largest:
            report(system, frozenset(agent.name for agent in system.agents))


if __name__ == "__main__":
    main()
