"""One participant's decision, from the system to all that is found out about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.decision.benefit import total_reward_and_benefit
from cplc.decision.component_cache import ComponentCache, ComponentClass, ComponentMdp, isomorphic_components
from cplc.decision.components import conjuncts
from cplc.decision.optimal_strategy import advice
from cplc.decision.results import Advice, Analysis, Ending, Figure, Gain, Remark, Sensitivity, Work, ordered
from cplc.logic.expressions import TRUE, Expr, conj, reads
from cplc.runtime.limits import ResourceExhausted
from cplc.statespace.packing import Packing
from cplc.system.model import State, System
from cplc.system.participant import Aspect, Participant, Threshold

MAX_STATES = 5_000_000


def analyse(
    system: System,
    participant: Participant,
    thresholds: tuple[Threshold, ...] = (),
    *,
    exact: bool = False,
    fairness: bool = True,
    reduction: bool = True,
    sensitivity: bool = True,
    limit: int = MAX_STATES,
) -> Analysis:
    """Return what the participant can count on; nothing is raised for what is too large, the figures then say so.

    The thresholds are for where verdicts flip. Without ``sensitivity`` it is not found out what figures hang on, nor
    within what edges the value is distributed. Without ``reduction`` the system is not split into independent parts.
    """
    if sensitivity:
        from cplc.decision.sensitivity import sensitivities, value_sensitivities

    cache = ComponentCache(system, participant, exact, fairness, reduction, limit)
    asked: list[tuple[Aspect, Expr]] = [("conformance", participant.conforming)]
    if participant.goals:
        asked.append(("achievement", conj(goal.condition for goal in participant.goals)))
    figures: list[Figure] = []
    found: list[Sensitivity] = []
    classes: Sequence[ComponentClass] = ()
    for aspect, condition in asked:
        try:
            classes = cache.classes(condition)
            figures.append(_figure(cache, aspect, classes))
            if sensitivity:
                found += sensitivities(cache, aspect, classes, thresholds)
        except ResourceExhausted as exhausted:
            figures.append(Figure.unknown(aspect, str(exhausted)))
    gain: Gain | None = None
    values: tuple[Sensitivity, ...] = ()
    if participant.worth:
        try:
            gain, benefit = total_reward_and_benefit(cache, cache.classes(TRUE), with_cdf_bounds=sensitivity)
            if sensitivity:
                values = ordered(value_sensitivities(cache, cache.classes(TRUE)))
        except ResourceExhausted as exhausted:
            gain, benefit = None, Figure.unknown("benefit", str(exhausted))
        figures.append(benefit)
    return Analysis(
        participant.name,
        tuple(figures),
        gain,
        ordered(found) + values,
        tuple(_remarks(cache)),
        _statistics(cache, classes),
    )


def _figure(cache: ComponentCache, aspect: Aspect, classes: Sequence[ComponentClass]) -> Figure:
    return Figure(
        aspect,
        cache.bounds(classes, True),
        cache.bounds(classes, False),
        endings=tuple(_endings(cache, classes)),
        advice=_optimal_strategy(cache, classes),
    )


def _optimal_strategy(cache: ComponentCache, classes: Sequence[ComponentClass]) -> Advice | None:
    """Return what is best in each of the parts, in the words of the first of its copies."""
    found = []
    for component_class in classes:
        if not component_class.built.has_decisions:
            continue
        if not isinstance(component_class.built, ComponentMdp):
            one = component_class.built.solved(component_class.condition, cache.exact).advice
        else:
            one = advice(
                component_class.parts[0].system,
                cache.participant.agents,
                component_class.built.ordered,
                cache.values(component_class.built, component_class.wanted, True).low,
                lambda at, component_class=component_class, built=component_class.built: component_class.renamed_state(
                    built.state_at(at)
                ),  # type: ignore[misc]
            )
        if one is not None:
            found.append(one)
    if not found:
        return None
    return Advice(tuple(each for one in found for each in one.situations), all(one.by_sight for one in found))


def _endings(cache: ComponentCache, classes: Sequence[ComponentClass]) -> Iterator[Ending]:
    """Yield an end that is wanted and one that is not, of the first part that has both if there is one."""
    kinds = [
        (_example_end(cache, component_class, True), _example_end(cache, component_class, False), component_class)
        for component_class in classes
    ]
    for good, bad, component_class in sorted(kinds, key=lambda kind: (kind[0] is None) + (kind[1] is None)):
        if good is not None:
            yield Ending(_state(component_class, good), True, "")
        if bad is not None:
            state = _state(component_class, bad)
            yield Ending(state, False, _failing_conditions(component_class, state))
        return


def _example_end(cache: ComponentCache, component_class: ComponentClass, wanted: bool) -> int | None:
    """Return the number, or the word, of an end that is wanted or not."""
    if not isinstance(component_class.built, ComponentMdp):
        solved = component_class.built.solved(component_class.condition, cache.exact)
        return solved.wanted if wanted else solved.unwanted
    model = component_class.built.explored.model
    return next(
        (at for at in range(len(model)) if model.is_end(at) and bool(component_class.wanted[at]) == wanted), None
    )


def _state(component_class: ComponentClass, at: int) -> State:
    return component_class.renamed_state(
        component_class.built.state_at(at)
        if isinstance(component_class.built, ComponentMdp)
        else component_class.built.state(at)
    )


def _failing_conditions(component_class: ComponentClass, state: State) -> str:
    """Return what the conditions that fail there are about."""
    system = component_class.parts[0].system
    packing = Packing(system)
    packed = packing.pack(state)
    failing = [one for one in conjuncts(component_class.asked) if not packing.condition(one)(packed)]
    about = dict.fromkeys(system.variable[name].about for one in failing for name in sorted(reads(one)))
    return ", ".join(about)


def _remarks(cache: ComponentCache) -> Iterator[Remark]:
    """Yield what was seen while the models were built; each part is asked about once."""
    try:
        classes = cache.classes(TRUE)
    except ResourceExhausted:
        return
    beliefs = cache.participant.beliefs
    for component_class, part in isomorphic_components(classes):
        seen = component_class.built.seen
        example = part is component_class.parts[0]
        for index in range(len(part.beliefs)):
            mine = part.beliefs[index]
            if index in seen.partial:
                times, state = seen.partial[index]
                where = component_class.renamed_state(state()) if example else None
                text = f"in {times:,} states the condition holds and only some of the events are possible"
                yield Remark("partial-belief", f"{beliefs[mine].text}: {text}", (mine,), where)
            elif index not in seen.applied:
                yield Remark("belief-never-applies", f"{beliefs[mine].text}: applies in no state", (mine,))
        for (one, other), state in seen.overlapping.items():
            pair = part.beliefs[one], part.beliefs[other]
            text = f"{beliefs[pair[0]].text} and {beliefs[pair[1]].text} apply together"
            yield Remark("overlapping-beliefs", text, pair, component_class.renamed_state(state()) if example else None)
        if seen.stuck is not None and example:
            text = "a run ends where something can happen, but only what the participant would not do"
            yield Remark("stuck", text, (), component_class.renamed_state(seen.stuck()))
    if not all(component_class.built.is_acyclic for component_class in classes):
        yield Remark("endless-runs", "there are runs that go round in circles; those that never end attain nothing")


def _statistics(cache: ComponentCache, classes: Sequence[ComponentClass]) -> Work:
    built = cache.built.values()
    circles = not all(one.is_acyclic for one in built)
    method = "circle by circle, by policy iteration" if circles else "one sweep from the ends"
    if cache.sums or any(not isinstance(one, ComponentMdp) and one.counts for one in built):
        method += ", alike ones counted"
    made = [*built, *cache.sums]
    states, ends = sum(one.states for one in made), sum(one.ends for one in made)
    return Work(sum(len(component_class.parts) for component_class in classes), len(built), states, ends, method)
