"""Lookup of names of one expected kind: a role, a message, a commitment, a family, a variable."""

from __future__ import annotations

from collections.abc import Callable

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, suggestion
from cplc.language.lifecycle import CLAIM_PREDICATES, COMMITMENT_PREDICATES, STANDINGS
from cplc.semantics import resolved, types
from cplc.semantics.references import Deferred, Entity, References, Scope, ValueOf, kind_of
from cplc.semantics.types import Type, described
from cplc.syntax import ast

_COUNTERPARTS = {"fulfilled": "satisfied", "satisfied": "fulfilled"}
"""Pairs of words for the good end of commitments and of claims."""


class SymbolLookup:
    """Resolves names, and reports names of another kind."""

    def __init__(
        self, references: References, error: Callable[..., None], number: Callable[[ast.Expr, Scope], resolved.Tree]
    ) -> None:
        self._references = references
        self._error = error
        self._number = number

    def role(self, ref: ast.Ref, scope: Scope) -> resolved.RoleTree | None:
        match self._references.find(ref, scope):
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf(role=symbol):
                message = f"`{symbol.name}` is a family of roles; one of them is `{symbol.name}[1]`"
                self._error(rules.WRONG_INDICES, ref.span, message)
            case other:
                self._wrong_kind(ref, other, "a role")
        return None

    def roles(self, ref: ast.Ref, scope: Scope) -> resolved.RoleTree | resolved.AllOf | None:
        """Return one role or a family of them."""
        match self._references.find(ref, scope):
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf() as family:
                return family
            case other:
                self._wrong_kind(ref, other, "a role")
                return None

    def doer(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | resolved.RoleTree | None:
        """Return a message or a role, the operand of `does(…)` without a verb."""
        match self._references.find(ref, scope):
            case resolved.Instance(resolved.MessageSymbol()) as message:
                return message
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf(role=symbol):
                text = f"`{symbol.name}` is a family of roles, and a step is taken by one of them"
                variable = symbol.name[0].lower()
                member = f"exists {variable} in {ref.span.text}: does({variable})"
                hint = suggestion(f"write `{member}`", member)
                self._error(rules.WRONG_KIND, ref.span, text, hint)
            case resolved.Instance(resolved.CommitmentSymbol() | resolved.ClaimSymbol() as symbol):
                text = f"`{ref.span.text}` is {kind_of(symbol)}: say what is done with it"
                self._error(rules.WRONG_KIND, ref.span, text, Note(f"as in `does(create {ref.span.text})`"))
            case other:
                self._wrong_kind(ref, other, "a message or a role")
        return None

    def message(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope)
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.MessageSymbol):
            return entity
        self._wrong_kind(ref, entity, "a message")
        return None

    def messages(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | resolved.EveryInstance | None:
        """Return a message, or a family of them that is named without indices."""
        return self._references.family(ref, scope) or self.message(ref, scope)

    def agent(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope)
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.AgentSymbol):
            return entity
        self._wrong_kind(ref, entity, "an agent")
        return None

    def commitment(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope)
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.CommitmentSymbol):
            return entity
        self._wrong_kind(ref, entity, "a commitment")
        return None

    def claim(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope)
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.ClaimSymbol):
            return entity
        self._wrong_kind(ref, entity, "a claim")
        return None

    def obligation(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        """Return a commitment or a claim."""
        entity = self._references.find(ref, scope)
        if isinstance(entity, resolved.Instance) and isinstance(
            entity.symbol, resolved.CommitmentSymbol | resolved.ClaimSymbol
        ):
            return entity
        self._wrong_kind(ref, entity, "a commitment or a claim")
        return None

    def in_state(self, word: ast.Name, ref: ast.Ref, scope: Scope) -> tuple[resolved.Instance, frozenset[str]] | None:
        """Return the subject of a state predicate, and the lifecycle states of the predicate."""
        instance = self.obligation(ref, scope)
        if instance is None:
            return None
        states = (
            CLAIM_PREDICATES if isinstance(instance.symbol, resolved.ClaimSymbol) else COMMITMENT_PREDICATES
        ) | STANDINGS
        if word.text in states:
            return instance, states[word.text]
        message = f"`{ref.span.text}` is {kind_of(instance.symbol)}, which is never `{word.text}`"
        notes = [Note(f"ask whether it is `{counterpart}`")] if (counterpart := _COUNTERPARTS.get(word.text)) else []
        self._error(rules.WRONG_KIND, word.span, message, *notes, Note("it can be " + ", ".join(states)))
        return None

    def domain(self, domain: ast.Domain, scope: Scope) -> resolved.FamilyDomain | resolved.NumberDomain | None:
        if isinstance(domain, ast.Range):
            return resolved.NumberDomain(self._number(domain.low, scope), self._number(domain.high, scope))
        match self._references.find(domain, scope):
            case resolved.AllOf(role, _, owner, indices):
                return resolved.FamilyDomain(role, owner, indices)
            case ValueOf(_, types.Role(role)):
                self._error(rules.WRONG_KIND, domain.span, f"`{role.name}` is a single role, not a family")
            case other:
                self._wrong_kind(domain, other, "a family of roles or a range `1..n`")
        return None

    def assignable(self, ref: ast.Ref, scope: Scope) -> tuple[resolved.VariableOf, Type] | None:
        match self._references.find(ref, scope):
            case ValueOf(resolved.VariableOf() as variable, type_):
                return variable, type_
            case other:
                self._wrong_kind(ref, other, "a variable of a role")
                return None

    def _wrong_kind(self, ref: ast.Ref, entity: Entity, expected: str) -> None:
        match entity:
            case resolved.Instance(symbol):
                is_ = kind_of(symbol)
            case resolved.AllOf():
                is_ = "a family of roles"
            case ValueOf(_, type_):
                is_ = described(type_)
            case Deferred():
                is_ = "an expression"
            case _:
                return
        self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is {is_}, not {expected}")
