"""Lints of commitments and claims: contents that mean something else than they seem to.

The lints use the terms and the guards of messages only, and are sound: facts are expanded, and conditions that depend
on variables are not reported. A warning is given once, if it holds for all instances of a declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, Rule
from cplc.language.groups import is_on, members
from cplc.logic import kleene
from cplc.semantics import model
from cplc.semantics import terms as t
from cplc.semantics.instances import InstanceTable
from cplc.semantics.terms import Term, is_about_runs

Finding = tuple[Rule, str, Note]


class ContentLints:
    """Checks the commitments of a model, and the contents about runs of its claims."""

    def __init__(self, checked: model.CheckedModel) -> None:
        self._model = checked
        self._creating: dict[str, list[str]] = {}
        self._suspended: set[str] = set()
        self._handed_over: set[str] = set()
        for message in checked.messages:
            for operation in message.operations:
                if operation.verb == "create":
                    self._creating.setdefault(operation.commitment, []).append(message.name)
                if operation.verb == "suspend":
                    self._suspended.add(operation.commitment)
                if operation.target is not None:
                    self._handed_over |= {operation.commitment, operation.target}
        self._needed: dict[str, frozenset[str]] = {}
        self._received: dict[str, frozenset[str]] = {}
        self._received_messages: dict[str, list[str]] = {}
        for message in checked.messages:
            for role in message.receivers:
                self._received_messages.setdefault(role, []).append(message.name)

    def report(self, table: InstanceTable) -> None:
        findings: dict[tuple[object, Rule], list[tuple[model.Commitment | model.Claim, Finding]]] = {}
        instances: dict[object, int] = {}
        promised: tuple[model.Commitment | model.Claim, ...] = (*self._model.commitments, *self._model.claims)
        for commitment in promised:
            instances[commitment.span] = instances.get(commitment.span, 0) + 1
            reported: set[str] = set()
            for finding in self._findings(commitment):
                if finding[0].code not in reported:
                    reported.add(finding[0].code)
                    findings.setdefault((commitment.span, finding[0]), []).append((commitment, finding))
        for (span, rule), alike in findings.items():
            if len(alike) == instances[span]:
                commitment, (_, message, note) = alike[0]
                table.problems.report(rule, commitment.span, message, note)

    def _findings(self, commitment: model.Commitment | model.Claim) -> Iterator[Finding]:
        if isinstance(commitment, model.Claim):
            if self._is_breakable(commitment.content):
                yield from self._seemingly_broken(commitment.name, commitment.addressee, commitment.content)
            return
        yield from self._never_active(commitment)
        yield from self._trivial(commitment)
        yield from self._foreign(commitment)
        yield from self._unseen(commitment)
        if is_about_runs(commitment.consequent):
            yield from self._stale(commitment)
            yield from self._sticky(commitment)
            if self._is_breakable(commitment.consequent):
                yield from self._unobservable(commitment)
                yield from self._seemingly_broken(commitment.name, commitment.creditor, commitment.consequent)

    # --- conditions and contents alike

    def _never_active(self, commitment: model.Commitment) -> Iterator[Finding]:
        name, condition = commitment.name, commitment.antecedent
        within = commitment.within
        length = f"`{within.text}`" if isinstance(within, model.PayloadDeadline) else f"{within} ticks"
        late = f"; its deadline of {length} never runs" if within is not None else ""
        if self._plain(condition) == t.FALSE:
            yield (
                rules.NEVER_ACTIVE,
                f"The antecedent of `{name}` is never true{late}",
                Note("use a message in the antecedent"),
            )
        elif not is_about_runs(commitment.consequent) and self._plain(condition) == self._plain(commitment.consequent):
            message = f"`{name}` is fulfilled by its own antecedent, so it is never active{late}"
            yield rules.NEVER_ACTIVE, message, Note("let the content be what the debtor does in return")
        elif commitment.expires is not None and self._plain(condition) == t.TRUE:
            message = f"`{name}` is never conditional, since its antecedent is true, so `expires` never runs"
            yield rules.IDLE_DEADLINE, message, Note("`within` limits how long it is active; leave `expires` out")

    def _trivial(self, commitment: model.Commitment) -> Iterator[Finding]:
        name, content = commitment.name, commitment.consequent
        if is_about_runs(content):
            from cplc.semantics.run_contents import compiled

            if compiled(content, self._model).monitor.decided[0] is True:
                message = f"The content of `{name}` holds on every run"
                yield (
                    rules.TRIVIAL_CONTENT,
                    message,
                    Note("promise something that the debtor is to do, or is not to do"),
                )
        elif not isinstance(content, t.Const) and self._initial_value(content) is True:
            message = f"The content of `{name}` holds initially, so `{name}` is fulfilled when it is created"
            yield rules.TRIVIAL_CONTENT, message, Note("`G p` promises that p holds forever, as in `G !leak`")

    def _foreign(self, commitment: model.Commitment) -> Iterator[Finding]:
        """Report a consequent that only messages of other roles can make true."""
        if commitment.name in self._handed_over or self._plain(commitment.antecedent) == self._plain(
            commitment.consequent
        ):
            return
        helping = [atom for atom, helps in self._atoms(commitment.consequent) if helps]
        hindering = [atom for atom, helps in self._atoms(commitment.consequent) if not helps]
        messages = {name for atom in helping for name in _messages(atom)}
        unclear = any(isinstance(atom, t.Var | t.InState) for atom in (*helping, *hindering))
        if hindering or unclear or not messages:
            return
        senders = {self._model.message[name].sender for name in messages}
        if not any(self._contributes(commitment, name) for name in messages):
            who = " or ".join(f"`{sender}`" for sender in sorted(senders))
            message = (
                f"Only {who} can make the content of `{commitment.name}` true, not its debtor `{commitment.debtor}`"
            )
            yield rules.FOREIGN_CONTENT, message, Note("let the debtor promise what it does itself, or delegate it")

    def _contributes(self, commitment: model.Commitment, name: str) -> bool:
        """Return whether the debtor sends the message or a predecessor that does not just create the commitment."""
        making = {before for made in self._creating.get(commitment.name, ()) for before in self._predecessors(made)}
        return any(
            self._model.message[one].sender in commitment.debtors for one in {name} | self._predecessors(name) - making
        )

    def _unseen(self, commitment: model.Commitment) -> Iterator[Finding]:
        """Report an antecedent that the debtor neither makes true nor observes."""
        if commitment.name in self._handed_over:
            return
        received = frozenset[str]().union(*map(self._received_by, members(commitment.debtor)))
        for atom, helps in self._atoms(commitment.antecedent):
            for name in _messages(atom):
                declared = self._model.message[name]
                if helps and not is_on(declared.roles, commitment.debtor) and name not in received:
                    message = f"`{commitment.debtor}` does not see `{name}`, which makes `{commitment.name}` active"
                    hint = Note(
                        f"send `{commitment.debtor}` a message about it, and use that message in the antecedent"
                    )
                    yield rules.UNSEEN_ANTECEDENT, message, hint
                    return

    def _received_by(self, role: str) -> frozenset[str]:
        """Return the messages that the role receives, and those that must come before one of them."""
        if role not in self._received:
            messages = self._received_messages.get(role, ())
            self._received[role] = frozenset[str]().union(*(self._predecessors(name) for name in messages))
        return self._received[role]

    # --- contents about runs

    def _stale(self, commitment: model.Commitment) -> Iterator[Finding]:
        """Report a message that violates the content by having been received, possibly before the activation."""
        starts = set(self._activating(commitment))
        for name in self._breaking(commitment):
            if starts.isdisjoint(self._predecessors(name) - {name}):
                message = f"`{name}` may be received before `{commitment.name}` is active, which violates it at once"
                hint = Note(f"write `does({name})`: it is true only of steps after the activation")
                yield rules.STALE_CONTENT, message, hint
                return

    def _activating(self, commitment: model.Commitment) -> Iterator[str]:
        """Yield the messages that alone may activate it."""
        for atom, helps in self._atoms(commitment.antecedent):
            if helps:
                yield from _messages(atom)
        if commitment.antecedent == t.TRUE or commitment.name in self._handed_over:
            yield from self._creating.get(commitment.name, ())

    def _breaking(self, commitment: model.Commitment) -> Iterator[str]:
        """Yield the messages whose receipt violates the content as a state condition."""
        for atom, helps in self._atoms(commitment.consequent):
            if not helps and isinstance(atom, t.Happened):
                yield atom.message

    def _sticky(self, commitment: model.Commitment) -> Iterator[Finding]:
        if commitment.name in self._suspended and (name := next(iter(self._breaking(commitment)), None)):
            message = f"`{name}`, received while `{commitment.name}` is suspended, violates it when it is reactivated"
            yield (
                rules.STICKY_CONTENT,
                message,
                Note(f"write `does({name})`: it does not count while the commitment is suspended"),
            )

    def _unobservable(self, commitment: model.Commitment) -> Iterator[Finding]:
        creditor = commitment.creditor
        for atom, helps in self._atoms(commitment.consequent):
            for name in _messages(atom):
                declared = self._model.message[name]
                if not helps and not is_on(declared.roles, creditor):
                    message = f"`{creditor}` does not see `{name}`, which violates `{commitment.name}`"
                    hint = Note(f"send `{creditor}` a message about the violation")
                    yield rules.UNOBSERVABLE_BREACH, message, hint
                    return

    def _seemingly_broken(self, name: str, viewer: str, content: Term) -> Iterator[Finding]:
        """Report a message that satisfies a violable content but is not observable to the viewer."""
        for atom, helps in self._atoms(content):
            for message in _messages(atom):
                declared = self._model.message[message]
                if helps and viewer not in declared.roles:
                    explanation = (
                        f"`{viewer}` does not see `{message}`, "
                        f"so `{name}` may seem violated to `{viewer}` although it is not"
                    )
                    hint = Note(f"send `{viewer}` a message about it, and use that message in place of `{message}`")
                    yield rules.SEEMING_BREACH, explanation, hint
                    return

    def _is_breakable(self, content: Term) -> bool:
        """Return whether the content is about runs and its monitor can reach the verdict false."""
        from cplc.semantics.run_contents import compiled

        return is_about_runs(content) and False in compiled(content, self._model).monitor.decided

    # --- terms

    def _plain(self, term: Term) -> Term:
        return self._plain(self._model.fact[term.fact].meaning) if isinstance(term, t.FactRef) else term

    def _atoms(self, term: Term) -> Iterator[tuple[Term, bool]]:
        return t.signed_atoms(term, self._model.meanings)

    def _initial_value(self, term: Term) -> bool | None:
        """Return the value of a condition in the initial states; None if unknown."""
        match term:
            case t.Const(bool() as value):
                return value
            case t.FactRef(fact):
                return self._initial_value(self._model.fact[fact].meaning)
            case t.Happened():
                return False
            case t.InState(_, states):
                return "null" in states
            case t.Apply("!", (operand,)):
                return kleene.negation(self._initial_value(operand))
            case t.Apply("&", operands):
                return kleene.conjunction(map(self._initial_value, operands))
            case t.Apply("|", operands):
                return kleene.disjunction(map(self._initial_value, operands))
            case t.Apply("->", (left, right)):
                return self._initial_value(t.Apply("|", (t.Apply("!", (left,)), right)))
            case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=", operands) if any(map(_has_payload, operands)):
                return False
            case _:
                return None

    def _predecessors(self, name: str) -> frozenset[str]:
        """Return the message and the messages that its guard requires before it, transitively."""
        if name not in self._needed:
            predecessors, pending = {name}, [name]
            while pending:
                guard = self._model.message[pending.pop()].guard
                fresh = set(self._demanded(guard)) - predecessors
                predecessors |= fresh
                pending += fresh
            self._needed[name] = frozenset(predecessors)
        return self._needed[name]

    def _demanded(self, guard: Term) -> Iterable[str]:
        match guard:
            case t.FactRef(fact):
                yield from self._demanded(self._model.fact[fact].meaning)
            case t.Apply("&", operands):
                for operand in operands:
                    yield from self._demanded(operand)
            case t.Apply("|", operands):
                yield from frozenset.intersection(*(frozenset(self._demanded(operand)) for operand in operands))
            case t.Happened(message):
                yield message
            case t.InState(commitment, states) if "null" not in states:
                yield from self._creating.get(commitment, ()) if len(self._creating.get(commitment, ())) == 1 else ()
            case _:
                pass


def _messages(atom: Term) -> Iterator[str]:
    match atom:
        case t.Happened(message) | t.Field(message, _) | t.Does("take", message):
            yield message
        case _:
            pass


def _has_payload(term: Term) -> bool:
    return any(isinstance(part, t.Field) for part in t.subterms(term))
