"""On random dialogues, and on one in which everything is said, system and reference interpreter agree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import given, note
from hypothesis import strategies as st
from tests.properties.test_lowering_matches_reference import check_lowering, check_verdicts, compiled, explored
from tests.reference.lockstep import Lockstep
from tests.reference.semantics import Reference

from cplc.compilation import CplCompilation
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.lowering.lifecycle_analysis import last_moves
from cplc.system.model import System

STANDINGS = ("unanswered", "accepted", "refused", "challenged", "justified", "attacked", "defended")
CLAIM_STATES = ("null", "open", "withdrawn", "satisfied", "violated", "closed")
COMMITMENT_STATES = ("conditional", "active", "pending", "fulfilled", "violated", "open", "null")
ANSWERS = ("accept", "refuse", "challenge")
MAKER = ("create", "create", "withdraw")
DEBTOR = ("create", "create", "fulfill", "violate", "withdraw")
CREDITOR = ("release", "suspend", "reactivate", *ANSWERS)


@dataclass(frozen=True)
class Kept:
    """A commitment or a claim: one may look only at those that come before it, and is handed over only to them."""

    name: str
    is_claim: bool
    first: str
    second: str

    def states(self) -> Sequence[str]:
        return (*(CLAIM_STATES if self.is_claim else COMMITMENT_STATES), *STANDINGS)


@dataclass(frozen=True)
class Message:
    name: str
    sender: str
    receiver: str


@st.composite
def dialogues(draw: st.DrawFn) -> str:
    roles = draw(st.sampled_from([("A", "B"), ("A", "B"), ("A", "B", "C")]))
    subjects: list[Kept] = []
    for number in range(draw(st.integers(2, 4))):
        is_claim = draw(st.sampled_from([True, True, False]))
        first, second = draw(st.permutations(roles))[:2]
        subjects.append(Kept(f"{'p' if is_claim else 'c'}{number}", is_claim, first, second))
    main = subjects[0]
    messages: list[Message] = []
    for number in range(draw(st.integers(3, 5))):
        first, second = (main.first, main.second) if number % 2 == 0 else (main.second, main.first)
        if draw(st.integers(0, 3)) == 0:
            first, second = draw(st.permutations(roles))[:2]
        messages.append(Message(f"m{number}", first, second))
    restarting = draw(st.sampled_from([None, None, None, messages[-1]]))
    lines = [f"role {role} {{ var v: bool = false }}" if role == "A" else f"role {role}" for role in roles]
    for position, one in enumerate(subjects):
        lines.append(declared(draw, one, messages, subjects[:position]))
    for position, message in enumerate(messages):
        clauses = [*performed(draw, message, subjects), *guarded(draw, message, messages[:position], subjects)]
        if message == restarting:
            clauses.append("restart")
        lines.append(f"{message.sender} -> {message.receiver} : {message.name} {' '.join(clauses)}")
    atoms = [f"{draw(st.sampled_from(one.states()))}({one.name})" for one in subjects]
    pair = draw(st.permutations(roles))[:2]
    lines.append(f"property some: EF ({' & '.join(atoms[:2])})")
    lines.append(f"property always: AG ({atoms[0]} -> AF {atoms[-1]})")
    lines.append(f"property viewed: AG ({atoms[0]} -> !{atoms[0][:-1]}@{subjects[0].first}))")
    if any(
        (one.first, one.second) == tuple(pair) or (one.is_claim and one.first in pair and one.second in pair)
        for one in subjects
    ):
        bound = f"SC({pair[0]} -> {pair[1]}, "
        lines.append(f"property social: EF {bound}F {atoms[0]})")
        lines.append(f"property argued: EF ({draw(st.sampled_from(STANDINGS))}({main.name}) & {bound}G !{atoms[-1]}))")
        lines.append(f"property bound: AG ({atoms[0]} -> {bound}true))")
        lines.append(
            f"property never: AG ({draw(st.sampled_from(STANDINGS))}({main.name}) -> !{bound}X F {atoms[-1]}))"
        )
    verbs = ("create", "satisfy", "violate", "accept", "attack") if main.is_claim else ("create", "fulfill", "refuse")
    lines.append(f"property done: E F (does({draw(st.sampled_from(verbs))} {main.name}) & X {atoms[0]})")
    lines.append(f"property undone: A{{!does({draw(st.sampled_from(verbs))} {main.name})}} G !({atoms[-1]})")
    sync = " sync" if draw(st.booleans()) else ""
    return f"protocol P{sync} {{\n  " + "\n  ".join(lines) + "\n}\n"


def declared(draw: st.DrawFn, one: Kept, messages: Sequence[Message], earlier: Sequence[Kept]) -> str:
    def condition() -> str:
        atoms = [message.name for message in messages] * 2 + ["A.v", "!A.v", "true"]
        atoms += [f"{draw(st.sampled_from(other.states()))}({other.name})" for other in earlier] * 3
        signs = draw(st.sampled_from(["", "", "", "!"]))
        first = f"{signs}{draw(st.sampled_from(atoms))}".replace("!!", "")
        return draw(st.sampled_from([first, first, f"{first} {{}} {draw(st.sampled_from(atoms))}"])).format(
            draw(st.sampled_from("&|"))
        )

    if one.is_claim:
        forms = ["F ({})", "F ({})", "F ({})", "G ({})", "G !({})", "({}) U ({})", "{}", "F ({}) | F ({})"]
        form = draw(st.sampled_from([*forms, f"G !does({draw(st.sampled_from(messages)).name})"]))
        content = form.format(*(condition() for _ in range(form.count("{}"))))
        return f"claim {one.name} = claim({one.first}, {one.second}, {content})"
    within = draw(st.sampled_from(["", "", " within 1"]))
    return f"commitment {one.name} = C({one.first}, {one.second}, {condition()}, {condition()}){within}"


def performed(draw: st.DrawFn, message: Message, subjects: Sequence[Kept]) -> list[str]:
    """Draw what a message of this sender means."""
    operations: list[str] = []
    for position, one in enumerate(subjects):
        made, answered = (MAKER, ANSWERS) if one.is_claim else (DEBTOR, CREDITOR)
        if message.sender == one.first:
            operations += [f"{verb} {one.name}" for verb in made]
        if message.sender == one.second:
            operations += [f"{verb} {one.name}" for verb in answered]
        for other in subjects:
            between = {other.first, other.second} == {one.first, one.second}
            if other.is_claim and one != other and between and other.first == message.sender:
                verbs = ("justify", "defend") if message.sender == one.first else ("attack",)
                operations += [f"{verb} {one.name} with {other.name}" for verb in verbs] * 2
        for other in subjects[:position]:
            if one.is_claim or other.is_claim or message.sender != one.first:
                continue
            if other.second == one.second and other.first != one.first:
                operations += [f"delegate {one.name} to {other.name} retaining"] * 3
    if not operations:
        return []
    if message.name == "m0" and (first := [act for act in operations if act.startswith("create")]):
        return [f"means {draw(st.sampled_from(first))}"]
    operations += [act for act in operations if act.split()[1] == subjects[0].name] * 2
    chosen = draw(st.lists(st.sampled_from(operations), min_size=1, max_size=3))
    return [f"means {', '.join(chosen)}"]


def guarded(draw: st.DrawFn, message: Message, earlier: Sequence[Message], subjects: Sequence[Kept]) -> list[str]:
    clauses: list[str] = []
    observable = [other.name for other in earlier if message.sender in (other.sender, other.receiver)]
    if observable and draw(st.integers(0, 3)) > 0:
        clauses.append(f"after {draw(st.sampled_from([*observable, observable[-1]]))}")
    mine = [one for one in subjects if message.sender in (one.first, one.second)]
    if mine and draw(st.integers(0, 3)) == 0:
        one = draw(st.sampled_from(mine))
        atom = f"{draw(st.sampled_from(one.states()))}({one.name})"
        if draw(st.integers(0, 3)) == 0:
            atom = f"age({one.name}) {draw(st.sampled_from(['<', '>=', '=', '!=']))} {draw(st.integers(0, 2))}"
        clauses.append(f"{draw(st.sampled_from(['if', 'unless']))} {atom}")
    if draw(st.integers(0, 3)) == 0 and "A" in (message.sender, message.receiver):
        clauses.append(f"{'set' if message.sender == 'A' else 'on receipt'} A.v := !A.v")
    if draw(st.integers(0, 5)) == 0:
        clauses.append("repeatable")
    return clauses


@given(dialogues())
def test_last_moves_match_reference(text: str) -> None:
    note(text)
    check_last_moves(compiled(text))


def check_last_moves(compilation: CplCompilation) -> System:
    """Compare the systems that keep every last move; return the one that was lowered."""
    model = compilation.model
    reference = Reference(model, keeps_last_moves=True)
    graph = explored(reference)
    assert not reference.out_of_range, "no variable has numbers"
    recalled = frozenset((role, name) for name in model.subjects_of_moves for role in last_moves(model, name))
    system = compilation.system_with(frozenset(), recalled)
    Lockstep(reference, graph, system).walk()
    engine = ExplicitEngine(system)
    assert engine.count(engine.reachable) == len(graph.states)
    return system


@given(dialogues())
def test_dialogue_matches_reference(text: str) -> None:
    note(text)
    compilation = compiled(text)
    comparison = check_lowering(compilation)
    if comparison is not None:
        check_verdicts(compilation, *comparison)


EVERYTHING = """
protocol P sync {
  role A { var v: bool = false }
  role B
  claim p = claim(A, B, !A.v U settles)
  claim q = claim(A, B, F accepted(p))
  claim r = claim(B, A, F refused(p))
  A -> B : says        resets says        means create p
  A -> B : takes_back  resets takes_back  means withdraw p
  A -> B : justifies   resets justifies   means justify p with q
  A -> B : defends     resets defends     means defend p with q
  A -> B : turns       resets turns       set v := !v
  A -> B : settles     resets settles
  B -> A : accepts     resets accepts     means accept p
  B -> A : refuses     resets refuses     means refuse p
  B -> A : challenges  resets challenges  means challenge p
  B -> A : attacks     resets attacks     means attack p with r
  B -> A : drops       resets drops       means refuse q, withdraw r
}
"""


def test_every_operation_in_every_state() -> None:
    comparison = check_lowering(compiled(EVERYTHING))
    assert comparison is not None
    reference, graph = comparison
    lives = {name: {state.env[n] for state in graph.states} for n, name in enumerate(reference.names)}
    assert {life.state for life in lives["p"]} == {*CLAIM_STATES} - {"closed"}
    assert {life.standing for life in lives["p"]} == {*STANDINGS}
    assert {life.moved_with for life in lives["p"]} == {None, "q", "r"}


def test_every_last_move() -> None:
    system = check_last_moves(compiled(EVERYTHING))
    assert set(system.variable["p.last@A"].domain) == {"none", "justified", "defended"}
    assert set(system.variable["p.last@B"].domain) == {"none", "accepted", "refused", "attacked"}
    assert set(system.variable["q.last@B"].domain) == {"none", "refused"}
