"""What stands in the clauses of every instance: from a world of names to the checked model."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model, resolved, statements
from cplc.semantics import terms as t
from cplc.semantics.builtin_words import CHECKS, NO_USUAL_CHECKS, USUAL_CHECKS
from cplc.semantics.constant_folding import combined
from cplc.semantics.cycles import circle_from, cycles
from cplc.semantics.instances import MOST_IN_FAMILY, Frame, Job, Values, World
from cplc.semantics.instantiate import Unroller, may_coincide
from cplc.semantics.instantiate_terms import Resolver, Watch, where
from cplc.semantics.participants import Participants
from cplc.semantics.terms import Term, Value, is_about_runs, state_parts
from cplc.semantics.visibility import Viewer, described
from cplc.source import Span
from cplc.syntax import ast

MOST_FACTS_DEEP = 150
"""How many facts may stand inside each other; what comes after recurses."""


class Ground:
    """Works out the instances of one world."""

    def __init__(self, world: World, unroller: Unroller) -> None:
        self._world = world
        self._unroller = unroller

    def checked(
        self, template: statements.Template, parameters: dict[str, Value], channels: str | None
    ) -> model.CheckedModel:
        facts = self._facts()
        rivals = self._rivals()
        commitments, conditions = self._commitments()
        claims, contents = self._claims()
        messages = tuple(self._message(job, rivals) for job in self._world.messages.values())
        about_runs = self._contents_about_runs(commitments)
        breakable = (c.name for c in commitments if is_about_runs(c.consequent))
        self._world.brought_about |= {("violate", self._world.commitments[name].body.symbol) for name in breakable}
        operations = [operation for message in messages for operation in message.operations]
        waits_for = model.waits_for(operations, (commitment.name for commitment in commitments))
        self._report_cycles(conditions | contents, waits_for, about_runs | contents)
        for job in self._world.messages.values():
            for done in job.body.operations:
                self._world.performed.add((done.verb, done.commitment.symbol))
                if done.target is not None:
                    self._world.brought_about.add(("create", done.target.symbol))
                if done.retaining:
                    waiting = done.commitment.symbol
                    self._world.brought_about |= {("release", waiting), ("reactivate", waiting)}
        with self._world.problems.local():
            properties = tuple(self._properties())
            agents = Participants(self._world, {message.name: message for message in messages})
            participants, thresholds = agents.found(), tuple(agents.thresholds())
        node = template.signature.node
        return model.CheckedModel(
            name=node.name.text,
            title=node.title,
            parameters=tuple(parameters.items()),
            sync=node.sync if channels is None else channels == "sync",
            roles=tuple(self._world.roles),
            variables=tuple(self._world.variables.values()),
            scopes=tuple(self._world.scopes),
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
            left_out=len(self._world.left_out),
        )

    # --- facts and commitments ------------------------------------------------------------------

    def _facts(self) -> tuple[model.Fact, ...]:
        found: list[model.Fact] = []
        direct: dict[str, dict[Term, None]] = {}
        for name, job in self._world.facts.items():
            atoms: dict[Term, None] = {}
            resolver = Resolver(self._world, job.frame, job.values, _into(atoms))
            found.append(model.Fact(name, resolver.term(job.body.meaning), span=job.body.symbol.span))
            direct[name] = atoms
            self._world.fact_ranges[name] = resolver.ranges
        self._see_through(direct)
        return tuple(found)

    def _see_through(self, direct: dict[str, dict[Term, None]]) -> None:
        """Fill in what facts look at, inner facts first, and report those that stand in themselves."""
        graph = {name: [atom.fact for atom in atoms if isinstance(atom, t.FactRef)] for name, atoms in direct.items()}
        levels: dict[str, int] = {}
        for component, circle in cycles(graph):
            if circle:
                self._report_cycle(circle)
            for name in component:
                atoms: set[Term] = {atom for atom in direct[name] if not isinstance(atom, t.FactRef)}
                atoms.update(*(self._world.fact_atoms.get(inner, ()) for inner in graph[name]))
                self._world.fact_atoms[name] = frozenset(atoms)
                levels[name] = 1 + max((levels.get(inner, 0) for inner in graph[name]), default=0)
                if levels[name] == MOST_FACTS_DEEP:
                    message = f"More than {MOST_FACTS_DEEP} facts stand inside each other here"
                    self._world.report(rules.TOO_DEEP, self._world.facts[name].body.symbol.span, message)

    def _commitments(self) -> tuple[tuple[model.Commitment, ...], dict[str, list[str]]]:
        """Return the commitments, and for each those whose state its conditions look at."""
        found: list[model.Commitment] = []
        looks_at: dict[str, list[str]] = {}
        for name, job in self._world.commitments.items():
            body = job.body
            symbol = body.symbol
            atoms: dict[Term, None] = {}
            resolver = Resolver(self._world, job.frame, job.values, _into(atoms))
            antecedent = resolver.term(body.antecedent)
            consequent = resolver.term(body.consequent)
            ends = self._world.ends[name]
            found.append(
                model.Commitment(
                    name,
                    ends.first,
                    ends.second,
                    antecedent,
                    consequent,
                    self._deadline(body.within, resolver, symbol),
                    self._deadline(body.expires, resolver, symbol),
                    symbol.node.revocable,
                    job.scope,
                    span=symbol.span,
                )
            )
            looks_at[name] = self._looks_at(name, atoms, symbol.span)
        return tuple(found), looks_at

    def _claims(self) -> tuple[tuple[model.Claim, ...], dict[str, list[str]]]:
        """Return the claims, and for each the commitments and claims whose state its content looks at."""
        found: list[model.Claim] = []
        looks_at: dict[str, list[str]] = {}
        for name, job in self._world.claims.items():
            symbol = job.body.symbol
            atoms: dict[Term, None] = {}
            content = Resolver(self._world, job.frame, job.values, _into(atoms)).term(job.body.content)
            ends = self._world.ends[name]
            found.append(model.Claim(name, ends.first, ends.second, content, job.scope, span=symbol.span))
            looks_at[name] = self._looks_at(name, atoms, symbol.span)
        return tuple(found), looks_at

    def _looks_at(self, name: str, atoms: Iterable[Term], span: Span) -> list[str]:
        """Return whose state the atoms of a condition are about; report those that it may not have."""
        seen = [inner for atom in atoms for inner in self._atoms_of(atom)]
        self._report_momentary(name, seen, span)
        return [atom.commitment for atom in seen if isinstance(atom, t.InState | t.Stands)]

    def _atoms_of(self, atom: Term) -> Iterable[Term]:
        return self._world.fact_atoms.get(atom.fact, ()) if isinstance(atom, t.FactRef) else (atom,)

    def _report_momentary(self, name: str, atoms: Iterable[Term], span: Span) -> None:
        """Report conditions that may change when no message takes effect."""
        for atom in sorted(atoms, key=described):
            if isinstance(atom, t.Sent | t.InFlight | t.Terminal) or (
                isinstance(atom, t.InState | t.Stands) and atom.view
            ):
                message = f"A condition of `{name}` looks at {described(atom)}"
                what = "claims" if name in self._world.claims else "commitments"
                hint = Note(f"{what} change when messages take effect: name messages, facts, variables or states")
                self._world.problems.report(rules.NOT_A_STATE_CONDITION, span, message, hint)
                return

    def _contents_about_runs(self, commitments: Iterable[model.Commitment]) -> dict[str, list[str]]:
        """Return for each commitment about runs those whose state its content, not its antecedent, looks at."""
        return {
            commitment.name: [
                atom.commitment
                for part in state_parts(commitment.consequent)
                for fact_or_atom in atoms(part)
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

        A monitor reads states that are settled: those that a claim, or a content about runs, looks at may not depend
        on it by what a retaining commitment waits for either. Other rules are one fixpoint with that.
        """
        for _, circle in cycles(looks_at):
            if circle:
                self._report_cycle(circle)
        graph = {name: [*seen, *waits_for.get(name, ())] for name, seen in looks_at.items()}
        for component, circle in cycles(graph):
            within = set(component)
            for name, seen in monitored.items() if circle else ():
                inside = [other for other in seen if other in within]
                if name in within and inside:
                    # Its other rules may lead round as well: what is shown begins with what its content looks at.
                    self._report_cycle(circle_from(name, within, {**graph, name: inside}))
                    break

    def _report_cycle(self, circle: list[str]) -> None:
        name = circle[0]
        jobs: Job[statements.Fact] | Job[statements.Commitment] | Job[statements.Claim]
        jobs = self._world.facts.get(name) or self._world.commitments.get(name) or self._world.claims[name]
        shown = " -> ".join(f"`{one}`" for one in (*circle, name))
        self._world.report(rules.CYCLIC_CONDITION, jobs.body.symbol.span, f"`{name}` depends on itself: {shown}")

    def _deadline(
        self, found: resolved.Tree | None, resolver: Resolver, symbol: resolved.CommitmentSymbol
    ) -> int | None:
        if found is None:
            return None
        ticks = resolver.number(found)
        if ticks is not None and ticks < 1:
            self._world.report(rules.BAD_DEADLINE, symbol.span, f"`{symbol.name}` has a deadline of {ticks} ticks")
            return 1
        if ticks is not None and ticks > MOST_IN_FAMILY:
            message = f"A deadline of {ticks:,} ticks is more than {MOST_IN_FAMILY:,}"
            self._world.report(rules.TOO_LARGE, symbol.span, message)
            return 1
        return ticks

    # --- messages -------------------------------------------------------------------------------

    def _message(self, job: Job[statements.Message], rivals: dict[str, dict[str, None]]) -> model.Message:
        body, symbol = job.body, job.body.symbol
        ends = self._world.ends[job.name]
        sending = Viewer(self._world, ends.first, f"sends `{job.name}`")
        receiving = Viewer(self._world, ends.second, f"receives `{job.name}`")
        plain = Resolver(self._world, job.frame, job.values)
        sender = Resolver(self._world, job.frame, job.values, sending)
        receiver = Resolver(self._world, job.frame, job.values, receiving)
        return model.Message(
            name=job.name,
            sender=ends.first,
            receiver=ends.second,
            parameters=self._parameters(symbol, plain),
            guard=combined("&", self._guards(job, sender, sending)),
            rivals=tuple(rivals.get(job.name, ())),
            operations=tuple(self._operations(body.operations, plain)),
            updates=tuple(self._assignments(body.updates, sender, job, ends.first)),
            receipt=tuple(self._assignments(body.receipt, receiver, job, ends.second)),
            resets=tuple(self._resets(body, plain, job)),
            restarts=body.restarts,
            repeatable=body.repeatable,
            scope=job.scope,
            span=symbol.span,
        )

    def _guards(self, job: Job[statements.Message], sender: Resolver, sending: Viewer) -> Iterator[Term]:
        if job.body.begins:
            for beginning in job.frame.beginning:
                around = Resolver(self._world, beginning.frame, beginning.values, sending)
                yield from map(around.term, beginning.conditions)
        yield from map(sender.term, job.body.guards)

    def _parameters(self, symbol: resolved.MessageSymbol, resolver: Resolver) -> tuple[model.Parameter, ...]:
        found: list[model.Parameter] = []
        payloads = 1
        for name, declared in symbol.parameters.items():
            domain = self._unroller.domain(declared, resolver) or (False,)
            payloads *= len(domain)
            found.append(model.Parameter(name, domain))
        if payloads > MOST_IN_FAMILY:
            message = f"`{symbol.name}` has {payloads:,} payloads, more than {MOST_IN_FAMILY:,}"
            self._world.report(rules.TOO_LARGE, symbol.span, message)
        return tuple(found)

    def _operations(self, operations: Iterable[statements.Operation], resolver: Resolver) -> Iterator[model.Operation]:
        for operation in operations:
            name = resolver.instance(operation.commitment)
            target = None if operation.target is None else resolver.instance(operation.target)
            if name is not None and (target is not None or operation.target is None):
                yield model.Operation(operation.verb, name, target, operation.retaining, span=operation.span)

    def _assignments(
        self, assignments: Iterable[statements.Assignment], resolver: Resolver, job: Job[statements.Message], agent: str
    ) -> Iterator[model.Assignment]:
        first: dict[str, Span] = {}
        plain = Resolver(self._world, job.frame, job.values)
        for assignment in assignments:
            target = plain.variable(assignment.role, assignment.variable, assignment.span)
            value = resolver.operand(assignment.value)
            if not isinstance(target, t.Var) or value is None:
                continue
            owner = self._world.variables[target.variable].role
            if owner != agent:
                message = f"`{target.variable}` belongs to `{owner}`; here only variables of `{agent}` can be set"
                self._world.report(rules.FOREIGN_VARIABLE, assignment.span, message)
            elif target.variable in first:
                message = f"`{target.variable}` is given two values at once"
                note = Note("the first is here", first[target.variable])
                self._world.problems.report(rules.DUPLICATE_ASSIGNMENT, assignment.span, message, note)
            else:
                first[target.variable] = assignment.span
                yield model.Assignment(target.variable, value, span=assignment.span)

    def _resets(self, body: statements.Message, resolver: Resolver, job: Job[statements.Message]) -> Iterator[str]:
        ends = self._world.ends[job.name]
        for reset in body.resets:
            name = resolver.instance(reset)
            if name is None:
                continue
            others = self._world.ends[name]
            if {others.first, others.second} != {ends.first, ends.second}:
                between = f"between `{others.first}` and `{others.second}`"
                message = f"`{name}` is {between}: only a message between these two can reset it"
                self._world.report(rules.FOREIGN_RESET, reset.span, message)
            else:
                yield name

    def _rivals(self) -> dict[str, dict[str, None]]:
        """Return the other members of each message's choices."""
        rivals: dict[str, dict[str, None]] = {}
        for job in self._world.others:
            if not isinstance(job.body, statements.Choice):
                continue
            resolver = Resolver(self._world, job.frame, job.values)
            members = [name for member in job.body.members if (name := resolver.instance(member)) is not None]
            for name in members:
                if members.count(name) > 1:
                    message = f"`{name}` is in this choice twice"
                    self._world.report(rules.DUPLICATE_NAME, job.body.span, message)
            senders = list(dict.fromkeys(self._world.ends[name].first for name in members))
            if len(senders) > 1:
                shown = " and ".join(f"`{sender}`" for sender in senders)
                message = f"Nobody can make this choice alone: its messages are sent by {shown}"
                self._world.report(rules.CHOICE_OF_MANY, job.body.span, message)
            for name in members:
                rivals.setdefault(name, {}).update(dict.fromkeys(other for other in members if other != name))
        return rivals

    # --- the rest -------------------------------------------------------------------------------

    def _unordered(self) -> Iterator[tuple[str, str]]:
        for job in self._world.others:
            if isinstance(job.body, statements.Channel):
                resolver = Resolver(self._world, job.frame, job.values)
                one, other = job.body.sender, job.body.receiver
                for sender in resolver.agents(one):
                    for receiver in resolver.agents(other):
                        if sender.name != receiver.name:
                            yield sender.name, receiver.name
                        elif not may_coincide(one, other, job.frame):
                            message = f"There is no channel from `{sender.name}` to itself"
                            self._world.problems.report(rules.SAME_ROLE, job.body.span, message, *where(job.values))

    def _fairness(self) -> Iterator[model.Fairness]:
        for job in self._world.others:
            if isinstance(job.body, statements.Fairness):
                condition = Resolver(self._world, job.frame, job.values).term(job.body.condition)
                yield model.Fairness(condition, span=job.body.span)

    def _properties(self) -> Iterator[model.Property]:
        for job in self._world.others:
            if not isinstance(job.body, statements.Property) or job.frame.path:
                continue
            before = self._world.problems.errors
            node = job.body.node
            resolver = Resolver(self._world, job.frame, job.values)
            formula = resolver.term(job.body.formula)
            assuming = tuple(self._assuming(job.body.assuming, resolver))
            if self._world.problems.errors == before:
                nothing = resolver.ranges.nothing(self._world.fact_ranges)
                constant = resolver.ranges.constant_implications(self._world.fact_ranges)
                yield model.Property(
                    job.name,
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
        found: dict[str, None] = {}
        for role in roles:
            agents = self._world.roles if role is None else resolver.agents(role)
            found.update(dict.fromkeys(agent.name for agent in agents))
        return found

    def _check_items(self) -> Iterator[ast.CheckItem]:
        """Yield what the protocol itself says of checks; what its parts say is for themselves."""
        for job in self._world.others:
            if isinstance(job.body, statements.Check) and not job.frame.path:
                yield from job.body.node.checks

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

    def formula(self, frame: Frame, values: Values, found: resolved.Tree) -> Term:
        return Resolver(self._world, frame, values).term(found)


def _into(found: dict[Term, None]) -> Watch:
    """Return a watch that collects atoms."""

    def watch(atom: Term, _: Span) -> None:
        found[atom] = None

    return watch


def atoms(term: Term) -> Iterator[Term]:
    """Yield the atoms of a condition; facts count as such."""
    stack = [term]
    while stack:
        part = stack.pop()
        if isinstance(part, t.Apply | t.OverPaths | t.Strategic | t.Social | t.Knowledge | t.Conditional):
            stack.extend(reversed(t.operands_of(part)))
        else:
            yield part
