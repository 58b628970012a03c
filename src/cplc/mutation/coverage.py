"""Mutation coverage of a specification: every mutant is verified again.

A mutant is noticed (killed) if some verdict differs from that of the original protocol. One that is not noticed either
is equivalent in all reachable states, or shows behaviour that the properties leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product, zip_longest
from math import prod
from typing import Any, Literal

from cplc.checking.engine_selector import EngineName
from cplc.checking.results import Answer, Question
from cplc.checking.verify import Verifier
from cplc.logic.expressions import FALSE, TRUE, Const, Expr, Read, conj, disj, equal, negate, reads, substitute
from cplc.logic.formulas import Atom, Globally, Not, OnPaths
from cplc.mutation.mutants import Mutant
from cplc.records import dataclass
from cplc.system.model import Step, System
from cplc.system.synchronous import Change, Player

# --- Conditions under which two synchronous systems with the same variables differ in a round


_MAX_JOINT_ACTIONS = 4_096
"""Maximum number of joint actions for which the condition of a change is expanded."""


def round_difference(one: System, other: System) -> Expr | None:
    """Return a condition that holds in every state where rounds of the systems differ; None if there is none."""
    if (one.start, one.agents, one.shared) != (other.start, other.agents, other.shared):
        return None
    if [player.agent for player in one.players] != [player.agent for player in other.players]:
        return None
    allowed = {choice: _allowed(player, other.player[choice]) for choice, player in one.player.items()}
    conditions = [
        _some_action(condition, allowed)
        for mine, theirs in zip(one.players, other.players, strict=True)
        for condition in (*_protocol_differences(mine, theirs), *_rule_differences(mine, theirs))
    ]
    return disj(conditions)


def _allowed(mine: Player, theirs: Player) -> dict[str, Expr]:
    """Return the condition under which each action is allowed in one of the systems."""
    conditions: dict[str, list[Expr]] = {}
    for action in (*mine.actions, *theirs.actions):
        conditions.setdefault(action.name, []).append(action.allowed)
    return {name: disj(some) for name, some in conditions.items()}


def _protocol_differences(mine: Player, theirs: Player) -> list[Expr]:
    first, second = ({action.name: action.allowed for action in player.actions} for player in (mine, theirs))
    return [_exclusive(first.get(name, FALSE), second.get(name, FALSE)) for name in {**first, **second}]


def _rule_differences(mine: Player, theirs: Player) -> list[Expr]:
    if len(mine.rules) == len(theirs.rules):
        pairs = list(zip(mine.rules, theirs.rules, strict=True))
    else:  # the rule of a variable without lines is missing
        pairs = [(rule, rule) for rule in mine.rules if rule in theirs.rules]
        missing = [rule for rule in mine.rules if rule not in theirs.rules]
        added = [rule for rule in theirs.rules if rule not in mine.rules]
        pairs += list(zip_longest(missing, added, fillvalue=()))
    return [condition for first, second in pairs if first != second for condition in _changes_differ(first, second)]


def _changes_differ(first: Sequence[Change], second: Sequence[Change]) -> list[Expr]:
    conditions = []
    for mine, theirs in _paired(first, second):
        if mine == theirs:
            continue
        if mine is None or theirs is None:
            change = mine or theirs
            assert change is not None
            conditions.append(conj((change.guard, _matters(change, first, second))))
            continue
        only_one = _exclusive(mine.guard, theirs.guard)
        conditions.append(conj((only_one, _matters(mine, first, second))))
        conditions.append(conj((mine.guard, theirs.guard, _writes_differ(mine, theirs))))
    return conditions


def _paired(first: Sequence[Change], second: Sequence[Change]) -> list[tuple[Change | None, Change | None]]:
    """Return the changes by position; of a longer sequence, the first that differs has no partner."""
    mine: list[Change | None] = [*first]
    theirs: list[Change | None] = [*second]
    for number in range(max(len(mine), len(theirs))):
        if len(mine) > len(theirs) and (number >= len(theirs) or mine[number] != theirs[number]):
            theirs.insert(number, None)
        elif len(theirs) > len(mine) and (number >= len(mine) or mine[number] != theirs[number]):
            mine.insert(number, None)
    return list(zip(mine, theirs, strict=True))


def _matters(change: Change, first: Sequence[Change], second: Sequence[Change]) -> Expr:
    """Return the condition under which it matters whether a change is possible.

    It does not if no other change of its rule is possible, so that nothing would change, and it changes nothing either.
    """
    alternatives = [one.guard for changes in (first, second) for one in changes if one.updates != change.updates]
    writes = [negate(equal(value, Read(name))) for name, value in change.updates]
    return disj((*alternatives, *writes))


def _writes_differ(mine: Change, theirs: Change) -> Expr:
    first, second = dict(mine.updates), dict(theirs.updates)
    return disj(
        negate(equal(first.get(name, Read(name)), second.get(name, Read(name)))) for name in {**first, **second}
    )


def _exclusive(one: Expr, other: Expr) -> Expr:
    if one == other:
        return FALSE
    return disj((conj((one, negate(other))), conj((other, negate(one)))))


def _some_action(condition: Expr, allowed: dict[str, dict[str, Expr]]) -> Expr:
    """Return the condition on states under which some allowed joint action satisfies the condition."""
    choices = sorted(reads(condition) & allowed.keys())
    if prod(len(allowed[choice]) for choice in choices) > _MAX_JOINT_ACTIONS:
        return TRUE
    return disj(
        conj(
            (
                *(allowed[choice][action] for choice, action in zip(choices, actions, strict=True)),
                substitute(condition, {name: Const(action) for name, action in zip(choices, actions, strict=True)}),
            )
        )
        for actions in product(*(allowed[choice] for choice in choices))
    )


Asking = Callable[[Any], tuple[System, Sequence[tuple[Question, System]]]]
"""Returns the system of a mutant's model and its questions, each with its system; of the original for None."""

Verdict = Literal["noticed", "unnoticed", "no effect", "unknown"]


@dataclass(frozen=True)
class Outcome:
    mutant: Mutant[Any]
    verdict: Verdict
    by: str | None = None
    """The first property or check that notices it."""


def coverage(
    asking: Asking, mutants: Iterator[Mutant[Any]], engine: EngineName = "auto", among: range | None = None
) -> Iterator[Outcome]:
    """Yield the outcome of each mutant, or of those in this range, in their order."""
    original, questions = asking(None)
    explored = Verifier(original.without_conditions, engine)  # reachability, without fairness
    expected = _Answers(questions, engine)
    order = list(range(len(expected.asked)))
    for mutant in mutants if among is None else islice(mutants, among.start, among.stop):
        changed, questions = asking(mutant.model)
        different = difference(original, changed)
        if different is not None and not _happens(explored, different):
            yield Outcome(mutant, "no effect")
            continue
        answers = _Answers(questions, engine)
        noticing = next((number for number in order if _differ(expected[number], answers[number])), None)
        if noticing is not None:
            order.remove(noticing)
            order.insert(0, noticing)  # it often notices the next mutant too
            yield Outcome(mutant, "noticed", answers.asked[noticing][0].name)
        elif any("unknown" in (expected[number], answers[number]) for number in order):
            yield Outcome(mutant, "unknown")
        else:
            yield Outcome(mutant, "unnoticed")


class _Answers:
    """The verdicts of one protocol, computed on demand."""

    def __init__(self, questions: Sequence[tuple[Question, System]], engine: EngineName) -> None:
        self.asked = questions
        self._engine = engine
        self._verifiers: dict[int, Verifier] = {}
        self._known: dict[int, Answer] = {}

    def __getitem__(self, number: int) -> Answer:
        if number not in self._known:
            question, system = self.asked[number]
            verifier = self._verifiers.setdefault(id(system), Verifier(system, self._engine))
            self._known[number] = verifier.decide(question)
        return self._known[number]


def _differ(one: Answer, other: Answer) -> bool:
    return one != other and "unknown" not in (one, other)


def _happens(verifier: Verifier, condition: Expr) -> bool:
    """Return whether the condition holds in some reachable state, from whichever initial state."""
    formula = OnPaths("A", Globally(Not(Atom(condition, "a difference"))))
    return verifier.decide(Question("difference", "model", formula, "no difference is met")) != "holds"


# --- two systems


def difference(one: System, other: System) -> Expr | None:
    """Return the condition under which the systems differ in a step; None if their states are not comparable."""
    variables = [
        [(variable.name, variable.domain, variable.initial) for variable in system.variables] for system in (one, other)
    ]
    if variables[0] != variables[1] or one.conditions != other.conditions:
        return None
    if one.players:
        return round_difference(one, other)
    steps, changed = ({step.name: step for step in system.steps} for system in (one, other))
    return disj(_differs(steps.get(name), changed.get(name)) for name in {**steps, **changed})


def _differs(one: Step | None, other: Step | None) -> Expr:
    """Return the condition under which exactly one of the steps is enabled, or their effects differ."""
    if one is None or other is None:
        step = one or other
        return FALSE if step is None else step.guard
    if one == other:
        return FALSE
    only_one = disj((conj((one.guard, negate(other.guard))), conj((other.guard, negate(one.guard)))))
    return disj((only_one, conj((one.guard, _leads_elsewhere(one, other)))))


def _leads_elsewhere(one: Step, other: Step) -> Expr:
    if one.free != other.free:
        return TRUE
    mine, theirs = dict(one.updates), dict(other.updates)
    return disj(negate(equal(mine.get(name, Read(name)), theirs.get(name, Read(name)))) for name in {**mine, **theirs})
