"""Contents about runs in the ledgers: each has a deterministic monitor, whose state is one more variable.

A step that is a letter moves the monitor of every commitment that was in force before it: by what held in that state,
and by the step. Operations come next; a new life begins with the monitor's initial state. Then the monitors decide:
what the state that is entered decides alone counts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cplc.automata.monitor import Monitor
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering import dialogue
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.lifecycle_analysis import Book, follows_of, former_of, monitor_of
from cplc.lowering.mtbdd import NO, YES, Outcome
from cplc.lowering.variable_names import kept_by

if TYPE_CHECKING:
    from cplc.lowering.lifecycle import Ledger

T = TypeVar("T")


def advance(ledger: Ledger, name: str, step: int, *, stable: bool) -> None:
    """Let the monitor read a letter, where the commitment was in force before the step.

    Nothing that is decided false counts while it is suspended. ``stable`` says that what the content mentions changes
    only where the monitors look: then no state before a step decides anything that was not decided when it was entered.
    """
    content, cases = ledger.book.contents[name], ledger.cases
    monitor = content.monitor
    before = _state_before(ledger, name)
    skipping = _suspended_before(ledger, name) if name in ledger.book.suspended else NO
    truths = _Truths(lambda atom: ledger.truth_before(content.atoms[atom], name))
    after = before
    for state in range(monitor.open_states):
        targets: list[int | None] = [row[step] for row in monitor.successor[state]]
        if stable and name not in ledger.book.suspended:
            undecided = [monitor.on_entering(state, h) is None for h in range(len(targets))]
            targets = [target if fits else None for target, fits in zip(targets, undecided, strict=True)]
        if all(target in (None, state) for target in targets):
            continue
        moved = _chosen(monitor, [None if to is None else cases.constant(to) for to in targets], truths, cases.choose)
        if skipping != NO:
            false = [to is not None and monitor.decided[to] is False for to in targets]
            skipped = _chosen(monitor, [YES if one else NO for one in false], truths, cases.choose)
            moved = cases.choose(cases.both(skipping, skipped), cases.constant(state), moved)
        after = cases.choose(cases.is_in(before, (state,)), moved, after)
    if after != before:
        ledger.put_monitor(name, _in_force_before(ledger, name), after)
        ledger.unsettled[name] = None


def decided(ledger: Ledger, name: str, verdict: bool, *, on_entering: bool = True) -> Outcome:
    """Return when the monitor has decided so, by what it read and by the state that is entered."""
    content, cases = ledger.book.contents[name], ledger.cases
    monitor, now = content.monitor, ledger.monitor(name)
    truths = _Truths(lambda atom: ledger.truth(content.atoms[atom], name))
    found = NO
    for state in range(len(monitor.decided)):
        at = cases.is_in(now, (state,))
        if at == NO:
            continue
        if monitor.decided[state] is not None:
            found = cases.choose(at, YES if monitor.decided[state] is verdict else NO, found)
        elif on_entering:
            entered = [monitor.on_entering(state, h) is verdict for h in range(len(monitor.holding))]
            here = _chosen(monitor, [YES if one else NO for one in entered], truths, cases.choose)
            found = cases.choose(at, here, found)
    return found


def is_on_course(ledger: Ledger, name: str) -> Outcome:
    """Return when the content holds if nothing more happens."""
    content, cases = ledger.book.contents[name], ledger.cases
    monitor, now = content.monitor, ledger.monitor(name)
    truths = _Truths(lambda atom: ledger.truth(content.atoms[atom], name))
    found = NO
    for state in range(len(monitor.decided)):
        at = cases.is_in(now, (state,))
        if at != NO:
            here = _chosen(monitor, [YES if one else NO for one in monitor.at_rest[state]], truths, cases.choose)
            found = cases.choose(at, here, found)
    return found


def on_course(book: Book, name: str, reading: Reading) -> Expr:
    """Return when it is in force and its content holds if nothing more happens, over states of `Env`; claims: open."""
    if name not in book.contents:
        return e.FALSE
    content = book.contents[name]
    monitor, states = content.monitor, book.monitor_states(name)
    truths = _Truths(lambda atom: condition(content.atoms[atom], reading))
    resting: Expr = e.FALSE
    for state in states:
        verdicts = [e.TRUE if one else e.FALSE for one in monitor.at_rest[state]]
        here = _chosen(monitor, verdicts, truths, e.ite)
        at = e.equal(e.Read(monitor_of(name)), e.Const(state)) if len(states) > 1 else e.TRUE
        resting = e.disj((resting, e.conj((at, here))))
    if name in book.model.claim:
        is_open = e.equal(e.Read(name), e.Const("open")) if "open" in book.possible[name] else e.FALSE
        return e.conj((is_open, resting))
    in_force = [e.equal(e.Read(name), e.Const("active"))] if "active" in book.possible[name] else []
    if "pending" in book.possible[name]:
        waiting = e.equal(e.Read(name), e.Const("pending"))
        in_force.append(e.conj((waiting, e.equal(e.Read(former_of(name)), e.Const("active")))))
    return e.conj((e.disj(in_force), resting))


class _Truths(dict[int, T]):
    """When each atom holds, made where it is asked for."""

    def __init__(self, make: Callable[[int], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, atom: int) -> T:
        self[atom] = self._make(atom)
        return self[atom]


def _chosen(monitor: Monitor, values: Sequence[T | None], truths: _Truths[T], choose: Callable[[T, T, T], T]) -> T:
    """Return the value for the atoms that hold, as a case distinction; None is any value."""

    def among(positions: list[int], atom: int) -> T | None:
        different = {values[h] for h in positions if values[h] is not None}
        if len(different) <= 1:
            return next(iter(different), None)
        yes = [h for h in positions if atom in monitor.holding[h]]
        no = [h for h in positions if atom not in monitor.holding[h]]
        then, otherwise = among(yes, atom + 1), among(no, atom + 1)
        if then is None or otherwise is None or then == otherwise:
            return otherwise if then is None else then
        return choose(truths[atom], then, otherwise)

    found = among(list(range(len(values))), 0)
    assert found is not None, "some letter matters"
    return found


# --- before the step


def _state_before(ledger: Ledger, name: str) -> Outcome:
    variable = monitor_of(kept_by(name, ledger.keeper))
    is_kept = len(ledger.book.monitor_states(name)) > 1
    return ledger.cases.variable(variable) if is_kept else ledger.cases.constant(0)


def _was_pending(ledger: Ledger, name: str) -> Outcome:
    cases, former = ledger.cases, former_of(kept_by(name, ledger.keeper))
    return cases.both(ledger.was_in(name, ("pending",)), cases.is_in(cases.variable(former), ("active",)))


def _in_force_before(ledger: Ledger, name: str) -> Outcome:
    if name in ledger.book.model.claim:
        return ledger.was_in(name, dialogue.OPEN)
    active = ledger.was_in(name, ("active",))
    return ledger.cases.either(active, _was_pending(ledger, name)) if name in ledger.book.suspended else active


def _suspended_before(ledger: Ledger, name: str) -> Outcome:
    targets = ledger.book.retained.get(name, ())
    pending = _was_pending(ledger, name)
    if not targets:
        return pending
    follows = ledger.cases.variable(follows_of(kept_by(name, ledger.keeper)))
    return ledger.cases.both(pending, ledger.cases.negate(ledger.cases.is_in(follows, targets)))


__all__ = ["advance", "decided", "is_on_course", "on_course"]
