"""What cannot be worked out within the limits that are set, and how much may still be taken."""

from __future__ import annotations

from collections.abc import Callable


class TooLarge(Exception):
    """What is asked would take more than there is; the text says what of it. Nothing is known of the answer."""


_left: list[Callable[[], int] | None] = [None]


def allow(left: Callable[[], int] | None) -> None:
    """Set how many bytes may still be taken, as a function that tells so now; None for as many as there are."""
    _left[0] = left


def make_room(size: int, what: str) -> None:
    """Raise `TooLarge` if so many bytes, which are about to be taken in one piece, are not left."""
    left = _left[0]
    if left is not None and left() < size:
        raise TooLarge(f"{what} takes more memory than is left")
