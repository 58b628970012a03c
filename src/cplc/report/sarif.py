"""Diagnostics and verdicts in SARIF 2.1.0; the run that shows a verdict as the flow of each of its agents."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from hashlib import sha256
from pathlib import PurePath
from typing import Final
from urllib.parse import quote

from cplc.checking.results import Result
from cplc.control_characters import json_text
from cplc.diagnostics.core import Diagnostic, Edit, Fix
from cplc.diagnostics.rules import RULES
from cplc.report.failure_explanation import closing_sentences
from cplc.report.outcome import Outcome, Standing, remarks, sentence
from cplc.report.step_text import changes, step_text
from cplc.report.trace_narration import Narration, has_trace, recorded
from cplc.source import Source, Span
from cplc.system.model import System

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[dict[Standing, str]] = {
    "as expected": "none", "with a warning": "warning", "not as expected": "error", "unknown": "warning",
}  # fmt: skip
Data = dict[str, object]


def file_part(outcome: Outcome) -> Data:
    """Return the rules, results and notifications of a file: a result for each diagnostic and each verdict."""
    rules = [*_diagnostic_rules(outcome), *(_question_rule(result, outcome) for result, _ in outcome.results)]
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
            *_diagnostics(outcome.diagnostics),
            *(_verdict(result, standing, outcome) for result, standing in outcome.results),
        ],
    }


def log(parts: Sequence[Data], version: str) -> str:
    """Return the document of several files: one run with the rules and results of all."""
    rules: dict[str, Data] = {}
    results: list[Data] = []
    notifications: list[object] = []
    for part in parts:
        names = {str(rule["id"]): _add_rule(rules, rule) for rule in _list(part, "rules")}
        results += [{**result, "ruleId": names[str(result["ruleId"])]} for result in _list(part, "results")]
        notifications += _list(part, "notifications")
    positions = {name: index for index, name in enumerate(rules)}
    results = [{"ruleId": one["ruleId"], "ruleIndex": positions[str(one["ruleId"])], **one} for one in results]
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


def _add_rule(rules: dict[str, Data], rule: Data) -> str:
    """Add a rule, and return its identifier; another rule of the same name gets a number."""
    name = str(rule["id"])
    number = 1
    while rules.setdefault(name, rule) != rule:
        number += 1
        name = f"{rule['id']}#{number}"
        rule = {**rule, "id": name}
    return name


def _list(part: Data, name: str) -> list[Data]:
    some = part[name]
    assert isinstance(some, list)
    return some


# --- rules: one for each code of a diagnostic, each property and each check


def _diagnostic_rules(outcome: Outcome) -> Iterator[Data]:
    summaries = {rule.code: rule.summary for rule in RULES}
    for code in sorted({diagnostic.code for diagnostic in outcome.diagnostics}):
        rule: Data = {
            "id": code,
            "shortDescription": {"text": summaries[code]},
            "help": {"text": f"`cplc explain {code}` explains it with an example."},
        }
        if outcome.manual:
            rule["helpUri"] = f"{outcome.manual}/rules/{code}.html"
        yield rule


def _question_rule(result: Result, outcome: Outcome) -> Data:
    """Return the rule of a property or check: its title, its formula, and where it is explained."""
    question = result.question
    is_check = question.kind == "check"
    formula = f"{question.text}{f' (assuming {question.assumed})' if question.assumed else ''}"
    what = "check" if is_check else "property"
    more = "" if question.expected == "holds" else ", expected to fail"
    rule: Data = {
        "id": _rule_id(result),
        "name": question.name,
        "shortDescription": {"text": question.title or f"{what} {question.name}{more}"},
        "fullDescription": {"text": formula},
        "help": {"text": f"{what} {question.name}{more}: {formula}", "markdown": _help(result, what, more)},
        "defaultConfiguration": {"level": "warning" if question.advisory else "error"},
        "properties": {"tags": [what], "precision": "very-high"},
    }
    if is_check and outcome.manual:
        rule["helpUri"] = f"{outcome.manual}/verification.html#definitions-of-the-checks"
    elif not is_check and outcome.repository and result.span is not None:
        line, _ = result.span.position
        rule["helpUri"] = f"{outcome.repository}/{_relative(result.span)}#L{line}"
    return rule


def _rule_id(result: Result) -> str:
    """Return the identifier of a property of a protocol, or of a check of every protocol."""
    question = result.question
    return f"check/{question.name}" if question.kind == "check" else f"property/{result.system.name}.{question.name}"


def _help(result: Result, what: str, more: str) -> str:
    question = result.question
    assuming = f"\n\nassuming {question.assumed}" if question.assumed else ""
    fence = "`" * max(3, 1 + max((len(run) for run in re.findall("`+", question.text)), default=0))
    title = f"\n\n{question.title}" if question.title else ""
    return f"**{what} {question.name}**{more}{title}\n\n{fence}\n{question.text}\n{fence}{assuming}"


# --- results


def _diagnostics(diagnostics: Sequence[Diagnostic]) -> Iterator[Data]:
    """Yield the results of diagnostics, each with a fingerprint that does not depend on the number of its line."""
    counts: Counter[tuple[str, ...]] = Counter()
    for one in diagnostics:
        line = one.span.source.line(one.span.position[0]).strip() if one.span.source.text else ""
        key = (one.code, str(_artifact(one.span)["uri"]), line, one.message)
        counts[key] += 1
        yield {**_diagnostic(one), "partialFingerprints": _fingerprints(*key, number=counts[key])}


def _fingerprints(*parts: str, number: int = 1) -> Data:
    """Return the fingerprints of a result: our own, and the one by which GitHub recognises an alert."""
    digest = sha256("\0".join(parts).encode()).hexdigest()[:32]
    return {"cplcResult/v1": f"{digest}:{number}", "primaryLocationLineHash": f"{digest[:16]}:{number}"}


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


def _verdict(result: Result, standing: Standing, outcome: Outcome) -> Data:
    span = result.span or Span(Source(outcome.file, ""), 0, 0)
    texts = [sentence(result), result.question.text, *remarks(result), *closing_sentences(result)]
    result_data: Data = {
        "ruleId": _rule_id(result),
        "kind": {"as expected": "pass", "unknown": "open"}.get(standing, "fail"),
        "level": _LEVELS[standing] if standing != "unknown" else "none",
        "message": {"text": "\n".join(dict.fromkeys(texts))},
        "locations": [_location(span)],
        "partialFingerprints": _fingerprints(_rule_id(result), str(_artifact(span)["uri"])),
        "properties": {
            "name": result.question.name,
            "verdict": result.answer,
            "formula": result.question.text,
            "expected": result.question.expected,
            "standing": standing,
        },
    }
    evidence = result.evidence
    if evidence is not None and has_trace(evidence):
        flows = _flows(result.system, recorded(result.system, evidence))
        if flows:
            result_data["codeFlows"] = [{"message": {"text": "the run, agent by agent"}, "threadFlows": flows}]
    return result_data


def _flows(system: System, narration: Narration) -> list[Data]:
    """Return what each agent does on a run; the numbers of the steps are those of the whole run."""
    flows: dict[str, list[Data]] = {}
    before = narration.run.start
    for number, move in enumerate(narration.run.moves, 1):
        step = None if move.step is None else system.steps[move.step]
        if step is not None:
            texts = [step_text(system, before, move), *changes(system, before, move)]
            location: Data = {"message": {"text": "; ".join(texts)}}
            if step.span is not None:
                location = {**_location(step.span), **location}
            importance = "unimportant" if number - 1 in narration.irrelevant else "important"
            flow = flows.setdefault(step.actor, [])
            flow.append({"executionOrder": number, "importance": importance, "location": location})
        before = move.state
    return [{"id": agent, "locations": steps} for agent, steps in flows.items()]


# --- places


def _location(span: Span) -> Data:
    physical: Data = {"artifactLocation": _artifact(span)}
    # A result without a region is not shown by GitHub.
    physical["region"] = _region(span) if span.source.text else {"startLine": 1}
    return {"physicalLocation": physical}


def _artifact(span: Span) -> Data:
    """Return the file: relative to where the command runs, unless it stands elsewhere."""
    path = PurePath(span.source.name)
    return {"uri": path.as_uri() if path.is_absolute() else _relative(span)}


def _relative(span: Span) -> str:
    return quote(re.sub(r"[<>]", "", PurePath(span.source.name).as_posix()))


def _region(span: Span) -> Data:
    line, column = span.position
    end_line, end_column = span.source.position(span.end)
    return {"startLine": line, "startColumn": column, "endLine": end_line, "endColumn": end_column}
