"""Lint of unused declarations."""

from __future__ import annotations

from collections.abc import Collection

from cplc.diagnostics import rules
from cplc.semantics import resolved
from cplc.semantics.signatures import Library
from cplc.source import Span


def report_unused(library: Library, chosen: resolved.Signature, used: Collection[object]) -> None:
    """Warn of unused declarations of the protocol and its file."""

    def warn(kind: str, name: str, span: Span) -> None:
        library.problems.report(rules.UNUSED, span, f"Nothing refers to the {kind} `{name}`")

    for parameter in chosen.parameters.values():
        if parameter not in used:
            warn("parameter", parameter.name, parameter.span)
    for symbol in chosen.symbols.values():
        match symbol:
            case resolved.RoleSymbol():
                if symbol not in used:
                    warn("role", symbol.name, symbol.span)
                for variable in symbol.variables.values():
                    if variable not in used:
                        warn("variable", f"{symbol.name}.{variable.name}", variable.span)
            case resolved.FactSymbol() if symbol not in used:
                warn("fact", symbol.name, symbol.span)
            case _:
                pass
    agents = [symbol for symbol in chosen.symbols.values() if isinstance(symbol, resolved.AgentSymbol)]
    for agent in agents:
        if agent not in used and any(other in used for other in agents):
            warn("agent", agent.name, agent.span)
    for macro in (*library.macros[chosen.unit], *chosen.macros.values()):
        if macro not in used:
            warn("macro", macro.name, macro.span)
