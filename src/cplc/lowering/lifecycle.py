"""The life of a commitment, run on expressions: one ledger is one keeper's view of what a step does.

A keeper is `Env` or a role that has a view. The ledger holds, for every variable of a commitment or claim, its value
at this point of the step, case by case of the state before the step. Operations come first, in the order written, then
the automatic rules. Those of claims are in `dialogue.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr
from cplc.lowering import dialogue
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.lifecycle_analysis import (
    CLOSED,
    LIVE,
    OPEN,
    Book,
    age_of,
    clock_of,
    depends_on,
    follows_of,
    former_of,
    monitor_of,
    states_in,
)
from cplc.lowering.mtbdd import NO, Cases, Outcome
from cplc.lowering.variable_names import kept_by
from cplc.semantics.builtin_words import DONE, JOINED
from cplc.semantics.cycles import cycles
from cplc.semantics.model import Operation
from cplc.semantics.terms import Term
from cplc.system.model import Operation as Performed
from cplc.system.standings import MOVES, NOTHING, UNANSWERED, argument_of, last_move_of, standing_of

_PLAIN = {
    "fulfill": (OPEN, "fulfilled"),
    "violate": (("active",), "violated"),
    "release": (OPEN, "released"),
    "expire": (("conditional",), "expired"),
    "compensate": (("violated",), "compensated"),
}
"""Operations that lead from any of these states to that one."""

_NAMED_BY: Final = {state: verb for verb, state in DONE.items() if verb not in MOVES}
"""Lifecycle states to the verb that names the change into them."""

Change = tuple[str, str, str | None, bool]
"""A change: verb, commitment or claim, the target of the operation, and whether it is a message's operation."""

_ROUNDS = 3
"""So often at most the automatic rules move a commitment: from pending over conditional and active to closed."""


class Ledger:
    """One keeper's commitments and claims in the course of one step."""

    def __init__(self, book: Book, keeper: str | None, reading: Reading) -> None:
        self.book = book
        self.keeper = keeper
        kept = book.kept[keeper]
        self.kept = kept.commitments
        self.values: dict[str, Outcome] = {}
        self.touched: dict[str, None] = {}
        """Those whose state this step may change."""
        self.unsettled: dict[str, None] = {}
        """Those among them that came into an open state without a look at their conditions."""
        self.changes: dict[Change, Outcome] | None = None
        """When the step makes each change, if anybody asks; see `note`."""
        self.reading = Reading(reading.model, reading.role, reading.own, reading.changed, self._seen)
        self._before = Reading(reading.model, reading.role, state=self._seen_before)
        self.clocks = kept.clocks
        self.ages = {name: most for (role, name), most in book.model.ages.items() if role == keeper}
        """Whose age the keeper asks for, and where it stops counting."""
        self.cases = Cases(kept.others)
        """Clocks are not among what is told apart: they may have very many values, and only one of them matters."""

    # --- values at this point of the step

    def _seen(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.keeper):
            return self._seen_before(commitment, view)
        return e.Read(_now(commitment)) if commitment in self.kept else None

    def _seen_before(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.keeper):
            return e.Read(kept_by(commitment, view)) if self.keeper is None else None
        return e.Read(kept_by(commitment, self.keeper)) if commitment in self.kept else None

    def _get(self, variable: str) -> Outcome:
        known = self.values.get(variable)
        return self.cases.variable(variable) if known is None else known

    def _state(self, commitment: str) -> Outcome:
        return self._get(kept_by(commitment, self.keeper))

    def is_in(self, commitment: str, states: Iterable[str]) -> Outcome:
        """Return when the commitment is in one of the states."""
        return self.cases.is_in(self._state(commitment), states)

    def was_in(self, commitment: str, states: Iterable[str]) -> Outcome:
        """Return when the commitment was in one of the states before the step."""
        return self.cases.is_in(self.cases.variable(kept_by(commitment, self.keeper)), states)

    def _put(self, variable: str, when: Outcome, value: Outcome) -> None:
        self.values[variable] = self.cases.choose(when, value, self._get(variable))

    def move(self, commitment: str, when: Outcome, state: Outcome | str) -> None:
        """Enter a state; its clock, which only runs while open, is at 0 and nothing is remembered of before."""
        if when == NO:
            return
        self.touched[commitment] = None
        name = kept_by(commitment, self.keeper)
        entered = self.cases.constant(state) if isinstance(state, str) else state
        if self.changes is not None:
            for closing, verb in _NAMED_BY.items():
                self.note(verb, commitment, self.cases.both(when, self.cases.is_in(entered, (closing,))))
        if commitment in self.book.standings or commitment in self.ages:
            states = dialogue.open_states(self.book.model, commitment)
            closed = self.cases.both(when, self.cases.negate(self.cases.is_in(entered, states)))
            self.stand(commitment, closed, UNANSWERED)
            self.remember(commitment, closed)
            if commitment in self.ages:
                self._put(age_of(name), closed, self.cases.constant(0))
        if len(self.clocks.get(clock_of(name), ())) > 1:
            self._put(clock_of(name), self.cases.both(when, self.is_in(commitment, OPEN)), self.cases.constant(0))
        self._put(name, when, entered)
        if commitment in self.book.contents:
            self.put_monitor(commitment, when, self.cases.constant(0))
        self._forget(commitment, when)

    def stand(self, commitment: str, when: Outcome, standing: str, argument: str = NOTHING) -> None:
        """Give it a standing, and remember the claim of the argument; where nobody moves on it, it has none."""
        name = kept_by(commitment, self.keeper)
        if commitment in self.book.standings:
            self.touched[commitment] = None
            self._put(standing_of(name), when, self.cases.constant(standing))
        if self.keeper is None and self.book.arguments.get(commitment):
            self._put(argument_of(name), when, self.cases.constant(argument))

    def remember(self, commitment: str, when: Outcome, move: dialogue.Move | None = None) -> None:
        """Remember the last move of whoever makes this one, where that is asked for; without a move, forget all."""
        if self.keeper is None:
            for role, kept in self.book.last_moves.get(commitment, {}).items():
                if move is None or dialogue.mover(self.book.model, commitment, move[0]) == role:
                    said = NOTHING if move is None else kept.get(move, NOTHING)
                    self._put(last_move_of(commitment, role), when, self.cases.constant(said))

    def note(self, verb: str, subject: str, when: Outcome, target: str | None = None, by_message: bool = False) -> None:
        """Record when a change is made."""
        if self.changes is not None and when != NO:
            change = verb, subject, target, by_message
            self.changes[change] = self.cases.either(self.changes.get(change, NO), when)

    def _forget(self, commitment: str, when: Outcome) -> None:
        name = kept_by(commitment, self.keeper)
        if commitment in self.book.suspended:
            self._put(former_of(name), when, self.cases.constant(LIVE[0]))
        if commitment in self.book.retained:
            self._put(follows_of(name), when, self.cases.constant("none"))

    def monitor(self, commitment: str) -> Outcome:
        """Return the state of its monitor at this point of the step."""
        variable = monitor_of(kept_by(commitment, self.keeper))
        is_kept = len(self.book.monitor_states(commitment)) > 1
        return self._get(variable) if is_kept else self.values.get(variable, self.cases.constant(0))

    def put_monitor(self, commitment: str, when: Outcome, state: Outcome) -> None:
        """Set the state of its monitor; without a variable, one that has only one state between steps."""
        variable = monitor_of(kept_by(commitment, self.keeper))
        self.values[variable] = self.cases.choose(when, state, self.monitor(commitment))

    def _suspend(self, commitment: str, when: Outcome, waits_for: str | None) -> None:
        """Become pending; the clock stands still."""
        name = kept_by(commitment, self.keeper)
        self.touched[commitment] = None
        self._put(former_of(name), when, self._live(self._state(commitment)))
        if waits_for is not None:
            self._put(follows_of(name), when, self.cases.constant(waits_for))
        self._put(name, when, self.cases.constant("pending"))

    def _resume(self, commitment: str, when: Outcome) -> None:
        """Go back to the state from before; the clock goes on where it stood."""
        if when == NO:
            return
        name = kept_by(commitment, self.keeper)
        self.touched[commitment] = None
        self.unsettled[commitment] = None
        self.note("reactivate", commitment, when)
        self._put(name, when, self._live(self._get(former_of(name))))
        self._forget(commitment, when)

    def _live(self, state: Outcome) -> Outcome:
        """Return a state known to be conditional or active, and nothing else in any case."""
        cases = self.cases
        return cases.choose(cases.is_in(state, ("active",)), cases.constant("active"), cases.constant("conditional"))

    def truth(self, term: Term, about: str) -> Outcome:
        """Return when a condition of this commitment or claim holds at this point of the step."""
        mentioned = [name for name in dict.fromkeys(states_in(term, self.book.model)) if name in self.kept]
        now = {_now(name): self._state(name) for name in mentioned}
        for name in mentioned:
            if name in self.book.standings:
                now[standing_of(_now(name))] = self._get(standing_of(kept_by(name, self.keeper)))
        return self.cases.condition(condition(term, self.reading), now, kept_by(about, self.keeper))

    def truth_before(self, term: Term, about: str) -> Outcome:
        """Return when a condition held before the step."""
        return self.cases.condition(condition(term, self._before), {}, kept_by(about, self.keeper))

    # --- operations

    def perform(self, operation: Operation) -> Performed | None:
        """Apply one operation; None where this keeper knows of neither commitment."""
        c, d = operation.commitment, operation.target
        if c not in self.kept:
            if d is not None and d in self.kept and d not in self.book.model.claim:
                self._create(d, self.is_in(d, ("null", *CLOSED)))
            return None
        name = kept_by(c, self.keeper)
        before = self.cases.expression(self._state(c), name)
        when = self._apply(operation, c, d)
        for by_message in (False, True):
            self.note(operation.verb, c, when, d, by_message)
        applicable = self.cases.expression(when, name)
        joined = JOINED.get(operation.verb, "")
        return Performed(operation.verb, c, d, applicable, before, joined, operation.retaining)

    def _apply(self, operation: Operation, c: str, d: str | None) -> Outcome:
        verb = operation.verb
        if verb in MOVES:
            return dialogue.move(self, operation)
        if c in self.book.model.claim:
            return dialogue.perform(self, operation)
        if verb in _PLAIN:
            source, target = _PLAIN[verb]
            when = self.is_in(c, source)
            self.move(c, when, target)
            return when
        match verb:
            case "create":
                when = self.is_in(c, ("null", *CLOSED))
                self._create(c, when)
                return when
            case "withdraw":
                conditional, active = self.is_in(c, ("conditional",)), self.is_in(c, ("active",))
                revocable = self.book.model.commitment[c].revocable
                self.move(c, active, "withdrawn" if revocable else "violated")
                self.move(c, conditional, "withdrawn")
                return self.cases.either(conditional, active)
            case "suspend":
                when = self.is_in(c, LIVE)
                self._suspend(c, when, None)
                return when
            case "reactivate":
                when = self.cases.both(self.is_in(c, ("pending",)), self.cases.negate(self._waits(c)))
                self._resume(c, when)
                return when
            case _:
                assert d is not None
                return self._hand_over(operation, c, d)

    def _create(self, commitment: str, when: Outcome) -> None:
        self.note("create", commitment, when)
        declared = self.book.model.commitment[commitment]
        cases = self.cases
        fulfilled = NO if commitment in self.book.contents else self.truth(declared.consequent, commitment)
        detached = self.truth(declared.antecedent, commitment)
        live = cases.choose(detached, cases.constant("active"), cases.constant("conditional"))
        if commitment in self.book.contents:
            self.unsettled[commitment] = None
        self.move(commitment, when, cases.choose(fulfilled, cases.constant("fulfilled"), live))

    def _hand_over(self, operation: Operation, c: str, d: str) -> Outcome:
        """Delegate or assign; the successor takes the state, and whoever waits for c now waits for d."""
        when = self.is_in(c, LIVE)
        if d in self.kept:
            when = self.cases.both(when, self.is_in(d, ("null", *CLOSED)))
            self.note("create", d, when)
            self.move(d, when, self._live(self._state(c)))
            self.unsettled[d] = None
        if operation.retaining:
            self._suspend(c, when, d)
            return when
        self.move(c, when, "delegated" if operation.verb == "delegate" else "assigned")
        for waiting, targets in self.book.retained.items():
            if waiting in self.kept and c in targets and waiting != c:
                follows = follows_of(kept_by(waiting, self.keeper))
                redirected = self.cases.both(when, self.cases.is_in(self._get(follows), (c,)))
                self._put(follows, redirected, self.cases.constant(d))
                self.unsettled[waiting] = None
        return when

    def _waits(self, commitment: str) -> Outcome:
        """Return when a pending commitment waits for the one it was delegated to."""
        if commitment not in self.book.retained:
            return NO
        follows = follows_of(kept_by(commitment, self.keeper))
        return self.cases.is_in(self._get(follows), self.book.retained[commitment])

    # --- automatic rules

    def settle(self, commitments: Iterable[str]) -> None:
        """Apply the automatic rules to these commitments and claims until nothing changes."""
        for together, circle in _order(self.book, [c for c in commitments if c in self.kept]):
            for _ in range(_ROUNDS * len(together) + 1 if circle else 1):
                before = dict(self.values)
                for name in together:
                    if name in self.book.model.claim:
                        self.decide(name)
                    else:
                        self._settle(name)
                if self.values == before:
                    break

    def _settle(self, c: str) -> None:
        declared = self.book.model.commitment[c]
        is_about_runs = c in self.book.contents
        if is_about_runs:
            self.decide(c)
        else:
            fulfilled = self.truth(declared.consequent, c)
            self.move(c, self.cases.both(self.is_in(c, OPEN), fulfilled), "fulfilled")
        if c in self.book.retained:
            self._follow(c)
        detached = self.truth(declared.antecedent, c)
        self.move(c, self.cases.both(self.is_in(c, ("conditional",)), detached), "active")
        if is_about_runs:
            self.decide(c)

    def advance(self, commitment: str, step: int, *, stable: bool) -> None:
        """Let the monitor of a content about runs read the state before the step, and the step."""
        from cplc.lowering.content_monitors import advance

        advance(self, commitment, step, stable=stable)

    def decide(self, commitment: str, *, on_entering: bool = True) -> None:
        """Close a claim or commitment about runs that its monitor decides; what is pending is only fulfilled."""
        if commitment in self.book.model.claim:
            dialogue.decide(self, commitment, on_entering=on_entering)
            return
        from cplc.lowering.content_monitors import decided

        both, active = self.cases.both, self.is_in(commitment, ("active",))
        in_force = active
        if commitment in self.book.suspended:
            former = self._get(former_of(kept_by(commitment, self.keeper)))
            waiting = both(self.is_in(commitment, ("pending",)), self.cases.is_in(former, ("active",)))
            in_force = self.cases.either(active, waiting)
        if in_force == NO:
            return
        true = decided(self, commitment, True, on_entering=on_entering)
        false = decided(self, commitment, False, on_entering=on_entering)
        self.move(commitment, both(active, false), "violated")
        self.move(commitment, both(in_force, true), "fulfilled")

    def _follow(self, c: str) -> None:
        follows = follows_of(kept_by(c, self.keeper))
        both, is_in = self.cases.both, self.is_in
        for d in self.book.retained[c]:
            if d not in self.kept:
                continue
            waiting = both(is_in(c, ("pending",)), self.cases.is_in(self._get(follows), (d,)))
            done, freed = both(waiting, is_in(d, ("fulfilled",))), both(waiting, is_in(d, ("released",)))
            self._resume(c, both(waiting, is_in(d, ("violated", "expired", "withdrawn"))))
            self.move(c, done, "fulfilled")
            self.move(c, freed, "released")

    # --- time

    def on_course(self, commitment: str) -> Outcome:
        """Return when its content holds if nothing more happens; a condition never does."""
        if commitment not in self.book.contents:
            return NO
        from cplc.lowering.content_monitors import is_on_course

        return is_on_course(self, commitment)

    def ticks(self, commitments: Iterable[str]) -> None:
        """Let one tick pass for the deadlines of these; the monitors of contents about runs decide before them."""
        timed = tuple(commitments)
        for together, _ in _order(self.book, [name for name in self.book.contents if name in self.kept]):
            for name in together:
                self.decide(name)
        on_course = {name: self.on_course(name) for name in timed}
        for name in timed:
            self._tick(name, on_course[name])
        for name, most in self.ages.items():
            age = e.Read(age_of(kept_by(name, self.keeper)))
            older = e.ite(e.equal(age, e.Const(most)), age, e.arith("+", age, e.Const(1)))
            is_open = self.is_in(name, dialogue.open_states(self.book.model, name))
            self._put(age.variable, is_open, self.cases.leaf(older))

    def _tick(self, commitment: str, on_course: Outcome) -> None:
        """Let one tick pass; a commitment on course is fulfilled at its deadline."""
        declared = self.book.model.commitment[commitment]
        name = clock_of(kept_by(commitment, self.keeper))
        clock, values = e.Read(name), self.clocks[name]
        for state, limit, outcome in (
            ("active", declared.within, "violated"),
            ("conditional", declared.expires, "expired"),
        ):
            if limit is None:
                continue
            running = self.is_in(commitment, (state,))
            at_end = self.cases.named(e.one_of(clock, values[limit - 1 :]) if limit > 1 else e.TRUE, name)
            over = self.cases.both(running, at_end)
            if limit > 1:
                later = self.cases.leaf(e.arith("+", clock, e.Const(1)))
                self._put(name, self.cases.both(running, self.cases.negate(at_end)), later)
            if state == "active" and on_course != NO:
                self.move(commitment, self.cases.both(over, on_course), "fulfilled")
                over = self.cases.both(over, self.cases.negate(on_course))
            self.move(commitment, over, outcome)

    # --- result

    def updates(self) -> dict[str, Expr]:
        """Return what is written, each value in normal form."""
        values = self.values
        if self.book.contents:
            single = {
                monitor_of(kept_by(c, self.keeper)) for c in self.book.contents if len(self.book.monitor_states(c)) == 1
            }
            values = {name: value for name, value in values.items() if name not in single}
        changed = {name: value for name, value in values.items() if value != self.cases.variable(name)}
        return {name: self.cases.expression(value, name) for name, value in changed.items()}


def _now(commitment: str) -> str:
    """Return the name under which conditions read its state at this point of the step; no variable is called so."""
    return f"{commitment} now"


def _order(book: Book, commitments: list[str]) -> Iterator[tuple[list[str], bool]]:
    """Yield them after those that their rules look at, together where they look at each other, and whether they do.

    No claim is ever together with another: the checker sees to that, and so each is judged by what is settled.
    """
    for component, circle in cycles({c: depends_on(book, c) for c in commitments}):
        yield component, bool(circle)
