"""Hypothesis strategies: small games of imperfect information, and goals of groups in them."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy
from tests.support.generators.systems import comparisons_over

from cplc.logic import expressions as e
from cplc.logic import formulas as f
from cplc.logic.expressions import Const, Equal, Expr, Ite, Read
from cplc.logic.formulas import Formula
from cplc.system.model import Agent, Justice, Step, StepKind, System, Variable

_HIDDEN = Variable("hidden", (0, 1, 2), (0,), "commitment", "Env", "hidden")
_HIDDEN_AT_FIRST = ((0,), (0,), (1, 2), (0, 1, 2))
_OUTCOME = Variable("outcome", ("open", "won", "lost"), ("open",), "commitment", "Env", "outcome")
_NOTES = {name: Variable(f"note{name}", (0, 1), (0,), "own", name, "note") for name in "AB"}
_OPEN = Equal(Read("outcome"), Const("open"))


@st.composite
def guessing_games(draw: DrawFn) -> System:
    """Something is hidden, and the sends of A and B turn out well or ill by it; each sees its own note alone.

    There may be several initial states, and some of them look the same to A, or to both.
    """
    steps = [_change(draw, n) for n in range(draw(st.sampled_from((2, 1))))]
    steps += [_send(draw, "A", n) for n in range(draw(st.sampled_from((2, 1, 3))))]
    steps += [_send(draw, "B", n) for n in range(draw(st.integers(0, 2)))]
    if draw(st.booleans()):
        revealed = Ite(Equal(Read("hidden"), Const(1)), Const(1), Const(0))
        steps.append(Step("told", "receive", "A", "told", (), draw(_guards("A")), ((_NOTES["A"].name, revealed),)))
    hidden = replace(_HIDDEN, initial=draw(st.sampled_from(_HIDDEN_AT_FIRST)))
    notes = [replace(note, initial=draw(st.sampled_from(((0,), (0,), (0, 1))))) for note in _NOTES.values()]
    return System(
        "Guessing",
        (),
        (hidden, _OUTCOME, *notes),
        tuple(Agent(name, name, (note.name,)) for name, note in _NOTES.items()),
        (),
        (),
        (),
        tuple(steps),
        tuple(Justice(s.name, (n,), s.actor if s.kind == "exchange" else None) for n, s in enumerate(steps)),
        (),
    )


def _change(draw: DrawFn, number: int) -> Step:
    kind: StepKind = draw(st.sampled_from(("restart", "tick")))
    comparisons: SearchStrategy[Expr] = comparisons_over([_HIDDEN, *_NOTES.values()])
    guard = e.conj((draw(st.just(Equal(Read("hidden"), Const(0))) | comparisons), _OPEN))
    value = draw(st.sampled_from((number % 2 + 1, number % 2 + 1, 0, 1, 2)))
    return Step(f"change {number}", kind, "Env", "", (), guard, (("hidden", Const(value)),))


def _send(draw: DrawFn, actor: str, number: int) -> Step:
    """A send that wins or loses by a hidden value, or has no effect; it may also record something."""
    likely = Equal(Read("hidden"), Const(draw(st.sampled_from((number % 2 + 1, number % 2 + 1, 0, 1, 2)))))
    outcomes = st.sampled_from(("won", "lost", "open"))
    outcome = Ite(likely, Const(draw(st.just("won") | outcomes)), Const(draw(st.just("lost") | outcomes)))
    updates: list[tuple[str, Expr]] = [("outcome", outcome)]
    if draw(st.booleans()):
        updates.append((_NOTES[draw(st.sampled_from("AB"))].name, Const(draw(st.integers(0, 1)))))
    guard = e.conj((draw(_guards(actor)), _OPEN))
    return Step(f"{actor} sends {number}", "exchange", actor, f"m{number}", (), guard, tuple(updates))


def _guards(actor: str) -> SearchStrategy[Expr]:
    own = st.integers(0, 1).map(lambda value: Equal(Read(_NOTES[actor].name), Const(value)))
    return st.just(e.TRUE) | own | comparisons_over([_HIDDEN])


def guessing_goals() -> SearchStrategy[f.Enforces]:
    """Goals of A, or of A and B: to win, or to win without having lost or recorded something before."""
    won: Formula = f.Atom(Equal(Read("outcome"), Const("won")), "won")
    through = st.sampled_from([*_NOTES.values(), _HIDDEN]).flatmap(lambda variable: comparisons_over([variable]))
    ways = through.map(lambda condition: f.Until(f.Atom(condition, "on the way"), won))
    goals: SearchStrategy[f.Finally | f.Until] = st.just(f.Finally(won)) | st.just(f.Finally(won)) | ways
    return st.builds(f.Enforces, st.sampled_from((("A",), ("A", "B"))), goals, st.just(True))
