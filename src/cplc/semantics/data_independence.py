"""Data independence of family members: without arithmetic on indices, a protocol means the same for every size.

A parameter counts members if it is the size of families and is read nowhere else. The declarations are *uniform* in
these families if each stands in at most one loop over them, names members by the variable of that loop alone, asks
nothing about all members, and never uses a member as a number. Then all members have isomorphic copies
of the declarations, and a variable that connects two copies is connected to every copy, for every size.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from itertools import chain

from cplc.records import dataclass
from cplc.semantics import resolved
from cplc.semantics.resolved import RoleSymbol
from cplc.semantics.types import Data
from cplc.source import Span


@dataclass(frozen=True, slots=True)
class NotUniform:
    """A violation of uniformity: one size does not represent all."""

    message: str
    span: Span


@dataclass(frozen=True)
class UniformityCheck:
    """Checks that a protocol is uniform in the families whose size is a parameter."""

    template: resolved.Template
    parameter: str
    templates: Mapping[resolved.Signature, resolved.Template]
    """The templates of all signatures, those of parts included."""

    @cached_property
    def families(self) -> frozenset[RoleSymbol]:
        size = resolved.ParameterValue(self.parameter)
        return frozenset(role for role in self.template.signature.roles if role.size == size)

    @property
    def declared(self) -> resolved.Ranged:
        """The declared range of the parameter."""
        return self.template.signature.parameters[self.parameter].declared

    may_quantify_over_all: bool = False
    """True if a declaration may ask about all members at once, as in ``unless exists q in Prt: award[q]``."""

    @cached_property
    def obstacle(self) -> NotUniform | None:
        """The first declaration that is not uniform."""
        return next(chain(self._of_signature(), self._of_declarations(self.template.body, None)), None)

    @cached_property
    def simultaneous_members(self) -> int:
        """The largest number of arbitrary members that one declaration relates."""
        asking = (resolved.Property, resolved.Check, resolved.Agent, resolved.Analyze)
        declared = (body for body in _all(self.template.body) if not isinstance(body, asking))
        return max(map(self._quantified, declared), default=0)

    def _quantified(self, body: resolved.Body) -> int:
        if isinstance(body, resolved.Loop):
            return 0
        place = self.template.signature.node.name.span
        reader = _Reader(self.families, self.parameter, self._facts, place, asks_all=True, numbers=True)
        for _ in reader.obstacles(body):
            pass
        return reader.quantified

    def _of_signature(self) -> Iterator[NotUniform]:
        """Yield violations in ranges, sizes and values, which may depend on the number of members."""
        signature = self.template.signature
        for binder in signature.keys.values():
            yield NotUniform(f"there is any number of instances of `for each {binder.name}`", binder.span)
        for template in self.templates.values():
            if (place := _open_type(template.signature)) is not None:
                yield NotUniform("the number of values that stand for all depends on the number of members", place)
        for parameter in signature.parameters.values():
            if parameter.name != self.parameter:
                yield from self._reader(parameter.span).obstacles(parameter.declared, parameter.default)
        for role in signature.roles:
            if role not in self.families:
                yield from self._reader(role.span).obstacles(role.size)
            for variable in role.variables.values():
                yield from self._reader(variable.span).obstacles(variable.declared, variable.initial)
        for symbol in signature.symbols.values():
            if isinstance(symbol, resolved.MessageSymbol):
                yield from self._reader(symbol.span).obstacles(*symbol.parameters.values())

    def of_property(self, name: str) -> NotUniform | int:
        """Return the largest number of members that a property names, or the violation of uniformity."""
        for body in self.template.body:
            if isinstance(body, resolved.Property) and body.node.name.text == name:
                span = body.node.name.span
                reader = _Reader(self.families, self.parameter, self._facts, span, asks_all=True, numbers=True)
                obstacle = next(reader.obstacles(body.formula), None)
                return obstacle or reader.quantified + reader.highest
        return NotUniform("it is declared for each member, or by a part", self.template.signature.node.name.span)

    @cached_property
    def _facts(self) -> Mapping[resolved.FactSymbol, resolved.Tree]:
        return {body.symbol: body.meaning for body in _all(self.template.body) if isinstance(body, resolved.Fact)}

    def _of_declarations(self, bodies: Iterable[resolved.Body], member: resolved.Binder | None) -> Iterator[NotUniform]:
        for body in bodies:
            match body:
                case resolved.Loop(binder, inner):
                    yield from self._of_loop(binder, inner, member)
                case resolved.Property() | resolved.Check() | resolved.Agent() | resolved.Analyze():
                    pass
                case resolved.Fact() | resolved.Memory():
                    pass  # counts where it is used
                case resolved.Part(symbol):
                    if self._takes_numbers(symbol):
                        yield NotUniform(f"`{symbol.name}` takes a role for a number", symbol.span)
                    yield from self._reader(symbol.span).obstacles(body.roles, body.values, body.conditions)
                    for role, given, span in body.roles:
                        if isinstance(given, resolved.AllOf) and given.role in self.families:
                            yield NotUniform(
                                f"`{symbol.name}` is given all of `{given.role.name}` for `{role.name}`", span
                            )
                case resolved.Message(symbol, _, receivers) if self._to_families(receivers):
                    yield NotUniform(f"`{symbol.name}` goes to all members of a family", symbol.span)
                case resolved.Message(symbol) | resolved.Commitment(symbol) | resolved.Claim(symbol):
                    yield from self._reader(symbol.span).obstacles(body)
                case _:
                    yield from self._reader(body.span).obstacles(body)

    def _of_loop(
        self, binder: resolved.Binder, inner: Iterable[resolved.Body], member: resolved.Binder | None
    ) -> Iterator[NotUniform]:
        if not _is_over(binder, self.families):
            yield from self._reader(binder.span).obstacles(binder.domain)
            yield from self._of_declarations(inner, member)
        elif member is not None:
            yield NotUniform(f"`{member.name}` and `{binder.name}` make pairs of members", binder.span)
        else:
            yield from self._of_declarations(inner, binder)

    def _to_families(self, receivers: Iterable[resolved.RoleTree | resolved.AllOf]) -> bool:
        return any(isinstance(one, resolved.AllOf) and one.role in self.families for one in receivers)

    def _takes_numbers(self, part: resolved.PartSymbol) -> bool:
        """Return whether a part, or a part of it, depends on the index of one of its roles."""
        template = self.templates[part.signature]
        parts = [body.symbol for body in _all(template.body) if isinstance(body, resolved.Part)]
        return any(map(self._takes_numbers, parts)) or any(map(_is_number_of_role, resolved.nodes(template.body)))

    def _reader(self, span: Span) -> _Reader:
        return _Reader(
            self.families, self.parameter, self._facts, span, asks_all=self.may_quantify_over_all, numbers=False
        )


@dataclass
class _Reader:
    """Reads one declaration."""

    families: frozenset[RoleSymbol]
    parameter: str
    facts: Mapping[resolved.FactSymbol, resolved.Tree]
    span: Span
    asks_all: bool
    """True if it may speak of all members, and so of pairs of them."""
    numbers: bool
    """True if it may name members by number, as formulas do."""
    quantified: int = 0
    """The number of its quantifiers over members."""
    highest: int = 0
    """The largest index that it names a member by."""

    def obstacles(self, *nodes: object) -> Iterator[NotUniform]:
        for node in nodes:
            yield from self._in(node)

    def _in(self, node: object) -> Iterator[NotUniform]:
        match node:
            case resolved.ParameterValue(name) if name == self.parameter:
                yield self._because(f"it computes with `{name}`")
            case resolved.IndexOf(role) if self._is_member(role):
                yield self._because("it takes a member for a number")
            case resolved.RoleAt(role, index) if role in self.families:
                yield from self._named(index)
            case resolved.Side(roles) if any(
                isinstance(one, resolved.AllOf) and one.role in self.families for one in roles
            ):
                yield self._because("its side is a whole family, which is another group for each size")
            case resolved.Quantified(_, binder, body) if _is_over(binder, self.families):
                if not self.asks_all:
                    yield self._because(f"it asks about all of `{binder.name}`'s family")
                self.quantified += 1
                yield from self._in(body)
            case resolved.Quantified(_, binder, body):
                yield from self.obstacles(binder.domain, body)
            case resolved.FactAt(fact) if isinstance(fact.symbol, resolved.FactSymbol):
                yield from self.obstacles(fact, self.facts.get(fact.symbol))
            case resolved.Instance():
                yield from self._in_instance(node)
            case resolved.EveryInstance(symbol) if any(_is_over(binder, self.families) for binder in symbol.chain):
                if not self.asks_all:
                    yield self._because(f"it asks about `{symbol.name}` of all")
                self.quantified += 1
            case tuple():
                yield from self.obstacles(*node)
            case _:
                yield from self.obstacles(*resolved.children(node))

    def _in_instance(self, node: resolved.Instance) -> Iterator[NotUniform]:
        around = [binder for one in (*node.owner, node.symbol) for binder in one.chain]
        if len(around) == len(node.indices):
            for binder, index in zip(around, node.indices, strict=True):
                yield from self._named(index) if _is_over(binder, self.families) else self._in(index)
        elif any(_is_over(binder, self.families) for binder in around):
            yield self._because(f"it names `{node.symbol.name}` of members by numbers")

    def _named(self, index: resolved.Tree | None) -> Iterator[NotUniform]:
        """Yield violations in the index that names a member."""
        match index:
            case None | resolved.LoopValue() | resolved.IndexOf(resolved.LoopValue()):
                pass
            case resolved.LiteralTree(int(number)) if self.numbers:
                self.highest = max(self.highest, number)
            case _:
                yield self._because("it names a member by a number")

    def _is_member(self, role: resolved.RoleTree) -> bool:
        match role:
            case resolved.LoopValue(binder):
                return _is_over(binder, self.families)
            case resolved.RoleAt(symbol, owner=owner):
                return symbol in self.families or bool(owner)

    def _because(self, message: str) -> NotUniform:
        return NotUniform(message, self.span)


def _open_type(signature: resolved.Signature) -> Span | None:
    """Return a field or variable with any number of values."""
    declared = [(one.declared, one.span) for role in signature.roles for one in role.variables.values()]
    messages = (one for one in signature.symbols.values() if isinstance(one, resolved.MessageSymbol))
    declared += [(one, message.span) for message in messages for one in message.parameters.values()]
    return next((span for one, span in declared if isinstance(one.type, Data)), None)


def _is_number_of_role(node: object) -> bool:
    return isinstance(node, resolved.IndexOf) and isinstance(node.role, resolved.RoleAt) and node.role.index is None


def _is_over(binder: resolved.Binder, families: frozenset[RoleSymbol]) -> bool:
    return isinstance(binder.domain, resolved.FamilyDomain) and binder.domain.role in families


def _all(bodies: Iterable[resolved.Body]) -> Iterator[resolved.Body]:
    for body in bodies:
        yield body
        if isinstance(body, resolved.Loop):
            yield from _all(body.body)
