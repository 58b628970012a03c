"""What holds in a state, when only some roles are sure to keep going: decided on demand, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from cplc.engines.on_the_fly.distance_heuristic import DistanceHeuristic, ProductHeuristic
from cplc.engines.on_the_fly.indistinguishability import Indistinguishability, ObservationClass
from cplc.engines.on_the_fly.lazy_states import LazyStateSpace, Successors
from cplc.engines.on_the_fly.product import Product, ProductEdge, product
from cplc.engines.on_the_fly.reachable_states import ReachableStates
from cplc.engines.on_the_fly.search import SearchResults, exists, nearest
from cplc.engines.on_the_fly.synchronous_states import LazySynchronousStateSpace
from cplc.engines.on_the_fly.tableau import Tableau
from cplc.logic.formulas import (
    SOME_FAIR_RUN,
    Adjacent,
    And,
    Atom,
    Commits,
    Conditional,
    Enforces,
    Finally,
    Formula,
    Fulfils,
    Iff,
    Implies,
    KnownFrom,
    Knows,
    Not,
    OnPaths,
    Or,
    SociallyCommits,
    Taken,
    children,
    ctl_path,
    meaning,
    subformulas,
)
from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

Test = Callable[[int], bool]
RunFromInitial = list[tuple[int | None, int]]
"""A run from an initial state: that state, then each step and where it leads."""

_GUIDED = 400
"""How many states a guided search for one state of a view may look at."""


_NOT_PLAIN = OnPaths | KnownFrom | Knows | Commits | Fulfils | Conditional | SociallyCommits | Adjacent | Enforces


def is_plain(formula: Formula) -> bool:
    """Whether the variables of one state decide it."""
    return not any(isinstance(part, _NOT_PLAIN) for part in subformulas(formula))


@dataclass
class SharedSearchData:
    """What belongs to the system and not to a question: its states, views and estimates."""

    world: LazyStateSpace
    reached: ReachableStates
    views: Indistinguishability
    compass: DistanceHeuristic


@dataclass(frozen=True)
class PathSearch:
    """The search for a run on which a path formula has a value."""

    product: Product
    known: SearchResults
    guide: ProductHeuristic | None

    def some(self, starts: Iterable[int]) -> int | None:
        """Return one of the states from which there is such a run."""
        node = exists(self.product, self.known, [self.product.node(state) for state in starts], self.guide)
        return None if node is None else self.product.split(node)[0]


class Checker:
    """Decides state formulas in states of one system, on runs where these roles keep going."""

    def __init__(
        self, realm: SharedSearchData, assuming: frozenset[str], moves: Callable[[int], Successors] | None = None
    ) -> None:
        self.realm = realm
        self.moves = realm.world.moves if moves is None else moves
        self.assuming = assuming
        self._tests: dict[Formula, Test] = {}
        self._runs: dict[tuple[Formula, bool, Taken | None], PathSearch] = {}
        self._others: dict[tuple[Formula, ObservationClass], int | None] = {}
        self._steps: dict[Taken, frozenset[int]] = {}
        self._led_from: dict[Adjacent, dict[int, int]] = {}

    def holds(self, formula: Formula, state: int) -> bool:
        return self.test(formula)(state)

    def test(self, formula: Formula) -> Test:
        """Return the formula as a function of the state."""
        known = self._tests.get(formula)
        if known is None:
            known = self._tests[formula] = self._test(formula)
        return known

    def _test(self, formula: Formula) -> Test:
        match formula:
            case Atom(condition):
                return self.realm.world.condition(condition)
            case Not(operand):
                inner = self.test(operand)
                return lambda state: not inner(state)
            case And(operands):
                conjuncts = self._plain_first(operands)
                return lambda state: all(conjunct(state) for conjunct in conjuncts)
            case Or(operands):
                disjuncts = self._plain_first(operands)
                return lambda state: any(disjunct(state) for disjunct in disjuncts)
            case Implies(left, right):
                return self.test(Or((Not(left), right)))
            case Iff(left, right):
                one, other = self.test(left), self.test(right)
                return lambda state: one(state) == other(state)
            case OnPaths(quantifier, path, along):
                runs = self.runs(path, quantifier == "E", along)
                return lambda state: (runs.some((state,)) is not None) == (quantifier == "E")
            case Knows("common", _, _):
                return lambda state: self.chain(formula, state) is None
            case Knows("each", agents, operand):
                return lambda state: all(
                    self.other(operand, False, self.realm.views.alike((agent,), state), state) is None
                    for agent in agents
                )
            case Knows(_, agents, operand):
                return lambda state: self.other(operand, False, self.realm.views.alike(agents, state), state) is None
            case Commits() | Fulfils() | Conditional() | SociallyCommits():
                return self.test(meaning(formula))
            case KnownFrom(observed, operand):
                return lambda state: (
                    self.other(operand, False, self.realm.views.agreeing(observed, state), state) is None
                )
            case Adjacent(back=False):
                return lambda state: self.ahead(formula, state) is not None
            case Adjacent():
                return lambda state: self.behind(formula, state) is not None
            case Enforces():
                raise ResourceExhausted("the engine `onthefly` does not decide what groups can enforce (`<<…>>`)")
            case _:
                raise AssertionError(f"no formula on states: {formula}")

    def _plain_first(self, formulas: Iterable[Formula]) -> list[Test]:
        return [self.test(formula) for formula in sorted(formulas, key=lambda formula: not is_plain(formula))]

    # --- runs

    def runs(self, path: Formula, value: bool, along: Taken | None) -> PathSearch:
        """Return the search for fair runs on which the path formula has the value."""
        key = (path, value, along)
        known = self._runs.get(key)
        if known is None:
            known = self._runs[key] = self._new_runs(path, value, along, fair=True)
        return known

    def _new_runs(self, path: Formula, value: bool, along: Taken | None, *, fair: bool) -> PathSearch:
        system = self.realm.world.system
        tableau = Tableau(path, value, is_plain)
        justice = system.constraints(self.assuming) if fair else ()
        conditions = system.fairness if fair else ()
        endless = self.begins if fair and self._must_go_on(OnPaths("E", path, along)) else None
        built = product(
            self.realm.world, self.moves, tableau, self.test, along, justice, conditions, self._steps_of, endless
        )
        return PathSearch(
            built, SearchResults(), ProductHeuristic(self.realm.compass, built) if self.realm.world.rests else None
        )

    def _must_go_on(self, formula: OnPaths) -> bool:
        """Whether a run that stops shows nothing: in rounds all but those of CTL, or all if there is fairness."""
        system = self.realm.world.system
        return system.is_synchronous and (bool(system.fairness) or ctl_path(formula) is None)

    def begins(self, state: int) -> bool:
        """Whether a fair run begins there."""
        return self.test(SOME_FAIR_RUN)(state)

    def counts(self, state: int) -> bool:
        """Whether knowledge and commitments are about a state: in rounds one without fair run counts for nothing."""
        return not self.excludes_unfair_states or self.begins(state)

    @property
    def excludes_unfair_states(self) -> bool:
        system = self.realm.world.system
        return system.is_synchronous and bool(system.fairness)

    def _counting(self, claim: Formula) -> Formula:
        return And((claim, SOME_FAIR_RUN)) if self.excludes_unfair_states else claim

    def _steps_of(self, taken: Taken) -> frozenset[int]:
        known = self._steps.get(taken)
        if known is None:
            steps = enumerate(self.realm.world.system.steps)
            known = self._steps[taken] = frozenset(number for number, step in steps if step.name in taken.steps)
        return known

    # --- states that can be reached, whatever is fair

    def met(self, formula: Formula, effort: int | None = None) -> RunFromInitial | None:
        """Return a run to a reachable state that satisfies the formula, if there is one.

        With a limit to the effort None may also mean that none was found.
        """
        runs = self._new_runs(Finally(formula), True, None, fair=False)
        starts = [runs.product.node(state) for state in self.realm.world.initial()]
        found = nearest(runs.product, runs.known, starts, runs.guide, effort)
        if found is None:
            return None
        trail: RunFromInitial = [(None, runs.product.split(found)[0])]
        while isinstance(hop := runs.known.ways[found], ProductEdge):
            found = hop.target
            trail.append((hop.step, runs.product.split(found)[0]))
        return trail

    def way_to(self, state: int) -> RunFromInitial:
        """Return a run from an initial state to one that is reachable."""
        reached = self.realm.reached
        if not reached.has(state):
            whole = ObservationClass(self.realm.views.whole, state)
            trail = self.met(Atom(self.realm.views.condition(whole), "state"), _GUIDED)
            if trail is not None:
                reached.note(trail)
            else:
                next(reached.alike(whole))
        return reached.way_to(state)

    def other(self, formula: Formula, value: bool, view: ObservationClass, here: int) -> int | None:
        """Return a reachable state of the view in which the formula has the value, ``here`` if it is one."""
        claim = formula if value else Not(formula)
        inside = view.sight.of(here) == view.pattern and self.counts(here)
        if inside and self.test(claim)(here):
            return here
        key = (claim, view)
        if key not in self._others:
            alike = self._is_seen(formula, view)
            self._others[key] = None if alike and inside else self._other(self._counting(claim), view)
        return self._others[key]

    def _is_seen(self, formula: Formula, view: ObservationClass) -> bool:
        """Whether the formula has one value in all the states of the view.

        A condition on what is observed does, and so does all that somebody knows who observes no more.
        """
        determines = self.realm.views.determines
        match formula:
            case Atom(condition):
                return determines(view.sight, (condition,))
            case Not() | And() | Or() | Implies() | Iff():
                return all(self._is_seen(child, view) for child in children(formula))
            case Commits() | Fulfils() | Conditional() | SociallyCommits():
                return self._is_seen(meaning(formula), view)
            case KnownFrom(observed):
                return determines(view.sight, observed)
            case _:
                return False

    def _other(self, claim: Formula, view: ObservationClass) -> int | None:
        reached, test = self.realm.reached, self.test(claim)
        for state in reached.known(view):
            if test(state):
                return state
        if reached.may_guess(_GUIDED):
            trail = self.met(And((Atom(self.realm.views.condition(view), "view"), claim)), _GUIDED)
            if trail is not None:
                reached.note(trail)
                return trail[-1][1]
        return next(filter(test, reached.alike(view)), None)

    # --- rounds

    def _world(self) -> LazySynchronousStateSpace:
        world = self.realm.world
        assert isinstance(world, LazySynchronousStateSpace), (
            "only in rounds one state is said to be one round from another"
        )
        return world

    def ahead(self, formula: Adjacent, state: int) -> int | None:
        """Return a state after a round of the kind that the formula asks for, in which its operand holds."""
        test = self.test(self._counting(formula.operand))
        return next(filter(test, self._world().neighbours(formula)(state)), None)

    def behind(self, formula: Adjacent, state: int) -> int | None:
        """Return a state where the operand holds and from which a round as the formula asks for leads here.

        All reachable states are gone through once, for all that will be asked.
        """
        found = self._led_from.get(formula)
        if found is None:
            test, ahead = self.test(self._counting(formula.operand)), self._world().neighbours(formula)
            found = {}
            for before in filter(test, self.realm.reached.alike(ObservationClass(self.realm.views.nothing, 0))):
                found.update(dict.fromkeys(ahead(before), before))
            self._led_from[formula] = found
        return found.get(state)

    # --- common knowledge

    def chain(self, formula: Knows, state: int) -> list[tuple[str, int]] | None:
        """Return who takes this state for which, and so on, to where the operand fails; None if that leads nowhere."""
        views, reached, test = self.realm.views, self.realm.reached, self.test(formula.operand)
        came: dict[int, tuple[int, str] | None] = {state: None}
        if not test(state):
            return [(formula.agents[0], state)]
        seen = {(agent, views.alike((agent,), state)): state for agent in formula.agents}
        fresh = list(seen)
        position = 0
        while True:
            found, fresh = fresh, []
            old = [
                (member, agent, origin)
                for agent, view in found
                for origin in (seen[agent, view],)
                for member in reached.known(view)
            ]
            new = [
                (member, agent, seen[agent, view])
                for member in reached.states[position:]
                for agent in formula.agents
                for view in (views.alike((agent,), member),)
                if (agent, view) in seen
            ]
            position = len(reached.states)
            for member, agent, origin in (*old, *new):
                if member in came or not self.counts(member):
                    continue
                came[member] = (origin, agent)
                if not test(member):
                    return _links(came, member)
                for other in formula.agents:
                    key = (other, views.alike((other,), member))
                    if key not in seen:
                        seen[key] = member
                        fresh.append(key)
            if not fresh and position == len(reached.states) and not reached.more():
                return None


def _links(came: dict[int, tuple[int, str] | None], member: int) -> list[tuple[str, int]]:
    found = []
    while (step := came[member]) is not None:
        origin, agent = step
        found.append((agent, member))
        member = origin
    return found[::-1]
