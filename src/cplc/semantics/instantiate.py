"""Families unrolled: every instance gets its name, its loops' values and its scope."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model, resolved, statements
from cplc.semantics.instances import (
    MOST_IN_FAMILY,
    MOST_INSTANCES,
    Beginning,
    Binding,
    Ends,
    Frame,
    Job,
    RoleValue,
    Values,
    World,
)
from cplc.semantics.instantiate_terms import Resolver, where
from cplc.semantics.terms import Value
from cplc.semantics.types import Bool, Enum, Int
from cplc.source import Span


class Unroller:
    """Fills a world with the instances of one protocol."""

    def __init__(self, world: World, templates: Mapping[resolved.Signature, statements.Template]) -> None:
        self.world = world
        self._templates = templates
        self._scope_names: set[str] = set()
        self._counted: dict[object, int | None] = {}

    def unroll(self, template: statements.Template, parameters: Mapping[str, Value], *, most: int) -> Frame | None:
        """Add everything; None where there are more instances than ``most``, and then nothing is added.

        That is reported where they are too many for any protocol.
        """
        name = template.signature.name
        bare = Frame(template, (), (), parameters, {}, name)
        if not self._size_is_fit(template, bare):
            return None
        roles = {role: tuple(self._agents(role, bare)) for role in template.signature.roles}
        frame = Frame(template, (), (), parameters, roles, name)
        counted = self._count(template.body, frame, {}, MOST_INSTANCES)
        if counted is None:
            return None
        if counted > most and counted <= MOST_INSTANCES:
            return None
        if counted > MOST_INSTANCES:
            message = f"`{name}` has more than {MOST_INSTANCES:,} declarations when its families are unrolled"
            self.world.report(rules.TOO_LARGE, template.signature.node.name.span, message)
            return None
        self.world.roles.extend(agent for agents in roles.values() for agent in agents)
        self._variables(frame)
        self._scope_names.add(name)
        self.world.scopes.append(model.Scope(name, None, tuple(agent.name for agent in self.world.roles)))
        self._bodies(template.body, frame, {}, (), name)
        return frame

    # --- sizes ----------------------------------------------------------------------------------

    def _size_is_fit(self, template: statements.Template, frame: Frame) -> bool:
        """Report families that are too large, or smaller than nothing."""
        total = 0
        for role in template.signature.roles:
            if role.size is None:
                total += 1
                continue
            size = Resolver(self.world, frame, {}).number(role.size)
            if size is None:
                return False
            if size < 0:
                self.world.report(rules.EMPTY_RANGE, role.span, f"`{role.name}` cannot have {size} instances")
                return False
            if size > MOST_IN_FAMILY:
                message = f"`{role.name}` has {size:,} instances, more than {MOST_IN_FAMILY:,}"
                self.world.report(rules.TOO_LARGE, role.span, message)
                return False
            total += size
        return total <= MOST_INSTANCES

    def _count(self, bodies: Iterable[statements.Body], frame: Frame, values: Values, room: int) -> int | None:
        """Return how many instances there are, or a number above ``room``; None if a domain is wrong."""
        total = 0
        for body in bodies:
            inner: int | None
            match body:
                case statements.Loop(binder, inside):
                    inner = self._count_loop(binder, inside, frame, values, room - total)
                case statements.Part(symbol):
                    used = None if symbol in self.world.broken else self._part_frame(body, frame, values, ())
                    inner = self._count_part(used) if used else 1
                case _:
                    inner = 1
            if inner is None:
                return None
            total += inner
            if total > room:
                return total
        return total

    def _count_part(self, frame: Frame) -> int | None:
        """Count once for all uses with the same parameters and families."""
        sizes = tuple(len(agents) for agents in frame.roles.values())
        key = frame.template.signature, tuple(frame.parameters.items()), sizes
        if key not in self._counted:
            self._counted[key] = self._count(frame.template.body, frame, {}, MOST_INSTANCES)
        counted = self._counted[key]
        return None if counted is None else counted + 1

    def _count_loop(
        self, binder: resolved.Binder, inside: tuple[statements.Body, ...], frame: Frame, values: Values, room: int
    ) -> int | None:
        before = self.world.problems.errors
        domain = list(Resolver(self.world, frame, values).domain(binder.domain, binder.span))
        if self.world.problems.errors > before:
            return None
        if all(_is_flat(body) for body in inside):
            return len(domain) * (1 + len(inside))
        total = 0
        for value in domain:
            inner = self._count(inside, frame, {**values, binder: value}, room - total - 1)
            if inner is None:
                return None
            total += 1 + inner
            if total > room:
                return total
        return total

    # --- roles ----------------------------------------------------------------------------------

    def _agents(self, role: resolved.RoleSymbol, frame: Frame) -> Iterator[model.Role]:
        if role.size is None:
            yield model.Role(role.name, role.name, None, span=role.span)
            return
        size = Resolver(self.world, frame, {}).number(role.size) or 0
        for index in range(1, size + 1):
            yield model.Role(f"{role.name}[{index}]", role.name, index, span=role.span)

    def _variables(self, frame: Frame) -> None:
        resolver = Resolver(self.world, frame, {})
        for role, agents in frame.roles.items():
            for symbol in role.variables.values():
                domain = self.domain(symbol.declared, resolver)
                initial = None
                if symbol.initial is not None and domain is not None:
                    initial = resolver.constant(symbol.initial)
                    self._check_initial(symbol, initial, domain)
                for agent in agents:
                    name = f"{agent.name}.{frame.prefix}{symbol.name}"
                    scope = frame.scope if frame.path else ""
                    self.world.variables[name] = model.Variable(
                        name, agent.name, domain or (False,), initial, scope, span=symbol.span
                    )

    def _check_initial(self, symbol: resolved.VariableSymbol, initial: Value | None, domain: tuple[Value, ...]) -> None:
        if initial is None or initial in domain:
            return
        message = f"`{symbol.name}` starts at {shown(initial)}, which is not in {range_text(domain)}"
        self.world.report(rules.VALUE_OUT_OF_RANGE, symbol.span, message)

    def domain(self, declared: resolved.Ranged, resolver: Resolver) -> tuple[Value, ...] | None:
        """Return the values of a type; None if they are wrong, which is reported."""
        match declared.type:
            case Bool():
                return (False, True)
            case Enum(members):
                return members
            case Int() if declared.low is not None and declared.high is not None and declared.span is not None:
                low, high = resolver.number(declared.low), resolver.number(declared.high)
                if low is None or high is None:
                    return None
                if high < low:
                    self.world.report(rules.EMPTY_RANGE, declared.span, f"There is no number in {low}..{high}")
                    return None
                if high - low >= MOST_IN_FAMILY:
                    message = f"{high - low + 1:,} values are more than {MOST_IN_FAMILY:,}"
                    self.world.report(rules.TOO_LARGE, declared.span, message)
                    return None
                return tuple(range(low, high + 1))
            case _:
                return None

    # --- instances ------------------------------------------------------------------------------

    def _bodies(
        self, bodies: Iterable[statements.Body], frame: Frame, values: Values, indices: tuple[int, ...], scope: str
    ) -> None:
        for body in bodies:
            match body:
                case statements.Loop(binder, inside):
                    for value in Resolver(self.world, frame, values).domain(binder.domain, binder.span):
                        index = value.position or 0 if isinstance(value, RoleValue) else value
                        inner = self._loop_scope(binder, value, frame, scope)
                        self._bodies(inside, frame, {**values, binder: value}, (*indices, index), inner)
                case statements.Message(symbol):
                    ends = self._ends(body.sender, body.receiver, frame, values)
                    name = frame.name_of(symbol.name, indices=indices)
                    if ends is None:
                        self.world.broken.add(symbol)
                    elif self._is_between_two(ends, (body.sender, body.receiver), symbol, name, frame, values):
                        self.world.ends[name] = ends
                        self.world.messages[name] = Job(name, body, frame, values, scope)
                case statements.Commitment(symbol):
                    ends = self._ends(body.debtor, body.creditor, frame, values)
                    name = frame.name_of(symbol.name, indices=indices)
                    if ends is None:
                        self.world.broken.add(symbol)
                    elif self._is_between_two(ends, (body.debtor, body.creditor), symbol, name, frame, values):
                        self.world.ends[name] = ends
                        self.world.commitments[name] = Job(name, body, frame, values, scope)
                case statements.Claim(symbol):
                    ends = self._ends(body.maker, body.addressee, frame, values)
                    name = frame.name_of(symbol.name, indices=indices)
                    if ends is None:
                        self.world.broken.add(symbol)
                    elif self._is_between_two(ends, (body.maker, body.addressee), symbol, name, frame, values):
                        self.world.ends[name] = ends
                        self.world.claims[name] = Job(name, body, frame, values, scope)
                case statements.Fact(symbol):
                    name = frame.name_of(symbol.name, indices=indices)
                    self.world.facts[name] = Job(name, body, frame, values, scope)
                case statements.Agent(symbol):
                    name = frame.name_of(symbol.name, indices=indices)
                    self.world.agents[name] = Job(name, body, frame, values, scope)
                case statements.Part(symbol):
                    if symbol not in self.world.broken:
                        self._part(body, frame, values, indices, scope)
                case statements.Property(node):
                    name = frame.name_of(node.name.text, indices=indices)
                    self.world.others.append(Job(name, body, frame, values, scope))
                case _:
                    self.world.others.append(Job("", body, frame, values, scope))

    def _ends(self, first: resolved.RoleTree, second: resolved.RoleTree, frame: Frame, values: Values) -> Ends | None:
        resolver = Resolver(self.world, frame, values)
        one, other = resolver.role(first), resolver.role(second)
        return Ends(one.name, other.name) if one and other else None

    def _is_between_two(
        self,
        ends: Ends,
        written: tuple[resolved.RoleTree, resolved.RoleTree],
        symbol: resolved.MessageSymbol | resolved.CommitmentSymbol | resolved.ClaimSymbol,
        name: str,
        frame: Frame,
        values: Values,
    ) -> bool:
        """Whether the two roles differ. Where they are the same, the instance is left out.

        That is an error unless each depends on a loop variable that the other does not depend on.
        """
        if ends.first != ends.second:
            return True
        self.world.left_out.add(name)
        if not may_coincide(*written, frame):
            self._report_same_role(ends.first, written, symbol, name, frame, values)
        return False

    def _report_same_role(
        self,
        role: str,
        written: tuple[resolved.RoleTree, resolved.RoleTree],
        symbol: resolved.MessageSymbol | resolved.CommitmentSymbol | resolved.ClaimSymbol,
        name: str,
        frame: Frame,
        values: Values,
    ) -> None:
        """Report at the declaration or, where the `use` of a part makes two of its roles one, there."""
        message = f"`{name}` is between `{role}` and itself"
        notes = list(where(values))
        is_in_loop = any(binders for one in written if (binders := list(_binders(one, frame))))
        span, bound = symbol.span, [_argument(one, frame) for one in written]
        while frame.binding is not None and None not in bound:
            (_, span), (_, other) = (one for one in bound if one is not None)
            notes = [Note(f"`{symbol.name}` is declared here", symbol.span), *where(frame.binding.values)]
            span = max(span, other, key=lambda place: place.start)
            frame = frame.binding.frame
            bound = [_argument(one[0], frame) if one is not None else None for one in bound]
        if is_in_loop:
            hint = "let two different variables range over the family, or leave this member out of the range"
        elif isinstance(symbol, resolved.MessageSymbol):
            hint = "what a role does on its own is a variable of that role, or another role that does it"
        else:
            hint = "nobody owes anything to themselves: name another role"
        notes.append(Note(hint))
        self.world.problems.report(rules.SAME_ROLE, span, message, *notes)

    # --- scopes and parts -----------------------------------------------------------------------

    def _loop_scope(self, binder: resolved.Binder, value: int | RoleValue, frame: Frame, outer: str) -> str:
        roles: tuple[str, ...] = ()
        if isinstance(value, RoleValue):
            binding, roles = value.agent.name, (value.agent.name,)
        else:
            binding = f"{binder.name}={value}"
        name = binding if outer == self.world.scopes[0].name else f"{outer}/{binding}"
        return self._scope(name, outer, roles)

    def _scope(self, name: str, outer: str, roles: tuple[str, ...]) -> str:
        unique, number = name, 1
        while unique in self._scope_names:
            number += 1
            unique = f"{name}#{number}"
        self._scope_names.add(unique)
        self.world.scopes.append(model.Scope(unique, outer, roles))
        return unique

    def _part(self, part: statements.Part, frame: Frame, values: Values, indices: tuple[int, ...], scope: str) -> None:
        bound = self._part_frame(part, frame, values, indices)
        if bound is None:
            self.world.broken.add(part.symbol)
            return
        name = self._scope(bound.name_of(indices=()), scope, ())
        outer = () if part.follows else frame.beginning
        used = replace(bound, scope=name, beginning=(*outer, Beginning(part.conditions, frame, values)))
        self.world.parts[used.name_of(indices=())] = used
        self._variables(used)
        self._bodies(used.template.body, used, {}, (), name)

    def _part_frame(
        self, part: statements.Part, frame: Frame, values: Values, indices: tuple[int, ...]
    ) -> Frame | None:
        """Return the part with its roles and parameters bound; None if that goes wrong, which is reported."""
        before = self.world.problems.errors
        signature = part.symbol.signature
        template = self._templates.get(signature)
        if template is None:
            return None
        resolver = Resolver(self.world, frame, values)
        path, outer = (*frame.path, part.symbol.name), (*frame.outer, *indices)
        written = {parameter: (value, span) for parameter, value, span in part.values}
        parameters: dict[str, Value] = {}
        for parameter in signature.parameters.values():
            bare = Resolver(self.world, Frame(template, path, outer, parameters, {}, ""), {})
            given, span = written.get(parameter, (None, parameter.span))
            value = resolver.constant(given) if given is not None else None
            if given is None and parameter.default is not None:
                value = bare.constant(parameter.default)
            domain = self.domain(parameter.declared, bare)
            if value is None or domain is None:
                return None
            if value not in domain:
                message = f"`{parameter.name}` cannot be {shown(value)}: it is in {range_text(domain)}"
                self.world.report(rules.VALUE_OUT_OF_RANGE, span, message)
                return None
            parameters[parameter.name] = value
        inside = Frame(template, path, outer, parameters, {}, "")
        roles: dict[resolved.RoleSymbol, tuple[model.Role, ...]] = {}
        for role, bound, span in part.roles:
            agents = resolver.agents(bound)
            if role.is_family and not self._same_size(role, agents, inside, span):
                return None
            if not role.is_family and not agents:
                return None
            roles[role] = agents
        if self.world.problems.errors > before:
            return None
        binding = Binding({role: (written, span) for role, written, span in part.roles}, frame, values)
        return Frame(template, path, outer, parameters, roles, "", binding=binding)

    def _same_size(self, role: resolved.RoleSymbol, agents: tuple[model.Role, ...], inside: Frame, span: Span) -> bool:
        if role.size is None:
            return True
        size = Resolver(self.world, inside, {}).number(role.size)
        if size == len(agents):
            return True
        message = f"`{role.name}` has {size} instances and is bound to {len(agents)}"
        self.world.problems.report(rules.UNBOUND_ROLE, span, message, Note("declared here", role.span))
        return False


def may_coincide(
    one: resolved.RoleTree | resolved.AllOf, other: resolved.RoleTree | resolved.AllOf, frame: Frame
) -> bool:
    """Whether each of two roles depends on a loop variable that the other does not depend on, or one is a family."""
    if isinstance(one, resolved.AllOf) or isinstance(other, resolved.AllOf):
        return True
    first, second = frozenset(_binders(one, frame)), frozenset(_binders(other, frame))
    return bool(first - second and second - first)


def _argument(
    role: resolved.RoleTree | resolved.AllOf, frame: Frame
) -> tuple[resolved.RoleTree | resolved.AllOf, Span] | None:
    """Return what a role of a part is bound to where the part is used, and where that is written."""
    if frame.binding is None or not isinstance(role, resolved.RoleAt | resolved.AllOf) or role.owner:
        return None
    return frame.binding.roles.get(role.role)


def _binders(role: resolved.RoleTree | resolved.AllOf, frame: Frame) -> Iterator[resolved.Binder]:
    """Yield the loop variables that decide which role it is, those around the `use` of a part included."""
    match role:
        case resolved.LoopValue(binder):
            yield binder
        case resolved.RoleAt(_, index):
            yield from _binders_in(index) if index is not None else ()
        case resolved.AllOf():
            pass
    argument = _argument(role, frame)
    if argument is not None and frame.binding is not None:
        yield from _binders(argument[0], frame.binding.frame)


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


def _is_flat(body: statements.Body) -> bool:
    return not isinstance(body, statements.Loop | statements.Part)


def shown(value: Value) -> str:
    return str(value).lower() if isinstance(value, bool) else f"`{value}`" if isinstance(value, str) else str(value)


def range_text(domain: tuple[Value, ...]) -> str:
    if all(isinstance(value, int) and not isinstance(value, bool) for value in domain):
        return f"{domain[0]}..{domain[-1]}"
    return ", ".join(shown(value) for value in domain)
