"""Goals about runs: the product of a system with the deterministic monitor of an LTL formula.

The state of the monitor is a variable that no agent observes. A letter is a state with the step that leaves it, so a
step advances the monitor by the atoms of the state before it. The formula has no `X` and counts no steps, so it cannot
tell a state from its repetition: only steps that change what its atoms read, and ticks if it counts them, advance the
monitor.

At the end of a run, the goal holds if its formula does when nothing more happens. Then it is a condition on the last
state, like any other goal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from cplc.logic import expressions as e
from cplc.logic.expressions import Expr, reads
from cplc.lowering.content_monitors import AtomTruths, case_distinction
from cplc.lowering.expressions import Interpretation, condition
from cplc.lowering.variable_names import goal_variable, monitor_variable
from cplc.semantics.model import CheckedModel
from cplc.semantics.run_contents import Content, compiled
from cplc.semantics.terms import Term
from cplc.system.model import Step, System, Variable


def with_goal_monitors(
    system: System, formulas: Sequence[Term], model: CheckedModel
) -> tuple[System, Mapping[Term, Expr]]:
    """Return the product of the system with the monitors of formulas about runs, and each formula as a condition."""
    interpretation = Interpretation(model, terminal=system.terminal)
    variables: list[Variable] = []
    steps = list(system.steps)
    conditions: dict[Term, Expr] = {}
    for formula in dict.fromkeys(formulas):
        content = compiled(formula, model)
        about = goal_variable(len(conditions) + 1)
        name = monitor_variable(about)
        states = range(len(content.monitor.decided))
        variables.append(Variable(name, tuple(states), (0,), "monitor", "Env", about))
        truths = AtomTruths(lambda atom, atoms=content.atoms: condition(atoms[atom], interpretation))  # type: ignore[misc]
        atom_variables = {one for atom in content.atoms for one in reads(condition(atom, interpretation))}
        steps = [_advanced(step, name, content, truths, atom_variables) for step in steps]
        conditions[formula] = e.disj(
            e.conj((e.equal(e.Read(name), e.Const(state)), _at_rest(content, state, truths))) for state in states
        )
    return replace(system, variables=(*system.variables, *variables), steps=tuple(steps)), conditions


def _at_rest(content: Content, state: int, truths: AtomTruths[Expr]) -> Expr:
    """Return the value of the formula in a state of the monitor if nothing more happens."""
    values = [e.TRUE if one else e.FALSE for one in content.monitor.at_rest[state]]
    return case_distinction(content.monitor, values, truths, e.ite)


def _advanced(step: Step, name: str, content: Content, truths: AtomTruths[Expr], atom_variables: set[str]) -> Step:
    """Return the step with the transition of the monitor, where it may have one."""
    counts = step.kind == "tick" and content.counts_ticks
    if not counts and step.writes.isdisjoint(atom_variables):
        return step
    monitor, letter = content.monitor, content.tick if step.kind == "tick" else 0
    after: Expr = e.Read(name)
    for state in reversed(range(monitor.open_states)):
        targets: list[Expr | None] = [e.Const(row[letter]) for row in monitor.successor[state]]
        at = e.equal(e.Read(name), e.Const(state))
        after = e.ite(at, case_distinction(monitor, targets, truths, e.ite), after)
    return replace(step, updates=(*step.updates, (name, after)))
