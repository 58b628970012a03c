"""What in one version is the same as what in the other: roles, messages between them, commitments.

Instances are the same that have the same name, once those of the new version are renamed. What is between a role that
both have and one that only one version has is nobody's business here: it is hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from cplc.records import dataclass
from cplc.system.model import Commitment, Message, System

Renames = Mapping[str, str]
"""Names in the new version to those in the old one: of one instance, of a family or of a used part."""


@dataclass(frozen=True)
class Match:
    old: System
    new: System
    renames: Renames

    def renamed(self, name: str) -> str:
        """Return what the old version calls this; the longest rename that fits decides."""
        for new in sorted(self.renames, key=len, reverse=True):
            if name == new or name.startswith((f"{new}[", f"{new}.")):
                return self.renames[new] + name.removeprefix(new)
        return name

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The roles that both have, as the old version calls them."""
        return tuple(agent.name for agent in self.old.agents if agent.name in self._new_roles)

    @cached_property
    def only_old(self) -> tuple[str, ...]:
        return tuple(agent.name for agent in self.old.agents if agent.name not in self._new_roles)

    @property
    def only_new(self) -> tuple[str, ...]:
        """The roles that are new, as the new version calls them."""
        return tuple(agent.name for agent in self.new.agents if self.renamed(agent.name) not in self.old.agent)

    @cached_property
    def _new_roles(self) -> frozenset[str]:
        return frozenset(self.renamed(agent.name) for agent in self.new.agents)

    def signature(self, message: Message, *, is_new: bool) -> tuple[str, str, str] | None:
        """Return name, sender and receiver as the old version calls them; None if the message is hidden."""
        named = (message.name, message.sender, message.receiver)
        name, sender, receiver = map(self.renamed, named) if is_new else named
        visible_roles = self.roles
        return (name, sender, receiver) if sender in visible_roles and receiver in visible_roles else None

    def successor(self, commitment: Commitment) -> Commitment | None:
        """Return the new version's commitment of the same name between the same two, if there is one."""
        signature = (commitment.name, commitment.debtor, commitment.creditor)
        for other in self.new.commitments:
            if signature == (self.renamed(other.name), self.renamed(other.debtor), self.renamed(other.creditor)):
                return other
        return None

    def unused(self) -> tuple[str, ...]:
        """Return what is renamed though the new version has nothing of that name."""
        names = [name for names in self._new_names for name in names]
        return tuple(
            new
            for new in self.renames
            if not any(name == new or name.startswith((f"{new}[", f"{new}.")) for name in names)
        )

    def clashes(self) -> tuple[str, ...]:
        """Return the names of the old version that two things of a kind of the new one would have."""
        counts = [Counter(map(self.renamed, names)) for names in self._new_names]
        return tuple(name for count in counts for name, number in count.items() if number > 1)

    @property
    def _new_names(self) -> tuple[list[str], list[str], list[str]]:
        return (
            [agent.name for agent in self.new.agents],
            [message.name for message in self.new.messages],
            [commitment.name for commitment in self.new.commitments],
        )
