"""Parameterised verdicts of random families against verification of each size by the explicit engine."""

from __future__ import annotations

from collections.abc import Iterator

from hypothesis import assume, event, given
from hypothesis import strategies as st
from tests.support.generators.parameterised_protocols import threshold_families
from tests.support.random_examples import examples

from cplc import compile
from cplc.checking.replay import replay
from cplc.checking.results import Answer
from cplc.checking.verify import Verifier
from cplc.parameterised import EverySize
from cplc.parameterised.instances import Sizes
from cplc.runtime.context import Budget

_MORE = (3, 4, 6)
_NAMES = ("ask", "bid", "pay", "ship")


@st.composite
def _families(draw: st.DrawFn) -> str:
    """Draw a protocol of members who may share a counter, or get in each other's way."""
    lines = []
    for position, name in enumerate(_NAMES):
        one, other = draw(st.permutations(["Hub", "c"]))
        after = draw(st.sampled_from(["", *_NAMES[:position]]))
        guards = [f"after {after}"] if after else []
        guards += draw(st.sampled_from([[], [], [f"unless {draw(st.sampled_from(_NAMES))}"]]))
        if one == "Hub":
            shared = ["if Hub.free > 0 set Hub.free := Hub.free - 1", "set Hub.told := true", "if !Hub.told"]
            guards += draw(st.sampled_from([[], [], [], [draw(st.sampled_from(shared))]]))
        more_guards = [f"unless exists b in Cus: {draw(st.sampled_from(_NAMES))}[b]", f"if forall b in Cus: !{name}[b]"]
        guards += draw(st.sampled_from([[], [], [], [], [draw(st.sampled_from(more_guards))]])) if one == "Hub" else []
        means = draw(st.sampled_from([[], ["means create duty"] if one == "Hub" else []]))
        again = draw(st.sampled_from([[], [], [], ["restart"]]))
        lines.append(f"    {one} -> {other} : {name}  {'  '.join([*guards, *means, *again])}")
    first, second = draw(st.permutations(_NAMES))[:2]
    property_text = draw(
        st.sampled_from(
            [
                f"forall c in Cus: AG ({first}[c] -> EF {second}[c])",
                f"forall c in Cus: EF {first}[c]",
                f"forall c in Cus: AG ({first}[c] -> AF {second}[c])",
                f"forall c in Cus: AG ({first}[c] -> K(c, {second}[c]))",
                f"forall c in Cus: A (F {first}[c] -> F {second}[c])",
                f"forall b in Cus: forall c in Cus: AG !({first}[b] & {second}[c])",
                f"forall b in Cus: forall c in Cus: AG ({first}[b] -> EF {second}[c])",
                f"AG ((exists c in Cus: {first}[c]) -> EF (forall c in Cus: {second}[c]))",
                f"AG ({first}[1] -> EF {second}[1])",
                f"AG !(exists b in Cus: exists c in Cus: b != c & {first}[b] & {first}[c])",
                f"forall c in Cus: AG ({first}[c] -> Hub.free > 0)",
                f"forall c in Cus: AF ({first}[c] | {second}[c])",
                f"forall c in Cus: AG ({first}[c] -> A[!{second}[c] U Hub.free < 2])",
                f"forall c in Cus: AG (fulfilled(duty[c]) -> C(Hub -> c, {second}[c] | Hub.free < 2))",
                f"forall c in Cus: AG (fulfilled(duty[c]) -> C(duty[c], {second}[c] | Hub.free < 2))",
                f"forall c in Cus: AG (C(never[c], {first}[c]) -> {second}[c])",
                "forall c in Cus: AG (Hub.free = 0 -> !conditional(duty[c]))",
            ]
        )
    )
    assuming = draw(st.sampled_from(["", " assuming Hub", " assuming Cus", " assuming all"]))
    return "\n".join(
        [
            "protocol Generated(n: 1..9 = 2) {",
            "  role Hub { var free: 0..2 = 2  var told: bool = false }",
            "  role Cus[n]",
            "  for c in Cus {",
            f"    commitment duty = C(Hub, c, {first}, {second})",
            f"    commitment never = C(Hub, c, {second}, {first})",
            *lines,
            "  }",
            f"  property asked{assuming}: {property_text}",
            "  check sound, live, deadlock_free",
            "}",
            "",
        ]
    )


@given(_families())
@examples(20)
def test_proof_for_every_size_is_confirmed_by_larger_sizes(text: str) -> None:
    compilation = compile(text)
    assume(compilation.ok)
    sizes = EverySize(compilation, allowance=lambda _: Budget(10_000))
    for result in sizes.verify(compilation.declared_questions()):
        event(f"{result.question.kind} {result.answer}")
        if result.sizes is not None and result.sizes.proof is not None:
            for size in _MORE:
                larger = sizes.sizes.of_size(size)
                (larger_result,) = larger.verify(larger.questions((result.question.name,)))
                assert larger_result.answer in {"holds", "vacuous"}, (text, result.question.name, size)


@given(threshold_families(greatest=6, greatest_async=4))
@examples(15)
def test_verdict_agrees_with_each_declared_size(text: str) -> None:
    """A question fails for the smallest size that fails by itself, and is not unknown if there is one."""
    compilation = compile(text)
    assert compilation.ok, (text, compilation.diagnostics)
    every = EverySize(compilation)
    for result in every.verify(every.of_any_size(compilation.questions())):
        answers = dict(_answers(every.sizes, result.question.name))
        failing = [size for size, answer in answers.items() if answer == "fails"]
        assert result.sizes is not None
        assert result.sizes.failing == (failing[0] if failing else None), (text, result.question.name, answers)
        assert (result.answer == "fails") == bool(failing)
        event(f"{result.answer} {result.sizes.failing or result.sizes.scope}")
        if failing:
            assert result.evidence is not None
            assert not replay(result.system, result.evidence, result.question.assuming)
        else:
            assert result.answer in {"holds", "vacuous"}
            vacuous = [size for size in result.sizes.verified if answers[size] == "vacuous"]
            assert list(result.sizes.vacuous) == vacuous


def _answers(sizes: Sizes, name: str) -> Iterator[tuple[int, Answer]]:
    """Yield the answer of the explicit engine for each declared size that asks the question."""
    least, greatest = sizes.bounds
    for size in range(least, greatest + 1):
        for question in sizes.of_size(size).questions():
            if question.question.name == name:
                yield size, Verifier(question.system, "explicit").decide(question.question)
