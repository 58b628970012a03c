"""Slack of commitments: the largest delays of channels and bounds of roles under which each deadline is kept.

A commitment is kept under (k, d) if it is never violated on the runs on which every message is sent at most k ticks
after it became due, and is in flight for at most d ticks. Smaller bounds allow fewer runs, so the pairs that keep it
are closed downwards: a staircase walk finds the maximal ones with a number of questions linear in the deadline.
Messages by which the debtor violates or withdraws the commitment itself are never sent here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from cplc.checking.results import Question, Result
from cplc.checking.slack import Pair, Slack
from cplc.lowering.formulas import lower_formula
from cplc.lowering.lower import lower
from cplc.semantics import terms as t
from cplc.semantics.model import Bound, CheckedModel, Commitment, longest
from cplc.system.printer import formula_text

if TYPE_CHECKING:
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import EngineName

_BREAKING = ("violate", "withdraw")


def slack_of(compilation: CplCompilation, name: str, most: int, engine: EngineName) -> Slack | None:
    """Return the slack of a commitment; None if it has no deadline for its performance."""
    commitment = compilation.model.commitment[name]
    deadline = longest(commitment.within)
    if deadline is None:
        return None
    limit = min(deadline, most)
    results: dict[Pair, Result] = {}

    def is_kept(pair: Pair) -> bool:
        if pair not in results:
            results[pair] = next(_answers(compilation, commitment, pair, engine))
        return results[pair].answer in ("holds", "vacuous")

    delays: list[int] = []
    delay = 0 if compilation.model.sync else limit
    for bound in range(limit + 1):
        while delay >= 0 and not is_kept((bound, delay)):
            delay -= 1
        if delay < 0:
            break
        delays.append(delay)
    slack = Slack(
        name, commitment.debtor, commitment.creditor, deadline, limit, compilation.model.sync, tuple(delays), None,
        tuple(pair for pair, result in results.items() if result.answer not in ("holds", "vacuous", "fails")),
    )  # fmt: skip
    bound, delay = slack.middle or (-1, 0)
    critical = bound + 1, delay
    if critical[0] > limit or is_kept(critical) or results[critical].answer != "fails":
        return slack
    return replace(slack, critical=(critical, results[critical]))


def _answers(compilation: CplCompilation, commitment: Commitment, pair: Pair, engine: EngineName) -> Iterator[Result]:
    from cplc.compilation.interface import BoundQuestion

    model = bounded(compilation.model, commitment.name, pair)
    system = lower(model)
    violated = t.InState(commitment.name, frozenset({"violated"}), None)
    never = t.OverPaths("A", t.Apply("G", (t.Apply("!", (violated,)),)))
    formula = lower_formula(never, model, system)
    question = Question(
        name=commitment.name,
        kind="property",
        formula=formula,
        text=formula_text(formula),
        expected="holds",
        assuming=frozenset(role.name for role in model.roles),
        span=commitment.span,
        system=system,
    )
    return compilation.verify([BoundQuestion(question, system)], engine)


def bounded(model: CheckedModel, name: str, pair: Pair) -> CheckedModel:
    """Return the model with these bounds for all messages and channels, without messages that break the commitment."""
    bound, delay = pair
    messages = tuple(
        replace(message, guard=t.FALSE)
        if any(operation.commitment == name and operation.verb in _BREAKING for operation in message.operations)
        else message
        for message in model.messages
    )
    channels = dict.fromkeys((message.sender, message.receiver) for message in messages)
    sendable = tuple(message.name for message in messages if message.guard != t.FALSE)
    return replace(
        model,
        messages=messages,
        channel_delays=() if model.sync else tuple((channel, delay) for channel in channels),
        bounds=(Bound(sendable, bound),),
    )
