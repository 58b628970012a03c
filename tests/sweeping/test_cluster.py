"""Sweeps by several workers: the same rows as by one, also where workers or the whole run are ended in the middle."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from cplc.caching.keys import program
from cplc.sweeping.grids import points
from cplc.sweeping.items import Answered, Item, Limits, Options, Text
from cplc.sweeping.places import Cluster, Here, place
from cplc.sweeping.tables import Table, lines, written

pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are others here"),
    pytest.mark.filterwarnings("default"),  # what a library says of workers that are killed is no concern of ours
]

_ROOT = Path(__file__).parents[2]
_NETBILL = _ROOT / "examples" / "netbill.cpl"
_FILE = Text(str(_NETBILL), _NETBILL.read_text(encoding="utf-8"))
_GRID = [
    Item(_FILE, Options(), point, names=("safe", "sound"))
    for point in points({"customers": tuple(map(str, range(1, 9)))})
]


def _nothing() -> None:
    pass


def _table(answered: list[Answered]) -> bytes:
    ordered = sorted(answered, key=lambda one: one.number)
    return written(Table(tuple(line for one in ordered for line in lines(one, one.item.key("")))), "csv")


@pytest.fixture(scope="module")
def alone() -> list[Answered]:
    return list(Here().answered(enumerate(_GRID), Limits(), _nothing))


def test_a_worker_that_is_killed_takes_nothing_with_it(alone: list[Answered]) -> None:
    found: list[Answered] = []
    with place(None, 2) as where:
        assert isinstance(where, Cluster)
        processes = where.client.run(os.getpid).values()
        for one in where.answered(enumerate(_GRID), Limits(), _nothing):
            found.append(one)
            if len(found) == 2:
                os.kill(min(processes), signal.SIGKILL)
        others = set(where.client.run(os.getpid).values())
    assert min(processes) not in others
    assert sorted(one.number for one in found) == list(range(len(_GRID)))
    assert _table(found) == _table(alone)


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cplc", "sweep", str(_NETBILL), "--property", "safe", *arguments]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, host="127.0.0.1", dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_that_is_there_gives_the_same_table(scheduler: str, tmp_path: Path) -> None:
    before = program()
    ran = [
        subprocess.run(
            _command("-D", "customers=1..3", *where, "--output", str(tmp_path / f"{at}.csv")),
            capture_output=True,
            text=True,
            check=False,
        )
        for at, where in enumerate((["--workers", "1"], ["--scheduler", scheduler]))
    ]
    if program.__wrapped__() != before:
        pytest.skip("somebody has changed the program in the meantime")
    assert [one.returncode for one in ran] == [0, 0], ran
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


@pytest.mark.parametrize("workers", ["1", "2"])
def test_a_run_that_is_interrupted_can_be_gone_on_with(workers: str, tmp_path: Path) -> None:
    path = tmp_path / "table.json"
    arguments = ("-D", "customers=1..40", "--workers", workers, "--format", "json")
    with subprocess.Popen(
        _command(*arguments, "--output", str(path)),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as run:
        assert run.stdout is not None
        assert run.stderr is not None
        first = json.loads(run.stdout.readline())
        began = time.monotonic()
        os.killpg(run.pid, signal.SIGINT)  # as a terminal does
        run.stdout.read()
        said = run.stderr.read()
    assert run.returncode == 3
    assert time.monotonic() - began < 20
    partial = tmp_path / "table.partial.json"
    assert "the run was interrupted: " in said
    assert f"go on with --resume {partial}" in said
    assert "Traceback" not in said
    assert not path.exists()
    rows = json.loads(partial.read_text(encoding="utf-8"))["rows"]
    assert first["key"] in {row["key"] for row in rows}
    done = len({row["key"] for row in rows})
    resumed = subprocess.run(
        _command("-D", "customers=1..2", "--workers", "1", "--resume", str(partial), "--output", str(path)),
        capture_output=True,
        text=True,
        check=False,
    )
    assert resumed.returncode == 0, resumed
    assert f"{min(done, 2)} item" in resumed.stdout
    assert len(json.loads(path.read_text(encoding="utf-8"))["rows"]) == 2


def test_without_dask_it_is_said_what_to_do() -> None:
    script = (
        "import sys; sys.modules['distributed'] = None\n"
        "from cplc.cli.main import run\n"
        f"sys.exit(run(['sweep', {str(_NETBILL)!r}, '--property', 'safe', '-D', 'customers=1,2',"
        " '--workers', sys.argv[1]]))"
    )
    two, one = (
        subprocess.run([sys.executable, "-c", script, workers], capture_output=True, text=True, check=False)
        for workers in "21"
    )
    assert two.returncode == 2
    assert "pip install 'cplc[sweep]'" in two.stderr
    assert one.returncode == 0
