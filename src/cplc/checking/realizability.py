"""Realizability of fairness: whether every reachable state begins a fair run (Baier and Katoen 2008, def. 3.51).

Where it does not, path quantifiers range over no run at all there: everything `A` holds, everything `E` fails.

Definition. Fairness is *realizable* in a system if each reachable state begins a fair run.

Claim. Without fairness conditions justice is realizable in an interleaving system, for every set of roles assumed to
keep going and every restriction to steps.
Proof. There are finitely many justices. From any state, serve them in turn, again and again: if a step of the one
whose turn it is is enabled, take it, otherwise idle. Each justice is met infinitely often, by a step or by a state in
which none of its steps is enabled. Nothing disables idling, so the run never ends. (Abadi and Lamport 1988: the
liveness condition is machine-closed.)

So only systems with fairness conditions are examined. Justice matters there as well: `fairness !m`, and a role that is
assumed to keep going and can only send `m`, together leave no run, and each alone leaves one.

A step of one independent component disables nothing in the others, so a run of the whole system is fair iff each
component's part of it is. Hence a state begins a fair run iff its cut to the components of the conditions does, and
the states of the whole are counted by multiplying with the numbers of states of the other components. Variables outside
the cone of influence are put back before anything is counted.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import prod
from typing import TYPE_CHECKING, assert_never

from cplc.checking.engine_selector import decided
from cplc.checking.replay import EvidenceError, run_problems, some_fair_run
from cplc.checking.results import ExcludedStates, Remark
from cplc.engines.interface import Engine
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.reductions.component_slicing import RunLifting
from cplc.reductions.problem import LiftingError
from cplc.runtime.context import ResourceExhausted
from cplc.system.interpreter import Interpreter
from cplc.system.model import System
from cplc.system.trace import Run

if TYPE_CHECKING:
    from cplc.checking.engine_selector import AnyEngine, EngineSelector


def restrictions(system: System, formula: Formula) -> tuple[f.Taken | None, ...]:
    """Return the restrictions to steps of the runs that the formula quantifies over, under fairness conditions.

    In a synchronous system every formula is about states with a fair run, even without path quantifiers.
    """
    if not system.may_lack_fair_runs:
        return ()
    always: tuple[f.Taken | None, ...] = (None,) if system.excludes_unfair_states else ()
    return tuple(dict.fromkeys((*always, *_alongs(formula))))


def _alongs(formula: Formula) -> Iterable[f.Taken | None]:
    if isinstance(formula, f.Regardless):
        return
    unfolded = f.core(formula)
    if isinstance(unfolded, f.OnPaths):
        yield unfolded.along
    for child in f.children(unfolded):
        yield from _alongs(child)


def restricted_initially(system: System, formula: Formula) -> tuple[f.Taken | None, ...]:
    """Return the restrictions under which a fair run has to begin in an initial state.

    Fairness alone is one if the formula has any path quantifier; steps are if an outermost quantifier has them.
    """
    return tuple(
        along
        for along in restrictions(system, formula)
        if along is None or along in {one.along for one in _outermost(formula)}
    )


def _outermost(formula: Formula) -> Iterable[f.OnPaths]:
    """Yield the path quantifiers that the value at the state itself depends on."""
    match formula:
        case f.OnPaths():
            yield formula
        case f.Not() | f.And():
            for child in f.children(formula):
                yield from _outermost(child)
        case f.Derived():
            yield from _outermost(formula.definition)
        case f.Atom() | f.PathOperator() | f.StateOperator():
            pass
        case _:
            assert_never(formula)


class Realizability:
    """The states of one system in which fair runs begin, cached per set of roles that keep going."""

    def __init__(self, selector: EngineSelector) -> None:
        self._selector = selector
        self.system = selector.system
        self._justified = self.system.assumable
        self._begins: dict[tuple[frozenset[str], f.Taken | None], bool] = {}
        self._excluded: dict[tuple[frozenset[str], f.Taken | None], ExcludedStates | str | None] = {}

    def has_fair_run(self, assuming: frozenset[str], along: f.Taken | None = None) -> bool:
        """Tell whether a fair run begins in some initial state."""
        if not self.system.may_lack_fair_runs:
            return True
        key = assuming & self._justified, along
        if key not in self._begins and self._is_by_components(along):
            freedom = self._selector.timelock_freedom
            self._begins[key] = freedom.holds or freedom.has_fair_run(assuming)
        if key not in self._begins:
            is_valid, fair = self._selector.is_valid, some_fair_run(along)
            in_all = not self.system.excludes_unfair_states and is_valid(fair, assuming)
            self._begins[key] = in_all or not is_valid(f.Not(fair), assuming)
        return self._begins[key]

    def excluded(self, assuming: frozenset[str], along: f.Taken | None = None) -> ExcludedStates | None:
        """Return the reachable states that begin no fair run; None if there are none.

        A search that met a limit once is not repeated.
        """
        if not self.system.may_lack_fair_runs:
            return None
        key = assuming & self._justified, along
        if key not in self._excluded:
            self._excluded[key] = decided(lambda: self._search(assuming, along))
        cached = self._excluded[key]
        if isinstance(cached, str):
            raise ResourceExhausted(cached)
        return cached

    def _search(self, assuming: frozenset[str], along: f.Taken | None) -> ExcludedStates | None:
        if self._is_by_components(along):
            return self._search_components(assuming)
        reduced = self._selector.reduced(some_fair_run(along))
        from cplc.checking.timelock_freedom import shortest_run_to_unfair_state

        run_of_part = shortest_run_to_unfair_state(self._selector.engine_of(reduced.system), assuming, along)
        if run_of_part is None:
            return None
        run = self._lifted(reduced.system, run_of_part)
        states, reachable = self._counts(reduced.shown_system, assuming, along)
        return ExcludedStates(states, reachable, run, self.system)

    def _is_by_components(self, along: f.Taken | None) -> bool:
        """Tell whether each of the components that ticks synchronise is examined by itself."""
        is_about_time = along is None and self.system.without_file_conditions is self.system
        return is_about_time and self._selector.divides_time

    def _search_components(self, assuming: frozenset[str]) -> ExcludedStates | None:
        """Return a timelock. Its states are not counted: they are no product of those of the components."""
        freedom = self._selector.timelock_freedom
        locked = None if freedom.holds else freedom.locked(assuming)
        if locked is None:
            return None
        return ExcludedStates(None, None, self._lifted(locked.system, locked.run), self.system)

    def _counts(self, part: System, assuming: frozenset[str], along: f.Taken | None) -> _Counts:
        """Return the number of reachable states of the whole without fair run, and of all reachable states."""
        selector = self._selector
        if selector.components.component_closure(part.variable) != part.variable.keys():
            return None, None  # components that ticks synchronise: their states are no product
        try:
            states, reachable = _count(selector.engine_of(part), assuming, along)
            component_sizes = [_count(selector.engine_of(one))[1] for one in selector.other_components(part)]
        except ResourceExhausted:
            return None, None
        return states * prod(component_sizes), reachable * prod(component_sizes)

    def _lifted(self, part: System, run: Run) -> Run:
        """Lift the run to the whole system and replay it there.

        If another component stops the clock before, the run ends there: in a state without fair run as well.
        """
        interpreter = Interpreter(self.system)
        if self.system.has_idle_step:
            try:
                run = RunLifting(self._selector.timed_components, part).run(run, until_time_stops=True)
            except LiftingError as error:
                raise EvidenceError(str(error)) from None
        problems = list(run_problems(interpreter, run))
        if problems or not interpreter.is_initial(run.start):
            raise EvidenceError("; ".join(problems) or "the run does not begin in an initial state")
        return run


_Counts = tuple[int, int] | tuple[None, None]


def _count(engine: AnyEngine, assuming: frozenset[str] = frozenset(), along: f.Taken | None = None) -> tuple[int, int]:
    """Return the number of reachable states without fair run, and of all reachable states."""
    if not isinstance(engine, Engine):
        return engine.count(f.Not(some_fair_run(along)), assuming)
    states = engine.complement(engine.satisfying(some_fair_run(along), assuming))
    return engine.count(states), engine.count(engine.reachable)


# --- in words


def fair_run_text(along: f.Taken | None) -> str:
    return "fair run" if along is None else f"fair run along `{along.text}`"


def no_fair_run_remark(along: f.Taken | None, assuming: frozenset[str]) -> Remark:
    """Return the remark that no fair run is left, so the question has no answer."""
    excluders = "the conditions of fairness, with what `assuming` adds," if assuming else "the conditions of fairness"
    runs = "every run" if along is None else f"every run along `{along.text}`"
    return Remark("no-fair-run", f"{excluders} exclude {runs}, so neither `holds` nor `fails` would mean anything")


def exclusion_remark(excluded: ExcludedStates, along: f.Taken | None) -> Remark:
    """Return the remark on reachable states without fair run."""
    if excluded.states is None:
        where = "at least one reachable state"
    else:
        where = f"{excluded.states:,} of the {excluded.reachable:,} reachable states"
    message = (
        f"no {fair_run_text(along)} begins in {where}, and this verdict says nothing of what may happen from there"
    )
    return Remark("unrealizable-fairness", message, excluded=excluded)
