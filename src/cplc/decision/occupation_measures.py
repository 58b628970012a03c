"""Randomised plans by a linear programme over occupation measures, checked by exact certificates.

A randomised plan over histories of local states is a *realisation plan* (von Stengel 1996): how often each sequence of
own choices is taken, as far as it is up to the participant. It is the participant's factor of the occupation measure.
The world sees everything and is adverse to each threshold by itself, so what the plan guarantees for a threshold is
linear from each node on, and the best common slack of all thresholds is a linear programme.

HiGHS solves it in floating-point numbers (`pip install cplc[lp]`). Its primal solution becomes a plan and its dual one
a strategy of the world for each threshold, both with rational probabilities. Only what these prove counts:

* the figures of the plan, by backward induction against the worst world, are attained;
* what the best plan gets of the weighted slacks against these strategies is an upper bound.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import field
from fractions import Fraction
from importlib import import_module
from itertools import permutations
from typing import Any, Literal

from cplc.decision.belief_draws import EventProbability
from cplc.decision.end_components import extremal_probabilities
from cplc.decision.game import NO_STEP, ActionKind
from cplc.decision.observation import Objective, ObservedMdp
from cplc.decision.results import Bounds
from cplc.decision.value_iteration import OrderedMdp
from cplc.records import dataclass
from cplc.runtime.context import ResourceExhausted
from cplc.system.participant import Aspect, Threshold

MAX_NODES = 3_000
_MAX_INTERVAL_EVENTS = 4
"""Number of events with intervals of probabilities up to which the vertices of their polytope are listed."""
_DENOMINATORS = (60, 10_000, 1_000_000_000)
"""Rational probabilities are tried with these denominators: the optimum is often a simple one."""
_SECONDS = 10.0

Answer = Literal["attained", "excluded", "open"]


@dataclass(frozen=True)
class Demand:
    """A figure ``factor * value + constant`` that has to be at least (or more than) 0."""

    objective: Objective
    factor: Fraction
    constant: Fraction
    is_strict: bool


def demands_of(
    thresholds: Sequence[Threshold],
    aspects: Sequence[Aspect],
    objectives: Sequence[Objective],
    rest: Sequence[Bounds],
    unit: Fraction,
) -> list[Demand] | None:
    """Return the thresholds as demands on one part, given the figures of the rest; None if these are not exact."""
    demands = []
    for one in thresholds:
        at = aspects.index(one.aspect)
        here = rest[at].low
        if not isinstance(here, Fraction) or here != rest[at].high:
            return None
        is_value = one.aspect == "value"
        factor, constant = (unit, here) if is_value else (here, Fraction(0))
        demands.append(Demand(objectives[at], factor, constant - Fraction(one.value), one.relation == ">"))
    return demands


def best_randomised(whole: ObservedMdp, demands: Sequence[Demand]) -> Answer:
    """Return whether a randomised plan meets all demands; ``open`` where nothing proves it or its contrary."""
    solver = _solver()
    if solver is None:
        return "open"
    try:
        tree = _Tree(whole, demands)
    except ResourceExhausted:
        return "open"
    programme = _Programme(tree)
    solution = programme.solved(solver)
    if solution is None:
        return "open"
    columns, duals = solution
    for denominator in _DENOMINATORS:
        if all(map(_is_met, demands, tree.figures(programme.plan(columns, denominator)))):
            return "attained"
        weights, replies = programme.replies(duals, denominator)
        if _is_excluded(demands, tree.bound(weights, replies), weights):
            return "excluded"
    return "open"


def is_available() -> bool:
    return _solver() is not None


def _solver() -> Any:
    try:
        return import_module("highspy")
    except ImportError:
        return None


def _is_met(demand: Demand, value: Fraction) -> bool:
    slack = demand.factor * value + demand.constant
    return slack > 0 or (slack == 0 and not demand.is_strict)


def _is_excluded(demands: Sequence[Demand], bound: Fraction, weights: Sequence[Fraction]) -> bool:
    """Return whether a weighted sum of slacks is too small; the weights are not negative and their sum is 1."""
    is_strict = any(demand.is_strict and weight for demand, weight in zip(demands, weights, strict=True))
    return bound < 0 or (bound == 0 and is_strict)


# --- nodes: states with the history of local states and own choices


@dataclass(frozen=True)
class _Move:
    """A transition: the node that it leads to, and the rewards for each demand."""

    target: int
    rewards: tuple[int, ...]


@dataclass(frozen=True)
class _Event:
    moves: tuple[_Move, ...]
    chance: EventProbability
    sequence: int
    """The sequence of own choices after the event."""


@dataclass(frozen=True)
class _Action:
    events: tuple[_Event, ...]
    vertices: tuple[tuple[Fraction, ...], ...]
    """The extremal probabilities of the events; of own choices, each has weight 1."""


class _Tree:
    """The states with the history of local states and own choices, as far as these are up to the participant."""

    def __init__(self, whole: ObservedMdp, demands: Sequence[Demand]) -> None:
        self.whole = whole
        self.demands = demands
        self.nodes: list[tuple[int, int, int]] = []
        """The state, the number of the history, and the sequence of own choices."""
        self.actions: list[tuple[_Action, ...]] = []
        self.parent: list[int] = []
        """The sequence that leads to each history."""
        self.choices: list[dict[Hashable, int]] = []
        """The sequence of each choice at each history."""
        self.history_of: list[int] = [-1]
        """The history of each sequence; sequence 0 is without choices."""
        self._number: dict[tuple[int, int, int], int] = {}
        self._histories: dict[tuple[int, int, Hashable], int] = {}
        model = whole.model
        self.roots = [self._node(at, self._history(-1, 0, self.whole.sets[at]), 0) for at in range(model.initial)]
        for at, (state, history, sequence) in enumerate(self.nodes):  # grows
            self.actions.append(tuple(self._expanded(state, history, sequence)))
            if len(self.nodes) > MAX_NODES:
                raise ResourceExhausted("too many histories for a linear programme")
            assert len(self.actions) == at + 1
        # Each node after those that it leads to.
        depth = {scc[0]: place for place, scc in enumerate(OrderedMdp(model).sccs)}
        self.order: list[int] = sorted(range(len(self.nodes)), key=lambda at: depth[self.nodes[at][0]])

    def _node(self, state: int, history: int, sequence: int) -> int:
        node = state, history, sequence
        at = self._number.setdefault(node, len(self.nodes))
        if at == len(self.nodes):
            self.nodes.append(node)
        return at

    def _history(self, before: int, sequence: int, view: Hashable) -> int:
        at = self._histories.setdefault((before, sequence, view), len(self.parent))
        if at == len(self.parent):
            self.parent.append(sequence)
            self.choices.append({})
        return at

    def _expanded(self, state: int, history: int, sequence: int) -> Iterator[_Action]:
        model = self.whole.model
        for action in model.options(state):
            events = [(event, sequence) for event in model.events(action)]
            is_own = model.kind[action] == ActionKind.CONTROLLED
            if is_own:
                events = list(self._own_events(action, history, sequence))
            moves = tuple(
                _Event(
                    tuple(self._move(state, history, after, at) for at in model.transitions(event)),
                    model.chances[model.chance[event]],
                    after,
                )
                for event, after in events
            )
            is_chance = model.kind[action] == ActionKind.BELIEF
            yield _Action(
                moves, _vertices([one.chance for one in moves]) if is_chance else ((Fraction(1),) * len(moves),)
            )

    def _own_events(self, action: int, history: int, sequence: int) -> Iterator[tuple[int, int]]:
        """Yield the events of a decision; where it was made at this history already, it stays."""
        model, names = self.whole.model, self.whole.choices
        for event in model.events(action):
            name = names[event]
            if name != NO_STEP and model.step[model.first_transition[event]] == NO_STEP:
                # The world would have to be blind to what the participant insists on.
                raise ResourceExhausted("a choice is not possible in all states that look alike")
            if self.history_of[sequence] == history:
                if self.choices[history][name] == sequence:
                    yield event, sequence
                continue
            at = self.choices[history].setdefault(name, len(self.history_of))
            if at == len(self.history_of):
                self.history_of.append(history)
            yield event, at

    def _move(self, state: int, history: int, sequence: int, transition: int) -> _Move:
        model, views = self.whole.model, self.whole.sets
        target = model.target[transition]
        after = history if views[target] == views[state] else self._history(history, sequence, views[target])
        rewards = tuple(one.objective.reward(model.step[transition]) for one in self.demands)
        return _Move(self._node(target, after, sequence), rewards)

    def payoff(self, node: int, demand: int) -> int:
        """Return the value of an end."""
        objective = self.demands[demand].objective
        return objective.goal_states[self.nodes[node][0]] if objective.rewards is None else 0

    # --- certificates

    def figures(self, plan: Sequence[Fraction]) -> list[Fraction]:
        """Return what a plan, given by the probability of each sequence's last choice, guarantees for each demand."""
        return [self._figure(plan, demand) for demand in range(len(self.demands))]

    def _figure(self, plan: Sequence[Fraction], demand: int) -> Fraction:
        values: list[Fraction] = [Fraction(0)] * len(self.nodes)

        def worth(event: _Event) -> Fraction:
            return min(values[move.target] + move.rewards[demand] for move in event.moves)

        for node in self.order:
            before = self.nodes[node][2]
            each = []
            for action in self.actions[node]:
                several = [
                    worth(event) * (plan[event.sequence] if event.sequence != before else 1) for event in action.events
                ]
                each.append(
                    min(
                        sum((share * one for share, one in zip(shares, several, strict=True)), Fraction(0))
                        for shares in action.vertices
                    )
                )
            values[node] = min(each) if each else Fraction(self.payoff(node, demand))
        return min(values[root] for root in self.roots)

    def bound(self, weights: Sequence[Fraction], replies: Sequence[_Reply]) -> Fraction:
        """Return what the best plan gets of the weighted slacks against these strategies of the world."""
        total = sum((w * demand.constant for w, demand in zip(weights, self.demands, strict=True)), Fraction(0))
        gains = [Fraction(0)] * len(self.history_of)
        for demand, (weight, reply) in enumerate(zip(weights, replies, strict=True)):
            if scale := weight * self.demands[demand].factor:
                self._add_gains(gains, demand, scale, reply)
        children: list[list[int]] = [[] for _ in gains]
        for history, sequence in enumerate(self.parent):
            children[sequence].append(history)
        best: list[Fraction | None] = [None] * len(gains)
        # Invariant: the sequences after a sequence have larger numbers, because they are found later.
        for sequence in reversed(range(len(gains))):
            after = [
                max(value for at in self.choices[history].values() if (value := best[at]) is not None)
                for history in children[sequence]
                if self.choices[history]
            ]
            best[sequence] = gains[sequence] + sum(after, Fraction(0))
        assert best[0] is not None
        return total + best[0]

    def _add_gains(self, gains: list[Fraction], demand: int, scale: Fraction, reply: _Reply) -> None:
        """Add what each sequence gets, times the probability that chance and the world lead there."""
        reach: list[Fraction] = [Fraction(0)] * len(self.nodes)
        for root, share in zip(self.roots, reply.roots, strict=True):
            reach[root] += share * scale
        for node in reversed(self.order):
            weight = reach[node]
            if not weight:
                continue
            if not self.actions[node]:
                gains[self.nodes[node][2]] += weight * self.payoff(node, demand)
            for at, action in enumerate(self.actions[node]):
                for vertex, shares in enumerate(action.vertices):
                    here = weight * reply.actions.get((node, at, vertex), 0)
                    if not here:
                        continue
                    for place, (share, event) in enumerate(zip(shares, action.events, strict=True)):
                        moved = reply.moves.get((node, at, place))
                        for number, move in enumerate(event.moves):
                            taken = here * share * (1 if moved is None else moved[number])
                            reach[move.target] += taken
                            gains[event.sequence] += taken * move.rewards[demand]


def _vertices(chances: Sequence[EventProbability]) -> tuple[tuple[Fraction, ...], ...]:
    """Return the vertices of the polytope of probabilities."""
    if all(one.low == one.high for one in chances):
        return (tuple(one.low for one in chances),)
    if len(chances) > _MAX_INTERVAL_EVENTS:
        raise ResourceExhausted("too many events with intervals of probabilities")
    each = (extremal_probabilities(chances, ranks, True) for ranks in permutations(range(len(chances))))
    return tuple(dict.fromkeys(map(tuple, each)))


@dataclass
class _Reply:
    """A strategy of the world: the probabilities of initial nodes, of actions with vertices, and of moves of events."""

    roots: list[Fraction]
    actions: dict[tuple[int, int, int], Fraction] = field(default_factory=dict)
    moves: dict[tuple[int, int, int], list[Fraction]] = field(default_factory=dict)


# --- the linear programme


class _Programme:
    """Columns: the common slack, each sequence, and for each demand the value of each node that is no end.

    The values are scaled by the probability of the node's sequence. A row is at most its right side, or equal to it.
    """

    def __init__(self, tree: _Tree) -> None:
        self.tree = tree
        self.rows: list[dict[int, float]] = []
        self.right: list[float] = []
        self.equations: list[int] = []
        """The rows that are equal to their right side."""
        self._value: dict[tuple[int, int], int] = {}
        self._slack_rows: list[int] = []
        self._root_rows: list[list[int]] = []
        self._action_rows: list[dict[tuple[int, int, int], int]] = []
        self._move_rows: list[dict[tuple[int, int, int], list[int]]] = []
        self.width = 1 + len(tree.history_of)
        self._add({1: 1.0}, 1.0, is_equation=True)
        for history, choices in enumerate(tree.choices):
            if choices:
                row = {1 + at: 1.0 for at in choices.values()}
                row[1 + tree.parent[history]] = row.get(1 + tree.parent[history], 0.0) - 1.0
                self._add(row, 0.0, is_equation=True)
        for demand, one in enumerate(tree.demands):
            self._add_values(demand)
            value = self._column()
            self._slack_rows.append(self._add({0: 1.0, value: -float(one.factor)}, float(one.constant)))
            self._root_rows.append([self._add({value: 1.0, **self._negated(root, demand)}, 0.0) for root in tree.roots])

    def _column(self) -> int:
        self.width += 1
        return self.width - 1

    def _add(self, row: dict[int, float], right: float, *, is_equation: bool = False) -> int:
        self.rows.append(row)
        self.right.append(right)
        if is_equation:
            self.equations.append(len(self.rows) - 1)
        return len(self.rows) - 1

    def _term(self, node: int, demand: int) -> dict[int, float]:
        """Return the value of a node as a linear form."""
        if self.tree.actions[node]:
            return {self._value[node, demand]: 1.0}
        return {1 + self.tree.nodes[node][2]: float(self.tree.payoff(node, demand))}

    def _negated(self, node: int, demand: int) -> dict[int, float]:
        return {column: -factor for column, factor in self._term(node, demand).items()}

    def _moved(self, event: _Event, move: _Move, demand: int) -> dict[int, float]:
        form = self._term(move.target, demand)
        if move.rewards[demand]:
            form[1 + event.sequence] = form.get(1 + event.sequence, 0.0) + move.rewards[demand]
        return form

    def _add_values(self, demand: int) -> None:
        tree = self.tree
        actions: dict[tuple[int, int, int], int] = {}
        moves: dict[tuple[int, int, int], list[int]] = {}
        for node in tree.order:
            if not tree.actions[node]:
                continue
            column = self._value[node, demand] = self._column()
            for at, action in enumerate(tree.actions[node]):
                forms = []
                for place, event in enumerate(action.events):
                    form = self._moved(event, event.moves[0], demand)
                    if len(event.moves) > 1:
                        least = self._column()
                        moves[node, at, place] = [
                            self._add({least: 1.0, **_times(self._moved(event, move, demand), -1.0)}, 0.0)
                            for move in event.moves
                        ]
                        form = {least: 1.0}
                    forms.append(form)
                for vertex, shares in enumerate(action.vertices):
                    row = {column: 1.0}
                    for share, form in zip(shares, forms, strict=True):
                        for place, factor in _times(form, -float(share)).items():
                            row[place] = row.get(place, 0.0) + factor
                    actions[node, at, vertex] = self._add(row, 0.0)
        self._action_rows.append(actions)
        self._move_rows.append(moves)

    def solved(self, solver: Any) -> tuple[Sequence[float], Sequence[float]] | None:
        """Return the values of the columns and the dual values of the rows."""
        highs = solver.Highs()
        for option, value in (("output_flag", False), ("threads", 1), ("time_limit", _SECONDS)):
            highs.setOptionValue(option, value)
        programme = solver.HighsLp()
        sequences = len(self.tree.history_of)
        programme.num_col_, programme.num_row_ = self.width, len(self.rows)
        programme.sense_ = solver.ObjSense.kMaximize
        programme.col_cost_ = [1.0] + [0.0] * (self.width - 1)
        infinity = solver.kHighsInf
        programme.col_lower_ = [-infinity] + [0.0] * sequences + [-infinity] * (self.width - 1 - sequences)
        programme.col_upper_ = [infinity] * self.width
        lower = [-infinity] * len(self.rows)
        for row in self.equations:
            lower[row] = self.right[row]
        programme.row_lower_, programme.row_upper_ = lower, self.right
        entries = [sorted(row.items()) for row in self.rows]
        starts = [0]
        for entry in entries:
            starts.append(starts[-1] + len(entry))
        programme.a_matrix_.format_ = solver.MatrixFormat.kRowwise
        programme.a_matrix_.start_ = starts
        programme.a_matrix_.index_ = [column for entry in entries for column, _ in entry]
        programme.a_matrix_.value_ = [value for entry in entries for _, value in entry]
        highs.passModel(programme)
        highs.run()
        if highs.getModelStatus() != solver.HighsModelStatus.kOptimal:
            return None
        solution = highs.getSolution()
        return list(solution.col_value), list(solution.row_dual)

    def plan(self, columns: Sequence[float], denominator: int) -> list[Fraction]:
        """Return the probability of the last choice of each sequence."""
        result = [Fraction(1)] * len(self.tree.history_of)
        for choices in self.tree.choices:
            shares = _shares([columns[1 + at] for at in choices.values()], denominator)
            for at, share in zip(choices.values(), shares, strict=True):
                result[at] = share
        return result

    def replies(self, duals: Sequence[float], denominator: int) -> tuple[list[Fraction], list[_Reply]]:
        """Return the weights of the demands, and a strategy of the world against each."""
        if sum(duals[row] for row in self._slack_rows) < 0:
            duals = [-value for value in duals]
        weights = _shares([duals[row] for row in self._slack_rows], denominator)
        replies = []
        for roots, actions, moves in zip(self._root_rows, self._action_rows, self._move_rows, strict=True):
            reply = _Reply(_shares([duals[row] for row in roots], denominator))
            by_node: dict[int, list[tuple[int, int, int]]] = {}
            for key in actions:
                by_node.setdefault(key[0], []).append(key)
            for keys in by_node.values():
                shares = _shares([duals[actions[key]] for key in keys], denominator)
                reply.actions.update(zip(keys, shares, strict=True))
            for key, rows in moves.items():
                reply.moves[key] = _shares([duals[row] for row in rows], denominator)
            replies.append(reply)
        return weights, replies


def _times(form: dict[int, float], factor: float) -> dict[int, float]:
    return {column: value * factor for column, value in form.items()}


def _shares(weights: Sequence[float], denominator: int) -> list[Fraction]:
    """Return rational probabilities in about these proportions."""
    if not weights:
        return []
    positive = [max(0.0, weight) for weight in weights]
    total = sum(positive)
    if total < _NOTHING:
        return [Fraction(1), *[Fraction(0)] * (len(weights) - 1)]
    shares = [Fraction(weight / total).limit_denominator(denominator) for weight in positive]
    whole = sum(shares, Fraction(0))
    return [share / whole for share in shares]


_NOTHING = 1e-11
