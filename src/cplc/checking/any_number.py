"""Cutoffs for blocks with keys: verdicts for any number of instances from those of a few.

The instances of a block (`for each order: id`) share nothing: the system is a product of what is outside of blocks and
of isomorphic instances, which ticks alone synchronise (`cplc.semantics.keyed_blocks`).

Claim: let a formula relate at most m instances by its quantifiers, and let there be more than m. If each conjunct of
the formula depends on components of at most m instances, the formula has the same value with any greater number.
Components are those of `cplc.reductions.components` or, if they are free of timelocks by themselves, those of
`cplc.reductions.timed_components`.

Proof: a conjunct is about some instances that quantifiers chose, or about all of them, which shows as there are more
than m. In the first case it has the same value at the slice that it depends on. With a greater number, the conjuncts
are those over other choices. A permutation of instances maps each choice to one that is there with m + 1, since a
choice of m keys has at most m different ones. With fewer instances there are fewer choices.

Claim: `deadlock_free`, `no_dangling`, `effective` and `aligned` hold for one instance iff they hold for any number.
Proof: each of them is about one reachable state, and each of its conditions is one on the outside or on each instance
alone, but for one instance that has a debt, a fulfilled commitment or views that differ. The outside and this instance
are a state with one instance. Conversely, let all instances do the same, one after the other, and tick together: the
state that is reached has the same property with any number.

Claim: without ticks, the same is true of `resolvable`; and `robust` has the same verdict for two instances as for any
greater number. Proof: in a product, a state without open commitments can be reached iff it can in each factor; each
factor may wait there for the others. For `robust`, one instance may have the violation, and another one be stuck.

References: Emerson and Kahlon, "Reducing model checking of the many to the few", 2000 (cutoffs).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from cplc.logic.formulas import Formula
from cplc.records import dataclass
from cplc.reductions.components import IndependentComponents, conjuncts_of
from cplc.reductions.timed_components import TimedComponents
from cplc.system.model import System

OF_ONE_INSTANCE: Final = frozenset({"deadlock_free", "no_dangling", "effective", "aligned", "resolvable"})
"""Checks that one instance decides for any number; `resolvable` without ticks alone."""


@dataclass(frozen=True)
class Instances:
    """The instances of a block with a key that a question is verified for."""

    key: str
    count: int
    related: int
    """The largest number of instances that the question relates."""
    number_of: Mapping[str, int]
    """The instance that each message, commitment, claim and variable in the block belongs to."""


def unproved(
    formula: Formula, system: System, instances: Instances, assuming: frozenset[str] = frozenset(), check: str = ""
) -> str:
    """Return why a formula that holds for these instances may not hold for others; nothing if it does.

    ``check`` is the name of a built-in check. Justice of roles that are not assumed to keep going constrains no run.
    """
    if check == "robust" and instances.count > 1 and not any(step.kind == "tick" for step in system.steps):
        return ""
    proved = f"it holds for {instances.count} instances of `for each {instances.key}`; no proof for any number"
    more = f"`-D {instances.key}=n` asks about n instances"
    if instances.related >= instances.count:
        return f"{proved}: it relates {instances.related}, and a proof needs one more; {more}"
    justice = (one for one in system.justice if one.role is None or not assuming.isdisjoint((one.role, one.message)))
    constrained = replace(system, justice=tuple(justice))
    if _is_about_few(formula, IndependentComponents(constrained), instances):
        return ""
    timed = TimedComponents(constrained)
    if not timed.is_divided or not _is_about_few(formula, timed, instances):
        return f"{proved}: what it depends on grows with every instance; {more}"
    from cplc.checking.engine_selector import EngineSelector, method_of

    if EngineSelector(system, method_of("auto"), auto=True).timelock_freedom.holds:
        return ""
    return f"{proved}: an instance may stop the clock for all; {more}"


def _is_about_few(formula: Formula, components: IndependentComponents, instances: Instances) -> bool:
    """Return whether each conjunct depends on no more instances than the formula relates."""
    number_of = {
        one.name: number
        for one in components.system.variables
        if (number := instances.number_of.get(one.name, instances.number_of.get(one.about))) is not None
    }
    return all(
        len({number_of[name] for name in components.components_of(conjunct) if name in number_of}) <= instances.related
        for conjunct in conjuncts_of(formula)
    )
