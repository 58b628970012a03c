"""Symmetry reduction: formulas and states that permutations map to each other have one verdict, and no others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.commitment_channels import promises
from tests.support.generators.logic_formulas import logic_formulas
from tests.support.generators.protocol_drafts import text_of
from tests.support.generators.protocols import plans
from tests.support.generators.symmetric_systems import ASYMMETRIC, branching, crowds, queue
from tests.support.generators.systems import formulas, roles
from tests.support.random_examples import examples

from cplc.checking import engine_selector
from cplc.checking.counterexamples import explain_initial
from cplc.checking.engine_selector import EngineSelector
from cplc.checking.replay import replay
from cplc.checking.results import Question, Result
from cplc.checking.verify import verify
from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.explicit.por_symmetry import ReducedEngines
from cplc.logic import formulas as f
from cplc.logic.commitments import Commits, Fulfils
from cplc.logic.expressions import TRUE, Const, Equal, Expr, Read, conj, disj
from cplc.logic.formulas import Formula
from cplc.reductions import ctl_fragment, symmetry
from cplc.reductions.ctl_fragment import ctl_conditions
from cplc.reductions.pipeline import SEARCH_PASSES, Pipeline, Reduced
from cplc.reductions.problem import Problem
from cplc.reductions.symmetry import (
    Symmetry,
    SymmetryGroup,
    canonical_representative,
    interchangeable_instances,
    renamed_formula,
    with_adjacent_instances,
)
from cplc.source import Source
from cplc.statespace.packing import Packing
from cplc.system.model import System
from cplc.system.printer import formula_text

Example = tuple[System, Formula, Formula, frozenset[str]]


def moved(symmetry_group: SymmetryGroup, order: list[int]) -> dict[int, int]:
    return dict(zip(symmetry_group.indices, order, strict=True))


@st.composite
def pairs(draw: st.DrawFn, systems: st.SearchStrategy[System]) -> Example:
    """A formula, another one about other members, and who keeps going."""
    system = draw(systems)
    members = [int(agent.name[4:-1]) for agent in system.agents if agent.family == "Cus"]
    symmetry_group = SymmetryGroup(frozenset({"Cus"}), frozenset({("x", 0), ("y", 0), ("Cus", 0)}), tuple(members))
    formula = draw(branching(system) | formulas(system))
    order = draw(st.permutations(members))
    return (
        system,
        formula,
        renamed_formula(formula, symmetry_group.renaming(moved(symmetry_group, order))),
        draw(roles(system)),
    )


def is_right(example: Example) -> bool:
    """True if formulas with one key have one value."""
    system, formula, other, assuming = example
    symmetry, engine = Symmetry(system), ExplicitEngine(system)
    if symmetry.key(formula, assuming) != symmetry.key(other, assuming):
        return True
    return engine.is_valid(formula, assuming) == engine.is_valid(other, assuming)


@examples(40)
@given(pairs(crowds()))
def test_formulas_with_equal_keys_have_equal_values(example: Example) -> None:
    assert Symmetry(example[0]).groups, "all members are alike"
    assert is_right(example), f"{formula_text(example[1])} and {formula_text(example[2])}"


@examples(40)
@given(st.data())
def test_image_of_formula_has_same_value(data: st.DataObject) -> None:
    system = data.draw(crowds())
    (symmetry_group,) = Symmetry(system).groups
    renamed = symmetry_group.renaming(moved(symmetry_group, data.draw(st.permutations(symmetry_group.indices))))
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    engine = ExplicitEngine(system)
    expected = engine.is_valid(formula, assuming)
    assert engine.is_valid(renamed_formula(formula, renamed), frozenset(map(renamed, assuming))) == expected


@examples(40)
@given(pairs(crowds()))
def test_symmetric_questions_share_one_verdict(example: Example) -> None:
    system, formula, other, assuming = example
    selector, judge = (EngineSelector(system, method, auto=False) for method in ("symbolic", "explicit"))
    for one in (formula, other):
        assert selector.occurs(one, one, assuming) == judge.occurs(one, one, assuming), formula_text(one)


@pytest.mark.parametrize("name", ASYMMETRIC)
@examples(10)
@given(system=crowds())
def test_asymmetric_instances_are_distinguished(name: str, system: System) -> None:
    changed = ASYMMETRIC[name](system)
    assume(changed != system)
    assert Symmetry(changed).groups == ()


@examples(2)
@given(system=crowds(2))
def test_group_differs_from_its_members(system: System) -> None:
    """Formulas about one member and about two are different, and so are those about debtor and creditor."""
    symmetry = Symmetry(system)
    one, other = (f.Atom(Read(f"x[{member}]@Shop"), "x") for member in (1, 2))

    def promised(member: int, content: f.Formula) -> Commits:
        name = f"Shop -> Cus[{member}]"
        return Commits(promises(name, [(Read(f"x[{member}]@Shop"), Read(f"x[{member}]@Cus[{member}]"))]), content)

    assert symmetry.key(f.And((one, other))) != symmetry.key(f.And((one, one)))
    assert symmetry.key(f.And((one, f.Not(other)))) == symmetry.key(f.And((other, f.Not(one))))
    assert symmetry.key(promised(1, one)) == symmetry.key(promised(2, other))
    assert symmetry.key(promised(1, one)) != symmetry.key(promised(2, one))
    assert symmetry.key(promised(1, one)) != symmetry.key(Fulfils(promised(1, one).channel, one))


@examples(2)
@given(system=crowds(2))
def test_assumed_instances_are_distinguished(system: System) -> None:
    symmetry = Symmetry(system)
    one, other = (f.Atom(Read(f"x[{member}]@Shop"), "x") for member in (1, 2))
    assert symmetry.key(one, frozenset({"Cus[1]"})) != symmetry.key(other, frozenset({"Cus[1]"}))
    assert symmetry.key(one, frozenset({"Cus[1]", "Cus[2]"})) == symmetry.key(other, frozenset({"Cus[1]", "Cus[2]"}))


def level(member: int, value: int) -> Expr:
    return Equal(Read(f"y[{member}]"), Const(value))


def is_at(member: int, value: int) -> Formula:
    return f.Atom(level(member, value), f"y[{member}] = {value}")


NOT_ALIKE: dict[str, tuple[Example, Callable[[pytest.MonkeyPatch], None]]] = {
    "members are not compared": (
        (ASYMMETRIC["begins elsewhere"](queue(1, 2)), is_at(1, 1), is_at(2, 1), frozenset()),
        lambda patch: patch.setattr(Symmetry, "_is_symmetric", lambda *_: True),
    ),
    "nobody asks who keeps going": (
        (
            queue(1, 2),
            f.OnPaths("A", f.Finally(is_at(1, 2))),
            f.OnPaths("A", f.Finally(is_at(2, 2))),
            frozenset({"Cus[1]"}),
        ),
        lambda patch: patch.setattr(symmetry, "canonical_numbering", _nobody_is_assumed(symmetry.canonical_numbering)),
    ),
}


def _nobody_is_assumed(order: Callable[..., object]) -> Callable[..., object]:
    return lambda symmetry_group, formula, _: order(symmetry_group, formula, frozenset())


@pytest.mark.parametrize("name", NOT_ALIKE)
def test_wrong_symmetry_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    example, break_it = NOT_ALIKE[name]
    assert is_right(example)
    break_it(monkeypatch)
    assert not is_right(example), f"nobody notices that {name}"


# --- states up to exchange


def agrees(system: System, formula: Formula) -> bool:
    """True if some of the states give the right value, and a run that is possible and as short."""
    problem = Pipeline(SEARCH_PASSES).reduce(Reduced(Problem(system, formula))).problem
    reduced, whole = ReducedEngines(system).engine(problem), ExplicitEngine(system)
    if reduced is None:
        return not problem.interchangeable
    if reduced.is_valid(formula) != whole.is_valid(formula):
        return False
    shown, expected = explain_initial(reduced, formula), explain_initial(whole, formula)
    return (
        shown.holds == expected.holds
        and replay(system, shown) == []
        and len(shown.run.moves) == len(expected.run.moves)
    )


@examples(80)
@given(st.data())
def test_quotient_has_one_state_per_orbit(data: st.DataObject) -> None:
    system = data.draw(crowds())
    formula = data.draw(branching(system))
    assert agrees(system, formula), formula_text(formula)


@examples(40)
@given(st.data())
def test_representatives_are_states_of_the_system(data: st.DataObject) -> None:
    """An image is the state of an exchange, and images of exchanged states are the same."""
    system = data.draw(crowds())
    (symmetry_group,) = Symmetry(system).groups
    members = interchangeable_instances(system, (symmetry_group,), ())
    packing = Packing(with_adjacent_instances(system, members))
    image = canonical_representative(packing, members)
    renamed = symmetry_group.renaming(moved(symmetry_group, data.draw(st.permutations(symmetry_group.indices))))
    for packed in ExplicitEngine(system)._graph.states[:50]:
        state = Packing(system).unpack(packed)
        other = {renamed(name): value for name, value in state.items()}
        assert image(packing.pack(state)) == image(packing.pack(other))
        assert image(image(packing.pack(state))) == image(packing.pack(state))


@examples(60)
@given(st.data())
def test_quotient_answers_only_formulas_over_the_graph(data: st.DataObject) -> None:
    system = data.draw(crowds())
    formula = data.draw(logic_formulas(system))
    if ctl_conditions(formula) is not None:
        assert agrees(system, formula), formula_text(formula)


LAST_FIRST = f.OnPaths("E", f.Finally(f.Atom(conj((level(1, 0), level(3, 1))), "the last comes before the first")))
ALL_SERVED = f.OnPaths("E", f.Finally(f.Atom(conj(level(member, 2) for member in (1, 2, 3)), "all are served")))
BEFORE_THEY_COME = disj(conj((Read(f"x[{member}]@Cus[{member}]"), level(member, 0))) for member in (1, 2, 3))
SERVED_BEFORE = f.OnPaths("E", f.Until(f.Atom(TRUE, "true"), f.Atom(BEFORE_THEY_COME, "served before they come")))
_PIECES = symmetry._instance_variables


def _but_for_one(*given: Any) -> object:
    return tuple(piece[:-1] for piece in _PIECES(*given) or ())


WRONG: dict[str, tuple[Formula, object, str, Callable[..., object]]] = {
    "conditions may tell members apart": (LAST_FIRST, symmetry, "_is_symmetric", lambda *_: True),
    "only one of several conditions counts": (
        f.And((ALL_SERVED, LAST_FIRST)),
        ctl_fragment,
        "ctl_conditions",
        lambda formula: (ctl_conditions(formula) or ())[:1],
    ),
    "some variable of a member stays": (SERVED_BEFORE, symmetry, "_instance_variables", _but_for_one),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_quotient_is_detected(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    formula, where, what, otherwise = WRONG[name]
    assert agrees(queue(1, 2, 3), formula)
    monkeypatch.setattr(where, what, otherwise)
    assert not agrees(queue(1, 2, 3), formula), f"nobody notices that {name}"


# --- as a whole


@examples(20)
@given(st.data())
def test_questions_about_all_instances(data: st.DataObject) -> None:
    """Verdicts, and which member a failure is shown of, are those of the engine that leaves nothing out."""
    system = data.draw(crowds())
    (symmetry_group,) = Symmetry(system).groups
    formula = data.draw(branching(system) | formulas(system))
    renamings = (
        symmetry_group.renaming({symmetry_group.indices[0]: index, index: symmetry_group.indices[0]})
        for index in symmetry_group.indices
    )
    everybody = f.And(tuple(renamed_formula(formula, other) for other in renamings))
    methods: tuple[Literal["explicit", "symbolic", "reduced"], ...] = ("explicit", "symbolic", "reduced")
    question = Question("q", "formula", everybody, "q", assuming=data.draw(roles(system)))
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine_selector, "MAX_EXPLICIT_STATES", 0)
        expected, *results = [next(verify(system, [question], method)) for method in methods]
    for result in results:
        assert result.answer == expected.answer, result.reason
        assert {remark.message for remark in result.remarks} == {remark.message for remark in expected.remarks}
        assert _helpful(result) == _helpful(expected)
        assert result.evidence is None or result.evidence.holds == (result.answer != "fails")


def _helpful(result: Result) -> tuple[tuple[str, ...], ...] | None:
    return None if result.blame is None else result.blame.coalitions


def test_other_assumptions_are_another_question() -> None:
    """An answer for some roles is none for others; so it is found out who is to blame."""
    everybody = f.And(tuple(f.OnPaths("A", f.Finally(is_at(member, 2))) for member in (1, 2)))
    (result,) = verify(queue(1, 2), [Question("q", "formula", everybody, "q")], "symbolic")
    assert result.answer == "fails"
    assert _helpful(result) == (("Cus",),)
    first = frozenset({"Cus[1]"})
    (result,) = verify(queue(1, 2), [Question("q", "formula", everybody, "q", assuming=first)], "symbolic")
    assert result.answer == "fails"
    assert result.evidence is not None
    assert result.evidence.formula == everybody.operands[1]


def test_counterexample_of_first_instance_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    everybody = f.And(tuple(f.OnPaths("A", f.Globally(f.Not(is_at(member, 2)))) for member in (1, 2, 3)))
    methods: tuple[Literal["explicit", "symbolic", "reduced"], ...] = ("explicit", "symbolic", "reduced")
    monkeypatch.setattr(engine_selector, "MAX_EXPLICIT_STATES", 0)
    for method in methods:
        (result,) = verify(queue(1, 2, 3), [Question("q", "formula", everybody, "q")], method)
        assert result.evidence is not None
        assert result.evidence.formula == everybody.operands[0]
        assert len(result.evidence.run.moves) == 2


@examples(20)
@given(st.data())
def test_protocols_with_a_family(data: st.DataObject) -> None:
    plan = data.draw(plans().filter(lambda plan: plan.family is not None))
    system = CplCompilation(Source("random.cpl", text_of(plan))).system
    formula, assuming = data.draw(logic_formulas(system)), data.draw(roles(system))
    for symmetry_group in Symmetry(system).groups:
        renamed = symmetry_group.renaming(moved(symmetry_group, data.draw(st.permutations(symmetry_group.indices))))
        engine, other = ExplicitEngine(system), renamed_formula(formula, renamed)
        assert engine.is_valid(other, frozenset(map(renamed, assuming))) == engine.is_valid(formula, assuming)
    if ctl_conditions(formula) is not None:
        assert agrees(system, formula), formula_text(formula)


@examples(8)
@given(st.data())
def test_protocols_by_some_of_the_states(data: st.DataObject) -> None:
    system = CplCompilation(Source("random.cpl", text_of(data.draw(plans())))).system
    formula, assuming = data.draw(formulas(system)), data.draw(roles(system))
    question = Question("q", "formula", formula, "q", assuming=assuming)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(engine_selector, "MAX_EXPLICIT_STATES", 0)
        (result,) = verify(system, [question], "reduced")
    (whole,) = verify(system, [question], "explicit")
    assert result.answer == whole.answer, result.reason
    assert {remark.message for remark in result.remarks} == {remark.message for remark in whole.remarks}


def test_report_names_the_reduction(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_selector, "MAX_EXPLICIT_STATES", 0)
    question = Question("q", "formula", f.Not(SERVED_BEFORE), "q")
    (result,) = verify(queue(1, 2, 3), [question], "reduced")
    assert (result.answer, result.engine) == ("holds", "reduced")
    assert result.engine_reason == "as asked; 10 states were stored, with symmetry reduction over `Cus`"
    (result,) = verify(queue(1, 2, 3), [question], "explicit")
    assert result.engine_reason == "as asked"
    assert ExplicitEngine(queue(1, 2, 3)).size == 27
