"""Plans that take part: those that insist on a send, even if nothing happens in other components.

Definition. A plan takes part if, in one component that counts, it insists on a send on some run on which nothing has
happened in the others. So what comes in one component is no coin that decides whether to take part in another.

A later send is no duty, so whether a plan takes part is no property of single runs. With full observation it is an
*obligation* that the plan hands down: at a send it is discharged; else one of the steps that may follow inherits it, of
the plan's choice, and all others are free of it. In the model with the obligation in its states that choice is one more
controlled action, so the solvers for figures of all plans give those of plans that take part.

A plan over observations takes part if and only if it has a *first send*: a send at an information set that is reached
by waiting. So the best such plan is the best one for one of the first sends, with all its other choices open.

Where several components are joined in one model, the *scopes* are their sets of steps; None stands for all steps.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from contextlib import suppress
from math import inf
from typing import TypeAlias

from cplc.decision.game import CERTAIN, NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.observation import (
    EXACT_STATES,
    MAX_UNFOLDED_STATES,
    MAX_WORK,
    Attained,
    Objective,
    ObservedMdp,
    Plan,
    fixed,
    initial_bounds,
    is_closed,
    searched,
    unfolded,
)
from cplc.decision.results import Bounds, Number
from cplc.decision.value_iteration import OrderedMdp, uses_arrays
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

_FREE, _OBLIGED, _SENDING, _UNDECIDED = -1, -2, -3, -4
"""The plan need not send any more; it has to, and decides who inherits the obligation; it decided to send now; it has
to, and decides in which scope.

Other stages are the number of the transition that inherits the obligation.
"""
_ROOT = -1
"""Stands before several initial states."""

Scopes: TypeAlias = "tuple[frozenset[int], ...] | None"
"""The steps of each component that counts, where several are joined in one model."""


def is_send(model: Mdp, event: int) -> bool:
    """Return whether an event of a controlled action is a send, not waiting."""
    return model.step[model.first_transition[event]] != NO_STEP


def _each(scopes: Scopes) -> Sequence[frozenset[int] | None]:
    return (None,) if scopes is None else scopes


def _is_in(model: Mdp, at: int, scope: frozenset[int] | None) -> bool:
    """Return whether a transition is a step of the scope, or no step at all."""
    return scope is None or model.step[at] in scope or model.step[at] == NO_STEP


def takes_part(model: Mdp, scopes: Scopes = None) -> bool:
    """Return whether the plan takes part, in a model in which it is fixed."""
    if scopes is None and uses_arrays(model):
        from cplc.decision.reachable_states import has_reachable_send

        return has_reachable_send(model)
    return any(_can_send(model, state, scope) for scope in _each(scopes) for state in _reached(model, scope=scope))


def first_sends(whole: ObservedMdp, scopes: Scopes = None) -> list[tuple[Hashable, Hashable]]:
    """Return the sends that may be the first, each with the information set at which it is chosen."""
    model = whole.model
    sends: dict[tuple[Hashable, Hashable], None] = {}
    for scope in _each(scopes):
        for state in _reached_by_waiting(model, scope):
            mine = _sends(model, state, scope)
            sends.update(dict.fromkeys((whole.sets[state], whole.choices[event]) for event in mine))
    return list(sends)


def reached_by_acting(model: Mdp) -> list[int]:
    """Return the states that are reached without waiting where something can be sent."""
    if uses_arrays(model):
        from cplc.decision.reachable_states import reachable

        return [at for at, is_reached in enumerate(reachable(model, acting=True).tolist()) if is_reached]
    return _reached(model, lambda event, sends: is_send(model, event) or not sends)


def _reached_by_waiting(model: Mdp, scope: frozenset[int] | None) -> list[int]:
    return _reached(model, lambda event, _: not is_send(model, event), scope)


def _reached(
    model: Mdp,
    is_chosen: Callable[[int, bool], bool] = lambda _event, _sends: True,
    scope: frozenset[int] | None = None,
) -> list[int]:
    """Return the reachable states; ``is_chosen`` gets an event of a controlled action, and whether that has a send."""
    states = list(range(model.initial))
    reached = set(states)
    for state in states:
        for event in _events(model, state, is_chosen):
            for at in model.transitions(event):
                if model.target[at] not in reached and _is_in(model, at, scope):
                    reached.add(model.target[at])
                    states.append(model.target[at])
    return states


def _events(model: Mdp, state: int, is_chosen: Callable[[int, bool], bool]) -> Iterator[int]:
    for action in model.options(state):
        events = model.events(action)
        if model.kind[action] == ActionKind.CONTROLLED:
            sends = any(is_send(model, event) for event in events)
            yield from (event for event in events if is_chosen(event, sends))
        else:
            yield from events


def _waiting_transitions(model: Mdp, state: int, scope: frozenset[int] | None) -> Iterator[int]:
    for event in _events(model, state, lambda event, _: not is_send(model, event)):
        yield from (at for at in model.transitions(event) if _is_in(model, at, scope))


def _sends(model: Mdp, state: int, scope: frozenset[int] | None) -> Iterator[int]:
    """Yield the events of sends of this scope."""
    for action in model.options(state):
        if model.kind[action] == ActionKind.CONTROLLED:
            for event in model.events(action):
                if is_send(model, event) and _is_in(model, model.first_transition[event], scope):
                    yield event


def _can_send(model: Mdp, state: int, scope: frozenset[int] | None) -> bool:
    return any(True for _ in _sends(model, state, scope))


@dataclass(frozen=True)
class Committed:
    """The model of the plans that take part, with full observation."""

    model: Mdp
    nodes: Sequence[tuple[int, int]]
    """Each state with its stage."""

    @property
    def origin(self) -> list[int]:
        """The state that each state of it is a copy of."""
        return [max(state, 0) for state, _ in self.nodes]


def committed(model: Mdp, scopes: Scopes = None) -> Committed | None:
    """Return the model in which the plan has to take part; None if it never can.

    In a cyclic model the obligation may be put off forever, so figures are upper bounds there.
    """
    if not model.has(ActionKind.CONTROLLED):
        return None
    each = [(scope, _live(model, scope)) for scope in _each(scopes)]
    possible = [(scope, live) for scope, live in each if any(at in live for at in range(model.initial))]
    return _Building(model, possible).result() if possible else None


def _live(model: Mdp, scope: frozenset[int] | None) -> set[int]:
    """Return the states that waiting leads to and from which waiting leads to a send."""
    states = _reached_by_waiting(model, scope)
    before: dict[int, list[int]] = {}
    for state in states:
        for at in _waiting_transitions(model, state, scope):
            before.setdefault(model.target[at], []).append(state)
    live = [state for state in states if _can_send(model, state, scope)]
    reached = set(live)
    for state in live:
        for earlier in before.get(state, ()):
            if earlier not in reached:
                reached.add(earlier)
                live.append(earlier)
    return reached


_Node = tuple[int, int, int]
"""A state, a stage, and the number of the scope in which something has to be sent."""


class _Building:
    """The states are those of the model, each with a stage: free, obliged, or the number of the chosen heir."""

    def __init__(self, model: Mdp, scopes: Sequence[tuple[frozenset[int] | None, set[int]]]) -> None:
        self.model = model
        self.scopes = scopes
        """Each scope with the states from which waiting leads to a send in it."""
        self.nodes: list[_Node] = []
        self.number: dict[_Node, int] = {}
        self.first = _ROOT if model.initial > 1 else 0
        self.result_model = Mdp(model.chances, 1)
        self._number(self.first, _OBLIGED if len(scopes) == 1 else _UNDECIDED, 0)

    def _number(self, state: int, stage: int, scope: int) -> int:
        node = state, stage, 0 if stage == _FREE else scope
        if stage == _OBLIGED and len(heirs := self._heirs(state, scope)) == 1:
            node = state, heirs[0], scope
        at = self.number.setdefault(node, len(self.nodes))
        if at == len(self.nodes):
            self.nodes.append(node)
        return at

    def _heirs(self, state: int, number: int) -> list[int]:
        """Return the transitions that may inherit the obligation, and `_SENDING` if a send discharges it."""
        model = self.model
        scope, live = self.scopes[number]
        if state == _ROOT:
            return [at for at in range(model.initial) if at in live]
        heirs = [_SENDING] if _can_send(model, state, scope) else []
        return heirs + [at for at in _waiting_transitions(model, state, scope) if model.target[at] in live]

    def result(self) -> Committed:
        position = 0
        while position < len(self.nodes):
            state, stage, scope = self.nodes[position]
            position += 1
            if stage in (_OBLIGED, _UNDECIDED):
                if stage == _OBLIGED:
                    targets = [self._number(state, heir, scope) for heir in self._heirs(state, scope)]
                else:
                    targets = [self._number(state, _OBLIGED, number) for number in range(len(self.scopes))]
                self.result_model.add_action(
                    ActionKind.CONTROLLED, [(CERTAIN, [(NO_STEP, target)]) for target in targets]
                )
            elif state == _ROOT:
                for at in range(self.model.initial):
                    target = self._number(at, _OBLIGED if at == stage else _FREE, scope)
                    self.result_model.add_action(ActionKind.STEP, [(CERTAIN, [(NO_STEP, target)])])
            else:
                self._add_options(state, stage, scope)
            self.result_model.close()
        return Committed(self.result_model, [(state, stage) for state, stage, _ in self.nodes])

    def _add_options(self, state: int, heir: int, scope: int) -> None:
        model = self.model
        sends = set(_sends(model, state, self.scopes[scope][0])) if heir == _SENDING else set()
        for action in model.options(state):
            events = list(model.events(action))
            if model.kind[action] == ActionKind.CONTROLLED and heir != _FREE:
                if heir == _SENDING:
                    events = [event for event in events if event in sends]
                else:
                    events = [event for event in events if heir in model.transitions(event)] or events
            self.result_model.add_action(
                ActionKind(model.kind[action]),
                [
                    (
                        model.chance[event],
                        [
                            (model.step[at], self._number(model.target[at], _OBLIGED if at == heir else _FREE, scope))
                            for at in model.transitions(event)
                        ],
                    )
                    for event in events
                ],
            )


# --- the best plan over observations


def best_taking_part(
    whole: ObservedMdp, objective: Objective, full: Bounds, *, exact: bool, fairness: bool, scopes: Scopes = None
) -> Attained | None:
    """Return the best value of a plan that takes part, given bounds of all plans; None if nothing can be sent."""
    obliged = committed(whole.model, scopes)
    if obliged is None:
        return None
    most = full.high
    search = _FirstSends(whole, objective, range(len(whole.model)), exact, fairness, scopes)
    # Cycles with many decisions have no exact total reward: then the bound of all plans remains.
    with suppress(ResourceExhausted):
        lifted = objective.lifted(obliged.origin)
        values = lifted.values(OrderedMdp(obliged.model), exact or len(obliged.model) <= EXACT_STATES, fairness)
        most = min(most, lifted.bounds_of(values, obliged.model.initial).high)
        first = _likely_first_send(whole, lifted, obliged, values.low) if scopes is None else None
        search.attempt(first or first_sends(whole, scopes)[0])
    if not search.attains(most):
        search.attempt_all(most)
    if not search.attains(most) and OrderedMdp(whole.model).is_acyclic:
        try:
            histories, origin = unfolded(whole, MAX_UNFOLDED_STATES)
        except ResourceExhausted:
            return search.result(most)
        deeper = _FirstSends(histories, objective.lifted(origin), origin, exact, fairness, scopes)
        highest = min(most, deeper.attempt_all(most))
        return max(search.result(highest), deeper.result(highest), key=lambda one: one.bounds.low)
    return search.result(most)


def _likely_first_send(
    whole: ObservedMdp, objective: Objective, obliged: Committed, low: Sequence[Number]
) -> tuple[Hashable, Hashable]:
    """Return the first send of a plan that is best with full observation."""
    model = obliged.model
    number = {node: at for at, node in enumerate(obliged.nodes)}

    def worth(event: int) -> Number:
        return min(low[model.target[at]] + objective.reward(model.step[at]) for at in model.transitions(event))

    at = 0
    visited: set[int] = set()
    while (stage := obliged.nodes[at][1]) != _SENDING:
        state = obliged.nodes[at][0]
        if at in visited:
            return first_sends(whole)[0]
        visited.add(at)
        if stage == _OBLIGED:
            (action,) = model.options(at)
            chosen = max(model.events(action), key=worth)
            at = model.target[model.first_transition[chosen]]
        else:
            heir = stage if state == _ROOT else whole.model.target[stage]
            at = next(number[node] for node in number if node[0] == heir and node[1] != _FREE)
    state = obliged.nodes[at][0]
    (action,) = (one for one in model.options(at) if model.kind[one] == ActionKind.CONTROLLED)
    (before,) = (one for one in whole.model.options(state) if whole.model.kind[one] == ActionKind.CONTROLLED)
    sends = [event for event in whole.model.events(before) if is_send(whole.model, event)]
    best = max(zip(model.events(action), sends, strict=True), key=lambda pair: worth(pair[0]))[1]
    return whole.sets[state], whole.choices[best]


class _FirstSends:
    """Best plans for one first send after the other, all of them over the same information sets."""

    def __init__(
        self,
        whole: ObservedMdp,
        objective: Objective,
        origin: Sequence[int],
        exact: bool,
        fairness: bool,
        scopes: Scopes,
    ) -> None:
        self.whole = whole
        self.objective = objective
        self.origin = origin
        self.exact = exact
        self.fairness = fairness
        self.scopes = scopes
        self.low: Number | None = None
        self.plan: Plan = {}
        self.work = 0

    def attains(self, most: Number) -> bool:
        return self.low is not None and is_closed(Bounds(self.low, most))

    def result(self, most: Number) -> Attained:
        low = -inf if self.low is None else self.low
        return Attained(Bounds(low, max(low, most)), self.plan, self.whole, self.origin)

    def _fixed(self, send: tuple[Hashable, Hashable]) -> tuple[ObservedMdp, Bounds]:
        """Return the model with a first send, and what plans with it get with full observation."""
        place, choice = send
        whole = fixed(self.whole, {place: choice})
        self.work += len(whole.model)
        exact = self.exact or len(whole.model) <= EXACT_STATES
        return whole, initial_bounds(self.objective, OrderedMdp(whole.model), exact, self.fairness)

    def attempt(self, send: tuple[Hashable, Hashable]) -> Number:
        """Search the best plan with this first send, and return an upper bound of such plans."""
        whole, full = self._fixed(send)
        bounds, plan = searched(whole, self.objective, full, exact=self.exact, fairness=self.fairness)
        if self.low is None or bounds.low > self.low:
            self.low, self.plan = bounds.low, {**plan, send[0]: send[1]}
        return bounds.high

    def attempt_all(self, most: Number) -> Number:
        """Search the best plan with any first send, the most promising one first; return an upper bound."""
        sends = first_sends(self.whole, self.scopes)
        highs: list[tuple[Number, int]] = []
        for at, send in enumerate(sends):
            if self.work > MAX_WORK:
                return most
            highs.append((self._fixed(send)[1].high, at))
        highest: Number = -inf
        for high, at in sorted(highs, reverse=True):
            if self.low is not None and high <= self.low:
                break
            if self.work > MAX_WORK:
                return most
            highest = max(highest, self.attempt(sends[at]))
            if self.attains(most):
                break
        return max(highest, -inf if self.low is None else self.low)
