"""Cutoffs for members without shared state.

Claim: a question that holds up to size N holds at every size if

* the declarations are uniform in the families that the parameter counts the members of
  (`cplc.semantics.data_independence`), so that a larger system has more copies of the same, and only variables of no
  member connect copies;
* no subquestion mentions more than N members; and
* each subquestion at N, with the components of the system on which it depends, is also one at N + 1.

Proof: a formula depends on a union of connected components. If one of them had more copies than the formula mentions, a
variable of no member would connect them, hence all copies, and there would be more at N + 1. So no component has more,
at any size, and each subquestion of a larger system is one of these up to a permutation of members, which changes no
verdict.

Claim: where ticks alone connect copies, timed components (`cplc.reductions.timed_components`) may take the place of
components, if those at N and at N + 1 are free of timelocks, and each that ticks synchronise at N is also one at N + 1.
Proof: by the second condition none of them contains all copies, so each is about one member at most, at any size. At N
+ 1 there are one of each kind: members that the question names, and another one. So all are free of timelocks at any
size, and the formula has the same value at the slice that it depends on.
"""

from __future__ import annotations

from dataclasses import replace

from cplc.checking.results import Question
from cplc.compilation import BoundQuestion
from cplc.logic.formulas import Formula
from cplc.parameterised.instances import Proof, Sizes
from cplc.reductions.components import IndependentComponents, conjuncts_of
from cplc.reductions.timed_components import TimedComponents
from cplc.semantics.data_independence import NotUniform
from cplc.system.model import System

_Part = tuple[Formula, System, frozenset[str]]
"""A formula, the components on which it depends, and the roles whose justice is assumed there."""


def cutoff(sizes: Sizes, question: Question) -> Proof | NotUniform:
    """Return a cutoff for the question, or why none was established."""
    obstacle, members = sizes.uniformity.obstacle, sizes.members_in(question)
    if obstacle is not None:
        return obstacle
    if isinstance(members, NotUniform):
        return members
    least, greatest = sizes.bounds
    size = max(2, least, members)
    if size + 1 > greatest:
        return NotUniform(f"`{sizes.parameter}` ends at {greatest}", sizes.place)
    smaller, more = sizes.asked(question, size), sizes.asked(question, size + 1)
    if isinstance(smaller, NotUniform):
        return smaller
    if isinstance(more, NotUniform):
        return more
    reason = "a cutoff: further members change nothing that it depends on"
    if _is_included(_parts(smaller), _parts(more)):
        return Proof(size, reason)
    in_time = TimedComponents(_system(smaller)), TimedComponents(_system(more))
    if _are_free_of_timelocks(*in_time) and _is_included(*map(_parts, (smaller, more), in_time)):
        return Proof(size, f"{reason}, and none of them can stop the clock for good")
    return NotUniform("what it depends on grows with every member", question.span or sizes.place)


def _system(question: BoundQuestion) -> System:
    return question.question.system or question.system


def _is_included(some: list[_Part], more: list[_Part]) -> bool:
    return all(part in more for part in some)


def _parts(question: BoundQuestion, components: IndependentComponents | None = None) -> list[_Part]:
    """Return the subquestions, each with the components of this kind on which it depends."""
    slices = components or IndependentComponents(_system(question))

    def part(formula: Formula) -> _Part:
        system = _compared(slices.slice(slices.components_of(formula)))
        return formula, system, question.question.assuming & system.assumable

    return [part(formula) for formula in conjuncts_of(question.question.formula)]


def _compared(part: System) -> System:
    """Return the part without what depends on the number of members."""
    return replace(part, header=(), agents=tuple(agent for agent in part.agents if agent.local))


def _are_free_of_timelocks(smaller: TimedComponents, more: TimedComponents) -> bool:
    """Return whether the components that ticks synchronise are free of timelocks, and none grows with the members."""
    if not (smaller.is_divided and more.is_divided):
        return False
    later = [_compared(more.slice(one)) for one in more.synchronised]
    if not all(_compared(smaller.slice(one)) in later for one in smaller.synchronised):
        return False
    from cplc.checking.engine_selector import EngineSelector, method_of

    selectors = (EngineSelector(one.system, method_of("auto"), auto=True) for one in (smaller, more))
    return all(selector.timelock_freedom.holds for selector in selectors)
