"""Summary of a build step in Markdown: the verdicts of each file, and each failure with its story and its picture.

GitHub shows what a step appends to the file that `GITHUB_STEP_SUMMARY` names, up to 1 MiB.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, Final

from cplc.control_characters import printable, printable_lines
from cplc.report.outcome import Outcome, Standing, sentence
from cplc.report.text import result_text
from cplc.report.trace_narration import drawn_rows, has_trace, told

VARIABLE: Final = "GITHUB_STEP_SUMMARY"
_MAX_BYTES: Final = 1_000_000
_MAX_STEPS_DRAWN: Final = 60
_SIGNS: Final[dict[Standing, str]] = {"not as expected": "❌", "unknown": "❔", "with a warning": "⚠️"}


def summary_part(outcome: Outcome) -> Mapping[str, str]:
    """Return the row of a file in the table, and its sections."""
    mistaken = any(one.is_error for one in outcome.diagnostics)
    verdicts = outcome.summary() or ("wrong" if mistaken else outcome.interrupted or "nothing to verify")
    present = {standing for _, standing in outcome.results}
    signs = [sign for standing, sign in _SIGNS.items() if standing in present]
    sign = "❌" if mistaken else signs[0] if signs else "❔" if outcome.interrupted else "✅"
    row = f"| {sign} {_code(outcome.file)} | {_text(verdicts)} |\n"
    return {"row": row, "sections": "".join(_sections(outcome))}


def _sections(outcome: Outcome) -> Iterator[str]:
    for one in outcome.diagnostics:
        if one.is_error:
            yield f"- ❌ {_code(one.concise())}\n"
    for result, standing in outcome.results:
        if standing not in _SIGNS:
            continue
        title = f"{_SIGNS[standing]} {_code(outcome.file)}: {_text(sentence(result))}"
        yield f"\n<details><summary>{title}</summary>\n\n{_fenced(result_text(result))}\n"
        evidence = result.evidence
        if evidence is not None and has_trace(evidence):
            from cplc.drawing.sequence import chart_mermaid, run_chart
            from cplc.report.run_report import family

            narration = told(result.system, evidence)
            run, folds = narration.run, narration.folds
            is_short = drawn_rows(run.moves, folds) <= _MAX_STEPS_DRAWN
            if is_short and any(move.step is not None for move in run.moves):
                chart = run_chart(result.system, run, f"run for {result.question.name}", family, folds)
                yield f"\n{_fenced(chart_mermaid(chart), 'mermaid')}\n"
        yield "\n</details>\n"


def write_summary(parts: Sequence[Any]) -> None:
    """Append the summary of these files to the file that the environment names, if there is one."""
    path = os.environ.get(VARIABLE)
    if not path:
        return
    table = "## Commitment protocols\n\n| File | Verdicts |\n| --- | --- |\n" + "".join(one["row"] for one in parts)
    text = table + "\n"
    for part in parts:
        if len((text + part["sections"]).encode()) > _MAX_BYTES:
            text += "\n… the rest is left out: a summary has at most 1 MiB\n"
            break
        text += part["sections"]
    with open(path, "a", encoding="utf-8") as file:
        file.write(text)


def _fenced(text: str, language: str = "") -> str:
    """Return a block of code, fenced by more backquotes than the text has in a row."""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", text)), default=0))
    return f"{fence}{language}\n{printable_lines(text).rstrip()}\n{fence}"


def _code(text: str) -> str:
    """Return a text as code inside a line or a cell of a table."""
    return f"<code>{_text(text)}</code>"


def _text(text: str) -> str:
    """Return a text without any markup of Markdown or HTML."""
    return re.sub(r"([|\\`*_\[\]#~@])", lambda match: f"&#{ord(match[1])};", escape(printable(text)))
