"""Conditions of fairness that contradict themselves: no values of their variables satisfy them.

Reachability has no part in this. What holds in some combination of values may still hold in no reachable state, or in
none that a run comes by again and again: `cplc verify` determines that (`cplc.checking.realizability`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value, reads
from cplc.lowering.expressions import Reading, condition
from cplc.lowering.lower import declared
from cplc.semantics.model import CheckedModel
from cplc.source import Span
from cplc.system.satisfying_assignments import independent, satisfying_assignments

MAX_ASSIGNMENTS = 1 << 14
"""Conjuncts over variables with more combinations of values than this are left to `cplc verify`."""

_TERMINAL = "terminal"


def contradictory_fairness(model: CheckedModel) -> Iterator[Diagnostic]:
    """Yield a warning for each condition of fairness of a model that contradicts itself."""
    if not model.fairness:
        return
    _, _, variables = declared(model)
    # Whether a state is terminal takes all steps to say; here it may or may not be.
    reading = Reading(model, terminal=e.Read(_TERMINAL))
    domains = {name: variable.domain for name, variable in variables.items()} | {_TERMINAL: (False, True)}
    for one in model.fairness:
        if is_contradictory(domains, condition(one.condition, reading)):
            yield unmeetable(one.span)


def unmeetable(span: Span) -> Diagnostic:
    """Return the warning for a condition of fairness that stands there."""
    message = "This condition of fairness holds in no state, so no run is fair"
    hint = Note("every question about runs is answered by `unknown`: leave the condition out, or correct it")
    return rules.UNMEETABLE_FAIRNESS.at(span, message, hint)


def is_contradictory(domains: Mapping[str, Sequence[Value]], said: Expr) -> bool:
    """Whether some conjuncts of the condition hold under no values, as far as these can be gone through."""
    if e.is_false(said):
        return True
    inside = {name: domains[name] for name in sorted(reads(said))}
    for names, part in independent(inside, said):
        if prod(len(domains[name]) for name in names) <= MAX_ASSIGNMENTS:
            among = {name: domains[name] for name in names}
            if next(satisfying_assignments(among, part), None) is None:
                return True
    return False
