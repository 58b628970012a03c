"""Logs of agents that real packages wrote: ``tests/integrations/record_logs.py`` records them."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from cplc.logs.events import Format

FOLDER: Final = Path(__file__).parents[1] / "integrations" / "logs"

AGENT_LOGS: Final[dict[Format, bytes]] = {
    "otlp": (FOLDER / "genai.otlp.jsonl").read_bytes(),
    "a2a": (FOLDER / "a2a.jsonl").read_bytes(),
    "mcp": (FOLDER / "mcp-2025.jsonl").read_bytes(),
    "har": (FOLDER / "a2a.har").read_bytes(),
}
"""One for each format."""
