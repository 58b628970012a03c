"""Bar chart of final commitment states over many runs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from cplc.drawing import svg
from cplc.report.run_report import summarised
from cplc.simulation.run_statistics import CommitmentOutcomes, Statistics

_LEFT, _BAR, _ROW, _TOP = 250, 460, 30, 74
_MAX_BARS: Final = 30
"""Maximum number of bars; beyond it families are merged, then the chart is truncated."""
_MAX_LABEL_LENGTH: Final = 34


def courses_chart(statistics: Statistics, name: str) -> str:
    """Return the chart."""
    courses = [course for course in summarised(statistics.courses, _MAX_BARS) if course.instances]
    drawn = courses[:_MAX_BARS]
    states = list(dict.fromkeys(state for course in drawn for state in course.endings))
    body = [*_key(states), *(part for at, course in enumerate(drawn) for part in _row(course, _TOP + _ROW * at))]
    height = _TOP + _ROW * len(drawn) + 16
    if len(courses) > _MAX_BARS:
        body.append(svg.text(16, height, f"and {len(courses) - _MAX_BARS} more", "faint"))
        height += 16
    if not drawn:
        body.append(svg.text(16, _TOP, "no commitment was created", "faint"))
        height += 16
    description = "; ".join(f"{course.name}: {_shares(course)}" for course in drawn)
    runs = f"{statistics.runs:,} run{'' if statistics.runs == 1 else 's'}"
    title = f"{svg.truncated(name, 60)}: how commitments end in {runs}"
    return svg.document(title, description or "no commitment was created", _LEFT + _BAR + 90, height, body)


def _shares(course: CommitmentOutcomes) -> str:
    return ", ".join(f"{state} {count:,} of {course.instances:,}" for state, count in course.endings.items())


def _row(course: CommitmentOutcomes, y: int) -> Iterator[str]:
    name = f"{course.name} ({course.parties[0]} → {course.parties[1]})"
    yield svg.text(_LEFT - 12, y + 14, svg.truncated(name, _MAX_LABEL_LENGTH), "end")
    x = float(_LEFT)
    for state, count in course.endings.items():
        width = _BAR * count / course.instances
        label = f"{round(100 * count / course.instances)} %"
        bar = svg.rectangle(x, y, width, 18, svg.colour(state))
        if width >= svg.text_width(label) + 8:
            bar += svg.text(x + width / 2, y + 13.5, label, "middle halo")
        yield svg.with_tooltip(f"{course.name}: {state} {count:,} of {course.instances:,}", bar)
        x += width
    yield svg.text(_LEFT + _BAR + 10, y + 14, f"{course.instances:,}", "faint")


def _key(states: list[str]) -> Iterator[str]:
    x = 16.0
    groups: dict[str, list[str]] = {}
    for state in states:
        groups.setdefault(svg.colour(state), []).append(state)
    for kind, members in groups.items():
        words = ", ".join(members)
        yield svg.rectangle(x, 40, 12, 12, kind) + svg.text(x + 18, 50, words, "faint")
        x += 40 + svg.text_width(words)
