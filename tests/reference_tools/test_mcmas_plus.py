"""MCMAS+ agrees on commitments in ISPL models, except for its known errors.

It finds the states of ``C`` by two projections, one for the debtor and one for the creditor, so that each may be of
another state: what is left holds of too few. From these, by the same relation, it makes ``Fu``.
"""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_tools.commitments_table import compared
from tests.reference_tools.mcmas import MCMAS_PLUS
from tests.support.random_examples import examples

pytestmark = pytest.mark.skipif(not MCMAS_PLUS, reason="CPLC_MCMAS_PLUS is not set")


@examples(60)
@given(st.integers(0, 2**32).map(Random))
def test_verdicts(chance: Random) -> None:
    for one in compared(chance):
        match one.operator:
            case "C":
                fewer, more = (one.ours, one.theirs) if "!" in one.formula else (one.theirs, one.ours)
                assert fewer <= more, (one.formula, one.text)
            case "Fu":
                pass
            case _:
                assert one.ours == one.theirs, (one.formula, one.text)
