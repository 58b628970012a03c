"""Conflicts among promises: the minimal sets that no fair run keeps together.

`SC` is false where its debtor is bound to more than can be kept. The minimal sets of promises that exclude each other
are minimal unsatisfiable sets of path formulas at one state (Liffiton and Sakallah 2008). They are enumerated by
increasing size. Beyond a limit of questions, deletion of unneeded promises yields one of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import combinations

from cplc.checking.results import Remark
from cplc.checking.vacuity import Reachable
from cplc.logic.commitments import SociallyCommits, bound, some_path_keeps
from cplc.logic.formulas import SOME_FAIR_RUN, And, Finally, Formula, Not, OnPaths, is_state_formula, subformulas
from cplc.records import dataclass
from cplc.system.model import State
from cplc.system.printer import quoted
from cplc.system.trace import Evidence

MAX_QUESTIONS = 60
"""Maximum number of sets of promises tried at one state before the search is for one minimal set alone."""
MAX_STATES = 3
"""Maximum number of states at which conflicts are explained."""

Holds = Callable[[Formula, State], bool]
"""True if a formula holds in a reachable state."""


@dataclass(frozen=True, slots=True)
class _Part:
    """One path formula that a fair run should satisfy."""

    name: str | None
    """The name of the promise; None for the trigger."""
    path: Formula


@dataclass(frozen=True, slots=True)
class Conflicts:
    """Minimal sets of promises that no fair run from a state keeps together, the smallest first.

    The empty set alone stands for a state without fair run. None in a set is the trigger.
    """

    sets: tuple[tuple[str | None, ...], ...]
    examined: int
    """Number of sets for which it is decided whether some fair run keeps them."""
    total: int

    @property
    def is_partial(self) -> bool:
        """True if there may be further sets."""
        return self.examined < self.total


def conflicts_shown(formula: Formula, evidence: Evidence, holds: Holds) -> Iterator[Remark]:
    """Yield the conflicting promises at the end of the evidence, if a social commitment is false there."""
    texts: dict[str, None] = {}
    ends = _ends(evidence)
    where = "where the run ends"
    if len(ends) > MAX_STATES:
        where = f"where runs end ({MAX_STATES} of {len(ends)} ends were examined)"
    for state in ends[:MAX_STATES]:
        for social in _social(formula):
            if holds(bound(social), state) and not holds(some_path_keeps(social), state):
                texts.setdefault(_explained(social, conflicts(social, state, holds), where))
    yield from (Remark("not-keepable", text) for text in texts)


def conflicts_everywhere(reachable: Reachable, formula: Formula, holds: Holds) -> Iterator[Remark]:
    """Yield the social commitments in the formula whose debtors can keep their promises in no reachable state."""
    for social in _social(formula):
        if reachable.occurs(And((bound(social), some_path_keeps(social)))):
            continue
        example = reachable.example(And((bound(social), Not(some_path_keeps(social)))))
        if example is not None:
            text = _explained(social, conflicts(social, example, holds), "wherever something binds")
            yield Remark("not-keepable", text, example)


def conflicts(social: SociallyCommits, state: State, holds: Holds) -> Conflicts:
    """Return the minimal sets that no fair run from the state keeps together; all, or one beyond `MAX_QUESTIONS`.

    Supersets of a set in the answer need no question.
    """
    parts = [_Part(one.name, one.keeping) for one in social.bindings if holds(one.where, state)]
    if social.trigger is not None:
        parts.append(_Part(None, Finally(social.trigger)))

    def possible(some: Sequence[_Part]) -> bool:
        return holds(_some_run(some), state)

    total = 2 ** len(parts) - 1
    if not possible(()):
        return Conflicts(((),), total, total)
    minimal: list[frozenset[_Part]] = []
    questions = examined = 0
    candidates = parts
    for size in range(1, len(parts) + 1):
        if size == 2:  # whatever contains one that cannot be kept by itself is known
            alone = frozenset().union(*minimal)
            candidates = [part for part in parts if part not in alone]
            examined = len(candidates) + total - (2 ** len(candidates) - 1)
        for some in combinations(candidates, size):
            if not any(conflict <= frozenset(some) for conflict in minimal):
                questions += 1
                if questions > MAX_QUESTIONS:
                    minimal += [] if minimal else [frozenset(_shrunk(parts, possible))]
                    return Conflicts(_names(parts, minimal), examined, total)
                if not possible(some):
                    minimal.append(frozenset(some))
            examined += 1
    return Conflicts(_names(parts, minimal), examined, total)


def _names(parts: Sequence[_Part], sets: Sequence[frozenset[_Part]]) -> tuple[tuple[str | None, ...], ...]:
    return tuple(tuple(part.name for part in parts if part in one) for one in sets)


def _shrunk(parts: Sequence[_Part], possible: Callable[[Sequence[_Part]], bool]) -> list[_Part]:
    """Return a minimal impossible subset of an impossible set, by deletion."""
    needed = list(parts)
    for part in parts:
        fewer = [one for one in needed if one is not part]
        if not possible(fewer):
            needed = fewer
    return needed


def _some_run(parts: Sequence[_Part]) -> Formula:
    """Return that some fair run satisfies all of these path formulas."""
    if not parts:
        return SOME_FAIR_RUN
    path = parts[0].path if len(parts) == 1 else And(tuple(part.path for part in parts))
    return And((path, SOME_FAIR_RUN)) if is_state_formula(path) else OnPaths("E", path)


def _explained(social: SociallyCommits, conflicts: Conflicts, where: str) -> str:
    """Describe why the debtor cannot keep its promises."""
    reasons = "; ".join(_reason(social, names) for names in conflicts.sets)
    text = f"{quoted(social)} is false {where}: {reasons}"
    if conflicts.is_partial:
        examined = f"{conflicts.examined:,} of {conflicts.total:,} sets of promises were examined"
        text += f" (the search is partial, there may be further conflicts: {examined})"
    return text


def _reason(social: SociallyCommits, names: tuple[str | None, ...]) -> str:
    promises = [f"`{name}`" for name in names if name is not None]
    trigger = ""
    if None in names and social.trigger is not None:
        trigger = f" and comes to {quoted(social.trigger)}"
    match promises:
        case [] if None in names:
            assert social.trigger is not None
            return f"no fair run comes to {quoted(social.trigger)}"
        case []:
            return "no fair run begins there"
        case [only] if not trigger:
            return f"{only} can no longer be kept"
        case [only]:
            return f"no fair run keeps {only}{trigger}"
        case [one, other]:
            return f"no fair run keeps both {one} and {other}{trigger}"
        case _:
            return f"no fair run keeps all of {', '.join(promises[:-1])} and {promises[-1]}{trigger}"


def _social(formula: Formula) -> list[SociallyCommits]:
    return list(dict.fromkeys(part for part in subformulas(formula) if isinstance(part, SociallyCommits)))


def _ends(evidence: Evidence) -> list[State]:
    """Return the last states of the run and of the runs of its parts, each once."""
    ends = [evidence.run.states[-1]]
    for _, part in evidence.parts:
        ends += [state for state in _ends(part) if state not in ends]
    return ends
