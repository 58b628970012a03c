"""Trees to terms, for one instance: indices computed, quantifiers expanded, constants folded."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.builtin_words import DONE, STANDINGS
from cplc.semantics.constant_folding import combined, compared, equivalence, is_constant, is_zero, negated
from cplc.semantics.idle_step import allows_idling, names_idle_step
from cplc.semantics.instances import MOST_IN_FAMILY, Frame, RoleValue, Values, World
from cplc.semantics.static_vacuity import Ranges
from cplc.semantics.terms import FALSE, TRUE, Term, Value
from cplc.source import Span

MOST_STEPS = 10_000
"""How far a bounded operator may look ahead."""

if TYPE_CHECKING:
    from cplc.semantics.conditional_parties import Parties

Watch = Callable[[Term, Span], None]
"""Told of every atom that a term looks at, and of where it is written."""


class Resolver:
    """Resolves what stands in one instance of a declaration. Wrong things are reported and become ``false``."""

    def __init__(self, world: World, frame: Frame, values: Values, watch: Watch | None = None) -> None:
        self._world = self.world = world
        self._frame = frame
        self._values = dict(values)
        self._watch = watch
        self.ranges = Ranges()

    # --- numbers and roles ----------------------------------------------------------------------

    def number(self, found: resolved.Tree) -> int | None:
        """Return a number that is known now; None if it is wrong, which is reported."""
        match found:
            case resolved.LiteralTree(value) if not isinstance(value, str):
                return int(value)
            case resolved.LoopValue(binder):
                bound = self._values[binder]
                return bound.position if isinstance(bound, RoleValue) else bound
            case _:
                term = self._operand(found)
                return term.value if isinstance(term, t.Const) and isinstance(term.value, int) else None

    def constant(self, found: resolved.Tree) -> Value | None:
        """Return a value that is known now."""
        term = self._operand(found) if isinstance(found, resolved.LiteralTree) else self._term(found)
        return term.value if isinstance(term, t.Const) else None

    def role(self, found: resolved.RoleTree) -> model.Role | None:
        value = self._role_value(found)
        return value.agent if value else None

    def _role_value(self, found: resolved.RoleTree) -> RoleValue | None:
        if isinstance(found, resolved.LoopValue):
            value = self._values[found.binder]
            assert isinstance(value, RoleValue)
            return value
        family = self._family(found.role, found.owner, found.owner_indices, found.span)
        if family is None:
            return None
        if found.index is None:
            return RoleValue(family[0], family[0].index) if family else None
        index = self.number(found.index)
        if index is None:
            return None
        if 1 <= index <= len(family):
            return RoleValue(family[index - 1], index)
        has = f"has {len(family)} instance{'' if len(family) == 1 else 's'}"
        message = f"There is no `{found.role.name}[{index}]`: `{found.role.name}` {has}"
        self._world.problems.report(rules.INDEX_OUT_OF_RANGE, found.span, message, *self._where())
        return None

    def agents(self, found: resolved.RoleTree | resolved.AllOf) -> tuple[model.Role, ...]:
        if isinstance(found, resolved.AllOf):
            return self._family(found.role, found.owner, found.owner_indices, found.span) or ()
        agent = self.role(found)
        return (agent,) if agent else ()

    def _family(
        self,
        role: resolved.RoleSymbol,
        owner: tuple[resolved.PartSymbol, ...],
        indices: tuple[resolved.Tree, ...],
        span: Span,
    ) -> tuple[model.Role, ...] | None:
        frame = self._owner_frame(owner, indices, span)
        return None if frame is None else frame.roles.get(role)

    def _owner_frame(
        self, owner: tuple[resolved.PartSymbol, ...], indices: tuple[resolved.Tree, ...], span: Span
    ) -> Frame | None:
        if not owner:
            return self._frame
        name = self._full_name(owner, "", indices)
        if name is None or any(part in self._world.broken for part in owner):
            return None
        if name not in self._world.parts:
            message = f"There is no `{name}`"
            self._world.problems.report(rules.INDEX_OUT_OF_RANGE, span, message, *self._where())
        return self._world.parts.get(name)

    def domain(self, domain: resolved.FamilyDomain | resolved.NumberDomain, span: Span) -> Iterator[int | RoleValue]:
        """Yield the values of a loop's variable."""
        if isinstance(domain, resolved.FamilyDomain):
            agents = self._family(domain.role, domain.owner, domain.indices, span) or ()
            for position, agent in enumerate(agents, 1):
                yield RoleValue(agent, position)
            return
        low, high = self.number(domain.low), self.number(domain.high)
        if low is None or high is None:
            return
        if high - low >= MOST_IN_FAMILY:
            message = f"{high - low + 1:,} is more than {MOST_IN_FAMILY:,}, the most a family may have"
            self._world.report(rules.TOO_LARGE, span, message)
            return
        yield from range(low, high + 1)

    # --- instances ------------------------------------------------------------------------------

    def _full_name(
        self, owner: tuple[resolved.PartSymbol, ...], name: str, indices: tuple[resolved.Tree, ...]
    ) -> str | None:
        numbers: list[int] = []
        for index in indices:
            number = self.number(index)
            if number is None:
                return None
            numbers.append(number)
        names = tuple(part.name for part in owner)
        return self._frame.name_of(*(names if not name else (*names, name)), indices=tuple(numbers))

    def instance(self, found: resolved.Instance) -> str | None:
        """Return the full name; None if there is no such instance, which is reported."""
        symbol = found.symbol
        if symbol in self._world.broken or any(part in self._world.broken for part in found.owner):
            return None
        name = self._full_name(found.owner, symbol.name, found.indices)
        if name is None or any(name in known for known in (self._world.ends, self._world.facts, self._world.agents)):
            return name
        if name in self._world.left_out:
            if not found.is_current:
                message = f"`{name}` is left out because its two roles are the same; as a condition it is false"
                self._world.problems.report(rules.LEFT_OUT_INSTANCE, found.span, message, *self._where())
            return None
        message = f"There is no `{name}`"
        self._world.problems.report(rules.INDEX_OUT_OF_RANGE, found.span, message, *self._where())
        return None

    def instances(self, found: resolved.Instance | resolved.EveryInstance) -> tuple[str, ...]:
        """Return the full names of one message, or of every one of a family."""
        if isinstance(found, resolved.Instance):
            name = self.instance(found)
            return () if name is None else (name,)
        path = (*self._frame.path, *(part.name for part in found.owner))
        outer = self._frame.outer
        names: list[str] = []
        for name, job in self._world.messages.items():
            if not self._world.spend(found.span, rules.TOO_LARGE):
                return ()
            if job.body.symbol is found.symbol and job.frame.path == path and job.frame.outer[: len(outer)] == outer:
                names.append(name)
        return tuple(names)

    def _where(self) -> tuple[Note, ...]:
        return where(self._values)

    # --- terms ----------------------------------------------------------------------------------

    def term(self, found: resolved.Tree) -> Term:
        return self._term(found)

    def operand(self, found: resolved.Tree) -> Term | None:
        """Return a value to assign; None where it cannot be said."""
        match found:
            case (
                resolved.LiteralTree() | resolved.ParameterValue() | resolved.LoopValue() | resolved.IndexOf()
                | resolved.OwnParameter() | resolved.Payload() | resolved.VariableOf() | resolved.AgeOf()
                | resolved.Apply(op="+" | "-" | "*" | "%")
            ):  # fmt: skip
                return self._operand(found)
            case _:
                return self._term(found)

    def _atom(self, term: Term, span: Span) -> Term:
        if self._watch:
            self._watch(term, span)
        return term

    def _term(self, found: resolved.Tree) -> Term:
        match found:
            case resolved.Event(kind, message, span):
                if not self._world.spend(span, rules.TOO_LARGE) or (name := self.instance(message)) is None:
                    return FALSE
                match kind:
                    case "received":
                        return self._atom(t.Happened(name), span)
                    case "sent":
                        return self._atom(t.Sent(name), span)
                    case "inflight":
                        return self._atom(t.InFlight(name), span)
            case resolved.FactAt(fact, span):
                if not self._world.spend(span, rules.TOO_LARGE) or (name := self.instance(fact)) is None:
                    return FALSE
                self.ranges.fact(name)
                return self._atom(t.FactRef(name), span)
            case resolved.Lifecycle():
                return self._lifecycle(found)
            case resolved.SameRole(left, right):
                return t.Const(self.role(left) == self.role(right))
            case resolved.IsTerminal(span):
                return self._atom(t.Terminal(), span)
            case resolved.Apply():
                return self._apply(found)
            case resolved.Quantified():
                return self._quantified(found)
            case resolved.OverPaths(quantifier, path, along, speaks_of_idling):
                steps = None if along is None else self._term(along)
                if steps is None or not speaks_of_idling or allows_idling(steps):
                    return t.OverPaths(quantifier, self._term(path), steps)
                if not names_idle_step(steps):  # it was folded away
                    steps = t.Apply("&", (steps, t.Apply("!", (t.Does("idle", ""),))))
                return t.OverPaths(quantifier, self._term(path), steps, may_idle=False)
            case resolved.Does():
                return self._does(found)
            case resolved.Strategic(_, goal):
                group, target = self._group(found.group, found.span), self._term(goal)
                return t.Strategic(group, target) if group else FALSE
            case resolved.Social():
                return self._social(found)
            case resolved.Conditional():
                return self._parties.conditional(found, self._term(found.antecedent), self._term(found.consequent))
            case resolved.Knowledge():
                return self._knowledge(found)
            case _:
                return self._operand(found) or FALSE

    def _lifecycle(self, found: resolved.Lifecycle) -> Term:
        if not self._world.spend(found.span, rules.TOO_LARGE):
            return FALSE
        name = self.instance(found.commitment)
        if name is None:
            return t.Const("null" in found.states)
        view: str | None = None
        if found.view is not None:
            agent = self.role(found.view)
            if agent is None:
                return FALSE
            view = agent.name
            if view not in self._world.ends[name]:
                ends = self._world.ends[name]
                message = f"`{view}` has no view of `{name}`, which is between `{ends.first}` and `{ends.second}`"
                self._world.problems.report(rules.NOT_A_PARTY, found.span, message, *self._where())
                return FALSE
        if found.states <= STANDINGS.keys():
            return self._atom(t.Stands(name, found.states, view), found.span)
        return self._atom(t.InState(name, found.states, view), found.span)

    def _apply(self, found: resolved.Apply) -> Term:
        op = found.op
        if not self._world.spend(found.span, rules.TOO_LARGE):
            return FALSE
        match op:
            case "&" | "|":
                return combined(op, (self._term(operand) for operand in found.operands))
            case "!":
                return negated(self._below(found, 0))
            case "->":
                return self._implication(found)
            case "<->":
                return equivalence(self._below(found, 0), self._below(found, 1))
            case "=" | "!=" | "<" | "<=" | ">" | ">=":
                with self.ranges.below(found, 0):
                    left, right = (self._operand(operand) for operand in found.operands)
                if left is None or right is None:
                    return FALSE
                if isinstance(left, t.Const) and isinstance(right, t.Const):
                    return t.Const(compared(op, left.value, right.value))
                return t.Apply(op, (left, right))
            case "+" | "-" | "*" | "%":
                return self._operand(found) or FALSE
            case "therefore":
                self._below(found, 0)  # counted twice, because lowering writes it twice
                return t.Apply(op, (self._below(found, 0), self._below(found, 1)))
            case _:
                operands = tuple(self._term(operand) for operand in found.operands)
                return t.Apply(op, operands, self._bound(found), found.in_ticks)

    def _bound(self, found: resolved.Apply) -> int | None:
        if found.bound is None:
            return None
        bound = self.number(found.bound)
        if bound is not None and bound < 0:
            unit = "ticks" if found.in_ticks else "steps"
            self._world.report(rules.VALUE_OUT_OF_RANGE, found.span, f"A number of {unit} cannot be {bound}")
            return 0
        if bound is not None and bound > MOST_STEPS:
            message = f"`{found.op}<={bound}` looks ahead more than {MOST_STEPS:,} steps"
            hint = Note(f"a bound is gone through step by step: without one, write `{found.op}`")
            self._world.problems.report(rules.TOO_LARGE, found.span, message, hint, *self._where())
            return 0
        return bound

    def _below(self, found: resolved.Apply, number: int) -> Term:
        with self.ranges.below(found, number):
            return self._term(found.operands[number])

    def _implication(self, found: resolved.Apply) -> Term:
        condition = self._below(found, 0)
        if is_constant(condition, False):
            self.ranges.implication(found, false_left=True)
            return TRUE
        consequence = self._below(found, 1)
        self.ranges.implication(found, true_right=is_constant(consequence, True))
        if is_constant(condition, True):
            return consequence
        return TRUE if is_constant(consequence, True) else t.Apply("->", (condition, consequence))

    def _quantified(self, found: resolved.Quantified) -> Term:
        return combined("&" if found.kind == "forall" else "|", self._expanded(found))

    def _expanded(self, found: resolved.Quantified) -> Iterator[Term]:
        ranging = self.ranges.enter(found)
        for value in self.domain(found.binder.domain, found.span):
            ranging.instances += 1
            if not self._world.spend(found.span, rules.TOO_LARGE):
                break
            self._values[found.binder] = value
            yield self._term(found.body)
        self._values.pop(found.binder, None)

    def _operand(self, found: resolved.Tree) -> Term | None:
        """Return a value; None where it is never there, or wrong."""
        match found:
            case resolved.LiteralTree(value):
                return t.Const(value)
            case resolved.ParameterValue(name):
                return t.Const(self._frame.parameters[name])
            case resolved.LoopValue(binder):
                bound = self._values[binder]
                return t.Const(bound) if not isinstance(bound, RoleValue) else None
            case resolved.RoleAt():
                return None
            case resolved.IndexOf(role):
                agent = self._role_value(role)
                if agent is not None and agent.position is None:
                    span = role.span if isinstance(role, resolved.RoleAt) else role.binder.span
                    self._world.report(rules.TYPE_MISMATCH, span, f"`{agent.agent.name}` is a single role, no number")
                return None if agent is None or agent.position is None else t.Const(agent.position)
            case resolved.OwnParameter(name):
                return t.Own(name)
            case resolved.AgeOf(commitment, span):
                kept = self.instance(commitment)
                self._world.asks_age = True
                return None if kept is None else self._atom(t.Age(kept), span)
            case resolved.Payload(message, parameter, span):
                name_ = self.instance(message)
                return None if name_ is None else self._atom(t.Field(name_, parameter), span)
            case resolved.VariableOf(role, name, span):
                return self.variable(role, name, span)
            case resolved.Apply(op, operands, span) if op in ("+", "-", "*", "%"):
                parts = [self._operand(operand) for operand in operands]
                if not self._world.spend(span, rules.TOO_LARGE):
                    return None
                known = [part for part in parts if part is not None]
                return None if len(known) < len(parts) else self._arithmetic(op, known, span)
            case _:
                return self._term(found)

    def variable(self, role: resolved.RoleTree, name: str, span: Span) -> Term | None:
        agent = self.role(role)
        if agent is None:
            return None
        owner, indices = (role.owner, role.owner_indices) if isinstance(role, resolved.RoleAt) else ((), ())
        if isinstance(role, resolved.LoopValue) and isinstance(role.binder.domain, resolved.FamilyDomain):
            owner, indices = role.binder.domain.owner, role.binder.domain.indices
        frame = self._owner_frame(owner, indices, span)
        full = f"{agent.name}.{frame.prefix if frame else ''}{name}"
        if frame is None or full not in self._world.variables:
            return None
        return self._atom(t.Var(full), span)

    def _arithmetic(self, op: t.Op, parts: list[Term], span: Span) -> Term | None:
        if op == "%" and is_zero(parts[1]):
            self._world.problems.report(rules.DIVISION_BY_ZERO, span, "This divides by zero", *self._where())
            return None
        numbers = [part.value for part in parts if isinstance(part, t.Const)]
        if len(numbers) < len(parts):
            return t.Apply(op, tuple(parts))
        match op, [int(number) for number in numbers]:
            case "+", [left, right]:
                return t.Const(left + right)
            case "-", [left, right]:
                return t.Const(left - right)
            case "-", [only]:
                return t.Const(-only)
            case "*", [left, right]:
                return t.Const(left * right)
            case _, [left, right]:
                return t.Const(left % right)
            case _:
                return None

    # --- modalities -----------------------------------------------------------------------------

    def _social(self, found: resolved.Social) -> Term:
        body = self._term(found.body)
        trigger = None if found.trigger is None else self._term(found.trigger)
        if isinstance(found.between, resolved.Instance):
            name = self.instance(found.between)
            if name is None:
                return FALSE
            ends = self._world.ends[name]
            return t.Social(found.modality, ends.first, ends.second, body, name)
        debtor, creditor = map(self.role, found.between)
        if debtor is None or creditor is None:
            return FALSE
        if debtor.name == creditor.name:
            message = f"`{debtor.name}` cannot be committed to itself"
            self._world.problems.report(rules.SAME_ROLE, found.span, message, *self._where())
            return FALSE
        if not self._can_bind(found, debtor.name, creditor.name):
            counts_claims = found.modality in ("SC", "SCc")
            self._parties.nothing_promised(debtor.name, creditor.name, found.span, counts_claims=counts_claims)
            return FALSE
        return t.Social(found.modality, debtor.name, creditor.name, body, None, trigger)

    def _can_bind(self, found: resolved.Social, debtor: str, creditor: str) -> bool:
        """Whether anything is declared that the modality counts as a promise from the one to the other."""
        if self._world.promises(debtor, creditor):
            return True
        return found.modality in ("SC", "SCc") and self._world.claims_between(debtor, creditor)

    @property
    def _parties(self) -> Parties:
        from cplc.semantics.conditional_parties import Parties  # few formulas are about commitments of this kind

        return Parties(self, self._where())

    def _knowledge(self, found: resolved.Knowledge) -> Term:
        body = self._term(found.body)
        group = self._group(found.group, found.span)
        return t.Knowledge(found.modality, group, body) if group else FALSE

    def _group(self, group: tuple[resolved.RoleTree | resolved.AllOf, ...], span: Span) -> tuple[str, ...]:
        """Return the members, families unrolled; nobody is reported."""
        members = [(member, self.agents(member)) for member in group]
        if any(not agents and not isinstance(member, resolved.AllOf) for member, agents in members):
            return ()
        names = tuple(dict.fromkeys(agent.name for _, agents in members for agent in agents))
        if not names:
            self._world.problems.report(rules.EMPTY_RANGE, span, "Nobody is in this group", *self._where())
        return names

    def _does(self, found: resolved.Does) -> Term:
        if not self._world.spend(found.span, rules.TOO_LARGE):
            return FALSE
        subject = found.subject
        if found.verb == "idle" and subject is None:
            return t.Does("idle", "")
        if subject is None:
            if not self._world.has_ticks:
                ticks = Note("there are ticks where some commitment has a deadline: `within` or `expires`")
                message = "No commitment has a deadline, so time does not matter: this is never so"
                self._world.problems.report(rules.NEVER_DONE, found.span, message, ticks)
            return t.Does("tick", "")
        if not isinstance(subject, resolved.Instance):
            agent = self.role(subject)
            return FALSE if agent is None else t.Does(found.verb, agent.name)
        name = self.instance(subject)
        other = None if found.other is None else self.instance(found.other)
        if name is None or (found.other is not None and other is None):
            return FALSE
        if found.verb not in ("take", "send") and not self._can_be_done(found, subject.symbol, name):
            message = f"No message means `{found.verb} {subject.symbol.name}`: this is never so"
            state = DONE.get(found.verb)
            hint = () if state is None else (Note(f"`{state}({subject.span.text})` asks for the state"),)
            self._world.problems.report(rules.NEVER_DONE, found.span, message, *hint)
        return t.Does(found.verb, name, other, found.by_message)

    def _can_be_done(self, found: resolved.Does, symbol: resolved.Indexed, name: str) -> bool:
        """Whether some message performs the operation or, unless a message must, the change comes about otherwise."""
        world = self._world
        if (found.verb, symbol) in world.performed:
            return True
        if found.by_message:
            return False
        deadlines = world.commitments[name].body if name in world.commitments else None
        match found.verb:
            case "fulfill" | "satisfy":
                return True
            case "violate":
                ways = {("violate", symbol)} & world.brought_about or {("withdraw", symbol)} & world.performed
                return deadlines is None or bool(deadlines.within) or bool(ways)
            case "expire":
                return deadlines is not None and bool(deadlines.expires)
            case _:
                return (found.verb, symbol) in world.brought_about


def where(values: Values) -> tuple[Note, ...]:
    """Return a note for which values of the loops around something is wrong; none outside loops."""
    shown = [
        f"{binder.name} = {value.agent.name if isinstance(value, RoleValue) else value}"
        for binder, value in values.items()
    ]
    return (Note("for " + ", ".join(shown)),) if shown else ()
