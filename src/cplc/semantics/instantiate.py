"""Instantiation of families: every instance gets its name, the values of its loops and its scope.

The parameters of a protocol are given on the command line (`-D`), or have their defaults.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import Final, TypeVar

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean
from cplc.language.groups import is_on, members, side_of
from cplc.logic.expressions import value_text
from cplc.semantics import model, resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.instances import (
    MAX_FAMILY_SIZE,
    MAX_INSTANCES,
    OPEN_DOMAIN,
    InstanceTable,
    Parties,
    PendingInstance,
    ProtocolInstance,
    RoleBinding,
    RoleValue,
    StartCondition,
    Values,
)
from cplc.semantics.instantiate_terms import Resolver, where
from cplc.semantics.terms import Value
from cplc.semantics.types import Bool, Data, Enum, Int
from cplc.source import Source, Span

Between = TypeVar("Between", resolved.Message, resolved.Commitment, resolved.Claim)
"""A declaration between two roles."""


class Instantiator:
    """Fills an `InstanceTable` with the instances of one protocol."""

    def __init__(self, table: InstanceTable, templates: Mapping[resolved.Signature, resolved.Template]) -> None:
        self.table = table
        self._templates = templates
        self._scope_names: set[str] = set()
        self._counted: dict[object, int | None] = {}

    def instantiate(
        self, template: resolved.Template, parameters: Mapping[str, Value], *, most: int
    ) -> ProtocolInstance | None:
        """Add all instances; None without adding any if there are more than ``most``.

        A number above `MAX_INSTANCES` is reported.
        """
        name = template.signature.name
        bare = ProtocolInstance(template, (), (), parameters, {}, name)
        if not self._size_is_fit(template, bare):
            return None
        roles = {role: tuple(self._agents(role, bare)) for role in template.signature.roles}
        protocol_instance = ProtocolInstance(template, (), (), parameters, roles, name)
        counted = self._count(template.body, protocol_instance, {}, MAX_INSTANCES)
        if counted is None:
            return None
        if counted > most and counted <= MAX_INSTANCES:
            return None
        if counted > MAX_INSTANCES:
            message = f"`{name}` has more than {MAX_INSTANCES:,} declarations when its families are instantiated"
            self.table.report(rules.TOO_LARGE, template.signature.node.name.span, message)
            return None
        self.table.roles.extend(agent for agents in roles.values() for agent in agents)
        self._variables(protocol_instance)
        self._scope_names.add(name)
        self.table.scopes.append(model.Scope(name, None, tuple(agent.name for agent in self.table.roles)))
        self._bodies(template.body, protocol_instance, {}, (), name)
        return protocol_instance

    # --- sizes ----------------------------------------------------------------------------------

    def _size_is_fit(self, template: resolved.Template, protocol_instance: ProtocolInstance) -> bool:
        """Report families that are too large or of negative size."""
        total = 0
        for role in template.signature.roles:
            if role.size is None:
                total += 1
                continue
            size = Resolver(self.table, protocol_instance, {}).number(role.size)
            if size is None:
                return False
            if size < 0:
                self.table.report(rules.EMPTY_RANGE, role.span, f"`{role.name}` cannot have {size} instances")
                return False
            if size > MAX_FAMILY_SIZE:
                message = f"`{role.name}` has {size:,} instances, more than {MAX_FAMILY_SIZE:,}"
                self.table.report(rules.TOO_LARGE, role.span, message)
                return False
            total += size
        return total <= MAX_INSTANCES

    def _count(
        self, bodies: Iterable[resolved.Body], protocol_instance: ProtocolInstance, values: Values, room: int
    ) -> int | None:
        """Return the number of instances, or any number above ``room``; None if a domain has errors."""
        total = 0
        for body in bodies:
            inner: int | None
            match body:
                case resolved.Loop(binder, inside):
                    inner = self._count_loop(binder, inside, protocol_instance, values, room - total)
                case resolved.Part(symbol):
                    used = (
                        None if symbol in self.table.broken else self._part_frame(body, protocol_instance, values, ())
                    )
                    inner = self._count_part(used) if used else 1
                case _:
                    inner = 1
            if inner is None:
                return None
            total += inner
            if total > room:
                return total
        return total

    def _count_part(self, protocol_instance: ProtocolInstance) -> int | None:
        """Return the number of instances of a part, cached for equal parameters and families."""
        sizes = tuple(len(agents) for agents in protocol_instance.roles.values())
        key = protocol_instance.template.signature, tuple(protocol_instance.parameters.items()), sizes
        if key not in self._counted:
            self._counted[key] = self._count(protocol_instance.template.body, protocol_instance, {}, MAX_INSTANCES)
        counted = self._counted[key]
        return None if counted is None else counted + 1

    def _count_loop(
        self,
        binder: resolved.Binder,
        inside: tuple[resolved.Body, ...],
        protocol_instance: ProtocolInstance,
        values: Values,
        room: int,
    ) -> int | None:
        before = self.table.problems.errors
        domain = list(Resolver(self.table, protocol_instance, values).domain(binder.domain, binder.span))
        if self.table.problems.errors > before:
            return None
        if all(_is_flat(body) for body in inside):
            return len(domain) * (1 + len(inside))
        total = 0
        for value in domain:
            inner = self._count(inside, protocol_instance, {**values, binder: value}, room - total - 1)
            if inner is None:
                return None
            total += 1 + inner
            if total > room:
                return total
        return total

    # --- roles ----------------------------------------------------------------------------------

    def _agents(self, role: resolved.RoleSymbol, protocol_instance: ProtocolInstance) -> Iterator[model.Role]:
        if role.size is None:
            yield model.Role(role.name, role.name, None, role.is_record, span=role.span)
            return
        size = Resolver(self.table, protocol_instance, {}).number(role.size) or 0
        for index in range(1, size + 1):
            yield model.Role(f"{role.name}[{index}]", role.name, index, role.is_record, span=role.span)

    def _variables(self, protocol_instance: ProtocolInstance) -> None:
        scope = protocol_instance.scope if protocol_instance.path else ""
        for role, agents in protocol_instance.roles.items():
            for symbol in role.variables.values():
                if not symbol.chain:
                    self._add_variables(symbol, agents, protocol_instance, (), scope)

    def _add_variables(
        self,
        symbol: resolved.VariableSymbol,
        agents: Iterable[model.Role],
        protocol_instance: ProtocolInstance,
        indices: tuple[int, ...],
        scope: str,
    ) -> None:
        """Add the variable of each of these agents."""
        resolver = Resolver(self.table, protocol_instance, {})
        domain = self.domain(symbol.declared, resolver)
        initial = None
        if symbol.initial is not None and domain is not None:
            initial = resolver.constant(symbol.initial)
            if not isinstance(symbol.declared.type, Data):
                self._check_initial(symbol, initial, domain)
        bracketed = f"[{','.join(map(str, indices))}]" if indices else ""
        for agent in agents:
            name = f"{agent.name}.{protocol_instance.prefix}{symbol.name}{bracketed}"
            self.table.variables[name] = model.Variable(
                name, agent.name, domain or (False,), initial, scope, data_type(symbol.declared), span=symbol.span
            )

    def _check_initial(self, symbol: resolved.VariableSymbol, initial: Value | None, domain: tuple[Value, ...]) -> None:
        if initial is None or initial in domain:
            return
        message = f"`{symbol.name}` starts at {shown(initial)}, which is not in {range_text(domain)}"
        self.table.report(rules.VALUE_OUT_OF_RANGE, symbol.span, message)

    def domain(self, declared: resolved.Ranged, resolver: Resolver) -> tuple[Value, ...] | None:
        """Return the values of a type; None after a reported error."""
        match declared.type:
            case Bool():
                return (False, True)
            case Enum(members):
                return members
            case Data():
                return OPEN_DOMAIN
            case Int() if declared.low is not None and declared.high is not None and declared.span is not None:
                low, high = resolver.number(declared.low), resolver.number(declared.high)
                if low is None or high is None:
                    return None
                if high < low:
                    self.table.report(rules.EMPTY_RANGE, declared.span, f"The range {low}..{high} is empty")
                    return None
                if high - low >= MAX_FAMILY_SIZE:
                    message = f"{high - low + 1:,} values are more than {MAX_FAMILY_SIZE:,}"
                    note = Note("`decimal(1)` and `money(USD)` have amounts of any size, to copy and compare")
                    self.table.problems.report(rules.TOO_LARGE, declared.span, message, note)
                    return None
                return tuple(range(low, high + 1))
            case _:
                return None

    # --- instances ------------------------------------------------------------------------------

    def _bodies(
        self,
        bodies: Iterable[resolved.Body],
        protocol_instance: ProtocolInstance,
        values: Values,
        indices: tuple[int, ...],
        scope: str,
    ) -> None:
        for body in bodies:
            match body:
                case resolved.Loop(binder, inside):
                    for value in Resolver(self.table, protocol_instance, values).domain(binder.domain, binder.span):
                        index = value.position or 0 if isinstance(value, RoleValue) else value
                        inner = self._loop_scope(binder, value, protocol_instance, scope)
                        numbers = indices if binder.is_key and self.table.is_of_one_key else (*indices, index)
                        self._bodies(inside, protocol_instance, {**values, binder: value}, numbers, inner)
                case resolved.Memory(symbol, role):
                    self._add_variables(symbol, protocol_instance.roles[role], protocol_instance, indices, scope)
                case resolved.Message(symbol):
                    name = protocol_instance.name_of(symbol.name, indices=indices)
                    self._add_message(PendingInstance(name, body, protocol_instance, values, scope))
                case resolved.Commitment(symbol):
                    name = protocol_instance.name_of(symbol.name, indices=indices)
                    commitment = PendingInstance(name, body, protocol_instance, values, scope)
                    if self._add_commitment(commitment):
                        self.table.note_time(body)
                case resolved.Claim(symbol):
                    name = protocol_instance.name_of(symbol.name, indices=indices)
                    claim = PendingInstance(name, body, protocol_instance, values, scope)
                    if self._add_between(claim, (body.maker, body.addressee), self.table.claims):
                        self.table.note_time(body)
                case resolved.Fact(symbol):
                    name = protocol_instance.name_of(symbol.name, indices=indices)
                    self.table.facts[name] = PendingInstance(name, body, protocol_instance, values, scope)
                case resolved.Agent(symbol):
                    name = protocol_instance.name_of(symbol.name, indices=indices)
                    self.table.agents[name] = PendingInstance(name, body, protocol_instance, values, scope)
                case resolved.Part(symbol):
                    if symbol not in self.table.broken:
                        self._part(body, protocol_instance, values, indices, scope)
                case resolved.Property(node):
                    name = protocol_instance.name_of(node.name.text, indices=indices)
                    self.table.other_declarations.append(PendingInstance(name, body, protocol_instance, values, scope))
                case _:
                    self.table.other_declarations.append(PendingInstance("", body, protocol_instance, values, scope))
                    self.table.note_time(body)

    def _add_message(self, pending: PendingInstance[resolved.Message]) -> None:
        """Add a message, unless it is left out: it has no receiver but its sender.

        A family stands for all its members but the sender.
        """
        body, name, protocol_instance = pending.body, pending.name, pending.protocol_instance
        resolver = Resolver(self.table, protocol_instance, pending.values)
        sender = resolver.role(body.sender)
        groups = [(written, resolver.agents(written)) for written in body.receivers]
        if sender is None or any(not agents and not isinstance(one, resolved.AllOf) for one, agents in groups):
            self.table.broken.add(body.symbol)
            return
        receivers: dict[str, resolved.RoleTree | resolved.AllOf] = {}
        for written, agent in ((written, agent) for written, agents in groups for agent in agents):
            if agent.name != sender.name:
                first = receivers.setdefault(agent.name, written)
                if first is not written and not may_coincide(first, written, protocol_instance):
                    message = f"`{agent.name}` receives `{name}` twice"
                    hint = Note("name each receiver once; a family stands for all its members")
                    self.table.problems.report(rules.SAME_ROLE, body.symbol.span, message, hint, *where(pending.values))
            elif not isinstance(written, resolved.AllOf) and not may_coincide(body.sender, written, protocol_instance):
                self._report_same_role(agent.name, (body.sender, written), pending)
        if not receivers:
            self.table.left_out.add(name)
            return
        second, *more = receivers
        self.table.parties[name] = Parties(sender.name, second, tuple(more))
        self.table.messages[name] = pending

    def _add_commitment(self, pending: PendingInstance[resolved.Commitment]) -> bool:
        """Add a commitment, and return whether no role is on both of its sides.

        A family stands for all its members but those on the other side; a side without members is left out.
        """
        body, resolver = pending.body, Resolver(self.table, pending.protocol_instance, pending.values)
        sides = body.debtor, body.creditor
        if not any(side.is_group for side in sides):
            (debtor,), (creditor,) = (side.roles for side in sides)
            assert not isinstance(debtor, resolved.AllOf)
            assert not isinstance(creditor, resolved.AllOf)
            return self._add_between(pending, (debtor, creditor), self.table.commitments)
        groups = [[(written, resolver.agents(written)) for written in side.roles] for side in sides]
        if any(not agents and not isinstance(written, resolved.AllOf) for side in groups for written, agents in side):
            self.table.broken.add(pending.body.symbol)
            return False
        if self._names_a_role_twice(pending, groups):
            return False
        named = {
            agent.name for side in groups for written, agents in side for agent in agents if not _is_family(written)
        }
        order = {role.name: position for position, role in enumerate(self.table.roles)}
        names: list[str] = []
        for side in groups:
            own = {
                agent.name
                for written, agents in side
                for agent in agents
                if not _is_family(written) or agent.name not in named
            }
            if not own:
                self.table.left_out.add(pending.name)
                return False
            names.append(side_of(sorted(own, key=order.__getitem__)))
        if is_on(members(names[0]), names[1]):
            self.table.left_out.add(pending.name)
            message = f"`{pending.name}` is between `{names[0]}` and itself"
            self.table.problems.report(rules.SAME_ROLE, body.symbol.span, message, *where(pending.values))
            return False
        self.table.parties[pending.name] = Parties(names[0], names[1])
        self.table.commitments[pending.name] = pending
        return True

    def _names_a_role_twice(
        self,
        pending: PendingInstance[resolved.Commitment],
        groups: list[list[tuple[resolved.RoleTree | resolved.AllOf, tuple[model.Role, ...]]]],
    ) -> bool:
        """Return whether a role is named twice, besides by its family; such an instance is left out.

        This is an error unless each of the two depends on a loop variable that the other does not.
        """
        named = [
            (side, written, agent)
            for side, group in enumerate(groups)
            for written, agents in group
            if not _is_family(written)
            for agent in agents
        ]
        for (side, written, agent), (other_side, other, same) in combinations(named, 2):
            if agent.name == same.name:
                self.table.left_out.add(pending.name)
                if not may_coincide(written, other, pending.protocol_instance):
                    is_twice = f"is named twice in a group of `{pending.name}`"
                    how = is_twice if side == other_side else f"is on both sides of `{pending.name}`"
                    message = f"`{agent.name}` {how}"
                    span = pending.body.symbol.span
                    self.table.problems.report(rules.SAME_ROLE, span, message, *where(pending.values))
                return True
        return False

    def _add_between(
        self,
        pending: PendingInstance[Between],
        written: tuple[resolved.RoleTree, resolved.RoleTree],
        instances: dict[str, PendingInstance[Between]],
    ) -> bool:
        """Add an instance between two roles, and return whether they differ; one between equal roles is left out.

        Equal roles are an error unless each depends on a loop variable that the other does not.
        """
        resolver = Resolver(self.table, pending.protocol_instance, pending.values)
        one, other = resolver.role(written[0]), resolver.role(written[1])
        if not one or not other:
            self.table.broken.add(pending.body.symbol)
            return False
        if one.name == other.name:
            self.table.left_out.add(pending.name)
            if not may_coincide(*written, pending.protocol_instance):
                self._report_same_role(one.name, written, pending)
            return False
        self.table.parties[pending.name] = Parties(one.name, other.name)
        instances[pending.name] = pending
        return True

    def _report_same_role(
        self,
        role: str,
        written: tuple[resolved.RoleTree, resolved.RoleTree],
        pending: PendingInstance[resolved.Message]
        | PendingInstance[resolved.Commitment]
        | PendingInstance[resolved.Claim],
    ) -> None:
        """Report equal roles at the declaration, or at the `use` of a part that binds two roles to one."""
        symbol = pending.body.symbol
        protocol_instance = pending.protocol_instance
        message = f"`{pending.name}` is between `{role}` and itself"
        notes = list(where(pending.values))
        is_in_loop = any(binders for one in written if (binders := list(_binders(one, protocol_instance))))
        span, bound = symbol.span, [_argument(one, protocol_instance) for one in written]
        binding: RoleBinding | None = protocol_instance.role_binding
        while binding is not None and None not in bound:
            (_, span), (_, other) = (one for one in bound if one is not None)
            notes = [Note(f"`{symbol.name}` is declared here", symbol.span), *where(binding.values)]
            span = max(span, other, key=lambda place: place.start)
            outer = binding.protocol_instance
            bound = [_argument(one[0], outer) if one is not None else None for one in bound]
            binding = outer.role_binding
        if is_in_loop:
            hint = "let two different variables range over the family, or leave this member out of the range"
        elif isinstance(symbol, resolved.MessageSymbol):
            hint = "model an internal action by a variable of the role, or by a message to another role"
        else:
            hint = "a role cannot be committed to itself: name another role"
        notes.append(Note(hint))
        self.table.problems.report(rules.SAME_ROLE, span, message, *notes)

    # --- scopes and parts -----------------------------------------------------------------------

    def _loop_scope(
        self, binder: resolved.Binder, value: int | RoleValue, protocol_instance: ProtocolInstance, outer: str
    ) -> str:
        roles: tuple[str, ...] = ()
        if isinstance(value, RoleValue):
            value_text, roles = value.agent.name, (value.agent.name,)
        else:
            value_text = f"{binder.name}={value}"
        if binder.is_key:
            return self._scope(value_text, outer, (), key=(binder.name, value if isinstance(value, int) else 1))
        name = value_text if outer == self.table.scopes[0].name else f"{outer}/{value_text}"
        return self._scope(name, outer, roles)

    def _scope(self, name: str, outer: str, roles: tuple[str, ...], key: model.Key | None = None) -> str:
        key = key or self.table.scope_keys.get(outer)
        unique, number = name, 1
        while unique in self._scope_names:
            number += 1
            unique = f"{name}#{number}"
        self._scope_names.add(unique)
        self.table.scopes.append(model.Scope(unique, outer, roles, key))
        if key is not None:
            self.table.scope_keys[unique] = key
        return unique

    def _part(
        self,
        part: resolved.Part,
        protocol_instance: ProtocolInstance,
        values: Values,
        indices: tuple[int, ...],
        scope: str,
    ) -> None:
        bound = self._part_frame(part, protocol_instance, values, indices)
        if bound is None:
            self.table.broken.add(part.symbol)
            return
        name = self._scope(bound.name_of(indices=()), scope, ())
        outer = () if part.follows else protocol_instance.start_condition
        used = replace(
            bound, scope=name, start_condition=(*outer, StartCondition(part.conditions, protocol_instance, values))
        )
        self.table.parts[used.name_of(indices=())] = used
        self._variables(used)
        self._bodies(used.template.body, used, {}, (), name)

    def _part_frame(
        self, part: resolved.Part, protocol_instance: ProtocolInstance, values: Values, indices: tuple[int, ...]
    ) -> ProtocolInstance | None:
        """Return the part with its roles and parameters bound; None after a reported error."""
        before = self.table.problems.errors
        signature = part.symbol.signature
        template = self._templates.get(signature)
        if template is None:
            return None
        resolver = Resolver(self.table, protocol_instance, values)
        path, outer = (*protocol_instance.path, part.symbol.name), (*protocol_instance.outer, *indices)
        written = {parameter: (value, span) for parameter, value, span in part.values}
        parameters: dict[str, Value] = {}
        for parameter in signature.parameters.values():
            bare = Resolver(self.table, ProtocolInstance(template, path, outer, parameters, {}, ""), {})
            given, span = written.get(parameter, (None, parameter.span))
            value = resolver.constant(given) if given is not None else None
            if given is None and parameter.default is not None:
                value = bare.constant(parameter.default)
            domain = self.domain(parameter.declared, bare)
            if value is None or domain is None:
                return None
            if value not in domain:
                message = f"`{parameter.name}` cannot be {shown(value)}: it is in {range_text(domain)}"
                self.table.report(rules.VALUE_OUT_OF_RANGE, span, message)
                return None
            parameters[parameter.name] = value
        inside = ProtocolInstance(template, path, outer, parameters, {}, "")
        roles: dict[resolved.RoleSymbol, tuple[model.Role, ...]] = {}
        for role, bound, span in part.roles:
            agents = resolver.agents(bound)
            if role.is_family and not self._same_size(role, agents, inside, span):
                return None
            if not role.is_family and not agents:
                return None
            roles[role] = agents
        if self.table.problems.errors > before:
            return None
        role_binding = RoleBinding(
            {role: (written, span) for role, written, span in part.roles}, protocol_instance, values
        )
        return ProtocolInstance(template, path, outer, parameters, roles, "", role_binding=role_binding)

    def _same_size(
        self, role: resolved.RoleSymbol, agents: tuple[model.Role, ...], inside: ProtocolInstance, span: Span
    ) -> bool:
        if role.size is None:
            return True
        size = Resolver(self.table, inside, {}).number(role.size)
        if size == len(agents):
            return True
        message = f"`{role.name}` has {size} instances and is bound to {len(agents)}"
        self.table.problems.report(rules.UNBOUND_ROLE, span, message, Note("declared here", role.span))
        return False


def _is_family(written: resolved.RoleTree | resolved.AllOf) -> bool:
    return isinstance(written, resolved.AllOf)


def may_coincide(
    one: resolved.RoleTree | resolved.AllOf,
    other: resolved.RoleTree | resolved.AllOf,
    protocol_instance: ProtocolInstance,
) -> bool:
    """Return whether each role depends on a loop variable that the other does not, or one is a family."""
    if isinstance(one, resolved.AllOf) or isinstance(other, resolved.AllOf):
        return True
    first, second = frozenset(_binders(one, protocol_instance)), frozenset(_binders(other, protocol_instance))
    return bool(first - second and second - first)


def _argument(
    role: resolved.RoleTree | resolved.AllOf, protocol_instance: ProtocolInstance
) -> tuple[resolved.RoleTree | resolved.AllOf, Span] | None:
    """Return the argument of a role of a part, and its place."""
    if protocol_instance.role_binding is None or not isinstance(role, resolved.RoleAt | resolved.AllOf) or role.owner:
        return None
    return protocol_instance.role_binding.roles.get(role.role)


def _binders(
    role: resolved.RoleTree | resolved.AllOf, protocol_instance: ProtocolInstance
) -> Iterator[resolved.Binder]:
    """Yield the loop variables that a role depends on, those around the `use` of a part included."""
    match role:
        case resolved.LoopValue(binder):
            yield binder
        case resolved.RoleAt(_, index):
            yield from _binders_in(index) if index is not None else ()
        case resolved.AllOf():
            pass
    argument = _argument(role, protocol_instance)
    if argument is not None and protocol_instance.role_binding is not None:
        yield from _binders(argument[0], protocol_instance.role_binding.protocol_instance)


def _binders_in(index: resolved.Tree) -> Iterator[resolved.Binder]:
    match index:
        case resolved.LoopValue(binder):
            yield binder
        case resolved.IndexOf(role):
            yield from _binders_in(role)
        case resolved.RoleAt(_, inner) if inner is not None:
            yield from _binders_in(inner)
        case resolved.Apply(_, operands):
            for operand in operands:
                yield from _binders_in(operand)
        case _:
            return


def data_type(declared: resolved.Ranged) -> str:
    """Return the name of a type with any number of values; nothing for other types."""
    return declared.type.name if isinstance(declared.type, Data) else ""


def _is_flat(body: resolved.Body) -> bool:
    return not isinstance(body, resolved.Loop | resolved.Part)


def shown(value: Value) -> str:
    return f"`{value}`" if isinstance(value, str) else value_text(value)


def range_text(domain: tuple[Value, ...]) -> str:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in domain):
        return f"{domain[0]}..{domain[-1]}"
    return ", ".join(shown(value) for value in domain)


COMMAND_LINE: Final = "-D"
"""The source name of values from outside the file."""


def parameter_values(
    instantiator: Instantiator, template: resolved.Template, given: Mapping[str, str], problems: DiagnosticSink
) -> dict[str, Value] | None:
    """Return the value of every parameter; None after a reported error."""
    return (
        _values(instantiator, template, given, problems) if _check_names(template.signature, given, problems) else None
    )


def has_defaults(signature: resolved.Signature) -> bool:
    return all(parameter.default is not None for parameter in signature.parameters.values())


def _check_names(signature: resolved.Signature, given: Mapping[str, str], problems: DiagnosticSink) -> bool:
    is_fit = True
    for name, text in given.items():
        if name not in signature.parameters and name not in signature.keys:
            message = f"`{signature.name}` has no parameter `{name}`"
            names = (*signature.parameters, *signature.keys)
            listed = ", ".join(f"`{one}`" for one in names)
            notes = did_you_mean(name, names)
            notes = notes or (Note(f"its parameters: {listed}" if listed else "it has no parameters"),)
            problems.report(rules.UNKNOWN_PARAMETER, _given_source(name, text), message, *notes)
            is_fit = False
    return is_fit


def _values(
    instantiator: Instantiator, template: resolved.Template, given: Mapping[str, str], problems: DiagnosticSink
) -> dict[str, Value] | None:
    signature = template.signature
    is_fit = True
    values: dict[str, Value] = {}
    for parameter in signature.parameters.values():
        resolver = Resolver(instantiator.table, ProtocolInstance(template, (), (), values, {}, ""), {})
        domain = instantiator.domain(parameter.declared, resolver)
        if domain is None:
            return None
        value: Value | None
        if parameter.name in given:
            text = given[parameter.name]
            span = _given_source(parameter.name, text)
            value = _parse_value(parameter, text)
            if value is None:
                expected = "`true` or `false`" if isinstance(parameter.declared.type, Bool) else "a whole number"
                message = f"`{parameter.name}` is {expected}, not `{text}`"
                problems.report(rules.TYPE_MISMATCH, span, message, Note("declared here", parameter.span))
        elif parameter.default is None:
            message = f"`{parameter.name}` has no default"
            hint = Note(f"write one, as in `= {shown(domain[0])}`, or give a value with `-D {parameter.name}=…`")
            problems.report(rules.MISSING_VALUE, parameter.span, message, hint)
            value = None
        else:
            span = parameter.span
            value = resolver.constant(parameter.default)
        if value is None:
            is_fit = False
            value = domain[0]
        elif value not in domain:
            message = f"`{parameter.name}` cannot be {shown(value)}: it is in {range_text(domain)}"
            problems.report(rules.VALUE_OUT_OF_RANGE, span, message)
            is_fit = False
        values[parameter.name] = value
    return values if is_fit else None


def _given_source(name: str, text: str) -> Span:
    source = Source(COMMAND_LINE, f"{name}={text}")
    return Span(source, 0, len(source.text))


def _parse_value(parameter: resolved.ParameterSymbol, text: str) -> Value | None:
    text = text.strip()
    if isinstance(parameter.declared.type, Bool):
        return {"true": True, "false": False}.get(text.lower())
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None
