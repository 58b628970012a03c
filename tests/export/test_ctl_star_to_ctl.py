"""Translations from CTL* to CTL are equivalent."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import SIMPLE, logic_formulas, quantified
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc.engines.explicit.engine import ExplicitEngine
from cplc.export.smv_specifications import to_ctl
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.system.printer import formula_text

p, q, r = (f.Atom(e.Read(name), name) for name in "pqr")


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (f.And((p, f.Next(f.Or((q, f.Finally(r)))))), "p & EX (q | EF r)"),
        (f.And((p, f.Next(f.Implies(p, q)))), "p & EX (p -> q)"),
        (f.Finally(f.And((p, f.Next(q)))), "EF (p & EX q)"),
        (f.And((f.Globally(p), f.Globally(q))), "EG (p & q)"),
        (f.Not(f.Until(p, q)), "E[!q U (!p & !q)] | EG !q"),
        (f.Globally(f.Finally(p)), "EG F p"),
        (f.Previous(p), "E Y p"),
        (f.And((f.Next(p), f.Finally(q))), "E (X p & F q)"),
    ],
)
def test_distribution_laws(path: Formula, expected: str) -> None:
    assert formula_text(to_ctl(f.OnPaths("E", path), all_states_fair=True)) == expected


@examples(40)
@given(st.data())
def test_translated_formula_has_same_states(data: st.DataObject) -> None:
    system = data.draw(systems())
    formula = data.draw(quantified(system, SIMPLE) | logic_formulas(system))
    assuming = data.draw(roles(system))
    engine = ExplicitEngine(system)
    satisfying = engine.satisfying(to_ctl(formula, all_states_fair=not system.fairness), assuming)
    assert satisfying == engine.satisfying(formula, assuming)
