"""Replay of counterexamples and witnesses: evidence is checked on the system before it is shown.

`Exhaustive` evidence depends on all runs or all states and is not replayed. All other evidence is evaluated here by the
definitions, on the system alone, with three truth values. A formula that the run and its parts leave unknown is
rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import assert_never

from cplc.checking.rounds import agree, led_here, none_leads
from cplc.checking.three_valued import ThreeValuedRun
from cplc.logic import formulas as f
from cplc.logic.expressions import Expr
from cplc.system.interpreter import Interpreter, holds, interpreter_of, value
from cplc.system.model import Justice, State, System
from cplc.system.trace import Evidence, Run

__all__ = ["EvidenceError", "Goal", "Interpreter", "goals", "replay", "run_problems", "unmet_goals"]

Goal = Justice | Expr | f.Regardless
"""A goal that a fair run meets infinitely often: a justice constraint or a fairness condition."""


def some_fair_run(along: f.Taken | None) -> f.OnPaths:
    """Return that a fair run begins here, restricted to these steps if there are any."""
    return replace(f.SOME_FAIR_RUN, along=along)


def is_continuation(evidence: Evidence) -> bool:
    """Tell whether the evidence only shows that a fair run begins."""
    formula = evidence.formula
    return isinstance(formula, f.OnPaths) and formula == some_fair_run(formula.along)


def needs_fair_continuation(system: System, formula: f.OnPaths) -> bool:
    """Tell whether a finite run for the formula needs a fair run that continues it.

    In a synchronous system without fairness conditions only the runs of CTL formulas may end.
    """
    return system.may_lack_fair_runs or (not system.has_idle_step and f.ctl_path(formula) is None)


class EvidenceError(Exception):
    """Evidence of an engine contradicts the system: an internal error."""


def goals(system: System, assuming: frozenset[str], along: f.Taken | None = None) -> tuple[Goal, ...]:
    """Return the goals of fair runs on which these roles keep going.

    On runs restricted to steps only these count as enabled.
    """
    constraints = system.constraints(assuming, None if along is None else steps_along(system, along))
    return (*constraints, *system.conditions)


def steps_along(system: System, along: f.Taken | None) -> frozenset[int]:
    """Return the positions of the steps that runs may take under the restriction."""
    return frozenset(index for index, step in enumerate(system.steps) if along is None or step.name in along.steps)


def unmet_goals(
    interpreter: Interpreter, goals: Sequence[Goal], loop: Run, is_met: Callable[[f.Regardless, State], bool]
) -> tuple[Goal, ...]:
    """Return the goals that a loop never meets; ``is_met`` decides those that variables do not decide."""
    return tuple(goal for goal in goals if not _meets(interpreter, goal, loop, is_met))


def _meets(interpreter: Interpreter, goal: Goal, loop: Run, is_met: Callable[[f.Regardless, State], bool]) -> bool:
    if isinstance(goal, f.Regardless):
        return any(is_met(goal, state) for state in loop.states)
    if not isinstance(goal, Justice):
        return any(holds(goal, state) for state in loop.states)
    return any(move.step in goal.steps for move in loop.moves) or any(
        not interpreter.is_waiting(state, goal) for state in loop.states
    )


def replay(system: System, evidence: Evidence, assuming: frozenset[str] = frozenset()) -> list[str]:
    """Return the problems of the evidence for a verdict on the system; none if it replays."""
    check = _Replay(system, assuming)
    problems = list(check.evidence(evidence))
    if not check.interpreter.is_initial(evidence.run.start):
        problems.append("the run does not begin in an initial state")
    return problems


def run_problems(
    interpreter: Interpreter,
    run: Run,
    goals: Sequence[Goal] = (),
    along: f.Taken | None = None,
    is_met: Callable[[f.Regardless, State], bool] = lambda *_: False,
) -> Iterator[str]:
    """Yield why this is not a run of the system from some state, fair if it is infinite, with the allowed steps.

    ``is_met`` decides fairness conditions that variables do not decide.
    """
    allowed = steps_along(interpreter.system, along)
    if not interpreter.is_state(run.start):
        yield "the run begins in what is not a state"
        return
    before = run.start
    for number, move in enumerate(run.moves, 1):
        if not interpreter.is_state(move.state):
            yield f"step {number} leads to what is not a state"
            return
        if interpreter.system.is_synchronous:
            if move.step is not None or not interpreter.leads_to(before, move.actions, move.state):
                yield f"round {number} does not lead there"
        elif move.step is None:
            if move.state != before:
                yield f"step {number} is idle and changes something"
        elif not 0 <= move.step < len(interpreter.system.steps):
            yield f"step {number} is none of the system"
        elif move.step not in allowed:
            yield f"step {number} takes `{interpreter.system.steps[move.step].name}`, which is not allowed on the run"
        elif not interpreter.is_enabled(before, move.step):
            yield f"step {number} takes `{interpreter.system.steps[move.step].name}`, which is not enabled"
        elif move.state not in interpreter.after(before, move.step):
            yield f"step {number} takes `{interpreter.system.steps[move.step].name}`, which does not lead there"
        before = move.state
    if run.loop is not None:
        yield from _loop_problems(interpreter, run, run.loop, goals, is_met)


def _loop_problems(
    interpreter: Interpreter, run: Run, entry: int, goals: Sequence[Goal], is_met: Callable[[f.Regardless, State], bool]
) -> Iterator[str]:
    if not 0 <= entry < len(run.moves):
        yield "the loop has no step"
        return
    if run.states[entry] != run.states[-1]:
        yield "the loop does not close"
    for goal in unmet_goals(interpreter, goals, Run(run.states[entry], run.moves[entry:]), is_met):
        yield f"the loop is not fair to {goal.name if isinstance(goal, Justice) else 'a fairness condition'}"


class _Replay:
    def __init__(self, system: System, assuming: frozenset[str]) -> None:
        self.system = system
        self.interpreter = interpreter_of(system)
        self.assuming = assuming
        self.good: dict[int, Evidence] = {}
        self.replayed: dict[int, Run] = {}

    def evidence(self, evidence: Evidence) -> Iterator[str]:
        """Yield the problems of one piece of evidence and of its parts."""
        if id(evidence) in self.good:
            return
        problems = list(self._problems(evidence))
        if not problems:
            self.good[id(evidence)] = evidence
        yield from problems

    def _problems(self, evidence: Evidence) -> Iterator[str]:
        along = evidence.formula.along if isinstance(evidence.formula, f.OnPaths) else None
        fair = goals(self.system, self.assuming, along)
        shown = [(part.formula, part.run.start) for _, part in evidence.parts if part.holds]
        is_shown = lambda condition, state: (condition, state) in shown  # noqa: E731
        run_wrong = list(run_problems(self.interpreter, evidence.run, fair, along, is_shown))
        yield from run_wrong
        if run_wrong:
            return
        if evidence.exhaustive:
            yield from _exhaustive_problems(evidence)
            return
        states = evidence.run.states
        for position, part in evidence.parts:
            if not 0 <= position < len(states) or part.run.start != states[position]:
                yield "the evidence for a part does not begin where it is needed"
                return
            yield from (self._regardless if isinstance(evidence.formula, f.Regardless) else self).evidence(part)
        yield from self._conclusion(evidence)

    @cached_property
    def _regardless(self) -> _Replay:
        """Replay on the system without fairness conditions."""
        return _Replay(self.system.without_conditions, self.assuming)

    def _conclusion(self, evidence: Evidence) -> Iterator[str]:
        facts = ThreeValuedRun.of(self.system, evidence)
        formula = evidence.formula
        match formula:
            case f.Knows() | f.KnownFrom():
                yield from self._pair_of_states(evidence)
            case f.OnPaths(quantifier):
                if evidence.holds is (quantifier == "E"):
                    yield from self._on_run(evidence, formula, facts)
                else:
                    yield "no single run is evidence for a universal value"
            case f.Enforces():
                from cplc.checking.strategy_play import strategy_problems

                yield from strategy_problems(self.system, evidence, self.assuming)
            case f.Adjacent(back=True) if evidence.holds:
                yield from self._pair_of_states(evidence)
            case f.Adjacent() if evidence.holds:
                yield from self._one_round(evidence, formula, facts)
            case f.Adjacent():
                if not none_leads(self.interpreter, formula, evidence.run.start):
                    yield "some round may lead there"
            case f.Regardless(operand):
                if evidence.run.moves or facts.shown_value(operand, 0) is not evidence.holds:
                    yield "without conditions of fairness the state does not have the value claimed"
            case f.Atom() | f.Not() | f.And() | f.Derived() if f.is_state_formula(formula):
                if evidence.run.moves:
                    yield "a run is given for what one state decides"
                if facts.truth(formula) is not evidence.holds:
                    yield "the state does not have the value claimed"
            case f.Atom() | f.Not() | f.And() | f.Derived() | f.PathOperator():
                yield "a path formula has no value in a state"
            case _:
                assert_never(formula)

    def _on_run(self, evidence: Evidence, formula: f.OnPaths, facts: ThreeValuedRun) -> Iterator[str]:
        if facts.truth(formula.path) is not evidence.holds:
            yield "the run does not give the path formula the value claimed"
        last = len(evidence.run.moves)
        ends = evidence.run.loop is None and needs_fair_continuation(self.system, formula)
        if ends and facts.shown_value(some_fair_run(formula.along), last) is not True:
            yield "no fair run is shown to go on where the run ends"

    def _one_round(self, evidence: Evidence, formula: f.Adjacent, facts: ThreeValuedRun) -> Iterator[str]:
        run = evidence.run
        if len(run.moves) != 1 or run.loop is not None:
            yield "it takes one round"
            return
        if facts.truth(formula.operand, 1) is not True:
            yield "the state after the round does not satisfy the operand"
        if not agree(formula, *run.states):
            yield "something changes in the round that is to stay"
        if self.system.excludes_unfair_states and facts.shown_value(f.SOME_FAIR_RUN, 1) is not True:
            yield "no fair run is shown to begin after the round"
        done = dict(zip(self.system.player, run.moves[0].actions, strict=True))
        if formula.choice is not None and done[formula.choice[0]] != formula.choice[1]:
            yield f"{formula.choice[0]} is another one"

    # --- pairs of states
    def _pair_of_states(self, evidence: Evidence) -> Iterator[str]:
        elsewhere, other_evidence = evidence.elsewhere, evidence.alternative
        if elsewhere is None or other_evidence is None or elsewhere.loop is not None or evidence.run.moves:
            yield "a pair of states is needed, and a run to the other one"
            return
        yield from self._elsewhere(elsewhere)
        if other_evidence.run.start != elsewhere.states[-1]:
            yield "the evidence for the other state begins in another one"
        yield from self.evidence(other_evidence)
        here, other = evidence.run.start, elsewhere.states[-1]
        if self.system.excludes_unfair_states:
            yield from self._lasting(evidence.lasting, other)
        claim = (other_evidence.formula, other_evidence.holds)
        formula = evidence.formula
        if isinstance(formula, f.Adjacent):
            if claim != (formula.operand, True):
                yield "the state before the round does not satisfy the operand"
            if not led_here(self.interpreter, formula, other, here):
                yield "no such round leads here"
        elif evidence.holds or not isinstance(formula, f.Knows | f.KnownFrom):
            yield "a pair of states is no evidence for a universal value"
        else:
            is_common = isinstance(formula, f.Knows) and formula.mode == "common" and claim == (formula, False)
            if claim != (formula.operand, False) and not is_common:
                yield "the other state is not shown to lack what should be known"
            if isinstance(formula, f.Knows):
                yield from _confused_agents(formula, evidence.agents)
                yield from self._alike(evidence.agents, here, other)
            elif any(value(expr, here) != value(expr, other) for expr in formula.observed):
                yield "the two states differ in what is observed"

    def _lasting(self, lasting: Evidence | None, other: State) -> Iterator[str]:
        if lasting is None or not lasting.holds or (lasting.formula, lasting.run.start) != (f.SOME_FAIR_RUN, other):
            yield "no fair run is shown to begin in the other state"
        else:
            yield from self.evidence(lasting)

    def _elsewhere(self, run: Run) -> Iterator[str]:
        """Yield the problems of a run to another state; pairs may share one."""
        if id(run) in self.replayed:
            return
        problems = list(run_problems(self.interpreter, run))
        if not self.interpreter.is_initial(run.start):
            problems.append("the run to the other state does not begin in an initial state")
        if not problems:
            self.replayed[id(run)] = run
        yield from problems

    def _alike(self, agents: Iterable[str], here: State, other: State) -> Iterator[str]:
        for name in agents:
            if any(here[variable] != other[variable] for variable in self.system.agent[name].local):
                yield f"{name} can tell the two states apart"


def _exhaustive_problems(evidence: Evidence) -> Iterator[str]:
    if evidence.run.moves or evidence.parts or evidence.elsewhere is not None or evidence.alternative is not None:
        yield "exhaustive evidence has a run or parts"
    formula = evidence.formula
    match formula:
        case f.OnPaths(quantifier):
            universal = evidence.holds is (quantifier == "A")
        case f.Knows() | f.KnownFrom():
            universal = evidence.holds
        case f.Enforces():
            universal = True
        case f.Adjacent():
            universal = not evidence.holds
        case f.Atom() | f.Not() | f.And() | f.PathOperator() | f.Regardless() | f.Derived():
            universal = False
        case _:
            assert_never(formula)
    if not universal:
        yield "evidence by one run or state is marked as exhaustive"


def _confused_agents(formula: f.Knows, agents: tuple[str, ...]) -> Iterator[str]:
    """Yield what is wrong with the agents that should confuse two states."""
    if formula.mode == "together" and set(agents) != set(formula.agents):
        yield "not all the agents who know together are considered"
    if bool(agents) != bool(formula.agents) or not set(agents) <= set(formula.agents):
        yield "the pair is one of other agents"
    if formula.mode != "together" and len(agents) != 1:
        yield "one agent is enough, and needed"
