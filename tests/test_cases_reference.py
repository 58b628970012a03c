"""The reference interpreter gives the counts, the inapplicable operations and the verdicts of the cases."""

from __future__ import annotations

import pytest
from tests.reference.timed import TimedReference, answer, bounds_of
from tests.support.case_files import Case, cases, checked


@pytest.mark.parametrize("case", cases(), ids=str)
def test_the_reference_agrees_with_the_case(case: Case) -> None:
    model = checked(case)
    reference = TimedReference(model, {}, model.delays)
    graph = reference.explore()
    assert len(graph.states) == case.reachable_states
    assert sorted(map(str, reference.inapplicable)) == sorted(case.inapplicable_operations)
    assert len(model.properties) == len(case.verdicts) > 0
    for declared, verdict in zip(model.properties, case.verdicts, strict=True):
        plain, bounds = bounds_of(model, verdict.assuming)
        expected = answer(model, declared.formula, plain, bounds, model.delays)
        assert expected is not None
        assert expected.holds == verdict.holds, verdict
        assert expected.timelocks == 0
