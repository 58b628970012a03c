"""Verdicts for every size of a family, where a few sizes can be shown to stand for all."""

from cplc.every_size.asking import NotCounting
from cplc.every_size.verdicts import AS_FAR_AS, EverySize

__all__ = ["AS_FAR_AS", "EverySize", "NotCounting"]
