"""Explanation of a failure, after its run: violations, the point of no return, responsibility."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final

from cplc.checking.responsibility import Violation, lasso_evidence, neglected_sends, violations
from cplc.checking.results import Avoidance, Responsibility, Result, WayOut
from cplc.language.groups import agreeing, answerable_text, is_on, members, side_text
from cplc.language.lifecycle import CLOSED
from cplc.logic import formulas as f
from cplc.logic.expressions import reads
from cplc.report.deadline_account import DeadlineAccount, account_sentence, deadline_accounts
from cplc.report.repairs import repair_sentences
from cplc.report.step_text import counted, joined, shortened, step_text, ticks_text
from cplc.report.strategy_text import no_return_sentence
from cplc.report.trace_narration import has_trace, narrate, told
from cplc.system.model import Commitment, State, System
from cplc.system.printer import formula_text, quoted
from cplc.system.trace import Evidence

if TYPE_CHECKING:
    from cplc.checking.commitment_remarks import UnkeptPromises

_MAX_VIOLATIONS: Final = 5
_MAX_WAYS_OUT: Final = 3


def closing_sentences(result: Result, *, with_run: bool = True) -> Iterator[str]:
    """Yield the sentences after the run of a failure: violations, the point of no return, responsibility.

    Without the run, sentences about its steps are omitted.
    """
    if with_run:
        yield from lasting_message_sentences(result)
        yield from violation_sentences(result)
        yield from deadline_sentences(result)
        if (lost := no_return_sentence(result)) is not None:
            yield lost
        yield from promise_sentences(result)
    yield from blame_sentences(result, with_run=with_run)
    if (sentence := helping_bounds_sentence(result)) is not None:
        yield sentence
    yield from repair_sentences(result)


def helping_bounds_sentence(result: Result) -> str | None:
    """Return how soon roles would have to act for the property to hold; None if no bounds would help."""
    helping = result.helping_bounds
    if helping is None or helping.ticks is None:
        return None
    ticks = counted(helping.ticks, "tick")
    condition = f"{joined(helping.roles, 'and')} acted within {ticks}" if helping.ticks else None
    condition = condition or f"{joined(helping.roles, 'and')} acted at once"
    assumption = f"assuming {', '.join(f'{role} within {helping.ticks}' for role in helping.roles)}"
    if helping.is_delayed:
        took = f"messages took at most {ticks}" if helping.ticks else "messages took no time"
        return f"It would hold if {condition} and {took} ({assumption}, and `channel within {helping.ticks}`)."
    return f"It would hold if {condition} ({assumption})."


def violations_of(result: Result) -> tuple[Violation, ...]:
    """Return the violations on the run that refutes the property."""
    if result.answer != "fails" or result.evidence is None or not has_trace(result.evidence):
        return ()
    return violations(result.system, narrate(result.system, result.evidence).run)


def lasting_message_sentences(result: Result) -> Iterator[str]:
    """Yield that a message stays true, if the property may forbid only its sending: `AG (m -> AG !before)`."""
    evidence = result.evidence
    forbidden = f.invariant(result.question.formula)
    is_check = result.question.kind not in ("property", "formula")
    if evidence is None or is_check or not isinstance(forbidden, f.Implies):
        return
    operand = f.invariant(forbidden.right) or forbidden.right
    run = told(result.system, evidence).run
    if not isinstance(operand, f.Not) or not isinstance(operand.operand, f.Atom) or len(run.moves) < 2:
        return
    states, names = run.states, reads(operand.operand.condition)
    variables = [result.system.variable.get(name) for name in names]
    copies = [one.name for one in variables if one is not None and one.kind == "copy"]
    if len(names) != 1 or not copies or not all(state[copies[0]] for state in states[-2:]):
        return
    since = next(at for at in range(len(states)) if all(state[copies[0]] for state in states[at:]))
    message = result.system.variable[copies[0]].about
    yield (
        f"`{message}` is true since step {since}, as long as nothing resets it; if the property is about sending it, "
        f"write `does(send {message})`."
    )


def violation_sentences(result: Result) -> Iterator[str]:
    """Yield a sentence for each violated commitment: its debtor, step and cause; repetitions are joined."""
    evidence = result.evidence
    last = 0 if evidence is None else len(told(result.system, evidence).run.moves)
    every = [one for one in violations_of(result) if one.step <= last]
    for name in list(dict.fromkeys(one.name for one in every))[:_MAX_VIOLATIONS]:
        first, *again = (one for one in every if one.name == name)
        steps = f"step{'s' if len(again) > 1 else ''} {joined([str(one.step) for one in again], 'and')}"
        yield f"{violation_text(result.system, first)}{f', and again at {steps}' if again else ''}."
    if (more := len({one.name for one in every}) - _MAX_VIOLATIONS) > 0:
        yield f"{counted(more, 'more commitment')} {'is' if more == 1 else 'are'} violated on this run."


def accounts_of(result: Result) -> tuple[DeadlineAccount, ...]:
    """Return the account of each deadline that runs out on the run that refutes the property."""
    if result.answer != "fails" or result.evidence is None or not has_trace(result.evidence):
        return ()
    return deadline_accounts(result.system, narrate(result.system, result.evidence).run)


def deadline_sentences(result: Result) -> Iterator[str]:
    """Yield what each deadline that ran out waited for, and how long: for each commitment the first time."""
    first: dict[str, DeadlineAccount] = {}
    for account in accounts_of(result):
        first.setdefault(account.commitment, account)
    for account in list(first.values())[:_MAX_VIOLATIONS]:
        if (sentence := account_sentence(result.system, account)) is not None:
            yield sentence
        for message in (one.message for one in account.awaited):
            sender = result.system.message[message].sender
            bounds = dict(result.question.bounds)
            if bounds.get(message, bounds.get(sender)) == account.ticks:
                limit = counted(account.ticks, "tick")
                too_late = f"within {limit} is too late for `{message}`"
                yield f"A deadline of {limit} runs out with the last one, so {too_late}."


def unkept_of(result: Result) -> tuple[UnkeptPromises, ...]:
    """Return the channels of the formula without promise, or with one that is not kept, at the end of the run."""
    if result.answer != "fails" or result.evidence is None or not has_trace(result.evidence):
        return ()
    from cplc.checking.commitment_remarks import unkept_promises

    last = narrate(result.system, result.evidence).run.states[-1]
    return tuple(unkept_promises(result.system, result.question.formula, last))


def promise_sentences(result: Result) -> Iterator[str]:
    """Yield the promises in the formula that are not made, or not kept, at the end of the run."""
    owed = () if result.blame is None else result.blame.owed
    for unkept in unkept_of(result)[:_MAX_VIOLATIONS]:
        if unkept.promises_nothing:
            pairs = zip(unkept.commitments, unkept.states, strict=True)
            shown = joined([f"{name} is {state}" for name, state in islice(pairs, _MAX_VIOLATIONS)], "and")
            promises = f"{side_text(unkept.debtor)} {agreeing(unkept.debtor, 'promises', 'promise')}"
            yield f"At the end {promises} {side_text(unkept.creditor)} nothing: {shown}."
        elif not set(unkept.commitments) <= set(owed):
            names = joined(unkept.commitments, "and")
            promised = f"{side_text(unkept.debtor)} {agreeing(unkept.debtor, 'has', 'have')} promised"
            yield f"At the end {promised} {names} to {side_text(unkept.creditor)} and not kept it."


def violation_text(system: System, violation: Violation) -> str:
    """Return one violation as a clause."""
    who, towards = answerable_text(violation.by, violation.answerable), side_text(violation.towards)
    what = f"{who} violated {violation.name} towards {towards} at step {violation.step}"
    content = system.commitment[violation.name].content if violation.name in system.commitment else ""
    if content:
        what = f"{what}, having promised `{content}`"
    if violation.message is not None:
        message = system.message[violation.message]
        sent = f"`{message.channel_text} : {message.name}`"
        if violation.empowered is not None:
            return f"{what}: {violation.empowered} has the power to say so, and did by {sent}"
        return f"{what}, by {sent}" if message.sender in members(violation.by) else f"{what}, when {sent} took effect"
    within = system.commitment[violation.name].within
    if within is None:
        return f"{what}: it can no longer be so"
    if f"{system.commitment[violation.name].variable}.within" in system.variable:
        return f"{what}: its deadline ran out"
    return f"{what}: its deadline of {ticks_text(system, within)} ran out"


def blame_sentences(result: Result, *, with_run: bool = True) -> Iterator[str]:
    """Yield the roles that stopped and their debts, or how the goal was avoided, and the coalitions that would help."""
    blamed = result.blame
    if blamed is None:
        return
    ending = None if result.evidence is None else lasso_evidence(result.evidence)
    able = {} if ending is None else neglected_sends(result.system, ending)
    for role in blamed.stopped:
        owed = [c for c in result.system.commitments if c.name in blamed.owed and role in c.debtors]
        debts = joined([f"{commitment.name} to {side_text(commitment.creditor)}" for commitment in owed], "and")
        stopped = f"{role} stopped: it could send {joined(able.get(role, ()), 'or')} forever and never did"
        yield f"{stopped}; it still owed {debts}." if debts else f"{stopped}."
    if blamed.avoidance is not None and result.evidence is not None and with_run:
        yield from _avoidance_sentences(result, blamed.avoidance, result.evidence)
        for commitment in result.system.commitments:
            if commitment.name in blamed.owed:
                owes = agreeing(commitment.debtor, "owes", "owe", commitment.answerable)
                owes = (
                    f"{commitment.answerable_text} {owes} {commitment.name} to {side_text(commitment.creditor)} forever"
                )
                acting = blamed.avoidance.acting
                does = agreeing(commitment.debtor, "does", "do", commitment.answerable)
                is_outside = bool(acting) and not is_on(acting, commitment.debtor)
                yield f"{owes}{f', but {does} not take part in the loop' if is_outside else ''}."
                yield from _debtor_view_sentences(commitment, told(result.system, result.evidence).run.states)
    ways_out = blamed.avoidance.ways_out if blamed.avoidance is not None and with_run else ()
    ensuring = [way for way in ways_out[:_MAX_WAYS_OUT] if way.ensures]
    if result.helping_bounds is not None and blamed.is_realizable and not blamed.coalitions:
        if result.helping_bounds.ticks is None:
            yield "It would not hold even if all roles acted at once."
        return
    yield from _remedy(blamed, ensuring, all_go_on=ending is not None and not able)


def _debtor_view_sentences(commitment: Commitment, states: Sequence[State]) -> Iterator[str]:
    """Yield since when an owed commitment is over in the debtor's own view, by which it decides."""
    for role, variable in commitment.views:
        view = states[-1].get(variable)
        if role in commitment.debtors and view in CLOSED:
            since = max((at for at, state in enumerate(states) if state[variable] != view), default=-1) + 1
            yield f"As {role} sees it, {commitment.name} is {view} since step {since}."


def _avoidance_sentences(result: Result, avoided: Avoidance, evidence: Evidence) -> Iterator[str]:
    narration = told(result.system, evidence)
    if narration.settled is not None:  # the run has told it
        return
    system, run = result.system, narration.run
    goal = quoted(avoided.goal, shortened(formula_text(avoided.goal)))
    if avoided.lost == 0:
        yield f"{goal} can never hold, even if all roles keep going."
        return
    if avoided.lost is not None:
        step = step_text(system, run.states[avoided.lost - 1], run.moves[avoided.lost - 1])
        yield f"After step {avoided.lost}, `{step}`, {goal} can no longer hold, even if all roles keep going."
        return
    if run.loop is None or not avoided.acting:
        return
    where = f"step {run.loop + 1}" if run.loop + 1 == len(run.moves) else f"steps {run.loop + 1}-{len(run.moves)}"
    loop = [at for at in range(run.loop, len(run.moves)) if run.moves[at].step is not None]
    relevant = [at for at in loop if at not in narration.irrelevant]
    taken = [system.steps[run.moves[at].step or 0] for at in relevant or loop]
    sends = [s for s in taken if s.kind in ("send", "exchange") and s.actor in avoided.acting]
    acting = [role for role in avoided.acting if any(step.actor == role for step in sends)] or avoided.acting
    who, repeat = joined(acting, "and"), "repeats" if len(acting) == 1 else "repeat"
    events = ", ".join(dict.fromkeys(step.event for step in sends))
    yield f"{who} {repeat} {where} ({events}) forever, and {goal} fails."
    for way in avoided.ways_out[:_MAX_WAYS_OUT]:
        could = f"{way.role} could send {way.message} after step {way.after} and never does"
        yield f"{could}; after that send, {goal} would hold if all roles kept going." if way.ensures else f"{could}."


def _remedy(blamed: Responsibility, ensuring: Sequence[WayOut], *, all_go_on: bool) -> Iterator[str]:
    """Yield the coalitions that would help; without any, why the sends that ensure the goal are not forced."""
    if not blamed.is_realizable:
        yield "If all roles kept going no run would be fair."
        return
    if not blamed.coalitions and ensuring:
        sends = joined([f"{way.role} to send {way.message}" for way in ensuring], "or")
        if all_go_on:
            yield f"All roles keep going on this run, but that does not force {sends}."
        else:
            yield f"It would not hold even if all roles kept going: that does not force {sends}."
        return
    if not blamed.coalitions:
        here = ", as they do on this run" if all_go_on else ""
        yield f"It would not hold even if all roles kept going{here}."
        return
    ways = [joined(roles, "and") for roles in blamed.coalitions]
    assumptions = [f"assuming {', '.join(roles)}" for roles in blamed.coalitions]
    yield f"It would hold if {'; or if '.join(ways)} kept going ({'; '.join(assumptions)})."
