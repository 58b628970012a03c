"""The figure of a goal is 1 iff formulas about strategies say that the participant can bring it about.

There are no beliefs, and each goal stays true once it is. By full observation it is 1 iff ``<<role>> F goal`` holds.
The attained figure is 1 if that holds for uniform strategies, which look at the present local state alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.support.generators.decision_games import ROLE, Draft, decision_games
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.compilation.interface import Strategies
from cplc.compilation.participants import participants
from cplc.decision.analysis import guarantees
from cplc.decision.components import ComponentCache
from cplc.decision.game import Attitude
from cplc.logic.expressions import conj
from cplc.source import Source

EXAMPLES = Path(__file__).parents[2] / "examples"
_STRATEGIES: tuple[Strategies, Strategies] = ("full", "uniform")


def _with_questions(text: str, role: str, goals: Mapping[str, str], assumed: Sequence[str]) -> str:
    """Return the protocol with a property and an agent for each goal."""
    assuming = f" assuming {', '.join(assumed)}" if assumed else ""
    lines = []
    for name, goal in goals.items():
        lines.append(f"property enforced{name}{assuming}: <<{role}>> F ({goal})")
        lines.append(f"agent Goal{name} plays {role} {{ goal {goal} }}")
        lines.append(f"analyze Goal{name}{assuming}: achievement >= 1")
    return text[: text.rstrip().rfind("}")] + "\n  ".join(["", *lines]) + "\n}\n"


def _verdicts(text: str, names: Sequence[str], strategies: Strategies) -> dict[str, bool]:
    compilation = CplCompilation(Source("goals.cpl", text), strategies=strategies)
    results = compilation.verify(compilation.questions([f"enforced{name}" for name in names]))
    return {one.question.name.removeprefix("enforced"): one.answer in ("holds", "vacuous") for one in results}


def _is_certain(compilation: CplCompilation, name: str) -> tuple[bool, bool]:
    """Return whether the goal is certain for some plan, by full observation and as far as the participant sees."""
    (query,) = participants(compilation, [f"Goal{name}"])
    participant, assumed = query.participant, frozenset(query.assumed)
    cache = ComponentCache(query.system, participant, True, True, True, 20_000, Attitude.FREE, assumed)
    full = cache.bounds(cache.groups(conj(goal.condition for goal in participant.goals)), True)
    figures, _ = guarantees(query.system, participant, (), attitude=Attitude.FREE, assumed=assumed)
    attained = dict(figures)["achievement"]
    assert full.is_exact
    return full.low == 1, attained.low > 1 - Fraction(1, 10**9)


def _compare(text: str, names: Sequence[str]) -> Counter[str]:
    """Compare the verdicts with the figures; return how often each holds."""
    compilation = CplCompilation(Source("goals.cpl", text))
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    full, uniform = (_verdicts(text, names, strategies) for strategies in _STRATEGIES)
    counts: Counter[str] = Counter()
    for name in names:
        certain, attained = _is_certain(compilation, name)
        assert certain == full[name], name
        assert attained or not uniform[name], name
        assert certain or not attained, name
        counts.update({"full": full[name], "uniform": uniform[name], "fails": not full[name]})
    return counts


@pytest.mark.parametrize(
    ("example", "role", "assumed"),
    [
        ("confidentiality", "Firm", ["Lab"]),
        ("contract_net", "Mgr", ["Prt[1]", "Prt[2]"]),
        ("deadlines", "Worker", ["Client"]),
        ("translation", "Translator", ["Client"]),
        ("translation", "Translator", ["Client", "Reviewer"]),
    ],
)
def test_certain_goals_of_examples_are_enforced(example: str, role: str, assumed: Sequence[str]) -> None:
    text = (EXAMPLES / f"{example}.cpl").read_text()
    model = CplCompilation(Source("goals.cpl", text)).model
    names = [one.name for one in model.messages if role in (one.sender, *one.receivers)]
    goals = {str(at): name for at, name in enumerate(names[:6])}
    assert _compare(_with_questions(text, role, goals, assumed), list(goals))["full"]


@examples(15)
@given(decision_games(chance=False, values=False), st.sampled_from(((), ("Bob",), ("Bob", "Cyd"))))
def test_certain_goals_of_random_protocols_are_enforced(draft: Draft, assumed: tuple[str, ...]) -> None:
    assume(set(assumed) <= set(draft.roles))
    names = [one.name for one in draft.messages]
    goals = {str(at): f"{one} & {other}" for at, (one, other) in enumerate(pairwise(names))}
    goals["x"] = " | ".join(names[:2])
    event(str(sorted(_compare(_with_questions(draft.text(), ROLE, goals, assumed), list(goals)).items())))
