"""Pipeline of reductions: each pass alone preserves verdicts and evidence; questions do not depend on each other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import pytest
from hypothesis import event, given, settings
from hypothesis import strategies as st
from tests.support.generators.reducible_systems import two_parts, watched
from tests.support.generators.symmetric_systems import branching, crowds
from tests.support.generators.systems import formulas, roles

from cplc.checking import engine_selector
from cplc.checking.counterexamples import explain_initial
from cplc.checking.engine_selector import EngineSelector, Method
from cplc.checking.replay import replay
from cplc.checking.results import Question, Result
from cplc.checking.verify import Verifier
from cplc.cli.verify import PASSES
from cplc.compilation import Compilation, load
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.engines.explicit.por_symmetry import ReducedEngines
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.reductions import cone_of_influence
from cplc.reductions.component_slicing import ComponentSlicing
from cplc.reductions.cone_of_influence import ConeOfInfluenceReduction
from cplc.reductions.partial_order import PartialOrderReduction
from cplc.reductions.pipeline import SEARCH_PASSES, SYSTEM_PASSES, Pipeline, Reduced
from cplc.reductions.problem import Pass, Problem
from cplc.reductions.symmetry import SymmetryReduction
from cplc.system.model import System
from cplc.system.printer import formula_text

ReductionCase = tuple[System, Formula, frozenset[str]]


@st.composite
def products(draw: st.DrawFn) -> ReductionCase:
    part, whole = draw(two_parts(most=1000))
    return whole, draw(formulas(part)), draw(roles(part))


@st.composite
def observed(draw: st.DrawFn) -> ReductionCase:
    system = draw(watched())
    return system, draw(formulas(system)), draw(roles(system))


@st.composite
def symmetric(draw: st.DrawFn) -> ReductionCase:
    system = draw(crowds())
    return system, draw(branching(system) | formulas(system)), draw(roles(system))


_CASES: dict[type[Pass], st.SearchStrategy[ReductionCase]] = {
    ComponentSlicing: products(),
    ConeOfInfluenceReduction: observed(),
    SymmetryReduction: symmetric(),
    PartialOrderReduction: symmetric() | observed(),
}


def test_every_pass_is_compared_with_its_absence() -> None:
    assert set(_CASES) == {*SYSTEM_PASSES, *SEARCH_PASSES}
    assert tuple(one.name for one in (*SYSTEM_PASSES, *SEARCH_PASSES)) == PASSES


@pytest.mark.parametrize("reduction", _CASES, ids=lambda one: one.name)
@settings(max_examples=40)
@given(data=st.data())
def test_pass_alone_preserves_verdict_and_evidence(reduction: type[Pass], data: st.DataObject) -> None:
    system, formula, assuming = data.draw(_CASES[reduction])
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(cone_of_influence, "MIN_BITS", 0)
        reduced = Pipeline((reduction,)).reduce(Reduced(Problem(system, formula, assuming)))
    event("reduced" if reduced.applications else "not reduced")
    smaller = reduced.problem
    engine = ReducedEngines(smaller.system).engine(smaller) or ExplicitEngine(smaller.system)
    assert engine.is_valid(formula, assuming) == ExplicitEngine(system).is_valid(formula, assuming), formula_text(
        formula
    )
    evidence = explain_initial(engine, formula, assuming)
    assert replay(smaller.system, evidence, assuming) == []
    for one in reduced.applications:
        lifted = one.by.lift(evidence, one.before, one.after)
        if lifted is None:
            event("not lifted")
        else:
            assert replay(reduced.shown_system, lifted, assuming) == []


class _ForgetsVariable(Pass):
    """A wrong pass: drop a variable that steps read."""

    name = "forgets-variable"

    def apply(self, problem: Problem) -> Problem | None:
        name = next(name for step in problem.system.steps for name in e.reads(step.guard))
        remaining = tuple(variable for variable in problem.system.variables if variable.name != name)
        return replace(problem, system=replace(problem.system, variables=remaining))


def test_ill_formed_system_after_a_pass_is_an_error() -> None:
    problem = Problem(loaded("examples/netbill.cpl").system, f.Atom(e.TRUE, "true"))
    with pytest.raises(AssertionError, match="`forgets-variable` made an ill-formed system"):
        Pipeline((_ForgetsVariable,)).reduce(Reduced(problem))


def loaded(file: str, **parameters: str) -> Compilation:
    compilation = load(file, parameters)
    assert isinstance(compilation, Compilation)
    return compilation


def test_steps_of_different_components_are_never_one() -> None:
    system = loaded("examples/netbill.cpl", customers="2").system
    paid = [f.Taken(frozenset({f"receive pay[{member}]"}), f"pay[{member}]") for member in (1, 2)]
    assert all(one.steps <= {step.name for step in system.steps} for one in paid)
    formula = f.OnPaths("E", f.Finally(f.And(tuple(paid))))
    for method in ("explicit", "symbolic", "onthefly", "reduced"):
        assert not EngineSelector(system, method, auto=False).is_valid(formula, frozenset()), method


# --- questions in every order


def _orders(questions: Sequence[Question]) -> Iterator[list[Question]]:
    yield list(reversed(questions))
    middle = len(questions) // 2
    yield [*questions[middle:], *questions[:middle]]
    yield [*questions[1::2], *questions[::2]]


def _shown(result: Result) -> object:
    return replace(result, seconds=0.0, system=replace(result.system, header=()), question=result.question)


_FILES: dict[str, Callable[[], Compilation]] = {
    "cones": lambda: loaded("examples/travel_agency.cpl"),
    "members": lambda: loaded("examples/netbill.cpl", customers="3"),
    "quick search": lambda: loaded("examples/contract_net.cpl", participants="8"),
}


@pytest.mark.parametrize("method", ["auto", "reduced"])
@pytest.mark.parametrize("name", _FILES)
def test_results_do_not_depend_on_other_questions(
    name: str, method: engine_selector.EngineName, monkeypatch: pytest.MonkeyPatch
) -> None:
    if method == "reduced":
        if name == "quick search":
            pytest.skip("has too many states")
        monkeypatch.setattr(engine_selector, "MAX_EXPLICIT_STATES", 100)
    compilation = _FILES[name]()
    bound = [one for one in compilation.questions() if one.question.system is None]
    questions = [one.question for one in bound if one.system is compilation.system]
    assert len(questions) > 3
    verifier = Verifier(compilation.system, method)
    expected = {question.name: _shown(verifier.answer(question)) for question in questions}
    for order in _orders(questions):
        verifier = Verifier(compilation.system, method)
        for question in order:
            assert _shown(verifier.answer(question)) == expected[question.name], question.name


class _ReusesFirstCone(ConeOfInfluenceReduction):
    """A wrong pass: the first cone serves all formulas that it contains."""

    def apply(self, problem: Problem) -> Problem | None:
        made = super().apply(problem)
        if made is None:
            return None
        first = self.__dict__.setdefault("first", made.system)
        return replace(made, system=first) if made.system.variable.keys() <= first.variable.keys() else made


def _reduced_systems(compilation: Compilation, method: Method) -> tuple[list[System], list[System]]:
    """Return the reduced systems of all conjuncts of a file, asked forwards and backwards."""
    selectors = [EngineSelector(compilation.system, method, auto=False) for _ in range(2)]
    formulas_of_file = [
        part.formula
        for one in compilation.questions()
        if one.question.system is None
        for part in selectors[0].parts(one.question.formula)
    ]
    forward = [selectors[0].reduced(formula).system for formula in formulas_of_file]
    backward = [selectors[1].reduced(formula).system for formula in reversed(formulas_of_file)]
    return forward, backward[::-1]


@pytest.mark.parametrize("method", ["symbolic", "reduced"])
def test_reduced_systems_do_not_depend_on_other_questions(method: Method) -> None:
    forward, backward = _reduced_systems(loaded("examples/travel_agency.cpl"), method)
    assert forward == backward
    assert len({frozenset(system.variable) for system in forward}) > 1


def test_reuse_of_first_cone_is_detected(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_selector, "SYSTEM_PASSES", (ComponentSlicing, _ReusesFirstCone))
    forward, backward = _reduced_systems(loaded("examples/travel_agency.cpl"), "symbolic")
    assert forward != backward


def test_cone_of_one_member_leaves_the_others_interchangeable() -> None:
    compilation = loaded("benchmarks/protocols/stock.cpl", customers="5")
    selector = EngineSelector(compilation.system, "reduced", auto=False)
    remaining = set()
    for one in compilation.questions():
        for part in selector.parts(one.question.formula) if one.question.system is None else ():
            problem = selector.fully_reduced(part.formula, frozenset()).problem
            if len(problem.system.variables) < len(compilation.system.variables) and problem.goals is not None:
                remaining |= {len(group.indices) for group in problem.interchangeable}
    assert 4 in remaining
    assert min(remaining) >= 3
