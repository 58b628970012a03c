"""Monitor variables for delegation loops: one token for each cycle of delegations follows one debt.

Definition. A debt begins where a commitment is created, or where another one is delegated `retaining` to it. A plain
delegation or assignment moves it to the target. One that retains hands it on too, and leaves it where it is, pending:
what the target owes is a debt of its own. A debt ends when its commitment is closed otherwise, and when a restart
takes it back. A *circle* is a strongly connected component of the graph of plain hand-overs with a cycle, or with a
commitment that is delegated `retaining` and may come back.

Claim. Some fair run hands one debt on infinitely often iff on some fair run the token of a circle is handed on
infinitely often. A token follows at most one debt, and never another one after it.
Proof. Chains of `retaining` are finite, so there is a least depth at which a debt is handed on infinitely often, with
nothing closed below it from some point on. The debt at that depth is only moved from there on, so it stays in one
component, and the token may be given to it when it enters. The converse holds since a token follows one debt.

A nondeterministic guess gives the token away; it is repeated whenever a debt enters the circle. A debt that has ended
leaves its token behind, and the next debt there drops it. Only the question reads these variables. The steps keep
their positions, and the projection of a run to the other variables is a run of the protocol.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from cplc.language.lifecycle import FORMER, HANDED_OVER, RULES
from cplc.logic.expressions import FALSE, Const, Expr, Read, conj, disj, equal, ite, negate
from cplc.records import dataclass
from cplc.system.commitments import Debts
from cplc.system.model import Operation, Step, System, Variable

_COMES_BACK = frozenset(state for rule in RULES if rule.target == FORMER for state in rule.successor)
"""Final states of a delegated commitment that return the debt to the debtor who retained it."""

_NOT_YET = "not yet"
_DROPPED = "given up"


@dataclass(frozen=True)
class Circle:
    """Commitments among which one debt may be handed on forever."""

    members: tuple[str, ...]

    @property
    def handed_on(self) -> Expr:
        """A bit that changes whenever the debt with the token is handed on."""
        return Read(self._named("handed on"))

    @property
    def token(self) -> str:
        """The variable of the commitment that carries the token."""
        return self._named("token")

    @property
    def guess(self) -> str:
        """The variable that selects the entering debt that gets the token at the next step; 0 for none."""
        return self._named("guess")

    def _named(self, role: str) -> str:
        return f"{role} {self.members[0]}"


def circles(system: System, debts: Debts) -> tuple[Circle, ...]:
    """Return all cycles of delegations."""
    names = [commitment.name for commitment in system.commitments]
    targets: dict[str, set[str]] = {name: set() for name in names}
    returning: set[str] = set()
    for operation in (operation for step in system.steps for operation in step.operations):
        if not _hands_over(operation) or operation.target is None:
            continue
        if not operation.retaining:
            targets[operation.commitment].add(operation.target)
        elif any(_may_fail(system, target) for target, _ in debts[operation.commitment].waits_for):
            returning.add(operation.commitment)
    reachable = {name: _reachable(name, targets) for name in names}
    components: dict[tuple[str, ...], None] = {}
    for name in names:
        together = tuple(other for other in names if other in reachable[name] and name in reachable[other])
        if together or name in returning:
            components[together or (name,)] = None
    return tuple(map(Circle, components))


def with_tokens(system: System, watched: Iterable[Circle]) -> System:
    """Add for each circle its token, the bit that it changes, and the guess that gives it away."""
    variables: list[Variable] = []
    steps = list(system.steps)
    for circle in watched:
        observed = [_Observation(circle, step) for step in system.steps]
        guesses = tuple(range(max((one.arrivals for one in observed), default=0) + 1))
        bit = _name(circle.handed_on)
        variables += [
            Variable(circle.token, (_NOT_YET, _DROPPED, *circle.members), (_NOT_YET,), "own", "Env", ""),
            Variable(circle.guess, guesses, guesses, "own", "Env", ""),
            Variable(bit, (False, True), (False,), "own", "Env", ""),
        ]
        for position, one in enumerate(observed):
            step = steps[position]
            free = (circle.guess,) if one.arrivals else ()
            steps[position] = replace(step, updates=step.updates + one.updates, free=step.free + free)
    return replace(system, variables=(*system.variables, *variables), steps=tuple(steps))


class _Observation:
    """The effect of one step on the token of a circle: its operations in the order of execution."""

    def __init__(self, circle: Circle, step: Step) -> None:
        self.circle = circle
        self.arrivals = 0
        """Number of debts that may enter the circle."""
        self._at: dict[str, Expr] = {name: equal(Read(circle.token), Const(name)) for name in circle.members}
        self._not_yet: Expr = equal(Read(circle.token), Const(_NOT_YET))
        self._handed: list[Expr] = []
        for operation in step.operations:
            self._perform(operation)

    @property
    def updates(self) -> tuple[tuple[str, Expr], ...]:
        """The updates of the monitor variables, over the state before the step."""
        carrier = ite(self._not_yet, Const(_NOT_YET), Const(_DROPPED))
        for name, here in self._at.items():
            carrier = ite(here, Const(name), carrier)
        plain = {name: equal(Read(self.circle.token), Const(name)) for name in self._at}
        bit, handed = self.circle.handed_on, disj(self._handed)
        moved = ((self.circle.token, carrier),) if self._at != plain else ()
        return (*moved, (_name(bit), ite(handed, negate(bit), bit))) if self._handed else moved

    def _perform(self, operation: Operation) -> None:
        at, when = self._at, operation.applicable
        moved: Expr = FALSE
        arriving = operation.commitment if operation.verb == "create" else None
        if _hands_over(operation):
            arriving = operation.target
            if operation.commitment in at:
                handed = conj((at[operation.commitment], when))
                self._handed.append(handed)
                if not operation.retaining:
                    moved, at[operation.commitment] = handed, conj((at[operation.commitment], negate(when)))
        if arriving not in at:
            return
        assert arriving is not None
        at[arriving] = conj((at[arriving], negate(when)))
        if _hands_over(operation) and not operation.retaining and operation.commitment in at:
            at[arriving] = disj((at[arriving], moved))
            return
        self.arrivals += 1
        given = conj((self._not_yet, when, equal(Read(self.circle.guess), Const(self.arrivals))))
        at[arriving] = disj((at[arriving], given))
        self._not_yet = conj((self._not_yet, negate(given)))


def _hands_over(operation: Operation) -> bool:
    return operation.verb in HANDED_OVER


def _may_fail(system: System, commitment: str) -> bool:
    return not _COMES_BACK.isdisjoint(map(str, system.variable[system.commitment[commitment].variable].domain))


def _reachable(start: str, targets: Mapping[str, set[str]]) -> frozenset[str]:
    """Return the commitments reachable by one or more delegations."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = targets[waiting.pop()] - reached
        reached |= new
        waiting += new
    return frozenset(reached)


def _name(bit: Expr) -> str:
    assert isinstance(bit, Read)
    return bit.variable
