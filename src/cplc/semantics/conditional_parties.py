"""The parties of conditional-commitment modalities: two roles, or those of one commitment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, Rule
from cplc.semantics import resolved
from cplc.semantics import terms as t
from cplc.semantics.instances import Parties
from cplc.semantics.terms import FALSE, Term
from cplc.source import Span

if TYPE_CHECKING:
    from cplc.semantics.instantiate_terms import Resolver

MAX_LISTED_COMMITMENTS = 6
"""Commitments that a diagnostic lists."""
MAX_OFFERS = 6
"""Commitments offered at once by one role to another; the semantics considers every subset."""


class ConditionalParties:
    """Resolves the parties of conditional-commitment modalities in one instance of a declaration."""

    def __init__(self, resolver: Resolver, notes: tuple[Note, ...]) -> None:
        self._resolver = resolver
        self._table = resolver.table
        self._notes = notes

    def conditional(self, tree: resolved.Conditional, antecedent: Term, consequent: Term) -> Term:
        """Return the modality between instances of roles or commitments, and report errors."""
        between = self._between(tree.between, tree.span)
        if between is None:
            return FALSE
        if tree.other is None:
            return t.Conditional(tree.modality, between, None, antecedent, consequent)
        other = self._handed_over(tree, between)
        return FALSE if other is None else t.Conditional(tree.modality, between, other, antecedent, consequent)

    def _between(
        self, parties: tuple[resolved.RoleTree, resolved.RoleTree] | resolved.Instance, span: Span
    ) -> t.Between | None:
        if isinstance(parties, resolved.Instance):
            name = self._resolver.instance(parties)
            if name is None:
                return None
            ends = self._table.parties[name]
            return t.Between(ends.first, ends.second, name)
        debtor, creditor = map(self._resolver.role, parties)
        return None if debtor is None or creditor is None else self._pair(debtor.name, creditor.name, span)

    def _pair(self, debtor: str, creditor: str, span: Span) -> t.Between | None:
        if debtor == creditor:
            self._report(rules.SAME_ROLE, span, f"`{debtor}` cannot be committed to itself")
            return None
        if not self._table.promises(debtor, creditor):
            self.nothing_promised(debtor, creditor, span)
            return None
        pair = Parties(debtor, creditor)
        offered = [
            name
            for name, pending in self._table.commitments.items()
            if self._table.parties[name] == pair and pending.body.antecedent != resolved.TRUE
        ]
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
