"""Random small protocols whose fields and variables have any number of values, with formulas that compare them."""

from __future__ import annotations

from hypothesis import strategies as st

CONSTANT = '"k"'
AMOUNT = "20.0"
ROLES = ("A", "B", "C")
OPEN_FORMULAS = (
    "EF ({p} & {q})",
    "AG ({p} -> {q})",
    "AG ({p} -> EF {q})",
    "E[!{p} U {q}]",
    "A (G F {p} -> F {q})",
    "EF ({p} & X2 {q})",
    "EF ({p} & K({r}, {q}))",
    "AG ({p} -> K({r}, {q}))",
    "EF ({p} & !K({r}, {q}) & !K({r}, !{q}))",
    "EF K({r}, !K({s}, {q}))",
    "EF DK({{{r}, {s}}}, {p} & {q})",
    "AG ({p} -> CK({{{r}, {s}}}, {q}))",
    "<<{r}>> F {p}",
    "<<{r}, {s}>> G !{q}",
    "EF ({p} & <<{r}>> F {q})",
)
"""Formulas over two comparisons, in temporal logic, of knowledge and of strategies that use the whole state."""


ORDERED_FORMULAS = tuple(one for one in OPEN_FORMULAS if "K(" not in one)


@st.composite
def open_protocols(draw: st.DrawFn, *, has_formulas: bool = True, is_ordered: bool = False) -> str:
    """Draw the text of a protocol in which values of `text`, or ordered values of `decimal(1)`, are compared."""
    open_type, constant = ("decimal(1)", AMOUNT) if is_ordered else ("text", CONSTANT)
    operators = ["=", "!=", "<", "<=", ">", ">="] if is_ordered else ["=", "!="]
    initials = [f" = {constant}", None] if is_ordered else ["", "", f" = {constant}", None]
    variables = {role: draw(st.sampled_from(initials)) for role in ROLES[:2]}
    declared = {
        role: "" if initial is None else f" {{ var v{role}: {open_type}{initial} }}"
        for role, initial in variables.items()
    }
    owned = [role for role, initial in variables.items() if initial is not None][: draw(st.integers(0, 1))]
    lines = [f"role {role}{declared[role] if role in owned else ''}" for role in ROLES]
    messages: list[tuple[str, str, str]] = []
    for number in range(draw(st.integers(2, 3))):
        sender, receiver = draw(st.permutations(ROLES))[:2]
        observed = [f"{name}.h" for name, *roles in messages if sender in roles]
        if sender in owned:
            observed.append(f"v{sender}")
        if draw(st.booleans()):
            observed.append(constant)
        clauses = ""
        if draw(st.booleans()) and messages:
            earlier = [name for name, *roles in messages if sender in roles]
            clauses += f" after {draw(st.sampled_from(earlier))}" if earlier else ""
        if draw(st.booleans()) and observed:
            clauses += f" if h {draw(st.sampled_from(operators))} {draw(st.sampled_from(observed))}"
        if sender in owned and draw(st.booleans()):
            clauses += f" set v{sender} := h"
        if receiver in owned and draw(st.booleans()):
            clauses += f" on receipt v{receiver} := h"
        if draw(st.integers(0, 3)) == 0 and number < 2 and not is_ordered:
            clauses += " repeatable"
        messages.append((f"m{number}", sender, receiver))
        lines.append(f"{sender} -> {receiver} : m{number}(h: {open_type}){clauses}")
    values = [f"{name}.h" for name, *_ in messages] + [f"{role}.v{role}" for role in owned]
    for number in range(3 if has_formulas else 0):
        p, q = (_comparison(draw, values, operators, constant) for _ in range(2))
        r, s = draw(st.permutations(ROLES))[:2]
        formula = (
            draw(st.sampled_from(ORDERED_FORMULAS if is_ordered else OPEN_FORMULAS))
            .format(p=p, q=q, r=r, s=s)
            .replace("X2", "EX")
        )
        lines.append(f"property p{number}: {formula}")
    body = "\n  ".join(lines)
    sync = " sync" if draw(st.booleans()) else ""
    return f"cpl 2\n\nprotocol P{sync} {{\n  {body}\n}}\n"


def _comparison(draw: st.DrawFn, values: list[str], operators: list[str], constant: str) -> str:
    first = draw(st.sampled_from(values))
    second = draw(st.sampled_from([*(value for value in values if value != first), constant]))
    return f"({first} {draw(st.sampled_from(operators))} {second})"
