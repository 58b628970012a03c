"""Local model checking: a formula is taken apart by rules, and the system explored only as far as they ask."""

from cplc.engines.onthefly.engine import OnTheFlyEngine, supports

__all__ = ["OnTheFlyEngine", "supports"]
