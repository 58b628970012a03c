"""One participant's decision, from the system to all that is found out about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.decision.benefit import gain_and_benefit
from cplc.decision.component_cache import Built, Piece, Workshop, copies
from cplc.decision.components import conjuncts
from cplc.decision.optimal_strategy import advice
from cplc.decision.results import Advice, Analysis, Ending, Figure, Gain, Remark, Sensitivity, Work, ordered
from cplc.logic.expressions import TRUE, Expr, conj, reads
from cplc.runtime.limits import ResourceExhausted
from cplc.statespace.packing import Packing
from cplc.system.model import State, System
from cplc.system.participant import Aspect, Participant, Threshold

STATES = 5_000_000


def analyse(
    system: System,
    participant: Participant,
    thresholds: tuple[Threshold, ...] = (),
    *,
    exact: bool = False,
    fairness: bool = True,
    reduction: bool = True,
    sensitivity: bool = True,
    limit: int = STATES,
) -> Analysis:
    """Return what the participant can count on; nothing is raised for what is too large, the figures then say so.

    The thresholds are for where verdicts flip. Without ``sensitivity`` it is not found out what figures hang on, nor
    within what edges the value is distributed. Without ``reduction`` the system is not split into independent parts.
    """
    if sensitivity:
        from cplc.decision.sensitivity import sensitivities, value_sensitivities

    workshop = Workshop(system, participant, exact, fairness, reduction, limit)
    asked: list[tuple[Aspect, Expr]] = [("conformance", participant.conforming)]
    if participant.goals:
        asked.append(("achievement", conj(goal.condition for goal in participant.goals)))
    figures: list[Figure] = []
    found: list[Sensitivity] = []
    pieces: Sequence[Piece] = ()
    for aspect, condition in asked:
        try:
            pieces = workshop.pieces(condition)
            figures.append(_figure(workshop, aspect, pieces))
            if sensitivity:
                found += sensitivities(workshop, aspect, pieces, thresholds)
        except ResourceExhausted as exhausted:
            figures.append(Figure.unknown(aspect, str(exhausted)))
    gain: Gain | None = None
    values: tuple[Sensitivity, ...] = ()
    if participant.worth:
        try:
            gain, benefit = gain_and_benefit(workshop, workshop.pieces(TRUE), edges=sensitivity)
            if sensitivity:
                values = ordered(value_sensitivities(workshop, workshop.pieces(TRUE)))
        except ResourceExhausted as exhausted:
            gain, benefit = None, Figure.unknown("benefit", str(exhausted))
        figures.append(benefit)
    return Analysis(
        participant.name,
        tuple(figures),
        gain,
        ordered(found) + values,
        tuple(_remarks(workshop)),
        _work(workshop, pieces),
    )


def _figure(workshop: Workshop, aspect: Aspect, pieces: Sequence[Piece]) -> Figure:
    return Figure(
        aspect,
        workshop.bounds(pieces, True),
        workshop.bounds(pieces, False),
        endings=tuple(_endings(workshop, pieces)),
        advice=_advised(workshop, pieces),
    )


def _advised(workshop: Workshop, pieces: Sequence[Piece]) -> Advice | None:
    """Return what is best in each of the parts, in the words of the first of its copies."""
    found = []
    for piece in pieces:
        if not piece.built.has_turns:
            continue
        if not isinstance(piece.built, Built):
            one = piece.built.solved(piece.condition, workshop.exact).advice
        else:
            one = advice(
                piece.parts[0].system,
                workshop.participant.agents,
                piece.built.ordered,
                workshop.values(piece.built, piece.wanted, True).low,
                lambda at, piece=piece, built=piece.built: piece.in_words(built.state_at(at)),  # type: ignore[misc]
            )
        if one is not None:
            found.append(one)
    if not found:
        return None
    return Advice(tuple(each for one in found for each in one.situations), all(one.by_sight for one in found))


def _endings(workshop: Workshop, pieces: Sequence[Piece]) -> Iterator[Ending]:
    """Yield an end that is wanted and one that is not, of the first part that has both if there is one."""
    kinds = [(_end(workshop, piece, True), _end(workshop, piece, False), piece) for piece in pieces]
    for good, bad, piece in sorted(kinds, key=lambda kind: (kind[0] is None) + (kind[1] is None)):
        if good is not None:
            yield Ending(_state(piece, good), True, "")
        if bad is not None:
            state = _state(piece, bad)
            yield Ending(state, False, _because(piece, state))
        return


def _end(workshop: Workshop, piece: Piece, wanted: bool) -> int | None:
    """Return the number, or the word, of an end that is wanted or not."""
    if not isinstance(piece.built, Built):
        solved = piece.built.solved(piece.condition, workshop.exact)
        return solved.wanted if wanted else solved.unwanted
    model = piece.built.explored.model
    return next((at for at in range(len(model)) if model.is_end(at) and bool(piece.wanted[at]) == wanted), None)


def _state(piece: Piece, at: int) -> State:
    return piece.in_words(piece.built.state_at(at) if isinstance(piece.built, Built) else piece.built.state(at))


def _because(piece: Piece, state: State) -> str:
    """Return what the conditions that fail there are about."""
    system = piece.parts[0].system
    packing = Packing(system)
    packed = packing.pack(state)
    failing = [one for one in conjuncts(piece.asked) if not packing.condition(one)(packed)]
    about = dict.fromkeys(system.variable[name].about for one in failing for name in sorted(reads(one)))
    return ", ".join(about)


def _remarks(workshop: Workshop) -> Iterator[Remark]:
    """Yield what was seen while the models were built; each part is asked about once."""
    try:
        pieces = workshop.pieces(TRUE)
    except ResourceExhausted:
        return
    beliefs = workshop.participant.beliefs
    for piece, part in copies(pieces):
        seen = piece.built.seen
        example = part is piece.parts[0]
        for index in range(len(part.beliefs)):
            mine = part.beliefs[index]
            if index in seen.partial:
                times, state = seen.partial[index]
                where = piece.in_words(state()) if example else None
                text = f"in {times:,} states the condition holds and only some of the events are possible"
                yield Remark("partial-belief", f"{beliefs[mine].text}: {text}", (mine,), where)
            elif index not in seen.applied:
                yield Remark("belief-never-applies", f"{beliefs[mine].text}: applies in no state", (mine,))
        for (one, other), state in seen.overlapping.items():
            pair = part.beliefs[one], part.beliefs[other]
            text = f"{beliefs[pair[0]].text} and {beliefs[pair[1]].text} apply together"
            yield Remark("overlapping-beliefs", text, pair, piece.in_words(state()) if example else None)
        if seen.stuck is not None and example:
            text = "a run ends where something can happen, but only what the participant would not do"
            yield Remark("stuck", text, (), piece.in_words(seen.stuck()))
    if not all(piece.built.is_acyclic for piece in pieces):
        yield Remark("endless-runs", "there are runs that go round in circles; those that never end attain nothing")


def _work(workshop: Workshop, pieces: Sequence[Piece]) -> Work:
    built = workshop.built.values()
    circles = not all(one.is_acyclic for one in built)
    method = "circle by circle, by policy iteration" if circles else "one sweep from the ends"
    if workshop.sums or any(not isinstance(one, Built) and one.counts for one in built):
        method += ", alike ones counted"
    made = [*built, *workshop.sums]
    states, ends = sum(one.states for one in made), sum(one.ends for one in made)
    return Work(sum(len(piece.parts) for piece in pieces), len(built), states, ends, method)
