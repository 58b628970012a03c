"""Checker of ISPL: from the syntax tree of a file to its resolved model and diagnostics."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeVar

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, Note, did_you_mean
from cplc.ispl.semantics import model
from cplc.ispl.semantics.conditions import Conditions, Place
from cplc.ispl.semantics.declarations import Declarations, Declared, declarations
from cplc.ispl.semantics.formulas import Formulas
from cplc.ispl.semantics.lints import lints
from cplc.ispl.syntax import ast
from cplc.records import dataclass
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.source import Span

Part = TypeVar("Part")


@dataclass(frozen=True)
class Checked:
    """The model of a file, None if it has errors, and the diagnostics."""

    model: model.Model | None
    diagnostics: tuple[Diagnostic, ...]


def check(file: ast.File, *, unread: frozenset[str] | None = frozenset(), is_incomplete: bool = False) -> Checked:
    """Resolve a file; ``unread`` are the words of statements with syntax errors."""
    problems = DiagnosticSink()
    problems.is_incomplete, problems.unread = is_incomplete, unread
    checked = _Checker(file, problems).result()
    if checked is not None and not problems.errors and not is_incomplete:
        problems.extend(lints(checked, {agent.name.text: agent.name.span for agent in file.agents}, file.initial))
    return Checked(None if problems.errors else checked, problems.sorted())


def check_formula(node: ast.Specification, file: ast.File) -> tuple[model.Specification | None, tuple[Diagnostic, ...]]:
    """Resolve a formula over the declarations of a file without errors."""
    problems = DiagnosticSink()
    formula = Formulas(declarations(file, DiagnosticSink()), problems).specification(node)
    return None if formula is None or problems.errors else _specified(node, formula), problems.sorted()


class _Checker:
    def __init__(self, file: ast.File, problems: DiagnosticSink) -> None:
        self._file = file
        self._problems = problems
        self._declared: Declarations = declarations(file, problems)

    def result(self) -> model.Model | None:
        file, declared = self._file, self._declared
        agents = [self._agent(agent) for agent in declared.agents.values()]
        everywhere = Conditions(declared, None, "evaluation", self._problems)
        propositions = [
            None if (condition := everywhere.condition(one.condition)) is None else model.Proposition(name, condition)
            for name, one in declared.propositions.items()
        ]
        for repeated in file.propositions:
            if declared.propositions[repeated.name.text] is not repeated:
                everywhere.condition(repeated.condition)
        starting = Conditions(declared, None, "initial states", self._problems)
        initial = None if file.initial is None else starting.condition(file.initial)
        formulas = Formulas(declared, self._problems)
        fairness = [formulas.fairness(one) for one in file.fairness]
        specifications = [
            None if (formula := formulas.specification(one)) is None else _specified(one, formula)
            for one in file.specifications
        ]
        self._report_unused(formulas)
        if initial is None:
            return None
        return model.Model(
            file.semantics == "SA",
            _present(agents),
            _present(propositions),
            initial,
            tuple(declared.groups.items()),
            _present(fairness),
            _present(specifications),
            initial_span=None if file.initial is None else file.initial.span,
            fairness_spans=tuple(one.span for one in file.fairness),
        )

    # --- agents

    def _agent(self, declared: Declared) -> model.Agent | None:
        node = declared.node
        protocol = [self._protocol_line(line, declared) for line in node.protocol if line.condition is not None]
        other = next((line.actions for line in node.protocol if line.condition is None), ())
        self._check_actions(other, declared)
        red = None
        if node.red is not None:
            red = self._conditions_of(declared, "red states").condition(node.red)
        evolution = [self._evolution_line(line, declared) for line in node.evolution]
        return model.Agent(
            declared.name,
            tuple(declared.variables.values()),
            tuple(declared.observed.values()),
            red,
            tuple(declared.actions),
            _present(protocol),
            tuple(dict.fromkeys(name.text for name in other)),
            _present(evolution),
            span=node.span,
            protocol_span=_enclosing_span([line.span for line in node.protocol]),
        )

    def _conditions_of(self, declared: Declared, place: Place) -> Conditions:
        return Conditions(self._declared, declared, place, self._problems)

    def _protocol_line(self, line: ast.ProtocolLine, declared: Declared) -> model.ProtocolLine | None:
        self._check_actions(line.actions, declared)
        if line.condition is None:
            return None
        condition = self._conditions_of(declared, "protocol").condition(line.condition)
        names = tuple(dict.fromkeys(name.text for name in line.actions))
        return None if condition is None else model.ProtocolLine(condition, names, span=line.span)

    def _check_actions(self, names: Iterable[ast.Name], declared: Declared) -> None:
        """Report unknown actions, and actions that a line repeats."""
        allowed: set[str] = set()
        for name in names:
            if name.text in allowed:
                self._problems.report(rules.REPEATED_NAME, name.span, f"This line repeats `{name.text}`")
            elif name.text not in declared.actions:
                message = f"`{declared.name}` has no action `{name.text}`"
                notes = did_you_mean(name.text, declared.actions)
                self._problems.report(rules.UNKNOWN_NAME, name.span, message, *notes)
            allowed.add(name.text)

    def _evolution_line(self, line: ast.EvolutionLine, declared: Declared) -> model.EvolutionLine | None:
        reading = self._conditions_of(declared, "evolution")
        assignments = [reading.assignment(one) for one in line.assignments]
        condition = reading.condition(line.condition)
        first_spans: dict[str, Span] = {}
        for one in line.assignments:
            if one.variable.text in first_spans:
                first = Note("the other value", first_spans[one.variable.text])
                message = f"This line assigns `{one.variable.text}` twice"
                self._problems.report(rules.DUPLICATE_ASSIGNMENT, one.span, message, first)
            first_spans.setdefault(one.variable.text, one.span)
        if self._file.semantics == "SA" and len(first_spans) > 1:
            hint = Note("write one line for each variable, or `Semantics = MA;`")
            message = f"With `Semantics = SA` a line changes one variable, and this one changes {len(first_spans)}"
            self._problems.report(rules.SEVERAL_ASSIGNMENTS, line.span, message, hint)
        if condition is None or None in assignments:
            return None
        return model.EvolutionLine(_present(assignments), condition, span=line.span)

    # --- unused declarations

    def _report_unused(self, formulas: Formulas) -> None:
        for name, proposition in self._declared.propositions.items():
            if name not in formulas.used:
                message = f"No formula uses `{name}`"
                self._problems.report(rules.UNUSED, proposition.name.span, message)
        for group in self._file.groups:
            if group.name.text not in formulas.used_groups:
                self._problems.report(rules.UNUSED, group.name.span, f"No formula uses `{group.name.text}`")
        for declared in self._declared.agents.values():
            allowed = {name.text for line in declared.node.protocol for name in line.actions}
            if not declared.node.protocol:
                continue
            for action, span in declared.actions.items():
                if action not in allowed:
                    message = f"No line of the protocol of `{declared.name}` allows `{action}`"
                    self._problems.report(rules.UNUSED, span, message)


def _specified(node: ast.Specification, formula: model.Formula) -> model.Specification:
    return model.Specification(node.logic, formula, " ".join(node.span.text.split()), span=node.span)


def _enclosing_span(spans: Sequence[Span]) -> Span | None:
    """Return the span from the first to the last of the spans."""
    return Span(spans[0].source, spans[0].start, spans[-1].end) if spans else None


def _present(parts: Iterable[Part | None]) -> tuple[Part, ...]:
    """Return the parts that were resolved."""
    return tuple(part for part in parts if part is not None)
