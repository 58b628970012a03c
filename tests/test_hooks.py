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
    verify = _hooks()["cplc-verify"]
    failing = tmp_path / "failing.cpl"
    failing.write_text(_FAILS, encoding="utf-8")
    assert run([*verify[1:], str(good), str(ugly)]) == 0
    assert run([*verify[1:], str(good), str(failing)]) == 1
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
    assert "::error file=sub/wrong.cpl" in everything.stdout
    assert "cplc verify: exit code 2" in everything.stdout
    whole = _verify(folder, "", FORMAT="text", ARGUMENTS="--timeout=20\n--workers=1")
    assert "sub/good.cpl: 5 as expected" in whole.stdout
    assert "hidden" not in whole.stdout
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
    assert done.stdout.count("exit code") == 1
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
    outputs = dict(line.split("=", 1) for line in (folder / "output").read_text(encoding="utf-8").splitlines())
    report = Path(outputs["report"])
    assert list(Path(outputs["reports"]).iterdir()) == [report]
    (log,) = json.loads(report.read_text(encoding="utf-8"))["runs"]
    assert [result["kind"] for result in log["results"]] == ["fail", *["pass"] * 9]


def test_the_action_verifies_the_project_of_the_settings(folder: Path) -> None:
    settings = folder / "work" / "cplc.toml"
    settings.write_text('[project]\nfiles = ["sub/good.cpl"]\n', encoding="utf-8")
    done = _verify(folder, "", FORMAT="text")
    assert done.returncode == 0
    assert "1 file, 5 properties and checks: 5 as expected" in done.stdout


def test_the_action_is_pinned() -> None:
    """Tags can be moved; a commit cannot."""
    action = (_ROOT / "action.yml").read_text(encoding="utf-8")
    assert all(re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", one) for one in re.findall(r"uses: (\S+)", action))
    assert '-c "$GITHUB_ACTION_PATH/constraints.txt"' in action


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


# --- recipes of the manual


def _recipe(language: str, beginning: str) -> str:
    """Return the block of the guide that begins with this line."""
    guide = (_ROOT / "docs" / "how-to" / "continuous-integration.md").read_text(encoding="utf-8")
    (block,) = re.findall(rf"```{language}\n({re.escape(beginning)}\n.*?)```", guide, re.DOTALL)
    assert isinstance(block, str)
    return block


@pytest.fixture
def project(folder: Path) -> Path:
    """A project that verifies, with the settings of the guide."""
    home = folder / "project"
    (home / "protocols").mkdir(parents=True)
    (home / "protocols" / "good.cpl").write_text("cpl 2\n\n" + _GOOD, encoding="utf-8")
    guide = (_ROOT / "docs" / "how-to" / "continuous-integration.md").read_text(encoding="utf-8")
    (settings,) = re.findall(r"```toml file=cplc.toml\n(.*?)```", guide, re.DOTALL)
    (home / "cplc.toml").write_text(settings, encoding="utf-8")
    return home


def _run(command: list[str], folder: Path, project: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PATH": f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(_ROOT / "src"),
        "CI": "true",
    }
    return subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize(("text", "code"), [(_GOOD, 0), (_FAILS, 1), ("protocol", 2)])
def test_gitlab_recipe_runs(folder: Path, project: Path, text: str, code: int) -> None:
    (project / "protocols" / "good.cpl").write_text(f"cpl 2\n\n{text}", encoding="utf-8")
    recipe = _recipe("yaml", "# .gitlab-ci.yml")
    script = re.findall(r"^    - (.*)$", recipe[: recipe.index("artifacts:")], re.MULTILINE)
    assert script[0] == "pip install cplc"
    done = _run(["bash", "-e", "-c", "\n".join(script[1:] if code < 2 else script[-1:])], folder, project)
    assert done.returncode == code, done.stdout + done.stderr
    assert "junit: results.xml" in recipe
    assert (project / "results.xml").read_text(encoding="utf-8").startswith("<?xml")


@pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")
def test_makefile_recipe_runs(folder: Path, project: Path) -> None:
    (project / "Makefile").write_text(_recipe("make", "# Makefile"), encoding="utf-8")
    done = _run(["make", "-k", "verify"], folder, project)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "<!DOCTYPE html>" in (project / "report.html").read_text(encoding="utf-8")
    (project / "protocols" / "good.cpl").write_text(f"cpl 2\n\n{_FAILS}", encoding="utf-8")
    (project / "report.html").unlink()
    done = _run(["make", "-k", "verify"], folder, project)
    assert done.returncode == 2
    assert not (project / "report.html").exists()
