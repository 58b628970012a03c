"""Random small protocols as text: every construct of the language, few reachable states.

A protocol has two single roles, sometimes a third or a family of two. Its declarations stand at the top, in a loop
over the family or in a loop over numbers, possibly nested. Every generated text is meant to pass the checker.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import partial

from hypothesis import assume
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import (
    FAULTS,
    HIGHEST,
    LIKELY,
    STATES,
    TYPES,
    VALUES,
    Atom,
    Commitment,
    Fact,
    Loop,
    Message,
    Plan,
    Variable,
    Writer,
    one_in,
)  # fmt: skip


@st.composite
def plans(draw: st.DrawFn, *, has_groups: bool = False) -> Plan:
    """Draw a protocol, on request one in which several roles can be debtors or creditors of one commitment."""
    singles = draw(
        st.sampled_from([("Ann", "Bob"), ("A", "B"), ("Ann", "Bob", "Zoe"), ("A", "Bob", "C")][2 * has_groups :])
    )
    family = "Prt" if one_in(draw, 3) else None
    plan = Plan(singles, family, draw(st.booleans()))
    writer = Writer(draw, plan)
    each = (Loop("p", "Prt", over_roles=True),) if family else ()
    places: list[tuple[Loop, ...]] = [()]
    if family:
        places += [each, each]
        if one_in(draw, 5):
            places.append((*each, Loop("i", "1..2", over_roles=False)))
    elif one_in(draw, 4):
        places.append((Loop("i", "1..2", over_roles=False),))
    _variables(draw, plan)
    _commitments(draw, plan, places)
    if has_groups:
        _group(draw, plan)
    _messages(draw, plan, places)
    if has_groups:
        _address_groups(draw, plan)
    _facts(draw, plan, writer)
    _conditions(plan, writer)
    for position, message in enumerate(plan.messages):
        plan.messages[position] = _with_clauses(draw, plan, writer, position, message)
    _empower(draw, plan)
    assume(not _has_circular_content(plan))
    _create_what_is_never_created(draw, plan)
    _choices(draw, plan)
    if one_in(draw, 5):
        message = draw(st.sampled_from(plan.messages))
        plan.unordered.append((message.path, message.first, message.second))
    if not plan.sync and one_in(draw, 4):
        message = draw(st.sampled_from(plan.messages))
        how = draw(st.sampled_from(FAULTS))
        plan.faults.append((message.path, message.first, draw(st.sampled_from((message.second, *message.more))), how))
    return plan


@st.composite
def queued_plans(draw: st.DrawFn) -> Plan:
    """Draw a protocol in which some channels hold several messages, most of which may be sent again."""
    plan = draw(plans())
    plan.sync = False
    plan.unordered.clear()
    plan.faults.clear()
    for position, message in enumerate(plan.messages):
        clauses = tuple(clause for clause in message.clauses if not clause.startswith("resets"))
        plan.messages[position] = replace(message, clauses=clauses, repeatable=message.repeatable or one_in(draw, 3))
    for message in draw(st.lists(st.sampled_from(plan.messages), min_size=1, max_size=2)):
        receiver = draw(st.sampled_from((message.second, *message.more)))
        if all(one[:3] != (message.path, message.first, receiver) for one in plan.faults):
            how = draw(st.sampled_from(("fifo 2", "fifo 2", "fifo 3", "fifo 2 lossy", "fifo 2 lossy(1)")))
            plan.faults.append((message.path, message.first, receiver, how))
    return plan


@st.composite
def recorded_plans(draw: st.DrawFn) -> Plan:
    """Draw a protocol with a record that roles ask and change."""
    plan = draw(plans())
    plan.faults.clear()
    plan.unordered.clear()
    plan.record = "Log"
    plan.variables += [
        Variable("w", "Log", "0..2", draw(st.sampled_from("012"))),
        Variable("b", "Log", "bool", "false"),
    ]
    paths = [(), *(path for path in plan.paths() if path and path[0].over_roles and len(path) == 1)]
    guards = [one.name for one in plan.messages if not one.path]
    for number in range(draw(st.sampled_from([1, 1, 2]))):
        path = draw(st.sampled_from(paths))
        asker = draw(st.sampled_from(plan.roles(path)))
        answers = draw(st.sampled_from(_ANSWERS)) if number < 2 else _ANSWERS[0]
        replies = " else ".join(f"r{number}{letter}{text}" for letter, (_, text) in zip("ab", answers, strict=False))
        observed = [name for name in guards if asker in next(one for one in plan.messages if one.name == name).roles]
        after = (f"after {draw(st.sampled_from(observed))}",) if observed and one_in(draw, 2) else ()
        writes = draw(st.sampled_from([(), (), ("on receipt b := !b",), ("on receipt w := (w + 1) % 3",)]))
        repeatable = one_in(draw, 2)
        clauses = (*after, *writes, f"returns {replies}")
        plan.messages.append(Message(f"q{number}", path, asker, "Log", (), clauses, repeatable))
        for letter, (parameters, _) in zip("ab", answers, strict=False):
            reply = Message(f"r{number}{letter}", path, "Log", asker, parameters, (), repeatable, is_reply=True)
            plan.messages.append(reply)
    return plan


_W, _B = ("w", "0..2"), ("b", "bool")
_ANSWERS = (
    (((_W,), "(w)"),),
    (((_W, _B), "(w, b) set b := true"),),
    (((_W,), "(w) if w > 0 set w := w - 1"), ((), "")),
    (((), " if b set b := w > 1, w := 2"), ((_B,), "(b) if w < 2 set b := !b")),
)
"""Answers of a record: the parameters of each, and its text."""


def _variables(draw: st.DrawFn, plan: Plan) -> None:
    owners = [*plan.singles[:2], *([plan.family] if plan.family else [])]
    for number in range(draw(st.sampled_from([0, 0, 1, 1, 2]))):
        type_ = draw(st.sampled_from(TYPES))
        initial = None if one_in(draw, 4) else draw(st.sampled_from(VALUES[type_]))
        plan.variables.append(Variable(f"v{number}", draw(st.sampled_from(owners)), type_, initial))


def _commitments(draw: st.DrawFn, plan: Plan, places: list[tuple[Loop, ...]]) -> None:
    """Draw who owes whom; often so that one can be handed over to another."""
    path = draw(st.sampled_from(places))
    roles = draw(st.permutations(plan.roles(path)))
    first, second = roles[0], roles[1]
    pairs = [(first, second)]
    if len(roles) > 2:
        third = roles[2]
        pairs += draw(
            st.sampled_from(
                [
                    [(third, second)],
                    [(third, second), (second, first)],
                    [(first, third)],
                    [(first, third), (third, second)],
                    [(third, second), (third, first)],
                ]
            )
        )
    elif draw(st.booleans()):
        pairs.append((second, first))
    for number, (debtor, creditor) in enumerate(pairs):
        plan.commitments.append(Commitment(f"c{number}", path, debtor, creditor))


def _group(draw: st.DrawFn, plan: Plan) -> None:
    """Add members to the sides of commitments; one of them at least has a group."""
    for position, commitment in enumerate(plan.commitments):
        free = [role for role in plan.roles(commitment.path) if role not in commitment.roles]
        if plan.family and plan.family not in free:
            free.append(plan.family)  # a family stands for all its members but those on the other side
        if not free or (position and one_in(draw, 3)):
            continue
        more = draw(st.lists(st.sampled_from(free), min_size=1, max_size=2, unique=True))
        number = draw(st.integers(0, len(more)))
        grouped = replace(commitment, more_debtors=tuple(more[:number]), more_creditors=tuple(more[number:]))
        plan.commitments[position] = replace(
            grouped, answerable=draw(st.sampled_from(["", "any", "each"])) if number else ""
        )


def _address_groups(draw: st.DrawFn, plan: Plan) -> None:
    """Let any member send a message of its side, mostly to all others."""
    for position, message in enumerate(plan.messages):
        both = {message.first, message.second}
        groups = [
            one
            for one in plan.commitments
            if one.is_group and one.path == message.path and {one.first, one.second} == both
            if message.clauses in ((), (f"means create {one.name}",))
        ]
        if not groups or one_in(draw, 4):
            continue
        commitment = draw(st.sampled_from(groups))
        own, addressees = commitment.debtors, commitment.creditors
        if message.first == commitment.second:
            own, addressees = addressees, own
        sender = draw(st.sampled_from([role for role in own if role != plan.family]))
        partners = [role for role in own if role != sender]
        is_among_members = any(role.startswith(f"{plan.family}[") for role in (sender, message.second))
        if message.path or is_among_members:  # there its members are named one by one
            partners = [role for role in partners if role != plan.family]
            addressees = tuple(role for role in addressees if role != plan.family)
        receivers = [role for role in (*addressees, *partners) if role != message.second]
        plan.messages[position] = replace(
            message, first=sender, more=() if one_in(draw, 4) else tuple(dict.fromkeys(receivers))
        )


def _messages(draw: st.DrawFn, plan: Plan, places: list[tuple[Loop, ...]]) -> None:
    """Draw who says what to whom: often first who creates, then who hands over, then anybody."""
    main = plan.commitments[0]
    copies = 0
    for number in range(draw(st.integers(2, 6))):
        path, pair = main.path, (main.first, main.second)
        clauses: tuple[str, ...] = ()
        handings = [op for op in _operations(plan, Message("", path, *pair)) if " to " in op]
        handings += [op for op in _operations(plan, Message("", path, *pair[::-1])) if " to " in op]
        if number == 0 and not one_in(draw, 5):
            clauses = (f"means create {main.name}",)
        elif number == 1 and handings and draw(st.booleans()):
            operation = draw(st.sampled_from(handings))
            sender = main.first if operation in _operations(plan, Message("", path, *pair)) else main.second
            receiver = draw(st.sampled_from([role for role in plan.roles(path) if role != sender]))
            pair, clauses = (sender, receiver), (f"means {operation}",)
        elif one_in(draw, 4):
            path = draw(st.sampled_from(places))
            first, second = draw(st.permutations((*plan.roles(path), *(() if path else plan.instances()))))[:2]
            pair = (first, second)
        else:
            commitment = draw(st.sampled_from(plan.commitments))
            path, pair = commitment.path, (commitment.first, commitment.second)
            if draw(st.booleans()):
                pair = pair[::-1]
        copies += 2 ** len(path)
        if copies > 9 and number >= 2:
            break
        count = draw(st.sampled_from([0, 0, 0, 0, 1, 2])) if copies < 6 else 0
        parameters = tuple((f"x{n}", draw(st.sampled_from(TYPES))) for n in range(count))
        third_parties = [role for role in plan.roles(path) if role not in pair]
        if not path and plan.family and plan.family not in pair and not any("[" in role for role in pair):
            third_parties.append(plan.family)
        more = (draw(st.sampled_from(third_parties)),) if third_parties and one_in(draw, 5) else ()
        plan.messages.append(Message(f"m{number}", path, *pair, parameters, clauses, one_in(draw, 8), more=more))


def _facts(draw: st.DrawFn, plan: Plan, writer: Writer) -> None:
    if draw(st.booleans()):
        message = draw(st.sampled_from(plan.messages))
        ends = {message.first, message.second}
        near = [m for m in plan.messages if m.path == message.path and {m.first, m.second} == ends]
        atoms: list[Atom] = [partial(str, m.name) for m in near]
        atoms += [
            partial(writer.payload_atom, partial(str, m.name), parameter) for m in near for parameter in m.parameters
        ]
        plan.facts.append(Fact("f0", message.path, message.first, message.second, writer.condition(atoms)))


def _conditions(plan: Plan, writer: Writer) -> None:
    """Give every commitment an antecedent and a consequent, that mostly come later, and some a deadline."""
    draw = writer.draw
    for position, commitment in enumerate(plan.commitments):
        names = [m.name for m in plan.messages[1:] if m.path == commitment.path]
        near: list[Atom] = [partial(str, name) for name in names * 2]
        other_atoms = writer.message_atoms(commitment.path, None) + writer.fact_atoms(commitment.path, None)
        other_atoms += writer.variable_atoms(commitment.path, None)
        about_runs = _content(writer, names, near + other_atoms) if one_in(draw, 4) else None
        if position and one_in(draw, 3):
            other_atoms += [
                partial(str, f"{writer.pick((*LIKELY, *STATES))}({plan.commitments[position - 1].name})")
            ] * 5
        antecedent = "true" if one_in(draw, 2) else writer.condition(near + other_atoms, 1)
        consequent = about_runs or writer.condition(near[len(near) // 4 :] * 2 + other_atoms, 1)
        options = ""
        if one_in(draw, 3):
            options += f" within {draw(st.integers(1, 2))}"
        if one_in(draw, 4):
            options += f" expires {draw(st.integers(1, 2))}"
        if one_in(draw, 4):
            options += " revocable"
        text = f"C({commitment.sides}, {antecedent}, {consequent}){options}"
        plan.commitments[position] = replace(commitment, text=text, is_about_runs=about_runs is not None)


def _has_circular_content(plan: Plan) -> bool:
    """Return whether a content about runs depends on itself, counting what its commitment may be handed over to."""
    depends_on = {one.name: set(re.findall(r"\bc\d+\b", one.text)) for one in plan.commitments}
    watched = [one.name for one in plan.commitments if one.is_about_runs and depends_on[one.name]]
    clauses = " ".join(clause for message in plan.messages for clause in message.clauses)
    handings = set(re.findall(r"(?:delegate|assign) (c\d+)(\S*) to (c\d+)([^\s,]*)", clauses))
    for source, index, target, other in handings:
        if source != target or (source, other, target, index) in handings:
            depends_on[source].add(target)
    return any(name in _closure(depends_on, name) for name in watched)


def _closure(depends_on: dict[str, set[str]], start: str) -> set[str]:
    """Return the names that can be reached from one in at least one step."""
    reached: set[str] = set()
    waiting = [*depends_on[start]]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += depends_on[name]
    return reached


def _content(writer: Writer, names: list[str], atoms: list[Atom]) -> str:
    """Return a formula about runs that some finite word decides, mostly one of the patterns that are in use."""
    p, q = (f"({writer.condition(atoms, 1)})" for _ in "pq")
    steps = [f"does({name})" for name in names] or ["does(tick)"]
    d, e = writer.pick((*steps, *steps, "does(tick)")), writer.pick(steps)
    patterns = [
        f"G !{p}", f"!{p} U {q}", f"!{p} W {q}", f"F ({p} & F {q})", f"{q} R !{p}",
        f"G !{d}", f"F {d}", f"!{d} U {q}", f"!{d} W {e}", f"{d} -> F {p}", f"G ({d} -> {p})",
        f"F<=1 ticks {p}", f"G<=1 ticks !{p}", f"!{d} U<=2 ticks {q}", f"G ({d} -> F<=1 ticks {p})",
        f"F {p} & G !{d}", f"F {d} | G {p}", f"G ({d} -> F<=1 ticks {e})",
    ]  # fmt: skip
    return writer.pick(tuple(patterns))


def _operations(plan: Plan, message: Message) -> list[str]:
    """Return every operation that the sender may perform, named as inside its loop."""
    operations = []
    for commitment in plan.commitments:
        if message.path[: len(commitment.path)] != commitment.path:
            continue
        name = commitment.name
        if message.first in commitment.debtors:
            verbs = ["create", "create", "fulfill", "violate", "withdraw", "expire", "compensate"]
            operations += [f"{verb} {name}" for verb in verbs]
        if message.first in commitment.creditors:
            verbs = ["release", "expire", "suspend", "reactivate", "suspend", "reactivate"]
            operations += [f"{verb} {name}" for verb in (*verbs, "accept", "refuse", "challenge")]
        for other in plan.commitments:
            if message.path[: len(other.path)] != other.path or other == commitment:
                continue
            if plan.family in (*commitment.roles, *other.roles):
                continue
            debtors, creditors = set(commitment.debtors), set(commitment.creditors)
            is_same_debtor, is_same_creditor = debtors == set(other.debtors), creditors == set(other.creditors)
            if message.first in debtors and not is_same_debtor and is_same_creditor:
                operations += [
                    f"delegate {name} to {other.name}{liability}" for liability in ("", " retaining", " retaining")
                ] * 2
            if message.first in creditors and not is_same_creditor and is_same_debtor:
                operations += [f"assign {name} to {other.name}"] * 3
    return operations


def _empower(draw: st.DrawFn, plan: Plan) -> None:
    """Let a message of a third party perform an operation that it is empowered to."""
    chosen = [
        (position, commitment)
        for position, message in enumerate(plan.messages)
        for commitment in plan.commitments
        if message.path[: len(commitment.path)] == commitment.path
        and message.first not in commitment.roles
        and plan.family not in commitment.roles
        and not any(clause.startswith("means") for clause in message.clauses)
    ]
    if not chosen or one_in(draw, 2):
        return
    position, commitment = draw(st.sampled_from(chosen))
    verbs = ("create", "fulfill", "violate", "withdraw", "release", "expire", "suspend", "reactivate", "compensate")
    operation = f"{draw(st.sampled_from(verbs))} {commitment.name}"
    message = plan.messages[position]
    plan.messages[position] = replace(message, clauses=(*message.clauses, f"means {operation}"))
    plan.powers.append((message.path, message.first, operation))


def _operations_on_members(plan: Plan, message: Message) -> list[str]:
    """Return what may be done at the top to the commitments of a family, by their indices."""
    operations = []
    for commitment in plan.commitments:
        if message.path or [loop.over_roles for loop in commitment.path] != [True]:
            continue
        for index, other in ("12", "21"):
            names = {"p": f"{plan.family}[{index}]"}
            debtor, creditor = (
                names.get(commitment.first, commitment.first),
                names.get(commitment.second, commitment.second),
            )
            name, target = f"{commitment.name}[{index}]", f"{commitment.name}[{other}]"
            if message.first == debtor:
                operations += [f"create {name}", f"withdraw {name}"]
                operations += [
                    f"delegate {name} to {target}{liability}"
                    for liability in ("", " retaining")
                    if commitment.first == "p" and not commitment.is_group
                ]
            if message.first == creditor:
                operations += [f"suspend {name}", f"release {name}"]
                operations += (
                    [f"assign {name} to {target}"] * 2 if commitment.second == "p" and not commitment.is_group else []
                )
    return operations


def _with_clauses(draw: st.DrawFn, plan: Plan, writer: Writer, position: int, message: Message) -> Message:
    """Draw the clauses of one message. It mostly comes after an earlier one, so that there are few states."""
    path, sender = message.path, message.first
    clauses = list(message.clauses)
    earlier = [m for m in plan.messages[:position] if writer.visible(m, path, sender)]
    if earlier and not one_in(draw, 4):
        clauses.append(f"after {writer.reference(draw(st.sampled_from(earlier)), path)}")
    own: list[Atom] = [partial(writer.comparison, name, type_) for name, type_ in message.parameters]
    visible_atoms = writer.message_atoms(path, sender)
    more = writer.variable_atoms(path, sender) + writer.fact_atoms(path, sender)
    if one_in(draw, 3):
        clause = draw(st.sampled_from(["unless", "if"] if position else ["unless"]))
        clauses.append(f"{clause} {writer.condition(own * 2 + visible_atoms + more, 1)}")
    views = writer.commitment_atoms(path, sender)
    if views and one_in(draw, 4):
        clause = draw(st.sampled_from(["unless", "if", "after"]))
        mixed = bool(own + more) and one_in(draw, 2)
        atoms = views * 3 + (own * 3 + more if mixed else visible_atoms)
        clauses.append(f"{clause} {writer.condition(atoms, 2 if mixed else 1)}")
    operations = _operations(plan, message) + _operations_on_members(plan, message)
    if operations and not message.clauses and not one_in(draw, 3):
        chosen = draw(st.lists(st.sampled_from(operations), min_size=1, max_size=2))
        clauses.append("means " + ", ".join(chosen))
    clauses += _assignments(draw, plan, writer, message, sender, "set", 3)
    for receiver in (message.second, *message.more):
        clauses += _assignments(draw, plan, writer, message, receiver, "on receipt", 3)
    same_pair = [
        m.name
        for m in plan.messages
        if m.path == path and {m.first, m.second} == {message.first, message.second} and not m.restarts and not m.more
    ]
    if same_pair and not message.more and one_in(draw, 7):
        chosen = draw(st.lists(st.sampled_from(same_pair), min_size=1, max_size=2, unique=True))
        clauses.append("resets " + ", ".join(chosen))
        return replace(message, clauses=tuple(draw(st.permutations(clauses))))
    is_reset = any("resets" in c and message.name in c for m in plan.messages for c in m.clauses)
    if position and not is_reset and one_in(draw, 5):
        return replace(message, clauses=(*clauses, "restart"), restarts=True)
    return replace(message, clauses=tuple(clauses))


def _assignments(
    draw: st.DrawFn, plan: Plan, writer: Writer, message: Message, actor: str, clause: str, rarity: int
) -> list[str]:
    """Draw what a message does to the variables of its sender or its receiver."""
    owned = [v for v in plan.variables if actor in writer.names_of(v, message.path)]
    assignments = []
    for variable in owned:
        if one_in(draw, rarity):
            continue
        target = f"{actor}.{variable.name}"
        assignments.append(f"{target} := {_value(draw, message, variable, target, wild=clause == 'set')}")
    return [f"{clause} " + ", ".join(assignments)] if assignments else []


def _value(draw: st.DrawFn, message: Message, variable: Variable, target: str, *, wild: bool) -> str:
    """Draw an expression of the variable's type; a wild one may leave the range."""
    match variable.type:
        case "bool":
            options = ["true", "false", f"!{target}"]
        case "{red, blue}":
            options = ["red", "blue"]
        case low_high:
            low, high = int(low_high[0]), HIGHEST[low_high]
            options = [str(low), str(high), target, f"({target} + 1) % {high + 1}" if low == 0 else str(high)]
            if wild or one_in(draw, 12):
                options += [f"{target} + 1", f"{target} - 1"]
    options += [name for name, type_ in message.parameters if type_ == variable.type] * 3
    return draw(st.sampled_from(options))


def _create_what_is_never_created(draw: st.DrawFn, plan: Plan) -> None:
    """Let some message of the debtor create each commitment that none creates or hands over to."""
    for commitment in plan.commitments:
        name = commitment.name
        created = any(f"create {name}" in c or f"to {name}" in c for m in plan.messages for c in m.clauses)
        makers = [n for n, m in enumerate(plan.messages) if m.path == commitment.path and m.first in commitment.debtors]
        if created or not makers:
            continue
        position = makers[0]
        message = plan.messages[position]
        means = [c for c in message.clauses if c.startswith("means")]
        rest = tuple(c for c in message.clauses if not c.startswith("means"))
        clause = f"means create {name}" + "".join(f", {c.removeprefix('means ')}" for c in means)
        plan.messages[position] = replace(message, clauses=(clause, *rest))


def _choices(draw: st.DrawFn, plan: Plan) -> None:
    for path in plan.paths():
        for sender in plan.roles(path):
            names = [m.name for m in plan.messages if (m.path, m.first) == (path, sender)]
            if len(names) > 1 and one_in(draw, 3):
                members = draw(st.permutations(names))[: draw(st.integers(2, min(3, len(names))))]
                plan.choices.append((path, tuple(members)))
