"""Two agents that talk over TCP, each guarded by a monitor of the protocol: ``python examples/guarded_agents.py``.

A customer buys from a merchant by the protocol in `netbill.cpl`. Before an agent sends something its monitor is asked
whether it may, and what it receives is fed to its monitor before anything is done about it. The merchant takes the
money and sends a receipt without having delivered anything; the customer's monitor says so, names the merchant, and
continues as if that message had not come.
"""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from cplc import Monitor
from cplc.logs.events import Event
from cplc.monitoring.findings import Rejected

PROTOCOL = Path(__file__).with_name("netbill.cpl")
ORDER = "order 1"


class Agent:
    """One end of a connection, and its own idea of where the conversation stands."""

    def __init__(
        self, role: str, other: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, *, honest: bool = True
    ) -> None:
        self.role = role
        self.other = other
        self.honest = honest
        self.monitor = Monitor.load(PROTOCOL, deliveries="inferred")
        self._reader = reader
        self._writer = writer

    async def say(self, message: str) -> None:
        """Send a message; an honest agent sends only what it may."""
        if self.honest and not self.monitor.allowed(self.role, ORDER).may(message):
            raise RuntimeError(f"{self.role} may not send {message}")
        self.monitor.feed(Event(f"sent by {self.role}", ORDER, message, self.role, kind="sent"))
        print(f"{self.role}: {message}")
        self._writer.write(json.dumps({"order": ORDER, "message": message}).encode() + b"\n")
        await self._writer.drain()

    async def hear(self) -> str | None:
        """Return the next message that the protocol allows, None if there is none any more; name who breaks it."""
        while line := await self._reader.readline():
            said = json.loads(line)
            event = Event(f"received by {self.role}", said["order"], said["message"], self.other)
            wrong = [finding for finding in self.monitor.feed(event) if isinstance(finding, Rejected)]
            if not wrong:
                return str(said["message"])
            for finding in wrong:
                print(f"{self.role} refuses what {finding.sender} says: {finding.text}")
        return None

    async def leave(self) -> None:
        self._writer.close()
        await self._writer.wait_closed()


async def customer(agent: Agent) -> None:
    """Ask, accept, pay, and wait for the goods."""
    await agent.say("request")
    while (heard := await agent.hear()) is not None:
        if heard == "offer":
            await agent.say("accept")
            await agent.say("pay")
        elif heard == "receipt":
            break
    for debt in agent.monitor.allowed(agent.role, ORDER).owed:
        print(f"{debt.debtor} still owes {debt.creditor}: {debt.asks}")
    await agent.leave()


async def merchant(agent: Agent) -> None:
    """Make an offer, take the money, and send a receipt for nothing."""
    while (heard := await agent.hear()) is not None:
        if heard == "request":
            await agent.say("offer")
        elif heard == "pay":
            await agent.say("receipt")
            break
    await agent.leave()


async def main() -> None:
    done = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await merchant(Agent("Mer", "Cus[1]", reader, writer, honest=False))
        done.set()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        host, port = server.sockets[0].getsockname()
        await customer(Agent("Cus[1]", "Mer", *await asyncio.open_connection(host, port)))
        await done.wait()


if __name__ == "__main__":
    asyncio.run(main())
