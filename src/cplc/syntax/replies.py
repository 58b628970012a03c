"""Replies of records as messages: `Ann -> Stock : look returns level(n)` declares `Stock -> Ann : level(n: …)`, too."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cplc.syntax import ast


def replies_to(request: ast.Message) -> tuple[ast.Reply, ...]:
    """Return the replies of a message in the order in which their conditions are decided."""
    return tuple(reply for clause in request.clauses if isinstance(clause, ast.Returns) for reply in clause.replies)


def as_message(request: ast.Message, reply: ast.Reply, variables: Mapping[str, ast.RoleVariable]) -> ast.Message:
    """Return a reply as a message to the sender of the request, whose parameters are variables of the record."""
    declared = (variables[field.text] for field in reply.fields if field.text in variables)
    parameters = tuple(ast.Parameter(variable.name, variable.type, span=variable.name.span) for variable in declared)
    return ast.Message(reply.name, request.receivers[0], (request.sender,), parameters, reply.clauses, span=reply.span)


def variables_of(
    role: ast.Ref, declarations: Iterable[ast.Declaration], loops: Iterable[ast.Declaration]
) -> dict[str, ast.RoleVariable]:
    """Return the variables of a role of this protocol, named by itself or by the variable of a loop over its family."""
    name = role.segments[0].name.text
    for loop in loops:
        if isinstance(loop, ast.For) and loop.variable.text == name and isinstance(loop.domain, ast.Ref):
            name = loop.domain.segments[0].name.text
    return variables_named(name, declarations)


def variables_named(role: str, declarations: Iterable[ast.Declaration]) -> dict[str, ast.RoleVariable]:
    """Return the variables of the role of that name."""
    roles = (one for one in declarations if isinstance(one, ast.Role) and one.name.text == role)
    return {variable.name.text: variable for one in roles for variable in one.variables}
