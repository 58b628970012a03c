"""From a file to its checked model, with everything that is wrong with it and with what it imports."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from typing import Literal

from cplc.diagnostics import rules
from cplc.diagnostics.core import Diagnostic, did_you_mean
from cplc.records import dataclass
from cplc.semantics import resolved, statements
from cplc.semantics.data_independence import Uniformity
from cplc.semantics.declarations import broken_symbols, check_macros, declare, forbid_recursion
from cplc.semantics.diagnostic_sink import Problems
from cplc.semantics.expressions import Expressions, Purpose
from cplc.semantics.imports import Load, load_program
from cplc.semantics.instances import MOST_BESIDES, MOST_INSTANCES, Frame, World
from cplc.semantics.instantiate import Unroller
from cplc.semantics.instantiate_clauses import Ground
from cplc.semantics.instantiate_terms import Resolver
from cplc.semantics.lints import Guards
from cplc.semantics.model import CheckedModel
from cplc.semantics.operations import check_commitments, check_operations
from cplc.semantics.parameters import has_defaults, parameter_values
from cplc.semantics.precedence_lints import misreadings
from cplc.semantics.references import Scope
from cplc.semantics.signatures import Library
from cplc.semantics.symbol_index import Index, index_of
from cplc.semantics.templates import Templates
from cplc.semantics.terms import Term
from cplc.semantics.unused import report_unused
from cplc.source import Source, Span
from cplc.syntax import ast

Channels = Literal["sync", "async"]


@dataclass(frozen=True, slots=True)
class Analysis:
    """The meaning of a file; ``model`` is None where an error makes it meaningless."""

    model: CheckedModel | None
    diagnostics: tuple[Diagnostic, ...]
    index: Index
    """What the file and its imports declare, and where that is used."""
    _instances: _Instances | None = field(default=None, repr=False, compare=False)

    def resolve_formula(self, expr: ast.Expr) -> ResolvedFormula:
        """Return what a formula says in the scope of the protocol."""
        if self._instances is None:
            return ResolvedFormula(None)
        return self._instances.formula(expr)

    def uniformity(self, parameter: str) -> Uniformity | None:
        """Return how the protocol speaks of the families whose size is this parameter; None if it means nothing."""
        if self._instances is None:
            return None
        return Uniformity(self._instances.frame.template, parameter, self._instances.templates)

    def resolve_roles(self, names: Sequence[str]) -> tuple[tuple[str, ...], tuple[Diagnostic, ...]]:
        """Return the role instances that ``Mer``, ``Cus[1]``, ``Cus`` or ``all`` stand for."""
        problems = Problems()
        roles = self.model.roles if self.model else ()
        found: dict[str, None] = {}
        for name in names:
            wanted = re.sub(r"\s", "", name)
            matching = [role.name for role in roles if wanted in ("all", role.name, role.family)]
            if not matching:
                span = Span(Source("--assuming", name), 0, len(name))
                known = ["all", *(role.name for role in roles), *(role.family for role in roles)]
                problems.report(rules.UNKNOWN_NAME, span, f"No role is called `{name}`", *did_you_mean(name, known))
            found.update(dict.fromkeys(matching))
        return tuple(found), problems.sorted()


@dataclass(frozen=True, slots=True)
class ResolvedFormula:
    """A formula that does not stand in the file; ``term`` is None if something is wrong with it."""

    term: Term | None
    diagnostics: tuple[Diagnostic, ...] = ()
    over_nothing: tuple[str, ...] = ()
    """Its quantifiers that say nothing."""
    constant_implications: tuple[str, ...] = ()
    """What there is to say of its implications that a constant makes true."""


@dataclass(frozen=True, slots=True)
class _Instances:
    """What is needed to understand one more formula."""

    world: World
    frame: Frame
    library: Library
    templates: Mapping[resolved.Signature, statements.Template]

    def formula(self, expr: ast.Expr) -> ResolvedFormula:
        problems = Problems()
        signature = self.frame.template.signature
        expressions = Expressions(problems, self.library.reporting_to(problems).macro)
        found = expressions.condition(expr, Scope(signature.unit, signature), Purpose.FORMULA)
        problems.extend(misreadings(expr))
        if problems.errors:
            return ResolvedFormula(None, problems.sorted())
        world = replace(self.world, problems=problems, nodes=0, full=False)
        resolver = Resolver(world, self.frame, {})
        term = resolver.term(found)
        is_wrong = any(diagnostic.is_error for diagnostic in problems.sorted())
        return ResolvedFormula(
            None if is_wrong else term,
            problems.sorted(),
            resolver.ranges.nothing(world.fact_ranges),
            resolver.ranges.constant_implications(world.fact_ranges),
        )


def analyse(
    file: ast.File,
    *,
    load: Load,
    parameters: Mapping[str, str] | None = None,
    channels: Channels | None = None,
    protocol: str | None = None,
    unread: frozenset[str] | None = None,
) -> Analysis:
    """Check a file and all that it imports, and unroll its last protocol, or the one of this name.

    Of a tree with parts that could not be read nothing is said that these parts could refute; ``unread`` are the words
    that stand there.
    """
    problems = Problems()
    if unread is not None:
        problems.is_incomplete, problems.unread = True, unread
    program = load_program(file.span.source, file, load, problems)
    library = Library(program, problems)
    expressions = Expressions(problems, library.macro)
    declare(library, expressions)
    forbid_recursion(library)
    with problems.local():
        check_macros(library, expressions)
    reader = Templates(problems, expressions)
    templates = {signature: reader.template(signature) for signature in library.every_signature()}
    broken = library.broken | broken_symbols(templates, library.broken)
    chosen = _chosen(file, library.signatures[0], protocol, problems)
    checked: CheckedModel | None = None
    instances: _Instances | None = None
    for signature in library.signatures[0]:
        if signature is not chosen:
            if has_defaults(signature):
                _instantiated(templates, signature, World(problems, broken=set(broken)), {}, None, most=MOST_BESIDES)
        elif outcome := _instantiated(
            templates, signature, World(problems, broken=set(broken)), parameters or {}, channels, most=MOST_INSTANCES
        ):
            checked, world, frame = outcome
            instances = _Instances(world, frame, library, templates)
    if chosen is not None and not problems.errors:
        report_unused(library, chosen, expressions.references.used)
    problems.extend(misreadings(file))
    index = index_of(library, expressions.references.places)
    return Analysis(checked, problems.sorted(), index, instances)


def _chosen(
    file: ast.File, signatures: Sequence[resolved.Signature], name: str | None, problems: Problems
) -> resolved.Signature | None:
    """Return the protocol to unroll: the last one, or the one asked for."""
    if name is None:
        if not file.protocols and not file.defines:
            problems.report(rules.NO_PROTOCOL, file.span, "This file declares no protocol")
        return signatures[-1] if signatures else None
    for signature in signatures:
        if signature.name == name:
            return signature
    notes = did_you_mean(name, [signature.name for signature in signatures])
    problems.report(rules.NO_PROTOCOL, file.span, f"This file declares no protocol `{name}`", *notes)
    return None


def _instantiated(
    templates: Mapping[resolved.Signature, statements.Template],
    signature: resolved.Signature,
    world: World,
    given: Mapping[str, str],
    channels: Channels | None,
    *,
    most: int,
) -> tuple[CheckedModel, World, Frame] | None:
    """Return the checked model of one protocol; None if it means nothing, which is reported."""
    problems = world.problems
    unroller = Unroller(world, templates)
    values = parameter_values(unroller, templates[signature], given, problems)
    if values is None:
        return None
    frame = unroller.unroll(templates[signature], values, most=most)
    if frame is None:
        return None
    checked = Ground(world, unroller).checked(templates[signature], values, channels)
    check_operations(world, checked.messages)
    if not problems.errors and (checked.about_runs or checked.claims):
        from cplc.semantics.content_checks import check_contents

        check_contents(world, checked)
    if not problems.errors:
        check_commitments(world, checked)
        if checked.commitments or checked.claims:
            from cplc.semantics.content_lints import Promises

            Promises(checked).report(world)
        Guards(checked).report(problems)
    return None if problems.fatal else (checked, world, frame)
