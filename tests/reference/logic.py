"""A naive checker of resolved formulas on the explicit graph of the reference interpreter.

Sets of states are sets of numbers. Every operator is computed from its definition: runs are infinite, the idle step
is always possible, and the fair runs are those that meet every justice infinitely often ("not waiting, or taken") and
every fairness condition of the file infinitely often. Path formulas of CTL, with bounds, are decided here, others and
what groups can enforce by `tests/reference/runs.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from functools import cached_property

from tests.reference.conditional import Channel, satisfying
from tests.reference.dialogue import STANDING_AFTER
from tests.reference.promises import is_kept, is_promised
from tests.reference.runs import Justice, RunGraph, is_about_states
from tests.reference.semantics import Reference
from tests.reference.sides import in_channel
from tests.reference.social import SocialCommitments
from tests.reference.states import Graph, Move, View, World
from tests.reference.terms import mentioned

from cplc.semantics import terms as t
from cplc.semantics.model import Message
from cplc.semantics.terms import Term

States = frozenset[int]


def is_plain(path: Term) -> bool:
    """Return whether it is one operator of CTL over state formulas, or a state formula."""
    match path:
        case t.Apply(low=int(low), in_ticks=in_ticks) if low or in_ticks:
            return False
        case t.Apply("W" | "R" | "M", _, int()):
            return False
        case t.Apply("X" | "F" | "G" | "U" | "W" | "R" | "M", operands):
            return all(map(is_about_states, operands))
        case _:
            return is_about_states(path)


class NotComparable(Exception):
    """The formula relates two roles that share no variable."""


class Logic:
    """The states that satisfy a formula, on the runs where the assumed roles keep going."""

    def __init__(
        self, reference: Reference, graph: Graph, assuming: Collection[str] = (), *, uniform: bool = False
    ) -> None:
        self.uniform = uniform
        self.reference, self.graph = reference, graph
        self.assuming = frozenset(assuming)
        self.all: States = frozenset(range(len(graph.states)))
        self.following = [sorted({target for _, target in steps} | {n}) for n, steps in enumerate(graph.steps)]
        self._known: dict[Term, States] = {}
        self._locals: dict[str, list[dict[View, object]]] = {}
        self._numbered: dict[str, list[int]] = {}
        self.preceding: list[list[int]] = [[] for _ in graph.states]
        for source, targets in enumerate(self.following):
            for target in targets:
                self.preceding[target].append(source)

    def is_valid(self, formula: Term) -> bool:
        """Return whether it holds at every initial state."""
        return self.satisfying(formula).issuperset(self.graph.initial)

    # --- state formulas

    def satisfying(self, formula: Term) -> States:
        if formula not in self._known:
            self._known[formula] = self._satisfying(formula)
        return self._known[formula]

    def _satisfying(self, formula: Term) -> States:
        sat = self.satisfying
        match formula:
            case t.Terminal():
                return frozenset(
                    n for n, steps in enumerate(self.graph.steps) if all(move.kind == "tick" for move, _ in steps)
                )
            case t.Apply("!", (operand,)):
                return self.all - sat(operand)
            case t.Apply("&", operands):
                return self.all.intersection(*map(sat, operands))
            case t.Apply("|", operands):
                return frozenset[int]().union(*map(sat, operands))
            case t.Apply("->", (left, right)):
                return (self.all - sat(left)) | sat(right)
            case t.Apply("<->", (left, right)):
                return self.all - (sat(left) ^ sat(right))
            case t.OverPaths("E", path, None) if is_plain(path):
                return self._some_path(path)
            case t.OverPaths("A", path, None) if is_plain(path):
                return self._every_path(path)
            case t.OverPaths("E", path, along, may_idle):
                return self.field.some_run(path, along, may_idle=may_idle)
            case t.OverPaths(_, path, along, may_idle):
                return self.field.every_run(path, along, may_idle=may_idle)
            case t.Strategic(group, goal) if self.uniform:
                return self.field.enforced_uniformly(group, goal, lambda role, n: self._local_state_numbers(role)[n])
            case t.Strategic(group, goal):
                return self.field.enforced(group, goal)
            case t.Social("C", body=body):
                return self._committed(formula, sat(body))
            case t.Social("Fu", body=body):
                names = self._names(formula)
                promised, kept_there = self._ends(names)
                all_kept = frozenset(n for n in self.all if promised[n] == kept_there[n])
                return all_kept & self._committed(formula, sat(body))
            case t.Conditional(modality, between, other, antecedent, consequent):
                channel = Channel(self.reference, self._worlds, self._names(between))
                third = None if other is None else Channel(self.reference, self._worlds, self._names(other))
                return satisfying(modality, channel, third, sat(antecedent), sat(consequent))
            case t.Social("SC" | "SCc"):
                return SocialCommitments(self.reference, self.field, self._worlds).satisfying(formula)
            case t.Knowledge("K", (role,), body):
                return self._knows((role,), sat(body))
            case t.Knowledge("EK", group, body):
                return self.all.intersection(*(self._knows((role,), sat(body)) for role in group))
            case t.Knowledge("DK", group, body):
                return self._knows(group, sat(body))
            case t.Knowledge("CK", group, body):
                return self._common_knowledge(group, sat(body))
            case _:
                return self._state_formula(lambda world: self.reference.holds(formula, world))

    def _state_formula(self, condition: Callable[[World], bool]) -> States:
        return frozenset(n for n, world in enumerate(self._worlds) if condition(world))

    @cached_property
    def _worlds(self) -> list[World]:
        return [self.reference.world(state) for state in self.graph.states]

    # --- knowledge and commitment by local states

    def _local(self, role: str) -> list[dict[View, object]]:
        if role not in self._locals:
            self._locals[role] = [self.reference.local(state, role) for state in self.graph.states]
        return self._locals[role]

    def _local_state_numbers(self, role: str) -> list[int]:
        """Return for each state a number that is the same where the role's local state is."""
        if role not in self._numbered:
            numbers: dict[object, int] = {}
            locals_ = (tuple(local.items()) for local in self._local(role))
            self._numbered[role] = [numbers.setdefault(local, len(numbers)) for local in locals_]
        return self._numbered[role]

    def _knows(self, group: tuple[str, ...], body: States) -> States:
        looks = list(zip(*map(self._local_state_numbers, group), strict=True))
        doubtful = {looks[n] for n in self.all - body}
        return frozenset(n for n in self.all if looks[n] not in doubtful)

    def _common_knowledge(self, group: tuple[str, ...], body: States) -> States:
        """Return the greatest Z with Z = everyone knows (body and Z)."""
        fixpoint = self.all
        while True:
            smaller = self.all.intersection(*(self._knows((role,), body & fixpoint) for role in group))
            if smaller == fixpoint:
                return fixpoint
            fixpoint = smaller

    def _names(self, formula: t.Social | t.Between) -> tuple[str, ...]:
        """Return the commitments that a formula is about."""
        if formula.commitment is not None:
            return (formula.commitment,)
        promised = (c for c in self.reference.model.commitments if in_channel(c, formula.debtor, formula.creditor))
        return tuple(c.name for c in promised)

    def _ends(self, names: Sequence[str]) -> tuple[list[tuple[bool, ...]], list[tuple[bool, ...]]]:
        """Return for each state which commitments are promised there, and which are kept."""
        return (
            [tuple(is_promised(self.reference, world, name) for name in names) for world in self._worlds],
            [tuple(is_kept(self.reference, world, name) for name in names) for world in self._worlds],
        )

    def _committed(self, formula: t.Social, body: States) -> States:
        """Return where something is promised, and the body holds in all states with exactly that promised and kept."""
        names = self._names(formula)
        promised, fulfilled = self._ends(names)
        classes: dict[tuple[bool, ...], set[int]] = {}
        for n in self.all:
            if promised[n] == fulfilled[n]:
                classes.setdefault(promised[n], set()).add(n)
        return frozenset(n for n in self.all if any(promised[n]) and classes.get(promised[n], set()) <= body)

    # --- path formulas

    def _before(self, states: Collection[int]) -> States:
        return frozenset(source for n in states for source in self.preceding[n])

    def _some_path(self, path: Term) -> States:
        """Return where some fair run satisfies the path formula."""
        sat, fair = self.satisfying, self.fair
        match path:
            case t.Apply("X", (operand,), None):
                return self._before(sat(operand) & fair)
            case t.Apply("F", (operand,), bound):
                return self._until(self.all, sat(operand), bound)
            case t.Apply("G", (operand,), None):
                return self._some_run_always_in(sat(operand))
            case t.Apply("G", (operand,), int(bound)):
                keep = now = sat(operand) & fair
                for _ in range(bound):
                    now = keep & self._before(now)
                return now
            case t.Apply("U", (left, right), bound):
                return self._until(sat(left), sat(right), bound)
            case t.Apply("W", (left, right), None):
                return self._until(sat(left), sat(right), None) | self._some_run_always_in(sat(left))
            case t.Apply("R", (left, right), None):
                return self._until(sat(right), sat(left) & sat(right), None) | self._some_run_always_in(sat(right))
            case t.Apply("M", (left, right), None):
                return self._until(sat(right), sat(left) & sat(right), None)
            case _:
                return sat(path) & fair

    def _every_path(self, path: Term) -> States:
        """Return where no fair run violates the path formula."""
        sat = self.satisfying

        def no(operand: Term) -> States:
            return self.all - sat(operand)

        match path:
            case t.Apply("X", (operand,), None):
                return self.all - self._before(no(operand) & self.fair)
            case t.Apply("F", (operand,), None):
                return self.all - self._some_run_always_in(no(operand))
            case t.Apply("F", (operand,), int(bound)):
                return self.all - self._some_run_misses_until(self.all, sat(operand), bound)
            case t.Apply("G", (operand,), bound):
                return self.all - self._until(self.all, no(operand), bound)
            case t.Apply("U", (left, right), None):
                return self.all - (
                    self._until(no(right), no(left) & no(right), None) | self._some_run_always_in(no(right))
                )
            case t.Apply("U", (left, right), int(bound)):
                return self.all - self._some_run_misses_until(sat(left), sat(right), bound)
            case t.Apply("W", (left, right), None):
                return self.all - self._until(no(right), no(left) & no(right), None)
            case t.Apply("R", (left, right), None):
                return self.all - self._until(no(left), no(right), None)
            case t.Apply("M", (left, right), None):
                return self.all - (self._until(no(left), no(right), None) | self._some_run_always_in(no(left)))
            case _:
                return sat(path) | (self.all - self.fair)

    def _until(self, left: States, right: States, bound: int | None) -> States:
        """Return where some fair run passes through ``left`` to ``right``, within so many steps."""
        reachable = right & self.fair
        steps = 0
        while bound is None or steps < bound:
            more = reachable | (left & self._before(reachable))
            if more == reachable:
                break
            reachable, steps = more, steps + 1
        return reachable

    def _some_run_misses_until(self, left: States, right: States, bound: int) -> States:
        """Return where some fair run does not get through ``left`` to ``right`` within so many steps."""
        missed = self.fair - right
        for _ in range(bound):
            missed = (self.fair - right) & ((self.all - left) | self._before(missed))
        return missed

    def _some_run_always_in(self, keep: States) -> States:
        """Return where some fair run stays in ``keep``."""
        states = frozenset(n for part in self._components(keep) if self._is_fair(part) for n in part)
        while True:
            more = states | (keep & self._before(states))
            if more == states:
                return states
            states = more

    @cached_property
    def field(self) -> RunGraph:
        """The evaluation of all other path formulas, and of games."""
        return RunGraph(
            self.reference.model, self.graph, self._justice, self._fairness, self.satisfying, self.reference.changes
        )

    # --- fairness

    @cached_property
    def fair(self) -> States:
        """The states where a fair run begins."""
        return self._some_run_always_in(self.all)

    @cached_property
    def _justice(self) -> list[Justice]:
        """One constraint for each receipt, restart, the tick, and each assumed message or one of a record, when due."""
        model = self.reference.model

        def is_a(kinds: tuple[str, ...], event: str) -> Callable[[Move], bool]:
            return lambda move: move.kind in kinds and move.event == event

        def is_receipt(event: str, receiver: str) -> Callable[[Move], bool]:
            return lambda move: (move.kind, move.event) == ("receive", event) and move.receiver in ("", receiver)

        constraints = [
            Justice(is_receipt(message.name, receiver)) for message in model.messages for receiver in message.receivers
        ]
        constraints += [Justice(is_a(("restart",), scope.name)) for scope in model.scopes]
        if self.reference.has_ticks:
            constraints.append(Justice(is_a(("tick",), ""), self.all, Move("tick", "")))
        records = {role.name for role in model.roles if role.is_record}
        for message in model.messages:
            if message.sender in records or not self.assuming.isdisjoint({message.name, message.sender}):
                due = frozenset(n for n, world in enumerate(self._worlds) if self.reference.is_due(message, world))
                sending = Move("exchange" if model.sync else "send", message.name)
                constraints.append(Justice(is_a(("send", "exchange"), message.name), due, sending))
        return constraints

    @cached_property
    def _fairness(self) -> list[States]:
        return [self.satisfying(one.condition) for one in self.reference.model.fairness]

    def _is_fair(self, part: States) -> bool:
        """Return whether some run that visits all of these states and steps forever, and nothing else, is fair."""
        steps = self.graph.steps
        return all(part & often for often in self._fairness) and all(
            any(not just.waits_in(n, steps[n]) for n in part)
            or any(just.serves(move) and target in part for n in part for move, target in steps[n])
            for just in self._justice
        )

    def _components(self, keep: States) -> Iterable[States]:
        """Yield the strongly connected components of these states; Tarjan's algorithm without recursion."""
        index: dict[int, int] = {}
        low: dict[int, int] = {}
        stack: list[int] = []
        on_stack: set[int] = set()
        for root in sorted(keep):
            if root in index:
                continue
            work = [(root, iter(self.following[root]))]
            index[root] = low[root] = len(index)
            stack.append(root)
            on_stack.add(root)
            while work:
                node, targets = work[-1]
                for target in targets:
                    if target not in keep:
                        continue
                    if target not in index:
                        index[target] = low[target] = len(index)
                        stack.append(target)
                        on_stack.add(target)
                        work.append((target, iter(self.following[target])))
                        break
                    if target in on_stack:
                        low[node] = min(low[node], index[target])
                else:
                    work.pop()
                    if work:
                        low[work[-1][0]] = min(low[work[-1][0]], low[node])
                    if low[node] == index[node]:
                        part = set()
                        while node not in part:
                            part.add(stack.pop())
                        on_stack -= part
                        yield frozenset(part)


def holds(
    reference: Reference, graph: Graph, formula: Term, assuming: Collection[str] = (), *, uniform: bool = False
) -> bool:
    """Return whether the formula holds, with the views that it reads, optionally for uniform strategies only."""
    return _with_observers(reference, graph, formula, assuming, uniform=uniform).is_valid(formula)


def begins(reference: Reference, graph: Graph, assuming: Collection[str] = ()) -> bool:
    """Return whether a fair run begins in some initial state."""
    logic = _with_observers(reference, graph, t.TRUE, assuming)
    return bool(logic.fair & frozenset(logic.graph.initial))


def _with_observers(
    reference: Reference, graph: Graph, formula: Term, assuming: Collection[str], *, uniform: bool = False
) -> Logic:
    complete = observed(reference, formula)
    return Logic(complete, graph if complete is reference else complete.explore(), assuming, uniform=uniform)


def observed(reference: Reference, formula: Term) -> Reference:
    """Return a reference that keeps the views and last moves which the formula reads."""
    model = reference.model
    views = [
        mention for term in (formula, *(one.condition for one in model.fairness)) for mention in mentioned(model, term)
    ]
    missing = {(at.commitment, at.view) for at in views if not isinstance(at, t.Age) and at.view} - set(reference.views)
    asks_who_said_what = not reference.keeps_last_moves and any(map(_moved_on, model.messages)) and _is_social(formula)
    if missing or asks_who_said_what:
        keeps = reference.keeps_last_moves or asks_who_said_what
        return reference.observing({*reference.views, *missing}, keeps_last_moves=keeps)
    return reference


def _moved_on(message: Message) -> bool:
    return any(operation.verb in STANDING_AFTER for operation in message.operations)


def _is_social(formula: Term) -> bool:
    """Return whether it contains a social-commitment modality."""
    if isinstance(formula, t.Social) and formula.modality in ("SC", "SCc"):
        return True
    return any(map(_is_social, t.operands_of(formula)))
