"""The table of the life cycle: every other description is read from it, or is equal to it."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cplc.language import lifecycle as table
from cplc.language.lifecycle_texts import STATE_MEANINGS, operation_rows, rule_rows

_ROOT = Path(__file__).parents[2]

_WITH_ONE_MORE_ROW = """
import sys, types
from importlib.util import find_spec
spec = find_spec("cplc.language.lifecycle")
source = open(spec.origin, encoding="utf-8").read()
for last_row, row in (
    ('State("compensated",', 'State("excused", "closed", False, "mended", "violated, then excused"),'),
    ('Transition("compensate",', 'Transition("excuse", COMMITMENT, "creditor", ("violated",), "excused"),'),
):
    assert last_row in source
    source = source.replace(last_row, row + last_row)
module = types.ModuleType(spec.name)
sys.modules[spec.name] = module
exec(compile(source, spec.origin, "exec"), module.__dict__)
"""
"""The program whose table has a state `excused`, and an operation `excuse` of the creditor that leads to it."""

_PROTOCOL = """cpl 2
protocol Excuse sync {
  role A
  role B
  commitment c = C(A, B, true, done)
  A -> B : make                 means create c
  A -> B : done   after make    unless fail
  A -> B : fail   after make    unless done   means violate c
  B -> A : excuse after fail    means excuse c
  property excused: AG (excuse -> excused(c)) & EF does(excuse c) & AG (excused(c) -> closed(c))
}
"""


@pytest.fixture
def protocol(tmp_path: Path) -> Path:
    path = tmp_path / "excuse.cpl"
    path.write_text(_PROTOCOL, encoding="utf-8")
    return path


def _run(*arguments: str | Path) -> str:
    code = f"{_WITH_ONE_MORE_ROW}\nfrom cplc.cli.main import run\nsys.exit(run(sys.argv[1:]))"
    return _python(code, *map(str, arguments))


def _python(code: str, *arguments: str) -> str:
    done = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, encoding="utf-8")
    return done.stdout + done.stderr


def test_operation_is_unknown_without_its_row(protocol: Path) -> None:
    output = _python("import sys; from cplc.cli.main import run; sys.exit(run(sys.argv[1:]))", "check", str(protocol))
    assert "`excuse` is no operation on commitments" in output


def test_row_is_an_operation_of_the_language(protocol: Path) -> None:
    assert re.search(r"holds +excused", _run("verify", protocol))
    by_debtor = protocol.with_name("debtor.cpl")
    by_debtor.write_text(_PROTOCOL.replace("B -> A : excuse", "A -> B : excuse"), encoding="utf-8")
    assert "Only its creditor `B` can `excuse c`" in _run("check", by_debtor)


def test_row_is_drawn(protocol: Path) -> None:
    drawing = _run("draw", protocol, "--what", "commitment", "--name", "c", "--to", "mermaid")
    assert re.search(r"excused", drawing)
    assert "violated" in drawing
    svg = "print(__import__('cplc.drawing.svg').drawing.svg.colour('excused'))"
    assert _python(_WITH_ONE_MORE_ROW + svg).strip() == "mended"


def test_row_is_monitored(protocol: Path) -> None:
    log = protocol.with_name("log.jsonl")
    log.write_text("".join(f'{{"case": "1", "message": "{name}"}}\n' for name in ("make", "fail", "excuse")))
    *findings, summary = map(json.loads, _run("monitor", protocol, log, "--all", "--format", "jsonl").splitlines())
    changes = [(one["before"], one["now"]) for one in findings]
    assert changes[-1] == ("violated", "excused")
    assert summary["commitments"]["c"] == {"excused": 1}


def test_row_has_a_hover_text() -> None:
    text = _python(_WITH_ONE_MORE_ROW + "from cplc.server.hover import meaning; print(meaning('excuse'))")
    assert "| `excuse c` of a commitment | creditor | `violated` | `excused` |" in text


# --- the table itself


def test_rows_name_states_and_conditions_of_the_table() -> None:
    states = {
        table.COMMITMENT: {state.name for state in table.COMMITMENT_STATES},
        table.CLAIM: {state.name for state in table.CLAIM_STATES},
    }
    for row in (*table.OPERATIONS, *table.RULES):
        assert {*row.source, *row.successor} <= states[row.of]
        assert row.target in states[row.of] | {table.BY_CONDITIONS, table.FORMER}
        assert row.when in {"", *table.CONDITIONS}
        assert row.by in {*table.PARTIES[row.of], "either", "rule"}
    assert {row.by for row in table.RULES} == {"rule"}


@pytest.mark.parametrize("of", table.PARTIES)
def test_rows_of_an_operation_leave_different_states(of: str) -> None:
    """Then their order does not matter: no row applies to what another row made."""
    for verb in {row.verb for row in table.OPERATIONS}:
        rows = [row for row in table.OPERATIONS if (row.verb, row.of) == (verb, of)]
        for circumstances in ({"", "revocable"}, {"", "not revocable"}, {"", "suspended"}, {"retaining"}):
            sources = [state for row in rows if row.when in circumstances for state in row.source]
            assert len(sources) == len(set(sources))


def _table_rows(page: str, heading: str) -> Iterator[tuple[str, ...]]:
    """Yield the cells of the rows of a table of the manual."""
    text = (_ROOT / "docs" / page).read_text(encoding="utf-8")
    assert text.count(heading) == 1
    for line in text.partition(heading)[2].strip().splitlines()[1:]:
        if not line.startswith("|"):
            break
        yield tuple(line.strip("| ").split(" | "))


def test_reference_has_the_operations() -> None:
    verbs = dict.fromkeys(row.verb for row in table.OPERATIONS if row.of == table.COMMITMENT)
    rows = [(f"`{row.operation}`", *row[1:]) for verb in verbs for row in operation_rows(verb, table.COMMITMENT)]
    assert list(_table_rows("language.md", "| Operation | By | From | To |")) == rows


def test_reference_has_the_moves() -> None:
    rows = [
        (
            f"`{next(operation_rows(move.verb, table.CLAIM)).operation}`",
            ", ".join(parties[move.side] for parties in table.PARTIES.values()),
            f"`{move.standing}`",
        )
        for move in table.MOVES
    ]
    assert list(_table_rows("language.md", "| Move | By | Standing |")) == rows


def test_reference_has_the_states() -> None:
    names = [name for row in _table_rows("language.md", "| State | Means |") for name in re.findall(r"`(\w+)`", row[0])]
    assert names == [state.name for state in table.COMMITMENT_STATES]


def test_semantics_has_the_automatic_rules() -> None:
    assert list(_table_rows("semantics.md", "| From | To | When |")) == list(rule_rows(table.COMMITMENT))


def test_every_predicate_has_a_meaning() -> None:
    assert set(STATE_MEANINGS) == table.PREDICATES
