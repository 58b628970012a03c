"""Hints for names that are not declared, or are used as another kind: the closest fitting name, and the right form."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final, Literal

from cplc.diagnostics.core import Edit, Fix, Note, did_you_mean, suggestion
from cplc.language.lifecycle import CLAIM_PREDICATES, COMMITMENT_PREDICATES, STANDINGS
from cplc.language.words import EVENTS
from cplc.semantics import resolved
from cplc.source import Span
from cplc.syntax import ast

Place = Literal[
    "role", "message", "message or role", "commitment", "claim", "commitment or claim", "agent", "family", "condition",
    "variable",
]  # fmt: skip
"""The kind of name that fits a place."""

_KINDS: Final[dict[Place, tuple[type, ...]]] = {
    "role": (resolved.RoleSymbol,),
    "message": (resolved.MessageSymbol,),
    "message or role": (resolved.MessageSymbol, resolved.RoleSymbol),
    "commitment": (resolved.CommitmentSymbol,),
    "claim": (resolved.ClaimSymbol,),
    "commitment or claim": (resolved.CommitmentSymbol, resolved.ClaimSymbol),
    "agent": (resolved.AgentSymbol,),
    "family": (resolved.RoleSymbol,),
    "condition": (resolved.MessageSymbol, resolved.FactSymbol),
    "variable": (),
}
_NOT_IN_NAMES: Final = re.compile(r"\W+")
_NAMED_ARGUMENT: Final = re.compile(r"\s*(\w+)\s*=+\s*(.+?)\s*")
_PLURALS: Final[dict[Place, str]] = {
    "role": "roles", "agent": "agents", "commitment": "commitments", "claim": "claims",
    "commitment or claim": "commitments and claims", "family": "roles",
}  # fmt: skip
"""The kinds of which a report lists all names, where none resembles what is written."""
_MAX_NAMED: Final = 8
_HOLDERS: Final = (resolved.RoleSymbol, resolved.MessageSymbol, resolved.PartSymbol)
"""Kinds that a dotted name can begin with."""


def closest_name(
    written: str, place: Place, names: Iterable[str], signature: resolved.Signature | None, *, is_dotted: bool
) -> tuple[Note, ...]:
    """Return the hint with the closest name that fits the place; one of another kind only if it is hardly mistyped."""
    visible = list(names)
    symbols = signature.symbols if signature is not None else {}
    kinds = _HOLDERS if is_dotted else _KINDS[place]

    def fits(name: str) -> bool:
        symbol = symbols.get(name)
        return symbol is None or isinstance(symbol, kinds)

    hints = did_you_mean(written, filter(fits, visible))
    if hints or place == "variable":
        return hints
    hints = did_you_mean(written, (name for name in visible if not fits(name)))
    is_sure = any(
        one.certainty == "certain" or one.text.lower() == written.lower() for n in hints for one in n.replacements
    )
    return hints if is_sure else ()


def messages_with_field(field: str, signature: resolved.Signature | None) -> list[str]:
    """Return the messages that have a field of this name."""
    symbols = () if signature is None else signature.symbols.values()
    return [one.name for one in symbols if isinstance(one, resolved.MessageSymbol) and field in one.parameters]


def names_of_place(place: Place, signature: resolved.Signature | None) -> str | None:
    """Return the names that fit a place, if they are few."""
    if signature is None or place not in _PLURALS:
        return None
    names = [name for name, symbol in signature.symbols.items() if isinstance(symbol, _KINDS[place])]
    if not names:
        return f"there are no {_PLURALS[place]} here"
    return f"the {_PLURALS[place]} here: {listed(names)}" if len(names) <= _MAX_NAMED else None


def listed(names: Iterable[str]) -> str:
    """Return names in backquotes, separated by commas."""
    return ", ".join(f"`{name}`" for name in names)


def owners_of_variable(name: str, signature: resolved.Signature | None) -> list[resolved.RoleSymbol]:
    """Return the roles that declare a variable of this name."""
    return [] if signature is None else [role for role in signature.roles if name in role.variables]


def variable_elsewhere(
    name: str, owners: list[resolved.RoleSymbol], actor: resolved.RoleSymbol | None, place: Place
) -> tuple[str, tuple[Note, ...]]:
    """Return the message on an unqualified variable of other roles, and its notes."""
    whose = " and ".join(f"`{role.name}`" for role in owners)
    is_variable = f"`{name}` is a variable of {whose}"
    owner = owners[0]
    if actor is None:
        qualified = f"{owner.name}[1].{name}" if owner.is_family else f"{owner.name}.{name}"
        return f"{is_variable}: say so", (suggestion(f"write `{qualified}`", qualified),)
    if place == "variable":
        note = Note(
            f"`{owner.name}` sets it with `set` in a message that it sends, `on receipt` in one that it receives"
        )
        return f"{is_variable}, and `{actor.name}` cannot set it", (note,)
    note = Note(f"let `{owner.name}` send its value to `{actor.name}`, as a parameter of a message")
    return f"{is_variable}, and `{actor.name}` does not see it", (note,)


def predicate_form(symbol: resolved.Symbol, ref: ast.Ref | Span, member: str) -> str | None:
    """Return `fulfilled(c)` for `c.fulfilled`; None if the member is no predicate of such a name."""
    whole = ref.text if isinstance(ref, Span) else ref.span.text
    match symbol:
        case resolved.CommitmentSymbol():
            predicates: Iterable[str] = (*COMMITMENT_PREDICATES, *STANDINGS)
        case resolved.ClaimSymbol():
            predicates = (*CLAIM_PREDICATES, *STANDINGS)
        case resolved.MessageSymbol():
            predicates = EVENTS
        case _:
            return None
    subject = whole.rpartition(".")[0].strip()
    return f"{member}({subject})" if member in predicates and subject else None


def applied_name(call: ast.Call, signature: resolved.Signature) -> tuple[resolved.Indexed, str] | None:
    """Return what was meant by a call of a name that is no macro, and its form: `pay[1]` for `Pay(Cus[1])`."""
    written = call.name.text
    symbol = signature.symbols.get(written) or next(
        (one for name, one in signature.symbols.items() if name.lower() == written.lower()), None
    )
    if not isinstance(
        symbol, resolved.MessageSymbol | resolved.FactSymbol | resolved.CommitmentSymbol | resolved.ClaimSymbol
    ):
        return None
    return symbol, _instance_form(symbol, call, signature)


def _field_values(message: resolved.MessageSymbol, call: ast.Call) -> list[str]:
    """Return `rule.days = 3` for each argument `3` or `days = 3`; nothing if some have no name and some are missing."""
    named = [_NAMED_ARGUMENT.fullmatch(argument.span.text) for argument in call.arguments]
    pairs = [(one[1], one[2]) if one is not None and one[1] in message.parameters else None for one in named]
    if None in pairs and len(pairs) != len(message.parameters):
        return []
    places = zip(pairs, message.parameters, call.arguments, strict=False)
    values = [pair or (name, argument.span.text) for pair, name, argument in places]
    return [f"{message.name}.{name} = {value}" for name, value in values]


def _instance_form(symbol: resolved.Indexed, call: ast.Call, signature: resolved.Signature) -> str:
    def predicate(subject: str) -> str:
        is_promise = isinstance(symbol, resolved.CommitmentSymbol)
        return f"active({subject})" if is_promise else subject

    if not symbol.chain:
        if isinstance(symbol, resolved.MessageSymbol) and call.arguments and (fields := _field_values(symbol, call)):
            return f"({' & '.join(fields)})"
        return predicate(symbol.name)
    indices: list[str] = []
    quantifiers: list[str] = []
    arguments = [*call.arguments, *[None] * len(symbol.chain)]
    for binder, argument in zip(symbol.chain, arguments, strict=False):
        text = "" if argument is None else argument.span.text
        declared = signature.symbols.get(text.partition("[")[0].strip())
        if isinstance(declared, resolved.RoleSymbol) and "[" in text:
            indices.append(text.partition("[")[2].rpartition("]")[0])
        elif argument is None or isinstance(declared, resolved.RoleSymbol):
            domain = binder.domain.role.name if isinstance(binder.domain, resolved.FamilyDomain) else None
            indices.append(binder.name)
            if domain is not None:
                quantifiers.append(f"forall {binder.name} in {domain}: ")
        else:
            indices.append(text)
    form = "".join(quantifiers) + predicate(f"{symbol.name}[{', '.join(indices)}]")
    return f"({form})" if quantifiers else form


def successor_hint(
    subject: resolved.CommitmentSymbol, operation: ast.Operation, role: ast.Ref, signature: resolved.Signature
) -> tuple[tuple[Note, ...], tuple[Fix, ...]]:
    """Return the way to hand a commitment over to a role: a commitment of that role, declared already or to be."""
    verb, party = operation.verb.text, _plain(role.span)
    node = subject.node
    debtor, creditor = (party, _plain(node.creditor.span)) if verb == "delegate" else (_plain(node.debtor.span), party)
    if debtor == creditor:
        third = "debtor" if verb == "delegate" else "creditor"
        return (Note(f"a commitment with another {third} takes over, and `{party}` is its other party"),), ()
    declared = [
        symbol.name
        for symbol in signature.symbols.values()
        if isinstance(symbol, resolved.CommitmentSymbol)
        and (_plain(symbol.node.debtor.span), _plain(symbol.node.creditor.span)) == (debtor, creditor)
        and symbol.chain == subject.chain
    ]
    if declared:
        names = " or ".join(f"`{name}`" for name in declared)
        return (suggestion(f"a commitment takes over: write {names}", *declared),), ()
    name = f"{subject.name}_{_NOT_IN_NAMES.sub('_', party).strip('_').lower()}"
    conditions = f"{node.antecedent.span.text}, {node.consequent.span.text}"
    declaration = f"commitment {name} = C({debtor}, {creditor}, {conditions})"
    source = node.span.source
    line, column = node.span.position
    indent = source.line(line)[: column - 1]
    after = node.span.end
    edits = (
        Edit(Span(source, after, after), f"\n{indent if not indent.strip() else ''}{declaration}"),
        Edit(role.span, name),
    )
    note = Note(f"a commitment takes over: declare `{declaration}`, and write `{name}`")
    return (note,), (Fix(f"Declare `{name}` and hand over to it", edits),)


def _plain(span: Span) -> str:
    return re.sub(r"\s+", "", span.text)
