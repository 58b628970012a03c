"""Given plans: what a document says is what is played, its exact figures lie in the interval, and the judge agrees."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.reference.decisions import ASPECTS, Action, Game, NotAGame, TooManyPlans
from tests.support.decision_verdicts import game_of
from tests.support.generators.decision_games import NAME, ROLE, Draft, decision_games
from tests.support.random_examples import examples

import cplc
from cplc.cli.main import run
from cplc.compilation import CplCompilation
from cplc.compilation.findings import analysis_finding
from cplc.compilation.participants import AnalysisOptions, ParticipantQuery, estimate_participant, participants
from cplc.decision.plan_document import UnreadablePlan, plan_document
from cplc.decision.results import Bounds
from cplc.decision.statistical import Estimate, Sampling
from cplc.runtime.context import ResourceExhausted
from cplc.source import Source

_EXAMPLES = Path(__file__).parents[2] / "examples"
_NAMES = sorted(path.stem for path in _EXAMPLES.glob("*.cpl") if "\n  agent " in path.read_text(encoding="utf-8"))
_SAMPLING = Sampling(400, seed=1, confidence=0.99999)
_CLOSE = 1e-9


def _queries(name: str) -> tuple[ParticipantQuery, ...]:
    return participants(cplc.compile((_EXAMPLES / f"{name}.cpl").read_text()))


def _estimate(query: ParticipantQuery, document: object, sampling: Sampling = _SAMPLING) -> Estimate:
    plan = plan_document(json.dumps(document)).plan_of(query.participant.name, query.assumption)
    return estimate_participant(query, sampling, plan)


def _guaranteed(estimate: Estimate) -> dict[str, Bounds]:
    figures = {one.aspect: one.guaranteed for one in estimate.every}
    return {aspect: bounds for aspect, bounds in figures.items() if bounds is not None}


def _check_intervals(estimate: Estimate) -> None:
    for one in estimate.every:
        assert one.guaranteed is not None
        assert float(one.bounds.low) - _CLOSE <= float(one.guaranteed.low) <= float(one.bounds.high) + _CLOSE, one


@pytest.mark.parametrize(
    ("name", "position"),
    [
        pytest.param(name, position, id=f"{name}-{query.participant.name}-{position}")
        for name in _NAMES
        for position, query in enumerate(_queries(name))
    ],
)
def test_computed_plan_that_is_read_again_has_the_same_figures(name: str, position: int) -> None:
    query = _queries(name)[position]
    finding = analysis_finding(query, AnalysisOptions(sensitivity=False))
    report = json.loads(json.dumps(finding.data()))
    plans: list[tuple[dict[str, object], dict[str, Bounds]]] = []
    for figure, data in zip(finding.analysis.figures, report["aspects"], strict=True):
        if data["advice"] is not None and data["advice"]["situations"]:
            plans.append((data["advice"], {figure.aspect: figure.guaranteed}))
    for result, data in zip(finding.analysis.lines, report["lines"], strict=True):
        if data["plan"] is not None and data["plan"]["situations"]:
            assert result.plan is not None
            plans.append((data["plan"], dict(result.plan.figures)))
    assert plans or name not in ("marketplace", "translation", "ecommerce")
    for document, figures in plans:
        estimate = _estimate(query, document)
        again = _guaranteed(estimate)
        for aspect, bounds in figures.items():
            assert float(again[aspect].low) == pytest.approx(float(bounds.low), abs=_CLOSE), (aspect, document)
        assert estimate.unnamed == ()
        _check_intervals(estimate)


def test_document_of_the_command_is_a_plan_of_its_agents() -> None:
    query = next(one for one in _queries("marketplace") if one.participant.name == "Tom")
    data = analysis_finding(query, AnalysisOptions(sensitivity=False)).data()
    report = {"command": "analyze", "agents": [data]}
    assert _estimate(query, report) == _estimate(query, json.loads(json.dumps(data))["lines"][0]["plan"])


# --- plans written by hand

_SHOP = """
protocol Shop sync {
  role Ann
  role Bob
  role Cyd
  commitment goods = C(Ann, Bob, pay, ship)
  Bob -> Ann : ask
  Ann -> Bob : cheap   after ask  means create goods
  Ann -> Bob : dear    after ask  means create goods
  choice cheap | dear
  Bob -> Ann : pay     after cheap | dear
  Ann -> Bob : ship    after pay
  agent Pia plays Ann {
    goal pay
    value pay: +10, ship: -4
    believes Bob: ask 1
    believes Bob when cheap: pay 0.8 | silent 0.2
    believes Bob when dear: pay 0.3 | silent 0.7
  }
}
"""
_CHEAP = {"sees": {"ask": True}, "steps": ["cheap"]}
_DEAR = {"sees": {"ask": True}, "steps": ["dear"]}
_SHIP = {"sees": {"pay": True}, "steps": ["ship"]}


def _shop() -> ParticipantQuery:
    (query,) = participants(cplc.compile(_SHOP))
    return query


def test_plan_by_hand_has_its_own_exact_figures() -> None:
    for steps, chance in ((_CHEAP, Fraction(4, 5)), (_DEAR, Fraction(3, 10))):
        estimate = _estimate(_shop(), {"situations": [steps, _SHIP]})
        exact = {"conformance": Fraction(1), "achievement": chance, "benefit": chance, "value": 6 * chance}
        figures = _guaranteed(estimate)
        assert figures.keys() == exact.keys()
        assert all(float(figures[aspect].low) == pytest.approx(float(exact[aspect])) for aspect in exact)
        assert all(figures[aspect].is_exact for aspect in ("conformance", "achievement", "value"))
        assert estimate.unnamed == ()
        _check_intervals(estimate)


def test_plan_waits_where_it_names_nothing_and_says_so() -> None:
    estimate = _estimate(_shop(), {"situations": [{"sees": {"ask": True, "pay": False}, "steps": ["dear"]}]})
    figures = _guaranteed(estimate)
    assert figures["conformance"].low == Fraction(7, 10)
    assert figures["value"].low == 3
    assert estimate.unnamed is not None
    assert len(estimate.unnamed) == 1
    assert dict(estimate.unnamed[0])["pay@Ann"] is True


def test_more_specific_situation_decides() -> None:
    general, specific = {"sees": {}, "steps": ["cheap"]}, {**_DEAR, "sees": {"ask": True, "pay": False}}
    for situations in ([general, specific, _SHIP], [_SHIP, specific, general]):
        assert _guaranteed(_estimate(_shop(), {"situations": situations}))["achievement"].low == Fraction(3, 10)


_COPIES = """
protocol Copies sync {
  role Ann
  role Bob[3]
  for i in 1..3 {
    Ann -> Bob[i] : offer
    Bob[i] -> Ann : pay    after offer
    Bob[i] -> Ann : leave  after offer
    choice pay | leave
  }
  agent Pia plays Ann {
    value offer: -1, pay: +2
    for i in 1..3 {
      believes Bob[i]: pay[i] 0.75 | leave[i] 0.25
    }
  }
}
"""
_OFFER = {"sees": {}, "steps": ["offer[1]"]}


@pytest.mark.parametrize(
    ("document", "value", "benefit"),
    [
        ({"situations": []}, "0", "0"),
        ({"situations": [_OFFER]}, "3/2", "27/32"),
        ({"situations": [_OFFER], "never": ["offer[2]", "offer[3]"]}, "1/2", "3/4"),
        ({"situations": [_OFFER, {"sees": {"offer[2]": False}, "steps": ["wait"]}]}, "1", "9/16"),
        # The second offer follows only a payment, so that the first two copies are one part.
        (
            {"situations": [_OFFER, {"sees": {"pay[1]": True}, "steps": ["offer[2]"]}], "never": ["offer[3]"]},
            "7/8",
            "9/16",
        ),
    ],
)
def test_situations_of_one_copy_are_those_of_all_that_have_none(document: object, value: str, benefit: str) -> None:
    (query,) = participants(cplc.compile(_COPIES))
    estimate = _estimate(query, document)
    figures = _guaranteed(estimate)
    assert float(figures["value"].low) == pytest.approx(float(Fraction(value)))
    assert float(figures["benefit"].low) == pytest.approx(float(Fraction(benefit)))
    _check_intervals(estimate)


# --- documents that cannot be played


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "it is not JSON"),
        ("[" * 100_000, "nested too deeply"),
        ("[]", "no object"),
        ("{}", "neither `situations` nor `agents`"),
        ('{"situations": 3}', "situations is not a list"),
        ('{"situations": [3]}', "situations[0] is not an object"),
        ('{"situations": [], "plan": 1}', "`plan` is no field of a plan"),
        ('{"situations": [], "agent": 1}', "`agent` is not a name"),
        ('{"situations": [], "never": "ship"}', "never is not a list of names"),
        ('{"situations": [{"sees": {}}]}', "situations[0].steps is not a list"),
        ('{"situations": [{"sees": {}, "steps": []}]}', "steps is empty"),
        ('{"situations": [{"steps": ["ship"]}]}', "situations[0].sees is not an object"),
        ('{"situations": [{"sees": {}, "steps": ["ship"], "when": 1}]}', "`when` is no field of a situation"),
        ('{"situations": [{"sees": {"ask": 1.5}, "steps": ["ship"]}]}', "no value of a variable"),
        ('{"situations": [{"sees": {"ask": 1}, "steps": ["ship"]}]}', "`ask` is never 1"),
        ('{"situations": [{"sees": {"asks": true}, "steps": ["ship"]}]}', "did you mean `ask`?"),
        ('{"situations": [{"sees": {"pay@Bob": true}, "steps": ["ship"]}]}', "sees no variable `pay@Bob`"),
        ('{"situations": [{"sees": {"ask": true, "ask@Ann": false}, "steps": ["ship"]}]}', "has two values"),
        ('{"situations": [{"sees": {}, "steps": ["shipp"]}]}', "has no step `shipp`; did you mean `ship`?"),
        ('{"situations": [{"sees": {}, "steps": ["pay"]}]}', "has no step `pay`"),
        ('{"situations": [], "never": ["wait"]}', "never: `Pia` has no step `wait`"),
        ('{"situations": [{"sees": {}, "steps": ["ship"]}], "never": ["ship"]}', "it contradicts `never`"),
        ('{"situations": [{"sees": {"ask": true}, "steps": ["cheap", "dear"]}]}', "several steps"),
        ('{"situations": [{"sees": {}, "steps": ["cheap", "wait"]}]}', "several steps"),
        ('{"agent": "Sam", "situations": []}', "it is a plan of `Sam`, not of `Pia`"),
        ('{"agents": []}', "it says nothing about an agent `Pia`"),
        ('{"agents": [1]}', "agents[0] is not an object"),
        ('{"agents": [{"agent": "Pia", "assuming": "Bob"}]}', "it has no plan of `Pia` without an assumption"),
        ('{"agents": [{"agent": "Pia"}]}', "it has no plan of `Pia`"),
        ('{"agents": [{"agent": "Pia", "lines": 1}]}', "agents[0].lines is not a list"),
        ('{"agents": [{"agent": "Pia", "lines": [{"plan": {}}]}]}', "agents[0].lines[0].plan.situations is not a list"),
    ],
)
def test_unplayable_document_is_refused_with_its_place(text: str, reason: str) -> None:
    with pytest.raises(UnreadablePlan) as problem:
        estimate_participant(_shop(), _SAMPLING, plan_document(text).plan_of("Pia", ""))
    assert reason in str(problem.value)


def test_situations_that_see_the_same_contradict_each_other() -> None:
    with pytest.raises(UnreadablePlan, match=r"situations\[1\]: it contradicts situations\[0\], which sees the same"):
        _estimate(_shop(), {"situations": [_CHEAP, {**_DEAR, "sees": {"ask@Ann": True}}]})


def test_contradiction_counts_only_where_a_run_comes() -> None:
    unrelated = {"sees": {"dear": False}, "steps": ["cheap"]}
    with pytest.raises(UnreadablePlan, match="contradict each other"):
        _estimate(_shop(), {"situations": [_DEAR, unrelated]})
    unreached = {"sees": {"dear": True}, "steps": ["wait"]}
    _estimate(_shop(), {"situations": [_CHEAP, unreached]})


def test_report_with_several_plans_of_an_agent_is_refused() -> None:
    advice = [{"advice": {"situations": [steps]}} for steps in (_CHEAP, _DEAR)]
    with pytest.raises(UnreadablePlan, match=r"several plans of `Pia`.*`agents\[0\].aspects\[1\].advice`"):
        _estimate(_shop(), {"agents": [{"agent": "Pia", "aspects": advice}]})
    line = {"plan": {"situations": [_CHEAP]}}
    estimate = _estimate(_shop(), {"agents": [{"agent": "Pia", "aspects": advice, "lines": [line]}]})
    assert _guaranteed(estimate)["achievement"].low == Fraction(4, 5)


def test_model_that_only_counts_agents_is_not_played() -> None:
    market = cplc.compile((_EXAMPLES / "marketplace.cpl").read_text().replace("buyers: 1..12 = 3", "buyers: 1..12 = 6"))
    (query, *_) = participants(market, ["Sam"])
    with pytest.raises(ResourceExhausted, match="only counted"):
        _estimate(query, {"situations": [{"sees": {"ask[1]": True}, "steps": ["offer[1]"]}]}, Sampling(1))


_ROUND = """
protocol Round sync {
  role A
  role B
  A -> B : ping               repeatable
  B -> A : pong  after ping   repeatable
  agent Ann plays A {
    goal pong
    value pong: +1, ping: -2
    believes B when ping: pong 0.5 | silent 0.5
  }
}
"""


def test_runs_of_a_plan_that_goes_round_forever_count_as_either() -> None:
    (query,) = participants(cplc.compile(_ROUND))
    estimate = _estimate(query, {"situations": [{"sees": {}, "steps": ["ping"]}]}, Sampling(3))
    assert [one.unfinished for one in estimate.figures] == [3, 3, 3]
    assert all(one.bounds == Bounds(0.0, 1.0) for one in estimate.figures)
    assert _guaranteed(estimate)["conformance"].low == 0
    once = _estimate(query, {"situations": [{"sees": {"ping": False}, "steps": ["ping"]}]})
    assert {aspect: float(one.low) for aspect, one in _guaranteed(once).items()} == pytest.approx(
        {"conformance": 1, "achievement": 0.5, "benefit": 0, "value": -1.5}
    )
    _check_intervals(once)


def test_files_that_cannot_be_read_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    protocol, plan = tmp_path / "shop.cpl", tmp_path / "plan.json"
    protocol.write_text(_SHOP, encoding="utf-8")

    def refusal() -> str:
        assert run(["analyze", str(protocol), "--runs", "2", "--plan", str(plan)]) == 2
        return capsys.readouterr().err

    plan.write_bytes(b"\xff\xfe{}")
    assert "it is not UTF-8" in refusal()
    monkeypatch.setattr("cplc.decision.plan_document.MAX_PLAN_BYTES", 10)
    plan.write_text('{"situations": []}', encoding="utf-8")
    assert "more than 10 bytes" in refusal()


# --- comparison with the judge


_MOST_RULES = 5


@dataclass(frozen=True)
class _Rule:
    """A situation of a random plan: which messages were sent or have come, and what is sent then."""

    sees: Mapping[str, bool]
    send: str


@examples(150)
@given(decision_games(), st.data())
def test_given_plan_has_the_figures_of_the_judge(draft: Draft, data: st.DataObject) -> None:
    compilation = CplCompilation(Source("game.cpl", draft.text()))
    (query,) = participants(compilation, [NAME])
    try:
        game = game_of(compilation.model, draft, limit=1000, plans=300)
    except (NotAGame, TooManyPlans):
        assume(False)
    rules = _random_rules(data.draw, query, game)
    possible = _possible(game, rules)
    kind = "exchange" if draft.sync else "send"
    situations = [
        {"sees": {f"{name}@{ROLE}": value for name, value in one.sees.items()}, "steps": [f"{kind} {one.send}"]}
        for one in rules
    ]
    try:
        estimate = _estimate(query, {"situations": situations}, Sampling(1))
    except UnreadablePlan as problem:
        if "contradict" not in str(problem) or not any(_is_ambiguous(game, names) for names in possible.values()):
            raise
        event("contradictory")
        return
    except ResourceExhausted:
        assume(False)
    sends: dict[int, Action] = {history: (names[0], ()) for history, names in possible.items() if names}
    figures = game.evaluate(sends).figures
    for aspect, bounds in _guaranteed(estimate).items():
        assert float(bounds.low) == pytest.approx(float(figures[ASPECTS.index(aspect)]), abs=_CLOSE), situations
    event(f"sends something: {figures != game.staying_away.figures}")


def _random_rules(draw: Callable[..., Any], query: ParticipantQuery, game: Game) -> list[_Rule]:
    """Return rules about messages of the component of the one that is sent, each for a state in which it can be."""
    plain = [one.name for one in game.model.messages if not one.parameters]
    plain = [name for name in plain if f"{name}@{ROLE}" in query.system.variable]
    rules: dict[tuple[tuple[str, bool], ...], _Rule] = {}
    for position in game.positions:
        own = [name for name, _ in position.actions if name in plain]
        if not own or len(rules) == _MOST_RULES or not draw(st.integers(0, 2)):
            continue
        send = draw(st.sampled_from(own))
        near = [name for name in plain if _home(game, name) == _home(game, send)]
        local = game.reference.local(position.node.state, ROLE)
        stated = draw(st.lists(st.sampled_from(near), unique=True))
        sees = {name: local["copy", name] is not None for name in sorted(stated)}
        rules.setdefault(tuple(sees.items()), _Rule(sees, send))
    return list(rules.values())


def _home(game: Game, message: str) -> object:
    return game.connected.component(("message", message))


def _possible(game: Game, rules: Sequence[_Rule]) -> dict[int, list[str]]:
    """Return what can be sent after each history of what the most specific rules of each component demand."""
    result = {}
    for history, actions in game._choices.items():
        position = next(one for one in game.positions if one.history == history)
        local = game.reference.local(position.node.state, ROLE)
        applying = [
            one for one in rules if all((local["copy", name] is not None) == value for name, value in one.sees.items())
        ]
        result[history] = [
            one.send
            for one in applying
            if (one.send, ()) in actions
            and not any(
                one.sees.items() < other.sees.items() and _home(game, one.send) == _home(game, other.send)
                for other in applying
            )
        ]
    return result


def _is_ambiguous(game: Game, sends: Sequence[str]) -> bool:
    """Return whether two of these are different messages of one component."""
    return len(set(sends)) > len({_home(game, send) for send in sends})
