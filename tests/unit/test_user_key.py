"""The user's key of the result cache: private, stable, and needed to write an entry that is believed."""

from __future__ import annotations

import hashlib
import os
import stat
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from cplc.caching.entry_store import EntryStore
from cplc.caching.user_key import key_path, user_key
from cplc.cli.main import run

pytestmark = pytest.mark.skipif(not hasattr(os, "geteuid"), reason="permissions are others here")


@pytest.fixture(autouse=True)
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.delenv("CPLC_CACHE_KEY")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr("sys.platform", "linux")
    return tmp_path / "state" / "cplc" / "cache.key"


def test_key_is_created_once_and_private(path: Path) -> None:
    assert key_path() == path
    key = user_key()
    assert key is not None
    assert len(key) == 32
    assert user_key() == key
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [one.name for one in path.parent.iterdir()] == ["cache.key"]


def test_concurrent_runs_have_one_key() -> None:
    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(lambda _: user_key(), range(32)))) == 1


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660])
def test_key_that_others_can_read_is_replaced(path: Path, mode: int) -> None:
    before = user_key()
    path.chmod(mode)
    assert user_key() not in (None, before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_damaged_key_is_replaced_and_a_link_is_refused(path: Path, tmp_path: Path) -> None:
    user_key()
    path.write_bytes(b"short")
    assert len(user_key() or b"") == 32
    target = tmp_path / "elsewhere"
    target.write_bytes(bytes(32))
    target.chmod(0o600)
    path.unlink()
    path.symlink_to(target)
    assert user_key() is None


def test_secret_of_the_environment(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setenv("CPLC_CACHE_KEY", "a secret of the project")
    key = user_key()
    assert key is not None
    monkeypatch.setenv("CPLC_CACHE_KEY", "a secret of the project\n")
    assert user_key() == key
    monkeypatch.setenv("CPLC_CACHE_KEY", "too short")
    assert user_key() is None
    monkeypatch.setenv("CPLC_CACHE_KEY", "")
    assert user_key() is None
    assert not path.exists()


def test_entry_of_somebody_else_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "cache"
    store = EntryStore(folder)
    store.put("k", b"holds")
    assert EntryStore(folder).get("k") == b"holds"
    assert EntryStore(folder).get("other") is None
    (folder / "other.verdict").write_bytes((folder / "k.verdict").read_bytes())
    assert EntryStore(folder).get("other") is None
    for header in (b"cplc verdict 1\n", b"cplc verdict 2\n"):
        code = hashlib.sha256(b"forged\0holds").digest()
        (folder / "forged.verdict").write_bytes(header + code + b"holds")
        assert EntryStore(folder).get("forged") is None
    monkeypatch.setenv("CPLC_CACHE_KEY", "the key of another user")
    assert EntryStore(folder).get("k") is None


def test_without_a_key_nothing_is_cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPLC_CACHE_KEY", "")
    store = EntryStore(tmp_path / "cache")
    store.put("k", b"holds")
    assert store.get("k") is None
    assert store.count() == (0, 0)


def test_missing_key_is_reported(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CPLC_CACHE_KEY", "too short")
    assert run(["cache"]) == 0
    assert "CPLC_CACHE_KEY needs 16 characters" in capsys.readouterr().err
