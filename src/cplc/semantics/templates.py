"""Checking of the clauses of every declaration, once for a whole family: names, types, operations, participants."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean, suggestion
from cplc.language.durations import duration_text, nanoseconds
from cplc.language.lifecycle import CLAIM_VERBS, GRANTABLE, JOINED, STANDING_OF, VERBS
from cplc.language.words import CHECKS, NO_USUAL_CHECKS, USUAL_CHECKS
from cplc.semantics import resolved, types
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.expressions import ExpressionChecker, Purpose, tick_length
from cplc.semantics.name_hints import successor_hint
from cplc.semantics.name_resolution import OwnLocal, Scope, record_of
from cplc.semantics.participant_templates import AgentChecker, AssumptionChecker, actor_of
from cplc.source import Span
from cplc.syntax import ast
from cplc.syntax.replies import replies_to


class TemplateBuilder:
    """Checks the body of a protocol. Its signature, and those of its parts, must be complete."""

    def __init__(self, problems: DiagnosticSink, expression_checker: ExpressionChecker) -> None:
        self._problems = problems
        self._expression_checker = expression_checker
        self._assumptions = AssumptionChecker(problems, expression_checker)
        self._property_names: dict[str, Span] = {}
        self._checks: dict[tuple[str, bool], Span] = {}
        """Each check that is named, and whether it is switched off there."""
        self._agents = AgentChecker(problems, expression_checker)

    def template(self, signature: resolved.Signature) -> resolved.Template:
        scope = Scope(signature.unit, signature)
        self._property_names.clear()
        self._checks.clear()
        return resolved.Template(signature, tuple(self._bodies(signature.node.declarations, signature, scope)))

    def _bodies(
        self, declarations: Iterable[ast.Declaration], signature: resolved.Signature, scope: Scope
    ) -> Iterator[resolved.Body]:
        for declaration in declarations:
            match declaration:
                case ast.For():
                    if binder := signature.blocks.get(id(declaration)):
                        self._expression_checker.introduce(declaration.variable, scope)
                        inner = Scope(
                            scope.unit, signature, (*scope.chain, binder), {**scope.locals, binder.name: binder}
                        )
                        yield resolved.Loop(binder, tuple(self._bodies(declaration.body, signature, inner)))
                case ast.ForEach():
                    if binder := signature.blocks.get(id(declaration)):
                        inner = Scope(scope.unit, signature, (binder,), {**scope.locals, binder.name: binder})
                        yield resolved.Loop(binder, tuple(self._bodies(declaration.body, signature, inner)))
                case ast.Memory(reference):
                    role = signature.symbols.get(reference.segments[0].name.text)
                    for variable in role.variables.values() if isinstance(role, resolved.RoleSymbol) else ():
                        if variable.span == reference.segments[-1].name.span and isinstance(role, resolved.RoleSymbol):
                            yield resolved.Memory(variable, role)
                case ast.Message(name) | ast.Fact(name) | ast.Commitment(name) | ast.Claim(name) | ast.Agent(name):
                    symbol = signature.symbols.get(name.text)
                    if (
                        isinstance(symbol, resolved.Indexed) and symbol.node is declaration
                    ):  # unless the name is declared twice
                        for body in self._declared(symbol, scope):
                            yield body
                            if isinstance(body, resolved.Message):
                                yield from self._replies(body, signature, scope)
                case ast.Use():
                    for part in signature.symbols.values():
                        if isinstance(part, resolved.PartSymbol) and part.node is declaration:
                            before = self._problems.errors
                            body = self._part(part, scope)
                            if self._problems.errors == before:
                                yield body
                case ast.Choice():
                    yield from self._choice(declaration, scope)
                case ast.Clock():
                    self._clock(declaration, scope)
                case ast.Channel():
                    yield from self._channel(declaration, scope)
                case ast.Empower():
                    yield self._empower(declaration, scope)
                case ast.Property():
                    with self._problems.local():
                        properties = tuple(self._property(declaration, scope))
                    yield from properties
                case ast.Check():
                    if not scope.chain:
                        with self._problems.local():
                            checks = tuple(self._check(declaration, scope))
                        yield from checks
                case ast.Fairness():
                    yield resolved.Fairness(
                        self._expression_checker.fairness(declaration.condition, scope), declaration.span
                    )
                case ast.Analyze():
                    with self._problems.local():
                        analyses = tuple(self._agents.analyze(declaration, scope))
                    yield from analyses
                case ast.Role() | ast.Define() | ast.TypeDefinition():
                    pass

    def _declared(self, symbol: resolved.Indexed, scope: Scope) -> Iterator[resolved.Body]:
        """Yield what the declaration of a symbol stands for."""
        match symbol:
            case resolved.MessageSymbol():
                yield from self._message(symbol, scope)
            case resolved.FactSymbol():
                meaning = self._expression_checker.condition(symbol.node.value, scope, Purpose.STATE)
                yield resolved.Fact(symbol, meaning)
            case resolved.CommitmentSymbol():
                yield from self._commitment(symbol, scope)
            case resolved.ClaimSymbol():
                yield from self._claim(symbol, scope)
            case resolved.AgentSymbol():
                with self._problems.local():
                    agents = tuple(self._agents.agent(symbol, scope))
                yield from agents
            case resolved.PartSymbol():
                raise AssertionError("a part is declared by `use`")

    # --- messages -------------------------------------------------------------------------------

    def _message(self, symbol: resolved.MessageSymbol, scope: Scope) -> Iterator[resolved.Message]:
        node = symbol.node
        sender = self._expression_checker.names.role(node.sender, scope)
        receivers = [self._receiver(written, sender, scope) for written in node.receivers]
        for parameter in node.parameters:
            self._expression_checker.introduce(parameter.name, replace(scope, actor=actor_of(sender)))
        spans = {parameter.name.text: parameter.name.span for parameter in reversed(node.parameters)}
        own = {name: OwnLocal(ranged.type, spans[name]) for name, ranged in symbol.parameters.items()}
        sending = replace(scope, locals={**scope.locals, **own}, actor=actor_of(sender))
        guards: list[resolved.Tree] = []
        operations: list[resolved.Operation] = []
        updates: list[resolved.Assignment] = []
        receipt: list[resolved.Assignment] = []
        resets: list[resolved.Instance] = []
        for clause in node.clauses:
            match clause:
                case ast.After() | ast.If() | ast.Unless():
                    guards.append(self._guard(clause, sending))
                case ast.Means(performed):
                    operations.extend(self._operations(performed, scope))
                case ast.Set(assignments):
                    updates.extend(self._assignments(assignments, sending))
                case ast.OnReceipt(assignments):
                    receipt.extend(self._receipt(assignments, node, receivers, sending))
                case ast.Resets(messages):
                    instances = [self._expression_checker.names.message(ref, scope) for ref in messages]
                    resets.extend(message for message in instances if message is not None)
                case ast.Restart() | ast.Repeatable() | ast.Returns():
                    pass
        resolved_receivers = tuple(receiver for receiver in receivers if receiver is not None)
        if sender is None or len(resolved_receivers) < len(receivers):
            return
        yield resolved.Message(
            symbol,
            sender,
            resolved_receivers,
            tuple(guards),
            not any(isinstance(clause, ast.After) for clause in node.clauses),
            tuple(operations),
            tuple(updates),
            tuple(receipt),
            tuple(resets),
            any(isinstance(clause, ast.Restart) for clause in node.clauses),
            # An answer clears its request, which can be sent again then, and not before.
            _is_repeatable(node) and not replies_to(node),
        )

    def _replies(
        self, request: resolved.Message, signature: resolved.Signature, scope: Scope
    ) -> Iterator[resolved.Body]:
        """Yield the messages by which a record answers: the first whose condition holds, once for each request.

        A request that is repeatable is cleared by its answer. Otherwise a round has one of each.
        """
        node, sender, record = request.symbol.node, request.sender, request.receivers[0]
        replies = replies_to(node)
        if not replies or isinstance(record, resolved.AllOf) or record_of(record) is None:
            return
        self._check_replies(node, replies)
        acting = replace(scope, actor=actor_of(record))
        indices = tuple(resolved.LoopValue(binder) for binder in request.symbol.chain)
        request_instance = resolved.Instance(request.symbol, (), indices, is_current=True, span=node.name.span)
        answers: list[resolved.Instance] = []
        earlier: list[resolved.Tree] = []
        for reply in replies:
            symbol = signature.symbols.get(reply.name.text)
            if not isinstance(symbol, resolved.MessageSymbol) or symbol.span is not reply.name.span:
                continue  # declared twice
            conditions = [self._guard(one, acting) for one in reply.clauses if isinstance(one, ast.If)]
            updates = [
                update
                for clause in reply.clauses
                if isinstance(clause, ast.Set)
                for update in self._assignments(clause.assignments, acting)
            ]
            means = (one for clause in reply.clauses if isinstance(clause, ast.Means) for one in clause.operations)
            receipt = (
                one for clause in reply.clauses if isinstance(clause, ast.OnReceipt) for one in clause.assignments
            )
            yield resolved.Message(
                symbol,
                record,
                (sender,),
                (
                    resolved.Event("received", request_instance, node.name.span),
                    *conditions,
                    *earlier,
                    *_values(reply, record, updates),
                ),
                False,
                tuple(self._operations(means, scope)),
                tuple(updates),
                tuple(self._assignments(receipt, replace(scope, actor=actor_of(sender)))),
                (request_instance,) if _is_repeatable(node) else (),
                False,
                _is_repeatable(node),
                request_instance,
            )
            answers.append(resolved.Instance(symbol, (), indices, is_current=True, span=reply.name.span))
            earlier.append(resolved.Apply("!", (resolved.Apply("&", tuple(conditions), reply.span),), reply.span))
        if len(answers) > 1 and not _is_repeatable(node):
            yield resolved.Choice(tuple(answers), node.name.span)

    def _check_replies(self, node: ast.Message, replies: tuple[ast.Reply, ...]) -> None:
        """Report answers that can never be sent."""
        for reply, other in pairwise(replies):
            if not any(isinstance(clause, ast.If) for clause in reply.clauses):
                hint = Note("give the one before `else` a condition", reply.span)
                message = f"`{other.name.text}` is never sent: `{reply.name.text}` is sent on any condition"
                self._problems.report(rules.BAD_REPLY, other.name.span, message, hint)
        for clause in node.clauses:
            if isinstance(clause, ast.Restart):
                hint = Note("leave out `restart`, or write the answer as a message of its own that restarts")
                message = f"`{node.name.text}` ends the round, and is never answered"
                self._problems.report(rules.BAD_REPLY, clause.span, message, hint)

    def _receiver(
        self, written: ast.Ref, sender: resolved.RoleTree | None, scope: Scope
    ) -> resolved.RoleTree | resolved.AllOf | None:
        """Return a receiver: a role, or a family for all its members.

        In a loop over that family, where one of them is meant as a rule, only a member may send to the others.
        """
        receiver = self._expression_checker.names.roles(written, scope)
        if isinstance(receiver, resolved.AllOf) and not isinstance(sender, resolved.LoopValue):
            instead = "or declare the message outside of the loop"
            if self._lacks_index(receiver, written.span, scope, instead):
                return None
        return receiver

    def _lacks_index(self, family: resolved.AllOf, written: Span, scope: Scope, instead: str) -> bool:
        """Report a family that is named in a loop over it, where the present member is meant as a rule."""
        for binder in scope.chain:
            if isinstance(binder.domain, resolved.FamilyDomain) and binder.domain.role is family.role:
                message = f"`{family.role.name}` is a family of roles, and `{binder.name}` the present one"
                note = suggestion(f"write `{binder.name}`, {instead}", binder.name)
                self._problems.report(rules.WRONG_INDICES, written, message, note)
                return True
        return False

    def _receipt(
        self,
        assignments: Iterable[ast.Assignment],
        node: ast.Message,
        receivers: Iterable[resolved.RoleTree | resolved.AllOf | None],
        scope: Scope,
    ) -> Iterator[resolved.Assignment]:
        """Yield assignments on receipt. A variable without a role is that of each receiver."""
        single = {
            written.span.text: receiver
            for written, receiver in zip(node.receivers, receivers, strict=True)
            if not isinstance(receiver, resolved.AllOf)
        }
        for assignment in assignments:
            role, _, _ = assignment.variable.span.text.rpartition(".")
            owners = [single[role]] if role in single else list(single.values())
            if role or not owners:
                owners = owners[:1] or [None]
            for owner in owners:
                yield from self._assignments((assignment,), replace(scope, actor=actor_of(owner)))

    def _guard(self, clause: ast.Condition, scope: Scope) -> resolved.Tree:
        condition = self._expression_checker.condition(clause.condition, scope, Purpose.LOCAL)
        return resolved.Apply("!", (condition,), clause.span) if isinstance(clause, ast.Unless) else condition

    def _operations(self, performed: Iterable[ast.Operation], scope: Scope) -> Iterator[resolved.Operation]:
        for operation in performed:
            subject = self._expression_checker.names.obligation(operation.subject, scope)
            verb = self._verb(operation, subject)
            target: resolved.Instance | None = None
            if operation.target is not None:
                names = self._expression_checker.names
                joined = JOINED.get(operation.verb.text)
                if joined == "to" and self._hands_over_to_role(operation, operation.target, subject, scope):
                    continue
                find = {"to": names.commitment, "with": names.claim}.get(joined or "", names.obligation)
                target = find(operation.target, scope)
            if (
                verb is not None
                and self._has_fit_target(operation, verb)
                and subject is not None
                and (operation.target is None or target is not None)
            ):
                yield resolved.Operation(verb, subject, target, operation.retaining, operation.span)

    def _hands_over_to_role(
        self, operation: ast.Operation, target: ast.Ref, subject: resolved.Instance | None, scope: Scope
    ) -> bool:
        """Report a commitment that is handed over to a role instead of a commitment of that role."""
        symbol = None if subject is None else subject.symbol
        if not isinstance(symbol, resolved.CommitmentSymbol) or scope.signature is None:
            return False
        names = self._expression_checker.names
        if not names.is_role(target, scope):
            return self._hands_over_to_nobody(operation, target, symbol, scope)
        done = "delegated" if operation.verb.text == "delegate" else "assigned"
        message = f"`{symbol.name}` is {done} to a commitment, and `{target.span.text}` is a role"
        notes, fixes = successor_hint(symbol, operation, target, scope.signature)
        self._problems.report(rules.WRONG_KIND, target.span, message, *notes, fixes=fixes)
        return True

    def _hands_over_to_nobody(
        self, operation: ast.Operation, target: ast.Ref, symbol: resolved.CommitmentSymbol, scope: Scope
    ) -> bool:
        """Report a commitment that is handed over to something undeclared which resembles no name."""
        name = target.span.text
        if scope.signature is None or not name.isidentifier() or scope.declares(name):
            return False
        if did_you_mean(name, scope.names()):
            return False
        notes, _ = successor_hint(symbol, operation, target, scope.signature)
        message = f"Nothing here is called `{name}`"
        self._problems.report(rules.UNKNOWN_NAME, target.span, message, *notes, arguments=(("undeclared", name),))
        return True

    def _verb(self, operation: ast.Operation, subject: resolved.Instance | None) -> str | None:
        """Return the verb if it is an operation on the subject, or if the subject is unknown."""
        text, span = operation.verb.text, operation.verb.span
        is_claim = subject is not None and isinstance(subject.symbol, resolved.ClaimSymbol)
        verbs = CLAIM_VERBS if is_claim else VERBS
        if text in verbs:
            return text
        if text == "test":
            written = operation.subject.span.text
            message = "`test` is no operation: the content of a claim decides it, from the message on that creates it"
            hint = Note(f"leave `test {written}` out, and let the content of `{written}` speak of runs, as in `F p`")
            self._problems.report(rules.UNKNOWN_OPERATION, span, message, hint)
            return None
        on, on_other = ("claims", "commitments") if is_claim else ("commitments", "claims")
        if is_claim and text in VERBS:
            written = operation.subject.span.text
            message = f"`{text}` is an operation on {on_other}, and `{written}` is a {on[:-1]}"
        else:
            message = f"`{text}` is no operation on {on if subject is not None else 'commitments or claims'}"
        notes = did_you_mean(text, verbs) or (Note("operations are " + ", ".join(verbs)),)
        self._problems.report(rules.UNKNOWN_OPERATION, span, message, *notes)
        return None

    def _empower(self, node: ast.Empower, scope: Scope) -> resolved.Empower:
        names = self._expression_checker.names
        roles = [names.roles(role, scope) for role in node.roles]
        powers: list[resolved.Power] = []
        for power in node.powers:
            commitment = names.commitment(power.subject, scope)
            if self._is_grantable(power) and commitment is not None:
                powers.append(resolved.Power(power.verb.text, commitment, power.span))
        return resolved.Empower(tuple(role for role in roles if role is not None), tuple(powers), node.span)

    def _is_grantable(self, power: ast.Power) -> bool:
        """Report a verb that is no operation on commitments. Moves of a dialogue bind the role that makes them."""
        text = power.verb.text
        if text in GRANTABLE:
            return True
        if text in STANDING_OF:
            message = f"`{text}` is a move of a dialogue, which nobody can make for somebody else"
        else:
            message = f"`{text}` is no operation on commitments"
        notes = did_you_mean(text, GRANTABLE) if text not in STANDING_OF else ()
        notes = notes or (Note("powers are " + ", ".join(GRANTABLE)),)
        self._problems.report(rules.UNKNOWN_OPERATION, power.verb.span, message, *notes)
        return False

    def _has_fit_target(self, operation: ast.Operation, verb: str) -> bool:
        joined = JOINED.get(verb)
        if joined is not None and (operation.target is None or operation.joined != joined):
            other = "a commitment to hand over to" if joined == "to" else "a claim to argue with"
            target = None if operation.target is None else operation.target.span.text
            right = f"{verb} {operation.subject.span.text} {joined} {target or '…'}"
            what = f"`{verb}` needs {other}"
            hint = suggestion(f"write `{right}`", *([right] if target else []))
        elif joined is None and operation.target is not None:
            what = f"`{verb}` takes no `{operation.joined}`"
            fit = [f"`{other}`" for other, word in JOINED.items() if word == operation.joined]
            does = "hand over" if operation.joined == "to" else "argue with a claim"
            hint = Note(f"only {', '.join(fit[:-1])} and {fit[-1]} {does}")
        elif operation.retaining and verb != "delegate":
            what, hint = f"`{verb}` takes no `retaining`", Note("only `delegate` does")
        else:
            return True
        self._problems.report(rules.WRONG_TARGET, operation.span, what, hint)
        return False

    def _assignments(self, assignments: Iterable[ast.Assignment], scope: Scope) -> Iterator[resolved.Assignment]:
        for assignment in assignments:
            target = self._expression_checker.names.assignable(assignment.variable, scope)
            expected = target[1] if target else types.UNKNOWN
            value = self._expression_checker.value(assignment.value, scope, expected, Purpose.LOCAL)
            if target:
                yield resolved.Assignment(target[0].role, target[0].name, value, assignment.span, target[0].key)

    # --- commitments, choices, channels ---------------------------------------------------------

    def _commitment(self, symbol: resolved.CommitmentSymbol, scope: Scope) -> Iterator[resolved.Commitment]:
        node = symbol.node
        debtor = self._expression_checker.names.side(node.debtor, scope)
        creditor = self._expression_checker.names.side(node.creditor, scope)
        self._check_answerable(node.debtor, node.creditor, debtor)
        for side, written in ((debtor, node.debtor), (creditor, node.creditor)):
            roles, why = () if side is None else side.roles, "owes nothing, and nothing is owed to it"
            self._expression_checker.names.refuse_records(roles, why, written.span)
        lacks_index = self._side_lacks_index(node.debtor, debtor, creditor, scope)
        lacks_index |= self._side_lacks_index(node.creditor, creditor, debtor, scope)
        antecedent = self._expression_checker.condition(node.antecedent, scope, Purpose.STATE)
        consequent = self._expression_checker.content(node.consequent, scope)
        timing = self._with_fields_of_creators(symbol, scope)
        within = None if node.within is None else self._expression_checker.deadline(node.within, timing)
        expires = None if node.expires is None else self._expression_checker.deadline(node.expires, timing)
        if debtor is not None and creditor is not None and not lacks_index:
            yield resolved.Commitment(symbol, debtor, creditor, antecedent, consequent, within, expires)

    def _check_answerable(self, written: ast.Party, creditor: ast.Party, debtor: resolved.Side | None) -> None:
        """Report that a single debtor, or creditors, are said to be answerable alone."""
        if isinstance(written, ast.Group) and written.answerable and debtor is not None and not debtor.is_group:
            text = f"A single debtor answers for itself: leave out `{written.answerable}`"
            self._problems.report(rules.WRONG_KIND, written.span, text)
        if isinstance(creditor, ast.Group) and creditor.answerable:
            text = f"Creditors are not answerable: leave out `{creditor.answerable}`"
            self._problems.report(rules.WRONG_KIND, creditor.span, text)

    def _side_lacks_index(
        self, written: ast.Party, side: resolved.Side | None, other: resolved.Side | None, scope: Scope
    ) -> bool:
        """Report a side that is a family by its mere name, in a loop over it and not opposite a member."""
        if side is None or other is None or not isinstance(written, ast.Ref):
            return False
        (family,) = side.roles
        if not isinstance(family, resolved.AllOf) or any(_is_member(one, family) for one in other.roles):
            return False
        return self._lacks_index(family, written.span, scope, f"or `{{{written.span.text}}}` for all of them")

    def _with_fields_of_creators(self, symbol: resolved.CommitmentSymbol, scope: Scope) -> Scope:
        """Return the scope with the fields of the messages that create the commitment, unless their names are taken."""
        fields: dict[str, OwnLocal] = {}
        declared = () if scope.signature is None else scope.signature.symbols.values()
        for message in (one for one in declared if isinstance(one, resolved.MessageSymbol)):
            operations = (
                operation
                for clause in message.node.clauses
                if isinstance(clause, ast.Means)
                for operation in clause.operations
            )
            if any(symbol.name in _created_names(operation) for operation in operations):
                for parameter in message.node.parameters:
                    if not scope.declares(name := parameter.name.text):
                        fields.setdefault(name, OwnLocal(message.parameters[name].type, parameter.name.span))
        return replace(scope, locals={**scope.locals, **fields})

    def _claim(self, symbol: resolved.ClaimSymbol, scope: Scope) -> Iterator[resolved.Claim]:
        maker = self._expression_checker.names.role(symbol.node.maker, scope)
        addressee = self._expression_checker.names.role(symbol.node.addressee, scope)
        self._expression_checker.names.refuse_records((maker, addressee), "makes no claims, and none are made to it")
        content = self._expression_checker.content(symbol.node.content, scope)
        if maker is not None and addressee is not None:
            yield resolved.Claim(symbol, maker, addressee, content)

    def _choice(self, choice: ast.Choice, scope: Scope) -> Iterator[resolved.Choice]:
        instances = [self._expression_checker.names.message(ref, scope) for ref in choice.members]
        members = tuple(member for member in instances if member is not None)
        if len(choice.members) < 2:
            self._problems.report(rules.WRONG_ARGUMENTS, choice.span, "A choice is between at least two messages")
        elif len(members) == len(instances):
            yield resolved.Choice(members, choice.span)

    def _clock(self, clock: ast.Clock, scope: Scope) -> None:
        """Report a length of a tick that is zero, given twice or declared in a loop."""
        declarations = () if scope.signature is None else scope.signature.node.declarations
        first = next((one for one in declarations if isinstance(one, ast.Clock)), None)
        if first is None or scope.chain:
            self._problems.report(rules.BAD_TICK, clock.span, "The length of a tick stands outside of `for`")
        elif first is not clock:
            note = Note("the first is here", first.span)
            self._problems.report(rules.BAD_TICK, clock.span, "The length of a tick is given twice", note)
        elif not nanoseconds(clock.length.text):
            self._problems.report(rules.BAD_TICK, clock.length.span, "A tick is longer than zero")

    def _check_tick_of(self, part: resolved.PartSymbol, scope: Scope) -> None:
        """Report a part with another length of a tick."""
        own = None if scope.signature is None else tick_length(scope.signature.node)
        tick = tick_length(part.signature.node)
        if tick is not None and tick != own:
            message = f"A tick of `{part.signature.name}` is {duration_text(tick)}"
            message += ", and has no length here" if own is None else f", and {duration_text(own)} here"
            hint = Note(f"declare the same: `clock tick = {duration_text(tick)}`")
            self._problems.report(rules.BAD_TICK, part.node.protocol.span, message, hint)

    def _channel(self, channel: ast.Channel, scope: Scope) -> Iterator[resolved.Channel]:
        within = None if channel.within is None else self._expression_checker.ticks(channel.within, scope)
        number = self._expression_checker.number
        options = (
            channel.is_unordered,
            within,
            channel.is_lossy,
            None if channel.losses is None else number(channel.losses, scope),
            channel.is_duplicating,
            None if channel.duplicates is None else number(channel.duplicates, scope),
            None if channel.places is None else number(channel.places, scope),
            channel.span,
        )
        if channel.sender is None or channel.receiver is None:
            yield resolved.Channel(None, None, *options)
            return
        sender = self._expression_checker.names.roles(channel.sender, scope)
        receiver = self._expression_checker.names.roles(channel.receiver, scope)
        if sender is not None and receiver is not None:
            yield resolved.Channel(sender, receiver, *options)

    # --- used protocols -------------------------------------------------------------------------

    def _part(self, part: resolved.PartSymbol, scope: Scope) -> resolved.Part:
        self._check_tick_of(part, scope)
        roles: list[tuple[resolved.RoleSymbol, resolved.RoleTree | resolved.AllOf, ast.Argument]] = []
        values: list[tuple[resolved.ParameterSymbol, resolved.Tree, ast.Argument]] = []
        inside = part.signature
        symbols: dict[str, resolved.RoleSymbol | resolved.ParameterSymbol] = {role.name: role for role in inside.roles}
        symbols.update(inside.parameters)
        first: dict[str, Span] = {}
        for argument in part.node.arguments:
            name = argument.name
            if name.text in first:
                message = f"`{name.text}` is bound twice"
                note = Note("the first is here", first[name.text])
                self._problems.report(rules.WRONG_ARGUMENTS, name.span, message, note)
                continue
            first[name.text] = name.span
            match symbols.get(name.text):
                case resolved.RoleSymbol() as role:
                    self._expression_checker.references.refer(name.span, role.span)
                    if (bound := self._role_argument(role, argument, scope)) is not None:
                        roles.append((role, bound, argument))
                case resolved.ParameterSymbol() as parameter:
                    self._expression_checker.references.refer(name.span, parameter.span)
                    value = self._expression_checker.initial(argument.value, scope, parameter.declared.type)
                    values.append((parameter, value, argument))
                case None:
                    notes = did_you_mean(name.text, symbols)
                    message = f"`{inside.name}` has no role or parameter `{name.text}`"
                    self._problems.report(rules.UNKNOWN_PARAMETER, name.span, message, *notes)
        use = part.node.protocol.span
        for role in inside.roles:
            if role.name not in first:
                message = f"The role `{role.name}` of `{inside.name}` is not bound"
                hint = Note(f"write `{role.name} = …` among its arguments, with a role of this protocol")
                declared = Note("declared here", role.span)
                self._problems.report(
                    rules.UNBOUND_ROLE, use, message, hint, declared, arguments=(("unbound", role.name),)
                )
        for parameter in inside.parameters.values():
            if parameter.name not in first and parameter.default is None:
                message = f"The parameter `{parameter.name}` of `{inside.name}` has neither a value nor a default"
                self._problems.report(rules.MISSING_VALUE, use, message, Note("declared here", parameter.span))
        return resolved.Part(
            part,
            tuple((role, bound, argument.value.span) for role, bound, argument in roles),
            tuple((parameter, value, argument.value.span) for parameter, value, argument in values),
            tuple(self._guard(condition, scope) for condition in part.node.conditions),
            any(isinstance(condition, ast.After) for condition in part.node.conditions),
        )

    def _role_argument(
        self, role: resolved.RoleSymbol, argument: ast.Argument, scope: Scope
    ) -> resolved.RoleTree | resolved.AllOf | None:
        if not isinstance(argument.value, ast.Ref):
            message = f"`{role.name}` is a role and is bound to one"
            self._problems.report(rules.UNBOUND_ROLE, argument.value.span, message)
            return None
        bound = self._expression_checker.names.roles(argument.value, scope)
        if bound is not None and (record_of(bound) is not None) is not role.is_record:
            kinds = ("a record", "a role") if role.is_record else ("a role", "a record")
            message = f"`{role.name}` is {kinds[0]}, and is bound to {kinds[1]}"
            self._problems.report(rules.WRONG_KIND, argument.value.span, message, Note("declared here", role.span))
            return None
        if bound is not None and isinstance(bound, resolved.AllOf) is not role.is_family:
            expected = "a family of roles" if role.is_family else "a single role"
            message = f"`{role.name}` is {expected} and is bound to one"
            self._problems.report(rules.UNBOUND_ROLE, argument.value.span, message, Note("declared here", role.span))
            return None
        return bound

    # --- properties -----------------------------------------------------------------------------

    def _property(self, node: ast.Property, scope: Scope) -> Iterator[resolved.Property]:
        before = self._problems.errors
        earlier = self._property_names.setdefault(node.name.text, node.name.span)
        if earlier is not node.name.span:
            message = f"Two properties are called `{node.name.text}`"
            self._problems.report(rules.DUPLICATE_PROPERTY, node.name.span, message, Note("the first one", earlier))
        assuming = self._assumptions.assumed(node.assuming, scope)
        formula = self._expression_checker.condition(node.formula, scope, Purpose.FORMULA)
        if self._problems.errors == before:
            yield resolved.Property(node, assuming, formula)

    def _check(self, node: ast.Check, scope: Scope) -> Iterator[resolved.Check]:
        for item in node.checks:
            name = item.name
            if name.text == NO_USUAL_CHECKS and not item.is_off:
                continue
            if name.text not in CHECKS:
                notes = did_you_mean(name.text, CHECKS) or (Note("checks are " + ", ".join(CHECKS)),)
                self._problems.report(rules.UNKNOWN_CHECK, name.span, f"No check is called `{name.text}`", *notes)
                continue
            if item.is_off and name.text not in USUAL_CHECKS:
                message = f"`{name.text}` is asked only where it is named, so it cannot be switched off"
                note = Note("the usual checks are " + ", ".join(USUAL_CHECKS))
                self._problems.report(rules.SWITCHED_OFF_CHECK, name.span, message, note)
            other = self._checks.get((name.text, not item.is_off))
            if other is not None:
                message = f"`{name.text}` is both asked and switched off"
                self._problems.report(rules.SWITCHED_OFF_CHECK, name.span, message, Note("the other is here", other))
            self._checks.setdefault((name.text, item.is_off), name.span)
        yield resolved.Check(node, self._assumptions.assumed(node.assuming, scope))


def _created_names(operation: ast.Operation) -> Iterator[str]:
    """Yield the last name of what an operation may create: its subject, or the successor."""
    created = operation.subject if operation.verb.text == "create" else operation.target
    if created is not None:
        yield created.segments[-1].name.text


def _is_member(role: resolved.RoleTree | resolved.AllOf, family: resolved.AllOf) -> bool:
    """Return whether a role is the variable of a loop over a family."""
    domain = role.binder.domain if isinstance(role, resolved.LoopValue) else None
    return isinstance(domain, resolved.FamilyDomain) and domain.role is family.role


def _is_repeatable(message: ast.Message) -> bool:
    return any(isinstance(clause, ast.Repeatable) for clause in message.clauses)


def _values(
    reply: ast.Reply, record: resolved.RoleTree, updates: Iterable[resolved.Assignment]
) -> Iterator[resolved.Tree]:
    """Yield the equations of an answer's parameters with the record's variables, as they are after its assignments."""
    assigned = {update.variable: update.value for update in updates}
    for field in reply.fields:
        value = assigned.get(field.text, resolved.VariableOf(record, field.text, field.span))
        yield resolved.Apply("=", (resolved.OwnParameter(field.text), value), field.span)
