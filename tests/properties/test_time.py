"""Verdicts on random timed protocols are those of the reference semantics, and obey the laws of time."""

from __future__ import annotations

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st
from tests.support.generators.protocol_drafts import one_in
from tests.support.generators.timed_protocols import LONGEST, TimedSample, timed_protocols
from tests.support.random_examples import examples
from tests.support.timed_verdicts import HOLDS, compare, compiled, is_timelock

ANSWERS = frozenset(HOLDS)


@examples(20)
@given(timed_protocols())
def test_verdicts_are_those_of_the_reference(sample: TimedSample) -> None:
    compare(sample, ["explicit", "symbolic"], Counter())


@examples(20)
@given(timed_protocols(contended_only=True))
def test_verdicts_on_the_fly_are_those_of_the_reference(sample: TimedSample) -> None:
    compare(sample, ["onthefly"], Counter())


def test_message_that_resets_itself_is_due_anew_when_it_is_sent() -> None:
    text = """protocol Again sync {
  role Ann
  role Bob
  Ann -> Bob : m0
  Ann -> Bob : m1  after m0  resets m1
  property asked assuming Ann within 1: AF m0
}
"""
    assert _verdict(text) == "holds"
    assert _verdict(text.replace("within 1", "within 0")) == "timelock"


def _verdict(text: str) -> str:
    compilation = compiled(text)
    assert compilation.ok, [one.concise() for one in compilation.diagnostics]
    (result,) = compilation.verify(compilation.questions(["asked"]), "explicit")
    return "timelock" if is_timelock(result) else result.answer


@st.composite
def _chains(draw: st.DrawFn) -> list[str]:
    """Draw messages of which none ever excludes or undoes another."""
    lines: list[str] = []
    for number in range(draw(st.integers(2, 4))):
        sender, receiver = draw(st.permutations(("Ann", "Bob", "Cid")))[:2]
        visible = [n for n, line in enumerate(lines) if sender in line.split(" : ")[0]]
        after = f" after m{draw(st.sampled_from(visible))}" if visible and one_in(draw, 2) else ""
        repeatable = " repeatable" if draw(st.integers(0, 3)) == 3 else ""
        lines.append(f"{sender} -> {receiver} : m{number}{repeatable}{after}")
    return lines


def _protocol(lines: list[str], kind: str = "") -> str:
    body = "".join(f"  {line}\n" for line in ("role Ann", "role Bob", "role Cid", *lines))
    return f"protocol Chain {kind}{{\n{body}}}\n"


@examples(20)
@given(_chains(), st.lists(st.sampled_from(("Ann", "Bob", "Cid")), unique=True), st.integers(0, 3), st.data())
def test_plain_assumptions_do_not_depend_on_the_kind_of_channel(
    lines: list[str], assumed: list[str], number: int, data: st.DataObject
) -> None:
    name = f"m{min(number, len(lines) - 1)}"
    formula = data.draw(st.sampled_from([f"AF {name}", f"EG !{name}", f"EF {name}", f"AG EF {name}"]))
    assuming = f" assuming {', '.join(assumed)}" if assumed else ""
    question = f"property asked{assuming}: {formula}"
    assert _verdict(_protocol([*lines, question])) == _verdict(_protocol([*lines, question], "sync "))


@examples(20)
@given(_chains(), st.integers(0, LONGEST), st.integers(0, LONGEST), st.data())
def test_smaller_bound_has_fewer_runs(lines: list[str], bound: int, delay: int, data: st.DataObject) -> None:
    names = [f"m{number}" for number in range(len(lines))]
    one, other = data.draw(st.sampled_from(names)), data.draw(st.sampled_from(names))
    deadline = data.draw(st.integers(1, 5))
    debtor, creditor = lines[names.index(one)].split(" : ")[0].split(" -> ")
    lines = [f"commitment c = C({debtor}, {creditor}, true, {other}) within {deadline}", *lines]
    lines = [f"{line} means create c" if f": {one}" in line else line for line in lines]
    formula = data.draw(
        st.sampled_from(["AG !violated(c)", f"AF {other}", "AG (active(c) -> AF fulfilled(c))", f"A[!{one} W {other}]"])
    )
    actor = data.draw(st.sampled_from(("Ann", "Bob", "all", one)))
    verdicts = [
        _verdict(
            _protocol(
                [*lines, f"channel within {within_channel}", f"property asked assuming {actor} within {k}: {formula}"]
            )
        )
        for k, within_channel in ((bound, delay), (bound + 1, delay), (bound, delay + 1))
    ]
    assert verdicts[0] in ("holds", "vacuous", "timelock") or not ANSWERS & {"holds", "vacuous"} & set(verdicts[1:])


@examples(20)
@given(timed_protocols(contended_only=True), st.integers(1, LONGEST), st.sampled_from(["AF", "AG EF", "EF", "EG !"]))
def test_unrelated_timed_roles_change_no_verdict(sample: TimedSample, ticks: int, operator: str) -> None:
    if any(who == "*" for who, _, _ in sample.delays):
        return
    head, _, rest = sample.text.partition("\n")
    lines = rest.splitlines()
    lines = [line for line in lines if not line.startswith("  property")]
    (assumption,) = sample.assumptions[:1]
    actors = [one.replace("all within", "Ann within") for one in assumption if one != "all"]
    bound = ", ".join(actors)
    property_line = f"  property asked{f' assuming {bound}' if bound else ''}: {operator} m0"
    alone = "\n".join([head, *lines[:-1], property_line, "}\n"])
    more = [
        "  role Yan",
        "  role Zac",
        "  Yan -> Zac : zeal  means create zealous",
        "  Yan -> Zac : zest  after zeal",
        f"  commitment zealous = C(Yan, Zac, true, zest)  within {ticks}",
        *([] if "sync" in head else [f"  channel Yan -> Zac within {ticks}"]),
    ]
    both = ", ".join((f"Yan within {ticks}", *actors))
    property_line = f"  property asked assuming {both}: {operator} m0"
    together = "\n".join([head, *lines[:-1], *more, property_line, "}\n"])
    assert _verdict(alone) == _verdict(together)
