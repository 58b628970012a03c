"""Data independence: the verdicts for the values that stand for all are those for any larger number of values."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import assume, given
from tests.reference.logic import holds
from tests.reference.semantics import Reference
from tests.reference.states import TooLarge
from tests.support.generators.open_types import AMOUNT, open_protocols
from tests.support.protocol_analysis import checked
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.report.json_data import run_data
from cplc.semantics.data_values import with_values
from cplc.semantics.model import CheckedModel
from cplc.simulation.run_replay import recording
from cplc.source import Source

_STATES = 4000


def _answers(text: str, more: int) -> list[str]:
    whole = CplCompilation(Source("open.cpl", text))
    assert whole.ok, [one.concise() for one in whole.diagnostics if one.is_error]
    compilation = whole.mutated(with_values(whole.model, more=more))
    questions = compilation.questions([one.name for one in whole.model.properties])
    return [result.answer.replace("vacuous", "holds") for result in compilation.verify(questions)]


@examples(40)
@given(open_protocols())
def test_more_values_change_no_verdict(text: str) -> None:
    needed = _answers(text, 0)
    assert "unknown" not in needed
    assert [_answers(text, more) for more in (1, 2)] == [needed, needed]


def _concrete(model: CheckedModel, number: int) -> CheckedModel:
    """Return the model over a set of texts that is chosen without regard to what is compared."""
    texts = ('"k"', *(f'"text {at}"' for at in range(number)))
    messages = tuple(
        replace(message, parameters=tuple(replace(one, domain=texts) for one in message.parameters))
        for message in model.messages
    )
    variables = tuple(replace(one, domain=texts) for one in model.variables)
    return replace(model, messages=messages, variables=variables, data=())


@examples(15)
@given(open_protocols())
def test_verdicts_are_those_of_the_reference_over_concrete_texts(text: str) -> None:
    model = checked(text)
    needed = _answers(text, 0)
    number = sum(one.simultaneous for one in model.data) + 1
    reference = Reference(_concrete(model, number))
    try:
        graph = reference.explore(_STATES)
    except TooLarge:
        assume(False)
        raise
    concrete = [holds(reference, graph, one.formula, one.assuming) for one in reference.model.properties]
    assert concrete == [answer == "holds" for answer in needed]


_CUT_OFF = """
cpl 2

protocol P sync {{
  role A
  role B
  {messages}
  property different: EF ({distinct})
}}
"""
_THREE = "A -> B : one(h: id)  A -> B : two(h: id)  A -> B : three(h: id)"
_DISTINCT = "one.h != two.h & two.h != three.h & one.h != three.h"
_AGAIN = "A -> B : one(h: id) unless h = one.h | h = two.h repeatable  A -> B : two(h: id)"


@pytest.mark.parametrize(
    ("messages", "distinct", "needed"),
    [
        (_THREE, _DISTINCT, 3),
        (_THREE, _DISTINCT + ' & one.h != "x" & two.h != "x" & three.h != "x"', 4),
        (_AGAIN, "one.h != two.h & E does(one)", 3),
    ],
)
def test_one_value_fewer_changes_a_verdict(messages: str, distinct: str, needed: int) -> None:
    text = _CUT_OFF.format(messages=messages, distinct=distinct)
    (values,) = checked(text).data
    assert len(values.values) == needed
    assert [_answers(text, more) for more in (-1, 0, 1)] == [["fails"], ["holds"], ["holds"]]


def _of_numbers(text: str) -> str:
    """Return the protocol over a range in which every interval has more numbers than the choices can tell apart."""
    return text.replace("decimal(1)", "0..40").replace(AMOUNT, "20")


@examples(25)
@given(open_protocols(is_ordered=True))
def test_verdicts_of_ordered_amounts_are_those_of_a_range(text: str) -> None:
    answers = _answers(text, 0)
    numbers = CplCompilation(Source("numbers.cpl", _of_numbers(text)))
    assert numbers.ok, [one.concise() for one in numbers.diagnostics if one.is_error]
    questions = numbers.questions([one.name for one in numbers.model.properties])
    assert answers == [result.answer.replace("vacuous", "holds") for result in numbers.verify(questions)], text


@examples(25)
@given(open_protocols(is_ordered=True))
def test_runs_with_concrete_amounts_replay(text: str) -> None:
    compilation = CplCompilation(Source("open.cpl", text))
    assert compilation.ok
    questions = compilation.questions([one.name for one in compilation.model.properties])
    for result in compilation.verify(questions):
        if result.evidence is not None:
            document = json.dumps(run_data(result.system, result.evidence.run))
            (recorded,) = recording(document).runs
            _, replayed = compilation.replay(recorded)
            assert replayed.misfit is None, document


_ORDERED = """
cpl 2

protocol P {
  role A
  role B
  A -> B : one(h: decimal(2))
  A -> B : two(h: decimal(2))
  property between: EF (one & EF two.h < one.h & EF two.h > one.h)
  property unbounded: AG (one -> EF two.h > one.h)
}
"""


def test_fewer_ordered_amounts_change_a_verdict() -> None:
    (data,) = checked(_ORDERED).data
    assert (data.choices, len(data.values)) == (2, 3)
    assert [_answers(_ORDERED, more)[0] for more in (-1, 0, 1)] == ["fails", "holds", "holds"]


def test_counterexample_has_amounts_for_which_it_is_true() -> None:
    compilation = CplCompilation(Source("open.cpl", _ORDERED))
    (result,) = compilation.verify(compilation.questions(["unbounded"]))
    assert result.evidence is not None
    highest = result.evidence.run.states[-1]["one.h@A"]
    assert highest == "9999999999999999.99"


def test_amounts_between_near_constants_are_all_there() -> None:
    text = _ORDERED.replace("property between", "property near: EF (one.h > 0.01 & one.h < 0.04)\n  property between")
    (data,) = checked(text).data
    assert {"0.02", "0.03"} <= set(data.values)
    assert "0.04" in data.constants
    assert _answers(text, 0)[0] == "holds"
    none = text.replace("one.h < 0.04", "one.h < 0.02")
    assert _answers(none, 0)[0] == "fails"


_ON_CHANNELS = """
cpl 2

protocol P {{
  role A
  role B {{ var old: id = "none" }}
  role D
  {channels}
  A -> {receivers} : one(h: id)   unless h = one.h   repeatable   on receipt B.old := h
  B -> D : two(h: id)   after one   if h = old
  property fresh: EF (two.h != one.h & sent(one) & one.h != "none")
  property moved: E F (does(two) & Y O (does(one) & X B.old != "none"))
  property kept:  AG (two -> two.h = B.old)
}}
"""


@pytest.mark.parametrize(
    ("channels", "receivers", "needed"),
    [
        ("", "B", 5),
        ("channel A -> B lossy(1)", "B", 6),
        ("channel A -> B lossy(1)  channel A -> D lossy(1)", "B, D", 7),
        ("channel A -> B fifo 2", "B", 8),
    ],
)
def test_copies_that_channels_leave_behind_are_counted(channels: str, receivers: str, needed: int) -> None:
    text = _ON_CHANNELS.format(channels=channels, receivers=receivers)
    (values,) = checked(text).data
    assert len(values.values) == needed
    answers = _answers(text, 0)
    assert "unknown" not in answers
    assert [_answers(text, more) for more in (1, 2)] == [answers, answers]


@pytest.mark.parametrize(("open_type", "constant"), [("time", "2026-11-19T12:00Z"), ("duration", "20 d")])
@examples(8)
@given(text=open_protocols(is_ordered=True))
def test_verdicts_of_times_and_durations_are_those_of_a_range(text: str, open_type: str, constant: str) -> None:
    answers = _answers(text.replace("decimal(1)", open_type).replace(AMOUNT, constant), 0)
    numbers = CplCompilation(Source("numbers.cpl", _of_numbers(text)))
    questions = numbers.questions([one.name for one in numbers.model.properties])
    assert answers == [result.answer.replace("vacuous", "holds") for result in numbers.verify(questions)], text
