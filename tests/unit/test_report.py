"""Results as data: JSON that other programs rely on, and traces for other tools."""

from __future__ import annotations

import json
import re
from dataclasses import replace

from cplc.checking.results import Result
from cplc.compilation import CplCompilation
from cplc.report.html import file_part, fragment, page
from cplc.report.json_data import result_data, trace
from cplc.report.layout import plain
from cplc.report.outcome import Outcome, standing
from cplc.report.text import concise, result_text
from cplc.source import Source

TEXT = """protocol Due {
  role A { var n: 0..2 = 0 }
  role B
  commitment c = C(A, B, true, done)
  A -> B : offer(price: 1..2)  means create c  set n := 1
  A -> B : done   after offer
  B -> A : go
  property kept "a promise is kept" assuming B: AG (offer -> AF done)
  property safe: AG (done -> offer)
  property known: AG (done -> K(A, done))
  property never: AG (violated(c) -> done)
}
"""


def answers() -> dict[str, Result]:
    compilation = CplCompilation(Source("due.cpl", TEXT))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    return {result.question.name: result for result in compilation.verify(compilation.declared_questions())}


def test_a_result_as_data() -> None:
    data = json.loads(json.dumps(result_data(answers()["kept"])))
    assert data["place"] == {"file": "due.cpl", "line": 8, "column": 12, "end_line": 8, "end_column": 16}
    assert {name: data[name] for name in ("name", "kind", "title", "formula", "assuming", "verdict", "expected")} == {
        "name": "kept",
        "kind": "property",
        "title": "a promise is kept",
        "formula": "AG (offer -> AF done)",
        "assuming": ["B"],
        "verdict": "fails",
        "expected": "holds",
    }
    assert data["as_expected"] is False
    assert data["blame"] == {
        "coalitions": [["A"]],
        "stopped": ["A"],
        "owed": ["c"],
        "avoidance": None,
        "text": "A stopped: it could send done forever and never did; it still owed c to B. "
        "It would hold if A kept going (assuming A).",
    }


def test_the_joined_run_repeats_its_states_from_what_steps_write() -> None:
    narration = json.loads(json.dumps(result_data(answers()["kept"])))["story"]
    states = [narration["start"]]
    for step in narration["steps"]:
        states.append(states[-1] | step["writes"])
    assert states[narration["loop"]] == states[-1]
    first = narration["steps"][0]
    assert first["step"] == "send offer(1)"
    assert (first["kind"], first["actor"], first["event"]) == ("send", "A", "offer")
    assert first["payload"] == {"price": 1}
    assert first["place"]["line"] == 5
    assert first["writes"]["A.n"] == 1
    assert any("AF done" in mark["text"] for mark in narration["marks"])


def test_evidence_that_rests_on_all_runs_has_no_story() -> None:
    data = result_data(answers()["safe"])
    assert data["story"] is None
    assert isinstance(data["evidence"], dict)
    assert data["evidence"]["exhaustive"] is True
    assert trace(answers()["safe"]) is None


def test_pairs_of_states_are_data_too() -> None:
    evidence = result_data(answers()["known"])["evidence"]
    assert isinstance(evidence, dict)
    (part,) = evidence["parts"]
    assert part["evidence"]["agents"] == ["A"]
    assert part["evidence"]["elsewhere"]["steps"]
    assert part["evidence"]["there"]["holds"] is False


def test_remarks_are_told_everywhere() -> None:
    vacuous = answers()["never"]
    assert result_data(vacuous)["verdict"] == "vacuous"
    assert result_data(vacuous)["remarks"] == [
        {
            "code": "vacuous-implication",
            "message": "the left side of an implication, `violated(c)`, holds in no reachable state",
            "state": None,
            "excluded": None,
        }
    ]
    assert "warning: the left side of an implication" in result_text(vacuous)


def test_a_trace_for_other_tools() -> None:
    written = trace(answers()["kept"])
    assert written is not None
    document = json.loads(written)
    assert document["#meta"]["format"] == "ITF"
    assert document["vars"] == [name for name in document["states"][0] if name != "#meta"]
    assert document["states"][0]["A.n"] == {"#bigint": "0"}
    assert document["states"][0]["offer@A"] is False
    assert document["states"][0]["c"] == "null"
    # The state after the last one is that where the loop begins; it is not written twice.
    assert 0 <= document["loop"] < len(document["states"])
    assert len(document["#meta"]["steps"]) == len(document["states"])


def test_parts_of_the_text_can_be_coloured() -> None:
    def marked(text: str, part: str) -> str:
        return f"<{part}>{text}</{part}>"

    result = answers()["kept"]
    coloured = result_text(result, marked)
    assert coloured.startswith("<bad>fails  </bad> <strong>kept</strong> assuming B: ")
    assert "  <place>due.cpl:8</place>" in coloured
    assert "  <place>line 5</place>" in coloured
    assert result_text(result, plain) == result_text(result)


def test_control_characters_are_replaced() -> None:
    result = answers()["kept"]
    escaping = replace(result, question=replace(result.question, title="a \x1b[31mred promise"))
    assert "a ␛[31mred promise" in result_text(escaping)


def test_one_line_names_the_part_of_a_conjunction_that_fails() -> None:
    compilation = CplCompilation(Source("due.cpl", TEXT))
    question = compilation.formula_question("AG (done -> offer) & AF done & EF go")
    assert not isinstance(question, tuple)
    (result,) = compilation.verify([question])
    assert concise(result).endswith(": AG (done -> offer) & AF done & EF go; `AF done` fails")


FORGETTING = """protocol Forget {
  role A
  role B
  commitment c = C(A, B, true, done)
  A -> B : offer   means create c
  A -> B : done    after offer
  A -> B : forget  after offer  restart
  property lasting: A G !(active(c) & X null(c))
}
"""


def test_a_restart_that_erases_a_debt_is_shown_in_data_and_page() -> None:
    compilation = CplCompilation(Source("forget.cpl", FORGETTING))
    (result,) = compilation.verify(compilation.declared_questions())
    story = result_data(result)["story"]
    assert isinstance(story, dict)
    assert story["steps"][-1]["changes"] == ["c: active -> null (forgotten by a new round)"]
    shown = fragment(1, result, "not as expected")
    assert "c: active -&gt; null (forgotten by a new round)" in shown
    assert [state for state in re.findall('<td class="state-([a-z]+)"', shown) if state in ("null", "active")] == [
        "null",
        "active",
        "null",
    ]


EXPECTED = FORGETTING.replace("property lasting", "property other: EF active(c)\n  property lasting").replace(
    "X null(c))\n", "X null(c))   expect fails\n"
)


def test_page_shows_an_expected_failure_as_no_success_and_where_its_run_ends() -> None:
    compilation = CplCompilation(Source("folder/forget.cpl", EXPECTED))
    results = [(one, standing(one)) for one in compilation.verify(compilation.declared_questions())]
    part = file_part(Outcome("verify", "folder/forget.cpl", "", results=results))
    assert part["counts"] == (("as expected", 1, "good"), ("failing as expected", 1, "expected"))
    shown = page("forget.cpl", [part])
    assert '<td class="verdict expected">fails <span class="faint">(as expected)</span></td>' in shown
    assert shown.count("folder/forget.cpl:") == shown.count("in words") == 2  # in the text alone
    assert re.search(r'<span class="faint mono" data-file="folder/forget.cpl" [^>]*>line \d+</span>', shown)
    ends = re.findall(r'<td class="end">(.)', shown)
    assert len(ends) == shown.count('<th scope="row">') > 0
    assert set(ends) <= {"■", "↻"}
