"""Every format says the same of the same run, in a form that the programs that read it accept."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import pytest

from cplc.cli.main import run

_ROOT = Path(__file__).parents[2]
_SCHEMA = json.loads((_ROOT / "docs" / "schema" / "output-1.json").read_text(encoding="utf-8"))
_MODEL = """protocol Shop "a <shop> & more: 100 %, \\"really\\"" {
  role Buyer
  role Seller
  fact spare = order
  commitment goods = C(Seller, Buyer, pay, deliver)   within 2
  Buyer -> Seller : order
  Seller -> Buyer : offer   after order   means create goods
  Buyer -> Seller : pay     after offer
  Seller -> Buyer : deliver   after pay
  property served "whoever pays <gets> the goods, 100 %": AG (pay -> AF deliver)
  property kept assuming Seller: AG (active(goods) -> AF fulfilled(goods))
  property trusting: AG (pay -> AF deliver)   expect fails
  property vain: AG (violated(goods) & fulfilled(goods) -> AF pay)
  property unaware: AG (deliver -> K(Seller, deliver))   expect fails
  check sound, live, violable
}
"""

Verdicts = dict[str, str]
"""Outcome of each question with an unexpected verdict or a remark: `fails` or `warns`."""


@pytest.fixture
def output_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., str]:
    monkeypatch.chdir(tmp_path)
    Path("shop.cpl").write_text(_MODEL, encoding="utf-8")

    def output(form: str, command: str = "verify", *options: str, exit_code: int = 1) -> str:
        assert run([command, "shop.cpl", "--format", form, *options]) == exit_code
        return capsys.readouterr().out

    return output


def _from_json(text: str) -> Verdicts:
    verdicts: Verdicts = {}
    for result in json.loads(text)["results"]:
        if not result["as_expected"]:
            verdicts[result["name"]] = "fails"
        elif result["verdict"] == "vacuous" or result["remarks"]:
            verdicts[result["name"]] = "warns"
    return verdicts


def _from_github(text: str) -> Verdicts:
    verdicts: Verdicts = {}
    for line in text.splitlines():
        command = re.fullmatch(
            r"::(error|warning) file=shop\.cpl,line=\d+,title=([^,]*),col=\d+,endColumn=\d+::(.+)", line
        )
        assert command, line
        title = command[2].replace("%3A", ":").replace("%2C", ",").replace("%25", "%")
        if " " in title:  # the others are rules
            verdicts[title.split(" ")[0]] = {"error": "fails", "warning": "warns"}[command[1]]
    return verdicts


def _from_junit(text: str) -> Verdicts:
    root = ElementTree.fromstring(text)
    suite = root[0]
    assert int(suite.get("failures", "")) == len(suite.findall("testcase/failure"))
    assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    kinds = {"failure": "fails", "error": "unknown", "system-out": "warns"}
    cases = {case.get("name", ""): case for case in suite.findall("testcase")}
    assert {(case.get("file"), case.get("classname")) for case in cases.values()} == {("shop.cpl", "shop.cpl")}
    return {name: kinds[case[0].tag] for name, case in cases.items() if len(case)}


def _from_sarif(text: str) -> Verdicts:
    results = [one for one in json.loads(text)["runs"][0]["results"] if "properties" in one]
    levels = {"error": "fails", "warning": "warns"}
    return {one["properties"]["name"]: levels[one["level"]] for one in results if one["level"] in levels}


def _from_text(text: str) -> Verdicts:
    verdicts: Verdicts = {}
    for block in re.split(r"(?m)^(?=(?:holds|fails|vacuous|unknown) )", text):
        head = re.match(r"(\w+) +(\w+)", block)
        if head and head[1] == "fails" and "(as expected)" not in block.split("\n")[0]:
            verdicts[head[2]] = "fails"
        elif head and (head[1] == "vacuous" or "\n  warning: " in block):
            verdicts[head[2]] = "warns"
    return verdicts


class _Page(HTMLParser):
    """Collects the rows of the first table, and everything that would be loaded from elsewhere."""

    def __init__(self) -> None:
        super().__init__()
        self.verdicts: Verdicts = {}
        self.outside: list[str] = []
        self.open: list[str] = []
        self._style = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.outside += [f"{tag} {name}={given[name]}" for name in ("src", "srcset", "data") if name in given]
        self.outside += [f"{tag} {given['href']}" for _ in "1" if not given.get("href", "#").startswith("#")]
        if tag == "td" and given.get("class", "").startswith("verdict"):
            self._style = given["class"].split()[1]
        if tag == "a" and self._style in ("bad", "warning"):
            self.open.append({"bad": "fails", "warning": "warns"}[self._style])
        elif tag == "a":
            self.open.append("")

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1]:
            self.verdicts[data] = self.open.pop()
        elif self.open:
            self.open.pop()


def _from_html(text: str) -> Verdicts:
    page = _Page()
    page.feed(text)
    assert page.outside == []
    return page.verdicts


def test_every_format_says_the_same(output_of: Callable[..., str]) -> None:
    expected = {"served": "fails", "kept": "fails", "vain": "warns"}
    assert _from_json(output_of("json")) == expected
    assert _from_text(output_of("text")) == expected
    assert _from_github(output_of("github")) == expected
    assert _from_junit(output_of("junit")) == expected
    assert _from_sarif(output_of("sarif")) == expected
    assert _from_html(output_of("html")) == expected


def test_every_format_tells_the_run(output_of: Callable[..., str]) -> None:
    step_texts = [step["text"] for step in json.loads(output_of("json"))["results"][0]["story"]["steps"]]
    assert len(step_texts) > 5
    flows = json.loads(output_of("sarif"))["runs"][0]["results"][1]["codeFlows"][0]["threadFlows"]
    assert [flow["id"] for flow in flows] == ["Buyer", "Seller", "Env"]
    steps = sorted((one for flow in flows for one in flow["locations"]), key=lambda one: one["executionOrder"])
    assert [one["location"]["message"]["text"].split("; ")[0] for one in steps] == step_texts
    page = output_of("html").replace("&gt;", ">")
    assert all(f'<span class="what">{text}' in page for text in step_texts)
    for form in ("junit", "text"):
        shown = output_of(form).replace("&gt;", ">")
        assert all(text in shown for text in step_texts)


@pytest.mark.parametrize("command", ["check", "verify"])
def test_json_is_what_its_schema_says(output_of: Callable[..., str], command: str) -> None:
    validator = jsonschema.Draft202012Validator(_SCHEMA)
    validator.check_schema(_SCHEMA)
    document = json.loads(output_of("json", command, exit_code=0 if command == "check" else 1))
    assert [error.message for error in validator.iter_errors(document)] == []
    Path("shop.cpl").write_text("protocol P { role }")
    document = json.loads(output_of("json", command, exit_code=2))
    assert [error.message for error in validator.iter_errors(document)] == []


_FAMILY = """protocol Family(n: 1..6 = 2, top: 1..9 = 4) sync {
  role Hub { var seen: 0..top = 0 }
  role Cus[n]
  for c in Cus {
    c -> Hub : vote
    Hub -> c : ack   after vote   if Hub.seen < top   set Hub.seen := Hub.seen + 1
  }
  property some: AG (vote[1] -> EF Hub.seen > 0)
  property voted: AG EF (forall c in Cus: vote[c])
  property below: AG Hub.seen < 4
  check none
}
"""


def test_verified_sizes_are_in_every_format(output_of: Callable[..., str]) -> None:
    Path("shop.cpl").write_text(_FAMILY, encoding="utf-8")
    holds = "holds for n = 1 to 6, with top = 4: all declared sizes, each verified"
    fails = "fails for n = 4, with top = 4, the smallest failing size; holds for n = 1 to 3"
    for form in ("text", "concise", "json", "junit", "html"):
        output = output_of(form, "verify", "--for-all-n")
        assert holds in output, form
        assert fails in output, form
    for form in ("github", "sarif"):
        assert fails in output_of(form, "verify", "--for-all-n"), form


def test_json_of_every_size_is_what_its_schema_says(output_of: Callable[..., str]) -> None:
    Path("shop.cpl").write_text(_FAMILY, encoding="utf-8")
    document = json.loads(output_of("json", "verify", "--for-all-n"))
    assert [error.message for error in jsonschema.Draft202012Validator(_SCHEMA).iter_errors(document)] == []
    _, voted, below = (result["size_coverage"] for result in document["results"])
    assert (voted["holds_for"], voted["verified"]) == ("declared sizes", [1, 2, 3, 4, 5, 6])
    assert (below["fails_for"], below["other_parameters"]) == (4, {"top": "4"})


def test_several_files_are_one_document(output_of: Callable[..., str]) -> None:
    Path("wrong.cpl").write_text("protocol P { role A role A }", encoding="utf-8")
    document = json.loads(output_of("json", "check", "wrong.cpl", exit_code=2))
    jsonschema.Draft202012Validator(_closed(_SCHEMA)).validate(document)
    assert document["files"] == [{"file": "shop.cpl", "exit": 0}, {"file": "wrong.cpl", "exit": 2}]
    assert {diagnostic["place"]["file"] for diagnostic in document["diagnostics"]} == {"shop.cpl", "wrong.cpl"}


def test_the_schema_names_every_field(output_of: Callable[..., str]) -> None:
    closed = jsonschema.Draft202012Validator(_closed(_SCHEMA))
    document = json.loads(output_of("json", "verify", "--vacuity"))
    assert [error.message for error in closed.iter_errors(document)] == []


def _closed(schema: Any) -> Any:
    """Return a schema that allows no fields but those it names; a run is part of a story, which has one more."""
    if isinstance(schema, list):
        return [_closed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    inside = {key: _closed(value) for key, value in schema.items()}
    is_open = "properties" not in schema or "loop" in schema["properties"]
    return inside if is_open else {**inside, "unevaluatedProperties": False}


def test_sarif_is_what_its_schema_says(output_of: Callable[..., str]) -> None:
    if "CPLC_SARIF_SCHEMA" not in os.environ:
        pytest.skip("CPLC_SARIF_SCHEMA names no copy of the schema of SARIF 2.1.0")
    schema = json.loads(Path(os.environ["CPLC_SARIF_SCHEMA"]).read_text(encoding="utf-8"))
    if "Root" in schema.get("definitions", {}):
        schema["$ref"] = "#/definitions/Root"
    validator = jsonschema.Draft7Validator(schema)
    assert not validator.is_valid({"version": "2.0.0", "runs": []})
    for command, code in (("verify", 1), ("check", 0)):
        document = json.loads(output_of("sarif", command, exit_code=code))
        assert [error.message for error in validator.iter_errors(document)] == []


def test_sarif_has_a_rule_for_each_question(output_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLC_MANUAL_URL", "https://manual.example/")
    for name, value in {"SERVER_URL": "https://git.example", "REPOSITORY": "me/shop", "SHA": "abc"}.items():
        monkeypatch.setenv(f"GITHUB_{name}", value)
    (log,) = json.loads(output_of("sarif"))["runs"]
    rules = {rule["id"]: rule for rule in log["tool"]["driver"]["rules"]}
    for index, rule in enumerate(log["tool"]["driver"]["rules"]):
        assert all(one["ruleId"] == rule["id"] for one in log["results"] if one["ruleIndex"] == index)
    served = rules["property/Shop.served"]
    assert served["shortDescription"]["text"] == "whoever pays <gets> the goods, 100 %"
    assert served["fullDescription"]["text"] == "AG (pay -> AF deliver)"
    assert served["helpUri"] == "https://git.example/me/shop/blob/abc/shop.cpl#L10"
    assert rules["property/Shop.kept"]["fullDescription"]["text"].endswith("(assuming Seller)")
    assert rules["check/live"]["helpUri"].startswith("https://manual.example/verification.html#")
    assert rules["unused"]["helpUri"] == "https://manual.example/rules/unused.html"
    result = next(one for one in log["results"] if one["ruleId"] == "property/Shop.served")
    assert "Seller stopped" in result["message"]["text"]
    assert result["codeFlows"]
    assert len({str(one["partialFingerprints"]) for one in log["results"]}) == len(log["results"])


def test_sarif_fingerprints_do_not_depend_on_lines(output_of: Callable[..., str]) -> None:
    def fingerprints() -> list[object]:
        return [one["partialFingerprints"] for one in json.loads(output_of("sarif"))["runs"][0]["results"]]

    before = fingerprints()
    Path("shop.cpl").write_text("// a new first line\n" + _MODEL, encoding="utf-8")
    assert fingerprints() == before


_JUNIT: dict[str, tuple[set[str], set[str]]] = {
    "testsuites": (set(), {"testsuite"}),
    "testsuite": (
        {"name", "tests", "failures", "errors", "skipped", "time", "file"},
        {"testcase", "system-out"},
    ),
    "testcase": (
        {"name", "classname", "time", "file", "line"},
        {"failure", "error", "skipped", "system-out"},
    ),
    "failure": ({"message", "type"}, set()),
    "error": ({"message", "type"}, set()),
    "skipped": ({"message"}, set()),
    "system-out": (set(), set()),
}
"""Attributes and children of elements that Jenkins and GitLab read; `file` and `line` of a case are read by GitLab."""


def _check_junit(element: ElementTree.Element) -> None:
    attributes, children = _JUNIT[element.tag]
    assert set(element.keys()) <= attributes, element.tag
    assert {child.tag for child in element} <= children, element.tag
    for name in ("tests", "failures", "errors", "skipped", "line"):
        assert element.get(name, "0").isdigit()
    assert re.fullmatch(r"\d+\.\d{3}", element.get("time", "0.000"))
    for child in element:
        _check_junit(child)


def test_junit_has_a_case_for_each_question_and_no_other(output_of: Callable[..., str]) -> None:
    root = ElementTree.fromstring(output_of("junit"))
    _check_junit(root)
    cases = {case.get("name"): case.get("line") for case in root.iter("testcase")}
    names = [one["name"] for one in json.loads(output_of("json"))["results"]]
    assert list(cases) == names
    assert cases["served"] == "10"
    assert "Nothing refers to the fact `spare`" in (root[0].findtext("system-out") or "")
    Path("shop.cpl").write_text("protocol P {", encoding="utf-8")
    for command in ("verify", "check"):
        root = ElementTree.fromstring(output_of("junit", command, exit_code=2))
        _check_junit(root)
        (case,) = root.iter("testcase")
        assert case.find("error") is not None


def test_annotations_are_short(output_of: Callable[..., str]) -> None:
    for line in output_of("github").splitlines():
        assert line.count("%0A") <= 6
        assert len(line) < 1000


def test_summary_of_a_step_has_the_story_and_the_picture(
    output_of: Callable[..., str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "summary.md"))
    (tmp_path / "summary.md").write_text("# Earlier step\n", encoding="utf-8")
    output_of("github")
    text = (tmp_path / "summary.md").read_text(encoding="utf-8")
    assert text.startswith("# Earlier step\n## Commitment protocols\n")
    assert "| ❌ <code>shop.cpl</code> |" in text
    assert text.count("<details>") == text.count("</details>") == 3
    assert "whoever pays &lt;gets&gt; the goods" in text
    assert "```mermaid\n" in text
    assert "Seller stopped" in text


def test_sarif_offers_the_repairs_that_are_certain(output_of: Callable[..., str]) -> None:
    Path("shop.cpl").write_text(_MODEL.replace("after order ", "after oder "), encoding="utf-8")
    results = json.loads(output_of("sarif", "check", exit_code=2))["runs"][0]["results"]
    assert [(one["ruleId"], one["level"]) for one in results] == [
        ("meaning-changed", "note"),
        ("unknown-name", "error"),
    ]
    result = results[1]
    replaced = result["fixes"][0]["artifactChanges"][0]["replacements"][0]
    assert replaced["insertedContent"] == {"text": "order"}
    assert replaced["deletedRegion"] == {"startLine": 7, "startColumn": 35, "endLine": 7, "endColumn": 39}


@pytest.mark.parametrize("form", ["github", "junit", "sarif", "html"])
def test_mistakes_and_limits_are_said_in_every_format(output_of: Callable[..., str], form: str) -> None:
    Path("shop.cpl").write_text("protocol P {\n  role A\n  A -> \u202eBob : m\n}\n", encoding="utf-8")
    assert "syntax" in output_of(form, exit_code=2)
    Path("shop.cpl").write_text(_MODEL, encoding="utf-8")
    stopped = output_of(form, "verify", "--engine", "onthefly", "--formula", "<<Seller>> F deliver", exit_code=3)
    assert "does not decide what groups can enforce" in stopped


def test_the_page_shows_the_text_of_the_user_as_text(output_of: Callable[..., str]) -> None:
    page = output_of("html")
    assert "whoever pays &lt;gets&gt; the goods" in page
    assert "<gets>" not in page


def test_the_chart_draws_what_crosses_and_what_never_arrives(output_of: Callable[..., str]) -> None:
    Path("shop.cpl").write_text(
        "protocol P {\n  role A\n  role B\n  A -> B : ping\n  B -> A : pong\n"
        "  property crossed: !EF (inflight(ping) & inflight(pong) & EF (ping & inflight(pong)))\n"
        "  check none\n}\n",
        encoding="utf-8",
    )
    page = output_of("html")
    lines = [(kind, *map(int, (x1, y1, x2, y2))) for kind, x1, y1, x2, y2 in re.findall(_LINE, page)]
    ((_, x1, y1, x2, y2),) = [line for line in lines if line[0] == "sent"]
    assert (x1, x2) == (70, 260)
    assert y1 < y2
    ((_, x1, y1, x2, y2),) = [line for line in lines if line[0] == "lost"]
    assert (x1, x2) == (260, 165), "it ends half way"


_LINE = r'<line class="(\w+)" x1="(\d+)" y1="(\d+)" x2="(\d+)" y2="(\d+)"'
