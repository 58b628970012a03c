"""The life of a commitment, run on expressions: one ledger is one keeper's view of what a step does.

A keeper is `Env` or a role that has a view. The ledger holds, for every variable of a commitment or claim, its value
at this point of the step as an expression over the state before the step. Operations come first, in the order
written, then the automatic rules. Those of claims are in `dialogue.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from cplc.lowering import dialogue
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.tidy import restore, tidy
from cplc.lowering.vocabulary import kept_by
from cplc.semantics.cycles import cycles
from cplc.semantics.model import CheckedModel, Claim, Commitment, Operation
from cplc.semantics.terms import Apply, FactRef, InState, Term, Value
from cplc.semantics.vocabulary import JOINED
from cplc.system import expr as e
from cplc.system.expr import Expr
from cplc.system.model import Operation as Performed

OPEN = ("conditional", "active", "pending")
CLOSED = (
    "fulfilled", "violated", "withdrawn", "released", "expired", "delegated", "assigned", "compensated",
)  # fmt: skip
STATES = ("null", *OPEN, *CLOSED)
LIVE = ("conditional", "active")
"""The states that can be delegated, assigned and suspended."""

_PLAIN = {
    "fulfill": (OPEN, "fulfilled"),
    "violate": (("active",), "violated"),
    "release": (OPEN, "released"),
    "expire": (("conditional",), "expired"),
    "compensate": (("violated",), "compensated"),
}
"""Operations that lead from any of these states to that one."""


@dataclass(frozen=True)
class Book:
    """What is known of all commitments and claims before any step is built: which can do what, who depends on whom."""

    model: CheckedModel
    viewers: dict[str | None, frozenset[str]]
    """Keeper (None for `Env`) to the commitments and claims it keeps."""
    possible: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """The lifecycle states a commitment or claim may ever be in."""
    retained: dict[str, tuple[str, ...]] = field(default_factory=dict)
    """Commitment to those it may wait for after being delegated `retaining`."""
    suspended: frozenset[str] = frozenset()
    """Commitments that may be pending."""

    def variables(self, commitment: str, keeper: str | None) -> Iterable[tuple[str, str, tuple[Value, ...]]]:
        """Yield name, kind and domain of every variable that the keeper has of the commitment or claim."""
        name = kept_by(commitment, keeper)
        declared = self.model.commitment.get(commitment)
        kind = "claim" if declared is None else "commitment"
        yield name, kind if keeper is None else "view", self.possible[commitment]
        if declared is None:
            return
        if deadlines := [k for k in (declared.within, declared.expires) if k is not None]:
            yield clock_of(name), "clock", tuple(range(max(deadlines)))
        if commitment in self.suspended:
            yield former_of(name), "former", LIVE
        if targets := self.retained.get(commitment):
            yield follows_of(name), "follows", ("none", *targets)


def clock_of(name: str) -> str:
    return f"{name}.clock"


def former_of(name: str) -> str:
    return f"{name}.former"


def follows_of(name: str) -> str:
    return f"{name}.follows"


def make_book(model: CheckedModel, viewers: dict[str | None, frozenset[str]]) -> Book:
    """Read off the operations what can become of each commitment."""
    operations = [operation for message in model.messages for operation in message.operations]
    redirects = {
        (operation.commitment, operation.target)
        for operation in operations
        if operation.target is not None and not operation.retaining
    }
    retained: dict[str, tuple[str, ...]] = {}
    for commitment in model.commitments:
        targets = {o.target: None for o in operations if o.commitment == commitment.name and o.retaining and o.target}
        fresh = list(targets)
        while fresh:
            here = fresh.pop()
            for old, new in redirects:
                if old == here and new not in targets:
                    targets[new] = None
                    fresh.append(new)
        if targets:
            retained[commitment.name] = tuple(name for name in model.commitment if name in targets)
    suspended = {operation.commitment for operation in operations if operation.verb == "suspend"} | set(retained)
    possible = {
        commitment.name: _possible(commitment, operations, commitment.name in suspended, commitment.name in retained)
        for commitment in model.commitments
    }
    possible |= {claim.name: dialogue.possible_states(claim, operations) for claim in model.claims}
    return Book(model, viewers, possible, retained, frozenset(suspended))


def _possible(commitment: Commitment, operations: list[Operation], can_wait: bool, follows: bool) -> tuple[str, ...]:
    verbs = {operation.verb for operation in operations if operation.commitment == commitment.name}
    born = "create" in verbs or any(operation.target == commitment.name for operation in operations)
    if not born:
        return ("null",)
    found = {"null", "conditional", "active", "fulfilled"}
    if can_wait:
        found.add("pending")
    if "violate" in verbs or commitment.within is not None or ("withdraw" in verbs and not commitment.revocable):
        found.add("violated")
    if "withdraw" in verbs:
        found.add("withdrawn")
    if "release" in verbs or follows:
        found.add("released")
    if "expire" in verbs or commitment.expires is not None:
        found.add("expired")
    if any(o.verb == "delegate" and not o.retaining for o in operations if o.commitment == commitment.name):
        found.add("delegated")
    if "assign" in verbs:
        found.add("assigned")
    if "compensate" in verbs:
        found.add("compensated")
    return tuple(state for state in STATES if state in found)


class Ledger:
    """One keeper's commitments and claims in the course of one step."""

    def __init__(self, book: Book, keeper: str | None, reading: Reading) -> None:
        self.book = book
        self.keeper = keeper
        self.kept = book.viewers[keeper]
        self.values: dict[str, Expr] = {}
        self.touched: dict[str, None] = {}
        """Those whose state this step may change."""
        self.unsettled: dict[str, None] = {}
        """Those among them that came into an open state without a look at their conditions."""
        self.reading = Reading(reading.model, reading.role, reading.own, reading.changed, self._seen)
        self._before = Reading(reading.model, reading.role, state=self._seen_before)
        self.meanings: dict[str, Expr] = {}
        self.domains: dict[str, tuple[Value, ...]] = defaultdict(lambda: (False, True))
        for commitment in self.kept:
            self.domains.update((name, domain) for name, _, domain in book.variables(commitment, keeper))

    # --- values at this point of the step

    def _seen(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.keeper):
            return e.Read(kept_by(commitment, view)) if self.keeper is None else None
        return self._state(commitment) if commitment in self.kept else None

    def _seen_before(self, commitment: str, view: str | None) -> Expr | None:
        if view not in (None, self.keeper):
            return e.Read(kept_by(commitment, view)) if self.keeper is None else None
        return e.Read(kept_by(commitment, self.keeper)) if commitment in self.kept else None

    def _get(self, variable: str) -> Expr:
        return self.values.get(variable, e.Read(variable))

    def _state(self, commitment: str) -> Expr:
        return self._get(kept_by(commitment, self.keeper))

    def is_in(self, commitment: str, states: Iterable[str]) -> Expr:
        """Return when the commitment is in one of the states, said of as few states as possible."""
        possible = self.book.possible[commitment]
        inside = [state for state in possible if state in states]
        outside = [state for state in possible if state not in inside]
        state = self._state(commitment)
        if len(outside) < len(inside):
            return e.negate(e.one_of(state, outside))
        return e.one_of(state, inside)

    def _put(self, variable: str, when: Expr, value: Expr) -> None:
        """Write a value; in normal form, lest what is built on it grows with every step of the way."""
        self.values[variable] = tidy(e.ite(when, value, self._get(variable)), self.domains, variable)

    def move(self, commitment: str, when: Expr, state: Expr) -> None:
        """Enter a state; its clock, which only runs while open, is at 0 and nothing is remembered of before."""
        if e.is_false(when):
            return
        self.touched[commitment] = None
        name = kept_by(commitment, self.keeper)
        if self._has_clock(commitment):
            self._put(clock_of(name), e.conj((when, self.is_in(commitment, OPEN))), e.Const(0))
        self._put(name, when, state)
        self._forget(commitment, when)

    def _forget(self, commitment: str, when: Expr) -> None:
        name = kept_by(commitment, self.keeper)
        if commitment in self.book.suspended:
            self._put(former_of(name), when, e.Const(LIVE[0]))
        if commitment in self.book.retained:
            self._put(follows_of(name), when, e.Const("none"))

    def _has_clock(self, commitment: str) -> bool:
        declared = self.book.model.commitment.get(commitment)
        return declared is not None and (declared.within is not None or declared.expires is not None)

    def _suspend(self, commitment: str, when: Expr, waits_for: str | None) -> None:
        """Become pending; the clock stands still."""
        name = kept_by(commitment, self.keeper)
        self.touched[commitment] = None
        self._put(former_of(name), when, _live(self._state(commitment)))
        if waits_for is not None:
            self._put(follows_of(name), when, e.Const(waits_for))
        self._put(name, when, e.Const("pending"))

    def _resume(self, commitment: str, when: Expr) -> None:
        """Go back to the state from before; the clock goes on where it stood."""
        name = kept_by(commitment, self.keeper)
        self.touched[commitment] = None
        self.unsettled[commitment] = None
        self._put(name, when, _live(self._get(former_of(name))))
        self._forget(commitment, when)

    def truth(self, term: Term) -> Expr:
        """Return when a condition holds at this point of the step."""
        return self._named(term, self.reading)

    def truth_before(self, term: Term) -> Expr:
        """Return when a condition held before the step."""
        return self._named(term, self._before)

    def _named(self, term: Term, reading: Reading) -> Expr:
        """Return when a condition holds; while the ledger is at work a name stands for one without states."""
        found = condition(term, reading)
        if isinstance(found, e.Const) or any(True for _ in states_in(term, self.book.model)):
            return found
        placeholder = f"?{len(self.meanings)}"
        for name, meaning in self.meanings.items():
            if meaning == found:
                return e.Read(name)
            if meaning == e.negate(found):
                return e.negate(e.Read(name))
        self.meanings[placeholder] = found
        return e.Read(placeholder)

    # --- operations

    def perform(self, operation: Operation) -> Performed | None:
        """Apply one operation; None where this keeper knows of neither commitment."""
        c, d = operation.commitment, operation.target
        if c not in self.kept:
            if d is not None and d in self.kept:
                self._create(d, self.is_in(d, ("null", *CLOSED)))
            return None
        name = kept_by(c, self.keeper)
        before = self._state(c)
        applicable = tidy(self._apply(operation, c, d), self.domains, name)
        return Performed(
            operation.verb,
            c,
            d,
            restore(applicable, self.meanings),
            restore(before, self.meanings),
            JOINED.get(operation.verb, ""),
        )

    def _apply(self, operation: Operation, c: str, d: str | None) -> Expr:
        verb = operation.verb
        if c in self.book.model.claim:
            return dialogue.perform(self, operation)
        if verb in _PLAIN:
            source, target = _PLAIN[verb]
            when = self.is_in(c, source)
            self.move(c, when, e.Const(target))
            return when
        match verb:
            case "create":
                when = self.is_in(c, ("null", *CLOSED))
                self._create(c, when)
                return when
            case "withdraw":
                conditional, active = self.is_in(c, ("conditional",)), self.is_in(c, ("active",))
                revocable = self.book.model.commitment[c].revocable
                self.move(c, active, e.Const("withdrawn" if revocable else "violated"))
                self.move(c, conditional, e.Const("withdrawn"))
                return e.disj((conditional, active))
            case "suspend":
                when = self.is_in(c, LIVE)
                self._suspend(c, when, None)
                return when
            case "reactivate":
                when = e.conj((self.is_in(c, ("pending",)), e.negate(self._waits(c))))
                self._resume(c, when)
                return when
            case _:
                assert d is not None
                return self._hand_over(operation, c, d)

    def _create(self, commitment: str, when: Expr) -> None:
        declared = self.book.model.commitment[commitment]
        fulfilled = self.truth(declared.consequent)
        detached = self.truth(declared.antecedent)
        state = e.ite(fulfilled, e.Const("fulfilled"), e.ite(detached, e.Const("active"), e.Const("conditional")))
        self.move(commitment, when, state)

    def _hand_over(self, operation: Operation, c: str, d: str) -> Expr:
        """Delegate or assign; the successor takes the state, and whoever waits for c now waits for d."""
        when = self.is_in(c, LIVE)
        if d in self.kept:
            when = e.conj((when, self.is_in(d, ("null", *CLOSED))))
            self.move(d, when, _live(self._state(c)))
            self.unsettled[d] = None
        if operation.retaining:
            self._suspend(c, when, d)
            return when
        self.move(c, when, e.Const("delegated" if operation.verb == "delegate" else "assigned"))
        for waiting, targets in self.book.retained.items():
            if waiting in self.kept and c in targets and waiting != c:
                follows = follows_of(kept_by(waiting, self.keeper))
                self._put(follows, e.conj((when, e.equal(self._get(follows), e.Const(c)))), e.Const(d))
                self.unsettled[waiting] = None
        return when

    def _waits(self, commitment: str) -> Expr:
        """Return when a pending commitment waits for the one it was delegated to."""
        if commitment not in self.book.retained:
            return e.FALSE
        return e.negate(e.equal(self._get(follows_of(kept_by(commitment, self.keeper))), e.Const("none")))

    # --- automatic rules

    def settle(self, commitments: Iterable[str]) -> None:
        """Apply the automatic rules to these commitments and claims until nothing changes."""
        for together, rounds in _order(self.book, [c for c in commitments if c in self.kept]):
            for _ in range(rounds):
                for name in together:
                    if name in self.book.model.claim:
                        dialogue.judge(self, name)
                    else:
                        self._settle(name)

    def _settle(self, c: str) -> None:
        declared = self.book.model.commitment[c]
        fulfilled = self.truth(declared.consequent)
        self.move(c, e.conj((self.is_in(c, OPEN), fulfilled)), e.Const("fulfilled"))
        if c in self.book.retained:
            self._follow(c)
        detached = self.truth(declared.antecedent)
        self.move(c, e.conj((self.is_in(c, ("conditional",)), detached)), e.Const("active"))

    def _follow(self, c: str) -> None:
        follows = follows_of(kept_by(c, self.keeper))
        for d in self.book.retained[c]:
            if d not in self.kept:
                continue
            waiting = e.conj((self.is_in(c, ("pending",)), e.equal(self._get(follows), e.Const(d))))
            done, freed = self.is_in(d, ("fulfilled",)), self.is_in(d, ("released",))
            broken = self.is_in(d, ("violated", "expired", "withdrawn"))
            self._resume(c, e.conj((waiting, broken)))
            self.move(c, e.conj((waiting, done)), e.Const("fulfilled"))
            self.move(c, e.conj((waiting, freed)), e.Const("released"))

    # --- time

    def tick(self, commitment: str) -> None:
        """Let one tick pass for the deadlines of a commitment."""
        declared = self.book.model.commitment[commitment]
        name = kept_by(commitment, self.keeper)
        clock = self._get(clock_of(name))
        for state, limit, outcome in (
            ("active", declared.within, "violated"),
            ("conditional", declared.expires, "expired"),
        ):
            if limit is None:
                continue
            running = self.is_in(commitment, (state,))
            over = e.conj((running, e.one_of(clock, self.domains[clock_of(name)][limit - 1 :])))
            if limit > 1:
                self._put(clock_of(name), e.conj((running, e.negate(over))), e.arith("+", clock, e.Const(1)))
            self.move(commitment, over, e.Const(outcome))

    # --- result

    def updates(self) -> dict[str, Expr]:
        """Return what is written, each value in normal form."""
        changed = {variable: value for variable, value in self.values.items() if value != e.Read(variable)}
        return {variable: restore(value, self.meanings) for variable, value in changed.items()}


def _live(state: Expr) -> Expr:
    """Return a state known to be conditional or active, written with constants only."""
    return e.ite(e.equal(state, e.Const("active")), e.Const("active"), e.Const("conditional"))


def _order(book: Book, commitments: list[str]) -> Iterator[tuple[list[str], int]]:
    """Yield them after those that their rules look at, together where they look at each other, and enough rounds.

    No claim is ever together with another: the checker sees to that, and so each is judged by what is settled.
    """
    for component, circle in cycles({c: depends_on(book, c) for c in commitments}):
        yield component, len(commitments) if circle else 1


def conditions_of(declared: Commitment | Claim) -> tuple[Term, ...]:
    """Return the conditions that the automatic rules look at."""
    match declared:
        case Commitment():
            return declared.antecedent, declared.consequent
        case Claim():
            return (declared.content,)


def depends_on(book: Book, name: str) -> tuple[str, ...]:
    """Return the commitments and claims whose state the automatic rules of this one look at."""
    declared = book.model.commitment.get(name) or book.model.claim[name]
    mentioned = (state for term in conditions_of(declared) for state in states_in(term, book.model))
    return tuple(dict.fromkeys((*mentioned, *book.retained.get(name, ()))))


def states_in(term: Term, model: CheckedModel) -> Iterable[str]:
    """Yield the commitments and claims whose lifecycle state the term mentions."""
    match term:
        case InState(commitment):
            yield commitment
        case FactRef(fact):
            yield from states_in(model.fact[fact].meaning, model)
        case Apply(_, operands):
            for operand in operands:
                yield from states_in(operand, model)
        case _:
            pass
