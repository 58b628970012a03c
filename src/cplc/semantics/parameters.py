"""The values of a protocol's parameters: given on the command line, or their defaults."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from cplc.diagnostics import rules
from cplc.diagnostics.core import Note, did_you_mean
from cplc.semantics import resolved, statements
from cplc.semantics.diagnostic_sink import DiagnosticSink
from cplc.semantics.instances import ProtocolInstance
from cplc.semantics.instantiate import Instantiator, range_text, shown
from cplc.semantics.instantiate_terms import Resolver
from cplc.semantics.terms import Value
from cplc.semantics.types import Bool
from cplc.source import Source, Span

COMMAND_LINE: Final = "-D"
"""The source name of values from outside the file."""


def parameter_values(
    instantiator: Instantiator, template: statements.Template, given: Mapping[str, str], problems: DiagnosticSink
) -> dict[str, Value] | None:
    """Return the value of every parameter; None after a reported error."""
    return (
        _values(instantiator, template, given, problems) if _check_names(template.signature, given, problems) else None
    )


def has_defaults(signature: resolved.Signature) -> bool:
    return all(parameter.default is not None for parameter in signature.parameters.values())


def _check_names(signature: resolved.Signature, given: Mapping[str, str], problems: DiagnosticSink) -> bool:
    is_fit = True
    for name, text in given.items():
        if name not in signature.parameters:
            message = f"`{signature.name}` has no parameter `{name}`"
            notes = did_you_mean(name, signature.parameters)
            problems.report(rules.UNKNOWN_PARAMETER, _given_source(name, text), message, *notes)
            is_fit = False
    return is_fit


def _values(
    instantiator: Instantiator, template: statements.Template, given: Mapping[str, str], problems: DiagnosticSink
) -> dict[str, Value] | None:
    signature = template.signature
    is_fit = True
    values: dict[str, Value] = {}
    for parameter in signature.parameters.values():
        resolver = Resolver(instantiator.table, ProtocolInstance(template, (), (), values, {}, ""), {})
        domain = instantiator.domain(parameter.declared, resolver)
        if domain is None:
            return None
        value: Value | None
        if parameter.name in given:
            text = given[parameter.name]
            span = _given_source(parameter.name, text)
            value = _parse_value(parameter, text)
            if value is None:
                expected = "`true` or `false`" if isinstance(parameter.declared.type, Bool) else "a whole number"
                message = f"`{parameter.name}` is {expected}, not `{text}`"
                problems.report(rules.TYPE_MISMATCH, span, message, Note("declared here", parameter.span))
        elif parameter.default is None:
            message = f"`{parameter.name}` has no default"
            hint = Note(f"write one, as in `= {shown(domain[0])}`, or give a value with `-D {parameter.name}=…`")
            problems.report(rules.MISSING_VALUE, parameter.span, message, hint)
            value = None
        else:
            span = parameter.span
            value = resolver.constant(parameter.default)
        if value is None:
            is_fit = False
            value = domain[0]
        elif value not in domain:
            message = f"`{parameter.name}` cannot be {shown(value)}: it is in {range_text(domain)}"
            problems.report(rules.VALUE_OUT_OF_RANGE, span, message)
            is_fit = False
        values[parameter.name] = value
    return values if is_fit else None


def _given_source(name: str, text: str) -> Span:
    source = Source(COMMAND_LINE, f"{name}={text}")
    return Span(source, 0, len(source.text))


def _parse_value(parameter: resolved.ParameterSymbol, text: str) -> Value | None:
    text = text.strip()
    if isinstance(parameter.declared.type, Bool):
        return {"true": True, "false": False}.get(text.lower())
    return int(text) if re.fullmatch(r"[+-]?[0-9]{1,18}", text) else None
