"""The vocabulary of a protocol for logs: messages with their payloads, roles, participants."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property
from typing import Final

from cplc.logic.expressions import Value
from cplc.records import dataclass
from cplc.system.model import System

_INDICES: Final = re.compile(r"\[[^\]]*\]")


@dataclass(frozen=True)
class Vocabulary:
    messages: frozenset[str]
    """Families without indices, and each of their members."""
    payloads: Mapping[str, Mapping[str, tuple[Value, ...]]]
    """By family, the parameters of its messages with their domains."""
    roles: frozenset[str]
    """Families without indices, and each of their members."""
    participants: frozenset[str] = frozenset()

    @property
    def families(self) -> tuple[str, ...]:
        """The messages as people write them."""
        return tuple(sorted({family_of(name) for name in self.messages}))

    def has_indices(self, family: str) -> bool:
        """Tell whether the family has indexed members, or is unknown."""
        return family not in self.messages or family in self._indexed

    @cached_property
    def _indexed(self) -> frozenset[str]:
        return frozenset(family_of(name) for name in self.messages if "[" in name)


def family_of(name: str) -> str:
    """Return a name without its indices: `pay` of `pay[3]`, `part.pay` of `part[1].pay[3]`."""
    return _INDICES.sub("", name) if "[" in name else name


def vocabulary_of(system: System, participants: frozenset[str] = frozenset()) -> Vocabulary:
    """Return the vocabulary of a system's protocol."""
    payloads: dict[str, dict[str, dict[Value, None]]] = {}
    for step in system.steps:
        if step.kind in ("send", "exchange"):
            payload = payloads.setdefault(family_of(step.event), {})
            for name, value in step.payload:
                payload.setdefault(name, {})[value] = None
    messages = {message.name for message in system.messages}
    roles = {agent.name for agent in system.agents}
    return Vocabulary(
        frozenset(messages | {family_of(name) for name in messages}),
        {family: {name: tuple(values) for name, values in payload.items()} for family, payload in payloads.items()},
        frozenset(roles | {family_of(name) for name in roles}),
        participants,
    )
