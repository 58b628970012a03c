"""The oracle against itself: what it finds by one definition is what it finds by another."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import assume, given
from hypothesis import strategies as st
from tests.support.generators.imperfect_information import guessing_games, guessing_goals
from tests.support.generators.logic_formulas import groups, path_formulas, quantified
from tests.support.generators.systems import atoms, every_kind, roles, systems
from tests.support.oracles import lasso_words
from tests.support.oracles.games import TooManyStrategies
from tests.support.oracles.model_checker import Frozen, Naive
from tests.support.random_examples import examples

from cplc.logic import formulas as f
from cplc.logic.formulas import Formula

Move = int | None
Run = list[tuple[Frozen, Move]]


@examples(12)
@given(st.data())
def test_tableau_matches_fixpoints(data: st.DataObject) -> None:
    system = data.draw(systems())
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    assuming = data.draw(roles(system))
    oracle = Naive(system)
    for formula in every_kind(system, p, q):
        if isinstance(formula, f.OnPaths):
            assert oracle.by_tableau(formula, assuming) == oracle.satisfying(formula, assuming), formula


@given(st.data())
def test_satisfying_run_is_a_witness(data: st.DataObject) -> None:
    """Every fair run that can be drawn at random is on the right side, and its opposite on the other."""
    system = data.draw(systems())
    formula = data.draw(quantified(system))
    assuming = data.draw(roles(system))
    oracle = Naive(system)
    runs = oracle.runs(assuming, formula.along)
    sees = oracle.sees(assuming)
    start = data.draw(st.sampled_from(sorted(oracle.reachable, key=repr)))
    drawn = _walk(data.draw, start, lambda state: list(runs.moves[state]))
    states = [state for state, _ in drawn]
    for stem in range(len(drawn) - 1):
        loop, back = drawn[stem:-1], states[-1]
        if back != drawn[stem][0]:
            continue
        if not all(any(s not in waits or move in served for s, move in loop) for waits, served in runs.justice):
            continue
        if not all(any(s in often for s, _ in loop) for often in runs.often):
            continue
        run = drawn[:-1]

        def seen(part: Formula, position: int, run: Run = run, stem: int = stem) -> bool:
            while position >= len(run):
                position -= len(run) - stem
            return sees(part, *run[position])

        true = lasso_words.holds(formula.path, stem, len(loop), seen)
        so = formula.path if true else f.Not(formula.path)
        assert start in oracle.by_tableau(f.OnPaths("E", so, formula.along), assuming)
        assert start not in oracle.by_tableau(f.OnPaths("A", f.Not(so), formula.along), assuming)


def _walk(
    draw: Callable[[st.SearchStrategy[tuple[Move, Frozen]]], tuple[Move, Frozen]],
    start: Frozen,
    moves: Callable[[Frozen], list[tuple[Move, Frozen]]],
) -> Run:
    """Draw a walk; the move of its last position is not made."""
    run: Run = []
    state = start
    for _ in range(7):
        move, target = draw(st.sampled_from(sorted(moves(state), key=repr)))
        run.append((state, move))
        state = target
    return [*run, (state, None)]


@examples(30)
@given(st.data())
def test_game_fixpoints_match_enumerated_strategies(data: st.DataObject) -> None:
    system = data.draw(systems(lifelike=True, states=24))
    p, q = data.draw(atoms(system)), data.draw(atoms(system))
    group = data.draw(groups(system))
    opponents = frozenset(agent.name for agent in system.agents) - set(group)
    assuming = data.draw(st.frozensets(st.sampled_from(sorted(opponents)))) if opponents else frozenset[str]()
    oracle = Naive(system)
    goals: list[f.Next | f.Finally | f.Globally | f.Until]
    goals = [f.Finally(p), f.Until(p, q), f.Globally(p), f.Next(p)]
    for goal in goals:
        try:
            tried = oracle.game(group, assuming).won_by_some_strategy(oracle.as_path(goal), oracle.sees(assuming))
        except TooManyStrategies:
            assume(False)
        assert oracle.satisfying(f.Enforces(group, goal), assuming) == tried, goal


@examples(30)
@given(st.data())
def test_uniform_strategies_are_weaker(data: st.DataObject) -> None:
    system, formula = data.draw(guessing_games()), data.draw(guessing_goals())
    oracle = Naive(system)
    uniform = oracle.satisfying(formula)
    assert uniform <= oracle.satisfying(f.Enforces(formula.group, formula.goal))


@examples(25)
@given(st.data())
def test_dual_quantifiers(data: st.DataObject) -> None:
    system = data.draw(systems())
    path = data.draw(path_formulas(system))
    oracle = Naive(system)
    every, some = oracle.satisfying(f.OnPaths("A", path)), oracle.satisfying(f.OnPaths("E", f.Not(path)))
    assert every == oracle.reachable - some
