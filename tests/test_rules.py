"""Every rule is explained by an example that breaks it and one that does not, and the language tests exercise it."""

from __future__ import annotations

import io
from pathlib import Path
from typing import get_args

import pytest
from tests.support.literate.blocks import Block, blocks
from tests.support.literate.language import language_tests

from cplc.checking.results import RemarkCode
from cplc.cli.main import run
from cplc.compilation import CplCompilation, IsplCompilation
from cplc.diagnostics.core import Rule
from cplc.diagnostics.rules import DOCUMENTED, REMARKS, RULES
from cplc.language.words import EVERY_CHECK
from cplc.logs.log_statistics import LogContent, diagnose
from cplc.logs.mapping_file import parse_mapping
from cplc.logs.reading import read
from cplc.runtime.file_access import shipped
from cplc.source import Source

_ELSEWHERE = {"bad-settings", "bad-mapping", "unreadable-log", "empty-log", "meaning-changed", "counted-once"}
"""Rules about other files than models, and remarks; tests/cli and tests/logs break them."""

_TESTS = sorted((Path(__file__).parent / "language").glob("**/*.md"))


def _codes(example: Block, directory: Path, *, with_remarks: bool) -> set[str]:
    if example.language == "toml":
        return {diagnostic.code for diagnostic in parse_mapping(Source("example.toml", example.text), None)[1]}
    if example.language == "json":
        content = LogContent()
        list(read(io.BytesIO(example.text.encode()), None, content=content))
        problem = diagnose(content, ())
        return {problem.code} if problem is not None else set()
    if example.language == "ispl":
        return {diagnostic.code for diagnostic in IsplCompilation(Source("example.ispl", example.model)).diagnostics}
    path = directory / "example.cpl"
    path.write_text(example.model, encoding="utf-8")
    compilation = CplCompilation(Source(str(path), example.model), path=path, parameters=example.parameters)
    remarks = compilation.remarks if with_remarks else ()
    return {diagnostic.code for diagnostic in (*compilation.diagnostics, *remarks)}


def _put(block: Block, directory: Path) -> None:
    (directory / block.options["file"]).write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.code)
def test_rule_is_explained_by_examples(rule: Rule, tmp_path: Path) -> None:
    page = shipped("rules") / f"{rule.code}.md"
    assert page.is_file(), f"write {page}"
    assert page.read_text(encoding="utf-8").startswith(f"# {rule.code}\n")
    files = [block for block in blocks(page) if "file" in block.options]
    for block in reversed(files):  # those that a page shows first are there first
        _put(block, tmp_path)
    codes: list[set[str]] = []
    for block in blocks(page):
        if block in files:
            _put(block, tmp_path)
        elif block.language in ("cpl", "ispl", "toml", "json"):
            codes.append(_codes(block, tmp_path, with_remarks=rule.severity == "remark"))
    assert len(codes) >= 2, f"{page} needs an example that breaks the rule and one that does not"
    assert codes[:2] == [{rule.code}, set()]


@pytest.mark.parametrize("code", get_args(RemarkCode))
def test_remark_on_verdict_is_explained_by_examples(code: str) -> None:
    page = shipped("rules") / f"{code}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {code}\n")
    codes: list[set[str]] = []
    for block in blocks(page):
        compilation = CplCompilation(Source("example.cpl", block.model))
        assert compilation.ok, [one.concise() for one in compilation.diagnostics]
        questions = compilation.questions([one.name for one in compilation.model.properties])
        results = compilation.verify(questions, "explicit", vacuity=code == "independent-atom")
        codes.append({remark.code for result in results for remark in result.remarks})
    assert codes == [{code}, set()]


def test_every_remark_on_verdicts_is_listed() -> None:
    assert {rule.code for rule in REMARKS} == set(get_args(RemarkCode))


@pytest.mark.parametrize("rule", DOCUMENTED, ids=lambda rule: rule.code)
def test_explain_shows_the_page_of_every_code(rule: Rule, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["explain", rule.code]) == 0
    assert capsys.readouterr().out.startswith(f"# {rule.code}\n")


def test_every_page_explains_a_rule() -> None:
    assert {page.stem for page in shipped("rules").glob("*.md")} == {rule.code for rule in DOCUMENTED}


def test_every_code_is_unique() -> None:
    assert len({rule.code for rule in DOCUMENTED}) == len(DOCUMENTED)


def test_every_rule_is_exercised() -> None:
    announced = {one.code for path in _TESTS for test in language_tests(path) for one in test.announced}
    assert {rule.code for rule in RULES} - announced == _ELSEWHERE
    assert announced - {rule.code for rule in RULES} == set()


@pytest.mark.parametrize("name", EVERY_CHECK)
def test_check_is_explained_by_a_failing_example_and_its_repair(name: str) -> None:
    page = shipped("checks") / f"{name}.md"
    assert page.read_text(encoding="utf-8").startswith(f"# {name}\n")
    failing, repaired = (block for block in blocks(page) if block.language == "cpl")
    verdicts = []
    for block in (failing, repaired):
        compilation = CplCompilation(Source("example.cpl", block.text))
        results = {result.question.name: result for result in compilation.verify(compilation.questions())}
        assert name == "in_range" or all(result.as_expected for result in results.values())
        verdicts.append(results[name].answer if name in results else "holds")
    assert verdicts == ["fails", "holds"]


def test_command_explains_every_check(capsys: pytest.CaptureFixture[str]) -> None:
    for name in EVERY_CHECK:
        assert run(["explain", name]) == 0
        assert capsys.readouterr().out.startswith(f"# {name}\n")
