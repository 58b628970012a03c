"""Latency of diagnostics in the editor: ``python -m benchmarks.editing``.

Protocols of some hundred lines are typed into, through a real server. What is measured is the time from an edit to
its diagnostics, which includes the debounce delay of the server; its ratio to the time that the
checks of `cplc check` take in a process that is warm; and what an edit costs the server in seconds of the processor,
which, with the pause, must not be more than the 300 ms that nobody notices. On a machine that has other work only the
last two say much.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from typing import Any

from cplc.compilation import CplCompilation
from cplc.server.session import DEBOUNCE
from cplc.source import Source

_EDITS = 25
_MOST = 0.300
"""Seconds that an answer may take."""
_URI = "untitled:benchmark.cpl"


def protocol(lines: int) -> str:
    """Return a protocol of that many lines: sales one after the other, each with its commitment and property."""
    sales = lines // 10
    parts = ["protocol Sales(n: 1..4 = 2) {", "  role Seller", "  role Buyer[n]", "  for b in Buyer {"]
    for k in range(sales):
        before = f"after ship{k - 1}" if k else ""
        parts += [
            "    // Once you have paid, I ship.",
            f"    commitment goods{k} = C(Seller, b, pay{k}, ship{k})",
            f"    fact over{k} = ship{k} | cancel{k}",
            f"    Seller -> b : offer{k} {before} means create goods{k}",
            f"    b -> Seller : pay{k} after offer{k}",
            f"    Seller -> b : ship{k} after pay{k}",
            f"    Seller -> b : cancel{k} after pay{k} means violate goods{k}",
            f"    choice ship{k} | cancel{k}",
        ]
    parts.append("  }")
    for k in range(sales):
        parts += [
            f"  property kept{k}: forall x in Buyer: AG (active(goods{k}[x]) -> AF !active(goods{k}[x])) expect fails",
            f"  property ends{k}: exists x in Buyer: EF over{k}[x]",
        ]
    return "\n".join((*parts, "  check sound", "}\n"))


class _Server:
    """A server and its pipe."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "cplc", "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )

    def say(self, method: str, params: dict[str, Any], number: int | None = None) -> None:
        message = {"jsonrpc": "2.0", "method": method, "params": params} | ({} if number is None else {"id": number})
        body = json.dumps(message).encode()
        assert self._process.stdin is not None
        self._process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self._process.stdin.flush()

    def heard(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        length = 0
        while line := self._process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            length = int(value) if name.lower() == b"content-length" else length
        message: dict[str, Any] = json.loads(self._process.stdout.read(length))
        return message

    def told_of(self, version: int) -> list[Any]:
        """Wait for the diagnostics of a version of the text."""
        while True:
            message = self.heard()
            if (
                message.get("method") == "textDocument/publishDiagnostics"
                and message["params"].get("version") == version
            ):
                return list(message["params"]["diagnostics"])

    def end(self) -> None:
        self.say("shutdown", {}, 99)
        self.say("exit", {})
        self._process.wait(10)


def answers(text: str, edits: int) -> tuple[list[float], float]:
    """Return how long each of some edits took, in seconds, and the seconds of the processor for all that was done."""
    before = os.times()
    server = _Server()
    try:
        server.say("initialize", {"capabilities": {}, "processId": None}, 1)
        server.say("initialized", {})
        server.say(
            "textDocument/didOpen", {"textDocument": {"uri": _URI, "languageId": "cpl", "version": 0, "text": text}}
        )
        server.told_of(0)
        place = {"line": text[: text.index("after offer7")].count("\n"), "character": 0}
        times = []
        for version in range(1, edits + 1):
            change = {"range": {"start": place, "end": place}, "text": " "}
            began = time.perf_counter()
            server.say(
                "textDocument/didChange",
                {"textDocument": {"uri": _URI, "version": version}, "contentChanges": [change]},
            )
            server.told_of(version)
            times.append(time.perf_counter() - began)
    finally:
        server.end()
    after = os.times()
    return times, after.children_user + after.children_system - before.children_user - before.children_system


def check(text: str) -> float:
    """Return the median time of `cplc check` on the text and on texts that differ from it."""
    times = []
    for blanks in range(7):
        source = Source("benchmark.cpl", text + "\n" * blanks)
        began = time.perf_counter()
        assert not [one for one in CplCompilation(source).diagnostics if one.is_error]
        times.append(time.perf_counter() - began)
    return statistics.median(times[1:])


def main() -> None:
    print(f"{'lines':>6} {'check':>8} {'median':>8} {'slowest':>8} {'ratio':>6} {'processor':>10}")
    for lines in (100, 500, 1_000):
        text = protocol(lines)
        plain, (delays, spent), (_, idle) = check(text), answers(text, _EDITS), answers(text, 0)
        median, cost = statistics.median(delays), (spent - idle) / _EDITS
        late = "  too late" if lines <= 500 and cost + DEBOUNCE > _MOST else ""
        print(
            f"{text.count(chr(10)):6} {plain * 1000:6.0f}ms {median * 1000:6.0f}ms {max(delays) * 1000:6.0f}ms "
            f"{median / plain:6.2f} {cost * 1000:8.0f}ms{late}"
        )


if __name__ == "__main__":
    main()
