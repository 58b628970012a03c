"""Parameterised verification: verdicts for every size of a family, by verifying sizes, by cutoffs and by proofs."""

from cplc.parameterised.instances import NotCounting
from cplc.parameterised.verdicts import DEFAULT_WORK, Allowance, EverySize, default_allowance, shares_of_time

__all__ = ["DEFAULT_WORK", "Allowance", "EverySize", "NotCounting", "default_allowance", "shares_of_time"]
