"""Slicing along ticks: components of a system that ticks alone connect.

Definition: a tick is one step of the whole system. Its guard is a conjunction, and its updates are independent
assignments. The *timed components* are the connected components (`cplc.reductions.components`) if the tick connects
only the variables of one conjunct, and a variable with those that its new value is made from. A *slice* of a union W of
them has its steps, and the tick with the conjuncts and the updates over W. So the whole system is the product of its
timed components, synchronised on the tick. A component is *free of timelocks* if a fair run of its slice begins in each
of its reachable states, under every assumption of roles that keep going.

Claim: let every timed component be free of timelocks. Then a formula has the same value at a reachable state and at its
projection to W, if W contains what `IndependentComponents.components_of` asks for, with these changes:

* a ``does(tick)``, a count of ticks, and a tick that must recur need no variable, since every slice has the tick;
* W contains what agents observe, as far as ticks connect it, if the formula mentions their knowledge;
* the formula has no strategies and no path quantifiers restricted to some steps, and
* stutter steps change the value of no path formula, not even before the first step as they do for ``X p``.

Proof, paths: the projection of a fair run to W has the same ticks. It is a run of the slice, and fair: ticks recur, and
justice of steps in W reads W alone. Conversely, take a fair run of the slice, and for every other component a fair run
of its slice from where it is. On each of them ticks recur. Between two ticks take the steps of all of them between the
same two ticks, one after the other, then the tick together. All conjuncts of its guard hold there, so this is a run of
the whole system. It is fair, since each constraint is met in its component. In W the steps of others are stutter steps.
A tick may have to wait for them, so they cannot begin after any finite prefix as in independent components.

Reachable states: their projections to W are the reachable states of the slice, by the same argument for finite runs.
They are no product, since all components have seen the same number of ticks.

Knowledge: let w' be reachable in the slice and look to the agents like the projection w of a reachable state. W
contains all that they observe of timed components. So any reachable state whose projection is w' looks to them like the
given one, if the independent components that ticks do not touch are as they were, and those are free.

Claim: the whole system has a reachable state without fair run iff some timed component has one. Proof: fair runs of the
whole have fair projections. Conversely take the component that reaches such a state after the fewest ticks. The others
can go on for as many ticks, so the run to it is a run of the whole system as above.

Strategies are not sliced: who plays may gain by the ticks that another component holds up.

References: Bowman, "Time and action lock freedom properties for timed automata", 2001; Lamport 1983 for stuttering.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from functools import cached_property

from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, conj, conjuncts, reads
from cplc.logic.formulas import Formula
from cplc.reductions.components import IndependentComponents, cut_step
from cplc.reductions.stutter import is_stutter_invariant_everywhere
from cplc.system.model import Step, System


class TimedComponents(IndependentComponents):
    """The components of a system if ticks do not connect them; slices contain the tick."""

    def __init__(self, system: System) -> None:
        super().__init__(system)
        self.independent = IndependentComponents(system)

    @cached_property
    def tick(self) -> int | None:
        """The position of the tick; None if there is none that could be divided."""
        ticks = [index for index, step in enumerate(self.system.steps) if step.kind == "tick"]
        return ticks[0] if len(ticks) == 1 and not self.system.is_synchronous else None

    @cached_property
    def synchronised(self) -> tuple[frozenset[str], ...]:
        """The components that ticks synchronise: those in which the tick reads or writes something."""
        return tuple(component for component in self.components if not component.isdisjoint(self._touched))

    @property
    def is_divided(self) -> bool:
        """Return whether ticks alone connect several components."""
        return len(self.synchronised) > 1

    @cached_property
    def _touched(self) -> frozenset[str]:
        """The variables that the tick reads or writes."""
        return frozenset() if self.tick is None else self.system.steps[self.tick].footprint

    @cached_property
    def connected_in_time(self) -> frozenset[str]:
        """The variables that are connected if the tick connects all that it touches."""
        return self.independent.component_closure(self._touched)

    def _connected_by(self, step: Step) -> Iterator[frozenset[str]]:
        if self.tick is None or step is not self.system.steps[self.tick]:
            yield step.footprint
            return
        yield from (read for _, read in self._guards)
        for name, value in step.updates:
            yield reads(value) | {name}

    @cached_property
    def _footprints(self) -> dict[str, frozenset[str]]:
        footprints = {step.name: step.footprint for step in self.system.steps}
        if self.tick is not None:
            footprints[self.system.steps[self.tick].name] = frozenset()
        return footprints

    def _observed(self, agents: Iterable[str]) -> frozenset[str]:
        local_states = (frozenset(self.system.agent[name].local) for name in agents)
        return frozenset().union(*local_states) & self.connected_in_time

    def components_of(self, formula: Formula) -> frozenset[str]:
        independent = self.independent.components_of(formula)
        if not self.is_divided or any(map(_is_indivisible, f.core_subformulas(formula))):
            return independent
        timed = super().components_of(formula)
        return min(timed, independent)

    def divides(self, formula: Formula) -> bool:
        """Return whether the formula needs fewer components than the independent ones."""
        return self.is_divided and self.components_of(formula) < self.independent.components_of(formula)

    def _steps_within(self, variables: frozenset[str]) -> Iterator[tuple[int, Step]]:
        for index, step in enumerate(self.system.steps):
            if index == self.tick:
                yield index, cut_step(self._restricted(step, variables), variables)
            elif step.footprint <= variables:
                yield index, cut_step(step, variables)

    def _restricted(self, tick: Step, variables: frozenset[str]) -> Step:
        """Return the tick with the conjuncts of its guard and the updates over these components."""
        return replace(
            tick,
            guard=_within(self._guards, variables),
            unbounded=None if tick.unbounded is None else _within(self._unbounded, variables),
            updates=tuple(update for update in tick.updates if update[0] in variables),
            free=tuple(name for name in tick.free if name in variables),
        )

    @cached_property
    def _guards(self) -> tuple[tuple[Expr, frozenset[str]], ...]:
        """The conjuncts of the guard of the tick, with the variables that they read."""
        return () if self.tick is None else _with_variables(self.system.steps[self.tick].guard)

    @cached_property
    def _unbounded(self) -> tuple[tuple[Expr, frozenset[str]], ...]:
        """The conjuncts of the guard of the tick without the bounds on messages."""
        unbounded = None if self.tick is None else self.system.steps[self.tick].unbounded
        return () if unbounded is None else _with_variables(unbounded)

    def guard_of(self, component: frozenset[str]) -> Expr:
        """Return where the component does not hold up the tick."""
        return _within(self._guards, component)


def _with_variables(condition: Expr) -> tuple[tuple[Expr, frozenset[str]], ...]:
    return tuple((one, reads(one)) for one in conjuncts(condition))


def _within(conditions: Iterable[tuple[Expr, frozenset[str]]], variables: frozenset[str]) -> Expr:
    return conj(one for one, read in conditions if read <= variables)


def _is_indivisible(part: Formula) -> bool:
    if isinstance(part, f.OnPaths):
        return part.along is not None or not is_stutter_invariant_everywhere(part.path)
    return isinstance(part, f.Enforces)
