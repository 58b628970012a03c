"""Text of strategies, as tables of situations and the sends to insist on, and of the point of no return."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import assert_never

from cplc.checking.results import PointOfNoReturn, Result
from cplc.logic.expressions import value_text
from cplc.logic.formulas import Enforces, Finally, Globally, Next, Until
from cplc.report.path_explanation import kept_commitment
from cplc.report.step_text import initial_values, step_text, variable_text
from cplc.system.model import System
from cplc.system.printer import formula_text, quoted
from cplc.system.trace import Advice, Evidence, Move, Test

Data = dict[str, object]

MAX_ROWS = 12


def is_strategy(evidence: Evidence) -> bool:
    """Tell whether the evidence is a strategy."""
    return isinstance(evidence.formula, Enforces) and evidence.holds


def strategy_lines(system: System, evidence: Evidence) -> Iterator[str]:
    """Yield the strategy: a row for each case, with the send and the observation."""
    formula = evidence.formula
    assert isinstance(formula, Enforces)
    whose = " and ".join(formula.group)
    by_sight = ", by what each sees itself" if formula.uniform and len(formula.group) > 1 else ""
    by_sight = ", by what it sees itself" if formula.uniform and not by_sight else by_sight
    where = _where_from(system, evidence)
    if not evidence.strategy:
        what = _without_choice(system) if system.is_synchronous else _without_sends(formula)
        yield f"strategy of {whose}{where}: {what}"
    else:
        yield f"strategy of {whose}{by_sight}{where}:"
        rows = [row for advice in evidence.strategy for row in _rows(system, advice)]
        width = max(len(what) for what, _ in rows)
        for what, when in rows[:MAX_ROWS]:
            yield f"  {what:<{width}}  {when}"
        if len(rows) > MAX_ROWS:
            yield f"  and {len(rows) - MAX_ROWS} more cases"
        yield "  otherwise anything" if system.is_synchronous else "  otherwise wait"
    if evidence.scope == "one initial":
        yield "no single strategy wins from all initial states"
    elif evidence.scope == "undecided":
        yield "whether a single strategy wins from all initial states was left open"
    if evidence.exhaustive:
        yield "this is how it begins; that it succeeds was decided by exploring all states, not by replaying it"


def _where_from(system: System, evidence: Evidence) -> str:
    """Return the initial states that the strategy is for."""
    match evidence.scope:
        case "state":
            return ""
        case "all initial":
            is_one = all(len(variable.initial) == 1 for variable in system.variables)
            return "" if is_one else ", from every initial state"
        case "one initial" | "undecided":
            return f", where initially {', '.join(initial_values(system, evidence.run.start))}"


def _without_choice(system: System) -> str:
    if system.may_lack_fair_runs:
        return "none is shown where conditions of fairness decide who wins"
    return "whatever they do, it comes about"


def _without_sends(formula: Enforces) -> str:
    goal = formula.goal
    match goal:
        case Finally() | Until():
            return "just wait; it comes about whatever anybody does"
        case Globally() | Next():
            return "send nothing; nobody else can change it"
        case _:
            assert_never(goal)


def _rows(system: System, advice: Advice) -> Iterator[tuple[str, str]]:
    what = _action(system, advice) if advice.choice else f"insist on {_send(system, advice.step)}"
    for number, case in enumerate(advice.cases):
        yield ("" if number else what), f"{'or when' if number else 'when'} {_case_text(system, case)}"


def _action(system: System, advice: Advice) -> str:
    player = system.player[advice.choice]
    return f"{player.agent} does {player.actions[advice.step].name}"


def _send(system: System, step: int) -> str:
    return step_text(system, {}, Move(step, {}))


def _case_text(system: System, case: Sequence[Test]) -> str:
    return ", ".join(_test_text(system, test) for test in case) or "it is possible"


def _test_text(system: System, test: Test) -> str:
    name, value, is_so = test
    variable = system.variable[name]
    text = variable_text(system, variable)
    if isinstance(value, bool):
        is_true = value == is_so
        if variable.kind == "copy":
            how = text.removeprefix(f"{variable.about} ")
            return text if is_true else f"{variable.about} not {how}"
        return text if is_true else f"not {text}"
    return f"{text} {'=' if is_so else '!='} {value_text(value)}"


def strategy_data(system: System, evidence: Evidence) -> list[Data] | None:
    """Return the strategy for JSON; None if the evidence is not a strategy."""
    if not is_strategy(evidence):
        return None
    if system.is_synchronous:
        return [_action_data(system, advice) for advice in evidence.strategy]
    return [
        {
            "agent": system.steps[advice.step].actor,
            "insists_on": system.steps[advice.step].name,
            "text": _send(system, advice.step),
            "sees_only_itself": advice.agent is not None,
            "when": _cases_data(system, advice),
        }
        for advice in evidence.strategy
    ]


def scope_data(evidence: Evidence) -> Data | None:
    """Return the states that the strategy is for, for JSON; None if the evidence is not a strategy."""
    if not is_strategy(evidence):
        return None
    return {"for": evidence.scope, "start": evidence.run.start}


def _action_data(system: System, advice: Advice) -> Data:
    player = system.player[advice.choice]
    return {
        "agent": player.agent,
        "does": player.actions[advice.step].name,
        "text": _action(system, advice),
        "sees_only_itself": advice.agent is not None,
        "when": _cases_data(system, advice),
    }


def _cases_data(system: System, advice: Advice) -> list[Data]:
    return [
        {
            "text": _case_text(system, case),
            "tests": [{"variable": name, "value": value, "is_so": is_so} for name, value, is_so in case],
        }
        for case in advice.cases
    ]


# --- the point of no return


def no_return_sentence(result: Result) -> str | None:
    """Return the sentence on the step that lost the strategy, or on its absence from the beginning."""
    lost, evidence = result.no_return, result.evidence
    if lost is None or evidence is None:
        return None
    who = " and ".join(lost.able.group)
    promise = kept_commitment(lost.able)
    what = quoted(lost.able.goal) if promise is None else f"that `{promise}` is kept"
    have = "has" if len(lost.able.group) == 1 else "have"
    if lost.step is None:
        began = f"from step {lost.since} on" if lost.since else "from the initial state on"
        if lost.commitment is None:
            return f"{who} {have} no strategy that guarantees {what} {began}."
        in_force = f"`{lost.commitment}` was promised without control: it is open {began}"
        return f"{in_force}, and {who} never {have} a strategy that guarantees {what}."
    run = evidence.run
    move = run.moves[lost.step - 1]
    step = step_text(result.system, run.states[lost.step - 1], move)
    actor = None if move.step is None else result.system.steps[move.step].actor
    whose = f", by {actor} itself" if (actor,) == lost.able.group else ""
    after = f"After it {who} {have} no strategy that guarantees {what}."
    return f"Point of no return: step {lost.step}, `{step}`{whose}. {after}"


def no_return_data(result: Result) -> Data | None:
    lost: PointOfNoReturn | None = result.no_return
    if lost is None or result.evidence is None:
        return None
    move = None if lost.step is None else result.evidence.run.moves[lost.step - 1]
    step = None if move is None or move.step is None else result.system.steps[move.step]
    return {
        "able": formula_text(lost.able),
        "step": lost.step,
        "name": None if step is None else step.name,
        "actor": None if step is None else step.actor,
        "since": lost.since,
        "commitment": lost.commitment,
        "text": no_return_sentence(result),
    }
