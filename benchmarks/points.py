"""Measurements of one tool, one question, one size."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.peers import Answer


@dataclass(frozen=True)
class Point:
    """The measurement of one tool on one question at one size."""

    family: str
    kind: str
    n: int
    tool: str
    answer: Answer
