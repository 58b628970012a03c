"""The reader of Markdown tests refuses tests that check nothing."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.literate.blocks import BadTest
from tests.support.literate.console import Command, _agrees, check_console, console_tests
from tests.support.literate.language import Announced, check_language, language_tests


def _written(directory: Path, text: str) -> Path:
    path = directory / "some.md"
    path.write_text(text.replace("'''", "```"), encoding="utf-8")
    return path


def test_assertions_are_read_with_their_place(tmp_path: Path) -> None:
    path = _written(tmp_path, "# One thing\n'''cpl\na // error: [x-y] \"a\\\"b\"  // warning: [z]\n'''\n")
    (test,) = language_tests(path)
    assert test.name == "one-thing"
    assert test.announced == (Announced(1, "error", "x-y", 'a"b'), Announced(1, "warning", "z", None))


@pytest.mark.parametrize(
    "comment",
    [
        "// error [unknown-name]",
        "// error: unknown-name",
        "// Error: [unknown-name]",
        "//error: [unknown-name]",
        '// error: [unknown-name] "X',
        "// error: [unknown-name] X",
        "// errors: [unknown-name]",
        "// warn: [unused]",
        "// vacuous: p",
    ],
)
def test_mistyped_assertions_are_refused(tmp_path: Path, comment: str) -> None:
    with pytest.raises(BadTest, match="not of the form"):
        language_tests(_written(tmp_path, f"'''cpl\nrole A {comment}\n'''\n"))


@pytest.mark.parametrize(
    "text",
    ["", "# Only words\n", "'''text\nx\n'''\n", "'''cpl file=a.cpl\nx\n'''\n"],
)
def test_files_without_tests_are_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadTest, match="no test"):
        language_tests(_written(tmp_path, text))
    with pytest.raises(BadTest, match="no transcript"):
        console_tests(_written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("'''cpl\nx\n", "no end"),
        ("'''cpl verfy\nproperty\n'''\n", "what does"),
        ("'''cpl verify\nprotocol P { role A }\n'''\n", "nothing to verify"),
    ],
)
def test_blocks_that_check_nothing_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadTest, match=reason):
        language_tests(_written(tmp_path, text))


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("cplc check x\n", "begins with"),
        ("$ rm -r x\n", "only `cplc`"),
        ("$ cplc check x | head\n", "only `cplc`"),
        ("$ cplc check x\n[exit 2]\nmore\n", "last line"),
        ("$ cplc check x\n[exit two]\n", "last line"),
    ],
)
def test_transcripts_that_check_nothing_are_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadTest, match=reason):
        console_tests(_written(tmp_path, f"'''console\n{text}'''\n"))


def test_tests_below_one_heading_have_names_of_their_own(tmp_path: Path) -> None:
    path = _written(tmp_path, "# A\n'''cpl\nx\n'''\n'''cpl\ny\n'''\n## B c!\n'''cpl\nz\n'''\n")
    assert [test.name for test in language_tests(path)] == ["a", "a-2", "b-c"]


@pytest.mark.parametrize(
    ("expected", "output", "agrees"),
    [
        (("a", "...", "d"), "a\nb\nc\nd\n", True),
        (("a", "...", "d"), "a\nd\n", True),
        (("a", "...", "d"), "a\nb\nc\n", False),
        (("took 0.3 s",), "took 12.07 s\n", True),
        (('"seconds": 0.1,',), '"seconds": 2.5e-05,\n', True),
        (("a",), "a\nb\n", False),
        ((), "a\n", False),
        ((), "", True),
        (("a.b",), "axb\n", False),
    ],
)
def test_output_matches_transcript(expected: tuple[str, ...], output: str, agrees: bool) -> None:
    assert _agrees(Command("cplc", expected, 0), output, 0) is agrees
    assert not _agrees(Command("cplc", expected, 0), output, 1)


def test_transcripts_can_be_rewritten(tmp_path: Path) -> None:
    path = _written(tmp_path, "# A\n'''console\n$ cplc --version\nold\n$ cplc explain nonsense\n...\n[exit 2]\n'''\n")
    (test,) = console_tests(path)
    with pytest.raises(AssertionError, match="old"):
        check_console(test, tmp_path, update=False)
    check_console(test, tmp_path, update=True)
    (again,) = console_tests(path)
    check_console(again, tmp_path, update=False)
    assert again.commands[1].expected == ("...",)


@pytest.mark.parametrize(
    "text",
    [
        "protocol P { role A role A }",
        "protocol P { role A } // error: [unknown-name]",
    ],
    ids=["not announced", "did not come"],
)
def test_silence_is_an_assertion(tmp_path: Path, text: str) -> None:
    (test,) = language_tests(_written(tmp_path, f"'''cpl\n{text}\n'''\n"))
    with pytest.raises(AssertionError, match="announced"):
        check_language(test, tmp_path)


_MODEL = """protocol P {
  role A
  role B
  A -> B : m
  property p: PROPERTY
}
"""


@pytest.mark.parametrize(
    "text",
    ["EF m expect fails", "AF m", "AG (m & !m -> EF m)", "EF m // vacuous"],
    ids=["holds", "fails", "vacuous", "not vacuous"],
)
def test_verdicts_must_be_as_announced(tmp_path: Path, text: str) -> None:
    model = _MODEL.replace("PROPERTY", text)
    (test,) = language_tests(_written(tmp_path, f"'''cpl verify\n{model}'''\n"))
    with pytest.raises(AssertionError, match="line 6"):
        check_language(test, tmp_path)


@pytest.mark.parametrize("text", ["EF m", "AF m expect fails", "AG (m & !m -> EF m) // vacuous"])
def test_verdicts_as_announced_pass(tmp_path: Path, text: str) -> None:
    model = _MODEL.replace("PROPERTY", text)
    (test,) = language_tests(_written(tmp_path, f"'''cpl verify\n{model}'''\n"))
    check_language(test, tmp_path)
