"""A short campaign over every target, and the inputs that longer campaigns found, made small."""

from __future__ import annotations

import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path

import pytest
from tests.fuzz import campaign, corpus
from tests.fuzz.budget import SECONDS, OverBudget, processor_time
from tests.fuzz.campaign import Target, outcome, run
from tests.fuzz.every_target import TARGETS
from tests.fuzz.mutations import Material

from cplc.caching import checkpoint_file

_SECONDS = float(os.environ.get("FUZZ_SECONDS", "20"))
_SEED = 1
_NAMED = {target.name: target for target in TARGETS}


@pytest.mark.parametrize("name", _NAMED)
def test_no_input_takes_too_long_or_raises(name: str, tmp_path: Path) -> None:
    seconds = str(_SECONDS / len(TARGETS))
    command = [sys.executable, "-m", "tests.fuzz", "--targets", name, "--seed", str(_SEED), "--seconds", seconds]
    done = subprocess.run(
        [*command, "--output", str(tmp_path)],
        cwd=corpus.ROOT,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(("src", "."))},
        capture_output=True,
        text=True,
        check=False,
    )
    details = "".join(one.read_text(encoding="utf-8") for one in sorted(tmp_path.glob("*.finding")))
    assert done.returncode == 0, f"{done.stdout}{done.stderr[-3000:]}{details}"
    assert ", 0 findings" in done.stdout


def test_inputs_depend_on_the_seed_and_their_number_alone() -> None:
    for target in TARGETS:
        assert [target.input(3, number) for number in range(5)] == [target.input(3, number) for number in range(5)]
        assert target.input(3, 0) != target.input(4, 0) or target.input(3, 1) != target.input(4, 1)


# --- the fuzzer finds what is wrong


def _target(name: str, work: object) -> Target:
    assert callable(work)
    return Target(name, lambda: Material([b"one two three four"], [b"five"]), work, made=lambda random, _: b"a b c d e")


def _hanging(data: bytes) -> None:
    while b"c" in data:
        try:
            _ = data * 2
        except Exception:
            continue


def test_hang_is_a_finding_and_made_small(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(campaign, "_MINIMISING", 0.5)
    figures = run(_target("hanging", _hanging), 1, range(1), 60, tmp_path)
    (finding,) = figures.findings
    assert finding.kind == f"over {SECONDS:g} s of processor time"
    assert (tmp_path / "hanging-1-0.txt").read_bytes() != finding.data


def test_exception_is_a_finding_and_made_small(tmp_path: Path) -> None:
    def raising(data: bytes) -> None:
        if b"c" in data and b"e" in data:
            raise KeyError("c")

    figures = run(_target("raising", raising), 1, range(2), 60, tmp_path)
    assert [finding.kind for finding in figures.findings] == ["KeyError: test_fuzz.py:raising"] * 2
    assert (tmp_path / "raising-1-0.txt").read_bytes() == b"ce"
    assert "KeyError" in (tmp_path / "raising-1-0.finding").read_text(encoding="utf-8")


def test_death_of_the_process_is_a_finding_and_the_run_goes_on(tmp_path: Path) -> None:
    def dying(data: bytes) -> None:
        if data == b"a b c d e":
            os.abort()

    figures = run(_target("dying", dying), 1, range(3), 60, tmp_path)
    assert [finding.kind for finding in figures.findings] == ["ended by SIGABRT"] * 3


def test_budget_counts_processor_time() -> None:
    def forever() -> None:
        while True:
            pass

    with pytest.raises(OverBudget), processor_time(0.1):
        forever()
    with processor_time(0.1):
        pass


# --- earlier findings, minimised

_FOUND: list[tuple[str, bytes]] = [
    ("text", b"protocol P { property p: m expect holds expect fails }"),
    ("text", b"\xef\xbb\xbf// a comment\nprotocol P { }"),
    ("text", b'import "' + b"x" * 5000 + b'"\nimport std.' + b"y" * 5000 + b"\n"),
    ("document", b"check sound expect holds expect"),
    ("state", b'{"logs": {"log": {"offset": 1, "head": 1, "counts": [0, 0, 0, 0, 0]}}, "findings": 0, "monitor": {}}'),
    ("state", b'{"logs": {"log": {"offset": 1, "head": ["-", ""], "counts": []}}, "findings": 0, "monitor": {}}'),
    ("recording", b'{"steps": [{"step": null, "writes": {"nothing here": 1, "order[1]@Seller": true}}]}'),
    ("mapping", b"x = " + b"9" * 5000),
    ("settings", b"ignore = [" + b"9" * 5000 + b"]"),
]


def test_checkpoint_with_an_infinite_place_is_refused(tmp_path: Path) -> None:
    table = b'{"about": {}, "sections": {"search b": [1e999, 99, "0"]}}'
    head = checkpoint_file.HEAD.pack(checkpoint_file.BEGIN, sha256(table).digest())
    path = tmp_path / "checkpoint"
    path.write_bytes(checkpoint_file.MAGIC + checkpoint_file.VERSION + head + table)
    with pytest.raises(checkpoint_file.Unusable, match="damaged"):
        checkpoint_file.open_verified(path)


@pytest.mark.parametrize(("name", "data"), _FOUND)
def test_input_that_was_a_finding_is_none(name: str, data: bytes) -> None:
    assert outcome(_NAMED[name], data, seconds=20) is None
