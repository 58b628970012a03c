"""Semantic analysis of a file and its imports: the checked model and the diagnostics."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Literal

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.records import dataclass
from cplc.semantics import resolved
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.expressions import ExpressionChecker, Purpose
from cplc.semantics.imports import Load, load_program
from cplc.semantics.instances import MAX_INSTANCES, MAX_INSTANCES_OF_OTHER_PROTOCOLS, InstanceTable, ProtocolInstance
from cplc.semantics.instantiate import Instantiator, has_defaults, parameter_values
from cplc.semantics.instantiate_bounds import assumptions
from cplc.semantics.instantiate_clauses import ClauseInstantiator
from cplc.semantics.instantiate_terms import Resolver
from cplc.semantics.keyed_blocks import blocks_of, check_closed, related_by
from cplc.semantics.lints import GuardLints, formula_warnings, precedence_warnings, report_unused
from cplc.semantics.model import Bound, CheckedModel
from cplc.semantics.name_resolution import Scope
from cplc.semantics.operations import check_commitments, check_operations, report_idle_powers
from cplc.semantics.signatures import Library, broken_symbols, check_macros, declare, forbid_recursion
from cplc.semantics.symbol_index import Index, index_of
from cplc.semantics.templates import TemplateBuilder
from cplc.semantics.terms import Term
from cplc.source import Source, Span
from cplc.syntax import ast

if TYPE_CHECKING:
    from cplc.semantics.data_independence import UniformityCheck

Channels = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The result of the analysis; ``model`` is None if an error prevents it."""

    model: CheckedModel | None
    diagnostics: tuple[Diagnostic, ...]
    index: Index
    """The declarations of the file and its imports, and their uses."""
    _instances: _Instances | None = field(default=None, repr=False, compare=False)

    def resolve_formula(self, expr: ast.Expr, *, has_bounds: bool = False) -> ResolvedFormula:
        """Resolve a formula in the scope of the protocol; with bounds that its question assumes, time passes."""
        if self._instances is None:
            return ResolvedFormula(None)
        return self._instances.formula(expr, has_bounds=has_bounds)

    def uniformity(self, parameter: str) -> UniformityCheck | None:
        """Return the uniformity check for the families whose size is this parameter; None without a model."""
        if self._instances is None:
            return None
        from cplc.semantics.data_independence import UniformityCheck

        return UniformityCheck(self._instances.protocol_instance.template, parameter, self._instances.templates)

    def resolve_assumptions(
        self, assumed: Sequence[str]
    ) -> tuple[tuple[str, ...], tuple[Bound, ...], tuple[Diagnostic, ...]]:
        """Return the roles and messages that ``Mer``, ``Cus``, ``all`` or ``pay within 2`` name, and the bounds."""
        problems = DiagnosticSink()
        roles = self.model.roles if self.model else ()
        messages = self.model.messages if self.model else ()
        resolved_names: list[tuple[tuple[str, ...], int | None]] = []
        for text in assumed:
            span = Span(Source("--assuming", text), 0, len(text))
            name, within, bound = text.partition(" within ")
            name = re.sub(r"\s", "", name)
            if within and not re.fullmatch(r"\s*[0-9]{1,5}\s*", bound):
                problems.report(rules.BAD_DEADLINE, span, f"`{bound.strip()}` is no number of ticks")
                continue
            matching = [role.name for role in roles if name in ("all", role.name, role.family)]
            matching += [one.name for one in messages if name in (one.name, one.name.partition("[")[0])]
            if not matching:
                candidates = ["all", *(role.name for role in roles), *(role.family for role in roles)]
                candidates += [message.name for message in messages]
                problems.report(
                    rules.UNKNOWN_NAME, span, f"No role or message is called `{name}`", *did_you_mean(name, candidates)
                )
            resolved_names.append((tuple(matching), int(bound) if within else None))
        progress, bounds = assumptions(resolved_names, {message.name: message.sender for message in messages})
        return progress, bounds, problems.sorted()


@dataclass(frozen=True, slots=True)
class ResolvedFormula:
    """A formula from outside the file; ``term`` is None if it has errors."""

    term: Term | None
    diagnostics: tuple[Diagnostic, ...] = ()
    vacuous_quantifiers: tuple[str, ...] = ()
    """Its vacuous quantifiers."""
    constant_implications: tuple[str, ...] = ()
    """Explanations of its implications that a constant makes true."""
    instances: tuple[tuple[str, int], ...] = ()
    """The values of its outer universal quantifiers, each with its number of conjuncts."""
    related: Mapping[str, int] = field(default_factory=dict)
    """The largest number of instances that it relates, by the key of their block."""


@dataclass(frozen=True, slots=True)
class _Instances:
    """The context in which further formulas are resolved."""

    table: InstanceTable
    protocol_instance: ProtocolInstance
    library: Library
    templates: Mapping[resolved.Signature, resolved.Template]

    def formula(self, expr: ast.Expr, *, has_bounds: bool) -> ResolvedFormula:
        problems = DiagnosticSink()
        signature = self.protocol_instance.template.signature
        expression_checker = ExpressionChecker(problems, self.library.reporting_to(problems).macro)
        tree = expression_checker.condition(expr, Scope(signature.unit, signature), Purpose.FORMULA)
        problems.extend(formula_warnings(expr))
        if problems.errors:
            return ResolvedFormula(None, problems.sorted())
        table = replace(self.table, problems=problems, nodes=0, is_full=False)
        resolver = Resolver(table, self.protocol_instance, {})
        resolver.has_ticks |= has_bounds
        term, values = resolver.universal(tree)
        is_wrong = any(diagnostic.is_error for diagnostic in problems.sorted())
        return ResolvedFormula(
            None if is_wrong else term,
            problems.sorted(),
            resolver.vacuity.vacuous_quantifiers(table.fact_vacuity),
            resolver.vacuity.constant_implications(table.fact_vacuity),
            values,
            {key: related_by(tree, key) for key in signature.keys},
        )


def analyse(
    file: ast.File,
    *,
    load: Load,
    parameters: Mapping[str, str] | None = None,
    channels: Channels | None = None,
    protocol: str | None = None,
    is_of_one_key: bool = False,
    unread: frozenset[str] | None = None,
) -> Analysis:
    """Check a file and all that it imports, and unroll its last protocol, or the one of this name.

    Of a tree with parts that could not be read nothing is said that these parts could refute; ``unread`` are the words
    that stand there. ``is_of_one_key`` gives each block with a key one instance, whose declarations have no index.
    """
    problems = DiagnosticSink()
    if unread is not None:
        problems.is_incomplete, problems.unread = True, unread
    program = load_program(file.span.source, file, load, problems)
    library = Library(program, problems)
    expression_checker = ExpressionChecker(problems, library.macro)
    declare(library, expression_checker)
    forbid_recursion(library)
    with problems.local():
        check_macros(library, expression_checker)
    reader = TemplateBuilder(problems, expression_checker)
    templates = {signature: reader.template(signature) for signature in library.every_signature()}
    for template in templates.values():
        check_closed(template, problems)
    broken = library.broken | broken_symbols(templates, library.broken)
    chosen = _chosen(file, library.signatures[0], protocol, problems)
    checked: CheckedModel | None = None
    instances: _Instances | None = None
    for signature in library.signatures[0]:
        if signature is not chosen:
            if has_defaults(signature):
                _instantiated(
                    templates,
                    signature,
                    InstanceTable(problems, broken=set(broken)),
                    {},
                    None,
                    most=MAX_INSTANCES_OF_OTHER_PROTOCOLS,
                )
        elif outcome := _instantiated(
            templates,
            signature,
            InstanceTable(problems, broken=set(broken), is_of_one_key=is_of_one_key),
            parameters or {},
            channels,
            most=MAX_INSTANCES,
        ):
            checked, table, protocol_instance = outcome
            instances = _Instances(table, protocol_instance, library, templates)
    if not problems.errors:
        for signature in library.signatures[0]:
            if _has_ranges(signature):
                from cplc.semantics.value_ranges import range_warnings

                problems.extend(range_warnings(templates[signature]))
    if chosen is not None and not problems.errors:
        report_unused(library, chosen, expression_checker.references.used)
    problems.extend(precedence_warnings(file))
    index = index_of(library, expression_checker.references.places)
    return Analysis(checked, problems.sorted(), index, instances)


def _has_ranges(signature: resolved.Signature) -> bool:
    """Return whether a variable or a payload has a declared type."""
    return any(role.variables for role in signature.roles) or any(
        isinstance(symbol, resolved.MessageSymbol) and symbol.parameters for symbol in signature.symbols.values()
    )


def _chosen(
    file: ast.File, signatures: Sequence[resolved.Signature], name: str | None, problems: DiagnosticSink
) -> resolved.Signature | None:
    """Return the requested protocol, or the last one."""
    if name is None:
        if not file.protocols and not file.defines and not file.types:
            problems.report(rules.NO_PROTOCOL, file.span, "This file declares no protocol")
        return signatures[-1] if signatures else None
    for signature in signatures:
        if signature.name == name:
            return signature
    notes = did_you_mean(name, [signature.name for signature in signatures])
    problems.report(rules.NO_PROTOCOL, file.span, f"This file declares no protocol `{name}`", *notes)
    return None


def _instantiated(
    templates: Mapping[resolved.Signature, resolved.Template],
    signature: resolved.Signature,
    table: InstanceTable,
    given: Mapping[str, str],
    channels: Channels | None,
    *,
    most: int,
) -> tuple[CheckedModel, InstanceTable, ProtocolInstance] | None:
    """Return the checked model of one protocol; None after a reported error."""
    problems = table.problems
    instantiator = Instantiator(table, templates)
    values = parameter_values(instantiator, templates[signature], given, problems)
    blocks = blocks_of(templates[signature], given, problems) if signature.keys else ()
    if values is None or blocks is None:
        return None
    table.keys.update((one.key, 1 if table.is_of_one_key else one.instances) for one in blocks)
    protocol_instance = instantiator.instantiate(templates[signature], values, most=most)
    if protocol_instance is None:
        return None
    checked = ClauseInstantiator(table, instantiator).checked(templates[signature], values, channels)
    if blocks:
        counts = tuple((one.key, one.instances) for one in blocks if one.is_fixed)
        checked = replace(checked, blocks=blocks, parameters=(*checked.parameters, *counts))
    if checked.has_data:
        from cplc.semantics.data_lints import report_open_types
        from cplc.semantics.data_values import with_values

        checked = with_values(checked)
        report_open_types(table, checked)
    check_operations(table, checked)
    if not problems.errors and (checked.about_runs or checked.claims):
        from cplc.semantics.run_contents import check_contents

        check_contents(table, checked)
    if not problems.errors and any(goal.is_about_runs for one in checked.participants for goal in one.goals):
        from cplc.semantics.run_contents import check_goals

        check_goals(table, checked)
    if not problems.errors:
        check_commitments(table, checked)
        report_idle_powers(table, checked)
        if checked.commitments or checked.claims:
            from cplc.semantics.content_lints import ContentLints

            ContentLints(checked).report(table)
        GuardLints(checked).report(problems)
    return None if problems.fatal else (checked, table, protocol_instance)
