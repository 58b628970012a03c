"""Random timed protocols as text: bounded channels, deadlines, senders that act within so many ticks.

Half of them are protocols of any kind with bounds; the others are small and let several messages compete for one
channel: repeatable ones, choices, rounds with restarts, payloads that a guard admits.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any

from hypothesis import strategies as st
from tests.support.generators.property_formulas import formulas, instances
from tests.support.generators.protocol_drafts import Commitment, Message, Plan, Variable, one_in, text_of
from tests.support.generators.protocols import plans

LONGEST = 3
"""The largest bound, delay and deadline, in ticks."""


@dataclass(frozen=True)
class TimedSample:
    """A protocol with its properties, and its text without anything that is new with time."""

    plain_text: str
    """The protocol with its properties, without bounded channels and without assumptions."""
    delays: tuple[tuple[str, str, int], ...]
    """Sender, receiver and delay of each bounded channel; stars for all channels."""
    assumptions: tuple[tuple[str, ...], ...]
    """For each property what it assumes, as `A`, `A within 2` or `m within 1`."""
    formulas: tuple[str, ...]

    @property
    def text(self) -> str:
        """The protocol as a file."""
        lines = self.plain_text.splitlines()
        for number, assumed in enumerate(self.assumptions):
            if assumed:
                at = next(n for n, line in enumerate(lines) if line.startswith(f"  property p{number}:"))
                lines[at] = lines[at].replace(f"p{number}:", f"p{number} assuming {', '.join(assumed)}:", 1)
        declared = [f"  channel {'' if who == '*' else f'{who} -> {to} '}within {k}" for who, to, k in self.delays]
        return "\n".join((*lines[:-1], *declared, lines[-1])) + "\n"


@st.composite
def contended_plans(draw: st.DrawFn, most_messages: int = 4, sync: bool | None = None) -> Plan:
    """Draw a small protocol in which several messages share a channel."""
    has_third = one_in(draw, 3)
    singles = ("Ann", "Bob", "Zoe") if has_third else ("Ann", "Bob")
    plan = Plan(singles, None, draw(st.booleans()) if sync is None else sync)
    if one_in(draw, 4):
        plan.variables.append(Variable("v0", "Ann", "0..2", "0"))
    for number in range(draw(st.integers(2, most_messages))):
        back = number > 0 and one_in(draw, 4)
        receivers = draw(st.sampled_from([("Bob",), ("Zoe",), ("Bob", "Zoe")])) if has_third else ("Bob",)
        sender, receiver, *more = ("Bob", "Ann") if back else ("Ann", *receivers)
        clauses: list[str] = []
        earlier = [message.name for message in plan.messages if sender in message.roles]
        if earlier and not one_in(draw, 2):
            word = draw(st.sampled_from(["after", "after", "after", "unless"]))
            clauses.append(f"{word} {draw(st.sampled_from(earlier))}")
        parameters = (("x", "0..1"),) if one_in(draw, 5) else ()
        if parameters and draw(st.booleans()):
            clauses.append(f"if x = {draw(st.sampled_from('01'))}")
        if plan.variables and sender == "Ann" and draw(st.booleans()):
            clauses.append(draw(st.sampled_from(["set Ann.v0 := Ann.v0 + 1", "if Ann.v0 > 0", "set Ann.v0 := 0"])))
        restarts = number > 0 and one_in(draw, 5)
        if restarts:
            clauses.append("restart")
        resettable = [one.name for one in plan.messages if sorted(one.roles) == sorted((sender, receiver, *more))]
        if not restarts and resettable and not more and one_in(draw, 8):
            clauses.append(f"resets {draw(st.sampled_from(resettable))}")
        repeatable = not restarts and one_in(draw, 4)
        plan.messages.append(
            Message(f"m{number}", (), sender, receiver, parameters, tuple(clauses), repeatable, restarts, tuple(more))
        )
    names = [message.name for message in plan.messages]
    made_by = draw(st.sampled_from(plan.messages))
    debtor, creditor = made_by.first, made_by.second
    antecedent = draw(st.sampled_from(["true", *names]))
    options = draw(st.sampled_from(["", " within 1", " within 2", " within 3", " expires 1", " within 1 expires 2"]))
    text = f"C({debtor}, {creditor}, {antecedent}, {draw(st.sampled_from(names))}){options}"
    plan.commitments.append(Commitment("c0", (), debtor, creditor, text))
    creating_message = replace(made_by, clauses=(*made_by.clauses, "means create c0"))
    plan.messages[plan.messages.index(made_by)] = creating_message
    senders: dict[str, list[str]] = {}
    for message in plan.messages:
        senders.setdefault(message.first, []).append(message.name)
    for members in senders.values():
        if len(members) > 1 and one_in(draw, 5):
            plan.choices.append(((), tuple(members[:2])))
    if one_in(draw, 6):
        plan.unordered.append(((), "Ann", "Bob"))
    if not plan.sync and one_in(draw, 4):
        message = draw(st.sampled_from(plan.messages))
        how = draw(st.sampled_from(("lossy", "lossy(1)", "duplicating")))
        plan.faults.append(((), message.first, draw(st.sampled_from((message.second, *message.more))), how))
    return plan


@st.composite
def _formula(draw: st.DrawFn, plan: Plan) -> str:
    """Draw a formula, mostly about what time decides."""
    messages = [name for message in plan.messages for name in instances(message)]
    subjects = [name for commitment in plan.commitments for name in instances(commitment)]
    m, n = draw(st.sampled_from(messages)), draw(st.sampled_from(messages))
    patterns = [f"AF {m}", f"EG !{m}", f"AG ({m} -> AF {n})", f"EF ({m} & !{n})", f"AG EF {m}", f"EX {m}", f"AX {m}"]
    patterns += [f"E[!{m} U {n}]", f"A[!{m} W {n}]", f"E(G F does({m}))", f"A(F G !does({m}))", f"EF EG inflight({m})"]
    for c in subjects:
        patterns += [f"AG !violated({c})", f"AG (active({c}) -> AF fulfilled({c}))", f"EF violated({c})"]
        patterns += [f"AF closed({c})", f"EF expired({c})", f"AG (active({c}) -> AX open({c}))"]
    if not plan.sync:
        patterns += [f"AG (sent({m}) -> AF !inflight({m}))", f"E(F (does(send {m}) & X F does({n})))"]
    if any(" within " in one.text or " expires " in one.text for one in plan.commitments):
        low, high = sorted((draw(st.integers(0, LONGEST)), draw(st.integers(0, LONGEST))))
        window, c = f"[{low}..{high}] ticks", draw(st.sampled_from(subjects))
        patterns += [f"AG ({m} -> AF<={high} ticks {n})", f"EF{window} does({m})", f"EG{window} !{m}"]
        patterns += [f"AG (active({c}) -> AF<={high} ticks !active({c}))", f"E[!{m} U{window} {n}]"]
        patterns += [f"AG (active({c}) -> AF{window} !active({c}))", f"A[!{m} W{window} {n}]"] * 2
    if draw(st.booleans()):
        return draw(st.sampled_from(patterns))
    return draw(formulas(plan, 2).filter(lambda formula: not re.search("<<", formula)))


@st.composite
def _strategic_formula(draw: st.DrawFn, plan: Plan) -> str:
    """Draw what a group can bring about, at once or whenever something is the case."""
    messages = [name for message in plan.messages for name in instances(message)]
    subjects = [name for commitment in plan.commitments for name in instances(commitment)]
    conditions = [*messages, *(f"!{m}" for m in messages)]
    conditions += [f"{state}({c})" for c in subjects for state in ("fulfilled", "!violated", "active", "!expired")]
    if not plan.sync:
        conditions += [f"!inflight({m})" for m in messages]
    p, q, r = (draw(st.sampled_from(conditions)) for _ in range(3))
    group = ", ".join(draw(st.lists(st.sampled_from(plan.singles), min_size=1, max_size=2, unique=True)))
    goal = draw(
        st.sampled_from([f"F {p}", f"F {p}", f"F ({p} & {q})", f"G {p}", f"G ({p} | {q})", f"({q} U {p})", f"X {p}"])
    )
    can = f"<<{group}>> {goal}"
    inner = f"<<{group}>> F ({p} | <<{group}>> G {q})"
    return draw(st.sampled_from([can, can, f"AG ({r} -> {can})", f"EF {can}", f"EF !{can}", inner]))


@st.composite
def _assumptions(draw: st.DrawFn, plan: Plan) -> tuple[str, ...]:
    """Draw who is assumed to act, mostly within so many ticks; what is bounded comes first."""
    messages = [name for message in plan.messages for name in instances(message)]
    actors = plan.everything()
    bound = f" within {draw(st.integers(0, LONGEST))}"
    match draw(st.integers(0, 7)):
        case 0:
            return ()
        case 1:
            return (draw(st.sampled_from([*actors, "all"])),)
        case 2 | 3:
            return (f"{draw(st.sampled_from(actors))}{bound}",)
        case 4:
            return (f"all{bound}",)
        case 5:
            one, other = draw(st.permutations(actors))[:2]
            return (f"{one}{bound}", f"{other} within {draw(st.integers(0, LONGEST))}")
        case 6:
            return (f"{draw(st.sampled_from(messages))}{bound}",)
        case _:
            return (f"{draw(st.sampled_from(actors))}{bound}", draw(st.sampled_from(actors)))


@st.composite
def divided_plans(draw: st.DrawFn) -> Plan:
    """Draw two or three small protocols beside each other, mostly with one common role: parts that ticks connect."""
    sync, has_hub = draw(st.booleans()), not one_in(draw, 4)
    parts = [
        _renamed(draw(contended_plans(most_messages=2, sync=sync)), letter, has_hub)
        for letter in "xyz"[: 2 if draw(st.booleans()) else draw(st.integers(2, 3))]
    ]
    plan = Plan(tuple(dict.fromkeys(role for part in parts for role in part.singles)), None, sync)
    for kind in ("variables", "messages", "commitments", "facts", "choices", "unordered", "faults"):
        setattr(plan, kind, [one for part in parts for one in getattr(part, kind)])
    return plan


def _renamed(plan: Plan, letter: str, has_hub: bool) -> Plan:
    """Return the plan with other names of everything but, if there is a hub, of its first role."""
    pattern = re.compile(r"\b([mvc]\d|Bob)\b" if has_hub else r"\b([mvc]\d|Ann|Bob)\b")

    def renamed(value: Any) -> Any:
        match value:
            case str():
                return pattern.sub(rf"\g<1>{letter}", value)
            case tuple() | list():
                return type(value)(map(renamed, value))
            case _ if is_dataclass(value) and not isinstance(value, type):
                return replace(value, **{one.name: renamed(getattr(value, one.name)) for one in fields(value)})
            case _:
                return value

    changed = renamed(plan)
    assert isinstance(changed, Plan)
    return changed


@st.composite
def divided_protocols(draw: st.DrawFn, property_count: int = 3) -> TimedSample:
    """Draw a protocol of several parts that ticks connect, with bounds and properties ``p0``, ``p1``, …."""
    return _with_time(draw, draw(divided_plans()), property_count)


@st.composite
def timed_protocols(
    draw: st.DrawFn, property_count: int = 3, *, contended_only: bool = False, strategic: bool = False
) -> TimedSample:
    """Draw a protocol with bounds and properties ``p0``, ``p1``, …."""
    plan = draw(contended_plans() if contended_only or draw(st.booleans()) else plans())
    return _with_time(draw, plan, property_count, strategic=strategic)


def _with_time(draw: st.DrawFn, plan: Plan, property_count: int, *, strategic: bool = False) -> TimedSample:
    """Draw what bounds the time of this protocol, and its properties."""
    delays: list[tuple[str, str, int]] = []
    if not plan.sync and not one_in(draw, 3):
        if draw(st.booleans()):
            delays.append(("*", "*", draw(st.integers(0, LONGEST))))
        else:
            one, other = draw(st.permutations(plan.singles))[:2]
            delays.append((one, other, draw(st.integers(0, LONGEST))))
    formula = _strategic_formula if strategic else _formula
    drawn = [draw(formula(plan)) for _ in range(property_count)]
    assumed = [draw(_assumptions(plan)) for _ in range(property_count)]
    tail = [f"property p{number}: {formula}" for number, formula in enumerate(drawn)]
    return TimedSample(text_of(plan, tail), tuple(delays), tuple(assumed), tuple(drawn))
