"""Checking of participants: agents, their beliefs, goals and decisions, and the assumptions of questions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Final, get_args

from cplc.diagnostics import rules
from cplc.diagnostics.core import Edit, Fix, Note, did_you_mean, suggestion
from cplc.language.words import SILENT
from cplc.semantics import resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.expressions import ExpressionChecker, Purpose
from cplc.semantics.model import Aspect
from cplc.semantics.name_resolution import Scope
from cplc.source import Span
from cplc.syntax import ast


class AssumptionChecker:
    """Reads the roles and messages after `assuming`."""

    def __init__(self, problems: DiagnosticSink, expression_checker: ExpressionChecker) -> None:
        self._problems = problems
        self._expression_checker = expression_checker

    def assumed(self, nodes: Iterable[ast.Assumed], scope: Scope) -> tuple[resolved.Assumed, ...]:
        """Return the roles and messages, without those that have errors."""
        assumptions = tuple(self._resolved(nodes, scope))
        for before, one in pairwise(assumptions):
            is_message = isinstance(before.subject, resolved.Instance | resolved.EveryInstance)
            if before.within is None and one.within is not None and not is_message:
                self._report_bound_of_last(before.span, one.span)
        return assumptions

    def _report_bound_of_last(self, first: Span, last: Span) -> None:
        """Warn of `assuming A, B within 1`: bounds of messages are about those before them too, and this one is not."""
        within = last.text[last.text.rindex("within") :]
        both, swapped = f"{first.text} {within}, {last.text}", f"{last.text}, {first.text}"
        self._problems.report(
            rules.BOUND_OF_LAST,
            Span(first.source, first.start, last.end),
            f"`{within}` is about `{last.text.removesuffix(within).strip()}` alone, not about `{first.text}`",
            suggestion(f"write `{both}` for both, or `{swapped}`", both, swapped),
        )

    def _resolved(self, nodes: Iterable[ast.Assumed], scope: Scope) -> Iterator[resolved.Assumed]:
        for assumed in nodes:
            within = None if assumed.within is None else self._expression_checker.ticks(assumed.within, scope)
            if assumed.subject.span.text == "all":
                yield resolved.Assumed(None, within, assumed.span)
            elif (subject := self._expression_checker.names.assumed(assumed.subject, scope)) is not None:
                yield resolved.Assumed(subject, within, assumed.span)


ASPECTS: Final[tuple[Aspect, ...]] = get_args(Aspect)


class AgentChecker:
    """Reads `agent` and `analyze`."""

    def __init__(self, problems: DiagnosticSink, expression_checker: ExpressionChecker) -> None:
        self._problems = problems
        self._expression_checker = expression_checker
        self._assumptions = AssumptionChecker(problems, expression_checker)

    def agent(self, symbol: resolved.AgentSymbol, scope: Scope) -> Iterator[resolved.Agent]:
        """Yield the agent, unless it has errors."""
        before = self._problems.errors
        role_trees = [self._expression_checker.names.roles(ref, scope) for ref in symbol.node.roles]
        roles = tuple(role for role in role_trees if role is not None)
        self._expression_checker.names.refuse_records(roles, "decides nothing, and has no goals")
        own = (
            actor_of(roles[0]) if len(role_trees) == 1 and roles and not isinstance(roles[0], resolved.AllOf) else None
        )
        items = tuple(self._items(symbol.node.body, scope, own))
        if self._problems.errors == before:
            yield resolved.Agent(symbol, roles, items)

    def _items(
        self,
        items: Iterable[ast.AgentItem],
        scope: Scope,
        own: tuple[resolved.RoleTree, resolved.RoleSymbol] | None,
    ) -> Iterator[resolved.AgentItem]:
        names = self._expression_checker.names
        seeing = replace(scope, actor=own)
        for item in items:
            match item:
                case ast.Goal(condition):
                    goal = self._expression_checker.goal(condition, scope)
                    yield resolved.Goal(goal, condition.span)
                case ast.Values(worths):
                    for worth in worths:
                        if (valued := names.messages(worth.message, scope)) is not None:
                            yield resolved.Worth(valued, worth.amount.value, worth.message.span)
                case ast.Belief(ref, when, events, bound):
                    role = names.role(ref, scope)
                    where = self._when(when, seeing)
                    believed = tuple(event for one in events for event in self._event(one, scope))
                    within = None if bound is None else self._expression_checker.ticks(bound, scope)
                    if role is not None:
                        yield resolved.Belief(role, where, believed, within, item.span)
                case ast.Decision(messages, when):
                    chosen = [names.messages(ref, scope) for ref in messages]
                    where = self._when(when, seeing)
                    yield resolved.Decision(tuple(one for one in chosen if one is not None), where, item.span)
                case ast.Each(variable, domain, body):
                    self._expression_checker.introduce(variable, scope)
                    over = names.domain(domain, scope)
                    if over is not None:
                        binder = resolved.Binder(variable.text, over, variable.span)
                        inside = tuple(self._items(body, scope.with_local(variable.text, binder), own))
                        yield resolved.Each(binder, inside)

    def _when(self, condition: ast.Expr | None, scope: Scope) -> resolved.Tree:
        return (
            resolved.TRUE if condition is None else self._expression_checker.condition(condition, scope, Purpose.LOCAL)
        )

    def _event(self, event: ast.Event, scope: Scope) -> Iterator[resolved.BeliefEvent]:
        is_silent = event.message.span.text == SILENT and not scope.declares(SILENT)
        message = None if is_silent else self._expression_checker.names.message(event.message, scope)
        low, high = event.low.value, (event.high or event.low).value
        for bound in (event.low, event.high or event.low):
            self._probability(bound)
        if low > high:
            text = f"The range {event.low.span.text}..{(event.high or event.low).span.text} contains no probability"
            self._problems.report(rules.EMPTY_RANGE, event.span, text)
        if is_silent:
            if event.payload:
                self._problems.report(rules.WRONG_ARGUMENTS, event.message.span, "`silent` has no parameters")
            else:
                yield resolved.BeliefEvent(None, None, low, high, event.span)
            return
        if message is None or not isinstance(message.symbol, resolved.MessageSymbol):
            return
        declared = message.symbol.parameters
        if event.payload and len(event.payload) != len(declared):
            takes = f"`{message.symbol.name}` has {len(declared) or 'no'} parameters, not {len(event.payload)}"
            self._problems.report(rules.WRONG_ARGUMENTS, event.message.span, takes)
            return
        payload = tuple(
            self._expression_checker.initial(value, scope, ranged.type)
            for value, ranged in zip(event.payload, declared.values(), strict=False)
        )
        yield resolved.BeliefEvent(message, payload if event.payload else None, low, high, event.span)

    def _probability(self, number: ast.Decimal) -> None:
        if not 0 <= number.value <= 1:
            message = f"The probability {number.span.text} is not between 0 and 1"
            self._problems.report(rules.VALUE_OUT_OF_RANGE, number.span, message)

    def analyze(self, node: ast.Analyze, scope: Scope) -> Iterator[resolved.Analyze]:
        """Yield the analysis of an agent, unless it has errors."""
        before = self._problems.errors
        agent = self._expression_checker.names.agent(node.agent, scope)
        assuming = self._assumptions.assumed(node.assuming, scope)
        for threshold in node.thresholds:
            if threshold.aspect.text != "value":
                self._probability(threshold.value)
            if threshold.aspect.text not in ASPECTS:
                notes = did_you_mean(threshold.aspect.text, ASPECTS)
                message = f"`{threshold.aspect.text}` cannot be analyzed"
                notes = notes or (Note("an agent is analyzed for " + ", ".join(ASPECTS)),)
                self._problems.report(rules.UNKNOWN_NAME, threshold.aspect.span, message, *notes)
            elif agent is not None:
                self._deciding(threshold, agent)
        self._report_early_expectations(node)
        if agent is not None and self._problems.errors == before:
            yield resolved.Analyze(node, agent, assuming)

    def _report_early_expectations(self, node: ast.Analyze) -> None:
        """Report thresholds before the last one that have an `expect` of their own."""
        for threshold, following in pairwise(node.thresholds):
            if threshold.expect is not None:
                message = "`expect` is about the whole line, whose thresholds one plan has to meet together"
                between = Span(threshold.span.source, threshold.span.end, following.span.start)
                head = node.span.text.partition(":")[0]
                title = f"ask for what follows in a line of its own: `{head}: …`"
                fix = Fix(title, (Edit(between, f"\n  {head}: "),))
                span = Span(threshold.span.source, threshold.value.span.end, threshold.span.end)
                self._problems.report(rules.EXPECT_OF_ONE_THRESHOLD, span, message, fixes=(fix,))

    def _deciding(self, threshold: ast.Threshold, agent: resolved.Instance) -> None:
        """Warn of a threshold that is always or never met."""
        assert isinstance(agent.symbol, resolved.AgentSymbol)
        body, name = tuple(_inside(agent.symbol.node.body)), agent.symbol.name
        limit = threshold.value.value
        is_value = threshold.aspect.text == "value"
        if threshold.relation == ">" and limit == 1 and not is_value:
            self._problems.report(rules.VALUE_OUT_OF_RANGE, _upto(threshold), "No probability is above 1")
            return
        if threshold.relation == ">=" and limit == 0 and not is_value:
            why = "Every probability is at least 0"
        elif threshold.aspect.text in ("benefit", "value") and not any(isinstance(item, ast.Values) for item in body):
            why = f"`{name}` declares no `value`, so it never gains"
        elif threshold.aspect.text == "achievement" and not any(isinstance(item, ast.Goal) for item in body):
            why = f"`{name}` has no goal, so it always achieves all"
        else:
            return
        self._problems.report(rules.IDLE_THRESHOLD, _upto(threshold), why)


def _upto(threshold: ast.Threshold) -> Span:
    return Span(threshold.span.source, threshold.span.start, threshold.value.span.end)


def _inside(items: Iterable[ast.AgentItem]) -> Iterator[ast.AgentItem]:
    for item in items:
        yield item
        if isinstance(item, ast.Each):
            yield from _inside(item.body)


def actor_of(role: resolved.RoleTree | None) -> tuple[resolved.RoleTree, resolved.RoleSymbol] | None:
    """Return the role whose variables need no qualification where this one acts."""
    match role:
        case resolved.RoleAt(symbol):
            return role, symbol
        case resolved.LoopValue(resolved.Binder(_, resolved.FamilyDomain(symbol))):
            return role, symbol
        case _:
            return None
