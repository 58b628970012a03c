"""What is promised and what is kept, by the state of a commitment in one state of the reference interpreter."""

from __future__ import annotations

from tests.reference.states import World


def is_in_force(world: World, commitment: str) -> bool:
    """Whether it is active, or pending and was active before."""
    life = world.env[commitment]
    return life.state == "active" or (life.state, life.former) == ("pending", "active")


def is_promised(world: World, commitment: str) -> bool:
    """Whether it is in force or kept."""
    return is_in_force(world, commitment) or is_kept(world, commitment)


def is_kept(world: World, commitment: str) -> bool:
    """Whether it is fulfilled, or in force and on course."""
    return world.env[commitment].state == "fulfilled"
