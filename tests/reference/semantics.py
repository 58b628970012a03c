"""A plain interpreter of checked protocols: states, the steps that are enabled in them, and where they lead.

A state is the sender's and the receiver's copy of every message, the roles' own variables, the lives of the
commitments and claims as `Env` keeps them, and views. Counted as state are only views that some guard needs: of both
parties of a commitment that a guard mentions, those that fairness asks for, and those that in turn decide how such a
view develops (the commitment that it is handed over to or from by a message of the viewer, or that its conditions
mention). Other views are observers, and part of the state only when they are asked for.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import product

from tests.reference.contents import OTHER, Watched, about_runs
from tests.reference.dialogue import CLAIM_OPEN
from tests.reference.lifecycle import NULL, OPEN, Change, Life, ObserverState
from tests.reference.sides import roles_on
from tests.reference.states import (
    Copy,
    Graph,
    Inapplicable,
    Move,
    State,
    TooLarge,
    View,
    World,
    queues_of,
    ways_of,
)
from tests.reference.terms import calculate, compare, counts_ticks, mentioned

from cplc.semantics import terms as t
from cplc.semantics.model import Assignment, CheckedModel, Message, PayloadDeadline, Variable
from cplc.semantics.terms import Term, Value


class Reference:
    """The meaning of one checked protocol, with these views kept besides those that guards need."""

    def __init__(self, model: CheckedModel, observers: Iterable[View] = (), *, keeps_last_moves: bool = False) -> None:
        self.model = model
        self.keeps_last_moves = keeps_last_moves
        """True if the last move of each side is recorded; only ``SC`` needs it."""
        self.names = (*model.commitment, *model.claim)
        """The names of all commitments and claims."""
        self.inapplicable: set[Inapplicable] = set()
        self._changes: frozenset[Change] = frozenset()
        """The changes of the move that was yielded last."""
        self.out_of_range: set[str] = set()
        """Messages on whose receipt a variable would have to leave its domain."""
        self.local_views = self._local_views()
        self.views: tuple[View, ...] = tuple(sorted(self._closed_views(self.local_views | set(observers))))
        self.parent = {scope.name: scope.parent for scope in model.scopes}

    def observing(self, views: Iterable[View], *, keeps_last_moves: bool) -> Reference:
        """Return the same meaning with other views kept."""
        return Reference(self.model, views, keeps_last_moves=keeps_last_moves)

    def world(self, state: State) -> World:
        return World(self.model, self.names, self.views, state)

    # --- views

    def is_party(self, role: str, commitment: str) -> bool:
        return role in self.both(commitment)

    def both(self, name: str) -> tuple[str, ...]:
        """Return the roles on the two sides of a commitment or claim."""
        if name in self.model.claim:
            return self.model.claim[name].maker, self.model.claim[name].addressee
        commitment = self.model.commitment[name]
        return (*roles_on(commitment.debtor), *roles_on(commitment.creditor))

    def conditions(self, name: str) -> tuple[Term, ...]:
        if name in self.model.claim:
            return (self.model.claim[name].content,)
        return self.model.commitment[name].antecedent, self.model.commitment[name].consequent

    @cached_property
    def _state_dependencies(self) -> dict[str, frozenset[str]]:
        """Everything to that on whose state it depends: what conditions mention, whom it may wait for."""
        direct = {
            name: {mention.commitment for term in self.conditions(name) for mention in mentioned(self.model, term)}
            for name in self.names
        }
        done = [operation for message in self.model.messages for operation in message.operations]
        handed_over = [one for one in done if one.verb in ("delegate", "assign")]
        waits = {(one.commitment, one.target) for one in handed_over if one.retaining and one.target is not None}
        redirects = {
            (one.commitment, one.target) for one in handed_over if not one.retaining and one.target is not None
        }
        while missing := {(who, new) for who, old in waits for gone, new in redirects if gone == old} - waits:
            waits |= missing
        for who, target in waits:
            direct[who].add(target)
        dependencies: dict[str, frozenset[str]] = {}
        for name in self.names:
            reached, fresh = set[str](), [name]
            while fresh:
                more = direct[fresh.pop()] - reached
                reached |= more
                fresh += more
            dependencies[name] = frozenset(reached)
        return dependencies

    def _local_views(self) -> set[View]:
        """Return the views that are part of local states: both parties' of what the clauses of either read."""
        views = set()
        for message in self.model.messages:
            for role, clauses in (
                (message.sender, [message.guard, *(update.value for update in message.updates)]),
                *((role, [update.value for update in self._receipt(message, role)]) for role in message.receivers),
            ):
                for clause in clauses:
                    for mention in mentioned(self.model, clause):
                        name = mention.commitment
                        assert self.is_party(role, name), f"{role} looks at {name}"
                        views |= {(name, party) for party in self.both(name)}
        return views

    def _closed_views(self, views: set[View]) -> set[View]:
        """Return these views and all that decide how they develop."""
        needed, waiting = set(views), list(views)
        conditions = [condition for name in self.names for condition in self.conditions(name)]
        for condition in (*conditions, *(one.condition for one in self.model.fairness)):
            waiting += [
                (m.commitment, m.view) for m in mentioned(self.model, condition) if not isinstance(m, t.Age) and m.view
            ]
        needed |= set(waiting)
        while waiting:
            name, role = waiting.pop()
            for other in self._deciding(name, role):
                if (other, role) not in needed and self.is_party(role, other):
                    needed.add((other, role))
                    waiting.append((other, role))
        return needed

    def _deciding(self, name: str, role: str) -> Iterator[str]:
        """Yield the commitments whose state decides how this role's view of this one changes."""
        for message in self.model.messages:
            if role in (message.sender, *message.receivers):
                for operation in message.operations:
                    if operation.target is not None and name in (operation.commitment, operation.target):
                        yield operation.target if name == operation.commitment else operation.commitment
        for condition in self.conditions(name):
            for mention in mentioned(self.model, condition):
                yield mention.commitment

    # --- values of terms

    def copy(self, world: World, name: str, observer: str | None) -> Copy | None:
        """Return a role's copy of a message, or None if it has none; without a role the receiver's."""
        message = self.model.message[name]
        if observer == message.sender:
            return world.sent[name]
        if observer in message.receivers:
            return world.arrived.get((name, observer), world.received[name])
        return world.received[name] if observer is None else None

    def _receipt(self, message: Message, role: str) -> tuple[Assignment, ...]:
        """Return what one receiver assigns on receipt."""
        return tuple(one for one in message.receipt if self.model.variable[one.variable].role == role)

    def value(
        self, term: Term, world: World, observer: str | None = None, own: dict[str, Value] | None = None
    ) -> Value | None:
        """Return the value of a term as a role sees it, without role as it is; None where there is none."""

        def of(operand: Term) -> Value | None:
            return self.value(operand, world, observer, own)

        def true(operand: Term) -> bool:
            return of(operand) is True

        match term:
            case t.Const(value):
                return value
            case t.Happened(name):
                return self.copy(world, name, observer) is not None
            case t.Sent(name):
                return observer in (None, self.model.message[name].sender) and world.sent[name] is not None
            case t.InFlight(name):
                return observer is None and world.in_flight(name)
            case t.Field(name, parameter):
                copy = self.copy(world, name, observer)
                names = [p.name for p in self.model.message[name].parameters]
                return None if copy is None else copy.payload[names.index(parameter)]
            case t.Age(name):
                assert observer is not None
                life = world.views[name, observer]
                return life.age if self._is_open(name, life) else None
            case t.Own(parameter):
                assert own is not None
                return own[parameter]
            case t.Var(name):
                return world.own[name] if observer in (None, self.model.variable[name].role) else None
            case t.InState(name, states, view):
                if observer is None and view is None:
                    return world.env[name].state in states
                if observer is None:
                    assert view is not None
                    return world.views[name, view].state in states
                viewed = world.views.get((name, observer))
                return view in (None, observer) and viewed is not None and viewed.state in states
            case t.Stands(name, standings, view):
                if observer is None:
                    life = world.env[name] if view is None else world.views[name, view]
                    return self._is_open(name, life) and life.standing in standings
                viewed = world.views.get((name, observer))
                return (
                    view in (None, observer)
                    and viewed is not None
                    and self._is_open(name, viewed)
                    and (viewed.standing in standings)
                )
            case t.FactRef(fact):
                return true(self.model.fact[fact].meaning)
            case t.Apply("!", (operand,)):
                return not true(operand)
            case t.Apply("&", operands):
                return all(true(operand) for operand in operands)
            case t.Apply("|", operands):
                return any(true(operand) for operand in operands)
            case t.Apply("->", (left, right)):
                return not true(left) or true(right)
            case t.Apply("<->", (left, right)):
                return true(left) == true(right)
            case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=" as op, (left, right)):
                return compare(op, of(left), of(right))
            case t.Apply("-", (operand,)):
                return calculate("-", 0, of(operand))
            case t.Apply("+" | "-" | "*" | "%" as op, (left, right)):
                return calculate(op, of(left), of(right))
            case _:
                raise AssertionError(f"not a condition on one state: {term}")

    def holds(self, term: Term, world: World, observer: str | None = None, own: dict[str, Value] | None = None) -> bool:
        return self.value(term, world, observer, own) is True

    def _is_open(self, name: str, life: Life) -> bool:
        return life.state in (CLAIM_OPEN if name in self.model.claim else OPEN)

    # --- states

    def initial(self) -> list[State]:
        nothing = (None,) * len(self.model.messages)
        values = [v.domain if v.initial is None else (v.initial,) for v in self.model.variables]
        env = (NULL,) * len(self.names)
        arrived = (None,) * sum(len(m.receivers) for m in self.model.messages if len(m.receivers) > 1)
        views = (NULL,) * len(self.views)
        ways = len(ways_of(self.model))
        losses = (0,) * sum(most is not None for m in self.model.messages for _, most in m.losses)
        duplicates = (0,) * sum(len(m.duplicates) for m in self.model.messages)
        queues = ((),) * len(queues_of(self.model))
        return [
            State(nothing, nothing, own, env, views, (), arrived, (False,) * ways, losses, duplicates, queues)
            for own in product(*values)
        ]

    def moves(self, state: State) -> Iterator[tuple[Move, State]]:
        """Yield every enabled step with its target, and record values out of range."""
        world = self.world(state)
        self._changes = frozenset()
        for message in self.model.messages:
            if self._may_send(message, world):
                for payload in product(*(parameter.domain for parameter in message.parameters)):
                    yield from self._sendings(message, payload, state)
            for receiver in () if self.model.sync else message.receivers:
                if world.in_flight(message.name, receiver) and world.arriving(message.name, receiver) is None:
                    continue
                if world.in_flight(message.name, receiver):
                    yield from self._receiving(message, receiver, state)
                    yield from self._losing(message, receiver, state)
                elif world.duplicates.get((message.name, receiver)):
                    yield from self._duplicating(message, receiver, state)
        for scope in self.model.scopes:
            if self._may_restart(scope.name, world):
                self._changes = frozenset()
                yield from ((Move("restart", scope.name), after) for after in self._restarted(scope.name, state))
        if self.has_ticks:
            yield Move("tick", ""), self._ticked(state)

    def changes(self, state: State, move: Move) -> frozenset[Change]:
        """Return the changes of commitments and claims that `Env` sees in a move from there."""
        for other, _ in self.moves(state):
            if other == move:
                return self._changes
        raise AssertionError(f"{move} is not possible")

    def explore(self, limit: int = 100_000) -> Graph:
        """Return the reachable states."""
        graph = Graph()
        graph.initial = [graph.add(state) for state in self.initial()]
        done = 0
        while done < len(graph.states):
            for move, after in self.moves(graph.states[done]):
                graph.steps[done].append((move, graph.add(after)))
            done += 1
            if len(graph.states) > limit:
                raise TooLarge
        return graph

    # --- sending and receiving

    def _may_send(self, message: Message, world: World) -> bool:
        """Return whether channel, choice, round and scope allow it, whatever its guard says."""
        places = queues_of(self.model)
        for receiver in message.receivers:
            if queue := places.get((message.sender, receiver)):
                if len(world.queues[message.sender, receiver]) == queue:
                    return False
                continue
            busy = any(
                world.in_flight(other.name, receiver)
                for other in self.model.messages
                if other.sender == message.sender and receiver in other.receivers and other.key == message.key
            )
            if busy and (message.sender, receiver) not in self.model.unordered:
                return False
        may_fly = len(message.receivers) == 1 and (message.sender, message.receivers[0]) in places
        return (may_fly or not world.in_flight(message.name)) and self._is_open_to(message, world)

    def _is_open_to(self, message: Message, world: World) -> bool:
        """Return whether choice, round and scope allow a message to be sent."""
        if world.sent[message.name] is not None and not message.repeatable:
            return False
        if any(world.sent[rival] is not None for rival in message.rivals):
            return False
        scope: str | None = message.scope
        while scope is not None:
            if self._is_ending(scope, world):
                return False
            scope = self.parent[scope]
        return True

    def is_due(self, message: Message, world: World) -> bool:
        """Return whether a message could be sent now but for a full channel."""
        if not self._is_open_to(message, world):
            return False
        for payload in product(*(parameter.domain for parameter in message.parameters)):
            own = {parameter.name: value for parameter, value in zip(message.parameters, payload, strict=True)}
            if self.holds(message.guard, world, message.sender, own):
                copy = self.world(world.state())
                if self._assign(message.updates, world, copy, message.sender, own):
                    return True
        return False

    def _sendings(self, message: Message, payload: tuple[Value, ...], state: State) -> Iterator[tuple[Move, State]]:
        """Yield the sending of this payload, if the guard and the domains of the sender's variables allow it."""
        before, world = self.world(state), self.world(state)
        own = {parameter.name: value for parameter, value in zip(message.parameters, payload, strict=True)}
        if not self.holds(message.guard, before, message.sender, own):
            return
        if not self._assign(message.updates, before, world, message.sender, own):
            return
        last = before.sent[message.name]
        faulty = {role for role, _ in (*message.losses, *message.duplicates, *message.queues)}
        has_bit = message.repeatable and not faulty.issuperset(message.receivers)
        for receiver in message.receivers:
            if (message.sender, receiver) not in self.model.unordered:
                rivals = [m for m in self.model.messages if m.sender == message.sender and m is not message]
                overtaken = [m.name for m in rivals if m.key == message.key]
                world.duplicates |= {key: 0 for key in world.duplicates if key[0] in overtaken and key[1] == receiver}
        world.send(message.name, Copy(payload, has_bit and last is not None and not last.bit))
        if not self.model.sync:
            self._look(message, before, world, message.sender, own, message.receivers[0])
            self._changes = frozenset()
            yield Move("send", message.name, payload), world.state()
        elif self._take_effect(message, before, world, own, message.receivers, (message.sender, *message.receivers)):
            yield Move("exchange", message.name, payload), world.state()

    def _receiving(self, message: Message, receiver: str, state: State) -> Iterator[tuple[Move, State]]:
        """Yield the receipt by one receiver. The message takes effect with the first one."""
        before, world = self.world(state), self.world(state)
        copy = world.arriving(message.name, receiver)
        assert copy is not None
        own = {parameter.name: value for parameter, value in zip(message.parameters, copy.payload, strict=True)}
        several = len(message.receivers) > 1
        way = message.name, receiver
        if way in world.duplicates and world.duplicates[way] < world.count[way]:
            if self._receive_again(message, before, world, own, receiver, is_duplicate=True):
                yield Move("receive", message.name, (), receiver if several else "", True, True), world.state()
            return
        took_effect = not world.transit.get((message.name, "Env"), world.received[message.name] != copy)
        if several and took_effect:
            if self._receive_again(message, before, world, own, receiver):
                yield Move("receive", message.name, (), receiver, True), world.state()
        elif self._take_effect(message, before, world, own, (receiver,), (receiver,)):
            yield Move("receive", message.name, (), receiver if several else ""), world.state()

    def _losing(self, message: Message, receiver: str, state: State) -> Iterator[tuple[Move, State]]:
        """Yield the loss on the way to one receiver, where it may still be lost."""
        world, way = self.world(state), (message.name, receiver)
        if receiver not in dict(message.losses) or world.losses.get(way, -1) >= world.most.get(way, 0):
            return
        if way in world.transit:
            world.transit[way] = False
        world.leave(message.name, receiver)
        if way in world.losses:
            world.losses[way] += 1
        if way in world.duplicates:
            world.duplicates[way] = 0
        self._changes = frozenset()
        yield Move("lose", message.name, (), receiver if len(message.receivers) > 1 else ""), world.state()

    def _duplicating(self, message: Message, receiver: str, state: State) -> Iterator[tuple[Move, State]]:
        """Yield that a message which has arrived is on its way once more."""
        world, way = self.world(state), (message.name, receiver)
        world.transit[way] = True
        world.duplicates[way] -= 1
        self._changes = frozenset()
        yield Move("duplicate", message.name, (), receiver if len(message.receivers) > 1 else ""), world.state()

    def _receive_again(
        self,
        message: Message,
        before: World,
        world: World,
        own: dict[str, Value],
        receiver: str,
        *,
        is_duplicate: bool = False,
    ) -> bool:
        """Receive what has taken effect: only the receiver's own state changes, and what follows from it."""
        if not self._assign(self._receipt(message, receiver), before, world, receiver, own):
            self.out_of_range.add(message.name)
            return False
        if (message.name, receiver) in world.arrived:
            world.arrived[message.name, receiver] = world.sent[message.name]
        world.arrive(message.name, receiver)
        observer_state = self._env_observer_state(before, world, own)
        observer_state.read(("act", receiver))
        observer_state.apply_automatic_rules()
        world.env = observer_state.lives
        self._changes = frozenset(observer_state.changes)
        self._look(message, before, world, receiver, own, receiver, is_duplicate=is_duplicate)
        return True

    def _take_effect(
        self,
        message: Message,
        before: World,
        world: World,
        own: dict[str, Value],
        receivers: tuple[str, ...],
        viewers: tuple[str, ...],
    ) -> bool:
        """Copy, update, operate, settle, clear; return False where a variable would leave its domain."""
        for receiver in receivers:
            if not self._assign(self._receipt(message, receiver), before, world, receiver, own):
                self.out_of_range.add(message.name)
                return False
        for operation in message.operations:
            name = operation.commitment if operation.verb == "create" else operation.target
            created = self.model.commitment.get(name or "")
            for one in () if created is None else (created.within, created.expires):
                if isinstance(one, PayloadDeadline) and self._ticks_given(one.value, before, own) < 1:
                    self.out_of_range.add(message.name)
                    return False
        world.received[message.name] = world.arriving(message.name, receivers[0])
        world.arrive(message.name, "Env")
        for receiver in receivers:
            world.arrive(message.name, receiver)
            if (message.name, receiver) in world.arrived:
                world.arrived[message.name, receiver] = world.sent[message.name]
        observer_state = self._env_observer_state(before, world, own)
        observer_state.read(("message", f"{message.name} {receivers[0]}"))
        for operation in message.operations:
            state_name = observer_state.lives[operation.commitment].state
            if not observer_state.perform(operation):
                self.inapplicable.add(Inapplicable(message.name, operation.verb, operation.commitment, state_name))
        observer_state.apply_automatic_rules()
        world.env = observer_state.lives
        self._changes = frozenset(observer_state.changes)
        for viewer in viewers:
            self._look(message, before, world, viewer, own, receivers[0])
        for name in message.resets:
            world.clear(name)
        return True

    def _assign(
        self, updates: tuple[Assignment, ...], before: World, world: World, observer: str, own: dict[str, Value]
    ) -> bool:
        """Assign simultaneously, on old values, as the acting role sees them; return whether all are in range."""
        for update in updates:
            value = self.value(update.value, before, observer, own)
            if value is None or value not in self.model.variable[update.variable].domain:
                return False
            world.own[update.variable] = value
        return True

    # --- commitments

    def _ticks_given(self, deadline: Term, world: World, own: dict[str, Value]) -> int:
        """Return the ticks of a deadline in the payload of a message."""
        ticks = self.value(deadline, world, None, own)
        assert isinstance(ticks, int)
        return ticks

    def _env_observer_state(self, before: World, world: World, own: dict[str, Value] | None = None) -> ObserverState:
        def holds(term: Term, observer_state: ObserverState) -> bool:
            world.env = observer_state.lives
            return self.holds(term, world)

        def was(term: Term) -> bool:
            return self.holds(term, before)

        return ObserverState(
            self.model,
            world.env,
            lambda _: True,
            holds,
            was,
            self._state_dependencies.__getitem__,
            self.watched,
            keeps_last_moves=self.keeps_last_moves,
            given=lambda deadline: self._ticks_given(deadline, before, own or {}),
        )

    def _view_observer_state(
        self, before: World, world: World, role: str, own: dict[str, Value] | None = None
    ) -> ObserverState:
        def holds(term: Term, observer_state: ObserverState) -> bool:
            world.views |= {(name, role): life for name, life in observer_state.lives.items()}
            return self.holds(term, world, role)

        def was(term: Term) -> bool:
            return self.holds(term, before, role)

        lives = {name: life for (name, viewer), life in world.views.items() if viewer == role}
        rests_on = self._state_dependencies.__getitem__
        return ObserverState(
            self.model,
            lives,
            lambda name: self.is_party(role, name),
            holds,
            was,
            rests_on,
            self.watched,
            keeps_arguments=False,
            ages={name: most for (viewer, name), most in self.ages.items() if viewer == role},
            given=lambda deadline: self._ticks_given(deadline, before, own or {}),
        )

    def _look(
        self,
        message: Message,
        before: World,
        world: World,
        role: str,
        own: dict[str, Value],
        receiver: str,
        *,
        is_duplicate: bool = False,
    ) -> None:
        """Let a role's views follow a message that it has just sent or received."""
        observer_state = self._view_observer_state(before, world, role, own)
        observer_state.read(("act", receiver) if is_duplicate else ("message", f"{message.name} {receiver}"))
        for operation in () if is_duplicate else message.operations:
            observer_state.perform(operation)
        observer_state.apply_automatic_rules()
        world.views |= {(name, role): life for name, life in observer_state.lives.items()}

    @property
    def has_ticks(self) -> bool:
        """True if time passes."""
        return self.has_deadlines

    @cached_property
    def has_deadlines(self) -> bool:
        timed = any(c.within is not None or c.expires is not None for c in self.model.commitments)
        contents = [c.consequent for c in self.model.commitments] + [c.content for c in self.model.claims]
        return timed or bool(self.ages) or any(map(counts_ticks, contents))

    @cached_property
    def ages(self) -> dict[tuple[str, str], int]:
        """Roles and subjects of ages in guards, with the number of ticks at which counting may stop."""
        limits: dict[tuple[str, str], int] = {}

        def look(term: Term, role: str) -> None:
            if not isinstance(term, t.Apply):
                return
            subjects = [one.commitment for one in term.operands if isinstance(one, t.Age)]
            values = (one.value for one in term.operands if isinstance(one, t.Const))
            numbers = [value for value in values if isinstance(value, int)]
            for name in subjects:
                limits[role, name] = max([limits.get((role, name), 1), *(number + 1 for number in numbers)])
            for operand in term.operands:
                look(operand, role)

        for message in self.model.messages:
            look(message.guard, message.sender)
        return limits

    @cached_property
    def watched(self) -> dict[str, Watched]:
        """The contents about runs."""
        watched_contents = {
            name: Watched(one.consequent, self.model)
            for name, one in self.model.commitment.items()
            if about_runs(one.consequent)
        }
        return watched_contents | {name: Watched(one.content, self.model) for name, one in self.model.claim.items()}

    def _ticked(self, state: State) -> State:
        before, world = self.world(state), self.world(state)
        observer_state = self._env_observer_state(before, world)
        observer_state.tick()
        world.env = observer_state.lives
        self._changes = frozenset(observer_state.changes)
        for role in {viewer for _, viewer in self.views}:
            view = self._view_observer_state(before, world, role)
            view.tick()
            world.views |= {(name, role): life for name, life in view.lives.items()}
        return world.state()

    # --- restarts

    def _is_within(self, inner: str | None, outer: str) -> bool:
        while inner is not None and inner != outer:
            inner = self.parent[inner]
        return inner == outer

    def messages_inside(self, scope: str) -> Iterator[Message]:
        return (m for m in self.model.messages if self._is_within(m.scope, scope))

    def _is_ending(self, scope: str, world: World) -> bool:
        return any(m.restarts and m.scope == scope and world.received[m.name] is not None for m in self.model.messages)

    def _may_restart(self, scope: str, world: World) -> bool:
        """Return whether the scope is ending, and nothing of it is in flight."""
        draining = any(world.in_flight(message.name) for message in self.messages_inside(scope))
        return self._is_ending(scope, world) and not draining

    def _restarted(self, scope: str, state: State) -> Iterator[State]:
        world = self.world(state)
        self._read_restart(world, scope)
        for message in self.messages_inside(scope):
            world.clear(message.name)
        scopes = {commitment.name: commitment.scope for commitment in self.model.commitments}
        scopes |= {commitment.name: commitment.scope for commitment in self.model.claims}
        for name in self.names:
            if self._is_within(scopes[name], scope):
                world.env[name] = NULL
        for name, role in self.views:
            if self._is_within(scopes[name], scope):
                world.views[name, role] = NULL
        fresh = [variable for variable in self.model.variables if self._is_reset(variable, scope)]
        for values in product(*(v.domain if v.initial is None else (v.initial,) for v in fresh)):
            world.own |= {variable.name: value for variable, value in zip(fresh, values, strict=True)}
            yield world.state()

    def _read_restart(self, world: World, scope: str) -> None:
        """A restart elsewhere is one more event for contents about runs; nothing else is looked at."""
        scopes = {one.name: one.scope for one in self.model.commitments}
        scopes |= {one.name: one.scope for one in self.model.claims}
        lasting = {name for name in self.watched if not self._is_within(scopes[name], scope)}
        before = World(self.model, self.names, self.views, world.state())
        observer_state = self._env_observer_state(before, world)
        observer_state.read(OTHER)
        observer_state.close_decided(on_entering=False)
        world.env |= {name: life for name, life in observer_state.lives.items() if name in lasting}
        for role in {viewer for _, viewer in self.views}:
            view = self._view_observer_state(before, world, role)
            view.read(OTHER)
            view.close_decided(on_entering=False)
            world.views |= {(name, role): life for name, life in view.lives.items() if name in lasting}

    def _is_reset(self, variable: Variable, scope: str) -> bool:
        """Return whether a restart resets a variable: with its part, or with a block that binds the role."""
        if self.parent[scope] is None:
            return True
        if variable.scope:
            return self._is_within(variable.scope, scope)
        return any(variable.role in inner.roles for inner in self.model.scopes if self._is_within(inner.name, scope))

    # --- what agents know of a state

    def local(self, state: State, role: str) -> dict[View, object]:
        """Return the local state of a role: its variables, its copies of messages, its views that guards mention."""
        world = self.world(state)
        local_state: dict[View, object] = {}
        for variable in self.model.variables:
            if variable.role == role:
                local_state["own", variable.name] = world.own[variable.name]
        for message in self.model.messages:
            if role in (message.sender, *message.receivers):
                local_state["copy", message.name] = self.copy(world, message.name, role)
        for name, viewer in self.local_views:
            if viewer == role:
                life = world.views[name, role]
                local_state["view", name] = life.state, life.standing, life.age
        return local_state
