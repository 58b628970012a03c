"""However a sweep is divided, its rows are those of the whole; and they are those of the other commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from cplc.compilation import CplCompilation, load
from cplc.simulation.random_walk import draw
from cplc.sweeps.job_grid import MUTANTS_PER_JOB, RUNS_PER_JOB, SweepPlan, check_names, source_texts, sweep_jobs
from cplc.sweeps.job_runner import JobError, JobSubjects, run_job, with_imports
from cplc.sweeps.jobs import Job, ResultRow, SourceText, SweepOptions, chunk_seed
from cplc.workers.worker_process import TaskLimits

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _loaded(name: str) -> tuple[CplCompilation, SourceText]:
    loaded = load(str(_EXAMPLES / name))
    assert isinstance(loaded, CplCompilation)
    return loaded, with_imports(SourceText(loaded.source.name, loaded.source.text), loaded)


def _rows(some: Iterable[Job]) -> list[ResultRow]:
    return [
        row for item in some for output in run_job(item) if not isinstance(output, JobSubjects) for row in output[1]
    ]


def _wish(options: SweepOptions, **ranges: tuple[str, ...]) -> SweepPlan:
    return SweepPlan((), options, ranges, {})


def test_all_changes_are_tried_once_and_come_out_as_in_the_whole() -> None:
    compilation, file = _loaded("purchase_variants.cpl")
    whole = list(compilation.coverage())
    jobs = list(sweep_jobs(_wish(SweepOptions("coverage")), [file]))
    rows = _rows(jobs)
    assert [item.count for item in jobs][:-1] == [MUTANTS_PER_JOB] * (len(jobs) - 1)
    assert [row.subject.partition(": ")[2] for row in rows] == [one.mutant.change for one in whole]
    assert [row.answer for row in rows] == [one.verdict for one in whole]


def test_runs_are_divided_the_same_way_everywhere() -> None:
    compilation, file = _loaded("purchase.cpl")
    jobs = list(sweep_jobs(replace(_wish(SweepOptions("simulate")), runs=2 * RUNS_PER_JOB + 10, seed=5), [file]))
    assert [(item.first, item.count, item.seed) for item in jobs] == [
        (0, RUNS_PER_JOB, 5),
        (RUNS_PER_JOB, RUNS_PER_JOB, chunk_seed(5, 1)),
        (2 * RUNS_PER_JOB, 10, chunk_seed(5, 2)),
    ]
    assert len({item.seed for item in jobs}) == 3
    *_, (_, statistics) = draw(compilation.system, "coverage", None, seed=5, runs=RUNS_PER_JOB, most=100, keep=0)
    (whole, *_) = _rows(jobs[:1])
    assert dict(whole.figures)["steps"] == statistics.steps


@pytest.mark.parametrize("ask", ["verify", "analyze"])
def test_split_rows_are_those_of_the_whole(ask: str) -> None:
    _, file = _loaded("marketplace.cpl")
    wish = _wish(SweepOptions("verify" if ask == "verify" else "analyze"))
    (together,) = sweep_jobs(wish, [file])
    apart = list(sweep_jobs(replace(wish, split=True), [file]))
    assert len(apart) > 1
    assert _rows(apart) == _rows([together])


def test_imports_are_taken_along(tmp_path: Path) -> None:
    (tmp_path / "parts.cpl").write_text("// nothing yet\n", encoding="utf-8")
    path = tmp_path / "main.cpl"
    path.write_text('import "./parts.cpl"\nprotocol P { role A role B A -> B : hello }\n', encoding="utf-8")
    ((file, diagnostics),) = source_texts([str(path)], Job(SourceText("", ""), SweepOptions()))
    assert file is not None, diagnostics
    assert [text for _, text in file.imports] == ["// nothing yet\n"]
    before = _rows(sweep_jobs(_wish(SweepOptions()), [file]))
    (tmp_path / "parts.cpl").unlink()
    path.unlink()
    assert _rows(sweep_jobs(_wish(SweepOptions()), [file])) == before


def test_points_come_file_by_file_and_row_by_row() -> None:
    files = [SourceText("a.cpl", "protocol A {}"), SourceText("b.cpl", "protocol B {}")]
    jobs = [(item.file.name, *item.point) for item in sweep_jobs(_wish(SweepOptions(), n=("1", "2"), m=("x",)), files)]
    assert jobs == [(name, ("n", n), ("m", "x")) for name in ("a.cpl", "b.cpl") for n in "12"]


def test_all_that_a_row_rests_on_is_in_its_key() -> None:
    item = Job(SourceText("a.cpl", "protocol A {}"), SweepOptions(), (("n", "1"),))
    distinct_jobs = [
        replace(item, file=SourceText("a.cpl", "protocol B {}")),
        replace(item, file=SourceText("a.cpl", "protocol A {}", (("b.cpl", ""),))),
        replace(item, options=SweepOptions(engine="explicit")),
        replace(item, parameters=(("n", "2"),)),
        replace(item, beliefs=(("Tom.pay", "1"),)),
        replace(item, names=("safe",)),
        replace(item, seed=1),
    ]
    keys = {one.key("program") for one in (item, *distinct_jobs)} | {item.key("another program")}
    assert len(keys) == len(distinct_jobs) + 2
    assert TaskLimits(1) != TaskLimits(2)  # which are no part of it


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (Job(SourceText("", ""), SweepOptions(), names=("nothing",)), "has no `nothing`"),
        (Job(SourceText("", ""), SweepOptions("analyze"), names=("Nobody",)), "has no `Nobody`"),
        (
            Job(SourceText("", ""), SweepOptions("analyze"), beliefs=(("Tom.steal", "1"),)),
            "has no belief about `steal`",
        ),
    ],
)
def test_unknown_names_refused_before_start(item: Job, why: str) -> None:
    _, file = _loaded("marketplace.cpl")
    with pytest.raises(JobError, match=why):
        check_names(replace(item, file=file))
