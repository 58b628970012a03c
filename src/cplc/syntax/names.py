"""Names, which the trees of both languages have."""

from __future__ import annotations

from dataclasses import field

from cplc.records import dataclass
from cplc.source import Span


@dataclass(frozen=True, slots=True)
class Name:
    text: str
    span: Span = field(compare=False, repr=False, kw_only=True)
