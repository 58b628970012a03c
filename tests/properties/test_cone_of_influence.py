"""Cone of influence: the projection preserves the value of every formula, and runs lift to the whole system."""

from __future__ import annotations

import pytest
from hypothesis import Phase, assume, event, find, given, settings
from hypothesis import strategies as st
from hypothesis.errors import NoSuchExample
from hypothesis.strategies import DrawFn
from tests.support.commitment_channels import promises
from tests.support.generators.logic_formulas import logic_formulas
from tests.support.generators.reducible_systems import watched
from tests.support.generators.systems import atoms, formulas, roles
from tests.support.oracles.model_checker import Naive
from tests.support.random_examples import examples

from cplc import compile
from cplc.checking.replay import replay
from cplc.checking.results import Question
from cplc.checking.verify import Verifier
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.commitments import Fulfils
from cplc.logic.expressions import reads
from cplc.logic.formulas import Formula
from cplc.reductions import cone_of_influence
from cplc.reductions.cone_of_influence import ConeOfInfluence, project_to_cone
from cplc.system.model import System

_MOST = 200


def disagree(whole: System, formula: Formula, assuming: frozenset[str]) -> bool:
    """True if some state has another value in the projection to the cone, both by the definitions."""
    cone = ConeOfInfluence(whole).cone(formula)
    part = project_to_cone(whole, cone)
    places = [place for place, variable in enumerate(whole.variables) if variable.name in cone]
    large, small = Naive(whole), Naive(part)
    assume(len(large.reachable) <= _MOST)
    in_whole, in_part = large.satisfying(formula, assuming), small.satisfying(formula, assuming)
    return any((state in in_whole) != (tuple(state[place] for place in places) in in_part) for state in large.reachable)


@examples(60)
@given(st.data())
def test_cone_preserves_value_of_every_formula(data: st.DataObject) -> None:
    whole = data.draw(watched())
    formula, assuming = data.draw(logic_formulas(whole)), data.draw(roles(whole))
    cone = ConeOfInfluence(whole).cone(formula)
    event(f"{len(whole.variables) - len(cone)} outside the cone")
    assert list(project_to_cone(whole, cone).problems()) == []
    assert not disagree(whole, formula, assuming)


@examples(25)
@given(st.data())
def test_evidence_is_lifted_from_cone(data: st.DataObject) -> None:
    whole = data.draw(watched())
    formula, assuming = data.draw(formulas(whole)), data.draw(roles(whole))
    question = Question(name="p", kind="property", formula=formula, text="p", assuming=assuming)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cone_of_influence, "MIN_BITS", 0)
        answer = Verifier(whole, "symbolic").answer(question)
    expected = Verifier(whole, "explicit").answer(question)
    assert answer.answer == expected.answer
    assert answer.reason == expected.reason
    assert (answer.evidence is None) == (expected.evidence is None)
    if answer.evidence is not None:
        assert replay(answer.system, answer.evidence, assuming) == []
    assert answer.left_out == len(whole.variables) - len(answer.system.variables)


def test_unmentioned_commitment_is_outside_the_cone() -> None:
    system = compile(
        "protocol P { role A  role B  commitment c = C(A, B, ask, tell)"
        "  A -> B : offer  means create c  B -> A : ask  after offer  A -> B : tell  after ask }"
    ).system
    received = f.Atom(system.message["tell"].received, "tell")
    bound = f.Atom(e.Equal(e.Read("c"), e.Const("active")), "active(c)")
    everything = frozenset(system.variable)
    assert ConeOfInfluence(system).cone(f.OnPaths("E", f.Finally(received))) == everything - {"c"}
    knowledge = f.Knows("each", ("A",), received)
    assert ConeOfInfluence(system).cone(f.OnPaths("E", f.Finally(knowledge))) == everything - {"c"}
    assert ConeOfInfluence(system).cone(f.OnPaths("E", f.Finally(bound))) == everything


# --- wrong ideas


@st.composite
def asked(draw: DrawFn) -> tuple[System, Formula, frozenset[str]]:
    whole = draw(watched())
    atom = draw(atoms(whole))
    knowledge = f.Knows("each", (draw(st.sampled_from(whole.agents)).name,), atom)
    return whole, f.OnPaths("E", f.Finally(draw(st.sampled_from([atom, knowledge])))), frozenset()


def _only_what_is_asked(self: ConeOfInfluence, named: set[str]) -> frozenset[str]:
    return frozenset(named)


def _but_what_values_are_made_from(self: ConeOfInfluence, named: set[str]) -> frozenset[str]:
    return frozenset(named).union(*(reads(step.guard) for step in self.system.steps))


_WRONG = {
    "guards do not matter": ("_closed", _only_what_is_asked),
    "what values are made from does not matter": ("_closed", _but_what_values_are_made_from),
    "what agents see does not matter": ("_observed", lambda self, agents: set()),
}


@pytest.mark.parametrize("name", _WRONG)
def test_wrong_cone_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ConeOfInfluence, *_WRONG[name])

    def is_wrong(example: tuple[System, Formula, frozenset[str]]) -> bool:
        try:
            return disagree(*example)
        except KeyError:  # a guard or value asks for what is not there
            return True

    try:
        find(asked(), is_wrong, settings=settings(max_examples=2000, phases=[Phase.generate]))
    except NoSuchExample:
        pytest.fail(f"nobody notices that {name}")


def test_cone_of_nested_commitments_takes_linear_work() -> None:
    system = compile("protocol P { role A  role B  A -> B : m  B -> A : n }").system
    channel = promises("A -> B", [(e.Read("m@A"), e.Read("m@B"))])
    formula: Formula = f.Atom(e.Read("n@A"), "n")
    for _ in range(60):
        formula = Fulfils(channel, formula)
    assert ConeOfInfluence(system).cone(formula) >= {"m@A", "m@B", "n@A"}
