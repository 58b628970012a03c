"""Diagnostics and verdicts in SARIF 2.1.0; the run that shows a verdict as the flow of each of its agents."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

from cplc.checking.results import Result
from cplc.control_characters import json_text
from cplc.diagnostics.core import Diagnostic, Edit, Fix
from cplc.diagnostics.rules import RULES
from cplc.report.outcome import Outcome, Standing, remarks, sentence
from cplc.report.step_text import changes, step_text
from cplc.report.trace_narration import has_trace, narrate
from cplc.source import Span
from cplc.system.model import System
from cplc.system.trace import Run

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[dict[Standing, str]] = {
    "as expected": "none", "with a warning": "warning", "not as expected": "error", "unknown": "warning",
}  # fmt: skip
_VERDICTS: Final = {
    "holds": "a property or check that holds",
    "fails": "a property or check that fails, with a run that shows it",
    "vacuous": "a property or check that holds for want of anything to check",
    "unknown": "a property or check that was not decided",
}

Data = dict[str, object]


def file_part(outcome: Outcome) -> Data:
    """Return the rules, results and notifications of a file: a result for each diagnostic and each verdict."""
    codes = sorted({diagnostic.code for diagnostic in outcome.diagnostics})
    answers = sorted({result.answer for result, _ in outcome.results})
    summaries = {rule.code: rule.summary for rule in RULES}
    rules: list[Data] = [{"id": code, "shortDescription": {"text": summaries[code]}} for code in codes]
    rules += [{"id": answer, "shortDescription": {"text": _VERDICTS[answer]}} for answer in answers]
    notifications: list[Data] = []
    if outcome.interrupted is not None:
        notifications.append({"level": "warning", "message": {"text": outcome.interrupted}})
    if outcome.switched_off:
        text = f"switched off in the file: {', '.join(outcome.switched_off)}"
        notifications.append({"level": "note", "message": {"text": text}})
    return {
        "successful": outcome.interrupted is None,
        "rules": rules,
        "notifications": notifications,
        "results": [
            *(_diagnostic(diagnostic) for diagnostic in outcome.diagnostics),
            *(_verdict(result, standing) for result, standing in outcome.results),
        ],
    }


def log(parts: Sequence[Data], version: str) -> str:
    """Return the document of several files: one run with the rules and results of all."""
    rules: dict[object, object] = {}
    results: list[object] = []
    notifications: list[object] = []
    for part in parts:
        rules |= {rule["id"]: rule for rule in _list(part, "rules") if rule["id"] not in rules}
        results += _list(part, "results")
        notifications += _list(part, "notifications")
    invocation: Data = {"executionSuccessful": all(part["successful"] for part in parts)}
    if notifications:
        invocation["toolExecutionNotifications"] = notifications
    run: Data = {
        "tool": {"driver": {"name": "cplc", "semanticVersion": version, "rules": list(rules.values())}},
        "invocations": [invocation],
        "columnKind": "unicodeCodePoints",
        "results": results,
    }
    document = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json_text(document, 2) + "\n"


def _list(part: Data, name: str) -> list[Data]:
    some = part[name]
    assert isinstance(some, list)
    return some


def _diagnostic(diagnostic: Diagnostic) -> Data:
    result: Data = {
        "ruleId": diagnostic.code,
        "level": "note" if diagnostic.severity == "remark" else diagnostic.severity,
        "message": {"text": "\n".join((diagnostic.message, *(n.message for n in diagnostic.notes if not n.span)))},
        "locations": [_location(diagnostic.span)],
    }
    related = [{**_location(note.span), "message": {"text": note.message}} for note in diagnostic.notes if note.span]
    if related:
        result["relatedLocations"] = related
    if diagnostic.fixes:
        result["fixes"] = [_fix(fix) for fix in diagnostic.fixes]
    return result


def _fix(fix: Fix) -> Data:
    """Return the fix, with one change for each file that it edits."""
    changes: dict[str, list[Edit]] = {}
    for edit in fix.edits:
        changes.setdefault(edit.span.source.name, []).append(edit)
    return {
        "description": {"text": fix.title},
        "artifactChanges": [
            {"artifactLocation": _artifact(edits[0].span), "replacements": [_replacement(edit) for edit in edits]}
            for edits in changes.values()
        ],
    }


def _replacement(edit: Edit) -> Data:
    return {"deletedRegion": _region(edit.span), "insertedContent": {"text": edit.text}}


def _verdict(result: Result, standing: Standing) -> Data:
    span = result.span
    result_data: Data = {
        "ruleId": result.answer,
        "kind": {"as expected": "pass", "unknown": "open"}.get(standing, "fail"),
        "level": _LEVELS[standing] if standing != "unknown" else "none",
        "message": {"text": "\n".join((sentence(result), *remarks(result)))},
        "locations": [] if span is None else [_location(span)],
        "properties": {
            "name": result.question.name,
            "formula": result.question.text,
            "expected": result.question.expected,
            "standing": standing,
        },
    }
    evidence = result.evidence
    if evidence is not None and has_trace(evidence):
        flows = _flows(result.system, narrate(result.system, evidence).run)
        if flows:
            result_data["codeFlows"] = [{"message": {"text": "the run, agent by agent"}, "threadFlows": flows}]
    return result_data


def _flows(system: System, run: Run) -> list[Data]:
    """Return what each agent does on a run; the numbers of the steps are those of the whole run."""
    flows: dict[str, list[Data]] = {}
    before = run.start
    for number, move in enumerate(run.moves, 1):
        step = None if move.step is None else system.steps[move.step]
        if step is not None:
            texts = [step_text(system, before, move), *changes(system, before, move)]
            location: Data = {"message": {"text": "; ".join(texts)}}
            if step.span is not None:
                location = {**_location(step.span), **location}
            flows.setdefault(step.actor, []).append({"executionOrder": number, "location": location})
        before = move.state
    return [{"id": agent, "locations": steps} for agent, steps in flows.items()]


# --- places


def _location(span: Span) -> Data:
    physical: Data = {"artifactLocation": _artifact(span)}
    if span.source.text:
        physical["region"] = _region(span)
    return {"physicalLocation": physical}


def _artifact(span: Span) -> Data:
    """Return the file: relative to where the command runs, unless it stands elsewhere."""
    path = PurePath(span.source.name)
    if path.is_absolute():
        return {"uri": path.as_uri()}
    return {"uri": quote(re.sub(r"[<>]", "", path.as_posix()))}


def _region(span: Span) -> Data:
    line, column = span.position
    end_line, end_column = span.source.position(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
