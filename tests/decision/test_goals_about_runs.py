"""Goals that are formulas about the run: closed forms, twins with a variable, and all histories of small games."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from tests.reference.decisions import Game as Judge
from tests.support.protocol_analysis import checked

import cplc
from cplc.compilation.participants import AnalysisOptions, ParticipantQuery, analyse_participant, participants
from cplc.decision.game import ActionKind, Attitude, Game
from cplc.decision.results import Bounds
from cplc.logic import expressions as e
from cplc.statespace.packing import Packing
from cplc.system.model import System, Variable

_ANSWERS = """
protocol P sync {
  role Ann
  role Bob
  Ann -> Bob : ask
  Bob -> Ann : accept  after ask
  Bob -> Ann : refuse  after ask
  Bob -> Ann : reply   after accept
  choice accept | refuse
  agent Pia plays Ann {
    goal %s
    believes Bob: accept 0.6 | refuse 0.4
  }
  analyze Pia assuming Ann within 1, Bob within 1: achievement > 0.5
}
"""


def _query(text: str) -> ParticipantQuery:
    compilation = cplc.compile(text)
    assert not [one for one in compilation.diagnostics if one.severity == "error"], compilation.diagnostics
    return participants(compilation)[0]


def _achievement(text: str) -> Bounds:
    options = AnalysisOptions(exact=True, sensitivity=False)
    return analyse_participant(_query(text), options).figure("achievement").guaranteed


def _exactly(value: str) -> Bounds:
    return Bounds(Fraction(value), Fraction(value))


_WITH_DEADLINES = [
    ("reply", "0.6"),
    ("F reply", "0.6"),
    ("F<=3 ticks reply", "0.6"),
    ("F<=2 ticks reply", "0"),
    ("G !refuse", "0.6"),
    ("G<=1 ticks !accept", "0.4"),
    ("!reply U accept", "0.6"),
    ("!accept W reply", "0.4"),
    ("F<=2 ticks (accept | refuse) & (F accept -> F<=3 ticks reply)", "1"),
    ("accept & F<=3 ticks reply", "0.6"),
    ("G (accept -> F<=1 ticks reply)", "1"),
    ("G (accept -> F<=0 ticks reply)", "0.4"),
]


@pytest.mark.parametrize(("goal", "guaranteed"), _WITH_DEADLINES)
def test_deadlines_count_from_the_beginning_of_the_run(goal: str, guaranteed: str) -> None:
    assert _achievement(_ANSWERS % goal) == _exactly(guaranteed)


@pytest.mark.parametrize(("goal", "guaranteed"), _WITH_DEADLINES)
def test_judge_evaluates_deadlines_on_words(goal: str, guaranteed: str) -> None:
    model = checked(_ANSWERS % goal)
    bounds = {message.name: 1 for message in model.messages}
    assert Judge(model, "Pia", bounds, bounds=bounds).alone()[1] == Fraction(guaranteed)


_ORDER = """
protocol P sync {
  role Ann
  role Bob { var hadRight: bool = false  var early: bool = false }
  Bob -> Ann : left    set early := !hadRight
  Bob -> Ann : right   set hadRight := true
  Ann -> Bob : done    after left & right
  agent Pia plays Ann {
    goal %s
    believes Bob: left 0.75 | silent 0.25
    believes Bob: right 0.5 | silent 0.5
  }
}
"""


@pytest.mark.parametrize(
    ("formula", "condition"),
    [
        ("!right U left", "Bob.early"),
        ("!right W left", "Bob.early | !right"),
        ("F (left & !right) & F right", "Bob.early & right"),
        ("F right -> !right U left", "!right | Bob.early"),
        ("left R !right", "!right | Bob.early"),
    ],
)
def test_formula_equals_condition_on_recorded_order(formula: str, condition: str) -> None:
    assert _achievement(_ORDER % formula) == _achievement(_ORDER % condition)


# --- all histories of random games

_GAME = """
protocol P sync {
  role Ann
  role Bob
  role Cleo
  commitment clock = C(Ann, Bob, true, done) within 2
  Ann -> Bob  : start              means create clock
  Bob -> Ann  : yes    after start
  Bob -> Ann  : no     after start
  Cleo -> Ann : note
  Ann -> Bob  : done   after yes
  choice yes | no
  agent Pia plays Ann {
    goal %s
    believes Ann: start 1
    believes Bob when start: yes 0.5 | no 0.25 | silent 0.25
    believes Cleo: note 0.75..1 | silent 0..0.25
    believes Ann when yes: done 1
  }
}
"""
_ATOMS = ("start", "yes", "no", "note", "done", "violated(clock)")
_LENGTH = 4
"""Ticks of each history: formulas count fewer."""
Formula = tuple[object, ...]
Letter = tuple[frozenset[str], bool]
"""The atoms that hold in a state, and whether a tick leaves it."""


def _formula(draw: Random, depth: int, *, inside: bool = False) -> Formula:
    """Return a formula whose conditions are all below temporal operators."""
    if inside and (depth == 0 or draw.random() < 0.2):
        return ("atom", draw.choice(_ATOMS))
    boolean = ("!", "&", "|", "->") if depth else ()
    operator = draw.choice((*boolean, "F", "G", "U", "W", "R", "M"))
    inside = inside or operator not in boolean
    operands = [
        _formula(draw, max(0, depth - 1), inside=inside) for _ in range(1 if operator in ("!", "F", "G") else 2)
    ]
    if operator in ("!", "&", "|", "->"):
        return (operator, *operands)
    low = draw.choice((None, None, 0, 1))
    return (operator, *operands, None if low is None else (low, draw.randint(low, _LENGTH - 1)))


def _text(formula: Formula) -> str:
    match formula:
        case ("atom", str(name)):
            return name
        case ("!", operand):
            return f"!({_text(operand)})"  # type: ignore[arg-type]
        case ("&" | "|" | "->" as operator, left, right):
            return f"({_text(left)}) {operator} ({_text(right)})"  # type: ignore[arg-type]
        case ("F" | "G" as operator, operand, window):
            return f"{operator}{_window(window)} ({_text(operand)})"  # type: ignore[arg-type]
        case (operator, left, right, window):
            return f"({_text(left)}) {operator}{_window(window)} ({_text(right)})"  # type: ignore[arg-type]
        case _:
            raise AssertionError(formula)


def _window(window: tuple[int, int] | None) -> str:
    return "" if window is None else f"[{window[0]}..{window[1]}] ticks"


def _holds(formula: Formula, run: Sequence[Letter], at: int) -> bool:
    """Evaluate the formula at a position of a run whose last state lasts forever, by the definitions."""

    def until(left: Formula, right: Formula, window: tuple[int, int] | None) -> bool:
        ticks = 0
        for position in range(at, len(run)):
            in_window = window is None or window[0] <= ticks <= window[1]
            if in_window and _holds(right, run, position):
                return True
            if not _holds(left, run, position):
                return False
            ticks += run[position][1]
        return False

    true: Formula = ("true",)
    match formula:
        case ("true",):
            return True
        case ("atom", name):
            return name in run[at][0]
        case ("!", operand):
            return not _holds(operand, run, at)  # type: ignore[arg-type]
        case ("&", left, right):
            return _holds(left, run, at) and _holds(right, run, at)  # type: ignore[arg-type]
        case ("|", left, right):
            return _holds(left, run, at) or _holds(right, run, at)  # type: ignore[arg-type]
        case ("->", left, right):
            return not _holds(left, run, at) or _holds(right, run, at)  # type: ignore[arg-type]
        case ("F", operand, window):
            return until(true, operand, window)  # type: ignore[arg-type]
        case ("G", operand, window):
            return not until(true, ("!", operand), window)  # type: ignore[arg-type]
        case ("U", left, right, window):
            return until(left, right, window)  # type: ignore[arg-type]
        case ("R", left, right, window):
            return not until(("!", left), ("!", right), window)  # type: ignore[arg-type]
        case ("W", left, right, window):  # until, or the left side up to the end of the window
            return until(left, right, window) or not until(  # type: ignore[arg-type]
                true,
                ("!", left),
                None if window is None else (0, window[1]),  # type: ignore[index]
            )
        case ("M", left, right, window):
            return not _holds(("W", ("!", left), ("!", right), window), run, at)
        case _:
            raise AssertionError(formula)


def _least(query: ParticipantQuery, formula: Formula) -> Fraction:
    """Return the guaranteed probability by the recursion over all histories of the game without the formula."""
    system, participant = _counting_ticks(query.system), query.participant
    game = Game(system, participant, Attitude.TAKES_PART, frozenset(query.assumed))
    packing = Packing(system)
    conditions = {name: packing.condition(_condition(query, name)) for name in _ATOMS}

    def letter(state: int, ticks: bool) -> Letter:
        return frozenset(name for name, test in conditions.items() if test(game.packed(state))), ticks

    def value(state: int, history: tuple[Letter, ...]) -> Fraction:
        options = game.options(state)
        if not options:
            return Fraction(int(_holds(formula, (*history, letter(state, False)), 0)))
        values = []
        for kind, events in options:
            assert kind != ActionKind.CONTROLLED
            each = []
            for number, transitions in events:
                after = []
                for step, target in transitions:
                    if game.packed(target) == game.packed(state):
                        after.append(value(target, history))
                    else:
                        after.append(value(target, (*history, letter(state, system.steps[step].kind == "tick"))))
                each.append((game.chances[number], min(after)))
            free = 1 - sum((chance.low for chance, _ in each), Fraction(0))
            total = sum((chance.low * one for chance, one in each), Fraction(0))
            for chance, one in sorted(each, key=lambda pair: pair[1]):
                more = min(free, chance.high - chance.low)
                total, free = total + more * one, free - more
            values.append(total)
        return min(values)

    return min(value(state, ()) for state in game.initial(100))


def _counting_ticks(system: System) -> System:
    """Return the system with a variable that counts ticks, so that each run has so many."""
    count = e.Read("ticks")
    following = e.ite(e.less(count, e.Const(_LENGTH)), e.arith("+", count, e.Const(1)), count)
    steps = tuple(
        replace(step, updates=(*step.updates, ("ticks", following))) if step.kind == "tick" else step
        for step in system.steps
    )
    counter = Variable("ticks", tuple(range(_LENGTH + 1)), (0,), "monitor", "Env", "ticks")
    return replace(system, variables=(*system.variables, counter), steps=steps)


def _condition(query: ParticipantQuery, name: str) -> e.Expr:
    if name == "violated(clock)":
        return e.equal(e.Read(query.system.commitment["clock"].variable), e.Const("violated"))
    return next(one.received for one in query.system.messages if one.name == name)


@pytest.mark.parametrize("seed", range(60))
def test_random_formula_over_all_histories(seed: int) -> None:
    formula = _formula(Random(f"goal {seed}"), 3)
    text = _text(formula)
    plain = _query(_GAME % "true")
    assert _achievement(_GAME % text) == Bounds(*[_least(plain, formula)] * 2), text


@pytest.mark.parametrize(
    ("goal", "rule"),
    [
        ("accept -> F reply", "not-a-state-condition"),
        ("X reply", "not-a-state-condition"),
        ("F<=2 reply", "not-a-state-condition"),
        ("AF reply", "not-a-state-condition"),
        ("F does(reply)", "not-a-state-condition"),
        ("<<Ann>> F reply", "not-a-state-condition"),
        ("F<=100000 ticks reply", "too-large"),
        ("F<=900 ticks (accept & F<=900 ticks reply)", "too-large"),
    ],
)
def test_unsupported_goal_reported(goal: str, rule: str) -> None:
    assert [one.code for one in cplc.compile(_ANSWERS % goal).diagnostics if one.severity == "error"] == [rule]


def test_ticks_need_something_that_counts_them() -> None:
    text = (_ANSWERS % "F<=2 ticks reply").replace(" assuming Ann within 1, Bob within 1", "")
    assert [one.code for one in cplc.compile(text).diagnostics] == ["no-ticks"]


def test_certain_goal_agrees_with_strategy() -> None:
    """Without probabilities, a goal that stays true once true is sure if and only if a strategy ensures it."""
    text = """
    protocol P sync {{
      role Ann
      role Bob
      Ann -> Bob : ask
      Ann -> Bob : stop
      Bob -> Ann : yes  after ask
      choice ask | stop
      agent Pia plays Ann {{ goal F {goal} }}
      property able: <<Ann>> F {goal} expect {expect}
    }}
    """
    for goal, sure in (("ask", 1), ("stop", 1), ("yes", 0), ("(ask | stop)", 1), ("(ask & stop)", 0)):
        source = text.format(goal=goal, expect="holds" if sure else "fails")
        assert _achievement(source) == _exactly(str(sure))
        compilation = cplc.compile(source)
        (result,) = compilation.verify([one for one in compilation.questions() if one.question.name == "able"])
        assert result.answer == ("holds" if sure else "fails")
