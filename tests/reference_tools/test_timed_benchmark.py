"""The model of NetBill with deadlines that is written by hand for NuSMV gives our verdicts."""

from __future__ import annotations

import pytest
from benchmarks.timed import TIMED, formula, nusmv_verdicts
from tests.reference_tools.nusmv import NUSMV

from cplc.compilation import BoundQuestion, CplCompilation, load


@pytest.mark.skipif(not NUSMV, reason="CPLC_NUSMV is not set")
@pytest.mark.parametrize("ticks", [1, 2, 3])
def test_bounds_of_rtctl_have_the_verdicts_of_bounds_in_ticks(ticks: int) -> None:
    customers = 2
    compilation = load(str(TIMED), {"customers": str(customers)})
    assert isinstance(compilation, CplCompilation)
    question = compilation.formula_question(formula(ticks), ["all within 1"])
    assert isinstance(question, BoundQuestion)
    (result,) = compilation.verify([question])
    assert nusmv_verdicts(NUSMV, customers, ticks)[0] == [result.answer == "holds"] * customers
    assert (result.answer == "holds") == (ticks >= 2)
