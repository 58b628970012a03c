"""The comparison of two versions as black boxes: what it masks, and that it reports a planted difference."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests import same_answers
from tests.same_answers import (
    Comparison,
    Features,
    Masking,
    Outcome,
    Program,
    Report,
    Unusable,
    command_lines,
    comparisons,
    difference,
    features,
    main,
    program,
    protocols,
    read_replacements,
    structure,
)

CPLC = Path(sys.executable).with_name("cplc")
FILES = ("--files", "examples/netbill.cpl")
FAKE = f"""#!{sys.executable}
import json, sys, time
arguments = sys.argv[1:]
if arguments == ["--version"]:
    print("cplc 0.1.0")
elif arguments == ["--help"]:
    print("Commands:\\n  check  Report mistakes.\\n  verify  Verify properties.\\n\\nExit codes:\\n  0  fine")
elif arguments == ["verify", "--help"]:
    print("  --engine [auto|\\n      explicit]  How.")
elif arguments == ["explain"]:
    print("unknown-name  error  a name")
elif arguments[0] == "verify" and "json" in arguments:
    run = {{"start": {{"x": 0}}, "steps": [{{"step": "send a", "writes": {{"x": 1}}, "text": "told"}}], "loop": None}}
    result = {{"name": "safe", "verdict": "holds", "seconds": 0.25, "reason": "nobody looks on", "evidence": run}}
    print(json.dumps({{"results": [result]}}, indent=1))
elif arguments[0] == "check":
    print("checked in 0.3 s by cplc 0.1.0", file=sys.stderr)
"""


@pytest.fixture
def fake(tmp_path: Path) -> Callable[..., Path]:
    """Make an executable that behaves a little like ``cplc``, with replacements in its text."""

    def make(name: str, *changes: tuple[str, str]) -> Path:
        text = FAKE
        for old, new in changes:
            assert old in text
            text = text.replace(old, new)
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        path.chmod(0o755)
        return path

    return make


def test_comparison_equal_apart_from_version_and_time(
    fake: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    new = fake("new", ("0.1.0", "0.2.0"), ("0.25", "1.5e-05"), ("0.3 s", "12 s"))
    assert main([str(fake("old")), str(new), *FILES]) == 0
    assert capsys.readouterr().out.splitlines()[-1].split() == ["all", "16", "16", "0", "0"]


@pytest.mark.parametrize(
    ("change", "command", "line"),
    [
        (('"verdict": "holds"', '"verdict": "fails"'), "verify", '+   "verdict": "fails",'),
        (("checked in", "examined in"), "check", "+examined in TIME by cplc VERSION"),
        (('"check":', '"check" and sys.exit(1):'), "check", "+exit code 1"),
    ],
    ids=["verdict", "standard error", "exit code"],
)
def test_comparison_reports_planted_difference(
    fake: Callable[..., Path],
    capsys: pytest.CaptureFixture[str],
    change: tuple[str, str],
    command: str,
    line: str,
) -> None:
    assert main([str(fake("old")), str(fake("new", change)), *FILES, "--only", "check", "verify"]) == 1
    output = capsys.readouterr().out
    assert f"different: {command}: cplc {command} examples/netbill.cpl" in output
    assert f"  {line}\n" in output


def test_structure_compares_verdicts_and_runs_but_no_wording(fake: Callable[..., Path]) -> None:
    old, reworded = (
        fake("old"),
        fake("reworded", ("nobody looks on", "cone"), ('"told"', '"sent"'), ("in 0.3", "at 0.3")),
    )
    arguments = [*FILES, "--kinds", "structure", "--only", "check", "verify"]
    assert main([str(old), str(reworded), *arguments]) == 0
    for number, change in enumerate([('"send a"', '"send b"'), ('{"x": 1}', '{"x": 2}'), ("holds", "fails")]):
        assert main([str(old), str(fake(f"new{number}", change)), *arguments]) == 1


def test_allowed_difference_is_applied_to_the_old_output(
    fake: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = tmp_path / "allowed"
    allowed.write_text("# words\n\nnobody looks on => outside the cone\ntold so => reported\n", encoding="utf-8")
    old, new = fake("old"), fake("new", ("nobody looks on", "outside the cone"))
    arguments = [str(old), str(new), *FILES, "--only", "verify"]
    assert main(arguments) == 1
    assert main([*arguments, "--allow", str(allowed)]) == 0
    assert "never needed: told so\n" in capsys.readouterr().out


def test_time_limit_is_reported_as_skipped(fake: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    new = fake("new", ('print("checked', 'time.sleep(60); print("checked'))
    begin = time.monotonic()
    arguments = [str(fake("old")), str(new), *FILES, "--only", "check", "--seconds"]
    assert main([*arguments, "5"]) == 1
    assert time.monotonic() - begin < 30
    output = capsys.readouterr().out
    assert "skipped: check: cplc check examples/netbill.cpl: the new version takes more than 5 s" in output
    assert "nothing was compared" in output


def test_nothing_compared_is_no_success(fake: Callable[..., Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert main([str(fake("old")), str(fake("new")), "--files", "nothing*", "--only", "check"]) == 1
    assert "nothing was compared" in capsys.readouterr().out


def test_unusable_program_and_replacements_are_refused(
    fake: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([str(tmp_path / "missing"), str(fake("new"))]) == 2
    assert "is no executable file" in capsys.readouterr().err
    with pytest.raises(Unusable, match="line 2"):
        read_replacements("a => b\na -> b\n")


def test_masking_removes_versions_times_and_own_folders_only() -> None:
    mask = Masking("0.1.0", (Path("/work/old"), Path("/work/old/.venv")))
    assert (
        mask("cplc 0.1.0, /work/old/.venv/lib/x.cpl, /work/older/x.cpl") == "cplc VERSION, lib/x.cpl, /work/older/x.cpl"
    )
    assert mask("0.1.0.1, 10.1.0, version 0.1.0.") == "0.1.0.1, 10.1.0, version VERSION."
    assert mask('"seconds": 0.25, "limit_seconds": 3,') == '"seconds": 0, "limit_seconds": 0,'
    assert mask("after 3 ticks, within 3 s, took 2.5 s") == "after 3 ticks, within 3 s, took TIME"


def test_structure_of_a_system_leaves_out_who_exported_it() -> None:
    old, new, changed = (
        structure("system", Outcome(0, f'{{"exported_by": "cplc {version}", "steps": [{step}]}}', ""))
        for version, step in [("1", 1), ("2", 1), ("2", 3)]
    )
    assert old == new != changed
    assert structure("draw", Outcome(0, "<svg>", "")) == "exit code 0\n"
    broken, other = (structure("verify", Outcome(0, text, "")) for text in ('{"answers": 1}', '{"answers": 2}'))
    assert broken != other


def test_difference_is_short_and_shows_the_place() -> None:
    assert difference("a\nb", "a\nb") == []
    assert difference("a\nb\nc", "a\nd\nc")[1:] == [" a", "-b", "+d", " c"]
    old, new = difference("x" * 400 + "old" + "y" * 400, "x" * 400 + "new" + "y" * 400)[1:3]
    assert "old" in old
    assert "new" in new
    assert max(map(len, (old, new))) <= same_answers.MAX_LINE_LENGTH + 3
    assert difference("\n".join("a" * 100), "\n".join("b" * 100))[-1].endswith("more lines")


def test_report_fails_where_something_differs() -> None:
    one = Comparison("check", ("check", "a.cpl"))
    report = Report()
    assert report.add(one, []) == ""
    assert (Report().is_same, report.is_same) == (False, True)
    assert report.add(one, ["-a", "+b"]) == "different: check: cplc check a.cpl\n  -a\n  +b\n"
    assert (Report().is_same, report.is_same) == (False, False)
    assert [*report.table()][1].split() == ["check", "2", "1", "1", "0"]


def test_plan_has_every_command_line_that_the_help_lists() -> None:
    files = protocols()
    assert {"examples/netbill.cpl", "examples/train_gate.ispl", "tests/cases/rounds.cpl", "stdlib/auctions.cpl"} <= {
        *files
    }
    real = program(CPLC)
    try:
        available = features([real])
    finally:
        real.close()
    assert {"verify", "draw", "man"} <= {*available.commands}
    assert available.engines == ("auto", "symbolic", "explicit", "onthefly", "reduced")
    assert {"smv", "ccs", "prism", "ispl"} <= {*available.targets}
    assert available.drawings == ("chart", "role", "states", "commitment", "owes", "messages")
    assert "unknown-name" in available.rules
    assert {one.kind for one in comparisons(files, available)} == {*same_answers.KINDS}
    assert not [*command_lines("analyze", "examples/train_gate.ispl", available)]
    assert {*command_lines("format", "examples/train_gate.ispl", available)} == {
        ("fmt", "--diff", "examples/train_gate.ispl")
    }


def test_loaded_program_answers_as_a_fresh_one() -> None:
    loaded, fresh = program(CPLC), program(CPLC, fresh=True)
    assert type(loaded) is not type(fresh) is Program
    assert (same_answers.ROOT / same_answers.WARMING[1]).is_file()
    source = same_answers.ROOT / "tests/cases/delegation.cpl"
    try:
        for arguments, standard_input in [
            (["fmt", "-"], source),
            (["export", str(source), "--to", "json"], None),
            (["check", "no such file"], None),
            (["draw", str(source), "--what", "owes"], None),
        ]:
            assert loaded.run(arguments, standard_input, 60) == fresh.run(arguments, standard_input, 60)
        assert loaded.run(["check", "-"], source, 0.0001) is None
        assert loaded.run(["coverage", "examples/pnaws.cpl"], None, 1) is None
        assert loaded.run(["fmt", "-"], source, 60) == fresh.run(["fmt", "-"], source, 60)
    finally:
        loaded.stop()
    with pytest.raises(Unusable, match="stopped"):
        loaded.run(["fmt", "-"], source, 60)


def test_interrupt_stops_at_once(fake: Callable[..., Path]) -> None:
    slow = fake(
        "slow", ('print("checked', 'print("begun", file=open(__file__ + ".begun", "w")); time.sleep(60); print("')
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.same_answers", slow, slow, *FILES, "--only", "check"],
        cwd=same_answers.ROOT,
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    begun = Path(f"{slow}.begun")
    while not begun.exists():
        assert process.poll() is None
        time.sleep(0.05)
    os.kill(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "interrupted" in errors


def test_features_of_either_version_count() -> None:
    class Speaker(Program):
        def run(self, arguments: object, standard_input: object, seconds: float) -> Outcome:
            commands = {"old": "  check  Report.\n", "new": "  check  Report.\n  prove  Prove.\n"}[self.executable.name]
            return Outcome(0, f"Commands:\n{commands}\nExit codes:\n  0  fine\n", "")

    assert features([Speaker(Path("old")), Speaker(Path("new"))]) == Features(commands=("check", "prove"))
