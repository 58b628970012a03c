"""Drafts of small protocols: the declarations so far, and conditions over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from hypothesis import strategies as st

STATES = (
    "null", "conditional", "active", "pending", "fulfilled", "violated", "withdrawn", "released", "expired",
    "delegated", "assigned", "compensated", "open", "closed",
    "unanswered", "accepted", "refused", "challenged",
)  # fmt: skip
LIKELY = ("active", "open", "conditional", "closed", "pending", "null", "active", "open")
HIGHEST = {"0..1": 1, "0..2": 2, "1..2": 2}
VALUES = {
    "bool": ("true", "false"), "{red, blue}": ("red", "blue"),
    "0..1": ("0", "1"), "0..2": ("0", "1", "2"), "1..2": ("1", "2"),
}  # fmt: skip
TYPES = tuple(VALUES)
Atom = Callable[[], str]


@dataclass(frozen=True)
class Loop:
    """``for variable in domain``; a loop over a family of roles makes its variable the name of a role."""

    variable: str
    domain: str
    over_roles: bool


@dataclass(frozen=True)
class Declared:
    """Common part of messages, commitments and facts: their scope and their parties."""

    name: str
    path: tuple[Loop, ...]
    first: str
    second: str

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.first, self.second)


@dataclass(frozen=True)
class Message(Declared):
    """``first -> second, more : name(parameters) clauses``."""

    parameters: tuple[tuple[str, str], ...] = ()
    clauses: tuple[str, ...] = ()
    repeatable: bool = False
    restarts: bool = False
    more: tuple[str, ...] = ()
    """Further receivers."""
    is_reply: bool = False
    """It is declared in the `returns` of the message before."""

    @property
    def roles(self) -> tuple[str, ...]:
        return (self.first, self.second, *self.more)


@dataclass(frozen=True)
class Commitment(Declared):
    """``commitment name = C(first, second, ...)``; groups have further members."""

    text: str = ""
    is_about_runs: bool = False
    answerable: str = ""
    """``any``, ``each`` or nothing."""
    more_debtors: tuple[str, ...] = ()
    more_creditors: tuple[str, ...] = ()

    @property
    def debtors(self) -> tuple[str, ...]:
        return (self.first, *self.more_debtors)

    @property
    def creditors(self) -> tuple[str, ...]:
        return (self.second, *self.more_creditors)

    @property
    def roles(self) -> tuple[str, ...]:
        return (*self.debtors, *self.creditors)

    @property
    def is_group(self) -> bool:
        return bool(self.more_debtors or self.more_creditors)

    @property
    def sides(self) -> str:
        """Both sides as they are written."""
        return f"{self.answerable} {side(self.debtors)}".strip() + f", {side(self.creditors)}"


@dataclass(frozen=True)
class Fact(Declared):
    """A fact that both of its roles can see."""

    text: str = ""


@dataclass(frozen=True)
class Variable:
    name: str
    role: str
    type: str
    initial: str | None


FAULTS = (
    "lossy",
    "lossy",
    "lossy(1)",
    "lossy(2)",
    "duplicating",
    "duplicating(2)",
    "lossy duplicating",
    "lossy(1) duplicating",
)
"""Options of channels that are not reliable."""


@dataclass
class Plan:
    """A protocol in the making."""

    singles: tuple[str, ...]
    family: str | None
    sync: bool
    variables: list[Variable] = field(default_factory=list)
    messages: list[Message] = field(default_factory=list)
    commitments: list[Commitment] = field(default_factory=list)
    facts: list[Fact] = field(default_factory=list)
    choices: list[tuple[tuple[Loop, ...], tuple[str, ...]]] = field(default_factory=list)
    unordered: list[tuple[tuple[Loop, ...], str, str]] = field(default_factory=list)
    faults: list[tuple[tuple[Loop, ...], str, str, str]] = field(default_factory=list)
    """Channels that lose or duplicate messages, each with the options for it."""
    powers: list[tuple[tuple[Loop, ...], str, str]] = field(default_factory=list)
    record: str | None = None

    def roles(self, path: tuple[Loop, ...]) -> tuple[str, ...]:
        return (*self.singles, *(loop.variable for loop in path if loop.over_roles))

    def instances(self) -> tuple[str, ...]:
        """Return the members of the family."""
        return (f"{self.family}[1]", f"{self.family}[2]") if self.family else ()

    def paths(self) -> list[tuple[Loop, ...]]:
        return list(dict.fromkeys(declared.path for declared in (*self.commitments, *self.messages)))

    def everything(self) -> list[str]:
        """Return the name of every role instance."""
        return [*self.singles, *self.instances()]


def side(roles: Sequence[str]) -> str:
    """Return one side of a commitment as text."""
    return roles[0] if len(roles) == 1 else "{" + ", ".join(roles) + "}"


def one_in(draw: st.DrawFn, n: int) -> bool:
    """Return true in one of n cases, and in the simplest example not."""
    return draw(st.integers(0, n - 1)) == n - 1


def parenthesised(operator: str, operands: Iterable[str]) -> str:
    return "(" + f" {operator} ".join(operands) + ")"


class Writer:
    """Draws conditions over what has been declared so far."""

    def __init__(self, draw: st.DrawFn, plan: Plan) -> None:
        self.draw, self.plan = draw, plan

    def pick(self, options: Iterable[str]) -> str:
        return self.draw(st.sampled_from(list(options)))

    def reference(self, declared: Declared, path: tuple[Loop, ...]) -> str:
        """Return how something is called at this place; some instance of it where none is meant."""
        if path[: len(declared.path)] == declared.path:
            bound = "[" + ", ".join(loop.variable for loop in declared.path) + "]" if declared.path else ""
            return declared.name + (bound if bound and one_in(self.draw, 6) else "")
        return f"{declared.name}[{', '.join(self.pick('12') for _ in declared.path)}]"

    def visible(self, declared: Declared, path: tuple[Loop, ...], eye: str | None) -> bool:
        """True if what this name means at this place concerns the role; without role everything does."""
        if eye is None:
            return True
        if path[: len(declared.path)] == declared.path:
            return eye in declared.roles
        return eye in self.plan.singles and eye in declared.roles

    # --- atoms: what draws one when it is wanted

    def message_atoms(self, path: tuple[Loop, ...], eye: str | None) -> list[Atom]:
        atoms: list[Atom] = []
        for message in self.plan.messages:
            if not self.visible(message, path, eye):
                continue
            name = partial(self.reference, message, path)
            atoms += [name, name, *(partial(self.payload_atom, name, parameter) for parameter in message.parameters)]
            if len(message.path) == 1 and message.path[0].over_roles and not path:
                atoms.append(partial(self.of_all, message.name))
        return atoms

    def of_all(self, message: str) -> str:
        return f"({self.pick(('exists', 'forall'))} q in {self.plan.family}: {message}[q])"

    def payload_atom(self, message: Atom, parameter: tuple[str, str]) -> str:
        return self.comparison(f"{message()}.{parameter[0]}", parameter[1])

    def comparison(self, left: str, type_: str) -> str:
        if type_ == "bool":
            return left if one_in(self.draw, 2) else f"({left} = {self.pick(('true', 'false'))})"
        if type_ == "{red, blue}":
            return f"({left} {self.pick(('=', '!='))} {self.pick(('red', 'blue'))})"
        sides = [left, left, left, left, f"{left} + 1", f"2 * {left}", f"{left} % 2", f"{left} - 1"]
        return f"({self.pick(sides)} {self.pick(('>', '=', '!=', '<', '<=', '>='))} {self.pick('012')})"

    def variable_atoms(self, path: tuple[Loop, ...], eye: str | None) -> list[Atom]:
        return [
            partial(self.comparison, f"{role}.{variable.name}", variable.type)
            for variable in self.plan.variables
            for role in self.names_of(variable, path)
            if eye in (None, role)
        ]

    def names_of(self, variable: Variable, path: tuple[Loop, ...]) -> list[str]:
        """Return the roles that have this variable, as they are called at this place."""
        if variable.role in (*self.plan.singles, self.plan.record):
            return [variable.role]
        bound = [loop.variable for loop in path if loop.over_roles]
        return bound or list(self.plan.instances())

    def commitment_atoms(self, path: tuple[Loop, ...], eye: str) -> list[Atom]:
        return [
            partial(self.commitment_atom, commitment, path, eye)
            for commitment in self.plan.commitments
            if self.visible(commitment, path, eye)
        ]

    def commitment_atom(self, commitment: Commitment, path: tuple[Loop, ...], eye: str) -> str:
        view = f"@{eye}" if one_in(self.draw, 3) else ""
        return f"{self.pick((*LIKELY, *STATES))}({self.reference(commitment, path)}{view})"

    def fact_atoms(self, path: tuple[Loop, ...], eye: str | None) -> list[Atom]:
        return [partial(self.reference, fact, path) for fact in self.plan.facts if self.visible(fact, path, eye)]

    # --- conditions

    def condition(self, atoms: Sequence[Atom], depth: int = 2) -> str:
        """Return a condition made of these atoms."""
        if not atoms:
            return "true"
        form = self.draw(st.integers(0, 6)) if depth else 0
        if form <= 3:
            return self.draw(st.sampled_from(atoms))()
        if form == 4:
            return f"!{self.condition(atoms, depth - 1)}"
        operator = "&" if form == 5 else "|"
        return parenthesised(operator, (self.condition(atoms, depth - 1), self.condition(atoms, depth - 1)))


def text_of(plan: Plan, tail: Iterable[str] = ()) -> str:
    """Return the protocol as a file, with these lines at its end."""
    lines = [f"protocol Generated {'sync ' if plan.sync else ''}{{"]
    for role in (*plan.singles, *([f"{plan.family}[2]"] if plan.family else [])):
        variables = [v for v in plan.variables if v.role == role.removesuffix("[2]")]
        body = "".join(f" var {v.name}: {v.type}{f' = {v.initial}' if v.initial else ''}" for v in variables)
        lines.append(f"  role {role}" + (f" {{{body} }}" if body else ""))
    if plan.record:
        body = " ".join(f"var {v.name}: {v.type} = {v.initial}" for v in plan.variables if v.role == plan.record)
        lines.append(f"  record {plan.record} {{ {body} }}")
    lines += _block(plan, (), "  ")
    lines += [f"  {line}" for line in tail]
    return "\n".join((*lines, "}")) + "\n"


def _block(plan: Plan, path: tuple[Loop, ...], indent: str) -> list[str]:
    """Return what is declared in this loop, then the loops inside."""
    lines = [f"{indent}commitment {c.name} = {c.text}" for c in plan.commitments if c.path == path]
    lines += [f"{indent}fact {f.name} = {f.text}" for f in plan.facts if f.path == path]
    for message in plan.messages:
        if message.path == path and not message.is_reply:
            payload = ", ".join(f"{name}: {type_}" for name, type_ in message.parameters)
            receivers = ", ".join((message.second, *message.more))
            head = f"{message.first} -> {receivers} : {message.name}" + (f"({payload})" if payload else "")
            repeatable = ("repeatable",) if message.repeatable else ()
            lines.append(indent + "  ".join((head, *repeatable, *message.clauses)))
    lines += [f"{indent}choice {' | '.join(members)}" for at, members in plan.choices if at == path]
    lines += [f"{indent}channel {first} -> {second} unordered" for at, first, second in plan.unordered if at == path]
    lines += [f"{indent}channel {first} -> {second} {how}" for at, first, second, how in plan.faults if at == path]
    lines += [f"{indent}empower {role} to {operation}" for at, role, operation in plan.powers if at == path]
    inner = {p[len(path)]: None for p in plan.paths() if p[: len(path)] == path and len(p) > len(path)}
    for loop in inner:
        lines += [f"{indent}for {loop.variable} in {loop.domain} {{"]
        lines += _block(plan, (*path, loop), indent + "  ")
        lines += [f"{indent}}}"]
    return lines
