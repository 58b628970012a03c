"""Pages that are told in order: what is done is what they show, and what shows nothing to do is refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.literate.blocks import BadTest
from tests.support.literate.page_sequences import play, steps

_FILE = "'''cpl file=a.cpl\nprotocol P {\n  role A\n  role B\n  A -> B : m\n}\n'''\n"


def _told(directory: Path, *texts: str) -> None:
    pages = []
    for number, text in enumerate(texts):
        page = directory / f"page{number}.md"
        page.write_text(text.replace("'''", "```"), encoding="utf-8")
        pages.append(page)
    play(steps(pages), directory)


def test_a_file_is_written_changed_and_used_on_the_next_page(tmp_path: Path) -> None:
    change = "'''diff file=a.cpl\n-  A -> B : m\n+  B -> A : n\n }\n'''\n"
    _told(tmp_path, _FILE + change, "'''console\n$ cplc check a.cpl\na.cpl: no problems\n'''\n")
    assert "  B -> A : n\n}\n" in (tmp_path / "a.cpl").read_text(encoding="utf-8")


def test_a_command_leaves_what_it_writes(tmp_path: Path) -> None:
    _told(tmp_path, _FILE + "'''console\n$ cplc check a.cpl > out\n$ cplc draw a.cpl -o a.svg\n'''\n")
    assert (tmp_path / "out").read_text(encoding="utf-8") == "a.cpl: no problems\n"
    assert (tmp_path / "a.svg").is_file()


def test_two_places_are_changed_at_once(tmp_path: Path) -> None:
    _told(tmp_path, _FILE + "'''diff file=a.cpl\n-  role A\n+  role C\n...\n-  A -> B : m\n+  C -> B : m\n'''\n")
    assert "role C\n  role B\n  C -> B : m" in (tmp_path / "a.cpl").read_text(encoding="utf-8")


def test_cached_verdicts_are_marked(tmp_path: Path) -> None:
    transcript = "$ cplc verify a.cpl --formula 'EF m' --format concise\n--formula:1: holds formula: EF m"
    _told(tmp_path, _FILE + f"'''console\n{transcript}\n{transcript}; cached\n'''\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (_FILE + "'''diff file=a.cpl\n-  role\n+  rule\n'''\n", "0 times"),
        (_FILE + "'''diff file=a.cpl\n-  role A\n-  A -> B : m\n+  C\n'''\n", "0 times"),
        (_FILE + "'''diff file=a.cpl\n   role A\n'''\n", "changes nothing"),
        (_FILE + "'''diff file=a.cpl\nrole A\n+ x\n'''\n", "begins with"),
        (_FILE + "'''diff\n- role A\n'''\n", "names its file"),
        ("'''diff file=b.cpl\n- role A\n'''\n", "no file"),
        ("'''cpl\nprotocol P {}\n'''\n", "file=NAME"),
        ("'''console\n$ rm a.cpl\n'''\n", "only `cplc`"),
    ],
)
def test_impossible_change_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(BadTest, match=reason):
        _told(tmp_path, text)


def test_deviation_from_page_fails(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="no problems"):
        _told(tmp_path, _FILE + "'''console\n$ cplc check a.cpl\nsome problems\n'''\n")
