"""The lifecycle of commitments as one observer keeps it: operations in the order written, then automatic rules.

The observer is `Env`, who keeps every commitment, or a role with its views. Nothing here is compiled or clever:
every rule is one line of the table of the language.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

from cplc.semantics.model import CheckedModel, Operation
from cplc.semantics.terms import Term

OPEN = frozenset({"conditional", "active", "pending"})
CLOSED = frozenset(
    {"fulfilled", "violated", "withdrawn", "released", "expired", "delegated", "assigned", "compensated"}
)
LIVE = frozenset({"conditional", "active"})


class Life(NamedTuple):
    """What is remembered of one commitment. Where a part means nothing it has its default, so that equal is equal."""

    state: str = "null"
    former: str | None = None
    """What it was before, while pending."""
    follows: str | None = None
    """Whom it waits for, while pending by `retaining`."""
    clock: int = 0
    """Ticks in the state that a deadline counts; while pending it stands still."""


NULL = Life()


class Ledger:
    """The commitments that one observer keeps. ``sees`` says which it is a party of; it may keep fewer."""

    def __init__(
        self,
        model: CheckedModel,
        lives: Mapping[str, Life],
        sees: Callable[[str], bool],
        holds: Callable[[Term, Ledger], bool],
    ) -> None:
        self.model = model
        self.lives = dict(lives)
        self._sees = sees
        self._holds = holds

    def perform(self, operation: Operation) -> bool:
        """Apply one operation; return whether its "from" holds."""
        name, verb = operation.commitment, operation.verb
        if verb in ("delegate", "assign"):
            return self._hand_over(operation)
        if name not in self.lives:
            return True
        life = self.lives[name]
        after = self._after(verb, name, life)
        if after is None:
            return False
        self.lives[name] = after
        return True

    def _after(self, verb: str, name: str, life: Life) -> Life | None:
        """Return the life after an operation on a single commitment, or None where it does not apply."""
        state = life.state
        match verb:
            case "create" if state == "null" or state in CLOSED:
                return self._begun(name)
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
                return Life("pending", former=state, clock=life.clock)
            case "reactivate" if state == "pending" and life.follows is None:
                assert life.former is not None
                return Life(life.former, clock=life.clock)
            case "compensate" if state == "violated":
                return Life("compensated")
            case _:
                return None

    def _begun(self, name: str) -> Life:
        commitment = self.model.commitment[name]
        if self._holds(commitment.consequent, self):
            return Life("fulfilled")
        if self._holds(commitment.antecedent, self):
            return Life("active")
        return Life("conditional")

    def _hand_over(self, operation: Operation) -> bool:
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
                self.lives[d] = created
            return created is not None
        if c not in self.lives:
            return True
        life = self.lives[c]
        if life.state not in LIVE or (d in self.lives and self.lives[d].state in OPEN):
            return False
        if d in self.lives:
            self.lives[d] = Life(life.state)
        if operation.retaining:
            self.lives[c] = Life("pending", former=life.state, follows=d, clock=life.clock)
            return True
        self.lives[c] = Life("delegated" if operation.verb == "delegate" else "assigned")
        for other, waiting in self.lives.items():
            if waiting.follows == c:
                self.lives[other] = waiting._replace(follows=d)
        return True

    def settle(self) -> None:
        """Apply the automatic rules until nothing changes."""
        changed = True
        while changed:
            changed = False
            for name in self.lives:
                after = self._settled(name)
                if after != self.lives[name]:
                    self.lives[name] = after
                    changed = True

    def _settled(self, name: str) -> Life:
        """Apply the first automatic rule that fits: consequent, then whom it waits for, then antecedent."""
        life, commitment = self.lives[name], self.model.commitment[name]
        if life.state in OPEN and self._holds(commitment.consequent, self):
            return Life("fulfilled")
        if life.follows is not None and life.follows in self.lives:
            assert life.former is not None
            match self.lives[life.follows].state:
                case "fulfilled":
                    return Life("fulfilled")
                case "released":
                    return Life("released")
                case "violated" | "expired" | "withdrawn":
                    return Life(life.former, clock=life.clock)
                case _:
                    pass
        if life.state == "conditional" and self._holds(commitment.antecedent, self):
            return Life("active")
        return life

    def tick(self) -> None:
        """Let every running counter grow, close what is due, then settle."""
        for name, life in self.lives.items():
            commitment = self.model.commitment[name]
            due, verdict = None, ""
            if life.state == "active":
                due, verdict = commitment.within, "violated"
            elif life.state == "conditional":
                due, verdict = commitment.expires, "expired"
            if due is not None:
                clock = life.clock + 1
                self.lives[name] = Life(verdict) if clock >= due else life._replace(clock=clock)
        self.settle()
