"""Life cycle of commitments, executed symbolically: the effect of one step on one observer's variables.

An observer is `Env` or a role that has a view. `ObserverState` maps every variable of a commitment or claim to its
value at the present point of the step, as a function of the state before the step. The operations of the message come
first, in the order written, then the automatic rules. A claim is decided by its content alone. A
move of a dialogue sets the standing of an open subject, which is independent of its state: a refused commitment is
still owed. An argument (justify, defend, attack) is made with a claim, which it also puts forward.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cplc.language import lifecycle as table
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering.expressions import Interpretation, condition, value
from cplc.lowering.lifecycle_analysis import (
    LifecycleAnalysis,
    Move,
    depends_on,
    mover,
    open_states,
    operation_rows,
    states_in,
)
from cplc.lowering.mtbdd import NO, Diagram, Manager
from cplc.lowering.variable_names import (
    age_variable,
    clock_variable,
    follows_variable,
    former_variable,
    monitor_variable,
    remaining_variable,
    state_variable,
)
from cplc.semantics.model import Operation, PayloadDeadline
from cplc.semantics.terms import Term
from cplc.statespace.graph_algorithms import cycles
from cplc.system.commitments import NOTHING, argument_of, last_move_of, standing_of
from cplc.system.model import Operation as Performed

Change = tuple[str, str, str | None, bool]
"""A change: verb, commitment or claim, the target of the operation, and whether it is a message's operation."""

_AHEAD: Final = {"within": table.OPEN, "expires": ("conditional", "pending")}
"""The states in which a deadline of this clause runs or may still run."""

MAX_RULES_PER_COMMITMENT = 3
"""Moves of one commitment by automatic rules in a step: pending, conditional, active, closed.

It bounds the iterations to the fixpoint.
"""


class ObserverState:
    """The symbolic state of one observer's commitments and claims during one step."""

    def __init__(self, lifecycles: LifecycleAnalysis, observer: str | None, interpretation: Interpretation) -> None:
        self.lifecycles = lifecycles
        self.observer = observer
        variables = lifecycles.observer_variables[observer]
        self.observable = variables.commitments
        self.values: dict[str, Diagram] = {}
        self.touched: dict[str, None] = {}
        """Commitments and claims whose state this step may change."""
        self.dirty: dict[str, None] = {}
        """Those among them that entered an open state before their conditions were evaluated."""
        self.changes: dict[Change, Diagram] | None = None
        """The states where the step makes each change, if changes are recorded; see `record_change`."""
        self.interpretation = Interpretation(
            interpretation.model, interpretation.role, interpretation.own, interpretation.changed, self._state_now
        )
        self._before = Interpretation(interpretation.model, interpretation.role, state=self._state_before)
        self.clocks = variables.clocks
        self.ages = {name: most for (role, name), most in lifecycles.model.ages.items() if role == observer}
        """The ages that the observer's guards compare, each with its largest value."""
        self.mtbdd = Manager(variables.discrete)
        """Diagrams do not branch on clocks: a clock may have very many values, and only the last one matters."""

    # --- values at this point of the step

    def _state_now(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.observer):
            return self._state_before(commitment, view)
        return e.Read(_now(commitment)) if commitment in self.observable else None

    def _state_before(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.observer):
            return e.Read(state_variable(commitment, view)) if self.observer is None else None
        return e.Read(state_variable(commitment, self.observer)) if commitment in self.observable else None

    def _get(self, variable: str) -> Diagram:
        assigned = self.values.get(variable)
        return self.mtbdd.variable(variable) if assigned is None else assigned

    def _state(self, commitment: str) -> Diagram:
        return self._get(state_variable(commitment, self.observer))

    def is_in(self, commitment: str, states: Iterable[str]) -> Diagram:
        """Return where the commitment is in one of the states."""
        return self.mtbdd.is_in(self._state(commitment), states)

    def was_in(self, commitment: str, states: Iterable[str]) -> Diagram:
        """Return where the commitment was in one of the states before the step."""
        return self.mtbdd.is_in(self.mtbdd.variable(state_variable(commitment, self.observer)), states)

    def _assign(self, variable: str, when: Diagram, value: Diagram) -> None:
        self.values[variable] = self.mtbdd.ite(when, value, self._get(variable))

    def move(self, commitment: str, when: Diagram, state: Diagram | str) -> None:
        """Enter a state, and reset the clock, the monitor and the variables of a suspension."""
        if when == NO:
            return
        self.touched[commitment] = None
        name = state_variable(commitment, self.observer)
        entered = self.mtbdd.constant(state) if isinstance(state, str) else state
        if self.changes is not None:
            for closing, verb in table.CLOSED_BY.items():
                self.record_change(verb, commitment, self.mtbdd.conj(when, self.mtbdd.is_in(entered, (closing,))))
        if commitment in self.lifecycles.standings or commitment in self.ages:
            states = open_states(self.lifecycles.model, commitment)
            closed = self.mtbdd.conj(when, self.mtbdd.negate(self.mtbdd.is_in(entered, states)))
            self.set_standing(commitment, closed, table.UNANSWERED)
            self.set_last_move(commitment, closed)
            if commitment in self.ages:
                self._assign(age_variable(name), closed, self.mtbdd.constant(0))
        if len(self.clocks.get(clock_variable(name), ())) > 1:
            self._assign(
                clock_variable(name), self.mtbdd.conj(when, self.is_in(commitment, table.OPEN)), self.mtbdd.constant(0)
            )
        declared = self.lifecycles.model.commitment.get(commitment)
        for clause, _ in () if declared is None else declared.payload_deadlines:
            over = self.mtbdd.conj(when, self.mtbdd.negate(self.mtbdd.is_in(entered, _AHEAD[clause])))
            self._assign(remaining_variable(name, clause), over, self.mtbdd.constant(0))
        self._assign(name, when, entered)
        if commitment in self.lifecycles.contents:
            self.put_monitor(commitment, when, self.mtbdd.constant(0))
        self._clear_suspension(commitment, when)

    def _copy_deadlines(self, commitment: str, when: Diagram) -> None:
        """Copy the deadlines that the creating message determines, where they may still run."""
        name, constant = state_variable(commitment, self.observer), self.mtbdd.constant
        for clause, deadline in self.lifecycles.model.commitment[commitment].payload_deadlines:
            ticks = value(deadline.value, self.interpretation)
            if deadline.values[0] < 1:  # a hazard excludes the receipt, but the sender's view may hold it
                ticks = e.ite(e.less(ticks, e.Const(1)), e.Const(0), ticks)
            ticks = e.arith("+", ticks, e.Const(deadline.spare)) if deadline.spare else ticks
            ahead = self.mtbdd.conj(when, self.is_in(commitment, _AHEAD[clause]))
            copied = constant(ticks.value) if isinstance(ticks, e.Const) else self.mtbdd.leaf(ticks)
            self._assign(remaining_variable(name, clause), ahead, copied)

    def set_standing(self, commitment: str, when: Diagram, standing: str, argument: str = NOTHING) -> None:
        """Set its standing, if it has one, and the claim of the argument."""
        name = state_variable(commitment, self.observer)
        if commitment in self.lifecycles.standings:
            self.touched[commitment] = None
            self._assign(standing_of(name), when, self.mtbdd.constant(standing))
        if self.observer is None and self.lifecycles.arguments.get(commitment):
            self._assign(argument_of(name), when, self.mtbdd.constant(argument))

    def set_last_move(self, commitment: str, when: Diagram, move: Move | None = None) -> None:
        """Set the last move of the side that makes this one, where a variable exists; without a move, reset all."""
        if self.observer is None:
            for role, encodings in self.lifecycles.last_moves.get(commitment, {}).items():
                if move is None or mover(self.lifecycles.model, commitment, move[0]) == role:
                    encoding = NOTHING if move is None else encodings.get(move, NOTHING)
                    self._assign(last_move_of(commitment, role), when, self.mtbdd.constant(encoding))

    def record_change(
        self, verb: str, subject: str, when: Diagram, target: str | None = None, by_message: bool = False
    ) -> None:
        """Add the states where the step makes a change."""
        if self.changes is not None and when != NO:
            change = verb, subject, target, by_message
            self.changes[change] = self.mtbdd.disj(self.changes.get(change, NO), when)

    def _clear_suspension(self, commitment: str, when: Diagram) -> None:
        name = state_variable(commitment, self.observer)
        if commitment in self.lifecycles.suspended:
            self._assign(former_variable(name), when, self.mtbdd.constant(table.LIVE[0]))
        if commitment in self.lifecycles.retained:
            self._assign(follows_variable(name), when, self.mtbdd.constant("none"))

    def monitor(self, commitment: str) -> Diagram:
        """Return the state of its monitor at the present point of the step."""
        variable = monitor_variable(state_variable(commitment, self.observer))
        is_kept = len(self.lifecycles.monitor_states(commitment)) > 1
        return self._get(variable) if is_kept else self.values.get(variable, self.mtbdd.constant(0))

    def put_monitor(self, commitment: str, when: Diagram, state: Diagram) -> None:
        """Set the state of its monitor. A monitor with one state between steps has a value but no variable."""
        variable = monitor_variable(state_variable(commitment, self.observer))
        self.values[variable] = self.mtbdd.ite(when, state, self.monitor(commitment))

    def _suspend(self, commitment: str, when: Diagram, waits_for: str | None) -> None:
        """Become pending; the clock stops."""
        name = state_variable(commitment, self.observer)
        self.touched[commitment] = None
        self._assign(former_variable(name), when, self._live_state(self._state(commitment)))
        if waits_for is not None:
            self._assign(follows_variable(name), when, self.mtbdd.constant(waits_for))
        self._assign(name, when, self.mtbdd.constant("pending"))

    def _resume(self, commitment: str, when: Diagram) -> None:
        """Return to the state before the suspension; the clock resumes."""
        if when == NO:
            return
        name = state_variable(commitment, self.observer)
        self.touched[commitment] = None
        self.dirty[commitment] = None
        self.record_change("reactivate", commitment, when)
        self._assign(name, when, self._live_state(self._get(former_variable(name))))
        self._clear_suspension(commitment, when)

    def _live_state(self, state: Diagram) -> Diagram:
        """Return the state, given that it is conditional or active, as a diagram with these two leaves only."""
        mtbdd = self.mtbdd
        return mtbdd.ite(mtbdd.is_in(state, ("active",)), mtbdd.constant("active"), mtbdd.constant("conditional"))

    def truth(self, term: Term, about: str) -> Diagram:
        """Return where a condition of this commitment or claim holds at the present point of the step."""
        mentioned = [name for name in dict.fromkeys(states_in(term, self.lifecycles.model)) if name in self.observable]
        now = {_now(name): self._state(name) for name in mentioned}
        for name in mentioned:
            if name in self.lifecycles.standings:
                now[standing_of(_now(name))] = self._get(standing_of(state_variable(name, self.observer)))
        return self.mtbdd.condition(condition(term, self.interpretation), now, state_variable(about, self.observer))

    def truth_before(self, term: Term, about: str) -> Diagram:
        """Return where a condition held before the step."""
        return self.mtbdd.condition(condition(term, self._before), {}, state_variable(about, self.observer))

    # --- operations

    def perform(self, operation: Operation) -> Performed | None:
        """Apply one operation; None if the observer has no variables of its commitment."""
        c, d = operation.commitment, operation.target
        if c not in self.observable:
            if d is not None and d in self.observable and d not in self.lifecycles.model.claim:
                self._create(d, self.is_in(d, table.NOT_OPEN))
            return None
        name = state_variable(c, self.observer)
        before = self.mtbdd.expression(self._state(c), name)
        when = self._apply(operation, c, d)
        for by_message in (False, True):
            self.record_change(operation.verb, c, when, d, by_message)
        applicable = self.mtbdd.expression(when, name)
        joined = table.JOINED.get(operation.verb, "")
        return Performed(operation.verb, c, d, applicable, before, joined, operation.retaining)

    def _apply(self, operation: Operation, c: str, d: str | None) -> Diagram:
        verb = operation.verb
        if verb in table.STANDING_OF:
            return self._make_move(operation)
        if c in self.lifecycles.model.claim:
            return self._perform_on_claim(operation)
        rows = operation_rows(verb, operation.retaining, self.lifecycles.model.commitment[c])
        # All conditions are of the state before the operation, so that no row follows another row.
        conditions = [(row, self.is_in(c, row.source)) for row in rows]
        return self.mtbdd.disj(*[self._make(row, when, c, d) for row, when in conditions])

    def _make(self, row: table.Transition, when: Diagram, c: str, d: str | None) -> Diagram:
        """Make a transition of the table, and return where it applies."""
        if d is not None:
            return self._transfer(row, when, c, d)
        match row.target:
            case table.BY_CONDITIONS:
                self._create(c, when)
            case table.FORMER:
                when = self.mtbdd.conj(when, self.mtbdd.negate(self._is_waiting(c)))
                self._resume(c, when)
            case "pending":
                self._suspend(c, when, None)
            case state:
                self.move(c, when, state)
        return when

    def _create(self, commitment: str, when: Diagram) -> None:
        self.record_change("create", commitment, when)
        declared = self.lifecycles.model.commitment[commitment]
        mtbdd = self.mtbdd
        fulfilled = NO if commitment in self.lifecycles.contents else self.truth(declared.consequent, commitment)
        detached = self.truth(declared.antecedent, commitment)
        live = mtbdd.ite(detached, mtbdd.constant("active"), mtbdd.constant("conditional"))
        if commitment in self.lifecycles.contents:
            self.dirty[commitment] = None
        self.move(commitment, when, mtbdd.ite(fulfilled, mtbdd.constant("fulfilled"), live))
        self._copy_deadlines(commitment, when)

    def _transfer(self, row: table.Transition, when: Diagram, c: str, d: str) -> Diagram:
        """Delegate or assign c to d: d takes over the state, and commitments that waited for c wait for d."""
        if d in self.observable:
            when = self.mtbdd.conj(when, self.is_in(d, table.NOT_OPEN))
            self.record_change("create", d, when)
            self.move(d, when, self._live_state(self._state(c)))
            self._copy_deadlines(d, when)
            self.dirty[d] = None
        if row.target == "pending":
            self._suspend(c, when, d)
            return when
        self.move(c, when, row.target)
        for waiting, targets in self.lifecycles.retained.items():
            if waiting in self.observable and c in targets and waiting != c:
                follows = follows_variable(state_variable(waiting, self.observer))
                redirected = self.mtbdd.conj(when, self.mtbdd.is_in(self._get(follows), (c,)))
                self._assign(follows, redirected, self.mtbdd.constant(d))
                self.dirty[waiting] = None
        return when

    def _is_waiting(self, commitment: str) -> Diagram:
        """Return where a pending commitment waits for the one that it was delegated to."""
        if commitment not in self.lifecycles.retained:
            return NO
        follows = follows_variable(state_variable(commitment, self.observer))
        return self.mtbdd.is_in(self._get(follows), self.lifecycles.retained[commitment])

    # --- claims and moves of a dialogue

    def _make_move(self, operation: Operation) -> Diagram:
        """Make a move on an open commitment or claim; the claim of an argument is put forward."""
        when = self.is_in(operation.commitment, open_states(self.lifecycles.model, operation.commitment))
        self.set_standing(operation.commitment, when, table.STANDING_OF[operation.verb], operation.target or NOTHING)
        self.set_last_move(operation.commitment, when, (operation.verb, operation.target))
        if operation.target is not None:
            self._put_forward(operation.target, when)
        return when

    def _put_forward(self, claim: str, when: Diagram) -> None:
        """Create the claim if it is not open, and reset its standing if it is."""
        if claim not in self.observable:
            return
        is_open = self.is_in(claim, table.CLAIM_OPEN)
        again = self.mtbdd.conj(when, is_open)
        self._create_claim(claim, self.mtbdd.conj(when, self.mtbdd.negate(is_open)))
        self.set_standing(claim, again, table.UNANSWERED)

    def _create_claim(self, claim: str, when: Diagram) -> None:
        self.record_change("create", claim, when)
        self.move(claim, when, "open")
        self.dirty[claim] = None

    def _perform_on_claim(self, operation: Operation) -> Diagram:
        """Perform an operation on a claim, and return where it applies."""
        name = operation.commitment
        row = next(row for row in table.OPERATIONS if (row.verb, row.of) == (operation.verb, table.CLAIM))
        when = self.is_in(name, row.source)
        if row.target in table.CLAIM_OPEN:
            self._create_claim(name, when)
        else:
            self.move(name, when, row.target)
        return when

    def _decide_claim(self, claim: str, *, on_entering: bool) -> None:
        """Close an open claim whose content its monitor decides, with ``on_entering`` also by the entered state."""
        from cplc.lowering.content_monitors import decided

        is_open = self.is_in(claim, table.CLAIM_OPEN)
        if is_open == NO:
            return
        true = decided(self, claim, True, on_entering=on_entering)
        false = decided(self, claim, False, on_entering=on_entering)
        self.move(claim, self.mtbdd.conj(is_open, false), "violated")
        self.move(claim, self.mtbdd.conj(is_open, true), "satisfied")

    # --- automatic rules

    def apply_automatic_rules(self, commitments: Iterable[str]) -> None:
        """Apply the automatic rules to these commitments and claims up to the fixpoint."""
        for together, circle in _by_dependency(self.lifecycles, [c for c in commitments if c in self.observable]):
            # Each iteration but the last moves a commitment forward in its life cycle, so this bound suffices.
            for _ in range(MAX_RULES_PER_COMMITMENT * len(together) + 1 if circle else 1):
                before = dict(self.values)
                for name in together:
                    if name in self.lifecycles.model.claim:
                        self.decide(name)
                    else:
                        self._apply_rules(name)
                if self.values == before:
                    break

    def _apply_rules(self, c: str) -> None:
        declared = self.lifecycles.model.commitment[c]
        is_about_runs = c in self.lifecycles.contents
        if is_about_runs:
            self.decide(c)
        else:
            fulfilled = self.truth(declared.consequent, c)
            self.move(c, self.mtbdd.conj(self.is_in(c, table.OPEN), fulfilled), "fulfilled")
        if c in self.lifecycles.retained:
            self._follow_successor(c)
        detached = self.truth(declared.antecedent, c)
        self.move(c, self.mtbdd.conj(self.is_in(c, ("conditional",)), detached), "active")
        if is_about_runs:
            self.decide(c)

    def advance_monitor(self, commitment: str, step: int, *, stable: bool) -> None:
        """Make the transition of its monitor for the state before the step and the step."""
        from cplc.lowering.content_monitors import advance_monitor

        advance_monitor(self, commitment, step, stable=stable)

    def decide(self, commitment: str, *, on_entering: bool = True) -> None:
        """Close a claim or commitment about runs that its monitor decides; a pending one can only be fulfilled."""
        if commitment in self.lifecycles.model.claim:
            self._decide_claim(commitment, on_entering=on_entering)
            return
        from cplc.lowering.content_monitors import decided

        conj, active = self.mtbdd.conj, self.is_in(commitment, ("active",))
        in_force = active
        if commitment in self.lifecycles.suspended:
            former = self._get(former_variable(state_variable(commitment, self.observer)))
            waiting = conj(self.is_in(commitment, ("pending",)), self.mtbdd.is_in(former, ("active",)))
            in_force = self.mtbdd.disj(active, waiting)
        if in_force == NO:
            return
        true = decided(self, commitment, True, on_entering=on_entering)
        false = decided(self, commitment, False, on_entering=on_entering)
        self.move(commitment, conj(active, false), "violated")
        self.move(commitment, conj(in_force, true), "fulfilled")

    def _follow_successor(self, c: str) -> None:
        follows = follows_variable(state_variable(c, self.observer))
        conj, is_in = self.mtbdd.conj, self.is_in
        for d in self.lifecycles.retained[c]:
            if d not in self.observable:
                continue
            waiting = conj(is_in(c, ("pending",)), self.mtbdd.is_in(self._get(follows), (d,)))
            rules = [(rule, conj(waiting, is_in(d, rule.successor))) for rule in table.RULES if rule.successor]
            for rule, when in rules:
                if rule.target == table.FORMER:
                    self._resume(c, when)
                else:
                    self.move(c, when, rule.target)

    # --- time

    def on_course(self, commitment: str) -> Diagram:
        """Return where its content holds if nothing more happens; nowhere for a condition."""
        if commitment not in self.lifecycles.contents:
            return NO
        from cplc.lowering.content_monitors import is_on_course

        return is_on_course(self, commitment)

    def ticks(self, commitments: Iterable[str]) -> None:
        """Advance the deadlines by one tick, after the monitors of contents about runs have decided."""
        timed = tuple(commitments)
        for together, _ in _by_dependency(
            self.lifecycles, [name for name in self.lifecycles.contents if name in self.observable]
        ):
            for name in together:
                self.decide(name)
        on_course = {name: self.on_course(name) for name in timed}
        for name in timed:
            self._tick_deadlines(name, on_course[name])
        for name, most in self.ages.items():
            age = e.Read(age_variable(state_variable(name, self.observer)))
            older = e.ite(e.equal(age, e.Const(most)), age, e.arith("+", age, e.Const(1)))
            is_open = self.is_in(name, open_states(self.lifecycles.model, name))
            self._assign(age.variable, is_open, self.mtbdd.leaf(older))

    def _tick_deadlines(self, commitment: str, on_course: Diagram) -> None:
        """Advance the deadlines of a commitment; one on course is fulfilled at its deadline."""
        declared = self.lifecycles.model.commitment[commitment]
        state = state_variable(commitment, self.observer)
        for rule in table.DEADLINES:
            limit: int | PayloadDeadline | None = getattr(declared, rule.when)
            if limit is None:
                continue
            running = self.is_in(commitment, rule.source)
            if isinstance(limit, PayloadDeadline):
                name = remaining_variable(state, rule.when)
                is_last, change = e.less(e.Read(name), e.Const(2)), -1
            else:
                name = clock_variable(state)
                is_last, change = e.one_of(e.Read(name), self.clocks[name][limit - 1 :]) if limit > 1 else e.TRUE, 1
            at_end = self.mtbdd.auxiliary(is_last, name)
            over = self.mtbdd.conj(running, at_end)
            if not e.is_true(is_last):
                later = self.mtbdd.leaf(e.arith("+" if change > 0 else "-", e.Read(name), e.Const(1)))
                self._assign(name, self.mtbdd.conj(running, self.mtbdd.negate(at_end)), later)
            if rule.when == "within" and on_course != NO:
                self.move(commitment, self.mtbdd.conj(over, on_course), "fulfilled")
                over = self.mtbdd.conj(over, self.mtbdd.negate(on_course))
            self.move(commitment, over, rule.target)

    # --- result

    def updates(self) -> dict[str, Expr]:
        """Return the new value of every variable that changes, in normal form."""
        values = self.values
        if self.lifecycles.contents:
            single = {
                monitor_variable(state_variable(c, self.observer))
                for c in self.lifecycles.contents
                if len(self.lifecycles.monitor_states(c)) == 1
            }
            values = {name: value for name, value in values.items() if name not in single}
        changed = {name: value for name, value in values.items() if value != self.mtbdd.variable(name)}
        return {name: self.mtbdd.expression(value, name) for name, value in changed.items()}


def _now(commitment: str) -> str:
    """Return the name by which conditions read its present state; it is not the name of a variable."""
    return f"{commitment} now"


def _by_dependency(lifecycles: LifecycleAnalysis, commitments: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield the strongly connected components in the order of dependency, each with whether it has a cycle.

    The checker guarantees that a claim is a component of its own: it is decided by final states.
    """
    for component, circle in cycles({c: depends_on(lifecycles, c) for c in commitments}):
        yield component, bool(circle)
