"""Reasons for knowledge: an observation that an agent makes whenever it knows something, and only where it is so.

Definition. An observation `o` of an agent is a *reason* for `K(i, p)` in the states of a set if it is made in each of
them, and `p` holds in every reachable state in which it is made. Claim: then `K(i, p)` holds in the set. Proof. States
that the agent cannot tell apart agree on its observations.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Final, TypeVar

from cplc.checking.results import KnowledgeReason
from cplc.engines.interface import Engine
from cplc.logic import formulas as f
from cplc.logic.expressions import Const, Read, Value, conjuncts, equal, reads
from cplc.logic.formulas import Formula
from cplc.system.model import System, Variable

S = TypeVar("S")

_ORDER: Final = {"copy": 0, "view": 1, "own": 2, "field": 3}
"""Kinds of observations, those that explain best first."""
_MAX_CHAIN: Final = 6


def knowledge_reason(engine: Engine[S], formula: Formula, assuming: frozenset[str]) -> KnowledgeReason | None:
    """Return the reason for the first knowledge of a single agent that a valid formula claims, if one is found."""
    claim = _claim(formula)
    if claim is None:
        return None
    context, knowledge = claim
    here = engine.initial if context is None else engine.satisfying(context, assuming)
    if engine.is_empty(here):
        return None
    wrong = engine.difference(engine.reachable, engine.satisfying(knowledge.operand, assuming))
    system = engine.system
    for variable, value in _observations(system, knowledge.agents[0]):
        made = engine.where(equal(Read(variable.name), Const(value)))
        if engine.is_empty(engine.difference(here, made)) and engine.is_empty(engine.intersection(made, wrong)):
            return KnowledgeReason(knowledge, variable, value, _chain(system, variable, knowledge.operand))
    return None


def _claim(formula: Formula) -> tuple[Formula | None, f.Knows] | None:
    """Return the knowledge in ``K(i, p)``, ``AG K(i, p)`` or ``AG (q -> K(i, p))``, with the condition ``q``."""
    always = f.invariant(formula)
    body: Formula = formula if always is None else always
    context: Formula | None = None if always is None else f.VALID
    if isinstance(body, f.Implies):
        context, body = body.left, body.right
    operands = body.operands if isinstance(body, f.And) else (body,)
    single = (one for one in operands if isinstance(one, f.Knows) and one.mode == "each" and len(one.agents) == 1)
    knowledge = next(single, None)
    return None if knowledge is None else (context, knowledge)


def _observations(system: System, agent: str) -> Iterator[tuple[Variable, Value]]:
    """Yield values of the agent's variables, other than the initial ones first."""
    local = [system.variable[name] for name in system.agent[agent].local]
    shown = sorted((one for one in local if one.kind in _ORDER), key=lambda one: _ORDER[one.kind])
    for is_initial in (False, True):
        for variable in shown:
            yield from ((variable, value) for value in variable.domain if (value in variable.initial) == is_initial)


def _chain(system: System, variable: Variable, content: Formula) -> tuple[str, ...]:
    """Return messages from the observed one to one in the content, each sent only after the next one."""
    variables = _reads(content)
    aims = {system.variable[name].about for name in variables if name in system.variable}
    for commitment in system.commitments:
        if commitment.name in aims:
            aims |= {system.variable[name].about for name in reads(commitment.consequent) if name in system.variable}
    paths: deque[tuple[str, ...]] = deque([(variable.about,)] if variable.kind == "copy" else [])
    reached = {variable.about}
    while paths:
        path = paths.popleft()
        if path[-1] in aims:
            return path if len(path) > 1 else ()
        for name in _required(system, path[-1]) if len(path) < _MAX_CHAIN else ():
            if name not in reached:
                reached.add(name)
                paths.append((*path, name))
    return ()


def _required(system: System, message: str) -> Iterator[str]:
    """Yield the messages that every guard of the message requires as a conjunct."""
    guards = [step.guard for step in system.steps if step.event == message and step.kind in ("send", "exchange")]
    required = [{part.variable for part in conjuncts(guard) if isinstance(part, Read)} for guard in guards]
    for name in sorted(set.intersection(*required)) if required else ():
        if system.variable[name].kind == "copy":
            yield system.variable[name].about


def _reads(formula: Formula) -> set[str]:
    return set().union(*(reads(one.condition) for one in f.subformulas(formula) if isinstance(one, f.Atom)))
