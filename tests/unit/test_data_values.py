"""Types with any number of values: their classes, what the report says, and what is not decided."""

from __future__ import annotations

import pytest
from tests.support.protocol_analysis import analysed, checked

from cplc.checking.results import Result
from cplc.compatibility.compare import compare
from cplc.compatibility.matching import Match
from cplc.compilation import CplCompilation
from cplc.compilation.interface import BoundQuestion
from cplc.report.text import ResultWriter, result_text
from cplc.semantics.data_independence import NotUniform
from cplc.semantics.model import DataClass
from cplc.source import Source

_TWO = """
cpl 2

protocol P {{
  role A {{ var seen: text{initial} }}
  role B
  A -> B : ask(hash: text){clauses}
  B -> A : answer(hash: text, order: id) after ask {guard}
  property same: {formula}
}}
"""


def _text(
    *, initial: str = "", clauses: str = "", guard: str = "", formula: str = "AG (answer -> answer.hash = ask.hash)"
) -> str:
    return _TWO.format(initial=initial, clauses=clauses, guard=guard, formula=formula)


def _compiled(text: str) -> CplCompilation:
    compilation = CplCompilation(Source("open.cpl", text))
    assert compilation.ok
    return compilation


def _class_of(text: str, *place: str) -> DataClass:
    return next(one for one in checked(text).data if place in one.places)


def test_places_are_of_one_class_if_their_values_meet() -> None:
    text = _text(guard='if hash = ask.hash & order != "none"')
    assert _class_of(text, "ask", "hash").places == (("ask", "hash"), ("answer", "hash"))
    assert _class_of(text, "answer", "order").values == ("order1", '"none"')
    assert _class_of(text, "", "A.seen").places == (("", "A.seen"),)
    assigned = _text(clauses=" set seen := hash")
    assert ("", "A.seen") in _class_of(assigned, "ask", "hash").places


def test_number_of_values_counts_places_and_constants() -> None:
    assert len(_class_of(_text(), "ask", "hash").values) == 2
    assert len(_class_of(_text(clauses=" repeatable"), "ask", "hash").values) == 3
    assert len(_class_of(_text(clauses=' if hash != "a" & hash != "b"'), "ask", "hash").values) == 4
    assert len(_class_of(_text(initial=' = "a"', clauses=" set seen := hash"), "ask", "hash").values) == 4


def test_field_that_may_be_unset_has_a_fixed_value() -> None:
    text = _text(clauses=" set seen := answer.hash")
    (data,) = (one for one in checked(text).data if ("", "A.seen") in one.places)
    assert data.may_be_unset
    assert len(data.values) == 4
    assert data.free == data.values[1:]


def test_values_are_no_words_of_the_protocol() -> None:
    text = """
cpl 2

protocol P {
  role A { var mood: {hash1, other} }
  role B
  A -> B : ask(hash: text) if hash != "a"
}
"""
    assert checked(text).data[0].values == ("hash2", '"a"')


@pytest.mark.parametrize(
    "wrong",
    [
        "if hash = order",
        "if hash < ask.hash",
        "if hash = 3",
        "if hash + 1 = 2",
        "if hash",
        'if "a"',
    ],
)
def test_values_are_only_compared_for_equality_with_those_of_their_type(wrong: str) -> None:
    assert "type-mismatch" in [one.code for one in analysed(_text(guard=wrong)).diagnostics]


def _result(compilation: CplCompilation, question: BoundQuestion) -> tuple[str, str | None, tuple[str, ...]]:
    (result,) = compilation.verify([question])
    return result.answer, result.reason, result.notes


def test_report_names_the_rule_and_its_side_condition() -> None:
    compilation = _compiled(_text())
    answer, _, notes = _result(compilation, compilation.questions(["same"])[0])
    assert answer == "fails"
    assert "for all values of `hash`, which are only copied and compared: 2 stand for any (data independence)" in notes


def test_formula_of_the_command_line_has_values_of_its_own() -> None:
    compilation = _compiled(_text())
    question = compilation.formula_question('EF (answer.hash != ask.hash & ask.hash != "a" & answer.hash != "a")')
    assert isinstance(question, BoundQuestion)
    answer, _, notes = _result(compilation, question)
    assert answer == "holds"
    assert any("3 stand for any" in note for note in notes)


def test_strategies_by_what_agents_see_are_not_decided() -> None:
    text = _text(formula="<<A, B>> F answer")
    full = _compiled(text)
    assert _result(full, full.questions(["same"])[0])[0] == "holds"
    uniform = CplCompilation(Source("open.cpl", text), strategies="uniform")
    answer, reason, _ = _result(uniform, uniform.questions(["same"])[0])
    assert answer == "unknown"
    assert reason is not None
    assert "signals" in reason


def test_parameterised_families_are_not_uniform() -> None:
    text = """
cpl 2

protocol P(n: 1..3 = 2) {
  role A
  role B[n]
  for b in B { A -> b : ask(hash: text) }
}
"""
    obstacle = _compiled(text).uniformity("n").obstacle
    assert isinstance(obstacle, NotUniform)
    assert "number of values" in obstacle.message


def test_agents_are_rejected() -> None:
    text = _text().replace("property", "agent Al plays A { goal answer }\n  property")
    problems = [one for one in analysed(text).diagnostics if one.is_error]
    assert [one.code for one in problems] == ["type-mismatch"]
    assert "`Al` cannot plan" in problems[0].message


def test_payloads_are_limited() -> None:
    fields = ", ".join(f"h{number}: id" for number in range(5))
    compared = " & ".join(f"one.h0 != one.h{number}" for number in range(1, 5))
    text = f"""
cpl 2

protocol P {{
  role A
  role B
  A -> B : one({fields}) repeatable
  property p: EF ({compared})
}}
"""
    problems = [one for one in analysed(text).diagnostics if one.is_error]
    assert [one.code for one in problems] == ["too-large"]


def test_versions_with_open_types_are_not_compared() -> None:
    system = _compiled(_text()).system
    comparison = compare(Match(system, system, {}))
    assert comparison.newly.incomplete
    assert comparison.no_longer.incomplete


_AMOUNTS = """
cpl 2

protocol P {{
  role A
  role B {{ var last: money(USD) = 0 USD }}
  A -> B : ask(price: money(USD)){clauses}
  B -> A : answer(price: money(USD), share: decimal(2)) after ask {guard}
  property p: {formula}
}}
"""


def _amounts(clauses: str = "", guard: str = "", formula: str = "AG (answer -> answer.price = ask.price)") -> str:
    return _AMOUNTS.format(clauses=clauses, guard=guard, formula=formula)


@pytest.mark.parametrize(
    "wrong",
    [
        "if price < 3",
        "if price < 3 EUR",
        "if price < share",
        "if price = 3.00",
        "if share < 1 USD",
        "if price + 1 USD < 3 USD",
        'if price = "3 USD"',
    ],
)
def test_amounts_are_compared_with_those_of_their_type(wrong: str) -> None:
    assert "type-mismatch" in [one.code for one in analysed(_amounts(guard=wrong)).diagnostics]


@pytest.mark.parametrize("wrong", ["if price + 1 USD < 3 USD", "if 3.00 USD - price > 0 USD", "if share * 2 < 0.5"])
def test_sums_of_amounts_are_rejected_with_the_reason(wrong: str) -> None:
    errors = [one for one in analysed(_amounts(guard=wrong)).diagnostics if one.is_error]
    assert errors[0].code == "type-mismatch"
    assert "no sums or differences" in errors[0].notes[0].message


@pytest.mark.parametrize("wrong", ["if price < 0.001 USD", "if share < 0.001", "if price < 99999999999999999 USD"])
def test_constants_have_the_places_of_their_type(wrong: str) -> None:
    assert [one.code for one in analysed(_amounts(guard=wrong)).diagnostics if one.is_error] == ["value-out-of-range"]


def test_constants_are_written_in_several_ways() -> None:
    text = _amounts(
        guard="if price <= 3 USD & price != 3.00 USD & share > 0 & share < 0.5 & share != 0.50 & price > -1 USD"
    )
    constants = {one.type: one.constants for one in checked(text).data if len(one.constants) > 1}
    assert constants == {"money(USD)": ("-1.00 USD", "3.00 USD"), "decimal(2)": ("0.00", "0.50")}


def test_role_may_be_called_as_a_currency() -> None:
    text = """
cpl 2

protocol P {
  role USD { var n: 0..3 = 0 }
  role B
  USD -> B : one if n = 0  set n := 1
  B -> USD : two if 3 > 2
  USD -> B : three after two  unless n = 3
  USD -> B : four
  property p: AG (one -> USD.n = 1)
}
"""
    assert [message.name for message in checked(text).messages] == ["one", "two", "three", "four"]


def test_amounts_without_order_are_compared_as_texts_are() -> None:
    (data,) = (one for one in checked(_amounts(clauses=" repeatable")).data if ("ask", "price") in one.places)
    assert (data.is_ordered, data.values) == (False, ("1.00 USD", "2.00 USD", "3.00 USD"))
    compilation = _compiled(_amounts(formula="AG (answer -> K(B, answer.price = ask.price))"))
    assert _result(compilation, compilation.questions(["p"])[0])[0] == "fails"


@pytest.mark.parametrize(
    ("clauses", "formula", "reason"),
    [
        (" repeatable", "AG (answer -> answer.price <= ask.price)", "again and again"),
        ("", "AG (answer -> K(B, answer.price <= ask.price))", "knowledge"),
    ],
)
def test_order_is_undecided_where_choices_are_not_counted(clauses: str, formula: str, reason: str) -> None:
    compilation = _compiled(_amounts(clauses=clauses, formula=formula))
    answer, why, _ = _result(compilation, compilation.questions(["p"])[0])
    assert answer == "unknown"
    assert why is not None
    assert reason in why


def test_too_many_ordered_amounts_are_rejected() -> None:
    messages = "\n".join(f"A -> B : m{number}(h: decimal(1))" for number in range(11))
    compared = " & ".join(f"m0.h < m{number}.h" for number in range(1, 11))
    text = f"cpl 2\n\nprotocol P {{ role A role B {messages} property p: EF ({compared}) }}"
    assert [one.code for one in analysed(text).diagnostics if one.is_error] == ["too-large"]


def test_report_of_a_file_names_the_rule_once() -> None:
    compilation = _compiled(_text())
    results = list(compilation.verify(compilation.questions(["same"]) * 2))
    lines: list[str] = []
    writer = ResultWriter(lines.append)
    for result in results:
        writer.add(result)
    assert "".join(lines).count("note: for all values of `hash`") == 1
    assert all("note: for all values of `hash`" in result_text(result) for result in results)


@pytest.mark.parametrize(
    ("written", "meaning"),
    [
        ('hash in {"a"}', 'hash = "a"'),
        ('hash in {"a", ask.hash} & order != "x"', '(hash = "a" | hash = ask.hash) & order != "x"'),
        ('!(order in {"a", "b"})', '!(order = "a" | order = "b")'),
    ],
)
def test_membership_is_equality_with_one_of_the_values(written: str, meaning: str) -> None:
    guards = [checked(_text(guard=f"if {condition}")).message["answer"].guard for condition in (written, meaning)]
    assert guards[0] == guards[1]
    assert checked(
        _text(formula=f"AG (answer -> answer.{written.lstrip('!(').partition(' &')[0].rstrip(')')})")
    ).properties


def test_membership_in_text_of_a_formula_is_whole() -> None:
    model = checked(_text(formula='EF answer.hash in {"a", "b"}'))
    assert model.properties[0].written == 'EF answer.hash in {"a", "b"}'


def _formula_result(compilation: CplCompilation, formula: str) -> Result:
    question = compilation.formula_question(formula)
    assert isinstance(question, BoundQuestion), question
    (result,) = compilation.verify([question])
    return result


def test_order_in_a_formula_of_the_command_line_is_undecided_where_choices_are_not_counted() -> None:
    compilation = _compiled(_amounts(clauses=" repeatable"))
    assert not any(one.is_ordered for one in compilation.model.data)
    result = _formula_result(compilation, "AG (answer -> answer.price <= ask.price)")
    assert result.answer == "unknown"
    assert "again and again" in (result.reason or "")


def test_formula_of_the_command_line_shows_amounts_for_which_it_is_false() -> None:
    compilation = _compiled(_amounts())
    result = _formula_result(compilation, "AG (ask -> EF answer.price > ask.price)")
    assert result.answer == "fails"
    assert result.evidence is not None
    assert result.evidence.run.states[-1]["ask.price@A"] == "9999999999999999.99 USD"


def test_too_many_ordered_amounts_of_a_formula_are_rejected() -> None:
    messages = "\n".join(f"A -> B : m{number}(h: decimal(1))" for number in range(11))
    compilation = _compiled(f"cpl 2\n\nprotocol P {{ role A role B {messages} }}")
    problems = compilation.formula_question("EF (" + " & ".join(f"m0.h < m{at}.h" for at in range(1, 11)) + ")")
    assert isinstance(problems, tuple)
    assert [(one.code, one.span.source.name) for one in problems] == [("too-large", "--formula")]


def test_range_of_a_variable_is_undecided_where_choices_are_not_counted() -> None:
    text = """
cpl 2

protocol P {
  role A
  role B { var n: 0..2 = 0 }
  A -> B : ask(price: money(USD))   repeatable
  A -> B : more after ask  if ask.price > 1 USD   on receipt n := n + 1   repeatable
}
"""
    compilation = _compiled(text)
    (question,) = (one for one in compilation.questions() if "range" in one.question.name)
    assert _result(compilation, question)[0] == "unknown"


_TIMES = """
cpl 2

protocol P {{
  clock tick = 1 h
  role A {{ var longest: duration = 3 d }}
  role B
  commitment c = C(A, B, ask, answered) within {deadline}
  A -> B : ask(until: time, valid: duration, days: 1..3) {guard}  means create c
  B -> A : answer(at: time) after ask if at <= ask.until & age(c) < 3
  A -> B : answered
  property p: {formula}
}}
"""


def _times(guard: str = "", deadline: str = "36 h", formula: str = "AG (answer -> answer.at <= ask.until)") -> str:
    return _TIMES.format(guard=guard, deadline=deadline, formula=formula)


@pytest.mark.parametrize(
    ("formula", "expected"),
    [
        ("AG (answer -> answer.at <= ask.until)", "holds"),
        ("AG (answer -> answer.at < ask.until)", "fails"),
        ("AG (ask -> ask.valid <= 72 h & ask.valid > -1 d)", "holds"),
        ("AG (ask -> ask.valid < 3 d)", "fails"),
        ("AG (ask -> ask.until >= 2026-11-19T14:00+02:00)", "holds"),
        ("EF (ask & ask.until > 2026-11-19T12:00Z & ask.until < 2026-11-19T12:00:00.000002Z)", "holds"),
        ("EF (ask & ask.until > 2026-11-19T12:00Z & ask.until < 2026-11-19T12:00:00.000001Z)", "fails"),
    ],
)
def test_times_and_durations_are_ordered_and_exact(formula: str, expected: str) -> None:
    guard = "if valid <= longest & valid > -1 d & until >= 2026-11-19T12:00Z"
    compilation = _compiled(_times(guard=guard, formula=formula))
    assert _result(compilation, compilation.questions(["p"])[0])[0] == expected


def test_counterexample_has_times_as_people_write_them() -> None:
    compilation = _compiled(_times(formula="AG (ask -> ask.until <= 2026-11-19T12:00Z | ask.valid <= 1 w)"))
    (result,) = compilation.verify(compilation.questions(["p"]))
    assert result.evidence is not None
    state = result.evidence.run.states[-1]
    assert (state["ask.until@A"], state["ask.valid@A"]) == ("2026-11-19T12:00:00.000001Z", "8 d")


@pytest.mark.parametrize(
    "wrong",
    [
        _times(deadline="ask.valid"),
        _times(deadline="ask.until"),
        _times(guard="if days < 3 d"),
        _times(guard="if valid = 3"),
        _times(guard="if until < 3"),
        _times().replace("age(c) < 3", "age(c) < 3 d"),
    ],
)
def test_times_and_durations_are_data_and_no_clocks(wrong: str) -> None:
    errors = [one for one in analysed(wrong).diagnostics if one.is_error]
    assert [one.code for one in errors] == ["type-mismatch"]
    assert any("is data: no time passes by it" in note.message for note in errors[0].notes)


@pytest.mark.parametrize("wrong", ["if valid < until", 'if valid = "3 d"', "if until < days", "if valid + valid < 3 d"])
def test_times_and_durations_are_compared_with_those_of_their_type(wrong: str) -> None:
    assert "type-mismatch" in [one.code for one in analysed(_times(guard=wrong)).diagnostics]


def test_number_of_days_of_a_message_is_its_deadline() -> None:
    assert checked(_times(deadline="24 * ask.days")).commitments


def test_roles_may_be_called_as_units_and_words_as_types() -> None:
    text = """
cpl 2

protocol P {
  role d { var time: 0..3 = 0 }
  role s
  role t
  d -> s : duration(n: 0..3)  if n = 3
  s -> d : us unless duration.n = 2
  d -> s, t : h  if time = 3
  d -> s : ms
}
"""
    assert [message.name for message in checked(text).messages] == ["duration", "us", "h", "ms"]


def test_durations_are_ticks_where_ticks_are_counted() -> None:
    text = """
cpl 2

protocol P {
  clock tick = 1 h
  channel within 2 h
  role A
  role B
  commitment c = C(A, B, true, done) within 26 h expires (3 h)
  A -> B : start means create c
  A -> B : done after start
  property p assuming A within 1 d: AG (start -> AF done)
}
"""
    model = checked(text)
    (commitment,) = model.commitments
    assert (commitment.within, commitment.expires) == (26, 3)
    assert [bound.ticks for bound in model.properties[0].bounds] == [24]
    assert dict(model.channel_delays) == {("A", "B"): 2}
