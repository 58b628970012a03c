"""Correspondence of two versions: roles, messages and commitments.

Instances correspond if they have the same name after the renaming of the new version. Messages with a role that only
one version has are hidden.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cached_property

from cplc.records import dataclass
from cplc.system.model import Commitment, Message, System

Renames = Mapping[str, str]
"""Maps names of the new version to those of the old one: of an instance, a family or a used part."""


@dataclass(frozen=True)
class Match:
    old: System
    new: System
    renames: Renames

    def renamed(self, name: str) -> str:
        """Return the name in the old version, by the longest matching rename."""
        for new in sorted(self.renames, key=len, reverse=True):
            if name == new or name.startswith((f"{new}[", f"{new}.")):
                return self.renames[new] + name.removeprefix(new)
        return name

    @cached_property
    def roles(self) -> tuple[str, ...]:
        """The common roles, by their names in the old version."""
        return tuple(agent.name for agent in self.old.agents if agent.name in self._new_roles)

    @cached_property
    def only_old(self) -> tuple[str, ...]:
        return tuple(agent.name for agent in self.old.agents if agent.name not in self._new_roles)

    @property
    def only_new(self) -> tuple[str, ...]:
        """The new roles, by their names in the new version."""
        return tuple(agent.name for agent in self.new.agents if self.renamed(agent.name) not in self.old.agent)

    @cached_property
    def _new_roles(self) -> frozenset[str]:
        return frozenset(self.renamed(agent.name) for agent in self.new.agents)

    @cached_property
    def agents_with_choice(self) -> tuple[str, ...]:
        """The common agents of a synchronous system that have several actions in some version."""
        several = {player.agent for player in self.old.players if len(player.actions) > 1}
        several |= {self.renamed(player.agent) for player in self.new.players if len(player.actions) > 1}
        return tuple(name for name in self.roles if name in several)

    def signature(self, message: Message, *, is_new: bool, by: str | None = None) -> tuple[str, str, str] | None:
        """Return name, sender and receivers in the names of the old version; None if the message is hidden.

        A receipt ``by`` a role has only that receiver, and is hidden if the role is.
        """
        rename = self.renamed if is_new else str
        sender, receivers = rename(message.sender), sorted(map(rename, message.receivers if by is None else (by,)))
        visible_roles = self.roles
        if sender not in visible_roles or not set(receivers) <= set(visible_roles):
            return None
        return rename(message.name), sender, ", ".join(receivers)

    def successor(self, commitment: Commitment) -> Commitment | None:
        """Return the new version's commitment with the same name and parties, or None."""
        sides = frozenset(commitment.debtors), frozenset(commitment.creditors)
        for other in self.new.commitments:
            renamed = (frozenset(map(self.renamed, side)) for side in (other.debtors, other.creditors))
            if self.renamed(other.name) == commitment.name and tuple(renamed) == sides:
                return other
        return None

    def unused(self) -> tuple[str, ...]:
        """Return the renamed names that the new version does not have."""
        names = [name for names in self._new_names for name in names]
        return tuple(
            new
            for new in self.renames
            if not any(name == new or name.startswith((f"{new}[", f"{new}.")) for name in names)
        )

    def clashes(self) -> tuple[str, ...]:
        """Return the names of the old version to which several names of one kind are renamed."""
        counts = [Counter(map(self.renamed, names)) for names in self._new_names]
        return tuple(name for count in counts for name, number in count.items() if number > 1)

    @property
    def _new_names(self) -> tuple[list[str], ...]:
        return (
            [f"{player.agent}.{action.name}" for player in self.new.players for action in player.actions],
            [agent.name for agent in self.new.agents],
            [message.name for message in self.new.messages],
            [commitment.name for commitment in self.new.commitments],
        )
