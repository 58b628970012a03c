"""Interval analysis against enumeration: a comparison is reported only if it is constant over all values in range."""

from __future__ import annotations

from itertools import product

from hypothesis import given, note
from hypothesis import strategies as st
from tests.support.random_examples import examples

from cplc.compilation import CplCompilation
from cplc.source import Source

Range = tuple[int, int]

_TEXT = """cpl 2
protocol P {{
  role A {{
    var x: {x}
    var y: {y}
  }}
  role B
  A -> B : m(n: {n})  {word} {guard}  set x := {assigned}
  B -> A : again      after m
}}
"""


@st.composite
def _ranges(draw: st.DrawFn) -> Range:
    low = draw(st.integers(-3, 4))
    return low, low + draw(st.integers(0, 4))


_operands = st.sampled_from(["x", "y", "n"]) | st.integers(-4, 9).map(str)
_expressions = st.recursive(
    _operands,
    lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda part: "({} {} {})".format(*part)),
)
_comparisons = st.tuples(_expressions, st.sampled_from(["=", "!=", "<", "<=", ">", ">="]), _expressions)


def _values(text: str, ranges: dict[str, Range]) -> set[object]:
    """Return the values of an expression over all values of the names in it."""
    written = text.replace("=", "==").replace("!==", "!=").replace("<==", "<=").replace(">==", ">=")
    every = product(*(range(low, high + 1) for low, high in ranges.values()))
    return {eval(written, {}, dict(zip(ranges, values, strict=True))) for values in every}


@examples(150)
@given(_ranges(), _ranges(), _ranges(), _comparisons, st.sampled_from(["if", "unless"]), _expressions)
def test_decided_comparisons_are_constant(
    x: Range, y: Range, n: Range, comparison: tuple[str, str, str], word: str, assigned: str
) -> None:
    ranges = {"x": x, "y": y, "n": n}
    shown = {name: f"{low}..{high}" for name, (low, high) in ranges.items()}
    guard = " ".join(comparison)
    text = _TEXT.format(**shown, guard=guard, word=word, assigned=assigned)
    note(text)
    compilation = CplCompilation(Source("p.cpl", text))
    if any(one.is_error for one in compilation.diagnostics):
        return
    met, new = _values(guard, ranges), _values(assigned, ranges)
    warned = {(one.code, one.span.text) for one in compilation.diagnostics}
    assert ("constant-comparison", guard) not in warned or met == {word == "if"}
    is_never_met, is_never_in_range = met == {word != "if"}, new.isdisjoint(range(x[0], x[1] + 1))
    assert "never-sent" not in {code for code, _ in warned} or is_never_met or is_never_in_range
    names_a_range = {comparison[0], comparison[2]} & ranges.keys()
    is_single = all(part in ranges or part.lstrip("-").isdigit() for part in (comparison[0], comparison[2]))
    if is_single and names_a_range and comparison[0] != comparison[2] and len(met) == 1:
        assert any(span == guard for _, span in warned), "a comparison of names and numbers is decided exactly"
