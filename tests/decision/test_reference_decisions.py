"""The judge of decisions: known values, closed forms, and what must hold of every game."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.reference.decisions import ASPECTS, Game, NotAGame, Outcome, TooManyPlans, co_operation
from tests.reference.logic import holds
from tests.reference.semantics import Reference
from tests.reference.timed import bounds_of
from tests.support.decision_verdicts import analysis_of, compare, game_of, lines_for
from tests.support.generators.decision_features import wide_games
from tests.support.generators.decision_games import NAME, ROLE, Draft, Sending, decision_games
from tests.support.oracles.games import TooManyStrategies
from tests.support.protocol_analysis import checked
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.decision import Bounds
from cplc.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"


def _shipped(name: str, agent: str, keep_going: Collection[str] = (), *, full: bool = False, **sizes: int) -> Game:
    text = (EXAMPLES / f"{name}.cpl").read_text()
    model = checked(text, {key: str(value) for key, value in sizes.items()})
    return Game(model, agent, keep_going, full_observation=full, limit=20_000)


def _game(body: str, agent: str, keep_going: Collection[str] = ()) -> Game:
    """Return the game of the participant `Pia` that plays `Ann`, in a protocol with Bob and Cyd."""
    roles = "role Ann\n  role Bob\n  role Cyd"
    text = f"cpl 2\nprotocol Game sync {{\n  {roles}\n{body}\n  agent Pia plays Ann {{\n{agent}\n  }}\n}}\n"
    return Game(checked(text), NAME, keep_going)


def _fractions(*texts: str) -> Outcome:
    one, two, three, four = map(Fraction, texts)
    return one, two, three, four


COIN = """
  Bob -> {watcher} : heads
  Bob -> {watcher} : tails
  choice heads | tails
  Ann -> Cyd : callHeads {after}
  Ann -> Cyd : callTails {after}
  choice callHeads | callTails
"""
GUESS = """
    goal heads & callHeads | tails & callTails
    believes Bob: heads 0.5 | tails 0.5
"""


def test_unseen_fair_coin_is_guessed_in_half_of_all_cases() -> None:
    game = _game(COIN.format(watcher="Cyd", after=""), GUESS)
    assert game.alone()[1] == Fraction(1, 2)
    assert game.staying_away.figures[1] == 0
    assert game.verdict([("achievement", ">=", Fraction(1, 2))]) == "take part"
    assert game.verdict([("achievement", ">", Fraction(1, 2))]) == "stay away"


def test_seen_coin_is_called_with_certainty() -> None:
    game = _game(COIN.format(watcher="Ann", after="after heads | tails"), GUESS)
    assert game.alone()[1] == 1


def test_unseen_coin_under_full_observation_is_an_upper_bound() -> None:
    text = COIN.format(watcher="Cyd", after="")
    game = _game(text, GUESS)
    observing = Game(game.model, NAME, full_observation=True)
    assert observing.composed_front(("achievement",)) == {(Fraction(1),)}


@pytest.mark.parametrize("keep_going", [(), ("Provider[1]",), ("Provider[1]", "Buyer[1]")])
def test_seller_of_the_paper(keep_going: Collection[str]) -> None:
    alice = _shipped("ecommerce", "Alice", keep_going, copies=1)
    assert alice.alone() == _fractions("0.846415", "0.846415", "0.9", "3.7139625")
    assert alice.staying_away.figures == _fractions("1", "0", "0", "0")


def test_bob_depends_on_his_provider() -> None:
    assert _shipped("ecommerce", "Bob", copies=1).alone()[1:] == _fractions("1", "0", "0", "0")[1:]
    assert _shipped("ecommerce", "Bob", ["Provider[1]"], copies=1).alone()[1] == Fraction("0.91")
    text = (EXAMPLES / "ecommerce.cpl").read_text()
    requirements = [("achievement", ">", Fraction("0.9"))]
    model = checked(text, {"copies": "1"})
    assert co_operation(lambda roles: Game(model, "Bob", roles), requirements) == [("Provider[1]",)]


def test_sam_sells_only_to_buyers_who_take_part() -> None:
    aspects = ("conformance", "achievement")
    assert _shipped("marketplace", "Sam", full=True).composed_front(aspects) == {(Fraction(1), Fraction(0))}
    buyers = [f"Buyer[{number}]" for number in (1, 2, 3)]
    together = _shipped("marketplace", "Sam", buyers, full=True).composed_front(aspects)
    assert together == {(Fraction(1), Fraction("0.648"))}


def test_plan_for_all_thresholds_is_one_plan() -> None:
    game = _game(
        """
  commitment goods = C(Ann, Bob, true, deliver)
  Bob -> Ann : pay
  Ann -> Bob : promise   after pay   means create goods
  Ann -> Bob : deliver   after promise
  Ann -> Cyd : keep      after promise
  choice deliver | keep
""",
        "    goal keep\n    value keep: +5\n    believes Bob: pay 1",
    )
    assert game.alone() == _fractions("1", "1", "1", "5")
    assert game.front(ASPECTS) == {_fractions("1", "0", "0", "0"), _fractions("0", "1", "1", "5")}
    requirements = [("achievement", ">", Fraction(0)), ("conformance", ">", Fraction(0))]
    assert game.verdict(requirements) == "stay away"
    assert game.verdict(requirements[:1]) == "take part"
    assert game.verdict(requirements[1:]) == "indifferent"


def test_nothing_is_guaranteed_of_a_role_about_which_nothing_is_believed() -> None:
    body = "  Ann -> Bob : offer\n  Bob -> Ann : pay after offer\n"
    assert _game(body, "    goal pay").alone()[1] == 0
    assert _game(body, "    goal pay", ["Bob"]).alone()[1] == 1
    with_a_greeting = body + "  Bob -> Cyd : hello\n"
    assert _game(with_a_greeting, "    goal pay", ["Bob"]).alone()[1] == 1


def test_walking_away_ends_a_losing_deal() -> None:
    body = """
  Bob -> Ann : offer
  Ann -> Bob : order   after offer
  Ann -> Bob : pay     after order
"""
    game = _game(body, "    value order: +1, pay: -5\n    believes Bob: offer 1")
    assert game.alone()[3] == 1
    assert game.staying_away.figures[3] == 0
    assert game.verdict([("value", ">", Fraction(0))]) == "take part"
    assert game.verdict([("value", ">", Fraction(1))]) == "stay away"


def test_beliefs_survive_hidden_steps() -> None:
    body = """
  Ann -> Bob : ask
  Bob -> Cyd : enquire   after ask
  Cyd -> Bob : report    after enquire
  Bob -> Ann : yes       after report
  Bob -> Ann : no        after report
  choice yes | no
"""
    agent = "    goal yes\n    believes Bob when ask: yes 0.7 | no 0.3"
    assert _game(body, agent).alone()[1] == Fraction("0.7")


TWO_ROUNDS = """cpl 2
protocol Stand sync {
  role Seller { var stock: 0..2 = 2 }
  role Buyer[2]
  for b in Buyer {
    b -> Seller : pay
    Seller -> b : ship  after pay  if stock > 0  set stock := stock - 1  restart
  }
  agent Pia plays Seller {
    goal forall b in Buyer: ship[b]
    value ship: +1
  }
}
"""


def test_round_of_one_buyer_ends_without_the_other() -> None:
    buyers = ["Buyer[1]", "Buyer[2]"]
    assert Game(checked(TWO_ROUNDS), NAME, buyers).alone() == _fractions("1", "1", "1", "2")
    for text in (TWO_ROUNDS, TWO_ROUNDS.replace("if stock > 0  set stock := stock - 1", "")):
        requirements = [("conformance", ">=", Fraction(1)), ("value", ">=", Fraction(2))]
        (line,) = analysis_of(
            text.replace("\n}\n", "\n  analyze Pia assuming Buyer: value >= 2\n}\n"), [requirements]
        ).lines
        assert line.verdict == "take part"


@pytest.mark.parametrize(("goal", "figure"), [("serve[1] & !serve[2]", 1), ("serve[1] & !ask[2]", 0)])
def test_components_that_look_alike_have_goals_of_their_own(goal: str, figure: int) -> None:
    text = f"""cpl 2
protocol Stand sync {{
  role Seller
  role Buyer[2]
  for b in Buyer {{
    b -> Seller : ask
    Seller -> b : serve  after ask
    Seller -> b : deny   after ask
    choice serve | deny
  }}
  agent Pia plays Seller {{ goal {goal} }}
  analyze Pia assuming Buyer: achievement >= 1
}}
"""
    analysis = analysis_of(text, [[("achievement", ">=", Fraction(1))]])
    assert analysis.figure("achievement").guaranteed.low == figure
    assert analysis.lines[0].verdict == ("take part" if figure else "stay away")


def test_coin_of_another_component_is_within_the_bounds() -> None:
    """A plan may toss the coin of Dan after Bob has chosen, which plans for each component by itself cannot."""
    text = """cpl 2
protocol Game sync {
  role Ann
  role Bob
  role Cyd
  role Dan
  Bob -> Cyd : heads
  Bob -> Cyd : tails
  choice heads | tails
  Bob -> Ann : ready  after heads | tails
  Ann -> Cyd : callHeads
  Ann -> Cyd : callTails
  choice callHeads | callTails
  Ann -> Dan : toss
  Dan -> Ann : one  after toss
  Dan -> Ann : two  after toss
  choice one | two
  agent Pia plays Ann {
    goal heads & callHeads | tails & callTails
    value toss: +1
    believes Dan when toss: one 0.5 | two 0.5
  }
  analyze Pia assuming Bob: achievement > 0.4
}
"""
    analysis = analysis_of(text, [[("achievement", ">", Fraction("0.4"))]])
    bounds = analysis.figure("achievement").guaranteed
    assert bounds.low <= Fraction(1, 2) <= bounds.high
    assert analysis.lines[0].verdict in ("take part", "undecided")


ELSEWHERE = """
  Ann -> Bob : order
  Ann -> Dan : toss
  Dan -> Ann : one  after toss
  Dan -> Ann : two  after toss
  choice one | two
"""
TOSSES = "believes Dan when toss: one 0.01 | two 0.99"


@pytest.mark.parametrize(
    ("values", "value"),
    [("order: -1", -1), ("order: -1, toss: 0", -1), ("order: -1, toss: -0.5", Fraction(-1, 2))],
)
def test_coin_elsewhere_does_not_decide_whether_to_take_part(values: str, value: Fraction) -> None:
    """To order only where the coin shows one would cost a hundredth; a toss that has a cost counts itself."""
    agent = f"    value {values}\n    {TOSSES}"
    text = f"""cpl 2
protocol Game sync {{
  role Ann
  role Bob
  role Dan
{ELSEWHERE}
  agent Pia plays Ann {{
{agent}
  }}
  analyze Pia: value >= {float(value)}
  analyze Pia: value >= -0.1 expect fails
}}
"""
    game = Game(checked(text), NAME)
    assert game.alone()[3] == value
    for reduction in (True, False):
        lines = [[("value", ">=", value)], [("value", ">=", Fraction("-0.1"))]]
        analysis = analysis_of(text, lines, reduction=reduction)
        assert analysis.gain is not None
        assert analysis.gain.guaranteed == Bounds(value, value)
        assert [line.verdict for line in analysis.lines] == ["indifferent", "stay away"]
        assert [game.verdict(line) for line in lines] == ["indifferent", "stay away"]


def test_coin_that_touches_nothing_does_not_help_to_guess() -> None:
    body = COIN.format(watcher="Cyd", after="") + "  Bob -> Ann : ready after heads | tails"
    text = """cpl 2
protocol Game sync {
  role Ann
  role Bob
  role Cyd
  role Dan
""" + body + ELSEWHERE.replace("  Ann -> Bob : order\n", "") + """
  agent Pia plays Ann {
    goal heads & callHeads | tails & callTails
    believes Dan when toss: one 0.5 | two 0.5
  }
  analyze Pia assuming Bob: achievement > 0.4 expect fails
}
"""  # fmt: skip
    assert Game(checked(text), NAME, ["Bob"]).alone()[1] == 0
    analysis = analysis_of(text, [])
    assert analysis.figure("achievement").guaranteed == Bounds(Fraction(0), Fraction(0))


@pytest.mark.parametrize(("bounded", "figure"), [("", "0"), (", yes within 1", "0.6"), (", Bob within 1", "0.9")])
def test_clock_does_not_wait_for_silence(bounded: str, figure: str) -> None:
    """The deadline of Bob passes where he stays silent, although he is assumed to answer within a tick."""
    text = f"""cpl 2
protocol Wait sync {{
  role Ann
  role Bob
  commitment k = C(Bob, Ann, true, yes | no)  within 3
  Ann -> Bob : ask
  Bob -> Ann : promise after ask  means create k
  Bob -> Ann : yes     after promise
  Bob -> Ann : no      after promise
  choice yes | no
  agent Pia plays Ann {{
    goal !violated(k)
    believes Bob when promise: yes 0.6 | no 0.3 | silent 0.1
  }}
  analyze Pia assuming promise, Ann within 0{bounded}: achievement >= {figure}
}}
"""
    compilation = CplCompilation(Source("wait.cpl", text))
    line = compilation.model.analyses[0]
    plain, bounds = bounds_of(compilation.model, line.assumption.split(", "))
    game = Game(compilation.model, NAME, {*plain, *bounds}, bounds=bounds)
    assert game.alone()[1] == Fraction(figure)
    guaranteed = analysis_of(text, []).figure("achievement").guaranteed
    assert guaranteed == Bounds(Fraction(figure), Fraction(figure))


def test_belief_about_alternatives_that_nothing_leads_to_does_not_count() -> None:
    body = """
  Ann -> Bob : ask
  Bob -> Ann : yes   after ask
  Bob -> Ann : no    after ask & yes
  choice yes | no
"""
    agent = "    goal yes\n    believes Bob when ask: yes 0.7 | no 0.3"
    assert _game(body, agent).alone()[1] == 0


# --- the analysis


@examples(40)
@given(st.one_of(decision_games(), wide_games()), st.lists(st.integers(0, 1023), min_size=1, max_size=2))
def test_analysis_agrees_with_the_judge(draft: Draft, picks: list[int]) -> None:
    counts: Counter[str] = Counter()
    with suppress(TooManyPlans, NotAGame):
        game = game_of(checked(draft.text()), draft, limit=400, plans=60)
        compare(draft, lines_for(game, picks), counts)


# --- every game


def _judge(draft: Draft, keep_going: Collection[str] = (), **options: bool) -> Game:
    """Return the judge's game, if the protocol is one and not too large."""
    try:
        return Game(checked(draft.text()), NAME, keep_going, limit=400, plans=60, **options)  # type: ignore[arg-type]
    except (TooManyPlans, NotAGame):
        assume(False)
        raise


def _alone(game: Game) -> Outcome:
    try:
        return game.alone()
    except TooManyPlans:
        assume(False)
        raise


def _best(game: Game) -> Outcome:
    """Return the best of each figure by itself, over all plans."""
    _alone(game)
    one, two, three, four = (max(plan.figures[at] for plan in game.plans) for at in range(4))
    return one, two, three, four


@examples(40)
@given(decision_games())
def test_some_move_is_possible_or_the_run_may_end(draft: Draft) -> None:
    game = _judge(draft)
    _alone(game)
    assert game.stuck == 0


@examples(40)
@given(decision_games())
def test_renaming_changes_no_figure(draft: Draft) -> None:
    game = _judge(draft)
    figures = _alone(game)
    again = checked(draft.renamed())
    assert Game(again, again.participants[0].name).alone() == figures


@examples(40)
@given(decision_games())
def test_message_of_others_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    game = _judge(draft)
    receiver = "Cyd" if "Cyd" in draft.roles else ROLE
    more = replace(draft, messages=(*draft.messages, Sending("u0", "Bob", receiver)))
    assert _alone(_judge(more)) == _alone(game)


@examples(40)
@given(decision_games())
def test_role_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    game = _judge(draft)
    messages = (*draft.messages, Sending("u0", "Zed", "Bob"), Sending("u1", "Bob", "Zed", "u0"))
    more = replace(draft, roles=(*draft.roles, "Zed"), messages=messages)
    assert _alone(_judge(more)) == _alone(game)


@examples(40)
@given(decision_games())
def test_own_message_that_touches_nothing_changes_no_figure(draft: Draft) -> None:
    game = _judge(draft)
    messages = (*draft.messages, Sending("u0", ROLE, "Zed"), Sending("u1", "Zed", ROLE, "u0"))
    more = replace(draft, roles=(*draft.roles, "Zed"), messages=messages)
    assert _alone(_judge(more)) == _alone(game)


@examples(40)
@given(decision_games())
def test_more_freedom_of_the_participant_never_lowers(draft: Draft) -> None:
    game = _judge(draft)
    more = replace(draft, messages=(*draft.messages, Sending("a9", ROLE, "Bob")), goals=draft.goals)
    assert all(map(Fraction.__ge__, _best(_judge(more)), _best(game)))


@examples(40)
@given(decision_games())
def test_full_observation_is_never_worse(draft: Draft) -> None:
    game = _judge(draft)
    seeing = _judge(draft, full_observation=True)
    for position, aspect in enumerate(ASPECTS):
        (best,) = seeing.composed_front((aspect,))
        assert best[0] >= _alone(game)[position]


@examples(60)
@given(decision_games(chance=False, values=False), st.sampled_from(((), ("Bob",), ("Cyd",), ("Bob", "Cyd"))))
def test_goal_is_certain_where_the_participant_can_enforce_it(draft: Draft, assumed: tuple[str, ...]) -> None:
    """It is 1 for a plan without memory iff a uniform strategy enforces it, and by full observation iff any does."""
    assume(set(assumed) <= set(draft.roles))
    draft = _with_stable_goal(draft)
    game = _judge(draft, assumed, memoryless=True)
    reference = Reference(game.model)
    graph, formula = reference.explore(2_000), game.model.properties[0].formula
    with suppress(TooManyPlans, TooManyStrategies):
        plans = [*game.plans, game.staying_away]
        uniformly = holds(reference, graph, formula, assumed, uniform=True)
        assert uniformly == any(plan.figures[1] == 1 for plan in plans)
        event(f"enforced uniformly: {uniformly}")
    observing = _judge(draft, assumed, full_observation=True)
    certain = (Fraction(1),) in observing.composed_front(("achievement",)) or game.staying_away.figures[1] == 1
    assert certain == holds(reference, graph, formula, assumed)
    event(f"enforced with full observation: {certain}")


def _with_stable_goal(draft: Draft) -> Draft:
    """Return the draft with a goal that stays true once it is, and a property that asks whether Ann can enforce it."""
    goal = draft.goals[0].replace("!", "")
    assume("violated" not in goal and "fulfilled" not in goal)
    return replace(draft, goals=(goal,), decisions=(), extra=(f"property enforced: <<{ROLE}>> F ({goal})",))
