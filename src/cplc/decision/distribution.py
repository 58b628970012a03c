"""Distributions of sums of very many independent parts, in whole numbers that are rounded down.

A distribution is a polynomial, and polynomials are multiplied as long numbers with a slot for each coefficient. As all
rounding is downwards, what the shares lack of one is all that they can be wrong by, together.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from cplc.records import dataclass
from cplc.runtime.limits import ResourceExhausted

_BITS = 112
_SLOT = 32
"""Bytes: room for products of two shares, summed over very many."""
_LONGEST = 1 << 20


@dataclass(frozen=True)
class Lottery:
    least: int
    """The amount of the first share."""
    shares: tuple[int, ...]
    """In units of ``2**-112``, never too large."""

    @property
    def missing(self) -> Fraction:
        return 1 - Fraction(sum(self.shares), 1 << _BITS)

    def above(self, amount: int) -> Fraction:
        """Return the probability of more than that; it may be too small by what is missing."""
        return Fraction(sum(self.shares[max(0, amount + 1 - self.least) :]), 1 << _BITS)

    def chances(self) -> dict[int, Fraction]:
        found = ((self.least + at, Fraction(share, 1 << _BITS)) for at, share in enumerate(self.shares) if share)
        return dict(found)

    def __mul__(self, other: Lottery) -> Lottery:
        length = len(self.shares) + len(other.shares) - 1
        if length > _LONGEST:
            raise ResourceExhausted("what is made differs in too many ways")
        product = (_packed(self.shares) * _packed(other.shares)).to_bytes((length + 1) * _SLOT, "little")
        shares = tuple(
            int.from_bytes(product[at : at + _SLOT], "little") >> _BITS for at in range(0, length * _SLOT, _SLOT)
        )
        return _trimmed(self.least + other.least, shares)

    def __pow__(self, times: int) -> Lottery:
        found, base = NOTHING, self
        while times:
            if times & 1:
                found *= base
            times >>= 1
            if times:
                base *= base
        return found


def _trimmed(least: int, shares: tuple[int, ...]) -> Lottery:
    """Return them without the ends that are too improbable to be told from nothing: most of the length of a power."""
    begin, end = 0, len(shares)
    while begin < end - 1 and not shares[begin]:
        begin += 1
    while end > begin + 1 and not shares[end - 1]:
        end -= 1
    return Lottery(least + begin, shares[begin:end])


NOTHING = Lottery(0, (1 << _BITS,))


def product(lotteries: Iterable[Lottery]) -> Lottery:
    """Return the distribution of the sum of all; short ones are multiplied first."""
    left = [NOTHING, *lotteries]
    while len(left) > 1:
        pairs = zip(left[::2], left[1::2], strict=False)
        left = [one * other for one, other in pairs] + left[len(left) & ~1 :]
    return left[0]


def _packed(shares: tuple[int, ...]) -> int:
    return int.from_bytes(b"".join(share.to_bytes(_SLOT, "little") for share in shares), "little")


def lottery(chances: Mapping[int, Fraction]) -> Lottery:
    least, most = min(chances), max(chances)
    if most - least > _LONGEST:
        raise ResourceExhausted("what is made differs in too many ways")
    shares = [0] * (most - least + 1)
    for amount, share in chances.items():
        shares[amount - least] = (share.numerator << _BITS) // share.denominator
    return Lottery(least, tuple(shares))
