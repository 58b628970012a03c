"""The lifecycle of commitments and claims as one observer keeps it: operations as written, then automatic rules.

The observer is `Env`, who keeps every one of them, or a role with its views. Nothing here is compiled or clever:
every rule is one line of the table of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from tests.reference import dialogue
from tests.reference.contents import TICK, Step, Watched

from cplc.semantics.model import CheckedModel, Operation, PayloadDeadline
from cplc.semantics.terms import Term

OPEN = frozenset({"conditional", "active", "pending"})
CLOSED = frozenset(
    {"fulfilled", "violated", "withdrawn", "released", "expired", "delegated", "assigned", "compensated"}
)
LIVE = frozenset({"conditional", "active"})


CLAIM_OR_COMMITMENT_OPEN = OPEN | dialogue.CLAIM_OPEN
CALLED = {
    "fulfilled": "fulfill",
    "violated": "violate",
    "released": "release",
    "expired": "expire",
    "withdrawn": "withdraw",
    "delegated": "delegate",
    "assigned": "assign",
    "compensated": "compensate",
    "satisfied": "satisfy",
}
"""The verb of the change that enters each state."""


class Change(NamedTuple):
    """A change that a step makes."""

    verb: str
    subject: str
    target: str | None = None
    by_message: bool = False


class Life(NamedTuple):
    """The state of one commitment or claim. Irrelevant fields have their defaults, so that equality is canonical."""

    state: str = "null"
    former: str | None = None
    """The state before, while pending."""
    follows: str | None = None
    """The successor it waits for, while pending by `retaining`."""
    clock: int = 0
    """Ticks counted for a deadline; the count is suspended while pending."""
    standing: str = dialogue.FIRST
    """The last move on it while it is open."""
    age: int = 0
    """Ticks since it was created, while it is open; counted by roles whose guards read it."""
    moved_with: str | None = None
    """The claim of that move, if it is an argument."""
    first_said: dialogue.Said | None = None
    """The last move of the debtor or maker, while it is open, if that binds and is remembered."""
    second_said: dialogue.Said | None = None
    """The last move of the other side."""
    remainder: int = 0
    """The remainder of a content about runs, while in force."""
    within: int = 0
    """Ticks left of the deadline that a payload gave, while it may still run."""
    expires: int = 0
    """The same for `expires`."""

    @property
    def is_in_force(self) -> bool:
        return self.state in ("active", "open") or (self.state == "pending" and self.former == "active")


NULL = Life()


class ObserverState:
    """The commitments and claims that one observer keeps. ``sees`` says which it is a party of; it may keep fewer.

    ``was`` says what held before the step that is taken, and ``rests_on`` on whose state the life of one depends.
    """

    def __init__(
        self,
        model: CheckedModel,
        lives: Mapping[str, Life],
        sees: Callable[[str], bool],
        holds: Callable[[Term, ObserverState], bool],
        was: Callable[[Term], bool],
        rests_on: Callable[[str], frozenset[str]],
        watched: Mapping[str, Watched],
        keeps_arguments: bool = True,
        keeps_last_moves: bool = False,
        ages: Mapping[str, int] | None = None,
        given: Callable[[Term], int] | None = None,
    ) -> None:
        self.model = model
        self.lives = dict(lives)
        self._before = dict(lives)
        self._was = was
        self._rests_on = rests_on
        self._sees = sees
        self._holds = holds
        self._keeps_arguments = keeps_arguments
        self._keeps_last_moves = keeps_last_moves
        self._ages = ages or {}
        self._given = given
        """The value of a deadline in the payload of the message that takes effect."""
        self.changes: set[Change] = set()
        """Every change made so far, and by what."""
        self._watched = {name: one for name, one in watched.items() if name in self.lives}

    def _enter(self, name: str, life: Life, anew: bool = False) -> None:
        """Set its state, and record the verb of the change."""
        before, self.lives[name] = self.lives[name], life
        is_open = CLAIM_OR_COMMITMENT_OPEN
        if anew or (before.state not in is_open and life.state in is_open):
            self.changes.add(Change("create", name))
        if (anew or before.state != life.state) and life.state in CALLED:
            self.changes.add(Change(CALLED[life.state], name))
        if before.state == "pending" and life.state in LIVE:
            self.changes.add(Change("reactivate", name))

    # --- contents about runs

    def read(self, step: Step) -> None:
        """Progress every content about runs in force by the state before the step and the step."""
        for name, content in self._watched.items():
            life = self._before[name]
            if not life.is_in_force:
                continue
            state = frozenset(leaf for leaf in content.asked if self._was(leaf))
            after = content.after(life.remainder, state, step)
            is_suspended = life.state == "pending" and life.follows is None
            if not (is_suspended and content.decided(after) is False):
                self.lives[name] = life._replace(remainder=after)

    def _now(self, name: str) -> frozenset[Term]:
        return frozenset(leaf for leaf in self._watched[name].asked if self._holds(leaf, self))

    def _verdict(self, name: str) -> bool | None:
        """Return the verdict from the letters read and the entered state."""
        content, life = self._watched[name], self.lives[name]
        read = content.decided(life.remainder)
        return content.entering(life.remainder, self._now(name)) if read is None else read

    def close_decided(self, *, on_entering: bool) -> None:
        """Close the decided contents about runs, each after those whose state it reads."""
        waiting = set(self._watched)
        while waiting:
            ready = self._ready(waiting)
            for name in ready:
                life = self.lives[name]
                if life.is_in_force:
                    read = self._watched[name].decided(life.remainder)
                    verdict = self._verdict(name) if on_entering else read
                    self._enter(name, _closed(life, verdict))
            waiting = waiting - ready

    def perform(self, operation: Operation) -> bool:
        """Apply one operation; return whether its "from" holds."""
        applies = self._perform(operation)
        if applies:
            for by_message in (True, False):
                change = Change(operation.verb, operation.commitment, operation.target, by_message)
                self.changes.add(change)
        return applies

    def _perform(self, operation: Operation) -> bool:
        name, verb = operation.commitment, operation.verb
        if verb in ("delegate", "assign"):
            return self._transfer(operation)
        if name not in self.lives:
            return True
        if verb in dialogue.STANDING_AFTER:
            return self._move(operation)
        if name in self.model.claim:
            return self._claim_operation(operation)
        life = self.lives[name]
        after = self._after(verb, name, life)
        if after is None:
            return False
        self._enter(name, after, anew=verb == "create")
        return True

    def _after(self, verb: str, name: str, life: Life) -> Life | None:
        """Return the life after an operation on a single commitment, or None where it does not apply."""
        state = life.state
        match verb:
            case "create" if state == "null" or state in CLOSED:
                return self._with_claim_put_forward(name)
            case "fulfill" if state in OPEN:
                return Life("fulfilled")
            case "violate" if state == "active":
                return Life("violated")
            case "withdraw" if state == "conditional":
                return Life("withdrawn")
            case "withdraw" if state == "active":
                return Life("withdrawn" if self.model.commitment[name].revocable else "violated")
            case "release" if state in OPEN:
                return Life("released")
            case "expire" if state == "conditional":
                return Life("expired")
            case "suspend" if state in LIVE:
                return life._replace(state="pending", former=state)
            case "reactivate" if state == "pending" and life.follows is None:
                assert life.former is not None
                return life._replace(state=life.former, former=None)
            case "compensate" if state == "violated":
                return Life("compensated")
            case _:
                return None

    def _is_open(self, name: str) -> bool:
        return self.lives[name].state in (dialogue.CLAIM_OPEN if name in self.model.claim else OPEN)

    def _claim_operation(self, operation: Operation) -> bool:
        """Create or withdraw a claim."""
        name = operation.commitment
        if self._is_open(name) is (operation.verb == "create"):
            return False
        self._enter(name, Life("open" if operation.verb == "create" else "withdrawn"))
        return True

    def _move(self, operation: Operation) -> bool:
        """Make a move on an open subject; the claim of an argument becomes open and unanswered."""
        name, claim = operation.commitment, operation.target
        if not self._is_open(name):
            return False
        standing = dialogue.STANDING_AFTER[operation.verb]
        moved_with = claim if self._keeps_arguments else None
        after = self.lives[name]._replace(standing=standing, moved_with=moved_with)
        if self._keeps_last_moves:
            last_move = (operation.verb, claim) if dialogue.binds(operation.verb, name in self.model.claim) else None
            is_first = operation.verb in dialogue.BY_FIRST
            after = after._replace(first_said=last_move) if is_first else after._replace(second_said=last_move)
        self._enter(name, after)
        if claim is not None and claim in self.lives:
            again = self.lives[claim]._replace(standing=dialogue.FIRST, moved_with=None)
            self._enter(claim, again if self._is_open(claim) else Life("open"))
        return True

    def _with_claim_put_forward(self, name: str) -> Life:
        commitment = self.model.commitment[name]
        if name not in self._watched and self._holds(commitment.consequent, self):
            return Life("fulfilled")
        return self._timed(name, "active" if self._holds(commitment.antecedent, self) else "conditional")

    def _timed(self, name: str, state: str) -> Life:
        """Return a new life with the deadlines that its message gives it; `expires` is over once it is active."""
        commitment = self.model.commitment[name]
        ticks = {"within": 0, "expires": 0}
        for clause, one in (("within", commitment.within), ("expires", commitment.expires)):
            if isinstance(one, PayloadDeadline) and (clause == "within" or state == "conditional"):
                assert self._given is not None
                ticks[clause] = max(0, self._given(one.value))
        return Life(state, within=ticks["within"], expires=ticks["expires"])

    def _transfer(self, operation: Operation) -> bool:
        """Apply ``delegate c to d`` or ``assign c to d``.

        Who does not see c does to d what `create` does; who does not see d takes it to be free.
        """
        c, d = operation.commitment, operation.target
        assert d is not None
        if not self._sees(c):
            if d not in self.lives:
                return True
            created = self._after("create", d, self.lives[d])
            if created is not None:
                self._enter(d, created)
            return created is not None
        if c not in self.lives:
            return True
        life = self.lives[c]
        if life.state not in LIVE or (d in self.lives and self.lives[d].state in OPEN):
            return False
        if d in self.lives:
            self._enter(d, self._timed(d, life.state))
        if operation.retaining:
            self._enter(c, life._replace(state="pending", former=life.state, follows=d))
            return True
        self._enter(c, Life("delegated" if operation.verb == "delegate" else "assigned"))
        for other, waiting in self.lives.items():
            if waiting.follows == c:
                self._enter(other, waiting._replace(follows=d))
        return True

    def apply_automatic_rules(self) -> None:
        """Apply the automatic rules: what a monitor watches comes after all that its content rests on."""
        waiting = {name for name in self.lives if name in self.model.claim or name in self._watched}
        self._apply_rules_except(waiting)
        while waiting:
            ready = self._ready(waiting)
            waiting -= ready
            self._apply_rules_except(waiting)

    def _ready(self, waiting: set[str]) -> set[str]:
        """Return those that rest on nobody else who waits; or on such only as rest on them in turn, by hand-overs."""
        ready = {name for name in waiting if not self._rests_on(name) & waiting}
        if not ready:
            ready = {
                name
                for name in waiting
                if all(name in self._rests_on(other) for other in self._rests_on(name) & waiting)
            }
            assert not ready & set(self.model.claim), f"claims rest on each other: {waiting}"
        return ready

    def _apply_rules_except(self, waiting: set[str]) -> None:
        """Apply the rules of commitments that do not rest on those waiting until nothing changes."""
        changed = True
        while changed:
            changed = False
            for name in self.lives:
                if self._rests_on(name) & waiting:
                    continue
                after = self._with_first_rule(name)
                if after != self.lives[name]:
                    self._enter(name, after)
                    changed = True

    def _with_first_rule(self, name: str) -> Life:
        """Apply the first automatic rule that fits: consequent, then whom it waits for, then antecedent."""
        life = self.lives[name]
        if name in self.model.claim:
            return _closed(life, self._verdict(name)) if life.is_in_force else life
        commitment = self.model.commitment[name]
        if name in self._watched:
            if life.is_in_force and (closed := _closed(life, self._verdict(name))) != life:
                return closed
        elif life.state in OPEN and self._holds(commitment.consequent, self):
            return Life("fulfilled")
        if life.follows is not None and life.follows in self.lives:
            assert life.former is not None
            match self.lives[life.follows].state:
                case "fulfilled":
                    return Life("fulfilled")
                case "released":
                    return Life("released")
                case "violated" | "expired" | "withdrawn":
                    return life._replace(state=life.former, former=None, follows=None)
                case _:
                    pass
        if life.state == "conditional" and self._holds(commitment.antecedent, self):
            return life._replace(state="active", clock=0, remainder=0, expires=0)
        return life

    def tick(self) -> None:
        """Close decided contents, advance every running counter, close what is due, then apply the automatic rules."""
        self.read(TICK)
        self.close_decided(on_entering=True)
        on_course = {
            name for name, one in self._watched.items() if one.rests(self.lives[name].remainder, self._now(name))
        }
        for name, life in self.lives.items():
            if name in self.model.claim:
                continue
            commitment = self.model.commitment[name]
            due, verdict = None, ""
            if life.state == "active":
                due, verdict = commitment.within, "fulfilled" if name in on_course else "violated"
            elif life.state == "conditional":
                due, verdict = commitment.expires, "expired"
            if isinstance(due, PayloadDeadline):
                if life.state == "active":
                    left, later = life.within, life._replace(within=life.within - 1)
                else:
                    left, later = life.expires, life._replace(expires=life.expires - 1)
                self._enter(name, Life(verdict) if left <= 1 else later)
            elif due is not None:
                clock = life.clock + 1
                self._enter(name, Life(verdict) if clock >= due else life._replace(clock=clock))
        for name, most in self._ages.items():
            life = self.lives[name]
            if self._is_open(name):
                self.lives[name] = life._replace(age=min(life.age + 1, most))
        self.apply_automatic_rules()


def _closed(life: Life, verdict: bool | None) -> Life:
    """Close what is decided; while pending, a breach waits."""
    if life.state == "open" and verdict is not None:
        return Life("satisfied" if verdict else "violated")
    if verdict is True:
        return Life("fulfilled")
    return Life("violated") if verdict is False and life.state == "active" else life
