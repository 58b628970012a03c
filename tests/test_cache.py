"""Verdicts of earlier runs: the same as new ones, never those of something else, and never in the way."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from cplc.caching import cached_results
from cplc.caching.cached_results import decode_result, encode_result
from cplc.caching.entry_store import EntryStore, cache_folder
from cplc.cli.main import run
from cplc.compilation import CplCompilation, load

_ROOT = Path(__file__).parents[1]
_EXAMPLES = _ROOT / "examples"
_TEXT = """import "./part.cpl"
protocol P(n: 1..3 = 1) {
  role A
  role B
  commitment c = C(A, B, true, m)
  A -> B : m
  A -> B : k  means create c
  property p: EF m
  property q "no message ever comes": AG !m  expect fails
  check none
}
"""


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EntryStore:
    monkeypatch.setenv("CPLC_CACHE", "on")
    monkeypatch.setenv("CPLC_CACHE_DIR", str(tmp_path / "kept"))
    return EntryStore(tmp_path / "kept")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "p.cpl").write_text(_TEXT, encoding="utf-8")
    (tmp_path / "part.cpl").write_text("// nothing\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


Verify = Callable[..., dict[str, Any]]


@pytest.fixture
def verify(capsys: pytest.CaptureFixture[str]) -> Verify:
    def verified(*arguments: str) -> dict[str, Any]:
        capsys.readouterr()
        run(["verify", *arguments, "--format", "json"])
        document: dict[str, Any] = json.loads(capsys.readouterr().out)
        return document

    return verified


def cached(document: dict[str, Any]) -> set[bool]:
    return {result["cached"] for result in document["results"]}


def without_mark(document: dict[str, Any]) -> dict[str, Any]:
    for result in document["results"]:
        del result["cached"], result["seconds"]
    return document


@pytest.mark.parametrize(
    "arguments",
    [
        ["netbill.cpl", "-D", "customers=2"],
        ["netbill_bank.cpl", "--vacuity"],
        ["contract_net.cpl", "--strategies", "uniform"],
        ["deadlines.cpl", "--engine", "explicit"],
        ["dining_cryptographers.cpl"],
        ["persuasion.cpl"],
        ["netbill.cpl", "--formula", "AG (pay[1] -> AF deliver[1])", "--engine", "onthefly"],
    ],
    ids=" ".join,
)
def test_cached_verdict_keeps_evidence_and_remarks(arguments: list[str], verify: Verify) -> None:
    named = [str(_EXAMPLES / arguments[0]), *arguments[1:]]
    first, second = verify(*named), verify(*named)
    assert (cached(first), cached(second)) == ({False}, {True})
    assert without_mark(first) == without_mark(second)


def test_cached_report_differs_in_its_mark_only(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "concise", "junit", "sarif", "html"):
        outputs = []
        for option in ("--no-cache", "--cache", "--cache"):
            assert run(["verify", "p.cpl", "--detail", "everything", "--format", form, option]) == 0
            outputs.append(capsys.readouterr().out)
        assert "cached" not in outputs[0]
        assert ("cached" in outputs[2]) == (form in ("text", "concise", "html"))
        if form in ("text", "concise"):
            assert outputs[2].replace("  (cached)", "").replace("; cached", "") == outputs[0]


@pytest.mark.parametrize(
    "different",
    [
        ["-D", "n=2"],
        ["--channels", "sync"],
        ["--strategies", "uniform"],
        ["--engine", "explicit"],
        ["--vacuity"],
        ["--formula", "EF m"],
    ],
    ids=" ".join,
)
def test_changed_question_misses_cache(here: Path, verify: Verify, different: list[str]) -> None:
    verify("p.cpl")
    assert cached(verify("p.cpl", *different)) == {False}
    assert cached(verify("p.cpl", *different)) == {True}
    assert cached(verify("p.cpl")) == {True}


def test_changed_assumptions_miss_cache(here: Path, verify: Verify) -> None:
    assert cached(verify("p.cpl", "--formula", "AF m")) == {False}
    assert cached(verify("p.cpl", "--formula", "AF m", "--assuming", "A")) == {False}
    assert cached(verify("p.cpl", "--formula", "AF m", "--assuming", "A")) == {True}


def test_output_options_hit_cache(here: Path, verify: Verify) -> None:
    verify("p.cpl", "--detail", "verdicts")
    assert cached(verify("p.cpl", "--detail", "everything", "--strict", "--timeout", "60")) == {True}
    assert cached(verify("p.cpl", "--property", "q")) == {True}


def test_changed_input_file_misses_cache(here: Path, verify: Verify) -> None:
    first = verify("p.cpl")
    for name, text in (
        ("p.cpl", _TEXT.replace("EF m", "EF k")),
        ("part.cpl", "// something\n"),
        ("cplc.toml", 'ignore = ["unused"]\n'),
    ):
        before = (here / name).read_bytes() if (here / name).exists() else None
        (here / name).write_text(text, encoding="utf-8")
        assert cached(verify("p.cpl")) == {False}, name
        if before is None:
            (here / name).unlink()
        else:
            (here / name).write_bytes(before)
        again = verify("p.cpl")
        assert cached(again) == {True}
        assert without_mark(again) == without_mark(json.loads(json.dumps(first)))
        for result in first["results"]:
            result |= {"cached": False, "seconds": 0}
    other = here / "elsewhere"
    other.mkdir()
    (other / "p.cpl").write_text(_TEXT, encoding="utf-8")
    (other / "part.cpl").write_text("// nothing\n", encoding="utf-8")
    assert cached(verify("elsewhere/p.cpl")) == {False}, "places in it are named otherwise"


def test_changed_program_misses_cache(here: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    verify("p.cpl")
    with monkeypatch.context() as changed:
        changed.setattr(cached_results, "program_fingerprint", lambda: "another")
        assert cached(verify("p.cpl")) == {False}
    for part in ("__version__", "_versions", "_files"):
        cached_results.program_fingerprint.cache_clear()
        with monkeypatch.context() as changed:
            changed.setattr(cached_results, part, "0.0" if part == "__version__" else lambda *_: iter([]))
            assert cached(verify("p.cpl")) == {False}, part
    cached_results.program_fingerprint.cache_clear()
    assert cached(verify("p.cpl")) == {True}


def test_module_that_is_being_compiled_is_no_part_of_the_program(
    here: Path, verify: Verify, monkeypatch: pytest.MonkeyPatch
) -> None:
    library = here / "library"
    (library / "__pycache__").mkdir(parents=True)
    monkeypatch.setattr(cached_results, "shipped", lambda _: library)
    cached_results.program_fingerprint.cache_clear()
    verify("p.cpl")
    for name, is_compiled in ("__pycache__/a.cpython-311.pyc.140072", True), ("a.cpl", False):
        (library / name).write_bytes(b"0")
        cached_results.program_fingerprint.cache_clear()
        assert cached(verify("p.cpl")) == {is_compiled}, name
    cached_results.program_fingerprint.cache_clear()


def test_unknown_verdict_is_not_cached(verify: Verify, cache: EntryStore) -> None:
    formula = "<<Mer>> F deliver[1]"  # the engine decides nothing of groups, and says so at once
    arguments = [str(_EXAMPLES / "netbill.cpl"), "--engine", "onthefly", "--formula", formula]
    assert verify(*arguments)["exit"] == 3
    assert cache.count() == (0, 0)


def test_damaged_entry_is_ignored(here: Path, verify: Verify, cache: EntryStore) -> None:
    first = without_mark(verify("p.cpl"))
    whole = {path: path.read_bytes() for path in cache.folder.glob("*.verdict")}
    assert len(whole) == 2
    one, other = whole
    for damage in (
        lambda data: b"",
        lambda data: data[:-1],
        lambda data: data[:20],
        lambda data: data + b"\0",
        lambda data: data[:60] + bytes([data[60] ^ 1]) + data[61:],
        lambda data: whole[other],
        lambda data: b"\0" * len(data),
    ):
        one.write_bytes(damage(whole[one]))
        again = verify("p.cpl")
        assert sorted(result["cached"] for result in again["results"]) == [False, True]
        assert without_mark(again) == first
        assert cached(verify("p.cpl")) == {True}, "it was written again"


def _asked(path: Path) -> Any:
    compilation = load(str(path))
    assert isinstance(compilation, CplCompilation)
    return compilation, compilation.declared_questions()[0]


class _Evil:
    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def test_cache_entry_executes_no_code(here: Path) -> None:
    compilation, bound_question = _asked(here / "p.cpl")
    (result,) = compilation.verify([bound_question])
    content = encode_result(result, bound_question.system)
    assert content is not None
    assert decode_result(content, bound_question.question, bound_question.system) is not None
    touched = here / "touched"
    for value in (_Evil(touched), print, "text", {"a": 1}, EntryStore(here), subprocess.run, result.system):
        assert decode_result(zlib.compress(pickle.dumps(value)), bound_question.question, bound_question.system) is None
    assert decode_result(b"nonsense", bound_question.question, bound_question.system) is None
    assert not touched.exists()


def test_unwritable_cache_does_not_prevent_verification(
    here: Path, verify: Verify, cache: EntryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache.folder.write_text("in the way", encoding="utf-8")
    assert cached(verify("p.cpl")) == cached(verify("p.cpl")) == {False}
    assert verify("p.cpl")["exit"] == 0
    monkeypatch.setattr("cplc.cli.result_cache.is_enabled", lambda option: True)
    monkeypatch.setattr("cplc.caching.entry_store.cache_folder", lambda: None)
    assert cached(verify("p.cpl")) == {False}


def test_cache_is_used_by_default_except_in_ci(
    here: Path, verify: Verify, cache: EntryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    for setting in ("off", "0", "no", "", "False"):
        monkeypatch.setenv("CPLC_CACHE", setting)
        verify("p.cpl")
        assert cache.count() == (0, 0)
    monkeypatch.delenv("CPLC_CACHE")
    monkeypatch.setenv("CI", "true")
    verify("p.cpl")
    assert cache.count() == (0, 0)
    verify("p.cpl", "--cache")
    assert cache.count()[0] == 2
    assert cached(verify("p.cpl")) == {False}
    monkeypatch.delenv("CI")
    assert cached(verify("p.cpl")) == {True}
    assert cached(verify("p.cpl", "--no-cache")) == {False}


def test_least_recently_used_entry_is_evicted_first(tmp_path: Path) -> None:
    store = EntryStore(tmp_path / "small", most=1000)
    for number in range(4):
        store.put(f"{number:064}", bytes(300))
        os.utime(store.folder / f"{number:064}.verdict", (number, number))
    assert store.get(f"{0:064}") == bytes(300)  # and so it was used just now
    store.trim()
    remaining_entries = [number for number in range(4) if store.get(f"{number:064}")]
    assert remaining_entries == [0, 3]
    assert store.count()[1] <= 1000


def test_temporary_files_of_killed_runs_are_removed(
    cache: EntryStore, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cache.put("0" * 64, b"content")
    for name in (".unfinished-old", ".unfinished-new", "letter.txt"):
        (cache.folder / name).write_text("half", encoding="utf-8")
    os.utime(cache.folder / ".unfinished-old", (time.time() - 7200,) * 2)
    cache.trim()
    assert {path.name for path in cache.folder.iterdir()} == {
        ".unfinished-new",
        "letter.txt",
        f"{'0' * 64}.verdict",
    }
    assert run(["cache", "stats"]) == 0
    assert capsys.readouterr().out == f"{cache.folder}: 1 result, 0.0 of 256 MB\n"
    assert run(["cache", "path"]) == 0
    assert capsys.readouterr().out == f"{cache.folder}\n"
    assert run(["cache", "clear"]) == 0
    assert capsys.readouterr().out == f"{cache.folder}: 1 result removed\n"
    assert {path.name for path in cache.folder.iterdir()} == {"letter.txt"}
    assert run(["cache", "clear"]) == 0


def test_concurrent_runs_share_cache(here: Path, cache: EntryStore) -> None:
    command = [sys.executable, "-m", "cplc", "verify", "p.cpl", "--format", "concise"]
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "src")}

    def started() -> subprocess.Popen[str]:
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True, cwd=here)

    several = [started() for _ in range(4)]
    killed = started()
    killed.kill()
    killed.communicate()
    outputs = {process.communicate(timeout=60)[0].replace("; cached", "") for process in several}
    assert len(outputs) == 1
    assert [process.returncode for process in several] == [0] * 4
    last = started()
    assert last.communicate(timeout=60)[0].count("; cached") == 2
    assert cache.count()[0] == 2


def test_cache_folder_of_each_operating_system(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CPLC_CACHE_DIR")
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr("cplc.caching.entry_store.sys.platform", "linux")
    assert cache_folder() == tmp_path / ".cache" / "cplc"
    monkeypatch.setenv("XDG_CACHE_HOME", "not/absolute")
    assert cache_folder() == tmp_path / ".cache" / "cplc"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder() == tmp_path / "xdg" / "cplc"
    monkeypatch.setattr("cplc.caching.entry_store.sys.platform", "darwin")
    assert cache_folder() == tmp_path / "Library" / "Caches" / "cplc"
    monkeypatch.setattr("cplc.caching.entry_store.sys.platform", "win32")
    monkeypatch.setenv("LOCALAPPDATA", str(tmp_path / "local"))
    assert cache_folder() == tmp_path / "local" / "cplc" / "Cache"
