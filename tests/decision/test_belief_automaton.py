"""The paper's own semantics: numbers of states, and figures by a literal reading of Algorithms 1 and 2."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest

import cplc
from cplc.cli.main import run
from cplc.compilation.participants import AnalysisOptions, ParticipantQuery, analyse_participant, participants
from cplc.decision.belief_automaton import NotInThePaper
from cplc.decision.results import Analysis
from cplc.logic.expressions import Value
from cplc.lowering.participants import with_conformance_of_the_paper
from cplc.system.interpreter import Interpreter, holds
from cplc.system.model import State

_EXAMPLE = (Path(__file__).parents[2] / "examples" / "ecommerce_paper.cpl").read_text(encoding="utf-8")
_SHARED_STOCK = """
protocol Shop sync {
  role Seller { var stock: 0..2 = 2 }
  role Buyer[2]
  for i in 1..2 {
    commitment goods = C(Seller, Buyer[i], pay, ship)
    Seller -> Buyer[i] : offer                means create goods
    Seller -> Buyer[i] : gift    after offer   if stock > 0   set stock := stock - 1
    Buyer[i] -> Seller : pay     after offer
    Buyer[i] -> Seller : leave   after offer   means expire goods
    Seller -> Buyer[i] : ship    after pay     if stock > 0   set stock := stock - 1
    choice pay | leave
  }
  agent Alice plays Seller {
    goal Seller.stock = 0
    for i in 1..2 {
      value pay[i]: +3, ship[i]: -2, gift[i]: -1
      believes Seller when null(goods[i]): offer[i] 1
      believes Buyer[i] when conditional(goods[i]): pay[i] 0.75 | leave[i] 0.25
      believes Seller when active(goods[i]) & Seller.stock > 0: ship[i] 1
    }
    believes Seller when Seller.stock > 1: gift[1] 0.5 | gift[2] 0.5
  }
}
"""


def _query(text: str, **parameters: str) -> ParticipantQuery:
    compilation = cplc.compile(text, parameters=parameters)
    assert not [one for one in compilation.diagnostics if one.severity == "error"], compilation.diagnostics
    (query,) = participants(compilation)
    return query


def _analysis(query: ParticipantQuery, *, reduction: bool = True) -> Analysis:
    options = AnalysisOptions(exact=True, sensitivity=False, semantics="paper", reduction=reduction)
    return analyse_participant(query, options)


class _Literal:
    """Algorithms 1 and 2 on the states of the interpreter that replays runs, in fractions."""

    def __init__(self, query: ParticipantQuery) -> None:
        self.system = query.system
        self.participant = with_conformance_of_the_paper(query.participant, query.system)
        self.interpreter = Interpreter(query.system)
        self.worth: dict[int, Fraction] = {}
        for one in self.participant.worth:
            for step in one.steps:
                self.worth[step] = self.worth.get(step, Fraction(0)) + one.amount
        self.visited: set[object] = set()

    def least(self, target: Callable[[State, Fraction], bool]) -> Fraction:
        @cache
        def probability(key: tuple[Value, ...], utility: Fraction) -> Fraction:
            state = dict(zip(self.system.variable, key, strict=True))
            self.visited.add(key)
            choices = list(self._choices(state))
            if not choices:
                return Fraction(int(target(state, utility)))
            values = []
            for belief, distribution in choices:
                total = Fraction(0)
                for event, (share, successors) in enumerate(distribution):
                    self.visited.add((key, belief, event))
                    after = (
                        probability(tuple(state[name] for name in self.system.variable), utility + made)
                        for state, made in successors
                    )
                    total += share * min(after)
                values.append(total)
            return min(values)

        (initial,) = self.interpreter.initial_states()
        return probability(tuple(initial[name] for name in self.system.variable), Fraction(0))

    def _choices(self, state: State) -> Iterator[tuple[int, list[tuple[Fraction, list[tuple[State, Fraction]]]]]]:
        """Yield each belief that applies, with the probability and the successors of its events."""
        for number, belief in enumerate(self.participant.beliefs):
            if holds(belief.condition, state):
                events = [
                    (
                        one.low,
                        [
                            (after, self.worth.get(step, Fraction(0)))
                            for step in one.steps
                            if self.interpreter.is_enabled(state, step)
                            for after in self.interpreter.after(state, step)
                        ],
                    )
                    for one in belief.events
                ]
                if all(successors for _, successors in events):
                    yield number, events


@pytest.mark.parametrize(
    ("copies", "printed", "reconstructed"),
    [(1, 23, 23), (2, 408, 421), (3, 6_480, 8_117), (4, 96_768, 160_609), (5, 1_389_312, 3_203_093)],
)
def test_numbers_of_states_of_the_trade(copies: int, printed: int, reconstructed: int) -> None:
    work = _analysis(_query(_EXAMPLE, copies=str(copies))).work
    assert (work.printed_states, work.reconstructed_states) == (printed, reconstructed)


@pytest.mark.parametrize("copies", [1, 2])
def test_printed_number_is_that_of_the_explored_whole(copies: int) -> None:
    query = _query(_EXAMPLE, copies=str(copies))
    whole = _analysis(query, reduction=False).work
    assert whole.parts == 1
    assert whole.states == whole.printed_states == _analysis(query).work.printed_states
    assert whole.reconstructed_states is None


@pytest.mark.parametrize("text", [_EXAMPLE, _SHARED_STOCK])
@pytest.mark.parametrize("reduction", [True, False])
def test_figures_are_those_of_a_literal_reading(text: str, reduction: bool) -> None:
    query = _query(text)
    analysis, literal = _analysis(query, reduction=reduction), _Literal(query)
    conforming, goals = literal.participant.conforming, literal.participant.goals
    expected = {
        "conformance": literal.least(lambda state, _: holds(conforming, state)),
        "achievement": literal.least(lambda state, _: all(holds(goal.condition, state) for goal in goals)),
        "benefit": literal.least(lambda _, utility: utility > 0),
    }
    assert {one.aspect: one.guaranteed.low for one in analysis.figures} == expected
    assert analysis.work.printed_states == len(literal.visited)


def test_own_choices_are_minimised_and_unbelieved_events_never_happen() -> None:
    text = """
    protocol P sync {
      role Ann
      role Bob
      commitment c = C(Ann, Bob, true, ship)
      Ann -> Bob : vow                means create c
      Ann -> Bob : ship   after vow
      Ann -> Bob : keep   after vow   means violate c
      choice ship | keep
      agent Pia plays Ann { believes Ann: vow 1 %s }
    }
    """
    both = "believes Ann when vow: ship 1  believes Ann when vow: keep 1"
    assert _analysis(_query(text % both)).figure("conformance").guaranteed.high == 0
    alone = "believes Ann when vow: ship 1"
    assert _analysis(_query(text % alone)).figure("conformance").guaranteed.low == 1
    assert _analysis(_query(text % "")).figure("conformance").guaranteed.high == 0


@pytest.mark.parametrize(
    ("head", "belief", "reason"),
    [("", "no 1", "channels"), ("sync", "no 0.5 | silent 0.5", "silence")],
)
def test_channels_and_silence_refused(head: str, belief: str, reason: str) -> None:
    text = f"""
    protocol P {head} {{
      role Ann
      role Bob
      Bob -> Ann : no
      agent Pia plays Ann {{ believes Bob: {belief} }}
    }}
    """
    with pytest.raises(NotInThePaper, match=reason):
        _analysis(_query(text))


def test_numbers_of_states_are_data(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(Path(__file__).parents[2] / "examples" / "ecommerce_paper.cpl")
    assert run(["analyze", path, "--semantics", "paper", "--format", "json"]) == 0
    work = json.loads(capsys.readouterr().out)["agents"][0]["work"]
    assert (work["printed_states"], work["reconstructed_states"]) == (408, 421)
    run(["analyze", path, "--semantics", "paper", "--format", "json", "-D", "copies=100"])
    work = json.loads(capsys.readouterr().out)["agents"][0]["work"]
    assert (work["printed_states"], work["reconstructed_states"]) == (None, None)
