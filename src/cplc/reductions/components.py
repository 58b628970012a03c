"""Slicing into independent components: keep the components of a system that a formula depends on.

Definition: two variables are connected if one step reads or writes both, or if one justice constraint contains steps on
both. The connected components do not influence each other. Initial values are independent as well, so the set of
reachable states is the product of the components' reachable states.

Claim: a formula has the same value at a state and at its projection to a union W of components (the slice) that
contains

* every variable of its atoms,
* every variable that the steps of its ``does(…)``, or the ticks that it counts, read or write,
* every variable of the system's fairness conditions, and of steps that must recur,
* for every ``C``/``Fu`` in it, every variable that the two ends of its channel read, and
* for every uniform strategy, every variable that a member of the group observes, reads or writes.

Proof, paths: the projection of a run to W is a run of the slice of the same length. Steps outside W become idle steps,
which no ``does(…)`` in the formula names. Justice of steps in W reads W alone, so fair runs stay fair. Conversely, a
run of the slice becomes a run of the whole system if steps of the other components are interleaved with it, in turn for
each justice constraint outside W. Each constraint can be met from every state, since nothing in W disables those steps.
In W the interleaved steps are stutter steps, and they can start after any finite prefix. Where `is_stutter_invariant`
returns true, both directions therefore hold, for a path formula and its negation. Where it returns false, as for ``A G
X p`` or ``E (F Y p)``, the formula may observe stuttering, and all variables are relevant.

Restricted paths: ``E{α}`` removes the same steps and their justice on both sides, in W and outside. The argument
applies to the remaining steps. A state outside W that has no allowed step idles, so the variables of the steps in α are
not relevant by themselves.

Strategies: the group wins by insisting on a send, or by waiting for a justice constraint, that leads into the winning
region while the steps of others stay in it. A step outside W that does so leads from ``(w, v)`` to ``(w, v')``. By
induction on the rounds of the fixpoint, membership depends on W alone, so ``(w, v)`` is won already. Steps of others
outside W keep the state in W. Hence the group wins at ``(w, v)`` iff it wins at ``w``; likewise for ``X`` and ``G``.
With uniform strategies a member could use what it observes outside W as a memory. W therefore contains all that members
observe and do; other components then run in turn as above, and goals on states are stutter-invariant.

Knowledge: the reachable states are a product, and so is indistinguishability. Outside W it is reflexive: it relates
every state there to some state, and the operand does not depend on which.

Commitments: ``debtor -> creditor`` accessibility requires equal local states of the debtor, copies of the creditor that
have caught up, and equal values of the creditor's other variables. All copies lie in W. Outside W accessibility is the
identity on variables of the two agents and unrestricted on others: again a product, and reflexive.

Synchronous systems are not sliced: all players act in each round, and a player without an action blocks all others.

Reference for stuttering: Lamport, "What good is temporal logic?", 1983.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property
from math import prod
from typing import TypeVar, assert_never

from cplc.logic import formulas as f
from cplc.logic.expressions import Expr, reads
from cplc.logic.formulas import Formula
from cplc.reductions.stutter import is_stutter_invariant
from cplc.statespace.graph_algorithms import merged_classes
from cplc.system.model import Claim, Commitment, Message, Step, System

Obligation = TypeVar("Obligation", Commitment, Claim)


class IndependentComponents:
    """Independent components of one system; each slice is built once."""

    def __init__(self, system: System) -> None:
        self.system = system
        self._parts: dict[frozenset[str], System] = {}

    @cached_property
    def components(self) -> tuple[frozenset[str], ...]:
        """The connected components, in the order of their first variables."""
        if self.system.is_synchronous:
            return (frozenset(self.system.variable),)
        members: dict[str, list[str]] = {}
        for name, root in merged_classes({name: name for name in self.system.variable}, self._connected()).items():
            members.setdefault(root, []).append(name)
        return tuple(frozenset(names) for names in members.values())

    def _connected(self) -> Iterator[frozenset[str]]:
        for step in self.system.steps:
            yield from self._connected_by(step)
        for justice in self.system.justice:
            due = frozenset() if justice.due is None else reads(justice.due)
            if len(justice.steps) > 1 or due:
                yield due.union(*(self.system.steps[index].footprint for index in justice.steps))

    def _connected_by(self, step: Step) -> Iterator[frozenset[str]]:
        yield step.footprint

    @cached_property
    def _component_of(self) -> dict[str, frozenset[str]]:
        return {name: component for component in self.components for name in component}

    def components_of(self, formula: Formula) -> frozenset[str]:
        """Return the components that the value of the formula depends on."""
        if self.system.is_synchronous:
            return frozenset(self.system.variable)
        named: set[str] = set()
        for condition in self.system.fairness:
            named |= reads(condition)
        for justice in self.system.justice:
            if justice.recurs:
                named.update(*(self._footprints[self.system.steps[index].name] for index in justice.steps))
        for part in f.core_subformulas(formula):
            match part:
                case f.Atom(condition):
                    named |= reads(condition)
                case f.KnownFrom(observed):
                    named.update(*map(reads, observed))
                case (
                    f.Taken(steps)
                    | f.Until(bound=f.Bound(ticks=f.Taken(steps)))
                    | f.Release(bound=f.Bound(ticks=f.Taken(steps)))
                ):
                    named.update(*(self._footprints[name] for name in steps & self._footprints.keys()))
                case f.Enforces(group, _, uniform):
                    named |= self._group_variables(group) if uniform else set()
                case f.OnPaths(_, path):
                    if not is_stutter_invariant(path):
                        return frozenset(self.system.variable)
                case f.Not() | f.And() | f.Next() | f.Until() | f.Release() | f.Previous() | f.Since() | f.Regardless():
                    pass
                case f.Knows(_, agents):
                    named |= self._observed(agents)
                case f.Adjacent():
                    raise AssertionError("only synchronous systems have rounds")
                case _:
                    assert_never(part)
        return self.component_closure(named)

    def _observed(self, agents: Iterable[str]) -> frozenset[str]:
        """Return the variables that knowledge of these agents depends on, besides those of what they know: none."""
        return frozenset()

    @cached_property
    def _footprints(self) -> dict[str, frozenset[str]]:
        """The variables that a slice has to contain so that it has a step, by the name of the step."""
        return {step.name: step.footprint for step in self.system.steps}

    def _group_variables(self, group: Iterable[str]) -> frozenset[str]:
        """Return the variables that these agents observe and that their steps read or write."""
        local_states = (frozenset(self.system.agent[name].local) for name in group)
        return frozenset().union(*local_states, *(step.footprint for step in self.system.steps if step.actor in group))

    def component_closure(self, variables: Iterable[str]) -> frozenset[str]:
        """Return the union of the components of these variables."""
        return frozenset().union(*{self._component_of[name] for name in variables})

    def slice(self, variables: frozenset[str]) -> System:
        """Return the slice of these components; for all components the system itself."""
        if len(variables) == len(self.system.variables):
            return self.system
        made = self._parts.get(variables)
        if made is None:
            made = self._parts[variables] = _restricted_system(
                self.system, variables, self._messages, dict(self._steps_within(variables))
            )
        return made

    def _steps_within(self, variables: frozenset[str]) -> Iterator[tuple[int, Step]]:
        """Yield the steps of a slice. Steps that touch no variable belong to every slice."""
        for index, step in enumerate(self.system.steps):
            if step.footprint <= variables:
                yield index, cut_step(step, variables)

    @cached_property
    def _messages(self) -> tuple[tuple[Message, frozenset[str]], ...]:
        """Each message with the variables that its conditions read."""
        return message_variables(self.system)


def message_variables(system: System) -> tuple[tuple[Message, frozenset[str]], ...]:
    """Return each message with the variables that its conditions read."""
    return tuple(
        (message, reads(message.sent) | reads(message.received) | reads(message.in_flight))
        for message in system.messages
    )


def components(system: System) -> tuple[frozenset[str], ...]:
    """Return the connected components of the variables."""
    return IndependentComponents(system).components


def relevant_variables(system: System, formula: Formula) -> frozenset[str]:
    """Return the variables of the components that the value of the formula depends on."""
    return IndependentComponents(system).components_of(formula)


def slice_of(system: System, variables: Iterable[str]) -> System:
    """Return the slice of the components of these variables."""
    slices = IndependentComponents(system)
    return slices.slice(slices.component_closure(variables))


def count_reachable(system: System, count: Callable[[System], int]) -> int:
    """Return the number of reachable states: the product of the counts of the components."""
    slices = IndependentComponents(system)
    return prod(count(slices.slice(component)) for component in slices.components)


def _restricted_system(
    system: System,
    variables: frozenset[str],
    messages: Iterable[tuple[Message, frozenset[str]]],
    steps: Mapping[int, Step],
) -> System:
    """Return the slice with these variables, and with these steps by their positions in the system."""
    new_index = {index: position for position, index in enumerate(steps)}
    return replace(
        restrict_declarations(system, variables, messages),
        steps=tuple(steps.values()),
        justice=tuple(
            replace(justice, steps=tuple(new_index[index] for index in justice.steps))
            for justice in system.justice
            if all(index in new_index for index in justice.steps)
        ),
        fairness=tuple(condition for condition in system.fairness if reads(condition) <= variables),
    )


def restrict_declarations(
    system: System, retained: frozenset[str], messages: Iterable[tuple[Message, frozenset[str]]]
) -> System:
    """Return the system with the declarations over these variables; steps and fairness are unchanged.

    ``messages`` are those of the system, each with the variables that its conditions read.
    """
    return replace(
        system,
        variables=tuple(variable for variable in system.variables if variable.name in retained),
        agents=tuple(replace(one, local=tuple(filter(retained.__contains__, one.local))) for one in system.agents),
        shared=tuple(pair for pair in system.shared if {pair.at_first, pair.at_second} <= retained),
        messages=tuple(message for message, variables in messages if variables <= retained),
        commitments=tuple(
            _with_views(one, retained)
            for one in system.commitments
            if one.variable in retained and _within(retained, one.antecedent, one.consequent, one.on_course)
        ),
        claims=tuple(
            _with_views(one, retained)
            for one in system.claims
            if one.variable in retained and _within(retained, one.content, one.on_course)
        ),
        hazards=tuple(hazard for hazard in system.hazards if reads(hazard[1]) <= retained),
        bounded=tuple(message for message in system.bounded if reads(message.overdue) <= retained),
    )


def _with_views(one: Obligation, retained: frozenset[str]) -> Obligation:
    return replace(one, views=tuple((role, variable) for role, variable in one.views if variable in retained))


def cut_step(step: Step, variables: frozenset[str]) -> Step:
    """Return the step without operations that need other variables."""
    inside = tuple(
        operation for operation in step.operations if _within(variables, operation.applicable, operation.state_before)
    )
    return step if len(inside) == len(step.operations) else replace(step, operations=inside)


def _within(variables: frozenset[str], *conditions: Expr) -> bool:
    return all(reads(condition) <= variables for condition in conditions)


def conjuncts_of(formula: Formula) -> tuple[Formula, ...]:
    """Return formulas whose conjunction is equivalent; each may need a smaller slice.

    The equivalence holds at every state and path: ``A``, ``G``, ``X`` and ``H`` distribute over conjunction, along the
    same steps and within the same bound.
    """
    if isinstance(formula, f.And):
        return tuple(part for operand in formula.operands for part in conjuncts_of(operand))
    if isinstance(formula, f.Implies):
        return tuple(f.Implies(formula.left, part) for part in conjuncts_of(formula.right))
    if isinstance(formula, f.OnPaths) and formula.quantifier == "A":
        return tuple(f.OnPaths("A", part, formula.along) for part in conjuncts_of(formula.path))
    if isinstance(formula, f.Globally | f.Next | f.Historically):
        return tuple(f.with_children(formula, (part,)) for part in conjuncts_of(formula.operand))
    denied = formula.operand if isinstance(formula, f.Not) else None
    if isinstance(denied, f.Not):
        return conjuncts_of(denied.operand)
    if isinstance(denied, f.Or):
        return tuple(part for operand in denied.operands for part in conjuncts_of(f.Not(operand)))
    if isinstance(denied, f.Implies):
        return (*conjuncts_of(denied.left), *conjuncts_of(f.Not(denied.right)))
    return (formula,)
