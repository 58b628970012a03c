"""Dependencies of conditions: the commitments and claims that an event can affect."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from cplc.lowering.lifecycle import ObserverState
from cplc.lowering.lifecycle_analysis import LifecycleAnalysis, conditions_of, depends_on
from cplc.records import dataclass
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel, Claim, Commitment, Variable


@dataclass(frozen=True)
class ConditionDependencies:
    """An index from messages, variables, commitments and claims to the commitments and claims that depend on them."""

    lifecycles: LifecycleAnalysis

    @property
    def _model(self) -> CheckedModel:
        return self.lifecycles.model

    @cached_property
    def _mentions(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for life in self._model.commitments_and_claims:
            for name in dict.fromkeys(_names(conditions_of(life), self._model)):
                index.setdefault(name, []).append(life.name)
        return index

    @cached_property
    def _dependents(self) -> dict[str, list[str]]:
        index: dict[str, list[str]] = {}
        for life in self._model.commitments_and_claims:
            for other in depends_on(self.lifecycles, life.name):
                index.setdefault(other, []).append(life.name)
        return index

    @cached_property
    def always_affected(self) -> tuple[str, ...]:
        """Commitments and claims whose conditions can become true outside any effect; every effect checks them again.

        Such a condition reads a value that a sending or a restart elsewhere changes, or can become true when a message
        is reset.
        """
        return tuple(
            c.name
            for c in self._model.commitments_and_claims
            if self._changes_outside_effects(c) or self._depends_on_outer_content(c.name)
        )

    def is_stable(self, name: str) -> bool:
        """Return whether the atoms of a content about runs change only in steps that its monitor reads."""
        return name not in self._always_affected

    @cached_property
    def _always_affected(self) -> frozenset[str]:
        return frozenset(self.always_affected)

    def _depends_on_outer_content(self, name: str) -> bool:
        """Return whether its rules depend on a content that a restart may decide: no rules run after a restart."""
        return any(
            self._is_outside_a_restart(other)
            for other in depends_on(self.lifecycles, name)
            if other in self.lifecycles.contents
        )

    def _is_outside_a_restart(self, name: str) -> bool:
        return any(name in self.contents_outside(scope) for scope in self._restarting)

    def contents_outside(self, scope: str) -> tuple[str, ...]:
        """Return the contents about runs outside the scope, whose monitors read a restart of it."""
        inner_scopes = self.inner_scopes(scope) if self.lifecycles.contents else frozenset()
        return tuple(name for name in self.lifecycles.contents if self._declared(name).scope not in inner_scopes)

    def _declared(self, name: str) -> Commitment | Claim:
        return self._model.commitment.get(name) or self._model.claim[name]

    def _changes_outside_effects(self, commitment: Commitment | Claim) -> bool:
        about_runs = commitment.name in self.lifecycles.contents
        for number, term in enumerate(conditions_of(commitment)):
            for atom, helps in t.signed_atoms(term, self._model.meanings):
                # A content about runs may depend on its atoms in both directions.
                positive = helps and not (about_runs and (number or isinstance(commitment, Claim)))
                match atom:
                    case t.Sent() | t.InFlight():
                        return True
                    case t.Var(variable):
                        declared = self._model.variable[variable]
                        if variable in self._set_on_sending or self._variable_restarts_alone(declared, commitment):
                            return True
                    case t.Happened(message) | t.Field(message, _):
                        if not positive and self._may_be_reset(message, commitment):
                            return True
                    case t.InState(other) | t.Stands(other) if self._state_restarts_alone(other, commitment):
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
    def _enclosing(self) -> dict[str, tuple[str, ...]]:
        """Each scope to itself and the scopes that enclose it, innermost first."""
        lines: dict[str, tuple[str, ...]] = {}
        for scope in self._model.scopes:
            lines[scope.name] = (scope.name, *(lines[scope.parent] if scope.parent else ()))
        return lines

    def enclosing_scopes(self, scope: str) -> tuple[str, ...]:
        return self._enclosing[scope]

    def inner_scopes(self, scope: str) -> frozenset[str]:
        """Return the scope and the scopes inside it."""
        return frozenset(name for name, line in self._enclosing.items() if scope in line)

    def _may_be_reset(self, message: str, commitment: Commitment | Claim) -> bool:
        if message in self._reset:
            return True
        mine = self.enclosing_scopes(commitment.scope)
        return any(
            s in self._restarting and s not in mine for s in self.enclosing_scopes(self._model.message[message].scope)
        )

    def _state_restarts_alone(self, other: str, commitment: Commitment | Claim) -> bool:
        """Return whether some restart resets a commitment or claim, but not the one that reads its state."""
        mine = self.enclosing_scopes(commitment.scope)
        scopes = self.enclosing_scopes(self._declared(other).scope)
        return any(s in self._restarting and s not in mine for s in scopes)

    def restarts(self, scope: str, variable: Variable) -> bool:
        """Return whether a restart of the scope resets the variable: of a part inside, or of a role bound there."""
        if variable.scope:
            return scope in self.enclosing_scopes(variable.scope)
        return variable.role in self._roles[scope]

    @cached_property
    def _roles(self) -> dict[str, frozenset[str]]:
        return {scope.name: frozenset(scope.roles) for scope in self._model.scopes}

    def _variable_restarts_alone(self, variable: Variable, commitment: Commitment | Claim) -> bool:
        mine = self.enclosing_scopes(commitment.scope)
        return any(scope not in mine and self.restarts(scope, variable) for scope in self._restarting)

    def affected(self, changed: Iterable[str], observer_state: ObserverState) -> list[str]:
        """Return the commitments and claims to check after the operations changed these messages and variables."""
        affected = dict.fromkeys((*observer_state.dirty, *self.always_affected))
        for name in changed:
            affected.update(dict.fromkeys(self._mentions.get(name, ())))
        pending = [*affected, *observer_state.touched]
        # Invariant: the dependents of each affected name that is not pending are affected.
        while pending:
            for dependent in self._dependents.get(pending.pop(), ()):
                if dependent not in affected:
                    affected[dependent] = None
                    pending.append(dependent)
        return sorted(affected, key=self._position.__getitem__)

    @cached_property
    def _position(self) -> dict[str, int]:
        """The position of each commitment and claim in the protocol."""
        return {life.name: rank for rank, life in enumerate(self._model.commitments_and_claims)}


def _names(terms: Iterable[t.Term], model: CheckedModel) -> Iterator[str]:
    """Yield the messages and variables in the terms."""
    for term in terms:
        for atom, _ in t.signed_atoms(term, model.meanings):
            match atom:
                case t.Happened(name) | t.Sent(name) | t.InFlight(name) | t.Field(name, _) | t.Var(name):
                    yield name
                case _:
                    pass
