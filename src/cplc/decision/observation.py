"""Strategies over what the participant sees: a lower bound that is attained, and an upper bound by full observation.

A strategy maps the sequence of local states (perfect recall) to a choice: a send that it insists on, or to wait. The
model is a partially observable one with an adversary. A strategy that chooses alike in all states that look alike is
evaluated on the model with its choices fixed, so the lower bound is attained. On acyclic models the states are unfolded
by the history of local states, and a branch-and-bound search over histories is exact; its upper bounds let the
participant see everything at the histories that are not decided yet.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from heapq import heappop, heappush
from itertools import count
from typing import TYPE_CHECKING

from cplc.decision.game import NO_STEP, ActionKind
from cplc.decision.mdp import Mdp
from cplc.decision.results import Bounds, Number
from cplc.decision.rewards import expected_total_reward
from cplc.decision.value_iteration import (
    OrderedMdp,
    ReachabilityObjective,
    ValueBounds,
    is_optimal,
    solve,
    uses_arrays,
)
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted

if TYPE_CHECKING:
    from cplc.decision.fixed_choices import NumberedChoices

MAX_UNFOLDED_STATES = 10_000
MAX_WORK = 150_000
"""Maximum number of states that a search over strategies solves in all."""
EXACT_STATES = 1_500
"""Number of states up to which a search computes with fractions."""

Plan = Mapping[Hashable, Hashable]
"""The choice at each information set."""


@dataclass(frozen=True)
class Objective:
    """A probability to reach goal states, or an expected total reward, that the world minimises."""

    goal_states: bytes = b""
    rewards: Mapping[int, int] | None = None

    def values(self, ordered: OrderedMdp, exact: bool, fairness: bool) -> ValueBounds:
        if self.rewards is None:
            return solve(ordered, ReachabilityObjective(self.goal_states, True, exact, fairness))
        return expected_total_reward(ordered, self.rewards, True, exact, fairness)[0]

    def bounds_of(self, values: ValueBounds, initial: int) -> Bounds:
        """Return the bounds from so many initial states, of which the world picks one."""
        if self.rewards is None:
            return values.bounds(range(initial), True)
        return Bounds(min(values.low[:initial]), min(values.high[:initial]))

    def lifted(self, origin: Sequence[int]) -> Objective:
        """Return the objective on a model in which each state is a copy of one of these."""
        return Objective(bytes(self.goal_states[at] for at in origin) if self.rewards is None else b"", self.rewards)

    def reward(self, step: int) -> int:
        return 0 if self.rewards is None else self.rewards.get(step, 0)

    def gain(self, step: int) -> Number:
        """Return how much a step adds to the value."""
        return self.reward(step)


@dataclass(frozen=True)
class ObservedMdp:
    """A model with the information set of each state in which the participant chooses, and the names of its choices."""

    model: Mdp
    sets: Sequence[Hashable]
    """The information set of each state; what it is in states without a choice does not matter."""
    choices: Mapping[int, Hashable]
    """The choice that each event of a controlled action stands for."""

    @cached_property
    def numbered(self) -> NumberedChoices:
        from cplc.decision.fixed_choices import numbered

        return numbered(self.model, self.sets, self.choices)

    @cached_property
    def offers(self) -> Mapping[int, Sequence[tuple[Hashable, range]]]:
        """The choices of each state that has some, with the transitions of each."""
        return {
            state: [(self.choices[event], self.model.transitions(event)) for event in self.model.events(action)]
            for state, action in self.controlled()
        }

    def controlled(self) -> Iterator[tuple[int, int]]:
        """Yield each state with its controlled action."""
        model = self.model
        for state in range(len(model)):
            for action in model.options(state):
                if model.kind[action] == ActionKind.CONTROLLED:
                    yield state, action


@dataclass(frozen=True)
class Attained:
    """The value of the best strategy over observations: bounds, of which the lower one is attained by the plan."""

    bounds: Bounds
    plan: Plan
    whole: ObservedMdp
    """The model whose information sets the plan is about: that of local states, or of their histories."""
    origin: Sequence[int]
    """The state that each state of it is a copy of."""


def initial_bounds(objective: Objective, ordered: OrderedMdp, exact: bool, fairness: bool) -> Bounds:
    """Return bounds of an objective from the initial states, of which the world picks one."""
    return objective.bounds_of(objective.values(ordered, exact, fairness), ordered.model.initial)


def observed(model: Mdp, views: Sequence[Hashable], choice: Mapping[int, Hashable]) -> ObservedMdp:
    """Return the model with the choices that the participant has where it cannot tell states apart.

    To insist on a send that is possible where it looks alike, but not here (the channel is full), is to wait for it.
    """
    whole = ObservedMdp(model, views, choice)
    sends: dict[Hashable, dict[Hashable, None]] = {}
    for state, action in whole.controlled():
        mine = [choice[event] for event in model.events(action)]
        sends.setdefault(views[state], {}).update((one, None) for one in mine if one != NO_STEP)

    def offered(state: int, action: int) -> Iterator[tuple[Hashable, int]]:
        """Yield each choice with the event that it takes."""
        events = {choice[event]: event for event in model.events(action)}
        yield from ((choice[event], event) for event in model.events(action) if choice[event] != NO_STEP)
        yield from ((one, events[NO_STEP]) for one in sends[views[state]] if one not in events)
        yield NO_STEP, events[NO_STEP]

    result = Mdp(model.chances, model.initial)
    choices: dict[int, Hashable] = {}
    for state in range(len(model)):
        for action in model.options(state):
            events: Sequence[int] = model.events(action)
            if model.kind[action] == ActionKind.CONTROLLED:
                named = list(offered(state, action))
                choices.update((len(result.chance) + at, name) for at, (name, _) in enumerate(named))
                events = [event for _, event in named]
            result.add_action(ActionKind(model.kind[action]), [_event(model, event) for event in events])
        result.close()
    return ObservedMdp(result, views, choices)


def _rebuilt(model: Mdp, keep: set[int]) -> tuple[Mdp, dict[int, int]]:
    """Return the model with these events of controlled actions alone, and the old number of each event."""
    result = Mdp(model.chances, model.initial)
    numbers: dict[int, int] = {}
    for state in range(len(model)):
        for action in model.options(state):
            kind = ActionKind(model.kind[action])
            events = [event for event in model.events(action) if kind != ActionKind.CONTROLLED or event in keep]
            for at, event in enumerate(events):
                numbers[len(result.chance) + at] = event
            result.add_action(kind, [_event(model, event) for event in events])
        result.close()
    return result, numbers


def _event(model: Mdp, event: int) -> tuple[int, list[tuple[int, int]]]:
    return model.chance[event], [(model.step[at], model.target[at]) for at in model.transitions(event)]


def unfolded(whole: ObservedMdp, limit: int) -> tuple[ObservedMdp, list[int]]:
    """Return the acyclic model with the history of local states in its states, and the origin of each state."""
    model, views = whole.model, whole.sets
    histories: dict[tuple[int, Hashable], int] = {}

    def history(before: int, view: Hashable) -> int:
        return histories.setdefault((before, view), len(histories) + 1)

    nodes = [(at, history(0, views[at])) for at in range(model.initial)]
    number = {node: at for at, node in enumerate(nodes)}
    result = Mdp(model.chances, model.initial)
    choices: dict[int, Hashable] = {}
    position = 0
    while position < len(nodes):
        state, past = nodes[position]
        position += 1
        for action in model.options(state):
            kind = ActionKind(model.kind[action])
            events: list[tuple[int, list[tuple[int, int]]]] = []
            for event in model.events(action):
                if kind == ActionKind.CONTROLLED:
                    choices[len(result.chance) + len(events)] = whole.choices[event]
                transitions = []
                for at in model.transitions(event):
                    target = model.target[at]
                    node = target, past if views[target] == views[state] else history(past, views[target])
                    place = number.setdefault(node, len(nodes))
                    if place == len(nodes):
                        nodes.append(node)
                    transitions.append((model.step[at], place))
                events.append((model.chance[event], transitions))
            result.add_action(kind, events)
        result.close()
        if len(nodes) > limit:
            raise ResourceExhausted(f"more than {limit:,} histories of local states")
    return ObservedMdp(result, [past for _, past in nodes], choices), [state for state, _ in nodes]


def fixed(whole: ObservedMdp, plan: Plan) -> ObservedMdp:
    """Return the model in which the participant follows the plan at the information sets that it decides.

    Where the choice is not possible the participant waits, and where it cannot wait the world chooses for it.
    """
    model = whole.model
    if uses_arrays(model):
        from cplc.decision.fixed_choices import with_plan

        restricted, names_of_events = with_plan(whole.numbered, plan)
        return ObservedMdp(restricted, whole.sets, names_of_events)
    result = Mdp(model.chances, model.initial)
    choices: dict[int, Hashable] = {}
    for state in range(len(model)):
        for action in model.options(state):
            kind = ActionKind(model.kind[action])
            events = [_event(model, event) for event in model.events(action)]
            names: list[Hashable] = []
            if kind == ActionKind.CONTROLLED:
                names = [whole.choices[event] for event in model.events(action)]
            if kind == ActionKind.CONTROLLED and whole.sets[state] in plan:
                choice = plan[whole.sets[state]]
                chosen = [one for name, one in zip(names, events, strict=True) if name == choice] or [
                    one for name, one in zip(names, events, strict=True) if name == NO_STEP
                ]
                chance = events[0][0]
                transitions = [each for _, several in chosen or events for each in several]
                events, names = [(chance, transitions)], [choice]
            choices.update(zip(range(len(result.chance), len(result.chance) + len(names)), names, strict=True))
            result.add_action(kind, events)
        result.close()
    return ObservedMdp(result, whole.sets, choices)


def permitted(whole: ObservedMdp, objective: Objective, *, exact: bool, fairness: bool) -> ObservedMdp:
    """Return the model restricted to choices that are optimal for an objective in all states that look alike.

    Where no choice is optimal in all states that look alike, all choices stay.
    """
    while True:
        values = objective.values(OrderedMdp(whole.model), exact, fairness)
        good: dict[Hashable, set[Hashable]] = {}
        for state, action in whole.controlled():
            optimal = set(optimal_choices(whole, action, objective, values))
            good[whole.sets[state]] = good.get(whole.sets[state], optimal) & optimal
        keep = {
            event
            for state, action in whole.controlled()
            for event in whole.model.events(action)
            if not good[whole.sets[state]] or whole.choices[event] in good[whole.sets[state]]
        }
        smaller, events = _rebuilt(whole.model, keep)
        if len(smaller.chance) == len(whole.model.chance):
            return whole
        choices = {new: whole.choices[old] for new, old in events.items() if old in whole.choices}
        whole = _reachable_sets(ObservedMdp(smaller, whole.sets, choices))


def _reachable_sets(whole: ObservedMdp) -> ObservedMdp:
    """Return the model with the unreachable states apart from those that look like them."""
    sets = [
        view if is_reached else (_UNREACHED, at)
        for at, (view, is_reached) in enumerate(zip(whole.sets, reached_states(whole.model), strict=True))
    ]
    return ObservedMdp(whole.model, sets, whole.choices)


def reached_states(model: Mdp) -> Sequence[bool]:
    """Return whether each state is reachable."""
    if uses_arrays(model):
        from cplc.decision.reachable_states import reachable

        return list(reachable(model).tolist())
    reached = [at < model.initial for at in range(len(model))]
    new = list(range(model.initial))
    for state in new:
        for target in model.after(state):
            if not reached[target]:
                reached[target] = True
                new.append(target)
    return reached


_UNREACHED = "unreached"


def optimal_choices(whole: ObservedMdp, action: int, objective: Objective, values: ValueBounds) -> list[Hashable]:
    """Return the choices of a controlled action that are optimal for these values."""
    model, low = whole.model, values.low
    worth: dict[Hashable, Number] = {}
    for event in model.events(action):
        mine = min(low[model.target[at]] + objective.gain(model.step[at]) for at in model.transitions(event))
        choice = whole.choices[event]
        worth[choice] = min(mine, worth.get(choice, mine))
    most = max(worth.values())
    return [choice for choice, value in worth.items() if value == most or is_optimal(value, most)]


def best_observed(
    whole: ObservedMdp, objective: Objective, full: Bounds, *, exact: bool, fairness: bool, work: int = MAX_WORK
) -> Attained:
    """Return the best value of a strategy over observations, given bounds by full observation.

    A strategy over local states alone is only a lower bound: their history tells more.
    """
    plain = range(len(whole.model))
    bounds, plan = searched(whole, objective, full, exact=exact, fairness=fairness, work=work)
    bounds = Bounds(bounds.low, full.high)
    if not is_closed(bounds) and OrderedMdp(whole.model).is_acyclic:
        try:
            histories, origin = unfolded(whole, MAX_UNFOLDED_STATES)
        except ResourceExhausted:
            return Attained(bounds, plan, whole, plain)
        deeper, strategy = searched(histories, objective.lifted(origin), full, exact=exact, fairness=fairness)
        if deeper.low >= bounds.low:
            return Attained(deeper, strategy, histories, origin)
        return Attained(Bounds(bounds.low, deeper.high), plan, whole, plain)
    return Attained(bounds, plan, whole, plain)


def searched(
    whole: ObservedMdp, objective: Objective, full: Bounds, *, exact: bool, fairness: bool, work: int = MAX_WORK
) -> tuple[Bounds, Plan]:
    """Return the best value of a strategy over these information sets, with a plan that attains the lower bound."""
    return _Search(whole, objective, exact, fairness, full, work).run()


def is_closed(bounds: Bounds) -> bool:
    return bounds.low == bounds.high or float(bounds.high) - float(bounds.low) < 1e-11 * max(
        1.0, abs(float(bounds.high))
    )


class _Search:
    """Branch and bound over the choices at information sets, the most promising node first."""

    def __init__(
        self, whole: ObservedMdp, objective: Objective, exact: bool, fairness: bool, full: Bounds, max_work: int
    ) -> None:
        self.whole = whole
        self.objective = objective
        self.exact = exact or len(whole.model) <= EXACT_STATES
        self.fairness = fairness
        self.full = full
        self.max_work = max_work
        self.work = 0
        self.best: Bounds | None = None
        self.unsplit: list[Number] = []
        """Upper bounds of nodes that are left with a gap, though all choices agree."""
        self.best_plan: Plan = {}
        self.controlled = list(whole.controlled())

    def run(self) -> tuple[Bounds, Plan]:
        order = count()
        open_nodes: list[tuple[float, int, Plan, Bounds, Hashable, list[Hashable]]] = []
        highest = self.full.high
        self._expand({}, open_nodes, order)
        while open_nodes and self.work < self.max_work:
            _, _, plan, bounds, place, choices = open_nodes[0]
            if self.best is not None and bounds.high <= self.best.low:
                open_nodes.clear()
                break
            heappop(open_nodes)
            for choice in choices:
                self._expand({**plan, place: choice}, open_nodes, order)
        assert self.best is not None
        rest = [bounds.high for _, _, _, bounds, _, _ in open_nodes]
        highest = min(highest, max([self.best.high, *rest, *self.unsplit]))
        return Bounds(self.best.low, max(self.best.low, highest)), self.best_plan

    def _expand(
        self,
        plan: dict[Hashable, Hashable],
        open_nodes: list[tuple[float, int, Plan, Bounds, Hashable, list[Hashable]]],
        order: count[int],
    ) -> None:
        ordered = OrderedMdp(fixed(self.whole, plan).model)
        bounds, values = self._solved(ordered)
        if self.best is not None and bounds.high <= self.best.low:
            return
        complete, split = self._complete(plan, ordered.model, values)
        attained, _ = self._solved(OrderedMdp(fixed(self.whole, complete).model))
        if self.best is None or attained.low > self.best.low:
            self.best, self.best_plan = attained, complete
        if bounds.high <= self.best.low or is_closed(Bounds(self.best.low, bounds.high)):
            return
        if split is None:
            self.unsplit.append(bounds.high)
        else:
            place, choices = split
            heappush(open_nodes, (-float(bounds.high), next(order), plan, bounds, place, choices))

    def _solved(self, ordered: OrderedMdp) -> tuple[Bounds, ValueBounds]:
        values = self.objective.values(ordered, self.exact, self.fairness)
        self.work += len(ordered.model)
        return self.objective.bounds_of(values, ordered.model.initial), values

    def _complete(
        self, plan: Mapping[Hashable, Hashable], model: Mdp, values: ValueBounds
    ) -> tuple[dict[Hashable, Hashable], tuple[Hashable, list[Hashable]] | None]:
        """Return the plan completed by choices that are optimal in all states of a set, and a set without any."""
        votes: dict[Hashable, dict[Hashable, int]] = {}
        states: dict[Hashable, int] = {}
        sets, names = self.whole.sets, self.whole.choices
        reached = self._reached(plan, values)
        for state, action in self.controlled:
            place = sets[state]
            if place in plan or not reached[state]:
                continue
            states[place] = states.get(place, 0) + 1
            mine = votes.setdefault(place, {})
            for choice in self._optimal(action, values):
                mine[choice] = mine.get(choice, 0) + 1
        complete = dict(plan)
        split = None
        for place, mine in votes.items():
            best = max(mine, key=lambda choice: (mine[choice], choice != NO_STEP))
            complete[place] = best
            if mine[best] < states[place] and split is None:
                every = dict.fromkeys(
                    names[event]
                    for state, action in self.controlled
                    if sets[state] == place
                    for event in self.whole.model.events(action)
                )
                split = place, list(every)
        for state, action in self.controlled:
            if sets[state] not in complete:
                complete[sets[state]] = names[self.whole.model.events(action)[0]]
        return complete, split

    def _optimal(self, action: int, values: ValueBounds) -> list[Hashable]:
        return optimal_choices(self.whole, action, self.objective, values)

    def _reached(self, plan: Mapping[Hashable, Hashable], values: ValueBounds) -> bytearray:
        """Return the states that optimal choices may reach."""
        model, sets, names = self.whole.model, self.whole.sets, self.whole.choices
        reached = bytearray(len(model))
        new = list(range(model.initial))
        for state in new:
            reached[state] = 1
        while new:
            state = new.pop()
            for action in model.options(state):
                events: Sequence[int] = model.events(action)
                if model.kind[action] == ActionKind.CONTROLLED:
                    good = [plan[sets[state]]] if sets[state] in plan else self._optimal(action, values)
                    events = [event for event in events if names[event] in good] or events
                for event in events:
                    for at in model.transitions(event):
                        target = model.target[at]
                        if not reached[target]:
                            reached[target] = 1
                            new.append(target)
        return reached
