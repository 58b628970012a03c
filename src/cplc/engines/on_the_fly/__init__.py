"""Local (on-the-fly) model checking: a tableau decomposes the formula; the system is explored on demand."""

from cplc.engines.on_the_fly.engine import OnTheFlyEngine, supports

__all__ = ["OnTheFlyEngine", "supports"]
