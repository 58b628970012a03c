"""Sweeps by the workers of a Dask cluster: the same table as by those of this machine."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cplc.caching.cached_results import program_fingerprint
from cplc.sweeps.executors import DaskExecutor
from cplc.sweeps.jobs import Job, JobResult, SourceText, SweepOptions
from cplc.workers.worker_process import TaskLimits

pytest.importorskip("distributed", reason="Dask is not installed")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not hasattr(os, "fork"), reason="signals are others here"),
    pytest.mark.filterwarnings("default"),  # the library warns about killed workers
]

_ROOT = Path(__file__).parents[2]
_NETBILL = _ROOT / "examples" / "netbill.cpl"


def _command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "cplc", "sweep", str(_NETBILL), "--property", "safe", *arguments]


@pytest.fixture(scope="module")
def scheduler() -> Iterator[str]:
    from distributed import LocalCluster

    with LocalCluster(n_workers=1, threads_per_worker=2, host="127.0.0.1", dashboard_address=None) as cluster:
        yield cluster.scheduler_address


def test_a_cluster_that_is_there_gives_the_same_table(scheduler: str, tmp_path: Path) -> None:
    before = program_fingerprint()
    ran = [
        subprocess.run(
            _command("-D", "customers=1..3", *where, "--output", str(tmp_path / f"{at}.csv")),
            capture_output=True,
            text=True,
            check=False,
        )
        for at, where in enumerate((["--workers", "1"], ["--scheduler", scheduler]))
    ]
    if program_fingerprint.__wrapped__() != before:
        pytest.skip("somebody has changed the program in the meantime")
    assert [one.returncode for one in ran] == [0, 0], ran
    assert (tmp_path / "0.csv").read_bytes() == (tmp_path / "1.csv").read_bytes()


def test_killed_worker_of_a_cluster_loses_and_doubles_nothing() -> None:
    from distributed import Client, LocalCluster

    file = SourceText(str(_NETBILL), _NETBILL.read_text(encoding="utf-8"))
    grid = [Job(file, SweepOptions(), (("customers", str(count)),), names=("safe",)) for count in range(1, 9)]
    results: list[JobResult] = []
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, host="127.0.0.1", dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        processes = client.run(os.getpid).values()
        for one in DaskExecutor(client).answered(enumerate(grid), TaskLimits(), lambda: None):
            results.append(one)
            if len(results) == 2:
                os.kill(min(processes), signal.SIGKILL)
    assert sorted(one.number for one in results) == list(range(len(grid)))
    assert {row.answer for one in results for row in one.rows} == {"holds"}


def test_without_dask_only_a_cluster_is_refused() -> None:
    script = (
        "import sys; sys.modules['distributed'] = None\n"
        "from cplc.cli.main import run\n"
        f"sys.exit(run(['sweep', {str(_NETBILL)!r}, '--property', 'safe', '-D', 'customers=1,2', *sys.argv[1:]]))"
    )
    cluster, two, default = (
        subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, text=True, check=False)
        for arguments in (["--scheduler", "tcp://127.0.0.1:9"], ["--workers", "2"], [])
    )
    assert cluster.returncode == 2
    assert "pip install 'cplc[sweep]'" in cluster.stderr
    assert (two.returncode, default.returncode) == (0, 0)
    assert two.stdout == default.stdout


def test_cluster_that_is_not_there_is_refused() -> None:
    done = subprocess.run(_command("--scheduler", "nonsense"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "no scheduler found at `nonsense`" in done.stderr
    assert "Traceback" not in done.stderr


def test_encrypted_cluster_without_certificates_is_refused() -> None:
    done = subprocess.run(_command("--scheduler", "tls://127.0.0.1:9"), capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "the scheduler at `tls://127.0.0.1:9` cannot be reached: TLS expects" in done.stderr
    assert "bug in cplc" not in done.stderr
