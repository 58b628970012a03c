"""`cplc verify` of many files: one report in the order of the files, whatever happens to one of them."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import jsonschema
import psutil
import pytest
from tests.support.processes import descendants, end, is_alive, listening, until

from cplc.cli.main import run

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="processes are not copied here")

_ROOT = Path(__file__).parents[2]
_GOOD = """cpl 2
protocol {name}(n: 1..3 = 1) {{
  role A
  role B[n]
  for b in B {{ A -> b : m }}
  property possible: EF (forall b in B: m[b])
}}
"""
_FAILS = """cpl 2
protocol Fails {
  role A
  role B
  A -> B : m
  property reached: AF m
}
"""
_WRONG = """cpl 2
protocol Wrong {
  role A
  A -> Nobody : m
}
"""
_ENDLESS = (_ROOT / "examples" / "dining_cryptographers.cpl").read_text(encoding="utf-8").replace(" = 3", " = 40", 1)

Output = Callable[..., tuple[int, str, str]]


@pytest.fixture
def output(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Output:
    """Return a function that runs `cplc` in an empty project and returns its exit code and both outputs."""
    (tmp_path / ".git").mkdir()  # no settings of the folders around it count
    monkeypatch.chdir(tmp_path)

    def ran(*arguments: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(arguments)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ran


def _write(folder: Path, **texts: str) -> None:
    for name, text in texts.items():
        path = folder / f"{name.replace('__', '/')}.cpl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def _mixed(folder: Path) -> None:
    _write(
        folder,
        p__a=_GOOD.format(name="First"),
        p__b=_WRONG,
        p__c=_FAILS,
        p__d__e=_GOOD.format(name="Second"),
        p__f="cpl 2\ndefine same(x) = x\n",
    )


def test_one_bad_file_does_not_hide_another(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    code, out, err = output("verify", "p", "--workers", "2")
    assert code == 2
    lines = out.splitlines()
    assert [line for line in lines if line.startswith("p/")] == [
        "p/a.cpl: 5 as expected",
        "p/c.cpl: 4 as expected, 1 not as expected",
        "p/d/e.cpl: 5 as expected",
    ]
    assert lines[-3:] == [
        "5 files, 15 properties and checks: 14 as expected, 1 not as expected",
        "wrong: p/b.cpl",
        "not as expected: p/c.cpl",
    ]
    assert "A stopped: it could send m forever and never did." in out
    assert "Nothing here is called `Nobody`" in err
    assert "p/f.cpl: declares macros only" in err


def test_brief_report_shows_no_more_than_the_default(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    usual, brief = (output("verify", "p", *options)[1].splitlines() for options in ((), ("-q",)))
    assert set(brief) < set(usual)
    assert "fails   reached: AF m  p/c.cpl:6" in brief


def _timeless(text: str) -> str:
    return re.sub(r'"seconds": [\d.]+|time="[\d.]+"|[\d.]+ s\b', "", text)


@pytest.mark.parametrize("form", ["text", "concise", "json", "github", "junit", "sarif", "html"])
def test_report_is_the_same_for_any_number_of_workers(form: str, tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    first, second = (output("verify", "p", "--format", form, "--workers", number) for number in ("1", "3"))
    assert first[0] == second[0] == 2
    assert _timeless(first[1]) == _timeless(second[1])
    assert first[2] == second[2]


def test_documents_have_the_results_of_every_file(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    document = json.loads(output("verify", "p", "--format", "json")[1])
    assert [one["file"] for one in document["files"]] == [f"p/{name}.cpl" for name in ("a", "b", "c", "f", "d/e")]
    assert [one["exit"] for one in document["files"]] == [0, 2, 1, 0, 0]
    assert document["counts"] == {"as_expected": 14, "with_a_warning": 0, "not_as_expected": 1, "unknown": 0}
    assert document["exit"] == 2
    suites = ElementTree.fromstring(output("verify", "p", "--format", "junit")[1])
    assert [suite.get("name") for suite in suites] == [one["file"] for one in document["files"]]
    (sarif,) = json.loads(output("verify", "p", "--format", "sarif")[1])["runs"]
    results = [(one["ruleId"], one["message"]["text"].splitlines()[0]) for one in sarif["results"]]
    assert [text for _, text in results if not re.match("live|deadlock|no_debt|sound", text)] == [
        "possible holds", "Nothing here is called `Nobody`", "reached fails", "possible holds",
    ]  # fmt: skip
    assert len({rule["id"] for rule in sarif["tool"]["driver"]["rules"]}) == len(sarif["tool"]["driver"]["rules"])
    page = output("verify", "p", "--format", "html")[1]
    identifiers = re.findall(r' id="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers)) >= 5
    for target in re.findall(r'href="#([^"]*)"', page):
        assert target in identifiers
    annotations = output("verify", "p", "--format", "github")[1].splitlines()
    assert [line.split(",")[0] for line in annotations] == ["::error file=p/b.cpl", "::error file=p/c.cpl"]


_SCHEMAS = _ROOT / "docs" / "schema"


def test_json_conforms_to_its_schemas(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    _write(tmp_path, p__z=_ENDLESS)
    whole, one = (
        jsonschema.Draft202012Validator(json.loads((_SCHEMAS / name).read_text(encoding="utf-8")))
        for name in ("project-1.json", "output-1.json")
    )
    for options in (["--fail-fast"], ["--timeout", "1", "--engine", "explicit"]):
        document = json.loads(output("verify", "p", "--format", "json", *options)[1])
        assert [error.message for error in whole.iter_errors(document)] == []
        assert set(document) <= set(whole.schema["properties"])  # type: ignore[index]
        for file in document["files"]:
            assert [error.message for error in one.iter_errors({"format_version": 1, **file})] == []
    for command in ("stats", "coverage", "analyze"):
        document = json.loads(output(command, "p/a.cpl", "p/f.cpl", "--format", "json")[1])
        assert [error.message for error in whole.iter_errors(document)] == []


def test_limit_of_one_file_leaves_the_others(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_ENDLESS, b=_GOOD.format(name="Good"))
    code, out, _ = output("verify", ".", "--engine", "explicit", "--timeout", "2", "--workers", "2")
    assert code == 3
    assert "b.cpl: 5 as expected" in out
    assert "the time limit of 2 s was reached" in out
    assert out.splitlines()[-1] == "unknown: a.cpl"


def test_fail_fast_stops_at_the_first_file_in_order(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b=_FAILS, c=_ENDLESS, d=_WRONG)
    outcomes = {output("verify", ".", "--fail-fast", "--workers", number, "--detail", "verdicts") for number in "13"}
    ((code, out, err),) = outcomes
    assert code == 1
    assert out.splitlines()[-4:] == [
        "b.cpl: 4 as expected, 1 not as expected",
        "",
        "4 files, 10 properties and checks: 9 as expected, 1 not as expected",
        "not as expected: b.cpl",
    ] or out.splitlines()[-3:] == [
        "4 files, 10 properties and checks: 9 as expected, 1 not as expected",
        "not as expected: b.cpl",
        "not begun: 2 files (--fail-fast)",
    ]
    assert err == ""


def test_files_of_the_project(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    settings = tmp_path / "cplc.toml"
    settings.write_text('[project]\nfiles = ["p/**/*.cpl"]\nexclude = ["p/b.cpl", "p/c*"]\n', encoding="utf-8")
    code, out, _ = output("verify")
    assert code == 0
    assert out.splitlines()[-1] == "3 files, 10 properties and checks: 10 as expected"
    (tmp_path / "p" / "d" / "deeper").mkdir()
    os.chdir(tmp_path / "p" / "d")
    assert output("verify")[1].splitlines()[0] == "../a.cpl: 5 as expected"


def test_project_without_files_is_an_error(tmp_path: Path, output: Output) -> None:
    code, out, err = output("verify")
    assert (code, out) == (2, "")
    assert "name a file or a folder: there is no `cplc.toml` with `files`" in err
    (tmp_path / "cplc.toml").write_text('[project]\nfiles = ["none/*.cpl"]\n', encoding="utf-8")
    code, out, err = output("verify")
    assert (code, out) == (2, "")
    assert "cplc.toml:2:11" in err
    assert "`none/*.cpl` matches no file" in err
    (tmp_path / "cplc.toml").write_text("[project\n", encoding="utf-8")
    assert "This is not TOML" in output("verify")[2]


def test_wrong_settings_are_reported_once(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    (tmp_path / "cplc.toml").write_text("[verify]\ntimeout = 'soon'\n", encoding="utf-8")
    for arguments in (["p"], ["p/a.cpl", "p/c.cpl"]):
        code, out, err = output("verify", *arguments)
        assert (code, out) == (2, "")
        assert err.count("bad-settings") == 1


def test_command_line_takes_precedence_over_the_settings(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"))
    (tmp_path / "cplc.toml").write_text(
        '[verify]\nformat = "concise"\nengine = "explicit"\n[[overrides]]\nparameters = { n = 2 }\n', encoding="utf-8"
    )
    assert output("verify", "a.cpl")[1].endswith("sound: nothing to check, since there are no operations\n")
    assert output("verify", "a.cpl", "--format", "text")[1].endswith("a.cpl (n=2): 5 as expected\n")
    assert output("verify", "a.cpl", "--format", "text", "-D", "n=1")[1].endswith("a.cpl: 5 as expected\n")
    for options, engine in (["--engine", "symbolic"], "symbolic"), ([], "explicit"):
        results = json.loads(output("verify", "a.cpl", "--format", "json", *options)[1])["results"]
        assert all(engine in result["engine"] for result in results)


def test_each_protocol_that_the_settings_name_is_verified(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="First") + _GOOD.format(name="Last").removeprefix("cpl 2\n"))
    (tmp_path / "cplc.toml").write_text(
        '[[overrides]]\nprotocol = "First"\nparameters = { n = 3 }\n[[overrides]]\nprotocol = "Last"\n',
        encoding="utf-8",
    )
    assert output("verify", ".")[1].splitlines()[:2] == [
        "a.cpl (protocol First, n=3): 5 as expected",
        "a.cpl: 5 as expected",
    ]


@pytest.mark.parametrize(
    "arguments", [("verify", "--checkpoint", "c"), ("analyze", "--compare", "p"), ("coverage", "--log", "p")]
)
def test_options_of_one_file_are_refused(arguments: tuple[str, ...], tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    code, _, err = output(arguments[0], "p", *arguments[1:])
    assert code == 2
    assert f"{arguments[1]} requires one file" in err


def test_property_is_verified_where_it_is_declared(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b=_FAILS, c="cpl 2\ndefine same(x) = x\n")
    code, out, err = output("verify", ".", "--property", "possible", "--property", "live", "--workers", "2")
    assert (code, err) == (0, "")
    assert out.splitlines() == [
        "a.cpl: 2 as expected", "b.cpl: 1 as expected", "c.cpl: declares macros only", "",
        "3 files, 3 properties and checks: 3 as expected",
    ]  # fmt: skip
    code, out, err = output("verify", ".", "--property", "reached", "--format", "junit")
    assert (code, [suite.get("name") for suite in ElementTree.fromstring(out)]) == (1, ["b.cpl"])
    code, out, err = output("verify", ".", "--property", "possible", "--property", "posible")
    assert code == 2
    assert err == "error: no property or check of these files is called `posible`; did you mean `possible`?\n"
    assert "without anything that the options select: 1 file" in out


def test_missing_property_is_no_error_while_a_file_is_wrong(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b=_WRONG)
    code, _, err = output("verify", ".", "--property", "reached")
    assert code == 2
    assert "of these files is called" not in err


def test_formula_is_verified_in_each_file(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_FAILS, b=_GOOD.format(name="Good"))
    code, out, err = output("verify", ".", "--formula", "EF m", "--color", "never")
    assert code == 2
    assert out.splitlines()[:3] == ["a.cpl:", "holds   formula: EF m  --formula:1", "a.cpl: 1 as expected"]
    assert err.splitlines()[:2] == ["b.cpl:", "error[wrong-indices]: `m` needs 1 index"]


def test_every_size_is_verified_in_files_with_a_family(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_FAILS, b=_GOOD.format(name="Good"))
    code, out, err = output("verify", ".", "--for-all-n", "--detail", "everything")
    assert (code, err) == (0, "")
    assert "holds for n = 1 to 3: all declared sizes, each verified" in out
    assert "without anything that the options select: 1 file" in out
    code, out, err = output("verify", ".", "--for-all-n", "--n", "k")
    assert (code, err) == (2, "error: no size of a role family of these files is called `k`\n")
    code, out, err = output("verify", "a.cpl", "a.cpl", "./a.cpl", "--for-all-n")
    assert (code, err) == (2, "error: these files have nothing to do: no size of a role family is a parameter\n")


def test_runs_of_many_files_go_into_folders(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    for _ in range(2):  # a report from the cache writes no runs
        output("verify", "p/a.cpl", "p/d", "p/c.cpl", "--itf", "runs", "--cache", "--workers", "1")
        written = sorted(path.relative_to(tmp_path).as_posix() for path in (tmp_path / "runs").rglob("*.json"))
        assert written == [
            f"runs/p/{name}.itf.json" for name in ("a.cpl/possible", "c.cpl/reached", "d/e.cpl/possible")
        ]
        for name in written:
            (tmp_path / name).unlink()


def test_reductions_of_many_files_are_printed(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="First"), b=_GOOD.format(name="Second"))
    code, _, err = output("verify", ".", "--print-after", "cone-of-influence", "--property", "possible")
    assert code == 0
    assert [line for line in err.splitlines() if line.endswith(".cpl:")] == ["a.cpl:", "b.cpl:"]


def test_file_that_ends_with_a_message_is_in_every_document(tmp_path: Path, output: Output) -> None:
    (tmp_path / "m.ispl").write_text((_ROOT / "examples" / "train_gate.ispl").read_text(encoding="utf-8"))
    _write(tmp_path, a=_GOOD.format(name="Good"))
    options = ("verify", "a.cpl", "m.ispl", "--channels", "sync", "--workers", "1", "--format")
    code, out, _ = output(*options, "json")
    assert code == 2
    first, second = json.loads(out)["files"]
    assert (first["exit"], second["exit"]) == (0, 2)
    assert "a model in ISPL has no parameters" in second["error"]
    cases = ElementTree.fromstring(output(*options, "junit")[1]).findall("testsuite/testcase/error")
    assert ["a model in ISPL has no parameters" in (case.get("message") or "") for case in cases] == [True]


# --- the cache


def test_cached_reports_are_those_of_new_runs(tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch) -> None:
    _write(tmp_path, p__a=_GOOD.format(name="First").replace("cpl 2", 'cpl 2\nimport "./part.cpl"'), p__c=_FAILS)
    _write(tmp_path, p__part="cpl 2\ndefine same(x) = x\n")
    monkeypatch.setenv("CPLC_CACHE", "on")

    def verified(form: str) -> tuple[int, str, str]:
        files = ("p/a.cpl", "p/c.cpl")
        return output("verify", *files, "--detail", "everything", "--format", form, "--workers", "1")

    for form in ("text", "json", "junit", "sarif", "html"):
        first = verified(form)
        with monkeypatch.context() as patched:
            patched.setattr("cplc.cli.project_run.run_tasks", _unexpected)
            second = verified(form)
        assert (second[0], second[2]) == (first[0], first[2])
        assert _unmarked(second[1]) == _unmarked(first[1]), form
    assert "(cached)" in verified("text")[1]
    (tmp_path / "p" / "part.cpl").write_text("cpl 2\ndefine other(x) = x\n", encoding="utf-8")
    assert "p/a.cpl: 5 as expected" in verified("text")[1]
    assert verified("text")[1].count("(cached)") == 10
    (tmp_path / "cplc.toml").write_text(
        "[[overrides]]\nparameters = { n = 2 }\nfiles = ['p/a.cpl']\n", encoding="utf-8"
    )
    assert "p/a.cpl (n=2): 5 as expected" in verified("text")[1]


def _unmarked(text: str) -> list[str]:
    """Return the words of a report without the marks of cached results, which change how lines are broken."""
    return (
        text.replace('"cached": true', '"cached": false')
        .replace("(cached)", "")
        .replace(", cached", "")
        .replace(":", "")
        .split()
    )


def _unexpected(tasks: Any, *_: object, **__: object) -> Any:
    assert list(tasks) == []
    yield from ()


def test_report_for_a_terminal_is_cached_for_its_width(
    tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b=_FAILS)
    monkeypatch.setenv("CPLC_CACHE", "on")
    monkeypatch.setattr("cplc.cli.output.is_terminal", lambda err=False: not err)
    texts = []
    for columns, is_cached in (70, False), (70, True), (110, False):
        monkeypatch.setenv("COLUMNS", "")
        monkeypatch.delenv("COLUMNS")
        monkeypatch.setattr("cplc.cli.output.terminal_columns", lambda columns=columns: columns)
        with monkeypatch.context() as patched:
            if is_cached:
                patched.setattr("cplc.cli.project_run.run_tasks", _unexpected)
            texts.append(_unmarked(output("verify", ".", "--color", "never", "--workers", "1")[1]))
    first, second, third = texts
    assert first == second
    assert sorted(first) == sorted(third)


def test_message_about_a_file_without_results_is_repeated(
    tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b="cpl 2\ndefine same(x) = x\n")
    monkeypatch.setenv("CPLC_CACHE", "on")
    first, second = (output("verify", ".", "--workers", "1") for _ in range(2))
    assert first == second
    assert "b.cpl: declares macros only" in second[2]


def test_links_of_a_cached_report_are_those_of_this_revision(
    tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"))
    monkeypatch.setenv("CPLC_CACHE", "on")
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://git.example")
    monkeypatch.setenv("GITHUB_REPOSITORY", "me/shop")
    for revision in ("abc", "def"):
        monkeypatch.setenv("GITHUB_SHA", revision)
        assert f"me/shop/blob/{revision}/a.cpl" in output("verify", ".", "--format", "sarif", "--workers", "1")[1]


def test_report_under_another_key_is_not_believed(
    tmp_path: Path, output: Output, monkeypatch: pytest.MonkeyPatch
) -> None:
    _write(tmp_path, a=_GOOD.format(name="First"), b=_GOOD.format(name="Second"))
    monkeypatch.setenv("CPLC_CACHE", "on")
    options = ("verify", ".", "--detail", "everything", "--workers", "1")
    output(*options)
    assert output(*options)[1].count("(cached)") == 10
    monkeypatch.setenv("CPLC_CACHE_KEY", "somebody else's key")
    assert output(*options)[1].count("(cached)") == 0


# --- processes


def _default_signals() -> None:
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)


def _started(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "cplc", "verify", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(_ROOT / "src")},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=_default_signals,
    )


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signal_ends_all_workers_and_keeps_finished_reports(name: str, tmp_path: Path) -> None:
    _write(tmp_path, a=_GOOD.format(name="Good"), b=_ENDLESS, c=_ENDLESS, d=_ENDLESS)
    with _started(tmp_path, ".", "--engine", "explicit", "--workers", "2") as process:
        below: list[psutil.Process] = []
        try:
            assert process.stdout is not None
            first = process.stdout.readline()
            until(lambda: len(descendants(process.pid)) == 4, "both workers verify a file")
            below = descendants(process.pid)
            assert listening([psutil.Process(process.pid), *below]) == []
            os.killpg(process.pid, getattr(signal, name))
            out, err = process.communicate(timeout=60)
            assert process.returncode == 3, err
            assert first == "a.cpl: 5 as expected\n"
            assert out.splitlines()[-1] == "unknown: b.cpl, c.cpl, d.cpl"
            assert "Traceback" not in err
            until(lambda: not any(map(is_alive, below)), "all workers end")
        finally:
            if process.poll() is None:
                process.kill()
            end(below)


def test_crashed_file_is_unknown_and_the_others_are_verified(tmp_path: Path) -> None:
    _write(tmp_path, a=_ENDLESS, b=_GOOD.format(name="Good"))
    killed: set[int] = set()
    with _started(tmp_path, ".", "--engine", "explicit", "--workers", "1") as process:
        try:

            def crash() -> bool:
                """Kill each copy of the worker that verifies the first file."""
                below = [one for one in descendants(process.pid) if one.ppid() != process.pid]
                for one in below:
                    if one.pid not in killed and one.cpu_times().user > 0.3:
                        killed.add(one.pid)
                        one.kill()
                return process.poll() is not None

            until(crash, "the run ends")
            out, err = process.communicate(timeout=60)
        finally:
            if process.poll() is None:
                process.kill()
    assert process.returncode == 3
    assert "a.cpl: the worker process was ended by signal 9" in err
    assert "b.cpl: 5 as expected" in out
    assert out.splitlines()[-1] == "unknown: a.cpl"


# --- other commands


_AGENT = (_ROOT / "examples" / "ecommerce.cpl").read_text(encoding="utf-8")


def test_stats_of_many_files(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    code, out, err = output("stats", "p", "--workers", "1")
    assert code == 2
    assert [line for line in out.splitlines() if line.startswith(("p/", "reachable", "5 files", "wrong"))] == [
        "p/a.cpl:", "reachable states       3", "p/c.cpl:", "reachable states       3",
        "p/f.cpl: declares macros only", "p/d/e.cpl:", "reachable states       3", "5 files", "wrong: p/b.cpl",
    ]  # fmt: skip
    assert "Nobody" in err
    document = json.loads(output("stats", "p", "--format", "json")[1])
    assert [one.get("reachable_states") for one in document["files"]] == [3, None, 3, None, 3]
    assert document["files"][3]["nothing"] == "declares macros only"


def test_coverage_of_many_files(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="First"), b=_FAILS)
    code, out, _ = output("coverage", "a.cpl", "b.cpl", "--workers", "2")
    assert code == 0
    assert [line.partition(":")[0] for line in out.splitlines() if " change" in line] == ["a.cpl", "b.cpl"]


def test_analysis_of_many_files_skips_files_without_agents(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_GOOD.format(name="First"), b=_AGENT)
    code, out, _ = output("analyze", ".", "--workers", "1")
    assert code == 0, out
    assert "a.cpl: no agent to analyze" in out
    assert "b.cpl:\nAlice plays " in out
    code, out, _ = output("analyze", ".", "--workers", "1", "--format", "junit")
    assert [suite.get("name") for suite in ElementTree.fromstring(out)] == ["b.cpl"]
    (tmp_path / "c.cpl").write_text(_WRONG, encoding="utf-8")
    (tmp_path / "d.cpl").write_text(_AGENT, encoding="utf-8")
    code, page, _ = output("analyze", ".", "--format", "html", "--charts", "charts")
    assert code == 2
    identifiers = re.findall(r' id="([^"]*)"', page)
    assert len(identifiers) == len(set(identifiers))
    targets = re.findall(r'href="#([^"]*)"', page)
    assert set(targets) <= set(identifiers)
    assert re.findall("<h1[^>]*>([^<]*)</h1>", page) == ["4 files", "b.cpl", "c.cpl", "d.cpl"]
    assert "not analyzed" in page
    charts = sorted(path.relative_to(tmp_path / "charts").as_posix() for path in (tmp_path / "charts").rglob("*.svg"))
    assert charts
    assert {name.split("/")[0] for name in charts} == {"b.cpl", "d.cpl"}


def test_agents_are_analyzed_where_they_are_declared(tmp_path: Path, output: Output) -> None:
    _write(tmp_path, a=_AGENT, b=_AGENT.replace("Alice", "Carol"))
    code, out, err = output("analyze", ".", "--agent", "Carol", "--workers", "1")
    assert (code, err) == (0, "")
    assert [line for line in out.splitlines() if line.endswith(".cpl:")] == ["b.cpl:"]
    code, _, err = output("analyze", ".", "--agent", "Carl")
    assert (code, err) == (2, "error: no agent of these files is called `Carl`; did you mean `Carol`?\n")


def test_exports_of_many_files_go_into_a_folder(tmp_path: Path, output: Output) -> None:
    _mixed(tmp_path)
    (tmp_path / "p" / "b.cpl").unlink()
    assert output("export", "p", "--to", "dot", "-o", "out", "--workers", "1")[0] == 0
    written = sorted(path.relative_to(tmp_path / "out").as_posix() for path in (tmp_path / "out").rglob("*.dot"))
    assert written == ["p/a.cpl.dot", "p/c.cpl.dot", "p/d/e.cpl.dot"]
    code, _, err = output("export", "p", "--to", "dot")
    assert code == 2
    assert "need a folder: -o FOLDER" in err
