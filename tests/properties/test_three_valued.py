"""Path formulas on runs are decided as by the definitions; a verdict on a prefix holds for all its extensions."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.logic_formulas import Logic, path_formulas
from tests.support.generators.systems import systems
from tests.support.oracles import lasso_words

from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic.formulas import And, Atom, Formula, Iff, Implies, Not, Or, Taken
from cplc.system.interpreter import holds
from cplc.system.model import State, System
from cplc.system.trace import Move, Run

PLAIN = Logic(depth=1, weight=6, games=False, social=False)


@st.composite
def _words(draw: st.DrawFn, system: System) -> Run:
    """Any states and any steps, whether or not one leads to the other, with a loop."""
    states = st.fixed_dictionaries({variable.name: st.sampled_from(variable.domain) for variable in system.variables})
    steps = st.none() | st.integers(0, len(system.steps) - 1)
    written: list[State] = draw(st.lists(states, min_size=1, max_size=5))
    loop = draw(st.integers(0, len(written) - 1))
    moves = tuple(Move(draw(steps), state) for state in (*written[1:], written[loop]))
    return Run(written[0], moves, loop)


@given(data=st.data())
def test_value_on_lasso_matches_definition(data: st.DataObject) -> None:
    system = data.draw(systems())
    path, word = data.draw(path_formulas(system, PLAIN)), data.draw(_words(system))
    assert ThreeValuedRun(system, word, ()).truth(path) is _defined(system, path, word)


@given(data=st.data())
def test_prefix_value_never_contradicts_whole_run(data: st.DataObject) -> None:
    system = data.draw(systems())
    path, word = data.draw(path_formulas(system, PLAIN)), data.draw(_words(system))
    prefix_length = data.draw(st.integers(0, len(word.moves)))
    begun = ThreeValuedRun(system, Run(word.start, word.moves[:prefix_length]), ()).truth(path)
    assert begun is None or begun is _defined(system, path, word)


def _defined(system: System, path: Formula, word: Run) -> bool:
    assert word.loop is not None
    loop, length = word.loop, len(word.moves)

    def seen(formula: Formula, position: int) -> bool:
        here = position if position < length else loop + (position - loop) % (length - loop)
        if isinstance(formula, Taken):
            step = word.moves[here].step
            return step is not None and system.steps[step].name in formula.steps
        return _is_so(formula, word.states[here])

    return lasso_words.holds(path, loop, length - loop, seen)


def _is_so(formula: Formula, state: State) -> bool:
    match formula:
        case Atom(condition):
            return holds(condition, state)
        case Not(operand):
            return not _is_so(operand, state)
        case And(operands):
            return all(_is_so(operand, state) for operand in operands)
        case Or(operands):
            return any(_is_so(operand, state) for operand in operands)
        case Implies(left, right):
            return not _is_so(left, state) or _is_so(right, state)
        case Iff(left, right):
            return _is_so(left, state) == _is_so(right, state)
        case _:
            raise AssertionError(formula)
