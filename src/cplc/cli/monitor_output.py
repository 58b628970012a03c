"""Output of the findings of a monitor."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING, Final, Literal

from cplc.cli import output
from cplc.cli.exit_codes import Exit
from cplc.control_characters import json_text, printable
from cplc.records import dataclass
from cplc.report.github import command_data, command_property
from cplc.report.text import plain

if TYPE_CHECKING:
    from cplc.monitoring.findings import Finding
    from cplc.report.text import Part

Form = Literal["text", "json", "jsonl", "github"]

_PARTS: Final[dict[str, Part]] = {"wrong": "bad", "unread": "warning", "unknown": "warning", "note": "faint"}
_LEVELS: Final = {"wrong": "error", "unread": "warning", "unknown": "warning", "note": "notice"}


@dataclass
class MonitorOutput:
    """Prints findings, and computes the exit code."""

    form: Form
    everything: bool
    colour: output.Colour
    number: int = 0
    """Number of findings, including those of earlier runs."""
    json_findings: list[dict[str, object]] = field(default_factory=list)
    """Findings for the JSON document printed at the end."""
    has_printed: bool = False
    _severities: set[str] = field(default_factory=set)

    def tell(self, finding: Finding) -> None:
        self.number += 1
        self._severities.add(finding.severity)
        if finding.severity == "note" and not self.everything:
            return
        match self.form:
            case "text":
                self._write(self._line(finding))
            case "jsonl":
                self._write(json_text({"number": self.number, **finding.data}) + "\n")
            case "json":
                self.json_findings.append({"number": self.number, **finding.data})
            case "github":
                self._write(_workflow_command(finding))

    def _line(self, finding: Finding) -> str:
        style: Callable[[str, Part], str] = output.result_colours if output.has_colour(self.colour) else plain
        case = f"case {finding.case}: " if finding.case else ""
        place = style(printable(finding.place), "place")
        return f"{place}: {style(finding.kind, _PARTS[finding.severity])}: {printable(case + finding.text)}\n"

    def _write(self, text: str) -> None:
        self.has_printed = True
        output.write(text)

    @property
    def code(self) -> Exit:
        """The exit code. A violation outweighs unread records, which outweigh unknown cases."""
        severities = self._severities
        if "wrong" in severities:
            return Exit.UNEXPECTED
        return Exit.WRONG if "unread" in severities else Exit.UNKNOWN if "unknown" in severities else Exit.EXPECTED


def _workflow_command(finding: Finding) -> str:
    file, _, line = finding.place.rpartition(":")
    where = f"file={command_property(file)},line={line}," if file and line.isdecimal() else ""
    text = printable((f"case {finding.case}: " if finding.case else "") + finding.text)
    return f"::{_LEVELS[finding.severity]} {where}title={command_property(finding.kind)}::{command_data(text)}\n"
