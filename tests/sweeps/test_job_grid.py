"""However a sweep is divided, its rows are those of the whole; and they are those of the other commands."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from cplc.compilation import Compilation, load
from cplc.simulation.random_walk import draw
from cplc.sweeps.job_grid import CHANGES, RUNS, Wish, check, items, texts
from cplc.sweeps.job_runner import BadItem, Planned, answers, with_imports
from cplc.sweeps.jobs import Item, Limits, Options, Row, Text, seed_of

_EXAMPLES = Path(__file__).parents[2] / "examples"


def _loaded(name: str) -> tuple[Compilation, Text]:
    loaded = load(str(_EXAMPLES / name))
    assert isinstance(loaded, Compilation)
    return loaded, with_imports(Text(loaded.source.name, loaded.source.text), loaded)


def _rows(some: Iterable[Item]) -> list[Row]:
    return [row for item in some for told in answers(item) if not isinstance(told, Planned) for row in told[1]]


def _wish(options: Options, **ranges: tuple[str, ...]) -> Wish:
    return Wish((), options, ranges, {})


def test_all_changes_are_tried_once_and_come_out_as_in_the_whole() -> None:
    compilation, file = _loaded("purchase_variants.cpl")
    whole = list(compilation.coverage())
    found = list(items(_wish(Options("coverage")), [file]))
    rows = _rows(found)
    assert [item.count for item in found][:-1] == [CHANGES] * (len(found) - 1)
    assert [row.subject.partition(": ")[2] for row in rows] == [one.mutant.change for one in whole]
    assert [row.answer for row in rows] == [one.verdict for one in whole]


def test_runs_are_divided_the_same_way_everywhere() -> None:
    compilation, file = _loaded("purchase.cpl")
    found = list(items(replace(_wish(Options("simulate")), runs=2 * RUNS + 10, seed=5), [file]))
    assert [(item.first, item.count, item.seed) for item in found] == [
        (0, RUNS, 5),
        (RUNS, RUNS, seed_of(5, 1)),
        (2 * RUNS, 10, seed_of(5, 2)),
    ]
    assert len({item.seed for item in found}) == 3
    *_, (_, statistics) = draw(compilation.system, "coverage", None, seed=5, runs=RUNS, most=100, keep=0)
    (whole, *_) = _rows(found[:1])
    assert dict(whole.figures)["steps"] == statistics.steps


@pytest.mark.parametrize("ask", ["verify", "analyze"])
def test_split_rows_are_those_of_the_whole(ask: str) -> None:
    _, file = _loaded("marketplace.cpl")
    wish = _wish(Options("verify" if ask == "verify" else "analyze"))
    (together,) = items(wish, [file])
    apart = list(items(replace(wish, split=True), [file]))
    assert len(apart) > 1
    assert _rows(apart) == _rows([together])


def test_imports_are_taken_along(tmp_path: Path) -> None:
    (tmp_path / "parts.cpl").write_text("// nothing yet\n", encoding="utf-8")
    path = tmp_path / "main.cpl"
    path.write_text('import "./parts.cpl"\nprotocol P { role A role B A -> B : hello }\n', encoding="utf-8")
    ((file, diagnostics),) = texts([str(path)], Item(Text("", ""), Options()))
    assert file is not None, diagnostics
    assert [text for _, text in file.imports] == ["// nothing yet\n"]
    before = _rows(items(_wish(Options()), [file]))
    (tmp_path / "parts.cpl").unlink()
    path.unlink()
    assert _rows(items(_wish(Options()), [file])) == before


def test_points_come_file_by_file_and_row_by_row() -> None:
    files = [Text("a.cpl", "protocol A {}"), Text("b.cpl", "protocol B {}")]
    found = [(item.file.name, *item.point) for item in items(_wish(Options(), n=("1", "2"), m=("x",)), files)]
    assert found == [(name, ("n", n), ("m", "x")) for name in ("a.cpl", "b.cpl") for n in "12"]


def test_all_that_a_row_rests_on_is_in_its_key() -> None:
    item = Item(Text("a.cpl", "protocol A {}"), Options(), (("n", "1"),))
    others = [
        replace(item, file=Text("a.cpl", "protocol B {}")),
        replace(item, file=Text("a.cpl", "protocol A {}", (("b.cpl", ""),))),
        replace(item, options=Options(engine="explicit")),
        replace(item, parameters=(("n", "2"),)),
        replace(item, beliefs=(("Tom.pay", "1"),)),
        replace(item, names=("safe",)),
        replace(item, seed=1),
    ]
    keys = {one.key("program") for one in (item, *others)} | {item.key("another program")}
    assert len(keys) == len(others) + 2
    assert Limits(1) != Limits(2)  # which are no part of it


@pytest.mark.parametrize(
    ("item", "why"),
    [
        (Item(Text("", ""), Options(), names=("nothing",)), "has no `nothing`"),
        (Item(Text("", ""), Options("analyze"), names=("Nobody",)), "has no `Nobody`"),
        (Item(Text("", ""), Options("analyze"), beliefs=(("Tom.steal", "1"),)), "believes nothing of `steal`"),
    ],
)
def test_what_is_not_there_is_said_before_anything_begins(item: Item, why: str) -> None:
    _, file = _loaded("marketplace.cpl")
    with pytest.raises(BadItem, match=why):
        check(replace(item, file=file))
