"""Discrete distributions of sums of many independent rewards, in fixed-point numbers rounded down.

A distribution is its probability generating function. Two polynomials are multiplied as integers with a slot for each
coefficient (Kronecker substitution). All rounding is downwards, so the missing mass bounds the total error.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

_FRACTION_BITS = 112
_SLOT_BYTES = 32
"""Bytes of a slot: enough for a sum of very many products of two probabilities."""
_MAX_SUPPORT = 1 << 20


@dataclass(frozen=True)
class DiscreteDistribution:
    least: int
    """The reward of the first probability."""
    shares: tuple[int, ...]
    """Probabilities in units of ``2**-112``, rounded down."""

    @property
    def missing_mass(self) -> Fraction:
        return 1 - Fraction(sum(self.shares), 1 << _FRACTION_BITS)

    def probability_above(self, amount: int) -> Fraction:
        """Return a lower bound of the probability of a larger reward; the error is at most the missing mass."""
        return Fraction(sum(self.shares[max(0, amount + 1 - self.least) :]), 1 << _FRACTION_BITS)

    def chances(self) -> dict[int, Fraction]:
        pairs = (
            (self.least + at, Fraction(share, 1 << _FRACTION_BITS)) for at, share in enumerate(self.shares) if share
        )
        return dict(pairs)

    def __mul__(self, other: DiscreteDistribution) -> DiscreteDistribution:
        length = len(self.shares) + len(other.shares) - 1
        if length > _MAX_SUPPORT:
            raise ResourceExhausted("what is made differs in too many ways")
        convolution = (_packed_polynomial(self.shares) * _packed_polynomial(other.shares)).to_bytes(
            (length + 1) * _SLOT_BYTES, "little"
        )
        shares = tuple(
            int.from_bytes(convolution[at : at + _SLOT_BYTES], "little") >> _FRACTION_BITS
            for at in range(0, length * _SLOT_BYTES, _SLOT_BYTES)
        )
        return _trimmed(self.least + other.least, shares)

    def __pow__(self, times: int) -> DiscreteDistribution:
        product, base = ZERO_REWARD, self
        while times:
            if times & 1:
                product *= base
            times >>= 1
            if times:
                base *= base
        return product


def _trimmed(least: int, shares: tuple[int, ...]) -> DiscreteDistribution:
    """Return the distribution without leading and trailing zeros: most of the length of a power rounds to 0."""
    begin, end = 0, len(shares)
    while begin < end - 1 and not shares[begin]:
        begin += 1
    while end > begin + 1 and not shares[end - 1]:
        end -= 1
    return DiscreteDistribution(least + begin, shares[begin:end])


ZERO_REWARD = DiscreteDistribution(0, (1 << _FRACTION_BITS,))


def convolution(lotteries: Iterable[DiscreteDistribution]) -> DiscreteDistribution:
    """Return the distribution of the sum, multiplied as a balanced tree."""
    factors = [ZERO_REWARD, *lotteries]
    while len(factors) > 1:
        pairs = zip(factors[::2], factors[1::2], strict=False)
        factors = [one * other for one, other in pairs] + factors[len(factors) & ~1 :]
    return factors[0]


def _packed_polynomial(shares: tuple[int, ...]) -> int:
    return int.from_bytes(b"".join(share.to_bytes(_SLOT_BYTES, "little") for share in shares), "little")


def discrete_distribution(chances: Mapping[int, Fraction]) -> DiscreteDistribution:
    least, most = min(chances), max(chances)
    if most - least > _MAX_SUPPORT:
        raise ResourceExhausted("what is made differs in too many ways")
    shares = [0] * (most - least + 1)
    for amount, share in chances.items():
        shares[amount - least] = (share.numerator << _FRACTION_BITS) // share.denominator
    return DiscreteDistribution(least, tuple(shares))
