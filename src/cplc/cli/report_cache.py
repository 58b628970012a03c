"""Cached reports on files: if no input of a run has changed, its output is printed again without a compilation."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from cplc.caching.cached_results import program_fingerprint
from cplc.cli.exit_codes import Exit
from cplc.cli.file_task import FileReport, FileRequest
from cplc.cli.input_files import digest
from cplc.cli.result_cache import ResultStore, is_enabled, shared_store
from cplc.records import dataclass
from cplc.runtime.file_access import project_root

_FORMAT: Final = 2
_TERMINAL_VARIABLES: Final = (
    "COLUMNS", "DOMTERM", "FORCE_HYPERLINK", "KONSOLE_VERSION", "NO_COLOR", "TERM", "TERM_PROGRAM", "VTE_VERSION",
    "WT_SESSION",
)  # fmt: skip
"""Environment variables on which the layout depends."""
_LINK_VARIABLES: Final = ("CPLC_MANUAL_URL", "GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA")
"""Environment variables on which the links of SARIF depend."""
_NOT_REPORTED: Final = frozenset({"itf", "print_after"})
"""Options with side effects: a run with one of them never takes its report from the cache."""
_NO_INPUTS: Final = frozenset({"limits", "cache"})
"""Options that change no complete report."""


@dataclass
class ReportCache:
    """Reports of earlier runs of a command, in the result cache."""

    entries: ResultStore
    is_changed: bool = False

    @classmethod
    def of(cls, command: str, values: Mapping[str, Any]) -> ReportCache | None:
        """Return the cache of a command; None if its reports are not cached."""
        if command != "verify" or not is_enabled(values.get("cache")) or any(map(values.get, _NOT_REPORTED)):
            return None
        entries = shared_store()
        return None if entries is None else cls(entries)

    def report(self, request: FileRequest) -> FileReport | None:
        """Return the cached report; None if there is none, or an input has changed."""
        key = _key(request)
        content = None if key is None else self.entries.get(key)
        if content is None:
            return None
        try:
            data = json.loads(content)
            reads = data["reads"]
            if any(digest(name) != then for name, then in reads.items()):
                return None
            chunks = tuple((str(text), bool(err)) for text, err in data["chunks"])
            return FileReport(
                data["label"],
                Exit(data["exit"]),
                chunks,
                data["document"],
                data["counts"],
                reads,
                selected=tuple(data["selected"]),
                candidates=tuple(data["candidates"]),
            )
        except (ValueError, KeyError, TypeError, AttributeError):
            return None

    def store(self, request: FileRequest, report: FileReport) -> None:
        """Store the report as it is to be shown again, if every result is settled."""
        shown = report.as_cached
        key = None if shown is None else _key(request)
        if shown is None or key is None or report.exit not in (Exit.EXPECTED, Exit.UNEXPECTED):
            return
        data = {
            "label": shown.label,
            "exit": shown.exit,
            "chunks": shown.chunks,
            "document": shown.document,
            "counts": dict(shown.counts),
            "reads": dict(report.reads),
            "selected": report.selected,
            "candidates": report.candidates,
        }
        self.entries.put(key, json.dumps(data).encode())


def _key(request: FileRequest) -> str | None:
    """Return the key of the report on a request; None if the program cannot be fingerprinted."""
    values = {name: repr(value) for name, value in sorted(request.values.items()) if name not in _NO_INPUTS}
    options = request.options
    terminals = [request.is_terminal, request.is_error_terminal]
    variables = _LINK_VARIABLES if request.values.get("form") == "sarif" else _TERMINAL_VARIABLES
    environment = [os.environ.get(name) for name in variables]
    places = [str(project_root(Path(request.file).parent)), os.getcwd()]
    description = [
        _FORMAT, request.command, request.file, options.protocol, dict(options.parameters), options.channels,
        values, terminals, environment, places,
    ]  # fmt: skip
    try:
        document = json.dumps([program_fingerprint(), "report", description], sort_keys=True)
    except OSError:
        return None
    return hashlib.sha256(document.encode()).hexdigest()
