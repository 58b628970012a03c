"""Instantiation of powers: each third party with the operations and commitments of `empower`."""

from __future__ import annotations

from collections.abc import Iterator

from cplc.semantics import model, resolved
from cplc.semantics.instances import InstanceTable
from cplc.semantics.instantiate_terms import Resolver


def powers_of(table: InstanceTable) -> Iterator[model.Power]:
    for pending in table.other_declarations:
        if not isinstance(pending.body, resolved.Empower):
            continue
        resolver = Resolver(table, pending.protocol_instance, pending.values)
        roles = [agent.name for role in pending.body.roles for agent in resolver.agents(role)]
        for power in pending.body.powers:
            commitment = resolver.instance(power.commitment)
            for role in roles if commitment is not None else ():
                yield model.Power(role, power.verb, commitment or "", span=power.span)
