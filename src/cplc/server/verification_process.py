"""Verification in a child process, which streams its results and can be killed."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import Any, Final

from cplc.records import dataclass
from cplc.server.compiled_document import Compiled, CompiledIspl
from cplc.server.open_imports import Buffers

_LONGEST_LINE: Final = 64 * 2**20
"""Maximum length of the message of one result, in bytes."""


@dataclass(frozen=True, slots=True)
class Job:
    """A verification job: a text, the other open texts, a protocol, and one question or all."""

    name: str
    text: str
    buffers: Buffers
    protocol: str | None
    question: str | None
    parameters: Mapping[str, str]
    panel: bool
    """Set if runs are to be drawn."""

    def encoded(self) -> bytes:
        data = {
            "name": self.name,
            "text": self.text,
            "buffers": dict(self.buffers),
            "protocol": self.protocol,
            "question": self.question,
            "parameters": dict(self.parameters),
            "panel": self.panel,
        }
        return json.dumps(data).encode()


def job(
    compiled: Compiled | CompiledIspl, buffers: Buffers, protocol: str | None, question: str | None, *, panel: bool
) -> Job:
    name = compiled.document.path or compiled.document.uri
    parameters = compiled.given.get(protocol or "", {})
    return Job(name, compiled.text.text, buffers, protocol, question, parameters, panel)


async def answers(work: Job) -> AsyncGenerator[Mapping[str, Any], None]:
    """Yield the messages of the process; closing the iterator kills the process."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "cplc", "lsp", "--job",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.DEVNULL,
        limit=_LONGEST_LINE,
    )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        with suppress(BrokenPipeError, ConnectionResetError):
            process.stdin.write(work.encoded())
            await process.stdin.drain()
            process.stdin.close()
        ended = False
        while line := await process.stdout.readline():
            message: Mapping[str, Any] = json.loads(line)
            ended = ended or "end" in message
            yield message
        if not ended:
            yield {"end": f"the process that verifies ended by itself (exit code {await process.wait()})"}
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()
