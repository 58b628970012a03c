"""What cannot be worked out within the limits that are set."""

from __future__ import annotations


class TooLarge(Exception):
    """A system would be too large to be written down; the text says what of it. Nothing is known of its runs."""
