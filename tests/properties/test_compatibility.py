"""Differences between a protocol and a mutant are those that the reference interpreter has, trace by trace."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import islice

from hypothesis import assume, given, note
from hypothesis import strategies as st
from tests.support.generators.property_formulas import Sample, protocols
from tests.support.random_examples import examples

from cplc.compatibility.compare import compare
from cplc.compatibility.matching import Match
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.lowering.lower import lower
from cplc.mutation.mutants import mutants
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.system.interpreter import Interpreter, Key, holds, key
from cplc.system.model import State, Step, System
from cplc.system.trace import Run

STATES = 400
DEPTH = 5
Label = tuple[object, ...]


class Traces:
    """The states that a system may be in after what was seen, straight from its meaning."""

    def __init__(self, system: System, *, is_timed: bool, hidden: str = "") -> None:
        self.system = system
        self.label_of = partial(label_of, system, hidden)
        self._interpreter = Interpreter(system)
        self._stands_still = is_timed and all(step.kind != "tick" for step in system.steps)

    def start(self) -> dict[Key, State]:
        return self._closed(self._interpreter.initial_states())

    def after(self, states: dict[Key, State]) -> dict[Label, dict[Key, State]]:
        by_label: dict[Label, list[State]] = {}
        for state in states.values():
            for number, step in enumerate(self.system.steps):
                if self.label_of(step):
                    for target in self._interpreter.after(state, number):
                        by_label.setdefault(self.label_of(step), []).append(target)
        if self._stands_still:
            by_label["tick",] = list(states.values())
        return {label: self._closed(targets) for label, targets in by_label.items()}

    def _closed(self, states: Iterable[State]) -> dict[Key, State]:
        closure = {key(state): state for state in states}
        waiting = list(closure.values())
        while waiting:
            state = waiting.pop()
            for number, step in enumerate(self.system.steps):
                if not self.label_of(step):
                    for target in self._interpreter.after(state, number):
                        if key(target) not in closure:
                            closure[key(target)] = target
                            waiting.append(target)
        return closure


def label_of(system: System, hidden: str, step: Step) -> Label:
    """Return what is seen of a step: nothing of restarts, faults of channels and what a hidden role sends or receives.

    Of a message to several receivers, those that are not hidden see their receipts.
    """
    message = system.message.get(step.event)
    if message is not None:
        receivers = (step.actor,) if step.kind == "receive" else message.receivers
        if hidden in (message.sender, *receivers):
            return ()
    match step.kind:
        case "restart" | "lose" | "duplicate":
            return ()
        case "tick":
            return ("tick",)
        case _:
            return (step.kind, step.event, step.payload, step.actor)


def is_weaker(new: object, old: object) -> bool:
    """True if a commitment in the old state is not kept by one in the new state."""
    match old:
        case "conditional":
            return new not in ("conditional", "active", "on course", "violated")
        case "active":
            return new not in ("active", "violated")
        case "on course":
            return new not in ("on course", "active", "violated")
        case "pending":
            return new not in ("pending", "conditional", "active", "on course", "violated")
        case "violated":
            return new != "violated"
        case _:
            return False


def strength(system: System, name: str, state: State) -> object:
    """Return the lifecycle state, or that nothing is owed if nothing more happens."""
    commitment = system.commitment[name]
    value = state[commitment.variable]
    return "on course" if value == "active" and holds(commitment.on_course, state) else value


def weakened(old: System, new: System, here: State, states: dict[Key, State], hidden: str) -> Iterator[str]:
    for commitment in old.commitments:
        name = commitment.name
        if hidden not in (commitment.debtor, commitment.creditor) and all(
            is_weaker(strength(new, name, here), strength(old, name, other_state)) for other_state in states.values()
        ):
            yield name


def labels(here: Traces, run: Run) -> list[Label]:
    steps = here.system.steps
    run_labels = [("tick",) if move.step is None else here.label_of(steps[move.step]) for move in run.moves]
    return [label for label in run_labels if label]


def check_run(run: Run, here: Traces, reference: Traces) -> tuple[bool, dict[Key, State]]:
    """Return whether the other system can do all of it, and the states it is in before it cannot, or at the end."""
    states = reference.start()
    run_labels = labels(here, run)
    for position, label in enumerate(run_labels, 1):
        following = reference.after(states)
        if label not in following:
            assert position == len(run_labels), "the run goes on beyond what cannot be done"
            return False, states
        states = following[label]
    return True, states


def pairs(here: Traces, reference: Traces) -> Iterator[tuple[dict[Key, State], dict[Key, State], int]]:
    """Yield the sets of states after each common trace that is short, shortest first."""
    level = [(here.start(), reference.start())]
    visited_pairs: set[tuple[frozenset[Key], frozenset[Key]]] = set()
    for depth in range(DEPTH):
        following = []
        for mine, theirs in level:
            if (both := (frozenset(mine), frozenset(theirs))) in visited_pairs:
                continue
            visited_pairs.add(both)
            yield mine, theirs, depth
            possible = reference.after(theirs)
            following += [(mine, possible[label]) for label, mine in here.after(mine).items() if label in possible]
        level = following


def check(old: System, new: System, hidden: str = "") -> None:
    differences = compare(Match(old, new, {hidden: "Nobody"} if hidden else {}))
    is_timed = any(step.kind == "tick" for system in (old, new) for step in system.steps)
    before, after = (Traces(system, is_timed=is_timed, hidden=hidden) for system in (old, new))
    for findings, here, reference in ((differences.newly, after, before), (differences.no_longer, before, after)):
        assert findings.incomplete is None
        for novelty in findings.novelties:
            possible, states = check_run(novelty.run, here, reference)
            assert not possible
            offered = {label[:2] for label in reference.after(states) if label != ("tick",)}
            assert {(event.what, event.message) for event in novelty.instead} == offered
        names = {(novelty.event.what, novelty.event.message) for novelty in findings.novelties}
        for mine, theirs, _ in pairs(here, reference):
            more = here.after(mine).keys() - reference.after(theirs).keys()
            assert {label[:2] for label in more} <= names
    for breach in differences.newly.breaches:
        possible, states = check_run(breach.run, after, before)
        assert possible
        assert breach.commitment in weakened(old, new, breach.run.states[-1], states, hidden)
    broken = {breach.commitment for breach in differences.newly.breaches}
    for mine, theirs, _ in pairs(after, before):
        for state in mine.values():
            assert set(weakened(old, new, state, theirs, hidden)) <= broken


def is_small(system: System) -> bool:
    try:
        engine = ExplicitEngine(system, STATES)
        return engine.count(engine.reachable) <= STATES and not system.hazards
    except ResourceExhausted:
        return False


@given(protocols())
@examples(15)
def test_protocol_is_compatible_with_itself(sample: Sample) -> None:
    system = CplCompilation(Source("generated.cpl", sample.text)).system
    assume(is_small(system))
    differences = compare(Match(system, system, {}))
    assert not differences.is_breaking
    assert not differences.has_lost


@given(protocols(), st.integers(0, 12), st.integers(0, 8))
@examples(40)
def test_differences_match_enumerated_traces(sample: Sample, first: int, hidden: int) -> None:
    note(sample.text)
    compilation = CplCompilation(Source("generated.cpl", sample.text))
    assume(compilation.ok and is_small(compilation.system))
    for mutant in islice(mutants(compilation.model), first, first + 3):
        note(mutant.change)
        changed = lower(mutant.model)
        if is_small(changed):
            names = [*(agent.name for agent in changed.agents), "", "", ""]
            nobody = names[hidden % len(names)]
            check(compilation.system, changed, nobody)
            check(changed, compilation.system, nobody)


@given(protocols())
@examples(25)
def test_synchronous_version_refines_asynchronous_one(sample: Sample) -> None:
    note(sample.text)
    source = Source("generated.cpl", sample.text)
    travelling, at_once = (CplCompilation(source, channels=channels) for channels in ("async", "sync"))
    assume(travelling.ok and at_once.ok and is_small(travelling.system) and is_small(at_once.system))
    differences = compare(Match(travelling.system, at_once.system, {}))
    assert not differences.is_breaking
    assert differences.no_longer.incomplete is None
