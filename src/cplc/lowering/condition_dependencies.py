"""Which commitments and claims an event can move: those whose conditions look at what it changes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from cplc.lowering.lifecycle import Ledger
from cplc.lowering.lifecycle_analysis import Book, conditions_of, depends_on
from cplc.records import dataclass
from cplc.semantics.model import CheckedModel, Claim, Commitment, Variable
from cplc.semantics.terms import Apply, FactRef, Field, Happened, InFlight, InState, Sent, Stands, Term, Var


@dataclass(frozen=True)
class Dependence:
    """An index from messages, variables, commitments and claims to those whose conditions mention them."""

    book: Book

    @property
    def _model(self) -> CheckedModel:
        return self.book.model

    @cached_property
    def _mentions(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for life in self._model.lives:
            for name in dict.fromkeys(_names(conditions_of(life), self._model)):
                index.setdefault(name, []).append(life.name)
        return index

    @cached_property
    def _dependents(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for life in self._model.lives:
            for other in depends_on(self.book, life.name):
                index.setdefault(other, []).append(life.name)
        return index

    @cached_property
    def stale(self) -> tuple[str, ...]:
        """Commitments whose conditions can come true outside any effect; every effect looks at them again.

        That is so where a condition reads what a sending or a restart elsewhere changes, or can become true
        because a message is reset.
        """
        return tuple(c.name for c in self._model.lives if self._can_go_stale(c) or self._follows_a_restart(c.name))

    def is_stable(self, name: str) -> bool:
        """Whether what a content about runs mentions changes only where the monitors look."""
        return name not in self._stale

    @cached_property
    def _stale(self) -> frozenset[str]:
        return frozenset(self.stale)

    def _follows_a_restart(self, name: str) -> bool:
        """Whether its rules look at a commitment about runs that a restart may decide; no rules run then."""
        return any(self._outlasts(other) for other in depends_on(self.book, name) if other in self.book.contents)

    def _outlasts(self, name: str) -> bool:
        return any(name in self.outlasting(scope) for scope in self._restarting)

    def outlasting(self, scope: str) -> tuple[str, ...]:
        """Return the commitments about runs that a restart of the scope is an event for: those outside of it."""
        inside = self.inside(scope) if self.book.contents else frozenset()
        return tuple(name for name in self.book.contents if self._declared(name).scope not in inside)

    def _declared(self, name: str) -> Commitment | Claim:
        return self._model.commitment.get(name) or self._model.claim[name]

    def _can_go_stale(self, commitment: Commitment | Claim) -> bool:
        about_runs = commitment.name in self.book.contents
        for number, term in enumerate(conditions_of(commitment)):
            for atom, helps in _atoms(term, self._model, True):
                # What a content about runs mentions may matter in both directions.
                positive = helps and not (about_runs and (number or isinstance(commitment, Claim)))
                match atom:
                    case Sent() | InFlight():
                        return True
                    case Var(variable):
                        declared = self._model.variable[variable]
                        if variable in self._set_on_sending or self._restarted_alone(declared, commitment):
                            return True
                    case Happened(message) | Field(message, _):
                        if not positive and self._can_vanish(message, commitment):
                            return True
                    case InState(other) | Stands(other) if self._begins_anew(other, commitment):
                        return True
                    case _:
                        pass
        return False

    @cached_property
    def _set_on_sending(self) -> frozenset[str]:
        return frozenset(update.variable for message in self._model.messages for update in message.updates)

    @cached_property
    def _reset(self) -> frozenset[str]:
        return frozenset(name for message in self._model.messages for name in message.resets)

    @cached_property
    def _restarting(self) -> frozenset[str]:
        return frozenset(message.scope for message in self._model.messages if message.restarts)

    @cached_property
    def _lineage(self) -> dict[str, tuple[str, ...]]:
        """Every scope to itself and all those around it."""
        lines: dict[str, tuple[str, ...]] = {}
        for scope in self._model.scopes:
            lines[scope.name] = (scope.name, *(lines[scope.parent] if scope.parent else ()))
        return lines

    def around(self, scope: str) -> tuple[str, ...]:
        return self._lineage[scope]

    def inside(self, scope: str) -> frozenset[str]:
        """Return the scope and all that it contains."""
        return frozenset(name for name, line in self._lineage.items() if scope in line)

    def _can_vanish(self, message: str, commitment: Commitment | Claim) -> bool:
        if message in self._reset:
            return True
        mine = self.around(commitment.scope)
        return any(s in self._restarting and s not in mine for s in self.around(self._model.message[message].scope))

    def _begins_anew(self, other: str, commitment: Commitment | Claim) -> bool:
        """Whether a restart takes back a commitment or claim without taking back the one that looks at it."""
        mine = self.around(commitment.scope)
        scopes = self.around(self._declared(other).scope)
        return any(s in self._restarting and s not in mine for s in scopes)

    def restarts(self, scope: str, variable: Variable) -> bool:
        """Whether a restart of the scope takes the variable back, as a part's own or that of a role it binds."""
        if variable.scope:
            return scope in self.around(variable.scope)
        return variable.role in self._roles[scope]

    @cached_property
    def _roles(self) -> dict[str, frozenset[str]]:
        return {scope.name: frozenset(scope.roles) for scope in self._model.scopes}

    def _restarted_alone(self, variable: Variable, commitment: Commitment | Claim) -> bool:
        mine = self.around(commitment.scope)
        return any(scope not in mine and self.restarts(scope, variable) for scope in self._restarting)

    def to_settle(self, changed: Iterable[str], ledger: Ledger) -> list[str]:
        """Return whom to look at when these messages and variables changed and the ledger has done its operations."""
        found = dict.fromkeys((*ledger.unsettled, *self.stale))
        for name in changed:
            found.update(dict.fromkeys(self._mentions.get(name, ())))
        pending = [*found, *ledger.touched]
        while pending:
            for dependent in self._dependents.get(pending.pop(), ()):
                if dependent not in found:
                    found[dependent] = None
                    pending.append(dependent)
        return sorted(found, key=self._rank.__getitem__)

    @cached_property
    def _rank(self) -> dict[str, int]:
        """Each commitment and claim to its place in the protocol."""
        return {life.name: rank for rank, life in enumerate(self._model.lives)}


def _names(terms: Iterable[Term], model: CheckedModel) -> Iterator[str]:
    """Yield the messages and variables that occur."""
    for term in terms:
        for atom, _ in _atoms(term, model, True):
            match atom:
                case Happened(name) | Sent(name) | InFlight(name) | Field(name, _) | Var(name):
                    yield name
                case _:
                    pass


def _atoms(term: Term, model: CheckedModel, positive: bool) -> Iterator[tuple[Term, bool]]:
    """Yield the atoms, each with whether it only ever helps to make the term true."""
    match term:
        case FactRef(fact):
            yield from _atoms(model.fact[fact].meaning, model, positive)
        case Apply("!", (operand,)):
            yield from _atoms(operand, model, not positive)
        case Apply("&" | "|", operands):
            for operand in operands:
                yield from _atoms(operand, model, positive)
        case Apply("->", (left, right)):
            yield from _atoms(left, model, not positive)
            yield from _atoms(right, model, positive)
        case Apply("<->", operands):
            for operand in operands:
                yield from _atoms(operand, model, False)
                yield from _atoms(operand, model, True)
        case Apply(_, operands):
            for operand in operands:
                yield from _comparands(operand, model, positive)
        case _:
            yield term, positive


def _comparands(term: Term, model: CheckedModel, positive: bool) -> Iterator[tuple[Term, bool]]:
    """Yield the atoms of a compared value: a payload that vanishes makes the comparison false, a flag may not."""
    match term:
        case Field():
            yield term, positive
        case Apply(_, operands):
            for operand in operands:
                yield from _comparands(operand, model, positive)
        case _:
            for atom, _ in _atoms(term, model, True):
                yield atom, False
