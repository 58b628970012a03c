"""Resolution of dotted, indexed names in a scope."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean, suggestion
from cplc.records import dataclass
from cplc.semantics import resolved as tree
from cplc.semantics.types import BOOL, INT, Enum, Role, Type
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


Local = tree.Binder | OwnLocal | Argument | AnyArgument


@dataclass(frozen=True, slots=True)
class Scope:
    """The names visible to an expression: local ones first, then those of the protocol."""

    unit: int
    signature: tree.Signature | None
    chain: tree.Chain = ()
    locals: Mapping[str, Local] = field(default_factory=dict)
    actor: tuple[tree.RoleTree, tree.RoleSymbol] | None = None
    """The role whose variables need no qualification."""

    def with_local(self, name: str, local: Local) -> Scope:
        return Scope(self.unit, self.signature, self.chain, {**self.locals, name: local}, self.actor)

    def names(self) -> Iterable[str]:
        yield from self.locals
        if self.signature:
            yield from self.signature.parameters
            yield from self.signature.symbols
        if self.actor:
            yield from self.actor[1].variables

    def declares(self, name: str) -> bool:
        return name in self.names()


# --- entities -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ValueOf:
    tree: tree.Tree
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
Entity = ValueOf | tree.Instance | tree.AllOf | Deferred | Nothing


@dataclass(frozen=True, slots=True)
class _Segment:
    name: ast.Name
    indices: tuple[tuple[ast.Expr, Scope], ...]


def kind_of(symbol: tree.Symbol) -> str:
    match symbol:
        case tree.RoleSymbol(size=None):
            return "a role"
        case tree.RoleSymbol():
            return "a family of roles"
        case tree.MessageSymbol():
            return "a message"
        case tree.FactSymbol():
            return "a fact"
        case tree.CommitmentSymbol():
            return "a commitment"
        case tree.ClaimSymbol():
            return "a claim"
        case tree.PartSymbol():
            return "a used protocol"
        case tree.AgentSymbol():
            return "an agent"


class References:
    """Resolves names, and records which were used."""

    def __init__(
        self,
        error: Callable[..., None],
        number: Callable[[ast.Expr, Scope], tree.Tree],
        macro_known: Callable[[str, Scope], bool],
    ) -> None:
        self._error = error
        self._number = number
        self._macro_known = macro_known
        self.used: set[object] = set()
        self.places: dict[Span, Span] = {}
        """Occurrences of names, and the declarations that they refer to."""

    def refer(self, name: Span, declared: Span) -> None:
        """Record the declaration of a name. For a name in a macro, the last use counts."""
        self.places[name] = declared

    def find(self, ref: ast.Ref, scope: Scope) -> Entity:
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
        return self._from(segments, scope, span)

    def family(self, ref: ast.Ref, scope: Scope) -> tree.EveryInstance | None:
        """Return the family of messages that a name without indices denotes; None if it denotes something else."""
        names = [segment.name for segment in ref.segments]
        signature = scope.signature
        if signature is None or names[0].text in scope.locals or any(segment.indices for segment in ref.segments):
            return None
        owner: list[tree.PartSymbol] = []
        symbol = signature.symbols.get(names[0].text)
        for name in names[1:]:
            if not isinstance(symbol, tree.PartSymbol):
                return None
            owner.append(symbol)
            symbol = symbol.signature.symbols.get(name.text)
        if not isinstance(symbol, tree.MessageSymbol):
            return None
        outer = owner[0].chain if owner else symbol.chain
        loops = [binder for part in owner for binder in part.chain] + list(symbol.chain)
        if not loops or (outer and scope.chain[: len(outer)] == outer):
            return None
        self.used.add(owner[0] if owner else symbol)
        return tree.EveryInstance(symbol, tuple(owner), ref.span)

    def _from(self, segments: Sequence[_Segment], scope: Scope, span: Span) -> Entity:
        head = segments[0]
        name = head.name.text
        local = scope.locals.get(name)
        signature = scope.signature
        if local is not None:
            self.refer(head.name.span, local.span)
        if isinstance(local, AnyArgument):
            return NOTHING
        if isinstance(local, tree.Binder):
            self.used.add(local)
            if isinstance(local.domain, tree.NumberDomain):
                return ValueOf(tree.LoopValue(local), INT) if self._bare(segments, "a number") else NOTHING
            return self._of_role(tree.LoopValue(local), local.domain.role, segments, span)
        if isinstance(local, OwnLocal):
            kind = "a parameter of the message"
            return ValueOf(tree.OwnParameter(name), local.type) if self._bare(segments, kind) else NOTHING
        if signature and (parameter := signature.parameters.get(name)):
            self.used.add(parameter)
            self.refer(head.name.span, parameter.span)
            if not self._bare(segments, "a parameter"):
                return NOTHING
            return ValueOf(tree.ParameterValue(name), parameter.declared.type)
        if signature and (symbol := signature.symbols.get(name)):
            return self._of_symbol(symbol, segments, scope, span)
        if scope.actor and (variable := scope.actor[1].variables.get(name)):
            self.used.add(variable)
            self.refer(head.name.span, variable.span)
            if not self._bare(segments, "a variable"):
                return NOTHING
            return ValueOf(tree.VariableOf(scope.actor[0], name, span), variable.declared.type)
        if name == "terminal" and len(segments) == 1 and not head.indices:
            return ValueOf(tree.IsTerminal(span), BOOL)
        self._unknown(head.name, scope)
        return NOTHING

    def _unknown(self, name: ast.Name, scope: Scope) -> None:
        notes = did_you_mean(name.text, scope.names())
        if name.text == "Env":
            notes = (Note("`Env` is the environment, not a role"),)
        elif self._macro_known(name.text, scope):
            notes = (Note(f"`{name.text}` is a macro: write its arguments in parentheses after it"),)
        elif member_of := _enumeration_with(name.text, scope.signature):
            notes = (Note(f"`{name.text}` is a value of `{member_of}`: compare it with a value of that type"),)
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

    def _of_symbol(self, symbol: tree.Symbol, segments: Sequence[_Segment], scope: Scope, span: Span) -> Entity:
        """Resolve the names of parts, then the remaining segments."""
        owner: tuple[tree.PartSymbol, ...] = ()
        indices = list(segments[0].indices)
        position = 0
        self.used.add(symbol)
        self.refer(segments[0].name.span, symbol.span)
        while isinstance(symbol, tree.PartSymbol) and position + 1 < len(segments):
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
            if not isinstance(symbol, tree.RoleSymbol):
                indices.extend(segments[position].indices)
        rest = list(segments[position:])
        if isinstance(symbol, tree.RoleSymbol):
            if owner:
                own = len(rest[0].indices) - (1 if symbol.is_family and rest[0].indices else 0)
                indices.extend(rest[0].indices[:own])
                rest = [_Segment(rest[0].name, rest[0].indices[own:]), *rest[1:]]
            outer = self._completed(owner, (), indices if owner else [], scope, span)
            return NOTHING if outer is None else self._of_declared_role(symbol, owner, outer[0], rest, span)
        completed = self._completed(owner, symbol.chain, indices, scope, span)
        if completed is None:
            return NOTHING
        instance = tree.Instance(symbol, owner, *completed, span)
        if len(rest) == 1:
            return instance
        inner = rest[1].name
        if isinstance(symbol, tree.MessageSymbol) and len(rest) == 2 and not rest[1].indices:
            if inner.text in symbol.parameters:
                self.refer(inner.span, next(p.name.span for p in symbol.node.parameters if p.name.text == inner.text))
                return ValueOf(tree.Payload(instance, inner.text, span), symbol.parameters[inner.text].type)
            notes = did_you_mean(inner.text, symbol.parameters)
            self._error(rules.UNKNOWN_NAME, inner.span, f"`{symbol.name}` has no parameter `{inner.text}`", *notes)
        else:
            message = f"`{symbol.name}` is {kind_of(symbol)}; it has no `{inner.text}`"
            self._error(rules.UNKNOWN_NAME, inner.span, message)
        return NOTHING

    def _completed(
        self,
        owner: tuple[tree.PartSymbol, ...],
        chain: tree.Chain,
        given: Sequence[tuple[ast.Expr, Scope]],
        scope: Scope,
        span: Span,
    ) -> tuple[tuple[tree.Tree, ...], bool] | None:
        """Return all indices, those of the loops around included, and whether none was written."""
        total = tuple(binder for part in owner for binder in part.chain) + chain
        written = tuple(self._number(index, index_scope) for index, index_scope in given)
        if len(written) == len(total):
            return written, not written
        outer = owner[0].chain if owner else chain
        if len(written) == len(total) - len(outer) and scope.chain[: len(outer)] == outer:
            return tuple(tree.LoopValue(binder) for binder in outer) + written, not written
        shape = f"{span.text.split('[')[0]}[{', '.join(binder.name for binder in total)}]"
        needs = f"needs {_count(len(total), 'index', 'indices')}" if total else "takes no index"
        has = f", {len(written)} written" if written and total else ""
        notes = (suggestion(f"write `{shape}`", shape),) if total else ()
        self._error(rules.WRONG_INDICES, span, f"`{span.text}` {needs}{has}", *notes)
        return None

    def _of_declared_role(
        self,
        role: tree.RoleSymbol,
        owner: tuple[tree.PartSymbol, ...],
        outer: tuple[tree.Tree, ...],
        rest: Sequence[_Segment],
        span: Span,
    ) -> Entity:
        indices = rest[0].indices
        index_count = 1 if role.is_family else 0
        if not indices and index_count and len(rest) == 1:
            return tree.AllOf(role, span, owner, outer)
        if len(indices) != index_count:
            needs = "needs one index" if index_count else "is a single role and takes no index"
            self._error(rules.WRONG_INDICES, rest[0].name.span, f"`{role.name}` {needs}")
            return NOTHING
        index = self._number(*indices[0]) if indices else None
        return self._of_role(tree.RoleAt(role, index, span, owner, outer), role, rest, span)

    def _of_role(
        self, role: tree.RoleTree, symbol: tree.RoleSymbol, segments: Sequence[_Segment], span: Span
    ) -> Entity:
        if isinstance(role, tree.LoopValue) and segments[0].indices:
            name = segments[0].name
            self._error(rules.WRONG_INDICES, name.span, f"`{name.text}` is one role already and takes no index")
            return NOTHING
        if len(segments) == 1:
            return ValueOf(role, Role(symbol))
        name = segments[1].name
        if len(segments) == 2 and not segments[1].indices and name.text in symbol.variables:
            variable = symbol.variables[name.text]
            self.used.add(variable)
            self.refer(name.span, variable.span)
            return ValueOf(tree.VariableOf(role, name.text, span), variable.declared.type)
        notes = did_you_mean(name.text, symbol.variables)
        self._error(rules.UNKNOWN_NAME, name.span, f"`{symbol.name}` has no variable `{name.text}`", *notes)
        return NOTHING


def _count(number: int, one: str, plural: str) -> str:
    return f"{number} {one if number == 1 else plural}"


def _enumeration_with(member: str, signature: tree.Signature | None) -> str | None:
    for role in signature.roles if signature else ():
        for variable in role.variables.values():
            if isinstance(variable.declared.type, Enum) and member in variable.declared.type.members:
                return f"{role.name}.{variable.name}"
    return None
