"""Unsatisfiable fairness conditions: no values of their variables satisfy them.

This ignores reachability. A satisfiable condition may still hold in no reachable state, or only finitely often on every
run: `cplc verify` determines that (`cplc.checking.realizability`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note
from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, Value, reads
from cplc.lowering.expressions import Interpretation, condition
from cplc.lowering.lower import lifecycles_and_variables
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Does
from cplc.source import Span
from cplc.system.satisfying_assignments import independent_groups, satisfying_assignments

MAX_ASSIGNMENTS = 1 << 14
"""Combinations of values above which a conjunct is left to `cplc verify`."""

_TERMINAL = "terminal"


def contradictory_fairness(model: CheckedModel) -> Iterator[Diagnostic]:
    """Yield a warning for each unsatisfiable fairness condition of a model."""
    if not model.fairness:
        return
    _, _, variables = lifecycles_and_variables(model)
    # `terminal` depends on all steps, so it is an unconstrained variable here.
    interpretation = Interpretation(model, terminal=e.Read(_TERMINAL))
    domains = {name: variable.domain for name, variable in variables.items()} | {_TERMINAL: (False, True)}
    for one in model.fairness:
        if not isinstance(one.condition, Does) and is_contradictory(domains, condition(one.condition, interpretation)):
            yield unmeetable(one.span)


def unmeetable(span: Span) -> Diagnostic:
    """Return the warning for an unsatisfiable fairness condition at this place."""
    message = "This fairness condition holds in no state, so no run is fair"
    hint = Note("correct the condition or leave it out: without fair runs, every question about runs is `unknown`")
    return rules.UNMEETABLE_FAIRNESS.at(span, message, hint)


def is_contradictory(domains: Mapping[str, Sequence[Value]], expr: Expr) -> bool:
    """Return whether some independent conjuncts of the condition are unsatisfiable, up to `MAX_ASSIGNMENTS`."""
    if e.is_false(expr):
        return True
    inner_scopes = {name: domains[name] for name in sorted(reads(expr))}
    for names, part in independent_groups(inner_scopes, expr):
        if prod(len(domains[name]) for name in names) <= MAX_ASSIGNMENTS:
            among = {name: domains[name] for name in names}
            if next(satisfying_assignments(among, part), None) is None:
                return True
    return False
