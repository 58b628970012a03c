"""Instantiation of the clauses of every instance: from the `InstanceTable` to the checked model."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.language.lifecycle import RULES
from cplc.language.words import CHECKS, NO_USUAL_CHECKS, USUAL_CHECKS
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.deadlines import DeadlineInstantiator
from cplc.semantics.expressions import tick_length
from cplc.semantics.instances import (
    MAX_FAMILY_SIZE,
    InstanceTable,
    OtherDeclaration,
    PendingInstance,
    ProtocolInstance,
    Values,
)
from cplc.semantics.instantiate import Instantiator, data_type
from cplc.semantics.instantiate_bounds import BoundInstantiator
from cplc.semantics.instantiate_powers import powers_of
from cplc.semantics.instantiate_terms import Resolver, Watch
from cplc.semantics.terms import Term, Value, combined, is_about_runs, state_parts
from cplc.semantics.visibility import VisibilityCheck, described
from cplc.source import Span
from cplc.statespace.graph_algorithms import circle_from, cycles

MAX_FACT_DEPTH = 150
"""Nesting of facts; later stages recurse over it."""
_COMMENT: Final = re.compile(r"//[^\n]*|/\*[\s\S]*?\*/")


class ClauseInstantiator:
    """Instantiates the clauses of one `InstanceTable`."""

    def __init__(self, table: InstanceTable, instantiator: Instantiator) -> None:
        self._table = table
        self._instantiator = instantiator
        self._deadlines = DeadlineInstantiator(table)
        self._bounds = BoundInstantiator(table)

    def checked(
        self, template: resolved.Template, parameters: dict[str, Value], channels: str | None
    ) -> model.CheckedModel:
        facts = self._facts()
        rivals = self._rivals()
        commitments, conditions = self._commitments()
        claims, contents = self._claims()
        node = template.signature.node
        messages = tuple(self._message(pending, rivals) for pending in self._table.messages.values())
        is_sync = node.sync if channels is None else channels == "sync"
        kinds = self._bounds.kinds(is_declared_sync=node.sync and channels != "async", is_sync=is_sync)
        messages = self._bounds.on_channels(kinds, messages)
        about_runs = self._contents_about_runs(commitments)
        breakable = (c.name for c in commitments if is_about_runs(c.consequent))
        self._table.indirect_changes |= {("violate", self._table.commitments[name].body.symbol) for name in breakable}
        creators: dict[str, list[tuple[model.Message, model.Operation]]] = {}
        for message in messages:
            for operation in message.operations:
                creators.setdefault(operation.created or "", []).append((message, operation))
        commitments = tuple(self._deadlines.computed(one, creators.get(one.name, ())) for one in commitments)
        operations = [operation for message in messages for operation in message.operations]
        waits_for = model.waits_for(operations, (commitment.name for commitment in commitments))
        self._report_cycles(conditions | contents, waits_for, about_runs | contents)
        for pending in self._table.messages.values():
            for done in pending.body.operations:
                self._table.performed_operations.add((done.verb, done.commitment.symbol))
                if done.target is not None:
                    self._table.indirect_changes.add(("create", done.target.symbol))
                if done.retaining:
                    by_successor = {(rule.verb, done.commitment.symbol) for rule in RULES if rule.successor}
                    self._table.indirect_changes |= by_successor
        with self._table.problems.local():
            properties = tuple(self._properties())
            participants, analyses = self._participants(messages)
            self._bounds.refuse_faults(kinds, participants)
            self._bounds.refuse_groups(commitments, participants)
        return model.CheckedModel(
            name=node.name.text,
            title=node.title,
            parameters=tuple(parameters.items()),
            sync=is_sync,
            roles=tuple(self._table.roles),
            variables=tuple(self._table.variables.values()),
            scopes=tuple(self._table.scopes),
            messages=messages,
            facts=facts,
            commitments=commitments,
            unordered=frozenset(self._bounds.unordered()),
            channel_delays=tuple(self._bounds.delays(is_sync=node.sync and channels != "async").items()),
            fairness=tuple(self._fairness()),
            properties=properties,
            checks=tuple(self._checks()),
            switched_off=self._switched_off(),
            claims=claims,
            powers=tuple(powers_of(self._table)),
            participants=participants,
            analyses=analyses,
            tick=tick_length(node),
            left_out=len(self._table.left_out),
        )

    def _participants(
        self, messages: Iterable[model.Message]
    ) -> tuple[tuple[model.Participant, ...], tuple[model.AnalyzeLine, ...]]:
        """Return the participants and their thresholds; most protocols have none."""
        analyses = (one for one in self._table.other_declarations if isinstance(one.body, resolved.Analyze))
        if not self._table.agents and next(analyses, None) is None:
            return (), ()
        from cplc.semantics.instantiate_participants import ParticipantInstantiator

        agents = ParticipantInstantiator(self._table, {message.name: message for message in messages}, self._bounds)
        return agents.valid_participants(), tuple(agents.analyses())

    # --- facts and commitments ------------------------------------------------------------------

    def _facts(self) -> tuple[model.Fact, ...]:
        facts: list[model.Fact] = []
        direct: dict[str, dict[Term, None]] = {}
        for name, pending in self._table.facts.items():
            atoms: dict[Term, None] = {}
            resolver = Resolver(self._table, pending.protocol_instance, pending.values, _collector(atoms))
            facts.append(model.Fact(name, resolver.term(pending.body.meaning), span=pending.body.symbol.span))
            direct[name] = atoms
            self._table.fact_vacuity[name] = resolver.vacuity
        self._close_over_facts(direct)
        return tuple(facts)

    def _close_over_facts(self, direct: dict[str, dict[Term, None]]) -> None:
        """Compute the atoms of facts, inner facts first, and report recursive facts."""
        graph = {name: [atom.fact for atom in atoms if isinstance(atom, t.FactRef)] for name, atoms in direct.items()}
        levels: dict[str, int] = {}
        for component, circle in cycles(graph):
            if circle:
                self._report_cycle(circle)
            for name in component:
                atoms: set[Term] = {atom for atom in direct[name] if not isinstance(atom, t.FactRef)}
                atoms.update(*(self._table.fact_atoms.get(inner, ()) for inner in graph[name]))
                self._table.fact_atoms[name] = frozenset(atoms)
                levels[name] = 1 + max((levels.get(inner, 0) for inner in graph[name]), default=0)
                if levels[name] == MAX_FACT_DEPTH:
                    message = f"Facts are nested more than {MAX_FACT_DEPTH} levels deep here"
                    self._table.report(rules.TOO_DEEP, self._table.facts[name].body.symbol.span, message)

    def _commitments(self) -> tuple[tuple[model.Commitment, ...], dict[str, list[str]]]:
        """Return the commitments, each with the subjects whose state its conditions read."""
        commitments: list[model.Commitment] = []
        looks_at: dict[str, list[str]] = {}
        for name, pending in self._table.commitments.items():
            body = pending.body
            symbol = body.symbol
            atoms: dict[Term, None] = {}
            resolver = Resolver(self._table, pending.protocol_instance, pending.values, _collector(atoms))
            antecedent = resolver.term(body.antecedent)
            consequent = resolver.term(body.consequent)
            parties = self._table.parties[name]
            commitments.append(
                model.Commitment(
                    name,
                    parties.first,
                    parties.second,
                    antecedent,
                    consequent,
                    self._deadlines.ticks(body.within, symbol.node.within, resolver, symbol),
                    self._deadlines.ticks(body.expires, symbol.node.expires, resolver, symbol),
                    symbol.node.revocable,
                    pending.scope,
                    body.debtor.answerable,
                    span=symbol.span,
                )
            )
            looks_at[name] = self._subjects_of(name, atoms, symbol.span)
        return tuple(commitments), looks_at

    def _claims(self) -> tuple[tuple[model.Claim, ...], dict[str, list[str]]]:
        """Return the claims, each with the subjects whose state its content reads."""
        claims: list[model.Claim] = []
        looks_at: dict[str, list[str]] = {}
        for name, pending in self._table.claims.items():
            symbol = pending.body.symbol
            atoms: dict[Term, None] = {}
            content = Resolver(self._table, pending.protocol_instance, pending.values, _collector(atoms)).term(
                pending.body.content
            )
            parties = self._table.parties[name]
            claims.append(model.Claim(name, parties.first, parties.second, content, pending.scope, span=symbol.span))
            looks_at[name] = self._subjects_of(name, atoms, symbol.span)
        return tuple(claims), looks_at

    def _subjects_of(self, name: str, atoms: Iterable[Term], span: Span) -> list[str]:
        """Return the subjects whose state a condition reads, and report atoms that are not allowed."""
        direct_atoms = [inner for atom in atoms for inner in self._atoms_of(atom)]
        self._report_transient_atoms(name, direct_atoms, span)
        return [atom.commitment for atom in direct_atoms if isinstance(atom, t.InState | t.Stands)]

    def _atoms_of(self, atom: Term) -> Iterable[Term]:
        return self._table.fact_atoms.get(atom.fact, ()) if isinstance(atom, t.FactRef) else (atom,)

    def _report_transient_atoms(self, name: str, atoms: Iterable[Term], span: Span) -> None:
        """Report conditions that may change when no message takes effect."""
        for atom in sorted(atoms, key=described):
            if isinstance(atom, t.Sent | t.InFlight | t.Terminal) or (
                isinstance(atom, t.InState | t.Stands) and atom.view
            ):
                message = f"A condition of `{name}` cannot depend on {described(atom)}"
                what = "claims" if name in self._table.claims else "commitments"
                hint = Note(f"{what} change only when messages take effect: use messages, facts, variables or states")
                self._table.problems.report(rules.NOT_A_STATE_CONDITION, span, message, hint)
                return

    def _contents_about_runs(self, commitments: Iterable[model.Commitment]) -> dict[str, list[str]]:
        """Return for each commitment about runs the subjects whose state its content (not its antecedent) reads."""
        return {
            commitment.name: [
                atom.commitment
                for part in state_parts(commitment.consequent)
                for fact_or_atom in t.atoms(part)
                for atom in self._atoms_of(fact_or_atom)
                if isinstance(atom, t.InState | t.Stands)
            ]
            for commitment in commitments
            if is_about_runs(commitment.consequent)
        }

    def _report_cycles(
        self, looks_at: dict[str, list[str]], waits_for: Mapping[str, tuple[str, ...]], monitored: dict[str, list[str]]
    ) -> None:
        """Report conditions that depend on themselves.

        A monitor reads final states: the subjects of a claim, or of a content about runs, must not depend on it, even
        not through a retaining commitment. All other rules are part of one fixpoint.
        """
        for _, circle in cycles(looks_at):
            if circle:
                self._report_cycle(circle)
        graph = {name: [*subjects, *waits_for.get(name, ())] for name, subjects in looks_at.items()}
        for component, circle in cycles(graph):
            within = set(component)
            for name, subjects in monitored.items() if circle else ():
                inside = [other for other in subjects if other in within]
                if name in within and inside:
                    # Show a cycle through the content itself: other rules of the commitment may be in cycles, too.
                    self._report_cycle(circle_from(name, within, {**graph, name: inside}))
                    break

    def _report_cycle(self, circle: list[str]) -> None:
        name = circle[0]
        jobs: PendingInstance[resolved.Fact] | PendingInstance[resolved.Commitment] | PendingInstance[resolved.Claim]
        jobs = self._table.facts.get(name) or self._table.commitments.get(name) or self._table.claims[name]
        shown = " -> ".join(f"`{one}`" for one in (*circle, name))
        self._table.report(rules.CYCLIC_CONDITION, jobs.body.symbol.span, f"`{name}` depends on itself: {shown}")

    # --- messages -------------------------------------------------------------------------------

    def _message(self, pending: PendingInstance[resolved.Message], rivals: dict[str, dict[str, None]]) -> model.Message:
        body, symbol = pending.body, pending.body.symbol
        parties = self._table.parties[pending.name]
        sending = VisibilityCheck(self._table, parties.first, f"sends `{pending.name}`")
        plain = Resolver(self._table, pending.protocol_instance, pending.values)
        sender = Resolver(self._table, pending.protocol_instance, pending.values, sending)
        receipt = (
            assignment
            for number, agent in enumerate(parties.receivers)
            for assignment in self._receipt(pending, agent, is_first=number == 0)
        )
        return model.Message(
            name=pending.name,
            sender=parties.first,
            receivers=parties.receivers,
            parameters=self._parameters(symbol, plain),
            guard=combined("&", self._guards(pending, sender, sending)),
            rivals=tuple(rivals.get(pending.name, ())),
            operations=tuple(self._operations(body.operations, plain)),
            updates=tuple(self._assignments(body.updates, sender, pending, parties.first)),
            receipt=tuple(receipt),
            resets=tuple(self._resets(body, plain, pending)),
            restarts=body.restarts,
            repeatable=body.repeatable,
            scope=pending.scope,
            request=None if body.request is None else plain.instance(body.request),
            key=self._table.scope_keys.get(pending.scope),
            span=symbol.span,
        )

    def _receipt(
        self, pending: PendingInstance[resolved.Message], agent: str, *, is_first: bool
    ) -> Iterator[model.Assignment]:
        """Yield the assignments of one receiver. One to a role that does not receive the message is reported once."""
        parties = self._table.parties[pending.name]
        plain = Resolver(self._table, pending.protocol_instance, pending.values)
        own: list[resolved.Assignment] = []
        for assignment in pending.body.receipt:
            role = plain.role(assignment.role)
            if role is not None and (role.name == agent or (is_first and role.name not in parties.receivers)):
                own.append(assignment)
        receiving = VisibilityCheck(self._table, agent, f"receives `{pending.name}`")
        resolver = Resolver(self._table, pending.protocol_instance, pending.values, receiving)
        yield from self._assignments(own, resolver, pending, agent)

    def _guards(
        self, pending: PendingInstance[resolved.Message], sender: Resolver, sending: VisibilityCheck
    ) -> Iterator[Term]:
        if pending.body.begins:
            for start_condition in pending.protocol_instance.start_condition:
                around = Resolver(self._table, start_condition.protocol_instance, start_condition.values, sending)
                yield from map(around.term, start_condition.conditions)
        yield from map(sender.term, pending.body.guards)

    def _parameters(self, symbol: resolved.MessageSymbol, resolver: Resolver) -> tuple[model.Parameter, ...]:
        parameters: list[model.Parameter] = []
        payloads = 1
        for name, declared in symbol.parameters.items():
            domain = self._instantiator.domain(declared, resolver) or (False,)
            payloads *= len(domain)
            parameters.append(model.Parameter(name, domain, data_type(declared)))
        if payloads > MAX_FAMILY_SIZE:
            message = f"`{symbol.name}` has {payloads:,} payloads, more than {MAX_FAMILY_SIZE:,}"
            self._table.report(rules.TOO_LARGE, symbol.span, message)
        return tuple(parameters)

    def _operations(self, operations: Iterable[resolved.Operation], resolver: Resolver) -> Iterator[model.Operation]:
        for operation in operations:
            name = resolver.instance(operation.commitment)
            target = None if operation.target is None else resolver.instance(operation.target)
            if name is not None and (target is not None or operation.target is None):
                yield model.Operation(operation.verb, name, target, operation.retaining, span=operation.span)

    def _assignments(
        self,
        assignments: Iterable[resolved.Assignment],
        resolver: Resolver,
        pending: PendingInstance[resolved.Message],
        agent: str,
    ) -> Iterator[model.Assignment]:
        first: dict[str, Span] = {}
        plain = Resolver(self._table, pending.protocol_instance, pending.values)
        for assignment in assignments:
            target = plain.variable(assignment.role, assignment.variable, assignment.span, assignment.key)
            value = resolver.operand(assignment.value)
            if not isinstance(target, t.Var) or value is None:
                continue
            owner = self._table.variables[target.variable].role
            if owner != agent:
                message = f"`{target.variable}` belongs to `{owner}`; here only variables of `{agent}` can be set"
                self._table.report(rules.FOREIGN_VARIABLE, assignment.span, message)
            elif target.variable in first:
                message = f"`{target.variable}` is given two values at once"
                note = Note("the first is here", first[target.variable])
                self._table.problems.report(rules.DUPLICATE_ASSIGNMENT, assignment.span, message, note)
            else:
                first[target.variable] = assignment.span
                yield model.Assignment(target.variable, value, span=assignment.span)

    def _resets(
        self, body: resolved.Message, resolver: Resolver, pending: PendingInstance[resolved.Message]
    ) -> Iterator[str]:
        parties = self._table.parties[pending.name]
        for reset in body.resets:
            name = resolver.instance(reset)
            if name is None:
                continue
            reset_parties = self._table.parties[name]
            if parties.more or reset_parties.more:
                several, receivers = (pending.name, parties) if parties.more else (name, reset_parties)
                shown = ", ".join(f"`{role}`" for role in receivers.receivers)
                message = f"`{several}` goes to {shown}: it neither resets messages nor is reset"
                note = Note("end the round with `restart`, or send each receiver a message of its own")
                self._table.problems.report(rules.FOREIGN_RESET, reset.span, message, note)
            elif {reset_parties.first, reset_parties.second} != {parties.first, parties.second}:
                between = f"between `{reset_parties.first}` and `{reset_parties.second}`"
                message = f"`{name}` is {between}: only a message between these two can reset it"
                self._table.report(rules.FOREIGN_RESET, reset.span, message)
            else:
                yield name

    def _rivals(self) -> dict[str, dict[str, None]]:
        """Return the other members of each message's choices."""
        rivals: dict[str, dict[str, None]] = {}
        for pending in self._table.other_declarations:
            if not isinstance(pending.body, resolved.Choice):
                continue
            resolver = Resolver(self._table, pending.protocol_instance, pending.values)
            members = [name for member in pending.body.members if (name := resolver.instance(member)) is not None]
            for name in members:
                if members.count(name) > 1:
                    message = f"`{name}` is in this choice twice"
                    self._table.report(rules.DUPLICATE_NAME, pending.body.span, message)
            senders = list(dict.fromkeys(self._table.parties[name].first for name in members))
            if len(senders) > 1:
                shown = " and ".join(f"`{sender}`" for sender in senders)
                message = f"The messages of this choice have different senders: {shown}"
                hint = Note(
                    "only one role can choose; messages of several exclude each other by `unless`, as far as seen"
                )
                self._table.problems.report(rules.CHOICE_OF_MANY, pending.body.span, message, hint)
            for name in members:
                rivals.setdefault(name, {}).update(dict.fromkeys(other for other in members if other != name))
        return rivals

    # --- the rest -------------------------------------------------------------------------------

    def _fairness(self) -> Iterator[model.Fairness]:
        for pending in self._table.other_declarations:
            if isinstance(pending.body, resolved.Fairness):
                condition = Resolver(self._table, pending.protocol_instance, pending.values).term(
                    pending.body.condition
                )
                yield model.Fairness(condition, span=pending.body.span)

    def _properties(self) -> Iterator[model.Property]:
        for pending in self._table.other_declarations:
            if not isinstance(pending.body, resolved.Property) or pending.protocol_instance.path:
                continue
            before = self._table.problems.errors
            node = pending.body.node
            assuming, bounds = self._bounds.assumed(pending.body.assuming, pending)
            resolver = Resolver(self._table, pending.protocol_instance, pending.values)
            resolver.has_ticks |= bool(bounds)
            formula, instances = resolver.universal(pending.body.formula)
            if self._table.problems.errors == before:
                nothing = resolver.vacuity.vacuous_quantifiers(self._table.fact_vacuity)
                constant = resolver.vacuity.constant_implications(self._table.fact_vacuity)
                yield model.Property(
                    pending.name,
                    node.title,
                    assuming,
                    formula,
                    node.expect == "holds",
                    nothing,
                    constant,
                    bounds,
                    instances,
                    " ".join(_COMMENT.sub(" ", node.formula.span.text).split()),
                    span=node.name.span,
                )

    def _check_lines(self) -> Iterator[tuple[PendingInstance[OtherDeclaration], resolved.Check]]:
        """Yield the lines with checks of the protocol itself, without those of its parts."""
        for pending in self._table.other_declarations:
            if isinstance(pending.body, resolved.Check) and not pending.protocol_instance.path:
                yield pending, pending.body

    def _checks(self) -> Iterator[model.Check]:
        for pending, line in self._check_lines():
            assuming, bounds = self._bounds.assumed(line.assuming, pending)
            for item in line.node.checks:
                if item.name.text in CHECKS and not item.is_off:
                    yield model.Check(item.name.text, item.expect == "holds", assuming, bounds, span=item.name.span)

    def _switched_off(self) -> tuple[str, ...]:
        items = tuple(item for _, line in self._check_lines() for item in line.node.checks)
        named = {item.name.text for item in items if not item.is_off}
        off = {item.name.text for item in items if item.is_off}
        off |= set(USUAL_CHECKS) - named if NO_USUAL_CHECKS in named else set()
        return tuple(name for name in USUAL_CHECKS if name in off)

    def formula(self, protocol_instance: ProtocolInstance, values: Values, tree: resolved.Tree) -> Term:
        return Resolver(self._table, protocol_instance, values).term(tree)


def _collector(collected: dict[Term, None]) -> Watch:
    """Return a callback that collects atoms."""

    def watch(atom: Term, _: Span) -> None:
        collected[atom] = None

    return watch
