"""Name resolution and type checking of participants (`agent`, `analyze`), once for a whole family."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Final, get_args

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean
from cplc.semantics import resolved, statements
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.expressions import ExpressionChecker, Purpose
from cplc.semantics.model import Aspect
from cplc.semantics.references import Scope
from cplc.source import Span
from cplc.syntax import ast

ASPECTS: Final[tuple[Aspect, ...]] = get_args(Aspect)


class AgentChecker:
    """Reads `agent` and `analyze`."""

    def __init__(self, problems: DiagnosticSink, expression_checker: ExpressionChecker) -> None:
        self._problems = problems
        self._expression_checker = expression_checker

    def agent(self, symbol: resolved.AgentSymbol, scope: Scope) -> Iterator[statements.Agent]:
        """Yield the agent, unless it has errors."""
        before = self._problems.errors
        role_trees = [self._expression_checker.names.roles(ref, scope) for ref in symbol.node.roles]
        roles = tuple(role for role in role_trees if role is not None)
        own = (
            actor_of(roles[0]) if len(role_trees) == 1 and roles and not isinstance(roles[0], resolved.AllOf) else None
        )
        items = tuple(self._items(symbol.node.body, scope, own))
        if self._problems.errors == before:
            yield statements.Agent(symbol, roles, items)

    def _items(
        self,
        items: Iterable[ast.AgentItem],
        scope: Scope,
        own: tuple[resolved.RoleTree, resolved.RoleSymbol] | None,
    ) -> Iterator[statements.AgentItem]:
        names = self._expression_checker.names
        seeing = replace(scope, actor=own)
        for item in items:
            match item:
                case ast.Goal(condition):
                    goal = self._expression_checker.condition(condition, scope, Purpose.STATE)
                    yield statements.Goal(goal, condition.span)
                case ast.Values(worths):
                    for worth in worths:
                        if (valued := names.messages(worth.message, scope)) is not None:
                            yield statements.Worth(valued, worth.amount.value, worth.message.span)
                case ast.Belief(ref, when, events):
                    role = names.role(ref, scope)
                    where = self._when(when, seeing)
                    believed = tuple(event for one in events for event in self._event(one, scope))
                    if role is not None:
                        yield statements.Belief(role, where, believed, item.span)
                case ast.Decision(messages, when):
                    chosen = [names.messages(ref, scope) for ref in messages]
                    where = self._when(when, seeing)
                    yield statements.Decision(tuple(one for one in chosen if one is not None), where, item.span)
                case ast.Each(variable, domain, body):
                    self._expression_checker.introduce(variable, scope)
                    over = names.domain(domain, scope)
                    if over is not None:
                        binder = resolved.Binder(variable.text, over, variable.span)
                        inside = tuple(self._items(body, scope.with_local(variable.text, binder), own))
                        yield statements.Each(binder, inside)

    def _when(self, condition: ast.Expr | None, scope: Scope) -> resolved.Tree:
        return (
            resolved.TRUE if condition is None else self._expression_checker.condition(condition, scope, Purpose.LOCAL)
        )

    def _event(self, event: ast.Event, scope: Scope) -> Iterator[statements.Event]:
        message = self._expression_checker.names.message(event.message, scope)
        low, high = event.low.value, (event.high or event.low).value
        for bound in (event.low, event.high or event.low):
            self._probability(bound)
        if low > high:
            text = f"The range {event.low.span.text}..{(event.high or event.low).span.text} contains no probability"
            self._problems.report(rules.EMPTY_RANGE, event.span, text)
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
        yield statements.Event(message, payload if event.payload else None, low, high, event.span)

    def _probability(self, number: ast.Decimal) -> None:
        if not 0 <= number.value <= 1:
            message = f"The probability {number.span.text} is not between 0 and 1"
            self._problems.report(rules.VALUE_OUT_OF_RANGE, number.span, message)

    def analyze(self, node: ast.Analyze, scope: Scope) -> Iterator[statements.Analyze]:
        """Yield the analysis of an agent, unless it has errors."""
        before = self._problems.errors
        agent = self._expression_checker.names.agent(node.agent, scope)
        for threshold in node.thresholds:
            self._probability(threshold.value)
            if threshold.aspect.text not in ASPECTS:
                notes = did_you_mean(threshold.aspect.text, ASPECTS)
                message = f"`{threshold.aspect.text}` cannot be analyzed"
                notes = notes or (Note("an agent is analyzed for " + ", ".join(ASPECTS)),)
                self._problems.report(rules.UNKNOWN_NAME, threshold.aspect.span, message, *notes)
            elif agent is not None:
                self._deciding(threshold, agent)
        if agent is not None and self._problems.errors == before:
            yield statements.Analyze(node, agent)

    def _deciding(self, threshold: ast.Threshold, agent: resolved.Instance) -> None:
        """Warn of a threshold that is always or never met."""
        assert isinstance(agent.symbol, resolved.AgentSymbol)
        body, name = tuple(_inside(agent.symbol.node.body)), agent.symbol.name
        limit = threshold.value.value
        if threshold.relation == ">" and limit == 1:
            why = "No probability is above 1"
        elif threshold.relation == ">=" and limit == 0:
            why = "Every probability is at least 0"
        elif threshold.aspect.text == "benefit" and not any(isinstance(item, ast.Values) for item in body):
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
