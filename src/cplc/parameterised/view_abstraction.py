"""View abstraction: an inductive invariant of any k + 1 members of a family, computed on k + 1 members for every size.

References: Abdulla, Haziza and Holík, "All for the price of few: parameterized verification through view abstraction",
2013; Pnueli, Ruah and Zuck, "Automatic deductive verification with invisible invariants", 2001.

Definition. The whole consists of n members and a part that belongs to none. Its *projection* to k + 1 of the members
is the same system for each choice of them and for every n > k + 1. A *view* of a state forgets all but k members. A set
of states of the projection is *closed* if

* it contains the initial states;
* every enabled step of the projection leads from it into it; and
* it contains each state all of whose views are views of states in it.

Claim. The projection of every reachable state of the whole to any k + 1 members is in each closed set.
Proof. By induction on the run. Initial states are in the set. A step of the whole belongs to one member at most. Take
any k members. Projected to these and that one, the step is a step of the projection or changes nothing, so it leads
into the set. Hence after the step every view is a view of the set, and by the third condition so is every k + 1.

The smallest closed set is a least fixpoint over decision diagrams. Inevitability is computed as in
`cplc.engines.games.strategy_solver`: backwards, each time by a step that justice forces.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Iterator
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from typing import assert_never

from cplc.checking.results import Question
from cplc.engines.symbolic.bdd import Node
from cplc.engines.symbolic.encoding import Encoding
from cplc.engines.symbolic.indistinguishability import agreement_closure
from cplc.engines.symbolic.transitions import Transition, doubled, transition
from cplc.engines.symbolic.variable_order import variable_order
from cplc.logic import formulas as f
from cplc.logic.expressions import And as AllOf
from cplc.logic.expressions import Or as AnyOf
from cplc.logic.expressions import conj
from cplc.logic.formulas import Formula
from cplc.parameterised.instances import Proof, Sizes
from cplc.parameterised.projection import (
    NotSeparable,
    Projection,
    formula_specialised_to_idle,
    is_possibility,
    project,
    specialise_to_idle,
    under_approximate,
    variables_of,
)
from cplc.records import dataclass
from cplc.reductions.components import conjuncts_of
from cplc.reductions.symmetry import (
    Symmetry,
    SymmetryGroup,
    canonical_description,
    canonical_numbering,
    expr_key,
    formula_key,
    names_of,
    renamed_formula,
)
from cplc.runtime.context import ResourceExhausted, current
from cplc.semantics.data_independence import NotUniform
from cplc.system.model import System


class ViewAbstraction:
    """The members of a projection, and the smallest closed set of its states."""

    def __init__(self, projection: Projection, members: Iterable[Collection[str]]) -> None:
        """Take the projection, and in ``members`` the variables of each member."""
        system = projection.system
        self._system = system
        self._members = tuple(map(frozenset, members))
        self._encoding = Encoding(system, variable_order(system).names, doubled(system))
        self._transitions = tuple(transition(self._encoding, step) for step in system.steps)
        self._certain = tuple(map(self._encoding.condition, projection.certain))
        self._last = self._encoding.cube(self._members[-1])

    @cached_property
    def invariant(self) -> Node:
        """The smallest closed set."""
        exists = self._encoding.diagrams.exists
        forgotten = [self._encoding.cube(names) for names in self._members]
        closed = self._encoding.initial_states(frozenset(self._system.variable))
        while True:
            # Least fixpoint: add the states all of whose views (without one member) are views of the set, and close it
            # under steps. Views of larger systems are then in it as well (Abdulla, Haziza and Holík 2013).
            before = closed
            views = self._encoding.true
            for cube in forgotten:
                views = views & exists(closed, cube)
            closed = self._closed(views)
            if closed == before:
                break
        if any(closed & step.out_of_range != self._encoding.false for step in self._transitions):
            raise ResourceExhausted("an assignment might leave the range of its variable")
        return closed

    def _closed(self, states: Node) -> Node:
        """Return the states reachable from these."""
        while True:
            before = states
            for step in self._transitions:
                states = _image_closure(step, states)
                self._encoding.diagrams.collect_if_needed()
            context = current()
            context.report_iteration(self._encoding.diagrams.nodes())
            context.safepoint()
            if states == before:
                return states

    def always(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether a formula of `cplc.parameterised.projection.under_approximate` holds in all states."""
        return self.invariant & ~self._holds(formula, assuming) == self._encoding.false

    def initially(self, formula: Formula, assuming: frozenset[str]) -> bool:
        """Tell whether it holds in all initial states."""
        initial = self._encoding.initial_states(frozenset(self._system.variable))
        return initial & ~self._holds(formula, assuming) == self._encoding.false

    def _holds(self, formula: Formula, assuming: frozenset[str]) -> Node:
        """Return states that satisfy the formula; there is no negation, which would turn fewer states into more."""
        encoding = self._encoding
        match formula:
            case f.Atom(condition):
                return encoding.condition(condition)
            case f.And(operands):
                satisfying = encoding.true
                for operand in operands:
                    satisfying = satisfying & self._holds(operand, assuming)
                return satisfying
            case f.Or(operands):
                satisfying = encoding.false
                for operand in operands:
                    satisfying = satisfying | self._holds(operand, assuming)
                return satisfying
            case f.OnPaths("E", f.Finally(operand, None), None):
                return self._possibly_reaches(self._holds(operand, assuming))
            case f.OnPaths("A", f.Finally(operand, None), None):
                return self._inevitably_reaches(encoding.true, self._holds(operand, assuming), assuming)
            case f.OnPaths("A", f.Until(left, right, None), None):
                return self._inevitably_reaches(self._holds(left, assuming), self._holds(right, assuming), assuming)
            case f.KnownFrom(observed, operand):
                return ~agreement_closure(encoding, observed, self.invariant & ~self._holds(operand, assuming))
            case f.Knows("each", agents, operand):
                missing, satisfying = self.invariant & ~self._holds(operand, assuming), encoding.true
                for agent in agents:
                    hidden = self._system.variable.keys() - self._system.agent[agent].local
                    satisfying = satisfying & ~encoding.diagrams.exists(missing, encoding.cube(hidden))
                return satisfying
            case f.Not() | f.PathOperator() | f.StateOperator() | f.Derived():
                raise ValueError(f"view abstraction cannot decide {type(formula).__name__}")
            case _:
                assert_never(formula)

    def _possibly_reaches(self, goal: Node) -> Node:
        """Return states from which enabled steps of the members of the projection reach the goal."""
        while True:
            before = goal
            for step, certain in zip(self._transitions, self._certain, strict=True):
                goal = goal | (step.preimage(goal) & certain)
                self._encoding.diagrams.collect_if_needed()
            if goal == before:
                return goal

    def _inevitably_reaches(self, until: Node, goal: Node, assuming: frozenset[str]) -> Node:
        """Return states from which every just run satisfies ``until U goal``.

        The last member stands for any other, so it is quantified universally. Invariant: every just run from
        ``reaching`` satisfies it. A set of states joins ``reaching`` if one justice constraint is enabled throughout it
        by steps that all lead into ``reaching``, and every other step leads into ``reaching`` or stays in the set.
        """
        nothing, until, reaching = self._encoding.false, self._forall_last(until), self._forall_last(goal)
        constraints = [justice.steps for justice in self._system.constraints(assuming)]
        while True:
            before = reaching
            for steps in constraints:
                possible, away = nothing, nothing
                for number in steps:
                    possible = possible | self._certain[number]
                    away = away | self._transitions[number].preimage(~reaching)
                waiting = self._forall_last(possible & ~away) & until & ~reaching
                # Greatest part of `waiting` that no other step leaves, except into `reaching`.
                while waiting != nothing:
                    staying = waiting & self._forall_last(~self._preimage(~(waiting | reaching)))
                    self._encoding.diagrams.collect_if_needed()
                    if staying == waiting:
                        break
                    waiting = staying
                reaching = reaching | waiting
            if reaching == before:
                return reaching

    def _preimage(self, states: Node) -> Node:
        sources = self._encoding.false
        for step in self._transitions:
            sources = sources | step.preimage(states)
        return sources

    def _forall_last(self, states: Node) -> Node:
        """Return the states that are in the set for every value of the last member (universal quantification)."""
        return ~self._encoding.diagrams.and_exists(self.invariant, ~states, self._last)


def _image_closure(step: Transition, states: Node) -> Node:
    while True:
        before = states
        states = states | step.image(states)
        if states == before:
            return states


# --- proofs

_MIN_MEMBERS, _MAX_MEMBERS = 2, 4
"""Minimum and maximum number of members in a projection."""

_Key = tuple[bool, Hashable]
"""An invariance test, and the canonical form of the formula up to a permutation of members."""


@dataclass(frozen=True)
class _Instance:
    """The system of one size, and the subquestions there."""

    system: System
    symmetry_group: SymmetryGroup
    formulas: tuple[Formula, ...]
    assuming: frozenset[str]
    """Roles whose justice is assumed: all members or none."""

    def last(self, count: int) -> tuple[int, ...]:
        return self.symmetry_group.indices[len(self.symmetry_group.indices) - count :]

    def without(self, formula: Formula, count: int) -> Iterator[Formula]:
        """Yield the formula under all choices of the last ``count`` members."""
        for chosen in combinations(self.symmetry_group.indices, count):
            remaining = (member for member in self.symmetry_group.indices if member not in chosen)
            order = dict(zip((*remaining, *chosen), self.symmetry_group.indices, strict=True))
            yield renamed_formula(formula, self.symmetry_group.renaming(order))

    def key(self, formula: Formula, left_out: int = 0) -> Hashable:
        """Return the canonical form of a formula up to a permutation of members."""
        symmetry_group = replace(
            self.symmetry_group, indices=self.symmetry_group.indices[: len(self.symmetry_group.indices) - left_out]
        )
        numbering = canonical_numbering(symmetry_group, names_of(formula))
        return formula_key(renamed_formula(formula, symmetry_group.renaming(numbering)))


class ViewAbstractionProofs:
    """Attempts proofs for every size of one protocol's family, where its members share state.

    Each subquestion is proved in one of two ways.

    * Safety (``A G``): an invariant of any k members implies it. The invariant is computed on the projection of a
      larger system to k + 1 members. The systems with one and with two further members must have the same projection.
      As declarations are uniform in the family (`cplc.semantics.data_independence`), every larger system then has it
      too: there are as many members as any condition mentions at once.
    * Possibility: with further members idle, a system with one more member behaves as the smaller one. This is checked
      at two sizes as well.

    The hidden members, and the idle ones, may be chosen for each formula, since members are symmetric.
    """

    def __init__(self, sizes: Sizes) -> None:
        self._sizes = sizes
        self._projections: dict[tuple[int, int], tuple[System, _CommonProjection | None]] = {}

    @cached_property
    def _is_uniform(self) -> bool:
        return replace(self._sizes.uniformity, may_quantify_over_all=True).obstacle is None

    def proof(self, question: Question, size: int) -> Proof | None:
        """Return why the question holds at every size if it does at every size up to this one.

        Views of as many members are taken as make this size; the excerpts come from the next two sizes.
        """
        members = self._sizes.members_in(question)
        if not self._is_uniform or isinstance(members, NotUniform):
            return None
        least = max(_MIN_MEMBERS, members, self._sizes.uniformity.simultaneous_members, self._sizes.bounds[0])
        if not least <= size <= _MAX_MEMBERS:
            return None
        reason = self._reason(question, size)
        return None if reason is None else Proof(size, reason)

    def _reason(self, question: Question, size: int) -> str | None:
        """Return the reason of a proof with this number of members, or None."""
        candidates = [self._instance(question, larger) for larger in range(size, size + 3)]
        instances = [one for one in candidates if one is not None]
        if len(instances) < len(candidates):
            return None
        least, one, two = instances
        reasons = []
        if any(map(is_possibility, least.formulas)):
            if not (_can_be_idle(least, one) and _can_be_idle(one, two)):
                return None
            reasons.append("monotonicity: further members can stay idle")
        if not all(map(is_possibility, least.formulas)):
            proven = self._projected(one, two, size)
            if proven is None or not proven.proves(one, two):
                return None
            views = f"any {size - 1} members" if size > _MIN_MEMBERS else "each member"
            reasons.append(f"view abstraction: an invariant of {views} implies it")
        return " and by ".join(reversed(reasons)) or None

    def _instance(self, question: Question, size: int) -> _Instance | None:
        """Return the subquestions at one size if its members are symmetric, or None."""
        bound = self._sizes.asked(question, size)
        if isinstance(bound, NotUniform):
            return None
        system = bound.question.system or bound.system
        families = {role.name for role in self._sizes.uniformity.families}
        symmetry_group = next(
            (symmetry_group for symmetry_group in Symmetry(system).groups if symmetry_group.families == families), None
        )
        if symmetry_group is None or system.may_lack_fair_runs:
            return None
        assuming = bound.question.assuming
        if any(
            {f"{family}[{member}]" in assuming for member in symmetry_group.indices} == {True, False}
            for family in families
        ):
            return None
        formulas = (part for formula in conjuncts_of(bound.question.formula) for part in _apart(formula))
        return _Instance(system, symmetry_group, tuple(formulas), assuming)

    def _projected(self, one: _Instance, two: _Instance, size: int) -> _CommonProjection | None:
        key = id(one.system), size
        if key not in self._projections:
            self._projections[key] = one.system, _common_projection(one, two)
        return self._projections[key][1]


def _apart(formula: Formula) -> tuple[Formula, ...]:
    """Return formulas whose conjunction is equivalent: an invariant that excludes a disjunction is split."""
    excluded = f.invariant(formula)
    if not isinstance(excluded, f.Not) or not isinstance(excluded.operand, f.Atom):
        return (formula,)
    condition, text = excluded.operand.condition, excluded.operand.text
    together = condition.operands if isinstance(condition, AllOf) else (condition,)
    ways = max((one.operands for one in together if isinstance(one, AnyOf)), key=len, default=())
    rest = [one for one in together if not (isinstance(one, AnyOf) and one.operands is ways)]
    parts = (f.Atom(conj((*rest, way)), text) for way in ways)
    return tuple(f.OnPaths("A", f.Globally(f.Not(part))) for part in parts) or (formula,)


def _invariants(instance: _Instance) -> Iterator[Formula]:
    return (formula for formula in instance.formulas if not is_possibility(formula))


# --- safety


@dataclass(frozen=True)
class _CommonProjection:
    """The projection of a system to some members, with its view abstraction."""

    projection: Projection
    views: ViewAbstraction

    def proves(self, one: _Instance, two: _Instance) -> bool:
        """Tell whether the invariant implies all subquestions at both larger sizes."""
        shown: set[_Key] = set()
        try:
            for formula in _invariants(one):
                implied_by = dict(self._implying_conditions(one, formula, 1))
                if shown.isdisjoint(implied_by):
                    key = next(
                        (key for key, condition in implied_by.items() if self._holds(key, condition, one.assuming)),
                        None,
                    )
                    if key is None:
                        return False
                    shown.add(key)
        except ResourceExhausted:
            return False
        return all(
            any(key in shown for key, _ in self._implying_conditions(two, formula, 2)) for formula in _invariants(two)
        )

    def _holds(self, key: _Key, condition: Formula, assuming: frozenset[str]) -> bool:
        is_always, _ = key
        return (self.views.always if is_always else self.views.initially)(condition, assuming)

    def _implying_conditions(
        self, instance: _Instance, formula: Formula, left_out: int
    ) -> Iterator[tuple[_Key, Formula]]:
        """Yield under-approximations of the formula, or of its operand, for all choices of hidden members."""
        hidden = variables_of(instance.system, instance.symmetry_group, instance.last(left_out))
        for renamed in instance.without(formula, left_out):
            always = f.invariant(renamed)
            condition = under_approximate(renamed if always is None else always, self.projection.system, hidden)
            if condition is not None:
                yield (always is not None, instance.key(condition, left_out)), condition


def _common_projection(one: _Instance, two: _Instance) -> _CommonProjection | None:
    """Return the common projection of both sizes, or None if they differ."""
    if one.symmetry_group.places != two.symmetry_group.places:
        return None
    try:
        projected = project(one.system, one.symmetry_group, one.last(1))
        if _description(projected) != _description(project(two.system, two.symmetry_group, two.last(2))):
            return None
    except NotSeparable:
        return None
    members = [
        variables_of(projected.system, one.symmetry_group, (member,)) for member in one.symmetry_group.indices[:-1]
    ]
    return _CommonProjection(projected, ViewAbstraction(projected, members))


def _description(projected: Projection) -> Hashable:
    steps = zip(projected.system.steps, projected.certain, strict=True)
    return canonical_description(projected.system), frozenset((step.name, expr_key(certain)) for step, certain in steps)


# --- possibility


def _can_be_idle(fewer: _Instance, more: _Instance) -> bool:
    """Tell whether the larger system with an idle member equals the smaller one, with the same subquestions."""
    idle = more.last(1)
    beside = specialise_to_idle(more.system, more.symmetry_group, idle)
    if beside is None or canonical_description(replace(beside, justice=())) != canonical_description(
        replace(fewer.system, justice=())
    ):
        return False
    keys = set(map(fewer.key, fewer.formulas))

    def is_known(formula: Formula) -> bool:
        idle_formulas = (
            formula_specialised_to_idle(one, more.system, more.symmetry_group, idle) for one in more.without(formula, 1)
        )
        return any(more.key(one, 1) in keys for one in idle_formulas)

    return all(map(is_known, filter(is_possibility, more.formulas)))
