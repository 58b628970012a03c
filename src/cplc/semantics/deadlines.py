"""Instantiation of deadlines: a number of ticks, or a number that the creating message determines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note
from cplc.semantics import model, resolved
from cplc.semantics import terms as t
from cplc.semantics.instances import MAX_FAMILY_SIZE, InstanceTable
from cplc.semantics.instantiate_terms import Resolver
from cplc.syntax import ast


class DeadlineInstantiator:
    """Instantiates the deadlines of one `InstanceTable`."""

    def __init__(self, table: InstanceTable) -> None:
        self._table = table

    def ticks(
        self, tree: resolved.Tree | None, expr: ast.Expr | None, resolver: Resolver, symbol: resolved.CommitmentSymbol
    ) -> int | model.PayloadDeadline | None:
        """Return the ticks of a clause; the values of a deadline from a payload are not computed yet."""
        if tree is None or expr is None:
            return None
        if isinstance(tree, resolved.Payload | resolved.OwnParameter | resolved.Apply):
            term = resolver.operand(tree)
            if term is not None and not isinstance(term, t.Const):
                return model.PayloadDeadline(term, (1,), " ".join(expr.span.text.split()))
        ticks = resolver.number(tree)
        return ticks if ticks is None else self._valid_ticks(ticks, symbol)

    def _valid_ticks(self, ticks: int, symbol: resolved.CommitmentSymbol) -> int:
        """Return the largest number of ticks of a deadline, or 1 after an error."""
        if ticks < 1:
            self._table.report(rules.BAD_DEADLINE, symbol.span, f"`{symbol.name}` has a deadline of {ticks} ticks")
            return 1
        if ticks > MAX_FAMILY_SIZE:
            message = f"A deadline of {ticks:,} ticks is more than {MAX_FAMILY_SIZE:,}"
            self._table.report(rules.TOO_LARGE, symbol.span, message)
            return 1
        return ticks

    def computed(
        self, commitment: model.Commitment, creators: Sequence[tuple[model.Message, model.Operation]]
    ) -> model.Commitment:
        """Return the commitment with the values of the deadlines that its creating messages determine."""
        symbol = self._table.commitments[commitment.name].body.symbol
        for clause, deadline in commitment.payload_deadlines:
            values: set[int] = set()
            for message, operation in creators:
                values |= self._possible_ticks(commitment.name, deadline, message, operation)
            ordered = tuple(sorted(values)) or (1,)
            valid = self._valid_ticks(ordered[-1], symbol)
            ordered = ordered if valid == ordered[-1] else (valid,)
            timed = model.PayloadDeadline(t.with_own_fields(deadline.value), ordered, deadline.text)
            within = timed if clause == "within" else commitment.within
            expires = timed if clause == "expires" else commitment.expires
            commitment = replace(commitment, within=within, expires=expires)
        return commitment

    def _possible_ticks(
        self, name: str, deadline: model.PayloadDeadline, message: model.Message, operation: model.Operation
    ) -> set[int]:
        """Return the values of the deadline of a commitment that this message creates; none after an error."""
        domains = {parameter.name: parameter.domain for parameter in message.parameters}
        parameters: dict[str, None] = {}
        how = "creates" if operation.verb == "create" else f"makes `{operation.verb}` to"
        for part in t.atoms(deadline.value):
            if isinstance(part, t.Field) and part.message != message.name:
                text = f"`{message.name}` {how} `{name}`, whose deadline is a field of `{part.message}`"
                hint = Note(f"give `{message.name}` a field `{part.parameter}`, and write the bare `{part.parameter}`")
            elif not isinstance(part, t.Field | t.Own):
                continue
            elif part.parameter not in domains:
                text = f"`{message.name}` {how} `{name}`, whose deadline needs a field `{part.parameter}`"
                hint = Note(f"give the message this field: `{message.name}({part.parameter}: 1..9)`")
            elif not all(type(value) is int for value in domains[part.parameter]):
                text = f"`{message.name}` {how} `{name}`, whose deadline `{part.parameter}` is no number there"
                hint = Note("a deadline is a number of ticks")
            else:
                parameters[part.parameter] = None
                continue
            self._table.problems.report(rules.BAD_DEADLINE, operation.span, text, hint)
            return set()
        choices = product(*(domains[parameter] for parameter in parameters))
        own = (dict(zip(parameters, map(int, chosen), strict=True)) for chosen in choices)
        return {t.number_of(deadline.value, values) for values in own}
