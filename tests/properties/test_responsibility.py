"""Responsibility by brute force: smallest sets over all subsets of roles, and the definitions state by state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from itertools import combinations
from typing import Final

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.generators.systems import roles
from tests.support.random_examples import examples

from cplc.checking.responsibility import lasso_evidence, neglected_sends
from cplc.checking.results import Question, Result
from cplc.checking.verify import Verifier
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.logic.formulas import Atom, Finally, Formula, Globally, Implies, OnPaths
from cplc.report.trace_narration import narrate
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source
from cplc.system.interpreter import Interpreter
from cplc.system.model import State, System
from cplc.system.printer import formula_text

_LIMIT: Final = 20_000
SEEN: Counter[str] = Counter()


def protocols() -> st.SearchStrategy[System]:
    def compiled(text: str) -> System:
        compilation = CplCompilation(Source("random.cpl", text))
        assert compilation.ok, (text, [one.message for one in compilation.diagnostics])
        return compilation.system

    return plans().map(text_of).map(compiled)


class _Judge:
    """True if a formula holds if these roles keep going, by the explicit engine on the whole system."""

    def __init__(self, system: System, formula: Formula, assuming: frozenset[str]) -> None:
        self.engine = ExplicitEngine(system, _LIMIT)
        self.formula, self.assuming = formula, assuming

    def holds(self, members: Iterable[str]) -> bool:
        satisfying = self.engine.satisfying(self.formula, self.assuming.union(members))
        return self.engine.is_empty(self.engine.difference(self.engine.initial, satisfying))

    def satisfies(self, formula: Formula, state: State, everybody: frozenset[str]) -> bool:
        return self.engine.contains(self.engine.satisfying(formula, everybody), state)

    def smallest(self, names: Iterable[str], members: dict[str, frozenset[str]]) -> set[frozenset[str]]:
        every = list(names)
        good = [
            frozenset(chosen)
            for size in range(len(every) + 1)
            for chosen in combinations(every, size)
            if self.holds(member for name in chosen for member in members[name])
        ]
        return {one for one in good if not any(other < one for other in good)}


@given(st.data(), protocols())
@examples(40)
def test_responsibility_matches_brute_force(data: st.DataObject, system: System) -> None:
    if not system.messages:
        return
    messages = [Atom(message.received, message.name) for message in system.messages]
    goal = Finally(data.draw(st.sampled_from(messages)))
    first = data.draw(st.sampled_from(messages))
    formula: Formula = OnPaths("A", goal)
    if data.draw(st.booleans()):
        formula = OnPaths("A", Globally(Implies(first, OnPaths("A", goal))))
    assuming = data.draw(roles(system))
    question = Question("p", "property", formula, formula_text(formula), assuming=assuming)
    with suppress(ResourceExhausted):
        judge = _Judge(system, formula, assuming)
        result = Verifier(system, data.draw(st.sampled_from(("explicit", "onthefly")))).answer(question)
        if judge.holds(()):
            assert result.answer != "fails"
        elif result.answer == "fails":
            _check(judge, system, result, goal)


def _check(judge: _Judge, system: System, result: Result, goal: Finally) -> None:
    assert result.blame is not None
    senders = {one.role for one in system.justice if one.role is not None} - judge.assuming
    families: dict[str, frozenset[str]] = {}
    for role in senders:
        families[system.agent[role].family] = families.get(system.agent[role].family, frozenset()) | {role}
    if len(senders) > 5:
        return
    expected = judge.smallest(families, families)
    assert {frozenset(one) for one in result.blame.coalitions} == expected
    assert result.evidence is not None
    ending = lasso_evidence(result.evidence)
    assert ending is not None
    able = neglected_sends(result.system, ending)
    if expected:
        SEEN["helped"] += 1
        by_instances = judge.smallest(senders, {role: frozenset({role}) for role in senders})
        assert all(role in able and any(role in one for one in by_instances) for role in result.blame.stopped)
        for coalition in expected:  # the run is unfair to one of them, or it would not refute the property
            assert any(system.agent[role].family in coalition for role in result.blame.stopped)
        return
    SEEN["not helped"] += 1
    assert result.blame.stopped == ()
    if (avoided := result.blame.avoidance) is None:
        return
    everybody = judge.assuming | senders
    run = narrate(result.system, result.evidence).run
    shown = _Judge(result.system, result.question.formula, judge.assuming)
    possible = [shown.satisfies(OnPaths("E", goal), state, everybody) for state in run.states]
    taken = {result.system.steps[move.step].name for move in run.moves[run.loop :] if move.step is not None}
    if avoided.lost is not None:
        SEEN["lost"] += 1
        assert avoided.lost == 0 or possible[avoided.lost - 1]
        assert not any(possible[avoided.lost :])
        return
    SEEN["loop"] += 1
    assert possible[-1]
    interpreter = Interpreter(result.system)
    for way in avoided.ways_out:
        SEEN["way out"] += 1
        state = run.states[way.after]
        sends = [
            index
            for index in interpreter.enabled(state)
            if (step := result.system.steps[index]).event == way.message and step.actor == way.role
        ]
        assert sends
        assert not any(result.system.steps[index].name in taken for index in sends)
        after = [after for index in sends for after in interpreter.after(state, index)]
        if way.ensures:
            SEEN["ensuring"] += 1
            assert any(shown.satisfies(OnPaths("A", goal), one, everybody) for one in after)
        else:
            assert any(shown.satisfies(OnPaths("E", goal), one, everybody) for one in after)
    acting = {
        result.system.steps[move.step].actor
        for move in run.moves[run.loop :]
        if move.step is not None and result.system.steps[move.step].kind in ("send", "exchange")
    }
    assert set(avoided.acting) <= acting
    SEEN["acting"] += bool(avoided.acting)
