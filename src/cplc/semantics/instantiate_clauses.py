"""Instantiation of the clauses of every instance: from the `InstanceTable` to the checked model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.language.lifecycle import RULES
from cplc.language.words import CHECKS, NO_USUAL_CHECKS, USUAL_CHECKS
from cplc.semantics import model, resolved, statements
from cplc.semantics import terms as t
from cplc.semantics.cycles import circle_from, cycles
from cplc.semantics.instances import MAX_FAMILY_SIZE, InstanceTable, PendingInstance, ProtocolInstance, Values
from cplc.semantics.instantiate import Instantiator, may_coincide
from cplc.semantics.instantiate_terms import Resolver, Watch, where
from cplc.semantics.participants import ParticipantInstantiator
from cplc.semantics.terms import Term, Value, combined, is_about_runs, state_parts
from cplc.semantics.visibility import VisibilityCheck, described
from cplc.source import Span
from cplc.syntax import ast

MAX_FACT_DEPTH = 150
"""Nesting of facts; later stages recurse over it."""


class ClauseInstantiator:
    """Instantiates the clauses of one `InstanceTable`."""

    def __init__(self, table: InstanceTable, instantiator: Instantiator) -> None:
        self._table = table
        self._instantiator = instantiator

    def checked(
        self, template: statements.Template, parameters: dict[str, Value], channels: str | None
    ) -> model.CheckedModel:
        facts = self._facts()
        rivals = self._rivals()
        commitments, conditions = self._commitments()
        claims, contents = self._claims()
        messages = tuple(self._message(pending, rivals) for pending in self._table.messages.values())
        about_runs = self._contents_about_runs(commitments)
        breakable = (c.name for c in commitments if is_about_runs(c.consequent))
        self._table.indirect_changes |= {("violate", self._table.commitments[name].body.symbol) for name in breakable}
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
            agents = ParticipantInstantiator(self._table, {message.name: message for message in messages})
            participants, thresholds = agents.valid_participants(), tuple(agents.thresholds())
        node = template.signature.node
        return model.CheckedModel(
            name=node.name.text,
            title=node.title,
            parameters=tuple(parameters.items()),
            sync=node.sync if channels is None else channels == "sync",
            roles=tuple(self._table.roles),
            variables=tuple(self._table.variables.values()),
            scopes=tuple(self._table.scopes),
            messages=messages,
            facts=facts,
            commitments=commitments,
            unordered=frozenset(self._unordered()),
            fairness=tuple(self._fairness()),
            properties=properties,
            checks=tuple(self._checks()),
            switched_off=self._switched_off(),
            claims=claims,
            participants=participants,
            thresholds=thresholds,
            left_out=len(self._table.left_out),
        )

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
                    self._deadline(body.within, resolver, symbol),
                    self._deadline(body.expires, resolver, symbol),
                    symbol.node.revocable,
                    pending.scope,
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
        jobs: (
            PendingInstance[statements.Fact]
            | PendingInstance[statements.Commitment]
            | PendingInstance[statements.Claim]
        )
        jobs = self._table.facts.get(name) or self._table.commitments.get(name) or self._table.claims[name]
        shown = " -> ".join(f"`{one}`" for one in (*circle, name))
        self._table.report(rules.CYCLIC_CONDITION, jobs.body.symbol.span, f"`{name}` depends on itself: {shown}")

    def _deadline(
        self, tree: resolved.Tree | None, resolver: Resolver, symbol: resolved.CommitmentSymbol
    ) -> int | None:
        if tree is None:
            return None
        ticks = resolver.number(tree)
        if ticks is not None and ticks < 1:
            self._table.report(rules.BAD_DEADLINE, symbol.span, f"`{symbol.name}` has a deadline of {ticks} ticks")
            return 1
        if ticks is not None and ticks > MAX_FAMILY_SIZE:
            message = f"A deadline of {ticks:,} ticks is more than {MAX_FAMILY_SIZE:,}"
            self._table.report(rules.TOO_LARGE, symbol.span, message)
            return 1
        return ticks

    # --- messages -------------------------------------------------------------------------------

    def _message(
        self, pending: PendingInstance[statements.Message], rivals: dict[str, dict[str, None]]
    ) -> model.Message:
        body, symbol = pending.body, pending.body.symbol
        parties = self._table.parties[pending.name]
        sending = VisibilityCheck(self._table, parties.first, f"sends `{pending.name}`")
        receiving = VisibilityCheck(self._table, parties.second, f"receives `{pending.name}`")
        plain = Resolver(self._table, pending.protocol_instance, pending.values)
        sender = Resolver(self._table, pending.protocol_instance, pending.values, sending)
        receiver = Resolver(self._table, pending.protocol_instance, pending.values, receiving)
        return model.Message(
            name=pending.name,
            sender=parties.first,
            receiver=parties.second,
            parameters=self._parameters(symbol, plain),
            guard=combined("&", self._guards(pending, sender, sending)),
            rivals=tuple(rivals.get(pending.name, ())),
            operations=tuple(self._operations(body.operations, plain)),
            updates=tuple(self._assignments(body.updates, sender, pending, parties.first)),
            receipt=tuple(self._assignments(body.receipt, receiver, pending, parties.second)),
            resets=tuple(self._resets(body, plain, pending)),
            restarts=body.restarts,
            repeatable=body.repeatable,
            scope=pending.scope,
            span=symbol.span,
        )

    def _guards(
        self, pending: PendingInstance[statements.Message], sender: Resolver, sending: VisibilityCheck
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
            parameters.append(model.Parameter(name, domain))
        if payloads > MAX_FAMILY_SIZE:
            message = f"`{symbol.name}` has {payloads:,} payloads, more than {MAX_FAMILY_SIZE:,}"
            self._table.report(rules.TOO_LARGE, symbol.span, message)
        return tuple(parameters)

    def _operations(self, operations: Iterable[statements.Operation], resolver: Resolver) -> Iterator[model.Operation]:
        for operation in operations:
            name = resolver.instance(operation.commitment)
            target = None if operation.target is None else resolver.instance(operation.target)
            if name is not None and (target is not None or operation.target is None):
                yield model.Operation(operation.verb, name, target, operation.retaining, span=operation.span)

    def _assignments(
        self,
        assignments: Iterable[statements.Assignment],
        resolver: Resolver,
        pending: PendingInstance[statements.Message],
        agent: str,
    ) -> Iterator[model.Assignment]:
        first: dict[str, Span] = {}
        plain = Resolver(self._table, pending.protocol_instance, pending.values)
        for assignment in assignments:
            target = plain.variable(assignment.role, assignment.variable, assignment.span)
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
        self, body: statements.Message, resolver: Resolver, pending: PendingInstance[statements.Message]
    ) -> Iterator[str]:
        parties = self._table.parties[pending.name]
        for reset in body.resets:
            name = resolver.instance(reset)
            if name is None:
                continue
            reset_parties = self._table.parties[name]
            if {reset_parties.first, reset_parties.second} != {parties.first, parties.second}:
                between = f"between `{reset_parties.first}` and `{reset_parties.second}`"
                message = f"`{name}` is {between}: only a message between these two can reset it"
                self._table.report(rules.FOREIGN_RESET, reset.span, message)
            else:
                yield name

    def _rivals(self) -> dict[str, dict[str, None]]:
        """Return the other members of each message's choices."""
        rivals: dict[str, dict[str, None]] = {}
        for pending in self._table.other_declarations:
            if not isinstance(pending.body, statements.Choice):
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
                self._table.report(rules.CHOICE_OF_MANY, pending.body.span, message)
            for name in members:
                rivals.setdefault(name, {}).update(dict.fromkeys(other for other in members if other != name))
        return rivals

    # --- the rest -------------------------------------------------------------------------------

    def _unordered(self) -> Iterator[tuple[str, str]]:
        for pending in self._table.other_declarations:
            if isinstance(pending.body, statements.Channel):
                resolver = Resolver(self._table, pending.protocol_instance, pending.values)
                one, other = pending.body.sender, pending.body.receiver
                for sender in resolver.agents(one):
                    for receiver in resolver.agents(other):
                        if sender.name != receiver.name:
                            yield sender.name, receiver.name
                        elif not may_coincide(one, other, pending.protocol_instance):
                            message = f"There is no channel from `{sender.name}` to itself"
                            self._table.problems.report(
                                rules.SAME_ROLE, pending.body.span, message, *where(pending.values)
                            )

    def _fairness(self) -> Iterator[model.Fairness]:
        for pending in self._table.other_declarations:
            if isinstance(pending.body, statements.Fairness):
                condition = Resolver(self._table, pending.protocol_instance, pending.values).term(
                    pending.body.condition
                )
                yield model.Fairness(condition, span=pending.body.span)

    def _properties(self) -> Iterator[model.Property]:
        for pending in self._table.other_declarations:
            if not isinstance(pending.body, statements.Property) or pending.protocol_instance.path:
                continue
            before = self._table.problems.errors
            node = pending.body.node
            resolver = Resolver(self._table, pending.protocol_instance, pending.values)
            formula = resolver.term(pending.body.formula)
            assuming = tuple(self._assuming(pending.body.assuming, resolver))
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
                    span=node.name.span,
                )

    def _assuming(
        self, roles: Iterable[resolved.RoleTree | resolved.AllOf | None], resolver: Resolver
    ) -> Iterable[str]:
        roles_: dict[str, None] = {}
        for role in roles:
            agents = self._table.roles if role is None else resolver.agents(role)
            roles_.update(dict.fromkeys(agent.name for agent in agents))
        return roles_

    def _check_items(self) -> Iterator[ast.CheckItem]:
        """Yield the check items of the protocol itself, without those of its parts."""
        for pending in self._table.other_declarations:
            if isinstance(pending.body, statements.Check) and not pending.protocol_instance.path:
                yield from pending.body.node.checks

    def _checks(self) -> Iterator[model.Check]:
        for item in self._check_items():
            if item.name.text in CHECKS and not item.is_off:
                yield model.Check(item.name.text, item.expect == "holds", span=item.name.span)

    def _switched_off(self) -> tuple[str, ...]:
        items = tuple(self._check_items())
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
