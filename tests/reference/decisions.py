"""Reference semantics of decisions: the value of every plan of a participant, in exact fractions.

The game is played on the concrete states of the reference interpreter. The *participant* chooses its own sends; chance
draws the outcomes of its beliefs; everything else is decided by the *world*, which sees all and minimises each figure
by itself. A *plan* is deterministic: for each sequence of local states (perfect recall, stuttering removed) it waits,
or insists on one send. All plans of a small acyclic game are enumerated.

* **Insisting.** The world may take steps before a send that the plan insists on, but no run ends where it can be sent.
* **Justice.** No run ends while something can be received, while a tick would change something, while a drawn outcome
  is still to come, or while something can be sent that is assumed to keep going and that no drawn belief is about.
  Everything else may stay silent. A round that is over stays over: its restart is no step here.
* **Goals about runs** are evaluated on the word of the run, by their definition. The run does not end before a tick
  that makes the word longer.
* **Bounded beliefs.** From the draw of an outcome until it comes, no more ticks pass than the belief says; an outcome
  that unseen steps lead to only with more ticks is one that nothing leads to.
* **Draws before bounds.** The clock does not wait for messages that a drawn outcome rules out.
* **Beliefs.** In each period in which its condition holds for the participant, the outcome of a belief is drawn once,
  at the first state from which unseen steps lead to each outcome; one whose outcomes need messages of another
  belief is drawn after it. From then on the world takes no step after which
  no unseen steps lead to it, and the other messages of the belief are not sent until its condition is false. An
  outcome that a send of the participant makes impossible is *lost*: the belief does not count in the rest of the
  period. A belief without condition holds while any of its messages can come.
* **What counts.** Of the connected components of the protocol (`tests/reference/connected.py`), those count that a
  goal, a commitment of its own or a value is about. A plan sees these alone, and sends in these alone: what comes
  elsewhere touches nothing, and could only serve as a coin.
* **Taking part.** Figures alone are of plans that take part: in one component that counts, something that the plan
  insists on is sent on some run on which nothing has happened in the others. A later send is no duty. Where nobody
  can do that, all plans are the same.

With ``memoryless`` a plan maps the present local state alone to a choice, as uniform strategies of formulas do; it
sees and sends everything, which may serve as a memory.
With ``full_observation`` the participant sees everything, draws included. `Game.composed_front` then needs no
enumeration: sets of vectors are united at own choices, and their componentwise minimum is taken at the world's.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import combinations, product
from typing import Literal, NamedTuple

from tests.reference.connected import CLOCK, Connected, Name
from tests.reference.contents import about_runs
from tests.reference.path_goals import PathGoal, Word, goals_of
from tests.reference.promises import is_on_course
from tests.reference.states import Move, State, View, World
from tests.reference.terms import calculate, compare, counts_ticks, mentioned
from tests.reference.timed import TimedReference

from cplc.semantics import terms as t
from cplc.semantics.model import Belief, CheckedModel, Message
from cplc.semantics.terms import Term, Value

UNDRAWN, DONE, SILENT, LOST = -1, -2, -3, -4
"""The outcome of a belief that is not drawn, came, is that nothing comes, or became impossible; otherwise its event."""
TICK = 1000
"""Is added to a drawn event for each tick since the draw, where the belief is bounded."""

ASPECTS = ("conformance", "achievement", "benefit", "value")
"""The figures in the order of an `Outcome`: three probabilities, and the expected value."""

Outcome = tuple[Fraction, Fraction, Fraction, Fraction]
Draws = tuple[int, ...]
Action = tuple[str, tuple[Value, ...]]
"""An own send: its message and payload."""
Requirement = tuple[str, str, Fraction]
"""A threshold: aspect, relation, value."""
Verdict = Literal["take part", "indifferent", "stay away"]


class TooManyPlans(Exception):
    """There are more positions or plans than were allowed for."""


class NotAGame(Exception):
    """The protocol is outside the games that are judged here: a cycle, or a value that leaves its domain."""


class Score(NamedTuple):
    """The value so far, and the word of the run for each goal about runs."""

    value: Fraction
    words: tuple[Word, ...]


class Node(NamedTuple):
    """A state with the outcomes drawn, and what is counted on the way to it."""

    state: State
    draws: Draws
    score: Score


Distribution = tuple[tuple[Fraction, int], ...]
"""Probabilities of positions."""


@dataclass
class Position:
    """A node with what the participant has seen so far."""

    history: int
    node: Node
    options: list[Distribution] = field(default_factory=list)
    """Every step of the world."""
    places: list[Name] = field(default_factory=list)
    """The component of each of these steps."""
    actions: dict[Action, list[Distribution]] = field(default_factory=dict)
    """Own sends; without a distribution where the channel is full."""
    may_end: bool = False
    """True if the world may end the run here where the plan insists on nothing that can be sent."""


@dataclass(frozen=True)
class Plan:
    """A plan with its guaranteed figures."""

    sends: Mapping[int, Action]
    """The send that it insists on after each history."""
    figures: Outcome
    takes_part: bool
    """True if in one component that counts it sends something even if nothing happens in the others."""

    def meets(self, requirements: Collection[Requirement]) -> bool:
        """Return whether it meets all of these together."""
        return all(is_met(self.figures[ASPECTS.index(aspect)], op, value) for aspect, op, value in requirements)


def is_met(figure: Fraction, relation: str, value: Fraction) -> bool:
    return figure > value if relation == ">" else figure >= value


def _replaced(draws: Draws, number: int, outcome: int) -> Draws:
    return (*draws[:number], outcome, *draws[number + 1 :])


class Game:
    """A participant's game in a protocol in which these roles and messages keep going, some within so many ticks."""

    def __init__(
        self,
        model: CheckedModel,
        name: str,
        keep_going: Collection[str] = (),
        *,
        bounds: Mapping[str, int] | None = None,
        full_observation: bool = False,
        memoryless: bool = False,
        limit: int = 3000,
        plans: int = 3000,
    ) -> None:
        self.model = model
        self.participant = next(one for one in model.participants if one.name == name)
        self.roles = self.participant.roles
        self.keep_going = frozenset(keep_going)
        self.bounds = dict(bounds or {})
        self.full_observation = full_observation
        self.memoryless = memoryless
        self.limit, self.most_plans = limit, plans
        self.reference = TimedReference(
            model,
            self.bounds,
            model.delays,
            self._views(),
            asks_for_ticks=any(counts_ticks(goal.meaning) for goal in self.participant.goals),
        )
        self.connected = Connected(self.reference, self.participant)
        goals = [one for goal in self.participant.goals for one in goals_of(goal.meaning)]
        self.path_goals = [PathGoal(goal) for goal in goals if about_runs(goal)]
        self.end_goals = [goal for goal in goals if not about_runs(goal)]
        self.positions: list[Position] = []
        self.stuck = 0
        """Positions in which nothing is possible, although the run should not end."""
        self._numbers: dict[tuple[int, Node], int] = {}
        self._histories: dict[tuple[int, object], int] = {}
        self._moves: dict[tuple[State, frozenset[str]], list[tuple[Move, State]]] = {}
        self._observations: dict[State, object] = {}
        self._relevant_observations: dict[State, object] = {}
        self._conditions: dict[State, tuple[bool, ...]] = {}
        self._arriving: dict[State, frozenset[str]] = {}
        """The messages that are in flight to the participant."""
        self._leads: dict[tuple[State, Draws, frozenset[int], frozenset[int], frozenset[str]], bool] = {}
        self.start = self._explore()
        if self._has_cycle():
            raise NotAGame("a cycle")
        if self.reference.out_of_range:
            raise NotAGame("a variable would leave its domain")

    @property
    def other_roles(self) -> tuple[str, ...]:
        """The roles that the participant does not play."""
        return tuple(role.name for role in self.model.roles if role.name not in self.roles)

    # --- what the participant sees

    def _views(self) -> set[View]:
        conditions = [one.condition for one in self.participant.beliefs]
        conditions += [one.condition for one in self.participant.decisions]
        mentions = [mention for one in conditions for mention in mentioned(self.model, one)]
        return {
            (mention.commitment, role)
            for mention in mentions
            for role in self.roles
            if self._is_party(role, mention.commitment)
        }

    def _is_party(self, role: str, name: str) -> bool:
        return role in self.model.parties[name]

    def observation(self, state: State) -> object:
        if state not in self._observations:
            local = [sorted(self.reference.local(state, role).items(), key=repr) for role in self.roles]
            self._observations[state] = repr(local)
        return self._observations[state]

    def _relevant_observation(self, state: State) -> object:
        """Return what a plan depends on: the local state in the components that count."""
        if self.memoryless:
            return self.observation(state)
        if state not in self._relevant_observations:
            local = [
                [
                    (key, value)
                    for key, value in sorted(self.reference.local(state, role).items())
                    if self._is_relevant(key)
                ]
                for role in self.roles
            ]
            self._relevant_observations[state] = repr(local)
        return self._relevant_observations[state]

    def _is_relevant(self, key: View) -> bool:
        kind, name = key
        return self.connected.counts(({"own": "variable", "copy": "message", "view": "commitment"}[kind], name))

    def seen(self, term: Term, world: World) -> Value | None:
        """Return the value of a term for somebody who plays all these roles."""

        def role_of(*ends: str) -> str | None:
            return next((role for role in ends if role in self.roles), None)

        match term:
            case t.Const(value):
                return value
            case t.Happened(name) | t.Field(name, _):
                message = self.model.message[name]
                role = role_of(*message.receivers, message.sender)
                missing = False if isinstance(term, t.Happened) else None
                return missing if role is None else self.reference.value(term, world, role)
            case t.Sent(name):
                return self.model.message[name].sender in self.roles and world.sent[name] is not None
            case t.Var(name):
                return world.own[name] if self.model.variable[name].role in self.roles else None
            case t.InState(name, _, view) | t.Stands(name, _, view):
                parties = self.model.parties[name]
                viewer = role_of(*parties) if view is None else role_of(view, view)
                return viewer is not None and self.reference.value(term, world, viewer) is True
            case t.FactRef(fact):
                return self.seen(self.model.fact[fact].meaning, world)
            case t.Apply("!", (operand,)):
                return self.seen(operand, world) is not True
            case t.Apply("&", operands):
                return all(self.seen(operand, world) is True for operand in operands)
            case t.Apply("|", operands):
                return any(self.seen(operand, world) is True for operand in operands)
            case t.Apply("->", (left, right)):
                return self.seen(left, world) is not True or self.seen(right, world) is True
            case t.Apply("<->", (left, right)):
                return (self.seen(left, world) is True) == (self.seen(right, world) is True)
            case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=" as op, (left, right)):
                return compare(op, self.seen(left, world), self.seen(right, world))
            case t.Apply("+" | "-" | "*" | "%" as op, (left, right)):
                return calculate(op, self.seen(left, world), self.seen(right, world))
            case _:
                raise NotAGame(f"condition {term}")

    def holding(self, state: State) -> tuple[bool, ...]:
        """Return for each belief whether its condition holds for the participant."""
        if state not in self._conditions:
            world = self.reference.world(state)
            self._conditions[state] = tuple(
                self.seen(belief.condition, world) is True for belief in self.participant.beliefs
            )
        return self._conditions[state]

    # --- beliefs

    def moves(self, state: State, draws: Draws) -> list[tuple[Move, State]]:
        silent = frozenset(self._ruled_out(draws))
        key = state, silent
        if key not in self._moves:
            self._moves[key] = [
                (move, after)
                for move, after in self.reference.moves(state, silent)
                if move.kind != "restart" and (move.kind != "tick" or after != state)
            ]
        return self._moves[key]

    def _ruled_out(self, draws: Draws) -> Iterator[str]:
        """Yield the messages that do not come because of what is drawn."""
        for drawn, belief in zip(draws, self.participant.beliefs, strict=True):
            if drawn not in (UNDRAWN, LOST):
                outcome = belief.events[drawn % TICK].message if drawn >= 0 else ""
                yield from (event.message for event in belief.events if event.message not in ("", outcome))

    def _is_send(self, move: Move) -> bool:
        return move.kind in ("send", "exchange")

    def _sender(self, move: Move) -> str:
        return self.model.message[move.event].sender

    def _covering(self, message: str, draws: Draws) -> list[int]:
        """Return the beliefs that are drawn and about this message."""
        beliefs = enumerate(self.participant.beliefs)
        return [
            n for n, one in beliefs if draws[n] not in (UNDRAWN, LOST) and any(e.message == message for e in one.events)
        ]

    def _is_outcome(self, move: Move, number: int, draws: Draws) -> bool:
        if draws[number] < 0 or not self._is_send(move):
            return False
        event = self.participant.beliefs[number].events[draws[number] % TICK]
        return event.message == move.event and event.payload in (None, move.payload)

    def _world_steps(
        self, state: State, draws: Draws, avoiding: frozenset[int] = frozenset()
    ) -> Iterator[tuple[Move, State, Draws]]:
        """Yield the steps of the world that no drawn outcome forbids, with the outcomes that have come.

        The messages of the beliefs in ``avoiding`` are left out.
        """
        beliefs = self.participant.beliefs
        for move, after in self.moves(state, draws):
            if move.kind == "tick":
                if (later := self._after_tick(draws)) is not None:
                    yield move, after, later
                continue
            if self._is_send(move) and any(e.message == move.event for n in avoiding for e in beliefs[n].events):
                continue
            covering = self._covering(move.event, draws) if self._is_send(move) else []
            if not all(self._is_outcome(move, number, draws) for number in covering):
                continue
            if self._is_send(move) and self._sender(move) in self.roles and not covering:
                continue
            yield move, after, tuple(DONE if n in covering else one for n, one in enumerate(draws))

    def _after_tick(self, draws: Draws) -> Draws | None:
        """Return the draws a tick later; None if some outcome has to come before."""
        later = []
        for drawn, belief in zip(draws, self.participant.beliefs, strict=True):
            is_bounded = belief.within is not None and drawn >= 0
            if is_bounded and drawn // TICK == belief.within:
                return None
            later.append(drawn + TICK if is_bounded else drawn)
        return tuple(later)

    def leads(
        self, state: State, draws: Draws, targets: frozenset[int], avoiding: frozenset[int] = frozenset()
    ) -> bool:
        """Return whether unseen steps, and then each outcome itself, bring about all these outcomes.

        The receipt of a message that is in flight already, or is such an outcome, will come: it is no hindrance while
        the beliefs hold.
        """
        if not targets:
            return True
        if state not in self._arriving:
            world = self.reference.world(state)
            self._arriving[state] = frozenset(
                one.name
                for one in self.model.messages
                if any(receiver in self.roles and world.in_flight(one.name, receiver) for receiver in one.receivers)
            )
        return self._leads_to(state, draws, targets, avoiding, self._arriving[state])

    def _leads_to(
        self, state: State, draws: Draws, targets: frozenset[int], avoiding: frozenset[int], arriving: frozenset[str]
    ) -> bool:
        key = (state, draws, targets, avoiding, arriving)
        if key not in self._leads:
            self._leads[key] = False
            self._leads[key] = not targets or any(
                self._leads_to(
                    after,
                    later,
                    frozenset(n for n in targets if later[n] >= 0),
                    avoiding,
                    arriving | ({move.event} if any(later[n] == DONE for n in targets) else frozenset()),
                )
                for move, after, later in self._world_steps(state, draws, avoiding)
                if any(later[n] == DONE for n in targets)
                or self.observation(after) == self.observation(state)
                or (move.event in arriving and all(self.holding(after)[n] for n in targets))
            )
        return self._leads[key]

    def pending(self, state: State, draws: Draws) -> frozenset[int]:
        """Return the drawn outcomes that unseen steps still lead to, all of them together."""
        reachable: frozenset[int] = frozenset()
        for number, outcome in enumerate(draws):
            if outcome >= 0 and self.leads(state, draws, reachable | {number}):
                reachable |= {number}
        return reachable

    def _drawn(self, state: State, draws: Draws) -> Iterator[list[tuple[Fraction, Draws]]]:
        """Yield every way in which the world may have the outcomes drawn that are drawn here."""
        holding = self.holding(state)
        draws = tuple(
            one if holds and (one == UNDRAWN or self._lasts(state, number)) else UNDRAWN
            for number, (one, holds) in enumerate(zip(draws, holding, strict=True))
        )
        pending = self.pending(state, draws)
        draws = tuple(LOST if one >= 0 and number not in pending else one for number, one in enumerate(draws))
        yield from self._drawn_further(state, [(Fraction(1), draws)], [])

    def _lasts(self, state: State, number: int) -> bool:
        """Return whether the period of a belief goes on, as far as its condition does not tell."""
        belief = self.participant.beliefs[number]
        nothing = (UNDRAWN,) * len(self.participant.beliefs)
        return belief.condition != t.TRUE or any(
            self.leads(state, _replaced(nothing, number, outcome), frozenset({number}))
            for outcome, event in enumerate(belief.events)
            if event.message and event.high > 0
        )

    def _drawn_further(
        self, state: State, branches: list[tuple[Fraction, Draws]], finished: list[tuple[Fraction, Draws]]
    ) -> Iterator[list[tuple[Fraction, Draws]]]:
        """Yield the distributions after drawing, in each branch, one belief after the other until none is left."""
        if not branches:
            yield finished
            return
        (weight, draws), *rest = branches
        number = self._next_belief(state, draws)
        if number is None:
            yield from self._drawn_further(state, rest, [*finished, (weight, draws)])
            return
        for distribution in _distributions(self.participant.beliefs[number]):
            more = [(weight * chance, _replaced(draws, number, outcome)) for chance, outcome in distribution]
            yield from self._drawn_further(state, [*more, *rest], finished)

    def _next_belief(self, state: State, draws: Draws) -> int | None:
        """Return the belief that is drawn next: one that waits for no other, or else the first that counts here.

        A belief waits for another where its outcomes need messages that the other one is about. So a later choice
        never decides an earlier one. Messages of a belief that does not count here are free.
        """
        waiting = [n for n, one in enumerate(draws) if one == UNDRAWN and self.holding(state)[n]]
        for number in waiting:
            if self._counts(state, draws, number, frozenset(waiting) - {number}):
                return number
        return next((number for number in waiting if self._counts(state, draws, number)), None)

    def _counts(self, state: State, draws: Draws, number: int, avoiding: frozenset[int] = frozenset()) -> bool:
        """Return whether unseen steps lead to each outcome of the belief, and to all that are drawn besides."""
        before = self.pending(state, draws)
        belief = self.participant.beliefs[number]
        outcomes = [at for at, event in enumerate(belief.events) if event.message and event.high > 0]
        if not outcomes and belief.condition == t.TRUE:
            return False
        return all(
            self.leads(state, _replaced(draws, number, outcome), targets, avoiding)
            for outcome in outcomes
            for targets in (frozenset({number}), before | {number})
        )

    # --- positions

    def _history(self, parent: int, observation: object) -> int:
        return self._histories.setdefault((parent, observation), len(self._histories))

    def _number(self, history: int, node: Node) -> int:
        key = (history, node)
        if key not in self._numbers:
            if len(self.positions) >= self.limit:
                raise TooManyPlans
            self._numbers[key] = len(self.positions)
            self.positions.append(Position(history, node))
        return self._numbers[key]

    def _arrivals(self, before: Position | None, state: State, draws: Draws, score: Score) -> list[Distribution]:
        """Return the distributions over positions that a step to this state may lead to."""
        history = -1 if before is None else before.history
        if not self.full_observation and (
            before is None or self._relevant_observation(before.node.state) != self._relevant_observation(state)
        ):
            history = self._history(-1 if self.memoryless else history, self._relevant_observation(state))
        return [
            tuple((chance, self._number(history, Node(state, later, score))) for chance, later in branches)
            for branches in self._drawn(state, draws)
        ]

    def _explore(self) -> list[Distribution]:
        nothing = (UNDRAWN,) * len(self.participant.beliefs)
        score = Score(Fraction(0), ((),) * len(self.path_goals))
        start = [one for state in self.reference.initial() for one in self._arrivals(None, state, nothing, score)]
        done = 0
        while done < len(self.positions):
            self._expand(self.positions[done])
            done += 1
        return start

    def _has_cycle(self) -> bool:
        """Return whether a run may come back to a position."""
        finished, open_positions = set[int](), set[int]()
        for start in range(len(self.positions)):
            path = [(start, iter((start,)))]
            while path:
                number, after = path[-1]
                following = next(after, None)
                if following is None:
                    path.pop()
                    open_positions.discard(number)
                    finished.add(number)
                elif following in open_positions:
                    return True
                elif following not in finished:
                    open_positions.add(following)
                    path.append((following, self._following(following)))
        return False

    def _following(self, number: int) -> Iterator[int]:
        position = self.positions[number]
        for distributions in (position.options, *position.actions.values()):
            yield from (after for distribution in distributions for _, after in distribution)

    def _expand(self, position: Position) -> None:
        state, draws, score = position.node
        for action in self._allowed(state, draws):
            position.actions[action] = []
        pending = self.pending(state, draws)
        for move, after, later in self._world_steps(state, draws):
            still = frozenset(n for n in pending if later[n] >= 0)
            if self.leads(after, later, still):
                arrivals = self._arrivals(position, after, later, self._score(score, state, move, after))
                position.options += arrivals
                position.places += [self._component(move)] * len(arrivals)
        for move, after in self.moves(state, draws):
            action = (move.event, move.payload)
            if self._is_send(move) and action in position.actions:
                position.actions[action] = self._arrivals(
                    position, after, draws, self._score(score, state, move, after)
                )
        position.may_end = not pending and not any(self._is_just(move, draws) for move, _ in self.moves(state, draws))
        for move in self._ticks_alone(state, draws):
            longer, aged = self._score(score, state, move, state), self._after_tick(draws)
            if longer != score and aged is not None:
                arrivals = self._arrivals(position, state, aged, longer)
                position.options += arrivals
                position.places += [self._component(move)] * len(arrivals)
                position.may_end = False

    def _ticks_alone(self, state: State, draws: Draws) -> Iterator[Move]:
        """Yield the tick if it changes no state."""
        if any(counts_ticks(goal.formula) for goal in self.path_goals):
            for move, after in self.reference.moves(state, frozenset(self._ruled_out(draws))):
                if move.kind == "tick" and after == state:
                    yield move

    def _score(self, score: Score, before: State, move: Move, after: State) -> Score:
        """Return what is counted after a step."""
        goals = zip(self.path_goals, score.words, strict=True)
        words = (
            goal.longer(word, self._true(goal, before), self._true(goal, after), move.kind == "tick")
            for goal, word in goals
        )
        return Score(score.value + self._worth(move), tuple(words))

    def _true(self, goal: PathGoal, state: State) -> frozenset[Term]:
        world = self.reference.world(state)
        return goal.true(lambda condition: self.reference.holds(condition, world))

    def _is_just(self, move: Move, draws: Draws) -> bool:
        """Return whether no run ends where this is possible."""
        if self._is_send(move):
            is_assumed = not self.keep_going.isdisjoint((move.event, self._sender(move)))
            return is_assumed and not self._covering(move.event, draws)
        return True

    def _component(self, move: Move) -> Name:
        return self.connected.component(CLOCK if move.kind == "tick" else ("message", move.event))

    def _worth(self, move: Move) -> Fraction:
        if not self._is_send(move):
            return Fraction(0)
        return sum((one.amount for one in self.participant.worth if move.event in one.messages), Fraction(0))

    def _allowed(self, state: State, draws: Draws) -> Iterator[Action]:
        """Yield the own sends that the participant may insist on, the channel aside."""
        world = self.reference.world(state)
        for message in self.model.messages:
            if message.sender not in self.roles or self._covering(message.name, draws):
                continue
            if not self.memoryless and not self.connected.counts(("message", message.name)):
                continue
            ruled = [one.condition for one in self.participant.decisions if message.name in one.messages]
            if not all(self.seen(condition, world) is True for condition in ruled):
                continue
            if self.reference.is_due(message, world):
                yield from ((message.name, payload) for payload in self._payloads(message, world))

    def _payloads(self, message: Message, world: World) -> Iterator[tuple[Value, ...]]:
        names = [parameter.name for parameter in message.parameters]
        for payload in product(*(parameter.domain for parameter in message.parameters)):
            own = dict(zip(names, payload, strict=True))
            if self.reference.holds(message.guard, world, message.sender, own):
                yield payload

    # --- ends

    @cached_property
    def _debts(self) -> tuple[str, ...]:
        return tuple(one.name for one in self.model.commitments if one.debtor in self.roles)

    def end(self, node: Node) -> Outcome:
        """Return the figures of a run that ends there."""
        world = self.reference.world(node.state)
        owed = any(
            world.env[name].state == "violated"
            or (world.env[name].is_in_force and not is_on_course(self.reference, world, name))
            for name in self._debts
        )
        value, words = node.score
        goals = all(self.reference.holds(goal, world) for goal in self.end_goals) and all(
            goal.holds(word, self._true(goal, node.state)) for goal, word in zip(self.path_goals, words, strict=True)
        )
        return Fraction(not owed), Fraction(goals), Fraction(value > 0), value

    # --- plans

    def evaluate(self, sends: Mapping[int, Action]) -> Plan:
        """Return the guaranteed figures of a plan; what it does not name it waits for."""
        figures: dict[int, Outcome] = {}

        def of(number: int) -> Outcome:
            if number in figures:
                return figures[number]
            position = self.positions[number]
            options = list(self._continuations(position, sends))
            outcomes = [self._mean(one, of) for one in options]
            insists = bool(position.actions.get(sends.get(position.history, ("", ()))))
            if not insists and (position.may_end or not options):
                self.stuck += not position.may_end
                outcomes.append(self.end(position.node))
            figures[number] = _worst(outcomes)
            return figures[number]

        guaranteed = _worst([self._mean(one, of) for one in self.start])
        takes_part = any(self._takes_part_in(component, sends) for component in self.connected.counting)
        return Plan(dict(sends), guaranteed, takes_part)

    def _takes_part_in(self, component: Name, sends: Mapping[int, Action]) -> bool:
        """Return whether a plan sends something in a component on some run on which nothing else has happened."""
        reached = {number for one in self.start for _, number in one}
        fresh = list(reached)
        while fresh:
            position = self.positions[fresh.pop()]
            action = sends.get(position.history)
            if action is not None and self._is_sent_in(component, position, action):
                return True
            inside = (one for one, place in zip(position.options, position.places, strict=True) if place == component)
            more = {number for one in inside for _, number in one} - reached
            reached |= more
            fresh += more
        return False

    def _is_sent_in(self, component: Name, position: Position, action: Action) -> bool:
        return bool(position.actions.get(action)) and self.connected.component(("message", action[0])) == component

    def _mean(self, distribution: Distribution, of: Callable[[int], Outcome]) -> Outcome:
        if len(distribution) == 1:
            return of(distribution[0][1])
        parts = [(chance, of(number)) for chance, number in distribution]
        return tuple(sum((c * one[k] for c, one in parts), Fraction(0)) for k in range(4))  # type: ignore[return-value]

    def _continuations(self, position: Position, sends: Mapping[int, Action]) -> Iterator[Distribution]:
        yield from position.options
        action = sends.get(position.history)
        if action is not None:
            yield from position.actions.get(action, [])

    @cached_property
    def plans(self) -> list[Plan]:
        """All plans that differ where they matter."""
        return [self.evaluate(sends) for sends in self._plans()]

    def _plans(self) -> Iterator[dict[int, Action]]:
        waiting: list[dict[int, Action | None]] = [{}]
        count = 0
        while waiting:
            partial = waiting.pop()
            open_choice = self._open_choice(partial)
            if open_choice is None:
                count += 1
                if count > self.most_plans:
                    raise TooManyPlans
                yield {history: action for history, action in partial.items() if action is not None}
                continue
            history, actions = open_choice
            waiting += [{**partial, history: action} for action in (*actions, None)]

    def _open_choice(self, partial: Mapping[int, Action | None]) -> tuple[int, list[Action]] | None:
        """Return a history that can come, and for which a plan decides nothing yet, with all that it may do there."""
        sends = {history: action for history, action in partial.items() if action is not None}
        reached = {number for one in self.start for _, number in one}
        fresh = sorted(reached)
        while fresh:
            position = self.positions[fresh.pop()]
            if position.actions and position.history not in partial:
                return position.history, self._choices[position.history]
            more = {number for one in self._continuations(position, sends) for _, number in one} - reached
            reached |= more
            fresh += sorted(more)
        return None

    @cached_property
    def _choices(self) -> dict[int, list[Action]]:
        choices: dict[int, dict[Action, None]] = {}
        for position in self.positions:
            if position.actions:
                choices.setdefault(position.history, {}).update(dict.fromkeys(position.actions))
        return {history: list(actions) for history, actions in choices.items()}

    # --- answers

    @cached_property
    def staying_away(self) -> Plan:
        """The plan that never sends."""
        return self.evaluate({})

    @cached_property
    def participating(self) -> list[Plan]:
        """The plans that take part; all plans, which are the same, where nothing that counts can be sent."""
        return [plan for plan in self.plans if plan.takes_part] or self.plans

    def alone(self) -> Outcome:
        """Return the best of each figure by itself, over the plans that take part."""
        best = [max(plan.figures[k] for plan in self.participating) for k in range(4)]
        return tuple(best)  # type: ignore[return-value]

    def verdict(self, requirements: Collection[Requirement]) -> Verdict:
        """Return what a deterministic plan can do about these requirements together.

        Where staying away does not meet them, every plan that does sends something that counts.
        """
        if not self.staying_away.meets(requirements):
            return "take part" if any(plan.meets(requirements) for plan in self.plans) else "stay away"
        return "indifferent" if any(plan.meets(requirements) for plan in self.participating) else "stay away"

    def front(self, aspects: Sequence[str]) -> set[tuple[Fraction, ...]]:
        """Return the Pareto points of these figures over the plans that take part."""
        positions = [ASPECTS.index(aspect) for aspect in aspects]
        points = {tuple(plan.figures[k] for k in positions) for plan in self.participating}
        return _undominated(points)

    def composed_front(self, aspects: Sequence[str]) -> set[tuple[Fraction, ...]]:
        """Return the Pareto points with full observation, from the points of each position."""
        assert self.full_observation
        picked = [ASPECTS.index(aspect) for aspect in aspects]
        memo: dict[int, tuple[_Points, _Points]] = {}

        def of(number: int) -> tuple[_Points, _Points]:
            """Return the points of all plans from a position, and of those that take part after it."""
            if number not in memo:
                position = self.positions[number]
                ends: list[_Points] = []
                if position.may_end or not position.options:
                    end = self.end(position.node)
                    ends.append({tuple(end[k] for k in picked)})
                free = _minima([*map(all_plans, position.options), *ends])
                taking = taking_part(position.options, ends)
                for distributions in position.actions.values():
                    if distributions:
                        taking |= _minima(list(map(all_plans, [*position.options, *distributions])))
                memo[number] = _undominated(free | taking), _undominated(taking)
            return memo[number]

        def all_plans(step: Distribution) -> _Points:
            return _weighted(step, [of(target)[0] for _, target in step])

        def taking_part(steps: Sequence[Distribution], ends: Sequence[_Points]) -> _Points:
            """Return the points of plans that take part after one of these steps."""
            points: _Points = set()
            for chosen, step in enumerate(steps):
                for place in range(len(step)):
                    each = []
                    for at, other in enumerate(steps):
                        sets = [of(target)[at == chosen and k == place] for k, (_, target) in enumerate(other)]
                        each.append(_weighted(other, sets))
                    points |= _minima([*each, *ends])
            return points

        return _undominated(taking_part(self.start, []) or _minima(list(map(all_plans, self.start))))


_Points = set[tuple[Fraction, ...]]
"""Guaranteed figures of plans."""


def _weighted(distribution: Distribution, sets: Sequence[_Points]) -> _Points:
    """Return the means of one point of each set, by the probabilities of the distribution."""
    chances = [chance for chance, _ in distribution]
    points: _Points = set()
    for picked in product(*sets):
        columns = zip(*picked, strict=True)
        points.add(tuple(sum((c * x for c, x in zip(chances, one, strict=True)), Fraction(0)) for one in columns))
    return _undominated(points)


def _minima(sets: Sequence[_Points]) -> _Points:
    """Return the componentwise minimum of each way to take one point of every set."""
    first, *more = sets
    points = set(first)
    for other in more:
        points = _undominated({tuple(map(min, one, two)) for one in points for two in other})
    return points


def _undominated(points: _Points) -> _Points:
    return {one for one in points if not any(_dominates(other, one) for other in points)}


def _dominates(one: Sequence[Fraction], other: Sequence[Fraction]) -> bool:
    return one != other and all(a >= b for a, b in zip(one, other, strict=True))


def _worst(outcomes: Sequence[Outcome]) -> Outcome:
    if len(outcomes) == 1:
        return outcomes[0]
    return tuple(min(one[k] for one in outcomes) for k in range(4))  # type: ignore[return-value]


def _distributions(belief: Belief) -> Iterator[list[tuple[Fraction, int]]]:
    """Yield the corners of a belief's distributions; within its bounds the world chooses, and a corner is worst."""
    bounds = [(at if one.message else SILENT, one.low, one.high) for at, one in enumerate(belief.events)]
    distributions = set()
    for free in range(len(bounds)):
        for ends in product(*((low, high) for n, (_, low, high) in enumerate(bounds) if n != free)):
            rest = 1 - sum(ends, Fraction(0))
            _, low, high = bounds[free]
            if low <= rest <= high:
                chances = (*ends[:free], rest, *ends[free:])
                if chances not in distributions:
                    distributions.add(chances)
                    pairs = zip(chances, bounds, strict=True)
                    yield [(chance, number) for chance, (number, _, _) in pairs if chance > 0]


def co_operation(
    game: Callable[[Collection[str]], Game], requirements: Collection[Requirement]
) -> list[tuple[str, ...]]:
    """Return the smallest sets of roles that make some plan pass if they keep going, given the game for each set.

    A family is one role.
    """
    first = game(())
    families: dict[str, list[str]] = {}
    for name in first.other_roles:
        families.setdefault(first.model.role[name].family, []).append(name)
    members = {names[0] if len(names) == 1 else family: names for family, names in families.items()}
    for size in range(len(members) + 1):
        helpful = [
            roles
            for roles in combinations(members, size)
            if game([name for role in roles for name in members[role]]).verdict(requirements) != "stay away"
        ]
        if helpful:
            return helpful
    return []
