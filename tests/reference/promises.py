"""Reference conditions of promised and kept commitments."""

from __future__ import annotations

from tests.reference.semantics import Reference
from tests.reference.states import World


def is_in_force(world: World, commitment: str) -> bool:
    """Return whether it is active, or pending and was active before."""
    return world.env[commitment].is_in_force


def is_on_course(reference: Reference, world: World, commitment: str) -> bool:
    """Return whether it is in force, and its content about runs holds if nothing more ever happens."""
    life, content = world.env[commitment], reference.watched.get(commitment)
    if content is None or not life.is_in_force:
        return False
    return content.rests(life.remainder, frozenset(leaf for leaf in content.asked if reference.holds(leaf, world)))


def is_promised(reference: Reference, world: World, commitment: str) -> bool:
    """Return whether it is in force or kept."""
    return is_in_force(world, commitment) or is_kept(reference, world, commitment)


def is_kept(reference: Reference, world: World, commitment: str) -> bool:
    """Return whether it is fulfilled, or in force and on course."""
    return world.env[commitment].state == "fulfilled" or is_on_course(reference, world, commitment)
