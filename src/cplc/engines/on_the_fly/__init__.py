"""Local model checking: a formula is taken apart by rules, and the system explored only as far as they ask."""

from cplc.engines.on_the_fly.engine import OnTheFlyEngine, supports

__all__ = ["OnTheFlyEngine", "supports"]
