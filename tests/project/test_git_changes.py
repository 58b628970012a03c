"""`cplc verify --changed REV`: the files that a change can affect, by their text, imports or settings."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

from cplc.cli.main import run
from cplc.project.git_changes import GitError, affected_files, changed_paths

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")

_TEXT = "cpl 2\n{imports}protocol {name} {{\n  role A\n  role B\n  A -> B : m\n}}\n"


def _git(*arguments: str) -> None:
    author = ["-c", "user.name=Test", "-c", "user.email=test@example.org"]
    subprocess.run(["git", *author, *arguments], check=True, capture_output=True)


def _write(name: str, *imports: str, more: str = "") -> None:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f'import "{one}"\n' for one in imports)
    path.write_text(_TEXT.format(imports=lines, name=path.stem.capitalize()) + more, encoding="utf-8")


@pytest.fixture(autouse=True)
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository where `a` imports `parts/b`, which imports `parts/c`, and `d` imports nothing."""
    monkeypatch.chdir(tmp_path)
    for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"):
        monkeypatch.delenv(name, raising=False)
    _write("a.cpl", "./parts/b.cpl")
    _write("parts/b.cpl", "./c.cpl")
    _write("parts/c.cpl")
    _write("d.cpl")
    _write("own/e.cpl")
    Path("own/cplc.toml").write_text("ignore = []\n", encoding="utf-8")
    _git("init", "-q", "-b", "main")
    _git("add", ".")
    _git("commit", "-q", "-m", "first")
    return tmp_path


_FILES = ("a.cpl", "d.cpl", "own/e.cpl", "parts/b.cpl", "parts/c.cpl")


def _affected(revision: str = "HEAD") -> tuple[str, ...]:
    return affected_files(_FILES, changed_paths(Path(), revision))


def test_no_change_affects_no_file() -> None:
    assert _affected() == ()


def test_change_of_a_file_affects_the_files_that_import_it() -> None:
    _write("parts/c.cpl", more="// changed\n")
    assert _affected() == ("a.cpl", "parts/b.cpl", "parts/c.cpl")
    _git("commit", "-q", "-a", "-m", "second")
    assert _affected() == ()
    assert _affected("HEAD~1") == ("a.cpl", "parts/b.cpl", "parts/c.cpl")


def test_deleted_and_new_imports_count() -> None:
    Path("parts/c.cpl").unlink()
    assert _affected() == ("a.cpl", "parts/b.cpl", "parts/c.cpl")
    _git("commit", "-q", "-a", "-m", "second")
    _write("parts/c.cpl")  # neither committed nor added
    assert _affected() == ("a.cpl", "parts/b.cpl", "parts/c.cpl")


def test_change_of_settings_affects_the_files_below() -> None:
    Path("own/cplc.toml").write_text('ignore = ["unused"]\n', encoding="utf-8")
    assert _affected() == ("own/e.cpl",)
    Path("cplc.toml").write_text("ignore = []\n", encoding="utf-8")
    assert _affected() == _FILES


def test_file_with_syntax_errors_is_always_affected() -> None:
    Path("d.cpl").write_text("cpl 2\nprotocol {\n", encoding="utf-8")
    _git("commit", "-q", "-a", "-m", "second")
    assert _affected() == ("d.cpl",)


def test_changes_of_others_since_the_common_ancestor_do_not_count() -> None:
    _git("checkout", "-q", "-b", "mine")
    _write("d.cpl", more="// mine\n")
    _git("commit", "-q", "-a", "-m", "mine")
    _git("checkout", "-q", "main")
    _write("own/e.cpl", more="// theirs\n")
    _git("commit", "-q", "-a", "-m", "theirs")
    _git("checkout", "-q", "mine")
    assert _affected("main") == ("d.cpl",)


def test_link_to_a_changed_file(tmp_path: Path) -> None:
    os.symlink("d.cpl", "link.cpl")
    _git("add", ".")
    _git("commit", "-q", "-m", "link")
    _write("d.cpl", more="// changed\n")
    assert affected_files(("link.cpl",), changed_paths(tmp_path, "HEAD")) == ("link.cpl",)


@pytest.mark.parametrize("revision", ["nothing", "--output=x", "HEAD:d.cpl", ""])
def test_unknown_revision_is_an_error(revision: str) -> None:
    with pytest.raises(GitError, match="git does not know the revision"):
        changed_paths(Path(), revision)
    assert not Path("x").exists()


def test_folder_without_repository_is_an_error(tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(GitError, match="needs a git repository"):
        changed_paths(tmp_path_factory.mktemp("empty"), "HEAD")


def test_verify_of_changed_files(capsys: pytest.CaptureFixture[str]) -> None:
    _write("parts/c.cpl", more="// changed\n")
    assert run(["verify", ".", "--changed", "HEAD", "--workers", "1"]) == 0
    captured = capsys.readouterr()
    assert captured.err == "3 of 5 files may be affected since HEAD\n"
    assert captured.out.splitlines()[-1] == "3 files, 12 properties and checks: 12 as expected"
    assert run(["verify", "own", "--changed", "HEAD"]) == 0
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("\n0 files\n", "0 of 1 file may be affected since HEAD\n")
    assert run(["verify", ".", "--changed", "nothing"]) == 2
    assert "git does not know the revision `nothing`" in capsys.readouterr().err
