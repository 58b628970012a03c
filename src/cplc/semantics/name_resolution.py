"""Resolution of dotted, indexed names in a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import zip_longest

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, Replacement, did_you_mean, suggestion
from cplc.language.lifecycle import CLAIM_PREDICATES, COMMITMENT_PREDICATES, STANDINGS
from cplc.records import dataclass
from cplc.semantics import resolved, types
from cplc.semantics.name_hints import (
    Place,
    closest_name,
    listed,
    messages_with_field,
    names_of_place,
    owners_of_variable,
    predicate_form,
    variable_elsewhere,
)
from cplc.semantics.types import BOOL, INT, Enum, Key, Role, Type, described
from cplc.source import Span
from cplc.syntax import ast


@dataclass(frozen=True, slots=True)
class Argument:
    """The argument of a macro's parameter: an expression with the scope of the macro's use."""

    expr: ast.Expr
    scope: Scope
    span: Span
    """The declaration of the parameter."""


@dataclass(frozen=True, slots=True)
class AnyArgument:
    """A macro's parameter while the macro is checked by itself."""

    span: Span


@dataclass(frozen=True, slots=True)
class OwnLocal:
    """A parameter of the message whose clauses are read."""

    type: Type
    span: Span


Local = resolved.Binder | OwnLocal | Argument | AnyArgument


@dataclass(frozen=True, slots=True)
class Scope:
    """The names visible to an expression: local ones first, then those of the protocol."""

    unit: int
    signature: resolved.Signature | None
    chain: resolved.Chain = ()
    locals: Mapping[str, Local] = field(default_factory=dict)
    actor: tuple[resolved.RoleTree, resolved.RoleSymbol] | None = None
    """The role whose variables need no qualification."""

    def with_local(self, name: str, local: Local) -> Scope:
        return Scope(self.unit, self.signature, self.chain, {**self.locals, name: local}, self.actor)

    def names(self) -> Iterable[str]:
        yield from self.locals
        if self.signature:
            yield from self.signature.parameters
            yield from self.signature.keys
            yield from self.signature.symbols
        if self.actor:
            yield from self.actor[1].variables

    def declares(self, name: str) -> bool:
        return name in self.names()

    def declaration(self, name: str) -> tuple[str, Span] | None:
        """Return what kind of thing a name stands for, and the place of its declaration; None if it is not declared."""
        if (local := self.locals.get(name)) is not None:
            kind = "the variable of a loop or quantifier" if isinstance(local, resolved.Binder) else "a parameter"
            return kind, local.span
        if self.signature and (parameter := self.signature.parameters.get(name)):
            return f"a parameter of `{self.signature.name}`", parameter.span
        if self.signature and (symbol := self.signature.symbols.get(name)):
            return kind_of(symbol), symbol.span
        if self.actor and (variable := self.actor[1].variables.get(name)):
            return f"a variable of `{self.actor[1].name}`", variable.span
        return None


# --- entities -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueOf:
    tree: resolved.Tree
    type: Type


@dataclass(frozen=True, slots=True)
class Deferred:
    """A macro's argument that is no name."""

    expr: ast.Expr
    scope: Scope


@dataclass(frozen=True, slots=True)
class Nothing:
    """An unresolved name: reported, or a macro's parameter while the macro is checked by itself."""


NOTHING = Nothing()
Entity = ValueOf | resolved.Instance | resolved.AllOf | Deferred | Nothing


@dataclass(frozen=True, slots=True)
class _Segment:
    name: ast.Name
    indices: tuple[tuple[ast.Expr, Scope], ...]


def kind_of(symbol: resolved.Symbol) -> str:
    match symbol:
        case resolved.RoleSymbol(size=None):
            return "a role"
        case resolved.RoleSymbol():
            return "a family of roles"
        case resolved.MessageSymbol():
            return "a message"
        case resolved.FactSymbol():
            return "a fact"
        case resolved.CommitmentSymbol():
            return "a commitment"
        case resolved.ClaimSymbol():
            return "a claim"
        case resolved.PartSymbol():
            return "a used protocol"
        case resolved.AgentSymbol():
            return "an agent"


class References:
    """Resolves names, and records which were used."""

    def __init__(
        self,
        error: Callable[..., None],
        number: Callable[[ast.Expr, Scope], resolved.Tree],
        key: Callable[[ast.Expr, Scope, str], resolved.Tree],
        macro_known: Callable[[str, Scope], bool],
    ) -> None:
        self._error = error
        self._number = number
        self._key = key
        self._macro_known = macro_known
        self.used: set[object] = set()
        self.contested: set[resolved.Symbol] = set()
        """Symbols whose names are declared again as another kind, so that uses of them are not reported."""
        self.places: dict[Span, Span] = {}
        """Occurrences of names, and the declarations that they refer to."""

    def refer(self, name: Span, declared: Span) -> None:
        """Record the declaration of a name. For a name in a macro, the last use counts."""
        self.places[name] = declared

    def find(self, ref: ast.Ref, scope: Scope, place: Place = "condition") -> Entity:
        """Return the entity of a name; of an unknown one, report the closest name that fits the place."""
        segments = [_Segment(s.name, tuple((index, scope) for index in s.indices)) for s in ref.segments]
        span = ref.span
        while isinstance(local := scope.locals.get(segments[0].name.text), Argument):
            first, *rest = segments
            self.refer(first.name.span, local.span)
            if not isinstance(local.expr, ast.Ref):
                if first.indices or rest:
                    self._error(rules.WRONG_KIND, span, f"`{first.name.text}` stands for an expression, not for a name")
                    return NOTHING
                return Deferred(local.expr, local.scope)
            scope = local.scope
            span = local.expr.span
            given = [_Segment(s.name, tuple((index, scope) for index in s.indices)) for s in local.expr.segments]
            given[-1] = _Segment(given[-1].name, given[-1].indices + first.indices)
            segments = given + rest
        return self._from(segments, scope, span, place)

    def family(self, ref: ast.Ref, scope: Scope) -> resolved.EveryInstance | None:
        """Return the family of messages that a name without indices denotes; None if it denotes something else."""
        names = [segment.name for segment in ref.segments]
        signature = scope.signature
        if signature is None or names[0].text in scope.locals or any(segment.indices for segment in ref.segments):
            return None
        owner: list[resolved.PartSymbol] = []
        symbol = signature.symbols.get(names[0].text)
        for name in names[1:]:
            if not isinstance(symbol, resolved.PartSymbol):
                return None
            owner.append(symbol)
            symbol = symbol.signature.symbols.get(name.text)
        if not isinstance(symbol, resolved.MessageSymbol):
            return None
        outer = owner[0].chain if owner else symbol.chain
        loops = [binder for part in owner for binder in part.chain] + list(symbol.chain)
        if not loops or (outer and scope.chain[: len(outer)] == outer):
            return None
        self.used.add(owner[0] if owner else symbol)
        return resolved.EveryInstance(symbol, tuple(owner), ref.span)

    def key_named(self, ref: ast.Ref, scope: Scope) -> resolved.Binder | None:
        """Return the key of a block that a name denotes as the domain of a quantifier."""
        first = ref.segments[0]
        if scope.signature is None or len(ref.segments) > 1 or first.indices:
            return None
        binder = scope.signature.keys.get(first.name.text)
        if binder is None or scope.locals.get(first.name.text, binder) is not binder:
            return None
        self.used.add(binder)
        self.refer(first.name.span, binder.span)
        return binder

    def _from(self, segments: Sequence[_Segment], scope: Scope, span: Span, place: Place) -> Entity:
        head = segments[0]
        name = head.name.text
        local = scope.locals.get(name)
        signature = scope.signature
        if local is not None:
            self.refer(head.name.span, local.span)
        if isinstance(local, AnyArgument):
            return NOTHING
        if isinstance(local, resolved.Binder):
            self.used.add(local)
            if isinstance(local.domain, resolved.KeyDomain):
                is_bare = self._bare(segments, "a key")
                return ValueOf(resolved.LoopValue(local), Key(local.domain.name)) if is_bare else NOTHING
            if isinstance(local.domain, resolved.NumberDomain):
                return ValueOf(resolved.LoopValue(local), INT) if self._bare(segments, "a number") else NOTHING
            return self._of_role(resolved.LoopValue(local), local.domain.role, segments, scope, span)
        if isinstance(local, OwnLocal):
            kind = "a parameter of the message"
            return ValueOf(resolved.OwnParameter(name), local.type) if self._bare(segments, kind) else NOTHING
        if signature and (parameter := signature.parameters.get(name)):
            self.used.add(parameter)
            self.refer(head.name.span, parameter.span)
            if not self._bare(segments, "a parameter"):
                return NOTHING
            return ValueOf(resolved.ParameterValue(name), parameter.declared.type)
        if signature and (symbol := signature.symbols.get(name)):
            return self._of_symbol(symbol, segments, scope, span)
        if scope.actor and (variable := scope.actor[1].variables.get(name)):
            self.used.add(variable)
            self.refer(head.name.span, variable.span)
            if (not variable.chain or len(segments) > 1) and not self._bare(segments, "a variable"):
                return NOTHING
            key = None if not variable.chain else self._completed((), variable.chain, head.indices, scope, span)
            if variable.chain and key is None:
                return NOTHING
            tree = resolved.VariableOf(scope.actor[0], name, span, None if key is None else key[0][0])
            return ValueOf(tree, variable.declared.type)
        if signature and name in signature.keys:
            note = suggestion(f"say of which in a formula: `forall o in {name}: …`, or write this in its block", name)
            self._error(rules.WRONG_KIND, span, f"`{name}` is a key, which has a value in its block only", note)
            return NOTHING
        if name == "terminal" and len(segments) == 1 and not head.indices:
            return ValueOf(resolved.IsTerminal(span), BOOL)
        self._unknown(head.name, scope, place, member=segments[1].name.text if len(segments) > 1 else None)
        return NOTHING

    def _unknown(self, name: ast.Name, scope: Scope, place: Place, *, member: str | None) -> None:
        is_dotted = member is not None
        owners = [] if is_dotted else owners_of_variable(name.text, scope.signature)
        if owners:
            actor = None if scope.actor is None else scope.actor[1]
            message, notes = variable_elsewhere(name.text, owners, actor, place)
            self._error(rules.UNKNOWN_NAME, name.span, message, *notes)
            return
        notes = closest_name(name.text, place, scope.names(), scope.signature, is_dotted=is_dotted)
        if name.text == "Env":
            notes = (Note("`Env` is the environment, not a role"),)
        elif self._macro_known(name.text, scope):
            notes = (Note(f"`{name.text}` is a macro: write its arguments in parentheses after it"),)
        elif member_of := _enumeration_with(name.text, scope.signature):
            notes = (Note(f"`{name.text}` is a value of `{member_of}`: compare it with a value of that type"),)
        elif not notes and member is not None and (holders := messages_with_field(member, scope.signature)):
            notes = (suggestion(f"`{member}` is a field of {listed(holders)}", *holders),)
        elif not notes and member is None and (holders := messages_with_field(name.text, scope.signature)):
            fields = [f"{holder}.{name.text}" for holder in holders]
            notes = (suggestion(f"`{name.text}` is a field of {listed(holders)}: write {listed(fields)}", *fields),)
        elif not notes and (names := names_of_place(place, scope.signature)):
            notes = (Note(names),)
        elif not notes and scope.signature is None:
            notes = (Note("a macro at the top of a file can use only its parameters and other macros"),)
        message = f"Nothing here is called `{name.text}`"
        self._error(rules.UNKNOWN_NAME, name.span, message, *notes, arguments=(("undeclared", name.text),))

    def _bare(self, segments: Sequence[_Segment], kind: str) -> bool:
        """Report indices and further names behind something that has none."""
        name = segments[0].name
        if segments[0].indices:
            self._error(rules.WRONG_INDICES, name.span, f"`{name.text}` is {kind} and takes no index")
            return False
        if len(segments) > 1:
            inner = segments[1].name
            self._error(rules.UNKNOWN_NAME, inner.span, f"`{name.text}` is {kind}; it has no `{inner.text}`")
            return False
        return True

    def _of_symbol(self, symbol: resolved.Symbol, segments: Sequence[_Segment], scope: Scope, span: Span) -> Entity:
        """Resolve the names of parts, then the remaining segments."""
        owner: tuple[resolved.PartSymbol, ...] = ()
        indices = list(segments[0].indices)
        position = 0
        self.used.add(symbol)
        self.refer(segments[0].name.span, symbol.span)
        while isinstance(symbol, resolved.PartSymbol) and position + 1 < len(segments):
            owner += (symbol,)
            position += 1
            inside = symbol.signature.symbols
            name = segments[position].name
            if name.text not in inside:
                notes = did_you_mean(name.text, inside)
                self._error(rules.UNKNOWN_NAME, name.span, f"`{symbol.name}` declares no `{name.text}`", *notes)
                return NOTHING
            symbol = inside[name.text]
            self.refer(name.span, symbol.span)
            if not isinstance(symbol, resolved.RoleSymbol):
                indices.extend(segments[position].indices)
        rest = list(segments[position:])
        if isinstance(symbol, resolved.RoleSymbol):
            if owner:
                own = len(rest[0].indices) - (1 if symbol.is_family and rest[0].indices else 0)
                indices.extend(rest[0].indices[:own])
                rest = [_Segment(rest[0].name, rest[0].indices[own:]), *rest[1:]]
            outer = self._completed(owner, (), indices if owner else [], scope, span)
            return NOTHING if outer is None else self._of_declared_role(symbol, owner, outer[0], rest, scope, span)
        completed = self._completed(owner, symbol.chain, indices, scope, span)
        if completed is None:
            return NOTHING
        instance = resolved.Instance(symbol, owner, *completed, span)
        if len(rest) == 1:
            return instance
        inner = rest[1].name
        if isinstance(symbol, resolved.MessageSymbol) and len(rest) == 2 and not rest[1].indices:
            if inner.text in symbol.parameters:
                self.refer(inner.span, next(p.name.span for p in symbol.node.parameters if p.name.text == inner.text))
                return ValueOf(resolved.Payload(instance, inner.text, span), symbol.parameters[inner.text].type)
            notes = did_you_mean(inner.text, symbol.parameters)
            message = f"`{symbol.name}` has no parameter `{inner.text}`"
        else:
            notes = ()
            message = f"`{symbol.name}` is {kind_of(symbol)}; it has no `{inner.text}`"
        is_last = len(rest) == 2 and not rest[1].indices
        if is_last and (form := predicate_form(symbol, span, inner.text)) is not None:
            hint = Note(f"did you mean `{form}`?", None, "hint", (Replacement(form, "certain"),))
            self._error(rules.WRONG_KIND, span, message, hint)
        else:
            self._error(rules.UNKNOWN_NAME, inner.span, message, *notes)
        return NOTHING

    def _completed(
        self,
        owner: tuple[resolved.PartSymbol, ...],
        chain: resolved.Chain,
        given: Sequence[tuple[ast.Expr, Scope]],
        scope: Scope,
        span: Span,
    ) -> tuple[tuple[resolved.Tree, ...], bool] | None:
        """Return all indices, those of the loops around included, and whether none was written."""
        total = tuple(binder for part in owner for binder in part.chain) + chain
        outer = owner[0].chain if owner else chain
        inner = total if len(given) == len(total) else total[len(outer) :]
        written = tuple(
            self._key(index, index_scope, binder.domain.name)
            if binder is not None and isinstance(binder.domain, resolved.KeyDomain)
            else self._number(index, index_scope)
            for (index, index_scope), binder in zip_longest(given, inner[: len(given)])
        )
        if len(written) == len(total):
            return written, not written
        if len(written) == len(total) - len(outer) and scope.chain[: len(outer)] == outer:
            return tuple(resolved.LoopValue(binder) for binder in outer) + written, not written
        shape = f"{span.text.split('[')[0]}[{', '.join(binder.name for binder in total)}]"
        needs = f"needs {_count(len(total), 'index', 'indices')}" if total else "takes no index"
        has = f", {len(written)} written" if written and total else ""
        notes = (suggestion(f"write `{shape}`", shape),) if total else ()
        if (outside := [binder for binder in total if binder.name not in scope.locals]) and not written:
            notes = (_in_loops(span.text.split("[")[0], shape, outside, len(total)),)
        self._error(rules.WRONG_INDICES, span, f"`{span.text}` {needs}{has}", *notes)
        return None

    def _of_declared_role(
        self,
        role: resolved.RoleSymbol,
        owner: tuple[resolved.PartSymbol, ...],
        outer: tuple[resolved.Tree, ...],
        rest: Sequence[_Segment],
        scope: Scope,
        span: Span,
    ) -> Entity:
        indices = rest[0].indices
        index_count = 1 if role.is_family else 0
        if not indices and index_count and len(rest) == 1:
            return resolved.AllOf(role, span, owner, outer)
        if len(indices) != index_count:
            needs = "needs one index" if index_count else "is a single role and takes no index"
            self._error(rules.WRONG_INDICES, rest[0].name.span, f"`{role.name}` {needs}")
            return NOTHING
        index = self._number(*indices[0]) if indices else None
        return self._of_role(resolved.RoleAt(role, index, span, owner, outer), role, rest, scope, span)

    def _of_role(
        self,
        role: resolved.RoleTree,
        symbol: resolved.RoleSymbol,
        segments: Sequence[_Segment],
        scope: Scope,
        span: Span,
    ) -> Entity:
        if isinstance(role, resolved.LoopValue) and segments[0].indices:
            name = segments[0].name
            self._error(rules.WRONG_INDICES, name.span, f"`{name.text}` is one role already and takes no index")
            return NOTHING
        if len(segments) == 1:
            return ValueOf(role, Role(symbol))
        name = segments[1].name
        variable = symbol.variables.get(name.text) if len(segments) == 2 else None
        if variable is not None and (variable.chain or not segments[1].indices):
            self.used.add(variable)
            self.refer(name.span, variable.span)
            key = None
            if variable.chain:
                completed = self._completed((), variable.chain, segments[1].indices, scope, span)
                if completed is None:
                    return NOTHING
                key = completed[0][0]
            return ValueOf(resolved.VariableOf(role, name.text, span, key), variable.declared.type)
        notes = did_you_mean(name.text, symbol.variables)
        self._error(rules.UNKNOWN_NAME, name.span, f"`{symbol.name}` has no variable `{name.text}`", *notes)
        return NOTHING


def record_of(role: resolved.RoleTree | resolved.AllOf | None) -> resolved.RoleSymbol | None:
    """Return the record that a role or a member of a family is declared as; None for a role with a will."""
    match role:
        case (
            resolved.RoleAt(symbol)
            | resolved.AllOf(symbol)
            | resolved.LoopValue(resolved.Binder(_, resolved.FamilyDomain(symbol)))
        ) if symbol.is_record:
            return symbol
        case _:
            return None


def _count(number: int, one: str, plural: str) -> str:
    return f"{number} {one if number == 1 else plural}"


def _enumeration_with(member: str, signature: resolved.Signature | None) -> str | None:
    for role in signature.roles if signature else ():
        for variable in role.variables.values():
            if isinstance(variable.declared.type, Enum) and member in variable.declared.type.members:
                return f"{role.name}.{variable.name}"
    return None


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
        match self._references.find(ref, scope, "role"):
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf(role=symbol):
                message = f"`{symbol.name}` is a family of roles; one of them is `{symbol.name}[1]`"
                self._error(rules.WRONG_INDICES, ref.span, message)
            case other:
                self._wrong_kind(ref, other, "a role")
        return None

    def is_role(self, ref: ast.Ref, scope: Scope) -> bool:
        """Return whether the name begins with that of a role or of a loop's role, without reporting anything."""
        name = ref.segments[0].name.text
        symbol = scope.locals.get(name) or (None if scope.signature is None else scope.signature.symbols.get(name))
        return isinstance(symbol, resolved.RoleSymbol) or (
            isinstance(symbol, resolved.Binder) and isinstance(symbol.domain, resolved.FamilyDomain)
        )

    def roles(self, ref: ast.Ref, scope: Scope) -> resolved.RoleTree | resolved.AllOf | None:
        """Return one role or a family of them."""
        match self._references.find(ref, scope, "role"):
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf() as family:
                return family
            case other:
                self._wrong_kind(ref, other, "a role")
                return None

    def refuse_records(
        self, roles: Iterable[resolved.RoleTree | resolved.AllOf | None], why: str, place: Span | None = None
    ) -> None:
        """Report each record where a role with a will is meant; a variable of a loop at ``place``."""
        for role in roles:
            if role is not None and (record := record_of(role)) is not None:
                span = (place or role.binder.span) if isinstance(role, resolved.LoopValue) else role.span
                hint = Note(f"declare it as a role, `role {record.name}`, if it decides for itself", record.span)
                self._error(rules.WRONG_KIND, span, f"`{record.name}` is a record: it {why}", hint)

    def side(self, party: ast.Party, scope: Scope) -> resolved.Side | None:
        """Return the roles of one side of a commitment; a family stands for all its members."""
        refs = party.members if isinstance(party, ast.Group) else (party,)
        roles = [self.roles(ref, scope) for ref in refs]
        resolved_roles = tuple(one for one in roles if one is not None)
        if len(resolved_roles) < len(roles) or not resolved_roles:
            return None
        answerable = (party.answerable if isinstance(party, ast.Group) else None) or "all"
        return resolved.Side(resolved_roles, answerable, party.span)

    def doer(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | resolved.RoleTree | None:
        """Return a message or a role, the operand of `does(…)` without a verb."""
        match self._references.find(ref, scope, "message or role"):
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

    def assumed(
        self, ref: ast.Ref, scope: Scope
    ) -> resolved.RoleTree | resolved.AllOf | resolved.Instance | resolved.EveryInstance | None:
        """Return the roles or messages that are assumed to make progress."""
        if every := self._references.family(ref, scope):
            return every
        match self._references.find(ref, scope, "message or role"):
            case ValueOf(resolved.RoleAt() | resolved.LoopValue() as role, types.Role()):
                return role
            case resolved.AllOf() | resolved.Instance(resolved.MessageSymbol()) as several:
                return several
            case other:
                self._wrong_kind(ref, other, "a role or a message")
                return None

    def message(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope, "message")
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.MessageSymbol):
            return entity
        self._wrong_kind(ref, entity, "a message")
        return None

    def messages(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | resolved.EveryInstance | None:
        """Return a message, or a family of them that is named without indices."""
        return self._references.family(ref, scope) or self.message(ref, scope)

    def agent(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope, "agent")
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.AgentSymbol):
            return entity
        self._wrong_kind(ref, entity, "an agent")
        return None

    def commitment(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope, "commitment")
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.CommitmentSymbol):
            return entity
        self._wrong_kind(ref, entity, "a commitment")
        return None

    def claim(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        entity = self._references.find(ref, scope, "claim")
        if isinstance(entity, resolved.Instance) and isinstance(entity.symbol, resolved.ClaimSymbol):
            return entity
        self._wrong_kind(ref, entity, "a claim")
        return None

    def obligation(self, ref: ast.Ref, scope: Scope) -> resolved.Instance | None:
        """Return a commitment or a claim."""
        entity = self._references.find(ref, scope, "commitment or claim")
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
        if instance.symbol in self._references.contested:
            return None
        message = f"`{ref.span.text}` is {kind_of(instance.symbol)}, which is never `{word.text}`"
        notes = [Note(f"ask whether it is `{counterpart}`")] if (counterpart := _COUNTERPARTS.get(word.text)) else []
        self._error(rules.WRONG_KIND, word.span, message, *notes, Note("it can be " + ", ".join(states)))
        return None

    def domain(
        self, domain: ast.Domain, scope: Scope
    ) -> resolved.FamilyDomain | resolved.NumberDomain | resolved.KeyDomain | None:
        if isinstance(domain, ast.Range):
            return resolved.NumberDomain(self._number(domain.low, scope), self._number(domain.high, scope))
        if (binder := self._references.key_named(domain, scope)) is not None:
            return resolved.KeyDomain(binder.name)
        match self._references.find(domain, scope, "family"):
            case resolved.AllOf(role, _, owner, indices):
                return resolved.FamilyDomain(role, owner, indices)
            case ValueOf(_, types.Role(role)):
                family = Note(f"`role {role.name}[n]` declares a family; of one role, say it without a loop")
                self._error(rules.WRONG_KIND, domain.span, f"`{role.name}` is a single role, not a family", family)
            case other:
                self._wrong_kind(domain, other, "a family of roles or a range `1..n`")
        return None

    def assignable(self, ref: ast.Ref, scope: Scope) -> tuple[resolved.VariableOf, Type] | None:
        match self._references.find(ref, scope, "variable"):
            case ValueOf(resolved.VariableOf() as variable, type_):
                return variable, type_
            case other:
                self._wrong_kind(ref, other, "a variable of a role")
                return None

    def _wrong_kind(self, ref: ast.Ref, entity: Entity, expected: str) -> None:
        match entity:
            case resolved.Instance(symbol) if symbol in self._references.contested:
                return
            case resolved.Instance(symbol):
                is_ = kind_of(symbol)
            case resolved.AllOf():
                is_ = "a family of roles"
            case ValueOf(resolved.LoopValue(resolved.Binder(_, resolved.NumberDomain(low, high)))) if (low, high) == (
                resolved.LiteralTree(1),
                resolved.LiteralTree(0),
            ):
                return  # the domain of its loop is wrong, and reported
            case ValueOf(_, type_):
                is_ = described(type_)
            case Deferred():
                is_ = "an expression"
            case _:
                return
        self._error(rules.WRONG_KIND, ref.span, f"`{ref.span.text}` is {is_}, not {expected}")


def _in_loops(name: str, shape: str, binders: Sequence[resolved.Binder], indices: int) -> Note:
    """Return the note that an indexed name stands inside loops over the binders, or names one instance."""
    one = f"{name}[{', '.join(['1'] * indices)}]"
    families = [(one.name, one.domain.role.name) for one in binders if isinstance(one.domain, resolved.FamilyDomain)]
    if len(families) < len(binders):
        return suggestion(f"`{shape}` stands inside its loop, `{one}` is one of them", one)
    blocks = " ".join(f"for {variable} in {family} {{ … }}" for variable, family in families)
    quantified = " ".join(f"forall {variable} in {family}:" for variable, family in families)
    text = f"in a formula write `{quantified} … {shape}`, elsewhere `{shape}` inside `{blocks}`; `{one}` is one of them"
    return suggestion(text, one)
