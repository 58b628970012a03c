"""Random small protocols of one order, to be written as they are and as a block with a key."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from hypothesis import strategies as st

ROLES = ("A", "B", "C")
FORMULAS = (
    "EF ({p} & {q})",
    "AG ({p} -> {q})",
    "AG ({p} -> EF {q})",
    "AG ({p} -> AF {q})",
    "AF {p}",
    "E[!{p} U {q}]",
    "A (G F {p} -> F {q})",
    "EF ({p} & K({r}, {q}))",
    "AG ({p} -> K({r}, {q}))",
    "EF ({p} & !DK({{{r}, {s}}}, {q}))",
    "<<{r}>> F {p}",
    "<<{r}, {s}>> G !{q}",
    "AG !does({m})",
    "A G (does({m}) -> O {p})",
)
"""Formulas about one order: over two conditions, two roles and a message."""
PAIRS = (
    "EF ({p} & !{q})",
    "AG !({p} & {q})",
    "AG ({p} -> {q})",
    "AG ({p} -> EF {q})",
    "EF ({p} & !K({r}, {q}))",
    "A (F {p} -> F {q})",
)
"""Formulas about two orders: one condition is about each."""


@dataclass(frozen=True)
class Order:
    """A protocol of one order in pieces; ``§`` stands for the index of an instance."""

    head: str
    roles: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    """The role and the declaration of each variable."""
    channels: tuple[str, ...]
    body: tuple[str, ...]
    formulas: tuple[str, ...]
    pairs: tuple[tuple[str, str, str], ...]
    """A formula about two orders, with its condition on each."""

    def plain(self) -> str:
        """Return the protocol of one order."""
        variables = dict.fromkeys(self.roles, "")
        for role, declared in self.variables:
            variables[role] += f" var {declared}"
        roles = [f"role {role}" + (f" {{{own} }}" if own else "") for role, own in variables.items()]
        properties = [f"property p{at}: {one.replace('§', '')}" for at, one in enumerate(self.formulas)]
        return self._text([*roles, *self.channels, *self.body, *properties])

    def keyed(self, *, with_pairs: bool = False) -> str:
        """Return the protocol of any number of orders."""
        memory = [f"var {role}.{declared}" for role, declared in self.variables]
        block = ["for each k: id {", *(f"  {line}" for line in (*memory, *self.body)), "}"]
        formulas = [one.replace("§", "[o]") for one in self.formulas]
        properties = [f"property p{at}: forall o in k: {one}" for at, one in enumerate(formulas)]
        for at, (formula, p, q) in enumerate(self.pairs if with_pairs else ()):
            pair = formula.format(p=p.replace("§", "[o]"), q=q.replace("§", "[u]"), r="A")
            properties.append(f"property q{at}: forall o in k: forall u in k: o = u | {pair}")
        roles = [f"role {role}" for role in self.roles]
        return self._text([*roles, *self.channels, *block, *properties])

    def family(self, count: int) -> str:
        """Return the protocol of so many orders as a family of numbers, which shares channels."""
        body = [f"for k in 1..{count} {{", *(f"  {line}" for line in self.body), "}"]
        formulas = [one.replace("§", "[o]") for one in self.formulas]
        properties = [f"property p{at}: forall o in 1..{count}: {one}" for at, one in enumerate(formulas)]
        return self._text([*(f"role {role}" for role in self.roles), *self.channels, *body, *properties])

    def _text(self, lines: Sequence[str]) -> str:
        return f"cpl 2\n\nprotocol P{self.head} {{\n  " + "\n  ".join(lines) + "\n}\n"


@st.composite
def orders(draw: st.DrawFn, *, has_memory: bool = True, is_timed: bool = False, is_unordered: bool = False) -> Order:
    """Draw the protocol of one order."""
    owner = draw(st.sampled_from(ROLES[:2])) if has_memory and draw(st.booleans()) else None
    variables = ((owner, f"n: 0..{draw(st.integers(1, 2))} = 0"),) if owner else ()
    body: list[str] = []
    messages: list[tuple[str, str, str]] = []
    for number in range(draw(st.integers(2, 4))):
        sender, receiver = draw(st.permutations(ROLES))[:2]
        visible = [name for name, *ends in messages if sender in ends]
        clauses = f" after {draw(st.sampled_from(visible))}" if visible and draw(st.booleans()) is True else ""
        if visible and draw(st.integers(0, 4)) == 0:
            clauses += f" unless {draw(st.sampled_from(visible))}"
        if sender == owner:
            clauses += draw(st.sampled_from(["", " if n = 0", " set n := 1"]))
        if receiver == owner and draw(st.booleans()):
            clauses += " on receipt n := 1 - n" if draw(st.booleans()) else " on receipt n := 1"
        clauses += draw(st.sampled_from(["", "", "", " repeatable"]))
        if number and draw(st.integers(0, 3)) == 0:
            clauses += " restart"
        messages.append((f"m{number}", sender, receiver))
        body.append(f"{sender} -> {receiver} : m{number}{clauses}")
    first, debtor, creditor = draw(st.sampled_from(messages))
    conditions = [draw(st.sampled_from(["true", *(name for name, *_ in messages)])) for _ in range(2)]
    within = draw(st.sampled_from([" within 1", " within 2", " expires 1"])) if is_timed else ""
    body.append(f"commitment c = C({debtor}, {creditor}, {conditions[0]}, {conditions[1]}){within}")
    at = next(position for position, line in enumerate(body) if f" : {first}" in line)
    body[at] += " means create c"
    atoms = [f"{name}§" for name, *_ in messages] + [f"sent({name}§)" for name, *_ in messages]
    atoms += ["active(c§)", "fulfilled(c§)", "open(c§)"]
    atoms += [f"{owner}.n§ = 1"] if owner else []

    def formula() -> str:
        p, q = (draw(st.sampled_from(atoms)) for _ in range(2))
        r, s = draw(st.permutations(ROLES))[:2]
        message = f"{draw(st.sampled_from(messages))[0]}§"
        return draw(st.sampled_from(FORMULAS)).format(p=p, q=q, r=r, s=s, m=message)

    pairs = tuple(
        (draw(st.sampled_from(PAIRS)), draw(st.sampled_from(atoms)), draw(st.sampled_from(atoms))) for _ in range(2)
    )
    head = draw(st.sampled_from(["", "", " sync"]))
    lossy = not head and not is_unordered and draw(st.integers(0, 4)) == 0
    channels = ("channel unordered",) if is_unordered else ("channel A -> B lossy",) if lossy else ()
    formulas = tuple(formula() for _ in range(draw(st.integers(2, 4))))
    return Order(head, ROLES, variables, channels, tuple(body), formulas, pairs)
