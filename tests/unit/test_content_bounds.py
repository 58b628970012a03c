"""The message about a bound in ticks that is too long names the longest that fits."""

from __future__ import annotations

import pytest

from cplc.compilation import CplCompilation
from cplc.source import Source

TEXT = """cpl 2
protocol P {{
  role A
  role B
  commitment c = C(A, B, true, {content})
  A -> B : go means create c
  A -> B : pay
  A -> B : got
}}
"""


def _problems(content: str) -> list[tuple[str, list[str]]]:
    compilation = CplCompilation(Source("bounds.cpl", TEXT.format(content=content)))
    return [(one.message, [note.message for note in one.notes]) for one in compilation.diagnostics if one.is_error]


@pytest.mark.parametrize(
    ("content", "longest"),
    [
        ("F<={bound} ticks pay", 1_000),
        ("F<={bound} ticks pay & G<=3 ticks !got", 1_000),
        ("F<={bound} ticks (pay & F<=30 ticks got)", 60),
    ],
)
def test_too_long_bound_names_the_longest_that_fits(content: str, longest: int) -> None:
    [(message, [note])] = _problems(content.format(bound=longest))
    assert f"`<={longest} ticks` is too long in the content of `c`" in message
    fitting = int(note.partition("`<=")[2].removesuffix(" ticks`"))
    assert _problems(content.format(bound=fitting)) == []
    assert _problems(content.format(bound=fitting + 1)) != []
