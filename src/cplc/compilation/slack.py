"""Slack of commitments: the largest delays of channels and bounds of roles under which each deadline is kept.

A commitment is kept under some limits if it is never violated on the runs on which each role sends every message within
its bound from when it became due, and messages are in flight for at most the delay of their channel. A limit may also
be missing. Smaller limits allow fewer runs, so the limits that keep a commitment are closed downwards. Each limit alone
is found by doubling and bisection. For the limits together, all are raised at once as far as that keeps the commitment,
then in turns by one tick, and then one after the other, so that none can be raised any further.

Where all limits are 0, time may be unable to pass, which keeps the commitment on no run. Then the search begins at 1.
Messages by which the debtor violates or withdraws the commitment itself are never sent here. Where the debtor can spoil
it otherwise, up to two of its messages are left out, and named.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import combinations
from typing import TYPE_CHECKING, Literal

from cplc.checking.results import Question, Result
from cplc.checking.slack import Limited, Limits, Slack, Ticks
from cplc.language.groups import members
from cplc.lowering.formulas import lower_formula
from cplc.lowering.lower import lower
from cplc.semantics import terms as t
from cplc.semantics.model import Bound, CheckedModel, Commitment, longest
from cplc.system.printer import formula_text

if TYPE_CHECKING:
    from cplc.compilation.cpl import CplCompilation
    from cplc.compilation.interface import EngineName

MAX_MESSAGES_LEFT_OUT = 2
"""Maximum number of messages of the debtor that are left out together."""
MAX_TURNS = 4
"""Maximum number of turns in which each limit is raised by one tick."""
_BREAKING = ("violate", "withdraw")
_Chosen = Mapping[Limited, Ticks]


def slack_of(compilation: CplCompilation, name: str, most: int | None, engine: EngineName) -> Slack | None:
    """Return the slack of a commitment; None if it has no deadline for its performance."""
    commitment = compilation.model.commitment[name]
    if commitment.within is None:
        return None
    return _Search(compilation, commitment, most, engine).slack()


class _Search:
    """The search for the limits that keep one commitment."""

    def __init__(
        self, compilation: CplCompilation, commitment: Commitment, most: int | None, engine: EngineName
    ) -> None:
        self._compilation = compilation
        self._commitment = commitment
        self._most = most
        self._engine: EngineName = engine
        self._answers: dict[Limits, Literal["kept", "timelock", "violated", "undecided"]] = {}
        self._limited = limited(compilation.model, commitment)
        self._without: tuple[str, ...] = ()

    def slack(self) -> Slack:
        nothing: dict[Limited, Ticks] = dict.fromkeys(self._limited, 0)
        if self._is_kept(nothing) and self._answers[_limits(nothing)] == "timelock":
            nothing = dict.fromkeys(self._limited, 1)
        parties = self._commitment.name, self._commitment.debtor, self._commitment.creditor
        deadline = longest(self._commitment.within)
        assert deadline is not None
        if not self._is_kept(nothing) and not self._keep_without_own_messages(nothing):
            return Slack(*parties, deadline, None, (), self._run(nothing), self._undecided, self._most)
        alone = {one: self._largest(one, nothing) for one in self._limited}
        together = self._together(nothing, alone)
        return Slack(
            *parties,
            deadline,
            _limits(together),
            _limits(alone),
            self._critical(together),
            self._undecided,
            self._most,
            self._without,
            self._answers[_limits(together)] == "timelock",
            1 if 1 in nothing.values() else 0,
        )

    def _keep_without_own_messages(self, nothing: _Chosen) -> bool:
        """Leave out messages of the debtor so that the commitment can become active and is kept, if there are such."""
        answers, debtor = self._answers, self._commitment.debtor
        own = [message.name for message in self._compilation.model.messages if message.sender in members(debtor)]
        for number in range(1, MAX_MESSAGES_LEFT_OUT + 1):
            for self._without in combinations(own, number):
                self._answers = {}
                if self._is_kept(nothing) and self._decide(self._question(_limits(nothing), "active")) == "violated":
                    return True
        self._without, self._answers = (), answers
        return False

    def _together(self, nothing: _Chosen, alone: _Chosen) -> _Chosen:
        chosen = dict(nothing)
        for one in self._limited:
            if alone[one] is None and self._is_kept({**chosen, one: None}):
                chosen[one] = None
        raised = [one for one in self._limited if chosen[one] is not None]

        def at_once(ticks: int) -> dict[Limited, Ticks]:
            return {**chosen, **{one: _smaller(ticks, alone[one]) for one in raised}}

        highest = max((ticks for ticks in alone.values() if ticks is not None), default=0)
        lowest = min((ticks for ticks in chosen.values() if ticks is not None), default=0)
        chosen = at_once(self._bisected(lowest, highest + 1, lambda ticks: self._is_kept(at_once(ticks))))
        for one in raised * MAX_TURNS:
            higher = {**chosen, one: (chosen[one] or 0) + 1}
            if self._is_asked((chosen[one] or 0) + 1) and self._is_kept(higher):
                chosen = higher
        for one in raised:
            chosen[one] = self._largest(one, chosen)
        return chosen

    def _largest(self, one: Limited, chosen: _Chosen) -> Ticks:
        """Return the largest limit of one that keeps the commitment, given the limits of the others."""
        if self._is_kept({**chosen, one: None}):
            return None
        low = chosen[one]
        assert low is not None
        high = low + 1
        # Invariant: `low` keeps it. Some run violates it after finitely many ticks, which a large limit allows.
        while self._is_asked(high) and self._is_kept({**chosen, one: high}):
            low, high = high, 2 * high
        if not self._is_asked(high):
            assert self._most is not None
            high = self._most + 1
        return self._bisected(low, high, lambda ticks: self._is_kept({**chosen, one: ticks}))

    def _is_asked(self, ticks: int) -> bool:
        return self._most is None or ticks <= self._most

    def _bisected(self, low: int, high: int, is_kept: Callable[[int], bool]) -> int:
        """Return the largest number below ``high`` that keeps the commitment, as ``low`` does."""
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if is_kept(middle) else (low, middle)
        return low

    # --- questions

    @property
    def _undecided(self) -> tuple[Limits, ...]:
        return tuple(limits for limits, answer in self._answers.items() if answer == "undecided")

    def _is_kept(self, chosen: _Chosen) -> bool:
        """Return whether no run violates the commitment; there may be none because time cannot pass."""
        limits = _limits(chosen)
        if limits not in self._answers:
            self._answers[limits] = self._decide(self._question(limits))
        return self._answers[limits] in ("kept", "timelock")

    def _decide(self, question: Question) -> Literal["kept", "timelock", "violated", "undecided"]:
        from cplc.checking.verify import Verifier

        assert question.system is not None
        verifier = Verifier(question.system, self._engine)
        match verifier.decide(question):
            case "holds" | "vacuous":
                return "kept"
            case "fails":
                return "violated"
            case _:
                remarks = verifier.answer(question).remarks
                return "timelock" if any(remark.code == "timelock" for remark in remarks) else "undecided"

    def _critical(self, together: _Chosen) -> tuple[Limits, Result] | None:
        """Return the limits beyond, by the first limit that has one."""
        for one, ticks in together.items():
            if ticks is not None and ticks != self._most:
                return self._run({**together, one: ticks + 1})
        return None

    def _run(self, chosen: _Chosen) -> tuple[Limits, Result] | None:
        """Return the result for limits that do not keep the commitment; None if that was not decided."""
        from cplc.compilation.interface import BoundQuestion

        limits = _limits(chosen)
        if self._is_kept(chosen) or self._answers[limits] != "violated":
            return None
        question = self._question(limits)
        assert question.system is not None
        bound = BoundQuestion(question, question.system)
        return limits, next(iter(self._compilation.verify([bound], self._engine)))

    def _question(self, limits: Limits, state: str = "violated") -> Question:
        """Return whether the commitment is never in this state under these limits."""
        model = bounded(self._compilation.model, self._commitment.name, limits, self._without)
        system = lower(model)
        violated = t.InState(self._commitment.name, frozenset({state}), None)
        never = t.OverPaths("A", t.Apply("G", (t.Apply("!", (violated,)),)))
        formula = lower_formula(never, model, system)
        return Question(
            name=self._commitment.name,
            kind="property",
            formula=formula,
            text=formula_text(formula),
            expected="holds",
            assuming=frozenset(role.name for role in model.roles),
            span=self._commitment.span,
            system=system,
        )


def _limits(chosen: _Chosen) -> Limits:
    return tuple(chosen.items())


def _smaller(ticks: int, other: Ticks) -> int:
    return ticks if other is None else min(ticks, other)


def limited(model: CheckedModel, commitment: Commitment) -> tuple[Limited, ...]:
    """Return the families of roles that send, that of the debtor first, and the channels between families."""
    family = {role.name: role.family for role in model.roles}
    senders = dict.fromkeys(
        (*(family[one] for one in commitment.debtors), *(family[message.sender] for message in model.messages))
    )
    sending = {family[message.sender] for message in model.messages}
    channels = dict.fromkeys(
        (family[sender], family[receiver]) for message in model.messages for sender, receiver in message.channels
    )
    own = (Limited(sender) for sender in senders if sender in sending)
    return (*own, *(Limited(*ends) for ends in channels)) if not model.sync else tuple(own)


def bounded(model: CheckedModel, name: str, limits: Limits, without: tuple[str, ...] = ()) -> CheckedModel:
    """Return the model under these limits, without messages that break the commitment, nor these."""
    family = {role.name: role.family for role in model.roles}
    ticks = dict(limits)
    messages = tuple(
        replace(message, guard=t.FALSE)
        if message.name in without
        or any(operation.commitment == name and operation.verb in _BREAKING for operation in message.operations)
        else message
        for message in model.messages
    )

    queued = {(message.sender, receiver) for message in messages for receiver, _ in message.queues}

    def delays() -> Iterator[tuple[tuple[str, str], int]]:
        for sender, receiver in dict.fromkeys(channel for message in messages for channel in message.channels):
            delay = ticks.get(Limited(family[sender], family[receiver]))
            if delay is not None and (sender, receiver) not in queued:
                yield (sender, receiver), delay

    sent_within: dict[int, list[str]] = {}
    for message in messages:
        bound = ticks.get(Limited(family[message.sender]))
        if bound is not None and message.guard != t.FALSE:
            sent_within.setdefault(bound, []).append(message.name)
    return replace(
        model,
        messages=messages,
        channel_delays=tuple(delays()),
        bounds=tuple(Bound(tuple(names), bound) for bound, names in sorted(sent_within.items())),
    )
