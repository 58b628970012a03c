"""Conflicts among many promises: what the search leaves open is said."""

from __future__ import annotations

import pytest

from cplc.compilation import CplCompilation
from cplc.source import Source


def _remark(promises: int) -> str:
    names = [f"c{number}" for number in range(promises)]
    declared = "\n".join(f"  commitment {name} = C(A, B, true, F does(pay))" for name in names[:-1])
    text = f"""cpl 2
protocol P {{
  role A
  role B
{declared}
  commitment {names[-1]} = C(A, B, true, G !does(pay))
  A -> B : go means {", ".join(f"create {name}" for name in names)}
  A -> B : pay after go
  property keeps: AG (go -> SC(A -> B, true))
  check none
}}
"""
    compilation = CplCompilation(Source("keeping.cpl", text))
    [result] = compilation.verify(compilation.questions(["keeps"]), "explicit")
    assert result.answer == "fails"
    [remark] = [one for one in result.remarks if one.code == "not-keepable"]
    return remark.message


def test_conflicts_of_few_promises_all_shown() -> None:
    text = _remark(4)
    assert text.count("no fair run keeps both") == 3
    assert "partial" not in text


@pytest.mark.parametrize("promises", [7])
def test_conflicts_of_many_promises_called_partial(promises: int) -> None:
    text = _remark(promises)
    assert "the search is partial" in text
    assert f"of {2**promises - 1:,} sets of promises were examined" in text
    assert "no fair run keeps both `c0` and `c6`" in text
