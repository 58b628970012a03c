"""Each built-in check holds of a protocol that deserves it, and fails of one that does not."""

from __future__ import annotations

from typing import Literal

import pytest

from cplc.checking.results import Result
from cplc.compilation import CplCompilation
from cplc.logic.expressions import Expr, conj, disj, negate
from cplc.logic.formulas import And, Atom, Finally, Formula, Not, OnPaths, Or
from cplc.source import Source
from cplc.system.printer import formula_text

Engine = Literal["explicit", "symbolic"]
ENGINES: tuple[Engine, ...] = ("explicit", "symbolic")


def verdict(check: str, body: str, engine: Engine = "explicit", header: str = "") -> Result:
    text = f"protocol P {header} {{\n  role A\n  role B\n  role C1\n{body}\n  check {check}\n}}\n"
    compilation = CplCompilation(Source("p.cpl", text))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    (result,) = compilation.verify(compilation.questions([check]), engine)
    return result


def last_step(result: Result) -> str:
    assert result.evidence is not None
    run = result.evidence.run
    if not run.moves:
        ((_, part),) = result.evidence.parts
        run = part.run
    step = run.moves[-1].step
    return "idle" if step is None else result.system.steps[step].name


PROMISE = """
  commitment c = C(A, B, go, done) {options}
  A -> B : offer  means create c
  B -> A : go    after offer
"""

DUE = PROMISE.format(options="")
TIMED = PROMISE.format(options="within 2")
BOTH = PROMISE.format(options="within 2 expires 1")
DONE = "  A -> B : done  after go\n"

STOPPED_DUE = DUE.replace("after offer", "after offer  unless stop") + "  A -> B : stop\n"
STOPPED_TIMED = TIMED.replace("after offer", "after offer  unless stop") + "  A -> B : stop\n"
STOPPED_BOTH = BOTH.replace("after offer", "after offer  unless stop") + "  A -> B : stop\n"
RETAINED = """
  commitment c = C(A, C1, true, done)
  commitment d = C(B, C1, true, done)
  A -> C1 : offer  means create c
  A -> B : pass  after offer  means delegate c to d retaining
"""
EXCUSED = """
  commitment c = C(A, C1, true, done)
  commitment d = C(B, C1, true, done)
  commitment x = C(A, B, true, tip)
  commitment y = C(C1, B, true, tip)
  A -> C1 : offer  means create c
  A -> B : pass    after offer  repeatable  means delegate c to d, create x
  B -> A : back    after pass   repeatable  means delegate d to c, release x
  A -> C1 : tell   after offer  repeatable  means delegate x to y
  B -> C1 : done   after pass
  A -> B : tip     after pass
"""
SUSPENDED = """
  commitment c = C(A, B, true, done)
  A -> B : offer  means create c
  B -> A : wait   after offer  means suspend c
  A -> B : done   after offer  unless wait
"""

CASES: list[tuple[str, str, str]] = [
    # --- deadlock_free
    ("deadlock_free", DUE + "  A -> B : done  after offer", "holds"),
    ("deadlock_free", DUE + "  C1 -> B : done  after never\n  A -> C1 : never  if false", "fails"),
    (
        "deadlock_free",
        PROMISE.format(options="") + "  A -> B : done  after go  unless sorry\n  A -> B : sorry",
        "fails",
    ),
    # Time alone violates what is active.
    ("deadlock_free", TIMED + "  A -> B : done  if false", "holds"),
    # Nobody took up the offer: nothing is owed.
    ("deadlock_free", STOPPED_DUE + DONE, "holds"),
    # Time makes a repair possible, so that nobody is stuck while it passes.
    (
        "deadlock_free",
        "  commitment c = C(A, B, true, done) within 2\n  commitment d = C(A, B, true, repaired)\n"
        "  A -> B : offer  means create c, create d\n  A -> B : done  if false\n"
        "  A -> B : repaired  if violated(c)",
        "holds",
    ),
    # A delegate stands for the debtor who waits for it; suspension is up to the creditor.
    ("deadlock_free", RETAINED + "  B -> C1 : done  if false", "fails"),
    ("deadlock_free", RETAINED + "  B -> C1 : done", "holds"),
    ("deadlock_free", SUSPENDED, "holds"),
    # --- no_dangling: what is conditional stays open unless it expires, and so does what is suspended.
    ("no_dangling", TIMED + "  A -> B : done  if false", "holds"),
    ("no_dangling", STOPPED_TIMED + DONE, "fails"),
    ("no_dangling", STOPPED_BOTH + DONE, "holds"),
    ("no_dangling", SUSPENDED, "fails"),
    # --- no_debt_forgotten
    ("no_debt_forgotten", DUE + DONE, "holds"),
    ("no_debt_forgotten", DUE + DONE + "  A -> B : again  after done  restart", "holds"),
    ("no_debt_forgotten", DUE + DONE + "  A -> B : again  after go  restart", "fails"),
    (
        "no_debt_forgotten",
        DUE + DONE + "  A -> B : again  after offer  unless go  restart\n  choice again | done",
        "fails",
    ),
    ("no_debt_forgotten", DUE + DONE + "  B -> A : no  after offer  unless go  restart\n  choice go | no", "holds"),
    ("no_debt_forgotten", RETAINED + "  B -> C1 : done  restart\n", "holds"),
    ("no_debt_forgotten", RETAINED + "  B -> C1 : done\n  B -> C1 : again  after pass  restart", "fails"),
    # --- sound
    ("sound", DUE + DONE + "  A -> B : fail  after go  means violate c\n  choice done | fail", "holds"),
    ("sound", DUE + DONE + "  A -> B : fail  after go  means violate c", "fails"),
    # --- live
    ("live", DUE + DONE, "holds"),
    ("live", DUE + DONE + "  A -> B : late  after done  unless go", "fails"),
    ("live", DUE + DONE + "  A -> B : ring  after done  resets ring  repeatable", "holds"),
    # --- fulfillable
    ("fulfillable", DUE + DONE, "holds"),
    ("fulfillable", DUE + "  A -> B : done  if false", "fails"),
    # --- resolvable
    ("resolvable", DUE + DONE, "holds"),
    ("resolvable", DUE + DONE + "  A -> B : sorry  after go\n  choice done | sorry", "fails"),
    ("resolvable", TIMED + DONE + "  A -> B : sorry  after go\n  choice done | sorry", "holds"),
    # --- effective
    ("effective", DUE + DONE, "holds"),
    ("effective", DUE + "  A -> B : done  after go  restart", "holds"),
    ("effective", DUE + DONE.replace("after go", "after go  means violate c"), "fails"),
    # --- consistent
    (
        "consistent",
        "  commitment c = C(A, B, true, yes)\n  commitment d = C(A, C1, true, no)\n"
        "  A -> B : both  means create c\n  A -> C1 : too  means create d\n"
        "  A -> B : yes\n  A -> C1 : no\n  choice yes | no",
        "fails",
    ),
    (
        "consistent",
        "  commitment c = C(A, B, true, yes)\n  commitment d = C(A, C1, true, no)\n"
        "  A -> B : both  means create c\n  A -> C1 : too  means create d\n"
        "  A -> B : yes\n  A -> C1 : no",
        "holds",
    ),
    (
        "consistent",
        "  commitment c = C(A, B, true, yes)\n  commitment d = C(A, C1, true, no)\n"
        "  A -> B : both  means create c\n  A -> C1 : too  means create d\n"
        "  A -> B : yes  after both\n  A -> C1 : no  after too\n  choice yes | no\n  choice both | too",
        "holds",
    ),
    # --- robust
    ("robust", DUE + DONE + "  A -> B : fail  after go  means violate c\n  choice done | fail", "holds"),
    (
        "robust",
        DUE
        + DONE
        + "  commitment e = C(B, A, true, repaid)\n"
        + "  A -> B : fail  after go  means violate c\n  choice done | fail\n"
        + "  B -> A : sue   after fail  means create e\n  B -> A : repaid  if false",
        "fails",
    ),
    # --- no_delegation_loop
    ("no_delegation_loop", DUE + DONE, "holds"),
    (
        "no_delegation_loop",
        "  commitment c = C(A, C1, true, done)\n  commitment d = C(B, C1, true, done)\n"
        "  A -> C1 : offer  means create c\n"
        "  A -> B : pass  after offer  means delegate c to d\n  B -> C1 : done  after pass",
        "holds",
    ),
    (
        "no_delegation_loop",
        "  commitment c = C(A, C1, true, done)\n  commitment d = C(B, C1, true, done)\n"
        "  A -> C1 : offer  means create c\n"
        "  A -> B : pass  after offer  means delegate c to d  repeatable\n"
        "  B -> A : back  after pass  means delegate d to c  repeatable\n  B -> C1 : done  after pass",
        "fails",
    ),
    # In every round the commitment is created again: no debt is delegated forever.
    (
        "no_delegation_loop",
        "  commitment c = C(A, C1, true, done)\n  commitment d = C(B, C1, true, done)\n"
        "  A -> C1 : offer  means create c\n"
        "  A -> B : pass  after offer  means delegate c to d\n  B -> C1 : done  after pass  restart",
        "holds",
    ),
    # Creation of another commitment does not matter, whether that is delegated in a cycle itself or not.
    ("no_delegation_loop", EXCUSED, "fails"),
    ("no_delegation_loop", EXCUSED + "  C1 -> B : again  after tell  means delegate y to x  repeatable", "fails"),
    # --- violable
    ("violable", DUE + DONE, "fails"),
    ("violable", TIMED + DONE, "holds"),
    ("violable", PROMISE.format(options="expires 2") + DONE, "holds"),
    ("violable", DUE + DONE + "  A -> B : fail  after go  means violate c\n  choice done | fail", "holds"),
]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(("check", "body", "answer"), CASES)
def test_check(check: str, body: str, answer: str, engine: Engine) -> None:
    # Two circles at once have too many states for the explicit engine where messages take time.
    result = verdict(check, body, engine, "sync" if body.startswith(EXCUSED) and engine == "explicit" else "")
    assert result.answer == answer
    assert result.as_expected == (answer == "holds")


@pytest.mark.parametrize("engine", ENGINES)
def test_findings_name_all_that_fails(engine: Engine) -> None:
    result = verdict("live", DUE + DONE + "  A -> B : x  if false\n  A -> C1 : y  if false", engine)
    assert result.findings == ("`x` is never received", "`y` is never received")


def test_operation_without_effect_is_shown_at_its_step() -> None:
    result = verdict("sound", DUE + DONE + "  A -> B : fail  after go  means violate c")
    assert result.findings == ("`fail` can take effect when `violate c` does not apply: guard it, `if active(c)`",)
    assert last_step(result) == "send fail"


def test_delegation_loop_is_shown_as_lasso() -> None:
    body = next(body for check, body, answer in CASES if (check, answer) == ("no_delegation_loop", "fails"))
    result = verdict("no_delegation_loop", body, "symbolic")
    assert result.evidence is not None
    taken = []
    evidence = result.evidence
    while evidence.run.loop is None:
        evidence = evidence.parts[-1][1]
    taken = [move.step for move in evidence.run.moves[evidence.run.loop :] if move.step is not None]
    assert {result.system.steps[step].name for step in taken} >= {"receive pass", "receive back"}


@pytest.mark.parametrize("engine", ENGINES)
def test_views_agree_when_nothing_is_in_flight(engine: Engine) -> None:
    declarations = "  commitment c = C(A, B, true, done)\n  A -> B : offer  means create c\n"
    assert verdict("aligned", declarations + "  A -> B : done  after offer", engine).answer == "holds"
    # B lets A off by a message that A never hears of.
    unheard = declarations + "  A -> B : done  if false\n  B -> C1 : waive  after offer  means release c"
    result = verdict("aligned", unheard, engine)
    assert result.answer == "fails"
    assert result.findings == ("nothing is in flight and A has a wrong view of `c`",)
    # Performance and waiver cross: B has let A off before it learns that there is nothing left to waive.
    crossing = verdict(
        "aligned", declarations + "  A -> B : done  after offer\n  B -> C1 : waive  after offer  means release c"
    )
    assert "nothing is in flight and B has a wrong view of `c`" in crossing.findings


@pytest.mark.parametrize("engine", ENGINES)
def test_assignment_out_of_range_is_always_checked(engine: Engine) -> None:
    text = (
        "protocol P {\n  role A { var n: 0..2 = 1 }\n  role B\n"
        "  B -> A : more  on receipt n := n + 1  repeatable\n  check live\n}\n"
    )
    compilation = CplCompilation(Source("p.cpl", text))
    assert compilation.ok
    range_result, live = compilation.verify(compilation.questions(["in_range", "live"]), engine)
    assert (range_result.question.kind, range_result.answer) == ("model", "fails")
    assert range_result.findings == ("receiving `more` assigns a value out of range",)
    assert live.answer == "holds"


def test_fairness_does_not_hide_a_deadlock() -> None:
    body = DUE + "  A -> B : done  if false\n  fairness done"
    assert verdict("deadlock_free", body).answer == "fails"
    assert verdict("sound", body).answer == "holds"


@pytest.mark.parametrize("engine", ENGINES)
def test_synchronous_channels(engine: Engine) -> None:
    for check, answer in (("sound", "holds"), ("live", "holds"), ("aligned", "holds"), ("deadlock_free", "holds")):
        assert verdict(check, DUE + DONE, engine, "sync").answer == answer


_PROMISES = """
protocol Promises {
  role A { var n: 0..3 = 0 }
  role B
  role Yan[2]
  commitment both = C(A, B, true, bye & A.n < 3)
  commitment some = C(A, B, true, note[1] & !bye | (exists x in Yan: note[x]))
  commitment other = C(A, B, true, fulfilled(both) & note[2])
  A -> B : hi means create both, create some, create other
  A -> B : bye after hi
  for x in Yan { x -> A : note }
  check consistent, honourable
}
"""


def _as_expression(formula: Formula) -> Expr:
    match formula:
        case Atom(condition, _):
            return condition
        case Not(operand):
            return negate(_as_expression(operand))
        case And(operands):
            return conj(map(_as_expression, operands))
        case Or(operands):
            return disj(map(_as_expression, operands))
        case _:
            raise AssertionError(formula)


def test_goals_of_checks_are_formulas_to_paste() -> None:
    compilation = CplCompilation(Source("p.cpl", _PROMISES))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    questions = compilation.declared_questions()
    assert not any("the consequent of" in formula_text(question.question.formula) for question in questions)
    (honourable,) = (question for question in questions if question.question.name == "honourable")
    text = formula_text(honourable.question.formula)
    for commitment, goal in (
        ("both", "(bye & A.n < 3)"),
        ("some", "(note[1] & !bye | note[1] | note[2])"),
        ("other", "(fulfilled(both) & note[2])"),
    ):
        assert f"F {goal}" in text
        pasted = CplCompilation(
            Source("p.cpl", _PROMISES.replace("check consistent, honourable", f"property pasted: EF {goal}"))
        )
        assert pasted.ok, [diagnostic.concise() for diagnostic in pasted.diagnostics]
        (question,) = pasted.questions(["pasted"])
        match question.question.formula:
            case OnPaths("E", Finally(operand), None):
                assert _as_expression(operand) == compilation.system.commitment[commitment].consequent
            case other:
                raise AssertionError(other)
