"""Built-in checks: safety and liveness questions that every protocol can be asked.

Checks about reachable states drop the fairness conditions, so that they cover all of them. Checks about runs cover the
fair runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import combinations, product
from math import prod
from typing import Final, Literal

from cplc.checking import debt_checks as about_debts
from cplc.checking.commitment_formulas import (
    answering,
    are_consistent,
    can_be_honoured,
    enforces,
    is_judged_by_its_consequent,
    is_kept,
    is_open,
    is_unsettled,
    unable,
)
from cplc.checking.debt_checks import CLOSING, Listing, Part, mentioned, named, ways_to_close
from cplc.checking.monitor_variables import circles, with_tokens
from cplc.checking.results import Question, Refinement
from cplc.language.groups import side_text
from cplc.language.words import WORD
from cplc.logic import expressions
from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.source import Span
from cplc.system.commitments import Debts, standing_of
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Claim, Commitment, Message, Step, System
from cplc.system.printer import condition_text, expr_text
from cplc.system.synchronous import out_of_range

MAX_JOINT_CHOICES = 64
"""Maximum number of joint choices that are enumerated to find when an assignment is made."""


@dataclass(frozen=True)
class _CheckParts:
    parts: tuple[Part, ...]
    system: System | None = None
    listings: tuple[Listing, ...] = ()
    places: tuple[Span | None, ...] = ()
    """Source location of the declaration that each part is about, if known."""
    refinements: tuple[Refinement, ...] = ()
    causes: Callable[[int], Iterable[Refinement]] | None = None
    text: str = ""
    """The description of the check, if it differs from the usual one."""


@dataclass(frozen=True)
class Check:
    name: str
    build: Callable[[System, Debts], _CheckParts]
    advisory: bool = False
    build_uniform: Callable[[System, Debts], _CheckParts] | None = None
    """Build the check for uniform strategies, where each agent decides by its own observations."""
    subject: str = "commitments"
    """The declarations without which there is nothing to check, as a plural noun."""
    particular: str = ""
    """The same for protocols that have commitments, where the check covers only some commitments."""

    @property
    def description(self) -> str:
        return WORD[self.name].meaning


def build_check(
    name: str,
    system: System,
    debts: Debts,
    *,
    expected: Literal["holds", "fails"] = "holds",
    span: Span | None = None,
    uniform: bool = False,
) -> Question:
    """Return the question of a built-in check for the system."""
    check = CHECKS[name]
    parts_of_check = (check.build_uniform if uniform and check.build_uniform else check.build)(system, debts)
    lacking = check.particular if check.particular and system.commitments else check.subject
    return Question(
        name=name,
        kind="check",
        formula=f.And(tuple(formula for formula, _ in parts_of_check.parts)),
        text=(parts_of_check.text or check.description)
        if parts_of_check.parts
        else f"nothing to check, since there are no {lacking}",
        expected=expected,
        advisory=check.advisory,
        span=span,
        system=parts_of_check.system,
        findings=tuple(meaning for _, meaning in parts_of_check.parts),
        refinements=parts_of_check.refinements,
        causes=parts_of_check.causes,
        listings=parts_of_check.listings,
        places=() if span is not None else parts_of_check.places or (None,) * len(parts_of_check.parts),
    )


IN_RANGE = "in_range"


def in_range(system: System) -> tuple[Question, ...]:
    """Return the question whether every assignment stays in range, if some assignment might not."""
    return (range_question(system),) if system.hazards else ()


def range_question(system: System | None = None) -> Question:
    """Return the question whether every assignment stays in range; without a system it has no parts."""
    hazards = system.hazards if system is not None else ()
    parts = [(_never(condition, text), text) for text, condition, _ in hazards]
    return Question(
        name=IN_RANGE,
        kind="model",
        formula=f.And(tuple(formula for formula, _ in parts)),
        text="every assignment stays within the range of its variable",
        span=next((span for _, _, span in hazards), None),
        system=None if system is None else without_fairness(system),
        findings=tuple(text for _, text in parts),
    )


def deadlock_question(system: System) -> Question:
    """Return the question whether a synchronous system is free of deadlocks."""
    parts: list[Part] = []
    places: list[Span | None] = []
    for player in system.players:
        idle = e.conj(e.negate(action.allowed) for action in player.actions)
        if not e.is_false(idle):
            text = f"`{player.agent}` has no action in some reachable state, where all stop"
            parts.append((_never(idle, f"{player.agent} has no action"), text))
            places.append(player.span)
    going = f.OnPaths("E", f.Next(f.Atom(e.TRUE, "true")))
    able = e.conj(e.disj(action.allowed for action in player.actions) for player in system.players)
    stuck = f.And((f.Atom(able, "everybody has an action", in_words=True), f.Not(going)))
    leaving = list(_leaving(system))
    for text, condition, span in leaving:
        never = f.OnPaths(
            "A", f.Globally(f.Not(f.And((stuck, f.Atom(condition, f"{text} leaves its range", in_words=True)))))
        )
        line = f" in line {span.position[0]}" if span is not None else ""
        parts.append((never, f"`{text}`{line} leaves its range in some reachable state, where all stop"))
        places.append(span)
    elsewhere_in_range = f.Atom(
        e.negate(e.disj(condition for _, condition, _ in leaving)), "nothing else leaves its range", in_words=True
    )
    text = "in some reachable state all that can be done leads out of the range of a variable, and all stop"
    parts.append((f.OnPaths("A", f.Globally(f.Not(f.And((stuck, elsewhere_in_range))))), text))
    places.append(None)
    return Question(
        name="deadlock_free",
        kind="check",
        formula=f.And(tuple(formula for formula, _ in parts)),
        text="every reachable state has a successor",
        advisory=True,
        findings=tuple(finding for _, finding in parts),
        places=tuple(places),
    )


def _leaving(system: System) -> Iterator[tuple[str, e.Expr, Span | None]]:
    """Yield the assignments that may leave the range of their variable, and the states in which some choice does so."""
    for player in system.players:
        for change in (change for rule in player.rules for change in rule):
            possible = _possible(system, change.guard)
            for name, value in change.updates:
                where = e.conj((possible, out_of_range(system.variable[name].domain, value)))
                if not e.is_false(where):
                    yield f"{name} = {expr_text(value)}", where, change.span


def _possible(system: System, guard: e.Expr) -> e.Expr:
    """Over-approximate the states in which some joint choice satisfies the guard; exact if choices are few."""
    choosers = [player for player in system.players if player.choice in e.reads(guard)]
    if prod(len(player.actions) for player in choosers) > MAX_JOINT_CHOICES:
        return e.TRUE
    return e.disj(
        e.conj(
            (
                *(action.allowed for action in actions),
                e.substitute(
                    guard, {p.choice: e.Const(action.name) for p, action in zip(choosers, actions, strict=True)}
                ),
            )
        )
        for actions in product(*(player.actions for player in choosers))
    )


# --- vocabulary


def _is(commitment: Commitment, *states: str) -> e.Expr:
    return e.one_of(e.Read(commitment.variable), states)


def _state(commitment: Commitment, *states: str) -> Formula:
    return f.Or(tuple(f.Atom(_is(commitment, state), f"{state}({commitment.name})") for state in states))


def _condition_text(system: System, condition: e.Expr) -> str:
    """Return a condition of a commitment in the language of the user, ready to be pasted into a formula."""
    text = plain_text(system, condition)
    return f"({text})" if isinstance(condition, expressions.And | expressions.Or) else text


def plain_text(system: System, condition: e.Expr) -> str:
    """Return a condition in the language of the user."""
    names = {one.received.variable: e.Read(one.name) for one in system.messages if isinstance(one.received, e.Read)}
    return condition_text(system, condition, names)


def _nothing_open(system: System) -> Formula:
    return f.And(tuple(f.Not(is_unsettled(commitment)) for commitment in system.commitments))


def _never(condition: e.Expr, text: str) -> Formula:
    return f.OnPaths("A", f.Globally(f.Not(f.Atom(condition, text, in_words=True))))


def _always(formula: Formula) -> Formula:
    return f.OnPaths("A", f.Globally(formula))


def _some_time(formula: Formula) -> Formula:
    return f.OnPaths("E", f.Finally(formula))


def without_fairness(system: System) -> System | None:
    """Return the system for questions about all reachable states, where conditions of fairness would exclude some."""
    return _unrestricted(system) if system.fairness else None


@memoize_per_system
def _unrestricted(system: System) -> System:
    """Return the system without conditions of fairness: one for all checks, so that it is explored once.

    Where something stops the clock, time still passes.
    """
    return system.without_file_conditions if system.clock_may_stop else system.without_conditions


def _effects(system: System) -> Iterator[Step]:
    """Yield the steps by which messages take effect."""
    return (step for step in system.steps if step.is_effect)


# --- the checks


def _deadlock_free(system: System, debts: Debts) -> _CheckParts:
    parts, places = about_debts.parts_and_places(about_debts.left_owed(system, debts))
    refinements = tuple(about_debts.owed_states(system, debts))
    listings = tuple(about_debts.dormant(system, debts))
    return _CheckParts(parts, without_fairness(system), listings, places, refinements)


def _no_dangling(system: System, debts: Debts) -> _CheckParts:
    parts, places = about_debts.parts_and_places(about_debts.left_open(system, debts))
    refinements = tuple(about_debts.open_states(system, debts))
    return _CheckParts(parts, without_fairness(system), places=places, refinements=refinements)


def _no_debt_forgotten(system: System, debts: Debts) -> _CheckParts:
    parts, places = about_debts.parts_and_places(about_debts.forgotten(system, debts))
    return _CheckParts(parts, without_fairness(system), tuple(about_debts.taken_back(system)), places)


_APPLIES_IF: Final = {
    "create": "null({0}) | closed({0})", "fulfill": "open({0})", "violate": "active({0})", "release": "open({0})",
    "withdraw": "conditional({0}) | active({0})", "expire": "conditional({0})", "compensate": "violated({0})",
    "delegate": "conditional({0}) | active({0})", "assign": "conditional({0}) | active({0})",
    "suspend": "conditional({0}) | active({0})", "reactivate": "pending({0})",
}  # fmt: skip
"""The guard under which each operation applies to a commitment."""


def _sound(system: System, _: Debts) -> _CheckParts:
    parts: list[Part] = []
    places: list[Span | None] = []
    for step in _effects(system):
        for operation in step.operations:
            vain = e.conj((step.guard, e.negate(operation.applicable)))
            text = f"{step.event} would {operation.act} without effect"
            finding = f"`{step.event}` can take effect when `{operation.act}` does not apply"
            empowered = system.empowered(step, operation.commitment)
            if empowered is not None:
                finding = f"{finding}: {empowered} does not see `{operation.commitment}`; guard it by a message"
            elif (sender := _guarding_sender(system, step.event, operation.commitment)) is not None:
                finding = (
                    f"{finding}: {sender} asks for its state when it sends, which may change while it is in flight"
                )
            elif operation.verb in _APPLIES_IF and operation.commitment in system.commitment:
                finding = f"{finding}: guard it, `if {_APPLIES_IF[operation.verb].format(operation.commitment)}`"
            parts.append((_never(vain, text), finding))
            places.append(step.span)
    return _CheckParts(tuple(parts), without_fairness(system), places=tuple(places))


def _guarding_sender(system: System, event: str, commitment: str) -> str | None:
    """Return the sender of a message if the guard of its sending reads the sender's view of the commitment."""
    views = dict(system.commitment[commitment].views) if commitment in system.commitment else {}
    for step in system.steps:
        if step.event == event and step.kind == "send" and views.get(step.actor) in e.reads(step.guard):
            return step.actor
    return None


def _live(system: System, _: Debts) -> _CheckParts:
    """Require for each message that some run from some initial state receives it."""
    receipts: dict[str, list[e.Expr]] = {}
    for step in _effects(system):
        receipts.setdefault(step.event, []).append(step.guard)
    parts: list[Part] = []
    for message in system.messages:
        possible = f.Atom(e.disj(receipts.get(message.name, ())), f"{message.name} can be received", in_words=True)
        parts.append((on_some_run(system, possible), never_received(message)))
    places = tuple(message.span for message in system.messages)
    return _CheckParts(tuple(parts), places=places, causes=partial(_causes_of_silence, system))


def never_received(message: Message) -> str:
    return f"`{message.name}` is never received"


def _causes_of_silence(system: System, operand: int) -> Iterator[Refinement]:
    from cplc.checking.silent_messages import causes_of_silence

    return causes_of_silence(system, operand)


def on_some_run(system: System, formula: Formula) -> Formula:
    """Return that some run from some initial state reaches a state that satisfies the formula.

    Encoding: an observer without observations knows what holds in every reachable state, from any initial state.
    """
    comes = _some_time(formula)
    if all(len(variable.initial) == 1 for variable in system.variables):
        return comes
    return f.Not(f.KnownFrom((), f.Not(comes), "nobody"))


def _fulfillable(system: System, _: Debts) -> _CheckParts:
    parts: list[Part] = []
    for one in system.commitments:
        never = f"{named(one)} is never fulfilled" + (", nor on course" if one.content else "")
        content = one.content or plain_text(system, one.consequent)
        parts.append((_some_time(is_kept(one)), f"{never}: nothing brings `{content}` about while it is open"))
    return _CheckParts(tuple(parts), places=tuple(one.span for one in system.commitments))


def _resolvable(system: System, _: Debts) -> _CheckParts:
    meaning = "a state is reached from which some commitment stays open forever, whatever is done"
    refinements = tuple(
        Refinement(
            0,
            _always(_some_time(f.Not(is_unsettled(one)))),
            f"{named(one)} may stay open forever, whatever is done; {_ways_out(system, one)}",
            one.span,
        )
        for one in system.commitments
    )
    return _CheckParts(((_always(_some_time(_nothing_open(system))), meaning),), refinements=refinements)


def _ways_out(system: System, one: Commitment) -> str:
    """Describe how a commitment could be closed, and the repair where nothing but its fulfilment closes it."""
    ways = ways_to_close(system, one)
    verbs = {act.verb for step in system.steps for act in step.operations if act.commitment == one.name}
    if verbs & CLOSING.keys() or (one.within is not None and one.expires is not None):
        return ways
    release, withdraw = f"{side_text(one.creditor, 'or')} release it", f"{side_text(one.debtor, 'or')} withdraw it"
    return f"{ways}; where that can no longer come, let {release} or {withdraw}"


def _effective(system: System, _: Debts) -> _CheckParts:
    restarting = e.disj(step.guard for step in system.steps if step.kind == "restart")
    ended = f.Atom(e.disj((system.terminal, restarting)), "this is an end", in_words=True)
    fulfilled = f.Or(tuple(is_kept(commitment) for commitment in system.commitments))
    success = _some_time(f.And((ended, fulfilled, _nothing_open(system))))
    success_at_end = f.And((ended, fulfilled))
    refinements = [
        Refinement(0, _some_time(ended), "no run ends: somebody can always act", level=0),
        Refinement(0, _some_time(success_at_end), "no run ends with a commitment fulfilled", level=1),
    ]
    for one in system.commitments:
        closed = _some_time(f.And((success_at_end, f.Not(is_unsettled(one)))))
        finding = f"{named(one)} is open at every end with a commitment fulfilled; {ways_to_close(system, one)}"
        refinements.append(Refinement(0, closed, finding, one.span, level=2))
    meaning = "no run ends with a commitment fulfilled and none open"
    return _CheckParts(((success, meaning),), refinements=tuple(refinements))


def _consistent(system: System, _: Debts) -> _CheckParts:
    """Require that two commitments are open together only if their consequents can be true together."""
    parts: list[Part] = []
    for one, other in combinations(system.commitments, 2):
        if one.content or other.content:
            meaning = f"{named(one)} and {named(other)} are in force, each can be kept, and both together cannot"
            parts.append((are_consistent(system, one, other), meaning))
            continue
        together = f.And(tuple(f.Atom(c.consequent, _condition_text(system, c.consequent)) for c in (one, other)))
        apart = _always(f.Not(f.And((is_open(one), is_open(other)))))
        both = f"{named(one)} and {named(other)} are open at once, and their consequents exclude each other"
        meaning = f"{both}; create one only while the other is not open"
        parts.append((f.Or((_some_time(together), apart)), meaning))
    return _CheckParts(tuple(parts), without_fairness(system))


def _robust(system: System, _: Debts) -> _CheckParts:
    settled = _some_time(_nothing_open(system))
    parts: list[Part] = []
    refinements: list[Refinement] = []
    for number, one in enumerate(system.commitments):
        ended = _state(one, "violated", "expired", "withdrawn")
        broken = f"once {named(one)} is violated, expired or withdrawn"
        parts.append((_always(f.Implies(ended, settled)), f"{broken}, some commitment may stay open forever"))
        for other in system.commitments:
            closes = _always(f.Implies(ended, _some_time(f.Not(is_unsettled(other)))))
            finding = f"{broken}, {named(other)} may stay open forever; {ways_to_close(system, other)}"
            refinements.append(Refinement(number, closes, finding, other.span))
    places = tuple(one.span for one in system.commitments)
    return _CheckParts(tuple(parts), places=places, refinements=tuple(refinements))


def _aligned(system: System, _: Debts) -> _CheckParts:
    """Require that each view and its standing are right when no message in flight could change them.

    Other messages in flight can be received first and change neither.
    """
    parts: list[Part] = []
    lives: tuple[Commitment | Claim, ...] = (*system.commitments, *system.claims)
    for commitment in lives:
        observed = {commitment.variable, *(variable for _, variable in commitment.views)}
        observed |= {standing_of(variable) for variable in observed} & system.variable.keys()
        events = {step.event for step in system.steps if step.writes & observed}
        pending = e.disj(message.in_flight for message in system.messages if message.name in events)
        quiet = f.Atom(e.negate(pending), f"nothing in flight that tells of {commitment.name}", in_words=True)
        for role, variable in commitment.views:
            same = [e.Equal(e.Read(variable), e.Read(commitment.variable))]
            if standing_of(variable) in observed:
                same.append(e.Equal(e.Read(standing_of(variable)), e.Read(standing_of(commitment.variable))))
            right = f.Atom(e.conj(same), f"{role} sees {commitment.name} as it is", in_words=True)
            meaning = f"nothing is in flight and {role} has a wrong view of `{commitment.name}`"
            if unseen := _unseen(system, commitment, role):
                meaning = f"{meaning}: it is not told of {unseen}"
            elif isinstance(commitment, Commitment) and (commitment.within or commitment.expires):
                meaning = f"{meaning}: its deadline there runs from when {role} sees its cause"
            parts.append((_always(f.Implies(quiet, right)), meaning))
    return _CheckParts(tuple(parts), without_fairness(system))


def _unseen(system: System, one: Commitment | Claim, role: str) -> str:
    """Return the messages that conditions of the commitment name, and that the role neither sends nor receives."""
    if isinstance(one, Claim):
        return ""
    messages = dict.fromkeys(mentioned(system, one.antecedent) + mentioned(system, one.consequent))
    return ", ".join(f"`{message.name}`" for message in messages if role not in message.roles)


def _no_delegation_loop(system: System, debts: Debts) -> _CheckParts:
    """Require for each cycle of delegations that no fair run hands one debt on in it infinitely often.

    After a restart, or a new life of the same commitment, it is another debt.
    """
    watched = circles(system, debts)
    if not watched:
        return _CheckParts(())
    parts: list[Part] = []
    for circle in watched:
        bit = circle.handed_on
        stays = tuple(
            f.Finally(f.Globally(f.Atom(one, "the debt is not handed on", in_words=True)))
            for one in (bit, e.negate(bit))
        )
        names = " and ".join(f"`{name}`" for name in circle.members)
        finding = f"one and the same debt of {names} is handed on forever"
        parts.append((f.OnPaths("A", f.Or(stays)), finding))
    places = tuple(system.commitment[circle.members[0]].span for circle in watched)
    return _CheckParts(tuple(parts), with_tokens(system, watched), places=places)


def _violable(system: System, _: Debts) -> _CheckParts:
    """Require that each commitment without a deadline for its performance can be violated or expire."""
    return _CheckParts(
        tuple(
            (
                _some_time(_state(commitment, "violated", "expired")),
                f"nobody can ever be held to {named(commitment)}: it is never violated and never expires; give it a "
                f"deadline (`within`), or a message that means `violate {commitment.name}`",
            )
            for commitment in system.commitments
            if commitment.within is None
        )
    )


def _honourable(system: System, _: Debts, *, uniform: bool = False) -> _CheckParts:
    """Require that the debtor of each active commitment has a strategy to keep it, or until others release it."""
    parts: list[Part] = []
    for commitment in system.commitments:
        able: Formula
        repair = "let its antecedent wait for what others have to do first"
        if is_judged_by_its_consequent(system, commitment):
            promised = f.Finally(f.Atom(commitment.consequent, _condition_text(system, commitment.consequent)))
            able = answering(commitment, partial(enforces, promised, uniform))
            meaning = f"{unable(commitment)} bring about `{plain_text(system, commitment.consequent)}`"
        else:
            able = can_be_honoured(system, commitment, uniform=uniform)
            meaning = f"{unable(commitment)} keep what {'it' if len(commitment.debtors) == 1 else 'they'} promised"
            if commitment.content:
                alone = f"let its content depend on messages of {side_text(commitment.debtor)} alone"
                repair = f"{alone}, and guard those that break it"
        active = f.Atom(_is(commitment, "active"), f"active({commitment.name})")
        parts.append((_always(f.Implies(active, able)), f"{named(commitment)} is active, and {meaning}; {repair}"))
    text = (
        "whenever a commitment is active, its debtor can keep it in time, whatever others do" if system.bounded else ""
    )
    return _CheckParts(tuple(parts), without_fairness(system), text=text)


CHECKS: dict[str, Check] = {
    check.name: check
    for check in (
        Check(
            "deadlock_free",
            _deadlock_free,
            particular="commitments that can be owed at an end",
        ),
        Check(
            "no_dangling",
            _no_dangling,
            particular="commitments that can be open at an end",
        ),
        Check(
            about_debts.NO_DEBT_FORGOTTEN,
            _no_debt_forgotten,
            subject="commitments that a restart takes back",
        ),
        Check(
            "sound",
            _sound,
            subject="operations",
        ),
        Check("live", _live, subject="messages"),
        Check("fulfillable", _fulfillable),
        Check(
            "resolvable",
            _resolvable,
        ),
        Check("effective", _effective),
        Check(
            "consistent",
            _consistent,
            particular="two commitments that could exclude each other",
        ),
        Check(
            "robust",
            _robust,
        ),
        Check(
            "aligned",
            _aligned,
        ),
        Check(
            "no_delegation_loop",
            _no_delegation_loop,
            particular="commitments that can be handed on in a circle",
        ),
        Check(
            "violable",
            _violable,
            advisory=True,
            particular="commitments without a deadline",
        ),
        Check(
            "honourable",
            _honourable,
            build_uniform=partial(_honourable, uniform=True),
        ),
    )
}
