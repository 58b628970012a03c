"""All targets, in the order in which they are fuzzed."""

from __future__ import annotations

from typing import Final

from tests.fuzz.campaign import Target
from tests.fuzz.targets import TARGETS as TEXTS
from tests.fuzz.targets_editor import TARGETS as EDITOR
from tests.fuzz.targets_records import TARGETS as RECORDS

TARGETS: Final[tuple[Target, ...]] = (*TEXTS, *RECORDS, *EDITOR)
