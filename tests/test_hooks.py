"""Integrations that run cplc: the hooks of pre-commit, and the script of the action for GitHub."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from cplc.cli.main import run

_ROOT = Path(__file__).parents[1]
_GOOD = "protocol P {\n  role A\n  role B\n  A -> B : m\n  property p: EF m\n}\n"
_FAILS = _GOOD.replace("EF m", "AG !m")


def _hooks() -> dict[str, list[str]]:
    text = (_ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")
    entries = re.findall(r"- id: (\S+)\n(?:  .*\n)*?  entry: (.*)\n", text)
    return {name: entry.split() for name, entry in entries}


def test_hooks_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, ugly, wrong = (tmp_path / name for name in ("good.cpl", "ugly.cpl", "wrong.cpl"))
    good.write_text(_GOOD, encoding="utf-8")
    ugly.write_text(_GOOD.replace("  role", "role"), encoding="utf-8")
    wrong.write_text(_GOOD.replace("EF m", "EF n"), encoding="utf-8")
    check, layout = _hooks()["cplc-check"], _hooks()["cplc-fmt"]
    assert (check[0], layout[0]) == ("cplc", "cplc")
    assert run([*check[1:], str(good), str(ugly)]) == 0
    assert run([*check[1:], str(good), str(wrong)]) == 2
    assert run([*layout[1:], str(good), str(ugly)]) == 0
    assert good.read_text(encoding="utf-8") == ugly.read_text(encoding="utf-8") == _GOOD
    capsys.readouterr()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with protocols, and a `cplc` to be found."""
    for name, text in {
        "a good one.cpl": _GOOD,
        "fails.cpl": _FAILS,
        "sub/wrong.cpl": "protocol",
        "sub/good.cpl": _GOOD,
        ".hidden/wrong.cpl": "protocol",
        "big.cpl": (_ROOT / "examples" / "netbill.cpl").read_text(encoding="utf-8").replace("= 1)", "= 30)"),
    }.items():
        path = tmp_path / "work" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    program = tmp_path / "bin" / "cplc"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m cplc "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    return tmp_path


def _verify(folder: Path, files: str, **more: str) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(_ROOT / "src"),
        "RUNNER_TEMP": str(folder),
        "GITHUB_OUTPUT": str(folder / "output"),
        "FILES": files,
        **more,
    }
    script = ["bash", str(_ROOT / "action" / "verify.sh")]
    return subprocess.run(script, env=environment, cwd=folder / "work", capture_output=True, text=True, timeout=120)


pytestmark = pytest.mark.skipif(
    sys.platform == "win32" or shutil.which("bash") is None, reason="the script is for bash"
)


def test_the_action_reports_the_worst(folder: Path) -> None:
    assert _verify(folder, "a good one.cpl").returncode == 0
    failing = _verify(folder, "a good one.cpl\nfails.cpl\n")
    assert failing.returncode == 1
    assert "::error file=fails.cpl,line=5" in failing.stdout
    everything = _verify(folder, "sub\n\na good one.cpl\r\n")
    assert everything.returncode == 2
    assert [line.split(":")[0] for line in everything.stdout.splitlines() if "exit code" in line] == [
        "sub/good.cpl",
        "sub/wrong.cpl",
        "a\\ good\\ one.cpl",
    ]
    assert "hidden" not in _verify(folder, ".", ARGUMENTS="--timeout=20\n--property=safe").stdout
    slow = _verify(folder, "big.cpl", ARGUMENTS="--engine=explicit\n--timeout=0.5\n")
    assert slow.returncode == 3
    assert _verify(folder, ".hidden/none").returncode == 2
    (folder / "work" / "empty").mkdir()
    assert _verify(folder, "empty").returncode == 2


def _obeyed(output: str) -> list[str]:
    """Return the commands that the runner of a workflow obeys, as it reads them line by line."""
    files: list[str] = []
    token = None
    for line in re.split(r"\r\n|\r|\n", output):
        if token is not None:
            token = None if line.strip() == f"::{token}::" else token
            continue
        current = re.match(r"\s*::([a-z-]+)(?: [^:]*)?::(.*)", line)
        older = re.search(r"##\[([a-z-]+)[^\]]*\]", line)
        if current is not None and current[1] == "stop-commands":
            token = current[2]
        elif current is not None or older is not None:
            files.append(line)
    assert token is None
    return files


_NAMES = [
    "a\n::error::injected.cpl",
    "b\r##[add-mask]x.cpl",
    "::error::c.cpl",
    "##[error]d.cpl",
    "e\x1b[8m.cpl",
    "-f.cpl",
]


@pytest.mark.parametrize("form", ["github", "text", "sarif"])
def test_file_names_inject_no_commands_into_a_workflow(folder: Path, form: str) -> None:
    wrong = (_ROOT / "examples" / "netbill.cpl").read_text(encoding="utf-8").replace("EF ", "AG ", 1)
    mine = folder / "work" / "mine"
    for number, name in enumerate(_NAMES):
        (mine / name).parent.mkdir(exist_ok=True)
        (mine / name).write_text(wrong if number % 2 else f"protocol ##[error] {name}\n::error::text", encoding="utf-8")
    done = _verify(folder, "mine", FORMAT=form)
    assert done.returncode == 2
    assert done.stdout.count("exit code") == len(_NAMES)
    obeyed = _obeyed(done.stdout) + _obeyed(done.stderr)
    if form == "github":
        assert obeyed
        assert all(re.match(r"::(error|warning) file=mine/[^,:\n]*,line=\d+", line) for line in obeyed), obeyed
    else:
        assert obeyed == []


def test_missing_files_inject_no_commands_into_a_workflow(folder: Path) -> None:
    done = _verify(folder, "::error::none.cpl\n##[error]none.cpl")
    assert done.returncode == 2
    assert all(line.startswith("::error file=") for line in _obeyed(done.stdout) + _obeyed(done.stderr))


def test_the_action_leaves_reports(folder: Path) -> None:
    assert _verify(folder, "fails.cpl\na good one.cpl", FORMAT="sarif").returncode == 1
    reports = Path((folder / "output").read_text(encoding="utf-8").strip().removeprefix("reports="))
    first, second = (json.loads((reports / f"{n}.sarif").read_text(encoding="utf-8")) for n in (1, 2))
    kinds = [[result["kind"] for result in one["runs"][0]["results"]] for one in (first, second)]
    assert kinds == [["fail", *["pass"] * 4], ["pass"] * 5]
    assert len(list(reports.iterdir())) == 2


def test_the_action_imports_nothing_from_what_is_checked_out() -> None:
    """`python -m` would, from the working directory: the author of a pull request could run code."""
    script = (_ROOT / "action.yml").read_text(encoding="utf-8") + (_ROOT / "action" / "verify.sh").read_text("utf-8")
    assert re.findall(r"(\S+) -m (\w+)", script) == [("-P", "venv"), ("-P", "pip")]


def test_inputs_reach_the_action_as_data_alone() -> None:
    """Values of inputs are never part of a script."""
    action = (_ROOT / "action.yml").read_text(encoding="utf-8")
    scripts = re.findall(r"^ +run: (.*(?:\n {8}.*)*)", action, re.MULTILINE)
    assert len(scripts) == 2
    assert not any("${{" in script for script in scripts)
