"""Runtime monitors of contents about runs, composed with the life cycle: the monitor's state is a variable.

A step that is a letter advances the monitor of every commitment that was in force before it, by the atoms of the state
before the step and by the step. The operations of the step follow; a new life begins in the monitor's initial state.
Then the monitors decide. A verdict that the entered state alone implies counts at once.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeVar

from cplc.automata.monitor import Monitor
from cplc.language.lifecycle import CLAIM_OPEN
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.expressions import Interpretation, condition
from cplc.lowering.lifecycle_analysis import LifecycleAnalysis
from cplc.lowering.mtbdd import NO, YES, Diagram
from cplc.lowering.variable_names import follows_variable, former_variable, monitor_variable, state_variable

if TYPE_CHECKING:
    from cplc.lowering.lifecycle import ObserverState

T = TypeVar("T")


def advance_monitor(observer_state: ObserverState, name: str, step: int, *, stable: bool) -> None:
    """Make the monitor's transition for a letter, where the commitment was in force before the step.

    The verdict false does not count while the commitment is suspended. With ``stable``, the atoms change only in steps
    that the monitor reads: then a state before a step decides only what was decided when it was entered.
    """
    content, mtbdd = observer_state.lifecycles.contents[name], observer_state.mtbdd
    monitor = content.monitor
    before = _state_before(observer_state, name)
    skipping = _suspended_before(observer_state, name) if name in observer_state.lifecycles.suspended else NO
    truths = AtomTruths(lambda atom: observer_state.truth_before(content.atoms[atom], name))
    after = before
    for state in range(monitor.open_states):
        targets: list[int | None] = [row[step] for row in monitor.successor[state]]
        if stable and name not in observer_state.lifecycles.suspended:
            undecided = [monitor.on_entering(state, h) is None for h in range(len(targets))]
            targets = [target if fits else None for target, fits in zip(targets, undecided, strict=True)]
        if all(target in (None, state) for target in targets):
            continue
        moved = case_distinction(
            monitor, [None if to is None else mtbdd.constant(to) for to in targets], truths, mtbdd.ite
        )
        if skipping != NO:
            false = [to is not None and monitor.decided[to] is False for to in targets]
            skipped = case_distinction(monitor, [YES if one else NO for one in false], truths, mtbdd.ite)
            moved = mtbdd.ite(mtbdd.conj(skipping, skipped), mtbdd.constant(state), moved)
        after = mtbdd.ite(mtbdd.is_in(before, (state,)), moved, after)
    if after != before:
        observer_state.put_monitor(name, _in_force_before(observer_state, name), after)
        observer_state.dirty[name] = None


def decided(observer_state: ObserverState, name: str, verdict: bool, *, on_entering: bool = True) -> Diagram:
    """Return where the monitor has this verdict, from the letters read and from the entered state."""
    content, mtbdd = observer_state.lifecycles.contents[name], observer_state.mtbdd
    monitor, now = content.monitor, observer_state.monitor(name)
    truths = AtomTruths(lambda atom: observer_state.truth(content.atoms[atom], name))
    deciding = NO
    for state in range(len(monitor.decided)):
        at = mtbdd.is_in(now, (state,))
        if at == NO:
            continue
        if monitor.decided[state] is not None:
            deciding = mtbdd.ite(at, YES if monitor.decided[state] is verdict else NO, deciding)
        elif on_entering:
            entered = [monitor.on_entering(state, h) is verdict for h in range(len(monitor.holding))]
            here = case_distinction(monitor, [YES if one else NO for one in entered], truths, mtbdd.ite)
            deciding = mtbdd.ite(at, here, deciding)
    return deciding


def is_on_course(observer_state: ObserverState, name: str) -> Diagram:
    """Return where the content holds if nothing more happens."""
    content, mtbdd = observer_state.lifecycles.contents[name], observer_state.mtbdd
    monitor, now = content.monitor, observer_state.monitor(name)
    truths = AtomTruths(lambda atom: observer_state.truth(content.atoms[atom], name))
    resting = NO
    for state in range(len(monitor.decided)):
        at = mtbdd.is_in(now, (state,))
        if at != NO:
            here = case_distinction(monitor, [YES if one else NO for one in monitor.at_rest[state]], truths, mtbdd.ite)
            resting = mtbdd.ite(at, here, resting)
    return resting


def on_course(lifecycles: LifecycleAnalysis, name: str, interpretation: Interpretation) -> Expr:
    """Return the condition over `Env` that it is in force (a claim: open), and holds if nothing more happens."""
    if name not in lifecycles.contents:
        return e.FALSE
    content = lifecycles.contents[name]
    monitor, states = content.monitor, lifecycles.monitor_states(name)
    truths = AtomTruths(lambda atom: condition(content.atoms[atom], interpretation))
    resting: Expr = e.FALSE
    for state in states:
        verdicts = [e.TRUE if one else e.FALSE for one in monitor.at_rest[state]]
        here = case_distinction(monitor, verdicts, truths, e.ite)
        at = e.equal(e.Read(monitor_variable(name)), e.Const(state)) if len(states) > 1 else e.TRUE
        resting = e.disj((resting, e.conj((at, here))))
    if name in lifecycles.model.claim:
        is_open = e.equal(e.Read(name), e.Const("open")) if "open" in lifecycles.possible[name] else e.FALSE
        return e.conj((is_open, resting))
    in_force = [e.equal(e.Read(name), e.Const("active"))] if "active" in lifecycles.possible[name] else []
    if "pending" in lifecycles.possible[name]:
        waiting = e.equal(e.Read(name), e.Const("pending"))
        in_force.append(e.conj((waiting, e.equal(e.Read(former_variable(name)), e.Const("active")))))
    return e.conj((e.disj(in_force), resting))


class AtomTruths(dict[int, T]):
    """The condition of each atom, computed on demand."""

    def __init__(self, make: Callable[[int], T]) -> None:
        super().__init__()
        self._make = make

    def __missing__(self, atom: int) -> T:
        self[atom] = self._make(atom)
        return self[atom]


def case_distinction(
    monitor: Monitor, values: Sequence[T | None], truths: AtomTruths[T], ite: Callable[[T, T, T], T]
) -> T:
    """Return the value of the letter whose atoms hold, as a case distinction by atoms; None is a don't-care value."""

    def among(positions: list[int], atom: int) -> T | None:
        different = {values[h] for h in positions if values[h] is not None}
        if len(different) <= 1:
            return next(iter(different), None)
        yes = [h for h in positions if atom in monitor.holding[h]]
        no = [h for h in positions if atom not in monitor.holding[h]]
        then, otherwise = among(yes, atom + 1), among(no, atom + 1)
        if then is None or otherwise is None or then == otherwise:
            return otherwise if then is None else then
        return ite(truths[atom], then, otherwise)

    distinction = among(list(range(len(values))), 0)
    assert distinction is not None, "some letter matters"
    return distinction


# --- before the step


def _state_before(observer_state: ObserverState, name: str) -> Diagram:
    variable = monitor_variable(state_variable(name, observer_state.observer))
    is_kept = len(observer_state.lifecycles.monitor_states(name)) > 1
    return observer_state.mtbdd.variable(variable) if is_kept else observer_state.mtbdd.constant(0)


def _was_pending(observer_state: ObserverState, name: str) -> Diagram:
    mtbdd, former = observer_state.mtbdd, former_variable(state_variable(name, observer_state.observer))
    return mtbdd.conj(observer_state.was_in(name, ("pending",)), mtbdd.is_in(mtbdd.variable(former), ("active",)))


def _in_force_before(observer_state: ObserverState, name: str) -> Diagram:
    if name in observer_state.lifecycles.model.claim:
        return observer_state.was_in(name, CLAIM_OPEN)
    active = observer_state.was_in(name, ("active",))
    return (
        observer_state.mtbdd.disj(active, _was_pending(observer_state, name))
        if name in observer_state.lifecycles.suspended
        else active
    )


def _suspended_before(observer_state: ObserverState, name: str) -> Diagram:
    targets = observer_state.lifecycles.retained.get(name, ())
    pending = _was_pending(observer_state, name)
    if not targets:
        return pending
    follows = observer_state.mtbdd.variable(follows_variable(state_variable(name, observer_state.observer)))
    return observer_state.mtbdd.conj(pending, observer_state.mtbdd.negate(observer_state.mtbdd.is_in(follows, targets)))


__all__ = ["AtomTruths", "advance_monitor", "case_distinction", "decided", "is_on_course", "on_course"]
