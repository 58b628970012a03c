"""Instantiation of trees to terms: indices are computed, quantifiers expanded, constants folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, Rule, suggestion
from cplc.language.groups import is_on, members, side_of
from cplc.language.lifecycle import CLAIM, COMMITMENT, DEADLINES, OPERATIONS, RESULT_OF, RULES, STANDINGS
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.instances import MAX_FAMILY_SIZE, Domain, InstanceTable, ProtocolInstance, RoleValue, Values
from cplc.semantics.static_vacuity import VacuityRecorder
from cplc.source import Span

MAX_BOUND = 10_000
"""Steps in the bound of a temporal operator."""
MAX_LISTED_COMMITMENTS = 6
"""Commitments that a diagnostic lists."""
MAX_OFFERS = 6
"""Commitments offered at once by one role to another; the semantics considers every subset."""

Watch = Callable[[t.Term, Span], None]
"""A callback for every atom of a term and its place."""


TIME_PASSES: Final = (
    "time passes if a commitment has a deadline (`within` or `expires`), a channel a bound (`channel within k`), "
    "a guard asks for an age (`age(c) < k`), a content counts ticks, "
    "the question assumes a bound (`assuming R within k`), or a belief has one (`believes R within k: …`)"
)
"""The ways by which a question gets ticks."""


_EVENTS: Final[dict[str, Callable[[str], t.Term]]] = {"received": t.Happened, "sent": t.Sent, "inflight": t.InFlight}
"""The atom of each kind of event."""


class Resolver:
    """Instantiates the trees of one instance of a declaration. Errors are reported and become ``false``."""

    def __init__(
        self, table: InstanceTable, protocol_instance: ProtocolInstance, values: Values, watch: Watch | None = None
    ) -> None:
        self._table = self.table = table
        self._protocol_instance = protocol_instance
        self._values = dict(values)
        self._watch = watch
        self.vacuity = VacuityRecorder()
        self.has_ticks = table.has_ticks
        """True if time passes, for which a bound that the question assumes is enough."""

    # --- numbers and roles ----------------------------------------------------------------------

    def number(self, tree: resolved.Tree) -> int | None:
        """Return a constant number; None after a reported error."""
        match tree:
            case resolved.LiteralTree(value) if not isinstance(value, str):
                return int(value)
            case resolved.LoopValue(binder):
                bound = self._values[binder]
                return bound.position if isinstance(bound, RoleValue) else bound
            case _:
                term = self._operand(tree)
                return term.value if isinstance(term, t.Const) and isinstance(term.value, int) else None

    def constant(self, tree: resolved.Tree) -> t.Value | None:
        """Return a constant value."""
        term = self._operand(tree) if isinstance(tree, resolved.LiteralTree) else self._term(tree)
        return term.value if isinstance(term, t.Const) else None

    def role(self, tree: resolved.RoleTree) -> model.Role | None:
        value = self._role_value(tree)
        return value.agent if value else None

    def _role_value(self, tree: resolved.RoleTree) -> RoleValue | None:
        if isinstance(tree, resolved.LoopValue):
            value = self._values[tree.binder]
            assert isinstance(value, RoleValue)
            return value
        family = self._family(tree.role, tree.owner, tree.owner_indices, tree.span)
        if family is None:
            return None
        if tree.index is None:
            return RoleValue(family[0], family[0].index) if family else None
        index = self.number(tree.index)
        if index is None:
            return None
        if 1 <= index <= len(family):
            return RoleValue(family[index - 1], index)
        has = f"has {len(family)} instance{'' if len(family) == 1 else 's'}"
        message = f"There is no `{tree.role.name}[{index}]`: `{tree.role.name}` {has}"
        self._table.problems.report(rules.INDEX_OUT_OF_RANGE, tree.span, message, *self._where())
        return None

    def agents(self, tree: resolved.RoleTree | resolved.AllOf) -> tuple[model.Role, ...]:
        if isinstance(tree, resolved.AllOf):
            return self._family(tree.role, tree.owner, tree.owner_indices, tree.span) or ()
        agent = self.role(tree)
        return (agent,) if agent else ()

    def _family(
        self,
        role: resolved.RoleSymbol,
        owner: tuple[resolved.PartSymbol, ...],
        indices: tuple[resolved.Tree, ...],
        span: Span,
    ) -> tuple[model.Role, ...] | None:
        protocol_instance = self._owner_instance(owner, indices, span)
        return None if protocol_instance is None else protocol_instance.roles.get(role)

    def _owner_instance(
        self, owner: tuple[resolved.PartSymbol, ...], indices: tuple[resolved.Tree, ...], span: Span
    ) -> ProtocolInstance | None:
        if not owner:
            return self._protocol_instance
        name = self._full_name(owner, "", indices)
        if name is None or any(part in self._table.broken for part in owner):
            return None
        if name not in self._table.parts:
            message = f"There is no `{name}`"
            self._table.problems.report(rules.INDEX_OUT_OF_RANGE, span, message, *self._where())
        return self._table.parts.get(name)

    def domain(self, domain: Domain, span: Span) -> Iterator[int | RoleValue]:
        """Yield the values of a loop's variable."""
        if isinstance(domain, resolved.KeyDomain):
            yield from range(1, self._table.keys[domain.name] + 1)
            return
        if isinstance(domain, resolved.FamilyDomain):
            agents = self._family(domain.role, domain.owner, domain.indices, span) or ()
            for position, agent in enumerate(agents, 1):
                yield RoleValue(agent, position)
            return
        low, high = self.number(domain.low), self.number(domain.high)
        if low is None or high is None:
            return
        if high - low >= MAX_FAMILY_SIZE:
            message = f"{high - low + 1:,} is more than {MAX_FAMILY_SIZE:,}, the most a family may have"
            self._table.report(rules.TOO_LARGE, span, message)
            return
        yield from range(low, high + 1)

    # --- instances ------------------------------------------------------------------------------

    def _full_name(
        self,
        owner: tuple[resolved.PartSymbol, ...],
        name: str,
        indices: tuple[resolved.Tree, ...],
        chain: resolved.Chain = (),
    ) -> str | None:
        chain = tuple(binder for part in owner for binder in part.chain) + chain
        numbers: list[int] = []
        for index in indices:
            number = self.number(index)
            if number is None:
                return None
            numbers.append(number)
        if self._table.is_of_one_key:
            numbers = [one for one, binder in zip(numbers, chain, strict=False) if not binder.is_key]
        names = tuple(part.name for part in owner)
        return self._protocol_instance.name_of(*(names if not name else (*names, name)), indices=tuple(numbers))

    def instance(self, tree: resolved.Instance) -> str | None:
        """Return the full name; None if the instance does not exist, which is reported."""
        symbol = tree.symbol
        if symbol in self._table.broken or any(part in self._table.broken for part in tree.owner):
            return None
        name = self._full_name(tree.owner, symbol.name, tree.indices, symbol.chain)
        if name is None or any(name in names for names in (self._table.parties, self._table.facts, self._table.agents)):
            return name
        if name in self._table.left_out:
            if not tree.is_current:
                message = f"`{name}` is left out because its two roles are the same; as a condition it is false"
                self._table.problems.report(rules.LEFT_OUT_INSTANCE, tree.span, message, *self._where())
            return None
        message = f"There is no `{name}`"
        family = [one for one in self._table.instances() if one.partition("[")[0] == name.partition("[")[0]]
        last = (Note(f"the last one is `{family[-1]}`"),) if family else ()
        self._table.problems.report(rules.INDEX_OUT_OF_RANGE, tree.span, message, *last, *self._where())
        return None

    def instances(self, tree: resolved.Instance | resolved.EveryInstance) -> tuple[str, ...]:
        """Return the full names of one message, or of every one of a family."""
        if isinstance(tree, resolved.Instance):
            name = self.instance(tree)
            return () if name is None else (name,)
        path = (*self._protocol_instance.path, *(part.name for part in tree.owner))
        outer = self._protocol_instance.outer
        names: list[str] = []
        for name, pending in self._table.messages.items():
            if not self._table.count_node(tree.span, rules.TOO_LARGE):
                return ()
            if (
                pending.body.symbol is tree.symbol
                and pending.protocol_instance.path == path
                and pending.protocol_instance.outer[: len(outer)] == outer
            ):
                names.append(name)
        return tuple(names)

    def _where(self) -> tuple[Note, ...]:
        return where(self._values)

    # --- terms ----------------------------------------------------------------------------------

    def term(self, tree: resolved.Tree) -> t.Term:
        return self._term(tree)

    def universal(self, tree: resolved.Tree) -> tuple[t.Term, tuple[tuple[str, int], ...]]:
        """Return the term, and the values of loops and outer universal quantifiers, each with its number of conjuncts.

        No conjunct is without instance, unless a constant decides the term.
        """
        instances: list[tuple[str, t.Term]] = []

        def recorded() -> Iterator[t.Term]:
            for label, term in self._instances(tree):
                instances.append((label, term))
                yield term

        whole = t.combined("&", recorded())
        counts = [_conjuncts(term) for _, term in instances]
        if sum(counts) != _conjuncts(whole):
            return whole, ()
        return whole, tuple((label, number) for (label, _), number in zip(instances, counts, strict=True))

    def _instances(self, tree: resolved.Tree) -> Iterator[tuple[str, t.Term]]:
        if not isinstance(tree, resolved.Quantified) or tree.kind != "forall":
            values = (f"{binder.name} = {_value_text(value)}" for binder, value in self._values.items())
            yield ", ".join(values), self._term(tree)
            return
        for _ in self._ranging(tree):
            yield from self._instances(tree.body)

    def operand(self, tree: resolved.Tree) -> t.Term | None:
        """Return a value to assign; None after an error."""
        match tree:
            case (
                resolved.LiteralTree() | resolved.ParameterValue() | resolved.LoopValue() | resolved.IndexOf()
                | resolved.OwnParameter() | resolved.Payload() | resolved.VariableOf() | resolved.AgeOf()
                | resolved.Apply(op="+" | "-" | "*" | "%")
            ):  # fmt: skip
                return self._operand(tree)
            case _:
                return self._term(tree)

    def _atom(self, term: t.Term, span: Span) -> t.Term:
        if self._watch:
            self._watch(term, span)
        return term

    def _term(self, tree: resolved.Tree) -> t.Term:
        match tree:
            case resolved.Event(kind, message, span):
                if not self._table.count_node(span, rules.TOO_LARGE) or (name := self.instance(message)) is None:
                    return t.FALSE
                return self._atom(_EVENTS[kind](name), span)
            case resolved.FactAt(fact, span):
                if not self._table.count_node(span, rules.TOO_LARGE) or (name := self.instance(fact)) is None:
                    return t.FALSE
                self.vacuity.fact(name)
                return self._atom(t.FactRef(name), span)
            case resolved.Lifecycle():
                return self._lifecycle(tree)
            case resolved.SameRole(left, right):
                return t.Const(self.role(left) == self.role(right))
            case resolved.IsTerminal(span):
                return self._atom(t.Terminal(), span)
            case resolved.Apply():
                return self._apply(tree)
            case resolved.Quantified():
                return self._quantified(tree)
            case resolved.OverPaths():
                return self._over_paths(tree)
            case resolved.Does():
                return self._does(tree)
            case resolved.Strategic(_, goal):
                group, target = self._group(tree.group, tree.span), self._term(goal)
                return t.Strategic(group, target) if group else t.FALSE
            case resolved.Social():
                return self._social(tree)
            case resolved.Conditional():
                return self._parties.conditional(tree, self._term(tree.antecedent), self._term(tree.consequent))
            case resolved.Knowledge():
                return self._knowledge(tree)
            case _:
                return self._operand(tree) or t.FALSE

    def _lifecycle(self, tree: resolved.Lifecycle) -> t.Term:
        if not self._table.count_node(tree.span, rules.TOO_LARGE):
            return t.FALSE
        name = self.instance(tree.commitment)
        if name is None:
            return t.Const("null" in tree.states)
        view: str | None = None
        if tree.view is not None:
            agent = self.role(tree.view)
            if agent is None:
                return t.FALSE
            view = agent.name
            if view not in self._table.parties[name]:
                parties = self._table.parties[name]
                message = f"`{view}` has no view of `{name}`, which is between `{parties.first}` and `{parties.second}`"
                self._table.problems.report(rules.NOT_A_PARTY, tree.span, message, *self._where())
                return t.FALSE
        if tree.states <= STANDINGS.keys():
            return self._atom(t.Stands(name, tree.states, view), tree.span)
        return self._atom(t.InState(name, tree.states, view), tree.span)

    def _apply(self, tree: resolved.Apply) -> t.Term:
        op = tree.op
        if not self._table.count_node(tree.span, rules.TOO_LARGE):
            return t.FALSE
        match op:
            case "&" | "|":
                return t.combined(op, (self._term(operand) for operand in tree.operands))
            case "!":
                return t.negated(self._below(tree, 0))
            case "->":
                return self._implication(tree)
            case "<->":
                return t.equivalence(self._below(tree, 0), self._below(tree, 1))
            case "=" | "!=" | "<" | "<=" | ">" | ">=":
                with self.vacuity.below(tree, 0):
                    left, right = (self._operand(operand) for operand in tree.operands)
                if left is None or right is None:
                    return t.FALSE
                if isinstance(left, t.Const) and isinstance(right, t.Const):
                    return t.Const(t.compared(op, left.value, right.value))
                return t.Apply(op, (left, right))
            case "+" | "-" | "*" | "%":
                return self._operand(tree) or t.FALSE
            case "therefore":
                self._below(tree, 0)  # counted twice, because lowering writes it twice
                return t.Apply(op, (self._below(tree, 0), self._below(tree, 1)))
            case _:
                operands = tuple(self._term(operand) for operand in tree.operands)
                return t.Apply(op, operands, *self._bounds(tree))

    def _bounds(self, tree: resolved.Apply) -> tuple[int | None, bool, int]:
        """Return the upper end of a bound, whether it counts ticks, and the lower end."""
        if tree.bound is None:
            return None, False, 0
        unit = "ticks" if tree.in_ticks else "steps"
        if tree.in_ticks and not self.has_ticks:
            hint = Note(f"{TIME_PASSES}; or count steps: `{tree.op}<=k`")
            message = "A bound in ticks needs time to pass, and nothing counts ticks here"
            self._table.problems.report(rules.NO_TICKS, tree.span, message, hint, *self._where())
            return None, False, 0
        low, bound = (0 if limit is None else self.number(limit) for limit in (tree.low, tree.bound))
        if low is None or bound is None:
            return 0, tree.in_ticks, 0
        for number in (low, bound):
            if number < 0:
                self._table.report(rules.VALUE_OUT_OF_RANGE, tree.span, f"A number of {unit} cannot be {number}")
                return 0, tree.in_ticks, 0
        if low > bound:
            message = f"The interval of `{tree.op}[{low}..{bound}]` is empty"
            self._table.report(rules.VALUE_OUT_OF_RANGE, tree.span, message)
            return 0, tree.in_ticks, 0
        if bound > MAX_BOUND:
            shown = f"{tree.op}<={bound}" if tree.low is None else f"{tree.op}[{low}..{bound}]"
            message = f"The bound of `{shown}` is more than {MAX_BOUND:,} {unit}"
            hint = Note(f"bounds are unrolled {unit[:-1]} by {unit[:-1]}: write `{tree.op}` without a bound")
            self._table.problems.report(rules.TOO_LARGE, tree.span, message, hint, *self._where())
            return 0, tree.in_ticks, 0
        return bound, tree.in_ticks, low

    def _below(self, tree: resolved.Apply, number: int) -> t.Term:
        with self.vacuity.below(tree, number):
            return self._term(tree.operands[number])

    def _implication(self, tree: resolved.Apply) -> t.Term:
        condition = self._below(tree, 0)
        if t.is_constant(condition, False):
            self.vacuity.implication(tree, false_left=True)
            return t.TRUE
        consequence = self._below(tree, 1)
        self.vacuity.implication(tree, true_right=t.is_constant(consequence, True))
        if t.is_constant(condition, True):
            return consequence
        return t.TRUE if t.is_constant(consequence, True) else t.Apply("->", (condition, consequence))

    def _quantified(self, tree: resolved.Quantified) -> t.Term:
        return t.combined("&" if tree.kind == "forall" else "|", self._expanded(tree))

    def _expanded(self, tree: resolved.Quantified) -> Iterator[t.Term]:
        return (self._term(tree.body) for _ in self._ranging(tree))

    def _ranging(self, tree: resolved.Quantified) -> Iterator[None]:
        """Bind the variable to each value of its domain in turn."""
        ranging = self.vacuity.enter(tree)
        for value in self.domain(tree.binder.domain, tree.span):
            ranging.instances += 1
            if not self._table.count_node(tree.span, rules.TOO_LARGE):
                break
            self._values[tree.binder] = value
            yield
        self._values.pop(tree.binder, None)

    def _over_paths(self, tree: resolved.OverPaths) -> t.Term:
        steps = None if tree.along is None else self._term(tree.along)
        if steps is None or not tree.speaks_of_idling or t.allows_idling(steps):
            return t.OverPaths(tree.quantifier, self._term(tree.path), steps)
        if not t.names_idle_step(steps):  # it was folded away
            steps = t.Apply("&", (steps, t.Apply("!", (t.Does("idle", ""),))))
        return t.OverPaths(tree.quantifier, self._term(tree.path), steps, may_idle=False)

    def _index(self, role: resolved.RoleTree) -> t.Term | None:
        agent = self._role_value(role)
        if agent is not None and agent.position is None:
            span = role.span if isinstance(role, resolved.RoleAt) else role.binder.span
            self._table.report(rules.TYPE_MISMATCH, span, f"`{agent.agent.name}` is a single role, no number")
        return None if agent is None or agent.position is None else t.Const(agent.position)

    def _operand(self, tree: resolved.Tree) -> t.Term | None:
        """Return a value; None if it never exists or has errors."""
        match tree:
            case resolved.LiteralTree(value):
                return t.Const(value)
            case resolved.ParameterValue(name):
                return t.Const(self._protocol_instance.parameters[name])
            case resolved.LoopValue(binder):
                bound = self._values[binder]
                return t.Const(bound) if not isinstance(bound, RoleValue) else None
            case resolved.RoleAt():
                return None
            case resolved.IndexOf(role):
                return self._index(role)
            case resolved.OwnParameter(name):
                return t.Own(name)
            case resolved.AgeOf(commitment, span):
                subject = self.instance(commitment)
                self._table.has_ticks = True
                return None if subject is None else self._atom(t.Age(subject), span)
            case resolved.Payload(message, parameter, span):
                name_ = self.instance(message)
                return None if name_ is None else self._atom(t.Field(name_, parameter), span)
            case resolved.VariableOf(role, name, span, key):
                return self.variable(role, name, span, key)
            case resolved.Apply(op, operands, span) if op in ("+", "-", "*", "%"):
                parts = [self._operand(operand) for operand in operands]
                if not self._table.count_node(span, rules.TOO_LARGE):
                    return None
                defined_parts = [part for part in parts if part is not None]
                return None if len(defined_parts) < len(parts) else self._arithmetic(op, defined_parts, span)
            case _:
                return self._term(tree)

    def variable(
        self, role: resolved.RoleTree, name: str, span: Span, key: resolved.Tree | None = None
    ) -> t.Term | None:
        agent = self.role(role)
        if agent is None:
            return None
        owner, indices = (role.owner, role.owner_indices) if isinstance(role, resolved.RoleAt) else ((), ())
        if isinstance(role, resolved.LoopValue) and isinstance(role.binder.domain, resolved.FamilyDomain):
            owner, indices = role.binder.domain.owner, role.binder.domain.indices
        protocol_instance = self._owner_instance(owner, indices, span)
        full_name = f"{agent.name}.{protocol_instance.prefix if protocol_instance else ''}{name}"
        if key is not None and not self._table.is_of_one_key:
            full_name += f"[{self.number(key)}]"
            if full_name not in self._table.variables:
                message = f"There is no `{full_name}`"
                self._table.problems.report(rules.INDEX_OUT_OF_RANGE, span, message, *self._where())
        if protocol_instance is None or full_name not in self._table.variables:
            return None
        return self._atom(t.Var(full_name), span)

    def _arithmetic(self, op: t.Op, parts: list[t.Term], span: Span) -> t.Term | None:
        if op == "%" and t.is_zero(parts[1]):
            self._table.problems.report(rules.DIVISION_BY_ZERO, span, "Division by zero", *self._where())
            return None
        numbers = [part.value for part in parts if isinstance(part, t.Const)]
        if len(numbers) < len(parts):
            return t.Apply(op, tuple(parts))
        return t.Const(t.calculated(op, [int(number) for number in numbers]))

    # --- modalities -----------------------------------------------------------------------------

    def _social(self, tree: resolved.Social) -> t.Term:
        body = self._term(tree.body)
        trigger = None if tree.trigger is None else self._term(tree.trigger)
        if isinstance(tree.between, resolved.Instance):
            name = self.instance(tree.between)
            if name is None:
                return t.FALSE
            parties = self._table.parties[name]
            return t.Social(tree.modality, parties.first, parties.second, body, name)
        debtor, creditor = map(self.side, tree.between)
        if debtor is None or creditor is None:
            return t.FALSE
        if is_on(members(debtor), creditor):
            message = f"`{debtor}` cannot be committed to itself"
            self._table.problems.report(rules.SAME_ROLE, tree.span, message, *self._where())
            return t.FALSE
        if not self._can_bind(tree, debtor, creditor):
            counts_claims = tree.modality in ("SC", "SCc")
            self._parties.nothing_promised(debtor, creditor, tree.span, counts_claims=counts_claims)
            return t.FALSE
        return t.Social(tree.modality, debtor, creditor, body, None, trigger)

    def side(self, tree: resolved.Side) -> str | None:
        """Return the name of a role or group, whose members are in the order of declaration; None if it has none."""
        roles = {agent.name for written in tree.roles for agent in self.agents(written)}
        order = [role.name for role in self._table.roles if role.name in roles]
        return side_of(order) if order else None

    def _can_bind(self, tree: resolved.Social, debtor: str, creditor: str) -> bool:
        """Return whether the modality has a possible binding of the debtor to the creditor."""
        if self._table.promises(debtor, creditor):
            return True
        return tree.modality in ("SC", "SCc") and self._table.claims_between(debtor, creditor)

    @property
    def _parties(self) -> ConditionalParties:
        return ConditionalParties(self, self._where())

    def _knowledge(self, tree: resolved.Knowledge) -> t.Term:
        body = self._term(tree.body)
        group = self._group(tree.group, tree.span)
        return t.Knowledge(tree.modality, group, body) if group else t.FALSE

    def _group(self, group: tuple[resolved.RoleTree | resolved.AllOf, ...], span: Span) -> tuple[str, ...]:
        """Return the members of a group with families expanded, and report an empty group."""
        members = [(member, self.agents(member)) for member in group]
        if any(not agents and not isinstance(member, resolved.AllOf) for member, agents in members):
            return ()
        names = tuple(dict.fromkeys(agent.name for _, agents in members for agent in agents))
        if not names:
            self._table.problems.report(rules.EMPTY_RANGE, span, "This group has no members", *self._where())
        return names

    def _does(self, tree: resolved.Does) -> t.Term:
        if not self._table.count_node(tree.span, rules.TOO_LARGE):
            return t.FALSE
        subject = tree.subject
        if tree.verb == "idle" and subject is None:
            return t.Does("idle", "")
        if subject is None:
            if not self.has_ticks:
                message = "`does(tick)` is always false: nothing counts ticks here"
                self._table.problems.report(rules.NEVER_DONE, tree.span, message, Note(TIME_PASSES))
            return t.Does("tick", "")
        if not isinstance(subject, resolved.Instance):
            agent = self.role(subject)
            return t.FALSE if agent is None else t.Does(tree.verb, agent.name)
        name = self.instance(subject)
        other = None if tree.other is None else self.instance(tree.other)
        if name is None or (tree.other is not None and other is None):
            return t.FALSE
        if tree.verb not in ("take", "send") and not self._can_be_done(tree, subject.symbol, name):
            message = f"This is always false: no message means `{tree.verb} {subject.symbol.name}`"
            state = RESULT_OF.get(tree.verb)
            predicate = f"{state}({subject.span.text})"
            hint = () if state is None else (suggestion(f"write `{predicate}` for the state", predicate),)
            self._table.problems.report(rules.NEVER_DONE, tree.span, message, *hint)
        return t.Does(tree.verb, name, other, tree.by_message)

    def _can_be_done(self, tree: resolved.Does, symbol: resolved.Indexed, name: str) -> bool:
        """Return whether some message performs the operation or, if that suffices, another rule makes the change."""
        table = self._table
        if (tree.verb, symbol) in table.performed_operations:
            return True
        if tree.by_message:
            return False
        if (tree.verb, symbol) in table.indirect_changes:
            return True
        declared = table.commitments[name].body if name in table.commitments else None
        kind = CLAIM if declared is None else COMMITMENT
        state = RESULT_OF.get(tree.verb)
        for row in (*OPERATIONS, *RULES):
            if row.of != kind or row.target != state:
                continue
            is_timed = row in DEADLINES and bool(getattr(declared, row.when))
            is_decided = row.when in ("consequent", "content true") or (
                declared is None and row.when == "content false"
            )
            if (row.verb, symbol) in table.performed_operations or is_timed or is_decided:
                return True
        return False


def where(values: Values) -> tuple[Note, ...]:
    """Return a note with the values of the enclosing loops; none outside loops."""
    shown = [
        f"{binder.name} = {value.agent.name if isinstance(value, RoleValue) else value}"
        for binder, value in values.items()
    ]
    return (Note("for " + ", ".join(shown)),) if shown else ()


class ConditionalParties:
    """Resolves the parties of conditional-commitment modalities in one instance of a declaration."""

    def __init__(self, resolver: Resolver, notes: tuple[Note, ...]) -> None:
        self._resolver = resolver
        self._table = resolver.table
        self._notes = notes

    def conditional(self, tree: resolved.Conditional, antecedent: t.Term, consequent: t.Term) -> t.Term:
        """Return the modality between instances of roles or commitments, and report errors."""
        between = self._between(tree.between, tree.span)
        if between is None:
            return t.FALSE
        if tree.other is None:
            return t.Conditional(tree.modality, between, None, antecedent, consequent)
        other = self._handed_over(tree, between)
        return t.FALSE if other is None else t.Conditional(tree.modality, between, other, antecedent, consequent)

    def _between(
        self, parties: tuple[resolved.Side, resolved.Side] | resolved.Instance, span: Span
    ) -> t.Between | None:
        if isinstance(parties, resolved.Instance):
            name = self._resolver.instance(parties)
            if name is None:
                return None
            ends = self._table.parties[name]
            return t.Between(ends.first, ends.second, name)
        debtor, creditor = map(self._resolver.side, parties)
        return None if debtor is None or creditor is None else self._pair(debtor, creditor, span)

    def _pair(self, debtor: str, creditor: str, span: Span) -> t.Between | None:
        if debtor == creditor:
            self._report(rules.SAME_ROLE, span, f"`{debtor}` cannot be committed to itself")
            return None
        if not self._table.promises(debtor, creditor):
            self.nothing_promised(debtor, creditor, span)
            return None
        channel = self._table.promises(debtor, creditor)
        offered = [name for name in channel if self._table.commitments[name].body.antecedent != resolved.TRUE]
        if len(offered) > MAX_OFFERS:
            message = (
                f"`{debtor}` can offer `{creditor}` {len(offered)} commitments at once; "
                f"conditional commitments of a pair are supported up to {MAX_OFFERS}"
            )
            self._report(
                rules.TOO_LARGE, span, message, Note(f"ask about one of them, as in `WCC({offered[0]}, p, q)`")
            )
            return None
        return t.Between(debtor, creditor)

    def _handed_over(self, tree: resolved.Conditional, between: t.Between) -> t.Between | None:
        """Return the channel of the successor of a delegation or assignment."""
        delegated = tree.modality == "DeS"
        remaining_party = between.creditor if delegated else between.debtor
        if isinstance(tree.other, resolved.Instance):
            name = self._resolver.instance(tree.other)
            if name is None:
                return None
            parties = self._table.parties[name]
            moved, stays = (parties.first, parties.second) if delegated else (parties.second, parties.first)
            was = between.debtor if delegated else between.creditor
            if stays != remaining_party or moved == was:
                same, other = ("creditor", "debtor") if delegated else ("debtor", "creditor")
                message = f"`{between.commitment}` is not handed over to `{name}`"
                hint = Note(f"name a commitment with another {other} and the same {same}")
                self._report(rules.WRONG_TARGET, tree.span, message, hint)
                return None
            return t.Between(parties.first, parties.second, name)
        assert tree.other is not None
        role = self._resolver.role(tree.other)
        if role is None:
            return None
        if role.name in (between.debtor, between.creditor):
            message = f"`{role.name}` is a party already: name a third role"
            self._report(rules.SAME_ROLE, tree.span, message)
            return None
        pair = (role.name, remaining_party) if delegated else (remaining_party, role.name)
        return self._pair(*pair, tree.span)

    def nothing_promised(self, debtor: str, creditor: str, span: Span, *, counts_claims: bool = False) -> None:
        """Report that the channel has no commitments, and list the channels that do."""
        no_claim = ", and no claim between them," if counts_claims else ""
        message = f"No commitment from `{debtor}` to `{creditor}`{no_claim} is declared"
        names = [*self._table.commitments, *(self._table.claims if counts_claims else ())]
        parties = ((name, self._table.parties[name]) for name in names)
        shown = [f"`{one.first} -> {one.second}` ({name})" for name, one in parties]
        listed = ", ".join(shown[:MAX_LISTED_COMMITMENTS]) + (", ..." if len(shown) > MAX_LISTED_COMMITMENTS else "")
        what = "commitments and claims" if counts_claims and self._table.claims else "commitments"
        hint = f"{what} are declared from {listed}" if shown else "as in `commitment c = C(A, B, p, q)`"
        self._report(rules.NOTHING_PROMISED, span, message, Note(hint))

    def _report(self, rule: Rule, span: Span, message: str, *hints: Note) -> None:
        self._table.problems.report(rule, span, message, *hints, *self._notes)


def _conjuncts(term: t.Term) -> int:
    if isinstance(term, t.Apply) and term.op == "&":
        return len(term.operands)
    return 0 if isinstance(term, t.Const) else 1


def _value_text(value: int | RoleValue) -> str:
    return value.agent.name if isinstance(value, RoleValue) else str(value)
