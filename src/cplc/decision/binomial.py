"""Exact confidence intervals of a binomial proportion (Clopper and Pearson 1934)."""

from __future__ import annotations

from math import exp, floor, lgamma, log, log1p

_BISECTIONS = 60
_DIGITS = 9
"""Decimals to which bounds are rounded outwards, coarser than the error of `lgamma`."""


def interval(successes: int, runs: int, confidence: float) -> tuple[float, float]:
    """Return the Clopper-Pearson interval."""
    above = lower(runs - successes, runs, confidence)
    return lower(successes, runs, confidence), round(1.0 - above, _DIGITS)


def lower(successes: int, runs: int, confidence: float) -> float:
    """Return the lower bound: the greatest probability that makes this many successes too unlikely."""
    if successes == 0:
        return 0.0
    level = (1.0 - confidence) / 2
    below, above = 0.0, successes / runs
    for _ in range(_BISECTIONS):
        middle = (below + above) / 2
        if at_least(successes, runs, middle) > level:
            above = middle
        else:
            below = middle
    scale = 10.0**_DIGITS
    return max(0.0, floor(below * scale - 1) / scale)


def at_least(successes: int, runs: int, probability: float) -> float:
    """Return the upper tail of the binomial distribution, accurate where it is at most about one half."""
    if probability <= 0.0:
        return 1.0 if successes == 0 else 0.0
    if probability >= 1.0:
        return 1.0
    chance = lgamma(runs + 1) - lgamma(successes + 1) - lgamma(runs - successes + 1)
    term = exp(chance + successes * log(probability) + (runs - successes) * log1p(-probability))
    odds = probability / (1.0 - probability)
    total = term
    for count in range(successes + 1, runs + 1):
        term *= odds * (runs - count + 1) / count
        total += term
        if term <= total * 1e-17:
            break
    return min(1.0, total)
