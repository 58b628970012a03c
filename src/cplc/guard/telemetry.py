"""Decisions of a guard as OpenTelemetry events, through the API package alone: ``pip install opentelemetry-api``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cplc.guard.decisions import Decision
from cplc.guard.guard import Guard

EVENT = "cplc.guard.decision"
FINDING = "cplc.guard.finding"
_SEVERITY = {"allowed": 9, "ignored": 5, "illegal": 17, "unknown": 13}
"""Severity numbers of OpenTelemetry: info, debug, error, warning."""


def emit_events(guard: Guard, *, every: bool = True) -> Callable[[], None]:
    """Emit each decision, and each of its findings, as an event; the returned function ends that.

    Events belong to the span that is current where the decision is made. ``every`` is false for those events alone that
    are not about an allowed message.
    """
    from opentelemetry._logs import SeverityNumber, get_logger

    logger: Any = get_logger("cplc.guard")

    def emit(decision: Decision) -> None:
        if not every and decision.verdict in ("allowed", "ignored"):
            return
        common = {"cplc.case": decision.case, "cplc.message": decision.message, "cplc.sender": decision.sender or ""}
        logger.emit(
            event_name=EVENT,
            severity_number=SeverityNumber(_SEVERITY[decision.verdict]),
            body=decision.text,
            attributes={
                **common,
                "cplc.verdict": decision.verdict,
                "cplc.passes": decision.passes,
                "cplc.reason": decision.reason,
                "cplc.instead": list(decision.instead),
            },
        )
        for finding in decision.findings:
            logger.emit(
                event_name=FINDING,
                severity_number=SeverityNumber(17 if finding.severity == "wrong" else 9),
                body=finding.text,
                attributes={**common, "cplc.finding": finding.kind, "cplc.severity": finding.severity},
            )

    return guard.subscribe(emit)
