"""Numbers of random examples of property-based tests, scaled by the profile that `CPLC_TEST_PROFILE` names."""

from __future__ import annotations

import os
from typing import Any, Final

from hypothesis import settings

SCALES: Final = {"quick": 0.1, "default": 1.0, "thorough": 20.0}
"""Factor of each profile."""
PROFILE: Final = os.environ.get("CPLC_TEST_PROFILE", "default")
DEFAULT_EXAMPLES: Final = 30
"""Examples of a test that names no number, in the default profile."""


def scaled(count: int) -> int:
    """Return the number of examples of this profile for a test that has `count` by default."""
    return max(2, round(count * SCALES[PROFILE]))


def examples(count: int, **options: Any) -> settings:
    """Return the decorator of a test that has `count` random examples by default."""
    return settings(max_examples=scaled(count), **options)
