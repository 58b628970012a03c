"""Results as data, for JSON and ITF. The JSON format has a version (`format_version`): fields are only added."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING

from cplc.checking.responsibility import Violation
from cplc.checking.results import Avoidance, KnowledgeReason, Remark, Result, SizeCoverage
from cplc.control_characters import json_text
from cplc.diagnostics.render import place_data
from cplc.logic.expressions import Value
from cplc.report.deadline_account import DeadlineAccount, account_sentence
from cplc.report.failure_explanation import (
    accounts_of,
    blame_sentences,
    helping_bounds_sentence,
    unkept_of,
    violation_text,
    violations_of,
)
from cplc.report.step_text import changes, knowledge_text, step_text
from cplc.report.strategy_text import no_return_data, scope_data, strategy_data
from cplc.report.trace_narration import decisive, has_trace, recorded
from cplc.system.model import State, System
from cplc.system.printer import formula_text
from cplc.system.trace import Evidence, Move, Run

if TYPE_CHECKING:
    from cplc.checking.commitment_remarks import UnkeptPromises


Data = dict[str, object]

MAX_DEPTH = 4
"""How deep evidence within evidence is written; deeper parts are ``null``."""


def result_data(result: Result) -> Data:
    """Return the result as what JSON can say."""
    question = result.question
    evidence = result.evidence
    return {
        "name": question.name,
        "kind": question.kind,
        "title": question.title,
        "formula": question.text,
        "written": question.asked,
        "instance": result.instance,
        "assuming": sorted(question.assuming),
        "bounds": dict(question.bounds),
        "verdict": result.answer,
        "expected": question.expected,
        "as_expected": result.as_expected,
        "advisory": question.advisory,
        "usual": question.is_usual,
        "engine": result.engine,
        "engine_reason": result.engine_reason,
        "seconds": round(result.seconds, 6),
        "cached": result.cached,
        "reason": result.reason,
        "knowledge": None if result.knowledge is None else _knowledge(result.system, result.knowledge),
        "sizes": None if result.sizes is None else result.sizes.text,
        "size_coverage": None if result.sizes is None else _coverage(result.sizes),
        "findings": list(result.findings),
        "notes": list(result.notes),
        "remarks": [_remark(remark) for remark in result.remarks],
        "violations": [_violation(result.system, one) for one in violations_of(result)],
        "deadlines": [_deadline(result.system, one) for one in accounts_of(result)],
        "promises": [_unkept(one) for one in unkept_of(result)],
        "blame": _blame(result),
        "helping_bounds": _helping_bounds(result),
        "no_return": no_return_data(result),
        "story": _story(result.system, evidence) if evidence is not None and has_trace(evidence) else None,
        "because": None if evidence is None else _because(result.system, evidence),
        "evidence": None if evidence is None else _evidence(result.system, evidence, 0),
        "left_out": result.left_out,
        "place": place_data(result.span),
    }


def _coverage(sizes: SizeCoverage) -> Data:
    return {
        "parameter": sizes.parameter,
        "declared": {"from": sizes.least, "to": sizes.greatest},
        "holds_for": sizes.scope,
        "verified": list(sizes.verified),
        "vacuous": list(sizes.vacuous),
        "fails_for": sizes.failing,
        "not_asked": list(sizes.not_asked),
        "errors": [{"size": size, "message": message} for size, message in sizes.undefined],
        "proof": sizes.proof,
        "other_parameters": dict(sizes.fixed),
    }


def _knowledge(system: System, reason: KnowledgeReason) -> Data:
    return {
        "agent": reason.claim.agents[0],
        "variable": reason.variable.name,
        "value": reason.value,
        "chain": list(reason.chain),
        "text": knowledge_text(system, reason),
    }


def _remark(remark: Remark) -> Data:
    excluded = remark.excluded
    return {
        "code": remark.code,
        "message": remark.message,
        "state": remark.state,
        "excluded": None
        if excluded is None
        else {
            "states": excluded.states,
            "reachable": excluded.reachable,
            "run": run_data(excluded.system, excluded.run),
        },
    }


def _unkept(unkept: UnkeptPromises) -> Data:
    pairs = zip(unkept.commitments, unkept.states, strict=True)
    return {
        "debtor": unkept.debtor,
        "creditor": unkept.creditor,
        "promises_nothing": unkept.promises_nothing,
        "commitments": [{"name": name, "state": state} for name, state in pairs],
    }


def _blame(result: Result) -> Data | None:
    blamed = result.blame
    if blamed is None:
        return None
    return {
        "coalitions": [list(roles) for roles in blamed.coalitions],
        "stopped": list(blamed.stopped),
        "owed": list(blamed.owed),
        "avoidance": _avoidance(blamed.avoidance),
        "text": " ".join(blame_sentences(result)),
    }


def _helping_bounds(result: Result) -> Data | None:
    helping = result.helping_bounds
    if helping is None:
        return None
    return {
        "roles": list(helping.roles),
        "ticks": helping.ticks,
        "with_delays": helping.is_delayed,
        "text": helping_bounds_sentence(result),
    }


def _avoidance(avoided: Avoidance | None) -> Data | None:
    if avoided is None:
        return None
    return {
        "goal": formula_text(avoided.goal),
        "lost": avoided.lost,
        "acting": list(avoided.acting),
        "ways_out": [
            {"role": way.role, "message": way.message, "after": way.after, "ensures": way.ensures}
            for way in avoided.ways_out
        ],
    }


def _deadline(system: System, account: DeadlineAccount) -> Data:
    return {
        "commitment": account.commitment,
        "clause": account.clause,
        "ticks": account.ticks,
        "began": account.began,
        "ended": account.ended,
        "awaited": [
            {
                "message": one.message,
                "possible_from": one.possible_from,
                "sent": one.sent,
                "waits": [
                    {"kind": wait.kind, "message": wait.message, "role": wait.role, "ticks": wait.ticks}
                    for wait in one.waits
                ],
            }
            for one in account.awaited
        ],
        "text": account_sentence(system, account),
    }


def _violation(system: System, violation: Violation) -> Data:
    return {
        "commitment": violation.name,
        "by": violation.by,
        "towards": violation.towards,
        "step": violation.step,
        "message": violation.message,
        **({} if violation.empowered is None else {"empowered": violation.empowered}),
        "text": f"{violation_text(system, violation)}.",
    }


def _because(system: System, evidence: Evidence) -> list[Data]:
    """Return the parts that decide: which operand of a conjunction fails, which one of a disjunction holds."""
    return [{"formula": formula_text(formula), "holds": holds} for formula, holds in decisive(system, evidence)]


def _story(system: System, evidence: Evidence) -> Data:
    """Return the joined run, with the steps marked that do not matter, and the marks of its states."""
    narration = recorded(system, evidence)
    steps = [
        {**step, "relevant": at not in narration.irrelevant} for at, step in enumerate(_steps(system, narration.run))
    ]
    return {
        **run_data(system, narration.run),
        "steps": steps,
        "marks": [{"at": position, "text": text} for position, text in narration.marks],
    }


def _evidence(system: System, evidence: Evidence, depth: int) -> Data | None:
    if depth > MAX_DEPTH:
        return None
    return {
        "formula": formula_text(evidence.formula),
        "holds": evidence.holds,
        "exhaustive": evidence.exhaustive,
        "run": run_data(system, evidence.run),
        "parts": [
            {"at": position, "evidence": _evidence(system, part, depth + 1)} for position, part in evidence.parts
        ],
        "agents": list(evidence.agents),
        "strategy": strategy_data(system, evidence),
        "strategy_scope": scope_data(evidence),
        "elsewhere": None if evidence.elsewhere is None else run_data(system, evidence.elsewhere),
        "there": None if evidence.alternative is None else _evidence(system, evidence.alternative, depth + 1),
    }


def run_data(system: System, run: Run) -> Data:
    """Return a run: its first state in full, of each step what it writes; ``loop`` counts states from 0."""
    return {"start": run.start, "steps": list(_steps(system, run)), "loop": run.loop}


def _steps(system: System, run: Run) -> Iterator[Data]:
    for before, move in zip(run.states, run.moves, strict=False):
        yield _step(system, before, move)


def _step(system: System, before: State, move: Move) -> Data:
    described: Data = {
        "text": step_text(system, before, move),
        "changes": list(changes(system, before, move)),
        "writes": {name: value for name, value in move.state.items() if before[name] != value},
    }
    if move.actions:
        actions = {player.agent: action for player, action in zip(system.players, move.actions, strict=True)}
        nothing: Data = {"step": None, "kind": "round", "actor": None, "event": None, "payload": {}}
        return {**nothing, "actions": actions, **described, "place": None}
    if move.step is None:
        return {"step": None, "kind": "idle", "actor": None, "event": None, "payload": {}, **described, "place": None}
    step = system.steps[move.step]
    return {
        "step": step.name,
        "kind": step.kind,
        "actor": step.actor,
        "event": step.event,
        "payload": dict(step.payload),
        **described,
        "place": place_data(step.span),
    }


# --- Runs in the Informal Trace Format of Apalache, which other tools read and show
#
# The format is described at https://apalache-mc.org/docs/adr/015adr-trace.html.


def trace(result: Result) -> str | None:
    """Return the run that the result shows, if it has one."""
    if result.evidence is None or not has_trace(result.evidence):
        return None
    narration = recorded(result.system, result.evidence)
    description = f"{result.question.name}: {result.question.text}"
    return run_trace(result.system, narration.run, description, result.answer, narration.irrelevant)


def run_trace(
    system: System, run: Run, description: str, status: str, irrelevant: Collection[int] | None = None
) -> str:
    """Return any run with its description, and which steps matter if that has been examined."""
    taken = [None if move.step is None else system.steps[move.step].name for move in run.moves]
    if system.is_synchronous:
        taken = [", ".join(move.actions) for move in run.moves]
    states = run.states if run.loop is None else run.states[:-1]
    document: dict[str, object] = {
        "#meta": {
            "format": "ITF",
            "format-description": "https://apalache-mc.org/docs/adr/015adr-trace.html",
            "description": description,
            "status": status,
            "steps": [name or "idle" for name in taken],
            **({} if irrelevant is None else {"relevant": [at not in irrelevant for at in range(len(taken))]}),
        },
        "vars": [variable.name for variable in system.variables],
        "states": [{"#meta": {"index": index}, **_state(state)} for index, state in enumerate(states)],
    }
    if run.loop is not None:
        document["loop"] = run.loop
    return json_text(document, 1) + "\n"


def _state(state: State) -> dict[str, object]:
    return {name: _value(value) for name, value in state.items()}


def _value(value: Value) -> object:
    """Whole numbers are objects: readers differ in how large a number they take."""
    return {"#bigint": str(value)} if isinstance(value, int) and not isinstance(value, bool) else value
