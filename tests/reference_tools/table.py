"""Print the agreement of other tools on the examples and cases: ``python -m tests.reference_tools.table``."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from tests.reference_tools.judges import JUDGES, Judge
from tests.support.case_files import cases, compiled

from cplc.compilation import CplCompilation, count_reachable, load
from cplc.export import export

_COLUMNS = tuple(judge for judge in JUDGES if judge.program)


def main() -> None:
    """Write one line per protocol: states, agreeing verdicts, exported formulas."""
    _write("protocol", "states", *(judge.name for judge in _COLUMNS))
    for name, compilation in _protocols():
        request = compilation.to_be_exported(compilation.declared_questions())
        agreements = [_agreement(judge, compilation) for judge in _COLUMNS]
        _write(name, str(count_reachable(request.system)), *agreements)


def _write(name: str, states: str, *columns: str) -> None:
    sys.stdout.write(f"{name:34} {states:>10}" + "".join(f" {column:>24}" for column in columns) + "\n")
    sys.stdout.flush()


def _protocols() -> Iterator[tuple[str, CplCompilation]]:
    for path in sorted((Path(__file__).parents[2] / "examples").glob("*.cpl")):
        loaded = load(str(path))
        assert isinstance(loaded, CplCompilation)
        yield path.stem, loaded
    for case in cases():
        yield str(case), compiled(case)


def _agreement(judge: Judge, compilation: CplCompilation) -> str:
    """Return the numbers of states, agreeing verdicts, verdicts and formulas."""
    questions = compilation.declared_questions()
    bare = replace(compilation.to_be_exported(questions), formulas=())
    try:
        states = judge.ask(export(judge.target, bare).text).states
        tool_verdicts = judge.verdicts(compilation.export(judge.target, questions))
    except subprocess.TimeoutExpired:
        return "too long"
    results = compilation.verify([one for one in questions if one.question.name in tool_verdicts])
    agreeing = sum(tool_verdicts[result.question.name] == (result.answer != "fails") for result in results)
    return f"{'-' if states is None else states}, {agreeing} of {len(tool_verdicts)} ({len(questions)})"


if __name__ == "__main__":
    main()
