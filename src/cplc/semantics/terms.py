"""Resolved expressions and formulas: no parameter, loop, quantifier, macro or alias is left.

Each name is the full name of one instance: ``pay[1]``, ``Cus[2]``, ``part.pay[1,2]``.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Literal

from cplc.records import dataclass

Value = bool | int | str
"""A truth value, a whole number or the member of an enumeration."""


@dataclass(frozen=True, slots=True)
class Const:
    value: Value


@dataclass(frozen=True, slots=True)
class Happened:
    """A bare message name: in a guard the sender's own copy is set, elsewhere it has been received."""

    message: str


@dataclass(frozen=True, slots=True)
class Sent:
    """The sender's copy is set."""

    message: str


@dataclass(frozen=True, slots=True)
class InFlight:
    """The sender's copy is set and differs from the receiver's."""

    message: str


@dataclass(frozen=True, slots=True)
class Field:
    """A payload value; every comparison with it is false where the message is not there."""

    message: str
    parameter: str


@dataclass(frozen=True, slots=True)
class Own:
    """A parameter of the message in whose clauses it occurs: the value being sent."""

    parameter: str


@dataclass(frozen=True, slots=True)
class Var:
    """A variable of a role instance, by its full name ``Mer.stock``."""

    variable: str


@dataclass(frozen=True, slots=True)
class InState:
    """A commitment or claim is in one of these lifecycle states, as the role ``view`` sees it.

    Where ``view`` is None: in a guard the sender's view, elsewhere the state that `Env` keeps.
    """

    commitment: str
    states: frozenset[str]
    view: str | None = None


@dataclass(frozen=True, slots=True)
class Stands:
    """A commitment or claim is open, and its standing in the dialogue about it is one of these; ``view`` as above."""

    commitment: str
    standings: frozenset[str]
    view: str | None = None


@dataclass(frozen=True, slots=True)
class Age:
    """Ticks since a commitment or claim was created, in the sender's view; undefined unless it is open."""

    commitment: str


@dataclass(frozen=True, slots=True)
class FactRef:
    """A fact by name; its meaning is in the model."""

    fact: str


@dataclass(frozen=True, slots=True)
class Terminal:
    """No send, receipt or restart is enabled."""


Op = Literal[
    "!", "&", "|", "->", "<->", "therefore",
    "=", "!=", "<", "<=", ">", ">=", "+", "-", "*", "%",
    "X", "F", "G", "U", "W", "R", "M", "Y", "O", "H", "S",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Apply:
    """An operator and its operands: ``-`` with one or two, ``&`` and ``|`` with any number.

    ``bound`` is the k of ``<=k`` or the b of ``[a..b]``, which counts steps or ticks; ``low`` is the a.
    """

    op: Op
    operands: tuple[Term, ...]
    bound: int | None = None
    in_ticks: bool = False
    low: int = 0


@dataclass(frozen=True, slots=True)
class OverPaths:
    quantifier: Literal["A", "E"]
    path: Term
    along: Term | None = None
    may_idle: bool = True
    """True if the paths may take the idle step; otherwise ``along`` names it."""


@dataclass(frozen=True, slots=True)
class Social:
    modality: Literal["C", "Fu", "SC", "SCc"]
    debtor: str
    creditor: str
    body: Term
    commitment: str | None = None
    """The one commitment that ``C`` or ``Fu`` is about; None for all from the debtor to the creditor."""
    trigger: Term | None = None
    """The condition that becomes true on the runs of ``SCc``."""


ConditionalModality = Literal["WCC", "SCC", "FuW", "FuS", "CaS", "ReS", "DeS", "AsS"]


@dataclass(frozen=True, slots=True)
class Between:
    """The channel from a debtor to a creditor, or of the one commitment."""

    debtor: str
    creditor: str
    commitment: str | None = None


@dataclass(frozen=True, slots=True)
class Conditional:
    """A modality of conditional commitment; ``other`` is what `DeS` and `AsS` hand over to."""

    modality: ConditionalModality
    between: Between
    other: Between | None
    antecedent: Term
    consequent: Term


@dataclass(frozen=True, slots=True)
class Knowledge:
    modality: Literal["K", "EK", "DK", "CK"]
    group: tuple[str, ...]
    body: Term


@dataclass(frozen=True, slots=True)
class Does:
    """A path atom.

    ``verb`` is ``take`` (a message takes effect), ``send``, ``act`` (by a role), ``tick``, ``idle`` or a change of a
    commitment or claim; ``other`` is what a delegation is to or an argument is with, None for any.
    """

    verb: str
    subject: str
    other: str | None = None
    by_message: bool = False
    """Only an operation of a message counts, not an automatic rule or a tick."""


@dataclass(frozen=True, slots=True)
class Strategic:
    group: tuple[str, ...]
    path: Term


Term = (
    Const | Happened | Sent | InFlight | Field | Own | Var | InState | Stands | Age | FactRef | Terminal
    | Apply | OverPaths | Social | Conditional | Knowledge | Does | Strategic
)  # fmt: skip

TRUE = Const(True)
FALSE = Const(False)


def operands_of(term: Term) -> tuple[Term, ...]:
    """Return the terms that a term is made of, in the order of the text; the actions of a quantifier are none."""
    match term:
        case Apply(_, operands):
            return operands
        case OverPaths(_, body) | Strategic(_, body) | Knowledge(_, _, body) | Social(body=body, trigger=None):
            return (body,)
        case Social(body=body, trigger=trigger):
            assert trigger is not None
            return (trigger, body)
        case Conditional(antecedent=antecedent, consequent=consequent):
            return (antecedent, consequent)
        case _:
            return ()


def subterms(term: Term, meanings: Mapping[str, Term] | None = None) -> Iterator[Term]:
    """Yield the term and all its parts in the order of the text; ``meanings`` adds the parts of the facts in it."""
    stack = [term]
    while stack:
        part = stack.pop()
        yield part
        if isinstance(part, FactRef) and meanings is not None:
            stack.append(meanings[part.fact])
        else:
            stack.extend(reversed(operands_of(part)))


def atoms(term: Term) -> Iterator[Term]:
    """Yield the parts of a term without operands; a fact is one of them."""
    return (part for part in subterms(term) if not operands_of(part))


def signed_atoms(term: Term, meanings: Mapping[str, Term], positive: bool = True) -> Iterator[tuple[Term, bool]]:
    """Yield the atoms, each with whether it occurs positively: the term is monotone in it. Facts are expanded.

    An atom below an equivalence occurs both ways. A payload occurs positively in a comparison, which is false where it
    is missing; any other compared value does not.
    """
    match term:
        case Const():
            pass
        case FactRef(fact):
            yield from signed_atoms(meanings[fact], meanings, positive)
        case Apply("!", (operand,)):
            yield from signed_atoms(operand, meanings, not positive)
        case Apply("->", (left, right)):
            yield from signed_atoms(left, meanings, not positive)
            yield from signed_atoms(right, meanings, positive)
        case Apply("<->", operands):
            for operand in operands:
                yield from signed_atoms(operand, meanings, True)
                yield from signed_atoms(operand, meanings, False)
        case Apply("=" | "!=" | "<" | "<=" | ">" | ">="):
            for atom in atoms(term):
                if not isinstance(atom, Const):
                    yield atom, positive and isinstance(atom, Field)
        case Apply(_, operands):
            for operand in operands:
                yield from signed_atoms(operand, meanings, positive)
        case _:
            yield term, positive


def is_about_runs(term: Term) -> bool:
    """Return whether the term is a formula about runs, not a state condition."""
    match term:
        case Does() | Apply("F" | "G" | "U" | "W" | "R" | "M"):
            return True
        case Apply("!" | "&" | "|" | "->" | "<->", operands):
            return any(map(is_about_runs, operands))
        case _:
            return False


def conjuncts_of(term: Term) -> tuple[Term, ...]:
    """Return the operands of a conjunction, or the term itself."""
    return term.operands if isinstance(term, Apply) and term.op == "&" else (term,)


def state_parts(term: Term) -> Iterator[Term]:
    """Yield the maximal state conditions in the term."""
    match term:
        case Does():
            pass
        case Apply(_, operands) if is_about_runs(term):
            for operand in operands:
                yield from state_parts(operand)
        case _:
            yield term


def speaks_of_ticks(term: Term) -> bool:
    """Return whether the term depends on ticks: a bound counts them, or it names the step."""
    return counts_ticks(term) or any(isinstance(part, Does) and part.verb == "tick" for part in subterms(term))


def counts_ticks(term: Term) -> bool:
    """Return whether a bound in it counts ticks."""
    return any(isinstance(part, Apply) and part.in_ticks for part in subterms(term))


def ages_in(term: Term) -> Iterator[tuple[str, int]]:
    """Yield the subject of each age in a guard, and the number that it is compared with."""
    match term:
        case Apply(_, (Age(name), Const(int(number)))) | Apply(_, (Const(int(number)), Age(name))):
            yield name, number
        case Apply(_, operands):
            for operand in operands:
                yield from ages_in(operand)
        case Age(name):
            yield name, 0
        case _:
            pass


# --- constructors that evaluate constant operands


def is_constant(term: Term | None, value: Value) -> bool:
    return isinstance(term, Const) and term.value is value


def is_zero(term: Term) -> bool:
    return isinstance(term, Const) and term.value == 0


def negated(term: Term) -> Term:
    match term:
        case Const(value):
            return Const(not value)
        case Apply("!", (inner,)):
            return inner
        case _:
            return Apply("!", (term,))


def combined(op: Op, operands: Iterable[Term]) -> Term:
    """Return the conjunction or disjunction; operands after a decisive one are not evaluated."""
    remaining: list[Term] = []
    for operand in operands:
        if is_constant(operand, op == "|"):
            return operand
        if isinstance(operand, Apply) and operand.op == op:
            remaining.extend(operand.operands)
        elif not isinstance(operand, Const):
            remaining.append(operand)
    if not remaining:
        return TRUE if op == "&" else FALSE
    return remaining[0] if len(remaining) == 1 else Apply(op, tuple(remaining))


def equivalence(left: Term, right: Term) -> Term:
    for one, other in ((left, right), (right, left)):
        if isinstance(one, Const):
            return other if one.value else negated(other)
    return Apply("<->", (left, right))


def compared(op: str, left: Value, right: Value) -> bool:
    if op in ("=", "!="):
        return (left == right) is (op == "=")
    if isinstance(left, str) and isinstance(right, str):
        from cplc.language.amounts import number_in

        difference = number_in(left) - number_in(right)
        return compared(op, (difference > 0) - (difference < 0), 0)
    assert not isinstance(left, str)
    assert not isinstance(right, str)
    match op:
        case "<":
            return left < right
        case "<=":
            return left <= right
        case ">":
            return left > right
        case _:
            return left >= right


def with_own_fields(term: Term) -> Term:
    """Return an arithmetic term with the fields of its message as own parameters."""
    match term:
        case Field(_, parameter):
            return Own(parameter)
        case Apply(op, operands):
            return Apply(op, tuple(map(with_own_fields, operands)))
        case _:
            return term


def number_of(term: Term, own: Mapping[str, int]) -> int:
    """Return the value of an arithmetic term over constants and fields of one message."""
    match term:
        case Const(int(number)):
            return number
        case Field(parameter=parameter) | Own(parameter):
            return own[parameter]
        case Apply(op, operands):
            return calculated(op, [number_of(operand, own) for operand in operands])
        case _:
            raise AssertionError(f"no number: {term}")


def calculated(op: str, numbers: Sequence[int]) -> int:
    """Return the result of an arithmetic operator; the remainder of a division by zero is 0."""
    left, right = numbers if len(numbers) == 2 else (0, *numbers)
    match op:
        case "+":
            return left + right
        case "-":
            return left - right
        case "*":
            return left * right
        case _:
            return left % right if right else 0


# --- action formulas: the α of `E{α}`


def allows_idling(action: Term) -> bool:
    """Return whether the idle step satisfies a combination of `does(…)`."""
    match action:
        case Const(value):
            return value is True
        case Apply("!", (operand,)):
            return not allows_idling(operand)
        case Apply("&", operands):
            return all(map(allows_idling, operands))
        case Apply("|", operands):
            return any(map(allows_idling, operands))
        case Apply("->", (left, right)):
            return not allows_idling(left) or allows_idling(right)
        case Apply("<->", (left, right)):
            return allows_idling(left) == allows_idling(right)
        case Does(verb):
            return verb == "idle"
        case _:
            raise AssertionError(f"the checker lets no such action through: {action}")


def names_idle_step(action: Term) -> bool:
    """Return whether a combination of `does(…)` contains `does(idle)`."""
    return Does("idle", "") in subterms(action)
