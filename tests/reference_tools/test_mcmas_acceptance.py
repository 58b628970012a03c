"""MCMAS accepts the same models and parses formulas with the same structure."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.reference_tools.mcmas import MCMAS
from tests.support.random_examples import examples

from cplc.compilation import IsplCompilation
from cplc.ispl.syntax import ast
from cplc.ispl.syntax.parser import parse_formula
from cplc.source import Source

pytestmark = pytest.mark.skipif(not MCMAS, reason="CPLC_MCMAS is not set")

_MODEL = """Agent Environment
  Obsvars: o : boolean; end Obsvars
  Vars: w : boolean; q : 0..3; end Vars
  Actions = {e};
  Protocol: Other : {e}; end Protocol
  Evolution: o=true if Action=e; end Evolution
end Agent
Agent P
  Lobsvars = {q};
  Vars: x : 0..3; y : -2..4; b : boolean; c : boolean; d : {r, g}; f : {r, g, h}; end Vars
  Actions = {a, n};
  Protocol: %(protocol)s : {a}; Other : {n}; end Protocol
  Evolution: %(evolution)s; end Evolution
end Agent
Agent Q
  Vars: x : 0..3; end Vars
  Actions = {a, n};
  Protocol: Other : {a}; end Protocol
  Evolution: x=1 if Action=a; end Evolution
end Agent
Evaluation p if P.x=1; s if P.f=h; end Evaluation
InitStates %(initial)s; end InitStates
Groups k = {P, Q}; end Groups
Formulae %(first)s; %(second)s; end Formulae
"""


def _mostly(usual: str, seldom: str) -> st.SearchStrategy[str]:
    """Draw a usual word, and rarely one that is not allowed everywhere."""
    return st.sampled_from(10 * usual.split() + seldom.split())


_numbers = _mostly("x y Environment.q x+1 y-x*2 (x)", "-1 9 d b")
_numerals = _mostly("x 1 3 0", "-1 9")
_truths = _mostly("b c Environment.o b&c ~b (b|c)^b", "true Environment.w x")
_constants = _mostly("true false b", "1")
_values = _mostly("d=r d=g f=h f=d f<>r", "d=h f=zz zz=d r=r d<r f!=g")
_equal = _mostly("= <>", "!=")


def _concatenated(*parts: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.tuples(*parts).map("".join)


_comparisons = st.one_of(
    _concatenated(_numbers, _mostly("= <> < <= > >=", "!="), _numbers | _numerals),
    _concatenated(_truths, _equal, _truths | _constants),
    _values,
    _mostly("x=1 b=true true=b 1=x", "b=1 P.x=1 Q.x=1 m=1 b 1=1"),
)
_actions = _mostly("Action=a Q.Action=n Environment.Action=e P.Action=n", "Action=zz Z.Action=a Action<>a")


def _conditions(atoms: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    def over(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        several = st.lists(inner, min_size=2, max_size=3)
        return st.one_of(
            inner.map("!{}".format), inner.map("({})".format), several.map(" and ".join), several.map(" or ".join)
        )

    return st.recursive(atoms, over, max_leaves=3)


_assigned = st.one_of(
    _concatenated(st.sampled_from(("x=", "y=")), _mostly("x y x+1 y-x*2 1", "9 Environment.q b r")),
    _concatenated(st.sampled_from(("b=", "c=")), _truths | _constants),
    _mostly("d=r f=h f=f", "d=h d=f o=true zz=1 x=zz"),
)
_evolutions = _concatenated(
    st.lists(_assigned, min_size=1, max_size=2).map(" and ".join), st.just(" if "), _conditions(_comparisons | _actions)
)
_initial = _conditions(_mostly("P.x=0 P.x=Q.x P.d=r P.b=true Environment.o=P.b", "P.x=9 x=1 P.x<1 P.zz=1 P.d=h"))


def _over(prefixes: tuple[str, ...], until: str) -> st.SearchStrategy[str]:
    def over(inner: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
        pairs = st.sampled_from(("{} and {}", "{} or {}", "{} -> {}", until))
        return st.one_of(
            _concatenated(st.sampled_from(prefixes), inner),
            inner.map("({})".format),
            inner.map("K(P, {})".format),
            st.builds(str.format, pairs, inner, inner),
        )

    return st.recursive(st.sampled_from(("p", "s", "P.GreenStates")), over, max_leaves=5)


_branching = _over(("AG ", "EF ", "AX ", "! ", "EG ", "<k> F ", "<k> X "), "A({} U {})")
_linear = _over(("X ", "F ", "! ", "G "), "{} U {}")


def _mcmas_output(text: str) -> str | None:
    """Return the output of MCMAS on a model; None if it crashes or exceeds the time limit after parsing."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "model.ispl").write_text(text, encoding="ascii")
        command = [MCMAS, "-atlk", "1", "model.ispl"]
        try:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=20, check=False)
        except subprocess.TimeoutExpired:
            return None
    return done.stdout if done.returncode in (0, 255) else None


def _is_accepted(text: str) -> bool:
    """Tell whether the model has no errors and no warnings on dialects."""
    diagnostics = IsplCompilation(Source("model.ispl", text)).diagnostics
    return not any(one.is_error or one.code == "other-dialect" for one in diagnostics)


@examples(200)
@given(_conditions(_comparisons), _evolutions, _initial)
def test_acceptance_agrees_with_mcmas(protocol: str, evolution: str, initial: str) -> None:
    parts = {"protocol": protocol, "evolution": evolution, "initial": initial, "first": "AG p", "second": "s"}
    text = _MODEL % parts
    output = _mcmas_output(text)
    if output is not None:
        assert _is_accepted(text) == ("error(s)" not in output), text


@examples(100)
@given(_branching, _linear)
def test_formula_structure_agrees_with_mcmas(branching: str, linear: str) -> None:
    parts = {"protocol": "x=1", "evolution": "x=2 if Action=a", "initial": "P.x=0", "first": branching}
    output = _mcmas_output(_MODEL % {**parts, "second": f"LTL {linear}"})
    if output is None:
        return
    first, second = re.findall(r"Formula number \d+: (.*), is (?:TRUE|FALSE) in the model", output)
    for formula, logic, theirs in ((branching, "CTL", first), (f"{linear}", "LTL", second)):
        read, problems = parse_formula(Source("formula", formula), "CTL" if logic == "CTL" else "LTL")
        assert read is not None, problems
        ours = _shown(read) if logic == "CTL" else f"(A{_shown(read)})"
        assert ours == _plain(theirs), formula


def _shown(node: ast.Formula) -> str:
    """Return a formula as MCMAS shows it, without blanks."""
    match node:
        case ast.Prop(name):
            return name.text
        case ast.ColourAtom(agent, colour):
            return f"{agent.text}.{colour}"
        case ast.Not(operand):
            return f"(!{_shown(operand)})"
        case ast.Junction(op, (first, *rest)):
            text = _shown(first)
            for one in rest:
                text = f"({text}{'&&' if op == 'and' else '||'}{_shown(one)})"
            return text
        case ast.Unary("A" | "E" as op, operand):
            return f"{op}{_shown(operand)}"
        case ast.Unary(op, operand):
            return f"({op}{_shown(operand)})"
        case ast.Binary(op, left, right):
            return f"({_shown(left)}{op}{_shown(right)})"
        case ast.Knows(op, who, operand):
            return f"{op}({who.text},{_shown(operand)})"
        case ast.Enforces(group, goal):
            return f"(<{group.text}>{_shown(goal)[1:]}"
        case _:
            raise AssertionError(node)


def _plain(theirs: str) -> str:
    """Return a formula as MCMAS shows it without blanks, and without the quantifier that it adds below `K`."""
    text = "".join(theirs.split())
    while (at := text.find("K(P,(A")) >= 0 and text[at + 6] != "G" and text[at + 6] != "X":
        opening = at + len("K(P,")
        depth, end = 0, opening
        for end in range(opening, len(text)):
            depth += {"(": 1, ")": -1}.get(text[end], 0)
            if depth == 0:
                break
        text = text[:opening] + text[opening + 2 : end] + text[end + 1 :]
    return text
