"""Decision analysis: from the system and a participant to probabilities, values, strategy and sensitivities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from itertools import combinations
from math import inf, isinf, prod

from cplc.decision.components import (
    MAX_PLAIN_STATES,
    ComponentCache,
    ComponentGroup,
    isomorphic_components,
)
from cplc.decision.game import NO_STEP, ActionKind, Attitude
from cplc.decision.mdp import Semantics
from cplc.decision.observation import is_closed
from cplc.decision.part_plans import Decided, PartPlan, Status, does_take_part
from cplc.decision.plans import PERHAPS_BY_CHANCE, PlanProblem
from cplc.decision.results import (
    VERDICT_OF_PLAN,
    Analysis,
    AnalysisRemark,
    AnalysisStatistics,
    Bounds,
    EndState,
    Figure,
    LineResult,
    OptimalStrategy,
    PlanFigures,
    PlanVerdict,
    Sensitivity,
    Situation,
    TotalReward,
    by_impact,
    judged,
)
from cplc.decision.total_reward import total_reward_and_benefit
from cplc.decision.value_iteration import step_name
from cplc.logic.expressions import TRUE, Expr, Value, conj, conjuncts, reads
from cplc.runtime.context import ResourceExhausted
from cplc.statespace.packing import Packing
from cplc.system.model import State, System
from cplc.system.participant import Aspect, Participant, Threshold

MAX_STATES = 5_000_000
_BY_EFFORT: tuple[Aspect, ...] = ("conformance", "achievement", "value", "benefit")
"""Figures by the effort that they take: totals may need a joint model of all components."""
MAX_SAMPLED_STATES = 100_000
"""Maximum number of states of a model whose computed strategy is sampled."""
_MAX_COALITIONS = 40
"""Maximum number of sets of roles that are tried."""


def analyse(
    system: System,
    participant: Participant,
    lines: Sequence[Sequence[Threshold]] = (),
    *,
    assumed: frozenset[str] = frozenset(),
    exact: bool = False,
    fairness: bool = True,
    reduction: bool = True,
    sensitivity: bool = True,
    limit: int = MAX_STATES,
    semantics: Semantics = "game",
) -> Analysis:
    """Return the analysis of a participant; a figure that exceeds the limits is unknown and gives the reason.

    One plan has to meet all thresholds of a line. The roles and messages in ``assumed`` keep going. Without
    ``sensitivity``, neither sensitivities nor bounds of the distribution are computed. Without ``reduction``, the
    system is not split into independent components. The automaton of the paper has neither fairness nor silence.
    """
    if semantics == "paper":
        assumed, fairness = frozenset(), False
    analysing = _Analysing(
        system, participant, assumed, exact, fairness, reduction, limit, semantics=semantics
    )  # fmt: skip
    return analysing.result(lines, sensitivity)


def guarantees(
    system: System,
    participant: Participant,
    lines: Sequence[Sequence[Threshold]] = (),
    *,
    attitude: Attitude,
    assumed: frozenset[str],
) -> tuple[tuple[tuple[Aspect, Bounds], ...], tuple[Status, ...]]:
    """Return what a participant of this attitude guarantees, and whether one plan meets each line.

    The probability to gain is computed only where a line asks for it.
    """
    with_benefit = any(one.aspect == "benefit" for line in lines for one in line)
    analysing = _Analysing(
        system, participant, assumed, exact=False, fairness=True, reduction=True, limit=MAX_STATES,
        with_benefit=with_benefit,
    )  # fmt: skip
    aspects: list[Aspect] = ["conformance"]
    aspects += ["achievement"] if participant.goals else []
    aspects += ["benefit"] if participant.worth and with_benefit else []
    aspects += ["value"] if participant.worth else []
    figures = tuple((aspect, analysing.alone(aspect, attitude, assumed)[0]) for aspect in aspects)
    return figures, tuple(analysing.decided(tuple(line), attitude, assumed).status for line in lines)


def problem_of(system: System, participant: Participant, aspect: Aspect, assumed: frozenset[str]) -> PlanProblem:
    """Return the problem of one figure alone, for a participant that takes part, in a model that is soon built."""
    return PlanProblem(cache_of(system, participant, assumed), (aspect,))


def cache_of(system: System, participant: Participant, assumed: frozenset[str]) -> ComponentCache:
    """Return the models of a participant that takes part, which are soon built."""
    analysing = _Analysing(
        system, participant, assumed, exact=False, fairness=True, reduction=True, limit=MAX_SAMPLED_STATES
    )
    return analysing.cache(Attitude.TAKES_PART, assumed)


class _Analysing:
    """The models of one participant: one for each attitude, and for each set of roles that keep going."""

    def __init__(
        self,
        system: System,
        participant: Participant,
        assumed: frozenset[str],
        exact: bool,
        fairness: bool,
        reduction: bool,
        limit: int,
        *,
        with_benefit: bool = True,
        semantics: Semantics = "game",
    ) -> None:
        self.system = system
        self.participant = participant
        self.assumed = assumed
        self.exact = exact
        self.fairness = fairness
        self.reduction = reduction
        self.limit = limit
        self.with_benefit = with_benefit
        self.semantics: Semantics = semantics
        self._caches: dict[tuple[Attitude, frozenset[str]], ComponentCache] = {}
        self._problems: dict[tuple[Attitude, frozenset[str], tuple[Aspect, ...]], PlanProblem] = {}
        self._full: dict[tuple[Attitude, frozenset[str], Aspect], tuple[Bounds, bool]] = {}
        self.others = tuple(
            agent for agent in system.agents if agent.name not in participant.agents and agent.name != "Env"
        )

    # --- models

    def cache(self, attitude: Attitude = Attitude.FREE, assumed: frozenset[str] | None = None) -> ComponentCache:
        """Return the models; those of plans that take part are the models of all plans."""
        key = max(attitude, Attitude.FREE), self.assumed if assumed is None else assumed
        if key not in self._caches:
            cache = ComponentCache(
                self.system, self.participant, self.exact, self.fairness, self.reduction, self.limit, *key,
                self.semantics,
            )  # fmt: skip
            if self._caches:
                cache.share_components(next(iter(self._caches.values())))
            self._caches[key] = cache
        return self._caches[key]

    def problem(self, aspects: tuple[Aspect, ...], attitude: Attitude, assumed: frozenset[str]) -> PlanProblem:
        key = attitude, assumed, aspects
        if key not in self._problems:
            self._problems[key] = PlanProblem(self.cache(attitude, assumed), aspects)
        return self._problems[key]

    @property
    def everybody(self) -> frozenset[str]:
        return self.assumed | {agent.name for agent in self.others}

    @cached_property
    def has_silence(self) -> bool:
        """True if some other role may stay silent somewhere where it counts."""
        return any(one.explored.model.has(ActionKind.SEND) for one in self.cache().counting)

    @property
    def has_decisions(self) -> bool:
        """True if the participant has a choice in some model that was built."""
        return any(one.has_decisions for cache in self._caches.values() for one in cache.counting)

    def condition(self, aspect: Aspect) -> Expr:
        if aspect == "conformance":
            return self.participant.conforming
        return conj(goal.condition for goal in self.participant.goals)

    def full(self, aspect: Aspect, attitude: Attitude, assumed: frozenset[str]) -> tuple[Bounds, bool]:
        """Return a figure by full observation, and whether it is the same for all choices."""
        key = attitude, assumed, aspect
        if key not in self._full:
            cache = self.cache(attitude, assumed)
            taking_part = attitude == Attitude.TAKES_PART
            if aspect in ("conformance", "achievement"):
                groups = cache.groups(self.condition(aspect))
                bounds = cache.bounds(groups, True, taking_part=taking_part)
                self._full[key] = bounds, cache.is_same_for_all_choices(groups)
            else:
                gain, benefit = total_reward_and_benefit(
                    cache,
                    cache.groups(TRUE),
                    with_cdf_bounds=False,
                    with_benefit=self.with_benefit,
                    taking_part=taking_part,
                )
                self._keep_gain(gain, benefit, attitude, assumed)
        return self._full[key]

    def _keep_gain(self, gain: TotalReward, benefit: Figure, attitude: Attitude, assumed: frozenset[str]) -> None:
        is_same = attitude == Attitude.STAYS_AWAY
        self._full[attitude, assumed, "value"] = gain.guaranteed, is_same
        self._full[attitude, assumed, "benefit"] = benefit.guaranteed, is_same

    # --- figures alone

    def result(self, lines: Sequence[Sequence[Threshold]], sensitivity: bool) -> Analysis:
        if sensitivity:
            from cplc.decision.sensitivity import sensitivities, value_sensitivities

        thresholds = tuple(dict.fromkeys(threshold for line in lines for threshold in line))
        cache, participant = self.cache(), self.participant
        aspects: list[Aspect] = ["conformance", *(("achievement",) if participant.goals else ())]
        figures: list[Figure] = []
        impacts: list[Sensitivity] = []
        groups: Sequence[ComponentGroup] = ()
        for aspect in aspects:
            try:
                groups = cache.groups(self.condition(aspect))
                figures.append(self._figure(aspect, groups))
                if sensitivity:
                    impacts += sensitivities(cache, aspect, groups, thresholds)
            except ResourceExhausted as exhausted:
                figures.append(Figure.unknown(aspect, str(exhausted)))
        gain: TotalReward | None = None
        values: tuple[Sensitivity, ...] = ()
        if participant.worth:
            try:
                gain, benefit = total_reward_and_benefit(
                    cache, cache.groups(TRUE), with_cdf_bounds=sensitivity, taking_part=True
                )
                self._keep_gain(gain, benefit, Attitude.TAKES_PART, self.assumed)
                gain, benefit = self._attained_gain(gain), self._attained(benefit)
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
            self._statistics(groups),
            tuple(self.line(tuple(line)) for line in lines),
        )

    def _statistics(self, groups: Sequence[ComponentGroup]) -> AnalysisStatistics:
        statistics = _statistics(self.cache(), groups)
        if self.semantics == "game":
            return statistics
        from cplc.decision.belief_automaton import automaton_sizes, states_as_in_the_table, states_as_printed

        conforming = self.cache().groups(self.participant.conforming)
        sizes = [
            (automaton_sizes(group.built.explored, group.goal_states), len(group.components)) for group in conforming
        ]
        return replace(
            statistics,
            printed_states=states_as_printed(sizes),
            reconstructed_states=states_as_in_the_table(sizes) if self.reduction else None,
        )

    def _figure(self, aspect: Aspect, groups: Sequence[ComponentGroup]) -> Figure:
        cache = self.cache()
        figure = Figure(
            aspect,
            cache.bounds(groups, True, taking_part=True),
            cache.bounds(groups, False, taking_part=True),
            endings=tuple(_endings(cache, groups)),
        )
        return self._attained(figure)

    def _attained(self, figure: Figure) -> Figure:
        """Return the figure with the bounds that strategies over observations attain, and those of other attitudes."""
        if figure.unsolved:
            return figure
        guaranteed, advice = self.alone(figure.aspect, Attitude.TAKES_PART, self.assumed)
        kept_going, staying_away = self._besides(figure.aspect)
        return replace(figure, guaranteed=guaranteed, advice=advice, kept_going=kept_going, staying_away=staying_away)

    def _attained_gain(self, gain: TotalReward) -> TotalReward:
        guaranteed, _ = self.alone("value", Attitude.TAKES_PART, self.assumed)
        kept_going, staying_away = self._besides("value")
        return replace(gain, guaranteed=guaranteed, kept_going=kept_going, staying_away=staying_away)

    def _besides(self, aspect: Aspect) -> tuple[Bounds | None, Bounds | None]:
        """Return the figure if all others keep going, and if the participant stays away."""
        kept_going = staying_away = None
        if self.has_silence:
            kept_going, _ = self.alone(aspect, Attitude.TAKES_PART, self.everybody)
        if self.has_decisions:
            staying_away, _ = self.alone(aspect, Attitude.STAYS_AWAY, self.assumed)
        return kept_going, staying_away

    def alone(
        self, aspect: Aspect, attitude: Attitude, assumed: frozenset[str]
    ) -> tuple[Bounds, OptimalStrategy | None]:
        """Return what a strategy over observations guarantees for one figure, with its choices where they matter."""
        least = Bounds(-inf, inf) if aspect == "value" else Bounds(0.0, 1.0)
        try:
            full, is_same = self.full(aspect, attitude, assumed)
            if is_same or not self.has_decisions or isinf(full.low) or isinf(full.high):
                return full, None
            least = Bounds(least.low, full.high)
            plans: tuple[PartPlan, ...] | None = None
            if aspect == "benefit":
                bounds, plans = self._benefit_of_separate_plans(attitude, assumed, full)
            if plans is None:
                problem = self.problem((aspect,), attitude, assumed)
                bounds, plans = problem.alone(0, taking_part=attitude == Attitude.TAKES_PART)
        except ResourceExhausted:
            return least, None
        return bounds, strategy_of(plans, self.participant.agents)

    def _benefit_of_separate_plans(
        self, attitude: Attitude, assumed: frozenset[str], full: Bounds
    ) -> tuple[Bounds, tuple[PartPlan, ...] | None]:
        """Return the benefit of the plan that is best for the expected value, if no plan has a larger one."""
        problem = self.problem(("value",), attitude, assumed)
        _, plans = problem.alone(0, taking_part=attitude == Attitude.TAKES_PART)
        bounds = full if full.high == 0 else problem.benefit_of(plans)
        if bounds is None or not is_closed(Bounds(bounds.low, full.high)):
            return full, None
        return Bounds(bounds.low, full.high), plans

    # --- thresholds together

    def line(self, thresholds: tuple[Threshold, ...]) -> LineResult:
        """Return the answer to the thresholds of one line, and which roles it depends on."""
        result = self._with_front(self._asked(thresholds, self.assumed))
        if VERDICT_OF_PLAN[result.verdict] == "holds" or not self.has_silence:
            return result
        sufficient = self._sufficient(thresholds)
        if not sufficient:
            return result
        coalitions = self._coalitions()
        helping = frozenset(role for name in sufficient[0] for role in coalitions[name])
        plan = self._asked(thresholds, self.assumed | helping).plan
        return replace(result, sufficient=sufficient, sufficient_plan=plan)

    def _asked(self, thresholds: tuple[Threshold, ...], assumed: frozenset[str]) -> LineResult:
        try:
            away: Status = "fails"
            if self.semantics != "paper":
                away = self.decided(thresholds, Attitude.STAYS_AWAY, assumed).status
            # Where staying away fails, a plan that passes takes part.
            attitude = Attitude.FREE if away == "fails" else Attitude.TAKES_PART
            decided = self.decided(thresholds, attitude, assumed)
        except ResourceExhausted as exhausted:
            return LineResult(thresholds, "undecided", reason=str(exhausted))
        passing: PlanVerdict = "indifferent" if away == "passes" else "take part"
        by_status: dict[str, PlanVerdict] = {"passes": passing, "fails": "stay away"}
        verdict = by_status.get(decided.status, "undecided")
        if away == "unknown":
            verdict, decided = "undecided", Decided("unknown", reason="it is too near whether staying away meets them")
        plan = None
        if decided.status == "passes":
            plan = self._plan_figures(decided.aspects, decided.figures, decided.plan)
        return LineResult(thresholds, verdict, plan, decided.reason, away == "passes" and self.has_decisions)

    def decided(self, thresholds: tuple[Threshold, ...], attitude: Attitude, assumed: frozenset[str]) -> Decided:
        """Return whether one plan meets the thresholds; those of figures that do not depend on choices come first."""
        same: list[tuple[Aspect, Bounds]] = []
        open_thresholds = []
        for one in sorted(thresholds, key=lambda one: _BY_EFFORT.index(one.aspect)):
            bounds, is_same = self.full(one.aspect, attitude, assumed)
            verdict = judged(bounds, one)
            if verdict == "fails":
                return Decided("fails")
            if verdict == "holds" and (is_same or not self.has_decisions or attitude == Attitude.STAYS_AWAY):
                same.append((one.aspect, bounds))
            else:
                open_thresholds.append(one)
        decided = Decided("passes")
        aspects = tuple(dict.fromkeys(one.aspect for one in open_thresholds))
        if "benefit" in aspects:
            plan = self._separate_plan(open_thresholds, attitude, assumed)
            if plan is not None:
                figures = dict(same) | plan[1]
                return Decided("passes", plan[0], tuple(figures.values()), tuple(figures))
        for subset in (tuple(one for one in aspects if one != "benefit"), aspects):
            if subset and decided.status == "passes" and decided.aspects != subset:
                problem = self.problem(subset, attitude, assumed)
                decided = replace(
                    problem.decide(
                        [one for one in open_thresholds if one.aspect in subset],
                        taking_part=attitude == Attitude.TAKES_PART,
                    ),
                    aspects=subset,
                )
        if decided.by_chance and decided.aspects != aspects:
            decided = replace(decided, reason=PERHAPS_BY_CHANCE, by_chance=False)
        figures = dict(same) | dict(zip(decided.aspects, decided.figures, strict=False))
        return replace(decided, aspects=tuple(figures), figures=tuple(figures.values()))

    def _separate_plan(
        self, thresholds: Sequence[Threshold], attitude: Attitude, assumed: frozenset[str]
    ) -> tuple[tuple[PartPlan, ...], dict[Aspect, Bounds]] | None:
        """Return a plan that passes and plans each part by itself, with its figures, if there is an obvious one.

        The probability to gain is that of the sum of all parts, which otherwise needs a joint model of them.
        """
        aspects = tuple(dict.fromkeys(("value", *(one.aspect for one in thresholds if one.aspect != "benefit"))))
        with suppress(ResourceExhausted):
            problem = self.problem(aspects, attitude, assumed)
            dimensions = range(len(aspects))
            for plan in problem.candidates(dimensions, taking_part=attitude == Attitude.TAKES_PART):
                benefit = problem.benefit_of(plan)
                if benefit is not None:
                    figures: dict[Aspect, Bounds] = dict(zip(aspects, problem.figures_of(plan), strict=True))
                    figures["benefit"] = benefit
                    if all(judged(figures[one.aspect], one) == "holds" for one in thresholds):
                        return plan, {one.aspect: figures[one.aspect] for one in thresholds}
        return None

    def _with_front(self, result: LineResult) -> LineResult:
        """Return the result with the Pareto points of strategies that take part, where their figures trade off."""
        aspects = tuple(dict.fromkeys(one.aspect for one in result.thresholds))
        open_aspects = tuple(one for one in aspects if not self.full(one, Attitude.TAKES_PART, self.assumed)[1])
        if len(open_aspects) < 2 or not self.has_decisions:
            return result
        if "benefit" in open_aspects and self._joint_states() > MAX_PLAIN_STATES:
            return result
        try:
            problem = self.problem(open_aspects, Attitude.TAKES_PART, self.assumed)
            points = tuple(self._plan_figures(open_aspects, one.figures, one.plan) for one in problem.pareto())
            if not points or problem.cyclic is None:
                return replace(result, front=points)
            return replace(result, front=points, is_front_complete=False, front_limit=problem.cyclic.limit())
        except ResourceExhausted:
            return result

    def _joint_states(self) -> int:
        """Return about how many states the joint model of all components with rewards has."""
        worth = self.cache().worth
        groups = self.cache().groups(TRUE)
        return prod(
            group.built.states ** len(group.components)
            for group in groups
            if not worth.keys().isdisjoint(group.components[0].steps)
        )

    def _plan_figures(
        self, aspects: Sequence[Aspect], figures: Sequence[Bounds], plan: Sequence[PartPlan]
    ) -> PlanFigures:
        return PlanFigures(
            tuple(zip(aspects, figures, strict=True)), strategy_of(plan, self.participant.agents, every=True)
        )

    def _sufficient(self, thresholds: tuple[Threshold, ...]) -> tuple[tuple[str, ...], ...]:
        """Return the smallest sets of other roles that make the line pass if they keep going."""
        if not self._passes_if(thresholds, self.everybody):
            return ()
        coalitions = self._coalitions()
        tried = 0
        for size in range(1, len(coalitions)):
            passing = []
            for names in combinations(coalitions, size):
                tried += 1
                if tried > _MAX_COALITIONS:
                    return (tuple(coalitions),)
                roles = frozenset(role for name in names for role in coalitions[name])
                if self._passes_if(thresholds, self.assumed | roles):
                    passing.append(names)
            if passing:
                return tuple(passing)
        return (tuple(coalitions),)

    def _coalitions(self) -> dict[str, tuple[str, ...]]:
        """Return the other roles that may stay silent, families as one."""
        silent = {
            self.system.steps[one.component.steps[step]].actor
            for one in self.cache().counting
            for action in range(len(one.explored.model.kind))
            if one.explored.model.kind[action] == ActionKind.SEND
            for event in one.explored.model.events(action)
            for at in one.explored.model.transitions(event)
            if (step := one.explored.model.step[at]) != NO_STEP
        }
        families = {agent.family for agent in self.others if agent.name in silent}
        members: dict[str, list[str]] = {}
        for agent in self.others:
            if agent.family in families:
                members.setdefault(agent.family, []).append(agent.name)
        return {names[0] if len(names) == 1 else family: tuple(names) for family, names in members.items()}

    def _passes_if(self, thresholds: tuple[Threshold, ...], assumed: frozenset[str]) -> bool:
        return VERDICT_OF_PLAN[self._asked(thresholds, assumed).verdict] == "holds"


def strategy_of(plans: Sequence[PartPlan], agents: Sequence[str], *, every: bool = False) -> OptimalStrategy | None:
    """Return the choices of a plan by what the participant sees, where it has several; None if it never has."""
    situations: dict[tuple[tuple[str, Value], ...], dict[str, None]] = {}
    counted = decides = False
    for plan in plans:
        if not plan.part.has_choices:
            continue
        decides = True
        if not does_take_part([plan]):
            continue
        if plan.part.built.is_quotient:
            counted = True
            continue
        system = plan.part.members[0].system
        names = [name for agent in system.agents if agent.name in agents for name in agent.local]
        offered = [({name: state[name] for name in names}, choice) for state, choice in plan.decisions()]
        telling = [name for name in names if len({view[name] for view, _ in offered}) > 1]
        for view, choice in offered:
            assert isinstance(choice, int)
            observation = tuple((name, view[name]) for name in telling)
            situations.setdefault(observation, {})[step_name(system, choice)] = None
    if not decides:
        return None
    if counted:
        return OptimalStrategy((), True)
    acting = {id(plan.part.built) for plan in plans if plan.part.has_choices and does_take_part([plan])}
    silent = [plan.part for plan in plans if id(plan.part.built) in acting and not does_take_part([plan])]
    return OptimalStrategy(
        tuple(Situation(observation, tuple(sorted(steps))) for observation, steps in situations.items()),
        True,
        tuple(dict.fromkeys(step for part in silent for step in part.own_steps())),
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
    """Return an end that does or does not satisfy the condition, preferably one that is not reached by walking away."""
    ends = [at for at in group.built.terminal if bool(group.goal_states[at]) == is_goal]
    if not group.built.has_decisions:
        return min(ends, default=None)
    return min(ends, key=lambda at: at not in group.built.reached_by_acting, default=None)


def _state(group: ComponentGroup, at: int) -> State:
    return group.renamed_state(group.built.state_at(at))


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
    if any(one.is_quotient for one in built):
        method += ", symmetric agents counted"
    states, ends = sum(one.states for one in built), sum(one.ends for one in built)
    return AnalysisStatistics(sum(len(group.components) for group in groups), len(built), states, ends, method)
