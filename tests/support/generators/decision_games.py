"""Random small protocols with one participant, its beliefs, goals and values, for the judge of decisions.

Each is acyclic: every message is sent at most once, there are no rounds and no deadlines. `Draft` keeps the parts
apart, so that tests can change one of them: add a message, a role or a member of a family, rename, give more freedom.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from fractions import Fraction

from hypothesis import strategies as st

NAME = "Pia"
"""The participant of every draft; it plays the role `Ann`."""
ROLE = "Ann"
OTHERS = ("Bob", "Cyd")
_SHARES = (("1",), ("0.5", "0.5"), ("0.25", "0.75"), ("0.9", "0.1"), ("0.2", "0.3", "0.5"))
_RANGES = (("0.4..0.6", "0.4..0.6"), ("0..0.2", "0.8..1"))
_AMOUNTS = ("+3", "+1", "-1", "-2", "-0.5", "+10")
OPERATIONS = ("expire", "release", "violate", "withdraw", "fulfill")


@dataclass(frozen=True)
class Sending:
    """A message with the message or condition after which it may be sent."""

    name: str
    sender: str
    receiver: str
    guard: str = ""
    operations: tuple[str, ...] = ()
    parameter: str = ""
    clauses: str = ""
    """Further clauses as they are written."""

    def text(self) -> str:
        parameter = f"({self.parameter})" if self.parameter else ""
        guard = f" after {self.guard}" if self.guard else ""
        means = f" means {', '.join(self.operations)}" if self.operations else ""
        return f"  {self.sender} -> {self.receiver} : {self.name}{parameter}{guard}{means}{self.clauses}"


@dataclass(frozen=True)
class Belief:
    role: str
    events: tuple[tuple[str, str], ...]
    """Messages, perhaps with a payload, and probabilities."""
    condition: str = ""
    within: str = ""

    def text(self) -> str:
        when = f" when {self.condition}" if self.condition else ""
        within = f" within {self.within}" if self.within else ""
        return f"    believes {self.role}{when}{within}: {' | '.join(f'{name} {share}' for name, share in self.events)}"


@dataclass(frozen=True)
class Draft:
    """A protocol with its participant."""

    roles: tuple[str, ...]
    messages: tuple[Sending, ...]
    choices: tuple[tuple[str, ...], ...] = ()
    commitments: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    values: tuple[tuple[str, str], ...] = ()
    beliefs: tuple[Belief, ...] = ()
    decisions: tuple[str, ...] = ()
    sync: bool = True
    thresholds: tuple[str, ...] = ()
    unordered: tuple[tuple[str, str], ...] = ()
    extra: tuple[str, ...] = field(default=())
    """Further declarations as they are written."""
    played: tuple[str, ...] = (ROLE,)
    variables: tuple[tuple[str, str], ...] = ()
    """Roles with the declarations of their variables."""
    further: tuple[str, ...] = ()
    """Further lines of the participant as they are written."""
    assumed: tuple[str, ...] = ()
    """Roles and messages that keep going in its `analyze` line, as written after `assuming`."""

    def text(self) -> str:
        lines = ["cpl 2", f"protocol Game{' sync' if self.sync else ''} {{"]
        variables = {role: f" {{ {declared} }}" for role, declared in self.variables}
        lines += [f"  role {role}{variables.get(role, '')}" for role in self.roles]
        lines += [f"  commitment {one}" for one in self.commitments]
        lines += [one.text() for one in self.messages]
        lines += [f"  choice {' | '.join(names)}" for names in self.choices]
        lines += [f"  channel {a} -> {b} unordered" for a, b in self.unordered]
        lines += [f"  {one}" for one in self.extra]
        lines.append(f"  agent {NAME} plays {', '.join(self.played)} {{")
        lines += [f"    goal {goal}" for goal in self.goals]
        if self.values:
            lines.append(f"    value {', '.join(f'{name}: {amount}' for name, amount in self.values)}")
        lines += [belief.text() for belief in self.beliefs]
        lines += [f"    chooses {one}" for one in self.decisions]
        lines += [f"    {one}" for one in self.further]
        lines.append("  }")
        if self.thresholds or self.assumed:
            assuming = f" assuming {', '.join(self.assumed)}" if self.assumed else ""
            lines.append(f"  analyze {NAME}{assuming}: {', '.join(self.thresholds or ('conformance >= 0',))}")
        return "\n".join([*lines, "}", ""])

    def renamed(self) -> str:
        """Return the text with other names and another order of the letters."""
        names = [one.name for one in self.messages] + [one.partition(" ")[0] for one in self.commitments]
        names += [*self.roles, NAME]
        table = {
            name: f"Z{number}z" if name[0].isupper() else f"z{len(names) - number}z"
            for number, name in enumerate(names)
        }
        return re.sub(r"\b[A-Za-z]\w*\b", lambda word: table.get(word[0], word[0]), self.text())


def one_in(draw: st.DrawFn, number: int) -> bool:
    return draw(st.integers(0, number - 1)) == number - 1


@st.composite
def decision_games(draw: st.DrawFn, *, chance: bool = True, values: bool = True, most: int = 4) -> Draft:
    """Draw a protocol with this number of alternatives at most; without ``chance`` there are no beliefs."""
    roles = (ROLE, *OTHERS[: draw(st.sampled_from((1, 1, 2)))])
    messages: list[Sending] = []
    groups: list[list[Sending]] = []
    for _ in range(draw(st.integers(min(2, most), most))):
        group = _group(draw, roles, messages)
        groups.append(group)
        messages += group
    commitments = _commitments(draw, roles, messages)
    tempted = None if one_in(draw, 2) else _temptation(draw, messages, commitments)
    groups = [[next(one for one in messages if one.name == old.name) for old in group] for group in groups]
    choices = tuple(tuple(one.name for one in group) for group in groups if len(group) > 1)
    beliefs = tuple(
        belief
        for group in groups
        if chance and not one_in(draw, 4)
        for belief in _belief(draw, group, messages, commitments)
    )
    own = [one.name for one in messages if one.sender == ROLE]
    visible = [one.name for one in messages if ROLE in (one.sender, one.receiver)]
    decisions: tuple[str, ...] = ()
    if own and visible and one_in(draw, 6):
        condition = draw(st.sampled_from(("", "!"))) + draw(st.sampled_from(visible))
        decisions = (f"{draw(st.sampled_from(own))} when {condition}",)
    names = [one.name for one in messages]
    worth = draw(st.lists(st.sampled_from(names), unique=True, max_size=3)) if values else []
    goal = _goal(draw, messages, choices, commitments)
    if tempted is not None:
        goal = draw(st.sampled_from((tempted, tempted, goal, f"{tempted} | ({goal})")))
        worth = [*worth, tempted] if values and tempted not in worth else worth
    return Draft(
        roles, tuple(messages), choices, tuple(commitments), (goal,),
        tuple((name, draw(st.sampled_from(_AMOUNTS))) for name in worth), beliefs, decisions,
        sync=draw(st.sampled_from((True, True, False))),
        unordered=(("Bob", ROLE),) if one_in(draw, 5) else (),
    )  # fmt: skip


def _group(draw: st.DrawFn, roles: tuple[str, ...], earlier: list[Sending]) -> list[Sending]:
    """Draw one message, or alternatives of one sender."""
    sender = draw(st.sampled_from((ROLE, *roles, *roles[1:]) if earlier else roles))
    size = draw(st.sampled_from((1, 2, 2) if sender == ROLE else (1, 2, 2, 3)))
    visible = [one.name for one in earlier if sender in (one.sender, one.receiver)]
    guard = draw(st.sampled_from(visible)) if visible and not one_in(draw, 4) else ""
    if len(visible) > 1 and guard and one_in(draw, 3):
        other = draw(st.sampled_from(visible))
        guard = guard if other == guard else f"{guard} {draw(st.sampled_from('&|'))} {other}"
    first = len(earlier)
    receivers = [role for role in roles if role != sender]
    common = draw(st.sampled_from(receivers))
    group = []
    for number in range(size):
        receiver = draw(st.sampled_from(receivers)) if one_in(draw, 3) else common
        group.append(Sending(f"{sender[0].lower()}{first + number}", sender, receiver, guard))
    if size == 1 and one_in(draw, 4):
        group[0] = replace(group[0], parameter="v: 0..1")
    return group


def _commitments(draw: st.DrawFn, roles: tuple[str, ...], messages: list[Sending]) -> list[str]:
    """Draw commitments, and give some messages the operations on them."""
    declared = []
    for number in range(draw(st.sampled_from((0, 1, 1, 2)))):
        debtor = draw(st.sampled_from((ROLE, ROLE, "Bob")))
        creditor = draw(st.sampled_from([role for role in roles if role != debtor]))
        creators = [at for at, one in enumerate(messages) if one.sender == debtor]
        if not creators:
            continue
        name = f"k{number}"
        visible = [one.name for one in messages if {one.sender, one.receiver} & {debtor, creditor}]
        antecedent = draw(st.sampled_from(("true", *visible)))
        consequent = draw(st.sampled_from(visible))
        if not {messages[at].receiver for at in creators} & {creditor}:
            continue
        creators = [at for at in creators if messages[at].receiver == creditor]
        declared.append(f"{name} = C({debtor}, {creditor}, {antecedent}, {consequent})")
        operations = [(draw(st.sampled_from(creators)), f"create {name}")]
        for operation in draw(st.lists(st.sampled_from(OPERATIONS), max_size=2)):
            by = {"release": (creditor,), "expire": (debtor, creditor)}.get(operation, (debtor,))
            able = [at for at, one in enumerate(messages) if one.sender in by and at != operations[0][0]]
            if able:
                operations.append((draw(st.sampled_from(able)), f"{operation} {name}"))
        for at, operation in operations:
            if {messages[at].sender, messages[at].receiver} <= {debtor, creditor}:
                messages[at] = replace(messages[at], operations=(*messages[at].operations, operation))
    return [one for one in declared if any(f"create {one.partition(' ')[0]}" in m.operations for m in messages)]


def _temptation(draw: st.DrawFn, messages: list[Sending], commitments: list[str]) -> str | None:
    """Let the participant promise one of its own alternatives; return another one, which breaks the promise."""
    own = [one for one in messages if one.sender == ROLE]
    pairs = [(one, two) for one in own for two in own if one.guard == two.guard and one.name != two.name]
    triples = [
        (creator, *pair)
        for creator in own
        for pair in pairs
        if creator.receiver == pair[0].receiver and creator not in pair
    ]
    if not triples:
        return None
    creator, promised, tempted = draw(st.sampled_from(triples))
    theirs = [one.name for one in messages if one.sender == creator.receiver and one.receiver == ROLE]
    antecedent = draw(st.sampled_from(("true", "true", *theirs)))
    commitments.append(f"k9 = C({ROLE}, {creator.receiver}, {antecedent}, {promised.name})")
    at = messages.index(creator)
    messages[at] = replace(creator, operations=(*creator.operations, "create k9"))
    return tempted.name


def _belief(draw: st.DrawFn, group: list[Sending], messages: list[Sending], commitments: list[str]) -> list[Belief]:
    """Draw a belief about these alternatives, if the participant does not send them."""
    sender = group[0].sender
    if sender == ROLE:
        return []
    names = [one.name for one in group]
    if group[0].parameter:
        names = [f"{names[0]}(0)", f"{names[0]}(1)"]
    shares = draw(st.sampled_from([one for one in _SHARES + _RANGES if len(one) == len(names)]))
    visible = [one.name for one in messages if ROLE in (one.sender, one.receiver) and one not in group]
    guards = [word for word in re.findall(r"\w+", group[0].guard) if word in visible]
    conditions = ["", "", "", *guards, *guards, *guards, *guards, *visible[:2]]
    for one in commitments:
        if f"{ROLE}," in one or f" {ROLE}," in one:
            name = one.partition(" ")[0]
            conditions += [f"active({name})", f"conditional({name})"]
    return [Belief(sender, tuple(zip(names, shares, strict=True)), draw(st.sampled_from(conditions)))]


def _goal(
    draw: st.DrawFn, messages: list[Sending], choices: tuple[tuple[str, ...], ...], commitments: list[str]
) -> str:
    names = [one.name for one in messages]
    own = [one for one in choices if one[0].startswith("a")]
    theirs = [one for one in choices if not one[0].startswith("a")]
    if own and theirs and not one_in(draw, 3):
        mine, other = draw(st.sampled_from(own)), draw(st.sampled_from(theirs))
        return " | ".join(f"{a} & {b}" for a, b in zip(mine, other, strict=False))
    atoms = [*names, *names]
    for one in commitments:
        name = one.partition(" ")[0]
        atoms += [f"fulfilled({name})", f"!violated({name})"]
    parts = [draw(st.sampled_from(atoms)) for _ in range(draw(st.sampled_from((1, 2, 2, 3, 4))))]
    if len(parts) == 4:
        return f"({parts[0]} & {parts[1]}) | ({parts[2]} & {parts[3]})"
    negated = [f"!{part}" if one_in(draw, 5) and not part.startswith("!") else part for part in parts]
    return draw(st.sampled_from((" & ", " | "))).join(negated)


def threshold(aspect: str, relation: str, value: Fraction) -> str:
    """Return a threshold as it is written; the value must have few decimals."""
    return f"{aspect} {relation} {float(value):.10g}"
