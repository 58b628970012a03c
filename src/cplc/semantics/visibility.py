"""Checks of visibility: guards and assignments can read only the local state of one agent."""

from __future__ import annotations

from collections.abc import Iterable

from cplc.diagnostics import rules
from cplc.diagnostics.core import Edit, Fix, Note
from cplc.semantics import terms as t
from cplc.semantics.instances import InstanceTable
from cplc.semantics.terms import Term
from cplc.source import Span


def observers(table: InstanceTable, atom: Term) -> tuple[str, ...]:
    """Return the agents whose local state decides an atom that is no fact."""
    match atom:
        case t.Happened(message) | t.Field(message, _):
            return table.parties[message].roles
        case t.Sent(message):
            return (table.parties[message].first,)
        case t.Var(variable):
            return (table.variables[variable].role,)
        case t.InState(commitment, _, view) | t.Stands(commitment, _, view):
            return (view,) if view else table.parties[commitment].roles
        case t.Age(commitment):
            return table.parties[commitment].roles
        case _:
            return ()


class VisibilityCheck:
    """Reports the atoms in an agent's conditions that it does not observe; facts are expanded."""

    def __init__(self, table: InstanceTable, agent: str, doing: str, roles: tuple[str, ...] = ()) -> None:
        """Check the view of one agent, or of a participant who plays these ``roles``."""
        self._table = table
        self._agent = agent
        self._roles = roles or (agent,)
        self._doing = doing

    def __call__(self, term: Term, span: Span) -> None:
        atoms = self._table.fact_atoms.get(term.fact, frozenset()) if isinstance(term, t.FactRef) else {term}
        unseen = [atom for atom in atoms if not any(role in observers(self._table, atom) for role in self._roles)]
        if unseen:
            # sets are unordered: sorting makes the report deterministic
            atom = min(unseen, key=described)
            self._report(atom, term, span)

    def _report(self, atom: Term, written: Term, span: Span) -> None:
        seers = observers(self._table, atom)
        who = f"only {_listed(seers)} can" if seers else "no role can"
        through = f", which `{written.fact}` mentions" if isinstance(written, t.FactRef) else ""
        message = f"`{self._agent}`, who {self._doing}, cannot see {described(atom)}{through}: {who}"
        notes: list[Note] = []
        if isinstance(written, t.FactRef):
            notes.append(Note("the fact is declared here", self._table.facts[written.fact].body.symbol.span))
        informing = self._informing_message(seers)
        if informing is not None:
            who = self._table.parties[informing].first
            what = "send the value" if isinstance(atom, t.Field | t.Var) else "tell it"
            notes.append(Note(f"`{who}` can {what}: wait for `{informing}`, or for a message sent after it"))
            family = informing.partition("[")[0]
            fix = Fix(f"Wait for `{family}`", (Edit(span, family),))
            self._table.problems.report(rules.UNSEEN, span, message, *notes, fixes=(fix,))
        elif seers:
            sender, receiver = seers[0], self._roles[0]
            what = "sends the value" if isinstance(atom, t.Field | t.Var) else "tells it"
            notes.append(Note(f"declare a message that {what}: `{sender} -> {receiver} : …`"))
            arguments = ("sender", sender), ("receiver", receiver)
            self._table.problems.report(rules.UNSEEN, span, message, *notes, arguments=arguments)
        else:
            self._table.problems.report(rules.UNSEEN, span, message, *notes)

    def _informing_message(self, seers: tuple[str, ...]) -> str | None:
        """Return a message to the agent from one that observes the value."""
        for name, parties in self._table.parties.items():
            is_told = any(role in self._roles for role in parties.receivers)
            if name in self._table.messages and parties.first in seers and is_told:
                return name
        return None


def described(atom: Term) -> str:
    match atom:
        case t.Happened(message):
            return f"`{message}`"
        case t.Sent(message):
            return f"`sent({message})`"
        case t.InFlight(message):
            return f"`inflight({message})`"
        case t.Field(message, parameter):
            return f"`{message}.{parameter}`"
        case t.Var(variable):
            return f"`{variable}`"
        case t.InState(commitment, _, view):
            return f"the state of `{commitment}`" + (f" as `{view}` sees it" if view else "")
        case t.Age(commitment):
            return f"the age of `{commitment}`"
        case t.Stands(commitment, _, view):
            return f"the standing of `{commitment}`" + (f" as `{view}` sees it" if view else "")
        case _:
            return "whether anything is possible at all"


def _listed(names: Iterable[str]) -> str:
    *most, last = (f"`{name}`" for name in names)
    return f"{', '.join(most)} and {last}" if most else last
