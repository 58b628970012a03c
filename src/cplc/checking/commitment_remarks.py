"""Remarks on commitments in formulas: fulfilment that never occurs, contents that do not last, and promises that are
not kept where a property fails.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cplc.checking.results import Remark
from cplc.checking.vacuity import Reachable
from cplc.language.groups import is_promised
from cplc.logic import expressions as expr
from cplc.logic.commitments import Channel, Commits, Conditional, Fulfils
from cplc.logic.expressions import TRUE, Const, Expr, Read, conj, equal, negate, reads
from cplc.logic.formulas import Atom, Finally, Formula, Not, OnPaths, invariant, possibility, subformulas
from cplc.records import dataclass
from cplc.system.interpreter import holds
from cplc.system.memoize import memoize_per_system
from cplc.system.model import Commitment, State, Step, System
from cplc.system.printer import quoted

_Social = Commits | Fulfils | Conditional
_FULFILMENT = ("FuW", "FuS")
_FULFILLING = ("fulfill", "delegate", "assign")
"""Operations that fulfil a commitment regardless of its consequent: by a message, or through another commitment."""


def never_fulfilled(reachable: Reachable, formula: Formula) -> Iterator[Remark]:
    """Yield the fulfilments in a valid formula that no reachable state satisfies, unless the formula says just that."""
    for part in dict.fromkeys(subformulas(formula)):
        is_fulfilment = isinstance(part, Fulfils) or (isinstance(part, Conditional) and part.operation in _FULFILMENT)
        if is_fulfilment and not _says_never(formula, part) and not reachable.occurs(part):
            yield Remark("never-fulfilled", f"{quoted(part)} holds in no reachable state")


def _says_never(formula: Formula, part: Formula) -> bool:
    """Return whether the formula is ``A G !part`` or ``!E F part``."""
    if isinstance(formula, Not):
        return possibility(formula.operand) == part
    return invariant(formula) == Not(part)


def contents_that_do_not_last(
    deciding: Callable[[Formula], Reachable], formula: Formula, system: System
) -> Iterator[Remark]:
    """Yield commitments in the formula whose consequent becomes false again while they stay fulfilled.

    A message that is reset is an example. `C` and `Fu` of the consequent are then false although the promise is kept.
    ``deciding`` returns the reachable states for a formula: the consequent may depend on more than the question does.
    """
    variables_read: dict[str, set[str]] = {}
    for part in subformulas(formula):
        if isinstance(part, _Social):
            content = part.consequent if isinstance(part, Conditional) else part.operand
            read = set().union(*(reads(one.condition) for one in subformulas(content) if isinstance(one, Atom)))
            for commitment in commitments_of(system, part.channel.name):
                variables_read.setdefault(commitment.name, set()).update(read - {commitment.variable})
    for commitment in system.commitments:
        content_reads = reads(commitment.consequent)
        if content_reads.isdisjoint(variables_read.get(commitment.name, ())) or commitment.variable in content_reads:
            continue
        states = system.variable.get(commitment.variable)
        if states is None or "fulfilled" not in states.domain or _stays_true(commitment, system):
            continue
        is_fulfilled = equal(Read(commitment.variable), Const("fulfilled"))
        lost = Atom(
            conj((is_fulfilled, negate(commitment.consequent))),
            f"{commitment.name} is kept, and no longer so",
            in_words=True,
        )
        reachable = deciding(OnPaths("E", Finally(lost)))
        if reachable.occurs(lost):
            message = (
                f"the consequent of `{commitment.name}` does not last: in some reachable states it is false again, and "
                f"`{commitment.name}` is fulfilled; ask `fulfilled({commitment.name})`"
            )
            yield Remark("content-does-not-last", message, reachable.example(lost))


def _stays_true(commitment: Commitment, system: System) -> bool:
    """Tell whether a syntactic criterion shows that the consequent holds whenever the commitment is fulfilled.

    The criterion: only the consequent fulfils the commitment; it is a monotone formula over flags; and only steps that
    move the commitment to another state, as restarts do, unset a flag.
    """
    content = commitment.consequent
    flags = reads(content)
    if not _is_monotone(content):
        return False
    writers, fulfilled = _effects(system)
    if commitment.name in fulfilled:
        return False
    for step in {id(step): step for flag in flags for step in writers.get(flag, ())}.values():
        updates = dict(step.updates)
        state = updates.get(commitment.variable)
        if isinstance(state, Const) and state.value != "fulfilled":
            continue
        if not flags.isdisjoint(step.free) or any(updates.get(flag, TRUE) != TRUE for flag in flags):
            return False
    return True


@memoize_per_system
def _effects(system: System) -> tuple[dict[str, list[Step]], set[str]]:
    """Return the steps that write each variable, and the commitments that operations fulfil."""
    writers: dict[str, list[Step]] = {}
    fulfilled: set[str] = set()
    for step in system.steps:
        for name in step.writes:
            writers.setdefault(name, []).append(step)
        fulfilled.update(one.commitment for one in step.operations if one.verb in _FULFILLING)
    return writers, fulfilled


def _is_monotone(content: Expr) -> bool:
    """Tell whether a condition over flags is monotone: built with *and* and *or* alone."""
    match content:
        case Read():
            return True
        case expr.And(operands) | expr.Or(operands):
            return all(map(_is_monotone, operands))
        case _:
            return False


def commitments_of(system: System, channel: str) -> tuple[Commitment, ...]:
    """Return the commitments of a channel, which is named after one commitment or after two sides."""
    one = system.commitment.get(channel)
    if one is not None:
        return (one,)
    by, to = sides_of(system, channel)
    return tuple(c for c in system.commitments if is_promised(*c.parties, c.answerable, by, to))


def sides_of(system: System, channel: str) -> tuple[str, str]:
    """Return the side that promises and the side that is promised something in a channel."""
    one = system.commitment.get(channel)
    by, _, to = channel.partition(" -> ")
    return (by, to) if one is None else one.parties


@dataclass(frozen=True)
class UnkeptPromises:
    """The reason why `C` or `Fu` of a channel is false in a state: no promise is made, or one is not kept."""

    debtor: str
    creditor: str
    commitments: tuple[str, ...]
    """The promises that are not kept; if there are none, the commitments that could make a promise."""
    states: tuple[str, ...]
    """The lifecycle state of each."""
    promises_nothing: bool


def unkept_promises(system: System, formula: Formula, state: State) -> Iterator[UnkeptPromises]:
    """Yield the channels in a formula that make no promise in the state, or one that is not kept there."""
    for channel, asks_kept in _channels(formula).items():
        commitments = commitments_of(system, channel.name)
        if not commitments or not channel.reads <= state.keys():
            continue
        bound = holds(channel.bound, state)
        if bound and (not asks_kept or holds(channel.caught_up, state)):
            continue
        shown = [c for c in commitments if not bound or _is_unkept(c, channel, state)]
        # The system of the run may lack a commitment that no message creates.
        states = tuple(str(state.get(c.variable, "null")) for c in shown)
        yield UnkeptPromises(*sides_of(system, channel.name), tuple(c.name for c in shown), states, not bound)


def _channels(formula: Formula) -> dict[Channel, bool]:
    """Return the channels of `C` and `Fu`, and for each whether the formula is about fulfilment."""
    asks_fulfilment: dict[Channel, bool] = {}
    for part in subformulas(formula):
        if isinstance(part, Commits):
            asks_fulfilment.setdefault(part.channel, False)
        elif isinstance(part, Fulfils):
            asks_fulfilment[part.channel] = True
        elif isinstance(part, Conditional) and part.operation in _FULFILMENT:
            asks_fulfilment[part.channel.promises] = True
    return asks_fulfilment


def _is_unkept(commitment: Commitment, channel: Channel, state: State) -> bool:
    """Tell whether the commitment is in force in the state and not kept there."""
    if state.get(commitment.variable, "null") in ("null", "fulfilled") or holds(commitment.on_course, state):
        return False
    return any(commitment.variable in reads(expr) and holds(expr, state) for expr in channel.promised)
