"""Checks of operations: permitted and empowered roles, targets, and roles that do not observe the change."""

from __future__ import annotations

from collections.abc import Iterable

from cplc.diagnostics import rules
from cplc.diagnostics.core import Edit, Fix, Note
from cplc.language.groups import is_on, members
from cplc.language.lifecycle import CLAIM, COMMITMENT, GRANTABLE, OPERATIONS, PARTIES, permitted_parties
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.instances import InstanceTable
from cplc.source import Span


def check_operations(table: InstanceTable, checked: model.CheckedModel) -> None:
    powers = {(power.role, power.verb, power.commitment) for power in checked.powers}
    for message in checked.messages:
        _check_ages(table, message)
        for operation in message.operations:
            is_empowered = (message.sender, operation.verb, operation.commitment) in powers
            if is_empowered or _is_permitted(table, message, operation):
                _check_target(table, message, operation)
                _check_informed(table, message, operation)


def _check_ages(table: InstanceTable, message: model.Message) -> None:
    """Report ages in assignments, and ages that a guard does not compare with a number."""
    loose = [term for update in (*message.updates, *message.receipt) for term in _ages(update.value)]
    loose += _uncompared_ages(message.guard)
    if loose:
        name = loose[0].commitment
        text = f"`age({name})` is not compared with a number"
        hint = Note("compare it in a guard, as in `age(c) < 3`, with a number that is known before the protocol runs")
        limit = Note(
            f"a limit that a message brings is a deadline: give `{name}` one, `expires m.days`, and ask "
            f"`expired({name})`"
        )
        is_compared = loose[0] in _uncompared_ages(message.guard) and name in table.commitments
        span = _age_span(table, message, name)
        table.problems.report(rules.NOT_CONSTANT, span, text, hint, *((limit,) if is_compared else ()))


def _age_span(table: InstanceTable, message: model.Message, subject: str) -> Span:
    """Return the place of an age in the clauses of a message; its name if there are several."""
    body = table.messages[message.name].body
    family = subject.partition("[")[0].rpartition(".")[2]
    ages = {
        node.span
        for node in resolved.nodes((body.guards, body.updates, body.receipt))
        if isinstance(node, resolved.AgeOf) and node.commitment.symbol.name == family
    }
    return ages.pop() if len(ages) == 1 else message.span


def _ages(term: t.Term) -> list[t.Age]:
    return [part for part in t.subterms(term) if isinstance(part, t.Age)]


def _uncompared_ages(guard: t.Term) -> list[t.Age]:
    match guard:
        case t.Apply("=" | "!=" | "<" | "<=" | ">" | ">=", (t.Age(), t.Const()) | (t.Const(), t.Age())):
            return []
        case t.Apply(_, operands):
            return [age for operand in operands for age in _uncompared_ages(operand)]
        case _:
            return _ages(guard)


def _is_permitted(table: InstanceTable, message: model.Message, operation: model.Operation) -> bool:
    permitted = _permitted(table, operation.verb, operation.commitment)
    if any(message.sender in members(side) for side in permitted.values()):
        return True
    kind = CLAIM if operation.commitment in table.claims else COMMITMENT
    by = " or ".join(f"its {title} `{role}`" for title, role in permitted.items())
    text = f"Only {by} can `{operation.verb} {operation.commitment}`, but `{message.sender}` sends `{message.name}`"
    notes = _ways_on(table, message, operation.commitment, kind, next(iter(permitted.values())))
    declared = Note(f"the {kind}", _declared(table, operation.commitment))
    fixes: list[Fix] = []
    if kind == COMMITMENT and operation.verb in GRANTABLE and message.sender not in table.parties[operation.commitment]:
        node = table.messages[message.name].body.symbol.node
        power = f"empower {node.sender.span.text} to {operation.span.text.partition(' to ')[0].strip()}"
        power = power.removesuffix("retaining").strip()
        notes = [*notes, Note(f"or give it the power: `{power}`")]
        start = Span(node.span.source, node.span.start, node.span.start)
        fixes.append(Fix(f"Declare `{power}`", (Edit(start, f"{power}\n{_indentation(node.span)}"),)))
    table.problems.report(rules.FOREIGN_OPERATION, operation.span, text, *notes, declared, fixes=fixes)
    return False


def _permitted(table: InstanceTable, verb: str, name: str) -> dict[str, str]:
    """Return the side that may perform an operation without further powers, by its title: each member of it may."""
    parties = table.parties[name]
    kind = CLAIM if name in table.claims else COMMITMENT
    return {
        title: (parties.first, parties.second)[PARTIES[kind].index(title)] for title in permitted_parties(verb, kind)
    }


def _indentation(span: Span) -> str:
    """Return the blanks before the first line of a declaration."""
    line = span.source.text[: span.start].rpartition("\n")[2]
    return line[: len(line) - len(line.lstrip())]


def report_idle_powers(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Warn of powers that a role has without them, and of powers that no message uses.

    The warning needs to hold for every instance of the declaration.
    """
    performed = {
        (message.sender, operation.verb, operation.commitment)
        for message in checked.messages
        for operation in message.operations
    }
    own, used, spans = set[Span](), set[Span](), dict[Span, model.Power]()
    for power in checked.powers:
        spans.setdefault(power.span, power)
        if not any(power.role in members(side) for side in _permitted(table, power.verb, power.commitment).values()):
            own.add(power.span)
        if (power.role, power.verb, power.commitment) in performed:
            used.add(power.span)
    for span, power in spans.items():
        what = f"{power.verb} {power.commitment}"
        if span not in own:
            permitted = _permitted(table, power.verb, power.commitment)
            title = next(title for title, side in permitted.items() if power.role in members(side))
            text = f"`{power.role}` may `{what}` without a power: it is the {title}"
            table.report(rules.IDLE_POWER, span, text)
        elif span not in used:
            table.report(rules.IDLE_POWER, span, f"No message of `{power.role}` means `{what}`")


def _ways_on(table: InstanceTable, message: model.Message, name: str, kind: str, permitted: str) -> Iterable[Note]:
    """Yield which role could perform a foreign operation, and which operations the sender could perform instead."""
    parties = table.parties[name]
    yield Note(f"let a message of `{permitted}` mean this")
    if message.sender in parties:
        title = PARTIES[kind][message.sender in members(parties.second)]
        verbs = dict.fromkeys(row.verb for row in OPERATIONS if row.of == kind and row.by != "rule")
        own = [verb for verb in verbs if title in permitted_parties(verb, kind)]
        yield Note(f"as its {title}, `{message.sender}` can {', '.join(f'`{verb}`' for verb in own)} `{name}`")


def _declared(table: InstanceTable, name: str) -> Span:
    return (table.commitments.get(name) or table.claims[name]).body.symbol.span


def _check_target(table: InstanceTable, message: model.Message, operation: model.Operation) -> None:
    """Report a target with wrong parties: a delegation changes only the debtor, an assignment only the creditor, and an
    argument uses a claim of its maker."""
    if operation.target is None:
        return
    if operation.commitment in table.claims:
        wrong = _wrong_argument(table, message, operation.commitment, operation.target)
        text = f"`{operation.target}` is no argument about `{operation.commitment}`: {wrong}"
    else:
        wrong = _wrong_successor(table, operation, operation.target)
        text = f"`{operation.commitment}` cannot be handed over to `{operation.target}`: {wrong}"
    if wrong is not None:
        note = Note("the target", _declared(table, operation.target))
        table.problems.report(rules.WRONG_TARGET, operation.span, text, note)


def _wrong_argument(table: InstanceTable, message: model.Message, name: str, target: str) -> str | None:
    old, new = table.parties[name], table.parties[target]
    if target == name:
        return "a claim cannot be argued with itself"
    if new.first != message.sender:
        return f"its maker is `{new.first}`, and `{message.sender}` argues"
    if new.second not in old:
        return f"its addressee is `{new.second}`, and `{name}` is between `{old.first}` and `{old.second}`"
    return None


def _wrong_successor(table: InstanceTable, operation: model.Operation, target: str) -> str | None:
    old, new = table.parties[operation.commitment], table.parties[target]
    match operation.verb:
        case _ if target == operation.commitment:
            return "a commitment cannot be handed over to itself"
        case "delegate" if new.second != old.second:
            return f"its creditor is `{new.second}`, not `{old.second}`"
        case "delegate" if new.first == old.first:
            return f"its debtor is `{old.first}` as well"
        case "assign" if new.first != old.first:
            return f"its debtor is `{new.first}`, not `{old.first}`"
        case "assign" if new.second == old.second:
            return f"its creditor is `{old.second}` as well"
        case _:
            return None


def _check_informed(table: InstanceTable, message: model.Message, operation: model.Operation) -> None:
    parties = table.parties[operation.commitment]
    untold = [role for role in parties.roles if role not in message.roles]
    for role in untold:
        text = f"`{role}` is not told that `{message.name}` changes `{operation.commitment}`"
        hint = Note(f"let a message from `{message.sender}` to `{role}` mean this")
        table.problems.report(rules.UNTOLD_COUNTERPARTY, operation.span, text, hint)


def check_commitments(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Warn of commitments and claims that no message creates, or whose creditor is in none of their messages.

    The warning needs to hold for every instance: at the borders of a family it is often intended.
    """
    created: set[str] = set()
    informed = {c.name for c in checked.commitments if _creditor_takes_part(table, c)}
    for message in checked.messages:
        for operation in message.operations:
            if operation.verb == "create":
                created.add(operation.commitment)
            if operation.target is not None:
                created.add(operation.target)
            for name in (operation.commitment, operation.target):
                if name is not None and is_on(message.roles, table.parties[name].second):
                    informed.add(name)
    fine = {c.span for c in checked.commitments if c.name in created and c.name in informed}
    once_created = {c.span for c in checked.commitments if c.name in created}
    for commitment in checked.commitments:
        if commitment.span in fine:
            continue
        if commitment.span not in once_created:
            later = {atom.message for atom in t.atoms(commitment.consequent) if isinstance(atom, t.Happened)}
            hint = _creating(table, commitment.name, commitment.debtor, commitment.creditor, later)
            table.problems.report(rules.NEVER_CREATED, commitment.span, f"No message creates `{commitment.name}`", hint)
        elif commitment.name in created:
            text = f"`{commitment.creditor}` sends and receives no message about `{commitment.name}`"
            hint = Note(f"let a message from `{commitment.debtor}` to `{commitment.creditor}` create it")
            table.problems.report(rules.UNTOLD_CREDITOR, commitment.span, text, hint)
    _report_refused(table, checked)
    made = {claim.span for claim in checked.claims if claim.name in created}
    for claim in checked.claims:
        if claim.span not in made:
            hint = _creating(table, claim.name, claim.maker, claim.addressee)
            table.problems.report(rules.NEVER_CREATED, claim.span, f"No message creates `{claim.name}`", hint)


def _creating(table: InstanceTable, name: str, debtor: str, creditor: str, later: Iterable[str] = ()) -> Note:
    """Return the advice to create a commitment or claim by a message of its first party to its second one.

    The messages that keep the promise come ``later``.
    """
    messages = [
        message
        for message in table.messages
        if table.parties[message].first in members(debtor)
        and set(table.parties[message].receivers)
        >= {*members(debtor), *members(creditor)} - {table.parties[message].first}
        and message not in later
    ]
    example = f", for example by `{messages[0]}`" if messages else ""
    return Note(
        f"`{debtor}` makes it by a message to `{creditor}`{example}: add `means create {name.partition('[')[0]}`"
    )


def _report_refused(table: InstanceTable, checked: model.CheckedModel) -> None:
    """Warn of commitments that can be refused but neither released nor withdrawn.

    The warning needs to hold for every instance, and is given once.
    """
    verbs: dict[str, set[str]] = {}
    for message in checked.messages:
        for operation in message.operations:
            verbs.setdefault(operation.commitment, set()).add(operation.verb)
    given_up = {c.span for c in checked.commitments if {"release", "withdraw"} & verbs.get(c.name, set())}
    for commitment in checked.commitments:
        if "refuse" in verbs.get(commitment.name, ()) and commitment.span not in given_up:
            text = f"`{commitment.name}` stays in force after a refusal: no message releases or withdraws it"
            hint = Note("a refusal does not end it: add a message that means `release` or `withdraw`")
            table.problems.report(rules.REFUSED_BUT_OWED, commitment.span, text, hint)
            given_up.add(commitment.span)


def _creditor_takes_part(table: InstanceTable, commitment: model.Commitment) -> bool:
    """Return whether the creditor sends or receives a message in the conditions of the commitment."""
    for atom in (*t.atoms(commitment.antecedent), *t.atoms(commitment.consequent)):
        for inner in table.fact_atoms.get(atom.fact, ()) if isinstance(atom, t.FactRef) else (atom,):
            if isinstance(inner, t.Happened | t.Field) and is_on(
                table.parties[inner.message].roles, commitment.creditor
            ):
                return True
    return False
