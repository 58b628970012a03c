"""A guard refuses what the protocol does not allow, before it leaves, and knows after a crash what has left."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest

from cplc.guard import DamagedJournal, Decision, Guard, Refused
from cplc.guard import guard as guard_module
from cplc.guard.journal import Journal, JournalFailed, JournalInUse
from cplc.logs.events import Event, Garbage
from cplc.logs.mapping import LogMapping
from cplc.monitoring.monitor import Monitor

_SHOP = """\
protocol Shop {
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay, deliver)
  Buyer -> Seller : order(amount: 1..3)
  Seller -> Buyer : offer    after order   means create goods
  Buyer -> Seller : pay      after offer
  Buyer -> Seller : leave    after offer   means release goods
  Seller -> Buyer : deliver  after pay
  choice pay | leave
}
"""


@pytest.fixture(name="shop")
def _shop(tmp_path: Path) -> Path:
    path = tmp_path / "shop.cpl"
    path.write_text(_SHOP, encoding="utf-8")
    return path


@pytest.fixture(name="journal")
def _journal(tmp_path: Path) -> Path:
    return tmp_path / "guard.journal"


def _order(guard: Guard, case: str = "1") -> Decision:
    return guard.send("order", case, "Buyer", values={"amount": 2})


# --- decisions


def test_illegal_message_is_refused_with_what_is_allowed_instead(shop: Path) -> None:
    guard = Guard.load(shop)
    _order(guard)
    with pytest.raises(Refused) as refused:
        guard.send("pay", "1", "Buyer")
    decision = refused.value.decision
    assert (decision.verdict, decision.passes, decision.sender) == ("illegal", False, "Buyer")
    assert decision.reason == "Buyer has not received `offer`"
    assert decision.instead == ("offer by Seller",)
    assert "case 1: `pay` by Buyer is not allowed" in str(refused.value)
    assert guard.receive("offer", "1", "Seller").verdict == "allowed"
    assert guard.send("pay", "1", "Buyer").passes


def test_refused_message_changes_nothing(shop: Path) -> None:
    guard = Guard.load(shop)
    _order(guard)
    before = guard.monitor.snapshot()["cases"]
    for message, sender in [("pay", "Buyer"), ("offer", "Buyer"), ("pai", "Buyer"), ("order", "Nobody")]:
        with pytest.raises(Refused):
            guard.send(message, "1", sender)
    assert guard.monitor.snapshot()["cases"] == before


def test_reporting_guard_lets_through_and_reports(shop: Path) -> None:
    guard = Guard.load(shop, mode="report")
    decisions: list[Decision] = []
    unsubscribe = guard.subscribe(decisions.append)
    guard.send("pay", "1", "Buyer")
    guard.decide(Garbage("here", "broken"))
    _order(guard)
    unsubscribe()
    _order(guard, "2")
    assert [(one.verdict, one.passes) for one in decisions] == [
        ("illegal", True), ("unknown", True), ("allowed", True),
    ]  # fmt: skip


def test_undecidable_message_is_refused(shop: Path) -> None:
    guard = Guard(Monitor.load(shop, most=1), payloads="any")
    lost = guard.decide(Event("", "1", "order", "Buyer", kind="sent"))
    assert (lost.verdict, lost.passes) == ("unknown", False)
    again = guard.decide(Event("", "1", "pay", "Buyer", kind="sent"))
    assert (again.verdict, again.passes) == ("unknown", False)
    unread = guard.decide(Garbage("here", "no case"))
    assert (unread.verdict, unread.passes, unread.reason) == ("unknown", False, "no case")


def test_record_is_mapped_to_an_event(shop: Path) -> None:
    mapping = LogMapping(ignored=("ping",))
    guard = Guard.load(shop, mapping=mapping)
    event = guard.event_of({"case": 7, "message": "order", "sender": "Buyer"})
    assert isinstance(event, Event)
    assert (event.case, event.message, event.sender) == ("7", "order", "Buyer")
    assert guard.event_of({"message": "ping"}) is None
    assert isinstance(guard.event_of({"message": "order"}), Garbage)


def test_decorated_function_is_not_called_where_it_may_not_send(shop: Path) -> None:
    guard = Guard.load(shop)
    called: list[str] = []

    @guard.sends("order", case="order_id", sender="Buyer", values=["amount"], returns="offer", returned_by="Seller")
    def order(order_id: str, amount: int = 2) -> str:
        called.append("order")
        return order_id

    @guard.sends("pay", case=lambda order_id: order_id.lower(), sender="Buyer")
    async def pay(order_id: str) -> None:
        called.append("pay")

    with pytest.raises(Refused):
        asyncio.run(pay("A"))
    assert order("a") == "a"
    asyncio.run(pay("A"))
    with pytest.raises(Refused, match="has been sent already"):
        asyncio.run(pay("A"))
    assert called == ["order", "pay"]
    assert order.__name__ == "order"
    with pytest.raises(Refused, match="amount"):
        order("b", amount=9)


def test_deadline_forbids_a_late_message(tmp_path: Path) -> None:
    path = tmp_path / "late.cpl"
    path.write_text("""\
protocol Late sync {
  clock tick = 1 h
  role Seller
  role Buyer
  commitment goods = C(Seller, Buyer, pay, deliver)   expires 2
  Seller -> Buyer : offer    means create goods
  Buyer -> Seller : pay      after offer   unless expired(goods)
  Seller -> Buyer : deliver  after pay
}
""")
    now = [1_772_359_200 * 10**9]
    guard = Guard(Monitor.load(path), clock=lambda: now[0])
    guard.send("offer", "1", "Seller")
    now[0] += 3 * 3600 * 10**9
    with pytest.raises(Refused) as refused:
        guard.send("pay", "1", "Buyer")
    assert refused.value.decision.findings[-1].kind == "too-late"


def test_missing_payload_is_unknown_unless_any_is_accepted(shop: Path) -> None:
    with pytest.raises(Refused, match="its payload lacks `amount`"):
        Guard.load(shop).send("order", "1", "Buyer")
    assert Guard.load(shop, payloads="any").send("order", "1", "Buyer").passes


def test_payload_of_a_record_is_judged(shop: Path) -> None:
    guard = Guard.load(shop)
    event = guard.event_of({"case": 1, "message": "order", "sender": "Buyer", "payload": {"amount": "2"}})
    wrong = guard.event_of({"case": 1, "message": "order", "sender": "Buyer", "amount": 7})
    assert isinstance(event, Event)
    assert isinstance(wrong, Event)
    assert guard.decide(wrong).verdict == "illegal"
    assert guard.decide(event).verdict == "allowed"


# --- threads and event loops


def test_one_of_many_threads_may_send(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal) as guard:
        passed: list[int] = []

        def work(number: int) -> None:
            for case in range(20):
                try:
                    _order(guard, str(case))
                except Refused:
                    continue
                passed.append(case)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
        assert sorted(passed) == list(range(20))


def test_one_of_many_tasks_may_send(shop: Path, journal: Path) -> None:
    async def main() -> list[bool]:
        with Guard.load(shop, journal=journal) as guard:
            events = [Event("", str(at % 5), "order", "Buyer", values={"amount": 1}, kind="sent") for at in range(40)]
            return [one.passes for one in await asyncio.gather(*map(guard.adecide, events))]

    assert sum(asyncio.run(main())) == 5


# --- the journal


def _recorded(shop: Path, journal: Path, cases: range) -> list[bool]:
    with Guard.load(shop, journal=journal) as guard:
        return [not guard.allowed("Buyer", str(case)).may("order") for case in cases]


@pytest.mark.parametrize("durability", ["fsync", "write"])
def test_guard_resumes_from_its_journal(shop: Path, journal: Path, durability: str) -> None:
    with Guard.load(shop, journal=journal, durability=durability) as guard:  # type: ignore[arg-type]
        _order(guard)
        guard.receive("offer", "1", "Seller")
        guard.decide(Event("", "t", "order", "Buyer", values={"amount": 1}, kind="sent"), alias="task 9")
    with Guard.load(shop, journal=journal) as guard:
        assert [one.message for one in guard.last_batch] == ["order"]
        assert guard.send("pay", "1", "Buyer").passes
        assert guard.receive("offer", "task 9", "Seller").case == "t"
        with pytest.raises(Refused):
            _order(guard)


def test_refused_messages_are_not_in_the_journal(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal, mode="report") as guard:
        guard.send("pay", "1", "Buyer")
        size = journal.stat().st_size
        _order(guard)
        assert journal.stat().st_size > size
    assert _recorded(shop, journal, range(3)) == [False, True, False]


def test_journal_is_replaced_by_a_snapshot(shop: Path, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(guard_module, "MAX_RECORDS", 10)
    with Guard.load(shop, journal=journal) as guard:
        for case in range(45):
            _order(guard, str(case))
        assert journal.read_bytes().count(b"\n") < 15
    assert _recorded(shop, journal, range(46)) == [True] * 45 + [False]


def test_batch_that_is_cut_off_is_left_out(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal) as guard:
        for case in range(3):
            _order(guard, str(case))
    whole = journal.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    for size in range(len(whole) + 1):
        journal.write_bytes(whole[:size])
        expected = sum(end <= size for end in ends[1:])
        assert _recorded(shop, journal, range(3)) == [at < expected for at in range(3)], size


def test_torn_batch_of_several_records_is_left_out_as_a_whole(journal: Path) -> None:
    one = Journal(journal, "x")
    one.commit(one.append({"n": 1}))
    first = journal.stat().st_size
    for number in (2, 3, 4):
        last = one.append({"n": number})
    one.commit(last)
    one.close()
    whole = journal.read_bytes()
    lines = whole[first:].splitlines(keepends=True)
    assert len(lines) == 3
    for damaged in (lines[0], lines[0] + lines[1], lines[0] + b"x" * 9 + b"\n" + lines[2], b"\0" * 30):
        journal.write_bytes(whole[:first] + damaged)
        again = Journal(journal, "x")
        assert again.recovered == [{"n": 1}]
        again.close()
        assert journal.read_bytes() == whole[:first]


def test_damaged_journal_is_refused_and_not_overwritten(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal) as guard:
        for case in range(4):
            _order(guard, str(case))
    whole = journal.read_bytes()
    random = Random(1)
    second_last = whole.rindex(b"\n", 0, whole.rindex(b"\n", 0, len(whole) - 1)) + 1
    for _ in range(60):
        at = random.randrange(second_last)
        damaged = whole[:at] + bytes([whole[at] ^ 1 << random.randrange(8)]) + whole[at + 1 :]
        journal.write_bytes(damaged)
        with pytest.raises(DamagedJournal):
            Guard.load(shop, journal=journal)
        assert journal.read_bytes() == damaged
    journal.write_bytes(b"hello\nworld\n")
    with pytest.raises(DamagedJournal):
        Guard.load(shop, journal=journal)


def test_missing_record_is_noticed(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal) as guard:
        for case in range(4):
            _order(guard, str(case))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:2] + lines[3:]))
    with pytest.raises(DamagedJournal, match="missing"):
        Guard.load(shop, journal=journal)


def test_journal_of_another_protocol_is_refused(shop: Path, journal: Path, tmp_path: Path) -> None:
    Guard.load(shop, journal=journal).close()
    other = tmp_path / "other.cpl"
    other.write_text(_SHOP.replace("1..3", "1..4"), encoding="utf-8")
    with pytest.raises(DamagedJournal, match="another protocol"):
        Guard.load(other, journal=journal)


def test_two_guards_do_not_share_a_journal(shop: Path, journal: Path) -> None:
    with Guard.load(shop, journal=journal), pytest.raises(JournalInUse):
        Guard.load(shop, journal=journal)


def test_nothing_passes_after_a_record_could_not_be_written(
    shop: Path, journal: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guard = Guard.load(shop, journal=journal)
    _order(guard, "1")

    def full(*_: object) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(Refused, match="No space left"):
        _order(guard, "2")
    monkeypatch.undo()
    with pytest.raises(Refused, match="No space left"):
        _order(guard, "3")
    with pytest.raises(JournalFailed):
        guard.close()
    assert _recorded(shop, journal, range(1, 4)) == [True, False, False]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="kills a process that is forked")
@pytest.mark.parametrize("seed", range(10))
def test_no_message_that_left_is_lost_by_a_kill(shop: Path, journal: Path, seed: int) -> None:
    """Four threads send; whatever reached the other end of the pipe before the kill is recorded."""
    left = kill_a_sender(shop, journal, Random(seed).uniform(0.01, 0.12))
    with Guard.load(shop, journal=journal) as guard:
        assert [case for case in left if guard.allowed("Buyer", case).may("order")] == []


def kill_a_sender(shop: Path, journal: Path, seconds: float) -> list[str]:
    """Return the cases whose message left a process of four threads before it was killed."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            guard = Guard.load(shop, journal=journal)

            def work(number: int) -> None:
                for at in range(10**9):
                    case = f"{os.getpid()}.{number}.{at}"
                    _order(guard, case)
                    os.write(writing, f"{case}\n".encode())

            os.write(writing, b"ready\n")
            for number in range(4):
                threading.Thread(target=work, args=(number,), daemon=True).start()
            signal.pause()
        finally:
            os._exit(1)
    os.close(writing)
    with open(reading, "rb") as stream:
        assert stream.readline() == b"ready\n"
        threading.Timer(seconds, os.kill, (child, signal.SIGKILL)).start()
        left = [line.decode().strip() for line in _whole_lines(stream)]
    os.waitpid(child, 0)
    return left


def _whole_lines(stream: object) -> Iterator[bytes]:
    yield from (line for line in stream if line.endswith(b"\n"))  # type: ignore[attr-defined]


def test_manual_page_runs_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its protocol, its code, and what a comment says that is printed."""
    page = (Path(__file__).parents[2] / "docs" / "how-to" / "guard-your-agent.md").read_text("utf-8")
    monkeypatch.chdir(tmp_path)
    Path("shop.cpl").write_text(page.split("```cpl file=shop.cpl\n")[1].split("```")[0], encoding="utf-8")
    code = page.split("```python\n")[1].split("```")[0]
    body = "".join(f"    {line}\n" for line in code.splitlines())
    printed: list[str] = []
    names: dict[str, object] = {"print": lambda one: printed.append(str(one))}
    exec(f"async def main():\n{body}    guard.close()\n    return guard.allowed('Seller', 'o-1').owes", names)
    main: Any = names["main"]
    owed = asyncio.run(main())
    assert [one.name for one in owed] == ["goods"]
    assert printed == [code.split("print(refused)  # ")[1].split("\n")[0]]
