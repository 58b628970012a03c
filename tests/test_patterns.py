"""Every pattern of `stdlib/properties.cpl` holds where it should, fails where it should, and is documented."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.support.literate.language import ENGINES

from cplc.compilation import CplCompilation
from cplc.runtime.file_access import shipped
from cplc.source import Source

_LIBRARY = (shipped("stdlib") / "properties.cpl").read_text(encoding="utf-8")
_DEFINED = re.findall(r"^define (\w+)", _LIBRARY, re.MULTILINE)


def in_turn(order: str) -> str:
    """Return a protocol in which these messages are sent in this order, each once, and no others ever."""
    sent = order.split()
    waits = {name: " & ".join(sent[:position]) for position, name in enumerate(sent)}
    lines = []
    for name in "pqrs":
        clause = f"after {waits[name]}" if waits.get(name) else "" if name in waits else f"after {name}"
        lines.append(f"  Ann -> Bob : {name}  {clause}")
    return "protocol P sync {\n  role Ann\n  role Bob\n" + "\n".join(lines) + "\n}\n"


_SEQUENCES = [
    # the pattern, an order of messages in which it holds, one in which it fails
    ("absent(p)", "q r", "q p"),
    ("absent_before(p, r)", "r p", "p r"),
    ("absent_after(p, q)", "q r", "q p"),
    ("absent_between(p, q, r)", "q r p", "q p r"),
    ("absent_after_until(p, q, r)", "q r p", "q p"),
    ("occurs(p)", "q p", "q"),
    ("occurs_before(p, r)", "p r", "r p"),
    ("occurs_after(p, q)", "q p", "q"),
    ("occurs_between(p, q, r)", "q p r", "q r p"),
    ("occurs_after_until(p, q, r)", "q p r", "q"),
    ("always(!p)", "q", "q p"),
    ("always_before(!p, r)", "r p", "p r"),
    ("always_after(p, q)", "p q", "q p"),
    ("always_between(p, q, r)", "p q r", "q p r"),
    ("always_after_until(p, q, r)", "p q", "q p"),
    ("precedes(s, p)", "s p", "p s"),
    ("precedes_before(s, p, r)", "s p r", "p s r"),
    ("precedes_after(s, p, q)", "q s p", "q p s"),
    ("precedes_between(s, p, q, r)", "q s p r", "q p s r"),
    ("precedes_after_until(s, p, q, r)", "q s p", "q p s"),
    ("responds(p, s)", "p s", "p"),
    ("responds_before(p, s, r)", "p s r", "p r s"),
    ("responds_after(p, s, q)", "q p s", "q p"),
    ("responds_between(p, s, q, r)", "q p s r", "q p r s"),
    ("responds_after_until(p, s, q, r)", "q p s r", "q p"),
    ("never(p)", "q", "p"),
    ("can_respond(p, q)", "p q", "p"),
    ("always_possible(p)", "p", "q"),
    ("exclusive(p, q)", "p r", "p q"),
    ("atomic(p, q)", "p q", "p"),
    ("settles(p)", "p", "q"),
]  # fmt: skip


def protocol(*lines: str, sync: bool = True) -> str:
    """Return a protocol between Ann, Bob and Eve."""
    head = f"protocol P{' sync' if sync else ''} {{\n  role Ann\n  role Bob\n  role Eve\n  Eve -> Bob : e\n"
    return head + "".join(f"  {line}\n" for line in lines) + "}\n"


_ROUNDS = protocol("Ann -> Bob : p", "Bob -> Ann : q after p restart")
_ONCE = protocol("Ann -> Bob : p", "Bob -> Ann : q after p")

_C = "commitment c = C(Bob, Ann, pay, deliver)"
_OFFER = "Bob -> Ann : offer means create c"
_PAY = "Ann -> Bob : pay after offer"
_DELIVER = "Bob -> Ann : deliver after pay"
_HONEST = protocol(_C, _OFFER, _PAY, _DELIVER)
_FAILING = protocol(
    _C, _OFFER, _PAY, f"{_DELIVER} unless fail", "Bob -> Ann : fail after pay unless deliver means violate c"
)
_REPAID = _FAILING.replace("violate c", "violate c\n  Bob -> Ann : repay after fail means compensate c")
_AGAIN = _REPAID.replace("means compensate c", "means compensate c restart")
_UNPAID = protocol(_C, _OFFER, "Ann -> Bob : pay after pay", _DELIVER)
_STUCK = protocol(_C, _OFFER, _PAY, "Bob -> Ann : deliver after deliver")
_DEPENDENT = protocol(_C, _OFFER, _PAY, f"{_DELIVER} & e")
_HASTY = protocol("commitment c = C(Bob, Ann, pay, deliver) within 1", _OFFER, _PAY, _DELIVER)
_WITHDRAWN = protocol(
    _C, _OFFER, _PAY, f"{_DELIVER} unless stop", "Bob -> Ann : stop after pay unless deliver means withdraw c"
)
_WAITING = protocol(_C, _OFFER, "Ann -> Bob : wait after offer means suspend c", _PAY, _DELIVER)
_LIMBO = _WAITING.replace("deliver after pay", "deliver after deliver")
_RESUMED = _WAITING.replace("suspend c", "suspend c\n  Ann -> Bob : on_again after wait means reactivate c")

_PROTOCOLS = [
    # the pattern, a protocol where it holds, one where it fails
    ("stable(p)", _ONCE, _ROUNDS),
    ("either_order(p, e)", _ONCE, in_turn("p q").replace("sync {", "sync {\n  fact e = q")),
    ("terminates()", _ONCE, _ROUNDS),
    ("recurs(p)", _ROUNDS, in_turn("q")),
    ("settles(p)", _ONCE, _ROUNDS),
    ("aware(Bob, p)", _ONCE, None),
    ("aware(Eve, p)", None, _ONCE),
    ("aware(Ann, p)", _ONCE, _ONCE.replace(" sync", "")),
    ("in_power(Ann, p)", _ONCE, None),
    ("in_power(Bob, p)", None, _ONCE),
    ("remains_in_power(Bob, p, q)", _ONCE, None),
    ("remains_in_power(Eve, p, q)", None, _ONCE),
    ("activatable(c)", _HONEST, _UNPAID),
    ("feasible(c)", _HONEST, _STUCK),
    ("honoured(c)", _HONEST, _FAILING),
    ("honourable_by(Bob, c)", _FAILING, _HASTY),
    ("kept(c)", _HONEST, _WITHDRAWN),
    ("resolved(c)", _HONEST, _STUCK),
    ("no_limbo(c)", _RESUMED, _LIMBO),
    ("compensated_always(c)", _REPAID, _FAILING),
    ("violated_once(c)", _REPAID, _AGAIN),
]  # fmt: skip

_CASES = [
    *((call, in_turn(order), "holds") for call, order, _ in _SEQUENCES),
    *((call, in_turn(order), "fails") for call, _, order in _SEQUENCES),
    *((call, text, "holds") for call, text, _ in _PROTOCOLS if text),
    *((call, text, "fails") for call, _, text in _PROTOCOLS if text),
]


@pytest.mark.parametrize(
    ("call", "text", "expected"),
    _CASES,
    ids=[f"{number}-{call}-{expected}" for number, (call, _, expected) in enumerate(_CASES)],
)
def test_a_pattern_has_the_verdict_it_should(call: str, text: str, expected: str) -> None:
    assuming = "" if "power" in call or "honourable" in call else " assuming all"
    body = f"import std.properties\n{text.rstrip()[:-1]}  property it{assuming}: {call}\n}}\n"
    compilation = CplCompilation(Source("pattern.cpl", body))
    assert compilation.ok, [diagnostic.concise() for diagnostic in compilation.diagnostics]
    for engine in ENGINES:
        (result,) = compilation.verify(compilation.questions(["it"]), engine)
        assert result.answer == expected, engine


def test_every_pattern_is_tried_where_it_holds_and_where_it_fails() -> None:
    tried = {(call.partition("(")[0], expected) for call, _, expected in _CASES}
    assert tried == {(name, expected) for name in _DEFINED for expected in ("holds", "fails")}


def test_every_pattern_is_explained() -> None:
    blocks = re.split(r"\n\n+", _LIBRARY)
    silent = [block for block in blocks if "define" in block and not block.startswith("//")]
    assert silent == []


def test_every_pattern_is_in_the_manual() -> None:
    manual = (Path(__file__).parents[1] / "docs" / "patterns.md").read_text(encoding="utf-8")
    assert [name for name in _DEFINED if f"`{name}`" not in manual and f"`{name}(" not in manual] == []
