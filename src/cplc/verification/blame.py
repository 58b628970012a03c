"""Who could have made a failed property true, who stopped, and what was still owed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import combinations

from cplc.system.formula import (
    Atom,
    Enforces,
    Finally,
    Formula,
    Globally,
    Iff,
    Implies,
    Not,
    OnPaths,
    Release,
    Taken,
    Until,
    WeakUntil,
    children,
    is_state_formula,
)
from cplc.system.model import System
from cplc.system.trace import Evidence
from cplc.verification.checks import OPEN
from cplc.verification.interpreter import Interpreter
from cplc.verification.replay import steps_along
from cplc.verification.results import Blame

Valid = Callable[[frozenset[str]], bool]

MOST_ASKED = 64
"""How many sets of roles are tried for being smallest before a small one is enough."""


def blame(
    system: System, shown: System, formula: Formula, assuming: frozenset[str], valid: Valid, evidence: Evidence
) -> Blame | None:
    """Return who is to blame for a failure; None where it does not depend on who keeps going.

    The evidence is of the system ``shown``, a slice of the whole one. ``valid`` tells whether the formula would hold
    if these roles kept going. It is asked only where co-operation can but help: every operator that depends on
    fairness speaks of all runs, or of what some of them can enforce.
    """
    if system.is_synchronous or not needs_fairness(formula, system) or not helped_by_fairness(formula, system):
        return None
    found = coalitions(system, assuming, valid)
    ending = endless(evidence)
    if ending is None:
        return Blame(found, (), ())
    still_open = _open_at_the_end(shown, ending)
    helpful = {family for coalition in found for family in coalition}
    debtors = {shown.commitment[name].debtor for name in still_open}
    stopped = tuple(
        role
        for role in could_send(shown, ending)
        if (system.agent[role].family in helpful if found else role in debtors)
    )
    owed = tuple(name for name in still_open if shown.commitment[name].debtor in stopped)
    return Blame(found, stopped, owed)


# --- whom it takes


def coalitions(system: System, assuming: frozenset[str], valid: Valid) -> tuple[tuple[str, ...], ...]:
    """Return the smallest sets of roles, families as one, whose co-operation makes the formula true.

    Co-operation only shrinks the set of runs considered, so every superset of a good set is good.
    """
    members: dict[str, frozenset[str]] = {}
    for justice in system.justice:
        if justice.role is not None and justice.role not in assuming:
            family = system.agent[justice.role].family
            members[family] = members.get(family, frozenset()) | {justice.role}

    def good(families: Iterable[str]) -> bool:
        return valid(assuming.union(*(members[family] for family in families)))

    if not good(members):
        return ()
    found: list[tuple[str, ...]] = []
    for number, families in enumerate(_by_size(members)):
        if number >= MOST_ASKED:
            return tuple(found) or (_reduced(tuple(members), good),)
        if not any(set(smaller) <= set(families) for smaller in found) and good(families):
            found.append(families)
    return tuple(found)


def _by_size(families: Iterable[str]) -> Iterator[tuple[str, ...]]:
    known = tuple(families)
    for size in range(1, len(known) + 1):
        yield from combinations(known, size)


def _reduced(families: tuple[str, ...], good: Callable[[Iterable[str]], bool]) -> tuple[str, ...]:
    """Leave out one after the other who is not needed."""
    for family in families:
        fewer = tuple(other for other in families if other != family)
        if good(fewer):
            return _reduced(fewer, good)
    return families


# --- who stopped


def endless(evidence: Evidence) -> Evidence | None:
    """Return the evidence by a lasso that this comes down to, if it does to one."""
    if evidence.run.loop is not None:
        return evidence
    parts = [endless(part) for _, part in reversed(evidence.parts)]
    return next((part for part in parts if part is not None), None)


def could_send(system: System, ending: Evidence) -> dict[str, tuple[str, ...]]:
    """Return who could for ever send something on the lasso and never does, and which messages.

    Where the runs asked about take certain steps only, nobody is expected to take another.
    """
    run = ending.run
    assert run.loop is not None
    interpreter = Interpreter(system)
    allowed = steps_along(system, ending.formula.along if isinstance(ending.formula, OnPaths) else None)
    states, taken = run.states[run.loop :], {move.step for move in run.moves[run.loop :]}
    able: dict[str, tuple[str, ...]] = {}
    for justice in system.justice:
        steps = [step for step in justice.steps if step in allowed]
        if justice.role is None or taken & set(steps):
            continue
        if all(any(interpreter.is_enabled(state, step) for step in steps) for state in states):
            events = {system.steps[step].event: None for step in steps}
            able[justice.role] = (*able.get(justice.role, ()), *events)
    return able


def _open_at_the_end(system: System, ending: Evidence) -> tuple[str, ...]:
    last = ending.run.states[-1]
    return tuple(commitment.name for commitment in system.commitments if last[commitment.variable] in OPEN)


# --- which formulas


def needs_fairness(formula: Formula, system: System) -> bool:
    """Whether some operator in it depends on which runs are fair."""
    return any(True for _ in _fair_operators(formula, system, positive=True))


def helped_by_fairness(formula: Formula, system: System) -> bool:
    """Whether it can but become truer where fewer runs are fair."""
    return all(_fair_operators(formula, system, positive=True))


def _fair_operators(formula: Formula, system: System, *, positive: bool) -> Iterator[bool]:
    """Yield, for each operator that depends on the fair runs, whether fewer of them make the formula truer."""
    match formula:
        case Atom() | Taken():
            return
        case Not(operand):
            yield from _fair_operators(operand, system, positive=not positive)
        case Implies(left, right):
            yield from _fair_operators(left, system, positive=not positive)
            yield from _fair_operators(right, system, positive=positive)
        case Iff(left, right):
            for side in (left, right):
                for polarity in (positive, not positive):
                    yield from _fair_operators(side, system, positive=polarity)
        case OnPaths(quantifier, _):
            if system.conditions or _is_endless(formula):
                yield (quantifier == "A") == positive
            for child in children(formula):
                yield from _fair_operators(child, system, positive=positive)
        case Enforces(_, goal):
            # Who keeps going can be counted on; what is asked of all that happens is kept or not, whoever goes on.
            if isinstance(goal, Finally | Until):
                yield positive
            for child in children(goal):
                yield from _fair_operators(child, system, positive=positive)
        case _:
            for child in children(formula):
                yield from _fair_operators(child, system, positive=positive)


def _is_endless(formula: OnPaths) -> bool:
    """Whether it may take an endless run to show it true (`E`) or false (`A`).

    Justice alone never rules out a finite beginning: every state begins a fair run, whatever steps it may take.
    """
    return not _shows_early(formula.path, formula.quantifier == "E")


def _shows_early(path: Formula, value: bool) -> bool:
    """Whether each path that gives the formula this value does so by a beginning, however it goes on."""
    match path:
        case formula if is_state_formula(formula):
            return True
        case Not(operand):
            return _shows_early(operand, not value)
        case Implies(left, right):
            return _shows_early(left, not value) and _shows_early(right, value)
        case Iff(left, right):
            return all(_shows_early(side, either) for side in (left, right) for either in (True, False))
        case Finally(_, None) | Until(_, _, None) if not value:
            return False
        case Globally(_, None) | WeakUntil() | Release() if value:
            return False
        case _:
            return all(_shows_early(child, value) for child in children(path))
