"""Decision analysis: from the system and a participant to probabilities, values, strategy and sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cplc.decision.components import ComponentCache, ComponentGroup, ComponentMdp, isomorphic_components
from cplc.decision.reachability import advice
from cplc.decision.results import (
    Analysis,
    AnalysisRemark,
    AnalysisStatistics,
    EndState,
    Figure,
    OptimalStrategy,
    Sensitivity,
    TotalReward,
    by_impact,
)
from cplc.decision.total_reward import total_reward_and_benefit
from cplc.logic.expressions import TRUE, Expr, conj, conjuncts, reads
from cplc.runtime.context import ResourceExhausted
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
    """Return the analysis of a participant; a figure that exceeds the limits is unknown and gives the reason.

    The thresholds determine where verdicts flip. Without ``sensitivity``, neither sensitivities nor bounds of the
    distribution are computed. Without ``reduction``, the system is not split into independent components.
    """
    if sensitivity:
        from cplc.decision.sensitivity import sensitivities, value_sensitivities

    cache = ComponentCache(system, participant, exact, fairness, reduction, limit)
    aspects: list[tuple[Aspect, Expr]] = [("conformance", participant.conforming)]
    if participant.goals:
        aspects.append(("achievement", conj(goal.condition for goal in participant.goals)))
    figures: list[Figure] = []
    impacts: list[Sensitivity] = []
    groups: Sequence[ComponentGroup] = ()
    for aspect, condition in aspects:
        try:
            groups = cache.groups(condition)
            figures.append(_figure(cache, aspect, groups))
            if sensitivity:
                impacts += sensitivities(cache, aspect, groups, thresholds)
        except ResourceExhausted as exhausted:
            figures.append(Figure.unknown(aspect, str(exhausted)))
    gain: TotalReward | None = None
    values: tuple[Sensitivity, ...] = ()
    if participant.worth:
        try:
            gain, benefit = total_reward_and_benefit(cache, cache.groups(TRUE), with_cdf_bounds=sensitivity)
            if sensitivity:
                values = by_impact(value_sensitivities(cache, cache.groups(TRUE)))
        except ResourceExhausted as exhausted:
            gain, benefit = None, Figure.unknown("benefit", str(exhausted))
        figures.append(benefit)
    return Analysis(
        participant.name,
        tuple(figures),
        gain,
        by_impact(impacts) + values,
        tuple(_remarks(cache)),
        _statistics(cache, groups),
    )


def _figure(cache: ComponentCache, aspect: Aspect, groups: Sequence[ComponentGroup]) -> Figure:
    return Figure(
        aspect,
        cache.bounds(groups, True),
        cache.bounds(groups, False),
        endings=tuple(_endings(cache, groups)),
        advice=_optimal_strategy(cache, groups),
    )


def _optimal_strategy(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> OptimalStrategy | None:
    """Return the optimal strategy of each component, over the variables of the first component of its group."""
    strategies = []
    for group in groups:
        if not group.built.has_decisions:
            continue
        if not isinstance(group.built, ComponentMdp):
            one = group.built.solved(group.condition, cache.exact).advice
        else:
            one = advice(
                group.components[0].system,
                cache.participant.agents,
                group.built.ordered,
                cache.values(group.built, group.goal_states, True).low,
                lambda at, group=group, built=group.built: group.renamed_state(built.state_at(at)),  # type: ignore[misc]
            )
        if one is not None:
            strategies.append(one)
    if not strategies:
        return None
    return OptimalStrategy(
        tuple(each for one in strategies for each in one.situations),
        all(one.is_observation_based for one in strategies),
    )


def _endings(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> Iterator[EndState]:
    """Yield a goal end and another end, of the first component that has both if there is one."""
    kinds = [(_example_end(cache, group, True), _example_end(cache, group, False), group) for group in groups]
    for good, bad, group in sorted(kinds, key=lambda kind: (kind[0] is None) + (kind[1] is None)):
        if good is not None:
            yield EndState(_state(group, good), True, "")
        if bad is not None:
            state = _state(group, bad)
            yield EndState(state, False, _failing_conditions(group, state))
        return


def _example_end(cache: ComponentCache, group: ComponentGroup, is_goal: bool) -> int | None:
    """Return the number, or the word, of an end that does or does not satisfy the condition."""
    if not isinstance(group.built, ComponentMdp):
        solved = group.built.solved(group.condition, cache.exact)
        return solved.goal_end if is_goal else solved.other_end
    model = group.built.explored.model
    return next((at for at in range(len(model)) if model.is_end(at) and bool(group.goal_states[at]) == is_goal), None)


def _state(group: ComponentGroup, at: int) -> State:
    return group.renamed_state(
        group.built.state_at(at) if isinstance(group.built, ComponentMdp) else group.built.state(at)
    )


def _failing_conditions(group: ComponentGroup, state: State) -> str:
    """Return the subjects of the conditions that fail in this state."""
    system = group.components[0].system
    packing = Packing(system)
    packed = packing.pack(state)
    failing = [one for one in conjuncts(group.original_condition) if not packing.condition(one)(packed)]
    about = dict.fromkeys(system.variable[name].about for one in failing for name in sorted(reads(one)))
    return ", ".join(about)


def _remarks(cache: ComponentCache) -> Iterator[AnalysisRemark]:
    """Yield the diagnostics collected while the models were built, each component once."""
    try:
        groups = cache.groups(TRUE)
    except ResourceExhausted:
        return
    beliefs = cache.participant.beliefs
    for group, component in isomorphic_components(groups):
        diagnostics = group.built.diagnostics
        example = component is group.components[0]
        for index in range(len(component.beliefs)):
            mine = component.beliefs[index]
            if index in diagnostics.partial:
                times, state = diagnostics.partial[index]
                where = group.renamed_state(state()) if example else None
                text = f"its condition holds in {times:,} states in which only some of its events are possible"
                yield AnalysisRemark("partial-belief", f"{beliefs[mine].text}: {text}", (mine,), where)
            elif index not in diagnostics.applied:
                yield AnalysisRemark("belief-never-applies", f"{beliefs[mine].text}: applies in no state", (mine,))
        for (one, other), state in diagnostics.overlapping.items():
            pair = component.beliefs[one], component.beliefs[other]
            text = f"{beliefs[pair[0]].text} and {beliefs[pair[1]].text} apply in the same state"
            yield AnalysisRemark("overlapping-beliefs", text, pair, group.renamed_state(state()) if example else None)
        if diagnostics.stuck is not None and example:
            text = "a run ends in a state in which the decisions of the participant forbid all of its enabled steps"
            yield AnalysisRemark("stuck", text, (), group.renamed_state(diagnostics.stuck()))
    if not all(group.built.is_acyclic for group in groups):
        yield AnalysisRemark("endless-runs", "the model has cycles; a run that never ends counts as a failure")


def _statistics(cache: ComponentCache, groups: Sequence[ComponentGroup]) -> AnalysisStatistics:
    built = cache.built.values()
    circles = not all(one.is_acyclic for one in built)
    method = "policy iteration per strongly connected component" if circles else "backward induction"
    if cache.sums or any(not isinstance(one, ComponentMdp) and one.counts for one in built):
        method += ", symmetric agents counted"
    made = [*built, *cache.sums]
    states, ends = sum(one.states for one in made), sum(one.ends for one in made)
    return AnalysisStatistics(sum(len(group.components) for group in groups), len(built), states, ends, method)
