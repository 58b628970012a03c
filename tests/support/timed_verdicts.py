"""Comparison of verdicts on timed protocols with those of the reference semantics of time."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from tests.reference.states import TooLarge
from tests.reference.timed import Answer, answer, bounds_of, delays_of
from tests.reference.timed_games import TooManyStrategies
from tests.support.generators.timed_protocols import TimedSample

from cplc.checking.results import Result
from cplc.compilation import CplCompilation, EngineName
from cplc.compilation.interface import Strategies
from cplc.engines.explicit.engine import ExplicitEngine
from cplc.semantics import terms as t
from cplc.semantics.model import CheckedModel
from cplc.semantics.terms import Term
from cplc.source import Source

HOLDS = {"holds": True, "vacuous": True, "fails": False}


class TimedDisagreement(AssertionError):
    """A verdict is not that of the reference semantics."""


def compiled(text: str, strategies: Strategies = "full") -> CplCompilation:
    return CplCompilation(Source("generated.cpl", text), strategies=strategies)


def expected_answers(sample: TimedSample, limit: int, strategies: Strategies = "full") -> dict[str, Answer | None]:
    """Return the answers of the reference; without the questions whose graphs are too large."""
    compilation = compiled(sample.plain_text)
    if not compilation.ok:
        return {}
    model, answers = compilation.model, {}
    delays = delays_of(model, sample.delays)
    for declared, assumptions in zip(model.properties, sample.assumptions, strict=True):
        plain, bounds = bounds_of(model, assumptions)
        actors = [role.name for role in model.roles] if "all" in plain else plain
        try:
            answers[declared.name] = answer(
                model, declared.formula, actors, bounds, delays, limit=limit, uniform=strategies == "uniform"
            )
        except (TooLarge, TooManyStrategies):
            continue
    return answers


def compare(
    sample: TimedSample,
    engines: Collection[EngineName],
    counts: Counter[str],
    limit: int = 600,
    strategies: Strategies = "full",
) -> None:
    """Compare the verdicts on all properties; raise at the first that differs."""
    expected = expected_answers(sample, limit, strategies)
    if not expected or None in expected.values():
        counts["protocols left out"] += 1
        return
    compilation = compiled(sample.text, strategies)
    if not compilation.ok:
        raise TimedDisagreement("\n".join([*(one.concise() for one in compilation.diagnostics), sample.text]))
    for question in compilation.questions(list(expected)):
        awaited, system = expected[question.question.name], question.question.system
        if system is None:
            continue
        engine = ExplicitEngine(system)
        count = engine.count(engine.reachable)
        if awaited is not None and count != awaited.states:
            if awaited.is_minimal:
                raise TimedDisagreement(
                    f"{count} states, not {awaited.states}: {question.question.name}\n{sample.text}"
                )
            counts["more states" if count > awaited.states else "fewer states"] += 1
        else:
            counts["as many states"] += 1
    for name_of_engine in engines:
        for result in compilation.verify(compilation.questions(list(expected)), name_of_engine):
            name = result.question.name
            awaited = expected[name]
            assert awaited is not None
            if difference := _difference(compilation.model, result, awaited):
                raise TimedDisagreement(f"{name_of_engine} differs for {name}: {difference}\n{sample.text}")
            verdict: str = "timelock" if is_timelock(result) else result.answer
            if result.answer not in HOLDS:
                verdict = f"unknown: {result.reason}"
            counts[f"{name_of_engine} {verdict}"] += 1
            counts["states"] += awaited.states


def is_timelock(result: Result) -> bool:
    return any(str(remark.code) == "timelock" for remark in result.remarks) or "timelock" in str(result.reason)


def _difference(model: CheckedModel, result: Result, awaited: Answer) -> str | None:
    (formula,) = [declared.formula for declared in model.properties if declared.name == result.question.name]
    if is_timelock(result) and result.answer not in HOLDS:
        if not awaited.timelocks:
            return "that there is a timelock, where every reachable state has a fair run"
        return None if awaited.holds or not has_universal(formula) else "timelock, but a fair run refutes it"
    if "internal" in str(result.reason):
        return f"nothing, for {result.reason}"
    if result.answer not in HOLDS:
        unfair = any(remark.code == "no-fair-run" for remark in result.remarks) and "along" not in str(result.reason)
        return "that no fair run begins" if unfair and awaited.begins else None
    if HOLDS[result.answer] != awaited.holds:
        return f"that it {result.answer}, expected was {awaited}"
    if awaited.timelocks and awaited.holds and not has_existential(formula) and has_universal(formula):
        return f"that it {result.answer}, but there are {awaited.timelocks} timelocks"
    return None


def has_universal(formula: Term, *, positive: bool = True) -> bool:
    """Return whether it says something of all runs."""
    return _quantifies(formula, "A" if positive else "E")


def has_existential(formula: Term) -> bool:
    """Return whether it says something of some run."""
    return _quantifies(formula, "E")


def _quantifies(formula: Term, quantifier: str) -> bool:
    opposite = "E" if quantifier == "A" else "A"
    match formula:
        case t.OverPaths(own, path):
            return own == quantifier or _quantifies(path, quantifier)
        case t.Apply("!", (operand,)):
            return _quantifies(operand, opposite)
        case t.Apply("->", (left, right)):
            return _quantifies(left, opposite) or _quantifies(right, quantifier)
        case t.Apply("<->", operands):
            return any(_quantifies(one, either) for one in operands for either in "AE")
        case _:
            return any(_quantifies(operand, quantifier) for operand in t.operands_of(formula))
