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
"""

from __future__ import annotations

from dataclasses import replace

from cplc.checking.results import Question
from cplc.compilation import BoundQuestion
from cplc.logic.formulas import Formula
from cplc.parameterised.instances import Proof, Sizes
from cplc.reductions.components import IndependentComponents, conjuncts_of
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
    later = _parts(more)
    if all(part in later for part in _parts(smaller)):
        return Proof(size, "a cutoff: further members change nothing that it depends on")
    return NotUniform("what it depends on grows with every member", question.span or sizes.place)


def _parts(question: BoundQuestion) -> list[_Part]:
    """Return the independent subquestions."""
    slices = IndependentComponents(question.question.system or question.system)

    def part(formula: Formula) -> _Part:
        system = slices.slice(slices.components_of(formula))
        agents = tuple(agent for agent in system.agents if agent.local)
        return formula, replace(system, header=(), agents=agents), question.question.assuming & system.assumable

    return [part(formula) for formula in conjuncts_of(question.question.formula)]
