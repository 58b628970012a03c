"""Static checks of exported NuSMV files; `tests/reference_tools` runs NuSMV."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import SIMPLE, logic_formulas, quantified
from tests.support.generators.systems import roles, systems
from tests.support.random_examples import examples

from cplc.export import ExportedFormula, Origin, Request, export
from cplc.export.smv_formulas import IDENTIFIERS


@pytest.mark.parametrize("target", ["smv", "smv-arctl"])
@examples(25)
@given(st.data())
def test_text(target: str, data: st.DataObject) -> None:
    system = data.draw(systems())
    drawn = [data.draw(st.tuples(logic_formulas(system) | quantified(system, SIMPLE), roles(system))) for _ in range(3)]
    formulas = [ExportedFormula("f", formula, "as\nwritten: ä", assuming) for formula, assuming in drawn]
    request = Request(system, formulas, Origin("a\nfile", "0"))
    exported = export(target, request)
    assert exported == export(target, request)
    assert exported.text.isascii()
    assert len(exported.written) + len(exported.notes) == len(formulas)
    code = "\n".join(line.split("--")[0] for line in exported.text.splitlines())
    for opening, closing in ("()", "[]", "{}"):
        assert code.count(opening) == code.count(closing)
        assert f"{opening}{closing}" not in code
    assert len(re.findall(r"^(?:CTL|LTL|)SPEC\b", code, re.MULTILINE)) == len(exported.written)
    declared = re.findall(r"^  (\w+) :=? ", code, re.MULTILINE)
    assert len(set(declared)) == len(declared)
    assert set(declared) & IDENTIFIERS.reserved <= {"step", "relation"}
