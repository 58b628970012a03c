"""Social commitment judged by every run, one by one, on protocols in which nothing comes back.

Such a run takes finitely many steps and idles forever; it is fair if no receipt, restart or tick is left. Whether it
keeps a promise is read off the lifecycle of the commitment, state by state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.properties.test_lowering_matches_reference import HOLDS, compiled
from tests.reference.lifecycle import OPEN
from tests.reference.promises import is_in_force, is_kept
from tests.reference.semantics import Reference
from tests.reference.states import Graph, TooLarge, World
from tests.support.generators.property_formulas import ends, instances
from tests.support.generators.protocol_drafts import Plan, text_of
from tests.support.generators.protocols import plans
from tests.support.oracles import lasso_words
from tests.support.random_examples import examples

from cplc.logic import formulas as f
from cplc.logic.expressions import TRUE
from cplc.semantics import terms as t

STATES = 60
RUNS = 2_000
Run = tuple[int, ...]


def content(draw: st.DrawFn, atoms: Sequence[str]) -> f.Formula:
    """Draw a path formula that no idle step changes."""
    p, q = (f.Atom(TRUE, draw(st.sampled_from(atoms))) for _ in range(2))
    shapes: tuple[f.Formula, ...] = (
        f.Finally(p), f.Globally(f.Not(p)), f.Until(f.Not(p), q), f.Finally(f.And((p, f.Finally(q)))),
        f.Implies(f.Finally(p), f.Finally(q)), f.Or((f.Finally(p), f.Globally(f.Not(q)))), f.Not(f.Finally(q)),
    )  # fmt: skip
    return draw(st.sampled_from(shapes))


def written(formula: f.Formula) -> str:
    match formula:
        case f.Atom(_, text):
            return text
        case f.Finally(operand):
            return f"F ({written(operand)})"
        case f.Globally(operand):
            return f"G ({written(operand)})"
        case f.Not(operand):
            return f"!({written(operand)})"
        case f.Until(left, right):
            return f"(({written(left)}) U ({written(right)}))"
        case f.And((left, right)):
            return f"({written(left)}) & ({written(right)})"
        case f.Or((left, right)):
            return f"({written(left)}) | ({written(right)})"
        case f.Implies(left, right):
            return f"(({written(left)}) -> ({written(right)}))"
        case _:
            raise AssertionError(formula)


def runs_from(graph: Graph, state: int, moving: Sequence[bool]) -> Iterator[Run]:
    """Yield every fair run without its idle steps; the last state stays."""
    pending: list[Run] = [(state,)]
    while pending:
        run = pending.pop()
        if not moving[run[-1]]:
            yield run
        pending += [(*run, target) for target in {target for _, target in graph.steps[run[-1]]} - {run[-1]}]


def is_acyclic(graph: Graph) -> bool:
    left = [{target for _, target in steps} - {n} for n, steps in enumerate(graph.steps)]
    gone: set[int] = set()
    while True:
        ending = {n for n, targets in enumerate(left) if n not in gone and targets <= gone}
        if not ending:
            return len(gone) == len(left)
        gone |= ending


def keeps(reference: Reference, run: Sequence[World], name: str, *, offered: bool) -> bool:
    """True if the run keeps a commitment that binds where it begins."""
    for world in run:
        state = world.env[name].state
        if state == "fulfilled" or (offered and state == "expired"):
            return True
        if state not in OPEN:
            return False
    last = run[-1]
    return (is_in_force(last, name) and is_kept(reference, last, name)) or (offered and not is_in_force(last, name))


Question = tuple[Plan, tuple[str, str], f.Formula, str | None]
"""A protocol, debtor and creditor, the content and what `SCc` depends on."""


@st.composite
def questions(draw: st.DrawFn) -> Question:
    plan = draw(plans().filter(lambda plan: bool(plan.commitments)))
    declared = draw(st.sampled_from(plan.commitments))
    atoms = [name for message in plan.messages for name in instances(message)]
    trigger = draw(st.sampled_from([None, None, *atoms]))
    return plan, ends(declared, draw(st.sampled_from(instances(declared)))), content(draw, atoms), trigger


@examples(60)
@given(questions())
def test_social_commitments_match_enumerated_runs(question: Question) -> None:
    plan, pair, operand, trigger = question
    word = f"SC({' -> '.join(pair)}, " if trigger is None else f"SCc({' -> '.join(pair)}, {trigger}, "
    tail = [f"property p0: EF {word}{written(operand)})", f"property p1: EF ({word}true) & !{word}{written(operand)}))"]
    text = text_of(plan, tail)
    note(text)
    compilation = compiled(text)
    reference = Reference(compilation.model)
    try:
        graph = reference.explore(STATES)
    except TooLarge:
        assume(False)
        raise
    assume(not reference.out_of_range and len(graph.initial) == 1 and is_acyclic(graph))
    able, promised = judged(reference, graph, pair, operand, trigger)
    expected = bool(promised), bool(able - promised)
    for engine in ("explicit", "symbolic", "onthefly"):
        results = compilation.verify(compilation.questions(["p0", "p1"]), engine)
        assert tuple(HOLDS[result.answer] for result in results) == expected, engine


def judged(
    reference: Reference, graph: Graph, pair: tuple[str, str], operand: f.Formula, trigger: str | None
) -> tuple[set[int], set[int]]:
    """Return where the debtor is bound and can keep its word, and where this comes to the operand."""
    worlds = [reference.world(state) for state in graph.states]
    must = ("receive", "restart", "tick")
    moving = [any(move.kind in must and to != n for move, to in steps) for n, steps in enumerate(graph.steps)]
    names = [one.name for one in reference.model.commitments if (one.debtor, one.creditor) == pair]
    able, promised = set(), set()
    counted = 0
    for state, world in enumerate(worlds):
        offered = [name for name in names if trigger is not None and world.env[name].state == "conditional"]
        binding = [name for name in names if is_in_force(world, name) or name in offered]
        values = []
        for run in runs_from(graph, state, moving):
            counted += 1
            assume(counted < RUNS)
            passed = [worlds[n] for n in run]
            if not all(keeps(reference, passed, name, offered=trigger is not None) for name in binding):
                continue

            if trigger is None or is_so(reference, passed, f.Finally(f.Atom(TRUE, trigger))):
                values.append(is_so(reference, passed, operand))
        if binding and values:
            able.add(state)
            promised |= {state} if all(values) else set()
    return able, promised


def is_so(reference: Reference, passed: Sequence[World], path: f.Formula) -> bool:
    """True if a run that stays where it ends satisfies a path formula."""

    def seen(formula: f.Formula, position: int) -> bool:
        match formula:
            case f.Atom(_, text):
                return reference.holds(t.Happened(text), passed[min(position, len(passed) - 1)])
            case f.Not(operand):
                return not seen(operand, position)
            case _:
                raise AssertionError(formula)

    return lasso_words.holds(path, len(passed), 1, seen)
