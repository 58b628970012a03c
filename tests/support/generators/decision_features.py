"""Random games of decisions with more constructs: silence, time, rounds, families, goals about runs, several agents.

`wide_games` draws a small game of `decision_games` and adds one to three constructs to it, or draws a game of a family.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from hypothesis import strategies as st
from tests.support.generators.decision_games import (
    ROLE,
    Belief,
    Draft,
    decision_games,
    one_in,
)

_WITH_SILENCE = {
    1: (("0.7", "0.3"), ("0", "1"), ("0.9", "0.1")),
    2: (("0.5", "0.3", "0.2"), ("0.1", "0.4", "0.5"), ("0.6..0.7", "0.2", "0.1..0.2")),
    3: (("0.2", "0.3", "0.4", "0.1"),),
}
"""Probabilities of so many events, and of silence."""
_UNCERTAIN = {
    2: (("0.85..0.95", "0.05..0.15"), ("0.3..0.6", "0.5..0.6"), ("0..1", "0..1")),
    3: (("0.3..0.6", "0.2..0.5", "0.1..0.2"), ("0..0.5", "0..0.5", "0.4..0.5")),
}


def _silent(draw: st.DrawFn, draft: Draft) -> Draft:
    return _with_belief(draw, draft, _WITH_SILENCE, ("silent",))


def _uncertain(draw: st.DrawFn, draft: Draft) -> Draft:
    return _with_belief(draw, draft, _UNCERTAIN, ())


def _with_belief(
    draw: st.DrawFn, draft: Draft, shares: dict[int, tuple[tuple[str, ...], ...]], more: tuple[str, ...]
) -> Draft:
    """Return the draft with other probabilities of some belief."""
    able = [at for at, one in enumerate(draft.beliefs) if len(one.events) in shares]
    if not able:
        return draft
    at = draw(st.sampled_from(able))
    belief = draft.beliefs[at]
    names = [*(name for name, _ in belief.events), *more]
    picked = draw(st.sampled_from(shares[len(belief.events)]))
    new = replace(belief, events=tuple(zip(names, picked, strict=True)))
    return replace(draft, beliefs=(*draft.beliefs[:at], new, *draft.beliefs[at + 1 :]))


def _both_ways(draw: st.DrawFn, draft: Draft) -> Draft:
    """Have a belief when a message is there, and another one about the same messages when it is not."""
    able = [one for one in draft.beliefs if one.condition and len(one.events) == 2]
    if not able:
        return draft
    belief = draw(st.sampled_from(able))
    (first, _), (second, _) = belief.events
    share = draw(st.sampled_from(("0", "0.2", "1")))
    rest = {"0": "1", "0.2": "0.8", "1": "0"}[share]
    other = Belief(belief.role, ((first, share), (second, rest)), f"!({belief.condition})")
    return replace(draft, beliefs=(*draft.beliefs, other))


def _slips(draw: st.DrawFn, draft: Draft) -> Draft:
    """Believe something about one's own messages."""
    own = [
        names for names in draft.choices if any(one.name == names[0] and one.sender == ROLE for one in draft.messages)
    ]
    if not own:
        return draft
    names = draw(st.sampled_from(own))
    shares = draw(st.sampled_from((("0.9", "0.1"), ("0.5", "0.5")) if len(names) == 2 else (("0.2", "0.3", "0.5"),)))
    guards = [one.guard for one in draft.messages if one.name == names[0]]
    condition = draw(st.sampled_from(("", *filter(None, guards))))
    return replace(draft, beliefs=(*draft.beliefs, Belief(ROLE, tuple(zip(names, shares, strict=True)), condition)))


def _deadlines(draw: st.DrawFn, draft: Draft) -> Draft:
    if not draft.commitments:
        return draft
    at = draw(st.integers(0, len(draft.commitments) - 1))
    clause = draw(st.sampled_from(("within 1", "within 2", "expires 1", "within 1 expires 2")))
    commitments = tuple(f"{one}  {clause}" if at == number else one for number, one in enumerate(draft.commitments))
    extra = draft.extra
    if not draft.sync and one_in(draw, 3):
        extra = (*extra, draw(st.sampled_from(("channel within 1", "channel within 0"))))
    return replace(draft, commitments=commitments, extra=extra)


def _bounded(draw: st.DrawFn, draft: Draft) -> Draft:
    """Believe when an outcome comes, in a protocol in which time passes."""
    if not draft.beliefs:
        return draft
    if not any("within" in one or "expires" in one for one in draft.commitments):
        draft = _deadlines(draw, draft)
    bounds = [draw(st.sampled_from(("0", "1", "1", "2", ""))) for _ in draft.beliefs]
    beliefs = tuple(replace(one, within=bound) for one, bound in zip(draft.beliefs, bounds, strict=True))
    return replace(draft, beliefs=beliefs)


def _assumptions(draw: st.DrawFn, draft: Draft) -> Draft:
    """Rely on roles or messages, perhaps within some ticks."""
    other_roles = [role for role in draft.roles if role not in draft.played]
    messages = [one.name for one in draft.messages if one.sender in other_roles]
    names = draw(
        st.lists(st.sampled_from([*other_roles, *other_roles, *messages]), unique=True, min_size=1, max_size=2)
    )
    bounds = ("", "", " within 1", " within 0") if any("within" in one for one in draft.commitments) else ("",)
    return replace(draft, assumed=tuple(name + draw(st.sampled_from(bounds)) for name in names))


def _restart(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let a message end the round."""
    at = draw(st.integers(1, len(draft.messages) - 1))
    return _with_clause(draft, at, "restart")


def _repeatable(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let a message be sent twice, as its sender counts."""
    at = draw(st.integers(0, len(draft.messages) - 1))
    sender = draft.messages[at].sender
    variables = {**dict(draft.variables), sender: "var n: 0..2 = 0"}
    more = _with_clause(draft, at, f"if {sender}.n < 2  set n := n + 1  repeatable")
    return replace(more, variables=tuple(variables.items()))


def _reset(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let a message take back another one between the same two roles."""
    pairs = [
        (at, other.name)
        for at, one in enumerate(draft.messages)
        for other in draft.messages
        if {one.sender, one.receiver} == {other.sender, other.receiver} and one is not other
    ]
    if not pairs:
        return draft
    at, name = draw(st.sampled_from(pairs))
    return _with_clause(draft, at, f"resets {name}")


def _with_clause(draft: Draft, at: int, clause: str) -> Draft:
    message = replace(draft.messages[at], clauses=f"{draft.messages[at].clauses}  {clause}")
    return replace(draft, messages=(*draft.messages[:at], message, *draft.messages[at + 1 :]))


def _promise_about_runs(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let the participant promise to refrain from something, or to do it only after something."""
    names = [one.name for one in draft.messages]
    creators = [at for at, one in enumerate(draft.messages) if one.sender == ROLE]
    if not creators:
        return draft
    at = draw(st.sampled_from(creators))
    visible = [one.name for one in draft.messages if draft.messages[at].receiver in (one.sender, one.receiver)]
    one, other = draw(st.sampled_from(visible)), draw(st.sampled_from(names))
    content = draw(st.sampled_from((f"G !{one}", f"!{one} U {other}", f"G !does({one})", f"F<=2 ticks {one}")))
    commitments = (*draft.commitments, f"k8 = C({ROLE}, {draft.messages[at].receiver}, true, {content})")
    message = replace(draft.messages[at], operations=(*draft.messages[at].operations, "create k8"))
    messages = (*draft.messages[:at], message, *draft.messages[at + 1 :])
    return replace(draft, messages=messages, commitments=commitments)


def _payloads(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let guards and goals ask for the payload of a message."""
    able = [one for one in draft.messages if one.parameter]
    if not able:
        at = draw(st.integers(0, len(draft.messages) - 1))
        if any(draft.messages[at].name in dict(belief.events) for belief in draft.beliefs):
            return draft
        message = replace(draft.messages[at], parameter="v: 0..1")
        draft = replace(draft, messages=(*draft.messages[:at], message, *draft.messages[at + 1 :]))
        able = [message]
    requested = draw(st.sampled_from(able))
    value = draw(st.sampled_from((0, 1)))
    comparison = f"{requested.name}.v = {value}"
    if not one_in(draw, 3):
        goal = draw(
            st.sampled_from((comparison, f"{comparison} & ({draft.goals[0]})", f"{comparison} | ({draft.goals[0]})"))
        )
        draft = replace(draft, goals=(goal,))
    later = [
        at
        for at, one in enumerate(draft.messages)
        if one.sender in (requested.sender, requested.receiver) and one.name != requested.name and not one.guard
    ]
    if later and one_in(draw, 2):
        draft = _with_clause(draft, draw(st.sampled_from(later)), f"if {comparison}")
    return draft


_FORMULAS = (
    "F {a}", "G !{a}", "!{a} U {b}", "!{a} W {b}", "{a} R !{b}", "{b} M !{a}", "F ({a} & !{b})", "F {a} -> !{b} U {a}",
    "G ({a} -> F {b})", "F (G !{b} & {a})", "G (F {a} -> {a} | !{b})",
)  # fmt: skip
_IN_TICKS = (
    "F<={k} ticks {a}", "G<={k} ticks !{a}", "!{a} U<={k} ticks {b}", "G ({a} -> F<={k} ticks {b})",
    "F[1..{k}] ticks ({a} & !{b})", "!{a} W<={k} ticks {b}", "F ({a} & F[1..{k}] ticks {b})", "G[1..{k}] ticks !{a}",
)  # fmt: skip


def _goal_about_runs(draw: st.DrawFn, draft: Draft) -> Draft:
    """Let the goal be a formula about the run, perhaps with deadlines."""
    names = [one.name for one in draft.messages]
    promises = [one.partition(" ")[0] for one in draft.commitments]
    atoms = [*names, *names, *(f"{state}({one})" for one in promises for state in ("fulfilled", "violated"))]
    timed = any("within" in one for one in (*draft.commitments, *draft.assumed, *draft.extra))
    timed |= any(one.within for one in draft.beliefs)
    if not timed and one_in(draw, 2):
        draft = replace(draft, assumed=(*draft.assumed, f"{draw(st.sampled_from(draft.roles))} within 1"))
        timed = True
    formulas = []
    for _ in range(draw(st.sampled_from((1, 1, 1, 2)))):
        template = draw(st.sampled_from(_IN_TICKS if timed and not one_in(draw, 3) else _FORMULAS))
        a, b = draw(st.sampled_from(atoms)), draw(st.sampled_from(atoms))
        formulas.append(template.format(a=a, b=b, k=draw(st.integers(1, 2))))
    goal = draw(st.sampled_from((" & ", " | ", " & !"))).join(f"({one})" for one in formulas)
    return replace(draft, goals=draw(st.sampled_from(((goal,), (goal,), (goal, *draft.goals)))))


def _several_roles(draw: st.DrawFn, draft: Draft) -> Draft:
    other_roles = [role for role in draft.roles if role != ROLE]
    played = draw(st.sampled_from(other_roles))
    if len(other_roles) == 1 or any(belief.role == played for belief in draft.beliefs):
        return draft
    return replace(draft, played=(ROLE, played))


def _second_agent(draw: st.DrawFn, draft: Draft) -> Draft:
    """Add an agent of another role, which changes nothing for the first."""
    visible = [one.name for one in draft.messages if "Bob" in (one.sender, one.receiver)]
    if not visible:
        return draft
    lines = [f"agent Quin plays Bob {{ goal {draw(st.sampled_from(visible))}", f"value {visible[0]}: +1"]
    own = [names for names in draft.choices for one in draft.messages if one.name == names[0] and one.sender == ROLE]
    if own and len(own[0]) == 2:
        lines.append(f"believes {ROLE}: {own[0][0]} 0.2 | {own[0][1]} 0.8")
    lines.append("}")
    return replace(draft, extra=(*draft.extra, "\n    ".join(lines)))


def _busy_channels(draw: st.DrawFn, draft: Draft) -> Draft:
    return replace(draft, sync=False, unordered=())


_FEATURES: tuple[Callable[[st.DrawFn, Draft], Draft], ...] = (
    _bounded, _bounded, _silent, _uncertain, _both_ways, _slips, _deadlines, _assumptions, _restart, _repeatable,
    _reset, _promise_about_runs, _payloads, _several_roles, _second_agent, _busy_channels,
)  # fmt: skip


@st.composite
def wide_games(draw: st.DrawFn) -> Draft:
    """Draw a game with some of the further constructs."""
    kind = draw(st.integers(0, 9))
    if kind == 0:
        return draw(family_games())
    draft = draw(side_by_side()) if kind == 1 else draw(decision_games())
    for feature in draw(st.lists(st.sampled_from(_FEATURES), unique=True, min_size=1, max_size=3)):
        draft = feature(draw, draft)
    if any("within" in one for one in draft.commitments) and one_in(draw, 2):
        draft = _assumptions(draw, draft)
    return _goal_about_runs(draw, draft) if one_in(draw, 3) else draft


@st.composite
def side_by_side(draw: st.DrawFn) -> Draft:
    """Draw a protocol of two parts that have no message in common."""
    first = draw(decision_games(most=2))
    second = _renamed(draw(decision_games(most=2)))
    roles = max((first.roles, second.roles), key=len)
    joint = draw(st.sampled_from((" & ", " & ", " | ")))
    goals = (joint.join(f"({goal})" for goal in (*first.goals, *second.goals)),)
    return Draft(
        roles, first.messages + second.messages, first.choices + second.choices,
        first.commitments + second.commitments, goals, first.values + second.values,
        first.beliefs + second.beliefs, first.decisions + second.decisions, first.sync,
    )  # fmt: skip


def _renamed(draft: Draft) -> Draft:
    """Return the draft with a letter before each message and commitment."""
    names = {one.name for one in draft.messages} | {one.partition(" ")[0] for one in draft.commitments}

    def of(text: str) -> str:
        return re.sub(r"\b[a-z]\w*\b", lambda word: f"x{word[0]}" if word[0] in names else word[0], text)

    return replace(
        draft,
        messages=tuple(
            replace(one, name=of(one.name), guard=of(one.guard), operations=tuple(map(of, one.operations)))
            for one in draft.messages
        ),
        choices=tuple(tuple(map(of, names)) for names in draft.choices),
        commitments=tuple(map(of, draft.commitments)),
        goals=tuple(map(of, draft.goals)),
        values=tuple((of(name), amount) for name, amount in draft.values),
        beliefs=tuple(
            Belief(one.role, tuple((of(name), share) for name, share in one.events), of(one.condition), one.within)
            for one in draft.beliefs
        ),
        decisions=tuple(map(of, draft.decisions)),
    )


@st.composite
def family_games(draw: st.DrawFn) -> Draft:
    """Draw a deal with each of two members of a family, perhaps with a stock that they share.

    The members ask and are served, or are made an offer and answer, or the participant is one of them.
    """
    kind = draw(st.sampled_from(("ask", "offer", "member")))
    has_stock = one_in(draw, 2)
    stock = "  if Ann.stock > 0  set stock := stock - 1" if has_stock else ""
    served = {
        "ask": ("c -> Ann : ask", f"Ann -> c : give  after ask{stock}"),
        "offer": (f"Ann -> c : offer{stock}", "c -> Ann : yes  after offer", "c -> Ann : no  after offer"),
        "member": ("c -> Ann : ask", f"Ann -> c : give  after ask{stock}", "Ann -> c : deny  after ask"),
    }[kind]
    promise = {
        "ask": ("deal = C(Ann, c, true, give)", "create deal"),
        "offer": ("deal = C(Ann, c, no, yes)", "create deal"),
        "member": ("deal = C(c, Ann, give, ask)", "create deal"),
    }[kind]
    lines = list(served)
    if one_in(draw, 2):
        at = {"ask": 1, "offer": 0, "member": 0}[kind]
        lines = [f"commitment {promise[0]}", *lines[:at], f"{lines[at]}  means {promise[1]}", *lines[at + 1 :]]
    pair = {"ask": (), "offer": ("yes", "no"), "member": ("give", "deny")}[kind]
    if one_in(draw, 3):
        lines[-1] += "  restart"
    if pair:
        lines.append(f"choice {' | '.join(pair)}")
    shares = draw(st.sampled_from((("0.6", "0.4"), ("0.5", "0.5"), ("0.85..0.95", "0.05..0.15"), ("0.2", "0.5"))))
    beliefs = {
        "ask": "for c in Fay { believes c: ask[c] 0.6 | silent 0.4 }",
        "offer": f"for c in Fay {{ believes c when offer[c]: yes[c] {shares[0]} | no[c] {shares[1]} }}",
        "member": f"believes Ann when ask[1]: give[1] {shares[0]} | deny[1] {shares[1]}",
    }
    silent = " | silent 0.3 }" if kind == "offer" else " | silent 0.3"
    belief = beliefs[kind].removesuffix(" }") + silent if shares[0] == "0.2" and pair else beliefs[kind]
    goal_of_each = {"ask": "give[1] & !ask[2]", "offer": "yes[1] & !offer[2]"}
    atoms = {"ask": ("give[c]", "(ask[c] -> give[c])"), "offer": ("yes[c]", "(offer[c] -> yes[c])")}
    quantifier = draw(st.sampled_from(("forall", "exists")))
    goal = draw(st.sampled_from(("give[1]", "!ask[1] | give[1]", "give[1] & !give[2]")))
    if kind in atoms:
        goal = f"{quantifier} c in Fay: {draw(st.sampled_from(atoms[kind]))}"
        if one_in(draw, 3):
            goal = goal_of_each[kind]
    paid = {"ask": "give", "offer": "yes", "member": "give[1]"}[kind]
    cost = {"ask": "ask", "offer": "offer", "member": "ask[1]"}[kind]
    values = ((paid, "+10"), (cost, draw(st.sampled_from(("-4", "-8"))))) if one_in(draw, 2) else ()
    return Draft(
        roles=(ROLE, "Fay[2]"), messages=(), goals=(goal,), values=values,
        extra=("for c in Fay {", *(f"  {line}" for line in lines), "}"),
        sync=draw(st.sampled_from((True, True, False))),
        variables=((ROLE, "var stock: 0..2 = 1"),) if has_stock else (),
        further=() if one_in(draw, 4) else (belief,),
        assumed=draw(st.sampled_from(((), (), ("Fay[2]",), ("Ann",) if kind == "member" else ("Fay",)))),
        played=("Fay[1]",) if kind == "member" else (ROLE,),
    )  # fmt: skip
